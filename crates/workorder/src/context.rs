//! What a running work order may ask of its surroundings.
//!
//! A [`WorkContext`] lives on one thread for one execution. It is the only way from a segment to
//! the scheduler, and it says little: query, segment and worker of the order, whether to stop, that
//! consumers have input, how many rows went by, and when the order waits.

use std::cell::Cell;
use std::time::Instant;

use crate::{QueryId, SegmentId, WorkerId};

/// The scheduler's side of a [`WorkContext`]; tests may bring their own.
pub trait Host {
    /// Whether the query was cancelled, timed out or failed. Called at every batch: a few
    /// nanoseconds in the ordinary case.
    fn should_stop(&self) -> bool;

    /// `count` units became ready for the streaming consumers of `segment`.
    fn units_ready(&self, segment: SegmentId, count: u64);

    /// Calls `work`, in which `should_stop` does not stand still for a query that is held: it gives memory back. From
    /// the next check on it does.
    fn undisturbed(&self, work: &mut dyn FnMut()) {
        work();
    }

    /// Waits until `enough` says that there is memory, as long as other queries may give some back; whether there was in the
    /// end. `false` at once for a query that can begin anew instead.
    fn wait_for_memory(&self, enough: &mut dyn FnMut() -> bool) -> bool {
        let _ = enough;
        false
    }

    /// Calls `wait`, which sleeps until something outside the query happens; meanwhile other threads may have the
    /// worker's place.
    fn step_aside(&self, wait: &mut dyn FnMut()) {
        wait();
    }
}

/// Handed to `Segment::execute`.
pub struct WorkContext<'a> {
    query: QueryId,
    segment: SegmentId,
    worker: WorkerId,
    host: &'a dyn Host,
    rows: Cell<u64>,
    bytes: Cell<u64>,
    waited: Cell<u64>,
}

impl<'a> WorkContext<'a> {
    /// For the scheduler and for tests.
    pub fn new(query: QueryId, segment: SegmentId, worker: WorkerId, host: &'a dyn Host) -> Self {
        WorkContext {
            query,
            segment,
            worker,
            host,
            rows: Cell::new(0),
            bytes: Cell::new(0),
            waited: Cell::new(0),
        }
    }

    /// A context outside any scheduler: never stops, wakes no thread.
    pub fn detached() -> WorkContext<'static> {
        WorkContext::new(QueryId(0), SegmentId(0), WorkerId(0), &Detached)
    }

    /// The query that the order belongs to.
    pub fn query(&self) -> QueryId {
        self.query
    }

    /// The segment that the order belongs to.
    pub fn segment(&self) -> SegmentId {
        self.segment
    }

    /// The place of the worker that runs the order.
    pub fn worker(&self) -> WorkerId {
        self.worker
    }

    /// True when the order should return at the next batch boundary.
    pub fn should_stop(&self) -> bool {
        self.host.should_stop()
    }

    /// Tells the scheduler that `count` units (blocks) are ready for this segment's streaming
    /// consumers. Call it after the units are visible to the consumer's `claim`.
    pub fn units_ready(&self, count: u64) {
        self.host.units_ready(self.segment, count);
    }

    /// Calls `wait`, which sleeps until the reader of the result acts. The worker's place goes to others meanwhile; its
    /// thread does not, so this is for what cannot be put off to a later order: the middle of a unit. Only in queries
    /// that run under `QueryControl::pausable`.
    pub fn step_aside(&self, mut wait: impl FnMut()) {
        let begun = Instant::now();
        self.host.step_aside(&mut wait);
        self.note_wait(begun.elapsed().as_nanos() as u64);
    }

    /// There is no memory. Waits until `enough` says that there is, if the query cannot begin anew and others may give some
    /// back; whether it is worth going on.
    pub fn wait_for_memory(&self, mut enough: impl FnMut() -> bool) -> bool {
        let begun = Instant::now();
        let found = self.host.wait_for_memory(&mut enough);
        self.note_wait(begun.elapsed().as_nanos() as u64);
        found
    }

    /// Records that the order has waited so many nanoseconds: for a reader of its rows, or a file.
    pub fn note_wait(&self, nanoseconds: u64) {
        self.waited.set(self.waited.get().saturating_add(nanoseconds));
    }

    /// Nanoseconds that it has waited so far.
    pub fn waited(&self) -> u64 {
        self.waited.get()
    }

    /// Calls `work`, which puts the state of a query that is held into files: it is not stopped on the way, unless the
    /// query ends, since until it is done the memory is not free.
    pub fn undisturbed<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let (mut work, mut result) = (Some(work), None);
        self.host.undisturbed(&mut || result = work.take().map(|work| work()));
        result
    }

    /// Adds to what the completion will carry. Once per batch, not per row.
    pub fn count(&self, rows: u64, bytes: u64) {
        self.rows.set(self.rows.get().wrapping_add(rows));
        self.bytes.set(self.bytes.get().wrapping_add(bytes));
    }

    /// Rows counted so far.
    pub fn rows(&self) -> u64 {
        self.rows.get()
    }

    /// Bytes counted so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }
}

struct Detached;

impl Host for Detached {
    fn should_stop(&self) -> bool {
        false
    }

    fn units_ready(&self, _segment: SegmentId, _count: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detached_context_counts_and_never_stops() {
        let context = WorkContext::detached();
        context.count(3, 24);
        context.count(4, 32);
        context.units_ready(1);
        assert_eq!((context.rows(), context.bytes(), context.should_stop()), (7, 56, false));
    }
}
