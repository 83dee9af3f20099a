//! A cluster in one thread: the real traffic code of every node (schedule, credits, pools, priorities) over virtual links,
//! from a seed. Nodes crash, fall silent, are slow, lie; links are cut. Time is virtual, so an hour costs a moment.
//!
//! What is real: everything but the transports and the network thread's loop, for which [`World::run`] stands. What is a
//! model: [`fabric`]. Workloads: [`workload`].

pub mod fabric;
pub mod workload;

use std::sync::Arc;

use crate::auto::{MILLISECOND, Nanos};
use crate::error::NetworkError;
use crate::exchange::{Body, ExchangeSpec, Silent};
use crate::frame::{Frame, NodeId};
use crate::pool::Weightless;
use crate::port::Port;
use crate::traffic::{Accept, Config, Lane, Traffic};

use fabric::{Fabric, LinkModel};

/// What goes wrong, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A process dies: its peers' links are reset.
    Crash(usize),
    /// A machine or its link falls silent: nobody is told.
    Silence(usize),
    /// Nothing passes between two nodes any more, both ways.
    Cut(usize, usize),
    /// A node's card sends in one slot of so many.
    Slow(usize, u64),
    /// A node sends a frame that it may not send, or that is nonsense, to another.
    Lie(usize, usize, Frame),
}

/// The cluster.
pub struct World {
    /// By node; those that crashed stay.
    pub traffic: Vec<Traffic>,
    /// Whether a node runs.
    pub alive: Vec<bool>,
    fabric: Fabric,
    now: Nanos,
    last_tick: Nanos,
    dirty: Vec<bool>,
    faults: Vec<(Nanos, Fault)>,
    /// Links that were reset: whom to tell of the loss of whom, and when.
    resets: Vec<(Nanos, usize, usize)>,
    /// Errors for which links were closed: at node, of peer.
    pub errors: Vec<(usize, NetworkError)>,
}

/// Nodes look at their clocks so often at least.
const TICK: Nanos = 5 * MILLISECOND;

impl World {
    /// A cluster of `config.nodes` nodes, all linked.
    pub fn new(config: &Config, model: LinkModel, seed: u64) -> World {
        let node = |node: usize| {
            let (rows, control) = (Box::new(Weightless), Box::new(Weightless));
            let mut traffic =
                Traffic::new(NodeId(node as u16), config.clone(), rows, control, Arc::new(Silent));
            (0..config.nodes)
                .filter(|peer| *peer != node)
                .for_each(|peer| traffic.link_up(NodeId(peer as u16), 0));
            traffic
        };
        World {
            traffic: (0..config.nodes).map(node).collect(),
            alive: vec![true; config.nodes],
            fabric: Fabric::new(config.nodes, model, seed),
            now: 0,
            last_tick: 0,
            dirty: vec![true; config.nodes],
            faults: Vec::new(),
            resets: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Virtual time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Cells that the switch lost.
    pub fn losses(&self) -> u64 {
        self.fabric.losses()
    }

    /// Plans a fault.
    pub fn plan(&mut self, at: Nanos, fault: Fault) {
        self.faults.push((at, fault));
        self.faults.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    }

    /// Opens an exchange on a node.
    pub fn open(&mut self, node: usize, spec: ExchangeSpec) -> Result<Port, NetworkError> {
        self.dirty[node] = true;
        Port::open(&self.traffic[node].shared, spec)
    }

    /// Runs until the workload says that it is done, or virtual time is over: whether it was done.
    pub fn run(&mut self, limit: Nanos, mut work: impl FnMut(usize, Nanos) -> bool) -> bool {
        let nodes = self.traffic.len();
        while self.now < limit {
            self.inject_faults();
            let mut all_done = true;
            let ticking = self.now >= self.last_tick + TICK;
            if ticking {
                self.last_tick = self.now;
            }
            for node in 0..nodes {
                if !self.alive[node] || !(ticking || self.dirty[node]) {
                    all_done &= !self.alive[node];
                    continue;
                }
                self.dirty[node] = false;
                all_done &= work(node, self.now);
                self.pump(node);
            }
            if all_done {
                return true;
            }
            self.advance();
        }
        false
    }

    /// Lets a node send all that its links have room for.
    fn pump(&mut self, node: usize) {
        self.traffic[node].tick(self.now);
        for step in 1..self.traffic.len() {
            let peer = (node + step) % self.traffic.len();
            for lane in Lane::ORDER {
                while self.fabric.has_room(node, peer, lane) {
                    let id = NodeId(peer as u16);
                    let Some((frame, body)) = self.traffic[node].next_frame(id, lane, self.now) else {
                        break;
                    };
                    self.fabric.offer(node, peer, lane, frame, body);
                }
            }
        }
        self.close_lost(node);
    }

    fn advance(&mut self) {
        if self.fabric.is_idle() {
            // Nothing moves: on to the next event, or to the next tick.
            let next = self.fabric.next_event().unwrap_or(u64::MAX).min(self.last_tick + TICK);
            let next = self
                .resets
                .iter()
                .map(|(at, ..)| *at)
                .chain(self.faults.last().map(|(at, _)| *at))
                .fold(next, u64::min);
            self.now = next.max(self.now + self.fabric.slot());
        } else {
            self.now += self.fabric.slot();
        }
        for (stream, frame, body) in self.fabric.step(self.now) {
            let (from, to) = self.fabric.ends_of(stream);
            self.dirty[to] = true;
            if self.alive[to] {
                self.deliver(from, to, &frame, body);
            }
        }
        for node in 0..self.traffic.len() {
            // A card that has sent has room again.
            self.dirty[node] |= !self.traffic[node].is_idle();
        }
    }

    fn deliver(&mut self, from: usize, to: usize, frame: &Frame, body: Option<Body>) {
        let peer = NodeId(from as u16);
        let (now, traffic) = (self.now, &mut self.traffic[to]);
        drop(body);
        let message = if frame.length == 0 {
            Ok(None)
        } else {
            traffic.accept(peer, frame).map(|accept| match accept {
                Accept::Into(message) => Some(message),
                Accept::Drop => None,
            })
        };
        let result = message.and_then(|message| traffic.arrived(peer, frame, message, now));
        if let Err(error) = result {
            self.errors.push((to, error.clone()));
            self.traffic[to].lost(peer, error);
        }
        self.close_lost(to);
    }

    /// Closes links that a node has given up; the other side sees a reset.
    fn close_lost(&mut self, node: usize) {
        for peer in self.traffic[node].take_lost() {
            let peer = peer.index();
            let reachable = !self.fabric.is_cut(node, peer);
            self.fabric.cut(node, peer);
            self.fabric.cut(peer, node);
            if reachable {
                self.resets.push((self.now + MILLISECOND, peer, node));
            }
        }
    }

    fn inject_faults(&mut self) {
        let due = |resets: &mut Vec<(Nanos, usize, usize)>, now| {
            let at = resets.iter().position(|(at, ..)| *at <= now);
            at.map(|at| resets.remove(at))
        };
        while let Some((_, node, peer)) = due(&mut self.resets, self.now) {
            let peer = NodeId(peer as u16);
            let error = NetworkError::PeerLost { peer, cause: "reset".into() };
            self.traffic[node].lost(peer, error);
            self.dirty[node] = true;
            self.close_lost(node);
        }
        while let Some((at, fault)) = self.faults.last().copied()
            && at <= self.now
        {
            self.faults.pop();
            self.inject(fault);
        }
    }

    fn inject(&mut self, fault: Fault) {
        let nodes = self.traffic.len();
        match fault {
            Fault::Crash(node) | Fault::Silence(node) => {
                let told = matches!(fault, Fault::Crash(_));
                self.alive[node] = false;
                for peer in (0..nodes).filter(|peer| *peer != node) {
                    self.fabric.cut(node, peer);
                    self.fabric.cut(peer, node);
                    if told {
                        self.resets.push((self.now + MILLISECOND, peer, node));
                    }
                }
            }
            Fault::Cut(one, other) => {
                self.fabric.cut(one, other);
                self.fabric.cut(other, one);
            }
            Fault::Slow(node, slowness) => self.fabric.slowness[node] = slowness.max(1),
            Fault::Lie(from, to, frame) => self.fabric.offer(from, to, Lane::Rows, frame, None),
        }
    }
}
