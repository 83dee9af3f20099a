//! Checks whether the statement that a thread works for is to stop, with an error as the answer. See `sync::stop`.

pub use sync::stop::{
    Current, Pace as UnwindingPace, Place, Unwound, current, on_stack, spend, unwind_if_stopped,
};

use crate::{Error, Result, SqlState};

/// The error of work that stops with its statement; the session replaces it by one that names the reason.
pub fn stopped() -> Error {
    Error::new(SqlState::QueryCanceled, "canceling statement")
}

/// Fails when the statement is to stop. Call it in each round of a loop that may be long and whose rounds take a
/// microsecond or more; [`Pace`] is for shorter rounds.
pub fn check(place: Place) -> Result<()> {
    sync::stop::reason(place).map_or(Ok(()), |_| Err(stopped()))
}

/// Calls [`check`] once per so much work, for loops with short rounds.
#[derive(Debug)]
pub struct Pace(sync::stop::Pace);

impl Pace {
    /// A pace that has spent nothing; `place` names the loop, for tests that delay there.
    pub fn new(place: Place) -> Self {
        Pace(sync::stop::Pace::new(place))
    }

    /// Accounts for work that comes next, in units of one to ten nanoseconds; fails when the statement is to stop.
    #[inline]
    pub fn spend(&mut self, units: usize) -> Result<()> {
        self.0.reason(units).map_or(Ok(()), |_| Err(stopped()))
    }
}
