//! What can be seen: queries, their operators, workers. Counts are read one by one while everything goes on, so sums of
//! one answer may miss each other by an order.
//!
//! No state of its own: each call copies what it finds in the roster, the admission, the queries' counters and the worker
//! slots, with the roster's lock held only for the shares. The engine's system views and metrics call it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use workorder::QueryId;

use crate::activity::WorkerStatus;
use crate::handle::{Query, QueryState};
use crate::operator_status::{OperatorStatus, statuses};
use crate::{Progress, Scheduler};

/// A query as it is now.
#[derive(Clone, Debug)]
pub struct QueryStatus {
    /// Its number, unique in the process.
    pub id: QueryId,
    /// The number of its session.
    pub session: u64,
    /// The session's role, if it has one.
    pub role: Option<Arc<str>>,
    /// The statement, as [`crate::QuerySpec`] gave it.
    pub text: Arc<str>,
    /// What it is about.
    pub state: QueryState,
    /// Its priority now.
    pub priority: u32,
    /// The probability that the next work order is its own.
    pub share: f64,
    /// Since it began.
    pub elapsed: Duration,
    /// Charged to it: planning and work orders.
    pub charged: Duration,
    /// The part of `charged` that went to planning.
    pub planning: Duration,
    /// Charged to its account: to all of its session, as a rule.
    pub account_charged: Duration,
    /// Bytes that its work orders hold.
    pub memory: u64,
    /// The most they held.
    pub memory_peak: u64,
    /// What the optimizer expected them to hold.
    pub memory_predicted: u64,
    /// What they may hold; `u64::MAX` for as much as there is.
    pub memory_max: u64,
    /// Threads inside its work orders.
    pub workers: usize,
    /// Threads that may be inside its work orders at a time.
    pub workers_max: usize,
    /// Progress of the run that is with the scheduler; zeros without one.
    pub progress: Progress,
    /// What is left of the segments that have started, with the workers it has now; `None` while nothing is known.
    pub time_left: Option<Duration>,
}

impl Scheduler {
    /// All queries, as they are now.
    pub fn query_statuses(&self) -> Vec<QueryStatus> {
        let shares: HashMap<QueryId, f64> = self.foreman.lock_roster().probabilities().into_iter().collect();
        let now = self.foreman.now();
        let status = |query: &Arc<Query>| {
            let run = query.current_run();
            let workers = query.running.load(Relaxed);
            let left = run.as_ref().map(|run| run.forecast().0).filter(|left| *left > 0);
            QueryStatus {
                id: query.id(),
                session: query.session(),
                role: query.role().cloned(),
                text: Arc::clone(query.text()),
                state: query.state(),
                priority: query.priority(),
                share: shares.get(&query.id()).copied().unwrap_or(0.0),
                elapsed: Duration::from_nanos(now.saturating_sub(query.begun())),
                charged: Duration::from_nanos(query.charged()),
                planning: Duration::from_nanos(query.planning()),
                account_charged: Duration::from_nanos(query.account().charged()),
                memory: query.memory(),
                memory_peak: query.memory_peak(),
                memory_predicted: query.memory_predicted(),
                memory_max: query.memory_max(),
                workers,
                workers_max: query.workers_max(),
                progress: run.map_or_else(Progress::default, |run| run.progress()),
                time_left: left.map(|left| Duration::from_nanos(left / workers.max(1) as u64)),
            }
        };
        self.queries().iter().map(status).collect()
    }

    /// The segments of all queries that run.
    pub fn operator_statuses(&self) -> Vec<OperatorStatus> {
        let mut operators = Vec::new();
        for query in self.queries() {
            let Some(run) = query.current_run() else { continue };
            operators.extend(statuses(query.id(), &run));
        }
        operators
    }

    /// The places, and what goes on there.
    pub fn worker_statuses(&self) -> Vec<WorkerStatus> {
        self.foreman.activity.status(self.workers(), self.foreman.now())
    }

    /// Queries that wait to be admitted.
    pub fn queued_queries(&self) -> usize {
        self.foreman.admission.queued()
    }
}
