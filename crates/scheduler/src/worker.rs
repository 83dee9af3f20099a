//! What a thread does while it has a place: pick a query, claim, execute, look at the clock.
//!
//! Workers keep nothing between work orders. As long as several queries are active, the roster says before each order
//! whose it is to be; a query that is alone is served without asking.
//!
//! *Held queries.* A query that is paused or suspended is not claimed from, and its orders that run stop at their next
//! batch, in their midst if need be: the thread waits there and lends its place to others. Before that, states that are
//! worth it go to files: an order has a few milliseconds for its own, and the first thread that stands still, or the
//! query's caller, has the segments put away what no order is at. Another query's caller does not wait so, since its
//! own query might end meanwhile: it carries the order out, and takes only short ones of others (`roster.rs`).

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use sync::{Checkout, GateKey};
use workorder::{Host, Near, OrderRecord, QueryId, SegmentId, WorkContext, WorkOrder, WorkerId};

use crate::clock::POLL;
use crate::control::Ticker;
use crate::foreman::Foreman;
use crate::messages::Control;
use crate::query::QueryRun;
use crate::recorder::Records;
use crate::report::MemoryExceeded;
use crate::roster::Choice;

/// Every so many checks of a running order look at the clock: a check comes with each batch, which
/// takes microseconds, and a look costs 25 to 50 ns.
const CHECKS_PER_LOOK: u32 = 4;

/// Nanoseconds in which an order whose query is held may go on until its state is in files, if it is worth that: a batch
/// takes microseconds, but the sink that holds the state may be some batches away.
const PUT_AWAY_GRACE: u64 = 5_000_000;

/// Nanoseconds that an order keeps its place while callers of other queries wait for one, and for which it then lends it.
const TURN: u64 = 20_000_000;
const GUEST_TURN: u64 = 5_000_000;

/// How often a query that waits for memory polls: giving memory back wakes no thread.
const MEMORY_POLL: Duration = Duration::from_millis(2);

/// Nanoseconds that a worker waits for the next segment of a query of a higher tier.
const AWAIT_MAX: u64 = 300_000;

/// Why a worker stopped.
pub(crate) enum Break {
    /// The caller's own query has ended. The place is still held.
    Ended,
    /// Nothing was claimable in any query. The place is still held.
    Nothing,
    /// There are fewer places now; this one was given back.
    Surplus,
    /// It is the turn of a query, a visitor of which the worker is, that it may not serve. The place is still held.
    Yield(Arc<QueryRun>),
}

/// A thread in a place.
pub(crate) struct Worker<'a> {
    pub(crate) foreman: &'a Arc<Foreman>,
    pub(crate) place: WorkerId,
    /// The caller's query.
    pub(crate) own: Option<&'a Arc<QueryRun>>,
    pub(crate) ticker: Option<&'a Ticker<'a>>,
    /// Inside a work order of another query: the place is borrowed, and only `own` is served.
    pub(crate) alone: bool,
}

thread_local! {
    /// Work orders that this thread has completed and not told of.
    static COMPLETED: Cell<u64> = const { Cell::new(0) };
    /// The scheduler (by address) and place of the work order that this thread is inside of.
    static INSIDE: Cell<Option<(usize, WorkerId)>> = const { Cell::new(None) };
}

/// The place of the work order that the calling thread is inside of, if it is this foreman's.
pub(crate) fn enclosing_place(foreman: &Arc<Foreman>) -> Option<WorkerId> {
    let inside = INSIDE.with(Cell::get);
    inside.and_then(|(address, place)| (address == Arc::as_ptr(foreman).addr()).then_some(place))
}

/// The life of pool thread `number`. It is kept on a core only where a placement was set: callers, which work too,
/// are not ours to keep, and a thread whose core a caller happens to run on waits for milliseconds while another is
/// free.
pub(crate) fn pool_thread(foreman: &Arc<Foreman>, number: usize) {
    let mut placements = 0;
    loop {
        let key = foreman.idle.key();
        if foreman.dismisses_thread(number) {
            return;
        }
        foreman.place_thread(number, &mut placements);
        if foreman.active() > 0
            && let Some(place) = foreman.worker_slots.take()
        {
            let worker = Worker { foreman, place, own: None, ticker: None, alone: false };
            match worker.work() {
                Break::Surplus => continue,
                Break::Ended | Break::Nothing => foreman.leave(place),
                Break::Yield(to) => foreman.give_place(place, to),
            }
        }
        foreman.idle.wait(key, None);
    }
}

impl Worker<'_> {
    /// Works until there is a reason not to.
    pub(crate) fn work(&self) -> Break {
        loop {
            if self.own.is_some_and(|own| own.ended()) {
                return Break::Ended;
            }
            if !self.alone && self.foreman.worker_slots.leave_if_over(self.place) {
                return Break::Surplus;
            }
            match self.own {
                Some(own) if self.alone || (self.foreman.active() == 1 && !own.query.is_held()) => {
                    if !self.serve(own) {
                        return Break::Nothing;
                    }
                }
                _ => match self.round() {
                    None => {}
                    Some(reason) => return reason,
                },
            }
        }
    }

    /// Serves the query that is to be served, and if it has no work after all, the next one.
    fn round(&self) -> Option<Break> {
        // Those that looked as if they had work.
        let mut in_vain: Vec<QueryId> = Vec::new();
        let mut awaited = false;
        while let Some(choice) = self.foreman.choose(self.own, |query| in_vain.contains(&query.id)) {
            let query = match choice {
                Choice::Serve(query) => query,
                Choice::Yield(to) => return Some(Break::Yield(to)),
            };
            if !awaited && self.awaits_higher(&query) {
                // It has work now, and has become another choice.
                awaited = true;
                self.foreman.dismiss(query);
                in_vain.clear();
                continue;
            }
            let worked = self.serve(&query);
            let id = query.id;
            self.foreman.dismiss(query);
            if worked {
                self.tell_completions();
                return None;
            }
            in_vain.push(id);
        }
        Some(Break::Nothing)
    }

    /// Between two segments of a query of a higher tier there is nothing to claim for some microseconds. A worker
    /// that took an order of a lower tier then would miss the first part of the next segment. Returns whether it
    /// came.
    fn awaits_higher(&self, query: &QueryRun) -> bool {
        let Some(higher) = self.foreman.awaited(query) else { return false };
        let begun = self.foreman.now();
        let mut came = false;
        while !came && !higher.ended() && self.foreman.now() - begun < AWAIT_MAX {
            for _ in 0..32 {
                std::hint::spin_loop();
            }
            came = higher.maybe_claimable();
        }
        self.foreman.dismiss(higher);
        came
    }

    /// Executes one order of the query, or as many as there are while it is alone.
    fn serve(&self, query: &QueryRun) -> bool {
        let mut worked = false;
        let mut records: Option<Checkout<'_, Records>> = None;
        while query.query.enter() {
            let Some(order) = query.claim(self.near()) else {
                query.query.exit();
                break;
            };
            worked = true;
            let record = self.execute(query, order);
            query.query.exit();
            if let Some(recorder) = &query.recorder {
                records.get_or_insert_with(|| recorder.open()).push(record);
            }
            if let Some(ticker) = self.ticker {
                ticker.poll();
            }
            // Workers watch the deadline of every query, not only its caller.
            query.cancel.check_clock();
            self.offer_core(query);
            let others = !self.alone && self.foreman.active() > 1;
            if others || self.surplus() || self.own.is_some_and(|own| own.ended()) {
                break;
            }
        }
        worked
    }

    /// Many orders are one message, when the load controller is to hear of them.
    fn tell_completions(&self) {
        if self.foreman.admission.is_due(self.foreman.now()) {
            self.foreman.tell(Control::Completed(COMPLETED.replace(0)));
        }
    }

    /// What the thread is near to. Inside another order no other worker could take work that is left.
    fn near(&self) -> Near<'_> {
        let near = self.foreman.nodes.near();
        Near { strict: near.strict && !self.alone, ..near }
    }

    /// Callers that plan or finish may be waiting for a core.
    fn offer_core(&self, query: &QueryRun) {
        let (open, now) = (&self.foreman.open, self.foreman.now());
        if query.ended() {
            open.wakes(now);
        }
        if open.may_want_core(query.query.charged(), query.query.priority(), now) {
            std::thread::yield_now();
        }
    }

    fn surplus(&self) -> bool {
        !self.alone && self.foreman.worker_slots.is_over()
    }

    fn execute(&self, query: &QueryRun, order: WorkOrder) -> OrderRecord {
        let foreman = self.foreman;
        let host = Surroundings {
            query,
            ticker: self.ticker,
            checks: Cell::new(0),
            foreman,
            lends: !self.alone,
            place: self.place,
            foreign: self.own.is_some_and(|own| own.id != query.id),
            held: Cell::new(0),
            bytes_before: foreman.thread_bytes(),
            bytes_told: Cell::new(0),
            held_since: Cell::new(0),
            undisturbed: Cell::new(false),
            aside: Cell::new(false),
            turn_since: Cell::new(0),
            charged: Cell::new(0),
        };
        let context = WorkContext::new(query.id, order.segment, self.place, &host);
        let inside = INSIDE.replace(Some((Arc::as_ptr(foreman).addr(), self.place)));
        let counted = || (context.rows(), context.bytes());
        let meanwhile = || (host.held.get(), context.waited(), host.bytes_told.get(), host.charged.get());
        if !self.alone {
            foreman.activity.begin(self.place, query.id, order.segment, foreman.now());
        }
        let record =
            query.execute(order, self.place, counted, meanwhile, |segment| segment.execute(order, &context));
        if !self.alone {
            foreman.activity.end(self.place, foreman.now());
        }
        INSIDE.set(inside);
        COMPLETED.set(COMPLETED.get() + 1);
        record
    }
}

/// What a work order sees of the scheduler.
struct Surroundings<'a> {
    query: &'a QueryRun,
    /// On a caller's thread: its own query's, whichever query the order belongs to.
    ticker: Option<&'a Ticker<'a>>,
    checks: Cell<u32>,
    foreman: &'a Arc<Foreman>,
    /// The place is the thread's own, and not borrowed from an order that it is inside of.
    lends: bool,
    place: WorkerId,
    /// The thread is another query's caller.
    foreign: bool,
    /// Nanoseconds that the order stood still while its query was held.
    held: Cell<u64>,
    /// What the thread held when the order began.
    bytes_before: i64,
    /// The part of its growth since then that the query was told already.
    bytes_told: Cell<i64>,
    /// When the order first saw that its query is held; 0: it is not, or the order stood still for that already.
    held_since: Cell<u64>,
    /// The order puts a state away, and does not stand still in the midst of that.
    undisturbed: Cell<bool>,
    /// Its place is lent: a wait inside a wait has none to lend.
    aside: Cell<bool>,
    /// Since when callers of other queries have waited for its place; 0: none does.
    turn_since: Cell<u64>,
    /// Nanoseconds that its query was charged already.
    charged: Cell<u64>,
}

impl Surroundings<'_> {
    #[cold]
    fn look(&self) {
        self.query.cancel.check_clock();
        if let Some(ticker) = self.ticker {
            ticker.poll();
        }
        self.take_turns();
        let query = &self.query.query;
        let limit = query.memory_max();
        if limit < u64::MAX {
            let more = self.bytes_untold().max(0) as u64;
            let held = query.memory().saturating_add(more);
            if held > limit {
                self.query.fail(Box::new(MemoryExceeded { held, limit }));
            }
        }
    }

    /// An order may take minutes, such as one of a join of all pairs. Callers of other queries that wait for a place have
    /// it for a moment now and then, unless their queries come after this one by the policy.
    fn take_turns(&self) {
        if !self.lends || self.aside.get() || self.undisturbed.get() || !self.foreman.is_place_wanted() {
            return self.turn_since.set(0);
        }
        let now = self.foreman.now();
        let since = self.turn_since.get();
        if since == 0 {
            return self.turn_since.set(now.max(1));
        }
        if now.saturating_sub(since) < TURN || !self.foreman.is_place_wanted_beside(self.query) {
            return;
        }
        // What is charged at the order's end alone says nothing of one that does not end: the policy would prefer it.
        self.query.query.charge(now - since);
        self.charged.set(self.charged.get() + (now - since));
        self.tell_memory();
        let gate = &self.query.counters.gate;
        self.step_aside(&mut || {
            let until = self.foreman.now() + GUEST_TURN;
            loop {
                let key = gate.key();
                let now = self.foreman.now();
                self.query.cancel.check_clock();
                if now >= until || self.query.stopped() {
                    return;
                }
                gate.sleep(key, Some(Duration::from_nanos(until - now)));
            }
        });
        self.held.set(self.held.get() + self.foreman.now().saturating_sub(now));
        self.turn_since.set(0);
    }

    fn bytes_untold(&self) -> i64 {
        self.foreman.thread_bytes() - self.bytes_before - self.bytes_told.get()
    }

    /// The order will end much later: what it took or gave back is seen now.
    fn tell_memory(&self) {
        let untold = self.bytes_untold();
        self.query.query.grow(untold);
        self.bytes_told.set(self.bytes_told.get() + untold);
    }

    /// Whether an order whose query is held may go on, so that its next batch finds its state on the way to files.
    #[cold]
    fn has_grace(&self) -> bool {
        let now = self.foreman.now();
        if self.held_since.get() == 0 {
            self.held_since.set(now.max(1));
        }
        self.undisturbed.get() || now.saturating_sub(self.held_since.get()) < PUT_AWAY_GRACE
    }

    /// Stands still until the query is let go, or stopped.
    #[cold]
    fn stand_still(&self) {
        let gate = &self.query.counters.gate;
        let wait_once = |key: GateKey| {
            let patience = self.ticker.map_or(POLL, Ticker::patience);
            gate.wait(key, Some(patience));
            self.query.cancel.check_clock();
            if let Some(ticker) = self.ticker {
                ticker.poll();
            }
        };
        let mut wait = || {
            self.tell_memory();
            self.query.put_away(self.ticker);
            self.tell_memory();
            loop {
                let key = gate.key();
                if !self.query.query.is_held() || self.query.stopped() {
                    return;
                }
                wait_once(key);
            }
        };
        let begun = self.foreman.now();
        self.query.query.exit();
        if self.lends {
            self.foreman.activity.vacate(self.place);
        }
        self.step_aside(&mut wait);
        // One more than the limit, if it was lowered meanwhile: for this order only.
        self.query.query.rejoin();
        self.held_since.set(0);
        let waited = self.foreman.now().saturating_sub(begun);
        self.held.set(self.held.get() + waited);
        if self.lends {
            self.foreman.activity.occupy(self.place, self.query.id, waited);
        }
    }
}

impl Host for Surroundings<'_> {
    fn should_stop(&self) -> bool {
        let checks = self.checks.get().wrapping_add(1);
        self.checks.set(checks);
        if checks.is_multiple_of(CHECKS_PER_LOOK) {
            self.look();
        }
        if self.query.query.is_held() && !self.foreign && !self.query.stopped() && !self.has_grace() {
            self.stand_still();
        }
        self.query.stopped()
    }

    fn undisturbed(&self, work: &mut dyn FnMut()) {
        self.undisturbed.set(true);
        work();
        self.undisturbed.set(false);
        // Its state is away: at the next batch it stands still.
        self.held_since.set(1);
    }

    fn units_ready(&self, segment: SegmentId, count: u64) {
        self.query.units_ready(segment, count);
    }

    fn wait_for_memory(&self, enough: &mut dyn FnMut() -> bool) -> bool {
        let (query, admission) = (&self.query.query, &self.foreman.admission);
        if !query.flows() || self.foreign {
            return false;
        }
        self.tell_memory();
        admission.set_wanting(query.id(), true, self.foreman.now());
        let mut found = false;
        self.step_aside(&mut || {
            loop {
                let key = self.query.counters.gate.key();
                found = enough();
                self.query.cancel.check_clock();
                if found || self.query.stopped() || !admission.others_may_give(query.id()) {
                    return;
                }
                self.query.counters.gate.wait(key, Some(MEMORY_POLL));
                if let Some(ticker) = self.ticker {
                    ticker.poll();
                }
            }
        });
        admission.set_wanting(query.id(), false, self.foreman.now());
        // The last of the others may have ended just now.
        found || enough()
    }

    fn step_aside(&self, wait: &mut dyn FnMut()) {
        if !self.lends || self.aside.get() {
            return wait();
        }
        self.aside.set(true);
        self.foreman.step_aside(self.query, wait);
        self.aside.set(false);
    }
}
