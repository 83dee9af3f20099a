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
//! Common subplans and scalar subqueries run before `stream` returns, on the calling thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, Weak};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use catalog::Snapshot;
use operators::compose::compose_stream;
use operators::context::Conform;
use operators::stream::{Popped, ResultQueue};
use plan::{LogicalQuery, Statement};
use scheduler::{Progress, QueryControl};
use sync::CancelToken;
use sync::stop::Place;
use types::{Error, Result, Schema, Type, Value, Zone, zone};
use vector::Batch;
use vector::arrow::{arrow_schema_in, to_record_batch};

use crate::Session;
use crate::calls::unwound;
use crate::plan_cache::{Given, Planned, PlannedQuery};
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::run::{Form, RunAs, cancelled, failure, lacked_memory_of_others};
use crate::session::Tick;
use crate::workload;

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

/// A statement whose rows are asked for.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    /// The text that it is of.
    pub text: &'a str,
    pub statement: &'a sql::StatementText,
    /// It is the text's only one.
    pub alone: bool,
    pub given: Given<'a>,
    /// What a query sees, if that is not what the transaction sees now.
    pub snapshot: Option<&'a Arc<Snapshot>>,
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

impl Session {
    /// Runs the statements of `text`; the rows of the last one come as a stream.
    pub fn stream(&self, text: &str) -> Result<ResultStream> {
        self.stream_with(text, &[])
    }

    /// As `stream`, with values for parameters; see [`Session::query_with`]. The text then holds one statement.
    pub fn stream_with(&self, text: &str, parameters: &[(Value, Type)]) -> Result<ResultStream> {
        self.open_stream(text, Given::values(parameters), Form::Values)
    }

    /// As `stream_with`, for a text that comes again with other values; see [`Session::query_prepared`].
    pub fn stream_prepared(&self, text: &str, parameters: &[(Value, Type)]) -> Result<ResultStream> {
        self.open_stream(text, Given::prepared(parameters, &[]), Form::Values)
    }

    /// As `stream`, for readers of Arrow: workers bring columns into Arrow's form, so that the reader need not.
    pub fn stream_arrow(&self, text: &str) -> Result<ArrowStream> {
        self.stream_arrow_with(text, &[])
    }

    /// As `stream_arrow`, with values for parameters.
    pub fn stream_arrow_with(&self, text: &str, parameters: &[(Value, Type)]) -> Result<ArrowStream> {
        Ok(self.open_stream(text, Given::values(parameters), Form::Arrow)?.into_arrow())
    }

    /// As `stream_arrow`, for readers that want all rows before they do anything: when this returns the query has
    /// run, the calling thread with it. There is no other thread that runs it, no bound on what is computed ahead,
    /// and no waiting for a consumer.
    pub fn collect_arrow(&self, text: &str) -> Result<ArrowStream> {
        Ok(self
            .run_last(text, Given::default(), Form::Arrow, |query, relations, _| {
                self.run_planned(query, &relations, Form::Arrow).map(ResultStream::ready)
            })?
            .into_arrow())
    }

    fn open_stream(&self, text: &str, given: Given<'_>, form: Form) -> Result<ResultStream> {
        self.run_last(text, given, form, |query, relations, recorded| {
            self.running_rows(query, relations, form, recorded)
        })
    }

    /// Runs the statements of a text, and the last one by `run` if it is a query. What `run` leaves of the record is
    /// noted when it has succeeded.
    fn run_last(
        &self,
        text: &str,
        given: Given<'_>,
        form: Form,
        run: impl Fn(PlannedQuery, SessionRelations, &mut Option<workload::Running>) -> Result<ResultStream>
        + Sync,
    ) -> Result<ResultStream> {
        self.called(|| self.run_last_called(text, given, form, run))
    }

    fn run_last_called(
        &self,
        text: &str,
        given: Given<'_>,
        form: Form,
        run: impl Fn(PlannedQuery, SessionRelations, &mut Option<workload::Running>) -> Result<ResultStream>
        + Sync,
    ) -> Result<ResultStream> {
        let statements = self.statements_of_script(text)?;
        let Some((last, before)) = statements.split_last() else {
            return Ok(ResultStream::ready(ResultSet::done("")));
        };
        if !given.parameters.is_empty() && !before.is_empty() {
            return Err(crate::session::more_than_one());
        }
        let script = self.begin_script(statements.len())?;
        for statement in before {
            script.before_statement();
            self.execute_one(text, statement, false, Given::default())?;
        }
        script.before_statement();
        // An error in the midst of the last rows takes back what was done before, so these cannot come later.
        let at_once = script.has_changes();
        let opening = Opening { text, statement: last, alone: before.is_empty(), given, snapshot: None };
        let stream = self.open_rows(&opening, |query, relations, recorded| match at_once {
            true => self.run_planned(query, &relations, form).map(ResultStream::ready),
            false => run(query, relations, recorded),
        })?;
        script.commit()?;
        Ok(stream)
    }

    /// Plans a statement in the block that is open or as a transaction of its own; a query's rows come by `run`, and other
    /// statements run to their end.
    pub(crate) fn open_rows(
        &self,
        opening: &Opening<'_>,
        run: impl Fn(PlannedQuery, SessionRelations, &mut Option<workload::Running>) -> Result<ResultStream>
        + Sync,
    ) -> Result<ResultStream> {
        let Opening { text, statement, alone, given, snapshot } = *opening;
        let of_script = self.is_of_script();
        self.guarded(statement.of(text), |running| {
            self.as_transaction(statement.ends_transaction(text), of_script, || {
                running.trace().set_text(statement.of(text));
                let relations = match snapshot {
                    Some(snapshot) => self.relations_at(snapshot.clone(), Some(running.clone())),
                    None => self.relations_of(Some(running.clone())),
                };
                let (planned, mut recorded) =
                    self.plan_statement(text, statement, alone, &relations, given)?;
                let query = match planned {
                    Planned::Query(query) => Ok(query),
                    Planned::Statement(Statement::Query(query)) => {
                        let kept = alone && given.parameters.is_empty();
                        Ok(self.plan_query(query, kept.then_some(text), &relations)?)
                    }
                    Planned::Statement(Statement::Execute { name, arguments }) => {
                        self.use_block();
                        match self.planned_prepared(&name, &arguments, &relations)? {
                            Planned::Query(query) => Ok(query),
                            Planned::Statement(Statement::Query(query)) => {
                                Ok(self.plan_query(query, None, &relations)?)
                            }
                            Planned::Statement(other) => Err(other),
                        }
                    }
                    Planned::Statement(other) => Err(other),
                };
                let result = match query {
                    Ok(query) => run(query, relations, &mut recorded),
                    Err(other) => self.run_statement(other, &relations).map(ResultStream::ready),
                };
                if let (Ok(_), Some(recorded)) = (&result, self.scanned_by(recorded)) {
                    self.database.shared.workload.note(recorded);
                }
                result
            })
        })
    }

    /// A query's rows, which are computed while they are read.
    pub(crate) fn running_rows(
        &self,
        query: PlannedQuery,
        relations: SessionRelations,
        form: Form,
        recorded: &mut Option<workload::Running>,
    ) -> Result<ResultStream> {
        // The places of a scheduler's workers may all be taken by orders that wait as we would.
        match self.database.shared.scheduler.is_inside_order() {
            true => self.run_planned(query, &relations, form).map(ResultStream::ready),
            false => {
                let relations = Arc::new(relations);
                self.stream_query(query, &relations, Some(relations.clone()), form, recorded.take())
            }
        }
    }

    /// The rows of a query that a statement on this session uses itself, while it runs.
    pub(crate) fn rows_of(&self, query: LogicalQuery, relations: &SessionRelations) -> Result<ResultStream> {
        let query = self.plan_query(query, None, relations)?;
        match self.database.shared.scheduler.is_inside_order() {
            true => self.run_planned(query, relations, Form::Values).map(ResultStream::ready),
            false => self.stream_query(query, relations, None, Form::Values, None),
        }
    }

    /// `kept` stays until the query has ended, where the caller does not wait for that.
    fn stream_query(
        &self,
        query: PlannedQuery,
        relations: &SessionRelations,
        kept: Option<Arc<SessionRelations>>,
        form: Form,
        recorded: Option<workload::Running>,
    ) -> Result<ResultStream> {
        let PlannedQuery { schema, plan, shared, .. } = query;
        let statement = relations.statement().map(|statement| statement.query().clone());
        let conform: Arc<Conform> = {
            let (declared, statement) = (schema.clone(), statement.clone());
            Arc::new(move |batch| {
                statement.iter().for_each(|query| query.rows_flow());
                form.conform(batch, &declared)
            })
        };
        let run_as = RunAs { conform: Some(conform), ..RunAs::default() };
        let plan = self.as_read(&plan)?;
        let mut context = self.query_context(&plan, relations, &shared, run_as)?;
        // A statement may begin on the session while the rows of this one are read, so it has a signal of its own.
        let cancel = CancelToken::new();
        cancel.set_timeout(self.cancel_token().time_left());
        cancel.delay_as(&self.cancel_token());
        context.cancel = cancel.clone();
        let recorded = self.scanned_by(recorded);
        let context = Arc::new(context);
        let queue =
            ResultQueue::new(QUEUE_BYTES_MAX.min(self.database.memory_limit() / QUEUE_SHARE) as usize);
        let dag = compose_stream(&plan, &context, &queue)?;
        let traced = relations.statement().map(|statement| statement.trace().clone());
        let mut control = QueryControl::with_cancel(cancel.clone()).pausable();
        if traced.as_ref().is_some_and(|trace| trace.records()) {
            control = control.recorded();
        }
        // The statement goes on, under the stream's own signal, until its last row is read.
        if let Some(query) = statement.clone() {
            query.set_cancel_token(cancel.clone());
            query.expect_memory(crate::statement::expected_memory(&plan));
            control = control.of(query);
        }
        let control = Arc::new(control);
        relations.statement().inspect(|statement| statement.charge_planning());
        let driver = {
            let (queue, control) = (queue.clone(), control.clone());
            let (database, watch) = (self.database.clone(), self.progress.clone());
            move || {
                let (mut context, mut dag) = (context, dag);
                let run = || {
                    let _shown = watch.show(&control, &dag);
                    loop {
                        let error = match database.shared.scheduler.run(dag, &control).map_err(failure) {
                            Ok(report) => return Ok(report),
                            Err(error) => error,
                        };
                        // As in `run_plan`: others had the memory, and no row was handed out.
                        let again = statement.as_ref().is_some_and(|query| {
                            lacked_memory_of_others(&error, query) && queue.begin_anew()
                        });
                        if !again {
                            return Err(error);
                        }
                        context = Arc::new(context.anew(&plan));
                        dag = compose_stream(&plan, &context, &queue)?;
                    }
                };
                let outcome = catch_unwind(AssertUnwindSafe(run));
                let outcome = outcome.unwrap_or_else(|panic| Err(unwound(&*panic)));
                if let (Ok(_), Some(recorded)) = (&outcome, recorded) {
                    database.shared.workload.note(recorded);
                }
                if let Some(trace) = &traced {
                    if let Some(record) = control.take_record() {
                        trace.note_run(&plan, &context, record, None);
                    }
                    if let Err(error) = &outcome {
                        trace.note_failure(error);
                    }
                }
                // What the query read is let go before the consumer hears of the end.
                drop((context, kept, database, plan, shared, traced));
                queue.end(outcome.map(|_| ()));
            }
        };
        let driver = std::thread::Builder::new().name("stream".to_owned()).spawn(driver);
        let driver = driver.map_err(|e| {
            Error::new(types::SqlState::OutOfMemory, format!("no thread for a stream of rows: {e}"))
        })?;
        self.remember_stream((Arc::downgrade(&queue), cancel));
        let running = Running { queue, control, tick: self.tick(), driver: Some(driver) };
        let tag = "SELECT".to_owned();
        Ok(ResultStream { schema, tag, warning: None, rows: Rows::Running(running), zone: zone::current() })
    }

    fn remember_stream(&self, stream: OpenStream) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|(queue, _)| queue.strong_count() > 0);
        streams.push(stream);
    }

    /// Ends the statement that runs, and the streams that are open, within 100 ms; from any thread.
    pub fn interrupt(&self) {
        self.cancel_token().cancel();
        for (_, cancel) in self.streams.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            cancel.cancel();
        }
    }
}
