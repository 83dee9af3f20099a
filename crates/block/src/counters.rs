//! Counts of what reading blocks touched.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::costs::AccessPath;

/// What was done to a block since it was opened; tests and EXPLAIN ANALYZE read it.
#[derive(Debug, Default)]
pub struct AccessCounters {
    /// String values that were looked at or handed out one by one. A predicate on a dictionary counts its distinct
    /// values once when it has to see them (LIKE), not the rows.
    pub strings_decoded: AtomicU64,
    /// Selections evaluated on codes.
    pub predicates_on_codes: AtomicU64,
    /// Selections answered by the column's bounds.
    pub predicates_by_bounds: AtomicU64,
    /// Selections by the way they were evaluated, in the order of `AccessPath::ALL`.
    pub paths: [AtomicU64; AccessPath::ALL.len()],
}

impl AccessCounters {
    /// `strings_decoded` so far.
    pub fn strings_decoded(&self) -> u64 {
        self.strings_decoded.load(Relaxed)
    }
    /// `predicates_on_codes` so far.
    pub fn predicates_on_codes(&self) -> u64 {
        self.predicates_on_codes.load(Relaxed)
    }
    /// `predicates_by_bounds` so far.
    pub fn predicates_by_bounds(&self) -> u64 {
        self.predicates_by_bounds.load(Relaxed)
    }
    /// Selections that were evaluated in this way.
    pub fn by(&self, path: AccessPath) -> u64 {
        self.paths[path as usize].load(Relaxed)
    }
}
