//! What the calls of Flight share: tokens, handles of what lasts, a bound on streams; and how a call's work runs.
//!
//! A call runs on a session of its own or on its transaction's, as a job of the executor ([`Flight::run`]); a job whose call
//! is dropped is cancelled.

use std::sync::Arc;

use engine::{Error, Result, Session};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

use super::handles::{Handles, Id, id_of};
use super::rows;
use super::sessions::{self, Options, Sessions};
use super::status::{refused, refused_with, status};
use super::tokens::Tokens;
use crate::http::Http;
use crate::http::connections::Connection;
use crate::http::jobs::{Cancel, CancelOnDrop};

/// Calls at a time whose clients may keep a thread waiting: those that send rows, and those that take them.
const STREAMS_MAX: usize = 500;

/// As whom a call comes in, and the session that it belongs to.
#[derive(Clone)]
pub struct Caller {
    /// The role.
    pub role: String,
    /// The secret of the caller's session, where there is one.
    pub session: Option<String>,
    /// Its options.
    pub options: Arc<Options>,
}

/// What the calls share.
pub struct Flight {
    streams: Arc<Semaphore>,
    pub(super) http: Arc<Http>,
    pub(super) tokens: Tokens,
    pub(super) sessions: Sessions,
    pub(super) handles: Arc<Handles>,
    pub(super) runtime: Handle,
}

/// Where a statement runs, and what stops it.
pub(super) struct Place {
    pub(super) role: String,
    pub(super) connection: Arc<Connection>,
    pub(super) cancel: Cancel,
    pub(super) transaction: Option<Id>,
    /// Of the caller's session; a transaction has had those of its beginning.
    options: Arc<Options>,
}

impl Flight {
    /// What calls of a server share. To be made inside of its runtime.
    pub fn new(http: &Arc<Http>) -> Flight {
        Flight {
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            http: http.clone(),
            tokens: Tokens::default(),
            sessions: Sessions::default(),
            handles: Arc::default(),
            runtime: Handle::current(),
        }
    }

    /// Lets go of what nobody has used for long.
    pub fn sweep(&self) {
        self.tokens.sweep();
        self.sessions.sweep();
        let gone = self.handles.sweep();
        // A session's end takes its transaction back.
        _ = self.http.server.openings.submit(true, Box::new(move || drop(gone)));
    }

    /// A place among the calls that send or take rows.
    pub(super) fn stream_place(&self) -> std::result::Result<OwnedSemaphorePermit, Status> {
        self.streams.clone().try_acquire_owned().map_err(|_| {
            let message = "there are too many streams of rows";
            refused_with(engine::SqlState::ConfigurationLimitExceeded, message, "let some end first")
        })
    }

    /// Where a call's statement runs: in its transaction, or on a session of its own.
    pub(super) fn place(
        &self,
        caller: &Caller,
        transaction: Option<&[u8]>,
    ) -> std::result::Result<Place, Status> {
        let transaction = transaction.filter(|id| !id.is_empty()).map(id_of).transpose()?;
        let connection = match transaction {
            Some(id) => self.handles.transaction(&caller.role, id)?,
            None => Arc::default(),
        };
        let options = match transaction {
            Some(_) => Arc::default(),
            None => caller.options.clone(),
        };
        Ok(Place { role: caller.role.clone(), connection, cancel: Cancel::default(), transaction, options })
    }

    /// Runs work on a place's session, as a job, and waits for what comes of it. Dropped, it cancels the work. `sql` is the
    /// text that errors are about.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        place: &Place,
        sql: &str,
        work: impl FnOnce(&Arc<Session>) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, Status> {
        let (sender, done) = tokio::sync::oneshot::channel();
        let (server, connection) = (self.http.server.clone(), place.connection.clone());
        let (role, cancel, options) = (place.role.clone(), place.cancel.clone(), place.options.clone());
        let waiting = CancelOnDrop::new(&place.cancel);
        let job = move || {
            let outcome = connection.session(&server, &role).and_then(|session| {
                cancel.watch(&session);
                if cancel.is_raised() {
                    return Err(rows::cancelled());
                }
                let outcome = sessions::apply(&session, &options).and_then(|()| work(&session));
                cancel.forget();
                outcome
            });
            _ = sender.send(outcome);
        };
        place.connection.submit(&self.http.server, Box::new(job)).map_err(|_| {
            let error = Error::new(
                engine::SqlState::ConfigurationLimitExceeded,
                "too many statements wait to be executed",
            );
            status(&error.with_hint("try again later, or raise queued_statements_max"), "")
        })?;
        let outcome = done.await;
        waiting.disarm();
        let outcome = outcome
            .map_err(|_| refused(engine::SqlState::Internal, "the statement ended without an answer"))?;
        outcome.map_err(|error| status(&error, sql))
    }
}
