//! The bus on a log of our own: the log that databases have (`files::log`), with a change per record.
//!
//! ```text
//!  bus-snapshot-3   the bus as it was after record 1200, written whole and renamed
//!  bus-log-3        records 1201 ..
//!  bus-log-4        the records after those, while snapshot 4 is being made
//!  bus-lock         the process that has the bus open
//! ```
//! When the log is long, the thread that wrote to it last begins another, reads the snapshot and the log before
//! again, as after a crash, and writes what comes out as the next snapshot. So there is one way from files to a bus,
//! and no other thread stops while a snapshot is made.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use files::log::Log;
use files::log_format::DatabaseId;
use files::{FileLock, FileManager, Owner, write_whole};
use types::Result;

use super::recovery::{self, Recovered, log_name, snapshot_name};
use super::{Background, Journal};
use crate::open::Durability;
use crate::state::{Change, State};

#[derive(Clone, Copy, Debug)]
pub(crate) struct LogOptions {
    pub(crate) durability: Durability,
    /// A log longer than this, and than what is in the bus, is replaced by a snapshot.
    pub(crate) log_bytes_max: u64,
}

#[derive(Debug)]
pub(crate) struct LogJournal {
    /// Ends, and syncs a last time, before the rest goes.
    _background: Option<Background>,
    shared: Arc<Shared>,
    _lock: FileLock,
}

#[derive(Debug)]
struct Shared {
    files: Arc<dyn FileManager>,
    id: DatabaseId,
    log: Log,
    last: AtomicU64,
    options: LogOptions,
    /// Held while a snapshot is made.
    generation: Mutex<Generation>,
    /// The next snapshot is due when the log is so long.
    due_bytes: AtomicU64,
}

#[derive(Debug)]
struct Generation {
    snapshot: u64,
    log: u64,
}

impl LogJournal {
    /// Opens the bus in these files, or makes one.
    pub(crate) fn open(files: Arc<dyn FileManager>, options: LogOptions) -> Result<(LogJournal, State, u64)> {
        let lock = files.lock("bus-lock", &Owner::this_process())?;
        let Recovered { id, state, snapshot, log, writer, last_record, torn_bytes } =
            recovery::open(&*files)?;
        let shared = Arc::new(Shared {
            log: Log::new(writer, last_record, "message bus")?,
            files,
            id,
            last: AtomicU64::new(last_record),
            options,
            generation: Mutex::new(Generation { snapshot, log }),
            due_bytes: AtomicU64::new(options.log_bytes_max),
        });
        let background = match options.durability {
            Durability::Synchronous => None,
            Durability::Asynchronous { at_most } => {
                let theirs = shared.clone();
                Some(Background::start(at_most, move || {
                    // An error stays in the log, and refuses what comes next.
                    let _ = theirs.flush();
                })?)
            }
        };
        Ok((LogJournal { _background: background, shared, _lock: lock }, state, torn_bytes))
    }
}

impl Shared {
    fn flush(&self) -> Result<()> {
        self.log.wait(self.last.load(SeqCst))
    }

    /// Makes a snapshot, if no other thread does. What fails is tried again when the log has grown as much again; all
    /// files stay until a snapshot replaces them.
    fn snapshot(&self) {
        let Ok(mut generation) = self.generation.try_lock() else { return };
        let log_bytes = self.log.bytes();
        if log_bytes < self.due_bytes.load(SeqCst) {
            return;
        }
        let made = self.make_snapshot(&mut generation);
        let next = match made {
            Ok(bytes) => self.options.log_bytes_max.max(2 * bytes),
            Err(_) => self.log.bytes() + self.options.log_bytes_max,
        };
        self.due_bytes.store(next, SeqCst);
    }

    fn make_snapshot(&self, generation: &mut Generation) -> Result<u64> {
        let next = generation.log + 1;
        let writer = recovery::new_log(&*self.files, &self.id, next)?;
        self.log.switch(writer, |_| ())?;
        let before = std::mem::replace(&mut generation.log, next);
        let (state, last) = recovery::replay(&*self.files, &self.id, generation.snapshot, before)?;
        let bytes = recovery::snapshot_bytes(&self.id, next, last, &state);
        write_whole(&*self.files, &snapshot_name(next), &bytes)?;
        let oldest = std::mem::replace(&mut generation.snapshot, next);
        self.files.remove(&snapshot_name(oldest))?;
        for number in oldest..next {
            self.files.remove(&log_name(number))?;
        }
        self.files.sync_directory("")?;
        Ok(bytes.len() as u64)
    }
}

impl Journal for LogJournal {
    fn record(&self, change: Change) -> Result<u64> {
        let shared = &*self.shared;
        let number = shared.log.append(&change.to_bytes())?;
        shared.last.fetch_max(number, SeqCst);
        if shared.log.bytes() >= shared.due_bytes.load(SeqCst) {
            shared.snapshot();
        }
        Ok(number)
    }

    fn wait(&self, ticket: u64) -> Result<()> {
        match self.shared.options.durability {
            Durability::Synchronous => self.shared.log.wait(ticket),
            Durability::Asynchronous { .. } => Ok(()),
        }
    }

    fn flush(&self) -> Result<()> {
        self.shared.flush()
    }
}
