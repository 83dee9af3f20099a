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

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use catalog::{Draft, Savepoint, Snapshot, TableId, Transaction};
use plan::modification::{IsolationLevel, TransactionCommand, TransactionModes};
use types::{Error, Result, SqlState};

use crate::Session;
use crate::result::ResultSet;
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
    /// Held by the statement that runs in the block.
    turn: Mutex<()>,
    /// Statements outside of it, by the thread that runs them: threads may share a session, and the host program's
    /// functions may run statements inside of statements.
    statements: Mutex<HashMap<ThreadId, Statement>>,
    /// Modes that later transactions begin with.
    modes: Mutex<Modes>,
    /// The thread whose text of several statements is under way, and what those that wait for its end wait for.
    pub(crate) script: Mutex<Option<ThreadId>>,
    pub(crate) script_ended: Condvar,
    /// Blocks that were opened so far.
    blocks: AtomicU64,
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

impl Session {
    fn block(&self) -> MutexGuard<'_, Option<Block>> {
        locked(&self.transactions.block)
    }

    /// What the next statement sees, and the running one.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        if let Some(statement) = locked(&self.transactions.statements).get(&thread::current().id()) {
            return statement.own.as_ref().map_or(&statement.base, |own| &own.seen).clone();
        }
        let block = self.block();
        block.as_ref().map_or_else(|| self.newest(), |block| block.own.seen.clone())
    }

    /// What a new transaction sees.
    fn newest(&self) -> Arc<Snapshot> {
        self.pinned.clone().unwrap_or_else(|| self.database.shared.snapshot())
    }

    /// Between BEGIN and its end.
    pub(crate) fn is_in_block(&self) -> bool {
        self.block().is_some()
    }

    /// Whether changes are kept from others until a commit: in a block, and inside of a statement that has changed
    /// something, such as IMPORT DATABASE.
    pub(crate) fn has_private_changes(&self) -> bool {
        let statements = locked(&self.transactions.statements);
        let own = statements.get(&thread::current().id()).is_some_and(|statement| statement.own.is_some());
        drop(statements);
        own || self.is_in_block()
    }

    /// The newest state that changes of `change_at_once` are made on.
    pub(crate) fn newest_seen(&self) -> Arc<Snapshot> {
        match self.has_private_changes() {
            true => self.snapshot(),
            false => self.database.shared.snapshot(),
        }
    }

    /// Changes the newest state, which others see at once: for work in steps each of which leaves the database whole.
    /// With private changes it is a change like any other.
    pub(crate) fn change_at_once<R>(&self, change: impl FnOnce(&mut Draft) -> Result<R>) -> Result<R> {
        match self.has_private_changes() {
            true => self.commit(change),
            false => self.database.shared.commit(change),
        }
    }

    /// Changes the transaction that runs; others see it when that commits.
    pub(crate) fn commit<R>(&self, change: impl FnOnce(&mut Draft) -> Result<R>) -> Result<R> {
        let owner = self.identity().current;
        // What is new gets an owner, what is gone leaves no privileges behind.
        let settled = |draft: &mut Draft| {
            let before = draft.snapshot().clone();
            let outcome = change(draft)?;
            draft.settle_access(&before, owner);
            Ok(outcome)
        };
        let mut statements = locked(&self.transactions.statements);
        if let Some(Statement { base, own }) = statements.get_mut(&thread::current().id()) {
            return own.get_or_insert_with(|| Own::new(Transaction::on(base.clone()))).change(settled);
        }
        drop(statements);
        match &mut *self.block() {
            Some(block) => block.own.change(settled),
            None => self.database.shared.commit(settled),
        }
    }

    /// Runs one statement in the block that is open, or as a transaction of its own. `of_script`: it belongs to the script
    /// that is under way, for whose end others wait.
    pub(crate) fn as_transaction<R>(
        &self,
        ends_block: bool,
        of_script: bool,
        work: impl Fn() -> Result<R>,
    ) -> Result<R> {
        let id = thread::current().id();
        if locked(&self.transactions.statements).contains_key(&id) {
            // The host program runs it inside of the statement that this thread runs, of which it is a part.
            return work();
        }
        if !of_script {
            self.wait_for_script()?;
        }
        if let Some(outcome) = self.in_open_block(ends_block, &work) {
            return outcome;
        }
        for attempt in 1.. {
            let statement = Statement { base: self.newest(), own: None };
            locked(&self.transactions.statements).insert(id, statement);
            let ended = Ended(self, id);
            let outcome = work();
            let own = ended.own();
            let value = outcome?;
            let Some(own) = own else {
                self.reclaim_if_asked();
                return Ok(value);
            };
            match self.commit_own(own, None) {
                Ok(()) => return Ok(value),
                Err(error) if attempt < ATTEMPTS_MAX && is_overtaken(&error) => self.go_on()?,
                Err(error) => return Err(error),
            }
        }
        Err(Error::internal("a statement without an end"))
    }

    /// Runs a statement in the block; `None` when there is none.
    fn in_open_block<R>(&self, ends_block: bool, work: &impl Fn() -> Result<R>) -> Option<Result<R>> {
        // Inside of a work order a statement of the block is waiting for this one already.
        let inside = self.database.shared.scheduler.is_inside_order();
        let _turn = (!inside).then(|| locked(&self.transactions.turn));
        let (failed_before, given_up) = {
            let mut block = self.block();
            let block = block.as_mut()?;
            block.idle = None;
            (block.failed, block.given_up)
        };
        if failed_before && !ends_block {
            return Some(Err(if given_up { gone() } else { failed() }));
        }
        let outcome = work();
        if let Some(block) = &mut *self.block() {
            block.failed |= outcome.is_err();
            let timeout = self.settings().idle_timeout.filter(|_| !block.implicit);
            block.idle = timeout.map(|timeout| (Instant::now(), timeout));
        }
        if self.settings().idle_timeout.is_some() {
            self.database.shared.idle.add(&self.database.shared, &self.transactions);
        }
        Some(outcome)
    }

    fn commit_own(&self, own: Own, read: Option<&HashSet<TableId>>) -> Result<()> {
        let Own { transaction, seen } = own;
        drop(seen);
        let shared = &self.database.shared;
        let base = transaction.base().clone();
        let outcome = shared.commit_transaction(transaction, |verification, mount| {
            if let Some(read) = read {
                unchanged(verification, mount, read)?;
                others_unchanged(&base, &shared.snapshot(), mount, read)?;
            }
            self.verify_commit(verification)
        });
        self.reclaim_if_asked();
        outcome
    }

    fn reclaim_if_asked(&self) {
        if self.reclaims.swap(false, Relaxed) {
            self.database.shared.budget.reclaim();
        }
    }

    /// Gives memory back once the transaction has ended: the statement has dropped much.
    pub(crate) fn reclaim_afterwards(&self) {
        self.reclaims.store(true, Relaxed);
    }

    /// Notes the tables that a query reads.
    pub(crate) fn note_read(&self, tables: impl Iterator<Item = TableId>) {
        if let Some(block) = &mut *self.block() {
            if block.modes.isolation == Some(IsolationLevel::Serializable) {
                block.read.extend(tables);
            }
        }
    }

    /// Fails when the transaction may not change anything.
    pub(crate) fn refuse_read_only(&self, verb: &str) -> Result<()> {
        let modes = self.block().as_ref().map(|block| block.modes);
        match modes.unwrap_or_else(|| self.modes()).read_only {
            true => {
                let message = format!("cannot execute {verb} in a read-only transaction");
                Err(Error::new(SqlState::ReadOnly, message))
            }
            false => Ok(()),
        }
    }

    /// Whether BEGIN has been said and neither COMMIT nor ROLLBACK.
    pub fn in_transaction(&self) -> bool {
        self.block().is_some()
    }

    /// Whether the open transaction has met an error, so that all that is left is to roll back.
    pub fn transaction_failed(&self) -> bool {
        self.block().as_ref().is_some_and(|block| block.failed)
    }

    /// Has the open transaction end as after an error, for work of several statements that has failed as a whole.
    pub(crate) fn fail_transaction(&self) {
        if let Some(block) = &mut *self.block() {
            block.failed = true;
        }
    }

    /// The modes of transactions to come.
    fn modes(&self) -> Modes {
        *locked(&self.transactions.modes)
    }

    /// What `SHOW transaction_isolation` says.
    pub(crate) fn isolation_name(&self) -> &'static str {
        let modes = self.block().as_ref().map(|block| block.modes);
        match modes.unwrap_or_else(|| self.modes()).isolation {
            Some(IsolationLevel::Serializable) => "serializable",
            _ => "repeatable read",
        }
    }

    /// BEGIN, COMMIT, ROLLBACK, savepoints and SET TRANSACTION.
    pub(crate) fn transaction_command(&self, command: TransactionCommand) -> Result<ResultSet> {
        use TransactionCommand as C;
        match command {
            C::Begin { modes, start } => {
                let done = ResultSet::done(if start { "START TRANSACTION" } else { "BEGIN" });
                if let Some(block) = &mut *self.block() {
                    if std::mem::take(&mut block.implicit) {
                        block.set_modes(modes)?;
                        return Ok(done);
                    }
                    block.modes = block.modes.with(modes);
                    return Ok(done.with_warning("there is already a transaction in progress"));
                }
                self.begin(self.modes().with(modes));
                Ok(done)
            }
            C::Commit { chain } => self.end_block(chain, true),
            C::Rollback { chain } => self.end_block(chain, false),
            C::Savepoint { name } => {
                self.in_block("SAVEPOINT", |block| {
                    block.savepoints.push((name, block.own.transaction.savepoint()));
                    Ok(())
                })?;
                Ok(ResultSet::done("SAVEPOINT"))
            }
            C::Release { name } => {
                let (number, at) = self.in_block("RELEASE SAVEPOINT", |block| {
                    let at = block.savepoint(&name)?;
                    block.savepoints.truncate(at);
                    Ok((block.number, at))
                })?;
                self.cursors.release(number, at);
                Ok(ResultSet::done("RELEASE"))
            }
            C::RollbackTo { name } => {
                let (number, at) = self.in_block("ROLLBACK TO SAVEPOINT", |block| {
                    let at = block.savepoint(&name)?;
                    block.savepoints.truncate(at + 1);
                    let savepoint = &block.savepoints[at].1;
                    block.own.transaction.roll_back_to(savepoint);
                    block.own.seen = block.own.transaction.snapshot();
                    block.failed = false;
                    Ok((block.number, at))
                })?;
                self.cursors.roll_back_to(number, at);
                Ok(ResultSet::done("ROLLBACK"))
            }
            C::Set { modes, session: true } => {
                let mut own = locked(&self.transactions.modes);
                *own = own.with(modes);
                Ok(ResultSet::done("SET"))
            }
            C::Set { modes, session: false } => self.set_transaction(modes),
        }
    }

    fn begin(&self, modes: Modes) {
        let timeout = self.settings().idle_timeout;
        let block = Block { idle: timeout.map(|timeout| (Instant::now(), timeout)), ..self.new_block(modes) };
        *self.block() = Some(block);
        if timeout.is_some() {
            self.database.shared.idle.add(&self.database.shared, &self.transactions);
        }
    }

    /// A block that has seen no statement.
    fn new_block(&self, modes: Modes) -> Block {
        Block {
            number: self.transactions.blocks.fetch_add(1, Relaxed) + 1,
            implicit: false,
            own: Own::new(Transaction::on(self.newest())),
            failed: false,
            idle: None,
            given_up: false,
            used: false,
            modes,
            savepoints: vec![],
            read: HashSet::new(),
            settings: None,
        }
    }

    /// Opens an implicit block, where no block is open.
    pub(crate) fn open_implicit(&self) {
        let modes = self.modes();
        let mut current = self.block();
        if current.is_none() {
            *current = Some(Block { implicit: true, ..self.new_block(modes) });
        }
    }

    /// The number of the block that is open, and how many savepoints it has.
    pub(crate) fn block_place(&self) -> Option<(u64, usize)> {
        self.block().as_ref().map(|block| (block.number, block.savepoints.len()))
    }

    /// SET LOCAL keeps the session's settings for the end of the block; false where no block is open.
    pub(crate) fn keep_settings(&self) -> bool {
        let settings = self.settings().clone();
        let mut block = self.block();
        block.as_mut().map(|block| block.settings.get_or_insert_with(|| Box::new(settings))).is_some()
    }

    /// A setting of the session is changed where SET LOCAL holds: it is so at the end of the block, too.
    pub(crate) fn set_kept(&self, name: &str, value: Option<&str>) {
        if let Some(kept) = self.block().as_mut().and_then(|block| block.settings.as_mut()) {
            // It was accepted for the settings that hold now.
            _ = kept.set(name, value);
        }
    }

    /// Ends the block that is open if it is implicit; one that has failed is rolled back.
    pub(crate) fn end_implicit_block(&self, commit: bool) -> Result<()> {
        let ended = self.block().take_if(|block| block.implicit);
        ended.map_or(Ok(()), |block| self.finish(block, commit).map(drop))
    }

    /// Whether an implicit block is open that has changed something.
    pub(crate) fn implicit_changes(&self) -> bool {
        self.block().as_ref().is_some_and(|block| block.implicit && block.own.transaction.has_changes())
    }

    /// Whether a block is open that a script or a pipeline has opened.
    pub(crate) fn is_in_implicit_block(&self) -> bool {
        self.block().as_ref().is_some_and(|block| block.implicit)
    }

    /// The number of the block that is open, which no other block of the session has.
    pub(crate) fn block_number(&self) -> Option<u64> {
        self.block().as_ref().map(|block| block.number)
    }

    /// For statements that cannot be a part of a transaction. In an implicit block that has changed nothing yet such a
    /// statement runs by itself, and the statements after it are a transaction of their own; in others it is an error.
    pub(crate) fn leave_block_for(&self, verb: &str, hint: &str) -> Result<()> {
        let mut current = self.block();
        let left = current.take_if(|block| block.implicit && !block.own.transaction.has_changes());
        if current.is_none() {
            drop(current);
            return left.map_or(Ok(()), |block| self.finish(block, true).map(drop));
        }
        let message = format!("{verb} cannot run inside a transaction block");
        Err(Error::new(SqlState::ActiveTransaction, message).with_hint(hint))
    }

    /// Marks the block as used by a statement other than those about it.
    pub(crate) fn use_block(&self) {
        if let Some(block) = &mut *self.block() {
            block.used = true;
        }
    }

    fn set_transaction(&self, modes: TransactionModes) -> Result<ResultSet> {
        let done = ResultSet::done("SET");
        let mut current = self.block();
        let Some(block) = &mut *current else {
            return Ok(done.with_warning("SET TRANSACTION can only be used in transaction blocks"));
        };
        block.set_modes(modes)?;
        Ok(done)
    }

    fn in_block<R>(&self, verb: &str, change: impl FnOnce(&mut Block) -> Result<R>) -> Result<R> {
        match &mut *self.block() {
            Some(block) if !block.implicit => change(block),
            _ => {
                let message = format!("{verb} can only be used in transaction blocks");
                Err(Error::new(SqlState::NoActiveTransaction, message))
            }
        }
    }

    fn end_block(&self, chain: bool, commit: bool) -> Result<ResultSet> {
        let word = if commit { "COMMIT" } else { "ROLLBACK" };
        let implicit = self.block().as_ref().is_none_or(|block| block.implicit);
        if implicit && chain {
            let message = format!("{word} AND CHAIN can only be used in transaction blocks");
            return Err(Error::new(SqlState::NoActiveTransaction, message));
        }
        let Some(block) = self.block().take() else {
            return Ok(ResultSet::done(word).with_warning(NO_TRANSACTION));
        };
        let modes = block.modes;
        let kept = self.finish(block, commit)?;
        if implicit {
            return Ok(ResultSet::done(word).with_warning(NO_TRANSACTION));
        }
        if chain {
            self.begin(modes);
        }
        Ok(ResultSet::done(if kept { "COMMIT" } else { "ROLLBACK" }))
    }

    /// Ends a block that is not the session's any more, with what lives as long as it; whether its changes are kept.
    fn finish(&self, mut block: Block, commit: bool) -> Result<bool> {
        if let Some(kept) = block.settings.take() {
            let mut settings = self.settings();
            let now = std::mem::replace(&mut *settings, *kept);
            // They are no settings that SET LOCAL knows.
            (settings.variables, settings.macros, settings.role) = (now.variables, now.macros, now.role);
        }
        let number = block.number;
        let outcome = self.finish_changes(block, commit);
        self.cursors.end_block(number, *outcome.as_ref().unwrap_or(&false));
        outcome
    }

    fn finish_changes(&self, block: Block, commit: bool) -> Result<bool> {
        let Block { mut own, failed, modes, savepoints, read, .. } = block;
        drop(savepoints);
        if !commit || failed {
            drop(own);
            self.reclaim_if_asked();
            return Ok(false);
        }
        let settled = crate::sequences::settled(&own.seen, own.transaction.base());
        own.change(|draft| {
            let mut settled = settled.into_iter();
            settled.try_for_each(|(schema, name, sequence)| {
                draft.set_sequence(Some(&schema), &name, Some(sequence))
            })
        })?;
        let read = (modes.isolation == Some(IsolationLevel::Serializable)).then_some(&read);
        self.commit_own(own, read)?;
        Ok(true)
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

/// Ends a statement's transaction, also when the statement panics.
struct Ended<'a>(&'a Session, ThreadId);

impl Ended<'_> {
    /// The statement's changes.
    fn own(self) -> Option<Own> {
        locked(&self.0.transactions.statements).remove(&self.1)?.own
    }
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        locked(&self.0.transactions.statements).remove(&self.1);
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
