//! The edges of a plan and their units of transfer, decided before anything is composed.
//!
//! An edge leads from an operator to the one that takes its rows; it is named by its producer, since a plan is a
//! tree. The last one, to the result, has no unit: the result is kept or streamed. So have edges from operators that
//! have written their rows down themselves: groups, sorted rows, common subplans.

use plan::{NodeId, PhysicalNode, PhysicalPlan};
use workorder::UnitOfTransfer;

use super::choice;
use super::setting::{Consumer, Wanted};
use crate::context::ExecutionSettings;

/// What was decided about an edge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The unit that the edge uses.
    pub unit: UnitOfTransfer,
    /// Why it has this unit, where no setting asked for it.
    pub reason: Option<String>,
}

/// The decisions, by producer.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    of: Vec<Decision>,
}

impl Edges {
    /// Decides about all edges of `plan`, whose nodes are numbered, when operators have so many bytes before they
    /// use files.
    pub fn of(plan: &PhysicalPlan, settings: &ExecutionSettings, room: u64) -> Edges {
        let mut edges = Edges::default();
        edges.walk(plan, None, settings);
        if settings.unit_of_transfer.of(Consumer::Probe) == Wanted::Auto {
            for (edge, reason) in choice::tables(plan, settings, room) {
                edges.set(edge, Decision { unit: UnitOfTransfer::Table, reason: Some(reason) });
            }
        }
        edges
    }

    fn walk(&mut self, plan: &PhysicalPlan, consumer: Option<Consumer>, settings: &ExecutionSettings) {
        if let Some(Wanted::Unit(unit)) = consumer.map(|consumer| settings.unit_of_transfer.of(consumer)) {
            self.set(plan.id, Decision { unit, reason: None });
        }
        for (ordinal, child) in plan.children().into_iter().enumerate() {
            self.walk(child, consumer_of(plan, ordinal, consumer), settings);
        }
    }

    fn set(&mut self, producer: NodeId, decision: Decision) {
        let at = producer.0 as usize;
        if self.of.len() <= at {
            self.of.resize(at + 1, Decision::default());
        }
        self.of[at] = decision;
    }

    /// The unit of the edge from `producer`.
    pub fn unit(&self, producer: NodeId) -> UnitOfTransfer {
        self.of.get(producer.0 as usize).map(|decision| decision.unit).unwrap_or_default()
    }

    /// Whether the edge's consumer runs inside `producer`'s work orders.
    pub fn is_fused(&self, producer: NodeId) -> bool {
        self.unit(producer).is_fused()
    }

    /// Why the edge from `producer` has its unit, if no setting asked for it.
    pub fn reason(&self, producer: NodeId) -> Option<&str> {
        self.of.get(producer.0 as usize)?.reason.as_deref()
    }
}

/// What takes the rows of `parent`'s input `ordinal`; `above` takes those of `parent`.
fn consumer_of(parent: &PhysicalPlan, ordinal: usize, above: Option<Consumer>) -> Option<Consumer> {
    use PhysicalNode as N;
    match &parent.node {
        N::Filter { .. } | N::Project { .. } | N::Fetch { .. } | N::Unnest { .. } => Some(Consumer::Select),
        N::HashJoin { .. } | N::NestedLoopJoin { .. } if ordinal == 0 => Some(Consumer::Probe),
        N::HashJoin { .. } | N::NestedLoopJoin { .. } => Some(Consumer::Build),
        N::Aggregate { .. } => Some(Consumer::Aggregate),
        N::Sort { .. } => Some(Consumer::Sort),
        N::Window { .. } => Some(Consumer::Window),
        N::Limit { .. } => Some(Consumer::Limit),
        N::Insert { .. } => Some(Consumer::Insert),
        // It does nothing but put its inputs one behind the other.
        N::UnionAll { .. } => above,
        // What it takes leaves the node, message by message.
        N::Exchange { .. } => None,
        N::TableScan { .. }
        | N::FileScan { .. }
        | N::Generate { .. }
        | N::Series { .. }
        | N::Values { .. }
        | N::Materialized { .. } => None,
    }
}
