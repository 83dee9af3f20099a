//! Transactions of a session: those between BEGIN and COMMIT, and that of every other statement.
//!
//! ```text
//!            BEGIN                    an error
//!   none  ----------->  block  ------------------->  failed block
//!    ^ | a statement      | COMMIT, ROLLBACK            | ROLLBACK, COMMIT (which rolls back)
//!    | v                  v                             v
//!   statement            none  <------------------------+   ROLLBACK TO a savepoint: a block again
//! ```
//! A block is also opened by a text of several statements and by a pipeline of them (`script`): it is implicit, BEGIN makes
//! it one like any other, and what opened it ends it.
//!
//! A statement outside a block is a transaction of its own: it sees one snapshot, its changes are committed when it has
//! succeeded, and when others were faster it is run again on what they left. In a block, errors of that kind end the
//! block, and the client begins anew.
//!
//! All isolation levels see the snapshot of the block's beginning. SERIALIZABLE also fails, when it commits changes, if
//! others have changed a table that it read; H. T. Kung, J. T. Robinson, "On Optimistic Methods for Concurrency
//! Control", TODS 1981, with tables as what is read.

mod statements;

use std::collections::HashSet;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use catalog::{Draft, Savepoint, Snapshot, TableId, Transaction};
use plan::modification::{IsolationLevel, TransactionModes};
use types::{Error, Result, SqlState};

use crate::settings::Settings;

/// The warning of COMMIT and ROLLBACK where BEGIN has not been said.
const NO_TRANSACTION: &str = "there is no transaction in progress";

/// Times that a statement outside a block is run because others were faster.
const ATTEMPTS_MAX: usize = 1000;

/// What a session is in the midst of.
#[derive(Default)]
pub(crate) struct Transactions {
    /// The one that BEGIN has opened.
    block: Mutex<Option<Block>>,
    /// Whether there is one: most questions are about that, which takes no lock.
    has_block: AtomicBool,
    /// Held by the statement that runs in the block.
    turn: Mutex<()>,
    /// Statements outside of it, by the thread that runs them: threads may share a session, and the host program's
    /// functions may run statements inside of statements.
    statements: Mutex<ByThread>,
    /// How many there are.
    running: AtomicUsize,
    /// Modes that later transactions begin with.
    modes: Mutex<Modes>,
    /// The thread whose text of several statements is under way, and what those that wait for its end wait for.
    pub(crate) script: Mutex<Option<ThreadId>>,
    pub(crate) script_ended: Condvar,
    /// Blocks that were opened so far.
    blocks: AtomicU64,
}

/// Statements by the thread that runs them: hardly ever more than one, which is found faster without hashing.
#[derive(Default)]
struct ByThread(Vec<(ThreadId, Statement)>);

impl ByThread {
    fn get_mut(&mut self, thread: ThreadId) -> Option<&mut Statement> {
        self.0.iter_mut().find(|(of, _)| *of == thread).map(|(_, statement)| statement)
    }
    /// A thread runs one at a time, as those inside of it are a part of it.
    fn insert(&mut self, thread: ThreadId, statement: Statement) {
        debug_assert!(self.get_mut(thread).is_none(), "a thread runs two statements");
        self.0.push((thread, statement));
    }
    fn remove(&mut self, thread: ThreadId) -> Option<Statement> {
        let at = self.0.iter().position(|(of, _)| *of == thread)?;
        Some(self.0.swap_remove(at).1)
    }
}

/// The open block, locked.
struct HeldBlock<'a> {
    block: MutexGuard<'a, Option<Block>>,
    has_block: &'a AtomicBool,
}

impl Deref for HeldBlock<'_> {
    type Target = Option<Block>;
    fn deref(&self) -> &Option<Block> {
        &self.block
    }
}

impl DerefMut for HeldBlock<'_> {
    fn deref_mut(&mut self) -> &mut Option<Block> {
        &mut self.block
    }
}

impl Drop for HeldBlock<'_> {
    fn drop(&mut self) {
        // The lock is still held.
        self.has_block.store(self.block.is_some(), Ordering::Release);
    }
}

/// One statement: what it sees, and its changes once it has made some.
struct Statement {
    base: Arc<Snapshot>,
    own: Option<Own>,
}

/// Changes, and what is seen with them.
pub(crate) struct Own {
    transaction: Transaction,
    seen: Arc<Snapshot>,
}

/// An open transaction block.
pub(crate) struct Block {
    /// Unique in the session, for what lives as long as its transaction.
    number: u64,
    /// A script or a pipeline has opened it, and BEGIN has not been said.
    implicit: bool,
    own: Own,
    failed: bool,
    /// Since when no statement has run in it, and for how long that may be.
    idle: Option<(Instant, Duration)>,
    /// It was idle for too long, and has been given up.
    given_up: bool,
    /// Something other than SET TRANSACTION has run.
    used: bool,
    modes: Modes,
    savepoints: Vec<(String, Savepoint)>,
    /// With SERIALIZABLE, the tables that were read.
    read: HashSet<TableId>,
    /// With SET LOCAL, what the session's settings are when it has ended.
    settings: Option<Box<Settings>>,
    /// When it began, in microseconds since 1970: what `now()` is in it.
    began: i64,
}

/// How transactions are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Modes {
    /// The level that was asked for; `None`: the default.
    pub isolation: Option<IsolationLevel>,
    /// Statements that change anything fail.
    pub read_only: bool,
}

impl Modes {
    fn with(self, said: TransactionModes) -> Modes {
        Modes {
            isolation: said.isolation.or(self.isolation),
            read_only: said.read_only.unwrap_or(self.read_only),
        }
    }
}

impl Own {
    fn new(transaction: Transaction) -> Self {
        let seen = transaction.snapshot();
        Own { transaction, seen }
    }
    fn change<R>(&mut self, change: impl FnOnce(&mut Draft) -> Result<R>) -> Result<R> {
        let base = self.transaction.base().clone();
        let outcome = self.transaction.change(|draft| {
            let outcome = change(draft)?;
            // Said where it happens, and not when all is to be committed.
            if let [first, second, ..] = base.databases_changed(draft.snapshot()).as_slice() {
                let name =
                    |name: &Option<String>| name.clone().unwrap_or_else(|| crate::mounts::MAIN.to_owned());
                return Err(crate::mounts::several(&name(first), &name(second)));
            }
            Ok(outcome)
        })?;
        self.seen = self.transaction.snapshot();
        Ok(outcome)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Transactions {
    fn block(&self) -> HeldBlock<'_> {
        HeldBlock { block: locked(&self.block), has_block: &self.has_block }
    }

    fn has_block(&self) -> bool {
        self.has_block.load(Ordering::Acquire)
    }

    /// What the calling thread's statement says, if it runs one.
    fn of_statement<R>(&self, work: impl FnOnce(&mut Statement) -> R) -> Option<R> {
        match self.running.load(Ordering::Acquire) {
            0 => None,
            _ => locked(&self.statements).get_mut(thread::current().id()).map(work),
        }
    }

    /// The calling thread begins a statement.
    fn begin_statement(&self, base: Arc<Snapshot>) {
        locked(&self.statements).insert(thread::current().id(), Statement { base, own: None });
        self.running.fetch_add(1, Ordering::Release);
    }

    fn end_statement(&self, thread: ThreadId) -> Option<Statement> {
        let ended = locked(&self.statements).remove(thread);
        if ended.is_some() {
            self.running.fetch_sub(1, Ordering::Release);
        }
        ended
    }

    /// Lets go of what the block holds, if it has been idle for too long; false when there is nothing to look at any
    /// more.
    pub fn give_up_if_idle(&self, newest: impl FnOnce() -> Arc<Snapshot>) -> bool {
        // A block whose turn is taken runs a statement, so it is not idle.
        let Ok(_turn) = self.turn.try_lock() else { return true };
        let mut block = locked(&self.block);
        let Some(block) = &mut *block else { return false };
        let Some((since, timeout)) = block.idle else { return !block.given_up };
        if since.elapsed() < timeout {
            return true;
        }
        block.savepoints.clear();
        block.read.clear();
        block.own = Own::new(Transaction::on(newest()));
        (block.failed, block.given_up, block.idle) = (true, true, None);
        false
    }
}

impl Block {
    /// SET TRANSACTION; what decides what is seen comes before that.
    fn set_modes(&mut self, modes: TransactionModes) -> Result<()> {
        if self.used && modes.isolation.is_some() {
            let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
            return Err(Error::new(SqlState::ActiveTransaction, message));
        }
        if self.used && modes.read_only == Some(false) && self.modes.read_only {
            let message = "transaction read-write mode must be set before any query";
            return Err(Error::new(SqlState::ActiveTransaction, message));
        }
        self.modes = self.modes.with(modes);
        Ok(())
    }

    /// The innermost savepoint of that name.
    fn savepoint(&self, name: &str) -> Result<usize> {
        self.savepoints.iter().rposition(|(known, _)| known == name).ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            Error::new(SqlState::InvalidSavepoint, message)
        })
    }
}

/// What statements say in a block that has met an error.
pub(crate) fn failed() -> Error {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    Error::new(SqlState::InFailedTransaction, message)
}

fn gone() -> Error {
    let message = "the transaction was idle for too long, and has been rolled back";
    Error::new(SqlState::InFailedTransaction, message).with_hint(
        "ROLLBACK, and begin anew; SET idle_in_transaction_session_timeout says how long it may be idle",
    )
}

/// Whether a statement that is run again may succeed, or may tell better what is wrong.
fn is_overtaken(error: &Error) -> bool {
    matches!(
        error.state(),
        SqlState::SerializationFailure | SqlState::UniqueViolation | SqlState::ForeignKeyViolation
    )
}

/// SERIALIZABLE: what was read of the database that is changed is as it was.
fn unchanged(
    verification: &catalog::Verification<'_>,
    mount: Option<u64>,
    read: &HashSet<TableId>,
) -> Result<()> {
    let read = read.iter().filter(|id| catalog::mount_of(**id) == mount);
    read.map(|id| catalog::name_in_database(*id))
        .try_for_each(|id| same_data(verification.base, verification.newest, id))
}

/// And what was read of other databases.
fn others_unchanged(
    base: &Snapshot,
    newest: &Snapshot,
    mount: Option<u64>,
    read: &HashSet<TableId>,
) -> Result<()> {
    let mut read = read.iter().filter(|id| catalog::mount_of(**id) != mount);
    read.try_for_each(|id| same_data(base, newest, *id))
}

fn same_data(base: &Snapshot, newest: &Snapshot, id: TableId) -> Result<()> {
    let data = |snapshot: &Snapshot| snapshot.table_by_id(id).map(|t| t.data.clone());
    let same = match (data(base), data(newest)) {
        (Some(before), Some(now)) => Arc::ptr_eq(&before, &now),
        (None, _) => true,
        (Some(_), None) => false,
    };
    if same {
        return Ok(());
    }
    let message = "could not serialize access due to read/write dependencies among transactions";
    Err(Error::new(SqlState::SerializationFailure, message)
        .with_hint("The transaction might succeed if retried."))
}
