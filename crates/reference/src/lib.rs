//! A slow, obvious interpreter of logical plans that judges the engine in tests.
//!
//! It runs a `LogicalQuery` as the front end delivers it, before any rule of the optimizer, over tables that are plain
//! rows of values. Every join is a nested loop, every group a key in an ordered map, every expression a recursion over
//! one row. It shares the front end and `types` with the engine (what a cast or a date is), and nothing else: no
//! vector, no kernel, no operator. What it leaves out (files, most of the function library) it refuses as
//! unsupported, and what would take too long as too complex, so that a fuzzer can pass on.
#![forbid(unsafe_code)]

mod aggregate;
mod arithmetic;
mod evaluate;
mod function;
mod join;
mod library;
mod relation;
mod rows;
mod temporal;
#[cfg(test)]
mod tests;
mod window;

use std::cell::Cell;
use std::collections::HashMap;

use plan::{CommonQuery, LogicalQuery, TableId};
use types::{Error, Result, Schema, SqlState, Value};

/// One table's contents.
#[derive(Clone, Debug)]
pub struct Table {
    /// Names and types of the columns.
    pub schema: Schema,
    /// The rows, each of as many values as there are columns.
    pub rows: Vec<Vec<Value>>,
}

/// Tables by the number that plans know them by.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    by_id: HashMap<TableId, Table>,
}

impl Tables {
    /// Puts a table under a number, in place of one that is there.
    pub fn insert(&mut self, id: TableId, table: Table) {
        self.by_id.insert(id, table);
    }
    /// The table of that number.
    pub fn get(&self, id: TableId) -> Option<&Table> {
        self.by_id.get(&id)
    }
}

/// What one query may cost, in row visits; beyond it the interpreter gives up.
pub const STEPS_DEFAULT: u64 = 20_000_000;

/// The rows of a query, columns as its `output` lists them.
pub fn run(query: &LogicalQuery, tables: &Tables) -> Result<Vec<Vec<Value>>> {
    run_within(query, tables, STEPS_DEFAULT)
}

/// As `run`, giving up after `steps` row visits.
pub fn run_within(query: &LogicalQuery, tables: &Tables, steps: u64) -> Result<Vec<Vec<Value>>> {
    let mut context =
        Context { tables, subqueries: Vec::new(), materialized: HashMap::new(), steps: Cell::new(steps) };
    let mut common = query.common.iter().peekable();
    for (number, subquery) in query.subqueries.iter().enumerate() {
        while let Some(next) = common.next_if(|next| next.subqueries <= number) {
            context.compute(next)?;
        }
        let relation = context.relation(subquery)?;
        let value = match relation.rows.as_slice() {
            [] => Value::Null,
            [row] => {
                row.first().cloned().ok_or_else(|| Error::internal("a scalar subquery without a column"))?
            }
            _ => {
                return Err(Error::new(
                    SqlState::CardinalityViolation,
                    "more than one row returned by a subquery used as an expression",
                ));
            }
        };
        context.subqueries.push(value);
    }
    common.try_for_each(|next| context.compute(next))?;
    let relation = context.relation(&query.plan)?;
    let positions =
        query.output.iter().map(|(id, _)| relation.position(*id)).collect::<Result<Vec<usize>>>()?;
    Ok(relation.rows.iter().map(|row| positions.iter().map(|p| row[*p].clone()).collect()).collect())
}

/// What evaluation needs in addition to the row: tables, the values of scalar subqueries, and how long it may go on.
struct Context<'a> {
    tables: &'a Tables,
    subqueries: Vec<Value>,
    /// Rows of queries that run before, and those that the next step of a recursive one reads.
    materialized: HashMap<usize, Vec<Vec<Value>>>,
    steps: Cell<u64>,
}

impl Context<'_> {
    /// Rows of a query that runs before; a recursive one runs to its end.
    fn compute(&mut self, common: &CommonQuery) -> Result<()> {
        let taken = |relation: relation::Relation, columns: &[plan::ColumnId]| -> Result<Vec<Vec<Value>>> {
            let places = columns.iter().map(|id| relation.position(*id)).collect::<Result<Vec<usize>>>()?;
            Ok(relation.rows.iter().map(|r| places.iter().map(|p| r[*p].clone()).collect()).collect())
        };
        let mut all: Vec<Vec<Value>> = Vec::new();
        let mut new = taken(self.relation(&common.base)?, &common.base_columns)?;
        let Some(step) = &common.step else {
            self.materialized.insert(common.result, new);
            return Ok(());
        };
        if step.keyed.is_some() {
            return Err(Error::unsupported("the reference has no recursion by keys"));
        }
        loop {
            if step.distinct {
                let mut kept: Vec<Vec<Value>> = Vec::new();
                for row in new {
                    self.spend(all.len())?;
                    if !all.contains(&row) && !kept.contains(&row) {
                        kept.push(row);
                    }
                }
                new = kept;
            }
            if new.is_empty() {
                break;
            }
            all.extend(new.iter().cloned());
            self.materialized.insert(step.working, new);
            new = taken(self.relation(&step.plan)?, &step.columns)?;
        }
        self.materialized.insert(common.result, all);
        Ok(())
    }

    /// Pays for looking at `rows` rows.
    fn spend(&self, rows: usize) -> Result<()> {
        match self.steps.get().checked_sub(rows as u64) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => Err(Error::new(SqlState::StatementTooComplex, "the reference gives up: too many rows")),
        }
    }
}

/// True for errors that say something about this interpreter rather than about the query.
pub fn is_refusal(error: &Error) -> bool {
    matches!(error.state(), SqlState::FeatureNotSupported | SqlState::StatementTooComplex)
}
