//! Running plans: compose, schedule, take the result.
//!
//! `run_plan` runs a physical plan and begins it anew when other queries held the memory that it needed; `run_in` composes
//! the plan into segments, hands them to the scheduler on the calling thread, and takes the result. `execution` runs what
//! comes before a query's own plan. A [`QueryContext`] carries what operators share in one run.
//! Every statement with a plan comes through here: queries, inserts, EXPLAIN ANALYZE, and the advisor's replays.

mod in_place;
mod session;

pub(crate) use session::note_run;

use std::sync::Arc;

use operators::context::{Conform, InsertTarget};
use operators::{QueryContext, QueryResult};
use plan::{LogicalQuery, PhysicalNode, PhysicalPlan};
use scheduler::{Query, RunRecord};
use sync::StopReason;
use types::{Error, Field, Result, Schema, SqlState, Type};
use vector::{Batch, Data, Vector};

/// A finished run: its rows and what its operators counted.
pub(crate) struct Run {
    /// The rows.
    pub result: QueryResult,
    /// What the operators shared, with their counters.
    pub context: Arc<QueryContext>,
    /// What its work orders did; of EXPLAIN ANALYZE only.
    pub record: Option<RunRecord>,
    /// The plan that several nodes ran, where that was so.
    pub on_nodes: Option<Arc<PhysicalPlan>>,
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
pub(crate) fn reads_live_rows(plan: &PhysicalPlan) -> bool {
    let live = |file: &plan::FileSource| file.format == plan::FileFormat::Memory && file.rows.is_none();
    matches!(&plan.node, PhysicalNode::FileScan { file, .. } if live(file))
        || plan.children().into_iter().any(reads_live_rows)
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
