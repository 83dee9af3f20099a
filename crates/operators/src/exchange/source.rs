//! The beginning of the pipeline above an exchange: any worker takes any message, or rows that stayed on the node.
//!
//! A claim takes a message off its queue; the work order copies it into memory of its own, so that its window is free
//! at once however long its rows are kept, verifies its checksum and reads it. The source ends when all nodes have said
//! that nothing more comes, and all messages that they count are read.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};

use arrow_buffer::MutableBuffer;
use multiplexer::{Receive, Received};
use plan::NodeId;
use types::{Error, Result, SqlState};
use vector::Batch;
use wire::message::Shell;
use wire::{Buffers, Message, Opened, Sealed};
use workorder::{Claim, UnitOfTransfer, WorkOrder};

use super::own::Taken;
use super::{Claimed, Exchange, network_error};
use crate::context::QueryContext;
use crate::pipeline::{Feed, Flow, Local, Push, PushPlaced, Source, Work};
use crate::values::slices;

/// What comes of an exchange.
pub struct ExchangeSource(pub(super) Arc<Exchange>);

/// A message in memory of its own.
fn copied(received: &Received) -> Result<Sealed> {
    let bytes = received.message.bytes();
    let mut memory = MutableBuffer::from_len_zeroed(bytes.len());
    memory.as_slice_mut().copy_from_slice(bytes);
    let nowhere: Weak<wire::Pool> = Weak::new();
    let shell = Shell::new(Box::new(memory), 0, nowhere);
    let message = Message::new(shell).map_err(|_| Error::internal("a new message has another holder"))?;
    message.received()
}

impl Exchange {
    fn order(&self, claimed: Claimed) -> Claim {
        let ticket = self.tickets.fetch_add(1, Ordering::SeqCst);
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner).insert(ticket, claimed);
        Claim::Order(WorkOrder::new(ticket, ticket + 1, UnitOfTransfer::Vector))
    }

    fn take(&self) -> Claim {
        if self.closed.load(Ordering::SeqCst) {
            return Claim::Exhausted;
        }
        let own_ended = match self.own.take() {
            Taken::Batch(rows, room) => {
                if room {
                    self.resume.call();
                }
                return self.order(Claimed::Own(rows));
            }
            Taken::Nothing => false,
            Taken::End => true,
        };
        let port = match self.port() {
            Ok(port) => port,
            Err(error) => return self.order(Claimed::Failure(error)),
        };
        // Counted first: a message that is out of the queue is seen to be read.
        self.reading.fetch_add(1, Ordering::SeqCst);
        let received = port.try_receive(0);
        if let Ok(Receive::Message(message)) = received {
            return self.order(Claimed::Message(Box::new(message)));
        }
        if matches!(received, Ok(Receive::Finished)) {
            self.network_ended.store(true, Ordering::SeqCst);
        }
        let reading = self.reading.fetch_sub(1, Ordering::SeqCst) - 1;
        match received {
            Err(error) => self.order(Claimed::Failure(network_error(&error))),
            Ok(Receive::Finished) => {
                match own_ended {
                    // What is being read may end the exchange: whoever reads it looks, too.
                    true if reading == 0 && !self.is_complete() => self.order(Claimed::Failure(lost())),
                    true => Claim::Exhausted,
                    false => Claim::Wait,
                }
            }
            Ok(_) => Claim::Paused,
        }
    }

    /// Whether all messages that were sent here have been read.
    fn is_complete(&self) -> bool {
        self.receiver.is_done()
    }

    /// Reads a message; its rows with their places.
    fn read(&self, received: Received) -> Result<Vec<(u64, Batch)>> {
        let source = u32::from(received.source.0);
        let sealed = copied(&received)?;
        // From here on its sender may send another one.
        drop(received);
        if sealed.header().stream.source != source {
            return Err(violation("a message names another node than the one it comes from"));
        }
        let batches = match self.receiver.open(sealed, &*self.outbox as &dyn Buffers)? {
            Opened::Rows(batches) => batches,
            Opened::Foreign => return Err(violation("a message of another query came to an exchange")),
        };
        let mut rows = Vec::with_capacity(batches.len());
        for (at, mut batch) in batches.into_iter().enumerate() {
            let mut place = 0;
            if let Some(places) = self.places {
                let carried = batch.columns.last().map(|column| column.value(0));
                let carried = carried.and_then(|value| value.as_i64()).and_then(|n| u64::try_from(n).ok());
                let carried = carried.ok_or_else(|| violation("rows came without their place"))?;
                place = places.among_all(source, carried, at == 0);
            }
            batch.columns.truncate(self.columns);
            self.received.fetch_add(batch.rows as u64, Ordering::Relaxed);
            rows.push((place, batch));
        }
        Ok(rows)
    }
}

fn violation(what: &str) -> Error {
    Error::new(SqlState::ProtocolViolation, what)
}

fn lost() -> Error {
    violation("messages of an exchange are missing")
}

impl Feed for Exchange {
    fn claim(&self) -> Claim {
        self.take()
    }
    fn peek(&self) -> Option<u64> {
        Some(self.tickets.load(Ordering::Relaxed))
    }
    fn inputs_finished(&self) {
        self.own.complete();
    }
    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.own.close();
        self.drain();
        self.resume.call();
    }
}

impl Source for ExchangeSource {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(0)
    }
    fn run(&self, _unit: u64, _local: &mut Local, _work: &Work<'_>, _push: &mut Push<'_>) -> Result<Flow> {
        Err(Error::internal("rows of an exchange have places"))
    }
    fn run_placed(&self, ticket: u64, work: &Work<'_>, push: &mut PushPlaced<'_>) -> Option<Result<Flow>> {
        Some(self.deliver(ticket, work, push))
    }
    fn feed(&self) -> Option<&dyn Feed> {
        Some(&*self.0)
    }
    fn finished(&self) {
        self.0.own.close();
    }
}

impl ExchangeSource {
    fn deliver(&self, ticket: u64, work: &Work<'_>, push: &mut PushPlaced<'_>) -> Result<Flow> {
        let exchange = &*self.0;
        let claimed = exchange.claimed.lock().unwrap_or_else(PoisonError::into_inner).remove(&ticket);
        let mut rows = match claimed {
            None => return Ok(Flow::More),
            Some(Claimed::Failure(error)) => return Err(error),
            Some(Claimed::Own((place, batch))) => {
                let place = exchange.places.map_or(ticket, |p| p.among_all(exchange.me, place, false));
                vec![(place, batch)]
            }
            Some(Claimed::Message(received)) => {
                let read = exchange.read(*received);
                let left = exchange.reading.fetch_sub(1, Ordering::SeqCst) - 1;
                let rows = read?;
                if left == 0 && exchange.network_ended.load(Ordering::SeqCst) && !exchange.is_complete() {
                    return Err(lost());
                }
                rows
            }
        };
        if exchange.places.is_none() {
            rows.iter_mut().for_each(|(place, _)| *place = ticket);
        }
        let batch_rows = work.query.settings.batch_rows;
        for (place, batch) in rows {
            work.check()?;
            if slices(&batch, batch_rows, &mut |part| push(place, part))? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }
}

/// Rows that are at another node only: none.
pub struct Nothing(pub NodeId);

impl Source for Nothing {
    fn node(&self) -> NodeId {
        self.0
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(0)
    }
    fn run(&self, _unit: u64, _local: &mut Local, _work: &Work<'_>, _push: &mut Push<'_>) -> Result<Flow> {
        Ok(Flow::More)
    }
}
