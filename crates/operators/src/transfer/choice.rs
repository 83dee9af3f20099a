//! `auto`: where rows are handed on by `vector`, and where memory is better served by a table.
//!
//! In memory `vector` is never behind: it is the low end of the model with the smallest unit, so that what it hands
//! on is in the cache, and it writes nothing. What it needs is all hash tables of a pipeline at once (Deshmukh,
//! Sundarmurthy and Patel 2019, section 5); with a table between two probes one side's hash tables are gone before
//! the other's are made:
//!
//! ```text
//!  low:   scan > probe 1 > probe 2 > ...      H1 + H2 + ...
//!  high:  scan > probe 1 > table              H1 + T
//!                          table > probe 2    T + H2            T: the rows in between
//! ```
//! So a pipeline is cut before the join whose hash table would no longer fit together with those below it, when rows
//! kept in between fit with it and cost less than sending both of the join's sides through files would. A join that
//! fills a filter for the scan below has to be built before that scan begins, so that nothing is gained there.

use plan::{NodeId, PhysicalNode, PhysicalPlan};
use workorder::UnitOfTransfer;

use super::{machine, model};
use crate::context::ExecutionSettings;

/// Bytes of a row's place in the table, needed in addition to the row and a copy of it while the table is built. A
/// join that cannot have so much goes to files (`hash_join/build.rs`).
const PLACE_BYTES: f64 = 24.0;

/// The edges, by producer, that get a table, each with the reason.
pub fn tables(plan: &PhysicalPlan, settings: &ExecutionSettings, room: u64) -> Vec<(NodeId, String)> {
    let mut pipelines = Vec::new();
    gather(plan, &mut pipelines);
    let mut chosen = Vec::new();
    if settings.operator_bytes.is_none() {
        for joins in &pipelines {
            cut(joins, settings, room, &mut chosen);
        }
    }
    chosen
}

/// The joins of each pipeline, from its source up.
fn gather<'p>(plan: &'p PhysicalPlan, pipelines: &mut Vec<Vec<&'p PhysicalPlan>>) {
    let mut joins = Vec::new();
    let mut at = plan;
    loop {
        match &at.node {
            PhysicalNode::HashJoin { probe, build, .. }
            | PhysicalNode::NestedLoopJoin { probe, build, .. } => {
                joins.push(at);
                gather(build, pipelines);
                at = probe;
            }
            PhysicalNode::Filter { input, .. }
            | PhysicalNode::Project { input, .. }
            | PhysicalNode::Fetch { input, .. }
            | PhysicalNode::Unnest { input, .. } => at = input,
            _ => break,
        }
    }
    at.children().into_iter().for_each(|child| gather(child, pipelines));
    if joins.len() > 1 {
        joins.reverse();
        pipelines.push(joins);
    }
}

fn bytes(plan: &PhysicalPlan) -> f64 {
    let width: usize = plan.output.iter().map(|column| column.ty.physical().width()).sum();
    plan.estimated_rows * width as f64
}

fn cut(joins: &[&PhysicalPlan], settings: &ExecutionSettings, room: u64, chosen: &mut Vec<(NodeId, String)>) {
    let fits = room as f64;
    let sides: Vec<(&PhysicalPlan, f64)> = joins.iter().filter_map(|join| sides(join)).collect();
    let all: f64 = sides.iter().map(|(_, table)| table).sum();
    if all <= fits {
        return;
    }
    // Measured now, and not where everything fits.
    let constants = machine::constants(room);
    let mut held = 0.0;
    for (at, (probe, table)) in sides.iter().enumerate() {
        let kept = bytes(probe);
        if at > 0
            && held + table > fits
            && kept + table <= fits
            && may_wait(joins[at], settings.runtime_filters)
        {
            let threads = workorder::parallelism() as f64;
            let unit = settings.transfer_bytes as f64;
            let memory = kept * model::per_byte(UnitOfTransfer::Table, unit, unit, threads, &constants);
            let files = (kept + table) * constants.file;
            if memory < files {
                chosen.push((probe.id, reason(all, fits, kept)));
                held = kept + table;
                continue;
            }
        }
        held += table;
    }
}

fn reason(all: f64, fits: f64, kept: f64) -> String {
    // Casts saturate.
    let [all, fits, kept] = [all, fits, kept].map(|bytes| plan::explain::bytes(bytes.max(0.0) as u64));
    format!("hash tables at once {all}, room for {fits}; rows kept {kept}")
}

/// A join's probe side, and the bytes that its hash table takes while it is built.
fn sides(join: &PhysicalPlan) -> Option<(&PhysicalPlan, f64)> {
    match &join.node {
        PhysicalNode::HashJoin { probe, build, .. } | PhysicalNode::NestedLoopJoin { probe, build, .. } => {
            Some((probe, 2.0 * bytes(build) + PLACE_BYTES * build.estimated_rows))
        }
        _ => None,
    }
}

/// Whether the join may be built after what is below it on its probe side has run.
pub fn may_wait(join: &PhysicalPlan, applies_filters: bool) -> bool {
    match &join.node {
        PhysicalNode::HashJoin { fills, .. } => fills.is_empty() || !applies_filters,
        PhysicalNode::NestedLoopJoin { .. } => true,
        _ => false,
    }
}
