//! The end of the pipeline below an exchange: rows are routed, and written into messages.
//!
//! Each worker has a sender of its own with a message open for each node; who takes what is full, and when, is the
//! outbox's. The last to end writes what all have open, and after it the number of messages.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use plan::NodeId;
use types::Result;
use vector::Batch;
use wire::{Buffers, Outlet, Progress, Sealed, Sender};

use super::{Exchange, network_error};
use crate::collect::detached_batch;
use crate::context::{QueryContext, canceled};
use crate::metrics::BYTES_SENT;
use crate::pipeline::{Flow, Local, Sink, Work, local_state};

/// How long a thread that stepped aside sleeps before it looks whether to stop.
const LOOK: Duration = Duration::from_millis(5);

/// The end of a pipeline whose rows go to the nodes.
pub struct ExchangeSink(pub(super) Arc<Exchange>);

struct SinkLocal {
    sender: Option<Sender>,
    sealed: Vec<(usize, Sealed)>,
    /// The unit that rows come from, and how many batches came of it.
    tag: u64,
    batches: u64,
}

/// Where a sender's messages and own rows go.
struct Out<'a> {
    exchange: &'a Exchange,
    place: u64,
    sealed: &'a mut Vec<(usize, Sealed)>,
    /// Rows stayed here.
    kept: bool,
}

impl Outlet for Out<'_> {
    fn send(&mut self, machine: usize, message: Sealed) {
        self.sealed.push((machine, message));
    }
    fn local(&mut self, batch: Batch) {
        let columns = batch.columns.into_iter().take(self.exchange.columns).collect();
        self.kept |= self.exchange.own.put(self.place, Batch::new(columns, batch.rows));
    }
}

impl ExchangeSink {
    fn sender<'a>(&self, local: &'a mut Option<Sender>) -> &'a mut Sender {
        let exchange = &self.0;
        local.get_or_insert_with(|| {
            Sender::new(exchange.out.clone(), exchange.outbox.clone() as Arc<dyn Buffers>, 0)
        })
    }

    /// Sends a batch; one whose columns are large goes in halves, so that no message is full of a part of it.
    fn send(&self, batch: Batch, local: &mut SinkLocal, work: &Work<'_>) -> Result<()> {
        if batch.rows > 1 && batch.bytes() > self.0.piece_bytes {
            return work
                .halves(batch, &mut |half| {
                    self.send(half, local, work)?;
                    Ok(Flow::More)
                })
                .map(drop);
        }
        let exchange = &*self.0;
        let place = exchange.places.map_or(0, |places| places.on_node(local.tag, local.batches));
        local.batches += 1;
        // What crosses a work order's boundary is copied: it may not point into blocks.
        let Batch { columns, rows, .. } = detached_batch(&batch);
        let keys = match &exchange.keys {
            Some(program) => work.query.evaluate(program, &Batch::new(columns.clone(), rows))?,
            None => Vec::new(),
        };
        let batch = Batch::new(exchange.outgoing(columns, keys, place, rows), rows);
        let mut batch = Some(batch);
        loop {
            let sealed = &mut local.sealed;
            let sender = self.sender(&mut local.sender);
            let mut out = Out { exchange, place, sealed, kept: false };
            let progress = match batch.take() {
                Some(batch) => sender.push(batch, &mut out)?,
                None => sender.resume(&mut out)?,
            };
            let kept = out.kept;
            exchange.outbox.put(sealed, exchange.destinations);
            exchange.carry();
            if kept {
                work.context.units_ready(1);
            }
            if progress == Progress::Done {
                break;
            }
            self.wait(work, false)?;
        }
        // The bound of own rows is soft up to here: a batch is not cut because of it.
        if !exchange.own.admits() {
            self.wait(work, true)?;
        }
        Ok(())
    }

    /// Waits in the midst of a unit for room: for messages, or for rows of this node. The worker's place goes to others
    /// meanwhile.
    fn wait(&self, work: &Work<'_>, for_own: bool) -> Result<()> {
        let exchange = &*self.0;
        let begun = Instant::now();
        let mut outcome = Ok(());
        work.context.step_aside(|| {
            outcome = loop {
                if work.context.should_stop() {
                    break Err(canceled());
                }
                if let Some(failure) = exchange.outbox.failure() {
                    break Err(network_error(&failure));
                }
                let room = match for_own {
                    true => exchange.own.admits(),
                    false => exchange.outbox.admits(),
                };
                if room {
                    break Ok(());
                }
                match for_own {
                    true => exchange.own.wait(LOOK),
                    false => exchange.outbox.wait(LOOK),
                }
            };
        });
        exchange.waits.fetch_add(1, Ordering::Relaxed);
        exchange.waited.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        outcome
    }
}

impl Sink for ExchangeSink {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(SinkLocal { sender: None, sealed: Vec::new(), tag: u64::MAX, batches: 0 })
    }
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        let local = local_state::<SinkLocal>(local);
        if local.tag != tag {
            (local.tag, local.batches) = (tag, 0);
        }
        let batch = if batch.is_coded() { batch.dense() } else { batch };
        self.send(batch, local, work)?;
        Ok(Flow::More)
    }
    fn finish(&self, locals: Vec<Local>, query: &QueryContext) -> Result<()> {
        let exchange = &*self.0;
        exchange.outbox.begin_closing();
        let mut last = SinkLocal { sender: None, sealed: Vec::new(), tag: 0, batches: 0 };
        for mut local in locals {
            let local = local_state::<SinkLocal>(&mut local);
            let Some(sender) = &mut local.sender else { continue };
            let mut out = Out { exchange, place: 0, sealed: &mut local.sealed, kept: false };
            // None is refused a message now.
            while sender.finish(&mut out)? == Progress::Stalled {}
            exchange.outbox.put(&mut local.sealed, exchange.destinations);
            last.sender = local.sender.take();
        }
        let sender = self.sender(&mut last.sender);
        let mut out = Out { exchange, place: 0, sealed: &mut last.sealed, kept: false };
        while sender.close(&mut out)? == Progress::Stalled {}
        exchange.outbox.put(&mut last.sealed, exchange.destinations);
        exchange.outbox.put_end();
        exchange.own.complete();
        exchange.carry();
        self.count(query);
        if let Some(failure) = exchange.outbox.failure() {
            return Err(network_error(&failure));
        }
        // The source's claims look at the end of own rows.
        exchange.resume.call();
        Ok(())
    }
    fn may_pause(&self) -> bool {
        true
    }
    fn admits(&self, _tag: u64) -> bool {
        self.0.outbox.admits() && self.0.own.admits()
    }
    fn takes_any_order(&self) -> bool {
        true
    }
}

impl ExchangeSink {
    fn count(&self, query: &QueryContext) {
        let (exchange, metrics) = (&*self.0, &query.metrics);
        let messages = exchange.outbox.messages.load(Ordering::SeqCst);
        metrics.count(exchange.node, "messages sent", messages);
        metrics.count(exchange.node, BYTES_SENT, exchange.outbox.bytes.load(Ordering::SeqCst));
        metrics.count(exchange.node, "rows kept", exchange.own.rows());
        let waits = exchange.waits.load(Ordering::Relaxed);
        if waits > 0 {
            metrics.count(exchange.node, "waits to send", waits);
            let waited = exchange.waited.load(Ordering::Relaxed) / 1_000;
            metrics.count(exchange.node, "microseconds waited to send", waited);
        }
    }
}
