//! All databases as one snapshot, and commits that go to the database they are of.
//!
//! The composed snapshot is made anew when a database has a newer one, and shared until then. A commit is taken apart by
//! database (`catalog::mounts`); one that changes several is refused, since they have no common log. Called by
//! transactions, which see the composed snapshot only.

use std::sync::Arc;

use catalog::{
    ChangedDatabase, DatabaseChanges, Draft, Mounted, Snapshot, Store, TableId, Transaction, Verification,
    change_composed,
};
use types::{Error, Result, SqlState};

use super::{Composed, Mount, mounted, next_version, several};
use crate::Session;
use crate::database::Shared;

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
