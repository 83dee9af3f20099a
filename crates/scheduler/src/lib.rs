//! Foreman, workers, work-order containers, progress and cancellation.
//!
//! A [`Scheduler`] keeps worker threads across queries and runs any number of
//! [`workorder::Dag`]s at once. It sees segments and work orders only: no SQL, plan, block or
//! vector, so it can be run with toy segments under a seed.
//!
//! ```text
//!  foreman.rs   the scheduler: list of active queries, worker threads, waking, admission to places
//!  worker.rs    what a thread does in a place: pick a query, claim, execute, tick
//!  query.rs     one query: its segments, their edges, its end
//!  lifecycle.rs one segment: who may claim from it, who finishes it
//!  places.rs    at most n threads inside work orders
//!  control.rs   what the caller may do to a running query: cancel, tick, look at progress
//!  report.rs    what it gets in the end
//! ```
//!
//! Invariants: never more threads inside work orders than workers are set; a query's orders have
//! all ended when `run` returns, whatever it returns; a segment's panic ends its query only;
//! nobody spins longer than some microseconds.
//!
//! Left to others: what work orders do; how much memory they take; turning failures into SQL
//! errors.
#![forbid(unsafe_code)]

mod control;
mod foreman;
mod lifecycle;
mod places;
mod query;
mod report;
#[cfg(test)]
mod tests;
mod worker;

pub use control::{Progress, QueryControl};
pub use foreman::Scheduler;
pub use report::{Panicked, QueryReport, SegmentReport, Stalled, Stopped};
