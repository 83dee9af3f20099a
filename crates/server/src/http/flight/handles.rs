//! What the server keeps between a client's calls, each under an identifier that only its role may use.
//!
//! ```text
//!  BeginTransaction --> Transaction: a session in a block, calls on it in line --> EndTransaction | an hour unused
//!  CreatePrepared   --> Prepared: a text, its columns and parameters, values  --> ClosePrepared  | half a day unused
//!  GetFlightInfo of a statement that does something --> Held rows             --> DoGet          | ten minutes
//!  DoGet            --> Running: how to stop it                               --> its end
//! ```
//! A query is not kept at all: its ticket has its text, and DoGet runs it. Everything else is bounded by a number, and
//! what is left alone is swept away.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use engine::{ArrowStream, Error, Result, SqlState, Type};
use tonic::Status;

use super::status::{refused, refused_with, status};
use crate::http::connections::Connection;
use crate::http::jobs::Cancel;

/// Bytes of an identifier.
const ID_BYTES: usize = 16;
/// Transactions that are open at a time.
const TRANSACTIONS_MAX: usize = 200;
/// Prepared statements at a time.
const PREPARED_MAX: usize = 10_000;
/// Results that wait to be fetched.
const HELD_MAX: usize = 200;
/// Cancelled tickets that are remembered, should they be redeemed later.
const CANCELLED_MAX: usize = 1000;
/// A transaction that nobody has used for so long is taken back.
const TRANSACTION_IDLE_MAX: Duration = Duration::from_secs(3600);
/// A prepared statement that nobody has used for so long is gone.
const PREPARED_IDLE_MAX: Duration = Duration::from_secs(12 * 3600);
/// Rows that nobody has fetched for so long are gone.
const HELD_IDLE_MAX: Duration = Duration::from_secs(600);

/// An identifier that nobody guesses.
pub type Id = [u8; ID_BYTES];

/// A new identifier.
pub fn new_id() -> Result<Id> {
    let mut id = [0; ID_BYTES];
    getrandom::fill(&mut id).map_err(|error| Error::internal(format!("no random bytes: {error}")))?;
    Ok(id)
}

/// What was prepared.
pub struct Prepared {
    /// With numbers for its parameters.
    pub sql: String,
    /// Types of its parameters.
    pub parameters: Vec<Type>,
    /// Their names; none where they go by number.
    pub parameter_names: Vec<String>,
    /// It only reads, so that it may run when its rows are fetched.
    pub is_query: bool,
    /// The transaction that it was prepared in.
    pub transaction: Option<Id>,
    /// Values for its parameters: a row a run.
    pub values: Mutex<Vec<RecordBatch>>,
}

/// Something of a role.
struct Owned<T> {
    role: String,
    used: Instant,
    what: T,
}

/// What is kept.
#[derive(Default)]
pub struct Handles {
    transactions: Mutex<HashMap<Id, Owned<Arc<Connection>>>>,
    prepared: Mutex<HashMap<Id, Owned<Arc<Prepared>>>>,
    held: Mutex<HashMap<Id, Owned<Option<ArrowStream>>>>,
    running: Mutex<HashMap<Id, (String, Cancel)>>,
    cancelled: Mutex<VecDeque<Id>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The identifier that a client has sent.
pub fn id_of(bytes: &[u8]) -> std::result::Result<Id, Status> {
    Id::try_from(bytes)
        .map_err(|_| refused(SqlState::ProtocolViolation, "this is no identifier of this server"))
}

fn add<T>(map: &Mutex<HashMap<Id, Owned<T>>>, most: usize, role: &str, what: T, name: &str) -> Result<Id> {
    let id = new_id()?;
    let mut map = locked(map);
    // A role leaves room for others; whose share is not counted before half of all is taken.
    let leaves_room = || map.values().filter(|owned| owned.role == role).count() < most / 2;
    if map.len() >= most || (map.len() >= most / 2 && !leaves_room()) {
        let message = format!("there are too many {name}");
        return Err(Error::new(SqlState::ConfigurationLimitExceeded, message).with_hint("let some end first"));
    }
    map.insert(id, Owned { role: role.to_owned(), used: Instant::now(), what });
    Ok(id)
}

impl Handles {
    /// Keeps a transaction's session.
    pub fn add_transaction(&self, role: &str, connection: Arc<Connection>) -> Result<Id> {
        add(&self.transactions, TRANSACTIONS_MAX, role, connection, "open transactions")
    }

    /// A role's transaction.
    pub fn transaction(&self, role: &str, id: Id) -> std::result::Result<Arc<Connection>, Status> {
        let mut all = locked(&self.transactions);
        let found = all.get_mut(&id).filter(|owned| owned.role == role);
        let owned = found.ok_or_else(|| {
            refused_with(SqlState::NoActiveTransaction, "there is no such transaction", "begin another one")
        })?;
        owned.used = Instant::now();
        Ok(owned.what.clone())
    }

    /// Takes a transaction out, to be ended.
    pub fn end_transaction(&self, role: &str, id: Id) -> std::result::Result<Arc<Connection>, Status> {
        let connection = self.transaction(role, id)?;
        locked(&self.transactions).remove(&id);
        Ok(connection)
    }

    /// Keeps a prepared statement.
    pub fn add_prepared(&self, role: &str, prepared: Prepared) -> Result<Id> {
        add(&self.prepared, PREPARED_MAX, role, Arc::new(prepared), "prepared statements")
    }

    /// A role's prepared statement.
    pub fn prepared(&self, role: &str, handle: &[u8]) -> std::result::Result<Arc<Prepared>, Status> {
        let id = id_of(handle)?;
        let mut all = locked(&self.prepared);
        let found = all.get_mut(&id).filter(|owned| owned.role == role);
        let owned = found.ok_or_else(|| {
            let error =
                Error::new(SqlState::UndefinedPreparedStatement, "there is no such prepared statement");
            status(&error.with_hint("prepare it again"), "")
        })?;
        owned.used = Instant::now();
        Ok(owned.what.clone())
    }

    /// Forgets a prepared statement.
    pub fn close_prepared(&self, role: &str, handle: &[u8]) -> std::result::Result<(), Status> {
        self.prepared(role, handle)?;
        locked(&self.prepared).remove(&id_of(handle)?);
        Ok(())
    }

    /// Keeps the rows of a statement that has run, until they are fetched; `None`: it has given none.
    pub fn hold(&self, role: &str, rows: Option<ArrowStream>) -> Result<Id> {
        add(&self.held, HELD_MAX, role, rows, "results that wait to be fetched")
    }

    /// Takes rows that were held.
    pub fn take_held(&self, role: &str, id: Id) -> Option<Option<ArrowStream>> {
        let mut held = locked(&self.held);
        held.get(&id).filter(|owned| owned.role == role)?;
        held.remove(&id).map(|owned| owned.what)
    }

    /// Notes that a ticket's rows are being sent, or tells that it was cancelled.
    pub fn begin(self: &Arc<Self>, role: &str, id: Id, cancel: &Cancel) -> Result<Running> {
        let mut running = locked(&self.running);
        if locked(&self.cancelled).contains(&id) {
            return Err(Error::new(SqlState::QueryCanceled, "canceling statement due to user request"));
        }
        running.insert(id, (role.to_owned(), cancel.clone()));
        Ok(Running { handles: self.clone(), id })
    }

    /// Cancels a ticket's query; true when it ran.
    pub fn cancel(&self, role: &str, id: Id) -> bool {
        let running = locked(&self.running);
        if let Some((owner, cancel)) = running.get(&id) {
            let may = owner == role;
            let cancel = cancel.clone();
            drop(running);
            if may {
                cancel.raise();
            }
            return may;
        }
        let mut cancelled = locked(&self.cancelled);
        if cancelled.len() >= CANCELLED_MAX {
            cancelled.pop_front();
        }
        cancelled.push_back(id);
        drop(running);
        let rows = self.take_held(role, id);
        drop(rows);
        false
    }

    /// Lets go of what nobody has used for long, which the caller drops: sessions are let go of where statements may run.
    pub fn sweep(&self) -> Vec<Box<dyn Send>> {
        fn idle<T>(map: &Mutex<HashMap<Id, Owned<T>>>, most: Duration) -> Vec<T> {
            let mut map = locked(map);
            map.extract_if(|_, owned| owned.used.elapsed() > most).map(|(_, owned)| owned.what).collect()
        }
        vec![
            Box::new(idle(&self.transactions, TRANSACTION_IDLE_MAX)),
            Box::new(idle(&self.prepared, PREPARED_IDLE_MAX)),
            Box::new(idle(&self.held, HELD_IDLE_MAX)),
        ]
    }
}

/// Rows that are being sent; forgotten when dropped.
pub struct Running {
    handles: Arc<Handles>,
    id: Id,
}

impl Drop for Running {
    fn drop(&mut self) {
        locked(&self.handles.running).remove(&self.id);
    }
}
