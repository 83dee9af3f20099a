//! Guards of transactions and savepoints: what is not kept on purpose is taken back.

use std::ops::Deref;

use types::{Error, Result, SqlState};

use super::connection::Connection;

/// An open transaction of a connection, whose methods it has. It is rolled back when it is dropped.
pub struct Transaction<'c> {
    connection: &'c Connection,
    open: bool,
}

impl<'c> Transaction<'c> {
    /// Opens a transaction; an error when one is open.
    pub(crate) fn begin(connection: &'c Connection) -> Result<Transaction<'c>> {
        if connection.in_transaction() {
            return Err(Error::new(
                SqlState::ActiveTransaction,
                "there is already a transaction in progress",
            )
            .with_hint("savepoint() opens a part of it that may be taken back"));
        }
        connection.execute_batch("BEGIN")?;
        Ok(Transaction { connection, open: true })
    }

    /// Keeps what was done: others see it from now on. Fails, and rolls back, where an error was met before.
    pub fn commit(mut self) -> Result<()> {
        self.open = false;
        if self.connection.transaction_failed() {
            self.connection.execute_batch("ROLLBACK")?;
            let message = "the transaction met an error, and has been rolled back";
            return Err(Error::new(SqlState::InFailedTransaction, message));
        }
        let outcome = self.connection.execute_batch("COMMIT");
        if outcome.is_err() && self.connection.in_transaction() {
            // The commit's error says more than another one could.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        outcome
    }

    /// Takes back what was done.
    pub fn rollback(mut self) -> Result<()> {
        self.open = false;
        self.connection.execute_batch("ROLLBACK")
    }

    /// Opens a part of it that may be taken back alone, errors included.
    pub fn savepoint(&mut self) -> Result<Savepoint<'_>> {
        Savepoint::begin(self.connection, 1)
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open && self.connection.in_transaction() {
            // A transaction that cannot be rolled back has ended otherwise.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

/// A part of a transaction. It is taken back when it is dropped without [`Savepoint::commit`].
pub struct Savepoint<'t> {
    connection: &'t Connection,
    depth: usize,
    open: bool,
}

impl<'t> Savepoint<'t> {
    fn begin(connection: &'t Connection, depth: usize) -> Result<Savepoint<'t>> {
        connection.execute_batch(&format!("SAVEPOINT \"savepoint {depth}\""))?;
        Ok(Savepoint { connection, depth, open: true })
    }

    /// Keeps what was done in it, as far as the transaction is kept.
    pub fn commit(mut self) -> Result<()> {
        self.connection.execute_batch(&format!("RELEASE SAVEPOINT \"savepoint {}\"", self.depth))?;
        self.open = false;
        Ok(())
    }

    /// Takes back what was done in it.
    pub fn rollback(mut self) -> Result<()> {
        self.open = false;
        self.take_back()
    }

    /// Opens a part of this part.
    pub fn savepoint(&mut self) -> Result<Savepoint<'_>> {
        Savepoint::begin(self.connection, self.depth + 1)
    }

    fn take_back(&self) -> Result<()> {
        let name = format!("\"savepoint {}\"", self.depth);
        self.connection.execute_batch(&format!("ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}"))
    }
}

impl Deref for Savepoint<'_> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for Savepoint<'_> {
    fn drop(&mut self) {
        if self.open && self.connection.in_transaction() {
            // Where it is not there any more, the transaction has ended, and it with it.
            let _ = self.take_back();
        }
    }
}
