//! A query from outside: its specification, the operations on it, and what it is charged.
//!
//! A [`Query`] lives as long as its statement: planning, any number of runs (common subplans, subqueries, the plan itself),
//! and the way of its rows to the reader. All its runs have its id, priority, limits and holds. Its CPU time goes to
//! an [`Account`], which several queries may share: a session's, one after the other.
//!
//! *Held* is a set of reasons, each raised and taken back by its owner; while there is one, no work order is claimed, and
//! orders that run wait at their next batch:
//!
//! ```text
//!  USER   PAUSE QUERY ... RESUME QUERY
//!  LOAD   the load controller: memory is short
//! ```

use std::fmt;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, Weak};

use sync::CancelToken;
use workorder::{QueryId, WORKERS_MAX};

use crate::counters::{Counters, MANY};
use crate::learning::ORDER_NANOSECONDS_UNKNOWN;
use crate::lock::lock;
use crate::messages::Control;
use crate::open::OpenQueries;
use crate::overseer::Overseer;
use crate::policy::{PRIORITY_DEFAULT, PRIORITY_MAX};

/// Bits of `Query::held`.
pub(crate) const HELD_BY_USER: u8 = 1;
pub(crate) const HELD_BY_LOAD: u8 = 2;

/// After so many failures for want of memory a query has been strictly alone.
const ALONE_MAX: u8 = 2;

/// What CPU time is charged to. Fairness is between accounts.
#[derive(Debug)]
pub struct Account {
    id: u64,
    charged: AtomicU64,
}

impl Default for Account {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Account { id: NEXT.fetch_add(1, Relaxed), charged: AtomicU64::new(0) }
    }
}

impl Account {
    /// A new one, that has been charged nothing.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Its number, unique in the process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Nanoseconds charged so far.
    pub fn charged(&self) -> u64 {
        self.charged.load(Relaxed)
    }
}

/// What is said about a query when it begins.
#[derive(Clone, Debug)]
pub struct QuerySpec {
    /// The account it is charged to; a new account where none is given.
    pub account: Option<Arc<Account>>,
    /// The session's number, for the views.
    pub session: u64,
    /// The session's role, for the views; `None` for a session without one.
    pub role: Option<Arc<str>>,
    /// The statement, for the views.
    pub text: Arc<str>,
    /// 0 to [`PRIORITY_MAX`].
    pub priority: u32,
    /// Threads inside its work orders at a time.
    pub workers_max: usize,
    /// Bytes that it may hold.
    pub memory_max: u64,
    /// The token that ends it, by cancellation or deadline.
    pub cancel: CancelToken,
}

impl Default for QuerySpec {
    fn default() -> Self {
        QuerySpec {
            account: None,
            session: 0,
            role: None,
            text: Arc::from(""),
            priority: PRIORITY_DEFAULT,
            workers_max: WORKERS_MAX,
            memory_max: u64::MAX,
            cancel: CancelToken::new(),
        }
    }
}

/// The states of a query that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryState {
    /// No run of it is with the scheduler: it is planned, or its rows are on their way.
    Planning,
    /// It waits to be admitted.
    Queued,
    /// Its work orders are executed, or its own thread computes its rows without any.
    Running,
    /// PAUSE QUERY holds it.
    Paused,
    /// The load controller holds it.
    Suspended,
}

impl QueryState {
    /// The word that views show.
    pub fn name(self) -> &'static str {
        match self {
            QueryState::Planning => "planning",
            QueryState::Queued => "queued",
            QueryState::Running => "running",
            QueryState::Paused => "paused",
            QueryState::Suspended => "suspended",
        }
    }
}

/// A query that has begun and not ended.
pub struct Query {
    id: QueryId,
    account: Arc<Account>,
    session: u64,
    role: Option<Arc<str>>,
    text: Arc<str>,
    begun: u64,
    cancel: Mutex<CancelToken>,
    priority: AtomicU32,
    /// Bits, one a reason.
    held: Arc<AtomicU8>,
    /// Rows of it are on their way to its reader.
    flows: AtomicBool,
    workers_max: AtomicUsize,
    memory_max: AtomicU64,
    /// Bytes that its plan is expected to hold at most.
    memory_predicted: AtomicU64,
    /// How often it ran out of memory while others had some.
    alone: AtomicU8,
    /// Other queries were active during its last run, or would have been.
    had_company: AtomicBool,
    /// Threads inside its work orders.
    pub(crate) running: AtomicUsize,
    charged: AtomicU64,
    planning: AtomicU64,
    /// The part of `charged` that is in its account's virtual time; kept between runs.
    pub(crate) seen: AtomicU64,
    /// What the learning agent expects the next order to take.
    pub(crate) order_nanoseconds: AtomicU64,
    /// Net growth by its work orders.
    memory: AtomicI64,
    memory_peak: AtomicI64,
    pub(crate) queued: AtomicBool,
    /// Its rows are computed on its own thread, without work orders.
    evaluates: AtomicBool,
    /// Counters of the run that is with the scheduler.
    run: Mutex<Option<Arc<Counters>>>,
    overseer: Weak<dyn Overseer>,
    /// The foreman's.
    open: Arc<OpenQueries>,
}

impl Drop for Query {
    fn drop(&mut self) {
        let running = *self.running.get_mut();
        debug_assert!(
            running == 0 || std::thread::panicking(),
            "{running} threads are inside a query that has ended"
        );
        self.open.remove(&self.priority);
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("id", &self.id).field("state", &self.state()).finish()
    }
}

impl Query {
    pub(crate) fn new(
        id: QueryId,
        spec: QuerySpec,
        overseer: Weak<dyn Overseer>,
        open: &Arc<OpenQueries>,
        begun: u64,
    ) -> Self {
        let priority = spec.priority.min(PRIORITY_MAX);
        open.add(priority);
        open.wakes(begun);
        Query {
            id,
            account: spec.account.unwrap_or_default(),
            session: spec.session,
            role: spec.role,
            text: spec.text,
            begun,
            cancel: Mutex::new(spec.cancel),
            priority: AtomicU32::new(priority),
            held: Arc::default(),
            flows: AtomicBool::new(false),
            workers_max: AtomicUsize::new(spec.workers_max.max(1)),
            memory_max: AtomicU64::new(spec.memory_max),
            memory_predicted: AtomicU64::new(0),
            alone: AtomicU8::new(0),
            had_company: AtomicBool::new(false),
            running: AtomicUsize::new(0),
            charged: AtomicU64::new(0),
            planning: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            order_nanoseconds: AtomicU64::new(ORDER_NANOSECONDS_UNKNOWN),
            memory: AtomicI64::new(0),
            memory_peak: AtomicI64::new(0),
            queued: AtomicBool::new(false),
            evaluates: AtomicBool::new(false),
            run: Mutex::new(None),
            overseer,
            open: Arc::clone(open),
        }
    }

    /// Its number, unique in the process.
    pub fn id(&self) -> QueryId {
        self.id
    }

    /// The account it is charged to.
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// The session's number.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// The session's role, if it has one.
    pub fn role(&self) -> Option<&Arc<str>> {
        self.role.as_ref()
    }

    /// The statement.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// When it began, in nanoseconds of the scheduler's clock.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// Its priority now.
    pub fn priority(&self) -> u32 {
        self.priority.load(Relaxed)
    }

    /// Takes hold from the next work order on.
    pub fn set_priority(&self, priority: u32) {
        self.tell(Control::Priority(self.id, priority.min(PRIORITY_MAX)));
    }

    /// Sends a request about it to the foreman as a message; it is done when this returns.
    fn tell(&self, control: Control) {
        match self.overseer.upgrade() {
            Some(overseer) => overseer.tell(control),
            None => self.obey(control),
        }
    }

    /// Carries out a message.
    pub(crate) fn obey(&self, control: Control) {
        match control {
            Control::Cancel(_) => {
                self.cancel_token().cancel();
                self.stir();
            }
            Control::Pause(_) | Control::Resume(_) => {
                let paused = matches!(control, Control::Pause(_));
                self.hold(HELD_BY_USER, paused);
                self.tell_pause(paused);
            }
            Control::Priority(_, priority) => {
                self.open.change(&self.priority, priority);
                if let Some(overseer) = self.overseer.upgrade() {
                    overseer.priority_changed(self.id, priority);
                }
            }
            Control::WorkersMax(_, workers) => {
                self.workers_max.store((workers as usize).max(1), SeqCst);
                self.stir();
            }
            Control::MemoryMax(_, bytes) => self.memory_max.store(bytes, SeqCst),
            // About the scheduler, and not about a query.
            _ => {}
        }
    }

    /// Threads inside its work orders at a time.
    pub fn workers_max(&self) -> usize {
        self.workers_max.load(Relaxed)
    }

    /// Takes hold from the next work order on.
    pub fn set_workers_max(&self, workers: usize) {
        self.tell(Control::WorkersMax(self.id, workers as u64));
    }

    /// Bytes that it may hold.
    pub fn memory_max(&self) -> u64 {
        self.memory_max.load(Relaxed)
    }

    /// Takes hold at the next batch.
    pub fn set_memory_max(&self, bytes: u64) {
        self.tell(Control::MemoryMax(self.id, bytes));
    }

    /// What its plan will hold at most, as the optimizer expects; for the load controller.
    pub fn expect_memory(&self, bytes: u64) {
        self.memory_predicted.store(bytes, Relaxed);
    }

    /// What it is expected to hold at most.
    pub fn memory_predicted(&self) -> u64 {
        self.memory_predicted.load(Relaxed)
    }

    /// A run of it failed for want of memory. Whether it should run again: others had some of it, and its next run will
    /// wait until it has the memory to itself.
    pub fn run_alone(&self) -> bool {
        self.had_company() && self.alone.fetch_add(1, SeqCst) < ALONE_MAX
    }

    /// Whether its runs begin anew, others having had the memory that it needed.
    pub fn begins_anew(&self) -> bool {
        self.aloneness() > 0
    }

    /// 0: together with others; 1: together with small ones; 2: strictly alone.
    pub(crate) fn aloneness(&self) -> u8 {
        self.alone.load(SeqCst)
    }

    /// Whether other queries were active during its last run.
    pub fn had_company(&self) -> bool {
        self.had_company.load(SeqCst)
    }

    pub(crate) fn note_company(&self, company: bool) {
        self.had_company.store(company, SeqCst);
    }

    /// Charges time that was spent for it outside its work orders, planning above all.
    pub fn charge_planning(&self, nanoseconds: u64) {
        self.planning.fetch_add(nanoseconds, Relaxed);
        self.charge(nanoseconds);
    }

    pub(crate) fn charge(&self, nanoseconds: u64) {
        self.charged.fetch_add(nanoseconds, Relaxed);
        self.account.charged.fetch_add(nanoseconds, Relaxed);
    }

    /// Its rows are computed on the calling thread, without work orders and admission: it is seen to run until what is
    /// returned is dropped. `None`: it is to be admitted, since it begins anew, or another query needs the memory for itself.
    pub fn evaluate(&self) -> Option<Evaluating<'_>> {
        let overseer = self.overseer.upgrade()?;
        if self.begins_anew() || !overseer.begin_unadmitted() {
            return None;
        }
        self.evaluates.store(true, Relaxed);
        // Others may have the memory that it lacks, and are not asked about.
        self.note_company(true);
        self.reset_memory();
        Some(Evaluating { query: self, overseer })
    }

    /// Nanoseconds charged: planning and work orders.
    pub fn charged(&self) -> u64 {
        self.charged.load(Relaxed)
    }

    /// Nanoseconds of `charged` that went to planning.
    pub fn planning(&self) -> u64 {
        self.planning.load(Relaxed)
    }

    /// Bytes that its work orders took and did not give back.
    pub fn memory(&self) -> u64 {
        self.memory.load(Relaxed).max(0) as u64
    }

    /// The most it held after a work order.
    pub fn memory_peak(&self) -> u64 {
        self.memory_peak.load(Relaxed).max(0) as u64
    }

    /// A run begins: what an earlier one held was given back when it ended.
    pub(crate) fn reset_memory(&self) {
        self.memory.store(0, Relaxed);
    }

    /// A work order made it grow by `bytes`.
    pub(crate) fn grow(&self, bytes: i64) {
        if bytes != 0 {
            let now = self.memory.fetch_add(bytes, Relaxed) + bytes;
            if now > self.memory_peak.load(Relaxed) {
                self.memory_peak.fetch_max(now, Relaxed);
            }
        }
    }

    /// The signal that ends it.
    pub fn cancel_token(&self) -> CancelToken {
        lock(&self.cancel).clone()
    }

    /// Replaces the token that ends it: a stream brings its own.
    pub fn set_cancel_token(&self, cancel: CancelToken) {
        *lock(&self.cancel) = cancel;
    }

    /// Ends it at the next batch of its work orders.
    pub fn cancel(&self) {
        self.tell(Control::Cancel(self.id));
    }

    /// No work order of it is claimed until `resume`, and those that run stop at their next batch.
    pub fn pause(&self) {
        self.tell(Control::Pause(self.id));
    }

    /// Ends `pause`.
    pub fn resume(&self) {
        self.tell(Control::Resume(self.id));
    }

    fn tell_pause(&self, paused: bool) {
        if let Some(overseer) = self.overseer.upgrade() {
            overseer.pause_changed(self.id, paused);
        }
    }

    pub(crate) fn hold(&self, reason: u8, held: bool) {
        debug_assert!(reason == HELD_BY_USER || reason == HELD_BY_LOAD, "each owner has its bit: {reason}");
        if held {
            self.held.fetch_or(reason, SeqCst);
        } else if self.held.fetch_and(!reason, SeqCst) == reason
            && let Some(run) = self.current_run()
        {
            // Held again, it has other states to put away.
            run.put_away.store(false, SeqCst);
        }
        if let Some(overseer) = self.overseer.upgrade() {
            overseer.recount();
        }
        self.stir();
    }

    /// Not 0 while its work orders stand still, for operators that then put their states into files.
    pub fn held(&self) -> Arc<AtomicU8> {
        Arc::clone(&self.held)
    }

    /// Its first rows are on their way to a reader that may take long: from here on no other query waits for its end,
    /// and it cannot begin anew.
    pub fn rows_flow(&self) {
        if self.flows.swap(true, SeqCst) {
            return;
        }
        if let Some(overseer) = self.overseer.upgrade() {
            overseer.rows_flow(self.id);
        }
    }

    /// A run begins: no row of it has reached a reader.
    pub(crate) fn no_rows_flow(&self) {
        self.flows.store(false, SeqCst);
    }

    /// Whether rows are on their way to its reader: it cannot begin anew.
    pub(crate) fn flows(&self) -> bool {
        self.flows.load(SeqCst)
    }

    /// Whether its work orders stand still. One relaxed load.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.held.load(Relaxed) != 0
    }

    /// Wakes the threads that may work for it or wait for it.
    fn stir(&self) {
        let run = self.current_run();
        if let Some(run) = run {
            run.gate.notify(MANY);
            if let Some(overseer) = self.overseer.upgrade() {
                overseer.wake(MANY);
            }
        }
    }

    pub(crate) fn current_run(&self) -> Option<Arc<Counters>> {
        lock(&self.run).clone()
    }

    /// A run begins or ends. (Its segments are never kept from here: they go with its caller.)
    pub(crate) fn set_current_run(&self, run: Option<&Arc<Counters>>) {
        *lock(&self.run) = run.cloned();
    }

    /// Its state at this moment. A pause hides the other states, and waiting for admission hides a suspension.
    pub fn state(&self) -> QueryState {
        let held = self.held.load(SeqCst);
        if held & HELD_BY_USER != 0 {
            QueryState::Paused
        } else if self.queued.load(SeqCst) {
            QueryState::Queued
        } else if held & HELD_BY_LOAD != 0 {
            QueryState::Suspended
        } else if self.evaluates.load(Relaxed) || lock(&self.run).is_some() {
            QueryState::Running
        } else {
            QueryState::Planning
        }
    }

    /// Before a claim: whether one more thread may be inside its work orders. If so, `exit` follows.
    #[inline]
    pub(crate) fn enter(&self) -> bool {
        let inside = self.running.fetch_add(1, SeqCst);
        let allowed = inside < self.workers_max.load(Relaxed);
        debug_assert!(inside < 2 * WORKERS_MAX, "{inside} threads inside a query");
        if !allowed {
            self.exit();
        }
        allowed
    }

    /// After an `exit` in the midst of an order.
    pub(crate) fn rejoin(&self) {
        self.running.fetch_add(1, SeqCst);
    }

    #[inline]
    pub(crate) fn exit(&self) {
        let inside = self.running.fetch_sub(1, SeqCst);
        debug_assert_ne!(inside, 0, "more threads leave the query than came");
    }
}

/// A query whose rows are computed without work orders; see [`Query::evaluate`].
pub struct Evaluating<'a> {
    query: &'a Query,
    overseer: Arc<dyn Overseer>,
}

impl Evaluating<'_> {
    /// They were: charges the time, and tells the bytes that the thread has taken for them.
    pub fn done(self, nanoseconds: u64, grown: i64) {
        self.query.charge(nanoseconds);
        self.query.grow(grown);
    }
}

impl Drop for Evaluating<'_> {
    fn drop(&mut self) {
        self.query.evaluates.store(false, Relaxed);
        self.overseer.end_unadmitted();
    }
}
