//! What probing keeps from batch to batch.

use super::pairs::Pairs;
use crate::range_join::index::Search;

/// Buffers kept from batch to batch.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) codes: Vec<u64>,
    pub(super) found: Vec<u32>,
    /// The candidate pairs of the batch; those left after the residual are its matches.
    pub pairs: Pairs,
    /// Probe rows that matched.
    pub matched: Vec<bool>,
    /// Probe rows for which some comparison was NULL (null-aware).
    pub unknown: Vec<bool>,
    /// For crowded keys: what a search needs, and the runs of places whose rows are to be marked.
    pub(super) search: Search,
    pub(super) places: Vec<u32>,
    pub(super) runs: Vec<(u32, u32)>,
    /// Probe rows whose crowds are searched when the others are done.
    pub(super) searched: Vec<u32>,
}
