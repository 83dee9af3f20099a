//! When a recursion has given enough: where its rows have one reader, and that is a LIMIT over something that gives rows
//! of its own for the rows of each round, the rounds end once those are as many as the LIMIT wants.

use plan::{ExprKind, JoinKind, LogicalPlan, LogicalQuery, MaterializedSource, ScanSource};

use super::reads;

/// The reader that has enough at some time.
pub(super) struct Until {
    /// What the LIMIT reads, over the rows of one round.
    pub plan: LogicalPlan,
    /// The rows that it wants.
    pub rows: u64,
    /// Whether each row of the recursive query is one of `plan`.
    pub each: bool,
}

/// The reader of the slot `result`, if it can have enough; `rest` is what may read it, `known` the number of scalar
/// subqueries whose values are known when the recursion runs.
pub(super) fn until(result: usize, working: usize, rest: &LogicalQuery, known: usize) -> Option<Until> {
    let steps = rest.common.iter().flat_map(|common| common.step.iter().flat_map(plan::Step::plans));
    let bases = rest.common.iter().map(|common| &common.base);
    let plans: Vec<&LogicalPlan> =
        rest.subqueries.iter().chain(bases).chain(steps).chain([&rest.plan]).collect();
    if plans.iter().map(|plan| reads(plan, result)).sum::<usize>() != 1 {
        return None;
    }
    let (plan, rows) = plans.into_iter().find_map(|plan| limited(plan, result, known))?;
    let mut plan = plan.clone();
    let each = is_each(&plan);
    read_instead(&mut plan, result, working);
    Some(Until { plan, rows, each })
}

/// What the innermost LIMIT over the rows reads of them, and how many rows it wants.
fn limited(plan: &LogicalPlan, number: usize, known: usize) -> Option<(&LogicalPlan, u64)> {
    let inner = plan.children().into_iter().find_map(|child| limited(child, number, known));
    match plan {
        _ if inner.is_some() => inner,
        LogicalPlan::Limit { input, offset, count: Some(count) } => {
            Some((round_by_round(input, number, known)?, offset.saturating_add(*count)))
        }
        _ => None,
    }
}

/// The part of a plan that gives its rows for the rows of each round, whatever the other rounds gave. It may be one
/// of the inputs of a union, whose rows are rows of the union.
fn round_by_round(plan: &LogicalPlan, number: usize, known: usize) -> Option<&LogicalPlan> {
    match plan {
        LogicalPlan::Union { inputs, .. } => {
            inputs.iter().find_map(|(input, _)| round_by_round(input, number, known))
        }
        _ => is_round_by_round(plan, number, known).then_some(plan),
    }
}

fn is_round_by_round(plan: &LogicalPlan, number: usize, known: usize) -> bool {
    use LogicalPlan as L;
    let mut waits = false;
    for expr in plan.expressions() {
        expr.visit(&mut |e| {
            waits |= matches!(e.kind, ExprKind::ScalarSubquery(id) if id.0 as usize >= known)
        });
    }
    if waits || plan.is_volatile() {
        return false;
    }
    match plan {
        L::Scan { source: ScanSource::Materialized(source), .. } => source.index == number,
        L::Filter { input, .. } | L::Project { input, .. } | L::Unnest { input, .. } => {
            is_round_by_round(input, number, known)
        }
        L::Join { left, right, kind, .. } => {
            let (one, other) = match kind {
                JoinKind::Left | JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark => (left, None),
                JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => (right, None),
                JoinKind::Inner => (left, Some(right)),
                JoinKind::Full => return false,
            };
            is_round_by_round(one, number, known)
                || other.is_some_and(|other| is_round_by_round(other, number, known))
        }
        _ => false,
    }
}

/// Whether each row that is read is one row of the plan.
fn is_each(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Scan { filters, .. } => filters.is_empty(),
        LogicalPlan::Project { input, .. } => is_each(input),
        _ => false,
    }
}

fn read_instead(plan: &mut LogicalPlan, from: usize, to: usize) {
    if let LogicalPlan::Scan { source: ScanSource::Materialized(source), .. } = plan
        && source.index == from
    {
        let mut other = MaterializedSource::clone(source);
        other.index = to;
        *source = std::sync::Arc::new(other);
    }
    plan.children_mut().into_iter().for_each(|child| read_instead(child, from, to));
}
