//! What is told to an audit log: who came in, what changed definitions and privileges, and what was refused.
//!
//! The host gives a function that writes (`Database::set_audit`); without one nothing is gathered. Statements are told
//! when they have ended, by their masked and shortened text: those that change definitions, roles or privileges whatever
//! came of them, others where they were refused for lack of privileges. A statement in a transaction that is rolled back
//! was told as done: the log says what was asked for.

mod statements;

use std::sync::{Arc, PoisonError, RwLock};

use plan::Statement;
use plan::access::AccessStatement;
use types::Error;

use crate::sessions::ClientAddress;

/// Something that an audit log keeps.
#[derive(Clone, Debug)]
pub struct AuditEvent {
    /// `login`, `statement` or `denied`.
    pub kind: &'static str,
    /// Whom the session began as.
    pub session_role: String,
    /// The role whose privileges count.
    pub role: String,
    /// The session, as `pg_stat_activity` shows it.
    pub process: i32,
    /// Where the client is; `None` in process.
    pub client: Option<ClientAddress>,
    /// What kind of statement it was, where it is one that changes definitions or privileges: `CREATE TABLE`.
    pub tag: Option<String>,
    /// The statement, without passwords.
    pub statement: Option<String>,
    /// Why it failed.
    pub error: Option<Error>,
}

/// What writes an audit log.
pub type AuditHook = dyn Fn(&AuditEvent) + Send + Sync;

/// The hook of a database.
#[derive(Default)]
pub(crate) struct Audit(RwLock<Option<Arc<AuditHook>>>);

impl Audit {
    fn hook(&self) -> Option<Arc<AuditHook>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The tag of a statement that changes definitions, roles or privileges; `None` for others.
pub(crate) fn tag_of(statement: &Statement) -> Option<&'static str> {
    Some(match statement {
        Statement::Access(access) => match &**access {
            // Of the session alone, and told where it is refused.
            AccessStatement::SetRole(_) => return None,
            access => access.tag(),
        },
        Statement::CreateTable { .. } | Statement::CreateTableAs { .. } => "CREATE TABLE",
        Statement::CreateIndex { .. } => "CREATE INDEX",
        Statement::Reorganize { .. } => "CLUSTER",
        Statement::DropIndex { .. } => "DROP INDEX",
        Statement::Attach(_) => "ATTACH",
        Statement::Detach { .. } => "DETACH",
        Statement::CopyDatabase { .. } => "COPY FROM DATABASE",
        Statement::CreateSchema { .. } => "CREATE SCHEMA",
        Statement::AlterTable { .. } | Statement::AlterTypes { .. } => "ALTER TABLE",
        Statement::RenameView { .. } => "ALTER VIEW",
        Statement::Comment { .. } => "COMMENT",
        Statement::DropTable { .. } => "DROP TABLE",
        Statement::DropSchema { .. } => "DROP SCHEMA",
        Statement::Truncate { .. } => "TRUNCATE TABLE",
        Statement::CreateSequence(_) => "CREATE SEQUENCE",
        Statement::AlterSequence(_) => "ALTER SEQUENCE",
        Statement::DropSequence { .. } => "DROP SEQUENCE",
        Statement::CreateView { .. } => "CREATE VIEW",
        Statement::DropView { .. } => "DROP VIEW",
        Statement::CreateType { .. } => "CREATE TYPE",
        Statement::DropType { .. } => "DROP TYPE",
        Statement::CreateMacro { temporary: false, .. } => "CREATE MACRO",
        Statement::DropFunction { .. } => "DROP FUNCTION",
        Statement::DropMacro { .. } => "DROP MACRO",
        Statement::Call { .. } => "CALL",
        // Rows, and what is the session's own.
        Statement::Query(_)
        | Statement::ChangingQuery(_)
        | Statement::Insert { .. }
        | Statement::Modify(_)
        | Statement::CopyFrom { .. }
        | Statement::CopyTo { .. }
        | Statement::Explain { .. }
        | Statement::Set { .. }
        | Statement::SetLocal { .. }
        | Statement::Show { .. }
        | Statement::CreateMacro { .. }
        | Statement::Prepare { .. }
        | Statement::Execute { .. }
        | Statement::Deallocate { .. }
        | Statement::Cursor(_)
        | Statement::Discard(_)
        | Statement::Transaction(_) => return None,
    })
}
