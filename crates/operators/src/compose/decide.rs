//! The decisions between a plan and its pipelines: how rows are handed on, how groups are found, what is dropped early.
//!
//! They follow from the plan, the settings, the blocks' statistics and the memory there is, and are made once, before
//! anything runs. `cut` only follows them. What an operator finds out when its input is there (the kind of a join's
//! table, how groups are merged) is its own affair.

use std::collections::{BTreeMap, BTreeSet};

use plan::pipeline::{Codes, Pipelines, ScanBound, Transfer};
use plan::{FilterId, NodeId, PhysicalNode, PhysicalPlan, TableId};

use super::circumstances::Circumstances;
use super::placed::Placing;
use crate::aggregate::{clustered, codes, join_groups};
use crate::hash_join::HashJoin;
use crate::sort::Sort;
use crate::transfer::edges::Edges;

/// How an aggregation finds its groups, where it is not by tables of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grouping {
    /// Block by block, by the table's column.
    Clustered {
        /// The table whose blocks are clustered.
        table: TableId,
        /// The position of the column that they are clustered by.
        column: usize,
    },
    /// As build rows of the join right below.
    BuildRows,
    /// On the codes of the scan right below.
    Codes(Codes),
}

/// What was decided about a plan.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    /// The units of transfer.
    pub edges: Edges,
    groupings: BTreeMap<NodeId, Grouping>,
    spilling: BTreeSet<NodeId>,
    crowded: BTreeSet<NodeId>,
    bounds: BTreeMap<NodeId, Vec<ScanBound>>,
    /// Scans apply the filters that joins fill.
    pub applies_filters: bool,
    block_bytes: u64,
    /// Where rows are, of a plan that several nodes run.
    placing: Option<Placing>,
}

/// Decides about `plan`, whose nodes are numbered.
pub fn decide(plan: &PhysicalPlan, circumstances: &Circumstances<'_>) -> Decisions {
    let settings = circumstances.settings;
    let mut decisions = Decisions {
        edges: Edges::of(plan, settings, circumstances.memory.states),
        applies_filters: settings.runtime_filters,
        block_bytes: settings.transfer_bytes as u64,
        placing: circumstances.node.map(|node| Placing::of(plan, node)),
        ..Decisions::default()
    };
    decisions.visit(plan, circumstances);
    decisions
}

impl Decisions {
    fn visit(&mut self, plan: &PhysicalPlan, circumstances: &Circumstances<'_>) {
        match &plan.node {
            PhysicalNode::Aggregate { .. } => {
                if let Some(grouping) = grouping(plan, &self.edges, circumstances) {
                    self.groupings.insert(plan.id, grouping);
                }
            }
            PhysicalNode::HashJoin { .. } => {
                if circumstances.memory.has_files && HashJoin::may_go_to_files(plan) {
                    self.spilling.insert(plan.id);
                }
                if HashJoin::searches_crowded_keys(plan, circumstances.settings) {
                    self.crowded.insert(plan.id);
                }
            }
            PhysicalNode::Sort { .. } if circumstances.settings.switches.top_k_bound => {
                if let Some((scan, column)) = Sort::bounded_scan(plan) {
                    self.bounds.entry(scan).or_default().push(ScanBound { sort: plan.id, column });
                }
            }
            _ => {}
        }
        plan.children().into_iter().for_each(|child| self.visit(child, circumstances));
    }

    /// Whether this engine has none of the rows of `node`, since they are at another node of its cluster.
    pub fn is_elsewhere(&self, node: NodeId) -> bool {
        self.placing.as_ref().is_some_and(|placing| placing.is_elsewhere(node))
    }

    /// Whether the plan runs on several nodes.
    pub fn is_of_cluster(&self) -> bool {
        self.placing.is_some()
    }

    /// Whether a scan applies the filter.
    pub fn applies(&self, filter: FilterId) -> bool {
        self.applies_filters && self.placing.as_ref().is_none_or(|placing| placing.holds(filter))
    }

    /// How the aggregation `node` finds its groups, where it is not by tables of its own.
    pub fn grouping(&self, node: NodeId) -> Option<Grouping> {
        self.groupings.get(&node).copied()
    }

    /// Whether the sides of the join `node` may go to files.
    pub fn may_spill(&self, node: NodeId) -> bool {
        self.spilling.contains(&node)
    }

    /// Whether the join `node` sorts the build rows of crowded keys.
    pub fn sorts_crowded_keys(&self, node: NodeId) -> bool {
        self.crowded.contains(&node)
    }

    /// The sorts whose worst row drops rows in the scan `node`.
    pub fn bounds(&self, node: NodeId) -> &[ScanBound] {
        self.bounds.get(&node).map_or(&[], Vec::as_slice)
    }

    /// What EXPLAIN says of how groups are found and rows dropped: node, name and text.
    pub fn notes(&self) -> Vec<Note> {
        let bounds = self.bounds.keys();
        let bounds =
            bounds.map(|scan| (*scan, "top-k bound", "of the sort above drops rows and blocks".to_owned()));
        let groupings = self.groupings.iter().map(|(node, grouping)| {
            let text = match grouping {
                Grouping::Clustered { .. } => "clustered key, block by block".to_owned(),
                Grouping::BuildRows => "build rows of the join".to_owned(),
                Grouping::Codes(codes) => {
                    let how = if codes.cells { "cells or masks" } else { "masks" };
                    format!("{how}, sums on codes where most rows of a block are selected")
                }
            };
            (*node, "groups by", text)
        });
        bounds.chain(groupings).collect()
    }

    /// What EXPLAIN says of rows that are written down on their way.
    pub fn transfer_notes(&self, pipelines: &Pipelines) -> Vec<Note> {
        let note = |transfer: &Transfer| {
            let mut text = format!("{}, blocks of {}", transfer.unit, plan::explain::bytes(self.block_bytes));
            if let Some(reason) = self.edges.reason(transfer.node) {
                text.push_str(&format!(" (auto: {reason})"));
            }
            (transfer.node, "handed on by", text)
        };
        pipelines.transfers.iter().map(note).collect()
    }
}

/// A fact about a plan's node: its name and a text.
pub type Note = (NodeId, &'static str, String);

/// The best way to find an aggregation's groups, in the order of what they save.
fn grouping(plan: &PhysicalPlan, edges: &Edges, circumstances: &Circumstances<'_>) -> Option<Grouping> {
    if let Some((table, column)) = clustered::by_block(plan, edges, circumstances) {
        return Some(Grouping::Clustered { table, column });
    }
    if join_groups::pays(plan, edges, circumstances) {
        return Some(Grouping::BuildRows);
    }
    codes::codes(plan, edges, circumstances).map(Grouping::Codes)
}
