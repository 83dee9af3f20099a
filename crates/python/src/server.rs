//! The program's own database as a server: what `quickstep.serve` starts (crate `server`, `local`).
//!
//! The server's sessions are the database's, so that it stays open as long as it is served, whatever becomes of the
//! connection that it was started from. Threads of the server call functions of the program, for which they need the
//! interpreter: it is let go of while the server is waited for.

use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::Database;
use pyo3::prelude::*;
use server::{Local, LocalHttp, LocalOptions};

use crate::interpreter::{Error, raise, unlocked};
use crate::shared::Ticket;

/// A server over a database of this process.
#[pyclass(module = "quickstep", frozen)]
pub struct LocalServer {
    /// `None` once it was stopped.
    local: Mutex<Option<(Local, Ticket)>>,
    #[pyo3(get)]
    port: u16,
    #[pyo3(get)]
    dsn: String,
    #[pyo3(get)]
    user: String,
    #[pyo3(get)]
    password: Option<String>,
    #[pyo3(get)]
    http_port: Option<u16>,
    #[pyo3(get)]
    token: Option<String>,
    #[pyo3(get)]
    page: Option<String>,
    process: u32,
}

/// What a program says of its server.
pub struct Wanted {
    pub port: Option<u16>,
    pub http: bool,
    pub http_port: Option<u16>,
    pub password: Option<String>,
    pub trust: bool,
    pub socket: Option<String>,
}

impl LocalServer {
    /// Serves a database; the ticket keeps it open.
    pub fn start(py: Python<'_>, database: &Database, ticket: Ticket, wanted: Wanted) -> PyResult<Self> {
        let options = LocalOptions {
            port: wanted.port,
            http: wanted.http.then_some(LocalHttp { port: wanted.http_port }),
            password: wanted.password,
            trust: wanted.trust,
            socket_directory: wanted.socket.map(Into::into),
        };
        let local = py.detach(|| Local::start(database, options)).map_err(|error| raise(py, &error, ""))?;
        Ok(LocalServer {
            port: local.port(),
            dsn: local.dsn(),
            user: local.user().to_owned(),
            password: local.password().map(str::to_owned),
            http_port: local.http().map(|http| http.port),
            token: local.http().map(|http| http.token.clone()),
            page: local.page(),
            local: Mutex::new(Some((local, ticket))),
            process: std::process::id(),
        })
    }

    fn local(&self) -> MutexGuard<'_, Option<(Local, Ticket)>> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_process(&self) -> PyResult<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => {
                Err(Error::new_err("this server was started before a fork; it runs in the parent process"))
            }
        }
    }
}

#[pymethods]
impl LocalServer {
    /// How many connections there are.
    fn connections(&self) -> usize {
        self.local().as_ref().map_or(0, |(local, _)| local.connections())
    }

    /// Whether it serves.
    fn is_running(&self) -> bool {
        self.process == std::process::id() && self.local().is_some()
    }

    /// Lets nobody in any more, waits for the statements of clients (an interrupt cancels them) and ends.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        self.check_process()?;
        let Some((local, ticket)) = self.local().take() else { return Ok(()) };
        py.detach(move || {
            let mut interrupted = None;
            let told = Mutex::new(&mut interrupted);
            local.stop_unless(|| {
                let pending = Python::attach(|py| py.check_signals().err());
                let is_interrupted = pending.is_some();
                if let Some(error) = pending {
                    **told.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
                is_interrupted
            });
            ticket.give_back();
            interrupted.map_or(Ok(()), Err)
        })
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        let Some(running) = self.local.get_mut().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        match self.process == std::process::id() {
            true => unlocked(move || drop(running)),
            // None of its threads is in a forked child, and its files are the parent's.
            false => std::mem::forget(running),
        }
    }
}
