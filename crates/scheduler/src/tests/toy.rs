//! A segment made of closures and counters, that checks the order of the calls it gets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};

use workorder::{
    Claim, Completion, Dag, EdgeKind, Failure, Near, OrderRange, Outcome, Segment, UnitOfTransfer,
    WorkContext, WorkOrder,
};

type Body = dyn Fn(WorkOrder, &WorkContext<'_>) -> Result<Outcome, Failure> + Send + Sync;

/// Where a toy takes its units from.
pub(crate) enum Input {
    /// `[0, n)`, known at the start.
    Units(u64),
    /// As `Units`, each on its memory node.
    OnNodes(usize, Vec<Option<usize>>),
    /// What streaming producers put into this, until they are finished.
    Stream,
}

pub(crate) struct Toy {
    name: String,
    input: Input,
    range: OrderRange,
    /// Units that arrived and were claimed.
    pub(crate) arrived: AtomicU64,
    claimed: AtomicU64,
    closed: AtomicBool,
    /// Units that may be claimed; the rest is paused.
    pub(crate) admitted: AtomicU64,
    pub(crate) orders_max: AtomicUsize,
    body: Box<Body>,
    started: AtomicBool,
    pub(crate) finished: AtomicBool,
    running: AtomicUsize,
    pub(crate) executions: AtomicU64,
    pub(crate) units: AtomicU64,
    /// Sum over `completed`.
    pub(crate) completed_units: AtomicU64,
}

impl Toy {
    pub(crate) fn new(
        name: &str,
        input: Input,
        body: impl Fn(WorkOrder, &WorkContext<'_>) -> Result<Outcome, Failure> + Send + Sync + 'static,
    ) -> Arc<Toy> {
        Arc::new(Toy {
            name: name.to_owned(),
            input,
            range: OrderRange::new(UnitOfTransfer::Vector),
            arrived: AtomicU64::new(0),
            claimed: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            admitted: AtomicU64::new(u64::MAX),
            orders_max: AtomicUsize::new(usize::MAX),
            body: Box::new(body),
            started: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            running: AtomicUsize::new(0),
            executions: AtomicU64::new(0),
            units: AtomicU64::new(0),
            completed_units: AtomicU64::new(0),
        })
    }

    /// Does nothing, `units` times.
    pub(crate) fn idle(name: &str, units: u64) -> Arc<Toy> {
        Toy::new(name, Input::Units(units), |_, _| Ok(Outcome::Done))
    }

    /// Gives units to a streaming consumer, as an insert destination does.
    pub(crate) fn feed(&self, units: u64) {
        self.arrived.fetch_add(units, SeqCst);
    }
}

impl Segment for Toy {
    fn name(&self) -> &str {
        &self.name
    }

    fn orders_max(&self) -> usize {
        self.orders_max.load(SeqCst)
    }

    fn start(&self) -> Result<(), Failure> {
        assert!(!self.started.swap(true, SeqCst), "started twice");
        match &self.input {
            Input::Units(units) => self.range.set_total(*units),
            Input::OnNodes(nodes, of_units) => {
                self.range.set_nodes(*nodes, of_units);
                self.range.set_total(of_units.len() as u64);
            }
            Input::Stream => {}
        }
        Ok(())
    }

    fn claim(&self, near: Near<'_>) -> Claim {
        assert!(self.started.load(SeqCst), "claimed before the start");
        match self.input {
            Input::Units(units) if self.admitted.load(SeqCst) < units => {
                let admitted = |claimed: u64| (claimed < self.admitted.load(SeqCst)).then_some(claimed + 1);
                match self.claimed.fetch_update(SeqCst, SeqCst, admitted) {
                    Ok(unit) => Claim::Order(WorkOrder::new(unit, unit + 1, UnitOfTransfer::Vector)),
                    Err(_) => Claim::Paused,
                }
            }
            // What was claimed one by one is claimed to the end like that.
            Input::Units(units) if self.admitted.load(SeqCst) == units => {
                match self.claimed.fetch_update(SeqCst, SeqCst, |unit| (unit < units).then_some(unit + 1)) {
                    Ok(unit) => Claim::Order(WorkOrder::new(unit, unit + 1, UnitOfTransfer::Vector)),
                    Err(_) => Claim::Exhausted,
                }
            }
            Input::Units(_) | Input::OnNodes(..) => self.range.claim(near),
            Input::Stream => {
                // Closed first: what arrived before is then seen.
                let closed = self.closed.load(SeqCst);
                let available = |claimed: u64| (claimed < self.arrived.load(SeqCst)).then_some(claimed + 1);
                match self.claimed.fetch_update(SeqCst, SeqCst, available) {
                    Ok(unit) => Claim::Order(WorkOrder::new(unit, unit + 1, UnitOfTransfer::Block)),
                    Err(_) if closed => Claim::Exhausted,
                    Err(_) => Claim::Wait,
                }
            }
        }
    }

    fn execute(&self, order: WorkOrder, context: &WorkContext<'_>) -> Result<Outcome, Failure> {
        assert!(!self.finished.load(SeqCst), "executed after the finish");
        self.running.fetch_add(1, SeqCst);
        self.executions.fetch_add(1, SeqCst);
        let outcome = (self.body)(order, context);
        let units = match &outcome {
            Ok(Outcome::Done) => order.units(),
            Ok(Outcome::Continue(rest)) => rest.start - order.start,
            Err(_) => 0,
        };
        self.units.fetch_add(units, SeqCst);
        context.count(units, 8 * units);
        self.running.fetch_sub(1, SeqCst);
        outcome
    }

    fn completed(&self, completion: &Completion) {
        self.completed_units.fetch_add(completion.order.units(), SeqCst);
        self.range.adapt(completion);
    }

    fn inputs_finished(&self) {
        assert!(self.started.load(SeqCst), "inputs finished before the start");
        assert!(!self.closed.swap(true, SeqCst), "inputs finished twice");
    }

    fn finish(&self) -> Result<(), Failure> {
        assert_eq!(self.running.load(SeqCst), 0, "finished while orders run");
        assert!(!self.finished.swap(true, SeqCst), "finished twice");
        Ok(())
    }

    fn total_orders(&self) -> Option<u64> {
        match self.input {
            Input::Units(units) => Some(units),
            Input::OnNodes(..) => Some(self.range.total()),
            Input::Stream => None,
        }
    }
}

/// A plan of toys with edges between positions.
pub(crate) fn plan(toys: &[Arc<Toy>], edges: &[(u32, u32, EdgeKind)]) -> Dag {
    let mut dag = Dag::new();
    for toy in toys {
        dag.add(toy.clone());
    }
    for &(producer, consumer, kind) in edges {
        dag.connect(workorder::SegmentId(producer), workorder::SegmentId(consumer), kind);
    }
    dag
}

/// Keeps a core busy.
pub(crate) fn burn(microseconds: u64) {
    let begun = std::time::Instant::now();
    while (begun.elapsed().as_micros() as u64) < microseconds {
        std::hint::spin_loop();
    }
}
