//! Named connections: a session that several requests share, with its settings and its transaction.
//!
//! One statement of a connection runs at a time, in the order in which they came; those that wait hold no thread.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use engine::{Result, Session, SqlState};

use super::fault::Fault;
use super::jobs;
use crate::executor::Job;
use crate::server::Shared;

/// Connections at a time.
const CONNECTIONS_MAX: usize = 200;
/// Statements of one that wait.
const WAITING_MAX: usize = 100;
/// A connection that nobody has used for so long is gone, and its transaction is taken back.
const IDLE_MAX: Duration = Duration::from_secs(3600);

/// A named connection, or one of a single statement.
#[derive(Default)]
pub struct Connection {
    session: Mutex<Option<Arc<Session>>>,
    line: Mutex<Line>,
}

#[derive(Default)]
struct Line {
    busy: bool,
    waiting: VecDeque<Job>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    /// Its session, which is made at the first call, by a job.
    pub fn session(&self, server: &Shared, role: &str) -> Result<Arc<Session>> {
        let mut session = locked(&self.session);
        if let Some(session) = session.as_ref().filter(|session| !session.is_terminated()) {
            return Ok(session.clone());
        }
        let made = Arc::new(jobs::session(server, role)?);
        *session = Some(made.clone());
        Ok(made)
    }

    /// Has a job run when those before it have ended.
    pub fn submit(self: &Arc<Self>, server: &Arc<Shared>, job: Job) -> std::result::Result<(), Fault> {
        let mut line = locked(&self.line);
        if line.busy {
            if line.waiting.len() >= WAITING_MAX {
                return Err(too_many("too many statements wait for this connection"));
            }
            line.waiting.push_back(job);
            return Ok(());
        }
        jobs::submit(server, self.in_line(server, job))?;
        line.busy = true;
        Ok(())
    }

    /// The job, and behind it the next one.
    fn in_line(self: &Arc<Self>, server: &Arc<Shared>, job: Job) -> Job {
        /// Goes on even when the job has panicked.
        struct Next(Arc<Connection>, Arc<Shared>);
        impl Drop for Next {
            fn drop(&mut self) {
                let mut line = locked(&self.0.line);
                match line.waiting.pop_front() {
                    // It was let in when it came.
                    Some(next) => _ = self.1.executor.submit(true, self.0.in_line(&self.1, next)),
                    None => line.busy = false,
                }
            }
        }
        let next = Next(self.clone(), server.clone());
        Box::new(move || {
            let _next = next;
            job();
        })
    }
}

/// The error for what there are too many of.
pub fn too_many(message: &str) -> Fault {
    let hint = "let some end first";
    Fault::with_hint(StatusCode::SERVICE_UNAVAILABLE, SqlState::ConfigurationLimitExceeded, message, hint)
}

/// All named connections, each of a role.
#[derive(Default)]
pub struct Connections(Mutex<HashMap<(String, String), (Arc<Connection>, Instant)>>);

impl Connections {
    /// A role's connection of this name, or a new one.
    pub fn named(&self, role: &str, name: &str) -> std::result::Result<Arc<Connection>, Fault> {
        let mut connections = locked(&self.0);
        let key = (role.to_owned(), name.to_owned());
        if connections.len() >= CONNECTIONS_MAX && !connections.contains_key(&key) {
            return Err(too_many("there are too many named connections"));
        }
        let (connection, used) = connections.entry(key).or_insert_with(|| (Arc::default(), Instant::now()));
        *used = Instant::now();
        Ok(connection.clone())
    }

    /// Takes out those that were not used for long and that no statement holds.
    pub fn idle(&self) -> Vec<Arc<Connection>> {
        let mut connections = locked(&self.0);
        let is_idle = |connection: &Arc<Connection>, used: &Instant| {
            used.elapsed() > IDLE_MAX && Arc::strong_count(connection) == 1
        };
        connections
            .extract_if(|_, (connection, used)| is_idle(connection, used))
            .map(|(_, (c, _))| c)
            .collect()
    }
}
