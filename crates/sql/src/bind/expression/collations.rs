//! COLLATE, and what it changes: comparisons, groups, joins and sorts of texts by keys.
//!
//! A collation is a part of an expression's type (`types::collation`). A column has one by its declaration, `COLLATE` gives
//! one to an expression, and a function of texts hands on that of its arguments. Where texts meet in a comparison, the
//! collation of either is that of the comparison; two that differ are an error. `intervals::compare_by_keys` goes over the
//! finished plan and puts the key in place of each text that is compared, grouped, joined or sorted by, so that no operator
//! knows of collations. Patterns and searches see both texts in the collation's forms, without its language, as in DuckDB.

use plan::functions::COLLATION_FOLD;
use plan::{AggregateFunction, Expr, ExprKind, SortKey};
use syntax::tree;
use types::{Collation, Error, Result, SqlState, Type, Value};

use crate::bind::decorrelate::packing::{Packed, is_there, ordered_row, where_there};
use crate::bind::expression::coerce::{self, Bound};
use crate::bind::expression::collation_keys::{call, is_keyed, meeting};
use crate::bind::folded;

/// Functions that search one text in another, or compare their ends.
const SEARCHES: [&str; 9] = [
    "contains",
    "ends_with",
    "instr",
    "position",
    "prefix",
    "starts_with",
    "strpos",
    "suffix",
    plan::functions::GLOB,
];

/// The collation that a path names: `NOCASE.de`, `pg_catalog."C"`.
pub(crate) fn named(path: &tree::Path) -> Result<Collation> {
    let names = match path.names.as_slice() {
        [schema, rest @ ..] if !rest.is_empty() && folded(schema) == crate::PG_CATALOG => rest,
        names => names,
    };
    let parts: Vec<&str> = names.iter().map(|name| &*name.text).collect();
    Collation::named(&parts.join("."))
}

/// The type of a column of type `ty` that is declared with a collation.
pub(crate) fn declared(ty: Type, collation: Collation) -> Result<Type> {
    match ty {
        _ if collation.is_binary() && (ty.is_text() || ty.element().is_some_and(Type::is_text)) => Ok(ty),
        Type::Text | Type::Collated(_) => Ok(Type::Collated(collation)),
        Type::Varchar(_) | Type::Char(_) => Err(Error::unsupported(format!(
            "{ty} with collation {collation} is not supported"
        ))
        .with_hint("declare it as TEXT with the collation, and the length as CHECK (length(...) <= n)")),
        _ => {
            Err(Error::new(SqlState::DatatypeMismatch, format!("collations are not supported by type {ty}"))
                .with_hint("only text has a collation"))
        }
    }
}

/// The text, compared by the collation from now on.
pub(crate) fn with(expr: Expr, collation: Collation) -> Expr {
    let ty = Type::Collated(collation);
    match expr.kind {
        ExprKind::Literal(value) => Expr::literal(value, ty),
        // A cast of another collation changed nothing else.
        ExprKind::Cast { input, lenient: false } if expr.ty.collation().is_some() && input.ty.is_text() => {
            with(*input, collation)
        }
        kind => Expr { kind, ..expr }.cast(ty),
    }
}

/// The result of a function of texts, with the collation that its arguments have.
pub(crate) fn inherited(bound: Bound) -> Bound {
    if !matches!(bound.ty(), Type::Text | Type::Varchar(_)) {
        return bound;
    }
    let arguments = match &bound.expr.kind {
        ExprKind::Function { arguments, .. } | ExprKind::Library { arguments, .. } => arguments,
        _ => return bound,
    };
    let mut found = arguments.iter().filter_map(|argument| argument.ty.collation());
    let Some(first) = found.next() else { return bound };
    if found.any(|other| other != first) {
        return bound;
    }
    Bound { expr: with(bound.expr, first), ..bound }
}

/// Both texts in the forms of the collation that they meet in.
pub(crate) fn folded_pair(left: Bound, right: Bound) -> (Bound, Bound) {
    let collation = meeting(left.ty(), right.ty());
    if !collation.folds() {
        return (left, right);
    }
    (fold(left, collation), fold(right, collation))
}

fn fold(bound: Bound, collation: Collation) -> Bound {
    let expr = match &bound.expr.kind {
        ExprKind::Literal(value) => match value.as_text() {
            Some(text) => Expr::literal(Value::text(&collation.fold(text)), Type::Text),
            None => bound.expr,
        },
        _ => call(COLLATION_FOLD, bound.expr, collation, Type::Text),
    };
    Bound { expr, ..bound }
}

/// The arguments of a function that searches, in the forms of their collation.
pub(crate) fn folded_arguments(name: &str, arguments: Vec<Bound>) -> Vec<Bound> {
    match <[Bound; 2]>::try_from(arguments) {
        Ok([left, right]) if SEARCHES.contains(&name) => {
            let (left, right) = folded_pair(left, right);
            vec![left, right]
        }
        Ok(pair) => pair.into(),
        Err(arguments) => arguments,
    }
}

/// What an aggregate over texts with a collation is done by, where it is not the aggregate itself: the text whose key is the
/// least or the greatest.
///
/// # Errors
/// DISTINCT of an aggregate that shows its texts.
pub(crate) fn aggregated(
    name: &str,
    function: &AggregateFunction,
    ty: Type,
    distinct: bool,
) -> Result<Option<&'static str>> {
    use AggregateFunction as A;
    match function {
        _ if !is_keyed(ty) => Ok(None),
        A::Min => Ok(Some("arg_min")),
        A::Max => Ok(Some("arg_max")),
        A::QuantileDisc { .. } => {
            Err(Error::unsupported(format!("{name} of text with a collation is not supported")).with_hint(
                "order it by its bytes, as in percentile_disc(...) WITHIN GROUP (ORDER BY a COLLATE \"C\")",
            ))
        }
        A::Count | A::ApproxCountDistinct | A::AnyValue | A::Arrival { .. } => Ok(None),
        _ if distinct => {
            Err(Error::unsupported(format!("{name}(DISTINCT ...) of text with a collation is not supported"))
                .with_hint("use SELECT DISTINCT in a subquery in FROM"))
        }
        _ => Ok(None),
    }
}

/// The text whose key is the greatest or the least; NULLs are left out.
pub(crate) fn extreme(name: &str, arguments: Vec<Expr>, ty: Type) -> Expr {
    let row = |text: Expr| {
        let text = coerce::cast(text, ty);
        let by = SortKey { expr: text.clone(), descending: false, nulls_first: false };
        where_there(vec![is_there(text.clone())], ordered_row(vec![by], text))
    };
    let arguments = arguments.into_iter().map(row).collect();
    let found = Expr::new(ExprKind::Library { name: name.into(), arguments }, Type::Bytea);
    Packed::Row(ty).unpacked(found, vec![])
}
