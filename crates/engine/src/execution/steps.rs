//! A session runs a program, step by step.
//!
//! What steps have given (rows by slot, scalars by number) is the execution's state, and the plan of a later step is made
//! or completed with it. Once a step has changed rows, the statement is not begun anew. Called by everything that plans or
//! runs a query: statements, streams, cursors, EXPLAIN.

use std::sync::Arc;
use std::time::{Duration, Instant};

use optimizer::Known;
use plan::program::{Bind, Change, Materialize, Program, Remaining, Step};
use plan::{LogicalQuery, PhysicalPlan};
use types::{Error, Result, Schema, Value};
use vector::Batch;

use super::{Gave, Kept, Part, Prepared, Purpose, SharedRows, Steps, changed_already, is_same, scalar};
use crate::Session;
use crate::relations::SessionRelations;
use crate::run::{Run, RunAs, conform};
use crate::statistics::SnapshotStatistics;

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

/// The steps of one query as they run.
pub(crate) struct Execution<'a> {
    pub(super) session: &'a Session,
    /// The catalog view that the whole statement is planned with.
    pub(super) relations: &'a SessionRelations,
    pub(super) purpose: Purpose,
    pub(super) slots: Vec<SharedRows>,
    pub(super) known: Known,
    /// Plans, unless the purpose is to run.
    pub(super) parts: &'a mut Vec<Part>,
    /// Steps that ran; `None` once one did that may not be kept.
    pub(super) kept: Option<Vec<Kept>>,
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

    pub(super) fn is_running(&self) -> bool {
        self.purpose != Purpose::Explain
    }

    pub(super) fn keep(&mut self, slot: usize, rows: Vec<Batch>) -> Gave {
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
    pub(super) fn run_plan(&self, title: &str, plan: &Arc<PhysicalPlan>) -> Result<Run> {
        let run_as = RunAs { analyze: self.purpose == Purpose::Analyze, ..RunAs::default() };
        let run = self.session.run_plan(plan, self.relations, &self.slots, run_as)?;
        // What ran is not the query's own plan.
        self.relations.statement().inspect(|statement| statement.trace().name_part(title));
        Ok(run)
    }

    /// Runs a plan, unless it is only explained, and shows it if plans are shown.
    pub(super) fn run_part<T: Default>(
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
            let plan = run.as_ref().and_then(|run| run.on_nodes.clone()).unwrap_or(plan);
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
