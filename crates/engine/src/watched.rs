//! What a host sees of a database's statements: those that run, and what is kept of those that have ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use scheduler::{OperatorStatus, QueryStatus};
use trace::QueryTrace;

use crate::{Database, Session};

impl Session {
    /// The number of the statement that runs, or of the last one that did; 0 before the first.
    pub fn last_query(&self) -> u64 {
        self.last_query.load(Ordering::Acquire)
    }
}

impl Database {
    /// The statements that run or wait, of all sessions: what `quickstep_queries()` shows.
    pub fn queries(&self) -> Vec<QueryStatus> {
        self.shared.scheduler.query_statuses()
    }

    /// The segments of the running plans: what `quickstep_operators()` shows.
    pub fn operators(&self) -> Vec<OperatorStatus> {
        self.shared.scheduler.operator_statuses()
    }

    /// The trace of a statement that has ended, as long as it is kept.
    pub fn query_trace(&self, query: u64) -> Option<Arc<QueryTrace>> {
        self.query_traces().into_iter().rev().find(|trace| trace.id == query)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Database, Options};

    #[test]
    fn a_statement_is_found_by_its_number() {
        let database = Database::in_memory(Options::default()).unwrap();
        let session = database.session();
        assert_eq!(session.last_query(), 0);
        session.query("SELECT 41 + 1").unwrap();
        let first = session.last_query();
        assert_eq!(&*database.query_trace(first).unwrap().text, "SELECT 41 + 1");
        session.query("SELECT 2").unwrap();
        assert!(session.last_query() > first);
        assert!(database.query_trace(u64::MAX).is_none());
        assert!(database.queries().is_empty() && database.operators().is_empty());
    }
}
