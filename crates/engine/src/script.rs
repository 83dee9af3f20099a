//! Scripts and pipelines: several statements that are one transaction unless they say otherwise.
//!
//! ```text
//!  execute("a; b; c")      parsed as a whole, then: open implicit block, a, b, c, commit
//!  begin_implicit()        the same in steps, for a protocol whose statements come one by one (a pipeline up to Sync)
//!  execute_separately()    each statement a transaction of its own, as at a prompt
//! ```
//! As PostgreSQL does with a simple query: an error takes back what the script has done; BEGIN makes the block that is open
//! one like any other, so that it outlives the script; COMMIT and ROLLBACK end it, with a warning where BEGIN was not said,
//! and the next statement opens another one. Savepoints ask for BEGIN. A statement that cannot be a part of a transaction
//! (ATTACH, DETACH, ALTER TABLE ... SET) runs by itself where the script has changed nothing before it, and is an error
//! where it has (`Session::leave_block_for`).
//!
//! A script's block is its thread's: statements that other threads run on the same session wait for its end
//! (`Session::wait_for_script`). What a statement's own functions run on the session is a part of that statement, so a
//! text of several statements opens no block there.

use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

use types::{Error, Result};

use crate::Session;
use crate::plan_cache::Given;
use crate::result::ResultSet;
use crate::sessions::TransactionStatus;

/// How often a wait for another thread's script looks whether it shall go on.
const WAIT_LOOKS: Duration = Duration::from_millis(20);

/// A text of several statements under way; what it has done is taken back if it is dropped before `finish`.
pub(crate) struct Script<'s> {
    session: &'s Session,
    /// Its statements are a transaction, where they do not say otherwise.
    is_transaction: bool,
    /// It has made other threads wait.
    is_claimed: bool,
}

impl Session {
    /// Where the session is: in a transaction block or not.
    pub fn transaction_status(&self) -> TransactionStatus {
        match (self.in_transaction(), self.transaction_failed()) {
            (_, true) => TransactionStatus::Failed,
            (true, false) => TransactionStatus::InBlock,
            (false, false) => TransactionStatus::Idle,
        }
    }

    /// Opens a transaction block that BEGIN has not asked for, where none is open: statements up to
    /// [`Session::end_implicit`] are one transaction, unless they say otherwise. To be called before each statement of a
    /// pipeline: COMMIT may have ended the block.
    ///
    /// A statement alone should be run without: outside a block it is run again when others were faster.
    pub fn begin_implicit(&self) {
        self.open_implicit();
    }

    /// Ends what [`Session::begin_implicit`] has opened, and keeps its changes or, without `commit` or after an error,
    /// takes them back. A block that BEGIN has made one like any other stays, and has failed without `commit`.
    pub fn end_implicit(&self, commit: bool) -> Result<()> {
        // Mostly there is none, which is no work.
        let outcome = match self.is_in_implicit_block() {
            true => self.called(|| self.end_implicit_block(commit)),
            false => Ok(()),
        };
        if !commit {
            self.fail_transaction();
        }
        outcome
    }

    /// Runs each statement of `text` as a transaction of its own, or in the open block, up to the first error, and hands
    /// each result on. What stands before an error has taken effect, and a later statement's syntax is looked at when
    /// its turn comes: as statements do at a prompt.
    pub fn execute_separately(
        &self,
        text: &str,
        mut deliver: impl FnMut(ResultSet) -> Result<()>,
    ) -> Result<()> {
        self.called(|| {
            let statements = self.statements(text)?;
            for statement in &statements {
                deliver(self.execute_one(text, statement, statements.len() == 1, Given::default())?)?;
            }
            Ok(())
        })
    }

    /// The statements of a text, which are all read before one runs if there are several.
    pub(crate) fn statements_of_script(&self, text: &str) -> Result<Vec<sql::StatementText>> {
        let statements = self.statements(text)?;
        if statements.len() > 1 {
            statements.iter().try_for_each(|statement| sql::check_syntax(text, statement))?;
        }
        Ok(statements)
    }

    /// Begins a script of so many statements.
    pub(crate) fn begin_script(&self, statements: usize) -> Result<Script<'_>> {
        let inside = self.is_inside();
        let mut script = Script { session: self, is_transaction: false, is_claimed: false };
        if statements > 1 && !inside {
            if !self.is_of_script() {
                self.wait_for_script()?;
                script.is_claimed = self.claim_script();
            }
            script.is_transaction = !self.in_transaction();
        }
        Ok(script)
    }

    /// Whether the calling thread runs the script that is under way.
    pub(crate) fn is_of_script(&self) -> bool {
        let script = self.transactions.script.lock().unwrap_or_else(PoisonError::into_inner);
        *script == Some(thread::current().id())
    }

    fn claim_script(&self) -> bool {
        let mut script = self.transactions.script.lock().unwrap_or_else(PoisonError::into_inner);
        script.replace(thread::current().id());
        true
    }

    /// Waits until no script of another thread is under way; not inside of a work order, which such a script may wait for.
    pub(crate) fn wait_for_script(&self) -> Result<()> {
        if self.database.shared.scheduler.is_inside_order() {
            return Ok(());
        }
        let mut script = self.transactions.script.lock().unwrap_or_else(PoisonError::into_inner);
        while script.is_some() {
            let waited = self.transactions.script_ended.wait_timeout(script, WAIT_LOOKS);
            script = waited.unwrap_or_else(PoisonError::into_inner).0;
            if script.is_some() {
                drop(script);
                self.go_on()?;
                script = self.transactions.script.lock().unwrap_or_else(PoisonError::into_inner);
            }
        }
        Ok(())
    }
}

impl Script<'_> {
    /// To be called before each statement.
    pub fn before_statement(&self) {
        if self.is_transaction {
            self.session.open_implicit();
        }
    }

    /// Whether it has changes that are not committed.
    pub fn has_changes(&self) -> bool {
        self.is_transaction && self.session.implicit_changes()
    }

    /// Commits what the script has done, if it has not done that itself.
    pub fn commit(&self) -> Result<()> {
        match self.is_transaction {
            true => self.session.end_implicit_block(true),
            false => Ok(()),
        }
    }
}

impl Drop for Script<'_> {
    fn drop(&mut self) {
        if self.is_transaction {
            // Nothing is open after `commit`; taking changes back cannot fail.
            let _: std::result::Result<(), Error> = self.session.end_implicit_block(false);
        }
        if self.is_claimed {
            let mut script = self.session.transactions.script.lock().unwrap_or_else(PoisonError::into_inner);
            *script = None;
            self.session.transactions.script_ended.notify_all();
        }
    }
}
