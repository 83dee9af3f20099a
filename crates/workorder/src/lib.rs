//! The vocabulary of execution: what operators hand to the scheduler and what comes back.
//!
//! A physical plan is cut into *pipeline segments*. A [`Segment`] is an opaque thing that yields
//! [`WorkOrder`]s, runs them, and is finished once; a [`Dag`] joins segments by blocking and
//! streaming [`Edge`]s. The scheduler sees only these types, so it can be run with toy segments
//! under a seed, and operators never see the scheduler.
//!
//! Invariant: this crate depends on no other crate of the workspace and knows nothing of data.
//! What a work order's numbers mean (blocks, partitions, rows) is the segment's own affair.
//!
//! Left to others: policy, threads, waiting and cancellation (crate `scheduler`); state, inputs
//! and outputs of a segment (crate `operators`).
#![forbid(unsafe_code)]

mod context;
mod dag;
mod near;
mod range;
mod record;
mod segment;
mod transfer;

pub use context::{Host, WorkContext};
pub use dag::{Dag, DagError, Edge, EdgeKind, topological_order};
pub use near::Near;
pub use range::{OrderRange, parallelism};
pub use record::OrderRecord;
pub use segment::{Claim, Completion, Failure, Outcome, Segment, WorkOrder};
pub use transfer::UnitOfTransfer;

/// The number of a query, unique within the process; all runs of one statement have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryId(pub u64);

/// A segment's position in its [`Dag`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentId(pub u32);

impl SegmentId {
    /// The segment of a work order that the scheduler has not stamped yet.
    pub const UNSET: SegmentId = SegmentId(u32::MAX);

    /// The position as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A worker's place. No two threads hold the same place at the same time; numbers are dense from
/// zero and below [`WORKERS_MAX`], but not below the present number of workers right after that
/// number was lowered. For per-worker state take `sync::Pool`, which needs no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub u32);

/// The most workers a scheduler accepts: far above the cores of one machine, and small enough
/// for a bitmap of places.
pub const WORKERS_MAX: usize = 1024;
