//! One history: events in virtual time, and what the real scheduler and the simulated workers do at each.
//!
//! [`World::run`] takes the earliest event, handles it, lets idle workers choose and claim, and checks the promises:
//! units executed once, shares, priorities, limits, nodes, memory. All chance comes from one `Random`, so that a seed
//! is one history; a planted [`Fault`] shows that the checks find it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use workorder::{Dag, EdgeKind, Host, Near, Outcome, Segment, SegmentId, WorkContext, WorkOrder, WorkerId};

use super::super::stress::Random;
use super::checkers::{Shares, Violation};
use super::segment::SimSegment;
use crate::clock::Clock;
use crate::enforcer::STARVED_AFTER;
use crate::foreman::Foreman;
use crate::handle::{Account, Query, QuerySpec};
use crate::nodes::{LEFT_BEHIND, NodeScheduling};
use crate::policy::{POLICIES, policy};
use crate::query::{Measured, QueryRun};
use crate::roster::Choice;
use crate::{QueryControl, Stopped};

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;
/// Bytes of memory of the simulated machine.
const MEMORY: u64 = 1 << 30;
/// A history that is not over then hangs.
const LAST_MOMENT: u64 = 600 * SECOND;
/// How long a query with work may go without, beyond what the enforcer promises: until the workers are free, and until
/// each other query that starves has had its order, on the slowest worker.
const SLACK: u64 = SECOND;
const SLACK_PER_QUERY: u64 = 50 * MILLISECOND;

/// What kind of history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scenario {
    /// Floods, pauses, failures, workers that come and go.
    Anything,
    /// Four accounts whose queries follow each other, for ten seconds, under Fair.
    Looping,
}

/// What is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    OrderTwice,
    OrderLost,
    QueryPassedOver,
    DoorLeftOpen,
    PauseIgnored,
    LimitIgnored,
    PriorityIgnored,
    NodesIgnored,
    FailsForMemory,
    OneCountsHalf,
}

pub(super) struct History {
    /// Promises that were broken; none in a good history.
    pub violations: Vec<Violation>,
    /// Queries that ended, whichever way.
    pub ended: usize,
    /// A hash of every order claimed, with its worker and time.
    pub trace: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive(usize),
    Done(usize),
    Comes(usize),
    Goes(usize),
    Dies(usize),
    Pause(usize),
    Resume(usize),
    Cancel(usize),
    Priority(usize, u32),
    Policy(usize),
    Look,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Coming,
    AtTheDoor,
    Running,
    Ended,
}

/// What a segment is made of, to make it anew when its query begins again.
#[derive(Clone, Copy)]
struct Shape {
    units: u64,
    unit_nanoseconds: u64,
    unit_bytes: i64,
    continue_after: u64,
    /// Its one consumer, before it in the list.
    consumer: Option<(usize, EdgeKind)>,
}

struct SimQuery {
    shapes: Vec<Shape>,
    segments: Vec<Arc<SimSegment>>,
    account: usize,
    query: Option<Arc<Query>>,
    run: Option<Arc<QueryRun>>,
    stage: Stage,
    paused: bool,
    /// It was paused some time: others are not promised the memory that it holds.
    was_paused: bool,
    workers_max: usize,
    priority: u32,
    predicted: u64,
    /// It could not have waited for longer than since then.
    served: u64,
    /// The same, as seen at the last choice.
    fed: u64,
    inside: usize,
    /// When an order of it was last claimed, or it began.
    claimed: u64,
    out_of_memory: bool,
}

struct Busy {
    /// When it is done.
    until: u64,
    query: usize,
    run: Arc<QueryRun>,
    order: WorkOrder,
    nanoseconds: u64,
    entered: bool,
}

struct SimWorker {
    here: bool,
    /// It goes when its order is done.
    leaving: bool,
    /// Time that it takes, in percent of a usual one's.
    slowness: u64,
    /// The memory node that it is on.
    node: usize,
    busy: Option<Busy>,
}

pub(super) struct World {
    random: Random,
    scenario: Scenario,
    fault: Option<Fault>,
    foreman: Arc<Foreman>,
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    happened: u64,
    accounts: Vec<Arc<Account>>,
    /// What each account really got, in nanoseconds.
    spent: Vec<u64>,
    queries: Vec<SimQuery>,
    workers: Vec<SimWorker>,
    nodes: usize,
    /// The nodes of rests of orders, by query, segment and first unit: they go on where they began.
    rests: HashMap<(usize, SegmentId, u64), usize>,
    shares: Shares,
    violations: Vec<Violation>,
    trace: u64,
    priorities_hold: bool,
}

/// A work order's view of the scheduler.
struct Inside<'a>(&'a QueryRun);

impl Host for Inside<'_> {
    fn should_stop(&self) -> bool {
        self.0.stopped()
    }
    fn units_ready(&self, segment: SegmentId, count: u64) {
        self.0.units_ready(segment, count);
    }
}

impl World {
    /// A world at its beginning, with all queries of the scenario planned.
    pub fn new(seed: u64, scenario: Scenario, fault: Option<Fault>) -> Self {
        let mut random = Random::new(seed);
        let workers = 1 + random.below(4) as usize;
        let workers = if scenario == Scenario::Looping { workers.max(2) } else { workers };
        let foreman = Arc::new(Foreman::new(workers, || 0, Clock::Virtual(0.into()), true));
        let mut world = World {
            random,
            scenario,
            fault,
            foreman,
            now: 0,
            events: BinaryHeap::new(),
            happened: 0,
            accounts: vec![],
            spent: vec![],
            queries: vec![],
            workers: vec![],
            nodes: 1,
            rests: HashMap::new(),
            shares: Shares::default(),
            violations: vec![],
            trace: 0xCBF2_9CE4_8422_2325,
            priorities_hold: true,
        };
        if scenario == Scenario::Anything && world.random.below(2) == 0 {
            world.plan_nodes();
        }
        for number in 0..workers {
            let slow = scenario == Scenario::Anything && world.random.below(4) == 0;
            let slowness = if slow { 100 + world.random.below(900) } else { 100 };
            world.workers.push(SimWorker {
                here: true,
                leaving: false,
                slowness,
                node: number % world.nodes,
                busy: None,
            });
        }
        match scenario {
            Scenario::Anything => world.plan_anything(),
            Scenario::Looping => world.plan_looping(),
        }
        world.at(0, Event::Look);
        world
    }

    /// A machine of several memory nodes.
    fn plan_nodes(&mut self) {
        self.nodes = 2 + self.random.below(2) as usize;
        let nearest = |node| (0..self.nodes).map(|step| (node + step) % self.nodes).collect();
        self.foreman.nodes.set_machine((0..self.nodes).map(nearest).collect(), Box::new(|| 0));
        let mode = self.random.below(3) as usize;
        self.foreman.nodes.set_mode(NodeScheduling::ALL[mode]);
    }

    fn at(&mut self, time: u64, event: Event) {
        // Events of one moment come in the order in which they were planned.
        self.happened += 1;
        self.events.push(Reverse((time, self.happened, event)));
    }

    fn plan_looping(&mut self) {
        self.set_policy(1);
        for account in 0..4 {
            self.accounts.push(Account::new());
            self.spent.push(0);
            let at = self.new_query(account);
            self.at(0, Event::Arrive(at));
        }
    }

    fn plan_anything(&mut self) {
        let chosen = self.random.below(3) as usize;
        self.set_policy(chosen);
        let active_max = 1 + self.random.below(8) as usize;
        self.foreman.admission.set_limits(self.foreman.now(), |limits| {
            (limits.active_max, limits.memory) = (active_max, MEMORY);
        });
        let accounts = 1 + self.random.below(6) as usize;
        self.accounts = (0..accounts).map(|_| Account::new()).collect();
        let span = 1 + self.random.below(2 * SECOND);
        for _ in 0..5 + self.random.below(40) {
            let account = self.random.below(accounts as u64) as usize;
            let query = self.new_query(account);
            let arrival = self.random.below(span);
            self.at(arrival, Event::Arrive(query));
            let later = arrival + self.random.below(SECOND);
            match self.random.below(12) {
                0 | 1 => {
                    self.at(later, Event::Pause(query));
                    let until = later + self.random.below(2 * SECOND);
                    self.at(until, Event::Resume(query));
                }
                2 => self.at(later, Event::Cancel(query)),
                3 => {
                    let priority = self.random.below(5) as u32;
                    self.at(later, Event::Priority(query, priority));
                }
                _ => {}
            }
        }
        // The first worker stays, so that there is an end.
        for worker in 1..self.workers.len() {
            let (time, back) = (self.random.below(span), self.random.below(SECOND));
            match self.random.below(4) {
                0 => self.at(time, Event::Dies(worker)),
                1 => self.at(time, Event::Goes(worker)),
                _ => continue,
            }
            self.at(time + back, Event::Comes(worker));
        }
        if self.random.below(4) == 0 {
            let (time, chosen) = (self.random.below(span), self.random.below(3) as usize);
            self.at(time, Event::Policy(chosen));
        }
    }

    fn set_policy(&mut self, chosen: usize) {
        let name = POLICIES[chosen];
        self.priorities_hold = name == "priority";
        let ignored = self.fault == Some(Fault::PriorityIgnored);
        let name = if ignored { "fair" } else { name };
        let Some(policy) = policy(name) else { return };
        self.foreman.lock_roster().enforcer.set_policy(policy);
    }

    fn new_query(&mut self, account: usize) -> usize {
        let looping = self.scenario == Scenario::Looping;
        let count = 1 + self.random.below(if looping { 3 } else { 6 }) as usize;
        let large = !looping && self.random.below(6) == 0;
        let mut shapes: Vec<Shape> = Vec::new();
        for position in 0..count {
            let consumer = (position > 0).then(|| self.random.below(position as u64) as usize);
            let streams = consumer.is_some() && !looping && self.random.below(3) == 0;
            // A consumer of a stream has as many units as its producers give it.
            let kind = if streams { EdgeKind::Streaming } else { EdgeKind::Blocking };
            let units = match looping {
                true if self.random.below(4) == 0 => 1,
                true => 20 + self.random.below(150),
                false => 1 + self.random.below(60),
            };
            let unit_nanoseconds = match looping {
                true if units == 1 => self.random.below(3 * MILLISECOND),
                true => 50_000 + self.random.below(800_000),
                false => 1_000 + self.random.below(2 * MILLISECOND),
            };
            let per_segment = MEMORY / 2 / count as u64;
            let unit_bytes =
                if large { (per_segment / units) as i64 } else { self.random.below(50_000) as i64 };
            let continue_after = if self.random.below(4) == 0 { 1 + self.random.below(5) } else { u64::MAX };
            let consumer = consumer.map(|consumer| (consumer, kind));
            shapes.push(Shape { units, unit_nanoseconds, unit_bytes, continue_after, consumer });
        }
        // What is fed has the units of those that feed it, producers last in the list.
        for position in (0..count).rev() {
            let fed: u64 = shapes
                .iter()
                .filter(|shape| shape.consumer == Some((position, EdgeKind::Streaming)))
                .map(|shape| shape.units)
                .sum();
            if fed > 0 {
                shapes[position].units = fed;
            }
            // Every query fits the machine when it is alone.
            let most = (MEMORY / 2 / count as u64 / shapes[position].units) as i64;
            shapes[position].unit_bytes = shapes[position].unit_bytes.min(most);
        }
        let total: u64 = shapes.iter().map(|shape| shape.units * shape.unit_bytes as u64).sum();
        let predicted = if self.random.below(2) == 0 { total } else { self.random.below(2 * total + 1) };
        let limited = !looping && self.random.below(5) == 0;
        let priority = if looping || self.random.below(2) == 0 { 1 } else { self.random.below(4) as u32 };
        self.queries.push(SimQuery {
            shapes,
            segments: vec![],
            account,
            query: None,
            run: None,
            stage: Stage::Coming,
            paused: false,
            was_paused: false,
            workers_max: if limited { 1 + self.random.below(2) as usize } else { workorder::WORKERS_MAX },
            priority,
            predicted,
            served: 0,
            fed: 0,
            inside: 0,
            claimed: 0,
            out_of_memory: false,
        });
        self.queries.len() - 1
    }

    /// Runs the history to its end, or to `LAST_MOMENT`, when it hangs.
    pub fn run(mut self) -> History {
        while let Some(Reverse((time, _, event))) = self.events.pop() {
            if time > LAST_MOMENT {
                let stuck = self.queries.iter().position(|query| query.stage != Stage::Ended);
                self.violations.extend(stuck.map(Violation::Starved));
                break;
            }
            self.now = time;
            self.foreman.clock.set(time);
            self.handle(event);
            self.foreman.admission.completed(0, time);
            self.let_in();
            self.finish_queries();
            self.serve();
            self.finish_queries();
            self.check();
            if self.violations.len() > 3 {
                break;
            }
        }
        if self.scenario == Scenario::Looping {
            self.violations.extend(self.shares.check());
        } else if self.violations.is_empty() {
            self.check_leaks();
        }
        let ended = self.queries.iter().filter(|query| query.stage == Stage::Ended).count();
        History { violations: self.violations, ended, trace: self.trace }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive(at) => self.arrive(at),
            Event::Done(worker) => self.order_done(worker),
            Event::Comes(worker) => (self.workers[worker].here, self.workers[worker].leaving) = (true, false),
            Event::Goes(worker) => self.workers[worker].leaving = true,
            Event::Dies(worker) => {
                // Its order is not heard of again, which ends that query and nothing else.
                self.workers[worker].here = false;
                if let Some(busy) = self.workers[worker].busy.take() {
                    busy.run.fail("the worker died".into());
                    self.leave(busy);
                }
            }
            Event::Pause(at) => {
                if self.queries[at].stage != Stage::Ended {
                    (self.queries[at].paused, self.queries[at].was_paused) = (true, true);
                    if self.fault != Some(Fault::PauseIgnored)
                        && let Some(query) = &self.queries[at].query
                    {
                        query.pause();
                    }
                }
            }
            Event::Resume(at) => {
                self.queries[at].paused = false;
                self.queries[at].served = self.now;
                if let Some(query) = &self.queries[at].query {
                    query.resume();
                }
            }
            Event::Cancel(at) => {
                if let Some(query) = &self.queries[at].query {
                    query.cancel();
                }
            }
            Event::Priority(at, priority) => {
                self.queries[at].priority = priority;
                if let Some(query) = &self.queries[at].query {
                    query.set_priority(priority);
                }
            }
            Event::Policy(chosen) => self.set_policy(chosen),
            Event::Look => {
                if self.scenario == Scenario::Looping {
                    self.shares.sample(self.now, self.spent.clone());
                    if self.now < 10 * SECOND {
                        self.at(self.now + 100 * MILLISECOND, Event::Look);
                    }
                } else if self.queries.iter().any(|query| query.stage != Stage::Ended) {
                    self.at(self.now + 20 * MILLISECOND, Event::Look);
                }
            }
        }
    }

    /// A client sends its query, or sends it again.
    fn arrive(&mut self, at: usize) {
        let again = self.queries[at].query.clone();
        let query = again.unwrap_or_else(|| {
            let spec = QuerySpec {
                account: Some(self.accounts[self.queries[at].account].clone()),
                priority: self.queries[at].priority,
                workers_max: self.queries[at].workers_max,
                ..QuerySpec::default()
            };
            let query = self.foreman.new_query(spec);
            self.foreman.admission.register(&query);
            query.charge_planning(self.random.below(MILLISECOND));
            query
        });
        query.expect_memory(self.queries[at].predicted);
        if self.queries[at].paused && self.fault != Some(Fault::PauseIgnored) {
            query.pause();
        }
        let mut segments: Vec<Arc<SimSegment>> = Vec::new();
        let mut dag = Dag::new();
        for (position, shape) in self.queries[at].shapes.iter().enumerate() {
            let mut segment = SimSegment::new(shape.units, shape.unit_nanoseconds, shape.unit_bytes);
            segment.continue_after = shape.continue_after;
            segment.nodes = self.nodes;
            segment.streamed =
                self.queries[at].shapes.iter().any(|s| s.consumer == Some((position, EdgeKind::Streaming)));
            if let Some((consumer, EdgeKind::Streaming)) = shape.consumer {
                segment.feeds = Some(segments[consumer].clone());
            }
            let segment = Arc::new(segment);
            dag.add(segment.clone());
            segments.push(segment);
            if let Some((consumer, kind)) = shape.consumer {
                dag.connect(SegmentId(position as u32), SegmentId(consumer as u32), kind);
            }
        }
        let control = QueryControl::with_cancel(query.cancel_token()).of(query.clone());
        let run = QueryRun::new(query.clone(), dag, &control, self.foreman.clone()).expect("a sound plan");
        let run = Arc::new(run);
        query.reset_memory();
        query.set_current_run(Some(&run.counters));
        self.foreman.admission.arrive(&run.query, &run.counters, self.now);
        let held = &mut self.queries[at];
        (held.query, held.run, held.segments) = (Some(query), Some(run), segments);
        held.stage = Stage::AtTheDoor;
    }

    /// Those that were admitted begin.
    fn let_in(&mut self) {
        for at in 0..self.queries.len() {
            let Some(run) = self.queries[at].run.clone() else { continue };
            if self.queries[at].stage != Stage::AtTheDoor {
                continue;
            }
            if run.counters.admitted.load(SeqCst) {
                run.open_roots();
                self.foreman.add(&run);
                let begun = &mut self.queries[at];
                (begun.stage, begun.served, begun.fed) = (Stage::Running, self.now, self.now);
                begun.claimed = self.now;
                // It may have begun before.
                self.rests.retain(|(query, ..), _| *query != at);
            } else if run.cancel.reason().is_some() {
                self.foreman.admission.leave(run.id, self.now);
                self.end(at);
            }
        }
    }

    /// Idle workers look for orders.
    fn serve(&mut self) {
        while let Some(worker) = self.workers.iter().position(|w| w.here && !w.leaving && w.busy.is_none()) {
            let foreman = self.foreman.clone();
            let near = match self.fault {
                Some(Fault::NodesIgnored) => Near::ANYWHERE,
                _ => foreman.nodes.near_to(self.workers[worker].node),
            };
            let mut in_vain = Vec::new();
            let passed_over = (self.fault == Some(Fault::QueryPassedOver))
                .then(|| self.queries.get(1).and_then(|query| query.query.as_ref().map(|query| query.id())))
                .flatten();
            let found = loop {
                let refused = |run: &QueryRun| in_vain.contains(&run.id) || passed_over == Some(run.id);
                for query in &mut self.queries {
                    let claimable = |run: &QueryRun| {
                        let limit = run.query.workers_max();
                        !refused(run) && run.query.running.load(SeqCst) < limit && run.maybe_claimable()
                    };
                    if !query.run.as_deref().is_some_and(claimable) {
                        query.fed = self.now;
                    }
                }
                let Some(Choice::Serve(run)) = self.foreman.choose(None, refused) else { break None };
                let Some(at) =
                    self.queries.iter().position(|q| q.run.as_ref().is_some_and(|r| r.id == run.id))
                else {
                    break None;
                };
                self.check_priority(at, &in_vain);
                (self.queries[at].served, self.queries[at].fed) = (self.now, self.now);
                let entered = self.fault != Some(Fault::LimitIgnored);
                if !entered || run.query.enter() {
                    if let Some(order) = run.claim(near) {
                        break Some((at, run, order, entered));
                    }
                    if entered {
                        run.query.exit();
                    }
                }
                in_vain.push(run.id);
                self.foreman.dismiss(run);
            };
            let Some((at, run, order, entered)) = found else { return };
            self.begin_order(worker, at, run, order, entered);
        }
    }

    fn begin_order(&mut self, worker: usize, at: usize, run: Arc<QueryRun>, order: WorkOrder, entered: bool) {
        let query = &mut self.queries[at];
        query.inside += 1;
        if query.paused {
            self.violations.push(Violation::ServedWhilePaused(at));
        }
        if query.inside > query.workers_max {
            self.violations.push(Violation::TooManyWorkers(at));
        }
        let segment = &query.segments[order.segment.index()];
        let lies = segment.node_of(order.start);
        let lies = self.rests.remove(&(at, order.segment, order.start)).or(lies);
        let far = lies.is_some_and(|node| node != self.workers[worker].node);
        if far && self.foreman.nodes.is_strict() && self.now < query.claimed + LEFT_BEHIND {
            self.violations.push(Violation::LeftItsNode(at));
        }
        if !far {
            query.claimed = self.now;
        }
        let (units, _) = segment.extent(order);
        let nanoseconds = (units * segment.unit_nanoseconds).max(500) * self.workers[worker].slowness / 100;
        for word in [self.now, worker as u64, at as u64, u64::from(order.segment.0), order.start, order.end] {
            self.trace = (self.trace ^ word).wrapping_mul(0x0100_0000_01B3);
        }
        self.workers[worker].busy =
            Some(Busy { until: self.now + nanoseconds, query: at, run, order, nanoseconds, entered });
        self.at(self.now + nanoseconds, Event::Done(worker));
    }

    fn order_done(&mut self, worker: usize) {
        // It died meanwhile, or this is news of an order before that.
        if self.workers[worker].busy.as_ref().is_none_or(|busy| busy.until != self.now) {
            return;
        }
        let Some(busy) = self.workers[worker].busy.take() else { return };
        let at = busy.query;
        let segment = self.queries[at].segments[busy.order.segment.index()].clone();
        let place = WorkerId(worker as u32);
        let inside = Inside(&busy.run);
        let context = WorkContext::new(busy.run.id, busy.order.segment, place, &inside);
        let (units, expected) = segment.extent(busy.order);
        let lost = self.fault == Some(Fault::OrderLost) && self.random.below(20) == 0;
        let outcome: Outcome = match lost {
            true => expected,
            false => segment.execute(busy.order, &context).unwrap_or(expected),
        };
        if self.fault == Some(Fault::OrderTwice) && self.random.below(20) == 0 {
            _ = segment.execute(busy.order, &context);
        }
        if let Outcome::Continue(rest) = outcome {
            self.rests.insert((at, busy.order.segment, rest.start), self.workers[worker].node);
        }
        let half = self.fault == Some(Fault::OneCountsHalf) && self.queries[at].account == 2;
        if let Some(spent) = self.spent.get_mut(self.queries[at].account) {
            *spent += busy.nanoseconds;
        }
        let nanoseconds = if half { busy.nanoseconds / 2 } else { busy.nanoseconds };
        let grown = units as i64 * segment.unit_bytes;
        let measured = Measured {
            rows: units,
            bytes: 0,
            nanoseconds,
            charged: 0,
            grown,
            node: Some(self.workers[worker].node),
        };
        busy.run.complete(busy.order, place, Some(outcome), measured);
        let held: u64 = self.queries.iter().filter_map(|q| q.query.as_ref()).map(|q| q.memory()).sum();
        if held > MEMORY && self.scenario == Scenario::Anything {
            let promised = |(other, query): (usize, &SimQuery)| {
                other == at
                    || !query.was_paused
                    || query.query.as_ref().is_none_or(|query| query.memory() == 0)
            };
            self.queries[at].out_of_memory = self.queries.iter().enumerate().all(promised);
            busy.run.fail("out of memory".into());
        }
        self.leave(busy);
        if self.workers[worker].leaving {
            (self.workers[worker].here, self.workers[worker].leaving) = (false, false);
        }
    }

    /// A worker is done with an order, one way or the other.
    fn leave(&mut self, busy: Busy) {
        self.queries[busy.query].inside -= 1;
        if busy.entered {
            busy.run.query.exit();
        }
        self.foreman.dismiss(busy.run);
    }

    /// What the callers of ended queries do.
    fn finish_queries(&mut self) {
        for at in 0..self.queries.len() {
            if self.queries[at].stage != Stage::Running {
                continue;
            }
            let Some(run) = self.queries[at].run.clone() else { continue };
            if !run.ended() {
                continue;
            }
            self.foreman.remove(&run);
            if run.counters.visitors.load(SeqCst) > 0 {
                continue;
            }
            if self.fault != Some(Fault::DoorLeftOpen) {
                self.foreman.admission.leave(run.id, self.now);
            }
            let result = run.result();
            let ended_well = result.is_ok();
            let stopped = result.err().is_some_and(|failure| failure.is::<Stopped>());
            for segment in &self.queries[at].segments {
                let (lost, doubled) = segment.lost_and_doubled();
                if ended_well && lost > 0 {
                    self.violations.push(Violation::Lost(at));
                }
                if doubled > 0 {
                    self.violations.push(Violation::Doubled(at));
                }
            }
            let short = std::mem::take(&mut self.queries[at].out_of_memory) && !ended_well && !stopped;
            let query = run.query.clone();
            drop(run);
            self.end(at);
            if short && self.fault != Some(Fault::FailsForMemory) && query.run_alone() {
                self.queries[at].query = Some(query);
                self.queries[at].stage = Stage::Coming;
                self.at(self.now, Event::Arrive(at));
            } else if short {
                self.violations.push(Violation::FailedForMemory(at));
            } else if self.scenario == Scenario::Looping && self.now < 10 * SECOND {
                let account = self.queries[at].account;
                let next = self.new_query(account);
                self.at(self.now + self.queries[next].predicted % MILLISECOND, Event::Arrive(next));
            }
        }
    }

    fn end(&mut self, at: usize) {
        let held = &mut self.queries[at];
        if let Some(query) = held.query.take() {
            query.set_current_run(None);
        }
        (held.run, held.stage) = (None, Stage::Ended);
    }

    fn check_priority(&mut self, chosen: usize, in_vain: &[workorder::QueryId]) {
        let starving = self.now.saturating_sub(self.queries[chosen].fed) > STARVED_AFTER;
        if !self.priorities_hold || starving {
            return;
        }
        let priority = self.queries[chosen].priority;
        let passed = self.queries.iter().any(|query| {
            let claimable = |run: &QueryRun| {
                run.maybe_claimable() && query.inside < query.workers_max && !in_vain.contains(&run.id)
            };
            query.stage == Stage::Running
                && query.priority > priority
                && query.run.as_deref().is_some_and(claimable)
        });
        if passed {
            self.violations.push(Violation::PassedHigher(chosen));
        }
    }

    /// After everything that happens.
    fn check(&mut self) {
        let patience = STARVED_AFTER + SLACK + SLACK_PER_QUERY * self.queries.len() as u64;
        for (at, query) in self.queries.iter_mut().enumerate() {
            let Some(run) = &query.run else { continue };
            let ready =
                query.stage == Stage::Running && query.inside < query.workers_max && run.maybe_claimable();
            if !ready {
                query.served = self.now;
            } else if self.now.saturating_sub(query.served) > patience {
                self.violations.push(Violation::Starved(at));
                query.served = self.now;
            }
        }
    }

    /// When all have ended.
    fn check_leaks(&mut self) {
        let (queued, active, known) = self.foreman.admission.counts();
        if self.foreman.lock_roster().len() + queued + active + known > 0 {
            self.violations.push(Violation::Leaked(0));
        }
        for (at, query) in self.queries.iter().enumerate() {
            // A consumer is also known to those that feed it.
            let known = |segment: &Arc<SimSegment>| {
                let feeders = query.segments.iter().filter_map(|other| other.feeds.as_ref());
                1 + feeders.filter(|fed| Arc::ptr_eq(fed, segment)).count()
            };
            if query.stage != Stage::Ended || query.segments.iter().any(|s| Arc::strong_count(s) != known(s))
            {
                self.violations.push(Violation::Leaked(at));
            }
        }
    }
}
