//! BEGIN, COMMIT, ROLLBACK, savepoints, SET TRANSACTION, and LOCK TABLE.
//!
//! Transactions see snapshots and take no locks. The modes of LOCK TABLE that stand in the way of nothing but the modes
//! that are refused here hold without one; the others promise that nobody changes a table, or reads it, meanwhile, and are
//! refused.

use access::Privilege;
use plan::Statement;
use plan::modification::{IsolationLevel, TransactionCommand as Command, TransactionModes};
use syntax::Span;
use syntax::tree::{self, StatementKind as Kind, TransactionMode};
use types::{Error, Result, SqlState};

use super::Context;
use crate::bind::folded;

/// The modes of locks, the weakest first.
const LOCK_MODES: [&str; 8] = [
    "ACCESS SHARE",
    "ROW SHARE",
    "ROW EXCLUSIVE",
    "SHARE UPDATE EXCLUSIVE",
    "SHARE",
    "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE",
    "ACCESS EXCLUSIVE",
];

/// So many of them conflict with none of each other.
const HELD_WITHOUT_LOCK: usize = 3;

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
            // Nobody is waited for, with NOWAIT or without.
            Kind::Lock { tables, mode, nowait: _ } => {
                self.lock(tables, mode, at)?;
                Command::Lock
            }
            Kind::SetTransaction(session, modes) => {
                Command::Set { modes: self.modes(modes, at)?, session: *session }
            }
            _ => return Err(self.at(Error::internal("a statement that nothing reads"), at)),
        };
        Ok(Statement::Transaction(command))
    }

    /// Whether tables may be locked so.
    fn lock(&self, tables: &[(bool, tree::Path)], mode: &[tree::Name], at: Span) -> Result<()> {
        let words: Vec<String> = mode.iter().map(|word| word.text.to_ascii_uppercase()).collect();
        let words = words.join(" ");
        if !words.is_empty() && !LOCK_MODES.contains(&words.as_str()) {
            let span = mode.first().map_or(at, |word| word.span);
            let error = Error::new(SqlState::SyntaxError, format!("\"{words}\" is no mode of a lock"));
            return Err(self.at(error.with_hint(format!("expected one of {}", LOCK_MODES.join(", "))), span));
        }
        let reads = words == LOCK_MODES[0];
        for (_, table) in tables {
            let (name, span) = self.existing_name(table)?;
            // A view holds the tables that it reads, as they are, like any other reader.
            if self.relations.view(name.schema.as_deref(), &name.name).is_some() {
                continue;
            }
            let (_, info) = self.table(table)?;
            let wanted: &[Privilege] = match reads {
                true => &[Privilege::Select],
                false => &[Privilege::Update, Privilege::Delete, Privilege::Truncate, Privilege::Insert],
            };
            let mut allowed = Ok(());
            for privilege in wanted {
                allowed = self.binder().check_write(&info, *privilege, &[]);
                if allowed.is_ok() {
                    break;
                }
            }
            allowed.map_err(|error| self.at(error, span))?;
        }
        match LOCK_MODES[..HELD_WITHOUT_LOCK].contains(&words.as_str()) {
            true => Ok(()),
            false => {
                let shown = if words.is_empty() { "ACCESS EXCLUSIVE" } else { &words };
                let error = Error::unsupported(format!("LOCK TABLE IN {shown} MODE is not supported"));
                Err(self.at(error, at).with_hint(
                    "transactions see a snapshot and lock nothing: of two that change the same rows the later one fails \
                     with 40001, and is run again",
                ))
            }
        }
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
