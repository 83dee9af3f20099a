//! The foreman: which queries are active, which threads there are, and who is woken.
//!
//! It is off the path of the single work order: a worker that serves the only active query claims
//! from it without a lock. The list of queries is locked when a query comes or goes, and once per
//! work order when several are active, to go round them.
//!
//! Threads: `workers - 1` pool threads at most, spawned when they are first needed, and every thread
//! that calls `run`. All of them need a place (`places.rs`) to touch work orders:
//!
//! ```text
//!  pool thread   sleeps at `idle` with no place; woken by `wake`, takes a place, works for all
//!                queries in turn until a whole round finds nothing
//!  caller        takes a place and does the same, until its own query has ended; sleeps at its
//!                query's gate when nothing is claimable or no place is free
//! ```
//!
//! So a small query runs on its caller's thread and wakes nobody. Who gives a place back while work
//! may be claimable passes it on ([`Foreman::hand_over`]): to a caller that waits for a place, else
//! to a query that has work.
//!
//! Lost wake-ups. Whoever makes work claimable moves the query's gate and `idle`; both sleepers took
//! their key before their last look. A caller without a place says so (`wants_place`), tries once
//! more, and sleeps; who leaves frees the place first and looks at `wants_place` second.

use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use sync::Gate;
use workorder::{Dag, Failure, QueryId, WORKERS_MAX, WorkerId};

use crate::control::Ticker;
use crate::places::Places;
use crate::query::{Counters, QueryRun};
use crate::report::{QueryReport, Stopped};
use crate::worker::{Break, Worker, enclosing_place};
use crate::{QueryControl, worker};

/// Worker threads that run queries. Dropping it ends them.
pub struct Scheduler {
    foreman: Arc<Foreman>,
}

pub(crate) struct Foreman {
    pub(crate) places: Places,
    /// Where pool threads sleep.
    pub(crate) idle: Gate,
    queries: Mutex<Vec<Arc<QueryRun>>>,
    /// Length of `queries`, to be looked at without the lock.
    active: AtomicUsize,
    /// Where the next round over the queries begins.
    turn: AtomicUsize,
    /// Callers whose `wants_place` is set.
    wanting: AtomicUsize,
    /// Threads that have lent their place while they wait: others stand in for them.
    aside: AtomicUsize,
    /// Pool thread `i` has position `i - 1`; it exists while `i < limit + aside`.
    threads: Mutex<Vec<Option<JoinHandle<()>>>>,
    spawned: AtomicUsize,
    shutdown: AtomicBool,
}

impl Scheduler {
    /// A scheduler with `workers` places (1 to [`WORKERS_MAX`]).
    pub fn new(workers: usize) -> Self {
        let foreman = Foreman {
            places: Places::new(workers.clamp(1, WORKERS_MAX)),
            idle: Gate::new(),
            queries: Mutex::new(Vec::new()),
            active: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            wanting: AtomicUsize::new(0),
            aside: AtomicUsize::new(0),
            threads: Mutex::new(Vec::new()),
            spawned: AtomicUsize::new(0),
            shutdown: AtomicBool::new(false),
        };
        Scheduler { foreman: Arc::new(foreman) }
    }

    /// The number of places.
    pub fn workers(&self) -> usize {
        self.foreman.places.limit()
    }

    /// Changes the number of places, also for queries that run: surplus threads leave after the
    /// order they are at.
    pub fn set_workers(&self, workers: usize) {
        self.foreman.places.set_limit(workers.clamp(1, WORKERS_MAX));
        // Surplus threads end, and callers without a place try again.
        self.foreman.idle.notify(usize::MAX);
        for query in self.foreman.lock_queries().iter() {
            query.counters.gate.notify(1);
        }
        if self.foreman.active.load(SeqCst) > 0 {
            self.foreman.wake(workers.saturating_sub(1));
        }
    }

    /// Queries that run now.
    pub fn active_queries(&self) -> usize {
        self.foreman.active.load(SeqCst)
    }

    /// Whether the calling thread is inside a work order of this scheduler. What it then waits for must not need a
    /// place of its own: all may be taken by orders that wait likewise.
    pub fn is_inside_order(&self) -> bool {
        enclosing_place(&self.foreman).is_some()
    }

    /// Runs a plan to its end. The calling thread works along. Returns when no order of the query
    /// runs any more and nothing here refers to its segments; the first failure wins.
    pub fn run(&self, dag: Dag, control: &QueryControl) -> Result<QueryReport, Failure> {
        static NEXT_QUERY: AtomicU64 = AtomicU64::new(1);
        let begun = Instant::now();
        if let Some(reason) = control.cancel_token().check_clock() {
            return Err(Box::new(Stopped { reason }));
        }
        let id = QueryId(NEXT_QUERY.fetch_add(1, Relaxed));
        let run = Arc::new(QueryRun::new(id, dag, control, Arc::clone(&self.foreman), begun)?);
        control.attach(&run.counters, &self.foreman);
        let claimable = run.open_roots();
        if !run.ended() {
            self.foreman.add(&run);
            run.happened(claimable.saturating_sub(1));
            let ticker = Ticker::new(control, begun);
            match enclosing_place(&self.foreman) {
                None => self.foreman.work_as_caller(&run, &ticker),
                Some(place) => self.foreman.work_nested(&run, &ticker, place),
            }
            self.foreman.remove(&run);
            wait_for_visitors(&run.counters, &ticker);
        }
        run.result()
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.foreman.shutdown.store(true, SeqCst);
        self.foreman.idle.notify(usize::MAX);
        let threads = std::mem::take(&mut *self.foreman.lock_threads());
        let me = std::thread::current().id();
        // The last owner may be a work order: a thread cannot wait for itself.
        for thread in threads.into_iter().flatten().filter(|thread| thread.thread().id() != me) {
            // A pool thread catches its panics; there is nothing to pass on.
            let _ = thread.join();
        }
    }
}

/// After the query was taken off the list nobody new comes in.
fn wait_for_visitors(counters: &Counters, ticker: &Ticker<'_>) {
    counters.closing.store(true, SeqCst);
    loop {
        let key = counters.gate.key();
        if counters.visitors.load(SeqCst) == 0 {
            return;
        }
        counters.gate.wait(key, Some(ticker.patience()));
        ticker.poll();
    }
}

impl Foreman {
    /// The caller's part in its query.
    fn work_as_caller(self: &Arc<Self>, run: &Arc<QueryRun>, ticker: &Ticker<'_>) {
        loop {
            let key = run.counters.gate.key();
            ticker.poll();
            if run.ended() {
                break;
            }
            let Some(place) = self.take_place(run) else {
                run.counters.gate.wait(key, Some(ticker.patience()));
                continue;
            };
            let idle_key = self.idle.key();
            let quiet = run.quiet();
            let worker = Worker { foreman: self, place, own: Some(run), ticker: Some(ticker), alone: false };
            match worker.work() {
                Break::Surplus => self.hand_over(run),
                Break::Ended => {
                    self.leave(place);
                    self.hand_over(run);
                }
                Break::Nothing => {
                    self.leave(place);
                    if self.idle.moved(idle_key) && self.active.load(SeqCst) > 1 {
                        // Others saw no free place while we looked around in vain.
                        self.hand_over(run);
                    }
                    if run.is_stalled(quiet, key) {
                        run.fail_stalled();
                        break;
                    }
                    run.counters.gate.wait(key, Some(ticker.patience()));
                }
            }
        }
        self.want_place(run, false);
    }

    /// A query run from inside a work order: it shares that order's place, and works for itself
    /// only, so that orders do not pile up on one stack.
    fn work_nested(self: &Arc<Self>, run: &Arc<QueryRun>, ticker: &Ticker<'_>, place: WorkerId) {
        loop {
            let key = run.counters.gate.key();
            ticker.poll();
            let quiet = run.quiet();
            let worker = Worker { foreman: self, place, own: Some(run), ticker: Some(ticker), alone: true };
            worker.work();
            if run.is_stalled(quiet, key) {
                run.fail_stalled();
            }
            if run.ended() {
                return;
            }
            run.counters.gate.wait(key, Some(ticker.patience()));
        }
    }

    /// A place for a caller; if there is none, whoever leaves one will wake it.
    fn take_place(&self, run: &QueryRun) -> Option<WorkerId> {
        let place = self.places.take().or_else(|| {
            self.want_place(run, true);
            self.places.take()
        });
        if place.is_some() {
            self.want_place(run, false);
        }
        place
    }

    fn want_place(&self, run: &QueryRun, wants: bool) {
        if !wants && !run.counters.wants_place.load(Relaxed) {
            // Only this thread sets it.
            return;
        }
        match (run.counters.wants_place.swap(wants, SeqCst), wants) {
            (false, true) => _ = self.wanting.fetch_add(1, SeqCst),
            (true, false) => _ = self.wanting.fetch_sub(1, SeqCst),
            _ => {}
        }
    }

    /// Gives a place back. A caller that waits for one gets its chance.
    pub(crate) fn leave(&self, place: WorkerId) {
        self.places.leave(place);
        self.offer_place();
    }

    /// A caller that waits for a place tries again.
    fn offer_place(&self) {
        if self.wanting.load(SeqCst) > 0 {
            for query in self.lock_queries().iter() {
                if query.counters.wants_place.swap(false, SeqCst) {
                    self.wanting.fetch_sub(1, SeqCst);
                    query.counters.gate.notify(1);
                    return;
                }
            }
        }
    }

    /// Lends the place of an order of `query` to others while `wait` sleeps. Afterwards there may be one more in their
    /// places than allowed, for as long as an order lasts: the surplus leaves then.
    pub(crate) fn step_aside(self: &Arc<Self>, query: &QueryRun, wait: &mut dyn FnMut()) {
        // Who is aside keeps its number, and there are only so many.
        if self.places.limit() + self.aside.load(SeqCst) >= WORKERS_MAX {
            return wait();
        }
        self.aside.fetch_add(1, SeqCst);
        self.places.lend();
        self.offer_place();
        self.hand_over(query);
        wait();
        self.places.take_back();
        self.aside.fetch_sub(1, SeqCst);
    }

    /// Pool threads that there may be.
    fn pool_threads_max(&self) -> usize {
        self.places.limit() - 1 + self.aside.load(SeqCst)
    }

    /// Called after a place was given back while work may be claimable: somebody else looks.
    pub(crate) fn hand_over(&self, leaver: &QueryRun) {
        if self.active.load(SeqCst) <= usize::from(leaver.ended()) {
            return;
        }
        let next = {
            let queries = self.lock_queries();
            let next = queries.iter().find(|query| query.maybe_claimable());
            next.map(|query| self.enter(query))
        };
        if let Some(query) = next {
            query.happened(1);
            self.dismiss(query);
        }
    }

    /// Moves `idle`, and wakes up to `hands` pool threads if there are places for them.
    pub(crate) fn wake(self: &Arc<Self>, hands: usize) {
        let pool = self.pool_threads_max();
        let hands = if self.places.any_free() { hands.min(pool) } else { 0 };
        self.idle.notify(hands);
        if hands > self.idle.waiters() && self.spawned.load(SeqCst) < pool {
            self.spawn(hands);
        }
    }

    /// Spawns up to `hands` of the pool threads that do not exist yet.
    fn spawn(self: &Arc<Self>, hands: usize) {
        let mut threads = self.lock_threads();
        let pool = self.pool_threads_max();
        if threads.len() < pool {
            threads.resize_with(pool, || None);
        }
        let missing = threads.iter_mut().take(pool).enumerate().filter(|(_, thread)| thread.is_none());
        for (position, thread) in missing.take(hands) {
            let foreman = Arc::clone(self);
            let body = move || worker::pool_thread(&foreman, position + 1);
            let name = format!("worker-{}", position + 1);
            match std::thread::Builder::new().name(name).spawn(body) {
                Ok(handle) => {
                    *thread = Some(handle);
                    self.spawned.fetch_add(1, SeqCst);
                }
                // The machine allows no more threads: those that exist do the work.
                Err(_) => break,
            }
        }
    }

    /// Whether pool thread `number` should end. Decided under the lock under which threads are
    /// spawned, so that a number that is needed again is either kept or spawned anew.
    pub(crate) fn dismisses_thread(&self, number: usize) -> bool {
        if self.shutdown.load(SeqCst) {
            return true;
        }
        if number <= self.pool_threads_max() {
            return false;
        }
        let mut threads = self.lock_threads();
        let surplus = number > self.pool_threads_max();
        if surplus && let Some(thread) = threads.get_mut(number - 1) {
            *thread = None;
            self.spawned.fetch_sub(1, SeqCst);
        }
        surplus
    }

    pub(crate) fn active(&self) -> usize {
        self.active.load(SeqCst)
    }

    /// The first position of a new round.
    pub(crate) fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Relaxed)
    }

    /// The query at a position of the round, with its visitor counted.
    pub(crate) fn visit(&self, position: usize) -> Option<Arc<QueryRun>> {
        let queries = self.lock_queries();
        let query = queries.get(position.checked_rem(queries.len())?)?;
        Some(self.enter(query))
    }

    /// Begins a visit. Only under the lock: who then takes the query off the list sees the visitor.
    fn enter(&self, query: &Arc<QueryRun>) -> Arc<QueryRun> {
        query.counters.visitors.fetch_add(1, SeqCst);
        Arc::clone(query)
    }

    /// Ends a visit. The reference is gone before the count falls, so that the caller's is the
    /// last one, and the segments are dropped on its thread.
    pub(crate) fn dismiss(&self, query: Arc<QueryRun>) {
        let counters = Arc::clone(&query.counters);
        drop(query);
        if counters.visitors.fetch_sub(1, SeqCst) == 1 && counters.closing.load(SeqCst) {
            counters.gate.notify(1);
        }
    }

    fn add(&self, run: &Arc<QueryRun>) {
        let mut queries = self.lock_queries();
        queries.push(Arc::clone(run));
        self.active.store(queries.len(), SeqCst);
    }

    fn remove(&self, run: &Arc<QueryRun>) {
        let mut queries = self.lock_queries();
        queries.retain(|query| !Arc::ptr_eq(query, run));
        self.active.store(queries.len(), SeqCst);
        drop(queries);
        // Positions have shifted: a round that is under way may have missed a query.
        self.idle.notify(0);
    }

    fn lock_queries(&self) -> MutexGuard<'_, Vec<Arc<QueryRun>>> {
        // Nothing that panics runs under either lock.
        self.queries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_threads(&self) -> MutexGuard<'_, Vec<Option<JoinHandle<()>>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
