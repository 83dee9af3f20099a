//! A plan of one machine becomes a plan of a cluster: exchanges where rows lie elsewhere than an operator needs them.
//!
//! ```text
//!  requirement, top-down          property, bottom-up           exchange where they differ
//!  join: equal keys meet          scan, part: anywhere          hash both | broadcast the smaller | gather
//!  group: rows of a group meet    join by a: by hash of a       none, if the hash is of group keys
//!  query: rows at the coordinator                               gather
//! ```
//! After Rödiger, Mühlbauer, Kemper, Neumann, "High-Speed Query Processing over High-Speed Networks" (PVLDB 9(4), 2015),
//! section 3.2: both sides hashed, or the smaller one broadcast where it is n - 1 times smaller; aggregation before the
//! exchange; no exchange where rows lie right already. Other than there, a plan's exchanges are decided after its joins
//! are ordered, and what is not known to be right anywhere else is done at the coordinator, so that nothing is refused.
//!
//! The rooms: `pass` (its state), `place` (what is known of where rows lie), `enforce` (exchanges), `cost` (bytes), `join`,
//! `grouping` over `halves` (of aggregates), `rows` (sorts, limits, windows, unions), `filters` (which runtime filters
//! still hold), `check` (proves a finished plan by rules of its own).
//!
//! **What stays as on one machine**: answers, but for the order of rows without ORDER BY behind a hash exchange, which rows
//! of equal rank come first, and the last digits of sums of floating point. LIMIT without ORDER BY, `first`,
//! `string_agg` without an order, row numbers without one and volatile functions see rows in the order of one machine.

mod check;
mod cost;
mod enforce;
mod filters;
mod grouping;
mod halves;
mod join;
mod pass;
mod place;
mod rows;

use std::collections::HashMap;

use plan::{Distributed, Expr, ExprKind, PhysicalNode as N, PhysicalPlan, Share};
use types::{Error, Result};

use crate::Statistics;
pub use check::check;
pub use pass::ClusterShape;
use pass::{Pass, broken, sources, take_inputs, with_inputs};
use place::{Place, Placed};

/// The plan for a cluster: every node runs it, and the coordinator has the result. `plan` is one of one machine.
///
/// # Errors
/// A plan that has exchanges already, or a cluster of no node, is an internal error.
pub fn distribute(
    mut plan: PhysicalPlan,
    cluster: &ClusterShape,
    statistics: &dyn Statistics,
) -> Result<Distributed> {
    if cluster.nodes == 0 || cluster.nodes > plan::exchange::NODES_MAX {
        return Err(Error::internal(format!("a cluster of {} nodes", cluster.nodes)));
    }
    let leaves = plan.number();
    let mut pass = Pass { cluster, statistics, shares: HashMap::new(), exchanges: 0, leaves };
    let mut plan = match cluster.nodes {
        1 => pass.all_here(plan),
        _ => {
            let placed = pass.place(plan, false)?;
            pass.single(placed)?.plan
        }
    };
    let mut shares = Vec::new();
    pass.collect(&plan, &mut shares);
    plan.number();
    // Sources keep their order when nodes are numbered anew.
    let ids = sources(&plan);
    let shares = ids.into_iter().zip(shares).collect();
    let mut distributed = Distributed { plan, shares, nodes: cluster.nodes };
    filters::settle(&mut distributed)?;
    if cfg!(debug_assertions) {
        check(&distributed)?;
    }
    Ok(distributed)
}

impl Pass<'_> {
    /// A plan whose rows are all at the coordinator.
    fn all_here(&mut self, plan: PhysicalPlan) -> PhysicalPlan {
        self.share_all(&plan, Share::Coordinator);
        plan
    }

    fn collect(&self, plan: &PhysicalPlan, out: &mut Vec<Share>) {
        for source in sources(plan) {
            out.push(self.shares.get(&source).copied().unwrap_or(Share::Coordinator));
        }
    }

    /// Places a plan. With `ordered` its rows come in the order of one machine: by node, then as a node delivers them.
    fn place(&mut self, mut plan: PhysicalPlan, ordered: bool) -> Result<Placed> {
        if plan.expressions().into_iter().any(|expr| self.is_of_coordinator(expr)) {
            return self.at_coordinator(plan);
        }
        match &plan.node {
            N::TableScan { .. } => Ok(self.source(plan, Share::Part)),
            // Records that are left out are noted by one reader.
            N::FileScan { file, .. } => {
                let share = if file.text.rejects.is_some() { Share::Coordinator } else { Share::Part };
                Ok(self.source(plan, share))
            }
            N::Generate { .. } | N::Series { .. } | N::Values { .. } | N::Materialized { .. } => {
                Ok(self.source(plan, Share::Coordinator))
            }
            N::Filter { .. } | N::Project { .. } | N::Fetch { .. } | N::Unnest { .. } => {
                let Some(input) = take_inputs(&mut plan).pop() else { return Err(broken()) };
                let input = self.place(input, ordered)?;
                let place = input.place.above(&plan);
                Ok(Placed { place, ordered: input.ordered, plan: with_inputs(plan, vec![input.plan]) })
            }
            N::HashJoin { .. } | N::NestedLoopJoin { .. } => self.join(plan, ordered),
            N::Aggregate { .. } => self.aggregate(plan),
            N::Sort { .. } => self.sort(plan),
            N::Limit { .. } => self.limit(plan),
            N::Window { .. } => self.window(plan),
            N::UnionAll { .. } => self.union(plan, ordered),
            N::Insert { .. } => self.at_coordinator(plan),
            N::Exchange { .. } => Err(Error::internal("a plan that is distributed already")),
        }
    }

    fn source(&mut self, plan: PhysicalPlan, share: Share) -> Placed {
        self.shares.insert(plan.id, share);
        let place = if share == Share::Part { Place::Any } else { Place::Single };
        Placed { plan, place, ordered: true }
    }

    /// The node with all its inputs at the coordinator, in the order of one machine.
    fn at_coordinator(&mut self, mut plan: PhysicalPlan) -> Result<Placed> {
        let inputs = take_inputs(&mut plan);
        if inputs.is_empty() {
            return Ok(self.source(plan, Share::Coordinator));
        }
        let mut gathered = Vec::with_capacity(inputs.len());
        for input in inputs {
            let placed = self.place(input, true)?;
            gathered.push(self.single(placed)?.plan);
        }
        let plan = with_inputs(plan, gathered);
        Ok(self.alone(Placed { plan, place: Place::Single, ordered: true }))
    }

    /// Whether an expression has to be evaluated where, and as often as, one machine would.
    fn is_of_coordinator(&self, expr: &Expr) -> bool {
        let mut found = expr.is_volatile() || expr.has_effects();
        if !self.cluster.host_functions {
            expr.visit_all(&mut |part| found |= matches!(part.kind, ExprKind::External { .. }));
        }
        found
    }
}
