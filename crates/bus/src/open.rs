//! Making a bus out of its tiers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use files::FileManager;
use types::Result;

use crate::Bus;
use crate::clock::{Clock, SystemClock};
use crate::memory::MemoryBus;
use crate::state::State;
use crate::storage::{Journal, LogJournal, LogOptions};
use crate::table::{LockedTable, VersionedTable};

/// How the table of clients is guarded. What the bus does is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Read-write locks.
    Locked,
    /// Versions, whose readers take no lock.
    Versioned,
}

/// When a change is on stable storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before its call returns.
    Synchronous,
    /// At most `at_most` after the call returns; a crash may lose the latest changes.
    Asynchronous {
        /// The longest time between a call's return and the sync that makes its change last.
        at_most: Duration,
    },
}

impl Durability {
    /// The asynchronous mode with at most a tenth of a second between syncs.
    pub fn asynchronous() -> Self {
        Durability::Asynchronous { at_most: Duration::from_millis(100) }
    }
}

/// What kind of bus to make.
#[derive(Clone, Debug)]
pub struct BusOptions {
    /// How concurrent calls share the table of clients.
    pub table: Table,
    /// For a bus with storage; one in memory ignores it.
    pub durability: Durability,
    /// Gives send times and tells when deadlines have passed.
    pub clock: Arc<dyn Clock>,
    /// A native log longer than this is replaced by a snapshot of what is pending.
    pub log_bytes_max: u64,
}

impl Default for BusOptions {
    fn default() -> Self {
        BusOptions {
            table: Table::Versioned,
            durability: Durability::Synchronous,
            clock: Arc::new(SystemClock),
            log_bytes_max: 16 << 20,
        }
    }
}

/// A bus that was opened, and what was found.
#[derive(Clone)]
pub struct Opened {
    /// The bus, ready for calls.
    pub bus: Arc<dyn Bus>,
    /// Clients that have not disconnected.
    pub clients: usize,
    /// Copies of messages that wait for them.
    pub pending: usize,
    /// Bytes at the end of the log that were no whole record, and have been cut.
    pub torn_bytes: u64,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Opened { clients, pending, torn_bytes, .. } = self;
        write!(f, "Opened {{ clients: {clients}, pending: {pending}, torn_bytes: {torn_bytes} }}")
    }
}

impl BusOptions {
    /// A bus that lives in this process and ends with it.
    pub fn in_memory(&self) -> Arc<dyn Bus> {
        self.bus(State::default(), None)
    }

    /// A bus on a log of our own, in a directory; it is made where there is none. One process at a time.
    pub fn on_log(&self, files: Arc<dyn FileManager>) -> Result<Opened> {
        let options = LogOptions { durability: self.durability, log_bytes_max: self.log_bytes_max };
        let (journal, state, torn_bytes) = LogJournal::open(files, options)?;
        Ok(self.opened(state, Arc::new(journal), torn_bytes))
    }

    /// A bus on an embedded store, in a file; it is made where there is none. One process at a time.
    #[cfg(feature = "redb")]
    pub fn on_store(&self, path: impl AsRef<std::path::Path>) -> Result<Opened> {
        let (journal, state) = crate::storage::StoreJournal::open(path.as_ref(), self.durability)?;
        Ok(self.opened(state, Arc::new(journal), 0))
    }

    fn opened(&self, state: State, journal: Arc<dyn Journal>, torn_bytes: u64) -> Opened {
        let (clients, pending) =
            (state.clients.len(), state.clients.values().map(|client| client.queue.len()).sum());
        Opened { bus: self.bus(state, Some(journal)), clients, pending, torn_bytes }
    }

    fn bus(&self, state: State, journal: Option<Arc<dyn Journal>>) -> Arc<dyn Bus> {
        match self.table {
            Table::Locked => Arc::new(MemoryBus::<LockedTable>::new(state, self.clock.clone(), journal)),
            Table::Versioned => {
                Arc::new(MemoryBus::<VersionedTable>::new(state, self.clock.clone(), journal))
            }
        }
    }
}
