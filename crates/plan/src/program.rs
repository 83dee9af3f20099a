//! A query as a program: what runs, in which order, what of it is planned again on the way, and what is repeated.
//!
//! `optimizer` makes a program of a `LogicalQuery`; an execution layer runs its steps one after the other. Steps put rows
//! into numbered slots, which later plans read as `PhysicalNode::Materialized`, and bind the values of scalar subqueries.
//! A plan that depends on such a value is better made when the value is known: there the program ends with `PlanAgain`,
//! which holds the rest of the query, and the optimizer makes the next program of it. A program is inert: it knows no
//! operators, no catalog and no session, and it can be printed, compared and kept.

use std::fmt;

use types::{Field, Type};

use crate::{LogicalQuery, PhysicalPlan, RowChange};

/// Steps in the order in which they run; the last one is `Return` or `PlanAgain`.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// What runs.
    pub steps: Vec<Step>,
}

/// A step of a program.
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Debug, PartialEq)]
pub struct Bind {
    /// The heading that EXPLAIN prints above the plan.
    pub title: String,
    /// Gives one column, and at most two rows: a second one is an error of the query.
    pub plan: PhysicalPlan,
    /// The declared type, which the optimizer may have narrowed.
    pub ty: Type,
}

/// An INSERT, UPDATE, DELETE or MERGE in a WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The rows that say what is changed, and where what RETURNING gives is kept.
    pub rows: Materialize,
    /// What they say.
    pub change: RowChange,
}

/// A recursion: `base` once, then `step` over the rows that came last, until there are none or enough.
#[derive(Clone, Debug, PartialEq)]
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
}

/// The number of rows that ends a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Until {
    /// The loop ends when the rounds have given so many rows in all.
    pub rows: u64,
    /// Gives, for the rows of one round in the slot `working`, those that count; all of them without it.
    pub counted: Option<PhysicalPlan>,
}

/// What of a query is left.
#[derive(Clone, Debug, PartialEq)]
pub struct Remaining {
    /// The query, without the subqueries and common queries that have run.
    pub query: LogicalQuery,
    /// How many scalar subqueries have run: the number of the first one that is left.
    pub bound: usize,
    /// How many common subplans have been taken out.
    pub shared: Option<usize>,
}

impl Remaining {
    /// A whole query, of which nothing has run.
    pub fn all(query: LogicalQuery) -> Self {
        Remaining { query, bound: 0, shared: None }
    }
}

impl Step {
    /// The plans of the step with their headings, in the order in which they run.
    pub fn plans(&self) -> Vec<(String, &PhysicalPlan)> {
        match self {
            Step::Materialize(step) => vec![(step.title.clone(), &step.plan)],
            Step::Bind(step) => vec![(step.title.clone(), &step.plan)],
            Step::Change(step) => vec![(step.rows.title.clone(), &step.rows.plan)],
            Step::Loop(step) => vec![(step.first_title(), &step.base), (step.next_title(), &step.step)],
            Step::PlanAgain(_) => vec![],
            Step::Return(plan) => vec![("query".to_owned(), plan)],
        }
    }
}

impl Loop {
    /// The heading of the first round's plan.
    pub fn first_title(&self) -> String {
        format!("recursive query {}, first rows", self.name)
    }
    /// The heading of the plan of the other rounds.
    pub fn next_title(&self) -> String {
        format!("recursive query {}, repeated", self.name)
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
                    let distinct = if step.distinct { ", rows that are new" } else { "" };
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
