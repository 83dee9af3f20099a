//! The insert destination between two operators of a pipeline, where their unit of transfer is not `vector`.
//!
//! ```text
//!  producer's orders --a unit's rows--> [early: units ahead of their turn]
//!                                          | their turn
//!                                          v
//!                                       block being filled --full--> [unit 0][unit 1]... --claim--> consumer's orders
//! ```
//! Units are filled in the order of the producer's units and numbered as they fill, so a consumer sees the same units
//! in the same order whatever the number of workers, and hands them on under their own numbers: sinks that keep order
//! are right above any number of transfers. The unit whose turn it is, the *head*, goes straight into the block being
//! filled; the rows of units ahead of it wait. Orders run over ascending units and are short, so that little waits.
//!
//! A full unit is charged to the budget and written to a temporary file when memory is short. With `block` and
//! `blocks(k)` the consumer claims units while the producer runs, which stops for a while when it is too far ahead;
//! with `table` it begins when all are there.
//!
//! A consumer that wants no more closes the transfer; the units it claimed stay, as a limit relies on.

pub mod choice;
pub mod edges;
pub mod machine;
pub mod model;
pub mod setting;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plan::NodeId;
use pool::spill::{SpillFile, SpillReader, SpillStream};
use types::Result;
use vector::Batch;
use workorder::{Claim, UnitOfTransfer, WorkOrder};

use crate::collect::detached_batch;
use crate::context::{QueryContext, out_of_memory};
use crate::pipeline::{Feed, Flow, Local, Push, Sink, Source, Work, local_state, unit_of};
use crate::spill::count_spilled;
use crate::values::slices;

/// A producer of which so many units wait for each core begins no further order.
const UNITS_AHEAD: u64 = 4;

/// The queue of units between a producer's segments and its consumer's.
pub struct Transfer {
    unit_of_transfer: UnitOfTransfer,
    /// A unit is full from so many bytes on.
    unit_bytes: usize,
    held: Mutex<Held>,
    published: AtomicU64,
    claimed: AtomicU64,
    /// The producer has ended.
    complete: AtomicBool,
    /// The consumer may claim.
    open: AtomicBool,
    /// The consumer wants no more.
    closed: AtomicBool,
}

#[derive(Default)]
struct Held {
    /// The producer's unit whose rows go next.
    head: u64,
    early: BTreeMap<u64, Early>,
    filling: Filling,
    units: Vec<Unit>,
    /// Bytes of units in memory, those ahead of their turn included.
    bytes: usize,
    bytes_max: usize,
    file: Option<Arc<SpillFile>>,
    rows: u64,
    transferred_bytes: u64,
}

/// Rows of a unit ahead of its turn.
#[derive(Default)]
struct Early {
    batches: Vec<Batch>,
    ended: bool,
}

#[derive(Default)]
struct Filling {
    batches: Vec<Batch>,
    bytes: usize,
}

enum Unit {
    Memory {
        batches: Vec<Batch>,
        bytes: usize,
        _room: memory::Reservation,
    },
    File(SpillStream),
    /// The consumer has it, or does not want it.
    Gone,
}

impl Transfer {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes rows of the producer's unit `number`, and whether they are its last; returns how many units became full.
    fn take_in(&self, number: u64, rows: Filling, ended: bool, query: &QueryContext) -> Result<u64> {
        let mut held = self.held();
        if self.closed.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let before = held.units.len();
        held.bytes += rows.bytes;
        held.bytes_max = held.bytes_max.max(held.bytes);
        if number == held.head {
            self.fill(&mut held, rows.batches, query)?;
            if ended {
                held.head += 1;
                self.advance(&mut held, query)?;
            }
        } else if ended || !rows.batches.is_empty() {
            let early = held.early.entry(number).or_default();
            early.batches.extend(rows.batches);
            early.ended |= ended;
        }
        Ok(self.publish(&held, before))
    }

    /// Fills in what was ahead of its turn, as far as it no longer is.
    fn advance(&self, held: &mut Held, query: &QueryContext) -> Result<()> {
        while let Some(early) = held.early.remove(&held.head) {
            self.fill(held, early.batches, query)?;
            if !early.ended {
                break;
            }
            held.head += 1;
        }
        Ok(())
    }

    fn fill(&self, held: &mut Held, batches: Vec<Batch>, query: &QueryContext) -> Result<()> {
        for batch in batches {
            held.rows += batch.rows as u64;
            held.filling.bytes += weight(&batch);
            held.filling.batches.push(batch);
            if held.filling.bytes >= self.unit_bytes {
                self.seal(held, query)?;
            }
        }
        Ok(())
    }

    /// Makes a unit of what is being filled: in memory, or in a file where memory is short.
    fn seal(&self, held: &mut Held, query: &QueryContext) -> Result<()> {
        let Filling { batches, bytes } = std::mem::take(&mut held.filling);
        held.transferred_bytes += bytes as u64;
        let room = match query.should_spill(held.bytes, bytes) {
            true => None,
            false => match query.budget.reserve(bytes as u64) {
                Ok(room) => Some(room),
                Err(_) if query.temporary.is_some() => None,
                Err(exceeded) => return Err(out_of_memory(exceeded)),
            },
        };
        let unit = match room {
            Some(room) => Unit::Memory { batches, bytes, _room: room },
            None => {
                held.bytes = held.bytes.saturating_sub(bytes);
                let file = match &held.file {
                    Some(file) => file.clone(),
                    None => query.spill_file()?,
                };
                held.file = Some(file.clone());
                let mut stream = SpillStream::new(&file);
                for batch in batches {
                    stream.push(batch)?;
                }
                stream.flush()?;
                Unit::File(stream)
            }
        };
        held.units.push(unit);
        Ok(())
    }

    fn publish(&self, held: &Held, before: usize) -> u64 {
        self.published.store(held.units.len() as u64, Ordering::Release);
        (held.units.len() - before) as u64
    }

    /// The producer has ended: what is left becomes units. Returns what is to be said of the whole.
    fn complete(&self, query: &QueryContext) -> Result<Summary> {
        let mut held = self.held();
        if !self.closed.load(Ordering::Relaxed) {
            // A producer that had enough may have left units out.
            while let Some((_, early)) = held.early.pop_first() {
                self.fill(&mut held, early.batches, query)?;
            }
            if !held.filling.batches.is_empty() {
                self.seal(&mut held, query)?;
            }
            self.publish(&held, 0);
        }
        Ok(Summary {
            units: held.units.len() as u64,
            rows: held.rows,
            bytes: held.transferred_bytes,
            bytes_max: held.bytes_max as u64,
            spilled: held.file.as_ref().map_or(0, |file| file.bytes()),
        })
    }

    /// The next unit as an order of the consumer, while the producer runs.
    pub fn claim(&self) -> Claim {
        loop {
            // Completion is read first: units published before it are then visible.
            let complete = self.complete.load(Ordering::Acquire);
            let published = self.published.load(Ordering::Acquire);
            let claimed = self.claimed.load(Ordering::Acquire);
            if claimed >= published || self.closed.load(Ordering::Acquire) {
                let ended = complete || self.closed.load(Ordering::Acquire);
                return if ended { Claim::Exhausted } else { Claim::Wait };
            }
            let next = claimed + 1;
            if self.claimed.compare_exchange(claimed, next, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Claim::Order(WorkOrder::new(claimed, next, self.unit_of_transfer));
            }
        }
    }

    /// The unit that the next claim takes, if it is there.
    pub fn peek(&self) -> Option<u64> {
        let claimed = self.claimed.load(Ordering::Acquire);
        (claimed < self.published.load(Ordering::Acquire)).then_some(claimed)
    }

    /// No more units come: the producer's segments have ended.
    pub fn inputs_finished(&self) {
        self.complete.store(true, Ordering::Release);
    }

    /// The consumer wants no more than what it has claimed.
    pub fn close(&self) {
        let mut held = self.held();
        self.closed.store(true, Ordering::Release);
        // A claim made before this store is counted here or finds its unit gone, and its consumer has had enough as
        // well.
        let claimed = self.claimed.load(Ordering::Acquire) as usize;
        let kept = claimed.min(held.units.len());
        let unwanted = held.units.split_off(kept);
        let rest = (std::mem::take(&mut held.early), std::mem::take(&mut held.filling));
        drop(held);
        drop((unwanted, rest));
    }

    /// Whether the consumer has so much to do that the producer had better not begin more.
    fn is_far_ahead(&self) -> bool {
        let published = self.published.load(Ordering::Acquire);
        let waiting = published.saturating_sub(self.claimed.load(Ordering::Acquire));
        waiting > UNITS_AHEAD * workorder::parallelism()
            && self.unit_of_transfer != UnitOfTransfer::Table
            && self.open.load(Ordering::Acquire)
            && !self.closed.load(Ordering::Acquire)
    }

    fn take(&self, unit: u64) -> Unit {
        let mut held = self.held();
        let Some(taken) = held.units.get_mut(unit as usize) else { return Unit::Gone };
        let taken = std::mem::replace(taken, Unit::Gone);
        if let Unit::Memory { bytes, .. } = &taken {
            held.bytes = held.bytes.saturating_sub(*bytes);
        }
        taken
    }
}

impl Feed for Transfer {
    fn claim(&self) -> Claim {
        Transfer::claim(self)
    }
    fn peek(&self) -> Option<u64> {
        Transfer::peek(self)
    }
    fn inputs_finished(&self) {
        Transfer::inputs_finished(self);
    }
    fn close(&self) {
        Transfer::close(self);
    }
}

/// Bytes of a batch; rows without columns, which are counted, fill blocks too.
fn weight(batch: &Batch) -> usize {
    batch.bytes().max(batch.rows)
}

/// What went through a transfer.
struct Summary {
    units: u64,
    rows: u64,
    bytes: u64,
    bytes_max: u64,
    spilled: u64,
}

/// The producer's end: fills units with the rows of its batches.
pub struct TransferSink {
    node: NodeId,
    transfer: Arc<Transfer>,
}

/// The consumer's end: a unit of the source is a unit of transfer.
pub struct TransferSource {
    node: NodeId,
    transfer: Arc<Transfer>,
}

/// Both ends of a destination for what plan node `node` puts out.
pub fn transfer(
    node: NodeId,
    unit_of_transfer: UnitOfTransfer,
    query: &QueryContext,
) -> (TransferSink, TransferSource) {
    let transfer = Arc::new(Transfer {
        unit_of_transfer,
        unit_bytes: query.settings.transfer_bytes.saturating_mul(unit_of_transfer.blocks() as usize),
        held: Mutex::default(),
        published: AtomicU64::new(0),
        claimed: AtomicU64::new(0),
        complete: AtomicBool::new(false),
        open: AtomicBool::new(false),
        closed: AtomicBool::new(false),
    });
    (TransferSink { node, transfer: transfer.clone() }, TransferSource { node, transfer })
}

impl TransferSink {
    fn hand_on(&self, number: u64, rows: Filling, ended: bool, work: &Work<'_>) -> Result<Flow> {
        let full = self.transfer.take_in(number, rows, ended, work.query)?;
        if full > 0 && self.unit_of_transfer() != UnitOfTransfer::Table {
            work.context.units_ready(full);
        }
        Ok(if self.has_enough() { Flow::Enough } else { Flow::More })
    }
}

impl Sink for TransferSink {
    fn node(&self) -> NodeId {
        self.node
    }
    fn local(&self) -> Local {
        Box::new(Filling::default())
    }
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        let filling = local_state::<Filling>(local);
        // What crosses a work order's boundary is copied: it may not point into blocks.
        let batch = detached_batch(&batch);
        filling.bytes += weight(&batch);
        filling.batches.push(batch);
        if filling.bytes < self.transfer.unit_bytes {
            return Ok(Flow::More);
        }
        self.hand_on(unit_of(tag), std::mem::take(filling), false, work)
    }
    fn end_unit(&self, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<()> {
        let filling = std::mem::take(local_state::<Filling>(local));
        self.hand_on(unit_of(tag), filling, true, work).map(drop)
    }
    fn finish(&self, _locals: Vec<Local>, query: &QueryContext) -> Result<()> {
        let summary = self.transfer.complete(query)?;
        let metrics = &query.metrics;
        metrics.count(self.node, "transferred units", summary.units);
        metrics.count(self.node, "transferred rows", summary.rows);
        metrics.count(self.node, "transferred bytes", summary.bytes);
        metrics.count(self.node, "waiting at most bytes", summary.bytes_max);
        if summary.spilled > 0 {
            count_spilled(query, self.node, summary.spilled);
        }
        Ok(())
    }
    fn has_enough(&self) -> bool {
        self.transfer.closed.load(Ordering::Acquire)
    }
    fn is_full(&self) -> bool {
        self.transfer.is_far_ahead()
    }
    fn unit_of_transfer(&self) -> UnitOfTransfer {
        self.transfer.unit_of_transfer
    }
}

impl Source for TransferSource {
    fn node(&self) -> NodeId {
        self.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        self.transfer.open.store(true, Ordering::Release);
        match self.transfer.unit_of_transfer {
            UnitOfTransfer::Table => Ok(self.transfer.published.load(Ordering::Acquire)),
            _ => Ok(0),
        }
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let rows = work.query.settings.batch_rows;
        match self.transfer.take(unit) {
            Unit::Memory { batches, .. } => {
                for batch in batches {
                    if slices(&batch, rows, push)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                }
            }
            Unit::File(stream) => {
                let mut reader = SpillReader::new(Arc::new(stream));
                while let Some(batch) = reader.next()? {
                    if slices(&batch, rows, push)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                }
            }
            Unit::Gone => {}
        }
        Ok(Flow::More)
    }
    fn finished(&self) {
        // What a consumer that had enough left over is not kept to the query's end.
        let units = std::mem::take(&mut self.transfer.held().units);
        drop(units);
    }
    fn is_transfer(&self) -> bool {
        true
    }
    fn feed(&self) -> Option<&dyn Feed> {
        (self.transfer.unit_of_transfer != UnitOfTransfer::Table).then_some(&*self.transfer)
    }
}
