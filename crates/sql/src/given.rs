//! What is known of a statement's parameters while it is bound, and what is planned by their values.

use std::cell::Cell;

use syntax::tree::{Expr as Ast, ExprKind as AstKind, OperatorKind};
use types::{Type, Value};

use crate::words::folded;

/// What is known of a statement's parameters while it is bound.
#[derive(Clone, Copy, Default)]
pub(crate) enum Given<'a> {
    /// There are none.
    #[default]
    Nothing,
    /// The values of `$1`, `$2` and so on.
    Values(&'a [(Value, Type)]),
    /// Values come later.
    Later(&'a Later),
}

impl Given<'_> {
    /// Whether the statement is bound for more than one set of values, and for more than the data that is there now.
    pub fn is_later(self) -> bool {
        matches!(self, Given::Later(_))
    }
}

/// Parameters whose values come later.
pub(crate) struct Later {
    /// By parameter, the type that it has; `None` where its place decides.
    pub types: Vec<Option<Type>>,
    /// A construct is planned by a parameter's value.
    pub by_value: Cell<bool>,
}

/// Functions that mean the same whatever the values of their arguments are. Others are planned by the values.
const PLAIN: [&str; 44] = [
    "abs",
    "any_value",
    "avg",
    "bool_and",
    "bool_or",
    "ceil",
    "char_length",
    "character_length",
    "coalesce",
    "concat",
    "count",
    "exp",
    "first",
    "floor",
    "greatest",
    "ifnull",
    "last",
    "least",
    "left",
    "length",
    "ln",
    "lower",
    "ltrim",
    "max",
    "md5",
    "min",
    "mod",
    "nullif",
    "pow",
    "power",
    "repeat",
    "replace",
    "reverse",
    "right",
    "rtrim",
    "sign",
    "sqrt",
    "starts_with",
    "strpos",
    "sum",
    "to_json",
    "trim",
    "upper",
    "var_pop",
];

/// Whether parameters in an expression are to be planned by their values: where these decide what is computed, or allow
/// for something better.
pub(crate) fn is_by_value(ast: &Ast) -> bool {
    use AstKind as K;
    use OperatorKind as O;
    match &ast.kind {
        K::Call(call) => match call.name.names.as_slice() {
            [name] => !PLAIN.contains(&folded(name).as_str()),
            _ => true,
        },
        K::Chain(_, rest) => rest.iter().any(|(operator, _)| match &operator.kind {
            O::Symbol(symbol) => &**symbol != "||",
            O::Qualified(..) => true,
            _ => false,
        }),
        K::Like(_)
        | K::Special(_)
        | K::AtTimeZone(..)
        | K::Overlaps(..)
        | K::Comprehension(_)
        | K::Index(..)
        | K::Slice(_)
        | K::Method(..)
        | K::Columns(_)
        | K::Lambda(_)
        | K::Prefix(..) => {
            !matches!(&ast.kind, K::Prefix(operator, _) if matches!(operator.kind, O::Not | O::Minus | O::Plus))
        }
        _ => false,
    }
}
