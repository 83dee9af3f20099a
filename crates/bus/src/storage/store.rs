//! The bus on an embedded store, redb: its tables, and one commit for many changes.
//!
//! ```text
//!  clients   client -> ()                         types     (client, role, type) -> ()
//!  numbers   name -> next                         queued    (client, 255 - priority, deadline, serial) -> message
//! ```
//! These are the thesis' tables for SQLite and LevelDB, but that a message lies in each queue that has a copy of it (as
//! in its variant for VoltDB): the key alone is a queue's order, and a deletion is a point.
//!
//! The store has one writer at a time, and a synchronous commit costs a sync. So changes queue up, and one of the
//! waiting threads commits all of them together (as in `files::log`). In asynchronous mode a thread of the store
//! does; what waits for it is lost when the process ends, too.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use redb::{
    Database, Durability as Commit, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
};
use types::{Error, Result, SqlState};

use super::{Background, Journal};
use crate::Role;
use crate::message::{ClientId, MessageType, Priority, Receipt, Stored, Timestamp};
use crate::open::Durability;
use crate::state::{Change, ClientState, State};

type QueueKey = (u64, u8, u64, u64);

const CLIENTS: TableDefinition<'_, u64, ()> = TableDefinition::new("clients");
const TYPES: TableDefinition<'_, (u64, u8, u32), ()> = TableDefinition::new("types");
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
const QUEUED: TableDefinition<'_, QueueKey, &[u8]> = TableDefinition::new("queued");

const NEXT_CLIENT: &str = "client";
const NEXT_SERIAL: &str = "serial";
/// The key of the tables' format version; a later version that changes them changes it.
const FORMAT: &str = "format";
const FORMAT_VERSION: u64 = 1;

/// So many changes may wait for the thread of an asynchronous store before their senders wait for it.
const WAITING_MAX: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct StoreJournal {
    _background: Option<Background>,
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    place: String,
    durability: Durability,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    changes: Vec<Change>,
    recorded: u64,
    durable: u64,
    committing: bool,
    failed: Option<Error>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("place", &self.place).finish_non_exhaustive()
    }
}

fn failed(place: &str, error: impl Into<redb::Error>) -> Error {
    let error = error.into();
    let message = format!("the store of the message bus at \"{place}\": {error}");
    match error {
        redb::Error::Corrupted(_) => Error::new(SqlState::DataCorrupted, message),
        redb::Error::DatabaseAlreadyOpen => {
            Error::new(SqlState::LockNotAvailable, message).with_hint("close it where it is open")
        }
        _ => Error::new(SqlState::IoError, message),
    }
}

impl StoreJournal {
    /// Opens the bus in this file, or makes one.
    pub(crate) fn open(path: &Path, durability: Durability) -> Result<(StoreJournal, State)> {
        let place = path.display().to_string();
        let database = Database::create(path).map_err(|error| failed(&place, error))?;
        let shared = Shared {
            database,
            place,
            durability,
            queue: Mutex::new(Queue::default()),
            changed: Condvar::new(),
        };
        shared.commit(&[])?;
        let state = shared.read()?;
        let shared = Arc::new(shared);
        let background = match durability {
            Durability::Synchronous => None,
            Durability::Asynchronous { at_most } => {
                let theirs = shared.clone();
                Some(Background::start(at_most, move || {
                    // An error stays in the queue, and refuses what comes next.
                    let _ = theirs.flush();
                })?)
            }
        };
        Ok((StoreJournal { _background: background, shared }, state))
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when this change is committed; commits what waits if no other thread does.
    fn commit_up_to(&self, ticket: u64) -> Result<()> {
        let mut queue = self.queue();
        loop {
            if queue.durable >= ticket {
                return Ok(());
            }
            if let Some(error) = &queue.failed {
                return Err(error.clone());
            }
            if queue.committing {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.committing = true;
            let (changes, target) = (std::mem::take(&mut queue.changes), queue.recorded);
            drop(queue);
            let committed = self.commit(&changes);
            queue = self.queue();
            queue.committing = false;
            match committed {
                Ok(()) => queue.durable = target,
                Err(error) => {
                    let hint = "the message bus takes no changes until it is opened again";
                    queue.failed = Some(error.with_hint(hint));
                }
            }
            self.changed.notify_all();
        }
    }

    fn flush(&self) -> Result<()> {
        let recorded = self.queue().recorded;
        self.commit_up_to(recorded)
    }

    fn commit(&self, changes: &[Change]) -> Result<()> {
        let write = || -> std::result::Result<(), redb::Error> {
            let mut transaction = self.database.begin_write()?;
            transaction.set_durability(Commit::Immediate)?;
            apply(&transaction, changes)?;
            Ok(transaction.commit()?)
        };
        write().map_err(|error| failed(&self.place, error))
    }

    /// Everything in the store.
    fn read(&self) -> Result<State> {
        let wrong = |what: &str| {
            let message = format!("the store of the message bus at \"{}\": {what}", self.place);
            Error::new(SqlState::DataCorrupted, message)
        };
        let mut state = State::default();
        let read = || -> std::result::Result<_, redb::Error> {
            let read = self.database.begin_read()?;
            let mut clients = Vec::new();
            for entry in read.open_table(CLIENTS)?.iter()? {
                clients.push(entry?.0.value());
            }
            let mut types = Vec::new();
            for entry in read.open_table(TYPES)?.iter()? {
                types.push(entry?.0.value());
            }
            let mut queued = Vec::new();
            for entry in read.open_table(QUEUED)?.iter()? {
                let (key, value) = entry?;
                queued.push((key.value(), Stored::from_bytes(value.value())));
            }
            let numbers = read.open_table(NUMBERS)?;
            let number = |name| numbers.get(name).map(|found| found.map_or(0, |n| n.value()));
            Ok((clients, types, queued, number(NEXT_CLIENT)?, number(NEXT_SERIAL)?, number(FORMAT)?))
        };
        let (clients, types, queued, next_client, next_serial, format) =
            read().map_err(|error| failed(&self.place, error))?;
        if format != FORMAT_VERSION {
            return Err(wrong(&format!("format version {format} is not {FORMAT_VERSION}")));
        }
        (state.next_client, state.next_serial) = (next_client, next_serial);
        state.clients = clients.into_iter().map(|id| (ClientId(id), ClientState::default())).collect();
        for (client, role, kind) in types {
            let role = if role == 0 { Role::Sender } else { Role::Receiver };
            let client =
                state.clients.get_mut(&ClientId(client)).ok_or_else(|| wrong("types of no client"))?;
            client.roles.insert((role, MessageType(kind)));
        }
        for ((client, priority, deadline, serial), stored) in queued {
            let priority = Priority(u8::MAX - priority);
            let receipt = Receipt { serial, deadline: Timestamp(deadline), priority };
            let client =
                state.clients.get_mut(&ClientId(client)).ok_or_else(|| wrong("messages of no client"))?;
            client.queue.insert(receipt, stored?);
        }
        Ok(state)
    }
}

fn key(client: ClientId, receipt: &Receipt) -> QueueKey {
    (client.0, u8::MAX - receipt.priority.0, receipt.deadline.0, receipt.serial)
}

/// The same as `State::apply`, on tables.
fn apply(transaction: &WriteTransaction, changes: &[Change]) -> std::result::Result<(), redb::Error> {
    let mut clients = transaction.open_table(CLIENTS)?;
    let mut types = transaction.open_table(TYPES)?;
    let mut numbers = transaction.open_table(NUMBERS)?;
    let mut queued = transaction.open_table(QUEUED)?;
    if numbers.get(FORMAT)?.is_none() {
        numbers.insert(FORMAT, FORMAT_VERSION)?;
    }
    let (mut next_client, mut next_serial) = (0, 0);
    for change in changes {
        match change {
            Change::Connect(client) => {
                next_client = next_client.max(client.0.saturating_add(1));
                clients.insert(client.0, ())?;
            }
            Change::Allow(client, role, kind) => {
                if clients.get(client.0)?.is_some() {
                    types.insert((client.0, u8::from(*role == Role::Receiver), kind.0), ())?;
                }
            }
            Change::Disconnect(client) => {
                clients.remove(client.0)?;
                let last = (client.0, u8::MAX, u32::MAX);
                types.retain_in((client.0, 0, 0)..=last, |_, ()| false)?;
                let last = (client.0, u8::MAX, u64::MAX, u64::MAX);
                queued.retain_in((client.0, 0, 0, 0)..=last, |_, _| false)?;
            }
            Change::Send(sending) => {
                let after = sending.header.first.serial.saturating_add(sending.messages.len() as u64);
                next_serial = next_serial.max(after);
                for recipient in sending.recipients.iter().collect::<BTreeSet<_>>() {
                    if clients.get(recipient.0)?.is_none() {
                        continue;
                    }
                    for (receipt, stored) in sending.header.copies(&sending.messages) {
                        queued.insert(key(*recipient, &receipt), stored.to_bytes().as_slice())?;
                    }
                }
            }
            Change::Remove(copies) => {
                for (client, receipt) in copies {
                    queued.remove(key(*client, receipt))?;
                }
            }
            Change::Counters { next_client: client, next_serial: serial } => {
                (next_client, next_serial) = (next_client.max(*client), next_serial.max(*serial));
            }
        }
    }
    for (name, next) in [(NEXT_CLIENT, next_client), (NEXT_SERIAL, next_serial)] {
        let before = numbers.get(name)?.map_or(0, |number| number.value());
        if next > before {
            numbers.insert(name, next)?;
        }
    }
    Ok(())
}

impl Journal for StoreJournal {
    fn record(&self, change: Change) -> Result<u64> {
        let shared = &*self.shared;
        let mut queue = shared.queue();
        if let Some(error) = &queue.failed {
            return Err(Error::new(
                SqlState::ReadOnly,
                "the message bus takes no changes after its store failed",
            )
            .with_detail(error.message().to_owned())
            .with_hint("open it again, when the disk is well"));
        }
        queue.changes.push(change);
        queue.recorded += 1;
        let (ticket, waiting) = (queue.recorded, queue.changes.len());
        drop(queue);
        if waiting > WAITING_MAX {
            shared.commit_up_to(ticket)?;
        }
        Ok(ticket)
    }

    fn wait(&self, ticket: u64) -> Result<()> {
        match self.shared.durability {
            Durability::Synchronous => self.shared.commit_up_to(ticket),
            Durability::Asynchronous { .. } => Ok(()),
        }
    }

    fn flush(&self) -> Result<()> {
        self.shared.flush()
    }
}
