//! One folder an operator: each turns its inputs into work orders.
//!
//! `compose` cuts a physical plan into pipeline segments: a *source* delivers batches unit by unit, *transforms* pass
//! them on inside the same work order, a *sink* ends the pipeline. Blocking operators are a sink, perhaps a merge
//! segment, and a source. With the unit of transfer `block`, a pipeline is cut between transforms as well: the
//! output fills an insert destination, and each full unit becomes a work order of the next segment.
//!
//! This crate knows data and plans; it does not know the scheduler, SQL or sessions.
#![forbid(unsafe_code)]

pub mod aggregate;
pub mod collect;
pub mod compose;
pub mod context;
mod detached;
pub mod exchange;
mod fetch;
pub mod file_scan;
pub mod filter;
mod filter_project;
pub mod generate;
pub mod hash_join;
pub mod in_place;
pub mod insert;
pub mod limit;
mod materialized;
pub mod metrics;
pub mod nested_loop_join;
pub mod pipeline;
pub mod project;
pub mod range_join;
pub mod runtime_filter;
pub mod series;
pub mod sort;
mod spill;
pub mod stream;
mod swap;
mod switches;
pub mod table_scan;
pub mod transfer;
mod unnest;
pub mod values;
mod window;

pub use collect::QueryResult;
pub use compose::compose;
pub use context::{ExecutionSettings, QueryContext};
pub use metrics::Metrics;
pub use switches::{JoinTable, Switches};
