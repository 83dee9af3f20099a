//! Control of a running query from outside: cancellation, tick, progress.
//!
//! One [`QueryControl`] goes with one call of `Scheduler::run`; other threads may look at its
//! progress or cancel it meanwhile. The *tick* is called on the thread that called `run`, between
//! work orders, inside long ones when they ask whether to stop, and while it waits: this is where a
//! host language looks at its signals.

use std::cell::Cell;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use sync::CancelToken;
use workorder::QueryId;

use crate::clock::POLL;
use crate::counters::{Counters, MANY, Progress};
use crate::handle::Query;
use crate::operator_status::{OperatorStatus, statuses};
use crate::overseer::Overseer;
use crate::report::RunRecord;

/// Half of the 20 ms that a tick may be late.
pub(crate) const TICK: Duration = Duration::from_millis(10);

type Tick = dyn Fn() -> ControlFlow<()> + Send + Sync;

/// Cancellation, tick and progress of one run.
#[derive(Default)]
pub struct QueryControl {
    cancel: CancelToken,
    tick: Option<Box<Tick>>,
    pausable: bool,
    query: Option<Arc<Query>>,
    short: bool,
    recorded: bool,
    record: Mutex<Option<RunRecord>>,
    run: Mutex<Option<(Arc<Counters>, Weak<dyn Overseer>)>>,
}

impl fmt::Debug for QueryControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryControl").field("progress", &self.progress()).finish()
    }
}

impl QueryControl {
    /// A control without deadline or tick, for a run that is not pausable and not recorded.
    pub fn new() -> Self {
        QueryControl::default()
    }

    /// A control whose run ends when `cancel` is raised or its deadline passes.
    pub fn with_cancel(cancel: CancelToken) -> Self {
        QueryControl { cancel, ..QueryControl::default() }
    }

    /// Adds a hook that is called at least every 20 ms on the calling thread; when it returns `Break`, the run is
    /// cancelled.
    pub fn with_tick(mut self, tick: impl Fn() -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.tick = Some(Box::new(tick));
        self
    }

    /// Makes the run part of a query that has begun. Without this call the run is a query of its own, with default
    /// priority and no limits.
    pub fn of(mut self, query: Arc<Query>) -> Self {
        self.query = Some(query);
        self
    }

    /// The query that the run is of.
    pub fn query(&self) -> Option<&Arc<Query>> {
        self.query.as_ref()
    }

    /// Allows the run's segments to answer `Claim::Paused` and to step aside; see [`QueryControl::resume`].
    pub fn pausable(mut self) -> Self {
        self.pausable = true;
        self
    }

    /// Says that the run is short: its calling thread does all of it, in a place of its own but without waiting to be
    /// admitted, and no other thread hears of it. For runs that take no longer and hold no more than what is told about
    /// them would; they are admitted as others are while all places are taken.
    pub fn short(mut self) -> Self {
        self.short = true;
        self
    }

    pub(crate) fn is_short(&self) -> bool {
        self.short
    }

    /// Keeps what its work orders do; see [`QueryControl::take_record`].
    pub fn recorded(mut self) -> Self {
        self.recorded = true;
        self
    }

    pub(crate) fn is_recorded(&self) -> bool {
        self.recorded
    }

    /// What is known of a run that has ended, however it ended. Once; `None` when it did not begin, or is not recorded.
    pub fn take_record(&self) -> Option<RunRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn keep_record(&self, record: RunRecord) {
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
    }

    pub(crate) fn is_pausable(&self) -> bool {
        self.pausable
    }

    /// Wakes the run's sleeping threads: work that was paused may be claimable again.
    pub fn resume(&self) {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((counters, overseer)) = run {
            counters.gate.notify(1);
            if let Some(overseer) = overseer.upgrade() {
                overseer.wake(MANY);
            }
        }
    }

    /// The token that ends the run.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// How far the run is; zeros before it.
    pub fn progress(&self) -> Progress {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).clone();
        run.map_or_else(Progress::default, |(counters, _)| counters.progress())
    }

    /// The run's segments as they are now; none before it.
    pub fn operators(&self) -> Vec<OperatorStatus> {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let query = self.query.as_ref().map_or(QueryId(0), |query| query.id());
        run.map_or_else(Vec::new, |(counters, _)| statuses(query, &counters))
    }

    pub(crate) fn attach(&self, counters: &Arc<Counters>, overseer: Weak<dyn Overseer>) {
        let run = (Arc::clone(counters), overseer);
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
    }
}

/// Calls the tick when it is due. Lives on the calling thread.
pub(crate) struct Ticker<'a> {
    control: &'a QueryControl,
    last: Cell<Instant>,
}

impl<'a> Ticker<'a> {
    pub(crate) fn new(control: &'a QueryControl) -> Self {
        Ticker { control, last: Cell::new(Instant::now()) }
    }

    /// Looks at the clock for deadline and tick, if there are any.
    pub(crate) fn poll(&self) {
        self.control.cancel.check_clock();
        if let Some(tick) = &self.control.tick
            && self.last.get().elapsed() >= TICK
        {
            // A panic here would leave the query on the foreman's list.
            let answer = catch_unwind(AssertUnwindSafe(tick));
            if !matches!(answer, Ok(ControlFlow::Continue(()))) {
                self.control.cancel.cancel();
            }
            self.last.set(Instant::now());
        }
    }

    /// How long the calling thread may sleep.
    pub(crate) fn patience(&self) -> Duration {
        let patience = if self.control.tick.is_some() { TICK } else { POLL };
        self.control.cancel.time_left().map_or(patience, |left| left.min(patience))
    }
}
