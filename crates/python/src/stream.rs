//! Results that are read while the query runs.
//!
//! Two locks, never held together with waiting for the interpreter: `source`, taken without the interpreter's lock
//! around waiting for rows, and `buffer`, the rows that were taken and not yet given out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use engine::{Batch, ResultStream, Schema};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyCapsule, PyList};
use types::{Zone, zone};
use vector::arrow::{arrow_schema_in, to_record_batch};

use crate::hook::Hook;
use crate::interpreter::{Error, unlocked};
use crate::result::{append_rows, description, types_of};

/// A query whose rows are read; `None` after the last, and when it was closed.
pub type Source = Mutex<Option<ResultStream>>;

/// The rows of a query, in the order in which they are computed and once.
#[pyclass(module = "quickstep", frozen)]
pub struct Stream {
    schema: Schema,
    tag: String,
    zone: Zone,
    text: String,
    hook: Arc<Hook>,
    source: Arc<Source>,
    /// Whether its connection is closed.
    closed: Arc<AtomicBool>,
    process: u32,
    buffer: Mutex<Buffer>,
    /// What ended the query while its rows were read through the C interface, which carries a text and nothing else.
    failure: Arc<Mutex<Option<engine::Error>>>,
}

/// The batch that rows are being read from.
#[derive(Default)]
struct Buffer {
    batch: Option<Batch>,
    /// Rows of the batch that were given out.
    at: usize,
    /// Rows given out in all.
    rows: usize,
    ended: bool,
    taken: bool,
}

impl Stream {
    /// A stream of which the first rows were read already.
    pub fn new(
        stream: ResultStream,
        first: Option<Batch>,
        hook: Arc<Hook>,
        text: &str,
        closed: Arc<AtomicBool>,
    ) -> Self {
        let buffer = Buffer { ended: first.is_none(), batch: first, ..Buffer::default() };
        Stream {
            schema: stream.schema().clone(),
            tag: stream.tag().to_owned(),
            zone: stream.time_zone(),
            text: text.to_owned(),
            hook,
            source: Arc::new(Mutex::new(Some(stream))),
            closed,
            process: std::process::id(),
            buffer: Mutex::new(buffer),
            failure: Arc::default(),
        }
    }

    /// A weak handle by which closing the connection ends the stream.
    pub fn source(&self) -> Weak<Source> {
        Arc::downgrade(&self.source)
    }

    /// Waits for the next batch; false after the last. With the buffer locked, so that rows come to one reader each.
    fn refill(&self, py: Python<'_>, buffer: &mut Buffer) -> PyResult<bool> {
        if buffer.ended {
            return Ok(false);
        }
        if self.process != std::process::id() {
            return Err(Error::new_err(
                "these rows were asked for before a fork; query again in the child process",
            ));
        }
        let source = &self.source;
        let next = py.detach(|| {
            let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
            let next = source.as_mut().map_or(Ok(None), ResultStream::next_batch);
            if !matches!(next, Ok(Some(_))) {
                *source = None;
            }
            next
        });
        match next {
            Ok(None) if self.closed.load(Ordering::SeqCst) => Err(Error::new_err(CLOSED)),
            Ok(batch) => {
                buffer.ended = batch.is_none();
                buffer.batch = batch;
                buffer.at = 0;
                Ok(!buffer.ended)
            }
            Err(error) => {
                buffer.ended = true;
                buffer.batch = None;
                Err(self.hook.raise(py, &error, &self.text))
            }
        }
    }

    fn locked<'a>(&'a self, py: Python<'_>) -> PyResult<std::sync::MutexGuard<'a, Buffer>> {
        let buffer = self.buffer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if self.closed.load(Ordering::SeqCst) {
            return Err(Error::new_err(CLOSED));
        }
        match buffer.taken {
            true => Err(Error::new_err("the rows were given away as an Arrow stream")),
            false => Ok(buffer),
        }
    }
}

#[pymethods]
impl Stream {
    /// The next rows as a list of tuples: so many, or all that are left.
    #[pyo3(signature = (count=None))]
    fn fetch<'py>(&self, py: Python<'py>, count: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        let mut buffer = self.locked(py)?;
        let rows = PyList::empty(py);
        let wanted = count.unwrap_or(usize::MAX);
        while rows.len() < wanted {
            let Some(batch) = buffer.batch.clone().filter(|batch| buffer.at < batch.rows) else {
                if self.refill(py, &mut buffer)? {
                    continue;
                }
                break;
            };
            let to = batch.rows.min(buffer.at.saturating_add(wanted - rows.len()));
            let append = || append_rows(py, &rows, &self.schema, &batch, buffer.at..to);
            zone::within(self.zone, append)?;
            buffer.rows += to - buffer.at;
            buffer.at = to;
            py.check_signals()?;
        }
        Ok(rows)
    }

    /// Passes over at most so many rows; how many there were.
    fn skip(&self, py: Python<'_>, count: usize) -> PyResult<usize> {
        let mut buffer = self.locked(py)?;
        let mut skipped = 0;
        while skipped < count {
            let left = buffer.batch.as_ref().map_or(0, |batch| batch.rows - buffer.at);
            if left == 0 {
                if self.refill(py, &mut buffer)? {
                    continue;
                }
                break;
            }
            let step = left.min(count - skipped);
            (buffer.at, buffer.rows, skipped) = (buffer.at + step, buffer.rows + step, skipped + step);
        }
        Ok(skipped)
    }

    /// Rows given out, once all were; None before.
    #[getter]
    fn total(&self, py: Python<'_>) -> Option<usize> {
        let buffer = self.buffer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let left = buffer.batch.as_ref().is_some_and(|batch| buffer.at < batch.rows);
        (buffer.ended && !left && !buffer.taken).then_some(buffer.rows)
    }

    /// Raises what ended the query while others read its rows as Arrow, if something did.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(Ok(()), |error| Err(self.hook.raise(py, &error, &self.text)))
    }

    /// What was done, in the words of the command line: `INSERT 0 3`; for queries just `SELECT`.
    #[getter]
    fn tag(&self) -> &str {
        &self.tag
    }

    /// Whether the statement returns rows, none of them perhaps.
    #[getter]
    fn has_rows(&self) -> bool {
        !self.schema.is_empty()
    }

    /// DB-API's description of the columns.
    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        description(py, &self.schema)
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|f| f.name.clone()).collect()
    }

    /// SQL types of the columns.
    #[getter]
    fn types(&self) -> Vec<String> {
        types_of(&self.schema)
    }

    /// Ends the query.
    pub fn close(&self, py: Python<'_>) {
        let mut buffer = self.buffer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        buffer.batch = None;
        buffer.ended = true;
        drop(buffer);
        let source = &self.source;
        py.detach(|| drop(source.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }

    /// The rows that are left, by Arrow's C stream interface: they are computed as they are asked for.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A requested schema is a wish; consumers cast for themselves when it is not met.
        let _ = requested_schema;
        let mut buffer = self.locked(py)?;
        let first = buffer.batch.take().map(|batch| batch.slice(buffer.at, batch.rows - buffer.at));
        buffer.ended = true;
        buffer.taken = true;
        let reader = Reader {
            schema: arrow_schema_in(&self.schema, self.zone),
            first,
            source: self.source.clone(),
            closed: self.closed.clone(),
            process: self.process,
            hook: self.hook.clone(),
            failure: self.failure.clone(),
        };
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let taken = self.buffer.get_mut().unwrap_or_else(PoisonError::into_inner).taken;
        // An Arrow stream reads on.
        if !taken {
            end(&self.source, self.process);
        }
    }
}

/// Ends a query whose rows are not read any more.
fn end(source: &Arc<Source>, process: u32) {
    if process != std::process::id() {
        // In a forked child its threads are not there to end.
        std::mem::forget(source.clone());
        return;
    }
    // The query may need the interpreter to come to its end.
    unlocked(|| drop(source.lock().unwrap_or_else(PoisonError::into_inner).take()));
}

/// What a consumer of the C stream calls, with or without the interpreter's lock.
struct Reader {
    schema: SchemaRef,
    first: Option<Batch>,
    source: Arc<Source>,
    closed: Arc<AtomicBool>,
    process: u32,
    hook: Arc<Hook>,
    failure: Arc<Mutex<Option<engine::Error>>>,
}

const CLOSED: &str = "the connection is closed, and the rows of its queries with it";

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.closed.load(Ordering::SeqCst) {
            return Some(Err(ArrowError::ComputeError(CLOSED.to_owned())));
        }
        if self.process != std::process::id() {
            let what = "these rows were asked for before a fork; query again in the child process";
            return Some(Err(ArrowError::ComputeError(what.to_owned())));
        }
        let (first, source, schema) = (self.first.take(), &self.source, &self.schema);
        let next = match first {
            Some(batch) => to_record_batch(&batch, schema).map(Some),
            None => unlocked(|| {
                let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
                let batch = source.as_mut().map_or(Ok(None), ResultStream::next_batch)?;
                batch.map(|batch| to_record_batch(&batch, schema)).transpose()
            }),
        };
        if matches!(next, Ok(None)) && self.closed.load(Ordering::SeqCst) {
            return Some(Err(ArrowError::ComputeError(CLOSED.to_owned())));
        }
        next.map_err(|error| {
            unlocked(|| self.hook.put_back());
            let told = ArrowError::ComputeError(error.render(""));
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            told
        })
        .transpose()
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        end(&self.source, self.process);
    }
}
