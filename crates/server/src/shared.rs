//! What the connections of a server share: the database, who is let in, the threads of statements, and whether the
//! server still runs; and the sessions that they open on it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Database, Result};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use types::quote;

use crate::audit::AuditLog;
use crate::authentication::Authenticator;
use crate::cancel_keys::CancelKeys;
use crate::config::Config;
use crate::executor::Executor;
use crate::transport::Tls;

/// What every connection of a server shares.
pub struct Shared {
    /// What sessions are made of.
    pub database: Database,
    /// Who may come in.
    pub roles: Arc<dyn Authenticator>,
    /// Where statements run.
    pub executor: Executor,
    /// Where sessions are made and let go of, whatever statements do.
    pub openings: Executor,
    /// Whom a cancel request names.
    pub keys: Arc<CancelKeys>,
    /// As it is now; SIGHUP replaces it.
    pub config: Mutex<Arc<Config>>,
    /// Where it is configured.
    pub tls: Mutex<Option<Tls>>,
    /// Where it is configured.
    pub audit: Mutex<Option<Arc<AuditLog>>>,
    /// What salts of users that do not exist are made of.
    pub salt_secret: [u8; 32],
    /// Those that are open.
    pub connections: AtomicUsize,
    /// How far the end has come.
    pub phase: watch::Sender<Phase>,
}

/// Whether the server goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It does.
    Accepting,
    /// Connections end as soon as they are idle.
    Draining,
    /// And what runs is cancelled.
    Stopping,
}

pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The configuration as it is now.
    pub fn config(&self) -> Arc<Config> {
        locked(&self.config).clone()
    }

    /// The audit log, where one is configured.
    pub fn audit(&self) -> Option<Arc<AuditLog>> {
        locked(&self.audit).clone()
    }

    /// What TLS begins with, where it is configured.
    pub fn tls(&self) -> Option<Tls> {
        locked(&self.tls).clone()
    }

    /// As `tls`, for HTTP.
    pub fn http_tls(&self) -> Option<TlsAcceptor> {
        locked(&self.tls).as_ref().map(|tls| tls.http.clone())
    }
}

/// A connection that counts.
pub struct Counted(Arc<Shared>);

impl Counted {
    /// Counts one more; `None` when there are as many as may be.
    pub fn new(shared: &Arc<Shared>) -> Option<Counted> {
        let limit = shared.config().connections_max;
        if shared.connections.fetch_add(1, Ordering::AcqRel) < limit {
            return Some(Counted(shared.clone()));
        }
        shared.connections.fetch_sub(1, Ordering::AcqRel);
        None
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A session of a role that was let in, with what the configuration and the client have it begin with. Clients are
/// PostgreSQL's: the default schema is shown to them as `public`.
pub fn session(shared: &Shared, role: &str, client: &[(String, String)]) -> Result<engine::Session> {
    let session = shared.roles.session(role)?;
    let config = shared.config();
    let own = config.settings.iter().filter(|(name, _)| !engine::settings::is_shared(name));
    let public = ("default_schema_name".to_owned(), "public".to_owned());
    session
        .set_defaults([public].into_iter().chain(own.map(|(name, value)| (name.clone(), value.clone()))))?;
    for (name, value) in client {
        set(&session, name, value)?;
    }
    session.keep_begun();
    Ok(session)
}

/// Has a session SET something.
pub fn set(session: &engine::Session, name: &str, value: &str) -> Result<()> {
    // Clients write some names in letters of both cases.
    let (name, value) = (quote::name(&name.to_lowercase()), quote::text(value));
    session.execute(&format!("SET {name} = {value}")).map(|_| ())
}
