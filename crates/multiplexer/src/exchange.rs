//! An exchange as workers see it: buffers to fill, messages to take, and nothing that waits.
//!
//! Workers and the network thread share three things: the exchange's receive queues (a lock each, held for a push or a
//! pop), a few atomic counts, and the *inbox* of commands for the network thread. Whoever finds nothing (no buffer, no
//! message) goes away; a notice comes when that changes: `messages` when the queues become non-empty or the exchange
//! ends or fails, `room` when a buffer can be had again. Both are edge-triggered and come from the network thread.
//!
//! ```text
//!  try_take_buffer -> Message --send/broadcast--> inbox --network thread--> link
//!  link --network thread--> queue[memory node], in turn --try_receive: own first, then the others'--> Received --drop-->
//!                                                                    its window is granted anew
//! ```

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::error::NetworkError;
use crate::frame::{Class, ExchangeId, NodeId};
use crate::pool::{Account, Message, Pool};

/// The least a message must be worth: smaller ones are "mice" and go before bulk.
pub const MOUSE_BYTES: usize = 64 << 10;

/// What an exchange is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeSpec {
    /// Its number, the same on all nodes.
    pub id: ExchangeId,
    /// Of two exchanges with bulk for one peer the one of higher priority goes first.
    pub priority: u8,
    /// Rows, or control.
    pub class: Class,
    /// Nodes that send to this one, without itself.
    pub sources: Vec<NodeId>,
    /// Nodes that this one sends to, without itself.
    pub destinations: Vec<NodeId>,
}

/// Who is told that something changed; called on the network thread, so it must be short.
pub trait Notices: Send + Sync {
    /// There are messages, or the exchange has ended or failed.
    fn messages(&self, exchange: ExchangeId);
    /// A buffer can be had again.
    fn room(&self, exchange: ExchangeId);
    /// The link to a peer is gone.
    fn peer_lost(&self, error: &NetworkError);
}

/// Nobody is told.
pub struct Silent;

impl Notices for Silent {
    fn messages(&self, _exchange: ExchangeId) {}
    fn room(&self, _exchange: ExchangeId) {}
    fn peer_lost(&self, _error: &NetworkError) {}
}

/// Interrupts the network thread's wait.
pub trait Waker: Send + Sync {
    /// It looks into its inbox soon.
    fn wake(&self);
}

/// A message's bytes on their way out: of one owner, or shared by a broadcast.
#[derive(Debug)]
pub enum Body {
    /// For one destination.
    Own(Message),
    /// For several.
    Shared(Arc<Message>),
}

impl Body {
    /// The message.
    pub fn message(&self) -> &Message {
        match self {
            Body::Own(message) => message,
            Body::Shared(message) => message,
        }
    }
}

/// What workers ask of the network thread.
pub(crate) enum Command {
    Open(Arc<Exchange>),
    Send { exchange: Arc<Exchange>, destination: usize, sequence: u64, body: Option<Body>, last: bool },
    Cancel(Arc<Exchange>),
    Close(ExchangeId),
    Room,
}

/// What all of one node's threads share.
pub struct Shared {
    pub(crate) me: NodeId,
    pub(crate) nodes: usize,
    pub(crate) pool: Arc<Pool>,
    pub(crate) urgent_pool: Arc<Pool>,
    pub(crate) memory_nodes: usize,
    pub(crate) window_max: usize,
    pub(crate) send_max: usize,
    pub(crate) notices: Arc<dyn Notices>,
    inbox: Mutex<Vec<Command>>,
    waker: OnceLock<Arc<dyn Waker>>,
    stopped: AtomicBool,
}

impl Shared {
    pub(crate) fn new(
        me: NodeId,
        config: &crate::traffic::Config,
        pool: Arc<Pool>,
        urgent_pool: Arc<Pool>,
        notices: Arc<dyn Notices>,
    ) -> Arc<Shared> {
        let shared = Arc::new(Shared {
            me,
            nodes: config.nodes,
            memory_nodes: config.memory_nodes.max(1),
            window_max: config.window_messages_max.max(1),
            send_max: config.send_messages_max.max(1),
            notices,
            inbox: Mutex::new(Vec::with_capacity(256)),
            waker: OnceLock::new(),
            stopped: AtomicBool::new(false),
            pool,
            urgent_pool,
        });
        for pool in [&shared.pool, &shared.urgent_pool] {
            let shared = Arc::downgrade(&shared);
            pool.on_release(Arc::new(move || {
                if let Some(shared) = shared.upgrade() {
                    shared.command(Command::Room);
                }
            }));
        }
        shared
    }

    pub(crate) fn set_waker(&self, waker: Arc<dyn Waker>) {
        let _ = self.waker.set(waker);
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.wake();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake();
        }
    }

    pub(crate) fn command(&self, command: Command) {
        self.commands(|inbox| inbox.push(command));
    }

    fn commands(&self, add: impl FnOnce(&mut Vec<Command>)) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = inbox.is_empty();
        add(&mut inbox);
        drop(inbox);
        if was_empty {
            self.wake();
        }
    }

    /// Swaps the inbox for an empty list, so that neither is allocated anew.
    pub(crate) fn take_commands(&self, into: &mut Vec<Command>) {
        debug_assert!(into.is_empty());
        std::mem::swap(&mut *self.inbox.lock().unwrap_or_else(PoisonError::into_inner), into);
    }

    /// Opens an exchange: its least buffers and windows are promised, and its sources get their first credit.
    pub(crate) fn open(self: &Arc<Shared>, spec: ExchangeSpec) -> Result<Arc<Exchange>, NetworkError> {
        for peer in spec.sources.iter().chain(&spec.destinations) {
            if *peer == self.me || peer.index() >= self.nodes {
                return Err(NetworkError::NoSuchPeer { peer: *peer });
            }
        }
        if self.is_stopped() {
            return Err(NetworkError::Stopped);
        }
        let pool = if spec.class == Class::Urgent { &self.urgent_pool } else { &self.pool };
        let needed = spec.destinations.len() + spec.sources.len();
        let refused = || NetworkError::NoMemory { messages: needed, limit: pool.slots_max() };
        let sending = spec.destinations.len();
        let sends = Account::open(pool, sending, sending.max(self.send_max)).ok_or_else(refused)?;
        let mut windows = Vec::with_capacity(spec.sources.len());
        for _ in &spec.sources {
            windows.push(Account::open(pool, 1, self.window_max).ok_or_else(refused)?);
        }
        let exchange = Arc::new(Exchange {
            sends,
            windows,
            queues: (0..self.memory_nodes)
                .map(|_| Mutex::new(VecDeque::with_capacity(self.window_max)))
                .collect(),
            queued: AtomicUsize::new(0),
            next_queue: AtomicUsize::new(0),
            open_sources: AtomicUsize::new(spec.sources.len()),
            sequences: (0..self.nodes).map(|_| AtomicU64::new(0)).collect(),
            starved: AtomicBool::new(false),
            failure: OnceLock::new(),
            shared: Arc::clone(self),
            spec,
        });
        self.command(Command::Open(Arc::clone(&exchange)));
        Ok(exchange)
    }
}

/// A message that came.
#[derive(Debug)]
pub struct Received {
    /// Its bytes; dropping it grants its source another one.
    pub message: Message,
    /// Who sent it.
    pub source: NodeId,
    /// Its number within exchange and source. With one stream a peer they come in this order, with several they may not.
    pub sequence: u64,
}

/// What a consumer finds.
#[derive(Debug)]
pub enum Receive {
    /// A message.
    Message(Received),
    /// Nothing now; a notice comes.
    Waiting,
    /// Nothing any more: all sources have sent their last.
    Finished,
}

/// The state of one exchange on one node.
pub struct Exchange {
    pub(crate) spec: ExchangeSpec,
    pub(crate) shared: Arc<Shared>,
    sends: Arc<Account>,
    /// By position in `spec.sources`.
    pub(crate) windows: Vec<Arc<Account>>,
    queues: Box<[Mutex<VecDeque<Received>>]>,
    /// Messages in all queues; changed under the lock of the queue that changes.
    queued: AtomicUsize,
    next_queue: AtomicUsize,
    open_sources: AtomicUsize,
    /// By destination: messages that were given to the network thread.
    sequences: Box<[AtomicU64]>,
    starved: AtomicBool,
    failure: OnceLock<NetworkError>,
}

impl Exchange {
    fn queue(&self, node: usize) -> MutexGuard<'_, VecDeque<Received>> {
        self.queues[node].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer to fill, on this memory node if it has one; none if the exchange has its share already: a notice comes.
    pub(crate) fn try_take_buffer(&self, memory_node: usize) -> Result<Option<Message>, NetworkError> {
        self.check()?;
        let node = memory_node % self.queues.len();
        if let Some(promise) = self.sends.take() {
            return Ok(Some(promise.fill(node)));
        }
        self.starved.store(true, Ordering::SeqCst);
        Ok(self.sends.take().map(|promise| promise.fill(node)))
    }

    pub(crate) fn send(
        self: &Arc<Exchange>,
        destination: NodeId,
        body: Option<Body>,
        last: bool,
    ) -> Result<(), NetworkError> {
        self.check()?;
        if !self.spec.destinations.contains(&destination) {
            return Err(NetworkError::NoSuchPeer { peer: destination });
        }
        let exchange = Arc::clone(self);
        self.shared.commands(|inbox| {
            // Numbered under the inbox's lock, so that numbers are in the order of sending.
            let sequence = exchange.sequences[destination.index()].fetch_add(1, Ordering::SeqCst);
            inbox.push(Command::Send { exchange, destination: destination.index(), sequence, body, last });
        });
        Ok(())
    }

    /// A message: of the memory node's own queue first, then of the others'.
    pub(crate) fn try_receive(&self, memory_node: usize) -> Result<Receive, NetworkError> {
        let nodes = self.queues.len();
        for step in 0..nodes {
            let mut queue = self.queue((memory_node + step) % nodes);
            if let Some(received) = queue.pop_front() {
                self.queued.fetch_sub(1, Ordering::SeqCst);
                return Ok(Receive::Message(received));
            }
        }
        self.check()?;
        let ended = self.open_sources.load(Ordering::SeqCst) == 0 && self.queued.load(Ordering::SeqCst) == 0;
        Ok(if ended { Receive::Finished } else { Receive::Waiting })
    }

    /// The newest message of a queue, for a spill: the oldest is what the consumer wants next.
    pub(crate) fn take_newest(&self) -> Option<Received> {
        (0..self.queues.len()).find_map(|node| {
            let mut queue = self.queue(node);
            let newest = queue.pop_back();
            self.queued.fetch_sub(usize::from(newest.is_some()), Ordering::SeqCst);
            newest
        })
    }

    /// Messages that wait for a consumer.
    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::SeqCst)
    }

    /// The memory node whose turn it is to get a message.
    pub(crate) fn next_node(&self) -> usize {
        self.next_queue.fetch_add(1, Ordering::Relaxed) % self.queues.len()
    }

    /// A message came.
    pub(crate) fn push(&self, received: Received) {
        let mut queue = self.queue(received.message.memory_node() % self.queues.len());
        queue.push_back(received);
        let before = self.queued.fetch_add(1, Ordering::SeqCst);
        drop(queue);
        if before == 0 {
            self.shared.notices.messages(self.spec.id);
        }
    }

    /// All messages of one more source have come.
    pub(crate) fn source_ended(&self) {
        if self.open_sources.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.shared.notices.messages(self.spec.id);
        }
    }

    /// Room may be there again for one who found no buffer.
    pub(crate) fn tell_room(&self) {
        let starved = self.starved.load(Ordering::SeqCst);
        if starved && (self.failure.get().is_some() || self.sends.has_some()) {
            self.starved.store(false, Ordering::SeqCst);
            self.shared.notices.room(self.spec.id);
        }
    }

    pub(crate) fn check(&self) -> Result<(), NetworkError> {
        self.failure.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Ends it with an error; the first one counts. What waits in its queues is dropped.
    pub(crate) fn fail(&self, error: NetworkError) -> bool {
        let first = self.failure.set(error).is_ok();
        if first {
            for node in 0..self.queues.len() {
                let dropped = std::mem::take(&mut *self.queue(node));
                self.queued.fetch_sub(dropped.len(), Ordering::SeqCst);
            }
            self.shared.notices.messages(self.spec.id);
            self.tell_room();
        }
        first
    }
}
