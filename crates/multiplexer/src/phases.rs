//! The network schedule: phases in which every node sends bulk to one node and receives bulk from one node.
//!
//! W. Rödiger, T. Mühlbauer, A. Kemper, T. Neumann, "High-Speed Query Processing over High-Speed Networks", PVLDB 9(4),
//! 2015, section 3.2.3: in phase p of n − 1, node i sends to (i + p) mod n. There all nodes synchronise after each
//! phase; here no barrier exists, each receiver *permits* its next source (deviation: one slow pair delays those who
//! wait for it, not everybody at once, and nodes without bulk are skipped in a round trip).
//!
//! ```text
//!  sending side, counter s, target t = (me + 1 + s mod (n-1)) mod n          receiving side, counter r, source likewise
//!
//!    WAITING --Permit(s) from t--> SENDING --END(s) to t--> WAITING, s+1        PERMITTED --END(r) from source and all
//!                                  until the phase's bytes are sent,                       bytes it names--> r+1,
//!                                  nothing is left, or its time is up                      Permit(r+1) to the next
//!                                                                                at the end of a round: PARKED if the
//!                                                                                round before was empty everywhere
//! ```
//! *No conflict*: a receiver has one permit out, for the source whose END it awaits; a sender sends in one phase only.
//! *Liveness*: let m be the least counter of all. A receiver at m permitted a source whose counter is at least m: either
//! its END is on its way, or it is at m, gets the permit and ends in bounded time. So m grows.
//! *Parking is unanimous*: END(r) of round R says whether its sender sent anything in round R − 1. Each node hears that of
//! every other in round R, so "nobody sent in R − 1" is the same fact everywhere when R ends. A node that gets bulk while
//! parked sends WAKE(round) to all. When links are lost, nodes may see different facts; a sender that waits for a
//! permit too long sends WAKE again, so parking is never more than a delay.

use crate::frame::NodeId;

/// A signal for a later round than this one from now is none that an honest peer sends.
const ROUNDS_AHEAD_MAX: u64 = 4;

/// What the schedule wants sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The receiver permits its source.
    Permit {
        /// Number of the phase since the view began.
        counter: u64,
    },
    /// The sender is through.
    End {
        /// Number of the phase.
        counter: u64,
        /// Bulk bytes sent to this peer in this view.
        bytes: u64,
        /// Whether its sender sent bulk in the round before.
        busy: bool,
    },
    /// Phases begin again with this round.
    Wake {
        /// The round.
        round: u64,
    },
}

/// One node's part of the schedule, without clocks and sockets.
#[derive(Debug)]
pub struct Phases {
    me: usize,
    nodes: usize,
    phase_bytes: u64,
    live: Vec<bool>,
    // The sending side.
    send: u64,
    /// By target: number of the newest permit + 1.
    permits: Vec<u64>,
    sent_in_phase: u64,
    sent_total: Vec<u64>,
    /// The last rounds in which this node sent bulk, newest first. While it receives in round R it may send in R + 2
    /// (a target in R + 3 has heard of everybody's R + 2, which needed this node's permits of R + 1), so R − 1 to R + 2
    /// are kept.
    busy_rounds: [Option<u64>; 4],
    // The receiving side.
    receive: u64,
    parked: bool,
    /// The round in whose course everybody may have been busy: the first after a wake.
    woken_round: u64,
    heard_busy: bool,
    received_total: Vec<u64>,
    pending_end: Option<(usize, u64, u64)>,
    /// A newest wake for a round that has not come yet.
    wake_round: u64,
    wanted: bool,
    signals: Vec<(NodeId, Signal)>,
}

impl Phases {
    /// The schedule of node `me` of `nodes`, all parked before round 0.
    pub fn new(me: NodeId, nodes: usize, phase_bytes: u64) -> Phases {
        Phases {
            me: me.index(),
            nodes,
            phase_bytes,
            live: (0..nodes).map(|node| node != me.index()).collect(),
            send: 0,
            permits: vec![0; nodes],
            sent_in_phase: 0,
            sent_total: vec![0; nodes],
            busy_rounds: [None; 4],
            receive: 0,
            parked: true,
            woken_round: 0,
            heard_busy: false,
            received_total: vec![0; nodes],
            pending_end: None,
            wake_round: 0,
            wanted: false,
            signals: Vec::with_capacity(2 * nodes),
        }
    }

    fn phases(&self) -> u64 {
        self.nodes.saturating_sub(1).max(1) as u64
    }

    fn target_of(&self, counter: u64) -> usize {
        (self.me + 1 + (counter % self.phases()) as usize) % self.nodes
    }

    fn source_of(&self, counter: u64) -> usize {
        (self.me + self.nodes - 1 - (counter % self.phases()) as usize) % self.nodes
    }

    fn round_of(&self, counter: u64) -> u64 {
        counter / self.phases()
    }

    fn has_peers(&self) -> bool {
        self.live.iter().any(|live| *live)
    }

    /// Signals to send, oldest first.
    pub fn take_signals(&mut self, into: &mut Vec<(NodeId, Signal)>) {
        into.append(&mut self.signals);
    }

    /// The peer that may be sent bulk now.
    pub fn target(&self) -> Option<NodeId> {
        let target = self.target_of(self.send);
        let permitted = self.live[target] && self.permits[target] == self.send + 1;
        permitted.then_some(NodeId(target as u16))
    }

    /// The node that is permitted to send bulk to this one, if any.
    pub fn permitted_source(&self) -> Option<NodeId> {
        let source = self.source_of(self.receive);
        (!self.parked && self.live[source]).then_some(NodeId(source as u16))
    }

    /// How many bytes may still be sent in this phase; one message may exceed it.
    pub fn room(&self) -> u64 {
        self.phase_bytes.saturating_sub(self.sent_in_phase)
    }

    /// Number of the phase that this node's sending side is in.
    pub fn sending_counter(&self) -> u64 {
        self.send
    }

    /// Whether the receiving side waits for a wake.
    pub fn is_parked(&self) -> bool {
        self.parked
    }

    /// Bulk was sent to a peer, in a phase or while the schedule is off.
    pub fn sent(&mut self, peer: NodeId, bytes: u64) {
        self.sent_total[peer.index()] += bytes;
        if self.target() == Some(peer) {
            self.sent_in_phase += bytes;
            let round = self.round_of(self.send);
            if self.busy_rounds[0] != Some(round) {
                self.busy_rounds.rotate_right(1);
                self.busy_rounds[0] = Some(round);
            }
        }
    }

    /// There is bulk to send in phases, or none any more.
    pub fn want(&mut self, wanted: bool) {
        self.wanted = wanted;
        if wanted && self.parked && self.has_peers() {
            self.unpark(true);
        }
    }

    /// The sender is through with its phase: END to the target, then the next.
    pub fn end_phase(&mut self) {
        if let Some(target) = self.target() {
            let busy = self.was_busy_before(self.round_of(self.send));
            let bytes = self.sent_total[target.index()];
            self.signals.push((target, Signal::End { counter: self.send, bytes, busy }));
            self.advance_sending();
        }
    }

    fn advance_sending(&mut self) {
        self.send += 1;
        self.sent_in_phase = 0;
        self.skip_lost_targets();
        self.decide();
    }

    fn skip_lost_targets(&mut self) {
        while self.has_peers() && !self.live[self.target_of(self.send)] {
            self.send += 1;
        }
    }

    fn was_busy_before(&self, round: u64) -> bool {
        // Nothing is known of the round before a wake; saying "busy" costs one empty round.
        round <= self.woken_round || self.busy_rounds.contains(&Some(round - 1))
    }

    /// A permit came.
    pub fn on_permit(&mut self, from: NodeId, counter: u64) {
        if self.round_of(counter) > self.round_of(self.send) + ROUNDS_AHEAD_MAX {
            return;
        }
        let permit = &mut self.permits[from.index()];
        *permit = (*permit).max(counter + 1);
        if self.parked && self.round_of(counter) >= self.round_of(self.receive) {
            self.unpark(false);
        }
    }

    /// An END came.
    pub fn on_end(&mut self, from: NodeId, counter: u64, bytes: u64, busy: bool) {
        // An END that nobody permitted is none.
        let due = !self.parked && counter == self.receive && self.source_of(counter) == from.index();
        if due && self.pending_end.is_none() {
            self.heard_busy |= busy;
            self.pending_end = Some((from.index(), counter, bytes));
            self.advance_receiving();
        }
    }

    /// Bulk came, in a phase or not.
    pub fn on_bulk(&mut self, from: NodeId, bytes: u64) {
        self.received_total[from.index()] += bytes;
        self.advance_receiving();
    }

    /// A WAKE came.
    pub fn on_wake(&mut self, round: u64) {
        if round > self.round_of(self.receive) + ROUNDS_AHEAD_MAX {
            return;
        }
        self.wake_round = self.wake_round.max(round);
        if self.parked && round >= self.round_of(self.receive) {
            self.unpark(false);
        }
    }

    /// The link to a peer is gone: its phases are skipped.
    pub fn on_lost(&mut self, peer: NodeId) {
        self.live[peer.index()] = false;
        if self.pending_end.is_some_and(|(source, ..)| source == peer.index()) {
            self.pending_end = None;
        }
        if self.target_of(self.send) == peer.index() {
            self.sent_in_phase = 0;
        }
        self.skip_lost_targets();
        if !self.parked && self.source_of(self.receive) == peer.index() {
            self.next_source();
        }
        self.decide();
    }

    /// The sender has waited long for its permit: the target may have parked by mistake.
    pub fn remind(&mut self) {
        let target = self.target_of(self.send);
        if self.wanted && self.live[target] && self.target().is_none() {
            let round = self.round_of(self.send);
            self.signals.push((NodeId(target as u16), Signal::Wake { round }));
        }
    }

    fn advance_receiving(&mut self) {
        if let Some((source, _, bytes)) = self.pending_end
            && self.received_total[source] >= bytes
        {
            self.pending_end = None;
            self.next_source();
        }
    }

    /// The receiving side steps on, to the next live source or to the end of its round.
    fn next_source(&mut self) {
        while self.has_peers() {
            self.receive += 1;
            if self.receive.is_multiple_of(self.phases()) {
                self.parked = true;
                self.decide();
                return;
            }
            if self.live[self.source_of(self.receive)] {
                self.permit();
                return;
            }
        }
    }

    fn permit(&mut self) {
        let source = NodeId(self.source_of(self.receive) as u16);
        self.signals.push((source, Signal::Permit { counter: self.receive }));
    }

    /// At the end of a round of receiving: go on, or stay parked because the round before was empty everywhere.
    fn decide(&mut self) {
        if !self.parked || self.receive == 0 {
            return;
        }
        let round = self.round_of(self.receive) - 1;
        if self.round_of(self.send) < round {
            return; // What this node did in the round before is not known yet; its own END decides.
        }
        let next = round + 1;
        let busy = self.heard_busy || self.was_busy_before(round);
        if busy {
            self.go_on();
        } else if self.wake_round >= next {
            self.unpark(false);
        } else if self.wanted && self.has_peers() {
            self.unpark(true);
        }
    }

    fn unpark(&mut self, tell: bool) {
        let round = self.round_of(self.receive);
        if tell {
            let peers = (0..self.nodes).filter(|peer| self.live[*peer]);
            self.signals.extend(peers.map(|peer| (NodeId(peer as u16), Signal::Wake { round })));
        }
        self.woken_round = round;
        self.go_on();
    }

    fn go_on(&mut self) {
        self.parked = false;
        self.heard_busy = false;
        if self.live[self.source_of(self.receive)] {
            self.permit();
        } else {
            self.next_source();
        }
    }
}
