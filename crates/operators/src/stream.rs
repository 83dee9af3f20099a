//! Stream: the end of a query whose rows leave while it runs.
//!
//! ```text
//!  work orders --push(tag, batch)--> [unit 4: b b] [unit 5: -] [unit 6: b]  --pop()--> consumer
//!                                      ^ head: its batches leave first
//! ```
//! Rows leave in the order of their units' tags, as `Collect` would have them, so a stream of a query has the order
//! of its result whatever the number of workers. The queue holds so many bytes and no more:
//!
//! * A unit begins only while there is room, or when it is the head (`admits`): a refused claim is `Claim::Paused`, and
//!   the worker does something else. The consumer that makes room has the scheduler look again.
//! * A unit may be larger than the queue. A work order that finds it full in the midst of one lends its place to others
//!   and sleeps until there is room (`WorkContext::step_aside`).
//!
//! The head may always go on: it has as many bytes of its own, so units ahead of it can never keep it from coming. A
//! branch begins when those before it have ended, so all claimed units of a branch follow the head without a gap:
//! either the head is being worked at, or nothing is held and it can be claimed.
//!
//! What is held is at most twice the bound, and a batch for each worker.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plan::NodeId;
use types::Result;
use vector::Batch;

use crate::collect::detached_batch;
use crate::context::{QueryContext, canceled};
use crate::pipeline::{Flow, Local, Sink, Work, branch_of, tag};

/// How long either side sleeps before it looks whether the statement was stopped.
const LOOK: Duration = Duration::from_millis(10);

/// What the consumer finds.
pub enum Popped {
    /// The next rows of the result.
    Batch(Batch),
    /// Nothing came within a moment; ask again.
    Nothing,
    /// All rows have left.
    End,
}

/// The queue between a query's last pipelines and the consumer of its rows.
pub struct ResultQueue {
    held: Mutex<Held>,
    arrived: Condvar,
    room: Condvar,
    bytes_max: usize,
}

#[derive(Default)]
struct Held {
    /// Tag of the unit whose rows leave next.
    head: u64,
    units: BTreeMap<u64, Unit>,
    bytes: usize,
    branches_ended: Vec<bool>,
    /// A unit was refused, or waits in its midst.
    refused: bool,
    outcome: Option<Result<()>>,
    /// The consumer has had rows.
    left: bool,
    /// The consumer is gone.
    closed: bool,
}

#[derive(Default)]
struct Unit {
    batches: VecDeque<(Batch, usize)>,
    bytes: usize,
    ended: bool,
}

impl ResultQueue {
    /// A queue that holds about so many bytes.
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(ResultQueue {
            held: Mutex::default(),
            arrived: Condvar::new(),
            room: Condvar::new(),
            bytes_max,
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next rows. Sleeps a moment when there are none. `resume` is called when work that was put off can go on.
    pub fn pop(&self, resume: impl FnOnce()) -> Result<Popped> {
        let mut held = self.held();
        if held.next_is_missing() && held.outcome.is_none() {
            held = self.arrived.wait_timeout(held, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        // An error is told at once: rows that came before it are of no use to most.
        if let Some(Err(error)) = &held.outcome {
            return Err(error.clone());
        }
        held.advance();
        let head = held.head;
        let Some((batch, bytes)) = held.units.get_mut(&head).and_then(Unit::take) else {
            return Ok(if held.outcome.is_some() { Popped::End } else { Popped::Nothing });
        };
        held.bytes -= bytes;
        held.left = true;
        // Half empty, so that work is put off and resumed by the bulk; the head alone waits for less.
        let resumes = held.refused && (held.bytes <= self.bytes_max / 2 || held.next_is_missing());
        if resumes {
            held.refused = false;
        }
        drop(held);
        if resumes {
            self.room.notify_all();
            resume();
        }
        Ok(Popped::Batch(batch))
    }

    /// The run failed and shall begin anew: what is held goes. `false` if rows have left, which a second run might
    /// give in another order.
    pub fn begin_anew(&self) -> bool {
        let mut held = self.held();
        if held.left || held.closed {
            return false;
        }
        let before = std::mem::take(&mut *held);
        drop(held);
        drop(before);
        true
    }

    /// The query has ended: nothing more comes.
    pub fn end(&self, outcome: Result<()>) {
        self.held().outcome = Some(outcome);
        self.arrived.notify_all();
    }

    /// The consumer wants no more: what is held goes, and what is pushed is refused.
    pub fn close(&self) {
        let mut held = self.held();
        held.closed = true;
        let units = std::mem::take(&mut held.units);
        held.bytes = 0;
        drop(held);
        drop(units);
        self.room.notify_all();
        self.arrived.notify_all();
    }

    /// Bytes held now.
    pub fn bytes(&self) -> usize {
        self.held().bytes
    }

    fn set_branches(&self, branches: usize) {
        self.held().branches_ended = vec![false; branches];
    }

    fn admits(&self, tag: u64) -> bool {
        let mut held = self.held();
        held.advance();
        let admitted =
            tag == held.head || held.bytes < self.bytes_max && branch_of(tag) == branch_of(held.head);
        held.refused |= !admitted;
        admitted
    }

    fn push(&self, tag: u64, batch: Batch, work: &Work<'_>) -> Result<()> {
        let bytes = batch.bytes();
        let mut batch = Some(batch);
        loop {
            if self.try_push(tag, &mut batch, bytes)? {
                return Ok(());
            }
            let mut stopped = Ok(());
            work.context.step_aside(|| {
                stopped = loop {
                    // Memory is not waited for as well: a wait for the reader does not depend on it.
                    if work.context.should_stop() {
                        break Err(canceled());
                    }
                    let held = self.held();
                    if held.closed || held.has_room(tag, self.bytes_max) {
                        break Ok(());
                    }
                    drop(self.room.wait_timeout(held, LOOK));
                };
            });
            stopped?;
        }
    }

    fn try_push(&self, tag: u64, batch: &mut Option<Batch>, bytes: usize) -> Result<bool> {
        let mut held = self.held();
        if held.closed {
            return Err(canceled());
        }
        held.advance();
        if !held.has_room(tag, self.bytes_max) {
            held.refused = true;
            return Ok(false);
        }
        let Some(batch) = batch.take() else { return Ok(true) };
        held.bytes += bytes;
        let unit = held.units.entry(tag).or_default();
        unit.bytes += bytes;
        unit.batches.push_back((batch, bytes));
        let wanted = tag == held.head;
        drop(held);
        if wanted {
            self.arrived.notify_one();
        }
        Ok(true)
    }

    fn unit_ended(&self, tag: u64) {
        let mut held = self.held();
        if held.closed {
            return;
        }
        held.units.entry(tag).or_default().ended = true;
        let before = held.head;
        held.advance();
        if held.head != before {
            drop(held);
            // The new head may have rows, or wait for room that it has now.
            self.arrived.notify_one();
            self.room.notify_all();
        }
    }

    fn branch_ended(&self, ordinal: usize) {
        let mut held = self.held();
        if let Some(ended) = held.branches_ended.get_mut(ordinal) {
            *ended = true;
        }
        held.advance();
        drop(held);
        self.arrived.notify_one();
        self.room.notify_all();
    }
}

impl Held {
    /// Moves the head past units that have ended and left, and past branches that have ended.
    fn advance(&mut self) {
        loop {
            match self.units.get(&self.head) {
                Some(unit) if unit.ended && unit.batches.is_empty() => {
                    self.units.remove(&self.head);
                    self.head += 1;
                }
                Some(_) => return,
                None => {
                    let branch = branch_of(self.head);
                    if self.branches_ended.get(branch) != Some(&true) {
                        return;
                    }
                    // A branch that had enough may have left units out.
                    let after = self.units.range(self.head..).next().map(|(tag, _)| *tag);
                    self.head = match after {
                        Some(tag) if branch_of(tag) == branch => tag,
                        _ if branch + 1 < self.branches_ended.len() => tag(branch + 1, 0),
                        _ => return,
                    };
                }
            }
        }
    }

    fn next_is_missing(&self) -> bool {
        self.units.get(&self.head).is_none_or(|unit| unit.batches.is_empty() && !unit.ended)
    }

    fn has_room(&self, tag: u64, bytes_max: usize) -> bool {
        self.bytes < bytes_max
            || tag == self.head && self.units.get(&tag).is_none_or(|unit| unit.bytes < bytes_max)
    }
}

impl Unit {
    fn take(&mut self) -> Option<(Batch, usize)> {
        let taken = self.batches.pop_front()?;
        self.bytes -= taken.1;
        Some(taken)
    }
}

/// The sink before the queue.
pub struct Stream {
    node: NodeId,
    queue: Arc<ResultQueue>,
}

impl Stream {
    /// Tells the queue how many branches feed it; each of them ends once.
    pub fn new(node: NodeId, queue: Arc<ResultQueue>, branches: usize) -> Self {
        queue.set_branches(branches);
        Stream { node, queue }
    }
}

impl Sink for Stream {
    fn node(&self) -> NodeId {
        self.node
    }
    fn consume(&self, batch: Batch, tag: u64, _local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        self.queue.push(tag, work.query.conformed(detached_batch(&batch))?, work)?;
        Ok(Flow::More)
    }
    fn finish(&self, _locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        Ok(())
    }
    fn may_pause(&self) -> bool {
        true
    }
    fn admits(&self, tag: u64) -> bool {
        self.queue.admits(tag)
    }
    fn end_unit(&self, tag: u64, _local: &mut Local, _work: &Work<'_>) -> Result<()> {
        self.queue.unit_ended(tag);
        Ok(())
    }
    fn branch_ended(&self, ordinal: usize) {
        self.queue.branch_ended(ordinal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Error, SqlState};
    use types::{Type, Value};
    use vector::Vector;

    fn batch(value: i64) -> Batch {
        Batch::new(vec![Vector::from_values(Type::BigInt, &[Value::I64(value)])], 1)
    }

    fn put(queue: &ResultQueue, tag: u64, value: i64) -> bool {
        queue.try_push(tag, &mut Some(batch(value)), 10).expect("is open")
    }

    fn popped(queue: &ResultQueue, resumed: &mut bool) -> Option<i64> {
        match queue.pop(|| *resumed = true).expect("no error") {
            Popped::Batch(batch) => match batch.columns[0].value(0) {
                Value::I64(value) => Some(value),
                other => panic!("{other:?}"),
            },
            Popped::Nothing | Popped::End => None,
        }
    }

    #[test]
    fn rows_leave_in_the_order_of_their_tags_and_the_head_always_goes_on() {
        let queue = ResultQueue::new(30);
        queue.set_branches(2);
        let mut resumed = false;
        // Units ahead fill the queue; others are refused, and the head is not.
        assert!(put(&queue, 1, 10) && put(&queue, 1, 11) && put(&queue, 2, 20));
        assert!(!queue.admits(3) && !put(&queue, 2, 21) && queue.admits(0));
        assert_eq!(popped(&queue, &mut resumed), None);
        assert!(put(&queue, 0, 1) && put(&queue, 0, 2) && put(&queue, 0, 3) && !put(&queue, 0, 4));
        assert_eq!(popped(&queue, &mut resumed), Some(1));
        assert!(put(&queue, 0, 4));
        queue.unit_ended(0);
        for value in [2, 3, 4, 10, 11] {
            assert_eq!(popped(&queue, &mut resumed), Some(value));
        }
        assert!(resumed, "there was room");
        queue.unit_ended(1);
        assert_eq!(popped(&queue, &mut resumed), Some(20));
        // The next branch begins when this one has ended; a unit of no rows is passed over.
        assert!(!queue.admits(tag(1, 0)));
        queue.unit_ended(2);
        queue.unit_ended(3);
        queue.branch_ended(0);
        assert!(queue.admits(tag(1, 0)) && put(&queue, tag(1, 0), 30));
        queue.unit_ended(tag(1, 0));
        queue.branch_ended(1);
        queue.end(Ok(()));
        assert_eq!(popped(&queue, &mut resumed), Some(30));
        assert!(matches!(queue.pop(|| ()), Ok(Popped::End)));
    }

    #[test]
    fn a_closed_queue_holds_nothing_and_an_error_is_told_first() {
        let queue = ResultQueue::new(30);
        queue.set_branches(1);
        assert!(put(&queue, 0, 1));
        queue.end(Err(Error::new(SqlState::DivisionByZero, "division by zero")));
        assert!(queue.pop(|| ()).is_err());
        queue.close();
        assert_eq!(queue.bytes(), 0);
        assert!(queue.try_push(0, &mut Some(batch(2)), 10).is_err());
    }
}
