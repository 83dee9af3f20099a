//! The stop signal of one query: how it is raised and how it is seen.
//!
//! ```text
//!  byte of the state      bits 0 and 1: the reason, 0 to go on; set once, it stays until [`CancelToken::reset`]
//!                         bit 2: a test delays places of the work ([`CancelToken::delay`])
//! ```
//! [`CancelToken::reason`] is one relaxed load, so it can be asked at every batch. The deadline is
//! a second word that only [`CancelToken::check_clock`] looks at, since reading the clock costs
//! tens of nanoseconds: the scheduler calls it between work orders and every few checks inside.
//!
//! `cancel` is one atomic step: it may be called from a signal handler.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::stop::Place;

/// Why a query should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// A caller asked for it.
    Cancelled,
    /// Its deadline passed.
    Timeout,
}

const GO_ON: u8 = 0;
const CANCELLED: u8 = 1;
const TIMEOUT: u8 = 2;
const REASON: u8 = CANCELLED | TIMEOUT;
const DELAYED: u8 = 4;
const NO_DEADLINE: u64 = u64::MAX;

/// What a test has the work meet at a place.
#[derive(Clone, Copy, Debug)]
struct Delay {
    place: Place,
    pause: Duration,
    /// Times that the place was passed.
    passed: u64,
}

#[derive(Debug)]
struct State {
    flags: AtomicU8,
    delay: Mutex<Option<Delay>>,
    /// Nanoseconds after `base`.
    deadline: AtomicU64,
    base: Instant,
}

/// A shared stop signal; clones are the same signal.
#[derive(Clone, Debug)]
pub struct CancelToken(Arc<State>);

impl Default for CancelToken {
    fn default() -> Self {
        CancelToken::new()
    }
}

impl CancelToken {
    /// A signal that is not raised and has no deadline.
    pub fn new() -> Self {
        CancelToken(Arc::new(State {
            flags: AtomicU8::new(GO_ON),
            delay: Mutex::new(None),
            deadline: AtomicU64::new(NO_DEADLINE),
            base: Instant::now(),
        }))
    }

    /// A signal that raises itself after `timeout`.
    pub fn with_timeout(timeout: Duration) -> Self {
        let token = CancelToken::new();
        token.set_timeout(Some(timeout));
        token
    }

    /// Raises the signal. The first reason stays.
    pub fn cancel(&self) {
        self.raise(CANCELLED);
    }

    /// Sets or clears the deadline, counted from now.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        let deadline = timeout.map_or(NO_DEADLINE, |timeout| nanoseconds(self.0.base.elapsed() + timeout));
        self.0.deadline.store(deadline, Ordering::Relaxed);
    }

    /// Why to stop, if at all. One relaxed load; does not look at the clock.
    #[inline]
    pub fn reason(&self) -> Option<StopReason> {
        match self.0.flags.load(Ordering::Relaxed) & REASON {
            GO_ON => None,
            CANCELLED => Some(StopReason::Cancelled),
            _ => Some(StopReason::Timeout),
        }
    }

    /// Whether to stop. One relaxed load.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.0.flags.load(Ordering::Relaxed) & REASON != GO_ON
    }

    /// As [`CancelToken::reason`], but raises the signal first if the deadline has passed.
    pub fn check_clock(&self) -> Option<StopReason> {
        let deadline = self.0.deadline.load(Ordering::Relaxed);
        if deadline != NO_DEADLINE && nanoseconds(self.0.base.elapsed()) >= deadline {
            self.raise(TIMEOUT);
        }
        self.reason()
    }

    /// The time left, if there is a deadline.
    pub fn time_left(&self) -> Option<Duration> {
        let deadline = self.0.deadline.load(Ordering::Relaxed);
        (deadline != NO_DEADLINE)
            .then(|| Duration::from_nanos(deadline.saturating_sub(nanoseconds(self.0.base.elapsed()))))
    }

    /// Takes signal and deadline back, for a session that uses one token for one statement after
    /// the other. The caller makes sure that no query runs under it.
    pub fn reset(&self) {
        self.0.deadline.store(NO_DEADLINE, Ordering::Relaxed);
        self.0.flags.fetch_and(DELAYED, Ordering::Relaxed);
    }

    /// For tests: work under this signal that passes `place` sleeps there for `pause` before it looks at the signal, as if
    /// what it did were slow. One place at a time; `None` takes the delay back. Work that is not delayed pays nothing for
    /// it, since the same byte says both.
    pub fn delay(&self, delay: Option<(Place, Duration)>) {
        let mut held = self.0.delay.lock().unwrap_or_else(PoisonError::into_inner);
        *held = delay.map(|(place, pause)| Delay { place, pause, passed: 0 });
        match *held {
            Some(_) => self.0.flags.fetch_or(DELAYED, Ordering::Relaxed),
            None => self.0.flags.fetch_and(REASON, Ordering::Relaxed),
        };
    }

    /// How often the delayed place was passed.
    pub fn passed(&self) -> u64 {
        self.0.delay.lock().unwrap_or_else(PoisonError::into_inner).map_or(0, |delay| delay.passed)
    }

    /// The same delay for work under another signal, as that of a stream of rows.
    pub fn delay_as(&self, other: &CancelToken) {
        if other.0.flags.load(Ordering::Relaxed) & DELAYED != 0 {
            let held = *other.0.delay.lock().unwrap_or_else(PoisonError::into_inner);
            self.delay(held.map(|delay| (delay.place, delay.pause)));
        }
    }

    /// The work passes `place`.
    #[inline]
    pub fn pass(&self, place: Place) {
        if self.0.flags.load(Ordering::Relaxed) & DELAYED != 0 {
            self.pass_delayed(place);
        }
    }

    #[cold]
    fn pass_delayed(&self, place: Place) {
        let mut held = self.0.delay.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(delay) = held.as_mut().filter(|delay| delay.place == place) else { return };
        delay.passed += 1;
        let pause = delay.pause;
        drop(held);
        std::thread::sleep(pause);
    }

    fn raise(&self, reason: u8) {
        // An earlier reason stands.
        let raised = |flags: u8| (flags & REASON == GO_ON).then_some(flags | reason);
        let _ = self.0.flags.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raised);
    }
}

/// Saturating: 584 years are as good as never, and below `NO_DEADLINE`.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).min(NO_DEADLINE - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_stays_until_reset() {
        let token = CancelToken::with_timeout(Duration::ZERO);
        assert_eq!(token.reason(), None);
        assert_eq!(token.check_clock(), Some(StopReason::Timeout));
        token.cancel();
        assert_eq!(token.reason(), Some(StopReason::Timeout));
        token.reset();
        assert_eq!(token.check_clock(), None);
        token.clone().cancel();
        assert_eq!(token.reason(), Some(StopReason::Cancelled));
        assert!(token.is_stopped());
    }

    #[test]
    fn a_delay_is_met_at_its_place_and_says_nothing_of_stopping() {
        let token = CancelToken::new();
        token.delay(Some((Place::Bind, Duration::from_millis(5))));
        let begun = Instant::now();
        (0..4).for_each(|_| token.pass(Place::Bind));
        assert!(begun.elapsed() >= Duration::from_millis(20));
        (0..1000).for_each(|_| token.pass(Place::Batch));
        assert_eq!((token.passed(), token.reason()), (4, None));
        token.cancel();
        token.reset();
        let other = CancelToken::new();
        other.delay_as(&token);
        other.pass(Place::Bind);
        assert_eq!((other.passed(), token.passed(), token.is_stopped()), (1, 4, false));
        token.delay(None);
        token.pass(Place::Bind);
        assert_eq!(token.passed(), 0);
    }

    #[test]
    fn a_far_deadline_does_not_overflow() {
        let token = CancelToken::with_timeout(Duration::from_secs(u64::MAX / 4));
        assert_eq!(token.check_clock(), None);
        assert!(token.time_left().unwrap() > Duration::from_secs(3600));
        token.set_timeout(None);
        assert_eq!(token.time_left(), None);
    }
}
