//! What each worker executes, for the views: one cache line of counters for each place, written by its thread alone.

use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

use workorder::{QueryId, SegmentId, WORKERS_MAX, WorkerId};

/// A line of its own: neighbours are written by other cores.
#[repr(align(64))]
#[derive(Default)]
struct Slot {
    /// 0: none.
    query: AtomicU64,
    segment: AtomicU32,
    since: AtomicU64,
    orders: AtomicU64,
    busy_nanoseconds: AtomicU64,
}

pub(crate) struct WorkerActivity(Box<[Slot]>);

/// A place and what goes on there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerStatus {
    /// The place's number, from 0.
    pub worker: WorkerId,
    /// The order that is executed there, if any: its query, its segment, and for how many nanoseconds.
    pub order: Option<(QueryId, SegmentId, u64)>,
    /// Executions so far.
    pub orders: u64,
    /// Nanoseconds inside these.
    pub busy_nanoseconds: u64,
}

impl WorkerActivity {
    pub(crate) fn new() -> Self {
        WorkerActivity((0..WORKERS_MAX).map(|_| Slot::default()).collect())
    }

    pub(crate) fn begin(&self, worker: WorkerId, query: QueryId, segment: SegmentId, now: u64) {
        let slot = &self.0[worker.0 as usize];
        debug_assert_ne!(query.0, 0, "0 says that nothing is executed");
        debug_assert_eq!(slot.query.load(Relaxed), 0, "two orders in place {}", worker.0);
        slot.segment.store(segment.0, Relaxed);
        slot.since.store(now, Relaxed);
        slot.query.store(query.0, SeqCst);
    }

    pub(crate) fn end(&self, worker: WorkerId, now: u64) {
        let slot = &self.0[worker.0 as usize];
        debug_assert_ne!(
            slot.query.load(Relaxed),
            0,
            "an order ends in place {} that did not begin",
            worker.0
        );
        slot.query.store(0, Relaxed);
        let nanoseconds = now.saturating_sub(slot.since.load(Relaxed));
        // Only the thread that has the place writes.
        slot.orders.store(slot.orders.load(Relaxed) + 1, Relaxed);
        slot.busy_nanoseconds.store(slot.busy_nanoseconds.load(Relaxed) + nanoseconds, Relaxed);
    }

    /// The order stands still, and its place is lent to another thread meanwhile.
    pub(crate) fn vacate(&self, worker: WorkerId) {
        let before = self.0[worker.0 as usize].query.swap(0, SeqCst);
        debug_assert_ne!(before, 0, "no order stands still in place {}", worker.0);
    }

    /// It goes on after so many nanoseconds.
    pub(crate) fn occupy(&self, worker: WorkerId, query: QueryId, after: u64) {
        let slot = &self.0[worker.0 as usize];
        slot.since.store(slot.since.load(Relaxed) + after, Relaxed);
        let before = slot.query.swap(query.0, SeqCst);
        debug_assert_eq!(before, 0, "another order has place {}", worker.0);
    }

    /// The places below `limit`, and those above it that are still in use.
    pub(crate) fn status(&self, limit: usize, now: u64) -> Vec<WorkerStatus> {
        let status = |(place, slot): (usize, &Slot)| {
            let query = slot.query.load(SeqCst);
            (place < limit || query != 0).then(|| WorkerStatus {
                worker: WorkerId(place as u32),
                order: (query != 0).then(|| {
                    let since = slot.since.load(Relaxed);
                    (QueryId(query), SegmentId(slot.segment.load(Relaxed)), now.saturating_sub(since))
                }),
                orders: slot.orders.load(Relaxed),
                busy_nanoseconds: slot.busy_nanoseconds.load(Relaxed),
            })
        };
        self.0.iter().enumerate().filter_map(status).collect()
    }
}
