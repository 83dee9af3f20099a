//! Admission: where queries become known, wait to be admitted, and are set aside.
//!
//! What is decided is the load controller's (`load.rs`); here it meets threads. A caller that is not admitted sleeps at its
//! query's gate, looks at its signal and its clock as usual, and has the load controller look from time to time, so that
//! bounds in time take effect also when no other event comes.
//!
//! Locks: `state`, then the roster. `queries` on its own.

use std::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use workorder::{Failure, QueryId};

use crate::control::Ticker;
use crate::counters::Counters;
use crate::handle::{HELD_BY_LOAD, Query};
use crate::load::{Limits, LoadController, Request, Verdict};
use crate::lock::lock;
use crate::messages::Control;
use crate::overseer::Overseer;
use crate::query::QueryRun;
use crate::report::Stopped;

/// The load controller hears of what queries hold this often, in nanoseconds.
const LOOK_EVERY: u64 = 20_000_000;

/// How often a query that is alone looks whether runs of a few rows have ended.
const LOOK_FOR_UNADMITTED: Duration = Duration::from_millis(1);

struct State {
    load: LoadController,
    /// Those that are not admitted yet, or run.
    known: Vec<(Arc<Query>, Arc<Counters>)>,
}

/// How many queries that may have ended are kept before they are looked through.
const BEGUN_MIN: usize = 32;

/// Queries that have begun. Those that have ended are taken out when there are twice as many as there were left the last
/// time: looking at each for every statement would read what other threads are writing.
#[derive(Default)]
struct Begun {
    all: Vec<Weak<Query>>,
    look_at: usize,
}

pub(crate) struct Admission {
    state: Mutex<State>,
    queries: Mutex<Begun>,
    next_look: AtomicU64,
    /// Those in `known` that need the memory for themselves, for those who do not take the lock.
    alone: AtomicUsize,
    /// Runs of a few rows that go on without being known here.
    unadmitted: AtomicUsize,
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
            alone: AtomicUsize::new(0),
            unadmitted: AtomicUsize::new(0),
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

    pub(crate) fn set_limits(&self, now: u64, change: impl FnOnce(&mut Limits)) {
        let mut state = lock(&self.state);
        let mut limits = state.load.limits();
        change(&mut limits);
        state.load.set_limits(limits);
        let verdicts = state.load.look(now);
        state.carry_out(&verdicts);
    }

    /// Adds a query to those that `queries` and `query` find.
    pub(crate) fn register(&self, query: &Arc<Query>) {
        let mut queries = lock(&self.queries);
        if queries.all.len() >= queries.look_at {
            queries.all.retain(|query| query.strong_count() > 0);
            queries.look_at = (2 * queries.all.len()).max(BEGUN_MIN);
        }
        debug_assert!(queries.all.iter().all(|known| known.as_ptr() != Arc::as_ptr(query)), "begun once");
        queries.all.push(Arc::downgrade(query));
    }

    /// Those that have begun and not ended.
    pub(crate) fn queries(&self) -> Vec<Arc<Query>> {
        lock(&self.queries).all.iter().filter_map(Weak::upgrade).collect()
    }

    /// The one of that number.
    pub(crate) fn query(&self, id: QueryId) -> Option<Arc<Query>> {
        lock(&self.queries).all.iter().filter_map(Weak::upgrade).find(|query| query.id() == id)
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
        self.count_alone(&state);
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
            self.count_alone(&state);
        }
        let verdicts = state.load.leave(query.0, now);
        state.carry_out(&verdicts);
    }

    fn count_alone(&self, state: &State) {
        let alone = state.known.iter().filter(|(query, _)| query.begins_anew()).count();
        self.alone.store(alone, SeqCst);
    }

    /// Begins a run of a few rows that does not ask for admission; `false` while a query has the memory to itself, or waits
    /// for it. Either that query sees the run and waits for its end, or the run sees the query.
    pub(crate) fn begin_unadmitted(&self) -> bool {
        self.unadmitted.fetch_add(1, SeqCst);
        let begins = self.alone.load(SeqCst) == 0;
        if !begins {
            self.end_unadmitted();
        }
        begins
    }

    /// As `begin_unadmitted`, and ends when what is returned is dropped.
    pub(crate) fn enter_unadmitted(&self) -> Option<Unadmitted<'_>> {
        self.begin_unadmitted().then(|| Unadmitted(self))
    }

    /// Ends what `begin_unadmitted` began.
    pub(crate) fn end_unadmitted(&self) {
        let before = self.unadmitted.fetch_sub(1, SeqCst);
        debug_assert!(before > 0, "more such runs end than began");
    }

    /// Waits, with the query counted among those alone, until no run of a few rows is under way.
    fn wait_for_unadmitted(&self, run: &QueryRun, ticker: &Ticker<'_>) -> Result<(), Failure> {
        while self.unadmitted.load(SeqCst) > 0 {
            ticker.poll();
            if let Some(reason) = run.cancel.reason() {
                return Err(Box::new(Stopped { reason }));
            }
            // They are short, and wake nobody.
            std::thread::sleep(LOOK_FOR_UNADMITTED);
        }
        Ok(())
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
    pub(crate) fn enter(
        &self,
        overseer: Arc<dyn Overseer>,
        run: &QueryRun,
        ticker: &Ticker<'_>,
    ) -> Result<Inside, Failure> {
        let query = &run.query;
        query.queued.store(true, SeqCst);
        query.set_current_run(Some(&run.counters));
        let inside = Inside { overseer: Arc::clone(&overseer), query: Arc::clone(query) };
        // What the engine does for itself is not among the queries that can be named.
        match self.query(query.id()) {
            Some(_) => Arc::clone(&overseer).tell(Control::Arrived(query.id())),
            None => self.arrive(query, &run.counters, overseer.now()),
        }
        loop {
            let key = run.counters.gate.key();
            // An admitted query that is stopped ends by itself.
            if run.counters.admitted.load(SeqCst) {
                let waited = if query.begins_anew() { self.wait_for_unadmitted(run, ticker) } else { Ok(()) };
                query.queued.store(false, SeqCst);
                if let Err(stopped) = waited {
                    query.set_current_run(None);
                    return Err(stopped);
                }
                return Ok(inside);
            }
            ticker.poll();
            if let Some(reason) = run.cancel.reason() {
                query.queued.store(false, SeqCst);
                query.set_current_run(None);
                return Err(Box::new(Stopped { reason }));
            }
            run.counters.gate.sleep(key, Some(ticker.patience()));
            self.look(overseer.now());
        }
    }
}

/// A run of a few rows that did not ask for admission.
pub(crate) struct Unadmitted<'a>(&'a Admission);

impl Drop for Unadmitted<'_> {
    fn drop(&mut self) {
        self.0.end_unadmitted();
    }
}

/// A query between admission and its end.
pub(crate) struct Inside {
    overseer: Arc<dyn Overseer>,
    query: Arc<Query>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        Arc::clone(&self.overseer).tell(Control::Left(self.query.id()));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Either a run of a few rows is seen by the query that needs the memory for itself, or it sees that query.
    #[test]
    fn runs_of_a_few_rows_stand_back_from_a_query_that_is_alone() {
        let admission = Admission::new(Limits { active_max: 4, memory: 1 << 30 });
        let first = admission.enter_unadmitted().expect("nothing is alone");
        admission.alone.store(1, SeqCst);
        assert!(admission.enter_unadmitted().is_none());
        assert!(!admission.begin_unadmitted());
        assert_eq!(admission.unadmitted.load(SeqCst), 1, "the first is still waited for");
        drop(first);
        assert_eq!(admission.unadmitted.load(SeqCst), 0);
        admission.alone.store(0, SeqCst);
        assert!(admission.begin_unadmitted());
        admission.end_unadmitted();
    }
}
