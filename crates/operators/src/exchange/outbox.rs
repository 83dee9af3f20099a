//! Full messages on their way to the network, whose buffers may all be in use.
//!
//! Workers put messages in and carry as many on as there are buffers; when a buffer comes back, the network's thread does.
//! Order is kept. A sender is refused further messages while as many wait as may: what is being filled already is filled
//! to its end, so that whoever waits, waits for the network alone and never for another worker.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use multiplexer::{NetworkError, NodeId as Peer, Port};
use wire::{Buffers, Message, Sealed};

/// What leaves.
enum Parcel {
    ToOne(usize, Sealed),
    ToAll(Sealed),
    /// Nothing comes after it.
    Finish,
}

#[derive(Default)]
struct Held {
    parcels: VecDeque<Parcel>,
    /// Somebody was refused since there was room last.
    refused: bool,
    failure: Option<NetworkError>,
}

/// See the head of the file.
pub(super) struct Outbox {
    held: Mutex<Held>,
    room: Condvar,
    messages_max: usize,
    memory: Arc<wire::Pool>,
    /// The last messages are being written: none is refused.
    closing: AtomicBool,
    carrying: Mutex<()>,
    carry_again: AtomicBool,
    pub(super) messages: AtomicU64,
    pub(super) bytes: AtomicU64,
}

/// Whether something was carried on that others were waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Carried {
    /// Who was refused may try again.
    MadeRoom,
    Nothing,
}

impl Outbox {
    pub(super) fn new(message_bytes: usize, messages_max: usize) -> Outbox {
        Outbox {
            held: Mutex::default(),
            room: Condvar::new(),
            messages_max: messages_max.max(1),
            // How many there are is decided by `take`.
            memory: wire::Pool::on_heap(message_bytes, usize::MAX, 1),
            closing: AtomicBool::new(false),
            carrying: Mutex::new(()),
            carry_again: AtomicBool::new(false),
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on every message that is asked for is given: those that end the exchange, a few a worker.
    pub(super) fn begin_closing(&self) {
        self.closing.store(true, SeqCst);
    }

    /// Whether a unit of rows may begin; if not, `carry` says when.
    pub(super) fn admits(&self) -> bool {
        let mut held = self.held();
        let admitted = held.parcels.len() < self.messages_max || held.failure.is_some();
        held.refused |= !admitted;
        admitted
    }

    /// Takes full messages, each with the nodes that get it; those to all `destinations` once.
    pub(super) fn put(&self, messages: &mut Vec<(usize, Sealed)>, destinations: usize) {
        if messages.is_empty() {
            return;
        }
        let mut held = self.held();
        let mut left = messages.drain(..).peekable();
        while let Some((to, sealed)) = left.next() {
            let sequence = sealed.header().sequence;
            let mut copies = 1;
            while left.next_if(|(_, other)| other.header().sequence == sequence).is_some() {
                copies += 1;
            }
            self.messages.fetch_add(copies, SeqCst);
            self.bytes.fetch_add(copies * sealed.bytes().len() as u64, SeqCst);
            held.parcels.push_back(match copies {
                1 => Parcel::ToOne(to, sealed),
                // A message goes to one node or to all: that is how rows are grouped.
                _ => {
                    debug_assert_eq!(copies as usize, destinations);
                    Parcel::ToAll(sealed)
                }
            });
        }
    }

    /// Nothing is put in any more.
    pub(super) fn put_end(&self) {
        self.held().parcels.push_back(Parcel::Finish);
    }

    /// Hands on what there are buffers for. Called by any thread; one works, and looks again for the others.
    pub(super) fn carry(&self, port: &Port) -> Carried {
        let mut carried = Carried::Nothing;
        self.carry_again.store(true, SeqCst);
        while self.carry_again.load(SeqCst) {
            let Ok(_alone) = self.carrying.try_lock() else { break };
            self.carry_again.store(false, SeqCst);
            if let Err(error) = self.carry_all(port) {
                let mut held = self.held();
                held.failure.get_or_insert(error);
                held.parcels.clear();
            }
            let mut held = self.held();
            let enough = held.parcels.len() <= self.messages_max / 2 || held.failure.is_some();
            if held.refused && enough {
                held.refused = false;
                carried = Carried::MadeRoom;
            }
        }
        if carried == Carried::MadeRoom {
            self.room.notify_all();
        }
        carried
    }

    fn carry_all(&self, port: &Port) -> Result<(), NetworkError> {
        loop {
            let Some(parcel) = self.held().parcels.pop_front() else { return Ok(()) };
            let sealed = match &parcel {
                Parcel::Finish => {
                    port.finish_all()?;
                    continue;
                }
                Parcel::ToOne(_, sealed) | Parcel::ToAll(sealed) => sealed,
            };
            let Some(mut buffer) = port.try_take_buffer(usize::from(sealed.local().node))? else {
                self.held().parcels.push_front(parcel);
                return Ok(());
            };
            if !buffer.append(sealed.bytes()) {
                return Err(NetworkError::NoMemory { messages: 1, limit: 0 });
            }
            match parcel {
                Parcel::ToOne(to, _) => port.send(Peer(to as u16), buffer)?,
                _ => port.broadcast(buffer)?,
            }
        }
    }

    /// Sleeps for a moment, less if there is room before.
    pub(super) fn wait(&self, at_most: Duration) {
        let held = self.held();
        if held.parcels.len() >= self.messages_max && held.failure.is_none() {
            drop(self.room.wait_timeout(held, at_most));
        }
    }

    pub(super) fn failure(&self) -> Option<NetworkError> {
        self.held().failure.clone()
    }

    /// The exchange is over: nothing leaves any more.
    pub(super) fn clear(&self) {
        let parcels = std::mem::take(&mut self.held().parcels);
        drop(parcels);
    }
}

impl Buffers for Outbox {
    fn take(&self, node: u16) -> Option<Message> {
        if !self.closing.load(SeqCst) {
            let mut held = self.held();
            if held.parcels.len() >= self.messages_max {
                held.refused = true;
                return None;
            }
        }
        self.memory.take(node)
    }
    fn message_bytes(&self) -> usize {
        self.memory.message_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{HEADER_BYTES, Header};

    fn sealed(outbox: &Outbox, sequence: u64) -> Sealed {
        let message = outbox.take(0).expect("a message");
        message.seal(Header { sequence, used: 8, plain: 8, ..Header::default() })
    }

    #[test]
    fn a_full_outbox_gives_no_message_until_the_end_is_written() {
        let outbox = Outbox::new(1 << 16, 2);
        for sequence in 0..2 {
            assert!(outbox.admits());
            // What is being filled is given; what is full counts.
            outbox.put(&mut vec![(1, sealed(&outbox, sequence))], 1);
        }
        assert!(!outbox.admits() && outbox.take(0).is_none());
        outbox.begin_closing();
        assert!(outbox.take(0).is_some());
        outbox.clear();
        assert!(outbox.admits());
    }

    #[test]
    fn copies_of_one_message_leave_as_one() {
        let outbox = Outbox::new(1 << 16, 8);
        let (one, two) = (sealed(&outbox, 7), sealed(&outbox, 8));
        outbox.put(&mut vec![(1, one.clone()), (2, one), (1, two)], 2);
        let held = outbox.held();
        assert!(
            matches!(held.parcels[0], Parcel::ToAll(_)) && matches!(held.parcels[1], Parcel::ToOne(1, _))
        );
        drop(held);
        let bytes = 3 * (HEADER_BYTES as u64 + 8);
        assert_eq!((outbox.messages.load(SeqCst), outbox.bytes.load(SeqCst)), (3, bytes));
    }
}
