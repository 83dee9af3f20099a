//! Running queries: subqueries first, then optimize, compose, schedule.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use operators::context::InsertTarget;
use operators::{QueryContext, QueryResult, compose};
use plan::{
    Expr, ExprKind, LogicalPlan, LogicalQuery, MaterializedSource, PhysicalNode, PhysicalPlan, ScanSource,
};
use scheduler::{Query, QueryControl, RunRecord};
use sync::StopReason;
use types::{Error, Field, Result, Schema, SqlState, Type, Value};
use vector::Batch;

use crate::Session;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::settings::TraceLevel;
use crate::statement;
use crate::statistics::SnapshotStatistics;
use crate::traces::StatementTrace;

/// A finished run: its rows and what its operators counted.
pub(crate) struct Run {
    pub result: QueryResult,
    pub context: Arc<QueryContext>,
    /// What its work orders did; of EXPLAIN ANALYZE only.
    pub record: Option<RunRecord>,
}

/// The rows of a subplan that several parts of a query read.
pub(crate) type SharedRows = Arc<Vec<Batch>>;

/// A query planned: what is left to run, and the rows it reads that were computed before.
pub(crate) struct Prepared {
    pub plan: PhysicalPlan,
    pub shared: Vec<SharedRows>,
    /// Time spent in the optimizer.
    pub planning: Duration,
}

/// What preparing a query is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// EXPLAIN: nothing runs, scalar subqueries stay unknown.
    Explain,
    Run,
    /// EXPLAIN ANALYZE: what runs on the way is counted and kept.
    Analyze,
}

/// A common subplan or a scalar subquery: it has a plan of its own, which runs before the query's.
pub(crate) struct Part {
    pub title: String,
    pub plan: Arc<PhysicalPlan>,
    pub run: Option<Run>,
    pub executed: Duration,
}

impl Session {
    pub(crate) fn run_query(&self, query: LogicalQuery, relations: &SessionRelations) -> Result<ResultSet> {
        let schema = result_schema(&query);
        let prepared = self.prepare(query, relations, Purpose::Run, &mut vec![])?;
        let run = self.run_plan(&Arc::new(prepared.plan), relations, &prepared.shared, None, false)?;
        let mut result = ResultSet::new(schema.clone(), conform(run.result.batches, &schema)?);
        result.planning = prepared.planning;
        Ok(result)
    }

    /// Plans a query. What has to run before, common subplans and scalar subqueries, runs, unless the purpose is to
    /// explain; `parts` gets those plans, unless the purpose is to run.
    pub(crate) fn prepare(
        &self,
        mut query: LogicalQuery,
        relations: &SessionRelations,
        purpose: Purpose,
        parts: &mut Vec<Part>,
    ) -> Result<Prepared> {
        let started = Instant::now();
        let statistics = SnapshotStatistics::new(relations.snapshot());
        let settings = self.settings().optimizer.clone();
        let common = optimizer::share(&mut query, &statistics, &settings)?;
        let mut planning = started.elapsed();

        let mut shared: Vec<SharedRows> = Vec::with_capacity(common.len());
        planning += self.run_recursions(&mut query, relations, purpose, parts, &mut shared)?;
        for (number, mut plan) in common.into_iter().enumerate() {
            plan.number();
            let title = format!("common subplan {number}");
            let plan = Arc::new(plan);
            let (run, executed) = self.run_part(&title, &plan, relations, &shared, purpose)?;
            let rows = run.as_ref().map(|run| run.result.batches.clone()).unwrap_or_default();
            shared.push(Arc::new(rows));
            if purpose != Purpose::Run {
                parts.push(Part { title, plan, run, executed });
            }
        }
        let counts: Vec<usize> = shared.iter().map(|s| s.iter().map(|b| b.rows).sum()).collect();
        let learn = |plan: &mut LogicalPlan| {
            if purpose != Purpose::Explain && !counts.is_empty() {
                learn_rows(plan, &counts);
            }
        };

        let mut values: Vec<Value> = Vec::with_capacity(query.subqueries.len());
        for (number, mut subquery) in std::mem::take(&mut query.subqueries).into_iter().enumerate() {
            substitute(&mut subquery, &values);
            learn(&mut subquery);
            let output = subquery.output();
            let Some(id) = output.first().copied() else {
                return Err(Error::internal("a scalar subquery without a column"));
            };
            // Two rows decide; a third need not be computed.
            let limited = LogicalPlan::Limit { input: Box::new(subquery), offset: 0, count: Some(2) };
            let started = Instant::now();
            let plan = optimizer::optimize_plan(limited, &mut query.columns, &[id], &statistics, &settings)?;
            planning += started.elapsed();
            let (title, plan) = (format!("subquery {number}"), Arc::new(plan));
            let (run, executed) = self.run_part(&title, &plan, relations, &shared, purpose)?;
            if let Some(run) = &run {
                values.push(scalar(run, plan.output[0].ty, query.columns.get(id).ty)?);
            }
            if purpose != Purpose::Run {
                parts.push(Part { title, plan, run, executed });
            }
        }
        substitute(&mut query.plan, &values);
        learn(&mut query.plan);
        let output: Vec<_> = query.output.iter().map(|(id, _)| *id).collect();
        let started = Instant::now();
        let plan = optimizer::optimize_plan(query.plan, &mut query.columns, &output, &statistics, &settings)?;
        planning += started.elapsed();
        Ok(Prepared { plan, shared, planning })
    }

    fn run_part(
        &self,
        title: &str,
        plan: &Arc<PhysicalPlan>,
        relations: &SessionRelations,
        shared: &[SharedRows],
        purpose: Purpose,
    ) -> Result<(Option<Run>, Duration)> {
        if purpose == Purpose::Explain {
            return Ok((None, Duration::ZERO));
        }
        let started = Instant::now();
        let run = self.run_plan(plan, relations, shared, None, purpose == Purpose::Analyze)?;
        statement::name_part(title);
        Ok((Some(run), started.elapsed()))
    }

    /// What operators share that run this plan.
    pub(crate) fn query_context(
        &self,
        plan: &PhysicalPlan,
        relations: &SessionRelations,
        materialized: &[SharedRows],
        insert: Option<Arc<dyn InsertTarget>>,
        analyze: bool,
    ) -> Result<QueryContext> {
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
        // Who reads a wide table has read what it is made of.
        let bases = tables.values().filter_map(|t| t.wide.as_ref()).flat_map(|wide| wide.tables());
        self.note_read(tables.keys().map(|id| catalog::TableId(id.0)).chain(bases));
        self.note_scanned(tables.keys().map(|id| catalog::TableId(id.0)));
        let shared = &self.database.shared;
        let settings = self.settings();
        let execution = settings.execution(analyze || settings.trace == TraceLevel::Full);
        drop(settings);
        let mut context =
            QueryContext::new(execution, shared.budget.clone(), shared.pool.clone(), tables, insert, plan);
        context.materialized = materialized.to_vec();
        context.cancel = self.cancel_token();
        if let Some(query) = statement::current() {
            context.held = query.held();
        }
        context.temporary = Some(self.database.temporary_files());
        Ok(context)
    }

    /// Adds what operators decide from blocks' statistics, before anything runs, to the plan's remarks.
    pub(crate) fn remark_decisions(&self, plan: &mut PhysicalPlan, relations: &SessionRelations) {
        // Of common subplans there are no rows yet, so a plan that reads them may not compose: nothing is said then.
        let Ok(context) = self.query_context(plan, relations, &[], None, false) else { return };
        let context = Arc::new(context);
        if compose(plan, &context).is_err() {
            return;
        }
        let mut open = vec![plan];
        while let Some(node) = open.pop() {
            let notes = context.metrics.get(node.id).notes;
            node.remarks.extend(notes.into_iter().map(|(name, value)| format!("{name} {value}")));
            open.extend(node.children_mut());
        }
    }

    pub(crate) fn run_plan(
        &self,
        plan: &Arc<PhysicalPlan>,
        relations: &SessionRelations,
        materialized: &[SharedRows],
        insert: Option<Arc<dyn InsertTarget>>,
        analyze: bool,
    ) -> Result<Run> {
        let query = statement::current();
        loop {
            match self.run_once(plan, relations, materialized, insert.clone(), analyze) {
                // What an insert made was its own until now.
                Err(error) if self.may_run_again(&error, query.as_ref()) => {
                    if let Some(insert) = &insert {
                        insert.begin_anew();
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// Whether a query failed because others had memory that it wanted: it begins anew then when they have ended. Not so
    /// inside a work order, where waiting for others might be for ever.
    fn may_run_again(&self, error: &Error, query: Option<&Arc<Query>>) -> bool {
        let inside = self.database.shared.scheduler.is_inside_order();
        !inside && query.is_some_and(|query| lacked_memory_of_others(error, query))
    }

    fn run_once(
        &self,
        plan: &Arc<PhysicalPlan>,
        relations: &SessionRelations,
        materialized: &[SharedRows],
        insert: Option<Arc<dyn InsertTarget>>,
        analyze: bool,
    ) -> Result<Run> {
        let context = self.query_context(plan, relations, materialized, insert, analyze)?;
        let traced = statement::trace().filter(|trace| trace.records());
        let noted = traced.as_ref().map(|trace| (&**trace, plan));
        self.run_in(plan, context, noted)
    }

    /// Runs a plan over what its context says, as part of the statement whose trace is given.
    pub(crate) fn run_in(
        &self,
        plan: &PhysicalPlan,
        context: QueryContext,
        noted: Option<(&StatementTrace, &Arc<PhysicalPlan>)>,
    ) -> Result<Run> {
        let context = Arc::new(context);
        let shared = &self.database.shared;
        let composed = compose(plan, &context)?;
        let mut control = QueryControl::with_cancel(self.cancel_token());
        if let Some(tick) = self.tick() {
            control = control.with_tick(move || tick());
        }
        if let Some(query) = statement::current() {
            query.expect_memory(statement::expected_memory(plan));
            control = control.of(query);
        }
        if noted.is_some() || context.settings.analyze {
            control = control.recorded();
        }
        let control = Arc::new(control);
        let _shown = self.progress.show(&control, &composed.dag);
        statement::charge_planning();
        let outcome = shared.scheduler.run(composed.dag, &control);
        statement::skip_time();
        let result = std::mem::take(&mut *composed.result.lock().unwrap_or_else(PoisonError::into_inner));
        let mut record = control.take_record();
        if let Some((trace, plan)) = noted
            && let Some(mut known) = record.take()
        {
            if context.settings.analyze {
                record = Some(known.clone());
            }
            // It may lie in the history for long.
            known.orders.shrink_to_fit();
            let rows = outcome.is_ok().then(|| result.rows() as u64);
            trace.note_run(plan, &context, known, rows);
        }
        outcome.map_err(failure)?;
        Ok(Run { result, context, record })
    }
}

/// Whether the query should run again, and will then wait until it has the memory to itself.
pub(crate) fn lacked_memory_of_others(error: &Error, query: &Query) -> bool {
    error.state() == SqlState::OutOfMemory && query.memory_max() == u64::MAX && query.run_alone()
}

/// The value of a scalar subquery: NULL for no row, an error for more than one. The optimizer may narrow a column's
/// type; the value goes where the declared type stands.
fn scalar(run: &Run, from: Type, to: Type) -> Result<Value> {
    match run.result.rows() {
        0 => Ok(Value::Null),
        1 => {
            let batch = run.result.batches.iter().find(|b| b.rows > 0);
            let value = batch.map_or(Value::Null, |b| b.columns[0].value(0));
            if from.same_representation(to) { Ok(value) } else { types::cast::cast_value(&value, from, to) }
        }
        _ => Err(Error::new(
            SqlState::CardinalityViolation,
            "more than one row returned by a subquery used as an expression",
        )),
    }
}

/// Common subplans that have run are as long as they are.
fn learn_rows(plan: &mut LogicalPlan, counts: &[usize]) {
    if let LogicalPlan::Scan { source: ScanSource::Materialized(source), .. } = plan
        && let Some(count) = counts.get(source.index)
        && source.rows != *count as f64
    {
        let mut known = MaterializedSource::clone(source);
        known.rows = *count as f64;
        *source = Arc::new(known);
    }
    plan.children_mut().into_iter().for_each(|child| learn_rows(child, counts));
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

/// Replaces scalar subqueries by their values.
fn substitute(plan: &mut LogicalPlan, values: &[Value]) {
    for expr in plan.expressions_mut() {
        let taken = std::mem::replace(expr, Expr::boolean(false));
        *expr = taken.transform(&mut |e| match e.kind {
            ExprKind::ScalarSubquery(id) => match values.get(id.0 as usize) {
                Some(value) => Expr::literal(value.clone(), e.ty),
                None => e,
            },
            _ => e,
        });
    }
    for child in plan.children_mut() {
        substitute(child, values);
    }
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
