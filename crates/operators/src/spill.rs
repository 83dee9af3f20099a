//! When state leaves memory, and the files it goes to.
//!
//! One rule for all operators. Before a worker's state grows, and once all input is there, the operator asks
//! `QueryContext::should_spill` with what it holds and what finishing it would take in addition. The answer is yes
//!
//! * when the query is paused or suspended, and the state is worth a file: `Sink::put_away` asks for states that no
//!   order is at, and those of orders that run are asked at their next batch,
//! * when the setting `operator_memory` gives a bound and the state is beyond it,
//! * else when the process would be beyond four fifths of the memory limit even without the unused columns of files,
//!   which are evicted first, and the state is worth a file. Smaller states stay: the shortage is then caused by
//!   other memory.
//!
//! A fifth of the limit remains for batches in flight, for pieces on their way to and from files, and for what is
//! noticed late: a yes is acted upon at the next batch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plan::NodeId;
use pool::spill::{SpillFile, SpillStream, piece_bytes};
use types::{Error, Result};
use vector::Batch;

use crate::collect::detached_batch;
use crate::context::QueryContext;

/// Less is not worth writing: the files' buffers take as much.
const STATE_BYTES_MIN: usize = 2 << 20;

impl QueryContext {
    /// Whether a state of `held` bytes, whose completion takes `more` in addition, is to leave memory.
    pub fn should_spill(&self, held: usize, more: usize) -> bool {
        if self.temporary.is_none() {
            return false;
        }
        if self.is_held() && held >= STATE_BYTES_MIN {
            return true;
        }
        if let Some(bound) = self.settings.operator_bytes {
            return held > bound;
        }
        // Unused columns of files go first: they are read again at most, and the state would be written too.
        held + more >= STATE_BYTES_MIN
            && !self.budget.make_room_below(more as u64, states_bytes_max(&self.budget))
    }

    /// Bytes that one work order may take for a partition that it reads back.
    pub fn partition_bytes_max(&self) -> usize {
        if let Some(bound) = self.settings.operator_bytes {
            return bound;
        }
        let below = states_bytes_max(&self.budget);
        self.budget.make_room_below(below / 2, below);
        let free = below.saturating_sub(self.budget.used());
        (free / workorder::parallelism().max(1)) as usize
    }

    /// A temporary file.
    pub fn spill_file(&self) -> Result<Arc<SpillFile>> {
        let files = self.temporary.clone();
        let files = files.ok_or_else(|| Error::internal("a query without a folder for temporary files"))?;
        Ok(SpillFile::new(files, piece_bytes(self.budget.limit())))
    }
}

/// What states may take of the limit together with all else: four fifths.
fn states_bytes_max(budget: &memory::Budget) -> u64 {
    let limit = budget.limit();
    limit - limit / 5
}

/// Bytes that operators may take before they use files.
pub fn room(budget: &memory::Budget) -> u64 {
    states_bytes_max(budget).saturating_sub(budget.used().saturating_sub(budget.spare()))
}

/// Partitions of a spilled state: enough that a state of sixty times the memory has partitions that fit.
pub const FANOUT: usize = 64;
/// Deeper than this the hash has no further bits; what is still too large has one key.
pub const LEVELS_MAX: usize = 5;

/// The partition of a hash at a level: other bits each time, and none that tables use for places first.
pub fn partition_of(hash: u64, level: usize) -> usize {
    // Multiplied once more, since the bits of some hashes are used up by tables that were filled in their order.
    let mixed = (hash ^ 0x51_7C_C1_B7_27_22_0A_95).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (64 - 6 * (level + 1))) as usize % FANOUT
}

/// Streams of one file, a partition each, that all workers write to.
pub struct Partitions {
    streams: Vec<Mutex<SpillStream>>,
    level: usize,
}

impl Partitions {
    /// Empty streams of `file` for the partitions of one level, at most `LEVELS_MAX`.
    pub fn new(file: &Arc<SpillFile>, level: usize) -> Self {
        Partitions { streams: (0..FANOUT).map(|_| Mutex::new(SpillStream::new(file))).collect(), level }
    }
    /// The partition's stream, locked until the guard is dropped.
    pub fn stream(&self, partition: usize) -> MutexGuard<'_, SpillStream> {
        self.streams[partition].lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Writes the pieces that are not full yet: of a query that is held they would be most of what it keeps.
    pub fn settle(&self, query: &QueryContext) -> Result<()> {
        if !query.is_held() {
            return Ok(());
        }
        (0..self.streams.len()).try_for_each(|partition| self.stream(partition).flush())
    }
    /// Appends each row to the partition of its hash.
    pub fn push(&self, batch: &Batch, hashes: &[u64]) -> Result<()> {
        let mut rows: Vec<Vec<u32>> = vec![vec![]; FANOUT];
        for (row, hash) in hashes.iter().enumerate() {
            rows[partition_of(*hash, self.level)].push(row as u32);
        }
        for (partition, rows) in rows.iter().enumerate() {
            if !rows.is_empty() {
                let part = detached_batch(&batch.gather(rows));
                self.stream(partition).push(part)?;
            }
        }
        Ok(())
    }
}

/// Notes what a node wrote to files, for EXPLAIN ANALYZE.
pub fn count_spilled(query: &QueryContext, node: NodeId, bytes: u64) {
    query.metrics.count(node, "spilled bytes", bytes);
    tracing::debug!(target: "quickstep::spill", node = node.0, bytes, "rows put into files");
}
