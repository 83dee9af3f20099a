//! What a frame that came means, and where its body goes.
//!
//! A body is placed before it is read: into a message of the window that its source was granted, or nowhere, if its
//! exchange is over. So a peer that sends more than it was granted is found out at the frame, and costs no memory.

use super::{MILLISECOND, Nanos, Traffic};
use crate::auto::Report;
use crate::error::NetworkError;
use crate::exchange::Received;
use crate::frame::{Class, ExchangeId, FLAG_BUSY, FLAG_LAST, Frame, FrameProblem, Kind, NodeId};
use crate::pool::Message;

/// Where the body of a frame goes.
#[derive(Debug)]
pub enum Accept {
    /// Into this message; its length is set.
    Into(Message),
    /// Nowhere: it is read and dropped.
    Drop,
}

impl Traffic {
    fn check_frame(&self, peer: NodeId, frame: &Frame) -> Result<(), NetworkError> {
        let bad = |problem| Err(NetworkError::BadFrame { peer, problem });
        if frame.source != peer || frame.destination != self.shared.me {
            return bad(FrameProblem::Address);
        }
        if matches!(frame.kind, Kind::Hello | Kind::Refuse) {
            return bad(FrameProblem::Order);
        }
        let limit = match frame.class {
            Class::Urgent => self.config.urgent_bytes,
            Class::Data => self.config.message_bytes,
        };
        if frame.length as usize > limit {
            return bad(FrameProblem::Length(frame.length));
        }
        Ok(())
    }

    /// Nobody was granted anything for an exchange that was never open here.
    fn check_known(&self, peer: NodeId, exchange: ExchangeId) -> Result<(), NetworkError> {
        let known = self.flows.contains_key(&exchange) || self.closed.contains(&exchange);
        if known { Ok(()) } else { Err(NetworkError::BeyondWindow { peer, exchange }) }
    }

    /// Where the body of this frame goes.
    pub fn accept(&mut self, peer: NodeId, frame: &Frame) -> Result<Accept, NetworkError> {
        self.check_frame(peer, frame)?;
        if frame.epoch != self.config.epoch || !self.peers[peer.index()].live {
            return Ok(Accept::Drop);
        }
        let exchange = frame.exchange;
        self.check_known(peer, exchange)?;
        let Some(flow) = self.flows.get_mut(&exchange).filter(|flow| !flow.failed) else {
            return Ok(Accept::Drop);
        };
        let Some(window) = flow.windows[peer.index()].as_mut() else {
            return Err(NetworkError::BadFrame { peer, problem: FrameProblem::Address });
        };
        let class_fits = frame.class == flow.exchange.spec.class;
        if window.arrived >= window.announced || !class_fits {
            return Err(NetworkError::BeyondWindow { peer, exchange });
        }
        let Some(promise) = window.promises.pop() else {
            return Err(NetworkError::BeyondWindow { peer, exchange });
        };
        window.arrived += 1;
        let mut message = promise.fill(flow.exchange.next_node());
        message.set_used(frame.length as usize);
        Ok(Accept::Into(message))
    }

    /// A frame came, with its body in the message that `accept` gave.
    pub fn arrived(
        &mut self,
        peer: NodeId,
        frame: &Frame,
        message: Option<Message>,
        now: Nanos,
    ) -> Result<(), NetworkError> {
        self.check_frame(peer, frame)?;
        self.heard(peer, now);
        if !self.peers[peer.index()].live {
            return Ok(());
        }
        if frame.epoch != self.config.epoch {
            self.statistics.dropped_frames += 1;
            return Ok(());
        }
        match frame.kind {
            Kind::Data => self.on_data(peer, frame, message, now)?,
            Kind::Credit => self.on_credit(peer, frame.exchange, frame.value)?,
            Kind::Cancel => self.on_cancel(peer, frame.exchange, frame.value),
            Kind::Permit => self.phases.on_permit(peer, frame.sequence),
            Kind::End => self.phases.on_end(peer, frame.sequence, frame.value, frame.has(FLAG_BUSY)),
            Kind::Wake => self.phases.on_wake(frame.sequence),
            Kind::Report => {
                let (sent, received) = (frame.sequence, frame.value);
                self.auto.report(Report { sent, received, on: frame.has(FLAG_BUSY) });
            }
            Kind::Mode if peer.index() == self.decider() => self.on_mode(frame.has(FLAG_BUSY), now),
            Kind::Mode | Kind::Ping | Kind::Hello | Kind::Refuse => {}
        }
        self.flush_signals();
        Ok(())
    }

    fn on_data(
        &mut self,
        peer: NodeId,
        frame: &Frame,
        message: Option<Message>,
        now: Nanos,
    ) -> Result<(), NetworkError> {
        let length = u64::from(frame.length);
        if frame.class == Class::Data {
            self.last_data = now.max(MILLISECOND);
            self.epoch_received += length;
            self.statistics.bytes_received += length;
            self.phases.on_bulk(peer, length);
        }
        let id = frame.exchange;
        self.check_known(peer, id)?;
        let flow = self.flows.get_mut(&id).filter(|flow| !flow.failed);
        let Some((flow, window)) = flow.and_then(|flow| {
            let window = flow.windows[peer.index()].as_mut()?;
            Some((&flow.exchange, window))
        }) else {
            self.statistics.dropped_frames += 1;
            return Ok(());
        };
        let bad = || NetworkError::BadFrame { peer, problem: FrameProblem::Sequence(frame.sequence) };
        if window.is_complete() || window.total.is_some_and(|total| frame.sequence >= total) {
            return Err(bad());
        }
        window.frames += 1;
        if frame.has(FLAG_LAST) {
            let total = frame.sequence.saturating_add(1);
            if window.total.is_some() || total < window.frames {
                return Err(bad());
            }
            window.total = Some(total);
        }
        if let Some(message) = message {
            self.statistics.messages_received += 1;
            flow.push(Received { message, source: peer, sequence: frame.sequence });
        }
        if window.is_complete() {
            // What was granted and is not needed goes back.
            window.promises.clear();
            flow.source_ended();
        } else {
            self.top_up(id, peer.index());
        }
        Ok(())
    }
}
