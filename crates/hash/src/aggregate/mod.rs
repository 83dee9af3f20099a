//! Aggregation's structures: packed group keys, the table from keys to dense group numbers, the maps that avoid
//! hashing, and the columns of aggregate states.
//!
//! ```text
//!  batch of key vectors --KeyLayout--> words (W a row) --GroupTable--> group number a row
//!                    \--SmallCodes / DirectMap: few or dense keys, no hashing--/      |
//!  batch of arguments ----------------------------------------------------> States: one column per accumulator
//! ```
//! Group numbers are dense, from 0 in order of first appearance, so states are plain columns indexed by them and
//! every accumulator is updated by one tight loop over the batch. Partial results of several workers are merged
//! column by column after their keys went through one table (`States::merge`).
//!
//! Left to the operator: which strategy to use, partitioning, budgets, and which worker merges when.

pub mod arrivals;
pub mod cells;
pub mod codes;
pub mod collected;
mod columns;
mod counted;
pub mod direct;
pub mod extremes;
mod grouped;
pub mod keys;
pub mod layout;
pub mod moments;
pub mod ordered;
pub mod pairs;
pub mod partition;
pub mod picked;
pub mod pieces;
pub mod results;
pub mod rows;
pub mod shape;
mod sketch;
mod state_bytes;
pub mod states;
pub mod sums;
pub mod table;
pub mod text;

pub use cells::{CELLS_MAX, CellSums};
pub use codes::SmallCodes;
pub use collected::{Quantile, interpolated, quantile_between, quantile_place, runs};
pub use columns::Columns;
pub use direct::DirectMap;
pub use keys::{FrozenKeys, KeyBatch, KeyStore, extend_numbered};
pub use layout::{KeyColumn, KeyLayout};
pub use moments::Moment;
pub use pairs::{PairMeasure, PairMoments};
pub use picked::{Pick, PickKey, Picked};
pub use pieces::carried;
pub use results::{Finish, Spread};
pub use rows::{MaskedGroups, MaskedPart, RowGroups, Runs};
pub use shape::{BitOperation, HigherMoments, Shape};
pub use states::{AccumulatorKind, ArgumentSpec, StateSpec, States};
pub use table::GroupTable;
