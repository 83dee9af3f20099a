//! Streams: the rows of a query while it runs.
//!
//! ```text
//!  Session::stream: plan, run subqueries --> driver thread: Scheduler::run --> ResultQueue --> ResultStream::next_batch
//! ```
//! The driver is the thread that the scheduler knows as the query's caller. It ends with the query; the consumer may be
//! any thread, and may take its time: what is computed ahead of it is bounded (`operators::stream`), and work orders
//! that find the queue full leave their places to other queries. Dropping the stream cancels the query and waits for
//! its end, so that what it held is free afterwards.
//!
//! Common subplans and scalar subqueries run before `stream` returns, on the calling thread; so does a query that cannot
//! have more rows than a batch (aggregates without groups, rows of small tables, a LIMIT): a driver has nothing to read
//! ahead of its consumer then, and to start a thread costs more than many such queries.

mod opening;

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use operators::stream::{Popped, ResultQueue};
use scheduler::{Progress, QueryControl};
use sync::CancelToken;
use sync::stop::Place;
use types::{Result, Schema, Zone, zone};
use vector::Batch;
use vector::arrow::{arrow_schema_in, to_record_batch};

use crate::result::ResultSet;
use crate::run::cancelled;
use crate::session::Tick;
pub(crate) use opening::Opening;

/// Bytes that a stream's queue holds, at most: enough that workers do not wait for a consumer that keeps pace.
const QUEUE_BYTES_MAX: u64 = 32 << 20;
/// And never more than this share of the memory limit.
const QUEUE_SHARE: u64 = 16;

/// The rows of a statement, in their order, as they are computed. An iterator over batches.
///
/// ```
/// let session = engine::Database::in_memory(engine::Options::default())?.session();
/// let mut stream = session.stream("SELECT i FROM generate_series(1, 1000000) AS t(i)")?;
/// let first = stream.next_batch()?.expect("has rows");
/// assert_eq!(first.columns[0].value(0), engine::Value::I64(1));
/// drop(stream); // Ends the query.
/// # Ok::<(), engine::Error>(())
/// ```
pub struct ResultStream {
    schema: Schema,
    tag: String,
    warning: Option<&'static str>,
    rows: Rows,
    zone: Zone,
}

/// Rows of a finished statement, or of one that runs.
enum Rows {
    Ready(std::vec::IntoIter<Batch>),
    Running(Running),
}

/// A query that a driver thread runs.
struct Running {
    queue: Arc<ResultQueue>,
    control: Arc<QueryControl>,
    tick: Option<Tick>,
    driver: Option<JoinHandle<()>>,
}

/// How a session finds the streams that are open, to stop them.
pub(crate) type OpenStream = (Weak<ResultQueue>, CancelToken);

impl ResultStream {
    /// A stream over rows that are there already.
    pub(crate) fn ready(result: ResultSet) -> Self {
        let (schema, tag) = (result.schema().clone(), result.tag().to_owned());
        ResultStream {
            schema,
            tag,
            warning: result.warning(),
            rows: Rows::Ready(result.into_batches().into_iter()),
            zone: zone::current(),
        }
    }

    /// Names and types of the columns; empty for statements without rows.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The session's time zone when the statement began: TIMESTAMPTZ is shown in it.
    pub fn time_zone(&self) -> Zone {
        self.zone
    }

    /// PostgreSQL's command tag; for a query that is running, `SELECT` without the number of rows.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// What the statement did not do as it was told, such as BEGIN where there is a transaction.
    pub fn warning(&self) -> Option<&'static str> {
        self.warning
    }

    /// Whether the statement returns rows at all.
    pub fn has_rows(&self) -> bool {
        !self.schema.is_empty()
    }

    /// The next rows; `None` after the last. Errors of the query come here, once they happen. The session's tick is
    /// called meanwhile.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        let running = match &mut self.rows {
            Rows::Ready(batches) => return Ok(batches.next()),
            Rows::Running(running) => running,
        };
        loop {
            let popped = running.queue.pop(|| running.control.resume());
            match popped {
                Ok(Popped::Batch(batch)) => return Ok(Some(batch)),
                Ok(Popped::End) => {
                    self.rows = Rows::Ready(vec![].into_iter());
                    return Ok(None);
                }
                Ok(Popped::Nothing) => {
                    // A statement that uses the rows itself may be stopped.
                    let stopped = sync::stop::reason(Place::Batch).is_some();
                    if stopped || running.tick.as_ref().is_some_and(|tick| tick().is_break()) {
                        running.control.cancel_token().cancel();
                    }
                }
                Err(error) => {
                    let reason = running.control.cancel_token().reason();
                    self.rows = Rows::Ready(vec![].into_iter());
                    let stopped = error.state() == types::SqlState::QueryCanceled;
                    return Err(reason.filter(|_| stopped).map_or(error, cancelled));
                }
            }
        }
    }

    /// All rows that are left.
    pub fn collect_rest(mut self) -> Result<ResultSet> {
        let mut batches = Vec::new();
        while let Some(batch) = self.next_batch()? {
            batches.push(batch);
        }
        Ok(match self.has_rows() {
            true => ResultSet::new(self.schema.clone(), batches),
            false => ResultSet::done(self.tag.clone()),
        })
    }

    /// Ends the query when it is raised, from any thread; `next_batch` then fails.
    pub fn cancel_token(&self) -> Option<CancelToken> {
        match &self.rows {
            Rows::Ready(_) => None,
            Rows::Running(running) => Some(running.control.cancel_token().clone()),
        }
    }

    /// The deadline of the statement that has begun it does not hold for rows that are read later.
    pub(crate) fn outlive_statement(&self) {
        if let Some(cancel) = self.cancel_token() {
            cancel.set_timeout(None);
        }
    }

    /// How far the query is, while it runs.
    pub fn progress(&self) -> Option<Progress> {
        match &self.rows {
            Rows::Ready(_) => None,
            Rows::Running(running) => Some(running.control.progress()),
        }
    }

    /// The stream as Arrow's reader of record batches. For streams that are only read as Arrow,
    /// [`Session::stream_arrow`] leaves less to do to the reader.
    pub fn into_arrow(self) -> ArrowStream {
        ArrowStream { schema: arrow_schema_in(&self.schema, self.zone), stream: self }
    }
}

impl Iterator for ResultStream {
    type Item = Result<Batch>;
    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.control.cancel_token().cancel();
        self.queue.close();
        self.control.resume();
        if let Some(driver) = self.driver.take() {
            // It catches its panics.
            let _ = driver.join();
        }
    }
}

/// A `ResultStream` as Arrow knows it.
pub struct ArrowStream {
    schema: SchemaRef,
    stream: ResultStream,
}

impl ArrowStream {
    /// The batches before they are made Arrow's.
    pub fn into_stream(self) -> ResultStream {
        self.stream
    }

    /// As `next`, with the engine's own error.
    pub fn next_record_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.stream.next_batch()?.map(|batch| to_record_batch(&batch, &self.schema)).transpose()
    }
}

impl Iterator for ArrowStream {
    type Item = std::result::Result<RecordBatch, ArrowError>;
    fn next(&mut self) -> Option<Self::Item> {
        self.next_record_batch().map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl arrow_array::RecordBatchReader for ArrowStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
