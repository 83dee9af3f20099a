//! Transports: what moves frames between two nodes. One trait, so that the network thread does not know which it has.
//!
//! Two-sided, as the paper asks: the receiver learns of arrivals, nobody needs keys for remote memory. Buffers are not
//! posted in advance but asked for when a frame's header is known ([`Events::accept`]), which serves sockets; a transport
//! for registered memory asks for a window's messages when they are granted (`register` shows it the slots).
//!
//! | transport | state |
//! | --- | --- |
//! | [`Sockets`](sockets::Sockets) over TCP and Unix sockets | here |
//! | shared memory between processes of one machine | `Sockets` over Unix sockets with `shared_memory` |
//! | simulated | `simulator`, which runs the traffic code without a network thread |
//! | UCX, loaded when it is there | not yet: it implements this trait (tag send and receive, wake-up mode), and when its library is missing, sockets are taken and that is said |

pub mod sockets;

use std::sync::Arc;
use std::time::Duration;

use crate::error::NetworkError;
use crate::exchange::{Body, Waker};
use crate::frame::{Frame, NodeId};
use crate::pool::Message;
use crate::traffic::{Accept, Lane};

/// What a transport tells the network thread, from within [`Transport::poll`].
pub trait Events {
    /// Both directions to a peer work.
    fn linked(&mut self, peer: NodeId);
    /// Bytes came.
    fn heard(&mut self, peer: NodeId);
    /// A frame with a body came: where does the body go? An error closes the links to this peer.
    fn accept(&mut self, peer: NodeId, frame: &Frame) -> Result<Accept, NetworkError>;
    /// A frame is complete.
    fn arrived(&mut self, peer: NodeId, frame: &Frame, message: Option<Message>) -> Result<(), NetworkError>;
    /// The links to a peer are gone; the transport has closed them.
    fn lost(&mut self, peer: NodeId, error: NetworkError);
}

/// See the head of the file. All calls come from the network thread.
pub trait Transport: Send {
    /// Begins to make the links to a peer; `Events::linked` or `lost` comes.
    fn connect(&mut self, peer: NodeId);
    /// Whether a frame can be posted in a lane now.
    fn has_room(&self, peer: NodeId, lane: Lane) -> bool;
    /// Whether everything that was posted has left this process.
    fn is_drained(&self) -> bool;
    /// Sends a frame and its body; the body is dropped when its bytes have left.
    fn post_send(&mut self, peer: NodeId, lane: Lane, frame: Frame, body: Option<Body>);
    /// Closes all links to a peer.
    fn disconnect(&mut self, peer: NodeId);
    /// Waits for something to happen, at most so long, and tells what did.
    fn poll(&mut self, timeout: Duration, events: &mut dyn Events) -> Result<(), NetworkError>;
    /// Interrupts `poll` from other threads.
    fn waker(&self) -> Arc<dyn Waker>;
    /// Bytes of a frame's body that go out with its header in one piece.
    fn max_inline(&self) -> usize;
    /// Shows memory that messages lie in, once; transports that need no registration ignore it.
    fn register(&mut self, _memory: &[u8]) {}
    /// Connections that are open now, both directions.
    fn connections(&self) -> usize;
}
