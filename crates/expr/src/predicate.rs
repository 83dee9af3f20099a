//! A condition compiled for finding the rows that pass.

use plan::Expr;
use types::{Result, Value};
use vector::Batch;

use crate::Program;

/// Rows of a batch for which a condition is TRUE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    All,
    None,
    /// Ascending; neither empty nor all.
    Rows(Vec<u32>),
}

/// A BOOLEAN expression over the columns of a batch. Immutable, so any number of workers may share it.
pub struct Predicate {
    program: Program,
}

impl Predicate {
    pub fn compile(condition: &Expr) -> Result<Predicate> {
        Ok(Predicate { program: Program::compile(std::slice::from_ref(condition))? })
    }

    /// The rows for which the condition is TRUE: neither FALSE nor NULL.
    pub fn select(&self, batch: &Batch) -> Result<Selected> {
        let vectors = self.program.evaluate(batch)?;
        let rows: Vec<u32> =
            (0..batch.rows).filter(|r| vectors[0].value(*r) == Value::Bool(true)).map(|r| r as u32).collect();
        Ok(match rows.len() {
            0 => Selected::None,
            n if n == batch.rows => Selected::All,
            _ => Selected::Rows(rows),
        })
    }
}
