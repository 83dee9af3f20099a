//! Fibers: what light tasks are while they run. A fiber is a future in a slab, polled by its locale's worker alone; a
//! switch is a return and an indirect call, and what is saved is what the compiler kept in the future.
//!
//! ```text
//!                    wake                        prefetch issued              W others ran
//!  parked ---------------------> unscheduled ---------------------> scheduled --------------> resident, runs
//!     ^                              ^                                                            |
//!     |                              +---- woken while it ran, or it yields ----------------------+
//!     +------------------------------ polled, waits ----------------------------------------------+
//! ```
//! The pipeline of contexts is the thesis' (Myers 2016, 2.4.2): only what was prefetched `distance` switches ago is run, as
//! long as there are that many. A slot is asked for at twice the distance, since the address of the future lies in it.
//!
//! Invariants: a slot's generation changes when its fiber ends, so that a late wake does nothing; a fiber is in one of the
//! queues exactly when its state says so. A future that waits for something that the runtime does not know (it kept the
//! `Waker`) is *foreign*: all foreign fibers are polled again when any of their wakers was used.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

/// A task's future; it stays at its locale, so it need not be `Send`.
pub(crate) type LocalFuture = Pin<Box<dyn Future<Output = ()>>>;

/// A fiber of one locale; a number that is used again has another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FiberId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl FiberId {
    pub(crate) const NONE: FiberId = FiberId { slot: u32::MAX, generation: 0 };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Ready,
    Running,
    Woken,
    Parked,
}

struct Slot {
    future: Option<LocalFuture>,
    generation: u32,
    state: State,
}

/// How many fibers are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FiberCounts {
    /// All that have begun and not ended.
    pub live: usize,
    /// Ready, in memory only.
    pub unscheduled: usize,
    /// Ready, asked for.
    pub scheduled: usize,
    /// The most that ever lived at one time.
    pub live_peak: usize,
}

/// The fibers of one locale.
pub(crate) struct Fibers {
    slots: Vec<Slot>,
    free: Vec<u32>,
    unscheduled: VecDeque<u32>,
    scheduled: VecDeque<u32>,
    foreign: Vec<FiberId>,
    distance: usize,
    live: usize,
    live_peak: usize,
}

impl Fibers {
    pub(crate) fn new(distance: usize) -> Self {
        Fibers {
            slots: Vec::new(),
            free: Vec::new(),
            unscheduled: VecDeque::new(),
            scheduled: VecDeque::with_capacity(distance + 1),
            foreign: Vec::new(),
            distance,
            live: 0,
            live_peak: 0,
        }
    }

    pub(crate) fn add(&mut self, future: LocalFuture) {
        self.live += 1;
        self.live_peak = self.live_peak.max(self.live);
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(Slot { future: None, generation: 0, state: State::Free });
                (self.slots.len() - 1) as u32
            }
        };
        let place = &mut self.slots[slot as usize];
        (place.future, place.state) = (Some(future), State::Ready);
        self.unscheduled.push_back(slot);
    }

    /// Makes it ready if it waits; nothing, if it is over.
    #[inline]
    pub(crate) fn wake(&mut self, id: FiberId) {
        let Some(slot) = self.slots.get_mut(id.slot as usize) else { return };
        if slot.generation != id.generation {
            return;
        }
        match slot.state {
            State::Parked => {
                slot.state = State::Ready;
                self.unscheduled.push_back(id.slot);
            }
            State::Running => slot.state = State::Woken,
            State::Free | State::Ready | State::Woken => {}
        }
    }

    /// Polls all again whose wakers the runtime does not know.
    pub(crate) fn wake_foreign(&mut self) {
        for id in std::mem::take(&mut self.foreign) {
            self.wake(id);
        }
    }

    #[inline]
    fn schedule_one(&mut self) {
        let Some(slot) = self.unscheduled.pop_front() else { return };
        if let Some(next) = self.unscheduled.get(self.distance) {
            simd::prefetch(&self.slots, *next as usize);
        }
        if let Some(future) = &self.slots[slot as usize].future {
            simd::prefetch_value(future.as_ref().get_ref());
        }
        self.scheduled.push_back(slot);
    }

    /// The fiber that runs next. It is given back with `ended` or `waits`.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(FiberId, LocalFuture)> {
        let slot = if self.distance == 0 {
            self.unscheduled.pop_front()?
        } else {
            while self.scheduled.len() <= self.distance && !self.unscheduled.is_empty() {
                self.schedule_one();
            }
            self.scheduled.pop_front()?
        };
        let place = &mut self.slots[slot as usize];
        place.state = State::Running;
        let future = place.future.take()?;
        Some((FiberId { slot, generation: place.generation }, future))
    }

    /// The fiber that ran is not through; `knows` says whether the runtime will wake it.
    #[inline]
    pub(crate) fn waits(&mut self, id: FiberId, future: LocalFuture, knows: bool) {
        let place = &mut self.slots[id.slot as usize];
        place.future = Some(future);
        if place.state == State::Woken {
            place.state = State::Ready;
            self.unscheduled.push_back(id.slot);
            return;
        }
        place.state = State::Parked;
        if !knows {
            self.foreign.push(id);
        }
    }

    /// The fiber that ran is through.
    pub(crate) fn ended(&mut self, id: FiberId) {
        let place = &mut self.slots[id.slot as usize];
        place.state = State::Free;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(id.slot);
        self.live -= 1;
    }

    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        !self.unscheduled.is_empty() || !self.scheduled.is_empty()
    }

    pub(crate) fn live(&self) -> usize {
        self.live
    }

    pub(crate) fn counts(&self) -> FiberCounts {
        FiberCounts {
            live: self.live,
            unscheduled: self.unscheduled.len(),
            scheduled: self.scheduled.len(),
            live_peak: self.live_peak,
        }
    }

    /// Takes all futures out, to be dropped where no borrow of the locale is held: their destructors may use it.
    pub(crate) fn drain(&mut self) -> Vec<LocalFuture> {
        self.unscheduled.clear();
        self.scheduled.clear();
        self.slots.iter_mut().filter_map(|slot| slot.future.take()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fibers(distance: usize, count: usize) -> Fibers {
        let mut fibers = Fibers::new(distance);
        (0..count).for_each(|_| fibers.add(Box::pin(std::future::pending())));
        fibers
    }

    #[test]
    fn only_those_that_were_asked_for_run_and_in_turn() {
        let mut fibers = fibers(4, 10);
        let counts = fibers.counts();
        assert_eq!((counts.unscheduled, counts.scheduled), (10, 0));
        let mut order = Vec::new();
        for _ in 0..20 {
            let (id, future) = fibers.next().unwrap();
            // While one runs, `distance` others are on their way.
            assert_eq!(fibers.counts().scheduled, 4);
            order.push(id.slot);
            fibers.wake(id);
            fibers.waits(id, future, true);
        }
        assert!(order.iter().copied().eq((0..10).chain(0..10)));
    }

    #[test]
    fn late_wakes_do_nothing_and_slots_are_used_again() {
        let mut fibers = fibers(0, 1);
        let (id, future) = fibers.next().unwrap();
        fibers.waits(id, future, true);
        assert!(fibers.next().is_none());
        fibers.wake(id);
        fibers.wake(id);
        let (same, _) = fibers.next().unwrap();
        assert_eq!(same, id);
        fibers.ended(id);
        fibers.wake(id);
        assert!(fibers.next().is_none());
        fibers.add(Box::pin(std::future::pending()));
        let (other, future) = fibers.next().unwrap();
        assert_eq!((other.slot, other.generation), (id.slot, id.generation + 1));
        fibers.waits(other, future, true);
        fibers.wake(id);
        assert!(!fibers.has_ready());
        assert_eq!((fibers.live(), fibers.counts().live_peak), (1, 1));
    }

    #[test]
    fn foreign_waits_are_polled_again() {
        let mut fibers = fibers(2, 3);
        while let Some((id, future)) = fibers.next() {
            fibers.waits(id, future, id.slot != 1);
        }
        fibers.wake_foreign();
        let (id, _) = fibers.next().unwrap();
        assert_eq!((id.slot, fibers.next().is_none()), (1, true));
    }
}
