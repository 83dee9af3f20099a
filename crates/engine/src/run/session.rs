//! One plan of a session's statement becomes segments, which the scheduler runs.
//!
//! Settings, memory, files and the statement's trace go into the context of the query; its result is taken when the last
//! segment has ended. A run that lacked memory which other queries held is begun anew. Called by `execution`, and by the
//! advisor with designs of its own.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use operators::QueryContext;
use operators::compose::{self, compose};
use operators::context::Conform;
use operators::in_place;
use plan::rows::rows_at_most;
use plan::{LogicalQuery, PhysicalNode, PhysicalPlan};
use scheduler::{Query, QueryControl, RunRecord};
use types::{Error, Result};

use super::{Form, Run, RunAs, failure, lacked_memory_of_others, reads_live_rows};
use crate::Session;
use crate::execution::SharedRows;
use crate::plan_cache::PlannedQuery;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::settings::TraceLevel;
use crate::statement::{StatementContext, expected_memory};

/// Rows that all operators of a short run give together, at most.
const SHORT_ROWS: u128 = 8_192;

/// Whether a run is over before others could help with it: few rows, by proof, wherever they pass, and no function of the
/// host program, which may run statements of its own.
fn is_short(plan: &PhysicalPlan, context: &QueryContext) -> bool {
    let mut source_rows = |source: &PhysicalPlan| match &source.node {
        PhysicalNode::TableScan { table, .. } => context.tables.get(table).map(|table| table.rows()),
        PhysicalNode::Materialized { index, .. } => {
            let rows = context.materialized.get(*index)?;
            Some(rows.iter().map(|batch| batch.rows as u64).sum())
        }
        _ => None,
    };
    let (mut rows, mut open) = (0_u128, vec![plan]);
    while let Some(node) = open.pop() {
        rows = rows.saturating_add(rows_at_most(node, &mut source_rows));
        if rows > SHORT_ROWS || node.expressions().into_iter().any(in_place::calls_host) {
            return false;
        }
        open.extend(node.children());
    }
    context.insert.is_none()
}

/// Notes a run in its statement's trace; the record stays for EXPLAIN ANALYZE alone. `rows`: of a run that succeeded.
pub(crate) fn note_run(
    statement: &StatementContext,
    plan: &Arc<PhysicalPlan>,
    context: &Arc<QueryContext>,
    record: &mut Option<RunRecord>,
    rows: Option<u64>,
) {
    let Some(mut known) = record.take() else { return };
    if context.settings.analyze {
        *record = Some(known.clone());
    }
    // It may lie in the history for long.
    known.orders.shrink_to_fit();
    statement.trace().note_run(plan, context, known, rows);
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
        let in_place = self.evaluated_in_place(&query, relations, form)?;
        let PlannedQuery { schema, plan, shared, planning, trial, .. } = query;
        let batches = match in_place {
            Some(batches) => batches,
            None => {
                let declared = schema.clone();
                let conform: Arc<Conform> = Arc::new(move |batch| form.conform(batch, &declared));
                let run_as = RunAs { conform: Some(conform), ..RunAs::default() };
                self.run_plan(&plan, relations, &shared, run_as)?.result.batches
            }
        };
        if let Some(trial) = trial {
            trial.ended();
        }
        let mut result = ResultSet::new(schema, batches);
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
        context.code = Some(shared.code.clone());
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
        let statement = relations.statement().map(|statement| &**statement);
        let noted = statement.filter(|statement| statement.trace().records());
        if let Some(on) = self.on_nodes(plan, relations)? {
            let context = self.query_context(on.plan(), relations, materialized, run_as)?;
            return self.run_on_nodes(&on, context, statement, noted.is_some());
        }
        let context = self.query_context(plan, relations, materialized, run_as)?;
        self.run_in(plan, context, statement, noted.map(|_| plan))
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
        if is_short(plan, &context) && statement.is_some_and(|statement| !statement.query().begins_anew()) {
            control = control.short();
        }
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
        statement.inspect(|statement| _ = statement.charge_planning());
        let outcome = shared.scheduler.run(composed.dag, &control);
        statement.inspect(|statement| _ = statement.skip_time());
        let result = std::mem::take(&mut *composed.result.lock().unwrap_or_else(PoisonError::into_inner));
        let mut record = control.take_record();
        if let (Some(statement), Some(plan)) = (statement, noted) {
            let rows = outcome.is_ok().then(|| result.rows() as u64);
            note_run(statement, plan, &context, &mut record, rows);
        }
        outcome.map_err(failure)?;
        Ok(Run { result, context, record, on_nodes: None })
    }
}
