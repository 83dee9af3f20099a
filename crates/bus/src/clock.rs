//! What time it is, for send times and deadlines: the machine's clock, or one that tests move.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::message::Timestamp;

/// The source of send times and of the moment that deadlines are compared with.
pub trait Clock: Debug + Send + Sync {
    /// The time at this moment.
    fn now(&self) -> Timestamp;
}

/// The machine's clock. Deadlines of a durable bus outlive its process, so this is the time of day.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(since.as_secs() * 1_000_000 + u64::from(since.subsec_micros()))
    }
}

/// A clock that stands until it is moved.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that shows `now` until [`ManualClock::advance`] moves it.
    pub fn at(now: Timestamp) -> Self {
        ManualClock(AtomicU64::new(now.0))
    }
    /// Moves the clock forward; fractions of a microsecond are lost.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_micros() as u64, SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(SeqCst))
    }
}
