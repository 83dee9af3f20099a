//! Statements of HTTP's clients as jobs on the server's executor.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::http::StatusCode;
use engine::{Result, Session, SqlState};

use super::fault::Fault;
use crate::executor::Job;
use crate::server::Shared;

/// Stops a statement, whether it waits, is planned, runs or sends.
#[derive(Clone, Default)]
pub struct Cancel(Arc<State>);

#[derive(Default)]
struct State {
    raised: AtomicBool,
    session: Mutex<Weak<Session>>,
}

impl Cancel {
    /// From now on the session's statements look at this.
    pub fn watch(&self, session: &Arc<Session>) {
        *self.0.session.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(session);
        let state = self.0.clone();
        session.set_tick(move || match state.raised.load(Ordering::Acquire) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        // Rows that are streamed are of no call of the session.
        let own = self.clone();
        session.set_signals(move |_| {
            own.raise();
            true
        });
    }

    /// The statement has ended: what the session does from now on is not stopped.
    pub fn forget(&self) {
        *self.0.session.lock().unwrap_or_else(PoisonError::into_inner) = Weak::new();
    }

    /// Stops it.
    pub fn raise(&self) {
        self.0.raised.store(true, Ordering::Release);
        // Held until the session is told, so that it has not gone on to another statement.
        let session = self.0.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = session.upgrade() {
            session.interrupt();
        }
    }

    /// Whether it was stopped.
    pub fn is_raised(&self) -> bool {
        self.0.raised.load(Ordering::Acquire)
    }
}

/// Stops a statement when nobody waits for it any more.
pub struct CancelOnDrop(Option<Cancel>);

impl CancelOnDrop {
    /// Of this statement.
    pub fn new(cancel: &Cancel) -> CancelOnDrop {
        CancelOnDrop(Some(cancel.clone()))
    }

    /// Somebody else sees to it from now on.
    pub fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(cancel) = &self.0 {
            cancel.raise();
        }
    }
}

/// Hands a job to the executor, or tells that there are too many.
pub fn submit(server: &Shared, job: Job) -> std::result::Result<(), Fault> {
    server.executor.submit(false, job).map_err(|_| {
        Fault::with_hint(
            StatusCode::SERVICE_UNAVAILABLE,
            SqlState::ConfigurationLimitExceeded,
            "too many statements wait to be executed",
            "try again later, or raise queued_statements_max",
        )
    })
}

/// A session of a role, with the settings that the server has sessions begin with.
pub fn session(server: &Shared, role: &str) -> Result<Session> {
    crate::server::session(server, role, &[])
}
