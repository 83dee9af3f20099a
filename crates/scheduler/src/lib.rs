//! Foreman, workers, work-order containers, progress and cancellation.
//!
//! A [`Scheduler`] keeps worker threads across queries and runs any number of
//! [`workorder::Dag`]s at once. It sees segments and work orders only: no SQL, plan, block or
//! vector, so it can be run with toy segments under a seed.
//!
//! ```text
//!  handle.rs    a query from outside: priority, limits, holds, what it is charged
//!  admission.rs where queries are known, admitted and set aside      load.rs      what decides that
//!  roster.rs    queries whose orders may be claimed                  enforcer.rs  whose order is next
//!  open.rs      which other queries want a core
//!  policy.rs    what share a query has a right to                    learning.rs  what coming orders will take
//!  foreman.rs   the scheduler: worker threads, waking, places
//!  worker.rs    what a thread does in a place: have a query chosen, claim, execute, tick
//!  query.rs     one query: its segments, their edges, its end
//!  lifecycle.rs one segment: phases that guard its claims and its end
//!  worker_slots.rs  at most n threads inside work orders
//!  messages.rs  what sessions tell the foreman, on the bus
//!  control.rs   what the caller may do to a running query: cancel, tick, look at progress
//!  report.rs    what it gets in the end
//!  recorder.rs  what its work orders did, for its trace
//!  view.rs      what can be seen of all of it
//! ```
//!
//! Decisions (`policy`, `enforcer`, `load`, `learning`) know no threads and no clock: a simulator drives them, and the queries'
//! own state machine, under a seed (`tests/simulation/`).
//!
//! Invariants: never more threads inside work orders than workers are set; a query's orders have
//! all ended when `run` returns, whatever it returns; a segment's panic ends its query only;
//! no thread spins for longer than a fraction of a millisecond.
//!
//! Left to others: what work orders do; how much memory they take; turning failures into SQL
//! errors.
#![forbid(unsafe_code)]

mod activity;
mod admission;
mod attending;
mod clock;
mod control;
mod counters;
mod enforcer;
mod foreman;
mod handle;
mod learning;
mod lifecycle;
mod load;
mod lock;
mod messages;
mod nodes;
mod open;
mod operator_status;
mod overseer;
mod policy;
mod query;
mod recorder;
mod report;
mod roster;
#[cfg(test)]
mod tests;
mod view;
mod worker;
mod worker_slots;

pub use activity::WorkerStatus;
pub use control::QueryControl;
pub use counters::Progress;
pub use foreman::{Placement, Scheduler, ThreadBytes};
pub use handle::{Account, Evaluating, Query, QuerySpec, QueryState};
pub use nodes::{NodeOfThread, NodeScheduling};
pub use operator_status::{OperatorState, OperatorStatus};
pub use policy::{
    Fair, HighestPriorityFirst, POLICIES, PRIORITY_DEFAULT, PRIORITY_MAX, Policy, Proportional, Standing,
    policy,
};
pub use report::{MemoryExceeded, Panicked, QueryReport, RunRecord, SegmentReport, Stalled, Stopped};
pub use view::QueryStatus;
