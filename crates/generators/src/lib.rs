//! TPC-H, SSB and TPC-DS data at any scale, deterministic, straight into Arrow batches.
//!
//! Why: the demo, the tests and the benchmarks need the suites without any file on disk, and a parallel
//! load needs them in parts.
//!
//! A table is cut into a fixed grid of batches that depends on the scale alone; a part is a contiguous range
//! of that grid. So the same scale gives the same rows in the same order, and even the same batches, whatever
//! the number of parts or threads. Each batch is generated from its position, never from the batch before it.
//!
//! ```
//! use generators::{Source, Suite};
//! let source = Source::new(Suite::Ssb, 0.001)?;
//! for table in Suite::Ssb.tables() {
//!     let parts = source.parts(table)?;
//!     for part in 0..parts {
//!         for batch in source.batches(table, part, parts)? {
//!             assert_eq!(batch?.schema(), Suite::Ssb.schema(table)?);
//!         }
//!     }
//! }
//! # Ok::<(), generators::GeneratorError>(())
//! ```
//!
//! Left to others: creating the tables, checking the keys, threads.
#![forbid(unsafe_code)]

mod columns;
mod error;
mod source;
mod ssb;
mod suite;
mod table;
mod tpcds;
mod tpch;

pub use error::GeneratorError;
pub use source::{Batches, Source};
pub use suite::Suite;
pub use table::{ForeignKey, Keys, SCALE_MAX, SCALE_MIN};
