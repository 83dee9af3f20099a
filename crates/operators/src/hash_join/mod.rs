//! Hash join: the build side is collected and a table made for it; the probe side streams past.
//!
//! ```text
//!  build input --batches--> sink: narrowed columns, keys evaluated, bounds noted       (build.rs)
//!                             |  all there
//!                           step: kind of table chosen; one work order per partition,
//!                             |   column and runtime filter                             (assemble.rs)
//!  probe input --batches--> probe: codes -> rows of the table -> pairs -> residual      (probe.rs, pairs.rs)
//!                             |  all probed
//!                           build rows: matched or unmatched ones                       (build_rows.rs)
//! ```
//! Keys that are integers become codes (`hash::KeyCodes`) and are never compared again; others are hashed, and pairs
//! with equal hashes compared. NULL keys match nothing unless `null_equals_null`.
//!
//! `null_aware` joins are NOT IN and IN as a value: the keys are the comparison, the residual selects the list. A
//! pair whose comparison is NULL makes the row's answer unknown: it does not pass an anti join, and a mark is NULL.
//! With one key and no residual two facts decide (is the list empty, does it hold a NULL); otherwise such pairs are
//! looked at one by one (`unknown.rs`). The list is the build side, except for BuildAnti, where it is the probe side.
//!
//! A residual that is a range (`AND r.t <= l.t`) is searched among the rows of keys that many rows have
//! (`groups.rs`).
//!
//! A build side that does not fit memory goes to partitions in a file, and the probe side after it (`spilled.rs`).
//!
//! This module leaves to others: cutting the pipeline (compose), the tables themselves (crate hash).

mod assemble;
mod buffers;
mod build;
mod build_rows;
mod compared;
mod crowds;
mod groups;
mod keys;
mod null_keys;
pub(crate) mod output;
pub(crate) mod pairs;
pub(crate) mod partners;
mod payload;
#[cfg(test)]
mod payload_tests;
mod probe;
pub(crate) mod row_marks;
mod shared;
#[cfg(test)]
mod speed;
mod spilled;
mod state;
#[cfg(test)]
pub(crate) mod tests;
mod unknown;

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use expr::Program;
use plan::{PhysicalJoinKind, PhysicalNode, PhysicalPlan, Ranges};
use types::{Error, Result};

use crate::context::{ExecutionSettings, QueryContext};
use crate::pipeline::{Sink, Source, Step, Transform};
use crate::range_join::terms::RangeTerms;
pub(crate) use null_keys::null_rows;
use output::JoinColumns;
use pairs::Residual;
pub use shared::HashJoin;
use shared::looks_at_unknown_pairs;

impl HashJoin {
    /// `plan` has to be a HashJoin node, whose sides may go to files if `can_spill`. Also decides whether kept columns
    /// may go into the table.
    pub fn new(plan: &PhysicalPlan, query: &QueryContext, can_spill: bool) -> Result<Arc<HashJoin>> {
        let join = Self::plan(plan, query, &[])?;
        let may_hold_payload = query.settings.switches.table_payload
            && matches!(&plan.node, PhysicalNode::HashJoin { build_unique: true, .. })
            && matches!(join.kind, PhysicalJoinKind::Inner | PhysicalJoinKind::ProbeOuter)
            && join.residual.is_none()
            && !join.looks_at_unknown_pairs()
            && payload::may_fit(&join.columns.kept_types);
        Ok(Arc::new(HashJoin { may_hold_payload, can_spill, ..join }))
    }

    /// Whether the sides of this hash join can be taken apart into partitions.
    pub fn may_go_to_files(plan: &PhysicalPlan) -> bool {
        match &plan.node {
            // A pair of rows whose comparison is NULL may be in any two partitions.
            PhysicalNode::HashJoin { null_aware, residual, build_keys, .. } => {
                !looks_at_unknown_pairs(*null_aware, residual.is_some(), build_keys.len())
            }
            _ => false,
        }
    }

    /// Whether this hash join searches the rows of crowded keys by a range.
    pub fn searches_crowded_keys(plan: &PhysicalPlan, settings: &ExecutionSettings) -> bool {
        match &plan.node {
            PhysicalNode::HashJoin { probe, residual: Some(residual), null_aware, .. } => {
                settings.range_joins
                    && !*null_aware
                    && Ranges::of_inputs(residual, probe.output.len()).is_some()
            }
            _ => false,
        }
    }

    /// A join that keeps the build columns `also` in addition to those that it puts out.
    pub(crate) fn keeping(
        plan: &PhysicalPlan,
        query: &QueryContext,
        also: &[usize],
    ) -> Result<Arc<HashJoin>> {
        Ok(Arc::new(Self::plan(plan, query, also)?))
    }

    fn plan(plan: &PhysicalPlan, query: &QueryContext, also: &[usize]) -> Result<HashJoin> {
        let PhysicalNode::HashJoin {
            probe,
            build,
            kind,
            probe_keys,
            build_keys,
            residual,
            null_equals_null,
            null_aware,
            output,
            fills,
            ..
        } = &plan.node
        else {
            return Err(Error::internal("not a hash join"));
        };
        if probe_keys.len() != build_keys.len() || build_keys.is_empty() {
            return Err(Error::internal("a hash join needs as many probe keys as build keys"));
        }
        let probe_columns = probe.output.len();
        let compared = residual.iter().flat_map(|r| r.inputs());
        let compared = compared.filter_map(|input| input.checked_sub(probe_columns));
        let kept = compared.chain(also.iter().copied());
        let columns = JoinColumns::new(output, &plan.output, &build.output, kept)?;
        let may_search = query.settings.range_joins && !(*null_aware && residual.is_some());
        let range = match residual.as_ref().filter(|_| may_search) {
            None => None,
            Some(residual) => RangeTerms::of(residual, probe_columns, &|column| columns.place(column))?,
        };
        let residual = match residual {
            None => None,
            Some(residual) => Some(Residual::new(residual, probe_columns, &|column| columns.place(column))?),
        };
        // Filters drop probe rows without a match, and NULL keys.
        let droppable = match kind {
            PhysicalJoinKind::Inner
            | PhysicalJoinKind::ProbeSemi
            | PhysicalJoinKind::BuildOuter
            | PhysicalJoinKind::BuildSemi => true,
            PhysicalJoinKind::BuildAnti => !null_aware,
            PhysicalJoinKind::ProbeOuter
            | PhysicalJoinKind::FullOuter
            | PhysicalJoinKind::ProbeAnti
            | PhysicalJoinKind::ProbeMark => false,
        };
        let fills_filters = droppable && !null_equals_null && query.settings.runtime_filters;
        Ok(HashJoin {
            node: plan.id,
            kind: *kind,
            probe_keys: Program::compile(probe_keys)?,
            build_keys: Program::compile(build_keys)?,
            key_types: build_keys.iter().map(|k| k.ty).collect(),
            null_equals_null: *null_equals_null,
            null_aware: *null_aware,
            residual,
            range,
            columns,
            may_hold_payload: false,
            fills: if fills_filters { fills.clone() } else { vec![] },
            collected: Mutex::default(),
            list_has_rows: AtomicBool::new(false),
            list_has_null: AtomicBool::new(false),
            assembly: Mutex::default(),
            built: RwLock::default(),
            users: AtomicUsize::new(0),
            can_spill: false,
            held_bytes: AtomicUsize::new(0),
            held_rows: AtomicUsize::new(0),
            spilled: OnceLock::new(),
            leftovers: Mutex::default(),
            has_leftovers: AtomicBool::new(false),
        })
    }

    /// Collects the build side.
    pub fn build_sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(build::BuildSink(self.clone()))
    }
    /// Makes the table and publishes the runtime filters, once all build rows are there.
    pub fn build_step(self: &Arc<Self>) -> Arc<dyn Step> {
        Arc::new(assemble::BuildStep(self.clone()))
    }
    /// Sorts the rows of crowded keys, once the table is there; nothing where no residual is searched by.
    pub fn group_step(self: &Arc<Self>) -> Option<Arc<dyn Step>> {
        self.range.is_some().then(|| Arc::new(groups::GroupStep(self.clone())) as Arc<dyn Step>)
    }
    /// Looks probe batches up in the finished table.
    pub fn probe(self: &Arc<Self>) -> Arc<dyn Transform> {
        Arc::new(probe::Probe(self.clone()))
    }
    /// False when the probe only marks build rows.
    pub fn probe_emits(&self) -> bool {
        self.kind.probe_emits()
    }
    /// What both sides' files give, once all probe rows are in theirs; nothing where all fitted memory.
    pub fn spilled_rows(self: &Arc<Self>) -> Option<Arc<dyn Source>> {
        self.can_spill.then(|| Arc::new(spilled::SpilledRows(self.clone())) as Arc<dyn Source>)
    }
    /// Build rows that come out after all probing.
    pub fn build_rows(self: &Arc<Self>) -> Option<Arc<dyn Source>> {
        self.marks_build_rows().then(|| Arc::new(build_rows::BuildRows(self.clone())) as Arc<dyn Source>)
    }
}
