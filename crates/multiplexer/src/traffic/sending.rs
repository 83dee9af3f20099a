//! What goes next to a peer. Each link has two lanes: control and urgent messages in the one, which goes first whenever
//! the transport can; in the other mice as far as their share goes, then bulk by the schedule.
//!
//! Among messages of one rank the exchange of higher priority goes first, then the one with the longest queue. Within
//! an exchange and destination order is kept: only the first message of a queue is looked at, so a small message passes
//! other exchanges' bulk, never its own.

use super::{MICE_BURST, Nanos, Traffic};
use crate::exchange::{Body, MOUSE_BYTES};
use crate::frame::{Class, ExchangeId, FLAG_LAST, Frame, Kind, NodeId};

/// The two lanes of a link: a frame of the first does not wait for the end of a message in the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Control frames and urgent messages.
    Control,
    /// Messages of rows.
    Rows,
}

impl Lane {
    /// The order in which they are served; the end of a phase, which rows find, goes out at once.
    pub const ORDER: [Lane; 3] = [Lane::Control, Lane::Rows, Lane::Control];
}

/// What may go to a peer, best first of each rank.
#[derive(Default)]
struct Candidates {
    urgent: Option<Rank>,
    mouse: Option<Rank>,
    any: Option<Rank>,
}

type Rank = (u8, usize, std::cmp::Reverse<ExchangeId>);

impl Traffic {
    fn candidates(&self, peer: usize) -> Candidates {
        let mut found = Candidates::default();
        for id in &self.peers[peer].active {
            let Some(flow) = self.flows.get(id) else { continue };
            let Some(length) = flow.sendable(peer) else { continue };
            let waiting = flow.outbound[peer].as_ref().map_or(0, |outbound| outbound.queue.len());
            let rank = Some((flow.exchange.spec.priority, waiting, std::cmp::Reverse(*id)));
            if flow.exchange.spec.class == Class::Urgent {
                found.urgent = found.urgent.max(rank);
            } else {
                found.any = found.any.max(rank);
                if length <= MOUSE_BYTES {
                    found.mouse = found.mouse.max(rank);
                }
            }
        }
        found
    }

    /// Whether there is anything that needs a phase.
    pub(super) fn has_sendable_bulk(&self) -> bool {
        self.peers.iter().enumerate().any(|(node, peer)| {
            let mut active = peer.active.iter().filter_map(|id| self.flows.get(id));
            active.any(|flow| {
                flow.exchange.spec.class == Class::Data
                    && flow.sendable(node).is_some_and(|length| length > MOUSE_BYTES || self.mice < 0)
            })
        })
    }

    /// The next frame of a lane for a peer whose link has room in it, with its body; none if nothing may go now.
    pub fn next_frame(&mut self, peer: NodeId, lane: Lane, now: Nanos) -> Option<(Frame, Option<Body>)> {
        if !self.peers[peer.index()].live {
            return None;
        }
        match lane {
            Lane::Control => self.next_control(peer, now),
            Lane::Rows => self.next_rows(peer, now),
        }
    }

    fn next_control(&mut self, peer: NodeId, now: Nanos) -> Option<(Frame, Option<Body>)> {
        if let Some(frame) = self.peers[peer.index()].control.pop_front() {
            return Some(self.sent(peer, frame, None, now));
        }
        let (.., id) = self.candidates(peer.index()).urgent?;
        self.take(peer, id.0, now)
    }

    fn next_rows(&mut self, peer: NodeId, now: Nanos) -> Option<(Frame, Option<Body>)> {
        // The lane has room, so what was sent before has left; a phase that ended earlier would share the link.
        self.end_phase_if_over(peer, now);
        let found = self.candidates(peer.index());
        let bulk_waits = self.has_sendable_bulk();
        if let Some((.., id)) = found.mouse.filter(|_| self.mice >= 0 || !bulk_waits) {
            let spent = i64::from(bulk_waits);
            let taken = self.take(peer, id.0, now);
            let length = taken.as_ref().map_or(0, |(frame, _)| i64::from(frame.length));
            self.mice -= spent * length;
            return taken;
        }
        let (.., id) = found.any?;
        if self.is_paced_out(now) || !self.may_send_bulk(peer, now) {
            return None;
        }
        let taken = self.take(peer, id.0, now);
        let length = taken.as_ref().map_or(0, |(frame, _)| i64::from(frame.length));
        self.mice = (self.mice + length * self.config.mice_percent as i64 / 100).min(MICE_BURST);
        taken
    }

    fn may_send_bulk(&mut self, peer: NodeId, now: Nanos) -> bool {
        if !self.is_scheduled() {
            return true;
        }
        self.note_phase(now);
        match self.phases.target() {
            Some(target) => target == peer && self.phases.room() > 0,
            None => {
                let overdue = now > self.phase_began + self.config.permit_wait_max;
                self.statistics.overdue += u64::from(overdue);
                overdue
            }
        }
    }

    /// Ends the phase with a peer whose bytes or time are spent, or for whom there is nothing.
    fn end_phase_if_over(&mut self, peer: NodeId, now: Nanos) {
        if self.phases.target() != Some(peer) {
            return;
        }
        self.note_phase(now);
        let over = !self.is_scheduled()
            || self.phases.room() == 0
            || now > self.phase_began + self.config.phase_time_max
            || self.candidates(peer.index()).any.is_none();
        if over {
            self.phases.end_phase();
            self.note_phase(now);
            self.flush_signals();
        }
    }

    /// Whether rows have had their share of the link for now.
    fn is_paced_out(&mut self, now: Nanos) -> bool {
        let Some(pace) = self.config.pace else { return false };
        let passed = now.saturating_sub(self.pace_at);
        let earned = u128::from(pace) * u128::from(passed) / 1_000_000_000;
        // What was not used is lost after 2 ms: a pause is no reason for a burst.
        let burst = i64::try_from(pace / 500).unwrap_or(i64::MAX);
        self.pace_debt = self.pace_debt.saturating_sub(i64::try_from(earned).unwrap_or(i64::MAX)).max(-burst);
        self.pace_at = now;
        self.pace_debt > 0
    }

    fn take(&mut self, peer: NodeId, id: ExchangeId, now: Nanos) -> Option<(Frame, Option<Body>)> {
        let flow = self.flows.get_mut(&id)?;
        let slot = flow.slot_bytes();
        let class = flow.exchange.spec.class;
        let outbound = flow.outbound[peer.index()].as_mut()?;
        let head = outbound.queue.pop_front()?;
        outbound.finished |= head.last;
        let drained = outbound.queue.is_empty();
        let length = head.body.as_ref().map_or(0, |body| body.message().used());
        outbound.sent += if head.body.is_some() { slot } else { 0 };
        if drained {
            self.peers[peer.index()].active.retain(|active| *active != id);
            self.close_if_drained(id);
        }
        let mut frame = Frame::control(Kind::Data, self.config.epoch, self.shared.me, peer);
        frame.class = class;
        frame.exchange = id;
        frame.sequence = head.sequence;
        frame.length = length as u32;
        frame.flags = if head.last { FLAG_LAST } else { 0 };
        if class == Class::Data {
            let length = length as u64;
            self.phases.sent(peer, length);
            self.epoch_sent += length;
            self.pace_debt = self.pace_debt.saturating_add(length as i64);
            self.statistics.bytes_sent += length;
            self.last_data = now.max(1);
        }
        self.statistics.messages_sent += u64::from(head.body.is_some());
        Some(self.sent(peer, frame, head.body, now))
    }

    fn sent(&mut self, peer: NodeId, frame: Frame, body: Option<Body>, now: Nanos) -> (Frame, Option<Body>) {
        self.peers[peer.index()].last_sent = now;
        self.statistics.frames_sent += 1;
        (frame, body)
    }
}
