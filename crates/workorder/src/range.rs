//! The usual work-order container: units `[0, n)`, handed out in runs by one atomic step.
//!
//! The run length adapts so that an order takes [`TARGET_NANOSECONDS`]: long enough that claiming
//! (some 100 ns) is free, short enough that the last workers end together and that a cancel or a
//! change of the number of workers takes hold soon. Near the end runs shrink to a share of what
//! is left (guided self-scheduling: Polychronopoulos and Kuck 1987; ours takes half a worker's
//! share).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::near::{Found, Lanes};
use crate::{Claim, Completion, Near, UnitOfTransfer, WorkOrder};

/// The middle of the 0.2 to 0.5 ms that an order should take.
pub const TARGET_NANOSECONDS: u64 = 350_000;

/// No run is longer, however cheap its units seem: a wrong estimate then costs little.
const RUN_MAX: u64 = 1 << 20;

/// Units `[0, total)`, claimed in adaptive runs. Nothing is claimable before `set_total`.
#[derive(Debug)]
pub struct OrderRange {
    next: AtomicU64,
    total: AtomicU64,
    run: AtomicU64,
    run_max: u64,
    unit_of_transfer: UnitOfTransfer,
    /// Where units lie on several memory nodes: `next` stands still then.
    lanes: OnceLock<Lanes>,
}

impl OrderRange {
    /// An empty range whose first runs are one unit.
    pub fn new(unit_of_transfer: UnitOfTransfer) -> Self {
        OrderRange {
            next: AtomicU64::new(0),
            total: AtomicU64::new(0),
            run: AtomicU64::new(1),
            run_max: RUN_MAX,
            unit_of_transfer,
            lanes: OnceLock::new(),
        }
    }

    /// Runs are never longer than this; 1 makes every unit an order of its own (partitions).
    pub fn with_run_max(mut self, run_max: u64) -> Self {
        self.run_max = run_max.clamp(1, RUN_MAX);
        self
    }

    /// The first runs have this length; for units known to be tiny.
    pub fn with_first_run(self, run: u64) -> Self {
        self.run.store(run.clamp(1, self.run_max), Ordering::Relaxed);
        self
    }

    /// Says which memory nodes the units are near to, one entry a unit, on a machine with `nodes` of them; before
    /// `set_total`. They are no longer claimed in their order then.
    pub fn set_nodes(&self, nodes: usize, of_units: &[Option<usize>]) {
        debug_assert_eq!(self.total(), 0, "before the number of units is set");
        let _ = self.lanes.set(Lanes::new(nodes, of_units));
    }

    /// How many units were claimed by near workers, and by others; `None` unless `set_nodes` was called.
    pub fn near_and_far(&self) -> Option<(u64, u64)> {
        self.lanes.get().map(Lanes::near_and_far)
    }

    /// Sets the number of units; from `Segment::start`.
    pub fn set_total(&self, total: u64) {
        let sorted = self.lanes.get().map(Lanes::left);
        debug_assert!(
            sorted.is_none_or(|sorted| sorted == total),
            "{total} units, {sorted:?} of them sorted by nodes"
        );
        self.total.store(total, Ordering::Release);
    }

    /// The unit that the next claim begins with, if there is one.
    pub fn peek(&self) -> Option<u64> {
        let next = self.next.load(Ordering::Relaxed);
        (next < self.total()).then_some(next)
    }

    /// The number of units; 0 before `set_total` and after `close`.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Acquire)
    }

    /// Ends the range: claims find it exhausted from here on, since a limit was reached.
    pub fn close(&self) {
        self.total.store(0, Ordering::Release);
    }

    /// The next run for a claimant; `Elsewhere` and `Exhausted` when there is none.
    pub fn claim(&self, near: Near<'_>) -> Claim {
        let total = self.total.load(Ordering::Acquire);
        if let Some(lanes) = self.lanes.get().filter(|_| total > 0) {
            let share = lanes.left() / (2 * parallelism());
            let run = self.run.load(Ordering::Relaxed).min(share.max(1));
            return match lanes.claim(near, run) {
                Found::Units(start, end) => Claim::Order(WorkOrder::new(start, end, self.unit_of_transfer)),
                Found::Elsewhere => Claim::Elsewhere,
                Found::Nothing => Claim::Exhausted,
            };
        }
        let seen = self.next.load(Ordering::Relaxed);
        if seen >= total {
            // Also keeps `next` from creeping towards overflow under repeated claims.
            return Claim::Exhausted;
        }
        let share = (total - seen) / (2 * parallelism());
        let run = self.run.load(Ordering::Relaxed).min(share.max(1));
        let start = self.next.fetch_add(run, Ordering::Relaxed);
        if start >= total {
            return Claim::Exhausted;
        }
        let end = start.saturating_add(run).min(total);
        debug_assert!(start < end && end - start <= self.run_max, "units {start} to {end} of {total}");
        Claim::Order(WorkOrder::new(start, end, self.unit_of_transfer))
    }

    /// Adapts the run length to what an order took; from `Segment::completed`.
    pub fn adapt(&self, completion: &Completion) {
        let units = completion.order.units();
        if units == 0 {
            return;
        }
        let per_unit = (completion.nanoseconds / units).max(1);
        let wanted = (TARGET_NANOSECONDS / per_unit).clamp(1, self.run_max);
        debug_assert!((1..=self.run_max).contains(&wanted), "runs of {wanted} units");
        let run = self.run.load(Ordering::Relaxed);
        // At most four times longer at once, since the first unit may have been an easy one (a
        // skipped block); shorter takes hold at once. A lost race between two workers is harmless.
        self.run.store(wanted.min(run.saturating_mul(4)), Ordering::Relaxed);
    }

    /// The present run length.
    pub fn run(&self) -> u64 {
        self.run.load(Ordering::Relaxed)
    }
}

/// The machine's cores: work is cut for as many workers, whether or not that many are set, which may change at any time.
pub fn parallelism() -> u64 {
    static CORES: OnceLock<u64> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{QueryId, WorkerId};

    fn completion(order: WorkOrder, nanoseconds: u64) -> Completion {
        let (query, worker) = (QueryId(0), WorkerId(0));
        Completion { query, worker, order, rows: 0, bytes: 0, nanoseconds, done: true }
    }

    #[test]
    fn every_unit_is_claimed_once() {
        let range = OrderRange::new(UnitOfTransfer::Vector);
        assert_eq!(range.claim(Near::ANYWHERE), Claim::Exhausted);
        range.set_total(100_000);
        let claimed: Vec<WorkOrder> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut mine = Vec::new();
                        while let Claim::Order(order) = range.claim(Near::ANYWHERE) {
                            range.adapt(&completion(order, 1_000 * order.units()));
                            mine.push(order);
                        }
                        mine
                    })
                })
                .collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        let mut runs: Vec<(u64, u64)> = claimed.iter().map(|order| (order.start, order.end)).collect();
        runs.sort_unstable();
        let mut expected = 0;
        for (start, end) in runs {
            assert_eq!(start, expected);
            assert!(end > start);
            expected = end;
        }
        assert_eq!(expected, 100_000);
        assert_eq!(range.claim(Near::ANYWHERE), Claim::Exhausted);
    }

    #[test]
    fn runs_grow_to_the_target_and_shrink_near_the_end() {
        let range = OrderRange::new(UnitOfTransfer::Block);
        range.set_total(1_000_000);
        for _ in 0..10 {
            let Claim::Order(order) = range.claim(Near::ANYWHERE) else { panic!("exhausted") };
            range.adapt(&completion(order, 1_000 * order.units()));
        }
        assert_eq!(range.run(), 350);
        let mut last = 0;
        while let Claim::Order(order) = range.claim(Near::ANYWHERE) {
            last = order.units();
        }
        assert_eq!(last, 1);
    }

    #[test]
    fn slow_units_are_orders_of_their_own_and_a_closed_range_is_empty() {
        let range = OrderRange::new(UnitOfTransfer::Vector).with_first_run(64);
        range.set_total(100_000);
        range.adapt(&completion(WorkOrder::new(0, 1, UnitOfTransfer::Vector), 10_000_000));
        assert_eq!(range.run(), 1);
        range.close();
        assert_eq!(range.claim(Near::ANYWHERE), Claim::Exhausted);
        let partitions = OrderRange::new(UnitOfTransfer::Vector).with_run_max(1);
        partitions.set_total(64);
        partitions.adapt(&completion(WorkOrder::new(0, 1, UnitOfTransfer::Vector), 1));
        assert_eq!(partitions.run(), 1);
    }
}
