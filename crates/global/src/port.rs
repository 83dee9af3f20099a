//! The multiplexer as a transport: one exchange for messages, one urgent one for those that must not wait, over TCP, Unix
//! sockets or shared memory as the multiplexer was set up. Credits, pools, budget and the schedule of phases are its own.
//!
//! Invariant: the exchange's receive side is drained whatever the send side does, so credits always come back.

use std::sync::{Arc, OnceLock};

use multiplexer::{
    Class, Config, ExchangeId, ExchangeSpec, Multiplexer, NetworkError, NodeId, Notices, Port, Receive,
    Received,
};
use sync::Gate;

use crate::error::GlobalError;
use crate::transport::{Buffer, Transport};

/// Wakes a runtime when the network thread has something for it. Made before the multiplexer, which is told of it.
#[derive(Default)]
pub struct Doorbell(OnceLock<Arc<Gate>>);

impl Doorbell {
    fn ring(&self) {
        if let Some(gate) = self.0.get() {
            gate.notify(usize::MAX);
        }
    }
}

impl Notices for Doorbell {
    fn messages(&self, _exchange: ExchangeId) {
        self.ring();
    }
    fn room(&self, _exchange: ExchangeId) {
        self.ring();
    }
    fn peer_lost(&self, _error: &NetworkError) {
        self.ring();
    }
}

/// Two exchanges of a multiplexer.
pub struct PortTransport {
    node: u16,
    nodes: u16,
    message_bytes: usize,
    urgent_bytes: usize,
    data: Port,
    urgent: Port,
    doorbell: Arc<Doorbell>,
}

impl PortTransport {
    /// Opens exchange `first` and the next one on a multiplexer of this node; all nodes open the same numbers.
    pub fn open(
        multiplexer: &Multiplexer,
        config: &Config,
        node: NodeId,
        first: u64,
        doorbell: Arc<Doorbell>,
    ) -> Result<Self, GlobalError> {
        let peers: Vec<NodeId> = (0..config.nodes as u16).map(NodeId).filter(|peer| *peer != node).collect();
        let spec = |id, class| ExchangeSpec {
            id: ExchangeId(id),
            priority: 0,
            class,
            sources: peers.clone(),
            destinations: peers.clone(),
        };
        Ok(PortTransport {
            node: node.0,
            nodes: config.nodes as u16,
            message_bytes: config.message_bytes,
            urgent_bytes: config.urgent_bytes,
            data: multiplexer.open(spec(first, Class::Data))?,
            urgent: multiplexer.open(spec(first + 1, Class::Urgent))?,
            doorbell,
        })
    }

    fn port(&self, urgent: bool) -> &Port {
        if urgent { &self.urgent } else { &self.data }
    }
}

impl Transport for PortTransport {
    fn node(&self) -> u16 {
        self.node
    }

    fn nodes(&self) -> u16 {
        self.nodes
    }

    fn buffer_bytes(&self, urgent: bool) -> usize {
        if urgent { self.urgent_bytes } else { self.message_bytes }
    }

    fn attach(&self, gate: Arc<Gate>) {
        let _ = self.doorbell.0.set(gate);
    }

    fn try_buffer(&self, _to: u16, urgent: bool) -> Result<Option<Buffer>, GlobalError> {
        Ok(self.port(urgent).try_take_buffer(0)?.map(Buffer::Message))
    }

    fn send(&self, to: u16, buffer: Buffer, urgent: bool) -> Result<(), GlobalError> {
        match buffer {
            Buffer::Message(message) => Ok(self.port(urgent).send(NodeId(to), message)?),
            Buffer::Own(_) => Err(GlobalError::Malformed { what: "a buffer of another transport" }),
        }
    }

    fn receive(&self) -> Result<Option<(u16, Buffer)>, GlobalError> {
        for port in [&self.urgent, &self.data] {
            if let Receive::Message(Received { message, source, .. }) = port.try_receive(0)? {
                return Ok(Some((source.0, Buffer::Message(message))));
            }
        }
        Ok(None)
    }
}
