//! Running programs: the steps of a query, one after the other, until its own plan is all that is left.
//!
//! An [`Execution`] holds what the steps find out: rows in slots, values of scalar subqueries, and what each step gave, by
//! which the plan cache tells whether kept steps may be used again. `PlanAgain` hands what is known to the optimizer and
//! goes on with the program that it makes. For EXPLAIN nothing runs: values and numbers of rows stay unknown, and the
//! plans are collected as parts. `loops` runs recursions.

mod keyed_loops;
mod loops;
mod steps;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use operators::in_place::InPlace;
use plan::PhysicalPlan;
use plan::program::Step;
use types::{Error, Result, Schema, SqlState, Type, Value};
use vector::Batch;

use crate::plan_cache::PlannedQuery;
use crate::run::Run;
pub(crate) use steps::Execution;

/// The rows of a subplan that several parts of a query read.
pub(crate) type SharedRows = Arc<Vec<Batch>>;

/// What preparing a query is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// EXPLAIN: nothing runs, scalar subqueries stay unknown.
    Explain,
    Run,
    /// EXPLAIN ANALYZE: what runs on the way is counted and kept.
    Analyze,
}

/// A step that runs before the query's own plan, as EXPLAIN shows it.
pub(crate) struct Part {
    /// The heading that EXPLAIN prints above the plan.
    pub title: String,
    /// The plan of the part alone.
    pub plan: Arc<PhysicalPlan>,
    /// Its run; `None` for plain EXPLAIN.
    pub run: Option<Run>,
    /// Wall-clock time of the run; zero without one.
    pub executed: Duration,
}

/// A query whose own plan is all that is left to run, and the rows that it reads.
pub(crate) struct Prepared {
    /// The query's plan, with the values of its subqueries in it.
    pub plan: PhysicalPlan,
    /// Rows by the slot that the plan reads them from.
    pub shared: Vec<SharedRows>,
    /// Time spent in the optimizer.
    pub planning: Duration,
    /// What ran before; `None` where that cannot be done again without planning.
    steps: Option<Vec<Kept>>,
}

/// A step that ran, and what the plans behind it were made with.
pub(crate) struct Kept {
    step: Step,
    gave: Gave,
}

/// What a step gave.
enum Gave {
    /// So many rows: the optimizer counts on them.
    Rows(usize),
    Value(Value),
}

impl Kept {
    /// Bytes of the value that stands in later plans.
    pub fn value_bytes(&self) -> usize {
        match &self.gave {
            Gave::Value(value) => value.as_bytes().map_or(0, <[u8]>::len),
            Gave::Rows(_) => 0,
        }
    }
}

/// How a query runs again whose planning needs what its steps give.
pub(crate) struct Steps {
    /// What runs before.
    before: Vec<Kept>,
    /// The query's own plan, made with what these gave.
    pub plan: Arc<PhysicalPlan>,
    /// The plan as it is evaluated in place, once that was asked for.
    pub in_place: KeptInPlace,
}

/// A plan as it is evaluated in place, made when it first is; `None` for a plan of which that is not so.
pub(crate) type KeptInPlace = Arc<OnceLock<Option<InPlace>>>;

impl Steps {
    /// Whether all that runs is evaluated in place, as it was when it ran before: no table is read.
    pub fn are_in_place(&self) -> bool {
        self.before.is_empty() && self.in_place.get().is_some_and(Option::is_some)
    }

    /// Bytes of the values that stand in the plan.
    pub fn value_bytes(&self) -> usize {
        self.before.iter().map(Kept::value_bytes).sum()
    }
}

impl Prepared {
    /// A query with these columns, and how it comes about again, if that can be kept.
    pub fn into_query(self, schema: Schema) -> (PlannedQuery, Option<Steps>) {
        let plan = Arc::new(self.plan);
        let in_place = KeptInPlace::default();
        let kept = |before| Steps { before, plan: plan.clone(), in_place: in_place.clone() };
        let steps = self.steps.map(kept);
        let (shared, planning) = (self.shared, self.planning);
        (PlannedQuery { schema, plan, in_place, shared, planning, trial: None }, steps)
    }
}

/// A row that is gone when one of several changes comes to it: the statement's own other changes have done that, by the
/// actions of foreign keys, and it would fail alike if it were run again.
fn changed_already(error: Error) -> Error {
    if error.state() != SqlState::SerializationFailure {
        return error;
    }
    let message = "a row is changed twice by one statement, through the action of a foreign key";
    Error::unsupported(message).with_hint("make the changes one after the other, in a transaction")
}

/// The value of a scalar subquery: NULL for no row, an error for more than one. The optimizer may narrow a column's
/// type; the value goes where the declared type stands.
fn scalar(run: &Run, from: Type, to: Type) -> Result<Value> {
    match run.result.rows() {
        0 => Ok(Value::Null),
        1 => {
            let batch = run.result.batches.iter().find(|b| b.rows > 0);
            let column = batch.and_then(|batch| batch.columns.first());
            let value = column.map_or(Value::Null, |column| column.value(0));
            if from.same_representation(to) { Ok(value) } else { types::cast::cast_value(&value, from, to) }
        }
        _ => Err(Error::new(
            SqlState::CardinalityViolation,
            "more than one row returned by a subquery used as an expression",
        )),
    }
}

/// Whether two values of one type are the same to the last bit: zeros of either sign are equal and make other plans.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::F64(one), Value::F64(other)) => one.to_bits() == other.to_bits(),
        (Value::F32(one), Value::F32(other)) => one.to_bits() == other.to_bits(),
        _ => one == other,
    }
}
