//! The insert destination between two segments when the unit of transfer is `block`.
//!
//! ```text
//!  producer's work orders --batches--> local buffer --full unit--> [unit 0][unit 1]... --claim--> consumer's orders
//! ```
//! A producer fills a buffer of its own and publishes it when it is full; what is left at the producer's end is
//! published by `finish`. Publishing takes a lock for the moment of a push; claiming is one atomic step.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use plan::NodeId;
use types::Result;
use vector::Batch;
use workorder::{Claim, UnitOfTransfer, WorkOrder};

use crate::collect::detached_batch;
use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Sink, Source, Work, local_state};
use crate::values::slices;

#[derive(Default)]
pub struct Transfer {
    units: Mutex<Vec<Option<Batch>>>,
    published: AtomicU64,
    claimed: AtomicU64,
    complete: AtomicBool,
}

impl Transfer {
    fn publish(&self, batches: Vec<Batch>) {
        let unit = Batch::concat(&batches);
        let mut units = self.units.lock().unwrap_or_else(PoisonError::into_inner);
        units.push(Some(unit));
        self.published.store(units.len() as u64, Ordering::Release);
    }
    pub fn claim(&self, unit_of_transfer: UnitOfTransfer) -> Claim {
        loop {
            // Completion is read first: units published before it are then visible.
            let complete = self.complete.load(Ordering::Acquire);
            let published = self.published.load(Ordering::Acquire);
            let claimed = self.claimed.load(Ordering::Acquire);
            if claimed >= published {
                return if complete { Claim::Exhausted } else { Claim::Wait };
            }
            let next = claimed + 1;
            if self.claimed.compare_exchange(claimed, next, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Claim::Order(WorkOrder::new(claimed, next, unit_of_transfer));
            }
        }
    }
    /// The unit that the next claim takes, if it is there.
    pub fn peek(&self) -> Option<u64> {
        let claimed = self.claimed.load(Ordering::Acquire);
        (claimed < self.published.load(Ordering::Acquire)).then_some(claimed)
    }
    pub fn inputs_finished(&self) {
        self.complete.store(true, Ordering::Release);
    }
    fn take(&self, unit: u64) -> Option<Batch> {
        let mut units = self.units.lock().unwrap_or_else(PoisonError::into_inner);
        units.get_mut(unit as usize).and_then(Option::take)
    }
}

pub struct TransferSink {
    node: NodeId,
    transfer: Arc<Transfer>,
}

pub struct TransferSource {
    node: NodeId,
    transfer: Arc<Transfer>,
}

/// Both ends of a destination that belongs to plan node `node`.
pub fn transfer(node: NodeId) -> (TransferSink, TransferSource) {
    let transfer = Arc::new(Transfer::default());
    (TransferSink { node, transfer: transfer.clone() }, TransferSource { node, transfer })
}

#[derive(Default)]
struct Filling {
    batches: Vec<Batch>,
    bytes: usize,
}

impl Sink for TransferSink {
    fn node(&self) -> NodeId {
        self.node
    }
    fn local(&self) -> Local {
        Box::new(Filling::default())
    }
    fn consume(&self, batch: Batch, _tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        let filling = local_state::<Filling>(local);
        // What crosses a work order's boundary is copied: it may not point into blocks.
        let batch = detached_batch(&batch);
        filling.bytes += batch.bytes();
        filling.batches.push(batch);
        if filling.bytes >= work.query.settings.transfer_bytes {
            filling.bytes = 0;
            self.transfer.publish(std::mem::take(&mut filling.batches));
            work.context.units_ready(1);
        }
        Ok(Flow::More)
    }
    fn finish(&self, locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        for mut local in locals {
            let filling = local_state::<Filling>(&mut local);
            if !filling.batches.is_empty() {
                self.transfer.publish(std::mem::take(&mut filling.batches));
            }
        }
        Ok(())
    }
    fn wants_full_batches(&self) -> bool {
        false
    }
}

impl Source for TransferSource {
    fn node(&self) -> NodeId {
        self.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(0)
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        match self.transfer.take(unit) {
            Some(batch) => slices(&batch, work.query.settings.batch_rows, push),
            None => Ok(Flow::More),
        }
    }
    fn transfer(&self) -> Option<&Transfer> {
        Some(&self.transfer)
    }
}
