//! Traces that a database keeps, and what a session notes there.

use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use scheduler::Query;
use trace::QueryTrace;

use super::{RunSettings, StatementTrace, families, logs};
use crate::settings::TraceLevel;
use crate::{Database, Session};

impl Session {
    /// Begins the trace of a statement.
    pub(crate) fn begin_trace(&self, query: &Arc<Query>) -> Arc<StatementTrace> {
        let shared = &self.database.shared;
        let session = self.settings_now();
        let workers = shared.scheduler.workers();
        let begun = StatementTrace {
            seen: Arc::clone(&shared.seen),
            query: Arc::clone(query),
            begun: Instant::now(),
            date: SystemTime::now(),
            keeps: session.trace != TraceLevel::Off,
            slow: session.slow_query_threshold,
            settings: RunSettings {
                workers,
                memory: shared.budget.limit(),
                policy: shared.scheduler.policy(),
                session,
            },
            state: Mutex::default(),
        };
        logs::log_begin(&begun);
        Arc::new(begun)
    }
}

impl Database {
    /// The traces of queries that have ended, in the order of their beginning; the oldest ones are forgotten.
    pub fn query_traces(&self) -> Vec<Arc<QueryTrace>> {
        self.shared.seen.history.all()
    }

    /// What can be counted of the database, in Prometheus' text form.
    pub fn metrics(&self) -> String {
        trace::exposition(&families(self))
    }
}
