//! Calls of the host: what every statement runs under, whatever calls it and however it ends.
//!
//! ```text
//!  called     the session's signal and tick, from the first look at the text (`sync::stop`)
//!   guarded   one statement: its deadline, its query, its trace
//!    caught   a stack that is deep enough; panics, and stopped work that unwinds, end here
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sync::stop;
use types::{Error, Result, SqlState, zone};

use crate::Session;
use crate::run::cancelled;
use crate::session::Tick;
use crate::statement::{self, StatementContext};

impl Session {
    /// Does what the host asks for under the session's signal and deadline, from the first look at a text to the end
    /// of its last statement. The signal is taken back once, when the call begins: raised between two statements, it
    /// ends the next one. Calls inside of a call are a part of it.
    pub(crate) fn called<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        struct Leave<'a>(&'a Session);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                if self.0.calls.fetch_sub(1, Ordering::AcqRel) == 1 {
                    self.0.cancel.set_timeout(None);
                }
            }
        }
        if self.calls.fetch_add(1, Ordering::AcqRel) == 0 {
            self.cancel.reset();
            self.cancel.set_timeout(self.statement_timeout());
        }
        let _leave = Leave(self);
        let (tick, cancel) = (self.tick(), self.cancel.clone());
        let outcome = match tick {
            None => stop::within(&self.cancel, work),
            Some(tick) => {
                let poll = move || {
                    if tick().is_break() {
                        cancel.cancel();
                    }
                };
                stop::within_polled(&self.cancel, Arc::new(poll), work)
            }
        };
        outcome.map_err(|error| self.told_why(error))
    }

    /// Work that sees the signal in its midst knows only that it shall stop; the token knows why.
    fn told_why(&self, error: Error) -> Error {
        match error.state() == SqlState::QueryCanceled {
            true => self.cancel.reason().map_or(error, cancelled),
            false => error,
        }
    }

    /// Whether the calling thread is in the midst of a statement, which asks for another one.
    fn is_inside(&self) -> bool {
        statement::enclosing().is_some() || self.database.shared.scheduler.is_inside_order()
    }

    /// Runs a statement's work, with a deadline of its own.
    pub(crate) fn guarded<T: Send>(
        &self,
        text: &str,
        work: impl FnOnce(&Arc<StatementContext>) -> Result<T> + Send,
    ) -> Result<T> {
        self.called(|| {
            self.follow_role();
            if !self.is_inside() {
                self.cancel.set_timeout(self.statement_timeout());
            }
            let query = self.begin_query(text);
            let trace = self.begin_trace(&query);
            let zone = self.settings().time_zone;
            let work = || {
                let statement = StatementContext::new(query, trace.clone());
                statement::inside(&statement, |statement| zone::within(zone, || work(statement)))
            };
            let outcome = caught(text, work).map_err(|error| self.told_why(error));
            if let Err(error) = &outcome {
                trace.note_failure(error);
            }
            outcome
        })
    }

    /// For work on the calling thread that no work order does: calls the tick, and fails once the statement has been
    /// stopped.
    pub(crate) fn go_on(&self) -> Result<()> {
        self.cancel.pass(stop::Place::Verify);
        if self.tick().is_some_and(|tick| tick().is_break()) {
            self.cancel.cancel();
        }
        self.cancel.check_clock().map_or(Ok(()), |reason| Err(cancelled(reason)))
    }

    /// The tick of a question that planning asks: it ends with this session's statement.
    pub(crate) fn tick_or_cancel(&self) -> Tick {
        let (tick, cancel) = (self.tick(), self.cancel.clone());
        Arc::new(move || match cancel.check_clock() {
            Some(_) => ControlFlow::Break(()),
            None => tick.as_ref().map_or(ControlFlow::Continue(()), |tick| tick()),
        })
    }
}

/// Texts beyond this may nest deeply enough to need a stack of their own.
pub(crate) const LONG_TEXT_BYTES: usize = 8 << 10;
/// Plans of deep expressions are walked by recursion. Pages of the stack that are not touched cost nothing.
const LARGE_STACK_BYTES: usize = 1 << 30;

/// Runs `work` with a stack that is large enough for the text's depth. A broken invariant ends the statement, not the
/// process.
pub(crate) fn caught<T: Send>(text: &str, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let run = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    let outcome = if text.len() > LONG_TEXT_BYTES { with_large_stack(run)? } else { run() };
    outcome.unwrap_or_else(|panic| Err(unwound(&*panic)))
}

/// What a statement says that unwound: it was stopped, or met a broken invariant.
pub(crate) fn unwound(panic: &(dyn std::any::Any + Send)) -> Error {
    if panic.is::<stop::Unwound>() {
        return types::stop::stopped();
    }
    Error::internal(format!("internal error: {}", panic_message(panic)))
        .with_hint("this is a bug; please report it with the statement")
}

/// Runs `work` on a thread with a large stack, and waits for it.
fn with_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    stop::on_stack("statement", LARGE_STACK_BYTES, work)
        .map_err(|e| Error::new(SqlState::OutOfMemory, format!("no stack for a long statement: {e}")))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
        .unwrap_or_else(|| "unknown".to_owned())
}
