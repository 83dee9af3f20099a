//! The learning agent: what the coming work orders of a segment will take, from those that are done.
//!
//! One [`SegmentModel`] a segment. An execution tells it how long it took and by how many bytes it made the query grow; it
//! answers what the next one will take. Recent ones count more: each execution weighs an eighth, so that a segment whose
//! rows become harder is noticed within some ten orders, and a single odd one moves the answer by an eighth.
//!
//! The enforcer charges a query for its running orders by this answer and corrects it when they are done
//! (`enforcer.rs`); the load controller compares what queries will hold with what there is (`load.rs`); a caller stays
//! away from other queries' orders that take long (`worker.rs`); the views show time left (`view.rs`).
//!
//! Two threads that tell at the same time may lose one of the two: an estimate, not a count, and no step of it is worth
//! a lock. With one thread (the simulator) everything is determined by the order of the calls.

use std::sync::atomic::{
    AtomicI64, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

/// Before anything is known: the middle of what orders are cut for.
pub(crate) const ORDER_NANOSECONDS_UNKNOWN: u64 = 350_000;
/// The weight of the newest observation is one over this.
const MEMORY_OF: u64 = 8;

/// What is known of one segment's orders.
#[derive(Debug, Default)]
pub(crate) struct SegmentModel {
    /// Nanoseconds of an execution, moving average; 0 before the first.
    order_nanoseconds: AtomicU64,
    /// Nanoseconds of a unit, moving average, times 1,024.
    unit_nanoseconds: AtomicU64,
    longest_nanoseconds: AtomicU64,
    /// Bytes that the query grew by in its executions, net.
    bytes: AtomicI64,
    /// Units executed.
    units: AtomicU64,
}

fn averaged(old: u64, new: u64) -> u64 {
    if old == 0 { new.max(1) } else { (old - old / MEMORY_OF + new / MEMORY_OF).max(1) }
}

impl SegmentModel {
    /// An execution of `units` units is done.
    pub(crate) fn observe(&self, units: u64, nanoseconds: u64, bytes: i64) {
        // A clock that runs backwards would be a time of centuries.
        debug_assert!(nanoseconds < 1 << 60, "{nanoseconds} ns");
        self.order_nanoseconds.store(averaged(self.order_nanoseconds.load(Relaxed), nanoseconds), Relaxed);
        if let Some(per_unit) = nanoseconds.saturating_mul(1024).checked_div(units) {
            self.unit_nanoseconds.store(averaged(self.unit_nanoseconds.load(Relaxed), per_unit), Relaxed);
        }
        if nanoseconds > self.longest_nanoseconds.load(Relaxed) {
            self.longest_nanoseconds.fetch_max(nanoseconds, Relaxed);
        }
        if bytes != 0 {
            self.bytes.fetch_add(bytes, Relaxed);
        }
        self.units.fetch_add(units, SeqCst);
    }

    /// What the next execution will take.
    pub(crate) fn order_nanoseconds(&self) -> u64 {
        match self.order_nanoseconds.load(Relaxed) {
            0 => ORDER_NANOSECONDS_UNKNOWN,
            known => known,
        }
    }

    /// The longest execution so far.
    pub(crate) fn longest_nanoseconds(&self) -> u64 {
        self.longest_nanoseconds.load(Relaxed)
    }

    /// What `units` more will take, one worker's time; `None` while nothing is known.
    pub(crate) fn nanoseconds_of(&self, units: u64) -> Option<u64> {
        let per_unit = self.unit_nanoseconds.load(Relaxed);
        (per_unit > 0).then(|| (u128::from(units) * u128::from(per_unit) / 1024) as u64)
    }

    /// By how many bytes `units` more will make the query grow.
    pub(crate) fn bytes_of(&self, units: u64) -> u64 {
        let (bytes, done) = (self.bytes.load(Relaxed).max(0) as u128, u128::from(self.units.load(Relaxed)));
        (bytes * u128::from(units))
            .checked_div(done)
            .map_or(0, |bytes| u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Bytes that the query grew by here.
    pub(crate) fn bytes(&self) -> i64 {
        self.bytes.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coming_orders_are_as_the_last_ones_were() {
        let model = SegmentModel::default();
        assert_eq!((model.order_nanoseconds(), model.nanoseconds_of(7)), (ORDER_NANOSECONDS_UNKNOWN, None));
        model.observe(10, 100_000, 4_000);
        assert_eq!(model.order_nanoseconds(), 100_000);
        assert_eq!(model.nanoseconds_of(5), Some(50_000));
        assert_eq!(model.bytes_of(5), 2_000);
        // Ten times harder from now on: noticed within some orders.
        (0..30).for_each(|_| model.observe(10, 1_000_000, 0));
        assert!((900_000..=1_000_000).contains(&model.order_nanoseconds()), "{}", model.order_nanoseconds());
        // One odd order says little.
        model.observe(10, 100_000_000, 0);
        assert!(model.order_nanoseconds() < 14_000_000);
        assert_eq!(model.longest_nanoseconds(), 100_000_000);
    }

    #[test]
    fn what_shrinks_is_not_expected_to_grow() {
        let model = SegmentModel::default();
        model.observe(1, 1, -5_000);
        assert_eq!((model.bytes_of(100), model.bytes()), (0, -5_000));
        model.observe(0, 5, 10_000);
        assert_eq!(model.bytes_of(1), 5_000);
    }
}
