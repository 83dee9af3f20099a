//! Plan to plan, one file a rule. Each file's head says when its rule fires and why it is sound.

pub mod common_subplans;
pub(crate) mod derived_predicates;
pub(crate) mod eager_aggregation;
pub(crate) mod filter_push_down;
pub(crate) mod late_materialization;
pub(crate) mod narrow_decimals;
mod null_rejection;
pub(crate) mod projections;
pub(crate) mod runtime_filters;
pub(crate) mod shared_sums;
pub(crate) mod simplify;
pub(crate) mod top_k;
pub(crate) mod wide_tables;

use plan::{ColumnTable, LogicalPlan};

use crate::Settings;
use crate::columns::ColumnSet;

/// The rules that work on the logical plan, in order. The plan is in normal form (see `projections`).
pub(crate) fn rewrite(mut plan: LogicalPlan, columns: &ColumnTable, settings: &Settings) -> LogicalPlan {
    if settings.simplification {
        simplify::simplify_plan(&mut plan);
    }
    plan = filter_push_down::PushDown { settings, columns }.push(plan, vec![], &ColumnSet::new());
    if settings.top_k {
        plan = top_k::apply(plan);
    }
    plan
}
