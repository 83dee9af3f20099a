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
mod copy;
pub(crate) mod draws;
mod names;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use catalog::{
    Catalog, ChangedDatabase, DatabaseChanges, Draft, Mounted, Snapshot, Store, TableId, Transaction,
    Verification, change_composed,
};
use types::{Error, Result, SqlState};

use crate::Session;
use crate::database::Shared;

pub(crate) use attach::name_of_main;
pub(crate) use copy::absolute;
pub(crate) use names::{MAIN, Places};

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
        self.list.read().unwrap_or_else(PoisonError::into_inner).clone()
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
            (change(&mut list), before)
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

impl Shared {
    /// The newest state of all databases.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let mounts = self.mounts.all();
        if mounts.is_empty() {
            return self.catalog.snapshot();
        }
        let mut newest = self.mounts.newest();
        // Taken under the lock, so that states that follow each other are composed in that order.
        let main = self.catalog.snapshot();
        let parts: Vec<(u64, Arc<Snapshot>)> =
            mounts.iter().map(|mount| (mount.number, mount.catalog.snapshot())).collect();
        if let Some(composed) = &*newest {
            let same = |(a, b): (&(u64, Arc<Snapshot>), &(u64, Arc<Snapshot>))| {
                a.0 == b.0 && Arc::ptr_eq(&a.1, &b.1)
            };
            if Arc::ptr_eq(&composed.main, &main)
                && composed.parts.len() == parts.len()
                && composed.parts.iter().zip(&parts).all(same)
            {
                return composed.snapshot.clone();
            }
        }
        let states: Vec<Mounted> = mounts
            .iter()
            .zip(&parts)
            .map(|(mount, (_, snapshot))| mounted(mount, snapshot.clone()))
            .collect();
        let before = newest.as_ref().map(|composed| &*composed.snapshot);
        let snapshot = Arc::new(Snapshot::composed(&main, &states, before, next_version()));
        let earlier = newest.replace(Composed { main, parts, snapshot: snapshot.clone() });
        drop(newest);
        // It may be the last to hold a database that was detached.
        drop(earlier);
        snapshot
    }

    /// Lets `change` alter a draft of the newest state of all databases, and publishes it; on an error nothing changes.
    pub fn commit<R>(&self, change: impl FnOnce(&mut Draft) -> Result<R>) -> Result<R> {
        let mounts = self.mounts.all();
        if mounts.is_empty() {
            return self.catalog.commit(change);
        }
        // All commit locks are held, the main database's first: the change is made on what is newest in all of them.
        self.catalog.commit(|draft| {
            let main = Arc::new(draft.snapshot().clone());
            let before = self.mounts.newest().as_ref().map(|composed| composed.snapshot.clone());
            let (outcome, mut changed) = within(&mounts, Vec::new(), |states| {
                let composed = Snapshot::composed(&main, &states, before.as_deref(), next_version());
                let (outcome, changed) = change_composed(composed, change)?;
                refuse_several(changed.iter().filter(|c| c.permanent).map(|c| self.name_of(c.mount)))?;
                Ok((outcome, changed))
            })?;
            if let Some(at) = changed.iter().position(|changed| changed.mount.is_none()) {
                draft.put(changed.swap_remove(at).snapshot);
            }
            Ok(outcome)
        })
    }

    /// Makes a transaction's changes on the newest state of the database that they are about. `verify` is asked whether
    /// keys hold together with what other transactions added; it gets the number of the mount.
    pub fn commit_transaction(
        &self,
        transaction: Transaction,
        verify: impl Fn(&Verification<'_>, Option<u64>) -> Result<()>,
    ) -> Result<()> {
        let mut parts = transaction.by_database()?;
        let name = |part: &DatabaseChanges| self.name_of(part.mount.as_ref().map(|m| m.number));
        refuse_several(parts.iter().filter(|part| part.permanent).map(name))?;
        let of_main = parts.iter().position(|part| part.mount.is_none()).map(|at| parts.swap_remove(at));
        let of_mount = match parts.pop() {
            None => None,
            Some(part) => {
                let number = part.mount.as_ref().map_or(0, |mounted| mounted.number);
                let name = part.mount.as_ref().map_or("", |mounted| mounted.name.as_str());
                let mount = self.mounts.numbered(number).ok_or_else(|| detached(name))?;
                Some((mount, part.transaction))
            }
        };
        let commit_mount = |(mount, transaction): (Arc<Mount>, Transaction)| {
            let number = Some(mount.number);
            mount.catalog.commit_transaction(transaction, &self.pool, |v| verify(v, number)).map_err(
                |error| match error.state() {
                    SqlState::ReadOnly => read_only(&mount.name, error),
                    _ => error,
                },
            )
        };
        match (of_main, of_mount) {
            (None, None) => Ok(()),
            (None, Some(mount)) => commit_mount(mount),
            (Some(main), None) => {
                self.catalog.commit_transaction(main.transaction, &self.pool, |v| verify(v, None))
            }
            // The main database's part is temporary: when it is found to fit, all that can fail is the other part.
            (Some(main), Some(mount)) => self.catalog.commit_transaction(main.transaction, &self.pool, |v| {
                verify(v, None)?;
                commit_mount(mount)
            }),
        }
    }

    /// The name of a database.
    fn name_of(&self, mount: Option<u64>) -> String {
        match mount {
            None => self.name.clone(),
            Some(number) => self.mounts.numbered(number).map_or_else(String::new, |mount| mount.name.clone()),
        }
    }

    /// The files of all databases that have some.
    pub fn stores(&self) -> Vec<Arc<Store>> {
        self.store.iter().cloned().chain(self.mounts.all().iter().filter_map(|m| m.store.clone())).collect()
    }

    /// The files that a table's database has; `None` in memory.
    pub fn store_of(&self, table: TableId) -> Option<Arc<Store>> {
        match catalog::mount_of(table) {
            None => self.store.clone(),
            Some(number) => self.mounts.numbered(number)?.store.clone(),
        }
    }
}

impl Session {
    /// The attached database in which the session makes things whose names say nothing else; `None` is the main one.
    pub(crate) fn home(&self) -> Option<Arc<Mount>> {
        let path = self.settings().search_path.clone();
        let (name, _) = path.first()?.split_once('.')?;
        self.database.shared.mounts.named(name)
    }

    /// The state of the database that the session uses, as a database of its own.
    pub(crate) fn snapshot_of_home(&self) -> Result<Arc<Snapshot>> {
        let home = self.home();
        self.snapshot().of_database(home.as_ref().map(|mount| mount.name.as_str()))
    }
}

/// Runs `work` with the newest states of these databases, whose commit locks are held meanwhile, and commits to each
/// what it has made of it.
fn within<R>(
    mounts: &[Arc<Mount>],
    mut states: Vec<Mounted>,
    work: impl FnOnce(Vec<Mounted>) -> Result<(R, Vec<ChangedDatabase>)>,
) -> Result<(R, Vec<ChangedDatabase>)> {
    let Some((first, rest)) = mounts.split_first() else { return work(states) };
    first.catalog.commit(|draft| {
        states.push(mounted(first, Arc::new(draft.snapshot().clone())));
        let (outcome, mut changed) = within(rest, states, work)?;
        if let Some(at) = changed.iter().position(|changed| changed.mount == Some(first.number)) {
            if first.read_only {
                let error = Error::new(SqlState::ReadOnly, "the database is open for reading only");
                return Err(read_only(&first.name, error));
            }
            draft.put(changed.swap_remove(at).snapshot);
        }
        Ok((outcome, changed))
    })
}

fn refuse_several(changed: impl Iterator<Item = String>) -> Result<()> {
    let names: Vec<String> = changed.collect();
    match names.as_slice() {
        [first, second, ..] => Err(several(first, second)),
        _ => Ok(()),
    }
}

/// The error for a transaction that changes two databases.
pub(crate) fn several(first: &str, second: &str) -> Error {
    let message = format!(
        "a transaction may change one database: \"{first}\" and \"{second}\" would be changed by one transaction"
    );
    Error::new(SqlState::FeatureNotSupported, message)
        .with_hint("change each database in a transaction of its own; a transaction may read all of them")
}

fn detached(name: &str) -> Error {
    let message = format!("database \"{name}\" has been detached");
    Error::new(SqlState::NotInPrerequisiteState, message)
        .with_hint("ROLLBACK, attach it again, and begin anew")
}

fn read_only(name: &str, error: Error) -> Error {
    let message = format!("cannot change database \"{name}\": {}", error.message());
    let told = Error::new(SqlState::ReadOnly, message);
    match error.hint() {
        Some(hint) => told.with_hint(hint),
        None => told.with_hint("DETACH it, and ATTACH it without READ_ONLY"),
    }
}
