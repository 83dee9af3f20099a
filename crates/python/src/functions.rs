//! Functions written in Python, called from SQL.
//!
//! A body runs inside a work order with the interpreter's lock, which it takes for a batch at a time: other work orders
//! go on meanwhile, as far as they are not Python's. An exception ends the statement; the error's detail has its
//! traceback, and Python gets it as the cause.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::Field;
use engine::{AggregateFunction, ScalarFunction, SqlState, Type, Value};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyList, PyTuple};
use vector::Vector;
use vector::arrow::{arrow_type, from_array, to_array, type_from_arrow};

use crate::convert::{from_python, to_python};
use crate::interpreter::Error;

/// Exceptions of bodies, with the detail of the error that each became: the newest are kept.
static CAUSES: Mutex<VecDeque<(String, PyErr)>> = Mutex::new(VecDeque::new());
const CAUSES_MAX: usize = 16;

/// The exception behind an error of a function.
pub fn cause_of(error: &engine::Error) -> Option<PyErr> {
    let detail = error.detail().filter(|_| error.state() == SqlState::ExternalRoutineException)?;
    let mut causes = CAUSES.lock().unwrap_or_else(PoisonError::into_inner);
    let at = causes.iter().position(|(known, _)| known == detail)?;
    causes.remove(at).map(|(_, cause)| cause)
}

/// What kind of function it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Called with a row's values.
    Scalar,
    /// Called with arrays and the number of rows.
    Arrow,
    /// Called with the arrays of several groups, and the first row and length of each; gives a list of values.
    Aggregate,
}

/// A function's name and types.
pub struct Declared {
    /// The name that SQL calls it by.
    pub name: String,
    /// SQL types of the parameters.
    pub arguments: Vec<Type>,
    /// SQL type of the result.
    pub returns: Type,
    /// The function is given NULLs. Without it, a NULL argument gives NULL, and aggregates skip rows with NULLs.
    pub sees_nulls: bool,
    /// Equal arguments may give different results, so calls are not merged or folded.
    pub volatile: bool,
}

/// Registers `body`, which is called as its kind says.
pub fn create(
    database: &engine::Database,
    declared: Declared,
    kind: Kind,
    body: Py<PyAny>,
    replace: bool,
) -> engine::Result<()> {
    let Declared { name, arguments, returns, sees_nulls, volatile } = declared;
    let body = Arc::new(body);
    let called = name.clone();
    if kind == Kind::Aggregate {
        let mut function =
            AggregateFunction::over_groups(&name, arguments, returns, move |arrays, groups| {
                attached(&called, |py| groups_in_python(py, &body, arrays, groups, returns))
            });
        if sees_nulls {
            function = function.sees_nulls();
        }
        return database.create_function(function, replace);
    }
    let types = arguments.clone();
    let mut function = ScalarFunction::new(&name, arguments, returns, move |arrays, rows| {
        attached(&called, |py| match kind {
            Kind::Scalar => rows_in_python(py, &body, arrays, rows, &types, returns),
            _ => arrays_in_python(py, &body, arrays, rows),
        })
    });
    if sees_nulls {
        function = function.sees_nulls();
    }
    if volatile {
        function = function.volatile();
    }
    database.create_function(function, replace)
}

thread_local! {
    /// How many functions this thread is inside of.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// Whether the calling thread is inside a function that SQL has called.
#[pyfunction]
pub fn in_function() -> bool {
    INSIDE.get() > 0
}

/// Runs foreign code that may be Python's: statements that it runs are inside of this one.
pub fn inside<T>(work: impl FnOnce() -> T) -> T {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            INSIDE.set(INSIDE.get() - 1);
        }
    }
    INSIDE.set(INSIDE.get() + 1);
    let _leave = Leave;
    work()
}

/// Runs `work` with the interpreter's lock; an exception becomes the statement's error.
fn attached<T>(name: &str, work: impl FnOnce(Python<'_>) -> PyResult<T>) -> engine::Result<T> {
    let done = Python::try_attach(|py| inside(|| work(py)).map_err(|error| told(py, name, error)));
    done.unwrap_or_else(|| {
        let message = format!("function {name}: the Python interpreter has ended");
        Err(engine::Error::new(SqlState::ExternalRoutineException, message))
    })
}

fn told(py: Python<'_>, name: &str, error: PyErr) -> engine::Error {
    let traceback = py.import("traceback").and_then(|module| {
        // Up to Python 3.11 the value does not know the traceback by itself.
        let raised = (error.get_type(py), error.value(py), error.traceback(py));
        let lines = module.call_method1("format_exception", raised)?;
        lines.try_iter()?.map(|line| line?.extract::<String>()).collect::<PyResult<String>>()
    });
    let what = error.to_string();
    let detail = traceback.unwrap_or_else(|_| what.clone()).trim_end().to_owned();
    let mut causes = CAUSES.lock().unwrap_or_else(PoisonError::into_inner);
    let oldest = if causes.len() == CAUSES_MAX { causes.pop_front() } else { None };
    causes.push_back((detail.clone(), error));
    drop(causes);
    // Python code may run as the exception goes, and hand the interpreter to a thread that waits for the lock.
    drop(oldest);
    engine::Error::new(SqlState::ExternalRoutineException, format!("function {name}: {what}"))
        .with_detail(detail)
}

/// An array on its way to Python.
#[pyclass(module = "quickstep", frozen)]
pub struct Exported(ArrayRef);

#[pymethods]
impl Exported {
    /// Arrow's C data interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let failed = |e: arrow_schema::ArrowError| Error::new_err(e.to_string());
        let (array, _) = to_ffi(&self.0.to_data()).map_err(failed)?;
        let field = Field::new("", self.0.data_type().clone(), true);
        let schema = FFI_ArrowSchema::try_from(&field).map_err(failed)?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }
}

fn exported<'py>(py: Python<'py>, arrays: &[ArrayRef]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for array in arrays {
        list.append(Bound::new(py, Exported(array.clone()))?)?;
    }
    Ok(list)
}

/// What Python gave, through Arrow's C data interface. Foreign memory is validated.
fn imported(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
        given.call_method0("__arrow_c_array__")?.extract()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    let failed = |e: arrow_schema::ArrowError| Error::new_err(e.to_string());
    // SAFETY: the capsules' names say what they point to; the interface gives the array to the caller and leaves a
    // released one in the capsule, and the schema is only read while the capsule lives.
    let data = unsafe {
        let array = FFI_ArrowArray::from_raw(array.as_ptr());
        from_ffi(array, schema.as_ref()).map_err(failed)?
    };
    py.detach(|| data.validate_full()).map_err(failed)?;
    Ok(make_array(data))
}

fn arrays_in_python(
    py: Python<'_>,
    body: &Py<PyAny>,
    arrays: &[ArrayRef],
    rows: usize,
) -> PyResult<ArrayRef> {
    let given = body.bind(py).call1((exported(py, arrays)?, rows))?;
    imported(py, &given)
}

fn rows_in_python(
    py: Python<'_>,
    body: &Py<PyAny>,
    arrays: &[ArrayRef],
    rows: usize,
    types: &[Type],
    returns: Type,
) -> PyResult<ArrayRef> {
    let failed = |e: engine::Error| Error::new_err(e.message().to_owned());
    let columns = arrays.iter().zip(types).map(|(array, ty)| from_array(array.as_ref(), *ty));
    let columns = columns.collect::<engine::Result<Vec<Vector>>>().map_err(failed)?;
    let body = body.bind(py);
    let mut values = Vec::with_capacity(rows);
    for row in 0..rows {
        let arguments = columns.iter().zip(types).map(|(column, ty)| to_python(py, &column.value(row), *ty));
        let arguments = PyTuple::new(py, arguments.collect::<PyResult<Vec<_>>>()?)?;
        values.push(from_python(&body.call1(arguments)?, returns)?);
    }
    Ok(to_array(&Vector::from_values(returns, &values)))
}

fn groups_in_python(
    py: Python<'_>,
    body: &Py<PyAny>,
    arrays: &[ArrayRef],
    groups: &[Range<usize>],
    returns: Type,
) -> PyResult<Vec<Value>> {
    let places: Vec<(usize, usize)> = groups.iter().map(|group| (group.start, group.len())).collect();
    let given = body.bind(py).call1((exported(py, arrays)?, places))?;
    given.try_iter()?.map(|value| from_python(&value?, returns)).collect()
}

/// The SQL type that carries an Arrow type, by its name; None when there is none.
#[pyfunction]
pub fn sql_type_of(given: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let capsule: Bound<'_, PyCapsule> = given.call_method0("__arrow_c_schema__")?.extract()?;
    let schema = capsule.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: the capsule's name says what it points to, and it lives while the schema is read.
    let field = Field::try_from(unsafe { schema.as_ref() });
    let field = field.map_err(|e| Error::new_err(e.to_string()))?;
    Ok(type_from_arrow(field.data_type()).map(|ty| {
        // The type as Arrow leaves us, so that what comes in goes out.
        debug_assert!(type_from_arrow(&arrow_type(ty)).is_some());
        ty.sql_name()
    }))
}
