//! The buffer pool: where the bytes of blocks live, charged to one budget.
//!
//! `Pool::seal` gives an encoded block memory from the arena; `Pool::open_stored` knows a block in a file by its
//! metadata. Columns are readable while they are pinned (`block::Block::pin`), and leave memory when the budget wants it
//! and they are not read (`residency`). Vectors fetched from a block share its memory, which returns to the arena
//! when the last of them goes. `BlockWriter` turns a stream of batches into blocks of the wanted size.
//!
//! The pool knows neither tables nor plans.
#![forbid(unsafe_code)]

mod partitions;
mod pool;
mod residency;
pub mod spill;
mod writer;

pub use block::{EncodeOptions, EncodedBlock, IndexKind, IndexSpecification, LayoutKind};
pub use partitions::{PARTITIONS_MAX, PartitionScheme, RowPartitions};
pub use pool::{Pool, SealedBlock, out_of_memory};
pub use residency::{
    HISTORY, LeastRecentlyUsed, PoolStatistics, Random, Rank, Replacement, TemporaryFile, replacement,
};
pub use writer::{BlockWriter, WriterOptions};

/// Default size of a block. Large enough that per-block work (opening, translating predicates and dictionaries) is
/// spread over some ten thousand rows, small enough that a block's hot columns fit the second-level cache. Measured end
/// to end: docs/decisions/block-size.md.
pub const BLOCK_BYTES_DEFAULT: usize = 4 << 20;
/// Smallest size a table may ask for: the least that the arena allocates.
pub const BLOCK_BYTES_MIN: usize = 64 << 10;
/// Largest size a table may ask for.
pub const BLOCK_BYTES_MAX: usize = 1 << 30;
/// Rows of a block of default size, at most: narrow tables are cut by rows, so that there is something to share out.
pub const BLOCK_ROWS_MAX: usize = 1 << 18;
