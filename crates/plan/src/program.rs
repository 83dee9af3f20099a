//! A query as a program: what runs, in which order, what of it is planned again on the way, and what is repeated.
//!
//! `optimizer` makes a program of a `LogicalQuery`; an execution layer runs its steps one after the other. Steps put rows
//! into numbered slots, which later plans read as `PhysicalNode::Materialized`, and bind the values of scalar subqueries.
//! A plan that depends on such a value is better made when the value is known: there the program ends with `PlanAgain`,
//! which holds the rest of the query, and the optimizer makes the next program of it. A program is inert: it knows no
//! operators, no catalog and no session, and it can be printed, compared and kept.

use std::fmt;

use serde::{Deserialize, Serialize};
use types::{Error, Field, Result, SqlState, Type};

use crate::encoding::Document;
use crate::validate::Computed;
use crate::{Expr, FunctionBinder, LogicalQuery, PhysicalPlan, RowChange};

/// Steps in the order in which they run; the last one is `Return` or `PlanAgain`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// What runs.
    pub steps: Vec<Step>,
}

/// A step of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Runs a plan and keeps its rows.
    Materialize(Box<Materialize>),
    /// Runs the plan of a scalar subquery and binds its value.
    Bind(Box<Bind>),
    /// Changes rows of a table as the rows of a plan say, and keeps what RETURNING gives.
    Change(Box<Change>),
    /// Repeats a plan over what it gave before.
    Loop(Box<Loop>),
    /// Plans the rest of the query with the values and numbers of rows that are known by now.
    PlanAgain(Box<Remaining>),
    /// Runs the query's own plan, whose rows are the result.
    Return(Box<PhysicalPlan>),
}

/// Rows that later plans read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Materialize {
    /// The heading that EXPLAIN prints above the plan.
    pub title: String,
    /// Gives the rows.
    pub plan: PhysicalPlan,
    /// Where the rows are kept.
    pub slot: usize,
    /// The declared columns, which the optimizer may have narrowed; rows are kept as the plan gives them without.
    pub declared: Option<Vec<Field>>,
}

/// The value of a scalar subquery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bind {
    /// The heading that EXPLAIN prints above the plan.
    pub title: String,
    /// Gives one column, and at most two rows: a second one is an error of the query.
    pub plan: PhysicalPlan,
    /// The declared type, which the optimizer may have narrowed.
    pub ty: Type,
}

/// An INSERT, UPDATE, DELETE or MERGE in a WITH.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The rows that say what is changed, and where what RETURNING gives is kept.
    pub rows: Materialize,
    /// What they say.
    pub change: RowChange,
}

/// A recursion: `base` once, then `step` over the rows that came last, until there are none or enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loop {
    /// The name of the query, for EXPLAIN.
    pub name: String,
    /// Gives the rows of the first round.
    pub base: PhysicalPlan,
    /// Gives the rows of the next round, and reads those of the last one from `working`.
    pub step: PhysicalPlan,
    /// The slot of the rows of the last round.
    pub working: usize,
    /// The slot of all rows.
    pub result: usize,
    /// The declared columns of all rounds.
    pub declared: Vec<Field>,
    /// Rows that came before, in any round, are dropped.
    pub distinct: bool,
    /// When the only reader of the rows has enough of them.
    pub until: Option<Until>,
    /// USING KEY: the result is a row for each key, and `distinct` hands on the rows that became others.
    pub keyed: Option<KeyedLoop>,
}

/// How a loop keeps a row for each key: after each round `fold` makes all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyedLoop {
    /// Gives the row of each key, and reads `candidates`.
    pub fold: PhysicalPlan,
    /// The declared columns of these rows.
    pub declared: Vec<Field>,
    /// The slot of the rows that are folded.
    pub candidates: usize,
    /// Those are the rows of the keys so far and of the last round; else the rows of all rounds.
    pub renews: bool,
    /// The slot of the rows of the keys so far.
    pub state: usize,
}

/// The number of rows that ends a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Until {
    /// The loop ends when the rounds have given so many rows in all.
    pub rows: u64,
    /// Gives, for the rows of one round in the slot `working`, those that count; all of them without it.
    pub counted: Option<PhysicalPlan>,
}

/// What of a query is left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remaining {
    /// The query, without the subqueries and common queries that have run.
    pub query: LogicalQuery,
    /// The types of the values of the scalar subqueries that have run; the next one is numbered behind them.
    pub bound: Vec<Type>,
    /// Whether common subplans have been taken out.
    pub shared: bool,
}

impl Remaining {
    /// A whole query, of which nothing has run.
    pub fn all(query: LogicalQuery) -> Self {
        Remaining { query, bound: vec![], shared: false }
    }
}

impl Step {
    /// The plans of the step with their headings, in the order in which they run.
    pub fn plans(&self) -> Vec<(String, &PhysicalPlan)> {
        match self {
            Step::Materialize(step) => vec![(step.title.clone(), &step.plan)],
            Step::Bind(step) => vec![(step.title.clone(), &step.plan)],
            Step::Change(step) => vec![(step.rows.title.clone(), &step.rows.plan)],
            Step::Loop(step) => {
                let counted = step.until.as_ref().and_then(|until| until.counted.as_ref());
                let counted = counted.map(|plan| (format!("recursive query {}, counted", step.name), plan));
                let rounds = [(step.first_title(), &step.base), (step.next_title(), &step.step)];
                let fold = step.keyed.as_ref().map(|keyed| (step.fold_title(), &keyed.fold));
                rounds.into_iter().chain(fold).chain(counted).collect()
            }
            Step::PlanAgain(_) => vec![],
            Step::Return(plan) => vec![("query".to_owned(), plan)],
        }
    }
}

impl Loop {
    /// The heading of the plan that makes the rows of keys.
    pub fn fold_title(&self) -> String {
        format!("recursive query {}, rows of keys", self.name)
    }
    /// The heading of the first round's plan.
    pub fn first_title(&self) -> String {
        format!("recursive query {}, first rows", self.name)
    }
    /// The heading of the plan of the other rounds.
    pub fn next_title(&self) -> String {
        format!("recursive query {}, repeated", self.name)
    }
}

impl Program {
    /// All expressions of the program's plans, those inside of others too.
    pub fn visit_expressions(&self, see: &mut dyn FnMut(&Expr)) {
        for step in &self.steps {
            match step {
                Step::PlanAgain(rest) => rest.query.visit_expressions(see),
                step => step.plans().into_iter().for_each(|(_, plan)| plan.visit_expressions(see)),
            }
        }
    }
    /// Gives functions of the host program that have no body those that the binder knows.
    ///
    /// # Errors
    /// A function that is not known here, or has other types.
    pub fn bind_functions(&mut self, binder: &mut FunctionBinder<'_>) -> Result<()> {
        self.steps.iter_mut().try_for_each(|step| match step {
            Step::PlanAgain(rest) => rest.query.bind_functions(binder),
            step => step.plans_mut().into_iter().try_for_each(|plan| plan.bind_functions(binder)),
        })
    }
    /// Whether running it again over the same data may give other rows.
    pub fn is_volatile(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::PlanAgain(rest) => rest.query.is_volatile(),
            step => step.plans().into_iter().any(|(_, plan)| plan.is_volatile()),
        })
    }
}

/// A program can be trusted where its last step, and no other, ends it, and every plan is valid over what the steps before
/// it leave.
impl Document for Program {
    const KIND: &'static str = "program";

    fn validate(&self) -> Result<()> {
        let Some((last, before)) = self.steps.split_last() else { return Err(invalid("it has no step")) };
        for step in before {
            step.validate()?;
            if matches!(step, Step::PlanAgain(_) | Step::Return(_)) {
                return Err(invalid("a step that ends it is not the last one"));
            }
        }
        match last {
            Step::PlanAgain(rest) => rest.query.validate_after(&rest.bound),
            Step::Return(plan) => plan.validate(),
            _ => Err(invalid("its last step does not end it")),
        }
    }
}

/// Slots of a program, at most: each takes memory before there are rows in it.
const SLOTS_MAX: usize = 1 << 16;

fn invalid(what: &str) -> Error {
    Error::new(SqlState::DataCorrupted, format!("the program is not valid: {what}"))
}

fn slot(number: usize) -> Result<()> {
    if number < SLOTS_MAX { Ok(()) } else { Err(invalid("a slot's number is too large")) }
}

/// The plan delivers columns of these types, if they are declared.
fn delivers(plan: &PhysicalPlan, declared: Option<&[Field]>) -> Result<()> {
    plan.validate_over(&Computed::default())?;
    match declared {
        Some(declared) if declared.len() != plan.output.len() => {
            Err(invalid("a plan delivers another number of columns than is declared"))
        }
        _ => Ok(()),
    }
}

impl Step {
    fn plans_mut(&mut self) -> Vec<&mut PhysicalPlan> {
        match self {
            Step::Materialize(step) => vec![&mut step.plan],
            Step::Bind(step) => vec![&mut step.plan],
            Step::Change(step) => vec![&mut step.rows.plan],
            Step::Loop(step) => {
                let counted = step.until.as_mut().and_then(|until| until.counted.as_mut());
                let fold = step.keyed.as_mut().map(|keyed| &mut keyed.fold);
                [&mut step.base, &mut step.step].into_iter().chain(fold).chain(counted).collect()
            }
            Step::PlanAgain(_) => vec![],
            Step::Return(plan) => vec![plan],
        }
    }

    fn validate(&self) -> Result<()> {
        match self {
            Step::Materialize(step) => {
                slot(step.slot)?;
                delivers(&step.plan, step.declared.as_deref())
            }
            Step::Bind(step) if step.plan.output.len() != 1 => {
                Err(invalid("a scalar subquery without one column"))
            }
            Step::Bind(step) => step.plan.validate(),
            Step::Change(step) => {
                slot(step.rows.slot)?;
                delivers(&step.rows.plan, step.rows.declared.as_deref())
            }
            Step::Loop(step) => {
                slot(step.working)?;
                slot(step.result)?;
                delivers(&step.base, Some(&step.declared))?;
                delivers(&step.step, Some(&step.declared))?;
                if let Some(keyed) = &step.keyed {
                    slot(keyed.candidates)?;
                    slot(keyed.state)?;
                    delivers(&keyed.fold, Some(&keyed.declared))?;
                }
                match step.until.as_ref().and_then(|until| until.counted.as_ref()) {
                    Some(counted) => counted.validate(),
                    None => Ok(()),
                }
            }
            Step::PlanAgain(_) | Step::Return(_) => Ok(()),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            let number = number + 1;
            match step {
                Step::Materialize(step) => {
                    writeln!(f, "{number}. {}: rows of slot {}", step.title, step.slot)?;
                }
                Step::Bind(step) => writeln!(f, "{number}. {}: one value, {}", step.title, step.ty)?,
                Step::Change(step) => {
                    writeln!(f, "{number}. {}: changes rows, slot {}", step.rows.title, step.rows.slot)?;
                }
                Step::Loop(step) => {
                    let distinct = match (&step.keyed, step.distinct) {
                        (None, false) => "",
                        (None, true) => ", rows that are new",
                        (Some(_), false) => ", a row for each key",
                        (Some(_), true) => ", a row for each key, rows that change",
                    };
                    let until = step.until.as_ref().map(|until| format!(", until {} rows", until.rows));
                    writeln!(
                        f,
                        "{number}. loop {}: slot {} over slot {}{distinct}{}",
                        step.name,
                        step.result,
                        step.working,
                        until.unwrap_or_default()
                    )?;
                }
                Step::PlanAgain(rest) => {
                    let left = rest.query.subqueries.len() + rest.query.common.len();
                    writeln!(f, "{number}. plan again, {left} parts before the query")?;
                }
                Step::Return(_) => writeln!(f, "{number}. result")?,
            }
            for (title, plan) in step.plans() {
                let text = crate::print::physical(plan, None);
                writeln!(f, "   {title}")?;
                text.lines().try_for_each(|line| writeln!(f, "     {line}"))?;
            }
        }
        Ok(())
    }
}
