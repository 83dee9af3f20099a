//! A connection that this node made: it writes frames, and reads nothing but a refusal.
//!
//! ```text
//!  EMPTY --begin--> CONNECTING --writable--> HELLO --written--> READY --error--> (closed by the owner)
//!                       +--refused--> EMPTY, retried later
//! ```
//! One frame of each lane at a time; between two fragments of a body in the rows' lane, control goes first.

use std::io::{ErrorKind, IoSlice, Read, Write};
use std::time::Instant;

use rustix::event::epoll::EventFlags;
use socket2::Socket;

use super::{FRAGMENT_BYTES, Terms, decode};
use crate::error::NetworkError;
use crate::exchange::Body;
use crate::frame::{FLAG_CONTINUED, FLAG_REFERENCE, FRAME_BYTES, Frame, Kind, NodeId};
use crate::traffic::Lane;

/// A frame and how much of its body was cut into fragments that are out.
struct Item {
    frame: Frame,
    body: Option<Body>,
    offset: usize,
}

/// What is being written: one frame and one fragment.
struct Piece {
    lane: Lane,
    head: [u8; FRAME_BYTES],
    from: usize,
    to: usize,
    written: usize,
}

#[derive(Default)]
pub(super) struct Outgoing {
    socket: Option<Socket>,
    connected: bool,
    hello_sent: bool,
    control: Option<Item>,
    rows: Option<Item>,
    piece: Option<Piece>,
    blocked: bool,
    watched: Option<EventFlags>,
    pub(super) retry_at: Option<Instant>,
    pub(super) deadline: Option<Instant>,
}

impl Outgoing {
    /// A connection is being made; it will begin with this Hello.
    pub(super) fn begin(&mut self, socket: Socket, hello: Frame) {
        self.socket = Some(socket);
        self.connected = false;
        self.hello_sent = false;
        self.blocked = true;
        self.watched = Some(EventFlags::IN | EventFlags::OUT);
        self.control = Some(Item { frame: hello, body: None, offset: 0 });
    }

    /// Gives up this attempt; the next one at a later time.
    pub(super) fn reset(&mut self, retry_at: Instant) {
        let deadline = self.deadline;
        *self = Outgoing { retry_at: Some(retry_at), deadline, ..Outgoing::default() };
    }

    pub(super) fn is_connecting(&self) -> bool {
        self.socket.is_some() && !self.connected
    }

    pub(super) fn is_ready(&self) -> bool {
        self.hello_sent
    }

    /// Looks whether the connection was made.
    pub(super) fn has_connected(&mut self) -> bool {
        let Some(socket) = &self.socket else { return false };
        self.connected |= matches!(socket.take_error(), Ok(None)) && socket.peer_addr().is_ok();
        self.connected
    }

    pub(super) fn has_room(&self, lane: Lane) -> bool {
        self.hello_sent
            && match lane {
                Lane::Control => self.control.is_none(),
                Lane::Rows => self.rows.is_none(),
            }
    }

    pub(super) fn post(&mut self, lane: Lane, frame: Frame, body: Option<Body>) -> Result<(), String> {
        let place = match lane {
            Lane::Control => &mut self.control,
            Lane::Rows => &mut self.rows,
        };
        *place = Some(Item { frame, body, offset: 0 });
        Ok(())
    }

    /// Which events to wait for, if that has changed.
    pub(super) fn interest(&mut self) -> Option<(&Socket, EventFlags)> {
        let wanted = if self.blocked { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        let changed = self.watched != Some(wanted);
        self.watched = Some(wanted);
        self.socket.as_ref().filter(|_| changed).map(|socket| (socket, wanted))
    }

    /// Why the peer closed the connection.
    pub(super) fn read_refusal(&mut self, terms: &Terms, peer: NodeId) -> Option<NetworkError> {
        let mut socket = self.socket.as_ref()?;
        let mut bytes = [0; FRAME_BYTES];
        let lost = |cause: &str| Some(NetworkError::PeerLost { peer, cause: cause.to_owned() });
        match socket.read(&mut bytes) {
            Ok(FRAME_BYTES) => match decode(peer, &bytes) {
                // A slot of the shared memory is free again.
                Ok(frame) if frame.kind == Kind::Ping => None,
                Ok(frame) if frame.kind == Kind::Refuse => {
                    terms.objection(&frame).or_else(|| lost("it refused the link"))
                }
                Ok(_) => lost("it spoke on a link that it only hears"),
                Err(error) => Some(error),
            },
            Ok(0) => lost("it closed the link"),
            Ok(_) => lost("it sent part of a frame"),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => None,
            Err(error) => lost(&error.to_string()),
        }
    }

    fn item(&mut self, lane: Lane) -> &mut Option<Item> {
        match lane {
            Lane::Control => &mut self.control,
            Lane::Rows => &mut self.rows,
        }
    }

    /// The next fragment: control first.
    fn next_piece(&mut self) -> Option<Piece> {
        let lane = if self.control.is_some() { Lane::Control } else { Lane::Rows };
        let item = self.item(lane).as_ref()?;
        let total = item.body.as_ref().map_or(0, |body| body.message().used());
        let to = total.min(item.offset + FRAGMENT_BYTES);
        let mut frame = item.frame;
        if frame.kind == Kind::Data && !frame.has(FLAG_REFERENCE) {
            frame.value = total as u64;
            frame.length = (to - item.offset) as u32;
            frame.flags |= if item.offset > 0 { FLAG_CONTINUED } else { 0 };
        }
        Some(Piece { lane, head: frame.encode(), from: item.offset, to, written: 0 })
    }

    /// Writes as much as the socket takes.
    pub(super) fn write(&mut self) -> Result<(), String> {
        if !self.connected {
            return Ok(());
        }
        self.blocked = false;
        loop {
            if self.piece.is_none() {
                self.piece = self.next_piece();
            }
            let Some(mut piece) = self.piece.take() else { return Ok(()) };
            let done = self.write_piece(&mut piece)?;
            if !done {
                self.piece = Some(piece);
                self.blocked = true;
                return Ok(());
            }
            self.hello_sent = true;
            let item = self.item(piece.lane);
            let finished = item.as_mut().is_some_and(|item| {
                item.offset = piece.to;
                item.offset >= item.body.as_ref().map_or(0, |body| body.message().used())
            });
            if finished {
                *item = None;
            }
        }
    }

    /// Whether the whole piece was written.
    fn write_piece(&mut self, piece: &mut Piece) -> Result<bool, String> {
        let Some(mut socket) = self.socket.as_ref() else { return Err("there is no link".into()) };
        let item = if piece.lane == Lane::Control { &self.control } else { &self.rows };
        let body = item.as_ref().and_then(|item| item.body.as_ref());
        let body = body.and_then(|body| body.message().bytes().get(piece.from..piece.to)).unwrap_or(&[]);
        while piece.written < FRAME_BYTES + body.len() {
            let rest = &body[piece.written.saturating_sub(FRAME_BYTES)..];
            let head = &piece.head[piece.written.min(FRAME_BYTES)..];
            match socket.write_vectored(&[IoSlice::new(head), IoSlice::new(rest)]) {
                Ok(0) => return Err("nothing more can be written".into()),
                Ok(bytes) => piece.written += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(true)
    }
}
