//! The server: it listens, lets connections in, and stops in good order.
//!
//! ```text
//!  start -> accepting ------------------> draining ----------------------> stopping -> ended
//!             |  accept loop per address     idle connections end,            what still runs
//!             |  a task per connection       the others after what they do    is cancelled
//! ```
//! Sockets live on a tokio runtime of the server's own, so that a host needs none; statements run on the threads of
//! `executor`. A handle that is dropped stops the server at once.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::{Database, Error, Result};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;

use crate::audit;
use crate::authentication::Authenticator;
use crate::config::Config;
use crate::connection;
use crate::executor::Executor;
use crate::listen::{self, SocketFile};
use crate::shared::locked;
pub use crate::shared::{Counted, Phase, Shared, session, set};
use crate::transport::{self, Transport};

/// Threads that read and write sockets.
const SOCKET_THREADS_MAX: usize = 4;
/// Sessions that are made at a time.
const OPENINGS: usize = 2;
/// How long connections may take to end after their statements were cancelled.
const STOP_MAX: Duration = Duration::from_secs(5);

/// A database that others can reach.
pub struct Server;

/// A running server. Dropped, it stops without waiting for what runs.
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) runtime: Option<tokio::runtime::Runtime>,
    addresses: Vec<SocketAddr>,
    socket: Option<SocketFile>,
    port: u16,
}

impl Server {
    /// Serves a database by PostgreSQL's protocol until the handle is dropped or told to stop.
    pub fn start(database: Database, config: Config, roles: Arc<dyn Authenticator>) -> Result<Handle> {
        let tls = config.tls.as_ref().map(transport::tls).transpose()?;
        apply_settings(&database, &config)?;
        let listeners = listen::open(&config, roles.has_passwords())?;
        let audit = audit::install(&database, config.audit_log.as_deref())?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(SOCKET_THREADS_MAX);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("sockets")
            .enable_all()
            .build()
            .map_err(|error| Error::internal(format!("no threads for sockets: {error}")))?;
        let mut salt_secret = [0; 32];
        getrandom::fill(&mut salt_secret)
            .map_err(|error| Error::internal(format!("no random bytes: {error}")))?;
        let shared = Arc::new(Shared {
            database,
            roles,
            executor: Executor::new(config.active_statements_max, config.queued_statements_max),
            openings: Executor::new(OPENINGS, usize::MAX),
            keys: Arc::default(),
            config: Mutex::new(Arc::new(config)),
            tls: Mutex::new(tls),
            audit: Mutex::new(audit),
            salt_secret,
            connections: AtomicUsize::new(0),
            phase: watch::Sender::new(Phase::Accepting),
        });
        let mut addresses = Vec::new();
        let failed = |error: std::io::Error| Error::internal(format!("cannot listen: {error}"));
        let _entered = runtime.enter();
        for listener in listeners.tcp {
            addresses.push(listener.local_addr().map_err(failed)?);
            let listener = TcpListener::from_std(listener).map_err(failed)?;
            runtime.spawn(accept(shared.clone(), async move || {
                let (socket, _) = listener.accept().await?;
                // Answers are written whole: waiting for more to send would only delay them.
                socket.set_nodelay(true)?;
                Ok(Transport::Tcp(socket))
            }));
        }
        let socket = match listeners.unix {
            None => None,
            Some((listener, file)) => {
                let listener = UnixListener::from_std(listener).map_err(failed)?;
                runtime.spawn(accept(shared.clone(), async move || {
                    Ok(Transport::Unix(listener.accept().await?.0))
                }));
                Some(file)
            }
        };
        drop(_entered);
        Ok(Handle { shared, runtime: Some(runtime), addresses, socket, port: listeners.port })
    }
}

/// Lets connections in until the server drains.
async fn accept(shared: Arc<Shared>, next: impl AsyncFn() -> std::io::Result<Transport>) {
    let mut phase = shared.phase.subscribe();
    loop {
        let accepted = tokio::select! {
            _ = phase.wait_for(|phase| *phase > Phase::Accepting) => return,
            accepted = next() => accepted,
        };
        match accepted {
            Ok(transport) => _ = tokio::spawn(connection::serve(transport, shared.clone())),
            Err(error) => {
                // Too many open files, as a rule; they will be fewer.
                tracing::warn!("a connection was not accepted: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Sets what the configuration says of the database as a whole.
fn apply_settings(database: &Database, config: &Config) -> Result<()> {
    let session = database.session();
    for (name, value) in config.settings.iter().filter(|(name, _)| engine::settings::is_shared(name)) {
        set(&session, name, value)?;
    }
    Ok(())
}

impl Handle {
    /// Where clients connect.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The port of all addresses and of the socket.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The Unix socket.
    pub fn socket(&self) -> Option<PathBuf> {
        self.socket.as_ref().map(|file| file.path().to_owned())
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Acquire)
    }

    /// Statements that work, that wait for a place, and threads for them.
    pub fn load(&self) -> (usize, usize, usize) {
        self.shared.executor.load()
    }

    /// Takes what can change from a configuration that was read again, and certificates, whose files are read again.
    /// What cannot change is told by name.
    pub fn reload(&self, read: Config) -> Result<Vec<&'static str>> {
        let before = self.shared.config();
        let fixed = before.fixed_differences(&read);
        let config = before.reloaded(read);
        let tls = config.tls.as_ref().map(transport::tls).transpose()?;
        apply_settings(&self.shared.database, &config)?;
        *locked(&self.shared.audit) = audit::install(&self.shared.database, config.audit_log.as_deref())?;
        self.shared.executor.set_limits(config.active_statements_max, config.queued_statements_max);
        *locked(&self.shared.tls) = tls;
        *locked(&self.shared.config) = Arc::new(config);
        Ok(fixed)
    }

    /// Lets nobody in any more, waits for statements under way as long as the configuration says, cancels the rest and
    /// ends.
    pub fn shutdown(self) {
        self.shutdown_unless(|| false);
    }

    /// As `shutdown`, and what runs is cancelled as soon as `hurries` says so.
    pub fn shutdown_unless(self, hurries: impl Fn() -> bool) {
        let patience = self.shared.config().drain_timeout;
        self.shared.phase.send_replace(Phase::Draining);
        self.wait_for_connections(patience, hurries);
        drop(self);
    }

    fn wait_for_connections(&self, patience: Duration, hurries: impl Fn() -> bool) -> bool {
        let until = std::time::Instant::now() + patience;
        while self.connections() > 0 {
            if std::time::Instant::now() >= until || hurries() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.phase.send_replace(Phase::Stopping);
        if !self.wait_for_connections(STOP_MAX, || false) {
            tracing::warn!("{} connections did not end", self.connections());
        }
        self.shared.executor.end();
        self.shared.openings.end();
        let Some(runtime) = self.runtime.take() else { return };
        // What its tasks hold of the database goes with them; a host's task may not wait for that.
        match tokio::runtime::Handle::try_current() {
            Ok(_) => runtime.shutdown_background(),
            Err(_) => runtime.shutdown_timeout(STOP_MAX),
        }
    }
}
