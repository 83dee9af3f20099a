//! The buffer pool: where the bytes of blocks live, charged to one budget.
//!
//! `Pool::seal` gives an encoded block memory from the arena; the block keeps that memory, vectors fetched from the
//! block keep the block's memory, and when the last of them goes the slots return to the arena. `BlockWriter` turns a
//! stream of batches into blocks of the wanted size.
//!
//! The pool knows neither tables nor plans. Eviction and files come behind this interface.
#![forbid(unsafe_code)]

pub mod files;
mod pool;
pub mod spill;
mod writer;

pub use block::{EncodedBlock, LayoutKind};
pub use pool::{Pool, SealedBlock, out_of_memory};
pub use writer::{BlockWriter, WriterOptions};

/// Default size of a block. Large enough that per-block work (opening, translating predicates and dictionaries) is
/// spread over some ten thousand rows, small enough that a block's hot columns fit the second-level cache. Measured end
/// to end: docs/decisions/block-size.md.
pub const BLOCK_BYTES_DEFAULT: usize = 4 << 20;
/// Smallest size a table may ask for: what the arena hands out at least.
pub const BLOCK_BYTES_MIN: usize = 64 << 10;
/// Largest size a table may ask for.
pub const BLOCK_BYTES_MAX: usize = 1 << 30;
/// Rows of a block of default size, at most: narrow tables are cut by rows, so that there is something to share out.
pub const BLOCK_ROWS_MAX: usize = 1 << 18;
