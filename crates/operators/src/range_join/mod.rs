//! Joins by a range: the build side is sorted by what the condition bounds, and searched.
//!
//! ```text
//!  condition   b.lo <= p.x AND b.hi > p.x AND rest
//!  build input --> sink: keys of each row, rows with a NULL among them apart          (build.rs)
//!                  steps: each key sorted, in chunks, then in ranges                  (sorting.rs)
//!                         rows put into the order of the first key, ranks of the second
//!  probe input --> probe: each row's places by binary search, the second key's by maxima of ranks
//!                         (index.rs), the rest of the condition over those pairs      (probe.rs)
//!                  build rows: matched or unmatched ones
//! ```
//! One or two keys: `k >= a AND k < b` is a run of places, `k >= a AND l < b` a run of places and a run of ranks. So
//! n build and m probe rows cost (n + m) log n and what comes out; further inequalities are part of the rest.
//!
//! An equality in addition to the range makes it a hash join, whose crowded keys are searched by the same index
//! (`hash_join/groups.rs`).
//!
//! Where a key or a bound cannot be computed (`10 / p.a` with the zero kept away by another condition), rows are
//! compared with all others by the whole condition, which then tells what is an error and what is not.
//!
//! What the join holds is asked of the budget and does not go to files.

mod build;
pub(crate) mod index;
pub(crate) mod keys;
mod probe;
pub(crate) mod sorting;
pub(crate) mod terms;
#[cfg(test)]
mod tests;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use plan::{NodeId, PhysicalJoinKind, PhysicalNode, PhysicalPlan};
use types::{Error, Result};
use vector::Vector;

use crate::hash_join::output::JoinColumns;
use crate::hash_join::pairs::Residual;
use crate::hash_join::row_marks::RowMarks;
use crate::pipeline::{Local, Sink, Source, Step, Transform};
use index::RangeIndex;
use terms::RangeTerms;

/// A join by a range: its terms, and the build side that sink, steps and probe share.
pub struct RangeJoin {
    node: NodeId,
    kind: PhysicalJoinKind,
    terms: RangeTerms,
    /// What the ranges leave of the condition, and all of it.
    rest: Option<Residual>,
    whole: Residual,
    columns: JoinColumns,
    collected: Mutex<Vec<Local>>,
    /// Some build row's key could not be computed.
    has_failed: AtomicBool,
    assembly: Mutex<Option<Arc<build::Assembly>>>,
    built: OnceLock<Built>,
}

/// The build side, complete.
struct Built {
    /// Rows that the index has; behind them are those with a NULL among their keys, if such rows are kept.
    indexed: usize,
    /// The kept columns, rows in the order of the first key.
    columns: Vec<Vector>,
    /// `None` where keys could not be computed.
    index: Option<RangeIndex>,
    matched: Option<RowMarks>,
    _reservation: memory::Reservation,
}

impl RangeJoin {
    /// `plan` has to be a NestedLoopJoin node whose predicate has a range; an internal error otherwise.
    pub fn new(plan: &PhysicalPlan) -> Result<Arc<RangeJoin>> {
        let PhysicalNode::NestedLoopJoin {
            probe,
            build,
            kind,
            predicate: Some(predicate),
            null_aware: false,
            output,
            ..
        } = &plan.node
        else {
            return Err(Error::internal("not a join by a range"));
        };
        let probe_columns = probe.output.len();
        let terms = RangeTerms::of(predicate, probe_columns, &Ok)?;
        let terms = terms.ok_or_else(|| Error::internal("a join by a range without one"))?;
        let compared = predicate.inputs().into_iter();
        let compared = compared.filter_map(|input| input.checked_sub(probe_columns));
        let columns = JoinColumns::new(output, &plan.output, &build.output, compared)?;
        let residual = |condition| Residual::new(condition, probe_columns, &|column| columns.place(column));
        Ok(Arc::new(RangeJoin {
            node: plan.id,
            kind: *kind,
            rest: terms.rest.as_ref().map(residual).transpose()?,
            whole: residual(predicate)?,
            terms,
            columns,
            collected: Mutex::default(),
            has_failed: AtomicBool::new(false),
            assembly: Mutex::default(),
            built: OnceLock::new(),
        }))
    }

    /// Collects the build side.
    pub fn build_sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(build::BuildSink(self.clone()))
    }
    /// Sorts chunks of it, once it is collected.
    pub fn sort_step(self: &Arc<Self>) -> Arc<dyn Step> {
        Arc::new(build::SortStep(self.clone()))
    }
    /// Merges the chunks by ranges of keys, once they are sorted.
    pub fn merge_step(self: &Arc<Self>) -> Arc<dyn Step> {
        Arc::new(build::MergeStep(self.clone()))
    }
    /// Puts the rows into that order, once it is known.
    pub fn place_step(self: &Arc<Self>) -> Arc<dyn Step> {
        Arc::new(build::PlaceStep(self.clone()))
    }
    /// Searches the build side for probe batches; all steps have to be done.
    pub fn probe(self: &Arc<Self>) -> Arc<dyn Transform> {
        Arc::new(probe::Probe(self.clone()))
    }
    /// False when the probe only marks build rows.
    pub fn probe_emits(&self) -> bool {
        self.kind.probe_emits()
    }
    /// Build rows that come out after all probing.
    pub fn build_rows(self: &Arc<Self>) -> Option<Arc<dyn Source>> {
        self.marks_build_rows().then(|| Arc::new(build::BuildRows(self.clone())) as Arc<dyn Source>)
    }

    fn marks_build_rows(&self) -> bool {
        self.kind.marks_build_rows()
    }
    /// Build rows that nothing can match come out all the same.
    fn keeps_lost_rows(&self) -> bool {
        self.kind.keeps_build_rows()
    }
    fn built(&self) -> Result<&Built> {
        self.built.get().ok_or_else(|| Error::internal("a join was probed before it was built"))
    }
    fn assembly(&self) -> Result<Arc<build::Assembly>> {
        let assembly = self.assembly.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        assembly.clone().ok_or_else(|| Error::internal("a join's build was not started"))
    }
}
