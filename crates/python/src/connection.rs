//! Connections: a session of a database, as Python holds it.
//!
//! A connection holds its session until `close`; clones of the session live only inside calls. Statements run with
//! the interpreter's lock released, under the session's [`Hook`]. After a fork the child may not use the connection:
//! the engine's threads are not there. The Python class `quickstep.Connection` wraps it, and adds DB-API and
//! relations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use engine::{Database, Session};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyList};
use vector::VectorBuilder;

use crate::bulk::{self, Filled};
use crate::functions::{self, Declared, Kind};
use crate::hook::Hook;
use crate::interpreter::{Error, unlocked};
use crate::result::Rows;
use crate::server::{LocalServer, Wanted};
use crate::shared::Ticket;
use crate::stream::{Source, Stream};

/// A session with a database of its own, or one shared through `session()` or by its path.
#[pyclass(module = "quickstep", frozen)]
pub struct Connection {
    /// `None` once it is closed.
    session: Mutex<Option<(Arc<Session>, Ticket)>>,
    hook: Arc<Hook>,
    process: u32,
    /// Streams that may be open, which `close` ends.
    streams: Mutex<Vec<Weak<Source>>>,
    closed: Arc<AtomicBool>,
}

/// Rows that were registered, which other sessions may register too.
#[pyclass(module = "quickstep", frozen)]
pub struct Registered(engine::Registered);

impl Connection {
    /// A new session of the database. The ticket keeps the database open until the connection is closed.
    pub fn open(database: &Database, ticket: Ticket) -> Connection {
        let session = Arc::new(database.session());
        let hook = Hook::install(&session);
        Connection {
            session: Mutex::new(Some((session, ticket))),
            hook,
            process: std::process::id(),
            streams: Mutex::default(),
            closed: Arc::default(),
        }
    }

    fn parts(&self) -> PyResult<(Arc<Session>, Ticket)> {
        self.check_process()?;
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.clone().ok_or_else(|| Error::new_err("the connection is closed"))
    }

    fn session_of(&self) -> PyResult<Arc<Session>> {
        self.parts().map(|(session, _)| session)
    }

    /// Ends the session's streams and releases the database; the directory is free afterwards if no other connection
    /// has it open.
    fn end(&self) {
        let taken = self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((session, ticket)) = taken else { return };
        if self.process != std::process::id() {
            // In a forked child none of the threads is there that this would wait for, and the files are the parent's.
            std::mem::forget((session, ticket));
            return;
        }
        session.interrupt();
        let streams = std::mem::take(&mut *self.streams.lock().unwrap_or_else(PoisonError::into_inner));
        for stream in streams.iter().filter_map(Weak::upgrade) {
            drop(stream.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        drop(session);
        ticket.give_back();
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
        let session = self.session_of()?;
        // The last handle of a session that was closed meanwhile goes here.
        let outcome = py.detach(move || work(&session, text));
        outcome.map_err(|error| self.hook.raise(py, &error, text))
    }
}

/// Types of parameters, and the columns.
type Described = (Vec<String>, Option<Vec<(String, String)>>);

/// A column's name and SQL type.
fn named(field: &engine::Field) -> (String, String) {
    (field.name.clone(), field.ty.sql_name())
}

#[pymethods]
impl Connection {
    /// Names and SQL types of the columns that a query would return; None when the text is no single query.
    fn describe(&self, py: Python<'_>, query: &str) -> PyResult<Option<Vec<(String, String)>>> {
        let schema = self.run(py, query, |session, text| session.describe(text))?;
        Ok(schema.map(|schema| schema.fields().iter().map(named).collect()))
    }

    /// SQL types of a statement's parameters by number, and names and types of its columns, before there are values; None
    /// for columns where the statement gives none.
    fn describe_statement(&self, py: Python<'_>, query: &str) -> PyResult<Described> {
        let found = self.run(py, query, |session, text| session.describe_statement(text))?;
        let columns = found.columns.map(|schema| schema.fields().iter().map(named).collect());
        Ok((found.parameters.iter().map(|ty| ty.sql_name()).collect(), columns))
    }

    /// The columns that an INSERT without names fills, as a select list.
    fn filled_columns(&self, py: Python<'_>, table: &str) -> PyResult<String> {
        self.run(py, table, |session, table| engine::BulkInsert::filled_columns(session, table))
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
        let stream = Stream::new(stream, first, self.hook.clone(), query, self.closed.clone());
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(stream.source());
        drop(streams);
        // It may have been closed while the stream was opened.
        if self.closed.load(Ordering::SeqCst) {
            stream.close(py);
        }
        Ok(stream)
    }

    /// Runs an INSERT of one row of parameters for many rows, as one statement; returns how many rows it has inserted. None
    /// when the statement is another one, or when a value's SQL type is not certain: nothing has been done then. `first`
    /// is the number of the first row, for errors.
    #[pyo3(signature = (query, rows, first=1))]
    fn insert_many(
        &self,
        py: Python<'_>,
        query: &str,
        rows: &Bound<'_, PyList>,
        first: u64,
    ) -> PyResult<Option<u64>> {
        // What is refused is refused again when the statement is run.
        let found = self.run(py, query, |session, text| engine::BulkInsert::of_statement(session, text));
        let Ok(Some(insert)) = found else { return Ok(None) };
        if insert.columns().is_empty() {
            return Ok(None);
        }
        let session = self.session_of()?;
        match bulk::fill(insert, &session, rows, first)? {
            Filled::Unknown => Ok(None),
            Filled::Wrong(error) => Err(self.hook.raise(py, &error, "")),
            Filled::Columns(insert, columns, rows) => {
                let inserted = self.run(py, "", |session, _| {
                    let columns = columns.into_iter().map(VectorBuilder::finish).collect();
                    insert.insert(session, &[insert.batch(columns, rows)?], first)
                });
                inserted.map(Some)
            }
        }
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
        functions::create(self.session_of()?.database(), declared, kind, body, replace)
            .map_err(|error| self.hook.raise(py, &error, ""))
    }

    /// Forgets a function; false when there was none.
    fn drop_function(&self, name: &str) -> PyResult<bool> {
        Ok(self.session_of()?.database().drop_function(name))
    }

    /// Serves the database on loopback, to clients of PostgreSQL's protocol and of HTTP, until the server is stopped.
    #[expect(clippy::too_many_arguments)]
    #[pyo3(signature = (port=None, http=true, http_port=None, password=None, trust=false, socket=None))]
    fn serve(
        &self,
        py: Python<'_>,
        port: Option<u16>,
        http: bool,
        http_port: Option<u16>,
        password: Option<String>,
        trust: bool,
        socket: Option<String>,
    ) -> PyResult<LocalServer> {
        let (session, ticket) = self.parts()?;
        let wanted = Wanted { port, http, http_port, password, trust, socket };
        LocalServer::start(py, session.database(), ticket, wanted)
    }

    /// Another session on the same database, with settings of its own.
    fn session(&self) -> PyResult<Connection> {
        let (session, ticket) = self.parts()?;
        Ok(Connection::open(session.database(), ticket))
    }

    /// Makes the rows of an Arrow C stream a relation of this connection, under `name`. They are read now, and not copied.
    fn register_stream(&self, py: Python<'_>, name: &str, stream: &Bound<'_, PyCapsule>) -> PyResult<()> {
        let session = self.session_of()?;
        let stream = taken(stream)?;
        // The producer may be Python, which takes the interpreter's lock as it needs it; signals are looked at between
        // its batches.
        let read = py.detach(move || {
            let reader = ArrowArrayStreamReader::try_new(stream).map_err(|e| Err(e.to_string()))?;
            let schema = reader.schema();
            let mut batches = Vec::new();
            for batch in reader {
                Python::attach(|py| py.check_signals()).map_err(Ok)?;
                batches.push(batch.map_err(|e| Err(e.to_string()))?);
            }
            session.register(name, schema, batches);
            Ok(())
        });
        read.map_err(|error: Result<PyErr, String>| error.unwrap_or_else(|what| unregistrable(name, &what)))
    }

    /// As `register_stream`, for rows that are read while statements ask for them.
    fn register_reader(
        &self,
        py: Python<'_>,
        name: &str,
        stream: &Bound<'_, PyCapsule>,
    ) -> PyResult<Option<Registered>> {
        let session = self.session_of()?;
        let stream = taken(stream)?;
        py.detach(move || {
            let reader = ArrowArrayStreamReader::try_new(stream)?;
            session.register_reader(name, Box::new(Foreign(Some(reader))));
            Ok(session.registered(name).map(Registered))
        })
        .map_err(|error: ArrowError| unregistrable(name, &error.to_string()))
    }

    /// Registers rows that were registered before, of this connection or another one.
    fn register_again(&self, py: Python<'_>, name: &str, rows: &Registered) -> PyResult<()> {
        let session = self.session_of()?;
        py.detach(move || session.register_again(name, &rows.0));
        Ok(())
    }

    /// Forgets what was registered under the name; false when nothing was.
    fn unregister(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let session = self.session_of()?;
        Ok(py.detach(move || session.unregister(name)))
    }

    /// Cancels the running statement and open streams, from another thread.
    fn interrupt(&self) -> PyResult<()> {
        self.session_of()?.interrupt();
        Ok(())
    }

    /// Ends what runs and what is open, and lets the database go.
    fn close(&self, py: Python<'_>) {
        self.closed.store(true, Ordering::SeqCst);
        py.detach(|| self.end());
    }

    /// A function to call while statements run, after half a second, some ten times a second: with the fraction done,
    /// rows, work done and in all, and seconds. None for none.
    fn set_progress(&self, callback: Option<Py<PyAny>>) {
        self.hook.set_callback(callback);
    }

    /// Whether a transaction is open.
    fn in_transaction(&self) -> PyResult<bool> {
        Ok(self.session_of()?.in_transaction())
    }

    /// Bytes in use, and the most that were.
    fn memory_used(&self) -> PyResult<(u64, u64)> {
        Ok(self.session_of()?.database().memory_used())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let taken = self.session.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let Some(session) = taken else { return };
        match self.process == std::process::id() {
            // The database may end here, and wait for threads that need the interpreter to come to their end.
            true => unlocked(move || drop(session)),
            false => std::mem::forget(session),
        }
    }
}

fn unregistrable(name: &str, what: &str) -> PyErr {
    Error::new_err(format!("cannot register \"{name}\": {what}"))
}

/// The stream in a capsule.
fn taken(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the capsule's name says what it points to, and the interface gives the stream to the caller: what is
    // left in the capsule is a released stream, which its destructor passes over.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) })
}

/// A reader of foreign code, which may be Python's and run statements of its own.
struct Foreign(Option<ArrowArrayStreamReader>);

impl Iterator for Foreign {
    type Item = Result<RecordBatch, ArrowError>;
    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.0.as_mut()?;
        unlocked(|| functions::inside(|| reader.next()))
    }
}

impl RecordBatchReader for Foreign {
    fn schema(&self) -> SchemaRef {
        self.0
            .as_ref()
            .map(RecordBatchReader::schema)
            .unwrap_or_else(|| SchemaRef::new(arrow_schema::Schema::empty()))
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let reader = self.0.take();
        unlocked(move || drop(reader));
    }
}
