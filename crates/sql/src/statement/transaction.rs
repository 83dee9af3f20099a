//! BEGIN, COMMIT, ROLLBACK, savepoints, and SET TRANSACTION.

use plan::Statement;
use plan::modification::{IsolationLevel, TransactionCommand as Command, TransactionModes};
use syntax::Span;
use syntax::tree::{self, StatementKind as Kind, TransactionMode};
use types::{Error, Result};

use super::Context;
use crate::bind::folded;

impl Context<'_> {
    /// Statements about transactions; every other one has been planned elsewhere.
    pub(super) fn transaction(&self, statement: &tree::Statement) -> Result<Statement> {
        let at = statement.span;
        let command = match &statement.kind {
            Kind::Begin { start, modes } => Command::Begin { modes: self.modes(modes, at)?, start: *start },
            Kind::Commit { chain } => Command::Commit { chain: *chain == Some(true) },
            Kind::Rollback { chain, to: None } => Command::Rollback { chain: *chain == Some(true) },
            Kind::Rollback { chain: _, to: Some(name) } => Command::RollbackTo { name: folded(name) },
            Kind::Savepoint(name) => Command::Savepoint { name: folded(name) },
            Kind::Release(name) => Command::Release { name: folded(name) },
            Kind::SetTransaction(session, modes) => {
                Command::Set { modes: self.modes(modes, at)?, session: *session }
            }
            _ => return Err(self.at(Error::internal("a statement that nothing reads"), at)),
        };
        Ok(Statement::Transaction(command))
    }

    /// The last one counts that says something.
    fn modes(&self, list: &[TransactionMode], at: Span) -> Result<TransactionModes> {
        let mut modes = TransactionModes::default();
        for mode in list {
            match mode {
                TransactionMode::ReadOnly => modes.read_only = Some(true),
                TransactionMode::ReadWrite => modes.read_only = Some(false),
                TransactionMode::ReadUncommitted => modes.isolation = Some(IsolationLevel::ReadUncommitted),
                TransactionMode::ReadCommitted => modes.isolation = Some(IsolationLevel::ReadCommitted),
                TransactionMode::RepeatableRead | TransactionMode::Snapshot => {
                    modes.isolation = Some(IsolationLevel::RepeatableRead);
                }
                TransactionMode::Serializable => modes.isolation = Some(IsolationLevel::Serializable),
                TransactionMode::Deferrable | TransactionMode::NotDeferrable => {
                    return Err(self.unsupported("DEFERRABLE of a transaction", at));
                }
            }
        }
        Ok(modes)
    }
}
