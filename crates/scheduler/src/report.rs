//! What a run leaves: the report of a query that ended well, and the ways in which the scheduler
//! itself ends one. (A segment's own failure is passed through as it is.)

use std::fmt;
use std::time::Duration;

use sync::StopReason;
use workorder::{OrderRecord, QueryId};

/// What was measured over one run that ended well.
#[derive(Clone, Debug)]
pub struct QueryReport {
    /// The query that was run.
    pub query: QueryId,
    /// The time from the run's beginning to its end.
    pub wall: Duration,
    /// The segments, by position in the DAG.
    pub segments: Vec<SegmentReport>,
}

impl QueryReport {
    /// Time spent inside work orders, over all workers.
    pub fn busy(&self) -> Duration {
        Duration::from_nanos(self.segments.iter().map(|segment| segment.busy_nanoseconds).sum())
    }
}

/// What is kept of a run, whether it ended well or not. Times are nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct RunRecord {
    /// From the beginning of its query to the beginning of the run.
    pub begun: u64,
    /// From then on until the load controller had let it in.
    pub queued: u64,
    /// From the run's beginning to its end.
    pub wall: u64,
    /// The segments, by position in the DAG.
    pub segments: Vec<SegmentReport>,
    /// Work orders by the time of their beginning, which is counted from that of the run.
    pub orders: Vec<OrderRecord>,
}

/// What was measured over one segment of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentReport {
    /// The segment's own name.
    pub name: String,
    /// Executions: work orders and continuations.
    pub orders: u64,
    /// Rows the segment counted.
    pub rows: u64,
    /// Bytes the segment counted.
    pub bytes: u64,
    /// Inside `execute`, over all workers.
    pub busy_nanoseconds: u64,
    /// When it was started, after the start of the run.
    pub started_nanoseconds: u64,
    /// When it was finished, after the start of the run.
    pub finished_nanoseconds: u64,
}

/// The query was cancelled or timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Which of the two.
    pub reason: StopReason,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.reason {
            StopReason::Cancelled => "the query was cancelled",
            StopReason::Timeout => "the query ran into its statement timeout",
        })
    }
}

impl std::error::Error for Stopped {}

/// A segment broke an invariant of its own. An internal error, never the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// The segment's name.
    pub segment: String,
    /// The panic's message.
    pub message: String,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "internal error in \"{}\": {}", self.segment, self.message)
    }
}

impl std::error::Error for Panicked {}

/// All segments wait for input that none will make. An internal error: without this answer the
/// query would hang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// Name of the first segment that is open, or else not finished.
    pub segment: String,
}

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "internal error: \"{}\" waits for input that nobody makes", self.segment)
    }
}

impl std::error::Error for Stalled {}

/// The query held more memory than it may. (What the process may hold is the budget's business.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryExceeded {
    /// Bytes that its work orders held.
    pub held: u64,
    /// Bytes that it may hold.
    pub limit: u64,
}

impl fmt::Display for MemoryExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        write!(
            f,
            "the query's own memory limit exceeded: {:.1} MB held, limit {:.1} MB",
            megabytes(self.held),
            megabytes(self.limit)
        )
    }
}

impl std::error::Error for MemoryExceeded {}
