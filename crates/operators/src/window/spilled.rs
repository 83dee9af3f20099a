//! Windows over more input than memory holds: hash partitions in a file, evaluated on their way out.
//!
//! ```text
//!  sink, a worker short of memory    its rows go to 64 streams by the hash of the partition keys
//!  step                              what is left in memory goes there too
//!  source, a unit a stream           read, put in the order of the input, evaluated as in memory; a stream that is too
//!                                    large is divided into 64 by other bits of the hash
//! ```
//! Rows carry the tag of their unit: a unit's rows come from one worker in their order, so a stable sort by tag is
//! the order of the input. A partition of the window is never divided and has to fit memory; so has the input of a
//! window without PARTITION BY.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use hash::hashing::hash_columns;
use pool::spill::{SpillFile, SpillStream};
use types::{Error, Result, Type};
use vector::{Batch, Data, Vector};

use super::{HASH_PARTITIONS, Window};
use crate::context::QueryContext;
use crate::pipeline::{Flow, Push, Work};
use crate::spill::{FANOUT, LEVELS_MAX, Partitions, count_spilled};
use crate::values::slices;

/// A stream may always take so much.
const STREAM_BYTES_MIN: usize = 1 << 20;
/// Reading, ordering and evaluating take so many times the rows' bytes.
const COPIES: usize = 4;
/// A stream that keeps this share of its rows when it is divided is one partition, or few.
const DIVIDED_SHARE_MAX: f64 = 0.8;
/// Batches written by one work order of the step.
const BATCHES_PER_ORDER: usize = 64;

type TaggedRows = Vec<(u64, Batch)>;

/// The file of a window, with a stream for each hash partition.
pub(super) struct Spilled {
    file: Arc<SpillFile>,
    streams: Partitions,
    /// What was in memory when the sink ended, in parts.
    rest: Mutex<Vec<Option<TaggedRows>>>,
    counted: AtomicU64,
}

impl Window {
    /// Whether the input may go to files: only with PARTITION BY.
    pub(super) fn can_spill(&self) -> bool {
        self.hash_partitions == HASH_PARTITIONS
    }
    /// Whether some worker has written rows to the file.
    pub(super) fn has_spilled(&self) -> bool {
        self.spilled.get().is_some()
    }
    /// What the rows take once more when they come out.
    pub(super) fn output_bytes(&self, rows: usize, bytes: usize) -> usize {
        bytes + rows * 16 * self.calls.len()
    }
    fn spill_to(&self, query: &QueryContext) -> Result<&Spilled> {
        if let Some(spilled) = self.spilled.get() {
            return Ok(spilled);
        }
        let file = query.spill_file()?;
        let streams = Partitions::new(&file, 0);
        let spilled = Spilled { file, streams, rest: Mutex::default(), counted: AtomicU64::new(0) };
        Ok(self.spilled.get_or_init(|| spilled))
    }
    fn streams(&self) -> Result<&Spilled> {
        self.spilled.get().ok_or_else(|| Error::internal("a window that was not spilled"))
    }

    /// Writes rows to the streams of their partition keys.
    pub(super) fn spill(&self, rows: TaggedRows, work: &Work<'_>) -> Result<()> {
        let spilled = self.spill_to(work.query)?;
        for (tag, mut batch) in rows {
            work.check()?;
            batch.columns.push(Vector::from_i64(Type::BigInt, vec![tag as i64; batch.rows]));
            self.divide(&batch, &spilled.streams, work.query)?;
        }
        spilled.streams.settle(work.query)
    }
    fn divide(&self, batch: &Batch, to: &Partitions, query: &QueryContext) -> Result<()> {
        let keys: Vec<Vector> =
            query.evaluate(&self.key_program, batch)?.into_iter().take(self.parts).collect();
        let mut hashes = Vec::new();
        hash_columns(&keys, batch.rows, &mut hashes);
        to.push(batch, &hashes)
    }

    /// The sink has ended; what is left in memory is written by the step.
    pub(super) fn begin_spilling(
        &self,
        rows: impl Iterator<Item = (u64, Batch)>,
        query: &QueryContext,
    ) -> Result<()> {
        let spilled = self.spill_to(query)?;
        let mut rows = rows.peekable();
        let mut parts = vec![];
        while rows.peek().is_some() {
            parts.push(Some(rows.by_ref().take(BATCHES_PER_ORDER).collect()));
        }
        *spilled.rest.lock().unwrap_or_else(PoisonError::into_inner) = parts;
        Ok(())
    }
    /// Work orders that `spill_rest` needs; 0 where nothing is left in memory.
    pub(super) fn spill_orders(&self) -> u64 {
        let rest =
            self.spilled.get().map(|spilled| spilled.rest.lock().unwrap_or_else(PoisonError::into_inner));
        rest.map_or(0, |rest| rest.len() as u64)
    }
    /// Writes one part of what was in memory when the sink ended.
    pub(super) fn spill_rest(&self, part: usize, work: &Work<'_>) -> Result<()> {
        let rest = &self.streams()?.rest;
        let rows = rest.lock().unwrap_or_else(PoisonError::into_inner).get_mut(part).and_then(Option::take);
        self.spill(rows.unwrap_or_default(), work)
    }

    /// Reads one stream back, evaluates its partitions and delivers their rows.
    pub(super) fn push_spilled(&self, unit: usize, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let spilled = self.streams()?;
        let flow = self.push_stream(&mut spilled.streams.stream(unit), (0, true), work, push)?;
        // The last piece of each stream is written right before it is read.
        let bytes = spilled.file.bytes();
        let before = spilled.counted.fetch_max(bytes, Relaxed);
        count_spilled(work.query, self.node, bytes.saturating_sub(before));
        Ok(flow)
    }

    fn push_stream(
        &self,
        stream: &mut SpillStream,
        (level, divides): (usize, bool),
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        stream.flush()?;
        if stream.rows() == 0 {
            return Ok(Flow::More);
        }
        let most = match work.query.settings.operator_bytes {
            Some(bound) => bound,
            None => work.query.partition_bytes_max().max(STREAM_BYTES_MIN),
        };
        let takes = COPIES * stream.bytes() as usize;
        if takes <= most || stream.pieces() <= 1 || level >= LEVELS_MAX || !divides {
            let rows = self.evaluate_rows(in_order(stream, work)?, work)?;
            return slices(&rows, work.query.settings.batch_rows, push);
        }
        let file = work.query.spill_file()?;
        let streams = Partitions::new(&file, level + 1);
        for piece in 0..stream.pieces() {
            work.check()?;
            self.divide(&stream.read(piece)?, &streams, work.query)?;
        }
        let share = DIVIDED_SHARE_MAX * stream.rows() as f64;
        for partition in 0..FANOUT {
            let mut below = streams.stream(partition);
            let divides = (below.rows() as f64) < share;
            if self.push_stream(&mut below, (level + 1, divides), work, push)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        count_spilled(work.query, self.node, file.bytes());
        Ok(Flow::More)
    }
}

/// All rows of a stream in the order of the input, without their tags.
fn in_order(stream: &SpillStream, work: &Work<'_>) -> Result<Batch> {
    let pieces = (0..stream.pieces())
        .map(|piece| {
            work.check()?;
            stream.read(piece)
        })
        .collect::<Result<Vec<Batch>>>()?;
    let mut all = Batch::concat(&pieces);
    drop(pieces);
    let tags = all.columns.pop();
    let Some(Data::I64(tags)) = tags.as_ref().map(Vector::data) else {
        return Err(Error::internal("spilled rows of a window without tags"));
    };
    let mut order: Vec<u32> = (0..all.rows as u32).collect();
    order.sort_by_key(|row| tags[*row as usize]);
    Ok(all.gather(&order))
}
