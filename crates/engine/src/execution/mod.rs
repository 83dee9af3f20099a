//! Running programs: the steps of a query, one after the other, until its own plan is all that is left.
//!
//! An [`Execution`] holds what the steps find out: rows in slots, values of scalar subqueries, and what each step gave, by
//! which the plan cache tells whether kept steps may be used again. `PlanAgain` hands what is known to the optimizer and
//! goes on with the program that it makes. For EXPLAIN nothing runs: values and numbers of rows stay unknown, and the
//! plans are collected as parts. `loops` runs recursions.

mod loops;

use std::sync::Arc;
use std::time::{Duration, Instant};

use optimizer::Known;
use plan::program::{Bind, Change, Materialize, Program, Remaining, Step};
use plan::{LogicalQuery, PhysicalPlan};
use types::{Error, Result, Schema, SqlState, Type, Value};
use vector::Batch;

use crate::Session;
use crate::plan_cache::PlannedQuery;
use crate::relations::SessionRelations;
use crate::run::{Run, RunAs, conform};
use crate::statistics::SnapshotStatistics;

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
}

impl Steps {
    /// Bytes of the values that stand in the plan.
    pub fn value_bytes(&self) -> usize {
        self.before.iter().map(Kept::value_bytes).sum()
    }
}

impl Prepared {
    /// A query with these columns, and how it comes about again, if that can be kept.
    pub fn into_query(self, schema: Schema) -> (PlannedQuery, Option<Steps>) {
        let plan = Arc::new(self.plan);
        let steps = self.steps.map(|before| Steps { before, plan: plan.clone() });
        (PlannedQuery { schema, plan, shared: self.shared, planning: self.planning, trial: None }, steps)
    }
}

/// The steps of one query as they run.
pub(crate) struct Execution<'a> {
    session: &'a Session,
    /// The catalog view that the whole statement is planned with.
    relations: &'a SessionRelations,
    purpose: Purpose,
    slots: Vec<SharedRows>,
    known: Known,
    /// Plans, unless the purpose is to run.
    parts: &'a mut Vec<Part>,
    /// Steps that ran; `None` once one did that may not be kept.
    kept: Option<Vec<Kept>>,
}

impl Session {
    /// Plans a query. What has to run before it runs, unless the purpose is to explain; `parts` gets those plans, unless
    /// the purpose is to run.
    pub(crate) fn plan_steps(
        &self,
        query: LogicalQuery,
        relations: &SessionRelations,
        purpose: Purpose,
        parts: &mut Vec<Part>,
    ) -> Result<Prepared> {
        self.check_reading(&query)?;
        let mut execution = Execution::new(self, relations, purpose, parts);
        let mut planning = Duration::ZERO;
        let mut rest = Remaining::all(query);
        let plan = loop {
            let started = Instant::now();
            let program = execution.planned(rest)?;
            planning += started.elapsed();
            match execution.run(program)? {
                Left::Plan(plan) => break *plan,
                Left::Rest(more) => rest = *more,
            }
        };
        let Execution { slots, kept, .. } = execution;
        Ok(Prepared { plan, shared: slots, planning, steps: kept })
    }

    /// Runs what has to run before a query whose plans were kept. Gives the rows that its plan reads, or `None` when a
    /// step gave something else than the plans behind it were made with.
    pub(crate) fn run_steps(
        &self,
        steps: &Steps,
        relations: &SessionRelations,
    ) -> Result<Option<Vec<SharedRows>>> {
        let mut parts = Vec::new();
        let mut execution = Execution::new(self, relations, Purpose::Run, &mut parts);
        for kept in &steps.before {
            let same = match (execution.step(&kept.step)?, &kept.gave) {
                (Gave::Rows(rows), Gave::Rows(before)) => rows == *before,
                (Gave::Value(value), Gave::Value(before)) => is_same(&value, before),
                _ => false,
            };
            if !same {
                return Ok(None);
            }
        }
        Ok(Some(execution.slots))
    }
}

/// What a program leaves to do.
enum Left {
    /// The query's own plan.
    Plan(Box<PhysicalPlan>),
    /// What is planned next.
    Rest(Box<Remaining>),
}

impl<'a> Execution<'a> {
    fn new(
        session: &'a Session,
        relations: &'a SessionRelations,
        purpose: Purpose,
        parts: &'a mut Vec<Part>,
    ) -> Self {
        Execution {
            session,
            relations,
            purpose,
            slots: vec![],
            known: Known::default(),
            parts,
            kept: Some(vec![]),
        }
    }

    fn planned(&self, rest: Remaining) -> Result<Program> {
        let statistics = SnapshotStatistics::new(self.relations.snapshot());
        let settings = self.session.settings().optimizer.clone();
        let program = optimizer::program(rest, &self.known, &statistics, &settings)?;
        self.session.program_as_read(program)
    }

    /// Runs the steps of a program up to its last one.
    fn run(&mut self, program: Program) -> Result<Left> {
        for step in program.steps {
            match step {
                Step::Return(plan) => return Ok(Left::Plan(plan)),
                Step::PlanAgain(rest) => return Ok(Left::Rest(rest)),
                step => {
                    let gave = self.step(&step)?;
                    if matches!(step, Step::Change(_)) {
                        self.kept = None;
                    }
                    if let Some(kept) = &mut self.kept {
                        kept.push(Kept { step, gave });
                    }
                }
            }
        }
        Err(Error::internal("a program without a last step"))
    }

    /// Runs one step, and keeps what it gives.
    fn step(&mut self, step: &Step) -> Result<Gave> {
        match step {
            Step::Materialize(step) => {
                let rows = self.materialized(step)?;
                Ok(self.keep(step.slot, rows))
            }
            Step::Change(step) => self.change(step),
            Step::Bind(step) => self.bind(step),
            Step::Loop(step) => {
                let rows = self.repeat(step)?;
                Ok(self.keep(step.result, rows))
            }
            Step::PlanAgain(_) | Step::Return(_) => {
                Err(Error::internal("the last step is not run as a step"))
            }
        }
    }

    fn is_running(&self) -> bool {
        self.purpose != Purpose::Explain
    }

    fn keep(&mut self, slot: usize, rows: Vec<Batch>) -> Gave {
        let count = rows.iter().map(|batch| batch.rows).sum();
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, SharedRows::default());
            self.known.rows.resize(slot + 1, None);
        }
        self.slots[slot] = Arc::new(rows);
        self.known.rows[slot] = self.is_running().then_some(count);
        Gave::Rows(count)
    }

    /// Runs a plan over the slots.
    fn run_plan(&self, title: &str, plan: &Arc<PhysicalPlan>) -> Result<Run> {
        let run_as = RunAs { analyze: self.purpose == Purpose::Analyze, ..RunAs::default() };
        let run = self.session.run_plan(plan, self.relations, &self.slots, run_as)?;
        // What ran is not the query's own plan.
        self.relations.statement().inspect(|statement| statement.trace().name_part(title));
        Ok(run)
    }

    /// Runs a plan, unless it is only explained, and shows it if plans are shown.
    fn run_part<T: Default>(
        &mut self,
        title: &str,
        plan: &PhysicalPlan,
        of: impl FnOnce(&Run) -> Result<T>,
    ) -> Result<T> {
        let plan = Arc::new(plan.clone());
        let started = Instant::now();
        let run = if self.is_running() { Some(self.run_plan(title, &plan)?) } else { None };
        let gave = run.as_ref().map(of).transpose()?.unwrap_or_default();
        if self.purpose != Purpose::Run {
            let executed = if run.is_some() { started.elapsed() } else { Duration::ZERO };
            self.parts.push(Part { title: title.to_owned(), plan, run, executed });
        }
        Ok(gave)
    }

    fn materialized(&mut self, step: &Materialize) -> Result<Vec<Batch>> {
        let declared = step.declared.as_ref().map(|fields| Schema::new(fields.clone()));
        self.run_part(&step.title, &step.plan, |run| {
            let rows = run.result.batches.clone();
            declared.map_or(Ok(rows.clone()), |schema| conform(rows, &schema))
        })
    }

    fn bind(&mut self, step: &Bind) -> Result<Gave> {
        let from = step.plan.output.first().map_or(step.ty, |column| column.ty);
        let value = self.run_part(&step.title, &step.plan, |run| scalar(run, from, step.ty).map(Some))?;
        self.known.values.push(value.clone());
        Ok(Gave::Value(value.unwrap_or(Value::Null)))
    }

    fn change(&mut self, step: &Change) -> Result<Gave> {
        let mut rows = self.materialized(&step.rows)?;
        if self.is_running() {
            let really = self.purpose == Purpose::Run;
            let changed = self.session.change(step.change.clone(), rows, self.relations, really);
            rows = changed.map_err(changed_already)?.1;
        }
        Ok(self.keep(step.rows.slot, rows))
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
