//! A port: one exchange on one node, as operators hold it. Nothing here waits.

use std::sync::Arc;

use crate::error::NetworkError;
use crate::exchange::{Body, Command, Exchange, ExchangeSpec, Receive, Received, Shared};
use crate::frame::{ExchangeId, NodeId};
use crate::pool::Message;

/// One exchange on one node; shared by all workers. Dropping it closes it: what was sent still goes out. If its sources
/// have not sent their last yet, dropping it cancels it, everywhere.
pub struct Port {
    exchange: Arc<Exchange>,
}

/// Where received messages can go when memory is short: a temporary file, as a rule.
pub trait Spill {
    /// What finds a message again.
    type Ticket;

    /// Keeps a message's bytes.
    fn keep(&mut self, source: NodeId, sequence: u64, bytes: &[u8]) -> Result<Self::Ticket, NetworkError>;
}

impl Port {
    pub(crate) fn open(shared: &Arc<Shared>, spec: ExchangeSpec) -> Result<Port, NetworkError> {
        Ok(Port { exchange: shared.open(spec)? })
    }

    /// Its number.
    pub fn id(&self) -> ExchangeId {
        self.exchange.spec.id
    }

    /// Nodes that it sends to.
    pub fn destinations(&self) -> &[NodeId] {
        &self.exchange.spec.destinations
    }

    /// A buffer to fill, on this memory node if that has one. None: its share is used up; `Notices::room` comes.
    pub fn try_take_buffer(&self, memory_node: usize) -> Result<Option<Message>, NetworkError> {
        self.exchange.try_take_buffer(memory_node)
    }

    /// Gives a message to the network thread.
    pub fn send(&self, destination: NodeId, message: Message) -> Result<(), NetworkError> {
        self.exchange.send(destination, Some(Body::Own(message)), false)
    }

    /// Gives one message, serialised once, to all destinations; its buffer comes back when the last copy has left.
    pub fn broadcast(&self, message: Message) -> Result<(), NetworkError> {
        let shared = Arc::new(message);
        let all = &self.exchange.spec.destinations;
        all.iter().try_for_each(|to| self.exchange.send(*to, Some(Body::Shared(Arc::clone(&shared))), false))
    }

    /// Says that nothing more comes for a destination.
    pub fn finish(&self, destination: NodeId) -> Result<(), NetworkError> {
        self.exchange.send(destination, None, true)
    }

    /// Says that nothing more comes for any destination.
    pub fn finish_all(&self) -> Result<(), NetworkError> {
        self.exchange.spec.destinations.iter().try_for_each(|destination| self.finish(*destination))
    }

    /// A message of the own memory node's queue, else of another one's.
    pub fn try_receive(&self, memory_node: usize) -> Result<Receive, NetworkError> {
        self.exchange.try_receive(memory_node)
    }

    /// Messages that wait to be taken.
    pub fn waiting(&self) -> usize {
        self.exchange.queued()
    }

    /// Takes the newest waiting message out of memory and keeps its bytes elsewhere, so that its source can send on:
    /// for a consumer that cannot take messages yet while memory is short. It is called by a worker, never by the
    /// network thread, which does no I/O on files. The ticket, with source and number, is the caller's to read back.
    pub fn spill_newest<S: Spill>(
        &self,
        spill: &mut S,
    ) -> Result<Option<(NodeId, u64, S::Ticket)>, NetworkError> {
        self.exchange.check()?;
        let Some(Received { message, source, sequence }) = self.exchange.take_newest() else {
            return Ok(None);
        };
        let ticket = spill.keep(source, sequence, message.bytes())?;
        Ok(Some((source, sequence, ticket)))
    }

    /// The error that ended it, if one did.
    pub fn failure(&self) -> Option<NetworkError> {
        self.exchange.check().err()
    }

    /// Ends it here and on all its nodes: buffers and credits come back, whoever looks gets an error.
    pub fn cancel(&self) {
        let (exchange, by) = (self.id(), self.exchange.shared.me);
        self.exchange.fail(NetworkError::Cancelled { exchange, by });
        self.exchange.shared.command(Command::Cancel(Arc::clone(&self.exchange)));
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.exchange.shared.command(Command::Close(self.exchange.spec.id));
    }
}
