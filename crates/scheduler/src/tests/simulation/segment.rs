//! Toy segments: units that take virtual time and memory, and count how often each was executed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

use workorder::{
    Claim, Completion, Failure, Near, OrderRange, Outcome, Segment, UnitOfTransfer, WorkContext, WorkOrder,
};

pub(super) struct SimSegment {
    /// Virtual nanoseconds of a unit.
    pub unit_nanoseconds: u64,
    /// Bytes that the query grows by with each unit.
    pub unit_bytes: i64,
    /// An order gives back what is beyond so many units.
    pub continue_after: u64,
    /// Fed by a producer instead of having its units from the start.
    pub streamed: bool,
    /// The streaming consumer that gets a unit for each of its own.
    pub feeds: Option<Arc<SimSegment>>,
    /// Memory nodes that its units lie on.
    pub nodes: usize,
    range: OrderRange,
    arrived: AtomicU64,
    claimed: AtomicU64,
    closed: AtomicBool,
    executed: Box<[AtomicU32]>,
}

impl SimSegment {
    /// A segment of one node that is not streamed; other fields are set afterwards.
    pub fn new(units: u64, unit_nanoseconds: u64, unit_bytes: i64) -> Self {
        SimSegment {
            unit_nanoseconds,
            unit_bytes,
            continue_after: u64::MAX,
            streamed: false,
            feeds: None,
            nodes: 1,
            range: OrderRange::new(UnitOfTransfer::Vector),
            arrived: AtomicU64::new(0),
            claimed: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            executed: (0..units).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Its units in all, those not fed yet included.
    pub fn units(&self) -> u64 {
        self.executed.len() as u64
    }

    /// The memory node that a unit is near to, if it is near to one.
    pub fn node_of(&self, unit: u64) -> Option<usize> {
        let near = self.nodes > 1 && !self.streamed && !unit.is_multiple_of(11);
        near.then_some((unit / 3) as usize % self.nodes)
    }

    /// Units executed never, and more than once.
    pub fn lost_and_doubled(&self) -> (usize, usize) {
        let times = || self.executed.iter().map(|unit| unit.load(SeqCst));
        (times().filter(|times| *times == 0).count(), times().filter(|times| *times > 1).count())
    }

    /// What an execution of this order does: how many units, and what is left of it.
    pub fn extent(&self, order: WorkOrder) -> (u64, Outcome) {
        let end = order.end.min(order.start.saturating_add(self.continue_after));
        match end < order.end {
            true => (end - order.start, Outcome::Continue(WorkOrder { start: end, ..order })),
            false => (end - order.start, Outcome::Done),
        }
    }
}

impl Segment for SimSegment {
    fn name(&self) -> &str {
        "simulated"
    }

    fn start(&self) -> Result<(), Failure> {
        if !self.streamed {
            if self.nodes > 1 {
                let of_units: Vec<_> = (0..self.units()).map(|unit| self.node_of(unit)).collect();
                self.range.set_nodes(self.nodes, &of_units);
            }
            self.range.set_total(self.units());
        }
        Ok(())
    }

    fn claim(&self, near: Near<'_>) -> Claim {
        if !self.streamed {
            return self.range.claim(near);
        }
        let closed = self.closed.load(SeqCst);
        let next = |claimed: u64| (claimed < self.arrived.load(SeqCst)).then_some(claimed + 1);
        match self.claimed.fetch_update(SeqCst, SeqCst, next) {
            Ok(unit) => Claim::Order(WorkOrder::new(unit, unit + 1, UnitOfTransfer::Block)),
            Err(_) if closed => Claim::Exhausted,
            Err(_) => Claim::Wait,
        }
    }

    fn execute(&self, order: WorkOrder, context: &WorkContext<'_>) -> Result<Outcome, Failure> {
        let (units, outcome) = self.extent(order);
        for unit in order.start..order.start + units {
            if let Some(executed) = self.executed.get(unit as usize) {
                executed.fetch_add(1, SeqCst);
            }
        }
        if let Some(consumer) = &self.feeds {
            consumer.arrived.fetch_add(units, SeqCst);
            context.units_ready(units);
        }
        Ok(outcome)
    }

    fn completed(&self, completion: &Completion) {
        self.range.adapt(completion);
    }

    fn inputs_finished(&self) {
        self.closed.store(true, SeqCst);
    }

    fn total_orders(&self) -> Option<u64> {
        (!self.streamed).then(|| self.range.total())
    }
}
