//! The queries that have begun and not ended, counted by priority, so that workers know when to let others have the core.
//!
//! A statement is not only work orders: it is parsed and planned before them, and its result is put together after
//! the last one, all on its caller's thread, which has no place. While other queries' workers keep every core busy,
//! the system lets such a thread wait until a worker's time slice is over, which is up to a clock tick, 4 ms: more than
//! a short query takes. Workers of a query that has had much therefore offer the core after each order (`sched_yield`),
//! while another query is open that does not come after it, and some query has just begun or ended its work orders, so
//! that its caller may be awake. Not at other times: what is offered goes to other processes too, and where those keep the
//! cores busy, each offer costs a time slice of theirs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::policy::{PRIORITY_MAX, Policy};

/// What workers look at, without a lock: the highest priority and how many queries have it.
fn packed(priority: u32, queries: u32) -> u64 {
    u64::from(priority) << 32 | u64::from(queries)
}

/// Nanoseconds of CPU time from which on a query has had much: more than statements about a few rows take, which follow
/// each other by the thousand.
const MUCH: u64 = 1_000_000;
/// Nanoseconds after a query's beginning and end in which its caller may want a core: for planning, between segments that
/// leave it nothing to do, and for the result. With 5 ms, short queries next to a long one were 2.5 ms later.
const AWAKE: u64 = 20_000_000;

/// Queries that have begun and not ended, be they planned, run or read.
#[derive(Default)]
pub(crate) struct OpenQueries {
    counts: Mutex<BTreeMap<u32, u32>>,
    /// The last of `counts`.
    first: AtomicU64,
    /// Queries in all.
    queries: AtomicU32,
    /// All priorities are in one tier.
    level: AtomicBool,
    /// Until when callers may be awake outside of work orders.
    awake_until: AtomicU64,
}

impl OpenQueries {
    pub(crate) fn add(&self, priority: u32) {
        self.count(|counts| *counts.entry(priority).or_default() += 1);
        self.queries.fetch_add(1, Relaxed);
    }

    pub(crate) fn remove(&self, priority: &AtomicU32) {
        self.count(|counts| take_one(counts, priority.load(Relaxed)));
        let before = self.queries.fetch_sub(1, Relaxed);
        debug_assert_ne!(before, 0, "more queries end than began");
    }

    /// Gives an open query another priority.
    pub(crate) fn change(&self, priority: &AtomicU32, to: u32) {
        self.count(|counts| {
            take_one(counts, priority.swap(to, Relaxed));
            *counts.entry(to).or_default() += 1;
        });
    }

    pub(crate) fn follow(&self, policy: &dyn Policy) {
        let level = policy.standing(0).tier == policy.standing(PRIORITY_MAX).tier;
        self.level.store(level, Relaxed);
    }

    /// A query begins, or its last work order has ended: its caller is awake, or about to be.
    pub(crate) fn wakes(&self, now: u64) {
        self.awake_until.store(now + AWAKE, Relaxed);
    }

    /// Whether a worker that has done an order of such a query offers the core to others.
    pub(crate) fn may_want_core(&self, charged: u64, priority: u32, now: u64) -> bool {
        charged > MUCH && now < self.awake_until.load(Relaxed) && self.has_rivals(priority)
    }

    /// Whether another open query is in this one's tier or in a higher one.
    fn has_rivals(&self, priority: u32) -> bool {
        if self.queries.load(Relaxed) <= 1 {
            return false;
        }
        let first = self.first.load(Relaxed);
        self.level.load(Relaxed) || first > packed(priority, 1)
    }

    fn count(&self, work: impl FnOnce(&mut BTreeMap<u32, u32>)) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut counts);
        let first = counts.last_key_value().map_or(0, |(priority, queries)| packed(*priority, *queries));
        self.first.store(first, Relaxed);
    }
}

fn take_one(counts: &mut BTreeMap<u32, u32>, priority: u32) {
    debug_assert!(counts.contains_key(&priority), "no query of priority {priority} is open");
    if let Some(count) = counts.get_mut(&priority) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&priority);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Fair, HighestPriorityFirst};

    #[test]
    fn the_core_is_offered_by_long_queries_while_a_caller_may_be_awake() {
        let open = OpenQueries::default();
        open.add(1);
        open.wakes(7);
        assert!(!open.may_want_core(MUCH + 1, 1, 8), "nobody else is there");
        open.add(1);
        assert!(open.may_want_core(MUCH + 1, 1, 8));
        assert!(!open.may_want_core(MUCH, 1, 8), "it is short");
        assert!(!open.may_want_core(MUCH + 1, 2, 8), "it comes first");
        assert!(!open.may_want_core(MUCH + 1, 1, 7 + AWAKE), "all callers work or wait");
    }

    #[test]
    fn a_query_has_rivals_beside_and_before_it_and_not_after_it() {
        let open = OpenQueries::default();
        open.add(1);
        assert!(!open.has_rivals(1));
        open.add(1);
        assert!(open.has_rivals(1));
        let urgent = AtomicU32::new(5);
        open.add(5);
        assert_eq!((open.has_rivals(1), open.has_rivals(5)), (true, false));
        open.follow(&Fair);
        assert!(open.has_rivals(5));
        open.follow(&HighestPriorityFirst);
        open.change(&urgent, 1);
        assert!(open.has_rivals(1));
        open.remove(&urgent);
        let left = AtomicU32::new(1);
        open.remove(&left);
        assert!(!open.has_rivals(1));
        open.remove(&left);
        assert!(open.counts.lock().is_ok_and(|counts| counts.is_empty()));
    }
}
