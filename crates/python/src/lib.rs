//! The quickstep Python package.
//!
//! `connect()` opens a database, `Connection.sql` runs a query and gives a `Result`, which hands its rows to Arrow
//! without copies through the C stream interface. The interpreter's lock is released while the engine works; signals
//! are looked at between work orders on the calling thread, so an interrupt ends a query within a moment.

mod convert;
mod result;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::RecordBatchReader;
use engine::{Database, Options, Session, SqlState};
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use pyo3::{create_exception, wrap_pyfunction};

use result::{Cursor, Rows};

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
    let raised = Error::new_err(error.render(text));
    let value = raised.value(py);
    let position = error.position();
    // Attributes are a convenience: an exception without them is still the right exception.
    let _ = value.setattr("sqlstate", error.state().code());
    let _ = value.setattr("line", position.map(|p| p.line));
    let _ = value.setattr("column", position.map(|p| p.column));
    let _ = value.setattr("hint", error.hint());
    raised
}

/// A session with a database of its own, or one shared through `cursor()`.
#[pyclass(module = "quickstep", frozen)]
pub struct Connection {
    session: Arc<Session>,
    process: u32,
}

/// How many connections this process opened: a child of a fork must not use the parent's.
static OPENED: AtomicU64 = AtomicU64::new(0);

impl Connection {
    /// The engine's threads are not in a forked child.
    fn check_process(&self) -> PyResult<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(Error::new_err(
                "this connection was opened before a fork; connect again in the child process",
            )),
        }
    }

    pub(crate) fn run(&self, py: Python<'_>, text: &str) -> PyResult<Vec<engine::ResultSet>> {
        self.check_process()?;
        let session = self.session.clone();
        let owned = text.to_owned();
        let outcome = py.detach(move || session.execute(&owned));
        outcome.map_err(|error| raise(py, &error, text))
    }
}

#[pymethods]
impl Connection {
    /// Names and SQL types of the columns that a query would return; None when the text is no single query.
    fn describe(&self, py: Python<'_>, query: &str) -> PyResult<Option<Vec<(String, String)>>> {
        self.check_process()?;
        let session = self.session.clone();
        let owned = query.to_owned();
        let schema = py.detach(move || session.describe(&owned)).map_err(|e| raise(py, &e, query))?;
        let column = |f: &engine::Field| (f.name.clone(), f.ty.sql_name());
        Ok(schema.map(|schema| schema.fields().iter().map(column).collect()))
    }

    /// Runs statements; the result of the last one.
    fn sql(&self, py: Python<'_>, query: &str) -> PyResult<Rows> {
        let mut results = self.run(py, query)?;
        let last = results.pop().unwrap_or_else(|| engine::ResultSet::done(""));
        Ok(Rows::new(last))
    }

    /// Runs statements; the connection itself, for chaining.
    fn execute<'py>(slf: Bound<'py, Self>, query: &str) -> PyResult<Bound<'py, Cursor>> {
        let py = slf.py();
        let mut results = slf.get().run(py, query)?;
        let last = results.pop().unwrap_or_else(|| engine::ResultSet::done(""));
        Bound::new(py, Cursor::with_result(slf.clone().unbind(), last))
    }

    /// A DB-API cursor.
    fn cursor(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Cursor>> {
        Bound::new(slf.py(), Cursor::new(slf.clone().unbind()))
    }

    /// Another session on the same database, with settings of its own.
    fn session(&self) -> Connection {
        open_session(self.session.database())
    }

    /// Makes the rows of an Arrow C stream a relation of this connection, under `name`. They are not copied.
    fn register_stream(&self, py: Python<'_>, name: &str, stream: &Bound<'_, PyCapsule>) -> PyResult<()> {
        self.check_process()?;
        let wrong = |what: &str| Error::new_err(format!("cannot register \"{name}\": {what}"));
        let pointer = stream.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: the capsule's name says what it points to, and the interface gives the stream to whoever takes it:
        // what is left in the capsule is a released stream, which its destructor passes over.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
        let reader = ArrowArrayStreamReader::try_new(stream).map_err(|e| wrong(&e.to_string()))?;
        let schema = reader.schema();
        // The producer may be Python, so the interpreter's lock is kept.
        let batches = reader.collect::<Result<Vec<_>, _>>().map_err(|e| wrong(&e.to_string()))?;
        py.detach(|| self.session.register(name, schema, batches));
        Ok(())
    }

    /// Forgets what was registered under the name; false when nothing was.
    fn unregister(&self, name: &str) -> bool {
        self.session.unregister(name)
    }

    /// Cancels the running statement, from another thread.
    fn interrupt(&self) {
        self.session.cancel_token().cancel();
    }

    /// Every statement commits by itself; there is nothing left to commit.
    fn commit(&self) {}

    /// The database ends with its last connection.
    fn close(&self) {}

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyAny>) -> bool {
        false
    }
}

fn open_session(database: &Database) -> Connection {
    OPENED.fetch_add(1, Ordering::Relaxed);
    let session = database.session();
    session.set_tick(|| {
        Python::attach(|py| match py.check_signals() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                // Taken here, so it is put back for whoever raises the cancellation.
                if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                    // SAFETY: the interpreter's lock is held; SIGINT is set pending again, as the handler would.
                    unsafe { pyo3::ffi::PyErr_SetInterrupt() };
                }
                ControlFlow::Break(())
            }
        })
    });
    Connection { session: Arc::new(session), process: std::process::id() }
}

/// Opens a database. Without a path it lives in memory.
///
/// workers: threads that execute work orders; all cores when not given.
/// memory: bytes, or a text such as "8GB"; 80 % of the machine's when not given.
#[pyfunction]
#[pyo3(signature = (path=None, workers=None, memory=None))]
fn connect(
    py: Python<'_>,
    path: Option<&str>,
    workers: Option<usize>,
    memory: Option<&Bound<'_, PyAny>>,
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
    let database = Database::open(path, Options { workers, memory_bytes }).map_err(|e| raise(py, &e, ""))?;
    Ok(open_session(&database))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<Error>())?;
    module.add_class::<Connection>()?;
    module.add_class::<Rows>()?;
    module.add_class::<Cursor>()?;
    module.add_function(wrap_pyfunction!(connect, module)?)
}
