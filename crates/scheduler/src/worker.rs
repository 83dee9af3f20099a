//! What a thread does while it has a place: pick a query, claim, execute, look at the clock.
//!
//! Workers keep nothing between work orders. Queries are served round robin, one order each, as
//! long as several are active; a query that is alone is served without going through the list.

use std::cell::Cell;
use std::sync::Arc;

use workorder::{Host, SegmentId, WorkContext, WorkOrder, WorkerId};

use crate::control::Ticker;
use crate::foreman::Foreman;
use crate::query::QueryRun;

/// Every so many checks of a running order look at the clock: a check comes with each batch, which
/// takes microseconds, and a look costs 25 to 50 ns.
const CHECKS_PER_LOOK: u32 = 4;

/// Why a worker stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    /// The caller's own query has ended. The place is still held.
    Ended,
    /// Nothing was claimable in any query. The place is still held.
    Nothing,
    /// There are fewer places now; this one was given back.
    Surplus,
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
    /// The scheduler (by address) and place of the work order that this thread is inside of.
    static INSIDE: Cell<Option<(usize, WorkerId)>> = const { Cell::new(None) };
}

/// The place of the work order that the calling thread is inside of, if it is this foreman's.
pub(crate) fn enclosing_place(foreman: &Arc<Foreman>) -> Option<WorkerId> {
    let inside = INSIDE.with(Cell::get);
    inside.and_then(|(address, place)| (address == Arc::as_ptr(foreman).addr()).then_some(place))
}

/// The life of pool thread `number`. It is not pinned: callers, which work too, are not ours to pin, and a thread whose
/// core a caller happens to run on would wait for milliseconds beside a free core.
pub(crate) fn pool_thread(foreman: &Arc<Foreman>, number: usize) {
    loop {
        let key = foreman.idle.key();
        if foreman.dismisses_thread(number) {
            return;
        }
        if foreman.active() > 0
            && let Some(place) = foreman.places.take()
        {
            let worker = Worker { foreman, place, own: None, ticker: None, alone: false };
            match worker.work() {
                Break::Surplus => continue,
                Break::Ended | Break::Nothing => foreman.leave(place),
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
            if !self.alone && self.foreman.places.leave_if_over(self.place) {
                return Break::Surplus;
            }
            let worked = match self.own {
                Some(own) if self.alone || self.foreman.active() == 1 => self.serve(own),
                // The round may miss a query while the list changes; the caller's own it must not.
                Some(own) => self.round() || self.serve(own),
                None => self.round(),
            };
            if !worked {
                return Break::Nothing;
            }
        }
    }

    /// Serves the first query that has work, beginning where the last round ended.
    fn round(&self) -> bool {
        let first = self.foreman.next_turn();
        for position in 0..self.foreman.active() {
            let Some(query) = self.foreman.visit(first.wrapping_add(position)) else { break };
            // A caller whose own query is done must not wait for the reader of another one.
            let theirs = query.pausable && self.own.is_some_and(|own| !Arc::ptr_eq(own, &query));
            let worked = !theirs && self.serve(&query);
            self.foreman.dismiss(query);
            if worked {
                return true;
            }
        }
        false
    }

    /// Executes one order of the query, or as many as there are while it is alone.
    fn serve(&self, query: &QueryRun) -> bool {
        let mut worked = false;
        while let Some(order) = query.claim() {
            worked = true;
            self.execute(query, order);
            if let Some(ticker) = self.ticker {
                ticker.poll();
            }
            // A deadline is also the business of those who are not the caller.
            query.cancel.check_clock();
            let others = !self.alone && self.foreman.active() > 1;
            if others || self.surplus() || self.own.is_some_and(|own| own.ended()) {
                break;
            }
        }
        worked
    }

    fn surplus(&self) -> bool {
        !self.alone && self.foreman.places.is_over()
    }

    fn execute(&self, query: &QueryRun, order: WorkOrder) {
        let foreman = (!self.alone).then_some(self.foreman);
        let host = Surroundings { query, ticker: self.ticker, checks: Cell::new(0), foreman };
        let context = WorkContext::new(query.id, order.segment, self.place, &host);
        let inside = INSIDE.replace(Some((Arc::as_ptr(self.foreman).addr(), self.place)));
        let counted = || (context.rows(), context.bytes());
        query.execute(order, self.place, counted, |segment| segment.execute(order, &context));
        INSIDE.set(inside);
    }
}

/// What a work order sees of the scheduler.
struct Surroundings<'a> {
    query: &'a QueryRun,
    /// On a caller's thread: its own query's, whichever query the order belongs to.
    ticker: Option<&'a Ticker<'a>>,
    checks: Cell<u32>,
    /// `None` when the place is borrowed.
    foreman: Option<&'a Arc<Foreman>>,
}

impl Host for Surroundings<'_> {
    fn should_stop(&self) -> bool {
        let checks = self.checks.get().wrapping_add(1);
        self.checks.set(checks);
        if checks.is_multiple_of(CHECKS_PER_LOOK) {
            self.query.cancel.check_clock();
            if let Some(ticker) = self.ticker {
                ticker.poll();
            }
        }
        self.query.stopped()
    }

    fn units_ready(&self, segment: SegmentId, count: u64) {
        self.query.units_ready(segment, count);
    }

    fn step_aside(&self, wait: &mut dyn FnMut()) {
        match self.foreman {
            Some(foreman) => foreman.step_aside(self.query, wait),
            None => wait(),
        }
    }
}
