//! The roster: queries whose work orders may be claimed, and which of them the next one comes from.
//!
//! The lock is held for as long as a choice takes, some ten nanoseconds a query. Nothing else is locked under it.
//! Workers come here before each order while several queries are active (`worker.rs`), callers when a run begins and
//! ends.
//!
//! *Visits.* A worker may keep a reference to a query only between `choose` and `dismiss`, which count it; so its caller,
//! which takes it off the roster first, knows when no other thread refers to its segments.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, MutexGuard, PoisonError};

use crate::enforcer::{Candidate, Enforcer};
use crate::foreman::Foreman;
use crate::policy::Policy;
use crate::query::QueryRun;

/// A worker that is another query's caller keeps away from queries with longer orders: its own must not wait for them.
const FOREIGN_ORDER_MAX: u64 = 10_000_000;

pub(crate) struct Roster {
    /// By position as the enforcer's members.
    runs: Vec<Arc<QueryRun>>,
    pub(crate) enforcer: Enforcer,
}

impl Roster {
    pub(crate) fn new(policy: Box<dyn Policy>) -> Self {
        Roster { runs: vec![], enforcer: Enforcer::new(policy) }
    }

    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }

    pub(crate) fn runs(&self) -> &[Arc<QueryRun>] {
        &self.runs
    }

    /// The probability of each query to be the next, by id.
    pub(crate) fn probabilities(&self) -> Vec<(workorder::QueryId, f64)> {
        let shares = self.enforcer.probabilities(|at| candidate(&self.runs[at], true));
        self.runs.iter().map(|run| run.id).zip(shares).collect()
    }
}

/// What the enforcer sees of a query, for a worker that may serve it or not.
fn candidate(run: &QueryRun, allowed: bool) -> Candidate {
    let query = &run.query;
    let running = query.running.load(Relaxed);
    Candidate {
        claimable: running < query.workers_max() && run.maybe_claimable(),
        barred: !allowed,
        priority: query.priority(),
        charged: query.charged(),
        running: running as u64,
        order_nanoseconds: query.order_nanoseconds.load(Relaxed),
    }
}

/// What a worker is to do, with the query's visitor counted.
pub(crate) enum Choice {
    /// Claim from this query.
    Serve(Arc<QueryRun>),
    /// Give the place to a thread that may serve this query, whose turn it is.
    Yield(Arc<QueryRun>),
}

impl Foreman {
    /// Queries that are not held.
    pub(crate) fn active(&self) -> usize {
        self.active.load(SeqCst)
    }

    /// Whose turn it is, but for those queries that `refused` says have nothing to claim; for a caller, `own` is its query.
    pub(crate) fn choose(
        &self,
        own: Option<&Arc<QueryRun>>,
        refused: impl Fn(&QueryRun) -> bool,
    ) -> Option<Choice> {
        let now = self.now();
        let mut roster = self.lock_roster();
        let Roster { runs, enforcer } = &mut *roster;
        let view = |at: usize| {
            let run = &runs[at];
            let foreign = own.is_some_and(|own| !Arc::ptr_eq(own, run));
            // A caller whose own query is done must not wait for the reader of another one, nor for a long order.
            let theirs = foreign && (run.pausable || run.longest_open_order() > FOREIGN_ORDER_MAX);
            let seen = candidate(run, !theirs);
            Candidate { claimable: seen.claimable && !refused(run), ..seen }
        };
        let turn = enforcer.choose(now, view);
        let at = turn.serve?;
        debug_assert!(at < runs.len() && turn.barred != Some(at), "{turn:?} of {} runs", runs.len());
        match turn.barred.map(|barred| &runs[barred]) {
            // A thread is there that may serve it.
            Some(other) if other.counters.wants_place.load(SeqCst) || self.has_idle_thread() => {
                Some(Choice::Yield(self.visit(other)))
            }
            _ => Some(Choice::Serve(self.visit(&runs[at]))),
        }
    }

    /// A query of a higher tier than `chosen` whose orders run and which will have more in a moment, with its visitor
    /// counted: what it waits for takes less time than an order of `chosen` would.
    pub(crate) fn awaited(&self, chosen: &QueryRun) -> Option<Arc<QueryRun>> {
        let roster = self.lock_roster();
        let tier = roster.enforcer.tier(chosen.query.priority());
        let order = |run: &QueryRun| run.query.order_nanoseconds.load(Relaxed);
        let awaited = |run: &&Arc<QueryRun>| {
            roster.enforcer.tier(run.query.priority()) > tier
                && run.query.running.load(Relaxed) > 0
                && !run.query.is_held()
                && !run.ended()
                && order(run) < order(chosen)
        };
        roster.runs.iter().find(awaited).map(|run| self.visit(run))
    }

    /// Begins a visit. Only under the lock: a caller that then takes the query off the roster sees the visitor.
    fn visit(&self, query: &Arc<QueryRun>) -> Arc<QueryRun> {
        query.counters.visitors.fetch_add(1, SeqCst);
        Arc::clone(query)
    }

    /// Ends a visit. The reference is gone before the count falls, so that the caller's is the
    /// last one, and the segments are dropped on its thread.
    pub(crate) fn dismiss(&self, query: Arc<QueryRun>) {
        let counters = Arc::clone(&query.counters);
        drop(query);
        let visitors = counters.visitors.fetch_sub(1, SeqCst);
        debug_assert_ne!(visitors, 0, "a visit ends that did not begin");
        if visitors == 1 && counters.closing.load(SeqCst) {
            counters.gate.notify(1);
        }
    }

    /// Called after a place was given back while work may be claimable: wakes another thread to look for it.
    pub(crate) fn hand_over(self: &Arc<Self>, leaver: &QueryRun) {
        if self.active() <= usize::from(leaver.ended()) {
            return;
        }
        self.pass_on();
    }

    /// A place is free: a query that has work hears of it.
    pub(crate) fn pass_on(self: &Arc<Self>) {
        let next = {
            let roster = self.lock_roster();
            let next = roster.runs.iter().find(|query| query.maybe_claimable());
            next.map(|query| self.visit(query))
        };
        if let Some(query) = next {
            query.happened(1);
            self.dismiss(query);
        }
    }

    pub(crate) fn add(&self, run: &Arc<QueryRun>) {
        let now = self.now();
        let mut roster = self.lock_roster();
        debug_assert!(!roster.runs.iter().any(|known| Arc::ptr_eq(known, run)), "a run is listed once");
        roster.enforcer.add(run.query.account().id(), run.query.seen.load(Relaxed), now);
        roster.runs.push(Arc::clone(run));
        self.count(&roster);
    }

    pub(crate) fn remove(&self, run: &Arc<QueryRun>) {
        let mut roster = self.lock_roster();
        if let Some(at) = roster.runs.iter().position(|query| Arc::ptr_eq(query, run)) {
            let seen = roster.enforcer.remove(at, run.query.charged());
            run.query.seen.store(seen, Relaxed);
            roster.runs.remove(at);
        }
        self.count(&roster);
    }

    /// A query was held or let go.
    pub(crate) fn recount(&self) {
        self.count(&self.lock_roster());
    }

    fn count(&self, roster: &Roster) {
        debug_assert_eq!(roster.runs.len(), roster.enforcer.members(), "each run is a member, by position");
        let active = roster.runs.iter().filter(|run| !run.query.is_held()).count();
        self.active.store(active, SeqCst);
    }

    pub(crate) fn lock_roster(&self) -> MutexGuard<'_, Roster> {
        // Nothing that panics runs under the lock.
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
