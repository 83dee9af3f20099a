//! The one limit that all memory is charged to.
//!
//! What a budget sees as used:
//!
//! ```text
//!                       counting allocator installed     not installed (tests, embedding)
//!  block slots          charged by the arena             charged by the arena
//!  everything else      the allocator's live bytes       reservations that are held
//!  reserve(n)           a forecast: is there room for    counted until dropped
//!                       n more? holds nothing, because
//!                       the allocation that follows is
//!                       counted by the allocator
//! ```
//!
//! So nothing is counted twice, and code is written the same way for both: reserve before a large
//! allocation, keep the [`Reservation`] with what it paid for, and call [`Budget::check`] at every
//! batch, which notices what libraries allocated without asking. A forecast is not a promise: two
//! threads may both be told that there is room. The check at the next batch ends one of them; the
//! limit is overshot by at most what all workers allocate within one batch.
//!
//! [`Budget::new`] makes a budget of the second kind in any case, for tests and for shares of the
//! whole; [`Budget::process_wide`] one of the first kind where it can.
//!
//! Before a budget says no, it asks its arenas to give idle slots back to the machine, and then each `Reclaimer` (the
//! pool, with the columns of blocks, which can be read again) to let some memory go.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::arena::Shared;
use crate::{counting, keeping};

/// There is no room: `used + wanted > limit`. All in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetExceeded {
    /// What was asked for; 0 when a check found the limit overshot.
    pub wanted: u64,
    /// What was in use.
    pub used: u64,
    /// The most that may be in use.
    pub limit: u64,
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "memory budget exceeded: {} in use", Megabytes(self.used))?;
        if self.wanted > 0 {
            write!(f, ", {} more wanted", Megabytes(self.wanted))?;
        }
        write!(f, ", limit {}", Megabytes(self.limit))
    }
}

impl std::error::Error for BudgetExceeded {}

/// Bytes shown as megabytes of 1024 x 1024, as a limit of '64MB' is read.
struct Megabytes(u64);

impl fmt::Display for Megabytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} MB", self.0 as f64 / f64::from(1 << 20))
    }
}

/// A holder of memory that it can give back when the budget is short.
pub trait Reclaimer: Send + Sync {
    /// Lets go of at least `bytes`, if there is so much to let go of; returns how many bytes became free or idle. May
    /// write to files. Must not ask the budget for room, nor wait for a lock under which others do.
    fn reclaim(&self, bytes: u64) -> u64;

    /// As `reclaim`, but only of what can be read again without having been written, and only as long as what is left
    /// lets readers go on.
    fn let_go(&self, bytes: u64) -> u64;

    /// About how many bytes `let_go` would find.
    fn spare(&self) -> u64;
}

struct State {
    limit: AtomicU64,
    /// Arena slots, and reservations that are counted.
    counted: AtomicU64,
    peak: AtomicU64,
    with_allocator: bool,
    arenas: Mutex<Vec<Weak<Shared>>>,
    reclaimers: Mutex<Vec<Weak<dyn Reclaimer>>>,
}

/// A shared limit in bytes; clones are the same budget.
#[derive(Clone)]
pub struct Budget(Arc<State>);

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("used", &self.used()).field("limit", &self.limit()).finish()
    }
}

impl Budget {
    /// A budget that counts reservations and its arenas only.
    pub fn new(limit_bytes: u64) -> Self {
        Budget::build(limit_bytes, false)
    }

    /// A budget that counts all that the process allocates, where the counting allocator is
    /// installed; else as [`Budget::new`].
    pub fn process_wide(limit_bytes: u64) -> Self {
        let installed = counting::is_installed();
        if installed {
            keeping::keep_below(limit_bytes);
        }
        Budget::build(limit_bytes, installed)
    }

    /// A budget without a limit.
    pub fn unlimited() -> Self {
        Budget::new(u64::MAX)
    }

    fn build(limit_bytes: u64, with_allocator: bool) -> Self {
        Budget(Arc::new(State {
            limit: AtomicU64::new(limit_bytes),
            counted: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            with_allocator,
            arenas: Mutex::new(Vec::new()),
            reclaimers: Mutex::new(Vec::new()),
        }))
    }

    /// The limit in bytes.
    #[inline]
    pub fn limit(&self) -> u64 {
        self.0.limit.load(Relaxed)
    }

    /// Changes the limit. What is in use stays; the next reserve or check sees it.
    pub fn set_limit(&self, limit_bytes: u64) {
        self.0.limit.store(limit_bytes, Relaxed);
        if self.0.with_allocator {
            keeping::keep_below(limit_bytes);
        }
    }

    /// Bytes in use.
    #[inline]
    pub fn used(&self) -> u64 {
        self.held() + if self.0.with_allocator { keeping::lost() } else { 0 }
    }

    /// As `used`, without what the allocator has lost: that refuses growth, and does not end a statement that stays within
    /// what it was granted.
    #[inline]
    fn held(&self) -> u64 {
        let counted = self.0.counted.load(Relaxed);
        if self.0.with_allocator { counted + counting::allocated_bytes() } else { counted }
    }

    /// The most bytes that were ever in use (since [`crate::reset_peaks`], if process-wide).
    pub fn peak(&self) -> u64 {
        let seen = if self.0.with_allocator { counting::peak_bytes() } else { self.0.peak.load(Relaxed) };
        seen.max(self.used())
    }

    /// Bytes left before the limit.
    pub fn available(&self) -> u64 {
        self.limit().saturating_sub(self.used())
    }

    /// Asks for room for `bytes` more.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, BudgetExceeded> {
        let mut reservation = self.reservation();
        reservation.grow(bytes)?;
        Ok(reservation)
    }

    /// A reservation of nothing, to be grown.
    pub fn reservation(&self) -> Reservation {
        Reservation { budget: self.clone(), bytes: 0 }
    }

    /// Whether the limit holds now. Three relaxed loads; called at every batch.
    #[inline]
    pub fn check(&self) -> Result<(), BudgetExceeded> {
        if self.held() <= self.limit() { Ok(()) } else { self.check_again() }
    }

    #[cold]
    fn check_again(&self) -> Result<(), BudgetExceeded> {
        self.make_room(0);
        let (used, limit) = (self.held(), self.limit());
        if used <= limit { Ok(()) } else { Err(BudgetExceeded { wanted: 0, used, limit }) }
    }

    /// Gives idle slots of this budget's arenas back to the machine; returns how many bytes.
    pub fn reclaim(&self) -> u64 {
        // Outside the lock: the last reference to an arena may end here.
        self.arenas().iter().map(|arena| arena.trim()).sum()
    }

    /// As `reclaim`, and then evicts, until there is room for `bytes` more or nothing is left to evict.
    fn make_room(&self, bytes: u64) {
        if self.0.with_allocator {
            // What was lost may have been found meanwhile.
            keeping::look();
        }
        loop {
            self.reclaim();
            let missing = self.used().saturating_add(bytes).saturating_sub(self.limit());
            // What can never fit is not worth losing everything for.
            if missing == 0 || bytes > self.limit() || self.evict(missing) == 0 {
                return;
            }
        }
    }

    /// Makes room for `bytes` more within `below`: by giving idle slots back and, where those are not enough, by
    /// evicting what can be read again without having been written. Whether there is that room in the end.
    pub fn make_room_below(&self, bytes: u64, below: u64) -> bool {
        loop {
            let missing = self.used().saturating_add(bytes).saturating_sub(below);
            if missing == 0 {
                return true;
            }
            let freed = self.reclaim();
            if freed < missing && (bytes > below || self.ask(missing - freed, |r, n| r.let_go(n)) == 0) {
                return self.used().saturating_add(bytes) <= below;
            }
        }
    }

    /// Asks the reclaimers for `bytes`; returns what they let go of, which is idle in some arena now.
    pub(crate) fn evict(&self, bytes: u64) -> u64 {
        self.ask(bytes, |reclaimer, bytes| reclaimer.reclaim(bytes))
    }

    /// About how much of what is in use would make room for others at the cost of reading it again.
    pub fn spare(&self) -> u64 {
        self.reclaimers().iter().map(|reclaimer| reclaimer.spare()).sum()
    }

    fn reclaimers(&self) -> Vec<Arc<dyn Reclaimer>> {
        let mut reclaimers = self.0.reclaimers.lock().unwrap_or_else(PoisonError::into_inner);
        reclaimers.retain(|reclaimer| reclaimer.strong_count() > 0);
        reclaimers.iter().filter_map(Weak::upgrade).collect()
    }

    fn ask(&self, bytes: u64, from: impl Fn(&dyn Reclaimer, u64) -> u64) -> u64 {
        let mut evicted = 0u64;
        for reclaimer in self.reclaimers() {
            if evicted < bytes {
                evicted += from(&*reclaimer, bytes - evicted);
            }
        }
        evicted
    }

    /// Registers a reclaimer, which is asked for memory before the budget says no, until it is dropped.
    pub fn add_reclaimer(&self, reclaimer: Weak<dyn Reclaimer>) {
        self.0.reclaimers.lock().unwrap_or_else(PoisonError::into_inner).push(reclaimer);
    }

    pub(crate) fn trim_arenas_but(&self, own: &Arc<Shared>) {
        self.arenas().iter().filter(|arena| !Arc::ptr_eq(arena, own)).for_each(|arena| _ = arena.trim());
    }

    fn arenas(&self) -> Vec<Arc<Shared>> {
        let mut arenas = self.0.arenas.lock().unwrap_or_else(PoisonError::into_inner);
        arenas.retain(|arena| arena.strong_count() > 0);
        arenas.iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn attach(&self, arena: &Arc<Shared>) {
        let mut arenas = self.0.arenas.lock().unwrap_or_else(PoisonError::into_inner);
        arenas.push(Arc::downgrade(arena));
    }

    /// Counts `bytes` if there is room. Does not reclaim.
    pub(crate) fn charge(&self, bytes: u64) -> Result<(), BudgetExceeded> {
        let state = &*self.0;
        let limit = self.limit();
        let base = if state.with_allocator { counting::allocated_bytes() + keeping::lost() } else { 0 };
        let fits = |counted: u64| {
            let sum = counted.checked_add(bytes)?;
            (sum.checked_add(base)? <= limit).then_some(sum)
        };
        match state.counted.fetch_update(Relaxed, Relaxed, fits) {
            Ok(before) => {
                state.peak.fetch_max(before + bytes, Relaxed);
                Ok(())
            }
            Err(counted) => Err(BudgetExceeded { wanted: bytes, used: counted.saturating_add(base), limit }),
        }
    }

    pub(crate) fn uncharge(&self, bytes: u64) {
        self.0.counted.fetch_sub(bytes, Relaxed);
    }

    /// Is there room for `bytes` more, without counting them?
    fn forecast(&self, bytes: u64) -> Result<(), BudgetExceeded> {
        let (used, limit) = (self.used(), self.limit());
        match used.checked_add(bytes) {
            Some(sum) if sum <= limit => Ok(()),
            _ => Err(BudgetExceeded { wanted: bytes, used, limit }),
        }
    }
}

/// Room in a budget, held until dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    bytes: u64,
}

impl Reservation {
    /// Bytes reserved.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The budget that it holds room in.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Asks for `more` bytes on top; on failure the reservation stays as it was.
    pub fn grow(&mut self, more: u64) -> Result<(), BudgetExceeded> {
        if more == 0 {
            return Ok(());
        }
        let ask = |budget: &Budget| match budget.0.with_allocator {
            true => budget.forecast(more),
            false => budget.charge(more),
        };
        if ask(&self.budget).is_err() {
            self.budget.make_room(more);
            ask(&self.budget)?;
        }
        self.bytes += more;
        Ok(())
    }

    /// Gives `less` bytes back (at most all).
    pub fn shrink(&mut self, less: u64) {
        let less = less.min(self.bytes);
        self.bytes -= less;
        if !self.budget.0.with_allocator {
            self.budget.uncharge(less);
        }
    }

    /// Grows or shrinks to `bytes`.
    pub fn resize(&mut self, bytes: u64) -> Result<(), BudgetExceeded> {
        if bytes >= self.bytes {
            self.grow(bytes - self.bytes)
        } else {
            self.shrink(self.bytes - bytes);
            Ok(())
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_count_until_dropped() {
        let budget = Budget::new(1_000);
        let mut first = budget.reserve(600).unwrap();
        assert_eq!(budget.reserve(500).unwrap_err(), BudgetExceeded { wanted: 500, used: 600, limit: 1_000 });
        first.shrink(200);
        let second = budget.reserve(500).unwrap();
        assert_eq!((budget.used(), budget.available()), (900, 100));
        assert!(first.grow(101).is_err());
        assert_eq!(first.bytes(), 400);
        first.resize(0).unwrap();
        drop(second);
        assert_eq!((budget.used(), budget.peak()), (0, 900));
        assert!(budget.reserve(u64::MAX).is_err());
    }

    #[test]
    fn a_lowered_limit_is_seen_by_the_check() {
        let budget = Budget::new(1_000);
        let held = budget.reserve(800).unwrap();
        assert!(budget.check().is_ok());
        budget.set_limit(700);
        let error = budget.check().unwrap_err();
        assert_eq!(error.to_string(), "memory budget exceeded: 0.0 MB in use, limit 0.0 MB");
        drop(held);
        assert!(budget.check().is_ok());
    }

    #[test]
    fn concurrent_reservations_never_exceed_the_limit() {
        let budget = Budget::new(10_000);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        if let Ok(held) = budget.reserve(3_000) {
                            assert!(budget.used() <= 10_000);
                            drop(held);
                        }
                    }
                });
            }
        });
        assert_eq!(budget.used(), 0);
        assert!(budget.peak() <= 9_000);
    }

    /// Pretends to hold memory for which a reservation stands.
    struct Cache(Mutex<Reservation>);

    impl Reclaimer for Cache {
        fn reclaim(&self, bytes: u64) -> u64 {
            let mut held = self.0.lock().unwrap();
            let less = bytes.min(held.bytes());
            held.shrink(less);
            less
        }
        fn let_go(&self, bytes: u64) -> u64 {
            self.reclaim(bytes.min(self.spare()))
        }
        fn spare(&self) -> u64 {
            self.0.lock().unwrap().bytes() / 2
        }
    }

    #[test]
    fn room_is_made_of_what_is_read_again_and_no_more_than_that() {
        let budget = Budget::new(1_000);
        let cache = Arc::new(Cache(Mutex::new(budget.reserve(900).unwrap())));
        let as_reclaimer: Arc<dyn Reclaimer> = cache.clone();
        budget.add_reclaimer(Arc::downgrade(&as_reclaimer));
        drop(as_reclaimer);
        assert!(budget.make_room_below(100, 1_000));
        assert_eq!(cache.0.lock().unwrap().bytes(), 900, "there was room");
        assert!(budget.make_room_below(300, 800));
        assert_eq!(cache.0.lock().unwrap().bytes(), 500);
        assert!(!budget.make_room_below(900, 800), "can never be");
        assert_eq!(cache.0.lock().unwrap().bytes(), 500);
    }

    #[test]
    fn what_can_be_evicted_makes_room() {
        let budget = Budget::new(1_000);
        let cache = Arc::new(Cache(Mutex::new(budget.reserve(900).unwrap())));
        let as_reclaimer: Arc<dyn Reclaimer> = cache.clone();
        budget.add_reclaimer(Arc::downgrade(&as_reclaimer));
        drop(as_reclaimer);
        let first = budget.reserve(300).unwrap();
        assert_eq!((cache.0.lock().unwrap().bytes(), budget.used()), (700, 1_000));
        assert!(budget.reserve(1_001).is_err());
        assert_eq!(cache.0.lock().unwrap().bytes(), 700, "nothing is evicted for what can never fit");
        budget.set_limit(400);
        assert!(budget.check().is_ok());
        assert_eq!(cache.0.lock().unwrap().bytes(), 100);
        assert!(budget.reserve(200).is_err());
        drop((first, cache));
        assert!(budget.reserve(400).is_ok());
    }
}
