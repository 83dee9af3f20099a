//! One query: the state machine of its segments.
//!
//! ```text
//!            blocking_left = 0              claim: Exhausted          none inside
//!   waiting ------------------> open ----------------------> draining --------------> finished
//!            start(), [inputs_finished()]                              finish(), then consumers, let_go()
//! ```
//!
//! Which threads may claim and which one finishes is decided in `lifecycle.rs`.
//!
//! *streaming_left* counts streaming producers and one more, taken off after `start`, so that
//! `inputs_finished` never comes before `start`.
//!
//! A stopped query (failed or cancelled) changes no state any more: `claim` gives nothing, and what
//! running orders return is dropped.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sync::{CancelToken, Gate, GateKey, stop};
use workorder::{
    Claim, Completion, Dag, EdgeKind, Failure, Host, Near, OrderRecord, Outcome, QueryId, Segment, SegmentId,
    WorkContext, WorkOrder, WorkerId,
};

use crate::QueryControl;
use crate::control::Ticker;
use crate::counters::{Counters, MANY, SegmentCounters};
use crate::handle::Query;
use crate::lifecycle::Lifecycle;
use crate::lock::lock;
use crate::nodes::LEFT_BEHIND;
use crate::overseer::Overseer;
use crate::recorder::Recorder;
use crate::report::{Panicked, QueryReport, RunRecord, SegmentReport, Stalled, Stopped};

/// No segment was fed lately.
const NOT_FED: u32 = u32::MAX;

/// What was measured of one execution.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    /// Rows that the order counted.
    pub rows: u64,
    /// Bytes that the order counted.
    pub bytes: u64,
    /// Its time, without the time it stood still while its query was held.
    pub nanoseconds: u64,
    /// The part of them that its query was charged while it ran.
    pub charged: u64,
    /// Bytes that the executing thread took and did not give back.
    pub grown: i64,
    /// The memory node that it ran on, where there are several.
    pub node: Option<usize>,
}

/// What an order left of its run.
struct Continuation {
    order: WorkOrder,
    node: Option<usize>,
}

struct SegmentState {
    segment: Arc<dyn Segment>,
    life: Lifecycle,
    blocking_left: AtomicU32,
    streaming_left: AtomicU32,
    /// Units that streaming producers announced.
    fed: AtomicU64,
    /// Orders begun and not ended, where there is a limit to them.
    begun: AtomicUsize,
    orders_max: usize,
    has_streaming_producers: bool,
    consumers: Vec<(u32, EdgeKind)>,
}

impl SegmentState {
    fn is_limited(&self) -> bool {
        self.orders_max != usize::MAX
    }

    /// Before a claim: whether one more order may begin. If so, `order_ended` follows.
    fn may_begin(&self) -> bool {
        let one_more = |begun: usize| (begun < self.orders_max).then_some(begun + 1);
        !self.is_limited() || self.begun.fetch_update(SeqCst, SeqCst, one_more).is_ok()
    }

    fn order_ended(&self) {
        if self.is_limited() {
            let begun = self.begun.fetch_sub(1, SeqCst);
            debug_assert!(
                (1..=self.orders_max).contains(&begun),
                "{begun} orders begun of {}",
                self.orders_max
            );
        }
    }
}

/// A query that runs.
pub(crate) struct QueryRun {
    pub(crate) id: QueryId,
    pub(crate) query: Arc<Query>,
    pub(crate) cancel: CancelToken,
    pub(crate) counters: Arc<Counters>,
    overseer: Arc<dyn Overseer>,
    segments: Vec<SegmentState>,
    /// Consumers before producers: what is nearest to the result, and hottest, goes first.
    scan: Vec<u32>,
    last_fed: AtomicU32,
    continuations: Mutex<Vec<Continuation>>,
    continuations_left: AtomicUsize,
    /// Its caller alone works for it: nobody is woken when there is work.
    pub(crate) alone: bool,
    /// Its orders may wait for the reader of its result: only pool threads and its own caller execute them.
    pub(crate) pausable: bool,
    /// Orders claimed so far, and claims put off.
    claims: AtomicU64,
    /// When an order was last claimed, where work is left to near workers.
    last_claimed: AtomicU64,
    /// Where its orders are recorded, if they are.
    pub(crate) recorder: Option<Recorder>,
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

impl QueryRun {
    pub(crate) fn new(
        query: Arc<Query>,
        dag: Dag,
        control: &QueryControl,
        overseer: Arc<dyn Overseer>,
    ) -> Result<Self, Failure> {
        let begun = overseer.now();
        let mut scan: Vec<u32> = dag.topological_order()?.into_iter().map(|id| id.0).collect();
        scan.reverse();
        let mut segments: Vec<SegmentState> = dag
            .segments
            .into_iter()
            .map(|segment| SegmentState {
                begun: AtomicUsize::new(0),
                orders_max: segment.orders_max().max(1),
                segment,
                life: Lifecycle::new(),
                blocking_left: AtomicU32::new(0),
                streaming_left: AtomicU32::new(1),
                fed: AtomicU64::new(0),
                has_streaming_producers: false,
                consumers: Vec::new(),
            })
            .collect();
        for edge in &dag.edges {
            segments[edge.producer.index()].consumers.push((edge.consumer.0, edge.kind));
            let consumer = &mut segments[edge.consumer.index()];
            match edge.kind {
                EdgeKind::Blocking => *consumer.blocking_left.get_mut() += 1,
                EdgeKind::Streaming => {
                    *consumer.streaming_left.get_mut() += 1;
                    consumer.has_streaming_producers = true;
                }
            }
        }
        let counters = Arc::new(Counters {
            visitors: AtomicUsize::new(0),
            gate: Gate::new(),
            wants_place: AtomicBool::new(false),
            granted: AtomicU32::new(0),
            closing: AtomicBool::new(false),
            put_away: AtomicBool::new(false),
            admitted: AtomicBool::new(false),
            finished: AtomicUsize::new(0),
            begun,
            segments: segments
                .iter()
                .map(|state| SegmentCounters { name: state.segment.name().to_owned(), ..Default::default() })
                .collect(),
        });
        Ok(QueryRun {
            id: query.id(),
            query,
            cancel: control.cancel_token().clone(),
            alone: control.is_short() && !control.is_pausable(),
            pausable: control.is_pausable(),
            recorder: control.is_recorded().then(|| Recorder::new(overseer.workers())),
            counters,
            overseer,
            segments,
            scan,
            last_fed: AtomicU32::new(NOT_FED),
            continuations: Mutex::new(Vec::new()),
            continuations_left: AtomicUsize::new(0),
            claims: AtomicU64::new(0),
            last_claimed: AtomicU64::new(begun),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        })
    }

    /// Starts the segments that wait for nothing; returns how many orders they may have. Called
    /// once, before any other thread knows of the query.
    pub(crate) fn open_roots(&self) -> usize {
        self.last_claimed.store(self.overseer.now(), Relaxed);
        let is_root = |id: &u32| self.segments[*id as usize].blocking_left.load(SeqCst) == 0;
        let roots = self.scan.iter().rev().copied().filter(is_root);
        roots.fold(0, |claimable: usize, id| claimable.saturating_add(self.open(id)))
    }

    /// Whether nothing is left to do, or nothing may be done any more.
    pub(crate) fn ended(&self) -> bool {
        self.counters.finished.load(SeqCst) == self.segments.len() || self.stopped()
    }

    /// Whether it failed or was cancelled.
    #[inline]
    pub(crate) fn stopped(&self) -> bool {
        self.failed.load(Relaxed) || self.cancel.is_stopped()
    }

    /// Whether a claim might succeed; wrong only towards yes.
    pub(crate) fn maybe_claimable(&self) -> bool {
        !self.stopped()
            && !self.query.is_held()
            && (self.continuations_left.load(SeqCst) > 0
                || self.segments.iter().any(|state| state.life.is_open()))
    }

    /// Takes the next work order for a claimant. `None` when there is none now, and none came up meanwhile.
    pub(crate) fn claim(&self, near: Near<'_>) -> Option<WorkOrder> {
        let order = self.find(near);
        if !near.strict {
            return order;
        }
        let now = self.overseer.now();
        match order {
            Some(order) => {
                self.last_claimed.store(now, Relaxed);
                Some(order)
            }
            // Any worker takes what was left behind; that does not show that a near one is there.
            None if now.saturating_sub(self.last_claimed.load(Relaxed)) >= LEFT_BEHIND => {
                self.find(Near { strict: false, ..near })
            }
            None => None,
        }
    }

    fn find(&self, near: Near<'_>) -> Option<WorkOrder> {
        loop {
            if self.stopped() || self.query.is_held() {
                return None;
            }
            let key = self.counters.gate.key();
            if self.continuations_left.load(SeqCst) > 0
                && let Some(order) = self.take_continuation(near)
            {
                let left = self.continuations_left.fetch_sub(1, SeqCst);
                debug_assert_ne!(left, 0, "more orders go on than were put back");
                self.claims.fetch_add(1, SeqCst);
                return Some(order);
            }
            let fed = self.last_fed.load(Relaxed);
            if fed != NOT_FED
                && let Some(order) = self.claim_from(fed, near)
            {
                return Some(order);
            }
            if let Some(order) = self.scan.iter().find_map(|&id| self.claim_from(id, near)) {
                return Some(order);
            }
            // The scan itself may have drained one segment and opened another.
            if !self.counters.gate.moved(key) {
                return None;
            }
        }
    }

    /// Takes the rest of an order; it goes on at the node where it began, if a worker is there.
    fn take_continuation(&self, near: Near<'_>) -> Option<WorkOrder> {
        let mut left = lock(&self.continuations);
        let own = near.own();
        let mut at = left.iter().rposition(|left| left.node.is_none() || own.is_none() || left.node == own);
        if !near.strict {
            at = at.or(left.len().checked_sub(1));
        }
        let Some(at) = at else {
            // The caller has not looked in vain: there is work for another worker.
            self.claims.fetch_add(u64::from(!left.is_empty()), SeqCst);
            return None;
        };
        Some(left.remove(at).order)
    }

    fn claim_from(&self, id: u32, near: Near<'_>) -> Option<WorkOrder> {
        let state = &self.segments[id as usize];
        if !state.life.is_open() {
            return None;
        }
        if state.life.enter() && state.may_begin() {
            match self.guard(id, || Ok(state.segment.claim(near))) {
                Some(Claim::Order(mut order)) => {
                    debug_assert!(order.start <= order.end, "units {} to {}", order.start, order.end);
                    debug_assert!(!state.life.is_finished(), "an order of a segment that is finished");
                    order.segment = SegmentId(id);
                    self.claims.fetch_add(1, SeqCst);
                    return Some(order);
                }
                Some(Claim::Wait) => {}
                // As a claim does, this shows the caller that the query is not stalled.
                Some(Claim::Paused | Claim::Elsewhere) => _ = self.claims.fetch_add(1, SeqCst),
                Some(Claim::Exhausted) => state.life.drain(),
                None => {}
            }
            state.order_ended();
        }
        self.release(id);
        None
    }

    /// Has the segments put away what they keep between orders, when the query is held. Once for each hold, by the
    /// first thread that comes.
    pub(crate) fn put_away(&self, ticker: Option<&Ticker<'_>>) {
        if !self.query.is_held() || self.counters.put_away.swap(true, SeqCst) {
            return;
        }
        let host = PutAway { run: self, ticker };
        for &id in &self.scan {
            let state = &self.segments[id as usize];
            let context = WorkContext::new(self.id, SegmentId(id), WorkerId(0), &host);
            if state.life.is_open() {
                // As a claim does: the segment is not finished meanwhile.
                if state.life.enter() {
                    self.guard_long(id, || state.segment.put_away(&context));
                }
                self.release(id);
            }
            if !state.life.is_finished() {
                self.guard_long(id, || state.segment.put_away_inputs(&context));
            }
        }
    }

    /// Runs one order. `execute` is the worker's, so that it can bring its context; `meanwhile` says for how many of its
    /// nanoseconds the order stood still, for how many it waited for others, and how much of its growth the query has
    /// been told already.
    pub(crate) fn execute(
        &self,
        order: WorkOrder,
        worker: WorkerId,
        rows_and_bytes: impl Fn() -> (u64, u64),
        meanwhile: impl Fn() -> (u64, u64, i64, u64),
        execute: impl FnOnce(&dyn Segment) -> Result<Outcome, Failure>,
    ) -> OrderRecord {
        let counters = &self.counters.segments[order.segment.index()];
        counters.running.fetch_add(1, Relaxed);
        let held_before = self.overseer.thread_bytes();
        let started = self.now();
        let outcome =
            self.guard_long(order.segment.0, || execute(&*self.segments[order.segment.index()].segment));
        let ended = self.now();
        let (held, waited, told, charged) = meanwhile();
        let nanoseconds = ended.saturating_sub(started).saturating_sub(held);
        let grown = self.overseer.thread_bytes() - held_before - told;
        let running = counters.running.fetch_sub(1, Relaxed);
        debug_assert_ne!(running, 0, "an order ends that did not begin");
        debug_assert!(!self.segments[order.segment.index()].life.is_finished(), "finished while orders run");
        debug_assert!(started <= ended && held <= ended - started, "{started} to {ended}, held for {held}");
        let (rows, bytes) = rows_and_bytes();
        let left = match &outcome {
            Some(Outcome::Continue(rest)) => rest.units(),
            _ => 0,
        };
        let node = self.overseer.node();
        self.complete(order, worker, outcome, Measured { rows, bytes, nanoseconds, charged, grown, node });
        OrderRecord {
            segment: order.segment,
            worker,
            started,
            ended,
            held,
            waited,
            units: order.units().saturating_sub(left),
            rows,
            bytes,
            grown,
            orders: 1,
        }
    }

    /// An order was executed: charges it, tells the learning agent and the segment, and puts back what is left of it.
    /// `None`: it failed, and the query with it.
    pub(crate) fn complete(
        &self,
        order: WorkOrder,
        worker: WorkerId,
        outcome: Option<Outcome>,
        measured: Measured,
    ) {
        let Measured { rows, bytes, nanoseconds, charged, grown, node } = measured;
        let id = order.segment.0;
        let state = &self.segments[order.segment.index()];
        self.query.charge(nanoseconds.saturating_sub(charged));
        self.query.grow(grown);
        let Some(outcome) = outcome else { return };
        if self.stopped() {
            return;
        }
        let mut executed = order;
        if let Outcome::Continue(rest) = outcome
            && rest.end == order.end
            && (order.start..=order.end).contains(&rest.start)
        {
            executed.end = rest.start;
        }
        let counters = &self.counters.segments[order.segment.index()];
        counters.orders.fetch_add(1, Relaxed);
        counters.units_done.fetch_add(executed.units(), Relaxed);
        counters.rows.fetch_add(rows, Relaxed);
        counters.bytes.fetch_add(bytes, Relaxed);
        counters.busy_nanoseconds.fetch_add(nanoseconds, Relaxed);
        counters.model.observe(executed.units(), nanoseconds, grown);
        self.query.order_nanoseconds.store(counters.model.order_nanoseconds(), Relaxed);
        let done = outcome == Outcome::Done;
        let completion =
            Completion { query: self.id, worker, order: executed, rows, bytes, nanoseconds, done };
        if self.guard(id, || Ok(state.segment.completed(&completion))).is_none() {
            return;
        }
        match outcome {
            Outcome::Done => {
                state.order_ended();
                self.release(id);
                if state.is_limited() {
                    // Others were turned away.
                    self.happened(1);
                }
            }
            // What is left of it is still begun.
            Outcome::Continue(mut rest) => {
                debug_assert!(rest.start <= rest.end, "units {} to {}", rest.start, rest.end);
                rest.segment = order.segment;
                // Counted first: whoever takes it takes it off the count, too.
                self.continuations_left.fetch_add(1, SeqCst);
                lock(&self.continuations).push(Continuation { order: rest, node });
                self.happened(0);
            }
        }
    }

    /// The longest order of the segments that are open, as far as is known. Where none has ended yet, one that runs is
    /// known to take as long as it has.
    pub(crate) fn longest_open_order(&self) -> u64 {
        let open =
            self.segments.iter().zip(&self.counters.segments).filter(|(state, _)| state.life.is_open());
        let longest = |counters: &SegmentCounters| match counters.model.longest_nanoseconds() {
            0 if counters.running.load(Relaxed) > 0 => {
                self.now().saturating_sub(counters.started_nanoseconds.load(Relaxed))
            }
            known => known,
        };
        open.map(|(_, counters)| longest(counters)).max().unwrap_or(0)
    }

    /// `count` units became ready for the streaming consumers of `producer`.
    pub(crate) fn units_ready(&self, producer: SegmentId, count: u64) {
        if count == 0 {
            return;
        }
        for &(consumer, kind) in &self.segments[producer.index()].consumers {
            if kind == EdgeKind::Streaming {
                self.segments[consumer as usize].fed.fetch_add(count, SeqCst);
                self.last_fed.store(consumer, Relaxed);
            }
        }
        self.happened(usize::try_from(count).unwrap_or(MANY));
    }

    /// Ends the query with `failure`, unless it has ended already.
    pub(crate) fn fail(&self, failure: Failure) {
        lock(&self.failure).get_or_insert(failure);
        self.failed.store(true, SeqCst);
        self.counters.gate.notify(1);
    }

    /// Before the caller looks for work: the number of claims so far, if no other thread is at work.
    pub(crate) fn quiet(&self) -> Option<u64> {
        let quiet = self.counters.visitors.load(SeqCst) == 0 && !self.query.is_held();
        quiet.then(|| self.claims.load(SeqCst))
    }

    /// After the caller looked and found nothing: whether nothing can happen any more. That is so if
    /// no thread was at work before and after, nothing was claimed in between, and no segment was
    /// opened, fed or finished; for only a running order or a finishing segment can make work, and
    /// both count as a visitor as long as they last.
    pub(crate) fn is_stalled(&self, quiet_before: Option<u64>, key: GateKey) -> bool {
        quiet_before.is_some()
            && self.quiet() == quiet_before
            && !self.counters.gate.moved(key)
            && !self.ended()
    }

    /// Ends a stalled query.
    pub(crate) fn fail_stalled(&self) {
        let open = self.segments.iter().find(|state| state.life.is_open());
        let waiting = self.segments.iter().find(|state| !state.life.is_finished());
        let segment = open.or(waiting).map_or("", |state| state.segment.name()).to_owned();
        self.fail(Box::new(Stalled { segment }));
    }

    /// What `run` returns. Called once, after all other threads have left.
    pub(crate) fn result(&self) -> Result<QueryReport, Failure> {
        debug_assert_eq!(self.counters.visitors.load(SeqCst), 0, "threads are at work for a query that ends");
        if let Some(failure) = lock(&self.failure).take() {
            return Err(failure);
        }
        if self.counters.finished.load(SeqCst) < self.segments.len()
            && let Some(reason) = self.cancel.reason()
        {
            return Err(Box::new(Stopped { reason }));
        }
        debug_assert_eq!(
            self.counters.finished.load(SeqCst),
            self.segments.len(),
            "it ends well when all is done"
        );
        debug_assert_eq!(self.continuations_left.load(SeqCst), 0, "orders are left of a query that is done");
        let wall = Duration::from_nanos(self.now());
        Ok(QueryReport { query: self.id, wall, segments: self.segment_reports() })
    }

    /// What is kept of a run that is recorded, for its trace; `admitted` is when it was let in. Called once, after
    /// all other threads have left.
    pub(crate) fn record(&self, admitted: u64) -> Option<RunRecord> {
        let orders = self.recorder.as_ref()?.take();
        let begun = self.counters.begun;
        Some(RunRecord {
            begun: begun.saturating_sub(self.query.begun()),
            queued: admitted.saturating_sub(begun),
            wall: self.now(),
            segments: self.segment_reports(),
            orders,
        })
    }

    fn segment_reports(&self) -> Vec<SegmentReport> {
        let report = |counters: &SegmentCounters| SegmentReport {
            name: counters.name.clone(),
            orders: counters.orders.load(Relaxed),
            rows: counters.rows.load(Relaxed),
            bytes: counters.bytes.load(Relaxed),
            busy_nanoseconds: counters.busy_nanoseconds.load(Relaxed),
            started_nanoseconds: counters.started_nanoseconds.load(Relaxed),
            finished_nanoseconds: counters.finished_nanoseconds.load(Relaxed),
        };
        self.counters.segments.iter().map(report).collect()
    }

    /// Nanoseconds since the run began.
    fn now(&self) -> u64 {
        self.overseer.now().saturating_sub(self.counters.begun)
    }

    /// Starts a segment whose blocking producers are finished; returns how many orders it may have.
    fn open(&self, id: u32) -> usize {
        let state = &self.segments[id as usize];
        debug_assert_eq!(state.blocking_left.load(SeqCst), 0, "started before its producers are finished");
        if self.stopped() || self.guard_long(id, || state.segment.start()).is_none() {
            return 0;
        }
        let total = state.segment.total_orders();
        let counters = &self.counters.segments[id as usize];
        counters.units_total.store(total.unwrap_or(0), Relaxed);
        counters.started_nanoseconds.store(self.now().max(1), Relaxed);
        self.producer_finished(id);
        state.life.open();
        match total {
            Some(total) => usize::try_from(total).unwrap_or(MANY),
            // Streaming input that was not announced yet will be.
            None if state.has_streaming_producers && state.fed.load(SeqCst) == 0 => 1,
            None => MANY,
        }
    }

    /// One streaming producer of `id`, or its own start, is done.
    fn producer_finished(&self, id: u32) {
        let state = &self.segments[id as usize];
        debug_assert_ne!(state.streaming_left.load(SeqCst), 0, "more producers end than there are");
        // A consumer that wanted no more input (a limit) needs no news.
        if state.streaming_left.fetch_sub(1, SeqCst) == 1
            && state.has_streaming_producers
            && !state.life.is_past_claims()
        {
            self.guard(id, || Ok(state.segment.inputs_finished()));
            self.last_fed.store(id, Relaxed);
        }
    }

    /// Takes one claim or order off; the thread that takes the last one off a drained segment finishes it.
    fn release(&self, id: u32) {
        let state = &self.segments[id as usize];
        if !state.life.leave() || self.stopped() || self.guard_long(id, || state.segment.finish()).is_none() {
            return;
        }
        self.counters.segments[id as usize].finished_nanoseconds.store(self.now().max(1), Relaxed);
        let mut claimable = 0usize;
        for &(consumer, kind) in &state.consumers {
            match kind {
                EdgeKind::Streaming => {
                    self.producer_finished(consumer);
                    claimable = claimable.saturating_add(1);
                }
                EdgeKind::Blocking => {
                    let left = &self.segments[consumer as usize].blocking_left;
                    let before = left.fetch_sub(1, SeqCst);
                    debug_assert_ne!(before, 0, "more producers end than there are");
                    if before == 1 {
                        claimable = claimable.saturating_add(self.open(consumer));
                    }
                }
            }
        }
        // Last, since the caller may take the query apart when all are finished.
        let finished = self.counters.finished.fetch_add(1, SeqCst) + 1;
        debug_assert!(finished <= self.segments.len(), "a segment is finished once");
        if finished == self.segments.len() {
            self.counters.gate.notify(1);
        } else {
            // This thread takes the first one itself.
            self.happened(claimable.saturating_sub(1));
        }
        self.guard(id, || {
            state.segment.let_go();
            Ok(())
        });
    }

    /// Something may be claimable: threads about to sleep look again, and up to `hands`
    /// sleepers wake, the caller first.
    pub(crate) fn happened(&self, hands: usize) {
        if self.alone {
            self.counters.gate.notify(hands.min(1));
            return;
        }
        let caller = self.counters.gate.notify(hands.min(1));
        Arc::clone(&self.overseer).wake(hands - usize::from(caller));
    }

    /// As `guard`, for what may take long: loops deep inside ask for the query's signal.
    fn guard_long<T>(&self, id: u32, call: impl FnOnce() -> Result<T, Failure>) -> Option<T> {
        self.guard(id, || stop::within(&self.cancel, call))
    }

    /// Calls into a segment; its failure or panic becomes the query's.
    fn guard<T>(&self, id: u32, call: impl FnOnce() -> Result<T, Failure>) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(value)) => Some(value),
            Ok(Err(failure)) => {
                self.fail(failure);
                None
            }
            Err(panic) => {
                if let Some(stop::Unwound(reason)) = panic.downcast_ref() {
                    self.fail(Box::new(Stopped { reason: *reason }));
                    return None;
                }
                let segment = self.segments[id as usize].segment.name().to_owned();
                self.fail(Box::new(Panicked { segment, message: message_of(&*panic) }));
                None
            }
        }
    }
}

/// What a segment sees that puts its states away: it is not to stand still.
struct PutAway<'a> {
    run: &'a QueryRun,
    ticker: Option<&'a Ticker<'a>>,
}

impl Host for PutAway<'_> {
    fn should_stop(&self) -> bool {
        self.run.cancel.check_clock();
        if let Some(ticker) = self.ticker {
            ticker.poll();
        }
        self.run.stopped()
    }

    fn units_ready(&self, segment: SegmentId, count: u64) {
        self.run.units_ready(segment, count);
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "panic without a message".to_owned(),
    }
}
