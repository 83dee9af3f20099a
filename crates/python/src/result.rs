//! Whole results: rows for Python, a C stream for Arrow.
//!
//! A [`Rows`] holds the engine's batches and converts them when they are asked for: `fetchslice` makes tuples of a
//! range, `__arrow_c_stream__` shares the columns' buffers with the reader. It is immutable, so that threads may
//! share it.

use std::ops::Range;

use arrow::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use engine::{Batch, ResultSet, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use vector::arrow::{arrow_schema_in, to_record_batch};

use crate::convert::to_python;
use crate::interpreter::{Error, raise};

/// The rows of a finished query.
#[pyclass(module = "quickstep", name = "Result", frozen)]
pub struct Rows {
    result: ResultSet,
}

impl Rows {
    /// Takes over the result of a finished statement.
    pub fn new(result: ResultSet) -> Self {
        Rows { result }
    }
}

/// `schema` as Python tuples of DB-API's `description`.
pub fn description<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyList>> {
    let columns = PyList::empty(py);
    for field in schema.fields() {
        let none = py.None();
        columns.append((
            field.name.as_str(),
            field.ty.sql_name(),
            none.clone_ref(py),
            none.clone_ref(py),
            none.clone_ref(py),
            none,
            field.nullable,
        ))?;
    }
    Ok(columns)
}

/// SQL names of the columns' types.
pub fn types_of(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|f| f.ty.sql_name()).collect()
}

/// Appends rows of a batch as tuples.
pub fn append_rows<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyList>,
    schema: &Schema,
    batch: &Batch,
    range: Range<usize>,
) -> PyResult<()> {
    for at in range {
        let values = batch
            .columns
            .iter()
            .zip(schema.fields())
            .map(|(column, field)| to_python(py, &column.value(at), field.ty))
            .collect::<PyResult<Vec<_>>>()?;
        rows.append(PyTuple::new(py, values)?)?;
    }
    Ok(())
}

fn stream<'py>(py: Python<'py>, result: &ResultSet) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = arrow_schema_in(result.schema(), result.time_zone());
    let batches: Vec<RecordBatch> = result
        .batches()
        .iter()
        .map(|b| to_record_batch(b, &schema))
        .collect::<engine::Result<_>>()
        .map_err(|e| raise(py, &e, ""))?;
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

#[pymethods]
impl Rows {
    /// The rows as a pyarrow Table.
    fn arrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let pyarrow = slf
            .py()
            .import("pyarrow")
            .map_err(|_| Error::new_err("arrow() needs the package pyarrow: pip install pyarrow"))?;
        pyarrow.call_method1("table", (slf,))
    }

    /// The rows as a list of tuples.
    fn fetchall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.fetchslice(py, 0, usize::MAX)
    }

    /// At most `count` rows from `start` on, as a list of tuples.
    fn fetchslice<'py>(
        &self,
        py: Python<'py>,
        mut start: usize,
        count: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for batch in self.result.batches() {
            let from = start.min(batch.rows);
            start -= from;
            let to = batch.rows.min(from.saturating_add(count - rows.len()));
            let append = || append_rows(py, &rows, self.result.schema(), batch, from..to);
            self.result.within_time_zone(append)?;
            py.check_signals()?;
            if rows.len() == count {
                break;
            }
        }
        Ok(rows)
    }

    /// What was done, in the words of the command line: `SELECT 5`, `INSERT 0 3`.
    #[getter]
    fn tag(&self) -> &str {
        self.result.tag()
    }

    /// Whether the statement returned rows, none of them perhaps.
    #[getter]
    fn has_rows(&self) -> bool {
        self.result.has_rows()
    }

    /// DB-API's description of the columns.
    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        description(py, self.result.schema())
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.result.schema().fields().iter().map(|f| f.name.clone()).collect()
    }

    /// SQL types of the columns.
    #[getter]
    fn types(&self) -> Vec<String> {
        types_of(self.result.schema())
    }

    fn __len__(&self) -> usize {
        self.result.rows()
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.result.schema().fields().iter().map(|f| f.name.as_str()).collect();
        format!("<quickstep.Result {} rows of ({})>", self.result.rows(), names.join(", "))
    }

    /// Arrow's C stream interface: no copy is made of the columns.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A requested schema is a wish; consumers cast for themselves when it is not met.
        let _ = requested_schema;
        stream(py, &self.result)
    }
}
