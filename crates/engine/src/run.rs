//! Running plans: compose, schedule, take the result.
//!
//! `run_plan` runs a physical plan and begins it anew when other queries held the memory that it needed; `run_in` composes
//! the plan into segments, hands them to the scheduler on the calling thread, and takes the result. `execution` runs what
//! comes before a query's own plan. A [`QueryContext`] carries what operators share in one run.
//! Every statement with a plan comes through here: queries, inserts, EXPLAIN ANALYZE, and the advisor's replays.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use operators::compose::{self, compose};
use operators::context::{Conform, InsertTarget};
use operators::{QueryContext, QueryResult};
use plan::{LogicalQuery, PhysicalNode, PhysicalPlan};
use scheduler::{Query, QueryControl, RunRecord};
use sync::StopReason;
use types::{Error, Field, Result, Schema, SqlState, Type};
use vector::{Batch, Data, Vector};

use crate::Session;
use crate::execution::SharedRows;
use crate::plan_cache::PlannedQuery;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::settings::TraceLevel;
use crate::statement::{StatementContext, expected_memory};

/// A finished run: its rows and what its operators counted.
pub(crate) struct Run {
    /// The rows.
    pub result: QueryResult,
    /// What the operators shared, with their counters.
    pub context: Arc<QueryContext>,
    /// What its work orders did; of EXPLAIN ANALYZE only.
    pub record: Option<RunRecord>,
}

/// What a query's rows are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// To be read as values, in the declared types.
    Values,
    /// Decimals are 128 bits wide already: what `to_record_batch` then does shares all buffers.
    Arrow,
}

impl Form {
    /// Brings a batch of a query with these columns into this form.
    pub fn conform(self, batch: Batch, schema: &Schema) -> Result<Batch> {
        let batch = conform_batch(batch, schema)?;
        Ok(if self == Form::Arrow { as_arrow_has_it(batch) } else { batch })
    }
}

fn as_arrow_has_it(batch: Batch) -> Batch {
    let rows = batch.rows;
    let wide = |column: Vector| match (column.ty(), column.flatten().data()) {
        (ty @ Type::Decimal { .. }, Data::I64(values)) => {
            let values: Vec<i128> = values.iter().map(|v| i128::from(*v)).collect();
            Vector::new(ty, Data::I128(values.into()), column.flatten().validity().cloned())
        }
        _ => column,
    };
    Batch::new(batch.columns.into_iter().map(wide).collect(), rows)
}

/// How a plan runs, and what becomes of its rows.
#[derive(Clone, Default)]
pub(crate) struct RunAs {
    /// Where they go; into the result, if not given.
    pub insert: Option<Arc<dyn InsertTarget>>,
    /// What workers do to the result's batches.
    pub conform: Option<Arc<Conform>>,
    /// Time and record every operator.
    pub analyze: bool,
}

/// Whether rows come from the host program while the plan runs: it may then wait for the host.
fn reads_live_rows(plan: &PhysicalPlan) -> bool {
    let live = |file: &plan::FileSource| file.format == plan::FileFormat::Memory && file.rows.is_none();
    matches!(&plan.node, PhysicalNode::FileScan { file, .. } if live(file))
        || plan.children().into_iter().any(reads_live_rows)
}

impl Session {
    /// Plans a bound query and runs it to its end.
    pub(crate) fn run_query(&self, query: LogicalQuery, relations: &SessionRelations) -> Result<ResultSet> {
        self.run_planned(self.plan_query(query, None, relations)?, relations, Form::Values)
    }

    /// Runs a query that is planned to its end.
    pub(crate) fn run_planned(
        &self,
        query: PlannedQuery,
        relations: &SessionRelations,
        form: Form,
    ) -> Result<ResultSet> {
        let PlannedQuery { schema, plan, shared, planning, trial } = query;
        let declared = schema.clone();
        let conform: Arc<Conform> = Arc::new(move |batch| form.conform(batch, &declared));
        let run_as = RunAs { conform: Some(conform), ..RunAs::default() };
        let run = self.run_plan(&plan, relations, &shared, run_as)?;
        if let Some(trial) = trial {
            trial.ended();
        }
        let mut result = ResultSet::new(schema, run.result.batches);
        result.planning = planning;
        Ok(result)
    }

    /// What operators share that run this plan.
    pub(crate) fn query_context(
        &self,
        plan: &PhysicalPlan,
        relations: &SessionRelations,
        materialized: &[SharedRows],
        run_as: RunAs,
    ) -> Result<QueryContext> {
        let RunAs { insert, conform, analyze } = run_as;
        let mut tables = HashMap::new();
        let mut open = vec![plan];
        while let Some(node) = open.pop() {
            if let PhysicalNode::TableScan { table, .. } = &node.node {
                let known = relations.table_by_id(*table)?;
                crate::wide::refuse_stale(&known)?;
                tables.insert(*table, known);
            }
            open.extend(node.children());
        }
        // A scan of a wide table counts as a read of its base tables.
        let bases = tables.values().filter_map(|t| t.wide.as_ref()).flat_map(|wide| wide.tables());
        self.note_read(tables.keys().map(|id| catalog::TableId(id.0)).chain(bases));
        self.note_scanned(tables.keys().map(|id| catalog::TableId(id.0)));
        let shared = &self.database.shared;
        let settings = self.settings();
        let execution = settings.execution(analyze || settings.trace == TraceLevel::Full);
        drop(settings);
        let environment = relations.environment().clone();
        let (budget, pool) = (shared.budget.clone(), shared.pool.clone());
        let mut context = QueryContext::new(execution, environment, budget, pool, tables, insert, plan);
        context.materialized = materialized.to_vec();
        context.conform = conform;
        context.rejects = relations.rejects().clone();
        context.cancel = self.cancel_token();
        if let Some(statement) = relations.statement() {
            context.held = statement.query().held();
        }
        context.temporary = Some(self.database.temporary_files());
        Ok(context)
    }

    /// Adds what is decided from blocks' statistics and memory, before anything runs, to the plan's remarks.
    pub(crate) fn remark_decisions(&self, plan: &mut PhysicalPlan, relations: &SessionRelations) {
        let context = self.query_context(plan, relations, &[], RunAs::default());
        let Ok(notes) = context.and_then(|context| compose::notes(plan, &context)) else { return };
        let mut open = vec![plan];
        while let Some(node) = open.pop() {
            let of_node = notes.iter().filter(|(id, ..)| *id == node.id);
            node.remarks.extend(of_node.map(|(_, name, value)| format!("{name} {value}")));
            open.extend(node.children_mut());
        }
    }

    /// Runs a plan, again where other queries held memory that it needed. `materialized`: rows of common subplans, by
    /// the number that the plan reads them under.
    pub(crate) fn run_plan(
        &self,
        plan: &Arc<PhysicalPlan>,
        relations: &SessionRelations,
        materialized: &[SharedRows],
        run_as: RunAs,
    ) -> Result<Run> {
        let query = relations.statement().map(|statement| statement.query());
        loop {
            match self.run_once(plan, relations, materialized, run_as.clone()) {
                // What an insert made was its own until now.
                Err(error) if self.may_run_again(&error, query) => {
                    if let Some(insert) = &run_as.insert {
                        insert.begin_anew();
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// Whether a query failed because others had memory that it wanted: it begins anew then when they have ended. Not
    /// so inside a work order, where waiting for others might be for ever.
    fn may_run_again(&self, error: &Error, query: Option<&Arc<Query>>) -> bool {
        let inside = self.database.shared.scheduler.is_inside_order();
        !inside && query.is_some_and(|query| lacked_memory_of_others(error, query))
    }

    fn run_once(
        &self,
        plan: &Arc<PhysicalPlan>,
        relations: &SessionRelations,
        materialized: &[SharedRows],
        run_as: RunAs,
    ) -> Result<Run> {
        let plan = &self.as_read(plan)?;
        let context = self.query_context(plan, relations, materialized, run_as)?;
        let statement = relations.statement().map(|statement| &**statement);
        let noted = statement.filter(|statement| statement.trace().records()).map(|_| plan);
        self.run_in(plan, context, statement, noted)
    }

    /// Runs a plan over what its context says, as part of a statement; its trace notes the run if it is given the plan.
    pub(crate) fn run_in(
        &self,
        plan: &PhysicalPlan,
        context: QueryContext,
        statement: Option<&StatementContext>,
        noted: Option<&Arc<PhysicalPlan>>,
    ) -> Result<Run> {
        let context = Arc::new(context);
        let shared = &self.database.shared;
        let composed = compose(plan, &context)?;
        let mut control = QueryControl::with_cancel(self.cancel_token());
        if reads_live_rows(plan) {
            control = control.pausable();
        }
        if let Some(tick) = self.tick() {
            control = control.with_tick(move || tick());
        }
        if let Some(statement) = statement {
            statement.query().expect_memory(expected_memory(plan));
            control = control.of(statement.query().clone());
        }
        if noted.is_some() || context.settings.analyze {
            control = control.recorded();
        }
        let control = Arc::new(control);
        let _shown = self.progress.show(&control, &composed.dag);
        statement.inspect(|statement| statement.charge_planning());
        let outcome = shared.scheduler.run(composed.dag, &control);
        statement.inspect(|statement| statement.skip_time());
        let result = std::mem::take(&mut *composed.result.lock().unwrap_or_else(PoisonError::into_inner));
        let mut record = control.take_record();
        if let (Some(statement), Some(plan)) = (statement, noted)
            && let Some(mut known) = record.take()
        {
            if context.settings.analyze {
                record = Some(known.clone());
            }
            // It may lie in the history for long.
            known.orders.shrink_to_fit();
            let rows = outcome.is_ok().then(|| result.rows() as u64);
            statement.trace().note_run(plan, &context, known, rows);
        }
        outcome.map_err(failure)?;
        Ok(Run { result, context, record })
    }
}

/// Whether the query should run again, and will then wait until it has the memory to itself.
pub(crate) fn lacked_memory_of_others(error: &Error, query: &Query) -> bool {
    error.state() == SqlState::OutOfMemory && query.memory_max() == u64::MAX && query.run_alone()
}

/// The scheduler's failure as the user's error.
pub(crate) fn failure(failure: workorder::Failure) -> Error {
    if let Some(stopped) = failure.downcast_ref::<scheduler::Stopped>() {
        return cancelled(stopped.reason);
    }
    if let Some(exceeded) = failure.downcast_ref::<scheduler::MemoryExceeded>() {
        return Error::new(SqlState::OutOfMemory, format!("out of memory: {exceeded}"))
            .with_hint("SET query_memory allows more, or none for as much as there is");
    }
    match failure.downcast::<Error>() {
        Ok(error) => *error,
        Err(other) => Error::internal(format!("internal error: {other}"))
            .with_hint("this is a bug; please report it with the statement"),
    }
}

/// What a statement that was stopped says.
pub(crate) fn cancelled(reason: StopReason) -> Error {
    let message = match reason {
        StopReason::Timeout => "canceling statement due to statement timeout",
        StopReason::Cancelled => "canceling statement due to user request",
    };
    Error::new(SqlState::QueryCanceled, message)
}

/// Columns under their declared types: the optimizer may have narrowed them.
pub(crate) fn conform(batches: Vec<Batch>, schema: &Schema) -> Result<Vec<Batch>> {
    batches.into_iter().map(|batch| conform_batch(batch, schema)).collect()
}

/// A batch with its columns in the declared types, which the optimizer may have narrowed; an error for a value out of
/// range.
pub(crate) fn conform_batch(batch: Batch, schema: &Schema) -> Result<Batch> {
    let rows = batch.rows;
    let columns = batch
        .columns
        .into_iter()
        .zip(schema.fields())
        .map(|(column, field)| column.retyped(field.ty).ok_or_else(|| Error::out_of_range(&field.ty)))
        .collect::<Result<Vec<_>>>()?;
    Ok(Batch::new(columns, rows))
}

/// The result's columns as the query declares them.
pub(crate) fn result_schema(query: &LogicalQuery) -> Schema {
    let fields = query
        .output
        .iter()
        .map(|(id, heading)| {
            let column = query.columns.get(*id);
            let ty = if column.ty == Type::Null { Type::Text } else { column.ty };
            Field::new(heading, ty, column.nullable)
        })
        .collect();
    Schema::new(fields)
}
