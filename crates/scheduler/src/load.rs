//! The load controller: which queries run, which wait for admission, and which are set aside.
//!
//! Quickstep (PVLDB 2018): "a load controller admits or suspends queries by memory". A query comes with a prediction of
//! the memory that it will hold (of its plan); the learning agent replaces it by what it holds and will hold while it
//! runs. Three things can be said to a query:
//!
//! ```text
//!   arrive --admitted--> running <--resume-- suspended
//!      |                    |  \---suspend----^
//!      +--queued--admit-----+--leave-->
//! ```
//!
//! * **Admission.** By number: at most `active_max` of its priority and above run at a time, so that caches and memory are
//!   not divided among hundreds; but none waits for longer than [`PATIENCE`] for that reason. By memory: the
//!   predictions of all that run stay below four fifths of the limit, where none counts for more than half of it:
//!   what would be more goes to files. Where nothing runs, the first in the queue is admitted whatever it wants. The
//!   queue goes by priority, then by arrival; one that does not fit is passed by others for [`PATIENCE`] at most,
//!   then by *small* ones (a 64th of the limit) only, eight of which are let in whatever the others hold.
//! * **Suspension.** When what running queries hold and are about to hold goes beyond the limit, the one of the lowest
//!   priority that came last is set aside, and so on until the rest fits or one is left. Suspended ones claim no work
//!   orders. They go on, best first, when there is room, or nothing else runs.
//! * **Alone.** A query that ran out of memory while others had some begins anew, alone: it waits until all others
//!   have ended, and only small queries are admitted meanwhile; a third time, none at all, since small is an
//!   expectation. So no query fails for memory while another could wait.
//!
//! * **Wanting.** A stream whose rows were read cannot begin anew. Where it lacks memory that others hold, it waits
//!   for what they give back, and none is admitted meanwhile.
//!
//! Streams are *exempt* from counts as soon as they have rows: they may wait for their reader for ever. So may paused
//! queries. Before that a stream is as any other, so that one that begins anew is alone while its states grow.
//!
//! Pure: every event brings its time, and the answer is a list of what to do.

/// Nanoseconds that the number of active queries may keep one waiting, and that others may pass one that does not fit.
pub(crate) const PATIENCE: u64 = 1_000_000_000;
/// Small queries that may run together with one that is alone.
const SMALL_MAX: usize = 8;

/// A query that asks for admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The query's number.
    pub query: u64,
    /// Higher ones are admitted first and suspended last.
    pub priority: u32,
    /// Bytes it is expected to hold at most.
    pub bytes: u64,
    /// It ran out of memory while others had some.
    pub alone: bool,
    /// And again together with small ones, which were not as small as expected.
    pub strictly: bool,
    /// It may wait for its reader: it is admitted at once, and does not count against others.
    pub exempt: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Admit(u64),
    Suspend(u64),
    Resume(u64),
}

/// Bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Queries of one priority and those above that run at a time.
    pub active_max: usize,
    /// Bytes that all queries together may hold.
    pub memory: u64,
}

impl Limits {
    /// What predictions may add up to: a fifth is left for batches in flight and wrong predictions.
    fn capacity(&self) -> u64 {
        self.memory - self.memory / 5
    }
    /// What an expectation counts for.
    fn counted(&self, bytes: u64) -> u64 {
        bytes.min(self.memory / 2)
    }
    fn is_small(&self, bytes: u64) -> bool {
        bytes <= self.memory / 64
    }
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: Request,
    since: u64,
}

#[derive(Clone, Copy, Debug)]
struct Active {
    request: Request,
    /// Held now and expected to come.
    bytes: u64,
    /// Held now.
    held: u64,
    suspended: bool,
    /// PAUSE QUERY holds it, perhaps for ever: no other query waits for it.
    paused: bool,
}

impl Active {
    /// Others take it into account.
    fn counts(&self) -> bool {
        !self.request.exempt && !self.paused
    }
}

/// The queries that wait for admission and those that are admitted, with the limits.
#[derive(Debug)]
pub(crate) struct LoadController {
    limits: Limits,
    /// In the order of their arrival.
    queue: Vec<Waiting>,
    /// In the order of their admission.
    active: Vec<Active>,
    /// Those that wait for others' memory in their midst.
    wanting: Vec<u64>,
}

impl LoadController {
    pub(crate) fn new(limits: Limits) -> Self {
        LoadController { limits, queue: vec![], active: vec![], wanting: vec![] }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Queries that wait to be admitted.
    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Queries admitted, suspended ones included.
    pub(crate) fn active(&self) -> usize {
        self.active.len()
    }

    /// Whether other queries than this one are admitted, which may hold memory.
    pub(crate) fn has_company(&self, query: u64) -> bool {
        self.active.iter().any(|a| a.request.query != query)
    }

    /// A query asks to run. It does when a verdict says so.
    pub(crate) fn arrive(&mut self, request: Request, now: u64) -> Vec<Verdict> {
        debug_assert!(!self.is_known(request.query), "query {} asks while it waits or runs", request.query);
        self.queue.push(Waiting { request, since: now });
        self.look(now)
    }

    fn is_known(&self, query: u64) -> bool {
        self.queue.iter().any(|waiting| waiting.request.query == query)
            || self.active.iter().any(|active| active.request.query == query)
    }

    /// A query has ended, or gave up waiting.
    pub(crate) fn leave(&mut self, query: u64, now: u64) -> Vec<Verdict> {
        self.queue.retain(|waiting| waiting.request.query != query);
        self.active.retain(|active| active.request.query != query);
        self.wanting.retain(|wanting| *wanting != query);
        self.look(now)
    }

    /// What the learning agent knows of a running query: what it holds, and what it will hold at its end.
    pub(crate) fn observe(&mut self, query: u64, held: u64, expected: u64) {
        if let Some(active) = self.active.iter_mut().find(|active| active.request.query == query) {
            active.held = held;
            // The prediction of the plan stands until more than that is seen: the largest state may be yet to come.
            active.bytes = active.request.bytes.max(expected).max(held);
        }
    }

    /// The priority was changed.
    pub(crate) fn set_priority(&mut self, query: u64, priority: u32) {
        let active = self.active.iter_mut().map(|active| &mut active.request);
        let queued = self.queue.iter_mut().map(|waiting| &mut waiting.request);
        active.chain(queued).filter(|r| r.query == query).for_each(|r| r.priority = priority);
    }

    /// From now on it waits for its reader.
    pub(crate) fn set_exempt(&mut self, query: u64) {
        let requests = self.active.iter_mut().map(|active| &mut active.request);
        for request in requests.filter(|request| request.query == query) {
            (request.exempt, request.alone, request.strictly) = (true, false, false);
        }
    }

    /// It cannot begin anew and waits for memory that others hold, or does so no longer.
    pub(crate) fn set_wanting(&mut self, query: u64, wanting: bool) {
        match wanting {
            true => self.wanting.push(query),
            // Other orders of it may wait as well.
            false => {
                if let Some(at) = self.wanting.iter().position(|known| *known == query) {
                    self.wanting.swap_remove(at);
                }
            }
        }
    }

    /// Whether another query will give memory back: by its end, or because it begins anew. One that waits for memory
    /// itself gives none.
    pub(crate) fn others_may_give(&self, query: u64) -> bool {
        let gives = |id: u64| id != query && !self.wanting.contains(&id);
        self.active.iter().any(|active| active.counts() && gives(active.request.query))
    }

    /// PAUSE QUERY or RESUME QUERY was applied to it.
    pub(crate) fn set_paused(&mut self, query: u64, paused: bool) {
        let known = self.active.iter_mut().filter(|active| active.request.query == query);
        known.for_each(|active| active.paused = paused);
    }

    /// What there is to do now; also called from time to time.
    pub(crate) fn look(&mut self, now: u64) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        while let Some(at) = self.next_admitted(now) {
            let Waiting { request, .. } = self.queue.remove(at);
            self.active.push(Active {
                request,
                bytes: request.bytes,
                held: 0,
                suspended: false,
                paused: false,
            });
            verdicts.push(Verdict::Admit(request.query));
        }
        self.set_aside(&mut verdicts);
        let mut counting = self.active.iter().filter(|active| active.counts()).peekable();
        debug_assert!(
            counting.peek().is_none() || counting.any(|active| !active.suspended),
            "all are set aside, and none gives memory back: {:?}",
            self.active
        );
        debug_assert!(
            self.wanting.iter().all(|query| self.is_known(*query)),
            "{:?} have ended",
            self.wanting
        );
        verdicts
    }

    /// The position in the queue of the query that is admitted next; `None` when all must wait.
    fn next_admitted(&self, now: u64) -> Option<usize> {
        if let Some(exempt) = self.queue.iter().position(|waiting| waiting.request.exempt) {
            return Some(exempt);
        }
        if !self.wanting.is_empty() {
            return None;
        }
        // By priority, then by arrival: the first of equals is the earliest.
        let mut order: Vec<usize> = (0..self.queue.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(self.queue[at].request.priority));
        let counted = || self.active.iter().filter(|active| active.counts());
        let alone = self.active.iter().any(|active| active.request.alone)
            || self.queue.iter().any(|waiting| waiting.request.alone);
        let small = counted().filter(|active| self.limits.is_small(active.bytes)).count();
        let mut closed = false;
        for at in order {
            let Waiting { request, since } = self.queue[at];
            let patient = now.saturating_sub(since) < PATIENCE;
            if counted().next().is_none() && (request.alone || !alone) {
                return Some(at);
            }
            if request.alone {
                continue;
            }
            if alone {
                let active = self.active.iter().map(|active| &active.request);
                let queued = self.queue.iter().map(|waiting| &waiting.request);
                if active.chain(queued).any(|request| request.strictly) {
                    continue;
                }
                if self.limits.is_small(request.bytes) && small < SMALL_MAX && !closed {
                    return Some(at);
                }
                // Small ones that are not as small as expected are the next to be alone: there would be no end of them.
                closed |= !patient;
                continue;
            }
            let rivals = counted().filter(|active| active.request.priority >= request.priority).count();
            if rivals >= self.limits.active_max && patient {
                // Those of a higher priority came before, and none of a lower one may pass.
                return None;
            }
            if self.limits.is_small(request.bytes) && small < SMALL_MAX {
                return Some(at);
            }
            let expected =
                counted().map(|active| self.limits.counted(active.bytes)).fold(0, u64::saturating_add);
            if !closed
                && expected.saturating_add(self.limits.counted(request.bytes)) <= self.limits.capacity()
            {
                return Some(at);
            }
            closed |= !patient;
        }
        None
    }

    /// Suspends until what runs fits, or resumes what fits again.
    fn set_aside(&mut self, verdicts: &mut Vec<Verdict>) {
        // Worst first: the lowest priority, then the latest arrival.
        let mut order: Vec<usize> = (0..self.active.len()).filter(|&at| self.active[at].counts()).collect();
        // One that is alone has been kept from memory twice.
        order.sort_by_key(|&at| {
            let Request { alone, priority, .. } = self.active[at].request;
            (alone, priority, std::cmp::Reverse(at))
        });
        let holding = |active: &[Active]| active.iter().map(|a| a.held).fold(0, u64::saturating_add);
        let growing = |active: &[Active]| {
            let more =
                active.iter().filter(|a| a.counts() && !a.suspended).map(|a| a.bytes.saturating_sub(a.held));
            more.fold(0, u64::saturating_add)
        };
        let capacity = self.limits.capacity();
        // Predictions alone suspend no query; bytes held do.
        if holding(&self.active) > capacity {
            let mut running = order.iter().filter(|&&at| !self.active[at].suspended).count();
            for &at in &order {
                let over = holding(&self.active).saturating_add(growing(&self.active)) > self.limits.memory;
                if !over || running < 2 {
                    break;
                }
                if !self.active[at].suspended {
                    self.active[at].suspended = true;
                    running -= 1;
                    verdicts.push(Verdict::Suspend(self.active[at].request.query));
                }
            }
        }
        for &at in order.iter().rev() {
            if !self.active[at].suspended {
                continue;
            }
            let nobody_runs = order.iter().all(|&at| self.active[at].suspended);
            let more = self.active[at].bytes.saturating_sub(self.active[at].held);
            let sum = holding(&self.active).saturating_add(growing(&self.active)).saturating_add(more);
            if nobody_runs || sum <= capacity {
                self.active[at].suspended = false;
                verdicts.push(Verdict::Resume(self.active[at].request.query));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Admit, Resume, Suspend};
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn controller(active_max: usize) -> LoadController {
        LoadController::new(Limits { active_max, memory: 1_000_000 })
    }

    fn request(query: u64, priority: u32, bytes: u64) -> Request {
        Request { query, priority, bytes, alone: false, strictly: false, exempt: false }
    }

    #[test]
    fn the_number_of_active_queries_is_bounded_for_a_second() {
        let mut load = controller(2);
        assert_eq!(load.arrive(request(1, 1, 0), 0), [Admit(1)]);
        assert_eq!(load.arrive(request(2, 1, 0), 0), [Admit(2)]);
        assert_eq!(load.arrive(request(3, 1, 0), 0), []);
        // A higher priority has places of its own.
        assert_eq!(load.arrive(request(4, 2, 0), 0), [Admit(4)]);
        assert_eq!(load.leave(4, 1), []);
        assert_eq!(load.leave(1, 1), [Admit(3)]);
        assert_eq!(load.arrive(request(5, 1, 0), 1), []);
        assert_eq!(load.look(SECOND / 2), []);
        assert_eq!(load.look(SECOND + 2), [Admit(5)]);
    }

    #[test]
    fn small_queries_beside_one_that_is_alone_do_not_pass_others_for_ever() {
        let mut load = controller(8);
        let alone = |query| Request { alone: true, ..request(query, 1, 1_000) };
        assert_eq!(load.arrive(alone(1), 0), [Admit(1)]);
        assert_eq!(load.arrive(request(2, 1, 500_000), 0), []);
        assert_eq!(load.arrive(request(3, 1, 1_000), SECOND / 2), [Admit(3)], "it is small");
        // It was not, and begins anew, while others of its kind come.
        assert_eq!(load.leave(3, SECOND), []);
        assert_eq!(load.arrive(alone(3), SECOND), []);
        assert_eq!(load.arrive(request(4, 1, 1_000), SECOND + 2), []);
        assert_eq!(load.arrive(request(5, 2, 1_000), SECOND + 2), [Admit(5)], "it is before all of them");
        assert_eq!(load.leave(5, SECOND + 3), []);
        assert_eq!(load.leave(1, SECOND + 3), [Admit(3)]);
        assert_eq!(load.leave(3, SECOND + 4), [Admit(2), Admit(4)]);
    }

    #[test]
    fn nobody_is_let_in_while_a_stream_in_its_midst_wants_memory() {
        let mut load = controller(8);
        assert_eq!(load.arrive(request(1, 1, 300_000), 0), [Admit(1)]);
        load.set_exempt(1);
        assert_eq!(load.arrive(request(2, 1, 300_000), 0), [Admit(2)]);
        assert!(load.others_may_give(1));
        // Two of its orders.
        load.set_wanting(1, true);
        load.set_wanting(1, true);
        let anew = Request { alone: true, ..request(4, 9, 1_000) };
        assert_eq!(load.arrive(request(3, 5, 500_000), 1), []);
        assert_eq!(load.arrive(anew, 1), []);
        assert_eq!(load.leave(2, 2), []);
        assert!(!load.others_may_give(1), "those who wait at the door hold nothing");
        load.set_wanting(1, false);
        assert_eq!(load.look(3), []);
        load.set_wanting(1, false);
        assert_eq!(load.look(4), [Admit(4)]);
        // It ended while it waited.
        load.set_wanting(1, true);
        assert_eq!(load.leave(4, 5), []);
        assert_eq!(load.leave(1, 6), [Admit(3)]);
    }

    #[test]
    fn a_stream_that_begins_anew_waits_and_keeps_others_out_until_it_has_rows() {
        let mut load = controller(8);
        assert_eq!(load.arrive(request(1, 1, 500_000), 0), [Admit(1)]);
        let anew = Request { alone: true, ..request(2, 1, 500_000) };
        assert_eq!(load.arrive(anew, 0), []);
        assert_eq!(load.arrive(request(3, 1, 500_000), 0), []);
        assert_eq!(load.leave(1, 1), [Admit(2)]);
        assert_eq!(load.look(2), []);
        load.set_exempt(2);
        assert_eq!(load.look(3), [Admit(3)]);
    }

    #[test]
    fn memory_is_given_out_by_prediction_and_the_first_is_never_refused() {
        let mut load = controller(100);
        assert_eq!(load.arrive(request(1, 1, 9_000_000), 0), [Admit(1)]);
        assert_eq!(load.arrive(request(2, 1, 750_000), 0), []);
        assert_eq!(load.arrive(request(3, 1, 10_000), 0), [Admit(3)]);
        assert_eq!(load.leave(1, 5), [Admit(2)]);
        assert_eq!(load.arrive(request(4, 1, 750_000), 6), []);
        // Others pass the one that does not fit, for a second, and small ones always.
        assert_eq!(load.arrive(request(5, 1, 100_000), 7), [Admit(5)]);
        assert_eq!(load.arrive(request(6, 1, 100_000), 2 * SECOND), []);
        assert_eq!(load.arrive(request(7, 1, 10_000), 2 * SECOND), [Admit(7)]);
        assert_eq!(load.leave(5, 2 * SECOND), []);
        assert_eq!(load.leave(2, 2 * SECOND), [Admit(4), Admit(6)]);
    }

    #[test]
    fn what_holds_too_much_is_set_aside_and_goes_on() {
        let mut load = controller(100);
        for (query, priority) in [(1, 1), (2, 2), (3, 1)] {
            load.arrive(request(query, priority, 0), 0);
            load.observe(query, 200_000, 200_000);
        }
        assert_eq!(load.look(1), []);
        load.observe(1, 400_000, 900_000);
        load.observe(3, 300_000, 900_000);
        // The one of the lowest priority that came last, then the other of that priority.
        assert_eq!(load.look(2), [Suspend(3), Suspend(1)]);
        assert_eq!(load.leave(2, 3), [Resume(1)]);
        assert_eq!(load.leave(1, 4), [Resume(3)]);
    }

    #[test]
    fn who_ran_out_of_memory_runs_alone() {
        let mut load = controller(100);
        load.arrive(request(1, 1, 0), 0);
        load.arrive(request(2, 1, 0), 0);
        assert!(load.has_company(2));
        load.leave(2, 1);
        assert_eq!(load.arrive(Request { alone: true, ..request(2, 1, 0) }, 1), []);
        // Others wait behind it, but for small ones.
        assert_eq!(load.arrive(request(3, 9, 500_000), 2), []);
        assert_eq!(load.arrive(request(4, 1, 10), 2), [Admit(4)]);
        assert_eq!(load.leave(1, 3), []);
        assert_eq!(load.leave(4, 3), [Admit(2)]);
        assert!(!load.has_company(2));
        assert_eq!(load.leave(2, 4), [Admit(3)]);
        let strictly = Request { alone: true, strictly: true, ..request(2, 1, 0) };
        assert_eq!(load.arrive(strictly, 5), []);
        assert_eq!(load.arrive(request(5, 1, 10), 5), []);
        assert_eq!(load.leave(3, 6), [Admit(2)]);
        assert_eq!(load.leave(2, 7), [Admit(5)]);
    }

    #[test]
    fn nobody_waits_for_a_paused_query() {
        let mut load = controller(1);
        load.arrive(request(1, 1, 700_000), 0);
        load.observe(1, 700_000, 700_000);
        load.set_paused(1, true);
        assert_eq!(load.arrive(request(2, 1, 0), 1), [Admit(2)]);
        load.observe(2, 200_000, 900_000);
        // It is not suspended in favour of one that does nothing.
        assert_eq!(load.look(2), []);
        load.set_paused(1, false);
        assert_eq!(load.look(3), [Suspend(2)]);
        load.set_paused(1, true);
        assert_eq!(load.look(4), [Resume(2)]);
    }

    #[test]
    fn who_waits_for_a_reader_keeps_nobody_out() {
        let mut load = controller(1);
        assert_eq!(load.arrive(Request { exempt: true, ..request(1, 1, 900_000) }, 0), [Admit(1)]);
        assert_eq!(load.arrive(request(2, 1, 900_000), 0), [Admit(2)]);
    }
}
