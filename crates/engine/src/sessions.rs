//! The sessions that are open: what each is and does, and how others reach it.
//!
//! A [`Presence`] is the part of a session that others may look at while it works: a lock of its own, held for moments,
//! so that who asks never waits for a statement.
//!
//! ```text
//!  Database::session, session_as -> `Sessions::enter`     number, role, since when
//!  Session::guarded              -> `Presence::begin`     active: the text, masked and shortened, since when
//!  Session::called, at its end   -> `Presence::settle`    idle, in a block, in a failed one
//!  pg_stat_activity, pg_locks    <- the list, of others' sessions only what their role may be told
//!  pg_cancel_backend, pg_terminate_backend -> `Presence::signal`: the host's hook, or the session's own token
//! ```
//! Sessions that the engine makes for itself are not on the list. A session that was told to end fails every statement
//! with 57P01; a server closes its connection.

pub(crate) mod listed;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use sync::CancelToken;
use types::{Error, Result, SqlState, Value};

use crate::access::Identity;
use crate::prepared::Prepared;

/// A row by the names of its columns.
pub(crate) type NamedRow = Vec<(&'static str, Value)>;

/// Where a session is, as PostgreSQL's ReadyForQuery says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// In no transaction block.
    Idle,
    /// In a block: BEGIN was said, or a script or a pipeline is under way.
    InBlock,
    /// In a block that has met an error, and only ends.
    Failed,
}

/// What another session asks of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSignal {
    /// Cancel the statement that runs.
    Cancel,
    /// End the session.
    Terminate,
}

/// Takes signals for a session; false when there was nothing to cancel.
pub type SignalHook = dyn Fn(SessionSignal) -> bool + Send + Sync;

/// Where a session's client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientAddress {
    /// On TCP.
    Tcp(SocketAddr),
    /// On a Unix socket.
    Unix,
}

/// A setting that set_config has been called for, and whether it ends with the transaction.
pub(crate) struct Configured {
    pub name: String,
    pub value: Option<String>,
    pub local: bool,
}

/// What others see of a session.
pub(crate) struct Presence {
    /// The session's number, which clients know as its process.
    number: u64,
    begun: i64,
    cancel: CancelToken,
    terminated: AtomicBool,
    shown: Mutex<Shown>,
    prepared: Mutex<BTreeMap<String, Prepared>>,
    /// What set_config has been called for since the statement began.
    configured: Mutex<Vec<Configured>>,
    /// Whether there is any.
    has_configured: AtomicBool,
}

struct Shown {
    identity: Identity,
    application: String,
    client: Option<ClientAddress>,
    hook: Option<Arc<SignalHook>>,
    active: bool,
    transaction: TransactionStatus,
    query: Arc<str>,
    query_number: u64,
    query_start: Option<i64>,
    transaction_start: Option<i64>,
    changed: i64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Microseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

impl Presence {
    /// Of a session that begins.
    pub fn new(number: u64, cancel: CancelToken) -> Arc<Presence> {
        let begun = now();
        let shown = Shown {
            identity: Identity::default(),
            application: String::new(),
            client: None,
            hook: None,
            active: false,
            transaction: TransactionStatus::Idle,
            query: Arc::from(""),
            query_number: 0,
            query_start: None,
            transaction_start: None,
            changed: begun,
        };
        Arc::new(Presence {
            number,
            begun,
            cancel,
            terminated: AtomicBool::new(false),
            shown: Mutex::new(shown),
            prepared: Mutex::default(),
            configured: Mutex::default(),
            has_configured: AtomicBool::new(false),
        })
    }

    /// The number that clients know as the session's process.
    pub fn process(&self) -> i32 {
        (self.number & i32::MAX as u64) as i32
    }

    /// Prepared statements by name, locked.
    pub fn prepared(&self) -> MutexGuard<'_, BTreeMap<String, Prepared>> {
        locked(&self.prepared)
    }

    /// Notes a call of set_config.
    pub fn configure(&self, configured: Configured) {
        // The last call for a setting is what holds: as many as there are settings are kept, whatever the rows.
        let mut all = locked(&self.configured);
        all.retain(|one| one.name != configured.name || one.local != configured.local);
        all.push(configured);
        self.has_configured.store(true, Ordering::Release);
    }

    /// What set_config was called for, to be done or forgotten.
    pub fn take_configured(&self) -> Vec<Configured> {
        // Most statements have called none, and then there is nothing to lock.
        if !self.has_configured.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut all = locked(&self.configured);
        self.has_configured.store(false, Ordering::Release);
        std::mem::take(&mut *all)
    }

    /// What set_config has given a setting in the statement that runs.
    pub fn configured(&self, name: &str) -> Option<String> {
        let configured = locked(&self.configured);
        configured.iter().rev().find(|one| one.name == name)?.value.clone()
    }

    /// Where the client is.
    pub fn client(&self) -> Option<ClientAddress> {
        locked(&self.shown).client.clone()
    }

    /// A statement begins.
    pub fn begin(&self, query: &scheduler::Query) {
        let mut shown = locked(&self.shown);
        let at = now();
        shown.active = true;
        shown.query = query.text().clone();
        shown.query_number = query.id().0;
        shown.query_start = Some(at);
        shown.changed = at;
        if shown.transaction_start.is_none() {
            shown.transaction_start = Some(at);
        }
    }

    /// The session's statement has ended: what it is from now on.
    pub fn settle(&self, identity: Identity, application: &str, transaction: TransactionStatus) {
        let mut shown = locked(&self.shown);
        shown.identity = identity;
        if shown.application != application {
            application.clone_into(&mut shown.application);
        }
        shown.transaction = transaction;
        if transaction == TransactionStatus::Idle {
            shown.transaction_start = None;
        }
        if std::mem::take(&mut shown.active) {
            shown.changed = now();
        }
    }

    /// Tells the session what another one asks of it.
    pub fn signal(&self, signal: SessionSignal) -> bool {
        if signal == SessionSignal::Terminate {
            self.terminated.store(true, Ordering::Release);
        }
        let (hook, active) = {
            let shown = locked(&self.shown);
            (shown.hook.clone(), shown.active)
        };
        match hook {
            // A server knows what waits to run and to be sent, too.
            Some(hook) => hook(signal),
            None => {
                if active {
                    self.cancel.cancel();
                }
                true
            }
        }
    }

    /// 57P01 once the session was told to end.
    pub fn refuse_terminated(&self) -> Result<()> {
        match self.terminated.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(Error::new(
                SqlState::AdminShutdown,
                "terminating connection due to administrator command",
            )),
        }
    }
}

/// The sessions of a database.
pub(crate) struct Sessions {
    opened: i64,
    open: Mutex<BTreeMap<u64, Weak<Presence>>>,
}

impl Default for Sessions {
    fn default() -> Self {
        Sessions { opened: now(), open: Mutex::default() }
    }
}

impl Sessions {
    /// When the database was opened.
    pub fn opened(&self) -> i64 {
        self.opened
    }

    fn all(&self) -> Vec<Arc<Presence>> {
        locked(&self.open).values().filter_map(Weak::upgrade).collect()
    }

    /// The session that clients know by this process.
    pub fn of_process(&self, process: i32) -> Option<Arc<Presence>> {
        self.all().into_iter().find(|presence| presence.process() == process)
    }
}
