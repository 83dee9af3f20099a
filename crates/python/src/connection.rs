//! Connections: a session of a database, as Python holds it.

use std::sync::Arc;

use arrow::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::RecordBatchReader;
use engine::{Database, Session};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use crate::Error;
use crate::functions::{self, Declared, Kind};
use crate::hook::Hook;
use crate::result::Rows;
use crate::stream::Stream;

/// A session with a database of its own, or one shared through `session()`.
#[pyclass(module = "quickstep", frozen)]
pub struct Connection {
    session: Arc<Session>,
    hook: Arc<Hook>,
    process: u32,
}

impl Connection {
    pub fn open(database: &Database) -> Connection {
        let session = Arc::new(database.session());
        let hook = Hook::install(&session);
        Connection { session, hook, process: std::process::id() }
    }

    /// The engine's threads are not in a forked child.
    fn check_process(&self) -> PyResult<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(Error::new_err(
                "this connection was opened before a fork; connect again in the child process",
            )),
        }
    }

    /// The type of that name, as SQL reads it.
    fn type_named(&self, py: Python<'_>, name: &str) -> PyResult<engine::Type> {
        let text = format!("SELECT CAST(NULL AS {name})");
        let schema = self.run(py, &text, |session, text| session.describe(text))?;
        match schema.as_ref().map(engine::Schema::fields) {
            Some([field]) => Ok(field.ty),
            _ => Err(Error::new_err(format!("\"{name}\" is no type"))),
        }
    }

    /// Does a statement's work without the interpreter's lock.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        text: &str,
        work: impl FnOnce(&Session, &str) -> engine::Result<T> + Send,
    ) -> PyResult<T> {
        self.check_process()?;
        self.hook.begin()?;
        let session = &self.session;
        let outcome = py.detach(move || work(session, text));
        outcome.map_err(|error| self.hook.raise(py, &error, text))
    }
}

#[pymethods]
impl Connection {
    /// Names and SQL types of the columns that a query would return; None when the text is no single query.
    fn describe(&self, py: Python<'_>, query: &str) -> PyResult<Option<Vec<(String, String)>>> {
        let schema = self.run(py, query, |session, text| session.describe(text))?;
        let column = |f: &engine::Field| (f.name.clone(), f.ty.sql_name());
        Ok(schema.map(|schema| schema.fields().iter().map(column).collect()))
    }

    /// Runs statements to their end; the result of the last one.
    fn sql(&self, py: Python<'_>, query: &str) -> PyResult<Rows> {
        let results = self.run(py, query, |session, text| session.execute(text));
        Ok(Rows::new(results?.pop().unwrap_or_else(|| engine::ResultSet::done(""))))
    }

    /// Runs statements; the rows of the last one come as they are computed. Returns when the first ones are there, so
    /// that most errors are raised here.
    ///
    /// arrow: the rows will be read as Arrow, and are brought into its form by the workers.
    /// whole: they will all be read before anything is done with them, so they are computed first.
    #[pyo3(signature = (query, arrow=false, whole=false))]
    fn stream(&self, py: Python<'_>, query: &str, arrow: bool, whole: bool) -> PyResult<Stream> {
        let opened = self.run(py, query, |session, text| {
            let mut stream = match (arrow, whole) {
                (true, true) => session.collect_arrow(text)?.into_stream(),
                (true, false) => session.stream_arrow(text)?.into_stream(),
                (false, _) => session.stream(text)?,
            };
            let first = stream.next_batch()?;
            Ok((stream, first))
        });
        let (stream, first) = opened?;
        Ok(Stream::new(stream, first, self.hook.clone(), query))
    }

    /// Makes a Python function callable from SQL, for all sessions of the database.
    #[expect(clippy::too_many_arguments)]
    fn create_function(
        &self,
        py: Python<'_>,
        name: &str,
        body: Py<PyAny>,
        parameters: Vec<String>,
        returns: &str,
        kind: &str,
        sees_nulls: bool,
        volatile: bool,
        replace: bool,
    ) -> PyResult<()> {
        let arguments = parameters.iter().map(|ty| self.type_named(py, ty)).collect::<PyResult<Vec<_>>>()?;
        let returns = self.type_named(py, returns)?;
        let kind = match kind {
            "aggregate" => Kind::Aggregate,
            "arrow" => Kind::Arrow,
            _ => Kind::Scalar,
        };
        let declared = Declared { name: name.to_owned(), arguments, returns, sees_nulls, volatile };
        functions::create(self.session.database(), declared, kind, body, replace)
            .map_err(|error| self.hook.raise(py, &error, ""))
    }

    /// Forgets a function; false when there was none.
    fn drop_function(&self, name: &str) -> bool {
        self.session.database().drop_function(name)
    }

    /// Another session on the same database, with settings of its own.
    fn session(&self) -> PyResult<Connection> {
        self.check_process()?;
        Ok(Connection::open(self.session.database()))
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
        // The producer may be Python, so the interpreter's lock is kept; signals are looked at between its batches.
        let mut batches = Vec::new();
        for batch in reader {
            py.check_signals()?;
            batches.push(batch.map_err(|e| wrong(&e.to_string()))?);
        }
        py.detach(|| self.session.register(name, schema, batches));
        Ok(())
    }

    /// Forgets what was registered under the name; false when nothing was.
    fn unregister(&self, name: &str) -> bool {
        self.session.unregister(name)
    }

    /// Cancels the running statement and open streams, from another thread.
    fn interrupt(&self) {
        self.session.interrupt();
    }

    /// A function to call while statements run, after half a second, some ten times a second: with the fraction done,
    /// rows, work done and in all, and seconds. None for none.
    fn set_progress(&self, callback: Option<Py<PyAny>>) {
        self.hook.set_callback(callback);
    }

    /// Bytes in use, and the most that were.
    fn memory_used(&self) -> (u64, u64) {
        self.session.database().memory_used()
    }
}
