//! A database's directory: every commit in a checksummed log before it is acknowledged, checkpoints, recovery.
//!
//! ```text
//!  commit      new parts of blocks, small: into the record         large: block file, synced     record -> log, synced
//!  checkpoint  next log begins -> parts that only logs have: block file -> catalog-<n>: new file, renamed -> old files go
//!  open        catalog-<n> -> records of log-<n>, log-<n + 1>: the changes are made again        torn tail: cut
//! ```
//! What a commit changes is a list of `Change` values; the log holds them as bytes (`changes.rs`), so that rolling
//! forward after a crash and committing concurrently are one mechanism. Parts (`block::Part`) are named by `PartId`;
//! a record brings the parts that recovery could not know yet, `State::recorded` says which it does.
//!
//! A commit that fails leaves everything as before: a record that could not be written is cut off again, and what a block
//! file had already taken is an orphan. After a sync that failed the database takes no more changes until it is
//! opened again (`log.rs`).

mod backup;
mod block_files;
mod blocks;
mod catalog_file;
mod changes;
mod check;
mod checkpoint;
mod definitions;
mod names;
mod open;
mod recovery;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use block::{Block, Part};
use files::packed::Packing;
use files::{DirectReads, FileLock, FileManager};
use files::{bytes, log, log_format};
use pool::Pool;
use types::{Error, Result, SqlState};

pub use self::backup::back_up;
pub use self::check::Damage;
pub use self::checkpoint::Checkpointed;
pub use self::names::TEMPORARY;
pub use self::open::{Access, OpenReport, Opened};

use self::block_files::BlockFiles;
use self::blocks::parts_of;
use self::bytes::ByteWriter;
use self::changes::{NewPart, PartExtent, unknown_parts, write_commit};
use self::log::Log;
use self::log_format::DatabaseId;
use crate::change::brought_by;
use crate::{Change, CommitLog, PartId, Snapshot};

/// New parts of a commit that together have fewer bytes go into its record; others into a block file. A record costs
/// its bytes twice (once more at the checkpoint), a file two more syncs.
const INLINE_BYTES_MAX: usize = 256 << 10;
/// Bytes of log from which a checkpoint is due: the log is read, and blocks in it are opened, before the first query.
const LOG_BYTES_MAX: u64 = 64 << 20;
/// Records of log from which a checkpoint is due: making a one-row commit again takes some 80 us
/// (docs/results/durability.md), so that opening after a crash stays under two seconds.
const LOG_RECORDS_MAX: u64 = 20_000;

/// The files of an open database.
#[derive(Debug)]
pub struct Store {
    files: Arc<dyn FileManager>,
    blocks: BlockFiles,
    /// How parts in new block files are packed.
    packing: Mutex<Packing>,
    direct_reads: Mutex<DirectReads>,
    /// `names::FORMAT`, or less until the next checkpoint raises it: nothing is written that its version has not.
    format: AtomicU32,
    /// `INLINE_BYTES_MAX`; tests set it lower.
    inline_bytes_max: AtomicUsize,
    id: DatabaseId,
    /// `None` when the database is open for reading only; why, says `refusal`.
    log: Option<Log>,
    refusal: Option<Error>,
    state: Mutex<State>,
    next_block_file: AtomicU64,
    /// One checkpoint at a time.
    checkpoints: Mutex<()>,
    _lock: Option<FileLock>,
}

#[derive(Debug)]
struct State {
    /// The state with everything that was logged.
    latest: Arc<Snapshot>,
    /// The log being written, and the checkpoint that recovery would begin with.
    log_number: u64,
    catalog_number: u64,
    /// Records that recovery would make again.
    log_records: u64,
    /// The parts that recovery would know.
    recorded: HashSet<PartId>,
    /// While a checkpoint is made: those of its snapshot, and those logged since it was taken. Whether recovery will
    /// begin with the old checkpoint or the new one is open until then, so that only parts that both know are known.
    pending: Option<Pending>,
    /// Parts that lie in block files.
    places: HashMap<PartId, (PartExtent, Weak<Part>)>,
    /// Block files that the checkpoint refers to, those that the logs behind it do, and those being written.
    catalog_files: HashSet<u64>,
    log_files: HashSet<u64>,
    writing: HashSet<u64>,
}

#[derive(Debug, Default)]
struct Pending {
    snapshot: HashSet<PartId>,
    since: HashSet<PartId>,
    files: HashSet<u64>,
    records: u64,
}

impl State {
    fn knows(&self, id: PartId) -> bool {
        match &self.pending {
            None => self.recorded.contains(&id),
            Some(pending) => {
                pending.since.contains(&id) || (self.recorded.contains(&id) && pending.snapshot.contains(&id))
            }
        }
    }

    fn record(&mut self, parts: impl Iterator<Item = PartId>, files: impl Iterator<Item = u64>) {
        self.log_records += 1;
        if let Some(pending) = &mut self.pending {
            pending.records += 1;
        }
        for part in parts {
            self.recorded.insert(part);
            if let Some(pending) = &mut self.pending {
                pending.since.insert(part);
            }
        }
        for file in files {
            self.log_files.insert(file);
            if let Some(pending) = &mut self.pending {
                pending.files.insert(file);
            }
        }
    }

    fn place(&self, id: PartId) -> Option<PartExtent> {
        self.places.get(&id).map(|(place, _)| *place)
    }
}

impl Store {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of it is made whole before the lock goes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> Result<&Log> {
        self.log.as_ref().ok_or_else(|| {
            let plain = || Error::new(SqlState::ReadOnly, "the database is open for reading only");
            self.refusal.clone().unwrap_or_else(plain)
        })
    }

    /// Where the database is.
    pub fn describe(&self) -> String {
        self.files.describe()
    }

    /// Whether commits and checkpoints are refused: it was opened for reading, or a part of it is damaged.
    pub fn is_read_only(&self) -> bool {
        self.log.is_none()
    }

    /// Why the database takes no more changes, after a sync failed.
    pub fn failure(&self) -> Option<Error> {
        self.log.as_ref().and_then(Log::failure)
    }

    /// How blocks are packed in the files that are written from now on; files that are there stay as they are.
    pub fn set_packing(&self, packing: Packing) {
        *self.packing.lock().unwrap_or_else(PoisonError::into_inner) = packing;
    }
    /// As `set_packing` set it.
    pub fn packing(&self) -> Packing {
        *self.packing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether long reads of block files go past the system's cache, from now on.
    pub fn set_direct_reads(&self, reads: DirectReads) {
        *self.direct_reads.lock().unwrap_or_else(PoisonError::into_inner) = reads;
        self.choose_reads();
    }
    /// As `set_direct_reads` set it.
    pub fn direct_reads(&self) -> DirectReads {
        *self.direct_reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses anew by what the block files hold now.
    fn choose_reads(&self) {
        let bytes = self.state().places.values().map(|(place, _)| place.length).sum();
        self.files.read_directly(self.direct_reads().holds(bytes, memory::machine_limit_bytes()));
    }

    /// Bytes of the log since the last checkpoint.
    pub fn log_bytes(&self) -> u64 {
        self.log.as_ref().map_or(0, Log::bytes)
    }

    /// True when `checkpoint` should be called soon, from a thread that has time.
    pub fn wants_checkpoint(&self) -> bool {
        self.log_bytes() > LOG_BYTES_MAX || self.state().log_records > LOG_RECORDS_MAX
    }

    /// Writes parts to a block file of their own, and remembers where.
    fn write_parts(&self, parts: &[(PartId, Arc<Part>)]) -> Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let number = self.next_block_file.fetch_add(1, Relaxed);
        self.state().writing.insert(number);
        let packing = match self.format.load(Relaxed) {
            names::FORMAT => self.packing(),
            _ => Packing::None,
        };
        let written = block_files::write(&*self.files, &self.id, number, parts, packing);
        let mut state = self.state();
        state.writing.remove(&number);
        for ((id, place), (_, part)) in written?.into_iter().zip(parts) {
            state.places.insert(id, (place, Arc::downgrade(part)));
            // Where that fails, evicted blocks are written a second time, to the temporary file.
            if let Ok((reader, at, _)) = self.blocks.part(place) {
                Pool::stored_at(part, reader, at);
            }
        }
        Ok(())
    }

    /// Parts that have no place in a block file.
    fn without_place(&self, parts: Vec<(PartId, Arc<Part>)>) -> Vec<(PartId, Arc<Part>)> {
        let state = self.state();
        parts.into_iter().filter(|(id, _)| !state.places.contains_key(id)).collect()
    }
}

fn bytes_of(parts: &[(PartId, Arc<Part>)]) -> usize {
    parts.iter().map(|(_, part)| part.length()).sum()
}

impl CommitLog for Store {
    fn prepare(&self, blocks: &[Arc<Block>]) -> Result<()> {
        self.log()?;
        let mut parts = parts_of(blocks.iter());
        {
            let state = self.state();
            parts.retain(|(id, _)| !state.knows(*id) && !state.places.contains_key(id));
        }
        match bytes_of(&parts) < self.inline_bytes_max.load(Relaxed) {
            true => Ok(()),
            false => self.write_parts(&parts),
        }
    }

    fn append(&self, changes: &[Change], after: &Arc<Snapshot>) -> Result<u64> {
        let log = self.log()?;
        // Parts that a checkpoint has made unknown since were not prepared.
        let blocks: Vec<Arc<Block>> = brought_by(changes).map(|stored| stored.block.clone()).collect();
        self.prepare(&blocks)?;
        let mut state = self.state();
        let parts = unknown_parts(changes, |id| state.knows(id));
        let bytes: Vec<Option<arrow_buffer::Buffer>> = parts
            .iter()
            .map(|(id, part)| state.place(*id).is_none().then(|| part.to_bytes()).transpose())
            .collect::<Result<_>>()?;
        let new: Vec<(PartId, NewPart<'_>)> = parts
            .iter()
            .zip(&bytes)
            .filter_map(|((id, _), bytes)| match bytes {
                Some(bytes) => Some((*id, NewPart::Inline(bytes.as_slice()))),
                None => Some((*id, NewPart::Placed(state.place(*id)?))),
            })
            .collect();
        let mut payload = ByteWriter::default();
        write_commit(&mut payload, &new, changes);
        let number = log.append(&payload.into_bytes())?;
        let files: Vec<u64> = new.iter().filter_map(|(id, _)| state.place(*id)).map(|p| p.file).collect();
        state.record(new.into_iter().map(|(id, _)| id), files.into_iter());
        state.latest = after.clone();
        Ok(number)
    }

    fn wait(&self, number: u64) -> Result<()> {
        self.log()?.wait(number)
    }
}
