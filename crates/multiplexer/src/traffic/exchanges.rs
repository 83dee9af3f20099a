//! Flows: an exchange as the network thread sees it, with a queue for each destination and a window for each source.
//!
//! ```text
//!  receiver's window of a source:   arrived <= announced <= granted      one promise for each granted, not arrived
//!  sender's allowance:              sent <= granted (as last told)       in bytes, whole messages
//! ```
//! Grants are cumulative, so a late or doubled one does no harm. A window is granted anew when messages are released,
//! up to its cap and as far as the pool has promises; each window's own promise makes one message possible always.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{EARLY_MAX, Traffic};
use crate::error::NetworkError;
use crate::exchange::{Body, Exchange};
use crate::frame::{ExchangeId, Kind, NodeId};
use crate::pool::{Account, Promise};

/// A message or a bare "last" that waits.
pub(crate) struct Waiting {
    pub(crate) sequence: u64,
    pub(crate) body: Option<Body>,
    pub(crate) last: bool,
}

/// What is to go to one destination.
pub(crate) struct Outbound {
    pub(crate) queue: VecDeque<Waiting>,
    pub(crate) granted: u64,
    pub(crate) sent: u64,
    /// Its last frame has left.
    pub(crate) finished: bool,
}

/// What may come from one source.
pub(crate) struct Window {
    account: Arc<Account>,
    pub(crate) promises: Vec<Promise>,
    granted: u64,
    pub(crate) announced: u64,
    pub(crate) arrived: u64,
    /// Frames of this exchange and source, with or without a body.
    pub(crate) frames: u64,
    pub(crate) total: Option<u64>,
}

impl Window {
    /// Whether its source has sent everything.
    pub(crate) fn is_complete(&self) -> bool {
        self.total == Some(self.frames)
    }
}

pub(crate) struct Flow {
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) outbound: Vec<Option<Outbound>>,
    pub(crate) windows: Vec<Option<Window>>,
    closing: bool,
    pub(crate) failed: bool,
}

impl Flow {
    /// Whether it still has to send something to a peer, or to get something from it.
    pub(crate) fn concerns(&self, peer: NodeId) -> bool {
        let sending = self.outbound[peer.index()].as_ref().is_some_and(|outbound| !outbound.finished);
        sending || self.windows[peer.index()].as_ref().is_some_and(|window| !window.is_complete())
    }

    pub(crate) fn describe(&self) -> String {
        let out =
            self.outbound.iter().map(|out| out.as_ref().map(|out| (out.queue.len(), out.sent, out.granted)));
        let out: Vec<_> = out.collect();
        let windows = self.windows.iter().map(|window| {
            let window = window.as_ref()?;
            Some((window.announced, window.arrived, window.frames, window.total))
        });
        let waiting = self.exchange.queued();
        format!(
            "{}: failed {}, out {out:?}, windows {:?}, waiting {waiting}",
            self.exchange.spec.id,
            self.failed,
            windows.collect::<Vec<_>>()
        )
    }

    fn is_drained(&self) -> bool {
        self.failed || self.outbound.iter().flatten().all(|outbound| outbound.queue.is_empty())
    }

    pub(crate) fn slot_bytes(&self) -> u64 {
        let shared = &self.exchange.shared;
        let urgent = self.exchange.spec.class == crate::frame::Class::Urgent;
        (if urgent { &shared.urgent_pool } else { &shared.pool }).slot_bytes() as u64
    }

    /// Whether the first message for a peer may go, as far as credit is concerned; and how long it is.
    pub(crate) fn sendable(&self, peer: usize) -> Option<usize> {
        let outbound = self.outbound[peer].as_ref()?;
        let head = outbound.queue.front()?;
        match &head.body {
            // The first credit says that the exchange is open there; before, even a bare "last" would be dropped.
            None => (outbound.granted > 0).then_some(0),
            Some(body) => {
                (outbound.sent + self.slot_bytes() <= outbound.granted).then(|| body.message().used())
            }
        }
    }
}

impl Traffic {
    pub(super) fn open_flow(&mut self, exchange: Arc<Exchange>) {
        let id = exchange.spec.id;
        if self.flows.contains_key(&id) {
            exchange.fail(NetworkError::InUse { exchange: id });
            return;
        }
        let nodes = self.config.nodes;
        let mut flow = Flow {
            outbound: (0..nodes).map(|_| None).collect(),
            windows: (0..nodes).map(|_| None).collect(),
            closing: false,
            failed: false,
            exchange: Arc::clone(&exchange),
        };
        let mut failure = None;
        for peer in &exchange.spec.destinations {
            let state = &mut self.peers[peer.index()];
            let granted = state.early_credit.remove(&id).unwrap_or(0);
            flow.outbound[peer.index()] =
                Some(Outbound { queue: VecDeque::new(), granted, sent: 0, finished: false });
        }
        for (account, peer) in exchange.windows.iter().zip(&exchange.spec.sources) {
            let promises = Vec::with_capacity(self.config.window_messages_max);
            let account = Arc::clone(account);
            flow.windows[peer.index()] = Some(Window {
                account,
                promises,
                granted: 0,
                announced: 0,
                arrived: 0,
                frames: 0,
                total: None,
            });
        }
        for peer in exchange.spec.sources.iter().chain(&exchange.spec.destinations) {
            let state = &self.peers[peer.index()];
            if !state.live {
                failure = Some(NetworkError::PeerLost { peer: *peer, cause: "before the exchange".into() });
            } else if let Some((_, error)) = state.early_cancels.iter().find(|(early, _)| *early == id) {
                failure = Some(error.clone());
            }
        }
        self.flows.insert(id, flow);
        if let Some(failure) = failure {
            self.fail_flow(id, failure);
            return;
        }
        // In turns, so that no source takes what is left of the pool.
        for _ in 0..self.config.window_messages_max {
            exchange.spec.sources.iter().for_each(|peer| self.grant(id, peer.index(), 1));
        }
        exchange.spec.sources.iter().for_each(|peer| self.announce(id, peer.index()));
    }

    /// Promises a window up to `messages` more.
    fn grant(&mut self, id: ExchangeId, source: usize, messages: usize) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        let Some(window) = flow.windows[source].as_mut().filter(|window| window.total.is_none()) else {
            return;
        };
        for _ in 0..messages {
            if window.promises.len() >= self.config.window_messages_max {
                return;
            }
            let Some(promise) = window.account.take() else {
                if !self.hungry.contains(&(id, source)) {
                    self.hungry.push((id, source));
                }
                return;
            };
            window.promises.push(promise);
            window.granted += 1;
        }
    }

    /// Tells a source what it was granted, if it may run short of credit.
    fn announce(&mut self, id: ExchangeId, source: usize) {
        let half = (self.config.window_messages_max as u64).div_ceil(2);
        let Some(flow) = self.flows.get_mut(&id) else { return };
        let slot = flow.slot_bytes();
        let Some(window) = flow.windows[source].as_mut() else { return };
        if window.granted > window.announced && window.announced - window.arrived <= half {
            window.announced = window.granted;
            let value = window.granted * slot;
            self.push_control(NodeId(source as u16), Kind::Credit, |frame| {
                frame.exchange = id;
                frame.value = value;
            });
        }
    }

    /// Grants a window what it may have, and tells its source.
    pub(super) fn top_up(&mut self, id: ExchangeId, source: usize) {
        self.grant(id, source, self.config.window_messages_max);
        self.announce(id, source);
    }

    /// Promises came back: windows and senders that found none try again.
    pub(super) fn make_room(&mut self) {
        let mut retried = std::mem::take(&mut self.retried);
        std::mem::swap(&mut retried, &mut self.hungry);
        for (id, source) in retried.drain(..) {
            self.top_up(id, source);
        }
        self.retried = retried;
        self.flows.values().for_each(|flow| flow.exchange.tell_room());
    }

    pub(super) fn queue(
        &mut self,
        exchange: &Arc<Exchange>,
        destination: usize,
        sequence: u64,
        body: Option<Body>,
        last: bool,
    ) {
        let id = exchange.spec.id;
        let Some(flow) = self.flows.get_mut(&id).filter(|flow| !flow.failed) else { return };
        if let Some(outbound) = flow.outbound[destination].as_mut() {
            if outbound.queue.is_empty() {
                self.peers[destination].active.push(id);
            }
            outbound.queue.push_back(Waiting { sequence, body, last });
        }
    }

    /// Ends a flow with an error: its queues and windows are given back at once.
    pub(super) fn fail_flow(&mut self, id: ExchangeId, error: NetworkError) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        flow.failed = true;
        flow.outbound.iter_mut().for_each(|outbound| *outbound = None);
        flow.windows.iter_mut().for_each(|window| *window = None);
        flow.exchange.fail(error);
        let closing = flow.closing;
        self.forget(id, closing);
    }

    /// Takes a flow off all lists, and out of the table.
    fn forget(&mut self, id: ExchangeId, remove: bool) {
        self.peers.iter_mut().for_each(|peer| peer.active.retain(|active| *active != id));
        self.hungry.retain(|(hungry, _)| *hungry != id);
        if remove && self.flows.remove(&id).is_some() {
            if self.closed_order.len() >= EARLY_MAX
                && let Some(oldest) = self.closed_order.pop_front()
            {
                self.closed.remove(&oldest);
            }
            self.closed.insert(id);
            self.closed_order.push_back(id);
        }
    }

    pub(super) fn close(&mut self, id: ExchangeId) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        flow.closing = true;
        let wanted_more = flow.windows.iter().flatten().any(|window| !window.is_complete());
        if wanted_more && !flow.failed {
            // Its sources would wait for credit that nobody grants any more.
            let exchange = Arc::clone(&flow.exchange);
            self.cancel(&exchange);
        }
        self.close_if_drained(id);
    }

    /// A closed flow goes when its last message has been sent.
    pub(super) fn close_if_drained(&mut self, id: ExchangeId) {
        if self.flows.get(&id).is_some_and(|flow| flow.closing && flow.is_drained()) {
            self.forget(id, true);
        }
    }

    pub(super) fn on_credit(
        &mut self,
        peer: NodeId,
        id: ExchangeId,
        granted: u64,
    ) -> Result<(), NetworkError> {
        if let Some(flow) = self.flows.get_mut(&id) {
            if let Some(outbound) = flow.outbound[peer.index()].as_mut() {
                outbound.granted = outbound.granted.max(granted);
            }
            return Ok(());
        }
        if self.closed.contains(&id) {
            return Ok(());
        }
        let early = &mut self.peers[peer.index()].early_credit;
        if early.len() >= EARLY_MAX && !early.contains_key(&id) {
            let problem = crate::frame::FrameProblem::TooMany;
            return Err(NetworkError::BadFrame { peer, problem });
        }
        let before = early.entry(id).or_insert(0);
        *before = (*before).max(granted);
        Ok(())
    }

    pub(super) fn on_cancel(&mut self, peer: NodeId, id: ExchangeId, reason: u64) {
        let error = match u16::try_from(reason.wrapping_sub(1)) {
            Ok(lost) => {
                let (peer, cause) = (NodeId(lost), format!("node {peer} says so"));
                NetworkError::PeerLost { peer, cause }
            }
            Err(_) => NetworkError::Cancelled { exchange: id, by: peer },
        };
        if self.flows.contains_key(&id) {
            self.fail_flow(id, error);
            return;
        }
        if self.closed.contains(&id) {
            return;
        }
        let state = &mut self.peers[peer.index()];
        state.early_credit.remove(&id);
        if state.early_cancels.len() >= EARLY_MAX {
            state.early_cancels.pop_front();
        }
        state.early_cancels.push_back((id, error));
    }
}
