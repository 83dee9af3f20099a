//! Rule `top_k`: a sort of which only the first rows are wanted keeps no more than those.
//!
//! LIMIT moves down through projections, which neither drop nor reorder rows, and meets the sort below. The limit
//! stays above the sort for its offset's sake.

use plan::{Arithmetic, ColumnId, Expr, ExprKind, LogicalPlan, WindowFunction};
use types::Comparison;

/// Applies the rule to the whole plan, from the leaves up.
pub(crate) fn apply(plan: LogicalPlan) -> LogicalPlan {
    let mut plan = plan;
    for child in plan.children_mut() {
        let taken = std::mem::replace(child, LogicalPlan::placeholder());
        *child = apply(taken);
    }
    match plan {
        LogicalPlan::Limit { input, offset, count } => limit(*input, offset, count),
        LogicalPlan::Filter { input, predicate } => {
            LogicalPlan::Filter { input: Box::new(numbered(*input, &predicate)), predicate }
        }
        other => other,
    }
}

/// Below a filter that bounds `row_number()` over all rows stand as many of the first rows: the rows behind them are
/// numbered for nothing. `LIMIT (SELECT 5)` is such a filter.
fn numbered(input: LogicalPlan, predicate: &Expr) -> LogicalPlan {
    let LogicalPlan::Window { input, partition, order, calls } = input else { return input };
    let numbers = calls.iter().all(|(_, call)| call.function == WindowFunction::RowNumber);
    let bound = calls.iter().filter_map(|(id, _)| most(predicate, *id)).min();
    let input = match bound.filter(|_| numbers && partition.is_empty()) {
        None => input,
        Some(first) if order.is_empty() => Box::new(limit(*input, 0, Some(first))),
        Some(first) => Box::new(LogicalPlan::Sort { input, keys: order.clone(), limit: Some(first) }),
    };
    LogicalPlan::Window { input, partition, order, calls }
}

/// The largest number that passes the predicate, where it says one.
fn most(predicate: &Expr, number: ColumnId) -> Option<u64> {
    let (op, left, right) = match &predicate.kind {
        ExprKind::And(conjuncts) => return conjuncts.iter().filter_map(|c| most(c, number)).min(),
        ExprKind::Compare { op, left, right } => match right.as_literal() {
            Some(_) => (*op, left, right),
            None => (op.flipped(), right, left),
        },
        _ => return None,
    };
    let bound = right.as_literal()?.as_i64()?;
    let bound = match op {
        Comparison::LessOrEqual | Comparison::Equal => bound,
        Comparison::Less => bound.saturating_sub(1),
        _ => return None,
    };
    let bound = match &left.kind {
        ExprKind::Arithmetic { op: Arithmetic::Subtract, left, right, checked: _ }
            if left.as_column() == Some(number) =>
        {
            bound.saturating_add(right.as_literal()?.as_i64()?)
        }
        _ if left.as_column() == Some(number) => bound,
        _ => return None,
    };
    Some(u64::try_from(bound).unwrap_or(0))
}

fn limit(input: LogicalPlan, offset: u64, count: Option<u64>) -> LogicalPlan {
    let first = count.and_then(|c| c.checked_add(offset));
    match (input, first) {
        (LogicalPlan::Project { input, expressions }, _) => {
            LogicalPlan::Project { input: Box::new(limit(*input, offset, count)), expressions }
        }
        (LogicalPlan::Sort { input, keys, limit: had }, Some(first)) => {
            let kept = had.map_or(first, |h| h.min(first));
            let sort = LogicalPlan::Sort { input, keys, limit: Some(kept) };
            if offset == 0 {
                return sort;
            }
            LogicalPlan::Limit { input: Box::new(sort), offset, count }
        }
        (LogicalPlan::Limit { input, offset: inner, count: had }, _) => {
            // The outer limit counts rows of the inner one.
            let left = had.map(|h| h.saturating_sub(offset));
            let count = match (left, count) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            match inner.checked_add(offset) {
                Some(offset) => limit(*input, offset, count),
                None => LogicalPlan::Limit { input, offset: u64::MAX, count: Some(0) },
            }
        }
        (other, _) => LogicalPlan::Limit { input: Box::new(other), offset, count },
    }
}
