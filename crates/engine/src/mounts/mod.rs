//! Attached databases: ATTACH, DETACH, and all databases as one state.
//!
//! A mount is a second catalog, with a directory of its own or in memory. Sessions see the main database and the
//! mounts as one composed snapshot (`catalog::Snapshot::composed`), so that binding, planning and running know
//! nothing of them; what a transaction has changed is taken apart when it commits, and committed to the one database
//! that it is about. More than one permanent database cannot be changed by one transaction: their logs are separate,
//! and a crash between two commits would leave half of it.
//!
//! Without mounts the state that sessions see is the main catalog's own.

mod attach;
mod commit;
mod copy;
pub(crate) mod draws;
mod names;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use catalog::{Catalog, Mounted, Snapshot, Store};
use types::{Error, SqlState};

pub(crate) use attach::name_of_main;
pub(crate) use names::{MAIN, Places, absolute};

/// An attached database.
pub(crate) struct Mount {
    /// Given once in the process: a database that is attached under the name of another one is another one.
    pub number: u64,
    /// The name that ATTACH gave it: the first part of qualified names.
    pub name: String,
    /// Its tables, views and other objects.
    pub catalog: Catalog,
    /// The files of one on disk.
    pub store: Option<Arc<Store>>,
    /// Statements may not change it.
    pub read_only: bool,
}

impl Drop for Mount {
    /// The last user has gone: writes the log's contents into the files with a checkpoint, and frees the directory's
    /// lock.
    fn drop(&mut self) {
        if let Some(store) = self.store.as_ref().filter(|store| !store.is_read_only()) {
            // What this does not write is in the log.
            let _ = crate::upkeep::checkpoint(store);
        }
    }
}

/// The attached databases, in the order in which they were attached.
#[derive(Default)]
pub(crate) struct Mounts {
    list: RwLock<Vec<Arc<Mount>>>,
    /// How many there are; mostly none, which is found out without a lock.
    attached: AtomicUsize,
    /// What the newest composed state was composed of, and that.
    newest: Mutex<Option<Composed>>,
    /// Held during ATTACH and DETACH.
    turn: Mutex<()>,
}

/// A composed snapshot, with the snapshots that it was composed of: the mounts' by their numbers.
struct Composed {
    main: Arc<Snapshot>,
    parts: Vec<(u64, Arc<Snapshot>)>,
    snapshot: Arc<Snapshot>,
}

impl Mounts {
    /// All of them in the order of attachment.
    pub fn all(&self) -> Vec<Arc<Mount>> {
        match self.is_empty() {
            true => Vec::new(),
            false => self.list.read().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Whether no database is attached: all that there is is the main one's.
    pub fn is_empty(&self) -> bool {
        self.attached.load(Ordering::Acquire) == 0
    }

    /// The database attached under exactly this name.
    pub fn named(&self, name: &str) -> Option<Arc<Mount>> {
        self.all().into_iter().find(|mount| mount.name == name)
    }

    fn numbered(&self, number: u64) -> Option<Arc<Mount>> {
        self.all().into_iter().find(|mount| mount.number == number)
    }

    /// The lock that serializes ATTACH and DETACH.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn newest(&self) -> MutexGuard<'_, Option<Composed>> {
        // Only whole values are put in.
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the list; what is taken out is let go of after the lock.
    fn change<R>(&self, change: impl FnOnce(&mut Vec<Arc<Mount>>) -> R) -> R {
        let (outcome, before) = {
            let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
            let before = list.clone();
            let outcome = change(&mut list);
            self.attached.store(list.len(), Ordering::Release);
            (outcome, before)
        };
        // The composed state holds what was taken out.
        let composed = self.newest().take();
        drop(composed);
        drop(before);
        outcome
    }
}

/// Versions of composed states: of each its own, so that no two are taken for one another.
fn next_version() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

fn mounted(mount: &Arc<Mount>, snapshot: Arc<Snapshot>) -> Mounted {
    Mounted { name: mount.name.clone(), number: mount.number, snapshot, held: mount.clone() }
}

/// The error for a transaction that changes two databases.
pub(crate) fn several(first: &str, second: &str) -> Error {
    let message = format!(
        "a transaction may change one database: \"{first}\" and \"{second}\" would be changed by one transaction"
    );
    Error::new(SqlState::FeatureNotSupported, message)
        .with_hint("change each database in a transaction of its own; a transaction may read all of them")
}
