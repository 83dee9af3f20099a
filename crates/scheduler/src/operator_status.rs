//! The segments of a run as they are now, for system views and metrics.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use workorder::QueryId;

use crate::counters::{Counters, SegmentCounters};

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
