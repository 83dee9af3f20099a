//! BEGIN, COMMIT, ROLLBACK and savepoints, and the transaction that every other statement runs in.
//!
//! Outside of a block a statement is a transaction, which is run again when others were faster to commit; inside of one
//! it works on the block's own snapshot, and an error leaves the block failed until it ends. Blocks belong to a thread
//! while a statement runs in them, so that statements of several threads take turns (`Transactions`). Called by
//! `Session::run_statement` and everything that commits.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::thread::ThreadId;
use std::time::Instant;

use catalog::{Draft, Snapshot, TableId, Transaction};
use plan::modification::{IsolationLevel, TransactionCommand, TransactionModes};
use types::{Error, Result, SqlState};

use super::{
    ATTEMPTS_MAX, Block, HeldBlock, Modes, NO_TRANSACTION, Own, Statement, failed, gone, is_overtaken,
    locked, others_unchanged, unchanged,
};
use crate::Session;
use crate::result::ResultSet;

impl Session {
    fn block(&self) -> HeldBlock<'_> {
        self.transactions.block()
    }

    /// What is asked of the open block; `None` where there is none.
    fn of_block<R>(&self, ask: impl FnOnce(&mut Block) -> R) -> Option<R> {
        match self.transactions.has_block() {
            true => self.block().as_mut().map(ask),
            false => None,
        }
    }

    /// What the next statement sees, and the running one.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let seen = |statement: &mut Statement| match &statement.own {
            Some(own) => own.seen.clone(),
            None => statement.base.clone(),
        };
        let of_transaction = self.transactions.of_statement(seen);
        of_transaction
            .or_else(|| self.of_block(|block| block.own.seen.clone()))
            .unwrap_or_else(|| self.newest())
    }

    /// What a new transaction sees.
    fn newest(&self) -> Arc<Snapshot> {
        self.pinned.clone().unwrap_or_else(|| self.database.shared.snapshot())
    }

    /// Between BEGIN and its end.
    pub(crate) fn is_in_block(&self) -> bool {
        self.transactions.has_block()
    }

    /// Whether changes are kept from others until a commit: in a block, and inside of a statement that has changed
    /// something, such as IMPORT DATABASE.
    pub(crate) fn has_private_changes(&self) -> bool {
        let own = self.transactions.of_statement(|statement| statement.own.is_some());
        own == Some(true) || self.is_in_block()
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
        if let Some(Statement { base, own }) = statements.get_mut(thread::current().id()) {
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
        if self.transactions.of_statement(|_| ()).is_some() {
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
            self.transactions.begin_statement(self.newest());
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
        if !self.is_in_block() {
            return None;
        }
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
        self.of_block(|block| {
            if block.modes.isolation == Some(IsolationLevel::Serializable) {
                block.read.extend(tables);
            }
        });
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
        self.is_in_block()
    }

    /// Whether the open transaction has met an error, so that all that is left is to roll back.
    pub fn transaction_failed(&self) -> bool {
        self.of_block(|block| block.failed).unwrap_or(false)
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
            C::Lock => match self.is_in_block() {
                true => Ok(ResultSet::done("LOCK TABLE")),
                false => {
                    let message = "LOCK TABLE can only be used in transaction blocks";
                    Err(Error::new(SqlState::NoActiveTransaction, message))
                }
            },
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
            began: sql::clock(),
        }
    }

    /// When the open block began, in microseconds since 1970.
    pub(crate) fn transaction_moment(&self) -> Option<i64> {
        self.block().as_ref().map(|block| block.began)
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
        self.of_block(|block| block.implicit).unwrap_or(false)
    }

    /// The number of the block that is open, which no other block of the session has.
    pub(crate) fn block_number(&self) -> Option<u64> {
        self.of_block(|block| block.number)
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
        self.of_block(|block| block.used = true);
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

/// Ends a statement's transaction, also when the statement panics.
struct Ended<'a>(&'a Session, ThreadId);

impl Ended<'_> {
    /// The statement's changes.
    fn own(self) -> Option<Own> {
        self.0.transactions.end_statement(self.1)?.own
    }
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.transactions.end_statement(self.1);
    }
}
