//! Asking whether the statement that a thread works for shall stop, with its error as the answer. See `sync::stop`.

pub use sync::stop::{
    Current, Pace as UnwindingPace, Place, Unwound, current, on_stack, spend, unwind_if_stopped,
};

use crate::{Error, Result, SqlState};

/// What work says that stops because its statement does; the session says why.
pub fn stopped() -> Error {
    Error::new(SqlState::QueryCanceled, "canceling statement")
}

/// Fails when the statement shall stop. To be called in each round of a loop that may be long, where a round takes a
/// microsecond or more; [`Pace`] is for shorter ones.
pub fn check(place: Place) -> Result<()> {
    sync::stop::reason(place).map_or(Ok(()), |_| Err(stopped()))
}

/// As [`check`], once every so much work.
#[derive(Debug)]
pub struct Pace(sync::stop::Pace);

impl Pace {
    pub fn new(place: Place) -> Self {
        Pace(sync::stop::Pace::new(place))
    }

    /// So much work comes now, in units of about a nanosecond to ten; fails when the statement shall stop instead.
    #[inline]
    pub fn spend(&mut self, units: usize) -> Result<()> {
        self.0.reason(units).map_or(Ok(()), |_| Err(stopped()))
    }
}
