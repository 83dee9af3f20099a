//! Rule `top_k`: a sort of which only the first rows are wanted keeps no more than those.
//!
//! LIMIT moves down through projections, which neither drop nor reorder rows, and meets the sort below. The limit
//! stays above the sort for its offset's sake.

use plan::LogicalPlan;

pub(crate) fn apply(plan: LogicalPlan) -> LogicalPlan {
    let mut plan = plan;
    for child in plan.children_mut() {
        let taken = std::mem::replace(child, LogicalPlan::placeholder());
        *child = apply(taken);
    }
    match plan {
        LogicalPlan::Limit { input, offset, count } => limit(*input, offset, count),
        other => other,
    }
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
