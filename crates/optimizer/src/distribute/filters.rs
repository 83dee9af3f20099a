//! Which runtime filters still hold in a distributed plan.
//!
//! A join fills its filter from the build rows of its node. A row that a scan reads may travel: what it meets then is
//! another node's build rows, which the filter here does not know. So a scan keeps a filter where
//!
//! * the join's build side is whole at every node, or
//! * the rows stay: no exchange is between the scan and the join, and the scan reads a part that is its node's alone
//!   (what is read whole everywhere passes for whole elsewhere).
//!
//! All others are dropped, with their fillers. A filter changes no result; a wrong one would.

use std::collections::HashSet;

use plan::{Distributed, FilterId, PhysicalNode as N, PhysicalPlan, RuntimeFilter, Share};
use types::Result;

use super::check::whole_everywhere;

/// Filters by number that hold for the scan a walk has come to.
#[derive(Clone, Default)]
struct Open {
    /// Of joins whose build side is whole.
    whole: HashSet<FilterId>,
    /// Of joins from which no exchange leads here.
    near: HashSet<FilterId>,
}

/// Drops the filters that do not hold.
pub(super) fn settle(distributed: &mut Distributed) -> Result<()> {
    let whole = whole_builds(distributed)?;
    let shares: Vec<_> = distributed.shares.clone();
    let share = |plan: &PhysicalPlan| {
        shares.binary_search_by_key(&plan.id, |(id, _)| *id).map_or(Share::Coordinator, |at| shares[at].1)
    };
    keep(&mut distributed.plan, &whole, &Open::default(), &share);
    let mut used = HashSet::new();
    used_filters(&distributed.plan, &mut |filter| {
        used.insert(filter.filter);
    });
    fill_only(&mut distributed.plan, &used);
    Ok(())
}

/// The filters whose joins have their build side whole at every node.
fn whole_builds(distributed: &Distributed) -> Result<HashSet<FilterId>> {
    let (mut found, mut open) = (HashSet::new(), vec![&distributed.plan]);
    while let Some(node) = open.pop() {
        if let N::HashJoin { build, fills, .. } = &node.node
            && !fills.is_empty()
            && whole_everywhere(build, distributed)
        {
            found.extend(fills.iter().map(|(filter, _)| *filter));
        }
        open.extend(node.children());
    }
    Ok(found)
}

fn keep(
    plan: &mut PhysicalPlan,
    whole: &HashSet<FilterId>,
    open: &Open,
    share: &dyn Fn(&PhysicalPlan) -> Share,
) {
    let read_whole = share(plan) == Share::Whole;
    match &mut plan.node {
        N::TableScan { runtime_filters, .. } | N::FileScan { runtime_filters, .. } => {
            runtime_filters.retain(|used| {
                open.whole.contains(&used.filter) || (open.near.contains(&used.filter) && !read_whole)
            });
        }
        N::HashJoin { probe, build, fills, .. } => {
            let mut within = open.clone();
            for (filter, _) in fills.iter() {
                if whole.contains(filter) {
                    within.whole.insert(*filter);
                }
                within.near.insert(*filter);
            }
            keep(probe, whole, &within, share);
            keep(build, whole, open, share);
        }
        N::Exchange { input, .. } => {
            let within = Open { whole: open.whole.clone(), near: HashSet::new() };
            keep(input, whole, &within, share);
        }
        _ => plan.children_mut().into_iter().for_each(|child| keep(child, whole, open, share)),
    }
}

fn fill_only(plan: &mut PhysicalPlan, used: &HashSet<FilterId>) {
    if let N::HashJoin { fills, .. } = &mut plan.node {
        fills.retain(|(filter, _)| used.contains(filter));
    }
    plan.children_mut().into_iter().for_each(|child| fill_only(child, used));
}

/// Calls `see` with every use of a runtime filter in the plan.
pub(super) fn used_filters(plan: &PhysicalPlan, see: &mut dyn FnMut(&RuntimeFilter)) {
    if let N::TableScan { runtime_filters, .. } | N::FileScan { runtime_filters, .. } = &plan.node {
        runtime_filters.iter().for_each(&mut *see);
    }
    plan.children().into_iter().for_each(|child| used_filters(child, see));
}
