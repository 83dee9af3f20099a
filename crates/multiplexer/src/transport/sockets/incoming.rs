//! A connection that a peer made: frames are read from it, bodies straight into their messages.
//!
//! ```text
//!  STRANGER --Hello that fits--> HEAD --frame with a body--> BODY --all of it--> HEAD
//! ```
//! A header is read together with the end of the body before it, so most reads fill a whole fragment. What a peer sends is
//! checked before anything is kept: a body goes where `accept` says or into scratch, and its length is what the first
//! fragment said.

use std::io::{ErrorKind, IoSliceMut, Read, Write};
use std::time::{Duration, Instant};

use socket2::Socket;

use super::super::Events;
use super::region::Region;
use super::{Address, FRAGMENT_BYTES, Terms, decode};
use crate::error::NetworkError;
use crate::frame::{FLAG_CONTINUED, FLAG_REFERENCE, FRAME_BYTES, Frame, FrameProblem, Kind, NodeId};
use crate::pool::Message;
use crate::traffic::Accept;

/// Bytes that one stream reads before others have their turn.
const TURN_BYTES: usize = 1 << 20;

/// A body that is being received, over its fragments.
struct Partial {
    frame: Frame,
    total: usize,
    filled: usize,
    into: Option<Message>,
}

pub(super) struct Incoming {
    socket: Socket,
    since: Instant,
    peer: Option<NodeId>,
    claimed: NodeId,
    head: [u8; FRAME_BYTES],
    head_filled: usize,
    /// Of each class: urgent messages come between two fragments of rows.
    partial: [Option<Partial>; 2],
    /// The class of the current fragment.
    current: usize,
    /// Bytes of the current fragment that are still to come.
    fragment: usize,
    /// Shared memory that this peer's messages lie in.
    region: Option<Region>,
}

/// What a stream needs to know of its node.
pub(super) struct Surroundings<'n> {
    pub(super) terms: &'n Terms,
    /// Peers that were lost in this view.
    pub(super) closed: &'n [bool],
    pub(super) addresses: &'n [Address],
    pub(super) scratch: &'n mut [u8],
}

impl Incoming {
    pub(super) fn new(socket: Socket) -> Incoming {
        Incoming {
            socket,
            since: Instant::now(),
            peer: None,
            claimed: NodeId(0),
            head: [0; FRAME_BYTES],
            head_filled: 0,
            partial: [None, None],
            current: 0,
            fragment: 0,
            region: None,
        }
    }

    /// Who speaks, once it has said so.
    pub(super) fn peer(&self) -> Option<NodeId> {
        self.peer
    }

    /// Who it said it was.
    pub(super) fn claimed(&self) -> NodeId {
        self.claimed
    }

    pub(super) fn is_late(&self, limit: Duration) -> bool {
        self.peer.is_none() && self.since.elapsed() > limit
    }

    /// Sends an answer, as far as the socket takes it at once.
    pub(super) fn answer(&self, frame: &Frame) {
        let _ = (&self.socket).write(&frame.encode());
    }

    fn name(&self) -> NodeId {
        self.peer.unwrap_or(self.claimed)
    }

    /// Reads what is there, up to a turn's bytes.
    pub(super) fn read(
        &mut self,
        node: &mut Surroundings<'_>,
        events: &mut dyn Events,
    ) -> Result<(), NetworkError> {
        let mut turn = 0;
        while turn < TURN_BYTES {
            let bytes = match self.read_some(node.scratch) {
                Ok(0) => {
                    let (peer, cause) = (self.name(), "it closed the link".to_owned());
                    return Err(NetworkError::PeerLost { peer, cause });
                }
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => {
                    let (peer, cause) = (self.name(), error.to_string());
                    return Err(NetworkError::PeerLost { peer, cause });
                }
            };
            turn += bytes;
            let body = bytes.min(self.fragment);
            self.fragment -= body;
            self.head_filled += bytes - body;
            if let Some(partial) = &mut self.partial[self.current] {
                partial.filled += body;
            }
            self.finish_body(events)?;
            if self.head_filled == FRAME_BYTES {
                self.head_filled = 0;
                self.read_head(node, events)?;
            }
        }
        if let Some(peer) = self.peer.filter(|_| turn > 0) {
            events.heard(peer);
        }
        Ok(())
    }

    /// The rest of the fragment and, behind it, a header.
    fn read_some(&mut self, scratch: &mut [u8]) -> std::io::Result<usize> {
        let head = &mut self.head[self.head_filled..];
        if self.fragment == 0 {
            return self.socket.read(head);
        }
        let body = match &mut self.partial[self.current] {
            Some(Partial { into: Some(message), filled, .. }) => {
                let end = *filled + self.fragment;
                message.space().get_mut(*filled..end)
            }
            _ => scratch.get_mut(..self.fragment),
        };
        match body {
            Some(body) => self.socket.read_vectored(&mut [IoSliceMut::new(body), IoSliceMut::new(head)]),
            None => Err(std::io::Error::other("a fragment beyond its message")),
        }
    }

    fn finish_body(&mut self, events: &mut dyn Events) -> Result<(), NetworkError> {
        let Some(peer) = self.peer else { return Ok(()) };
        let current = &mut self.partial[self.current];
        if current.as_ref().is_some_and(|partial| partial.filled == partial.total)
            && let Some(partial) = current.take()
        {
            events.arrived(peer, &partial.frame, partial.into)?;
        }
        Ok(())
    }

    fn read_head(&mut self, node: &Surroundings<'_>, events: &mut dyn Events) -> Result<(), NetworkError> {
        let mut frame = decode(self.name(), &self.head)?;
        let Some(peer) = self.peer else { return self.greet(&frame, node.terms, node.closed) };
        let bad = |problem| Err(NetworkError::BadFrame { peer, problem });
        if frame.kind != Kind::Data {
            return events.arrived(peer, &frame, None);
        }
        if frame.has(FLAG_REFERENCE) {
            return self.fetch(peer, frame, node, events);
        }
        let (length, total) = (frame.length as usize, usize::try_from(frame.value).unwrap_or(usize::MAX));
        if length > FRAGMENT_BYTES || (length == 0) != (total == 0) || total > u32::MAX as usize {
            return bad(FrameProblem::Length(frame.length));
        }
        let class = frame.class as usize;
        if frame.has(FLAG_CONTINUED) {
            let fits = self.partial[class].as_ref().is_some_and(|partial| {
                partial.filled + length <= partial.total
                    && partial.frame.exchange == frame.exchange
                    && partial.frame.sequence == frame.sequence
            });
            self.fragment = length;
            self.current = class;
            return if fits { Ok(()) } else { bad(FrameProblem::Order) };
        }
        frame.length = total as u32;
        frame.value = 0;
        if total == 0 {
            return events.arrived(peer, &frame, None);
        }
        if self.partial[class].is_some() {
            return bad(FrameProblem::Order);
        }
        if length > total {
            return bad(FrameProblem::Length(frame.length));
        }
        let into = match events.accept(peer, &frame)? {
            Accept::Into(message) => Some(message),
            Accept::Drop => None,
        };
        self.fragment = length;
        self.current = class;
        self.partial[class] = Some(Partial { frame, total, filled: 0, into });
        Ok(())
    }

    /// A message that lies in shared memory.
    fn fetch(
        &mut self,
        peer: NodeId,
        mut frame: Frame,
        node: &Surroundings<'_>,
        events: &mut dyn Events,
    ) -> Result<(), NetworkError> {
        let bad = |problem| NetworkError::BadFrame { peer, problem };
        if self.region.is_none() {
            let sender = node.addresses.get(peer.index());
            let bytes = node.terms.message_bytes as usize;
            self.region = sender.and_then(|sender| Region::open(sender, node.terms.me, bytes));
        }
        let Some(region) = &self.region else { return Err(bad(FrameProblem::Reference(frame.value))) };
        let slot = std::mem::take(&mut frame.value);
        frame.flags &= !FLAG_REFERENCE;
        let message = match events.accept(peer, &frame)? {
            Accept::Into(mut message) => {
                let length = frame.length as usize;
                let found = message.space().get_mut(..length).is_some_and(|space| region.get(slot, space));
                if !found {
                    return Err(bad(FrameProblem::Reference(slot)));
                }
                Some(message)
            }
            Accept::Drop => None,
        };
        if region.release(slot) {
            self.answer(&Frame::control(Kind::Ping, frame.epoch, frame.destination, peer));
        }
        events.arrived(peer, &frame, message)
    }

    /// The first frame: who speaks.
    fn greet(&mut self, frame: &Frame, terms: &Terms, closed: &[bool]) -> Result<(), NetworkError> {
        let peer = frame.source;
        self.claimed = peer;
        let bad = |problem| Err(NetworkError::BadFrame { peer, problem });
        if frame.kind != Kind::Hello {
            return bad(FrameProblem::Order);
        }
        if peer.index() >= terms.nodes || peer == terms.me || frame.destination != terms.me {
            return bad(FrameProblem::Address);
        }
        if let Some(error) = terms.objection(frame) {
            return Err(error);
        }
        if closed[peer.index()] {
            return Err(NetworkError::PeerLost { peer, cause: "it was lost in this view".into() });
        }
        self.peer = Some(peer);
        Ok(())
    }
}
