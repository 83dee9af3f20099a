//! DISCARD: what a session has gathered is forgotten, so that a pool of connections may hand it on.

use plan::cursor::Discarded;
use types::{Error, Result, SqlState};

use crate::Session;
use crate::result::ResultSet;

/// Where temporary tables are, which all sessions of a database share.
const TEMPORARY_SCHEMA: &str = "temp";

impl Session {
    /// DISCARD. Temporary tables are the database's: while there are any, DISCARD TEMP is refused, and DISCARD ALL
    /// leaves them with a warning.
    pub(crate) fn discard(&self, what: Discarded) -> Result<ResultSet> {
        match what {
            Discarded::Plans => {
                self.forget_plans();
                Ok(ResultSet::done("DISCARD PLANS"))
            }
            Discarded::Sequences => {
                self.forget_sequence_values();
                Ok(ResultSet::done("DISCARD SEQUENCES"))
            }
            Discarded::Temporary if self.has_temporary() => {
                let message = "DISCARD TEMP is not supported while there are temporary tables";
                Err(Error::unsupported(message).with_hint(
                    "they are seen by all sessions of the database; DROP those that are not needed",
                ))
            }
            Discarded::Temporary => Ok(ResultSet::done("DISCARD TEMP")),
            Discarded::All => self.discard_all(),
        }
    }

    fn discard_all(&self) -> Result<ResultSet> {
        if self.is_in_block() {
            let message = "DISCARD ALL cannot run inside a transaction block";
            return Err(
                Error::new(SqlState::ActiveTransaction, message).with_hint("COMMIT or ROLLBACK first")
            );
        }
        self.close_cursors();
        self.set("role", None)?;
        self.set("all", None)?;
        self.deallocate(None)?;
        self.forget_plans();
        self.forget_sequence_values();
        let done = ResultSet::done("DISCARD ALL");
        Ok(match self.has_temporary() {
            true => done.with_warning("temporary tables are the database's, and stay"),
            false => done,
        })
    }

    fn forget_plans(&self) {
        self.plans.clear();
        self.open.clear();
    }

    fn has_temporary(&self) -> bool {
        let snapshot = self.snapshot();
        snapshot
            .schemas()
            .get(TEMPORARY_SCHEMA)
            .is_some_and(|schema| !schema.tables.is_empty() || !schema.views.is_empty())
    }
}
