//! Aggregates that take the value of one row of a group: `arg_min`, `arg_max`, `first`, `last`.
//!
//! In a plan they are the least or the greatest of ordered rows (`plan::functions::ORDERED_ROW`), or the first of the
//! input. With at most one key, of a type that integers order, no row is made of bytes: the key and the value are
//! arguments of their own, and only the row picked of a group is put together (`hash::aggregate::Picked`).

use hash::aggregate::{Pick, PickKey};
use plan::functions::ORDERED_ROW;
use plan::{AggregateCall, AggregateFunction, Expr, ExprKind};

/// What such an aggregate picks.
pub(super) struct Found {
    /// The key that decides; `None`: the order of the input does.
    pub key: Option<Expr>,
    /// The value of the row picked.
    pub value: Expr,
    /// How they are used.
    pub pick: Pick,
}

/// The only branch of a CASE without ELSE.
pub(super) fn only_branch(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match &expr.kind {
        ExprKind::Case { branches, otherwise: None } => match branches.as_slice() {
            [(condition, value)] => Some((condition, value)),
            _ => None,
        },
        _ => None,
    }
}

/// The argument without the guard that keeps it from being evaluated where the filter leaves a row out, and the guard.
pub(super) fn unguarded(call: &AggregateCall) -> Option<(&Expr, Option<&Expr>)> {
    let argument = call.argument.as_ref()?;
    Some(match (only_branch(argument), &call.filter) {
        (Some((condition, value)), Some(filter)) if condition == filter => (value, Some(condition)),
        _ => (argument, None),
    })
}

/// The expression, evaluated where the guard holds.
pub(super) fn guarded(expr: &Expr, guard: Option<&Expr>) -> Expr {
    match guard {
        Some(guard) if expr.as_literal().is_none() && !matches!(expr.kind, ExprKind::Input(_)) => {
            let branches = vec![(guard.clone(), expr.clone())];
            Expr::new(ExprKind::Case { branches, otherwise: None }, expr.ty)
        }
        _ => expr.clone(),
    }
}

/// The expressions of which a condition says that they have a value; `None` where it says something else.
pub(super) fn present(condition: &Expr) -> Option<Vec<&Expr>> {
    let all = match &condition.kind {
        ExprKind::And(all) => all.as_slice(),
        _ => std::slice::from_ref(condition),
    };
    all.iter()
        .map(|e| match &e.kind {
            ExprKind::IsNull { input, negated: true } => Some(&**input),
            _ => None,
        })
        .collect()
}

/// What the aggregate picks, if it is one of these.
pub(super) fn found(call: &AggregateCall) -> Option<Found> {
    let last = match call.function {
        AggregateFunction::Min => false,
        AggregateFunction::Max => true,
        AggregateFunction::Arrival { last } => last,
        _ => return None,
    };
    let (argument, guard) = unguarded(call)?;
    let (there, row) = match only_branch(argument) {
        Some((condition, row)) => (present(condition)?, row),
        None => (vec![], argument),
    };
    let ExprKind::Library { name, arguments } = &row.kind else { return None };
    let [directions, keys @ .., value] = arguments.as_slice() else { return None };
    if &**name != ORDERED_ROW {
        return None;
    }
    let by_arrival = matches!(call.function, AggregateFunction::Arrival { .. });
    let key = match (keys, by_arrival) {
        ([], true) => None,
        ([key], false) => Some(key),
        _ => return None,
    };
    if !there.iter().all(|e| *e == value || key == Some(*e)) {
        return None;
    }
    let pick_key = match key {
        None => None,
        Some(key) => {
            let direction = directions.as_literal()?.as_text()?.chars().next()?;
            let of = PickKey {
                ty: key.ty,
                descending: direction.eq_ignore_ascii_case(&'d'),
                nulls_first: direction.is_ascii_uppercase(),
                keys_only: there.contains(&key),
            };
            Some(of).filter(PickKey::is_supported)?.into()
        }
    };
    let pick = Pick { key: pick_key, last, ty: value.ty, values_only: there.contains(&value) };
    Some(Found { key: key.map(|key| guarded(key, guard)), value: guarded(value, guard), pick })
}
