//! A call of a session, from its cancel token and tick to its error.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sync::stop;
use types::{Error, Result, SqlState, zone};

use super::caught;
use crate::run::cancelled;
use crate::session::Tick;
use crate::statement::StatementContext;
use crate::{Session, statement};

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
                    self.0.settle_presence();
                }
            }
        }
        if self.calls.fetch_add(1, Ordering::AcqRel) == 0 {
            self.cancel.reset();
            self.cancel.set_timeout(self.statement_timeout());
            self.apply_configured();
        }
        let _leave = Leave(self);
        self.presence.refuse_terminated()?;
        let outcome = match self.poll() {
            None => stop::within(&self.cancel, work),
            Some(poll) => stop::within_polled(&self.cancel, poll, work),
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
    pub(crate) fn is_inside(&self) -> bool {
        statement::is_inside() || self.database.shared.scheduler.is_inside_order()
    }

    /// Runs a statement's work, with a deadline of its own.
    pub(crate) fn guarded<T: Send>(
        &self,
        text: &str,
        work: impl FnOnce(&Arc<StatementContext>) -> Result<T> + Send,
    ) -> Result<T> {
        self.called(|| {
            self.follow_role();
            self.refuse_dropped_role()?;
            if !self.is_inside() {
                self.cancel.set_timeout(self.statement_timeout());
            }
            let query = self.begin_query(text);
            let masked = query.text().clone();
            if !self.is_inside() {
                self.presence.begin(&query);
            }
            let trace = self.begin_trace(&query);
            let zone = self.settings().time_zone;
            let work = || {
                let statement = StatementContext::new(query, trace.clone());
                statement::inside(|| zone::within(zone, || work(&statement)))
            };
            let outcome = caught(text, work).map_err(|error| self.told_why(error));
            if let Err(error) = &outcome {
                trace.note_failure(error);
                self.tell_refusal(&masked, error);
                // What set_config was called for is taken back with the rest.
                self.presence.take_configured();
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
