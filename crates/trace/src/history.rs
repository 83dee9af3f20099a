//! The last traces: a ring bounded by bytes, of which the oldest leave first. Slow queries have a second ring of
//! their own, so that a thousand quick ones do not push out the one that a user will ask for.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::QueryTrace;

/// One over this is the share of the bytes that slow queries have.
const SLOW_SHARE: u64 = 4;

/// Traces of one database.
#[derive(Debug)]
pub struct History {
    rings: Mutex<[Ring; 2]>,
    bytes_max: AtomicU64,
}

#[derive(Debug, Default)]
struct Ring {
    /// With the bytes that each was found to take.
    traces: VecDeque<(Arc<QueryTrace>, u64)>,
    bytes: u64,
}

impl Ring {
    fn shrink(&mut self, bytes_max: u64, gone: &mut Vec<Arc<QueryTrace>>) {
        while self.bytes > bytes_max
            && let Some((trace, bytes)) = self.traces.pop_front()
        {
            self.bytes -= bytes;
            gone.push(trace);
        }
    }
}

impl History {
    /// Keeps as many as fit `bytes_max`.
    pub fn new(bytes_max: u64) -> Self {
        History { rings: Mutex::default(), bytes_max: AtomicU64::new(bytes_max) }
    }

    fn rings(&self) -> MutexGuard<'_, [Ring; 2]> {
        // A trace is put in and taken out whole.
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that all traces together may take, about.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Relaxed)
    }

    /// Sets the bytes that all traces together may take; the oldest beyond leave at once, and 0 keeps nothing.
    pub fn set_bytes_max(&self, bytes: u64) {
        self.bytes_max.store(bytes, Relaxed);
        self.settle(u64::MAX, |_| {});
    }

    /// Adds the trace of a query that has ended. All take no more than `bytes_most` afterwards, if that is less than what
    /// is set.
    pub fn keep(&self, trace: Arc<QueryTrace>, slow: bool, bytes_most: u64) {
        let bytes = trace.bytes();
        self.settle(bytes_most, |rings| {
            let ring = &mut rings[usize::from(slow)];
            ring.bytes += bytes;
            ring.traces.push_back((trace, bytes));
        });
    }

    fn settle(&self, bytes_most: u64, change: impl FnOnce(&mut [Ring; 2])) {
        let bytes_max = self.bytes_max().min(bytes_most);
        let mut gone = Vec::new();
        let mut rings = self.rings();
        change(&mut rings);
        rings[1].shrink(bytes_max / SLOW_SHARE, &mut gone);
        rings[0].shrink(bytes_max - bytes_max / SLOW_SHARE, &mut gone);
        drop(rings);
        // Plans are taken apart without the lock.
        drop(gone);
    }

    /// Forgets all.
    pub fn clear(&self) {
        let all = std::mem::take(&mut *self.rings());
        drop(all);
    }

    /// All, in the order of their ids: of their beginning.
    pub fn all(&self) -> Vec<Arc<QueryTrace>> {
        let rings = self.rings();
        let mut all: Vec<_> =
            rings.iter().flat_map(|ring| &ring.traces).map(|(trace, _)| Arc::clone(trace)).collect();
        drop(rings);
        all.sort_by_key(|trace| trace.id);
        all
    }

    /// Those that were kept as slow.
    pub fn slow(&self) -> Vec<Arc<QueryTrace>> {
        self.rings()[1].traces.iter().map(|(trace, _)| Arc::clone(trace)).collect()
    }

    /// The trace of the query with that number; `None` when it is not kept, or kept no more.
    pub fn get(&self, id: u64) -> Option<Arc<QueryTrace>> {
        let rings = self.rings();
        let mut all = rings.iter().flat_map(|ring| ring.traces.iter().rev());
        all.find(|(trace, _)| trace.id == id).map(|(trace, _)| Arc::clone(trace))
    }

    /// How many there are, and about how many bytes they take.
    pub fn size(&self) -> (usize, u64) {
        let rings = self.rings();
        (rings.iter().map(|ring| ring.traces.len()).sum(), rings.iter().map(|ring| ring.bytes).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::tests::trace;

    #[test]
    fn the_oldest_leave_and_slow_ones_stay() {
        let one = trace(1, 100).bytes();
        let history = History::new(one * 12);
        history.keep(Arc::new(trace(0, 100)), true, u64::MAX);
        for id in 1..100 {
            history.keep(Arc::new(trace(id, 100)), false, u64::MAX);
            assert!(history.size().1 <= one * 12);
        }
        let ids: Vec<u64> = history.all().iter().map(|trace| trace.id).collect();
        assert_eq!(ids, [0, 91, 92, 93, 94, 95, 96, 97, 98, 99]);
        assert_eq!(history.slow().len(), 1);
        assert!(history.get(0).is_some() && history.get(50).is_none());
        history.set_bytes_max(0);
        assert_eq!(history.size(), (0, 0));
    }

    #[test]
    fn one_that_is_larger_than_the_ring_is_not_kept() {
        let history = History::new(trace(1, 10).bytes() * 2);
        history.keep(Arc::new(trace(1, 10)), false, u64::MAX);
        history.keep(Arc::new(trace(2, 100_000)), false, u64::MAX);
        assert_eq!(history.all().len(), 0);
        history.keep(Arc::new(trace(3, 10)), false, u64::MAX);
        assert_eq!(history.all().len(), 1);
    }
}
