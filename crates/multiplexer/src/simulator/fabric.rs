//! Virtual links and a virtual switch, in slots: the time that a link takes for one cell.
//!
//! ```text
//!  stream (i,j) --window--> NIC of i, one cell a slot --> switch --> port of j, one cell a slot --latency--> node j
//!     ^                     (a random stream that has cells)                                         |
//!     +----------------------- acknowledgement, or loss noticed, a round trip later ----------------+
//! ```
//! *Output-queued*: a queue for each port; with a buffer limit, cells beyond it are lost, and streams keep to a congestion
//! window (slow start, halved at a loss, a probe when all that is on its way was lost, then 200 ms of silence), a coarse
//! model of TCP.
//! *Input-queued*: one FIFO for each input; its first cell waits until its port is free, and all behind it with it. Nothing
//! is lost. With random destinations such a switch carries 0.655 of its ports' bandwidth with 4 ports, 0.618 with 8, and
//! 0.586 in the limit (M. Karol, M. Hluchyj, S. Morgan, "Input Versus Output Queueing on a Space-Division Packet Switch",
//! IEEE Transactions on Communications 35(12), 1987), which a test checks.
//!
//! A stream counts cells, so a lost cell delays as many bytes as it held, not those of another frame (a simplification
//! that favours a lossy network slightly). The same seed gives the same run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use random::Random;

use crate::auto::{MILLISECOND, Nanos};
use crate::exchange::Body;
use crate::frame::{FRAME_BYTES, Frame};
use crate::traffic::Lane;

/// What connects the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// A queue for each port, of at most so many bytes.
    OutputQueued {
        /// None: nothing is lost.
        buffer_bytes: Option<u64>,
    },
    /// A FIFO for each input, of at most so many bytes; nothing is lost.
    InputQueued {
        /// What a node's card can hand the switch in advance.
        fifo_bytes: u64,
    },
}

/// Links of one bandwidth and latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkModel {
    /// Of each node's link, each way.
    pub bytes_per_second: u64,
    /// One way.
    pub latency: Nanos,
    /// What is sent in one slot: 1,500 where losses matter.
    pub cell_bytes: u64,
    /// Between them.
    pub switch: Switch,
}

const INITIAL_WINDOW: f64 = 10.0;
const SILENCE_AFTER_LOSS: Nanos = 200 * MILLISECOND;
/// Bytes of a stream that wait in front of the card: what a socket's limit for unsent bytes is set to.
const UNSENT_BYTES: u64 = 32 << 10;

struct Stream {
    frames: VecDeque<(u64, Frame, Option<Body>)>,
    offered: u64,
    sent: u64,
    delivered: u64,
    in_flight: u64,
    window: f64,
    threshold: f64,
    blocked_until: Nanos,
    /// A probe is out, or was lost.
    probed: bool,
    recovery_until: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrived,
    Acknowledged,
    Lost,
}

/// The links of all nodes.
pub struct Fabric {
    nodes: usize,
    model: LinkModel,
    slot: Nanos,
    streams: Vec<Stream>,
    /// Of input-queued switches: by node; of output-queued: by port.
    queues: Vec<VecDeque<usize>>,
    queued_bytes_peak: u64,
    events: BinaryHeap<Reverse<(Nanos, u64, Event, usize)>>,
    event_number: u64,
    /// A node's card sends in every so many slots: slow nodes.
    pub(super) slowness: Vec<u64>,
    slots: u64,
    random: Random,
    losses: u64,
    /// Cut links, by stream.
    cut: Vec<bool>,
    delivered: Vec<(usize, Frame, Option<Body>)>,
}

impl Fabric {
    pub(super) fn new(nodes: usize, model: LinkModel, seed: u64) -> Fabric {
        let stream = || Stream {
            frames: VecDeque::new(),
            offered: 0,
            sent: 0,
            delivered: 0,
            in_flight: 0,
            window: INITIAL_WINDOW,
            threshold: f64::MAX,
            blocked_until: 0,
            probed: false,
            recovery_until: 0,
        };
        Fabric {
            nodes,
            model,
            slot: (model.cell_bytes * 1_000_000_000 / model.bytes_per_second).max(1),
            streams: (0..2 * nodes * nodes).map(|_| stream()).collect(),
            queues: vec![VecDeque::new(); nodes],
            queued_bytes_peak: 0,
            events: BinaryHeap::new(),
            event_number: 0,
            slowness: vec![1; nodes],
            slots: 0,
            random: Random::new(seed),
            losses: 0,
            cut: vec![false; 2 * nodes * nodes],
            delivered: Vec::new(),
        }
    }

    /// Streams of a node lie together, those of control first.
    fn stream_of(&self, from: usize, to: usize, lane: Lane) -> usize {
        (from * 2 + usize::from(lane == Lane::Rows)) * self.nodes + to
    }

    pub(super) fn ends_of(&self, stream: usize) -> (usize, usize) {
        (stream / (2 * self.nodes), stream % self.nodes)
    }

    pub(super) fn is_cut(&self, from: usize, to: usize) -> bool {
        self.cut[self.stream_of(from, to, Lane::Rows)]
    }

    pub(super) fn losses(&self) -> u64 {
        self.losses
    }

    pub(super) fn has_room(&self, from: usize, to: usize, lane: Lane) -> bool {
        let stream = &self.streams[self.stream_of(from, to, lane)];
        (stream.offered - stream.sent) * self.model.cell_bytes < UNSENT_BYTES
    }

    pub(super) fn offer(&mut self, from: usize, to: usize, lane: Lane, frame: Frame, body: Option<Body>) {
        let at = self.stream_of(from, to, lane);
        if self.cut[at] {
            return;
        }
        let cells = (FRAME_BYTES as u64 + u64::from(frame.length)).div_ceil(self.model.cell_bytes);
        let stream = &mut self.streams[at];
        stream.offered += cells;
        stream.frames.push_back((stream.offered, frame, body));
    }

    /// Drops what is on its way between two nodes, one way.
    pub(super) fn cut(&mut self, from: usize, to: usize) {
        for lane in [Lane::Control, Lane::Rows] {
            let at = self.stream_of(from, to, lane);
            self.cut[at] = true;
            let stream = &mut self.streams[at];
            stream.frames.clear();
            stream.offered = stream.sent;
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        let sendable = |stream: &Stream| stream.sent < stream.offered;
        self.queues.iter().all(VecDeque::is_empty) && !self.streams.iter().any(sendable)
    }

    pub(super) fn next_event(&self) -> Option<Nanos> {
        self.events.peek().map(|Reverse((at, ..))| *at)
    }

    pub(super) fn slot(&self) -> Nanos {
        self.slot
    }

    fn schedule(&mut self, at: Nanos, event: Event, stream: usize) {
        self.event_number += 1;
        self.events.push(Reverse((at, self.event_number, event, stream)));
    }

    /// One slot: gives the frames that are complete now, with the stream they came on.
    pub(super) fn step(&mut self, now: Nanos) -> Vec<(usize, Frame, Option<Body>)> {
        self.slots += 1;
        self.run_events(now);
        self.send_cells(now);
        self.switch_cells(now);
        std::mem::take(&mut self.delivered)
    }

    fn run_events(&mut self, now: Nanos) {
        while let Some(Reverse((at, _, event, id))) = self.events.peek().copied()
            && at <= now
        {
            self.events.pop();
            match event {
                Event::Arrived if self.cut[id] => {}
                Event::Arrived => {
                    self.schedule(at + self.model.latency, Event::Acknowledged, id);
                    let stream = &mut self.streams[id];
                    stream.delivered += 1;
                    while stream.frames.front().is_some_and(|(end, ..)| *end <= stream.delivered) {
                        if let Some((_, frame, body)) = stream.frames.pop_front() {
                            self.delivered.push((id, frame, body));
                        }
                    }
                }
                Event::Acknowledged => {
                    let stream = &mut self.streams[id];
                    stream.in_flight = stream.in_flight.saturating_sub(1);
                    stream.probed = false;
                    let step = if stream.window < stream.threshold { 1.0 } else { 1.0 / stream.window };
                    stream.window = (stream.window + step).min(65_536.0);
                }
                Event::Lost => self.lose(now, id),
            }
        }
    }

    fn lose(&mut self, now: Nanos, id: usize) {
        let round_trip = 4 * self.model.latency + self.slot;
        let stream = &mut self.streams[id];
        stream.in_flight = stream.in_flight.saturating_sub(1);
        if self.cut[id] {
            return;
        }
        stream.sent -= 1;
        if stream.in_flight == 0 {
            // Nothing is on its way whose acknowledgement would tell: a probe after two round trips, and if that is lost
            // too, the timer.
            let wait = if stream.probed { SILENCE_AFTER_LOSS } else { 2 * round_trip };
            stream.blocked_until = now + wait;
            stream.probed = true;
        }
        if now >= stream.recovery_until {
            stream.window = (stream.window / 2.0).max(2.0);
            stream.threshold = stream.window;
            stream.recovery_until = now + round_trip;
        }
    }

    fn send_cells(&mut self, now: Nanos) {
        let lossy = matches!(self.model.switch, Switch::OutputQueued { buffer_bytes: Some(_) });
        for node in 0..self.nodes {
            if !self.slots.is_multiple_of(self.slowness[node]) {
                continue;
            }
            if let Switch::InputQueued { fifo_bytes } = self.model.switch
                && self.queues[node].len() as u64 * self.model.cell_bytes >= fifo_bytes
            {
                continue;
            }
            let first = 2 * node * self.nodes;
            let ready = |stream: &Stream| {
                stream.sent < stream.offered
                    && (!lossy || ((stream.in_flight as f64) < stream.window && now >= stream.blocked_until))
            };
            let lanes = [first..first + self.nodes, first + self.nodes..first + 2 * self.nodes];
            let Some(id) = lanes.into_iter().find_map(|lane| {
                let count = self.streams[lane.clone()].iter().filter(|stream| ready(stream)).count();
                let chosen = (count > 0).then(|| self.random.below(count))?;
                lane.filter(|id| ready(&self.streams[*id])).nth(chosen)
            }) else {
                continue;
            };
            self.streams[id].sent += 1;
            self.streams[id].in_flight += 1;
            self.enter_switch(now, node, id);
        }
    }

    fn enter_switch(&mut self, now: Nanos, node: usize, id: usize) {
        let queue = match self.model.switch {
            Switch::InputQueued { .. } => node,
            Switch::OutputQueued { buffer_bytes } => {
                let port = id % self.nodes;
                let bytes = (self.queues[port].len() as u64 + 1) * self.model.cell_bytes;
                if buffer_bytes.is_some_and(|limit| bytes > limit) {
                    self.losses += 1;
                    self.schedule(now + 2 * self.model.latency + self.slot, Event::Lost, id);
                    return;
                }
                self.queued_bytes_peak = self.queued_bytes_peak.max(bytes);
                port
            }
        };
        self.queues[queue].push_back(id);
    }

    fn switch_cells(&mut self, now: Nanos) {
        let input_queued = matches!(self.model.switch, Switch::InputQueued { .. });
        // What is first in each queue when the slot begins: an input gives one cell a slot.
        let heads: Vec<Option<usize>> = self.queues.iter().map(|queue| queue.front().copied()).collect();
        for port in 0..self.nodes {
            let queue = if input_queued {
                let wants = |node: &usize| heads[*node].is_some_and(|id| id % self.nodes == port);
                let count = (0..self.nodes).filter(wants).count();
                if count == 0 {
                    continue;
                }
                let chosen = self.random.below(count);
                (0..self.nodes).filter(wants).nth(chosen).unwrap_or(port)
            } else {
                port
            };
            if let Some(id) = self.queues[queue].pop_front() {
                self.schedule(now + self.model.latency, Event::Arrived, id);
            }
        }
    }
}

/// The part of its bandwidth that an input-queued switch of so many ports carries when every input always has a cell
/// for a random port.
pub fn saturation(ports: usize, slots: usize, seed: u64) -> f64 {
    let mut random = Random::new(seed);
    let mut heads: Vec<usize> = (0..ports).map(|_| random.below(ports)).collect();
    let mut carried = 0;
    for _ in 0..slots {
        let mut winners = Vec::with_capacity(ports);
        for port in 0..ports {
            let waiting: Vec<usize> = (0..ports).filter(|input| heads[*input] == port).collect();
            if !waiting.is_empty() {
                winners.push(*random.pick(&waiting));
            }
        }
        carried += winners.len();
        for input in winners {
            heads[input] = random.below(ports);
        }
    }
    carried as f64 / (slots * ports) as f64
}
