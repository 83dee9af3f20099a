//! Running queries: subqueries first, then optimize, compose, schedule.

use std::collections::HashMap;
use std::sync::Arc;

use operators::context::InsertTarget;
use operators::{QueryContext, QueryResult, compose};
use plan::{ColumnTable, Expr, ExprKind, LogicalPlan, LogicalQuery, PhysicalNode, PhysicalPlan};
use scheduler::QueryControl;
use sync::StopReason;
use types::{Error, Field, Result, Schema, SqlState, Type, Value};
use vector::Batch;

use crate::Session;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::statistics::SnapshotStatistics;

/// A finished run: its rows and what its operators counted.
pub(crate) struct Run {
    pub result: QueryResult,
    pub context: Arc<QueryContext>,
}

impl Session {
    pub(crate) fn run_query(&self, query: LogicalQuery, relations: &SessionRelations) -> Result<ResultSet> {
        let schema = result_schema(&query);
        let plan = self.physical(query, relations, true)?;
        let run = self.run_plan(&plan, relations, None, false)?;
        Ok(ResultSet::new(schema.clone(), conform(run.result.batches, &schema)?))
    }

    /// The physical plan of a query. With `run_subqueries` its scalar subqueries are run and replaced by their values;
    /// EXPLAIN leaves them unknown.
    pub(crate) fn physical(
        &self,
        mut query: LogicalQuery,
        relations: &SessionRelations,
        run_subqueries: bool,
    ) -> Result<PhysicalPlan> {
        if run_subqueries {
            let mut values: Vec<Value> = Vec::with_capacity(query.subqueries.len());
            for mut subquery in std::mem::take(&mut query.subqueries) {
                substitute(&mut subquery, &values);
                values.push(self.scalar(subquery, &mut query.columns, relations)?);
            }
            substitute(&mut query.plan, &values);
        }
        let output: Vec<_> = query.output.iter().map(|(id, _)| *id).collect();
        self.optimize(query.plan, &mut query.columns, &output, relations)
    }

    pub(crate) fn optimize(
        &self,
        plan: LogicalPlan,
        columns: &mut ColumnTable,
        output: &[plan::ColumnId],
        relations: &SessionRelations,
    ) -> Result<PhysicalPlan> {
        let settings = self.settings().optimizer.clone();
        let statistics = SnapshotStatistics::new(relations.snapshot());
        let mut physical = optimizer::optimize_plan(plan, columns, output, &statistics, &settings)?;
        physical.number();
        Ok(physical)
    }

    /// The value of a scalar subquery: NULL for no row, an error for more than one.
    fn scalar(
        &self,
        subquery: LogicalPlan,
        columns: &mut ColumnTable,
        relations: &SessionRelations,
    ) -> Result<Value> {
        let output = subquery.output();
        // Two rows decide; a third need not be computed.
        let limited = LogicalPlan::Limit { input: Box::new(subquery), offset: 0, count: Some(2) };
        let plan = self.optimize(limited, columns, &output[..1], relations)?;
        let run = self.run_plan(&plan, relations, None, false)?;
        match run.result.rows() {
            0 => Ok(Value::Null),
            1 => {
                let batch = run.result.batches.iter().find(|b| b.rows > 0);
                let value = batch.map_or(Value::Null, |b| b.columns[0].value(0));
                // The optimizer may narrow a column's type; the value goes where the declared type stands.
                let (from, to) = (plan.output[0].ty, columns.get(output[0]).ty);
                if from.same_representation(to) {
                    Ok(value)
                } else {
                    types::cast::cast_value(&value, from, to)
                }
            }
            _ => Err(Error::new(
                SqlState::CardinalityViolation,
                "more than one row returned by a subquery used as an expression",
            )),
        }
    }

    pub(crate) fn run_plan(
        &self,
        plan: &PhysicalPlan,
        relations: &SessionRelations,
        insert: Option<Arc<dyn InsertTarget>>,
        analyze: bool,
    ) -> Result<Run> {
        let mut tables = HashMap::new();
        let mut open = vec![plan];
        while let Some(node) = open.pop() {
            if let PhysicalNode::TableScan { table, .. } = &node.node {
                tables.insert(*table, relations.table_by_id(*table)?);
            }
            open.extend(node.children());
        }
        let shared = &self.database.shared;
        let context = Arc::new(QueryContext::new(
            self.settings().execution(analyze),
            shared.budget.clone(),
            shared.pool.clone(),
            tables,
            insert,
            plan,
        ));
        let composed = compose(plan, &context)?;
        let mut control = QueryControl::with_cancel(self.cancel_token());
        if let Some(tick) = self.tick() {
            control = control.with_tick(move || tick());
        }
        shared.scheduler.run(composed.dag, &control).map_err(failure)?;
        let mut result = composed.result.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(Run { result: std::mem::take(&mut *result), context })
    }
}

/// The scheduler's failure as the user's error.
fn failure(failure: workorder::Failure) -> Error {
    if let Some(stopped) = failure.downcast_ref::<scheduler::Stopped>() {
        let message = match stopped.reason {
            StopReason::Timeout => "canceling statement due to statement timeout",
            StopReason::Cancelled => "canceling statement due to user request",
        };
        return Error::new(SqlState::QueryCanceled, message);
    }
    match failure.downcast::<Error>() {
        Ok(error) => *error,
        Err(other) => Error::internal(format!("internal error: {other}"))
            .with_hint("this is a bug; please report it with the statement"),
    }
}

/// Columns under their declared types: the optimizer may have narrowed them.
pub(crate) fn conform(batches: Vec<Batch>, schema: &Schema) -> Result<Vec<Batch>> {
    batches
        .into_iter()
        .map(|batch| {
            let rows = batch.rows;
            let columns = batch
                .columns
                .into_iter()
                .zip(schema.fields())
                .map(|(column, field)| column.retyped(field.ty).ok_or_else(|| Error::out_of_range(&field.ty)))
                .collect::<Result<Vec<_>>>()?;
            Ok(Batch::new(columns, rows))
        })
        .collect()
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
