//! Data at rest: a block's bytes, and everything that can be asked of them.
//!
//! A block is a self-describing run of bytes that holds some rows of one table: a header, a directory with each
//! column's type, coding and statistics, and each column's *extents*. `encode` makes the bytes, `Block::open` checks
//! bytes from elsewhere before it trusts them, and a `Block` evaluates predicates on codes and hands out vectors that
//! share its memory. Sealed blocks never change.
//!
//! This crate knows no files, no allocator and no catalog: bytes in, bytes out. Where bytes live and which budget
//! they are charged to is decided in `pool`.
//!
//! | step | here |
//! | --- | --- |
//! | vectors -> bytes | `encode(columns, parts, options)` -> `EncodedBlock::{len, write_into}` |
//! | rows in an order | `sort_parts`, then `EncodeOptions::sorted_by` |
//! | indices | `EncodeOptions::indices`; of a block that exists `Block::encode_indices`, `Block::with_indices` |
//! | bytes -> block | `Block::open` (validated), `Block::open_trusted` (just written); `Block::absent`, `pin` |
//! | which rows | `Block::prepare`, `Block::select`, `Block::select_tree`; `access` decides how |
//! | their values | `Block::fetch`; or `codes`, `plain`, `dictionary` for code that works on codes |

pub mod access;
pub mod block;
mod check;
pub mod coding;
mod costs;
mod counters;
pub mod encode;
mod fetch;
pub mod index;
pub mod layout;
mod open;
pub mod options;
pub mod predicate;
mod ranges;
pub mod residency;
mod row_store;
mod rows;
mod search;
mod select_tree;
pub mod sketch;
mod sorted;
pub mod store;
mod stripe;
mod stripe_store;
mod test;
#[cfg(test)]
mod tests;

pub use block::{Block, Part};
pub use check::{DamagedExtent, damaged_extents};
pub use coding::{CodeSlice, Codes, Coding, LayoutKind, PlainSlice};
pub use costs::{AccessPath, ScanCost};
pub use counters::AccessCounters;
pub use encode::{EncodedBlock, encode, estimate_row_bytes, sort_parts};
pub use index::{EncodedIndices, ZoneAggregate};
pub use layout::extent_offsets;
pub use options::{EncodeOptions, IndexKind, IndexSpecification};
pub use predicate::PreparedPredicate;
pub use residency::{Loaded, Metadata, Piece, Pinned, Portion, Source};
pub use rows::Rows;
pub use simd::Bitmap;
pub use sketch::Sketch;

/// Alignment that a block's first byte must have; its extents are aligned relative to it.
pub const BLOCK_ALIGNMENT: usize = 64;
