//! The catalog of one database: its newest snapshot, and the order of its commits.
//!
//! ```text
//!  reader:       snapshot()  -> Arc<Snapshot> (one pointer copied under a short read lock)
//!  writer:       commit(f)   -> commit lock -> Draft of the newest -> f(&mut draft)
//!  transaction:  begin()     -> Transaction, a private Draft that statements change one after the other
//!                commit_transaction -> commit lock -> its changes, made again on the newest
//!  both:         the log has the changes (durable databases) -> the next snapshot is published
//! ```
//! The commit lock serialises writers and is not held while the log reaches the disk: `head` is the newest snapshot that
//! others build on, `current` the newest that is durable, and the one that readers see.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use block::Block;
use pool::Pool;
use types::{Error, Result};

use crate::change::{brought_by, difference, permanent_difference};
use crate::draft::Rebase;
use crate::{Change, Draft, Snapshot};

/// Where commits are made durable. A catalog without one lives as long as the process.
pub trait CommitLog: Debug + Send + Sync {
    /// Writes the blocks of a coming commit to disk, when they are large, before the commit lock is taken. The commit
    /// may fail to follow.
    fn prepare(&self, blocks: &[Arc<Block>]) -> Result<()> {
        let _ = blocks;
        Ok(())
    }
    /// Appends a commit's changes; calls come in the order of commits, and `after` is the state with them. On an
    /// error nothing of them is kept. The record's number is for `wait`.
    fn append(&self, changes: &[Change], after: &Arc<Snapshot>) -> Result<u64>;
    /// Returns when everything up to that number is durable. After an error here the log accepts no more commits.
    fn wait(&self, number: u64) -> Result<()>;
}

/// The newest state of one database, shared by its sessions. Readers take snapshots; commits are serialised and made
/// durable by the log, if there is one.
#[derive(Debug)]
pub struct Catalog {
    current: RwLock<Arc<Snapshot>>,
    /// Raised under `current`'s lock whenever it was changed.
    published: AtomicU64,
    /// The commit lock.
    head: Mutex<Head>,
    log: Option<Arc<dyn CommitLog>>,
}

#[derive(Debug)]
struct Head {
    snapshot: Arc<Snapshot>,
    /// Number of the last log record that the snapshot rests on; 0 for none.
    number: u64,
}

impl Default for Catalog {
    fn default() -> Self {
        Catalog::new()
    }
}

/// What `commit_transaction` has verified: whether keys hold once these changes are made on the newest state.
pub struct Verification<'a> {
    /// What the transaction began with.
    pub base: &'a Snapshot,
    /// The state that the commit is made on: `base` with the commits since.
    pub newest: &'a Snapshot,
    /// `newest` with the changes.
    pub next: &'a Snapshot,
    /// What the transaction did, in the order of application.
    pub changes: &'a [Change],
}

impl Catalog {
    /// The empty catalog of a database in memory: its commits are not logged.
    pub fn new() -> Self {
        Catalog::starting_with(Snapshot::new(), None)
    }

    /// The catalog of a database that was opened.
    pub fn starting_with(snapshot: Snapshot, log: Option<Arc<dyn CommitLog>>) -> Self {
        let snapshot = Arc::new(snapshot);
        let head = Head { snapshot: snapshot.clone(), number: 0 };
        Catalog { current: RwLock::new(snapshot), published: AtomicU64::new(0), head: Mutex::new(head), log }
    }

    /// How many states were published: as long as it is the same, so is [`Catalog::snapshot`]. To be read before the
    /// snapshot that something is remembered of. Who only wants to know that nothing has changed takes no lock by it
    /// and touches no count that other threads change, which costs more than all else of a short question.
    pub fn published(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    /// The newest state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        // Only a pointer is ever written under the lock, so a poisoned one holds a whole snapshot.
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets `change` alter a draft of the newest snapshot, and publishes it; on an error nothing changes. The closure
    /// should be short: commits wait for one another.
    pub fn commit<R>(&self, change: impl FnOnce(&mut Draft) -> Result<R>) -> Result<R> {
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        let mut draft = Draft::remembering((*head.snapshot).clone(), self.log.is_some());
        let outcome = change(&mut draft)?;
        let Some(next) = draft.into_changed() else { return Ok(outcome) };
        let (next, number) = self.logged(&mut head, next)?;
        drop(head);
        self.publish(next, number)?;
        Ok(outcome)
    }

    /// Writes blocks that a commit will add to disk in advance, so that large data is not written under the commit
    /// lock. Nothing is lost when the commit does not follow.
    pub fn prepare(&self, blocks: &[Arc<Block>]) -> Result<()> {
        match &self.log {
            Some(log) if !blocks.is_empty() => log.prepare(blocks),
            _ => Ok(()),
        }
    }

    /// A transaction that sees the newest state, and its own changes.
    pub fn begin(&self) -> Transaction {
        Transaction::on(self.snapshot())
    }

    /// Makes a transaction's changes on the newest state and publishes it. SQLSTATE 40001 when others changed the
    /// same things first; on any error nothing is changed. `verify` checks that keys also hold with the rows that
    /// others added.
    pub fn commit_transaction(
        &self,
        transaction: Transaction,
        pool: &Pool,
        verify: impl FnOnce(&Verification<'_>) -> Result<()>,
    ) -> Result<()> {
        let Transaction { base, draft } = transaction;
        let Some(private) = draft.into_changed() else { return Ok(()) };
        let changes = difference(&base, &private);
        if changes.is_empty() {
            return Ok(());
        }
        let permanent = permanent_difference(&base, &private);
        let blocks: Vec<Arc<Block>> = brought_by(&permanent).map(|stored| stored.block.clone()).collect();
        self.prepare(&blocks)?;
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = head.snapshot.clone();
        let mut draft = Draft::remembering((*newest).clone(), self.log.is_some());
        draft.apply(&changes, pool, Rebase::Onto { base: &base, newest: &newest })?;
        let Some(next) = draft.into_changed() else { return Ok(()) };
        verify(&Verification { base: &base, newest: &newest, next: &next, changes: &changes })?;
        let (next, number) = self.logged(&mut head, next)?;
        drop(head);
        self.publish(next, number)
    }

    /// Writes to the log what leads to `next`, and makes it the state that the next commit builds on.
    fn logged(&self, head: &mut Head, next: Snapshot) -> Result<(Arc<Snapshot>, u64)> {
        let next = Arc::new(next);
        if let Some(log) = &self.log {
            let changes = permanent_difference(&head.snapshot, &next);
            if !changes.is_empty() {
                head.number = log.append(&changes, &next)?;
            }
        }
        head.snapshot = next.clone();
        Ok((next, head.number))
    }

    /// Shows a state to readers when all that it rests on is durable; `number` is the last record of that.
    fn publish(&self, next: Arc<Snapshot>, number: u64) -> Result<()> {
        let durable = match &self.log {
            Some(log) if number > 0 => log.wait(number),
            _ => Ok(()),
        };
        if let Err(error) = durable {
            self.go_back(number);
            return Err(error);
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        // A later commit that became durable together with this one may have been faster.
        if current.version() < next.version() {
            *current = next;
            self.published.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    /// The log has failed at `number`: nothing may rest on it.
    fn go_back(&self, number: u64) {
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        if head.number >= number {
            *head = Head { snapshot: self.snapshot(), number: 0 };
        }
    }
}

/// A private state with changes that are not committed. Dropping it rolls them back.
#[derive(Clone, Debug)]
pub struct Transaction {
    base: Arc<Snapshot>,
    draft: Draft,
}

/// A state of a transaction to come back to.
#[derive(Clone, Debug)]
pub struct Savepoint(Draft);

impl Transaction {
    /// A transaction that began with that state.
    pub fn on(base: Arc<Snapshot>) -> Transaction {
        Transaction { draft: Draft::private((*base).clone()), base }
    }
    /// What it began with.
    pub fn base(&self) -> &Arc<Snapshot> {
        &self.base
    }
    /// What it sees: what it began with, and its own changes.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::new(self.draft.snapshot().clone())
    }
    /// Lets `change` alter it; on an error it is as before.
    pub fn change<R>(&mut self, change: impl FnOnce(&mut Draft) -> Result<R>) -> Result<R> {
        let mut draft = self.draft.clone();
        let outcome = change(&mut draft)?;
        self.draft = draft;
        Ok(outcome)
    }
    /// The state at this point, for `roll_back_to`. Costs a copy of the maps, not of rows.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint(self.draft.clone())
    }
    /// Undoes every change since the savepoint was taken; the savepoint stays valid.
    pub fn roll_back_to(&mut self, savepoint: &Savepoint) {
        self.draft = savepoint.0.clone();
    }
    /// Whether anything was changed since it began; true also when later changes undid earlier ones.
    pub fn has_changes(&self) -> bool {
        self.draft.is_changed()
    }
    pub(crate) fn draft(&self) -> &Draft {
        &self.draft
    }
    pub(crate) fn of(base: Arc<Snapshot>, draft: Draft) -> Transaction {
        Transaction { base, draft }
    }
}

/// The state that a log's changes lead to, for recovery: each commit's changes in turn.
pub fn replay(snapshot: Snapshot, changes: &[Change], pool: &Pool) -> Result<Snapshot> {
    let mut draft = Draft::new(snapshot);
    draft.apply(changes, pool, Rebase::Replay)?;
    draft.into_changed().ok_or_else(|| Error::internal("a logged commit changes nothing"))
}
