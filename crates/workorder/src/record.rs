//! What is kept of an executed work order, for traces: its worker, its times, and what came of it.
//!
//! Inert numbers, made by the scheduler and read by code that draws them. A long run keeps fewer records than it has
//! orders: neighbours are joined, and a record then says for how many it stands.

use crate::{SegmentId, WorkerId};

/// One execution, or several one after the other of the same segment on the same worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRecord {
    /// The segment that the orders belong to.
    pub segment: SegmentId,
    /// The worker's place.
    pub worker: WorkerId,
    /// Nanoseconds after the run began.
    pub started: u64,
    /// Nanoseconds after the run began.
    pub ended: u64,
    /// Nanoseconds inside that its query was held for: paused, or set aside by the load controller.
    pub held: u64,
    /// Nanoseconds inside for which the order waited for others: a reader of its rows, or a file.
    pub waited: u64,
    /// Units executed, by the segment's own count.
    pub units: u64,
    /// Rows that the segment counted.
    pub rows: u64,
    /// Bytes that the segment counted.
    pub bytes: u64,
    /// Bytes of memory that the thread took and did not give back.
    pub grown: i64,
    /// Executions that this stands for.
    pub orders: u64,
}

impl OrderRecord {
    /// Nanoseconds from its beginning to its end.
    pub fn nanoseconds(&self) -> u64 {
        self.ended.saturating_sub(self.started)
    }

    /// Joins the next one of the same segment and worker to this one. The time between them counts as inside.
    pub fn join(&mut self, next: &OrderRecord) {
        debug_assert!(self.segment == next.segment && self.worker == next.worker, "{self:?} and {next:?}");
        debug_assert!(self.started <= next.started, "{self:?} before {next:?}");
        self.ended = self.ended.max(next.ended);
        self.held += next.held;
        self.waited += next.waited;
        self.units += next.units;
        self.rows = self.rows.wrapping_add(next.rows);
        self.bytes = self.bytes.wrapping_add(next.bytes);
        self.grown = self.grown.wrapping_add(next.grown);
        self.orders += next.orders;
    }
}
