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
use crate::query::{Counters, SegmentCounters};
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

/// The states of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorState {
    /// Its input is not there yet.
    Waiting,
    /// Its work orders are executed.
    Running,
    /// All are done.
    Finished,
}

impl OperatorState {
    /// The word that views show.
    pub fn name(self) -> &'static str {
        match self {
            OperatorState::Waiting => "waiting",
            OperatorState::Running => "running",
            OperatorState::Finished => "finished",
        }
    }
}

/// A segment of a query's present run.
#[derive(Clone, Debug)]
pub struct OperatorStatus {
    /// The query that it works for.
    pub query: QueryId,
    /// The segment's position in its plan.
    pub segment: usize,
    /// Its name: the operators in it.
    pub name: String,
    /// What it is about.
    pub state: OperatorState,
    /// Executions so far.
    pub orders: u64,
    /// Executions going on.
    pub running: usize,
    /// Units executed so far.
    pub units_done: u64,
    /// Units in all; 0 while that is not known.
    pub units_total: u64,
    /// Rows counted.
    pub rows: u64,
    /// Bytes that its executions took and did not give back.
    pub memory: i64,
    /// Inside its executions, over all workers.
    pub busy: Duration,
    /// What the learning agent expects of the next execution.
    pub next_order: Duration,
    /// One worker's time for what is left; `None` while nothing is known.
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

/// The segments of a run.
pub(crate) fn statuses(query: QueryId, run: &Counters) -> Vec<OperatorStatus> {
    let status = |(position, segment): (usize, &SegmentCounters)| {
        let started = segment.started_nanoseconds.load(Relaxed) > 0;
        let state = match (started, segment.finished_nanoseconds.load(Relaxed) > 0) {
            (_, true) => OperatorState::Finished,
            (true, false) => OperatorState::Running,
            (false, false) => OperatorState::Waiting,
        };
        let total = segment.units_total.load(Relaxed);
        let done = segment.units_done.load(Relaxed);
        let left = match state {
            OperatorState::Finished => Some(0),
            _ if total > 0 => segment.model.nanoseconds_of(total.saturating_sub(done)),
            _ => None,
        };
        OperatorStatus {
            query,
            segment: position,
            name: segment.name.clone(),
            state,
            orders: segment.orders.load(Relaxed),
            running: segment.running.load(Relaxed),
            units_done: done,
            units_total: total,
            rows: segment.rows.load(Relaxed),
            memory: segment.model.bytes(),
            busy: Duration::from_nanos(segment.busy_nanoseconds.load(Relaxed)),
            next_order: Duration::from_nanos(segment.model.order_nanoseconds()),
            time_left: left.map(Duration::from_nanos),
        }
    };
    run.segments.iter().enumerate().map(status).collect()
}
