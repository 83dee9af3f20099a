//! `TRY(x)`: the value, or NULL for rows whose values are at fault.
//!
//! What is computed before the expression's rows are there (subqueries, aggregates, window functions) would fail
//! outside of it, and may not stand in it.

use plan::{Expr, ExprKind, Function};
use syntax::Span;
use syntax::tree::{self, Expr as Ast};
use types::{Error, Result, SqlState};

use crate::bind::expression::ExprBinder;
use crate::bind::expression::coerce::Bound;
use crate::bind::function::arguments;
use crate::place;

impl<'a> ExprBinder<'_, 'a> {
    /// A plain call of TRY: one expression without clauses.
    pub(crate) fn attempt_call(&mut self, call: &'a tree::Call, span: Span) -> Result<Bound> {
        let plain = call.over.is_none()
            && call.filter.is_none()
            && call.within_group.is_empty()
            && call.nulls.is_none()
            && !arguments::has_clauses(call);
        let operand = match arguments::list(call) {
            [operand] if plain => self.binder.argument_value(operand),
            _ => None,
        };
        let Some(operand) = operand else {
            let error = Error::new(SqlState::SyntaxError, "TRY takes one expression and no clauses")
                .with_hint("write TRY(expression)");
            return Err(place::at(error, self.text(), span));
        };
        self.attempt(operand, span)
    }

    /// TRY of an expression.
    pub(crate) fn attempt(&mut self, operand: &'a Ast, span: Span) -> Result<Bound> {
        let trying = std::mem::replace(&mut self.trying, true);
        let in_condition = std::mem::replace(&mut self.in_condition, true);
        let bound = self.bind(operand);
        (self.trying, self.in_condition) = (trying, in_condition);
        let value = bound?.settled();
        if value.is_volatile() || value.has_effects() {
            let error = Error::new(SqlState::FeatureNotSupported, "TRY takes no volatile function")
                .with_hint("compute its value in a subquery in FROM, and try what is made of it");
            return Err(place::at(error, self.text(), span));
        }
        let ty = value.ty;
        let kind = ExprKind::Function { function: Function::Try, arguments: vec![value] };
        Ok(Bound::typed(Expr::new(kind, ty), span))
    }

    /// Refuses what is not computed where TRY could see it fail.
    pub(crate) fn not_in_try(&self, what: &str, span: Span) -> Result<()> {
        if !self.trying {
            return Ok(());
        }
        let error = Error::new(SqlState::GroupingError, format!("{what} are not allowed in TRY"))
            .with_hint("compute it in a subquery in FROM");
        Err(place::at(error, self.text(), span))
    }
}
