//! The scheduler's clock: nanoseconds since it was made. The simulator sets its own.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// How often a waiting caller polls its cancel token: raising the token does not wake the caller.
pub(crate) const POLL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) enum Clock {
    Real(Instant),
    /// Stands where it was set.
    #[cfg_attr(not(test), allow(dead_code, reason = "the simulator is a test"))]
    Virtual(AtomicU64),
}

impl Clock {
    pub(crate) fn new() -> Self {
        Clock::Real(Instant::now())
    }

    pub(crate) fn now(&self) -> u64 {
        match self {
            // 584 years fit.
            Clock::Real(base) => base.elapsed().as_nanos() as u64,
            Clock::Virtual(now) => now.load(SeqCst),
        }
    }

    #[cfg(test)]
    pub(crate) fn set(&self, nanoseconds: u64) {
        if let Clock::Virtual(now) = self {
            now.store(nanoseconds, SeqCst);
        }
    }
}
