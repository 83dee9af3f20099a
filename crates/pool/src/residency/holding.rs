//! One block's bytes, wherever they are.
//!
//! ```text
//!            seal                  evicted: written to the temporary file, then let go
//!  (new) ----------->  sealed  ------------------------------------------>  stored
//!                      all of it in slots of the arena                      in a file; each portion absent or loaded
//!                                    open_stored  ------------------------->
//!
//!  a portion    absent --- pin, read-ahead: read, verified, opened ---> loaded --- evicted ---> absent
//! ```
//!
//! A sealed block stays readable while it is being written. `sealed` and each portion have a mutex: pins clone the piece
//! under it, and eviction takes the piece away under it when there is no other clone. A portion's mutex is held while
//! it is read, so that it is read once; the evictor only tries it. `stored` is set once, before `sealed` is emptied.

use std::any::Any;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use arrow_buffer::Buffer;
use block::{Loaded, Metadata, Piece, Source};
use memory::SlotRange;
use types::{Error, Result};

use super::Residency;
use super::replacement::{Rank, Replacement, Uses};
use super::temporary::SpaceRange;
use crate::pool::{out_of_memory, shared};
use files::FileReader;

#[derive(Debug)]
struct Stored {
    reader: Arc<dyn FileReader>,
    /// Place of the block's first byte.
    at: u64,
    /// In the temporary file: given back with the block.
    range: Option<SpaceRange>,
}

#[derive(Debug, Default)]
struct PortionState {
    piece: Mutex<Option<Piece>>,
    uses: Uses,
}

/// What a portion is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A thread pins it, and reads it if it is absent.
    Pinned,
    /// A thread pins it among several that are absent; a thread of the pool reads it.
    Helped,
    /// As `Helped`, by the thread that pins it, which finds it or reads it.
    Awaited,
    /// It was announced.
    Ahead,
}

impl Reading {
    /// Whether a thread of the pool reads it, for a thread that pins it later.
    pub(super) fn is_for_others(self) -> bool {
        matches!(self, Reading::Helped | Reading::Ahead)
    }
}

#[derive(Debug)]
pub(crate) struct Holding {
    residency: Arc<Residency>,
    metadata: Arc<Metadata>,
    sealed: Mutex<Option<Piece>>,
    /// Uses of the sealed block.
    uses: Uses,
    stored: OnceLock<Stored>,
    portions: Box<[PortionState]>,
    /// The memory node that portions are read to.
    node: AtomicUsize,
    /// For announcements, which must not keep the block.
    own: Weak<Holding>,
}

/// What could be evicted: a portion of a stored block, or a sealed block.
pub(crate) struct Candidate {
    pub(crate) rank: Rank,
    pub(crate) holding: u32,
    pub(crate) portion: Option<u32>,
}

/// No node was named.
const NO_NODE: usize = usize::MAX;

/// How long a pin waits for memory that reads under way hold.
const READS_AWAITED: Duration = Duration::from_secs(2);
/// Several absent portions of fewer bytes are read one after another: waking a thread would take as long.
const TOGETHER_BYTES_MIN: u64 = 128 << 10;

/// The guarded values are replaced in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Holding {
    pub(crate) fn sealed(residency: &Arc<Residency>, metadata: Arc<Metadata>, piece: Piece) -> Arc<Holding> {
        Holding::new(residency, metadata, Some(piece), OnceLock::new())
    }

    pub(crate) fn stored(
        residency: &Arc<Residency>,
        metadata: Arc<Metadata>,
        reader: Arc<dyn FileReader>,
        at: u64,
    ) -> Arc<Holding> {
        Holding::new(residency, metadata, None, OnceLock::from(Stored { reader, at, range: None }))
    }

    fn new(
        residency: &Arc<Residency>,
        metadata: Arc<Metadata>,
        piece: Option<Piece>,
        stored: OnceLock<Stored>,
    ) -> Arc<Holding> {
        debug_assert!(piece.is_some() || stored.get().is_some(), "a block is in memory or in a file");
        debug_assert!(
            metadata.portions().iter().all(|portion| portion.bytes.start < portion.bytes.end
                && portion.bytes.end <= metadata.block_bytes()),
            "portions lie within the block"
        );
        let holding = Arc::new_cyclic(|own| Holding {
            residency: residency.clone(),
            portions: metadata.portions().iter().map(|_| PortionState::default()).collect(),
            metadata,
            sealed: Mutex::new(piece),
            uses: Uses::default(),
            node: AtomicUsize::new(NO_NODE),
            stored,
            own: own.clone(),
        });
        holding.uses.touch(residency.now());
        residency.register(&holding);
        holding
    }

    fn place(&self) -> Result<&Stored> {
        self.stored.get().ok_or_else(|| Error::internal("a block is neither in memory nor in a file"))
    }

    /// From now on the block's bytes are in a file, too: evicting it takes no writing. False when they were already.
    pub(crate) fn stored_at(&self, reader: Arc<dyn FileReader>, at: u64) -> bool {
        self.stored.set(Stored { reader, at, range: None }).is_ok()
    }

    /// The portion's piece, and what was read for it.
    fn portion(&self, portion: usize, why: Reading) -> Result<(Piece, u64)> {
        let state = &self.portions[portion];
        let counters = &self.residency.counters;
        let mut slot = lock(&state.piece);
        state.uses.touch(self.residency.now());
        if let Some(piece) = &*slot {
            counters.hits.fetch_add(u64::from(why == Reading::Pinned), Relaxed);
            return Ok((piece.clone(), 0));
        }
        let place = self.place()?;
        let for_others = usize::from(why.is_for_others());
        self.residency.reads_for_others.fetch_add(for_others, Relaxed);
        let read = self.read(place, portion, why).map_err(|e| self.located(&e, place));
        let reads = self.residency.reads_for_others.fetch_sub(for_others, Relaxed);
        debug_assert!(reads >= for_others, "more reads end than began");
        let piece = read?;
        let bytes = piece.bytes().len() as u64;
        let range = &self.metadata.portions()[portion].bytes;
        debug_assert_eq!(bytes, range.end - range.start, "portion {portion}, as the metadata has it");
        counters.reads.fetch_add(1, Relaxed);
        counters.read_bytes.fetch_add(bytes, Relaxed);
        counters.read_ahead.fetch_add(u64::from(why == Reading::Ahead), Relaxed);
        *slot = Some(piece.clone());
        Ok((piece, bytes))
    }

    /// Memory to read into. What the pool's own threads read at the moment is evictable as soon as it is there, so a
    /// pin waits for it before it is refused memory.
    fn slots(&self, length: usize, why: Reading) -> Result<SlotRange> {
        let begun = Instant::now();
        let node = Some(self.node.load(Relaxed)).filter(|node| *node != NO_NODE);
        // Once more after the last of them: it lets go of what it has read a moment later than it says so.
        let mut once_more = true;
        loop {
            let reads = self.residency.reads_for_others.load(Relaxed);
            match self.residency.pages.allocate_on(length, node) {
                Ok(slots) => return Ok(slots),
                Err(_) if !why.is_for_others() && once_more && begun.elapsed() < READS_AWAITED => {
                    once_more = reads > 0;
                    std::thread::sleep(Duration::from_micros(200));
                }
                Err(error) => return Err(self.residency.refused(error)),
            }
        }
    }

    fn read(&self, place: &Stored, portion: usize, why: Reading) -> Result<Piece> {
        let range = self.metadata.portions()[portion].bytes.clone();
        let length = (range.end - range.start) as usize;
        let mut slots = self.slots(length, why)?;
        place.reader.read_at(place.at + range.start, &mut slots[..length])?;
        let bytes = shared(slots).slice_with_length(0, length);
        self.metadata.open_portion(portion, bytes, place.range.is_some())
    }

    /// The error with the block's place in it.
    fn located(&self, error: &Error, place: &Stored) -> Error {
        if matches!(error.state(), types::SqlState::OutOfMemory | types::SqlState::Internal) {
            return error.clone();
        }
        let message =
            format!("block at byte {} of {}: {}", place.at, place.reader.describe(), error.message());
        let located = Error::new(error.state(), message);
        match error.hint() {
            Some(hint) => located.with_hint(hint),
            None => located,
        }
    }

    /// Reads a portion that was announced; errors come back when it is pinned.
    pub(crate) fn read_ahead(&self, portion: usize, why: Reading) {
        let _ = self.portion(portion, why);
    }

    fn is_absent(&self, portion: usize) -> bool {
        try_lock(&self.portions[portion].piece).is_some_and(|piece| piece.is_none())
    }

    /// Has several absent portions that are wanted now read at once, by the pool's threads but for the first, which is left
    /// to the caller. Returns all of them in order: what is read for this pin, by whichever thread.
    fn read_together(&self, wanted: &[usize]) -> Vec<usize> {
        let mut absent: Vec<usize> =
            wanted.iter().copied().filter(|portion| self.is_absent(*portion)).collect();
        absent.sort_unstable();
        absent.dedup();
        let bytes = |portion: &usize| {
            let range = &self.metadata.portions()[*portion].bytes;
            range.end - range.start
        };
        if absent.len() < 2 || absent.iter().map(bytes).sum::<u64>() < TOGETHER_BYTES_MIN {
            return Vec::new();
        }
        // The last announced is the first one read.
        for portion in absent[1..].iter().rev() {
            self.residency.announce(self.own.clone(), *portion, bytes(portion), Reading::Helped);
        }
        absent
    }

    /// What of the block may go; where it is in no file, only if it may be written.
    pub(crate) fn candidates(
        &self,
        holding: u32,
        policy: &dyn Replacement,
        writing: bool,
        into: &mut Vec<Candidate>,
    ) {
        let round = self.residency.counters.evictions.load(Relaxed);
        let number = |portion: usize| (u64::from(holding) << 24 ^ portion as u64).wrapping_add(round << 40);
        if let Some(sealed) = try_lock(&self.sealed)
            && let Some(piece) = &*sealed
        {
            let can_go = self.stored.get().is_some() || writing && self.residency.can_write();
            if piece.holders() == 1 && can_go {
                let rank = policy.rank(&self.uses.get(), number(0));
                into.push(Candidate { rank, holding, portion: None });
            }
            return;
        }
        for (at, portion) in self.portions.iter().enumerate() {
            let evictable =
                try_lock(&portion.piece).is_some_and(|p| p.as_ref().is_some_and(|p| p.holders() == 1));
            if evictable {
                let rank = policy.rank(&portion.uses.get(), number(at));
                into.push(Candidate { rank, holding, portion: Some(at as u32) });
            }
        }
    }

    /// Lets go of a portion, or of the sealed block, unless it is being read; the bytes that this frees.
    pub(crate) fn evict(&self, portion: Option<u32>) -> Result<u64> {
        let freed = match portion {
            Some(portion) => {
                let Some(mut slot) = try_lock(&self.portions[portion as usize].piece) else { return Ok(0) };
                let Some(piece) = slot.take_if(|piece| piece.holders() == 1) else { return Ok(0) };
                piece.bytes().len() as u64
            }
            None => self.evict_sealed()?,
        };
        if freed > 0 {
            let counters = &self.residency.counters;
            counters.evictions.fetch_add(1, Relaxed);
            counters.evicted_bytes.fetch_add(freed, Relaxed);
        }
        Ok(freed)
    }

    fn evict_sealed(&self) -> Result<u64> {
        let Some(piece) = try_lock(&self.sealed).and_then(|sealed| sealed.clone()) else { return Ok(0) };
        if self.stored.get().is_none() {
            let bytes = &piece.bytes().as_slice()[..self.metadata.block_bytes() as usize];
            let (reader, range) = self.residency.write(bytes)?;
            let at = range.at;
            // Where a file of the database has come between, that one stays and the range is free again.
            let _ = self.stored.set(Stored { reader, at, range: Some(range) });
        }
        let Some(mut sealed) = try_lock(&self.sealed) else { return Ok(0) };
        // Ours and its own: it is not being read.
        if piece.holders() > 2 {
            return Ok(0);
        }
        debug_assert!(self.stored.get().is_some(), "what is let go of can be had again");
        debug_assert!(sealed.is_some(), "let go of by another thread, which had no lock");
        let freed = piece.bytes().len() as u64;
        *sealed = None;
        Ok(freed)
    }
}

impl Source for Holding {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn lies_on(&self, node: usize) {
        self.node.store(node, Relaxed);
    }

    fn metadata_bytes(&self) -> &[u8] {
        self.metadata.bytes()
    }

    fn pin(&self, columns: &[usize], indices: &[usize]) -> Result<Loaded> {
        if let Some(piece) = &*lock(&self.sealed) {
            self.uses.touch(self.residency.now());
            self.residency.counters.hits.fetch_add(1, Relaxed);
            let pieces = columns.iter().map(|column| piece.column(*column)).collect();
            return Ok(Loaded { pieces, indices: vec![piece.clone(); indices.len()], bytes_read: 0 });
        }
        let of_columns = columns.iter().map(|column| self.metadata.portion_of(*column));
        let of_indices = indices.iter().map(|section| self.metadata.portion_of_index(*section));
        let together = self.read_together(&of_columns.chain(of_indices).collect::<Vec<_>>());
        let pin = |portion: usize| -> Result<(Piece, u64)> {
            if together.binary_search(&portion).is_err() {
                return self.portion(portion, Reading::Pinned);
            }
            let (piece, _) = self.portion(portion, Reading::Awaited)?;
            let bytes = piece.bytes().len() as u64;
            Ok((piece, bytes))
        };
        let mut pieces: Vec<Piece> = Vec::with_capacity(columns.len());
        let (mut last, mut bytes_read) = (usize::MAX, 0);
        for column in columns {
            let portion = self.metadata.portion_of(*column);
            let in_portion = column - self.metadata.portions()[portion].columns.start;
            let piece = match pieces.last().filter(|_| portion == last) {
                Some(piece) => piece.column(in_portion),
                None => {
                    let (piece, bytes) = pin(portion)?;
                    bytes_read += bytes;
                    piece.column(in_portion)
                }
            };
            last = portion;
            pieces.push(piece);
        }
        let mut of_indices = Vec::with_capacity(indices.len());
        for section in indices {
            let (piece, bytes) = pin(self.metadata.portion_of_index(*section))?;
            bytes_read += bytes;
            of_indices.push(piece);
        }
        debug_assert!(pieces.len() == columns.len() && of_indices.len() == indices.len(), "one for each");
        Ok(Loaded { pieces, indices: of_indices, bytes_read })
    }

    fn announce(&self, columns: &[usize], indices: &[usize]) {
        if self.stored.get().is_none() || lock(&self.sealed).is_some() {
            return;
        }
        debug_assert!(
            indices.iter().all(|section| self.metadata.portion_of_index(*section) < self.portions.len())
        );
        let mut last = usize::MAX;
        let of_columns = columns.iter().map(|column| self.metadata.portion_of(*column));
        for portion in of_columns.chain(indices.iter().map(|s| self.metadata.portion_of_index(*s))) {
            if std::mem::replace(&mut last, portion) != portion && self.is_absent(portion) {
                let range = &self.metadata.portions()[portion].bytes;
                self.residency.announce(self.own.clone(), portion, range.end - range.start, Reading::Ahead);
            }
        }
    }

    fn verify(&self) -> Result<()> {
        let bytes = self.to_bytes()?;
        let verified = block::Block::open(bytes).map(|_| ());
        match self.stored.get() {
            Some(place) => verified.map_err(|e| self.located(&e, place)),
            None => verified,
        }
    }

    fn to_bytes(&self) -> Result<Buffer> {
        let length = self.metadata.block_bytes() as usize;
        if let Some(piece) = &*lock(&self.sealed) {
            return Ok(piece.bytes().slice_with_length(0, length));
        }
        let place = self.place()?;
        let mut slots = self.residency.blocks.allocate(length).map_err(out_of_memory)?;
        place.reader.read_at(place.at, &mut slots[..length]).map_err(|e| self.located(&e, place))?;
        Ok(shared(slots).slice_with_length(0, length))
    }
}

/// A count that statements and tests look at.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) hits: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    pub(crate) read_ahead: AtomicU64,
    pub(crate) evictions: AtomicU64,
    pub(crate) evicted_bytes: AtomicU64,
    pub(crate) written_bytes: AtomicU64,
}
