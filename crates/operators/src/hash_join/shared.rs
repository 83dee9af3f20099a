//! One hash join while its query runs: what build, probe and the rows that come after it share.
//!
//! Made by `HashJoin::new` (`mod.rs`), which also hands out the parts that work with it; all of them hold it by `Arc`.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use expr::Program;
use plan::{FilterId, NodeId, PhysicalJoinKind};
use types::{Error, Result, Type};

use super::assemble::Assembly;
use super::output::JoinColumns;
use super::pairs::Residual;
use super::spilled::Spilled;
use super::state::{BuildBatch, Built};
use crate::range_join::terms::RangeTerms;

/// A hash join: keys and condition at plan time, and the build side that sink, steps and probe share.
pub struct HashJoin {
    pub(super) node: NodeId,
    pub(super) kind: PhysicalJoinKind,
    pub(super) probe_keys: Program,
    pub(super) build_keys: Program,
    pub(super) key_types: Vec<Type>,
    pub(super) null_equals_null: bool,
    pub(super) null_aware: bool,
    pub(super) residual: Option<Residual>,
    /// What of the residual crowded keys are searched by.
    pub(super) range: Option<RangeTerms>,
    pub(super) columns: JoinColumns,
    /// The kept columns may go into the table: keys are said to be unique, and build rows as such are not needed.
    pub(super) may_hold_payload: bool,
    pub(super) fills: Vec<(FilterId, usize)>,

    pub(super) collected: Mutex<Vec<BuildBatch>>,
    /// The list of a null-aware join has rows; has a NULL in a key. For BuildAnti the list is the probe side.
    pub(super) list_has_rows: AtomicBool,
    pub(super) list_has_null: AtomicBool,
    pub(super) assembly: Mutex<Option<Arc<Assembly>>>,
    /// Present until the last probe has ended.
    pub(super) built: RwLock<Option<Arc<Built>>>,
    /// Segments that look into `built`.
    pub(super) users: AtomicUsize,
    /// The two sides go to files when the build side does not fit memory.
    pub(super) can_spill: bool,
    /// Bytes and rows that all workers have collected.
    pub(super) held_bytes: AtomicUsize,
    pub(super) held_rows: AtomicUsize,
    pub(super) spilled: OnceLock<Spilled>,
    /// The collected batches, of no use once all is built. The first probe frees them: while the build is being
    /// completed, every other worker waits.
    pub(super) leftovers: Mutex<Vec<BuildBatch>>,
    pub(super) has_leftovers: AtomicBool,
}

impl HashJoin {
    /// Probing notes which build rows matched.
    pub(super) fn marks_build_rows(&self) -> bool {
        self.kind.marks_build_rows()
    }
    /// Only whether a probe row has a match is asked.
    pub(super) fn asks_existence(&self) -> bool {
        use PhysicalJoinKind as K;
        matches!(self.kind, K::ProbeSemi | K::ProbeAnti | K::ProbeMark)
    }
    /// Pairs whose comparison is NULL are looked at one by one.
    pub(super) fn looks_at_unknown_pairs(&self) -> bool {
        looks_at_unknown_pairs(self.null_aware, self.residual.is_some(), self.key_types.len())
    }
    /// Build rows with a NULL key are kept: they come out, or they are compared.
    pub(super) fn keeps_null_keys(&self) -> bool {
        self.null_equals_null || self.looks_at_unknown_pairs() || self.kind.keeps_build_rows()
    }
    pub(super) fn built(&self) -> Result<Arc<Built>> {
        let built = self.built.read().unwrap_or_else(PoisonError::into_inner);
        built.clone().ok_or_else(|| Error::internal("a join was probed before it was built"))
    }
    pub(super) fn set_built(&self, built: Built) -> Result<()> {
        let mut place = self.built.write().unwrap_or_else(PoisonError::into_inner);
        match place.replace(Arc::new(built)) {
            None => Ok(()),
            Some(_) => Err(Error::internal("a join was built twice")),
        }
    }
    /// A segment will look into the table.
    pub(super) fn add_user(&self) {
        self.users.fetch_add(1, SeqCst);
    }
    /// One of them will do so no more; the last one frees the table, which other operators may have use for.
    pub(super) fn user_finished(&self) {
        if self.users.fetch_sub(1, SeqCst) == 1 {
            let built = self.built.write().unwrap_or_else(PoisonError::into_inner).take();
            let leftovers = std::mem::take(&mut *lock(&self.leftovers));
            drop((built, leftovers));
        }
    }
}

/// Whether two facts about the list do not say all of a null-aware join (see the head of this file).
pub(super) fn looks_at_unknown_pairs(null_aware: bool, has_residual: bool, keys: usize) -> bool {
    null_aware && (has_residual || keys > 1)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
