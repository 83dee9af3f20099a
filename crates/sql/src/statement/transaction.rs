//! BEGIN, COMMIT, ROLLBACK, savepoints, and SET TRANSACTION.

use plan::Statement;
use plan::modification::{IsolationLevel, TransactionCommand, TransactionModes};
use sqlparser::ast::{
    Set, Statement as Syntax, TransactionAccessMode, TransactionIsolationLevel, TransactionMode,
};
use types::{Error, Result};

use super::Context;
use crate::bind::folded;
use crate::place;

impl Context<'_> {
    /// The statement if it is one about transactions.
    pub(super) fn transaction(&self, syntax: &Syntax) -> Option<Result<Statement>> {
        use TransactionCommand as C;
        let command = match syntax {
            Syntax::StartTransaction { modes: list, begin, modifier, statements, exception, .. } => {
                if modifier.is_some() || !statements.is_empty() || exception.is_some() {
                    let error = Error::unsupported("this form of BEGIN is not supported");
                    return Some(Err(error.at(place::START)));
                }
                C::Begin { modes: modes(list), start: !begin }
            }
            Syntax::Commit { chain, modifier, .. } => {
                if modifier.is_some() {
                    let error = Error::unsupported("this form of COMMIT is not supported");
                    return Some(Err(error.at(place::START)));
                }
                C::Commit { chain: *chain }
            }
            Syntax::Rollback { chain, savepoint: None } => C::Rollback { chain: *chain },
            Syntax::Rollback { savepoint: Some(name), .. } => C::RollbackTo { name: folded(name) },
            Syntax::Savepoint { name } => C::Savepoint { name: folded(name) },
            Syntax::ReleaseSavepoint { name } => C::Release { name: folded(name) },
            Syntax::Set(Set::SetTransaction { modes: list, snapshot, session }) => {
                if snapshot.is_some() {
                    let error = Error::unsupported("SET TRANSACTION SNAPSHOT is not supported");
                    return Some(Err(error.at(place::START)));
                }
                C::Set { modes: modes(list), session: *session }
            }
            _ => return None,
        };
        Some(Ok(Statement::Transaction(command)))
    }
}

/// The last one counts that says something.
fn modes(list: &[TransactionMode]) -> TransactionModes {
    use TransactionIsolationLevel as L;
    let mut modes = TransactionModes::default();
    for mode in list {
        match mode {
            TransactionMode::AccessMode(access) => {
                modes.read_only = Some(matches!(access, TransactionAccessMode::ReadOnly));
            }
            TransactionMode::IsolationLevel(level) => {
                modes.isolation = Some(match level {
                    L::ReadUncommitted => IsolationLevel::ReadUncommitted,
                    L::ReadCommitted => IsolationLevel::ReadCommitted,
                    L::RepeatableRead | L::Snapshot => IsolationLevel::RepeatableRead,
                    L::Serializable => IsolationLevel::Serializable,
                });
            }
        }
    }
    modes
}
