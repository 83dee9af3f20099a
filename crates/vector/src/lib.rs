//! Data in flight: batches of typed vectors.
//!
//! A `Vector` is flat (one value a row), a dictionary (a code a row into a shared flat vector) or a constant. Buffers
//! are Arrow's reference-counted ones, so slices, dictionary sharing and the way to and from Arrow copy nothing.
//! Batches are dense: an operator that drops rows gathers the rest, unless its consumer asked for a block's codes and
//! a selection instead (`coded`, `Batch::selection`). This crate knows neither blocks nor plans.

pub mod arrow;
pub mod batch;
pub mod build;
pub mod coded;
mod concat;
pub mod gather;
pub mod interleave;
pub mod labels;
pub mod nested;
mod nested_arrow;
pub mod retype;
pub mod strings;
#[allow(clippy::module_inception)]
pub mod vector;

pub use batch::Batch;
pub use build::VectorBuilder;
pub use coded::{Coded, Codes, Meaning};
pub use concat::MergedDictionary;
pub use strings::{StringBuilder, Strings};
pub use vector::{Data, Validity, Vector};

/// Rows of a batch in flight, at most, unless a setting shrinks it. Measured in `bench/results`: large enough to
/// spread the per-batch cost over rows, small enough that a pipeline's vectors stay in the second-level cache.
pub const BATCH_ROWS: usize = 4096;
