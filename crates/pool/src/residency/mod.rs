//! Which columns of which blocks are in memory.
//!
//! The pool knows every block that it may evict (a `Holding`) through a weak reference; a block's last user ends it.
//! When the budget wants memory, it asks the pool, which ranks what is not being read by the replacement policy and
//! evicts the lowest, at least a batch at a time. A portion of a stored block is simply dropped; a sealed block is
//! written to the temporary file first, and is a stored one from then on.
//!
//! Locks, in the order in which they may be taken: a portion's, then `evicting`, then any of the others. The evictor only
//! tries portions' locks, so it may run in a thread that holds one: a pin that needs memory does.

mod holding;
mod read_ahead;
mod replacement;
mod temporary;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Instant;

use memory::{AllocationError, Arena, Budget, Reclaimer};
use types::{Error, Result};

use files::FileReader;
pub(crate) use holding::Holding;
use holding::{Candidate, Counters, Reading};
use read_ahead::ReadAhead;
pub use replacement::{HISTORY, LeastRecentlyUsed, Random, Rank, Replacement, replacement};
pub use temporary::TemporaryFile;
pub(crate) use temporary::unnamed_file;
use temporary::{Space, SpaceRange, UnnamedFile};

/// What the pool has done so far, and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatistics {
    /// Pins of portions, or of whole sealed blocks, that were there.
    pub hits: u64,
    /// Units read, those read ahead included.
    pub reads: u64,
    /// Bytes of these.
    pub read_bytes: u64,
    /// Those of the units read that were announced before they were wanted.
    pub read_ahead: u64,
    /// Portions and sealed blocks that were evicted.
    pub evictions: u64,
    /// Bytes of memory that this freed.
    pub evicted_bytes: u64,
    /// Bytes of sealed blocks written to the temporary file.
    pub written_bytes: u64,
    /// Length of the temporary file.
    pub file_bytes: u64,
    /// Bytes of memory in use for blocks and columns.
    pub resident_bytes: u64,
}

#[derive(Debug, Default)]
struct Temporary {
    folder: Option<PathBuf>,
    space: Option<Arc<Space>>,
    /// Why the last write failed; nothing is written until the folder is set anew or a write succeeds.
    failure: Option<Error>,
}

#[derive(Debug)]
pub(crate) struct Residency {
    /// The arena of whole blocks.
    pub(crate) blocks: Arena,
    /// The arena of portions of stored blocks.
    pub(crate) pages: Arena,
    holdings: Mutex<Vec<Weak<Holding>>>,
    replacement: RwLock<Arc<dyn Replacement>>,
    temporary: Mutex<Temporary>,
    /// Held by the thread that evicts: the bytes that the last batch freed.
    evicting: Mutex<u64>,
    /// Batches of evictions so far.
    batches: AtomicU64,
    started: Instant,
    counters: Counters,
    read_ahead: ReadAhead,
    /// Reads by the pool's own threads that are under way: what they bring can be evicted when it is there.
    reads_for_others: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Guarded values are replaced in one step, or are lists that a panic leaves whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Residency {
    pub(crate) fn new(blocks: Arena) -> Arc<Residency> {
        let budget = blocks.budget().clone();
        let residency = Arc::new(Residency {
            pages: Arena::of_pages(budget.clone(), blocks.topology().clone()),
            blocks,
            holdings: Mutex::default(),
            replacement: RwLock::new(Arc::new(LeastRecentlyUsed::default())),
            temporary: Mutex::default(),
            evicting: Mutex::default(),
            batches: AtomicU64::new(0),
            started: Instant::now(),
            counters: Counters::default(),
            read_ahead: ReadAhead::default(),
            reads_for_others: AtomicUsize::new(0),
        });
        let weak: Weak<Residency> = Arc::downgrade(&residency);
        budget.add_reclaimer(weak);
        residency
    }

    fn budget(&self) -> &Budget {
        self.blocks.budget()
    }

    /// Milliseconds of the pool's clock, from 1.
    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64 + 1
    }

    fn register(&self, holding: &Arc<Holding>) {
        let mut holdings = lock(&self.holdings);
        // The dead are swept when the list would grow, so that it stays within twice the living.
        if holdings.len() == holdings.capacity() {
            holdings.retain(|holding| holding.strong_count() > 0);
            let living = holdings.len();
            holdings.reserve(living.max(64));
        }
        holdings.push(Arc::downgrade(holding));
    }

    fn announce(&self, holding: Weak<Holding>, portion: usize, bytes: u64, why: Reading) {
        // What is read ahead must not drive out what is being read.
        if bytes < self.budget().limit() / 64 {
            self.read_ahead.announce(holding, portion, why);
        }
    }

    pub(crate) fn set_replacement(&self, policy: Arc<dyn Replacement>) {
        *self.replacement.write().unwrap_or_else(PoisonError::into_inner) = policy;
    }
    pub(crate) fn replacement(&self) -> Arc<dyn Replacement> {
        self.replacement.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_temporary_folder(&self, folder: Option<&Path>) {
        *lock(&self.temporary) = Temporary { folder: folder.map(Path::to_owned), ..Temporary::default() };
    }
    pub(crate) fn temporary_folder(&self) -> Option<PathBuf> {
        lock(&self.temporary).folder.clone()
    }
    pub(crate) fn set_temporary_file(&self, file: Arc<dyn TemporaryFile>) {
        *lock(&self.temporary) = Temporary { space: Some(Space::new(file)), ..Temporary::default() };
    }

    /// Whether sealed blocks can be written anywhere.
    fn can_write(&self) -> bool {
        let temporary = lock(&self.temporary);
        temporary.failure.is_none() && (temporary.space.is_some() || temporary.folder.is_some())
    }

    fn write(&self, bytes: &[u8]) -> Result<(Arc<dyn FileReader>, SpaceRange)> {
        let space = self.space()?;
        let written = space.write(bytes);
        if let Err(error) = &written {
            lock(&self.temporary).failure = Some(error.clone());
        }
        let range = written?;
        self.counters.written_bytes.fetch_add(bytes.len() as u64, Relaxed);
        Ok((space.reader(), range))
    }

    /// The temporary file, made at its first use.
    fn space(&self) -> Result<Arc<Space>> {
        let mut temporary = lock(&self.temporary);
        if let Some(space) = &temporary.space {
            return Ok(space.clone());
        }
        let folder =
            temporary.folder.as_ref().ok_or_else(|| Error::internal("no temporary folder is set"))?;
        match UnnamedFile::create(folder) {
            Ok(file) => {
                let space = Space::new(Arc::new(file));
                temporary.space = Some(space.clone());
                Ok(space)
            }
            Err(error) => {
                temporary.failure = Some(error.clone());
                Err(error)
            }
        }
    }

    /// The user's error for memory that is not there, which may be so because the temporary file is not.
    pub(crate) fn refused(&self, error: AllocationError) -> Error {
        let refused = crate::pool::out_of_memory(error);
        let mut temporary = lock(&self.temporary);
        match temporary.failure.take() {
            // Tried again with the next statement: the disk may have room by then.
            Some(failure) => {
                refused.with_detail(format!("blocks could not be evicted: {}", failure.message()))
            }
            None => refused,
        }
    }

    pub(crate) fn statistics(&self) -> PoolStatistics {
        let counters = &self.counters;
        PoolStatistics {
            hits: counters.hits.load(Relaxed),
            reads: counters.reads.load(Relaxed),
            read_bytes: counters.read_bytes.load(Relaxed),
            read_ahead: counters.read_ahead.load(Relaxed),
            evictions: counters.evictions.load(Relaxed),
            evicted_bytes: counters.evicted_bytes.load(Relaxed),
            written_bytes: counters.written_bytes.load(Relaxed),
            file_bytes: lock(&self.temporary).space.as_ref().map_or(0, |space| space.bytes()),
            resident_bytes: self.blocks.used_bytes() + self.pages.used_bytes(),
        }
    }
}

/// Evictions come in batches of this share of the limit: ranking looks at every portion, and what is given back to the
/// machine has to be faulted in again.
const BATCH_SHARE: u64 = 64;
const BATCH_BYTES_MAX: u64 = 64 << 20;

/// What readers keep of the limit when operators ask for room: enough for the columns that all workers read at a time,
/// those read ahead, and those that rows are fetched from again.
const READERS_SHARE: u64 = 5;

impl Reclaimer for Residency {
    fn reclaim(&self, bytes: u64) -> u64 {
        self.evict(bytes, true)
    }

    fn let_go(&self, bytes: u64) -> u64 {
        let resident = self.blocks.used_bytes() + self.pages.used_bytes();
        let spare = resident.saturating_sub(self.budget().limit() / READERS_SHARE);
        if spare == 0 { 0 } else { self.evict(bytes.min(spare), false) }
    }

    fn spare(&self) -> u64 {
        self.pages.used_bytes().saturating_sub(self.budget().limit() / READERS_SHARE)
    }
}

impl Residency {
    /// Lets go of at least `bytes`, of what is in no file only if `writing`.
    fn evict(&self, bytes: u64, writing: bool) -> u64 {
        let before = self.batches.load(Relaxed);
        let mut last = lock(&self.evicting);
        if self.batches.load(Relaxed) != before && *last > 0 {
            // Another thread has made room meanwhile, maybe enough: the caller sees.
            return *last;
        }
        let wanted = bytes.max((self.budget().limit() / BATCH_SHARE).min(BATCH_BYTES_MAX));
        let holdings: Vec<Arc<Holding>> = lock(&self.holdings).iter().filter_map(Weak::upgrade).collect();
        let policy = self.replacement();
        let mut candidates: Vec<Candidate> = Vec::new();
        for (at, holding) in holdings.iter().enumerate() {
            holding.candidates(at as u32, &*policy, writing, &mut candidates);
        }
        candidates.sort_unstable_by_key(|candidate| candidate.rank);
        let mut freed = 0;
        let mut writable = true;
        for candidate in candidates {
            if freed >= wanted {
                break;
            }
            if candidate.portion.is_none() && !writable {
                continue;
            }
            match holdings[candidate.holding as usize].evict(candidate.portion) {
                Ok(bytes) => freed += bytes,
                // Remembered by `write`; what needs no writing can still go.
                Err(_) => writable = false,
            }
        }
        *last = freed;
        self.batches.fetch_add(1, Relaxed);
        freed
    }
}
