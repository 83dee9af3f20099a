//! Where rows of a plan of a cluster are: which parts of it only the coordinator runs.
//!
//! What stands above the last gather has rows at the coordinator alone, so other nodes leave it out: an aggregation
//! without groups would give them a row of its own. They run what feeds the gathers below.

use std::collections::BTreeSet;

use plan::{ExchangeKind, FilterId, NodeId, PhysicalNode, PhysicalPlan, Share};

use crate::exchange::node::Node;

/// What follows from a plan's exchanges and shares for one node.
#[derive(Clone, Debug, Default)]
pub(super) struct Placing {
    /// Plan nodes whose rows are at the coordinator, on all other nodes.
    elsewhere: BTreeSet<NodeId>,
    /// See [`Node::knows_part_of`].
    partial: BTreeSet<FilterId>,
}

impl Placing {
    /// Of a plan whose exchanges and shares `node` knows.
    pub(super) fn of(plan: &PhysicalPlan, node: &Node) -> Placing {
        let mut placing = Placing { partial: node.partial_filters().clone(), ..Placing::default() };
        placing.visit(plan, node);
        placing
    }

    /// Whether this node has none of the rows, and leaves out what makes them.
    pub(super) fn is_elsewhere(&self, node: NodeId) -> bool {
        self.elsewhere.contains(&node)
    }

    /// Whether a filter may drop rows.
    pub(super) fn holds(&self, filter: FilterId) -> bool {
        !self.partial.contains(&filter)
    }

    /// Whether all rows of `plan` are at the coordinator.
    fn visit(&mut self, plan: &PhysicalPlan, node: &Node) -> bool {
        let children = plan.children();
        // All are visited, whatever the first one says.
        let single = children.iter().filter(|child| self.visit(child, node)).count() == children.len();
        let single = match &plan.node {
            PhysicalNode::Exchange { exchange, .. } => matches!(exchange.kind, ExchangeKind::Gather { .. }),
            _ if children.is_empty() => node.share(plan.id) == Share::Coordinator,
            _ => single,
        };
        if single && node.me() != 0 {
            self.elsewhere.insert(plan.id);
        }
        single
    }
}
