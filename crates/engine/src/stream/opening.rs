//! How a session opens the stream of a statement's result.
//!
//! A query that may stream runs on a thread of its own and fills a queue of bounded bytes; everything else runs to its
//! end first and is handed out from memory. The stream holds the statement open: its transaction, its place among the
//! session's streams, its trace. Called by `Session::stream`, portals and cursors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use catalog::Snapshot;
use operators::compose::compose_stream;
use operators::context::Conform;
use operators::stream::ResultQueue;
use plan::rows::rows_at_most;
use plan::{LogicalQuery, PhysicalNode, PhysicalPlan, Statement};
use scheduler::QueryControl;
use sync::CancelToken;
use types::{Error, Result, Type, Value, zone};

use super::{ArrowStream, OpenStream, QUEUE_BYTES_MAX, QUEUE_SHARE, ResultStream, Rows, Running};
use crate::calls::unwound;
use crate::plan_cache::{Given, Planned, PlannedQuery};
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::run::{Form, RunAs, failure, lacked_memory_of_others};
use crate::{Session, workload};

/// Queries of no more rows than this, by proof, run on the calling thread before they are handed out.
const ROWS_AT_ONCE: u128 = 2_048;

/// Whether a query's rows are no more than a batch, whatever the data.
fn is_one_batch(query: &PlannedQuery, relations: &SessionRelations) -> bool {
    let mut source_rows = |source: &PhysicalPlan| match &source.node {
        PhysicalNode::TableScan { table, .. } => {
            relations.snapshot().table_by_id(catalog::TableId(table.0)).map(|table| table.rows())
        }
        PhysicalNode::Materialized { index, .. } => {
            query.shared.get(*index).map(|rows| rows.iter().map(|batch| batch.rows as u64).sum())
        }
        _ => None,
    };
    rows_at_most(&query.plan, &mut source_rows) <= ROWS_AT_ONCE
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
                    Planned::Statement(statement) => match *statement {
                        Statement::Query(query) => {
                            let kept = alone && given.parameters.is_empty();
                            Ok(self.plan_query(query, kept.then_some(text), &relations)?)
                        }
                        Statement::Execute { name, arguments } => {
                            self.use_block();
                            match self.planned_prepared(&name, &arguments, &relations)? {
                                Planned::Query(query) => Ok(query),
                                Planned::Statement(statement) => match *statement {
                                    Statement::Query(query) => Ok(self.plan_query(query, None, &relations)?),
                                    other => Err(other),
                                },
                            }
                        }
                        other => Err(other),
                    },
                };
                let result = match query {
                    Ok(query) => run(query, relations, &mut recorded),
                    Err(other) => self.run_statement(other, &relations).map(ResultStream::ready),
                };
                if let (Ok(_), Some(recorded)) = (&result, self.scanned_by(recorded)) {
                    self.database.shared.workload.note(recorded, &self.last_shape);
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
        // The places of a scheduler's workers may all be taken by orders that wait as we would. And of rows that leave as
        // one batch nothing is read ahead: another thread would only have to be woken.
        // Rows of several nodes have their order when all are there.
        let at_once = self.database.shared.scheduler.is_inside_order() || self.is_on_nodes();
        match at_once || is_one_batch(&query, &relations) {
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
        relations.statement().inspect(|statement| _ = statement.charge_planning());
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
                    database.shared.workload.note(recorded, &workload::LastShape::default());
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
