//! Which expressions may give something else each time they are evaluated: `random()`, `nextval(...)`, functions that the
//! host program declares so.
//!
//! Such an expression is evaluated where it stands, once for each row that reaches it. Whatever copies an expression,
//! moves it over rows of another number, or takes two equal ones for one, asks here first: the binder, and every rule of
//! the optimizer.

use crate::{Expr, ExprKind, LogicalPlan};

/// Functions of the library that are volatile, by the names they are evaluated under.
pub const VOLATILE: [&str; 2] = ["random", "uuid"];

impl Expr {
    /// Whether another evaluation over the same row may give another value. A scalar subquery does not: it has run.
    pub fn is_volatile(&self) -> bool {
        let own = match &self.kind {
            ExprKind::Library { name, .. } => VOLATILE.contains(&&**name),
            ExprKind::External { function, .. } => function.volatile,
            ExprKind::Lambda(body) => body.is_volatile(),
            _ => false,
        };
        own || self.children().into_iter().any(Expr::is_volatile)
    }
}

impl LogicalPlan {
    /// Whether running the plan again over the same data may give other rows. Scalar subqueries count as constants.
    pub fn is_volatile(&self) -> bool {
        self.expressions().into_iter().any(Expr::is_volatile)
            || self.children().into_iter().any(LogicalPlan::is_volatile)
    }
}
