//! Aggregations that work on the codes of the scan right below: which can, and what they want of the scan.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plan::{Expr, ExprKind, PhysicalNode, PhysicalPlan};
use types::{Error, Result};

use super::calls::Calls;
use super::cells::CellArguments;
use crate::compose::Circumstances;
use crate::transfer::edges::Edges;

/// More groups expected than this are not tried, by masks and by cells.
const GROUPS_EXPECTED_MAX: f64 = 64.0;
const CELL_GROUPS_EXPECTED_MAX: f64 = 1024.0;

/// What an aggregation wants of the scan below it.
pub struct CodesWanted {
    /// Columns of the scan's output whose codes must have one byte.
    pub keys: Vec<usize>,
    /// Sums by cells are possible.
    pub cells: bool,
    /// Sums by bit masks are possible.
    pub masks: bool,
    /// There were too many groups, or the codes do not suit.
    pub refused: AtomicBool,
}

impl CodesWanted {
    /// What an aggregation wants that `codes` has decided about.
    pub(super) fn of(plan: &PhysicalPlan, codes: plan::pipeline::Codes) -> Result<Arc<CodesWanted>> {
        let keys = match &plan.node {
            PhysicalNode::Aggregate { groups, .. } => keys(groups),
            _ => None,
        };
        let keys = keys.ok_or_else(|| Error::internal("an aggregation on codes of no columns"))?;
        let plan::pipeline::Codes { cells, masks, .. } = codes;
        Ok(Arc::new(CodesWanted { keys, cells, masks, refused: AtomicBool::new(false) }))
    }
}

/// How an aggregation works on the codes of the scan right below it; `None` when it cannot, or must not.
pub(crate) fn codes(
    plan: &PhysicalPlan,
    edges: &Edges,
    circumstances: &Circumstances<'_>,
) -> Option<plan::pipeline::Codes> {
    let PhysicalNode::Aggregate { input, groups, aggregates } = &plan.node else { return None };
    let PhysicalNode::TableScan { .. } = &input.node else { return None };
    let settings = circumstances.settings;
    let few = plan.estimated_rows <= CELL_GROUPS_EXPECTED_MAX.max(GROUPS_EXPECTED_MAX);
    if !settings.switches.aggregates_on_codes
        || !settings.switches.predicates_on_codes
        || !few
        || !edges.is_fused(input.id)
    {
        return None;
    }
    keys(groups)?;
    let calls = Calls::new(groups, aggregates);
    if !calls.states.is_sums() || calls.arguments.iter().any(|a| a.filter.is_some()) {
        return None;
    }
    let masks = circumstances.masks_pay && plan.estimated_rows <= GROUPS_EXPECTED_MAX;
    let cells = settings.switches.cell_sums
        && plan.estimated_rows <= CELL_GROUPS_EXPECTED_MAX
        && CellArguments::of(&calls, input).is_some_and(|cells| cells.pays(masks));
    (masks || cells).then_some(plan::pipeline::Codes { aggregate: plan.id, cells, masks })
}

/// The input columns that keys are.
fn keys(groups: &[Expr]) -> Option<Vec<usize>> {
    groups.iter().map(|e| if let ExprKind::Input(at) = e.kind { Some(at) } else { None }).collect()
}
