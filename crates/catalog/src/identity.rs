//! Names that are never given twice: of tables, of blocks, and of the runs of bytes that blocks consist of.
//!
//! Each kind has one counter for the whole process, so that a transaction can name what it makes before it commits.
//! Opening a database raises the counters above the names in it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A block, as the log and other snapshots call it. Rises with the order of making.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u64);

/// A run of a block's bytes (`block::Part`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartId(pub u64);

static NEXT_TABLE: AtomicU64 = AtomicU64::new(1);
static NEXT_BLOCK: AtomicU64 = AtomicU64::new(1);
static NEXT_PART: AtomicU64 = AtomicU64::new(1);

impl TableId {
    pub(crate) fn next() -> Self {
        TableId(NEXT_TABLE.fetch_add(1, Relaxed))
    }
    /// Later names are above this one.
    pub fn keep_clear_of(self) {
        NEXT_TABLE.fetch_max(self.0 + 1, Relaxed);
    }
}

impl BlockId {
    /// A name that no block of the process has; higher than all given before.
    pub fn next() -> Self {
        BlockId(NEXT_BLOCK.fetch_add(1, Relaxed))
    }
    /// Later names are above this one.
    pub fn keep_clear_of(self) {
        NEXT_BLOCK.fetch_max(self.0 + 1, Relaxed);
    }
}

impl PartId {
    /// The name of a run of bytes, which gets one if it has none.
    pub fn of(part: &block::Part) -> Self {
        PartId(part.identity(|| NEXT_PART.fetch_add(1, Relaxed)))
    }
    /// Later names are above this one.
    pub fn keep_clear_of(self) {
        NEXT_PART.fetch_max(self.0 + 1, Relaxed);
    }
}

/// Never reused within a catalog; survives changes of the table, not its being dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u64);
