//! Slots of workers: at most `limit` threads are inside work orders at a time.
//!
//! A thread takes a place before it claims and gives it back before it sleeps. `used` is the
//! admission; the bitmap only gives the place a number that no other has. A number is cleared
//! after `used` was lowered, so a taker may have to look twice, but it finds one in the end: there
//! are as many numbers as the highest limit.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

use workorder::{WORKERS_MAX, WorkerId};

pub(crate) struct WorkerSlots {
    limit: AtomicUsize,
    used: AtomicUsize,
    numbers: [AtomicU64; WORKERS_MAX / 64],
}

impl WorkerSlots {
    pub(crate) fn new(limit: usize) -> Self {
        debug_assert!((1..=WORKERS_MAX).contains(&limit), "{limit} places");
        WorkerSlots {
            limit: AtomicUsize::new(limit),
            used: AtomicUsize::new(0),
            numbers: [const { AtomicU64::new(0) }; WORKERS_MAX / 64],
        }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.load(SeqCst)
    }

    /// A lower limit takes effect for threads inside when they next call `leave_if_over`.
    pub(crate) fn set_limit(&self, limit: usize) {
        debug_assert!((1..=WORKERS_MAX).contains(&limit), "{limit} places");
        self.limit.store(limit, SeqCst);
    }

    /// Whether a place is free now.
    pub(crate) fn any_free(&self) -> bool {
        self.used.load(SeqCst) < self.limit()
    }

    pub(crate) fn take(&self) -> Option<WorkerId> {
        let admit = |used: usize| (used < self.limit()).then_some(used + 1);
        self.used.fetch_update(SeqCst, SeqCst, admit).ok()?;
        loop {
            for (position, word) in self.numbers.iter().enumerate() {
                let mut seen = word.load(SeqCst);
                while seen != u64::MAX {
                    let bit = seen.trailing_ones();
                    seen = word.fetch_or(1 << bit, SeqCst);
                    if seen >> bit & 1 == 0 {
                        return Some(WorkerId((position * 64) as u32 + bit));
                    }
                }
            }
            std::hint::spin_loop();
        }
    }

    pub(crate) fn leave(&self, worker: WorkerId) {
        let used = self.used.fetch_sub(1, SeqCst);
        debug_assert_ne!(used, 0, "place {} was lent, or given back before", worker.0);
        self.clear(worker);
    }

    /// Lets another in while this one, which keeps its number, waits.
    pub(crate) fn lend(&self) {
        let used = self.used.fetch_sub(1, SeqCst);
        debug_assert_ne!(used, 0, "a place is lent that nobody has");
    }

    /// Ends `lend`, whether or not that is one too many.
    pub(crate) fn take_back(&self) {
        self.used.fetch_add(1, SeqCst);
    }

    /// Whether more places are taken than the limit allows.
    pub(crate) fn is_over(&self) -> bool {
        self.used.load(SeqCst) > self.limit()
    }

    /// Gives the place back if there are more than the limit allows: exactly the surplus leaves.
    pub(crate) fn leave_if_over(&self, worker: WorkerId) -> bool {
        if !self.is_over() {
            return false;
        }
        let surplus = |used: usize| (used > self.limit()).then(|| used - 1);
        let left = self.used.fetch_update(SeqCst, SeqCst, surplus).is_ok();
        if left {
            self.clear(worker);
        }
        left
    }

    fn clear(&self, worker: WorkerId) {
        let number = worker.0 as usize;
        let before = self.numbers[number / 64].fetch_and(!(1 << (number % 64)), SeqCst);
        debug_assert_ne!(before & 1 << (number % 64), 0, "place {number} was free");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_numbered_and_limited() {
        let places = WorkerSlots::new(2);
        let first = places.take().unwrap();
        let second = places.take().unwrap();
        assert_ne!(first, second);
        assert!(places.take().is_none() && !places.any_free());
        assert!(!places.leave_if_over(first));
        places.set_limit(1);
        assert!(places.leave_if_over(first));
        assert!(!places.leave_if_over(second));
        places.leave(second);
        assert_eq!(places.take(), Some(WorkerId(0)));
    }

    #[test]
    fn all_places_can_be_taken() {
        let places = WorkerSlots::new(WORKERS_MAX);
        let taken: std::collections::HashSet<u32> =
            (0..WORKERS_MAX).map(|_| places.take().unwrap().0).collect();
        assert_eq!(taken.len(), WORKERS_MAX);
        assert!(places.take().is_none());
    }
}
