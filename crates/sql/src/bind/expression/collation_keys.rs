//! What texts with a collation are compared by: the key that stands in place of a text, and which collation decides where
//! two texts meet. `collations` has the rest.

use plan::functions::COLLATION_KEY;
use plan::{Expr, ExprKind};
use syntax::Span;
use types::{Collation, Error, Result, SqlState, Type, Value};

use crate::place;

/// The collation by which texts of two types are compared; binary of what is no text.
pub(super) fn meeting(left: Type, right: Type) -> Collation {
    let compares = |ty: Type| (ty.is_text() && !ty.is_json()) || ty == Type::Null;
    if !compares(left) || !compares(right) {
        return Collation::BINARY;
    }
    let own = left.collation().or(right.collation());
    own.unwrap_or_else(|| left.compared_by().max(right.compared_by()))
}

/// An error where two texts of different collations are compared.
pub(crate) fn check_meeting(left: Type, right: Type, text: &str, span: Span) -> Result<()> {
    match (left.collation(), right.collation()) {
        (Some(a), Some(b)) if a != b => {
            let message = format!("texts of collations {a} and {b} are compared");
            let error = Error::new(SqlState::CollationMismatch, message)
                .with_hint("say by which one with COLLATE on both sides");
            Err(place::at(error, text, span))
        }
        _ => Ok(()),
    }
}

/// Whether values of the type are compared by a key of a collation.
pub(crate) fn is_keyed(ty: Type) -> bool {
    !ty.compared_by().is_binary()
}

/// Whether a comparison of these types is one of bytes, and may be decided by constants as they are.
pub(crate) fn is_of_bytes(left: Type, right: Type) -> bool {
    meeting(left, right).is_binary()
}

/// What comparisons see of a text; what is no text, or is compared by its bytes, stays as it is.
pub(crate) fn key(expr: Expr) -> Expr {
    let collation = expr.ty.compared_by();
    if collation.is_binary() { expr } else { key_by(expr, collation) }
}

fn key_by(expr: Expr, collation: Collation) -> Expr {
    match &expr.kind {
        ExprKind::Literal(value) => Expr::literal(key_of(value, collation), Type::Bytea),
        _ => call(COLLATION_KEY, expr, collation, Type::Bytea),
    }
}

/// The key of a constant.
pub(crate) fn key_of(value: &Value, collation: Collation) -> Value {
    match value.as_text() {
        Some(text) => Value::Bytes(collation.key(text).as_ref().into()),
        None => Value::Null,
    }
}

/// Both sides of a comparison by the collation that they meet in.
pub(crate) fn take_keys(left: &mut Expr, right: &mut Expr) {
    let collation = meeting(left.ty, right.ty);
    if collation.is_binary() {
        return;
    }
    for side in [left, right] {
        let value = std::mem::replace(side, Expr::boolean(true));
        *side = key_by(value, collation);
    }
}

pub(super) fn call(name: &str, expr: Expr, collation: Collation, ty: Type) -> Expr {
    let collation = Expr::literal(Value::text(&collation.to_string()), Type::Text);
    let arguments = vec![collation, expr];
    Expr::new(ExprKind::Library { name: name.into(), arguments }, ty)
}
