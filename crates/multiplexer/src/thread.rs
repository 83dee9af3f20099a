//! The network thread: the only owner of connections. It runs the traffic of its node over a transport.
//!
//! ```text
//!  loop:  tick: inbox, timers        next_frame of every peer whose link has room --> post_send
//!         poll: waits for sockets, the inbox's wake-up or the next timer; arrivals go into the traffic
//! ```
//! Workers never wait for it and it never waits for them. A panic in it would leave the node deaf: it is caught, all
//! exchanges fail, and the multiplexer counts as stopped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::auto::{MILLISECOND, Nanos};
use crate::error::NetworkError;
use crate::exchange::{ExchangeSpec, Notices, Shared};
use crate::frame::{Frame, NodeId};
use crate::pool::{Message, Pool, SlabSource};
use crate::port::Port;
use crate::traffic::{Accept, Config, Lane, Statistics, Traffic};
use crate::transport::{Events, Transport};

/// How long a stopping node goes on to send.
const DRAIN_MAX: Nanos = 200 * MILLISECOND;

/// The network thread's priority among threads, as `nice` counts.
const NICE: i32 = -5;

/// What others see of the network thread.
#[derive(Default)]
struct Seen {
    statistics: Statistics,
    linked: usize,
    lost: Vec<NetworkError>,
}

/// One node's multiplexer; dropping it ends its thread and closes its links.
pub struct Multiplexer {
    shared: Arc<Shared>,
    seen: Arc<std::sync::Mutex<Seen>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Multiplexer {
    /// Starts the network thread of node `me` over a transport; it connects to all peers at once. Processors say where
    /// the thread may run: near the card, off the core that serves its interrupts; none: anywhere.
    pub fn start(
        me: NodeId,
        config: Config,
        mut transport: Box<dyn Transport>,
        rows: Box<dyn SlabSource>,
        control: Box<dyn SlabSource>,
        notices: Arc<dyn Notices>,
        processors: Vec<usize>,
    ) -> Result<Multiplexer, NetworkError> {
        let (nodes, raises) = (config.nodes, config.raises_priority);
        let traffic = Traffic::new(me, config, rows, control, notices);
        let shared = Arc::clone(&traffic.shared);
        shared.set_waker(transport.waker());
        let seen = Arc::new(std::sync::Mutex::new(Seen::default()));
        let peers = (0..nodes).map(|node| NodeId(node as u16)).filter(|node| *node != me);
        peers.for_each(|peer| transport.connect(peer));
        let (watched, theirs) = (Arc::clone(&seen), Arc::clone(&shared));
        let body = move || {
            if !processors.is_empty() {
                // It runs anywhere then: slower, not wrong.
                let _ = memory::keep_thread_on(&processors);
            }
            if raises {
                // Before workers: starved of the processor it would starve the links. Where that is not allowed it stays as
                // it is.
                let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
            }
            let mut node = Node { traffic, began: Instant::now(), seen: watched };
            let run = std::panic::AssertUnwindSafe(|| node.run(transport.as_mut()));
            let _ = std::panic::catch_unwind(run);
            theirs.stop();
            node.traffic.fail_all(&NetworkError::Stopped);
        };
        let thread = std::thread::Builder::new()
            .name("network".into())
            .spawn(body)
            .map_err(|error| NetworkError::System { what: "the network thread", cause: error.to_string() })?;
        Ok(Multiplexer { shared, seen, thread: Some(thread) })
    }

    /// Opens an exchange on this node.
    pub fn open(&self, spec: ExchangeSpec) -> Result<Port, NetworkError> {
        Port::open(&self.shared, spec)
    }

    /// Peers to which both directions work.
    pub fn linked(&self) -> usize {
        self.seen().linked
    }

    /// Errors of links, oldest first.
    pub fn lost(&self) -> Vec<NetworkError> {
        self.seen().lost.clone()
    }

    /// What the network thread has done, as of its last turn.
    pub fn statistics(&self) -> Statistics {
        self.seen().statistics
    }

    /// The pool of messages for rows.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.shared.pool
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Multiplexer {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Node {
    traffic: Traffic,
    began: Instant,
    seen: Arc<std::sync::Mutex<Seen>>,
}

impl Node {
    fn now(&self) -> Nanos {
        // Zero means "never" to the traffic.
        1 + u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX - 1)
    }

    fn run(&mut self, transport: &mut dyn Transport) {
        let nodes = self.traffic.config().nodes;
        let me = self.traffic.shared.me.index();
        let mut stop_at = None;
        loop {
            let now = self.now();
            self.traffic.tick(now);
            if self.traffic.shared.is_stopped() {
                // What was sent before leaves, if it can soon; nobody is kept waiting for a peer that does not read.
                let limit = *stop_at.get_or_insert(now + DRAIN_MAX);
                if now >= limit || (self.traffic.is_idle() && transport.is_drained()) {
                    return;
                }
            }
            for step in 1..nodes {
                self.send_to(NodeId(((me + step) % nodes) as u16), transport);
            }
            for peer in self.traffic.take_lost() {
                transport.disconnect(peer);
            }
            self.report();
            let now = self.now();
            let timeout = if stop_at.is_some() { MILLISECOND } else { self.traffic.next_due(now) - now };
            let timeout = Duration::from_nanos(timeout);
            if let Err(error) = transport.poll(timeout, self) {
                self.traffic.fail_all(&error);
                return;
            }
        }
    }

    fn send_to(&mut self, peer: NodeId, transport: &mut dyn Transport) {
        for lane in Lane::ORDER {
            while transport.has_room(peer, lane) {
                let now = self.now();
                let Some((frame, body)) = self.traffic.next_frame(peer, lane, now) else { break };
                transport.post_send(peer, lane, frame, body);
            }
        }
    }

    fn report(&mut self) {
        let mut seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        seen.statistics = self.traffic.statistics();
    }
}

impl Events for Node {
    fn linked(&mut self, peer: NodeId) {
        let now = self.now();
        self.traffic.link_up(peer, now);
        self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).linked += 1;
    }

    fn heard(&mut self, peer: NodeId) {
        let now = self.now();
        self.traffic.heard(peer, now);
    }

    fn accept(&mut self, peer: NodeId, frame: &Frame) -> Result<Accept, NetworkError> {
        self.traffic.accept(peer, frame)
    }

    fn arrived(&mut self, peer: NodeId, frame: &Frame, message: Option<Message>) -> Result<(), NetworkError> {
        let now = self.now();
        self.traffic.arrived(peer, frame, message, now)
    }

    fn lost(&mut self, peer: NodeId, error: NetworkError) {
        self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).lost.push(error.clone());
        self.traffic.lost(peer, error);
    }
}
