//! The foreman: which queries are active, which threads there are, and which of them are woken.
//!
//! It is off the path of the single work order: a worker that serves the only active query claims
//! from it without a lock. The roster of queries (`roster.rs`) is locked when a query comes or goes, and once per
//! work order when several are active, to choose among them. Before a query is on the roster it is admitted
//! (`admission.rs`).
//!
//! Threads: `workers - 1` pool threads at most, spawned when they are first needed, and every thread
//! that calls `run`. All of them need a place (`worker_slots.rs`) to touch work orders:
//!
//! ```text
//!  pool thread   sleeps at `idle` with no place; woken by `wake`, takes a place, works for all
//!                queries in turn until a whole round finds nothing
//!  caller        takes a place and does the same, until its own query has ended; sleeps at its
//!                query's gate when nothing is claimable or no place is free
//! ```
//!
//! So a small query runs on its caller's thread and wakes no other. A thread that gives a place back
//! while work may be claimable passes it on ([`Foreman::hand_over`]): to a caller that waits for a
//! place, else to a query that has work.
//!
//! Lost wake-ups. A thread that makes work claimable moves the query's gate and `idle`; both sleepers
//! took their key before their last look. A caller without a place sets `wants_place`, tries once
//! more, and sleeps; a leaving thread frees the place first and looks at `wants_place` second.

use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use sync::Gate;
use workorder::{Dag, Failure, QueryId, WORKERS_MAX, WorkerId};

use crate::activity::WorkerActivity;
use crate::admission::Admission;
use crate::clock::Clock;
use crate::control::Ticker;
use crate::counters::Counters;
use crate::handle::{Query, QuerySpec};
use crate::load::Limits;
use crate::lock::lock;
use crate::messages::{Control, Mailbox};
use crate::nodes::{NodeOfThread, NodeScheduling, Nodes};
use crate::open::OpenQueries;
use crate::policy::{HighestPriorityFirst, POLICIES, Policy};
use crate::query::QueryRun;
use crate::report::{QueryReport, Stopped};
use crate::roster::Roster;
use crate::worker::{Break, Worker, enclosing_place};
use crate::worker_slots::WorkerSlots;
use crate::{QueryControl, worker};

/// Default limit of queries of one priority that run at a time, for each worker.
const ACTIVE_PER_WORKER: usize = 4;

/// Bytes that the calling thread has taken and not given back, ever; differences count.
pub type ThreadBytes = fn() -> i64;

/// Called on a pool thread with its number, from 1, when it begins and when another function takes the place of this one:
/// puts it where it is to run.
pub type Placement = Arc<dyn Fn(usize) + Send + Sync>;

/// Worker threads that run queries. Dropping it ends them.
pub struct Scheduler {
    pub(crate) foreman: Arc<Foreman>,
}

pub(crate) struct Foreman {
    pub(crate) worker_slots: WorkerSlots,
    /// Where pool threads sleep.
    pub(crate) idle: Gate,
    pub(crate) clock: Clock,
    /// Queries whose work orders may be claimed, and the choice among them.
    pub(crate) roster: Mutex<Roster>,
    /// Queries of the roster that are not held, to be looked at without the lock.
    pub(crate) active: AtomicUsize,
    pub(crate) open: Arc<OpenQueries>,
    /// Admission of queries.
    pub(crate) admission: Admission,
    /// Messages from sessions; `None` if the bus refused the foreman's clients.
    pub(crate) mailbox: Option<Mailbox>,
    /// What each place is about.
    pub(crate) activity: WorkerActivity,
    pub(crate) nodes: Nodes,
    thread_bytes: ThreadBytes,
    /// Callers whose `wants_place` is set.
    wanting: AtomicUsize,
    /// Threads that have lent their place while they wait: others stand in for them.
    aside: AtomicUsize,
    /// Pool thread `i` has position `i - 1`; it exists while `i < limit + aside`.
    threads: Mutex<Vec<Option<JoinHandle<()>>>>,
    placement: Mutex<Option<Placement>>,
    /// How often `placement` was set.
    placements: AtomicU64,
    spawned: AtomicUsize,
    shutdown: AtomicBool,
    /// The simulator has workers of its own.
    threadless: bool,
}

impl Scheduler {
    /// A scheduler with `workers` places (1 to [`WORKERS_MAX`]).
    pub fn new(workers: usize) -> Self {
        Scheduler::with_thread_bytes(workers, || 0)
    }

    /// As `new`, with a function that tells the bytes that a thread has taken: what queries hold is known then, and
    /// their memory limits apply.
    pub fn with_thread_bytes(workers: usize, thread_bytes: ThreadBytes) -> Self {
        Scheduler { foreman: Arc::new(Foreman::new(workers, thread_bytes, Clock::new(), false)) }
    }

    /// The number of places.
    pub fn workers(&self) -> usize {
        self.foreman.worker_slots.limit()
    }

    /// Changes the number of places, also for queries that run: surplus threads leave after the
    /// order they are at.
    pub fn set_workers(&self, workers: usize) {
        self.foreman.tell(Control::Workers(workers as u64));
    }

    /// Puts pool threads where they are to run, also those there are: before their next order. Callers' threads are not
    /// ours to put anywhere.
    pub fn set_placement(&self, placement: Placement) {
        *lock(&self.foreman.placement) = Some(placement);
        self.foreman.placements.fetch_add(1, SeqCst);
        self.foreman.idle.notify(usize::MAX);
    }

    /// Tells a machine's memory nodes, once: for each, all of them by their distance, and on which the calling thread is.
    pub fn set_nodes(&self, nearest: Vec<Vec<usize>>, node_of_thread: NodeOfThread) {
        self.foreman.nodes.set_machine(nearest, node_of_thread);
    }

    /// Whether work orders go to workers on the memory node of their data.
    pub fn node_scheduling(&self) -> NodeScheduling {
        self.foreman.nodes.mode()
    }

    /// Applies from the next work order on.
    pub fn set_node_scheduling(&self, mode: NodeScheduling) {
        self.foreman.nodes.set_mode(mode);
        // Threads that left work to nearer ones may take it from here on.
        self.foreman.idle.notify(usize::MAX);
    }

    /// The number of queries with a run that is admitted and has not ended.
    pub fn active_queries(&self) -> usize {
        self.foreman.lock_roster().len()
    }

    /// The policy's name, as `SET policy` takes it.
    pub fn policy(&self) -> &'static str {
        self.foreman.lock_roster().enforcer.policy_name()
    }

    /// Applies from the next work order on. A policy that is none of [`POLICIES`] has no name that a message could bear.
    pub fn set_policy(&self, policy: Box<dyn Policy>) {
        match POLICIES.iter().position(|name| *name == policy.name()) {
            Some(at) => self.foreman.tell(Control::Policy(at as u64)),
            None => self.foreman.apply_policy(policy),
        }
    }

    /// Queries of one priority that run at a time; those beyond wait, but not for longer than a second for this
    /// reason.
    pub fn active_queries_max(&self) -> usize {
        self.foreman.admission.limits().active_max
    }

    /// Sets the limit of `active_queries_max`, at least 1; `None` is the default, four for each worker.
    pub fn set_active_queries_max(&self, queries: Option<usize>) {
        let active_max = queries.unwrap_or(ACTIVE_PER_WORKER * self.workers()).max(1);
        self.foreman.tell(Control::ActiveQueriesMax(active_max as u64));
    }

    /// Sets the memory in bytes that all queries together may hold; the load controller admits and suspends by it.
    pub fn set_memory(&self, bytes: u64) {
        self.foreman.tell(Control::Memory(bytes));
    }

    /// A query begins: it has an id, can be seen, paused, and charged. It ends when the last reference is dropped.
    pub fn begin(&self, spec: QuerySpec) -> Arc<Query> {
        let query = self.foreman.new_query(spec);
        self.foreman.admission.register(&query);
        query
    }

    /// The queries that have begun and not ended, in the order of their beginning.
    pub fn queries(&self) -> Vec<Arc<Query>> {
        self.foreman.admission.queries()
    }

    /// The query with that number; `None` when it has ended or never began.
    pub fn query(&self, id: QueryId) -> Option<Arc<Query>> {
        self.foreman.admission.query(id)
    }

    /// Whether the calling thread is inside a work order of this scheduler. What it then waits for must not need a
    /// place of its own: all may be taken by orders that wait likewise.
    pub fn is_inside_order(&self) -> bool {
        enclosing_place(&self.foreman).is_some()
    }

    /// Runs a plan to its end. The calling thread works along. Returns when no order of the query
    /// runs any more and nothing here refers to its segments; the first failure wins.
    ///
    /// Before that it may wait for the load controller; not so inside a work order, whose query would wait for its own.
    pub fn run(&self, dag: Dag, control: &QueryControl) -> Result<QueryReport, Failure> {
        if let Some(reason) = control.cancel_token().check_clock() {
            return Err(Box::new(Stopped { reason }));
        }
        let foreman = &self.foreman;
        let query = control.query().cloned().unwrap_or_else(|| foreman.new_query(QuerySpec::default()));
        let run = Arc::new(QueryRun::new(query, dag, control, foreman.clone())?);
        let overseer = Arc::downgrade(foreman);
        control.attach(&run.counters, overseer);
        run.query.reset_memory();
        let ticker = Ticker::new(control);
        let enclosing = enclosing_place(foreman);
        if enclosing.is_none() {
            run.query.no_rows_flow();
        }
        let mut queued = foreman.now();
        let short = enclosing.is_none() && run.alone && !run.query.begins_anew();
        let opened = short.then(|| foreman.work_alone(&run, &ticker)).flatten();
        // What is left of a short run, which was held, is admitted like any other.
        let _inside = match enclosing {
            None if opened.is_none() || !run.ended() => {
                let inside = foreman.admission.enter(foreman.clone(), &run, &ticker)?;
                if opened.is_none() {
                    queued = foreman.now();
                }
                Some(inside)
            }
            _ => None,
        };
        let claimable = opened.unwrap_or_else(|| run.open_roots());
        if !run.ended() {
            foreman.add(&run);
            run.happened(claimable.saturating_sub(1));
            match enclosing {
                None => foreman.work_as_caller(&run, &ticker),
                Some(place) => foreman.work_nested(&run, &ticker, place),
            }
            foreman.remove(&run);
            wait_for_visitors(&run.counters, &ticker);
        }
        run.query.set_current_run(None);
        if let Some(record) = run.record(queued) {
            control.keep_record(record);
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

/// Waits until no visitor is left. The query is off the roster, so that no new ones come.
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
    pub(crate) fn new(workers: usize, thread_bytes: ThreadBytes, clock: Clock, threadless: bool) -> Self {
        let workers = workers.clamp(1, WORKERS_MAX);
        Foreman {
            worker_slots: WorkerSlots::new(workers),
            idle: Gate::new(),
            clock,
            roster: Mutex::new(Roster::new(Box::new(HighestPriorityFirst))),
            active: AtomicUsize::new(0),
            open: Arc::default(),
            admission: Admission::new(Limits { active_max: ACTIVE_PER_WORKER * workers, memory: u64::MAX }),
            mailbox: Mailbox::new(),
            activity: WorkerActivity::new(),
            nodes: Nodes::new(),
            thread_bytes,
            wanting: AtomicUsize::new(0),
            aside: AtomicUsize::new(0),
            threads: Mutex::new(Vec::new()),
            placement: Mutex::new(None),
            placements: AtomicU64::new(0),
            spawned: AtomicUsize::new(0),
            shutdown: AtomicBool::new(false),
            threadless,
        }
    }

    /// Nanoseconds since the scheduler was made.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// See [`ThreadBytes`].
    pub(crate) fn thread_bytes(&self) -> i64 {
        (self.thread_bytes)()
    }

    pub(crate) fn apply_policy(&self, policy: Box<dyn Policy>) {
        self.open.follow(&*policy);
        self.lock_roster().enforcer.set_policy(policy);
    }

    pub(crate) fn new_query(self: &Arc<Self>, spec: QuerySpec) -> Arc<Query> {
        static NEXT_QUERY: AtomicU64 = AtomicU64::new(1);
        let id = QueryId(NEXT_QUERY.fetch_add(1, Relaxed));
        let overseer = Arc::downgrade(self);
        Arc::new(Query::new(id, spec, overseer, &self.open, self.now()))
    }

    pub(crate) fn set_workers(self: &Arc<Self>, workers: usize) {
        let (before, workers) = (self.worker_slots.limit(), workers.clamp(1, WORKERS_MAX));
        self.worker_slots.set_limit(workers);
        // A limit that was set explicitly stays.
        self.admission.set_limits(self.now(), |limits| {
            if limits.active_max == ACTIVE_PER_WORKER * before {
                limits.active_max = ACTIVE_PER_WORKER * workers;
            }
        });
        // Surplus threads end, and callers without a place try again.
        self.idle.notify(usize::MAX);
        for query in self.lock_roster().runs() {
            query.counters.gate.notify(1);
        }
        if self.active() > 0 {
            self.wake(workers.saturating_sub(1));
        }
    }

    /// The caller's part in its query.
    fn work_as_caller(self: &Arc<Self>, run: &Arc<QueryRun>, ticker: &Ticker<'_>) {
        loop {
            let key = run.counters.gate.key();
            ticker.poll();
            if run.ended() {
                break;
            }
            let Some(place) = self.take_place(run) else {
                // Without spinning: all places are taken, so the cores have work.
                run.counters.gate.sleep(key, Some(ticker.patience()));
                continue;
            };
            let quiet = run.quiet();
            let worker = Worker { foreman: self, place, own: Some(run), ticker: Some(ticker), alone: false };
            match worker.work() {
                Break::Surplus => self.hand_over(run),
                Break::Ended => {
                    self.leave(place);
                    self.hand_over(run);
                }
                Break::Yield(to) => {
                    self.want_place(run, true);
                    // Only what comes after this is worth waking for.
                    let key = run.counters.gate.key();
                    self.give_place(place, to);
                    run.counters.gate.sleep(key, Some(ticker.patience()));
                }
                Break::Nothing => {
                    self.leave(place);
                    self.put_away(run, ticker);
                    if self.active() > 1 {
                        // There may be work that is not for callers of other queries, or that others saw no free place for
                        // while we looked around in vain.
                        self.hand_over(run);
                    }
                    if run.is_stalled(quiet, key) {
                        run.fail_stalled();
                        break;
                    }
                    if self.active() > 1 {
                        run.counters.gate.sleep(key, Some(ticker.patience()));
                    } else {
                        run.counters.gate.wait(key, Some(ticker.patience()));
                    }
                }
            }
        }
        self.want_place(run, false);
        if let Some(place) = run.counters.granted_place() {
            self.leave(place);
        }
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
            self.put_away(run, ticker);
            if run.is_stalled(quiet, key) {
                run.fail_stalled();
            }
            if run.ended() {
                return;
            }
            run.counters.gate.wait(key, Some(ticker.patience()));
        }
    }

    /// The caller does a short run in a place of its own, and nobody else hears of it. Gives what `open_roots` does, or
    /// `None` where no place is free or a query needs the memory for itself; the run has ended then, unless its query is held.
    fn work_alone(self: &Arc<Self>, run: &Arc<QueryRun>, ticker: &Ticker<'_>) -> Option<usize> {
        let unadmitted = self.admission.enter_unadmitted()?;
        let place = self.worker_slots.take()?;
        run.query.set_current_run(Some(&run.counters));
        // Others may have the memory that it lacks, and are not asked about: it then begins anew, and is admitted.
        run.query.note_company(true);
        let claimable = run.open_roots();
        let worker = Worker { foreman: self, place, own: Some(run), ticker: Some(ticker), alone: true };
        worker.work();
        self.leave(place);
        drop(unadmitted);
        if self.active() > 0 {
            // Threads of others may have seen no free place meanwhile. (The run itself is not on the roster.)
            self.pass_on();
        }
        Some(claimable)
    }

    /// The caller's part in giving back what a query holds that is held.
    fn put_away(&self, run: &QueryRun, ticker: &Ticker<'_>) {
        if run.query.is_held() {
            let before = self.thread_bytes();
            run.put_away(Some(ticker));
            run.query.grow(self.thread_bytes() - before);
        }
    }

    /// A place for a caller. `None`: all are taken, and the next thread that leaves one wakes the caller.
    fn take_place(&self, run: &QueryRun) -> Option<WorkerId> {
        let granted = || run.counters.granted_place();
        let place = granted().or_else(|| self.worker_slots.take()).or_else(|| {
            self.want_place(run, true);
            self.worker_slots.take().or_else(granted)
        });
        if place.is_some() {
            self.want_place(run, false);
            // Another thread granted it one while it took its own.
            if let Some(second) = granted() {
                self.leave(second);
            }
        }
        place
    }

    /// Gives a place to a thread that may serve a query: to its caller if that waits for one, else to a pool thread.
    /// The visit ends.
    pub(crate) fn give_place(self: &Arc<Self>, place: WorkerId, to: Arc<QueryRun>) {
        let counters = &to.counters;
        // Granted first: a caller that finds itself called finds the place.
        let granted = counters.grant_place(place);
        if granted && counters.wants_place.swap(false, SeqCst) {
            self.wants_no_more();
            counters.gate.notify(1);
        } else if !granted || counters.granted_place().is_some() {
            self.worker_slots.leave(place);
            self.wake(1);
        }
        self.dismiss(to);
    }

    /// Whether a pool thread may be woken or spawned.
    pub(crate) fn has_idle_thread(&self) -> bool {
        !self.threadless && (self.idle.waiters() > 0 || self.spawned.load(SeqCst) < self.pool_threads_max())
    }

    fn want_place(&self, run: &QueryRun, wants: bool) {
        if !wants && !run.counters.wants_place.load(Relaxed) {
            // Only this thread sets it.
            return;
        }
        // Counted before it is seen: whoever takes it back takes it off the count, too.
        if wants {
            self.wanting.fetch_add(1, SeqCst);
        }
        if run.counters.wants_place.swap(wants, SeqCst) {
            self.wants_no_more();
        }
    }

    /// A caller's `wants_place` was taken back.
    fn wants_no_more(&self) {
        let wanting = self.wanting.fetch_sub(1, SeqCst);
        debug_assert_ne!(wanting, 0, "fewer callers wait for a place than none");
    }

    /// Gives a place back. A caller that waits for one gets its chance.
    pub(crate) fn leave(&self, place: WorkerId) {
        self.worker_slots.leave(place);
        self.offer_place();
    }

    /// Whether a caller waits for a place.
    pub(crate) fn is_place_wanted(&self) -> bool {
        self.wanting.load(Relaxed) > 0
    }

    /// Whether a caller waits for one whose query does not come after this one.
    pub(crate) fn is_place_wanted_beside(&self, own: &QueryRun) -> bool {
        let roster = self.lock_roster();
        let tier = |query: &QueryRun| roster.enforcer.tier(query.query.priority());
        let least = tier(own);
        roster.runs().iter().any(|query| {
            query.id != own.id && query.counters.wants_place.load(SeqCst) && tier(query) >= least
        })
    }

    /// A caller that waits for a place tries again.
    fn offer_place(&self) {
        if self.wanting.load(SeqCst) > 0 {
            let roster = self.lock_roster();
            let mut wanting: Vec<_> =
                roster.runs().iter().filter(|query| query.counters.wants_place.load(SeqCst)).collect();
            wanting.sort_by_key(|query| std::cmp::Reverse(roster.enforcer.tier(query.query.priority())));
            for query in wanting {
                if query.counters.wants_place.swap(false, SeqCst) {
                    self.wants_no_more();
                    query.counters.gate.notify(1);
                    return;
                }
            }
        }
    }

    /// Lends the place of an order of `query` to others while `wait` sleeps. Afterwards there may be one more in their
    /// places than allowed, for as long as an order lasts: the surplus leaves then.
    pub(crate) fn step_aside(self: &Arc<Self>, query: &QueryRun, wait: &mut dyn FnMut()) {
        // A thread that steps aside keeps its number, and there are only `WORKERS_MAX`.
        if self.worker_slots.limit() + self.aside.load(SeqCst) >= WORKERS_MAX {
            return wait();
        }
        self.aside.fetch_add(1, SeqCst);
        self.worker_slots.lend();
        self.offer_place();
        self.hand_over(query);
        wait();
        self.worker_slots.take_back();
        let aside = self.aside.fetch_sub(1, SeqCst);
        debug_assert_ne!(aside, 0, "more threads come back than stepped aside");
    }

    /// Pool threads that there may be.
    fn pool_threads_max(&self) -> usize {
        self.worker_slots.limit() - 1 + self.aside.load(SeqCst)
    }

    /// Moves `idle`, and wakes up to `hands` pool threads if there are free places; spawns those that do not exist
    /// yet.
    pub(crate) fn wake(self: &Arc<Self>, hands: usize) {
        let pool = self.pool_threads_max();
        // A single thread might be near to nothing of it.
        let hands = if hands > 0 && self.nodes.is_strict() { pool } else { hands };
        let hands = if self.worker_slots.any_free() { hands.min(pool) } else { 0 };
        self.idle.notify(hands);
        if self.threadless {
            return;
        }
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

    /// Puts pool thread `number` where it is to run, if that was decided since it last asked.
    pub(crate) fn place_thread(&self, number: usize, asked: &mut u64) {
        let now = self.placements.load(SeqCst);
        if now != *asked {
            *asked = now;
            let placement = lock(&self.placement).clone();
            if let Some(place) = placement {
                place(number);
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
            debug_assert!(thread.is_some(), "thread {number} is not among those that were spawned");
            *thread = None;
            let spawned = self.spawned.fetch_sub(1, SeqCst);
            debug_assert_ne!(spawned, 0, "more threads end than were spawned");
        }
        surplus
    }

    fn lock_threads(&self) -> MutexGuard<'_, Vec<Option<JoinHandle<()>>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
