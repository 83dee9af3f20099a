//! Segments and work orders: the contract between operators and the scheduler.
//!
//! The life of a segment, as the scheduler drives it:
//!
//! ```text
//!  waiting --all blocking producers finished--> start() --> open --claim()=Exhausted--> draining
//!                                                            |  ^                          |
//!                                          claim()=Order, execute, completed       no order running
//!                                                            |  |                          v
//!                                                            +--+           finish() --> let_go() --> finished
//! ```
//!
//! `start`, `inputs_finished`, `finish` and `let_go` are each called at most once, in this order, on any
//! thread; `claim` and `execute` by many threads at once. When the query fails or is cancelled
//! the calls just stop: a segment cleans up in `Drop`, never in `finish`.

use crate::{Near, QueryId, SegmentId, UnitOfTransfer, WorkContext, WorkerId};

/// Why a query ends without a result. The engine downcasts it to its own error type.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A run `[start, end)` of a segment's inputs. Only the segment knows what the numbers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkOrder {
    /// The segment it belongs to; stamped by the scheduler.
    pub segment: SegmentId,
    /// First unit.
    pub start: u64,
    /// One past the last unit.
    pub end: u64,
    /// How its output travels.
    pub unit_of_transfer: UnitOfTransfer,
}

impl WorkOrder {
    /// An order over `[start, end)`; the scheduler stamps the segment.
    pub fn new(start: u64, end: u64, unit_of_transfer: UnitOfTransfer) -> Self {
        WorkOrder { segment: SegmentId::UNSET, start, end, unit_of_transfer }
    }

    /// Units in the run.
    pub fn units(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// What `execute` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The order is complete.
    Done,
    /// The order stopped at a batch boundary; this is what is left of it. It is executed again
    /// (by any worker), or dropped when the query has stopped.
    Continue(WorkOrder),
}

/// What `claim` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Execute this.
    Order(WorkOrder),
    /// Nothing now: a streaming producer has not filled a unit yet. It calls
    /// [`WorkContext::units_ready`] when it has. After `inputs_finished` this answer is an error unless an
    /// order of the query is still running.
    Wait,
    /// Nothing until something outside the query happens, such as its result being read: the query is not stalled.
    Paused,
    /// Nothing for this claimant: what there is, is near to other memory nodes and is left to the workers there.
    Elsewhere,
    /// Nothing now or ever.
    Exhausted,
}

/// What the scheduler measured about one execution of a work order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The query that the order belongs to.
    pub query: QueryId,
    /// The worker's place.
    pub worker: WorkerId,
    /// The order, shortened to what was executed when a continuation came back.
    pub order: WorkOrder,
    /// Rows the segment counted with [`WorkContext::count`].
    pub rows: u64,
    /// Bytes the segment counted with [`WorkContext::count`].
    pub bytes: u64,
    /// Wall time inside `execute`.
    pub nanoseconds: u64,
    /// False when a continuation is left.
    pub done: bool,
}

/// One pipeline segment of a query.
pub trait Segment: Send + Sync {
    /// A name for reports, such as `scan lineitem > probe > aggregate`.
    fn name(&self) -> &str;

    /// Called once when all blocking producers are finished, before the first `claim`. Decides
    /// the number of work orders. Must be quick: heavy preparation is a segment of its own.
    fn start(&self) -> Result<(), Failure>;

    /// Takes the next work order in one atomic step, near to the claimant if the segment knows where its units lie. Called
    /// by many threads at once.
    fn claim(&self, near: Near<'_>) -> Claim;

    /// Runs one order. Looks at [`WorkContext::should_stop`] at every batch, and when it says so
    /// returns at once (what it returns then is ignored, unless it is a failure of its own).
    fn execute(&self, order: WorkOrder, context: &WorkContext<'_>) -> Result<Outcome, Failure>;

    /// Told after each execution; a segment with an [`crate::OrderRange`] passes it on so that
    /// the run length adapts.
    fn completed(&self, completion: &Completion) {
        let _ = completion;
    }

    /// All streaming producers are finished: from now on `claim` returns the rest, then
    /// `Exhausted`. Called once, after `start`; never called for a segment without them.
    fn inputs_finished(&self) {}

    /// The query is held for a while: what the segment keeps between orders and can have again from files goes there.
    /// Called while orders run, and never after `finish`. [`WorkContext::should_stop`] does not stand still here.
    fn put_away(&self, context: &WorkContext<'_>) -> Result<(), Failure> {
        let _ = context;
        Ok(())
    }

    /// The query is held for a while: memory that the segment only reads goes to files. As `put_away`, but also before
    /// `start`.
    fn put_away_inputs(&self, context: &WorkContext<'_>) -> Result<(), Failure> {
        let _ = context;
        Ok(())
    }

    /// Called once, after the last order completed and before any consumer is told. Cheap; a
    /// heavy merge is a segment of its own.
    fn finish(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Called once, after consumers were told: what the segment held is let go, while others work already.
    fn let_go(&self) {}

    /// Orders of this segment that may be begun and not ended at a time. Asked once, before the first claim.
    fn orders_max(&self) -> usize {
        usize::MAX
    }

    /// For progress, and for the decision whether to wake another worker: how many units (each
    /// at least part of an order) there are in all. Asked after `start`. `None`: not known yet.
    fn total_orders(&self) -> Option<u64> {
        None
    }
}
