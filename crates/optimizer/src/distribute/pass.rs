//! The state of planning one query for a cluster, and how nodes and their inputs come apart.

use std::collections::HashMap;

use plan::{NodeId, PhysicalNode as N, PhysicalPlan, Share};
use types::Error;

use crate::Statistics;

/// What is known of a cluster when a query is planned for it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterShape {
    /// How many nodes there are, at least 1.
    pub nodes: u32,
    /// The build side of a join that reads no more bytes than this is read whole by every node instead of being sent.
    pub replicated_bytes: f64,
    /// No side of a join larger than this is broadcast unless nothing else is right; in bytes.
    pub broadcast_bytes_max: f64,
    /// Groups of so many bytes, at most, are put together at the coordinator at once.
    pub gathered_bytes: f64,
    /// Rows are grouped before an exchange where that leaves less than half of them.
    pub pre_aggregation: bool,
    /// Functions of the host program can be called on every node; else they are called at the coordinator.
    pub host_functions: bool,
}

impl ClusterShape {
    /// So many nodes that share their storage, with defaults for the rest.
    pub fn of(nodes: u32) -> Self {
        ClusterShape {
            nodes,
            replicated_bytes: 256.0 * 1024.0,
            broadcast_bytes_max: 1e9,
            gathered_bytes: 64.0 * 1024.0,
            pre_aggregation: true,
            host_functions: false,
        }
    }
}

/// The state of planning one query for a cluster.
pub(super) struct Pass<'a> {
    pub(super) cluster: &'a ClusterShape,
    pub(super) statistics: &'a dyn Statistics,
    /// By the numbers that sources had in the plan of one machine; those of new ones follow.
    pub(super) shares: HashMap<NodeId, Share>,
    pub(super) exchanges: u32,
    pub(super) leaves: u32,
}

impl Pass<'_> {
    /// Every source of the plan has this share.
    pub(super) fn share_all(&mut self, plan: &PhysicalPlan, share: Share) {
        for source in sources(plan) {
            self.shares.insert(source, share);
        }
    }
}

/// The sources of a numbered plan, ascending.
pub(super) fn sources(plan: &PhysicalPlan) -> Vec<NodeId> {
    let (mut found, mut open) = (vec![], vec![plan]);
    while let Some(node) = open.pop() {
        let children = node.children();
        if children.is_empty() {
            found.push(node.id);
        }
        open.extend(children.into_iter().rev());
    }
    found
}

/// The node's inputs; something else stands in their places until `with_inputs`.
pub(super) fn take_inputs(plan: &mut PhysicalPlan) -> Vec<PhysicalPlan> {
    let nothing = || PhysicalPlan::new(N::Values { rows: vec![] }, vec![], 0.0);
    plan.children_mut().into_iter().map(|child| std::mem::replace(child, nothing())).collect()
}

/// The node with these inputs, of which it has as many.
pub(super) fn with_inputs(mut plan: PhysicalPlan, inputs: Vec<PhysicalPlan>) -> PhysicalPlan {
    for (place, input) in plan.children_mut().into_iter().zip(inputs) {
        *place = input;
    }
    plan
}

pub(super) fn broken() -> Error {
    Error::internal("a node of a plan has other inputs than its kind")
}
