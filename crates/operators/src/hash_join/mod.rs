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
mod build;
mod build_rows;
mod compared;
mod groups;
mod keys;
pub(crate) mod output;
pub(crate) mod pairs;
pub(crate) mod partners;
mod payload;
#[cfg(test)]
mod payload_tests;
mod probe;
pub(crate) mod row_marks;
#[cfg(test)]
mod speed;
mod spilled;
mod state;
#[cfg(test)]
pub(crate) mod tests;
mod unknown;

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use expr::Program;
use plan::{FilterId, NodeId, PhysicalJoinKind, PhysicalNode, PhysicalPlan, Ranges};
use types::{Error, Result, Type};

use crate::context::{ExecutionSettings, QueryContext};
use crate::pipeline::{Sink, Source, Step, Transform};
use crate::range_join::terms::RangeTerms;
use assemble::Assembly;
pub(crate) use build::null_rows;
use output::JoinColumns;
use pairs::Residual;
use state::{BuildBatch, Built};

/// A hash join: keys and condition at plan time, and the build side that sink, steps and probe share.
pub struct HashJoin {
    node: NodeId,
    kind: PhysicalJoinKind,
    probe_keys: Program,
    build_keys: Program,
    key_types: Vec<Type>,
    null_equals_null: bool,
    null_aware: bool,
    residual: Option<Residual>,
    /// What of the residual crowded keys are searched by.
    range: Option<RangeTerms>,
    columns: JoinColumns,
    /// The kept columns may go into the table: keys are said to be unique, and build rows as such are not needed.
    may_hold_payload: bool,
    fills: Vec<(FilterId, usize)>,

    collected: Mutex<Vec<BuildBatch>>,
    /// The list of a null-aware join has rows; has a NULL in a key. For BuildAnti the list is the probe side.
    list_has_rows: AtomicBool,
    list_has_null: AtomicBool,
    assembly: Mutex<Option<Arc<Assembly>>>,
    /// Present until the last probe has ended.
    built: RwLock<Option<Arc<Built>>>,
    /// Segments that look into `built`.
    users: AtomicUsize,
    /// The two sides go to files when the build side does not fit memory.
    can_spill: bool,
    /// Bytes and rows that all workers have collected.
    held_bytes: AtomicUsize,
    held_rows: AtomicUsize,
    spilled: OnceLock<spilled::Spilled>,
    /// The collected batches, of no use once all is built. The first probe frees them: while the build is being
    /// completed, every other worker waits.
    leftovers: Mutex<Vec<BuildBatch>>,
    has_leftovers: AtomicBool,
}

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

    /// Probing notes which build rows matched.
    fn marks_build_rows(&self) -> bool {
        self.kind.marks_build_rows()
    }
    /// Only whether a probe row has a match is asked.
    fn asks_existence(&self) -> bool {
        use PhysicalJoinKind as K;
        matches!(self.kind, K::ProbeSemi | K::ProbeAnti | K::ProbeMark)
    }
    /// Pairs whose comparison is NULL are looked at one by one.
    fn looks_at_unknown_pairs(&self) -> bool {
        looks_at_unknown_pairs(self.null_aware, self.residual.is_some(), self.key_types.len())
    }
    /// Build rows with a NULL key are kept: they come out, or they are compared.
    fn keeps_null_keys(&self) -> bool {
        self.null_equals_null || self.looks_at_unknown_pairs() || self.kind.keeps_build_rows()
    }
    fn built(&self) -> Result<Arc<Built>> {
        let built = self.built.read().unwrap_or_else(PoisonError::into_inner);
        built.clone().ok_or_else(|| Error::internal("a join was probed before it was built"))
    }
    fn set_built(&self, built: Built) -> Result<()> {
        let mut place = self.built.write().unwrap_or_else(PoisonError::into_inner);
        match place.replace(Arc::new(built)) {
            None => Ok(()),
            Some(_) => Err(Error::internal("a join was built twice")),
        }
    }
    /// A segment will look into the table.
    fn add_user(&self) {
        self.users.fetch_add(1, SeqCst);
    }
    /// One of them will do so no more; the last one frees the table, which other operators may have use for.
    fn user_finished(&self) {
        if self.users.fetch_sub(1, SeqCst) == 1 {
            let built = self.built.write().unwrap_or_else(PoisonError::into_inner).take();
            let leftovers = std::mem::take(&mut *lock(&self.leftovers));
            drop((built, leftovers));
        }
    }
}

/// Whether two facts about the list do not say all of a null-aware join (see the head of this file).
fn looks_at_unknown_pairs(null_aware: bool, has_residual: bool, keys: usize) -> bool {
    null_aware && (has_residual || keys > 1)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
