//! One node's traffic as a state machine: what may be sent to whom now, and what a frame that came means. It has no
//! sockets, no threads and no clock; the network thread runs it over a transport, the simulator over virtual links.
//!
//! Its callers promise: frames of one peer and stream come in order; `accept` is called once for each frame that has a
//! body, before the body is read, and `arrived` for every frame. It promises: no frame makes it panic, memory for
//! received messages is promised before it is granted, and each error names the peer whose links are to be closed.
//!
//! `exchanges.rs` has the flows and credits, `sending.rs` what goes next, `receiving.rs` what comes, this file the rest.

mod exchanges;
mod receiving;
mod sending;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use crate::auto::{self, Auto, MILLISECOND, Nanos, Report, Schedule};
use crate::error::NetworkError;
use crate::exchange::{Command, Exchange, Notices, Shared};
use crate::frame::{ExchangeId, FLAG_BUSY, Frame, Kind, NodeId};
use crate::phases::{Phases, Signal};
use crate::pool::{Pool, SlabSource};

pub(crate) use exchanges::Flow;
pub use receiving::Accept;
pub use sending::Lane;

/// Settings of a multiplexer; all nodes of a cluster need the same `nodes`, `epoch`, `message_bytes` and `schedule`.
#[derive(Clone, Debug)]
pub struct Config {
    /// Nodes of the view.
    pub nodes: usize,
    /// The view.
    pub epoch: u64,
    /// Bytes of a message: 512 KiB, or less where memory is tight.
    pub message_bytes: usize,
    /// Most messages for rows, sent and received together: the memory setting divided by their size.
    pub messages_max: usize,
    /// Of these, messages that no window and no sender takes beyond its least: for exchanges to come.
    pub messages_reserved: usize,
    /// Bytes of a control message.
    pub urgent_bytes: usize,
    /// Most control messages.
    pub urgent_max: usize,
    /// Memory nodes of the machine.
    pub memory_nodes: usize,
    /// Most messages that one source of an exchange is granted or has waiting.
    pub window_messages_max: usize,
    /// Most buffers that an exchange fills or has queued.
    pub send_messages_max: usize,
    /// Whether bulk goes by phases.
    pub schedule: Schedule,
    /// Bytes of a phase.
    pub phase_bytes: u64,
    /// A phase ends after this time, however little was sent: a slow target delays the others no longer.
    pub phase_time_max: Nanos,
    /// A sender that waits longer for a permit sends without one until it comes.
    pub permit_wait_max: Nanos,
    /// Small messages may take this part of what bulk sends before they wait their turn.
    pub mice_percent: u64,
    /// Bytes a second that rows may take, so that others' heartbeats pass: 97 % of the link.
    pub pace: Option<u64>,
    /// A link on which nothing was sent for so long carries a ping.
    pub ping_every: Nanos,
    /// A peer that is silent for so long is lost.
    pub silence_max: Nanos,
    /// The network thread goes before other threads. Not where notices may start threads, which would inherit that.
    pub raises_priority: bool,
}

impl Config {
    /// The defaults for a cluster of so many nodes and memory for so many bytes of messages.
    pub fn new(nodes: usize, memory_bytes: usize) -> Config {
        let message_bytes = 512 << 10;
        Config {
            nodes,
            epoch: 1,
            message_bytes,
            messages_max: memory_bytes / message_bytes,
            messages_reserved: 0,
            urgent_bytes: 4 << 10,
            urgent_max: 64 * nodes.max(1),
            memory_nodes: 1,
            window_messages_max: 16,
            send_messages_max: 64,
            schedule: Schedule::Auto,
            phase_bytes: 8 * message_bytes as u64,
            phase_time_max: 1_000 * MILLISECOND,
            permit_wait_max: 10_000 * MILLISECOND,
            mice_percent: 5,
            pace: None,
            ping_every: 1_000 * MILLISECOND,
            silence_max: 4_000 * MILLISECOND,
            raises_priority: true,
        }
    }
}

/// What a node has done since its view began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames sent, of all kinds.
    pub frames_sent: u64,
    /// Messages sent.
    pub messages_sent: u64,
    /// Bytes of rows sent.
    pub bytes_sent: u64,
    /// Messages received.
    pub messages_received: u64,
    /// Bytes of rows received.
    pub bytes_received: u64,
    /// Frames of another view, or for exchanges that are over: dropped.
    pub dropped_frames: u64,
    /// Phases that ended.
    pub phases: u64,
    /// Messages sent without a permit that was overdue.
    pub overdue: u64,
    /// Trials of `auto` that ended with a verdict.
    pub verdicts: u64,
}

pub(crate) struct Peer {
    live: bool,
    linked: bool,
    control: VecDeque<Frame>,
    /// Flows with messages for this peer.
    active: Vec<ExchangeId>,
    /// Grants for exchanges that are not open here yet.
    early_credit: HashMap<ExchangeId, u64>,
    early_cancels: VecDeque<(ExchangeId, NetworkError)>,
    last_heard: Nanos,
    last_sent: Nanos,
}

/// Exchanges that a peer may name before they are open here.
const EARLY_MAX: usize = 4096;
/// How long a sender waits for its permit before it reminds the target.
const REMIND_AFTER: Nanos = 100 * MILLISECOND;
/// Free slabs are given back when nothing was sent for so long.
const TRIM_AFTER: Nanos = 1_000 * MILLISECOND;
/// Small messages in advance of bulk.
const MICE_BURST: i64 = 1 << 20;

/// See the head of the file.
pub struct Traffic {
    pub(crate) shared: Arc<Shared>,
    config: Config,
    flows: HashMap<ExchangeId, Flow>,
    /// The last exchanges that were closed here, so that what is still on its way for them is not taken for news.
    closed: HashSet<ExchangeId>,
    closed_order: VecDeque<ExchangeId>,
    peers: Vec<Peer>,
    phases: Phases,
    auto: Auto,
    /// Windows that could not be granted more, and the list that takes turns with it.
    hungry: Vec<(ExchangeId, usize)>,
    retried: Vec<(ExchangeId, usize)>,
    mice: i64,
    pace_debt: i64,
    pace_at: Nanos,
    phase_began: Nanos,
    phase_counter: u64,
    phase_permitted: bool,
    last_reminder: Nanos,
    last_data: Nanos,
    epoch_ends: Nanos,
    epoch_sent: u64,
    epoch_received: u64,
    lost: Vec<NodeId>,
    statistics: Statistics,
    inbox: Vec<Command>,
    signals: Vec<(NodeId, Signal)>,
}

impl Traffic {
    /// The traffic of node `me`, with pools over two slab sources (rows and control), and whom to tell of news.
    pub fn new(
        me: NodeId,
        config: Config,
        source: Box<dyn SlabSource>,
        urgent: Box<dyn SlabSource>,
        notices: Arc<dyn Notices>,
    ) -> Traffic {
        let pool = Pool::with_reserve(
            source,
            config.memory_nodes,
            config.message_bytes,
            config.messages_max,
            config.messages_reserved,
        );
        let urgent_pool = Pool::new(urgent, 1, config.urgent_bytes, config.urgent_max);
        let peer = |node: usize| Peer {
            live: node != me.index(),
            linked: false,
            control: VecDeque::with_capacity(64),
            active: Vec::with_capacity(16),
            early_credit: HashMap::new(),
            early_cancels: VecDeque::new(),
            last_heard: 0,
            last_sent: 0,
        };
        Traffic {
            shared: Shared::new(me, &config, pool, urgent_pool, notices),
            flows: HashMap::new(),
            closed: HashSet::new(),
            closed_order: VecDeque::new(),
            peers: (0..config.nodes).map(peer).collect(),
            phases: Phases::new(me, config.nodes, config.phase_bytes),
            auto: Auto::default(),
            hungry: Vec::with_capacity(64),
            retried: Vec::with_capacity(64),
            mice: MICE_BURST,
            pace_debt: 0,
            pace_at: 0,
            phase_began: 0,
            phase_counter: 0,
            phase_permitted: false,
            last_reminder: 0,
            last_data: 0,
            epoch_ends: 0,
            epoch_sent: 0,
            epoch_received: 0,
            lost: Vec::new(),
            statistics: Statistics::default(),
            inbox: Vec::with_capacity(256),
            signals: Vec::new(),
            config,
        }
    }

    /// What it has done.
    pub fn statistics(&self) -> Statistics {
        Statistics { verdicts: self.auto.verdicts(), ..self.statistics }
    }

    /// The schedule, to look at.
    pub fn phases(&self) -> &Phases {
        &self.phases
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Pool of messages for rows.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.shared.pool
    }

    /// Whether bulk goes by phases now.
    pub fn is_scheduled(&self) -> bool {
        auto::in_force(self.config.schedule, &self.auto, self.live_nodes())
    }

    fn live_nodes(&self) -> usize {
        1 + self.peers.iter().filter(|peer| peer.live).count()
    }

    /// Whether anything waits to be sent or to be told to a peer.
    pub fn is_idle(&self) -> bool {
        self.peers.iter().all(|peer| !peer.live || (peer.active.is_empty() && peer.control.is_empty()))
    }

    /// Both links to a peer work: signs of life are expected from now on.
    pub fn link_up(&mut self, peer: NodeId, now: Nanos) {
        let peer = &mut self.peers[peer.index()];
        peer.linked = true;
        peer.last_heard = now;
        peer.last_sent = now;
    }

    /// Bytes of any kind came from a peer.
    pub fn heard(&mut self, peer: NodeId, now: Nanos) {
        self.peers[peer.index()].last_heard = now;
    }

    /// Peers whose links are to be closed, since the last call.
    pub fn take_lost(&mut self) -> Vec<NodeId> {
        std::mem::take(&mut self.lost)
    }

    /// The links to a peer are gone, or are to be: every exchange with it fails, nobody waits for it any more.
    pub fn lost(&mut self, peer: NodeId, error: NetworkError) {
        if !std::mem::replace(&mut self.peers[peer.index()].live, false) {
            return;
        }
        self.lost.push(peer);
        let state = &mut self.peers[peer.index()];
        state.control.clear();
        state.early_credit = HashMap::new();
        state.early_cancels = VecDeque::new();
        let concerned: Vec<Arc<Exchange>> = self
            .flows
            .values()
            .filter(|flow| flow.concerns(peer))
            .map(|flow| Arc::clone(&flow.exchange))
            .collect();
        for exchange in concerned {
            // The others hear why: what was queued for them is dropped here, and nobody may look at this node's end.
            self.tell_cancel(&exchange, 1 + u64::from(peer.0));
            self.fail_flow(exchange.spec.id, error.clone());
        }
        self.phases.on_lost(peer);
        self.flush_signals();
        self.shared.notices.peer_lost(&error);
    }

    /// What waits for what, as text: for the report of a deadlock.
    pub fn describe(&self) -> String {
        let live: Vec<usize> = (0..self.peers.len()).filter(|node| self.peers[*node].live).collect();
        let flows: Vec<String> = self.flows.values().map(Flow::describe).collect();
        format!(
            "node {} linked to {live:?}, {:?}, {:?}, {flows:?}",
            self.shared.me,
            self.shared.pool.counts(),
            self.phases
        )
    }

    /// Ends everything: the network thread is about to stop.
    pub(crate) fn fail_all(&mut self, error: &NetworkError) {
        self.read_inbox();
        let all: Vec<ExchangeId> = self.flows.keys().copied().collect();
        all.into_iter().for_each(|id| self.fail_flow(id, error.clone()));
    }

    fn push_control(&mut self, peer: NodeId, kind: Kind, set: impl FnOnce(&mut Frame)) {
        let mut frame = Frame::control(kind, self.config.epoch, self.shared.me, peer);
        set(&mut frame);
        let peer = &mut self.peers[peer.index()];
        if peer.live {
            peer.control.push_back(frame);
        }
    }

    fn flush_signals(&mut self) {
        let mut signals = std::mem::take(&mut self.signals);
        self.phases.take_signals(&mut signals);
        for (peer, signal) in signals.drain(..) {
            match signal {
                Signal::Permit { counter } => {
                    self.push_control(peer, Kind::Permit, |frame| frame.sequence = counter);
                }
                Signal::End { counter, bytes, busy } => {
                    self.statistics.phases += 1;
                    self.push_control(peer, Kind::End, |frame| {
                        frame.sequence = counter;
                        frame.value = bytes;
                        frame.flags = if busy { FLAG_BUSY } else { 0 };
                    });
                }
                Signal::Wake { round } => {
                    self.push_control(peer, Kind::Wake, |frame| frame.sequence = round);
                }
            }
        }
        self.signals = signals;
    }

    /// Reads the inbox, and what time has brought: pings, silence, reminders, the end of an epoch. Call it before
    /// `next_frame`, and at least every 10 ms while there is traffic.
    pub fn tick(&mut self, now: Nanos) {
        self.read_inbox();
        for node in 0..self.peers.len() {
            let peer = &self.peers[node];
            if !peer.live || !peer.linked {
                continue;
            }
            let (silent, idle) = (now.saturating_sub(peer.last_heard), now.saturating_sub(peer.last_sent));
            let id = NodeId(node as u16);
            if silent > self.config.silence_max {
                self.lost(id, NetworkError::PeerSilent { peer: id, silent_ms: silent / MILLISECOND });
            } else if idle > self.config.ping_every && peer.control.is_empty() {
                self.push_control(id, Kind::Ping, |_| {});
            }
        }
        self.watch_phase(now);
        self.end_epoch(now);
        if self.last_data != 0 && now > self.last_data + TRIM_AFTER {
            self.last_data = 0;
            self.shared.pool.trim();
        }
    }

    /// When something is due at the latest, if nothing comes before.
    pub fn next_due(&self, now: Nanos) -> Nanos {
        let busy = !self.is_idle() || now < self.last_data + TRIM_AFTER;
        now + if busy { 10 * MILLISECOND } else { self.config.ping_every / 4 }
    }

    fn watch_phase(&mut self, now: Nanos) {
        let scheduled = self.is_scheduled();
        let wanted = scheduled && self.has_sendable_bulk();
        self.phases.want(wanted);
        self.note_phase(now);
        let overdue = wanted && self.phases.target().is_none() && now > self.phase_began + REMIND_AFTER;
        if overdue && now > self.last_reminder + REMIND_AFTER {
            self.last_reminder = now;
            self.phases.remind();
        }
        self.flush_signals();
    }

    /// Notes when the current phase, or the wait for it, began.
    fn note_phase(&mut self, now: Nanos) {
        let (counter, permitted) = (self.phases.sending_counter(), self.phases.target().is_some());
        if counter != self.phase_counter || permitted != self.phase_permitted {
            self.phase_counter = counter;
            self.phase_permitted = permitted;
            self.phase_began = now;
        }
    }

    fn decider(&self) -> usize {
        (0..self.peers.len())
            .find(|node| *node == self.shared.me.index() || self.peers[*node].live)
            .unwrap_or(0)
    }

    fn end_epoch(&mut self, now: Nanos) {
        if self.config.schedule != Schedule::Auto {
            return;
        }
        if self.decider() != self.shared.me.index() {
            if now >= self.epoch_ends {
                self.report(now);
            }
        } else if self.auto.is_due(now) {
            let own = self.take_report();
            if let Some(on) = self.auto.end_epoch(own, now) {
                for peer in (0..self.peers.len()).map(|node| NodeId(node as u16)) {
                    self.push_control(peer, Kind::Mode, |frame| frame.flags = if on { FLAG_BUSY } else { 0 });
                }
            }
        }
    }

    fn take_report(&mut self) -> Report {
        Report {
            sent: std::mem::take(&mut self.epoch_sent),
            received: std::mem::take(&mut self.epoch_received),
            on: self.auto.is_on(),
        }
    }

    /// Tells the deciding node what was sent and received since the last report.
    fn report(&mut self, now: Nanos) {
        self.epoch_ends = now + auto::EPOCH;
        let report = self.take_report();
        if report.sent + report.received > 0 {
            self.push_control(NodeId(self.decider() as u16), Kind::Report, |frame| {
                frame.sequence = report.sent;
                frame.value = report.received;
                frame.flags = if report.on { FLAG_BUSY } else { 0 };
            });
        }
    }

    /// The deciding node announced an epoch.
    fn on_mode(&mut self, on: bool, now: Nanos) {
        self.report(now);
        self.auto.follow(on);
    }

    fn read_inbox(&mut self) {
        let mut commands = std::mem::take(&mut self.inbox);
        self.shared.take_commands(&mut commands);
        for command in commands.drain(..) {
            match command {
                Command::Open(exchange) => self.open_flow(exchange),
                Command::Send { exchange, destination, sequence, body, last } => {
                    self.queue(&exchange, destination, sequence, body, last);
                }
                Command::Cancel(exchange) => self.cancel(&exchange),
                Command::Close(id) => self.close(id),
                Command::Room => self.make_room(),
            }
        }
        self.inbox = commands;
    }

    fn cancel(&mut self, exchange: &Arc<Exchange>) {
        let (id, me) = (exchange.spec.id, self.shared.me);
        self.tell_cancel(exchange, 0);
        self.fail_flow(id, NetworkError::Cancelled { exchange: id, by: me });
    }

    /// Tells all nodes of an exchange that it is over: because somebody wants it so (0), or a node is lost (1 + node).
    fn tell_cancel(&mut self, exchange: &Exchange, reason: u64) {
        let id = exchange.spec.id;
        let mut peers: Vec<NodeId> = [&exchange.spec.sources[..], &exchange.spec.destinations[..]].concat();
        peers.sort_unstable();
        peers.dedup();
        for peer in peers {
            self.push_control(peer, Kind::Cancel, |frame| {
                frame.exchange = id;
                frame.value = reason;
            });
        }
    }
}
