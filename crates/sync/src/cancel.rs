//! The stop signal of one query: who may raise it and how it is seen.
//!
//! One byte goes from 0 (go on) to a reason, once; the first reason stays until [`CancelToken::reset`].
//! [`CancelToken::reason`] is one relaxed load, so it can be asked at every batch. The deadline is
//! a second word that only [`CancelToken::check_clock`] looks at, since reading the clock costs
//! tens of nanoseconds: the scheduler calls it between work orders and every few checks inside.
//!
//! `cancel` is one atomic store: it may be called from a signal handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Why a query should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// Somebody asked for it.
    Cancelled,
    /// Its deadline passed.
    Timeout,
}

const GO_ON: u8 = 0;
const CANCELLED: u8 = 1;
const TIMEOUT: u8 = 2;
const NO_DEADLINE: u64 = u64::MAX;

#[derive(Debug)]
struct State {
    reason: AtomicU8,
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
            reason: AtomicU8::new(GO_ON),
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
        match self.0.reason.load(Ordering::Relaxed) {
            GO_ON => None,
            CANCELLED => Some(StopReason::Cancelled),
            _ => Some(StopReason::Timeout),
        }
    }

    /// Whether to stop. One relaxed load.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.0.reason.load(Ordering::Relaxed) != GO_ON
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
        self.0.reason.store(GO_ON, Ordering::Relaxed);
    }

    fn raise(&self, reason: u8) {
        // A failed exchange means that an earlier reason stands, which is what is wanted.
        let _ = self.0.reason.compare_exchange(GO_ON, reason, Ordering::Relaxed, Ordering::Relaxed);
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
    fn a_far_deadline_does_not_overflow() {
        let token = CancelToken::with_timeout(Duration::from_secs(u64::MAX / 4));
        assert_eq!(token.check_clock(), None);
        assert!(token.time_left().unwrap() > Duration::from_secs(3600));
        token.set_timeout(None);
        assert_eq!(token.time_left(), None);
    }
}
