//! Aggregation between processes: many small messages of many tasks leave in few large buffers.
//!
//! ```text
//!  locale 0: list per node --+                                                         +--> any locale of the node unpacks
//!  locale 1: list per node --+--flush by size, age, idleness--> buffer --transport--> arrived
//!                            +   (one locale is responsible for a node, and takes its siblings' messages too)
//!
//!  buffer:  0          8           16         20      24
//!           | build u64 | done u64 | messages | flags | messages one after another ...      flags: program << 1 | urgent
//! ```
//! A runtime runs one program after another; a buffer of one that is over here is dropped, one of the next is kept.
//!
//! `done` says how many buffers of the receiver's were unpacked and dropped here. A node sends at most `window` buffers
//! beyond that; an acknowledgement of its own, which is not counted, goes out when there is nothing else to send and half a
//! window is owed, or the node is idle. **No deadlock**: receiving and unpacking never wait for a buffer (what they say goes
//! to the lists), so windows and buffers always come back; lists grow only by what tasks issue, which wait for room, and by
//! replies, of which each blocked task has one.
//!
//! Every buffer carries the hash of its build: another program's buffer is refused before it is read. After Myers 2016,
//! 2.4.3; lists are behind a lock each, held for an append or a swap, where the thesis has compare-and-swap: the lock is
//! its owner's almost always.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::GlobalError;
use crate::packet::Packet;
use crate::transport::{Buffer, Transport};

const HEAD_BYTES: usize = 24;
/// Of a list; less where buffers are small, so that what is left of a buffer is used.
const CHUNK_BYTES_MAX: usize = 4 << 10;
const URGENT: u32 = 1;

/// When messages leave.
#[derive(Clone, Copy, Debug)]
pub struct Aggregation {
    /// Off: each message is a buffer of its own, at once.
    pub on: bool,
    /// A list of so many bytes leaves.
    pub flush_bytes: usize,
    /// A message leaves after this time.
    pub flush_age: Duration,
    /// Messages for a locale of the same process leave when they are so many.
    pub flush_letters: usize,
    /// Buffers that a node may have sent and not acknowledged.
    pub window: u64,
    /// Tasks wait when lists for a node hold so many bytes.
    pub list_bytes_max: usize,
}

impl Default for Aggregation {
    fn default() -> Self {
        Aggregation {
            on: true,
            flush_bytes: 32 << 10,
            flush_age: Duration::from_micros(500),
            flush_letters: 256,
            window: 16,
            list_bytes_max: 4 << 20,
        }
    }
}

/// What went over the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkCounts {
    /// Messages sent.
    pub messages: u64,
    /// Buffers that they were sent in.
    pub buffers: u64,
    /// Bytes of these, heads included.
    pub bytes: u64,
    /// Messages that another locale of the node than their own sent.
    pub of_siblings: u64,
    /// Buffers that left because their list was long enough.
    pub by_size: u64,
    /// Because a message had waited long enough.
    pub by_age: u64,
    /// Because nothing else was to do.
    pub by_idleness: u64,
    /// Because a message was urgent, or aggregation is off.
    pub at_once: u64,
    /// Acknowledgements without messages.
    pub acknowledgements: u64,
    /// Times that nothing could be sent because buffers or the window had run out.
    pub held: u64,
}

/// Why a list is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Size,
    Age,
    Idle,
    AtOnce,
}

#[derive(Default)]
struct List {
    chunks: VecDeque<(Vec<u8>, u32)>,
    spare: Vec<Vec<u8>>,
}

impl List {
    fn append(&mut self, packet: &Packet<'_>, chunk_bytes: usize) -> usize {
        if self.chunks.back().is_none_or(|(chunk, _)| chunk.len() + 32 > chunk_bytes) {
            let chunk = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(chunk_bytes));
            self.chunks.push_back((chunk, 0));
        }
        let Some((chunk, messages)) = self.chunks.back_mut() else { return 0 };
        let before = chunk.len();
        packet.write(chunk);
        *messages += 1;
        let (added, whole) = (chunk.len() - before, *messages == 1);
        if chunk.len() > chunk_bytes && !whole {
            // A long message has a chunk of its own: chunks have to fit into what is left of a buffer.
            let long = chunk.split_off(before);
            *messages -= 1;
            self.chunks.push_back((long, 1));
        }
        added
    }
}

#[derive(Default)]
struct Peer {
    lists: Vec<Mutex<List>>,
    bytes: AtomicUsize,
    /// When the oldest message was put there, in nanoseconds after the start; 0: there is none.
    since: AtomicU64,
    sent: Mutex<Sent>,
    /// Buffers of that node that were unpacked.
    done: AtomicU64,
}

#[derive(Default)]
struct Sent {
    buffers: u64,
    acknowledged: u64,
    /// The last `done` that the peer was told.
    told: u64,
    next_list: usize,
    counts: NetworkCounts,
}

/// A buffer to be unpacked.
pub(crate) struct Arrived {
    pub(crate) from: u16,
    program: u32,
    buffer: Buffer,
    counted: bool,
}

impl Arrived {
    pub(crate) fn messages(&self) -> &[u8] {
        self.buffer.bytes().get(HEAD_BYTES..).unwrap_or_default()
    }
}

pub(crate) struct Network {
    transport: Box<dyn Transport>,
    peers: Vec<Peer>,
    arrived: Mutex<VecDeque<Arrived>>,
    waiting: AtomicUsize,
    program: AtomicU32,
    early: Mutex<Vec<Arrived>>,
    build: u64,
    chunk_bytes: usize,
    settings: Aggregation,
    started: Instant,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Network {
    pub(crate) fn new(
        transport: Box<dyn Transport>,
        locales: usize,
        build: u64,
        settings: Aggregation,
    ) -> Self {
        let peer = || Peer { lists: (0..locales).map(|_| Mutex::default()).collect(), ..Peer::default() };
        Network {
            peers: (0..transport.nodes()).map(|_| peer()).collect(),
            chunk_bytes: (transport.buffer_bytes(false).saturating_sub(HEAD_BYTES) / 2).min(CHUNK_BYTES_MAX),
            transport,
            arrived: Mutex::default(),
            waiting: AtomicUsize::new(0),
            program: AtomicU32::new(0),
            early: Mutex::default(),
            build,
            settings,
            started: Instant::now(),
        }
    }

    pub(crate) fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64 | 1
    }

    /// Bytes that wait for a node.
    pub(crate) fn queued(&self, node: u16) -> usize {
        self.peers[usize::from(node)].bytes.load(Relaxed)
    }

    /// Whether tasks should wait before they say more to this node.
    pub(crate) fn is_full(&self, node: u16) -> bool {
        self.queued(node) > self.settings.list_bytes_max
    }

    /// Puts a message on a locale's list for a node; true where the list is to be flushed now.
    #[inline]
    pub(crate) fn post(&self, locale: usize, node: u16, packet: &Packet<'_>) -> bool {
        let peer = &self.peers[usize::from(node)];
        let mut list = lock(&peer.lists[locale]);
        let added = list.append(packet, self.chunk_bytes);
        // Within the lock: whoever takes them off counts them off after they were counted.
        let before = peer.bytes.fetch_add(added, SeqCst);
        drop(list);
        if before == 0 {
            peer.since.store(self.now(), Relaxed);
        }
        before + added >= self.settings.flush_bytes || !self.settings.on
    }

    /// Sends a message that must not wait, in a buffer of its own; false: no buffer could be had.
    pub(crate) fn send_urgent(&self, node: u16, packet: &Packet<'_>) -> Result<bool, GlobalError> {
        let mut bytes = Vec::with_capacity(64);
        packet.write(&mut bytes);
        let limit = self.transport.buffer_bytes(true).saturating_sub(HEAD_BYTES);
        if bytes.len() > limit {
            return Ok(false);
        }
        let Some(mut buffer) = self.transport.try_buffer(node, true)? else { return Ok(false) };
        let peer = &self.peers[usize::from(node)];
        let mut sent = lock(&peer.sent);
        buffer.append(&self.head(peer, &mut sent, 1, URGENT));
        buffer.append(&bytes);
        Self::count(&mut sent.counts, &buffer, 1, Reason::AtOnce);
        drop(sent);
        self.transport.send(node, buffer, true)?;
        Ok(true)
    }

    fn head(&self, peer: &Peer, sent: &mut Sent, messages: u32, flags: u32) -> [u8; HEAD_BYTES] {
        sent.told = peer.done.load(SeqCst);
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&self.build.to_le_bytes());
        head[8..16].copy_from_slice(&sent.told.to_le_bytes());
        head[16..20].copy_from_slice(&messages.to_le_bytes());
        head[20..].copy_from_slice(&(self.program.load(SeqCst) << 1 | flags).to_le_bytes());
        head
    }

    fn count(counts: &mut NetworkCounts, buffer: &Buffer, messages: u64, why: Reason) {
        counts.buffers += 1;
        counts.messages += messages;
        counts.bytes += buffer.bytes().len() as u64;
        match why {
            Reason::Size => counts.by_size += 1,
            Reason::Age => counts.by_age += 1,
            Reason::Idle => counts.by_idleness += 1,
            Reason::AtOnce => counts.at_once += 1,
        }
    }

    /// Sends what waits for a node, if its window and buffers allow it. Whether something was sent.
    pub(crate) fn flush(&self, node: u16, by: usize, why: Reason) -> Result<bool, GlobalError> {
        let peer = &self.peers[usize::from(node)];
        // Somebody else is at it.
        let Ok(mut sent) = peer.sent.try_lock() else { return Ok(false) };
        let mut any = false;
        while peer.bytes.load(SeqCst) > 0 {
            if sent.buffers - sent.acknowledged >= self.settings.window.max(1) {
                sent.counts.held += 1;
                break;
            }
            let Some(mut buffer) = self.transport.try_buffer(node, false)? else {
                sent.counts.held += 1;
                break;
            };
            buffer.append(&[0; HEAD_BYTES]);
            let messages = self.fill(peer, &mut sent, &mut buffer, by)?;
            if messages == 0 {
                break;
            }
            let head = self.head(peer, &mut sent, messages, 0);
            buffer.set_head(&head);
            sent.buffers += 1;
            Self::count(&mut sent.counts, &buffer, u64::from(messages), why);
            self.transport.send(node, buffer, false)?;
            any = true;
            if why == Reason::Size && peer.bytes.load(SeqCst) < self.settings.flush_bytes {
                break;
            }
        }
        // Also when nothing else may be sent: two nodes whose windows are used up wait for just this.
        let owed = peer.done.load(SeqCst) - sent.told;
        if owed > 0 && (owed >= self.settings.window.div_ceil(2) || why == Reason::Idle) {
            let Some(mut buffer) = self.transport.try_buffer(node, false)? else { return Ok(any) };
            let head = self.head(peer, &mut sent, 0, 0);
            buffer.append(&head);
            sent.counts.acknowledgements += 1;
            self.transport.send(node, buffer, false)?;
        }
        Ok(any)
    }

    /// Moves whole chunks of all locales' lists into a buffer, beginning with another one each time.
    fn fill(&self, peer: &Peer, sent: &mut Sent, buffer: &mut Buffer, by: usize) -> Result<u32, GlobalError> {
        let (mut messages, mut bytes) = (0, 0);
        let locales = peer.lists.len();
        'lists: for step in 0..locales {
            let at = (sent.next_list + step) % locales;
            let mut list = lock(&peer.lists[at]);
            while let Some((chunk, count)) = list.chunks.front() {
                // Without aggregation a chunk is cut into its messages.
                let one = if self.settings.on { chunk.len() } else { first_message(chunk)? };
                if !buffer.append(&chunk[..one]) {
                    if messages == 0 {
                        let limit = self.transport.buffer_bytes(false) - HEAD_BYTES;
                        return Err(GlobalError::TooLarge { bytes: one, limit });
                    }
                    sent.next_list = at;
                    break 'lists;
                }
                let moved = if one == chunk.len() { *count } else { 1 };
                messages += moved;
                bytes += one;
                if at != by {
                    sent.counts.of_siblings += u64::from(moved);
                }
                Self::drop_front(&mut list, one);
                if !self.settings.on {
                    break 'lists;
                }
            }
        }
        if peer.bytes.fetch_sub(bytes, SeqCst) > bytes {
            peer.since.store(self.now(), Relaxed);
        }
        Ok(messages)
    }

    fn drop_front(list: &mut List, bytes: usize) {
        if let Some((chunk, messages)) = list.chunks.front_mut()
            && bytes < chunk.len()
        {
            chunk.drain(..bytes);
            *messages -= 1;
            return;
        }
        if let Some((mut chunk, _)) = list.chunks.pop_front()
            && chunk.capacity() <= 2 * CHUNK_BYTES_MAX
            && list.spare.len() < 16
        {
            chunk.clear();
            list.spare.push(chunk);
        }
    }

    /// Whether the oldest message for a node has waited long enough.
    pub(crate) fn is_old(&self, node: u16) -> bool {
        let peer = &self.peers[usize::from(node)];
        if peer.bytes.load(Relaxed) == 0 {
            return peer.done.load(Relaxed) > 0;
        }
        self.now().saturating_sub(peer.since.load(Relaxed)) >= self.settings.flush_age.as_nanos() as u64
    }

    /// Takes what came off the transport, so that any locale can unpack it. Whether anything came.
    pub(crate) fn receive(&self) -> Result<bool, GlobalError> {
        let mut any = false;
        while let Some((from, buffer)) = self.transport.receive()? {
            any = true;
            let Some(peer) = self.peers.get(usize::from(from)) else {
                return Err(GlobalError::Malformed { what: "a buffer's source" });
            };
            let (build, done, messages, flags) = crate::plain::Plain::read(&mut buffer.bytes())
                .ok_or(GlobalError::Malformed { what: "a buffer's head" })?;
            let (messages, flags): (u32, u32) = (messages, flags);
            if build != self.build {
                return Err(GlobalError::OtherBuild { node: from, theirs: build, ours: self.build });
            }
            let mut sent = lock(&peer.sent);
            if done > sent.buffers {
                return Err(GlobalError::Malformed { what: "an acknowledgement" });
            }
            sent.acknowledged = sent.acknowledged.max(done);
            drop(sent);
            if messages > 0 {
                let counted = flags & URGENT == 0;
                self.arrives(Arrived { from, program: flags >> 1, buffer, counted });
            }
        }
        Ok(any)
    }

    fn arrives(&self, one: Arrived) {
        match one.program.cmp(&self.program.load(SeqCst)) {
            Less => self.unpacked(one),
            Greater => lock(&self.early).push(one),
            Equal => {
                let mut arrived = lock(&self.arrived);
                if one.counted {
                    arrived.push_back(one)
                } else {
                    arrived.push_front(one)
                }
                self.waiting.store(arrived.len(), SeqCst);
            }
        }
    }

    /// Drops what was not sent.
    pub(crate) fn forget(&self) {
        for peer in &self.peers {
            peer.lists.iter().for_each(|list| lock(list).chunks.clear());
            peer.bytes.store(0, SeqCst);
        }
    }

    /// Another program begins: what is left of the last one is dropped.
    pub(crate) fn begin(&self) {
        self.program.fetch_add(1, SeqCst);
        let left = std::mem::take(&mut *lock(&self.arrived));
        self.waiting.store(0, SeqCst);
        left.into_iter().for_each(|one| self.unpacked(one));
        self.forget();
        let early = std::mem::take(&mut *lock(&self.early));
        early.into_iter().for_each(|one| self.arrives(one));
    }

    /// A buffer to unpack.
    pub(crate) fn take(&self) -> Option<Arrived> {
        if self.waiting.load(SeqCst) == 0 {
            return None;
        }
        let mut arrived = lock(&self.arrived);
        let first = arrived.pop_front();
        self.waiting.store(arrived.len(), SeqCst);
        first
    }

    /// A buffer was unpacked: it is dropped, and its sender learns of it with what is sent next.
    pub(crate) fn unpacked(&self, arrived: Arrived) {
        let (from, counted) = (usize::from(arrived.from), arrived.counted);
        drop(arrived);
        if counted {
            self.peers[from].done.fetch_add(1, SeqCst);
        }
    }

    pub(crate) fn counts(&self) -> NetworkCounts {
        let mut sum = NetworkCounts::default();
        for peer in &self.peers {
            let one = lock(&peer.sent).counts;
            sum.messages += one.messages;
            sum.buffers += one.buffers;
            sum.bytes += one.bytes;
            sum.of_siblings += one.of_siblings;
            sum.by_size += one.by_size;
            sum.by_age += one.by_age;
            sum.by_idleness += one.by_idleness;
            sum.at_once += one.at_once;
            sum.acknowledgements += one.acknowledgements;
            sum.held += one.held;
        }
        sum
    }
}

fn first_message(chunk: &[u8]) -> Result<usize, GlobalError> {
    let mut left = chunk;
    Packet::read(&mut left)?;
    Ok(chunk.len() - left.len())
}
