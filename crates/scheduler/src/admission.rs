//! Admission: where queries become known, wait to be admitted, and are set aside.
//!
//! What is decided is the load controller's (`load.rs`); here it meets threads. A caller that is not admitted sleeps at its
//! query's gate, looks at its signal and its clock as usual, and has the load controller look from time to time, so that
//! bounds in time take effect also when no other event comes.
//!
//! Locks: `state`, then the roster. `queries` on its own.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, Weak};

use workorder::{Failure, QueryId};

use crate::control::Ticker;
use crate::foreman::Foreman;
use crate::handle::{HELD_BY_LOAD, Query, lock};
use crate::load::{Limits, LoadController, Request, Verdict};
use crate::messages::Control;
use crate::query::{Counters, QueryRun};
use crate::report::Stopped;

/// The load controller hears of what queries hold this often, in nanoseconds.
const LOOK_EVERY: u64 = 20_000_000;

struct State {
    load: LoadController,
    /// Those that are not admitted yet, or run.
    known: Vec<(Arc<Query>, Arc<Counters>)>,
}

pub(crate) struct Admission {
    state: Mutex<State>,
    queries: Mutex<Vec<Weak<Query>>>,
    next_look: AtomicU64,
    /// Work orders that workers have told of.
    completed: AtomicU64,
    /// The messages in which they were told.
    #[cfg(test)]
    told: AtomicU64,
}

impl Admission {
    pub(crate) fn new(limits: Limits) -> Self {
        let state = State { load: LoadController::new(limits), known: vec![] };
        Admission {
            state: Mutex::new(state),
            queries: Mutex::default(),
            next_look: AtomicU64::new(LOOK_EVERY),
            completed: AtomicU64::new(0),
            #[cfg(test)]
            told: AtomicU64::new(0),
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        lock(&self.state).load.limits()
    }

    /// Work orders that workers have told of, and the messages that took.
    #[cfg(test)]
    pub(crate) fn orders_completed(&self) -> (u64, u64) {
        (self.completed.load(Relaxed), self.told.load(Relaxed))
    }

    pub(crate) fn queued(&self) -> usize {
        lock(&self.state).load.queued()
    }

    /// Queries that wait, that are admitted, and that are known as one of these.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let state = lock(&self.state);
        (state.load.queued(), state.load.active(), state.known.len())
    }

    pub(crate) fn set_limits(&self, foreman: &Foreman, change: impl FnOnce(&mut Limits)) {
        let mut state = lock(&self.state);
        let mut limits = state.load.limits();
        change(&mut limits);
        state.load.set_limits(limits);
        let verdicts = state.load.look(foreman.now());
        state.carry_out(&verdicts);
    }

    /// Adds a query to those that `queries` and `query` find.
    pub(crate) fn register(&self, query: &Arc<Query>) {
        let mut queries = lock(&self.queries);
        queries.retain(|query| query.strong_count() > 0);
        debug_assert!(queries.iter().all(|known| known.as_ptr() != Arc::as_ptr(query)), "begun once");
        queries.push(Arc::downgrade(query));
    }

    /// Those that have begun and not ended.
    pub(crate) fn queries(&self) -> Vec<Arc<Query>> {
        lock(&self.queries).iter().filter_map(Weak::upgrade).collect()
    }

    /// The one of that number.
    pub(crate) fn query(&self, id: QueryId) -> Option<Arc<Query>> {
        lock(&self.queries).iter().filter_map(Weak::upgrade).find(|query| query.id() == id)
    }

    pub(crate) fn set_priority(&self, query: QueryId, priority: u32, now: u64) {
        let mut state = lock(&self.state);
        state.load.set_priority(query.0, priority);
        let verdicts = state.load.look(now);
        state.carry_out(&verdicts);
    }

    pub(crate) fn set_paused(&self, query: QueryId, paused: bool, now: u64) {
        let mut state = lock(&self.state);
        state.load.set_paused(query.0, paused);
        let verdicts = state.load.look(now);
        state.carry_out(&verdicts);
    }

    /// See `LoadController::set_wanting`.
    pub(crate) fn set_wanting(&self, query: QueryId, wanting: bool, now: u64) {
        let mut state = lock(&self.state);
        state.load.set_wanting(query.0, wanting);
        let verdicts = state.load.look(now);
        state.carry_out(&verdicts);
    }

    pub(crate) fn others_may_give(&self, query: QueryId) -> bool {
        lock(&self.state).load.others_may_give(query.0)
    }

    pub(crate) fn set_exempt(&self, query: QueryId, now: u64) {
        let mut state = lock(&self.state);
        state.load.set_exempt(query.0);
        let verdicts = state.load.look(now);
        state.carry_out(&verdicts);
    }

    /// A query that is known asks for admission with its present run.
    pub(crate) fn admit(&self, query: QueryId, now: u64) {
        if let Some(query) = self.query(query)
            && let Some(counters) = query.current_run()
        {
            self.arrive(&query, &counters, now);
        }
    }

    /// Asks for admission; `Counters::admitted` says when it is given.
    pub(crate) fn arrive(&self, query: &Arc<Query>, counters: &Arc<Counters>, now: u64) {
        let request = Request {
            query: query.id().0,
            priority: query.priority(),
            bytes: query.memory_predicted(),
            alone: query.aloneness() > 0,
            strictly: query.aloneness() > 1,
            // No reader waits for its rows before there are some.
            exempt: false,
        };
        let mut state = lock(&self.state);
        debug_assert!(state.known.iter().all(|(known, _)| known.id() != query.id()), "known once");
        state.known.push((Arc::clone(query), Arc::clone(counters)));
        let verdicts = state.load.arrive(request, now);
        state.load.set_paused(request.query, query.is_held());
        query.note_company(state.load.has_company(request.query));
        state.carry_out(&verdicts);
    }

    pub(crate) fn leave(&self, query: QueryId, now: u64) {
        let mut state = lock(&self.state);
        if let Some(at) = state.known.iter().position(|(known, _)| known.id() == query) {
            let (known, _) = state.known.remove(at);
            // Its next run is judged anew.
            known.hold(HELD_BY_LOAD, false);
        }
        let verdicts = state.load.leave(query.0, now);
        state.carry_out(&verdicts);
    }

    /// Whether the load controller is to hear of what queries hold.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        now >= self.next_look.load(Relaxed)
    }

    /// Work orders were completed: what the learning agent makes of them goes to the load controller.
    pub(crate) fn completed(&self, orders: u64, now: u64) {
        self.completed.fetch_add(orders, Relaxed);
        #[cfg(test)]
        self.told.fetch_add(1, Relaxed);
        self.look(now);
    }

    /// Tells the load controller what queries hold, if that is due.
    pub(crate) fn look(&self, now: u64) {
        let due = self.next_look.load(Relaxed);
        if now < due || self.next_look.compare_exchange(due, now + LOOK_EVERY, SeqCst, Relaxed).is_err() {
            return;
        }
        let mut state = lock(&self.state);
        let State { load, known } = &mut *state;
        for (query, counters) in known.iter() {
            let (_, coming) = counters.forecast();
            load.observe(query.id().0, query.memory(), query.memory().saturating_add(coming));
        }
        let verdicts = load.look(now);
        state.carry_out(&verdicts);
    }

    /// Waits until the query is admitted; it leaves when what is returned is dropped.
    pub(crate) fn enter<'a>(
        &'a self,
        foreman: &'a Arc<Foreman>,
        run: &QueryRun,
        ticker: &Ticker<'_>,
    ) -> Result<Inside<'a>, Failure> {
        let query = &run.query;
        query.queued.store(true, SeqCst);
        query.set_current_run(Some(&run.counters));
        let inside = Inside { foreman, query: Arc::clone(query) };
        // What the engine does for itself is not among the queries that can be named.
        match self.query(query.id()) {
            Some(_) => foreman.tell(Control::Arrived(query.id())),
            None => self.arrive(query, &run.counters, foreman.now()),
        }
        loop {
            let key = run.counters.gate.key();
            // An admitted query that is stopped ends by itself.
            if run.counters.admitted.load(SeqCst) {
                query.queued.store(false, SeqCst);
                return Ok(inside);
            }
            ticker.poll();
            if let Some(reason) = run.cancel.reason() {
                query.queued.store(false, SeqCst);
                query.set_current_run(None);
                return Err(Box::new(Stopped { reason }));
            }
            run.counters.gate.sleep(key, Some(ticker.patience()));
            self.look(foreman.now());
        }
    }
}

/// A query between admission and its end.
pub(crate) struct Inside<'a> {
    foreman: &'a Arc<Foreman>,
    query: Arc<Query>,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.foreman.tell(Control::Left(self.query.id()));
    }
}

impl State {
    fn carry_out(&self, verdicts: &[Verdict]) {
        for verdict in verdicts {
            let (Verdict::Admit(id) | Verdict::Suspend(id) | Verdict::Resume(id)) = *verdict;
            let Some((query, counters)) = self.known.iter().find(|(query, _)| query.id().0 == id) else {
                continue;
            };
            match verdict {
                Verdict::Admit(_) => {
                    tracing::debug!(
                        target: "quickstep::load",
                        query = id, active = self.load.active(), queued = self.load.queued(),
                        expected_bytes = query.memory_predicted(), "query let in"
                    );
                    let before = counters.admitted.swap(true, SeqCst);
                    debug_assert!(!before, "a run is let in once");
                    counters.gate.notify(1);
                }
                Verdict::Suspend(_) => {
                    tracing::info!(target: "quickstep::load", query = id, held_bytes = query.memory(), "query set aside");
                    query.hold(HELD_BY_LOAD, true);
                }
                Verdict::Resume(_) => {
                    tracing::info!(target: "quickstep::load", query = id, "query goes on");
                    query.hold(HELD_BY_LOAD, false);
                }
            }
        }
        // Each of the admitted queries runs together with others.
        if self.load.active() > 1 {
            self.known.iter().for_each(|(query, _)| query.note_company(true));
        }
    }
}

impl Foreman {
    pub(crate) fn pause_changed(&self, query: QueryId, paused: bool) {
        self.admission.set_paused(query, paused, self.now());
    }

    pub(crate) fn rows_flow(&self, query: QueryId) {
        self.admission.set_exempt(query, self.now());
    }

    pub(crate) fn priority_changed(&self, query: QueryId, priority: u32) {
        self.admission.set_priority(query, priority, self.now());
    }
}
