//! TCP and Unix sockets, driven by epoll; over Unix sockets messages may lie in shared memory (`region.rs`).
//!
//! ```text
//!  node i --k streams--> node j       k streams each way for each pair: n(n-1)k connections
//!
//!  a stream:  Hello | frame body | frame body | ...        bodies are cut into fragments of 64 KiB, each with a frame,
//!                                                          so that control goes between two of them
//!  fragment:  value = bytes of the whole body; all but the first have FLAG_CONTINUED
//! ```
//! Each node connects to every other one and sends on these connections only; what it accepts, it reads. The acceptor
//! answers a Hello that does not fit with Refuse and closes; so the connecting side knows why. Streams that do not say
//! Hello in time are closed. A lost stream closes all of its peer's: links only suspect, membership is decided elsewhere,
//! and a peer that was lost is not linked again in this view.
//!
//! Control goes on the first stream of a peer, rows on any stream that is free. `TCP_NOTSENT_LOWAT` keeps what waits in the
//! kernel short, so that the order in which frames are chosen is the order on the link.

mod incoming;
mod options;
mod outgoing;
mod region;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::{Events, Transport};
use crate::error::NetworkError;
use crate::exchange::{Body, Waker};
use crate::frame::{FLAG_REFERENCE, FRAME_BYTES, Frame, FrameProblem, Kind, NodeId};
use crate::traffic::Lane;

use incoming::{Incoming, Surroundings};
pub use options::{Address, Exposure, SocketOptions};
use outgoing::Outgoing;
use region::Region;

/// Bytes of a body between two chances for control.
pub(crate) const FRAGMENT_BYTES: usize = 64 << 10;
/// Smaller messages go through the socket: one system call either way, and no slot is held.
const SHARED_MIN: usize = 16 << 10;
const RETRY_AFTER: Duration = Duration::from_millis(20);
const HELLO_WITHIN: Duration = Duration::from_secs(5);

const LISTENER: u64 = 0;
const WAKE_UP: u64 = 1;
const FIRST_OUTGOING: u64 = 2;
const INCOMING: u64 = 1 << 32;

/// What both sides of a link must agree on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) me: NodeId,
    pub(crate) nodes: usize,
    pub(crate) streams: usize,
    pub(crate) epoch: u64,
    pub(crate) message_bytes: u64,
}

impl Terms {
    fn hello(&self, peer: NodeId, stream: usize) -> Frame {
        let mut frame = Frame::control(Kind::Hello, self.epoch, self.me, peer);
        frame.sequence = stream as u64;
        frame.value = self.message_bytes;
        frame
    }

    fn refuse(&self, peer: NodeId) -> Frame {
        let mut frame = Frame::control(Kind::Refuse, self.epoch, self.me, peer);
        frame.value = self.message_bytes;
        frame
    }

    /// Why a peer with these terms does not fit, if it does not.
    pub(crate) fn objection(&self, frame: &Frame) -> Option<NetworkError> {
        let peer = frame.source;
        if frame.epoch != self.epoch {
            return Some(NetworkError::WrongEpoch { peer, theirs: frame.epoch, ours: self.epoch });
        }
        (frame.value != self.message_bytes).then_some(NetworkError::MessageSizes {
            peer,
            theirs: frame.value,
            ours: self.message_bytes,
        })
    }
}

/// The wake-up descriptor.
struct EventFd(OwnedFd);

impl Waker for EventFd {
    fn wake(&self) {
        // Full means that it is awake already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// See the head of the file.
pub struct Sockets {
    terms: Terms,
    options: SocketOptions,
    addresses: Vec<Address>,
    listener: Socket,
    listening_at: Address,
    epoll: OwnedFd,
    wake: Arc<EventFd>,
    /// By peer and stream.
    outgoing: Vec<Outgoing>,
    incoming: Vec<Option<Incoming>>,
    /// By peer: shared memory for messages to it.
    regions: Vec<Option<Region>>,
    linked: Vec<bool>,
    closed: Vec<bool>,
    /// Losses that were found outside of `poll`.
    pending_losses: Vec<(NodeId, NetworkError)>,
    ready: Vec<(u64, epoll::EventFlags)>,
    scratch: Box<[u8]>,
    next_stream: usize,
}

fn system(what: &'static str) -> impl Fn(std::io::Error) -> NetworkError {
    move |error| NetworkError::System { what, cause: error.to_string() }
}

fn refused(what: &'static str) -> impl Fn(Errno) -> NetworkError {
    move |error| NetworkError::System { what, cause: error.to_string() }
}

fn domain_of(address: &SockAddr) -> (Domain, Option<Protocol>) {
    let domain = address.domain();
    (domain, (domain != Domain::UNIX).then_some(Protocol::TCP))
}

impl Sockets {
    /// Listens on an address. Anything beyond loopback has to be meant: see [`Exposure`].
    pub fn listen(
        me: NodeId,
        config: &crate::traffic::Config,
        at: &Address,
        exposure: Exposure,
        options: SocketOptions,
    ) -> Result<Sockets, NetworkError> {
        if at.is_exposed() && exposure != Exposure::Meant {
            return Err(NetworkError::Exposed { address: at.to_string() });
        }
        if let Address::Unix(path) = at {
            // A path that a former process left would refuse the bind.
            let _ = std::fs::remove_file(path);
        }
        let address = at.as_socket_address()?;
        let (domain, protocol) = domain_of(&address);
        let listener = Socket::new(domain, Type::STREAM, protocol).map_err(system("a socket"))?;
        if domain != Domain::UNIX {
            listener.set_reuse_address(true).map_err(system("a listener's address"))?;
        }
        options.apply_buffers(&listener)?;
        listener.bind(&address).map_err(system("binding the listener"))?;
        listener.listen(1024).map_err(system("listening"))?;
        listener.set_nonblocking(true).map_err(system("a listener"))?;
        let listening_at = match at {
            Address::Tcp(_) => {
                let bound = listener.local_addr().map_err(system("the listener's address"))?;
                bound.as_socket().map_or(at.clone(), Address::Tcp)
            }
            Address::Unix(_) => at.clone(),
        };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(refused("epoll"))?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(refused("eventfd"))?;
        let add = |source: &dyn AsFd, token| {
            epoll::add(&epoll, source.as_fd(), epoll::EventData::new_u64(token), epoll::EventFlags::IN)
        };
        add(&listener, LISTENER).map_err(refused("epoll"))?;
        add(&wake, WAKE_UP).map_err(refused("epoll"))?;
        let terms = Terms {
            me,
            nodes: config.nodes,
            streams: options.streams.max(1),
            epoch: config.epoch,
            message_bytes: config.message_bytes as u64,
        };
        Ok(Sockets {
            outgoing: (0..terms.nodes * terms.streams).map(|_| Outgoing::default()).collect(),
            incoming: Vec::new(),
            regions: (0..terms.nodes).map(|_| None).collect(),
            linked: vec![false; terms.nodes],
            closed: vec![false; terms.nodes],
            pending_losses: Vec::new(),
            ready: Vec::with_capacity(256),
            scratch: vec![0; FRAGMENT_BYTES].into(),
            next_stream: 0,
            addresses: Vec::new(),
            wake: Arc::new(EventFd(wake)),
            terms,
            options,
            listener,
            listening_at,
            epoll,
        })
    }

    /// Where it listens: with the port that the system chose, if none was given.
    pub fn address(&self) -> &Address {
        &self.listening_at
    }

    /// Says where the nodes are, by their numbers; before `connect`.
    pub fn set_addresses(&mut self, addresses: Vec<Address>) {
        self.addresses = addresses;
    }

    fn streams_of(&self, peer: NodeId) -> std::ops::Range<usize> {
        let first = peer.index() * self.terms.streams;
        first..first + self.terms.streams
    }

    fn start(&mut self, at: usize) -> Result<(), String> {
        let peer = NodeId((at / self.terms.streams) as u16);
        let address = self.addresses.get(peer.index()).ok_or("no address")?;
        let address = address.as_socket_address().map_err(|error| error.to_string())?;
        let (domain, protocol) = domain_of(&address);
        let socket = Socket::new(domain, Type::STREAM, protocol).map_err(|error| error.to_string())?;
        socket.set_nonblocking(true).map_err(|error| error.to_string())?;
        self.options.apply(&socket, domain != Domain::UNIX).map_err(|error| error.to_string())?;
        let begun = match socket.connect(&address) {
            Ok(()) => true,
            Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => true,
            Err(_) => false,
        };
        let hello = self.terms.hello(peer, at % self.terms.streams);
        let out = &mut self.outgoing[at];
        if begun {
            let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT;
            let token = epoll::EventData::new_u64(FIRST_OUTGOING + at as u64);
            epoll::add(&self.epoll, &socket, token, flags).map_err(|error| error.to_string())?;
            out.begin(socket, hello);
        } else {
            out.retry_at = Some(Instant::now() + RETRY_AFTER);
        }
        Ok(())
    }

    fn retry(&mut self) {
        let now = Instant::now();
        for at in 0..self.outgoing.len() {
            if self.outgoing[at].retry_at.is_some_and(|due| due <= now) {
                self.outgoing[at].retry_at = None;
                let peer = NodeId((at / self.terms.streams) as u16);
                let cause = if self.outgoing[at].deadline.is_some_and(|deadline| now > deadline) {
                    Err("it cannot be reached".to_owned())
                } else {
                    self.start(at)
                };
                if let Err(cause) = cause {
                    self.pending_losses.push((peer, NetworkError::PeerLost { peer, cause }));
                }
            }
        }
    }

    fn accept_all(&mut self) {
        while let Ok((socket, _)) = self.listener.accept() {
            let tcp = socket.local_addr().is_ok_and(|address| address.domain() != Domain::UNIX);
            if socket.set_nonblocking(true).is_err() || self.options.apply(&socket, tcp).is_err() {
                continue;
            }
            let free = self.incoming.iter().position(Option::is_none);
            let at = free.unwrap_or(self.incoming.len());
            // Every peer's streams, and a few that have yet to say who they are.
            if at >= self.terms.nodes * self.terms.streams + 64 {
                continue;
            }
            let token = epoll::EventData::new_u64(INCOMING + at as u64);
            if epoll::add(&self.epoll, &socket, token, epoll::EventFlags::IN).is_err() {
                continue;
            }
            let stream = Some(Incoming::new(socket));
            match self.incoming.get_mut(at) {
                Some(place) => *place = stream,
                None => self.incoming.push(stream),
            }
        }
    }

    fn read_incoming(&mut self, at: usize, events: &mut dyn Events) {
        let Some(stream) = self.incoming.get_mut(at).and_then(Option::as_mut) else { return };
        let known = stream.peer();
        let mut node = Surroundings {
            terms: &self.terms,
            closed: &self.closed,
            addresses: &self.addresses,
            scratch: &mut self.scratch,
        };
        let result = stream.read(&mut node, events);
        let peer = stream.peer();
        match result {
            Ok(()) => {
                if let (None, Some(peer)) = (known, peer) {
                    self.link_if_complete(peer, events);
                }
            }
            Err(error) => {
                let refused =
                    matches!(error, NetworkError::WrongEpoch { .. } | NetworkError::MessageSizes { .. });
                if let (None, true, Some(Some(stream))) = (known, refused, self.incoming.get(at)) {
                    stream.answer(&self.terms.refuse(stream.claimed()));
                }
                self.incoming[at] = None;
                if let Some(peer) = known {
                    self.lose(peer, error, events);
                }
            }
        }
    }

    fn link_if_complete(&mut self, peer: NodeId, events: &mut dyn Events) {
        let out = self.streams_of(peer).all(|at| self.outgoing[at].is_ready());
        let came = self.incoming.iter().flatten().filter(|stream| stream.peer() == Some(peer)).count();
        if out && came >= self.terms.streams && !std::mem::replace(&mut self.linked[peer.index()], true) {
            events.linked(peer);
        }
    }

    fn drive_outgoing(&mut self, at: usize, flags: epoll::EventFlags, events: &mut dyn Events) {
        let peer = NodeId((at / self.terms.streams) as u16);
        let Some(out) = self.outgoing.get_mut(at) else { return };
        let was_ready = out.is_ready();
        if !was_ready && !out.has_connected() {
            if out.is_connecting() {
                out.reset(Instant::now() + RETRY_AFTER);
            }
            return;
        }
        let closed =
            flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        if closed && let Some(error) = out.read_refusal(&self.terms, peer) {
            self.lose(peer, error, events);
            return;
        }
        if let Err(cause) = self.outgoing[at].write() {
            self.lose(peer, NetworkError::PeerLost { peer, cause }, events);
            return;
        }
        self.watch(at);
        if !was_ready && self.outgoing[at].is_ready() {
            self.link_if_complete(peer, events);
        }
    }

    /// Asks for write events while a stream is blocked, and only then.
    fn watch(&mut self, at: usize) {
        let out = &mut self.outgoing[at];
        if let Some((socket, flags)) = out.interest() {
            let token = epoll::EventData::new_u64(FIRST_OUTGOING + at as u64);
            let _ = epoll::modify(&self.epoll, socket, token, flags);
        }
    }

    fn lose(&mut self, peer: NodeId, error: NetworkError, events: &mut dyn Events) {
        if !self.closed[peer.index()] {
            self.disconnect(peer);
            events.lost(peer, error);
        }
    }

    /// A peer that is not linked in time is lost, whichever direction is missing.
    fn give_up_late_links(&mut self, events: &mut dyn Events) {
        let now = Instant::now();
        for peer in (0..self.terms.nodes).map(|node| NodeId(node as u16)) {
            let first = self.streams_of(peer).start;
            let late = self.outgoing[first].deadline.is_some_and(|deadline| now > deadline);
            if late && !self.linked[peer.index()] && !self.closed[peer.index()] {
                let cause = "the links did not come about in time".to_owned();
                self.lose(peer, NetworkError::PeerLost { peer, cause }, events);
            }
        }
    }

    /// A large message for a process of this machine: into the pair's region, and the frame refers to it.
    fn put_in_shared_memory(
        &mut self,
        peer: NodeId,
        lane: Lane,
        mut frame: Frame,
        body: Option<Body>,
    ) -> (Frame, Option<Body>) {
        let region = self.regions[peer.index()].as_ref().filter(|_| lane == Lane::Rows);
        let large =
            body.as_ref().map(|body| body.message().bytes()).filter(|bytes| bytes.len() >= SHARED_MIN);
        let Some(slot) = region.zip(large).and_then(|(region, bytes)| region.put(bytes)) else {
            return (frame, body);
        };
        frame.flags |= FLAG_REFERENCE;
        frame.value = slot;
        (frame, None)
    }

    fn close_late_strangers(&mut self) {
        for stream in &mut self.incoming {
            if stream.as_ref().is_some_and(|stream| stream.is_late(HELLO_WITHIN)) {
                *stream = None;
            }
        }
    }
}

impl Transport for Sockets {
    fn connect(&mut self, peer: NodeId) {
        if self.options.shared_memory {
            let bytes = self.terms.message_bytes as usize;
            self.regions[peer.index()] = Region::create(&self.listening_at, peer, bytes);
        }
        for at in self.streams_of(peer) {
            self.outgoing[at].deadline = Some(Instant::now() + self.options.connect_within);
            self.outgoing[at].retry_at = Some(Instant::now());
        }
        self.retry();
    }

    fn has_room(&self, peer: NodeId, lane: Lane) -> bool {
        let mut streams = self.streams_of(peer);
        self.linked[peer.index()]
            && match lane {
                Lane::Control => streams.next().is_some_and(|first| self.outgoing[first].has_room(lane)),
                Lane::Rows => {
                    streams.any(|at| self.outgoing[at].has_room(lane))
                        && self.regions[peer.index()].as_ref().is_none_or(Region::has_room)
                }
            }
    }

    fn is_drained(&self) -> bool {
        self.outgoing
            .iter()
            .all(|out| !out.is_ready() || (out.has_room(Lane::Control) && out.has_room(Lane::Rows)))
    }

    fn post_send(&mut self, peer: NodeId, lane: Lane, frame: Frame, body: Option<Body>) {
        let (frame, body) = self.put_in_shared_memory(peer, lane, frame, body);
        let streams = self.streams_of(peer);
        let first = streams.start;
        self.next_stream = self.next_stream.wrapping_add(1);
        let turn = self.next_stream % self.terms.streams;
        let chosen = match lane {
            Lane::Control => Some(first),
            Lane::Rows => streams
                .clone()
                .map(|at| first + (at - first + turn) % self.terms.streams)
                .find(|at| self.outgoing[*at].has_room(lane)),
        };
        let Some(at) = chosen else { return };
        let result = self.outgoing[at].post(lane, frame, body).and_then(|()| self.outgoing[at].write());
        match result {
            Ok(()) => self.watch(at),
            Err(cause) => self.pending_losses.push((peer, NetworkError::PeerLost { peer, cause })),
        }
    }

    fn disconnect(&mut self, peer: NodeId) {
        self.closed[peer.index()] = true;
        self.linked[peer.index()] = false;
        self.regions[peer.index()] = None;
        for at in self.streams_of(peer) {
            self.outgoing[at] = Outgoing::default();
        }
        for stream in &mut self.incoming {
            if stream.as_ref().is_some_and(|stream| stream.peer() == Some(peer)) {
                *stream = None;
            }
        }
    }

    fn poll(&mut self, timeout: Duration, events: &mut dyn Events) -> Result<(), NetworkError> {
        let retrying = self.outgoing.iter().any(|out| out.retry_at.is_some());
        let timeout = if !self.pending_losses.is_empty() {
            Duration::ZERO
        } else if retrying {
            timeout.min(RETRY_AFTER)
        } else {
            timeout
        };
        let limit = rustix::event::Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: timeout.subsec_nanos().into(),
        };
        self.ready.clear();
        let mut events_now = [std::mem::MaybeUninit::uninit(); 64];
        match epoll::wait(&self.epoll, &mut events_now, Some(&limit)) {
            Ok((found, _)) => self.ready.extend(found.iter().map(|event| (event.data.u64(), event.flags))),
            Err(Errno::INTR) => {}
            Err(error) => return Err(refused("epoll")(error)),
        }
        for (peer, error) in std::mem::take(&mut self.pending_losses) {
            self.lose(peer, error, events);
        }
        let ready = std::mem::take(&mut self.ready);
        for &(token, flags) in &ready {
            match token {
                LISTENER => self.accept_all(),
                WAKE_UP => {
                    let _ = rustix::io::read(&self.wake.0, &mut [0_u8; 8]);
                }
                token if token >= INCOMING => self.read_incoming((token - INCOMING) as usize, events),
                token => self.drive_outgoing((token - FIRST_OUTGOING) as usize, flags, events),
            }
        }
        self.ready = ready;
        self.retry();
        self.close_late_strangers();
        self.give_up_late_links(events);
        Ok(())
    }

    fn waker(&self) -> Arc<dyn Waker> {
        Arc::clone(&self.wake) as Arc<dyn Waker>
    }

    fn max_inline(&self) -> usize {
        FRAGMENT_BYTES
    }

    fn connections(&self) -> usize {
        let out = self.outgoing.iter().filter(|out| out.is_ready()).count();
        out + self.incoming.iter().flatten().filter(|stream| stream.peer().is_some()).count()
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        if let Address::Unix(path) = &self.listening_at {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A frame that lies in a buffer.
fn decode(peer: NodeId, bytes: &[u8; FRAME_BYTES]) -> Result<Frame, NetworkError> {
    Frame::decode(bytes).map_err(|problem: FrameProblem| NetworkError::BadFrame { peer, problem })
}
