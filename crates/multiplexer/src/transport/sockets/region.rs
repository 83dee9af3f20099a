//! Messages by reference, between processes of one machine: a mapped pool of slots for each directed pair.
//!
//! ```text
//!  sender                         region                             receiver
//!  a free slot: state 0 ------->  bytes copied in, state 1
//!  frame with FLAG_REFERENCE ----------- Unix socket ------------->  bytes copied into a message of the window
//!                                 state 0  <-----------------------  released
//!                                 "waits" is set: a Ping back wakes the sender
//! ```
//! The links' Unix sockets carry everything else: Hello, control, small messages, wake-ups, and the news that a process
//! died. The sender creates the region as a file beside its socket; the receiver maps it at the first reference and
//! removes the name. A message is copied twice, by no system call; a peer that changes bytes while they are copied harms
//! what it sends, nothing else.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use memory::SharedRegion;

use super::Address;
use crate::frame::NodeId;

/// Slots of a pair: while one is copied out, others are on their way.
const SLOTS: usize = 4;
/// Each state has a cache line of its own; then the word that says that the sender waits.
const LINE: usize = 64;
const WAITS: usize = SLOTS * LINE;
const FIRST_SLOT: usize = 4096;

/// One direction's region, as either side sees it.
pub(super) struct Region {
    memory: SharedRegion,
    message_bytes: usize,
    /// The name, while it is the sender's to remove.
    name: Option<PathBuf>,
}

fn bytes_of(message_bytes: usize) -> usize {
    FIRST_SLOT + SLOTS * message_bytes
}

/// Where a sender's region for a peer has its name.
fn name_of(sender: &Address, to: NodeId) -> Option<PathBuf> {
    match sender {
        Address::Unix(path) => Some(PathBuf::from(format!("{}.to-{to}", path.display()))),
        Address::Tcp(_) => None,
    }
}

impl Region {
    /// The sender's side; none if there can be no shared memory between the two.
    pub(super) fn create(own: &Address, to: NodeId, message_bytes: usize) -> Option<Region> {
        let name = name_of(own, to)?;
        // What a former process left has the same name.
        let _ = std::fs::remove_file(&name);
        let memory = SharedRegion::create(&name, bytes_of(message_bytes)).ok()?;
        Some(Region { memory, message_bytes, name: Some(name) })
    }

    /// The receiver's side.
    pub(super) fn open(sender: &Address, to: NodeId, message_bytes: usize) -> Option<Region> {
        let name = name_of(sender, to)?;
        let memory = SharedRegion::open(&name, bytes_of(message_bytes)).ok()?;
        remove(&name);
        Some(Region { memory, message_bytes, name: None })
    }

    fn is_free(&self, slot: usize) -> bool {
        self.memory.word(slot * LINE).is_some_and(|state| state.load(Ordering::Acquire) == 0)
    }

    /// Whether a slot is free; if not, the receiver will wake this side.
    pub(super) fn has_room(&self) -> bool {
        let free = || (0..SLOTS).any(|slot| self.is_free(slot));
        free() || {
            if let Some(waits) = self.memory.word(WAITS) {
                waits.store(1, Ordering::SeqCst);
            }
            free()
        }
    }

    /// Copies a message into a free slot.
    pub(super) fn put(&self, bytes: &[u8]) -> Option<u64> {
        let slot = (0..SLOTS).find(|slot| self.is_free(*slot))?;
        let fits = bytes.len() <= self.message_bytes;
        if !fits || !self.memory.write(FIRST_SLOT + slot * self.message_bytes, bytes) {
            return None;
        }
        self.memory.word(slot * LINE)?.store(1, Ordering::Release);
        Some(slot as u64)
    }

    /// Copies a message out of a slot that a frame named.
    pub(super) fn get(&self, slot: u64, into: &mut [u8]) -> bool {
        let slot = usize::try_from(slot).ok().filter(|slot| *slot < SLOTS);
        let state = slot.and_then(|slot| self.memory.word(slot * LINE));
        let (Some(slot), Some(state)) = (slot, state) else { return false };
        state.load(Ordering::Acquire) == 1
            && into.len() <= self.message_bytes
            && self.memory.read(FIRST_SLOT + slot * self.message_bytes, into)
    }

    /// Gives a slot back; whether the sender waits for one.
    pub(super) fn release(&self, slot: u64) -> bool {
        let slot = usize::try_from(slot).ok().filter(|slot| *slot < SLOTS);
        if let Some(state) = slot.and_then(|slot| self.memory.word(slot * LINE)) {
            state.store(0, Ordering::SeqCst);
        }
        self.memory.word(WAITS).is_some_and(|waits| waits.swap(0, Ordering::SeqCst) == 1)
    }
}

fn remove(name: &Path) {
    let _ = std::fs::remove_file(name);
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            remove(name);
        }
    }
}
