//! The quickstep Python package's compiled part.
//!
//! `connect` opens a database. `Connection.sql` runs a query to its end and gives a `Result`, `Connection.stream` gives
//! the rows while it runs; both hand them to Arrow without copies through the C stream interface. The interpreter's
//! lock is released while the engine works; the tick (`hook`) looks at signals meanwhile, so an interrupt ends a query
//! within a moment.

mod bulk;
mod connection;
mod convert;
mod functions;
mod hook;
mod result;
mod shared;
mod stream;

use engine::{Options, SqlState};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{create_exception, wrap_pyfunction};

use connection::Connection;

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

create_exception!(
    quickstep,
    Error,
    PyException,
    "An error of a statement. `sqlstate`, `line` and `column` say more."
);

/// The engine's error as a Python exception; `text` is the statement, for the caret.
pub(crate) fn raise(py: Python<'_>, error: &engine::Error, text: &str) -> PyErr {
    if error.state() == SqlState::QueryCanceled {
        // A signal that is pending explains the cancellation better than we can.
        if let Err(pending) = py.check_signals() {
            return pending;
        }
    }
    let raised = Error::new_err(error.render(&engine::masked(text)));
    let value = raised.value(py);
    let position = error.position();
    // Attributes are a convenience: an exception without them is still the right exception.
    let _ = value.setattr("sqlstate", error.state().code());
    let _ = value.setattr("line", position.map(|p| p.line));
    let _ = value.setattr("column", position.map(|p| p.column));
    let _ = value.setattr("hint", error.hint());
    raised
}

/// Whether this thread is one that runs Python code. Others must not wait for the interpreter's lock: its holder may
/// wait for them.
pub(crate) fn is_python_thread() -> bool {
    // SAFETY: it looks at a variable of this thread, and may be called from any.
    unsafe { !pyo3::ffi::PyGILState_GetThisThreadState().is_null() }
}

/// Calls `work` without the interpreter's lock, whether or not this thread has it: foreign code calls us either way.
///
/// pyo3 remembers for each thread whether it has the lock. Python code that pyo3 has called may have let go of it
/// since, so that what pyo3 remembers is wrong: the lock is taken here, so that it is right, and given up through
/// pyo3.
pub(crate) fn unlocked<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    // SAFETY: it looks at the interpreter's state, and may be called from any thread.
    if !is_python_thread() || unsafe { pyo3::ffi::Py_IsInitialized() } == 0 {
        return work();
    }
    struct Held(pyo3::ffi::PyGILState_STATE);
    impl Drop for Held {
        fn drop(&mut self) {
            // SAFETY: the state is the one that `PyGILState_Ensure` gave on this thread, and is given back once.
            unsafe { pyo3::ffi::PyGILState_Release(self.0) }
        }
    }
    // SAFETY: the interpreter runs, and this thread is one of its threads.
    let _held = Held(unsafe { pyo3::ffi::PyGILState_Ensure() });
    let mut work = Some(work);
    match (Python::try_attach(|py| work.take().map(|work| py.detach(work))).flatten(), work) {
        (Some(done), _) => done,
        // An interpreter that is on its way out.
        (None, Some(work)) => work(),
        (None, None) => unreachable!("the work was done"),
    }
}

/// Opens a database. Without a path it lives in memory; a path is a directory, made where there is none. A database that
/// this process has open already is shared.
///
/// workers: threads that execute work orders; all cores when not given.
/// memory: bytes, or a text such as "8GB"; 80 % of the machine's when not given.
/// read_only: opens a database on disk as it is now and changes nothing.
#[pyfunction]
#[pyo3(signature = (path=None, workers=None, memory=None, read_only=false))]
fn connect(
    py: Python<'_>,
    path: Option<&str>,
    workers: Option<usize>,
    memory: Option<&Bound<'_, PyAny>>,
    read_only: bool,
) -> PyResult<Connection> {
    let memory_bytes = match memory {
        None => None,
        Some(value) => Some(match value.extract::<u64>() {
            Ok(bytes) => bytes,
            Err(_) => {
                let text: String = value.extract()?;
                engine::settings::parse_bytes(&text).ok_or_else(|| {
                    Error::new_err(format!("invalid memory \"{text}\": expected a size such as 8GB"))
                })?
            }
        }),
    };
    let options = Options { workers, memory_bytes, read_only, ..Options::default() };
    let opened = py.detach(|| shared::open(path, options));
    let (database, ticket) = opened.map_err(|e| raise(py, &e, ""))?;
    Ok(Connection::open(&database, ticket))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<Error>())?;
    module.add_class::<Connection>()?;
    module.add_class::<result::Rows>()?;
    module.add_class::<stream::Stream>()?;
    module.add_class::<functions::Exported>()?;
    module.add_class::<connection::Registered>()?;
    module.add_function(wrap_pyfunction!(functions::sql_type_of, module)?)?;
    module.add_function(wrap_pyfunction!(functions::in_function, module)?)?;
    module.add_function(wrap_pyfunction!(connect, module)?)
}
