//! Joins whose build side does not fit memory: both sides in partitions in a file, joined one by one (GRACE;
//! Kitsuregawa, Tanaka, Moto-oka, "Application of Hash to Data Base Machine and Its Architecture", 1983).
//!
//! ```text
//!  build sink, short of memory    batches go to 64 partitions by the hash of the keys; so does all that follows
//!  probe                          rows go to the partitions of their keys; nothing comes out
//!  source, a unit a partition     build rows of the partition fit?   table, probe, rows
//!                                 they do not, but divide?           both sides to 64 partitions by other bits, and so on
//!                                 they do not (one key)?             the build side part by part, the probe side anew
//!                                                                    for each (block nested loops)
//! ```
//! A probe row may match in several parts of the last kind: pairs come out at once, and of semi, anti, outer and mark
//! joins a bit a probe row is kept until the last part was seen. A build row is in one part and has then seen every
//! probe row that can match it.
//!
//! A batch of the build file is the kept columns, then the keys; one of the probe file is the probe's columns. No
//! runtime filter is published: scans go without.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use hash::hashing::hash_columns;
use plan::{NodeId, PhysicalJoinKind as Kind};
use pool::spill::{SpillFile, SpillStream};
use types::{Error, Result};
use vector::{Batch, Vector};

use super::HashJoin;
use super::buffers::Buffers;
use super::null_keys::null_rows;
use super::row_marks::{RowMarks, in_unit};
use super::shared::lock;
use super::state::{BuildBatch, Built};
use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Source, Work};
use crate::spill::{FANOUT, LEVELS_MAX, Partitions, count_spilled};

/// A partition's table may always be so large.
const TABLE_BYTES_MIN: usize = 1 << 20;
/// A partition that keeps this share of its rows when it is divided has one key, or few: dividing it again is of no
/// use.
const DIVIDED_SHARE_MAX: f64 = 0.8;
/// Build batches written by one work order of the step.
const BATCHES_PER_ORDER: usize = 64;

/// The files of a join whose build side has left memory.
pub(super) struct Spilled {
    sides: Sides,
    /// Batches that were in memory when the sink ended, in parts.
    rest: Mutex<Vec<Option<Vec<BuildBatch>>>>,
    counted: AtomicU64,
}

/// Partitions of both sides in one file.
struct Sides {
    file: Arc<SpillFile>,
    build: Partitions,
    probe: Partitions,
}

impl Sides {
    fn new(query: &QueryContext, level: usize) -> Result<Sides> {
        let file = query.spill_file()?;
        Ok(Sides { build: Partitions::new(&file, level), probe: Partitions::new(&file, level), file })
    }
}

impl HashJoin {
    /// Whether some worker has written build rows to the file; probe rows then follow.
    pub(super) fn has_spilled(&self) -> bool {
        self.spilled.get().is_some()
    }
    fn spill_to(&self, query: &QueryContext) -> Result<&Spilled> {
        if let Some(spilled) = self.spilled.get() {
            return Ok(spilled);
        }
        let spilled =
            Spilled { sides: Sides::new(query, 0)?, rest: Mutex::default(), counted: AtomicU64::new(0) };
        Ok(self.spilled.get_or_init(|| spilled))
    }
    fn sides(&self) -> Result<&Spilled> {
        self.spilled.get().ok_or_else(|| Error::internal("a join that was not spilled"))
    }

    /// Build batches leave memory.
    pub(super) fn spill_build(&self, batches: Vec<BuildBatch>, work: &Work<'_>) -> Result<()> {
        let spilled = self.spill_to(work.query)?;
        for batch in batches {
            work.check()?;
            let (rows, keys) = (batch.rows, batch.keys.len());
            let columns = batch.columns.into_iter().chain(batch.keys).collect();
            self.push_build(&Batch::new(columns, rows), keys, &spilled.sides.build)?;
        }
        spilled.sides.build.settle(work.query)
    }
    fn push_build(&self, batch: &Batch, keys: usize, to: &Partitions) -> Result<()> {
        let mut hashes = Vec::new();
        hash_columns(&batch.columns[batch.columns.len() - keys..], batch.rows, &mut hashes);
        to.push(batch, &hashes)
    }
    fn push_probe(&self, batch: &Batch, to: &Partitions, query: &QueryContext) -> Result<()> {
        let mut hashes = Vec::new();
        hash_columns(&query.evaluate(&self.probe_keys, batch)?, batch.rows, &mut hashes);
        to.push(batch, &hashes)
    }

    /// The sink has ended; what is left in memory is written by the step, in so many orders.
    pub(super) fn begin_spilling(&self, batches: Vec<BuildBatch>, query: &QueryContext) -> Result<u64> {
        let spilled = self.spill_to(query)?;
        let mut parts: Vec<Option<Vec<BuildBatch>>> = vec![];
        let mut batches = batches.into_iter().peekable();
        while batches.peek().is_some() {
            parts.push(Some(batches.by_ref().take(BATCHES_PER_ORDER).collect()));
        }
        let orders = parts.len() as u64;
        *lock(&spilled.rest) = parts;
        query.metrics.state(self.node, "table", "by partitions in files");
        Ok(orders)
    }
    /// Writes one part of what was in memory when the sink ended.
    pub(super) fn spill_rest(&self, part: usize, work: &Work<'_>) -> Result<()> {
        let batches = lock(&self.sides()?.rest).get_mut(part).and_then(Option::take);
        self.spill_build(batches.unwrap_or_default(), work)
    }

    /// Probe rows go where the build rows of their keys are.
    pub(super) fn spill_probe(&self, batch: Batch, work: &Work<'_>) -> Result<Flow> {
        if self.kind == Kind::ProbeAnti && self.null_aware && self.list_has_null.load(Relaxed) {
            // NOT IN a list with a NULL: nothing passes.
            return Ok(Flow::Enough);
        }
        if self.null_aware && self.kind == Kind::BuildAnti {
            self.list_has_rows.store(true, Relaxed);
            if null_rows(&work.query.evaluate(&self.probe_keys, &batch)?, batch.rows).is_some() {
                self.list_has_null.store(true, Relaxed);
            }
        }
        work.check()?;
        self.push_probe(&batch, &self.sides()?.sides.probe, work.query)?;
        Ok(Flow::More)
    }

    /// Joins what two streams hold of one partition.
    fn join_partition(
        &self,
        (build, probe): (&mut SpillStream, &mut SpillStream),
        (level, divides): (usize, bool),
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        build.flush()?;
        probe.flush()?;
        if (build.rows() == 0 && !self.emits_without_build())
            || (probe.rows() == 0 && !self.marks_build_rows())
        {
            return Ok(Flow::More);
        }
        let most = match work.query.settings.operator_bytes {
            Some(bound) => bound,
            None => work.query.partition_bytes_max().max(TABLE_BYTES_MIN),
        };
        let takes =
            build.bytes() as usize + self.assembly_bytes(build.rows() as usize, build.bytes() as usize);
        if takes <= most || build.pieces() <= 1 || level >= LEVELS_MAX || !divides {
            return self.join_parts(build, probe, most, work, push);
        }
        let sides = Sides::new(work.query, level + 1)?;
        for piece in 0..build.pieces() {
            work.check()?;
            self.push_build(&build.read(piece)?, self.key_types.len(), &sides.build)?;
        }
        for piece in 0..probe.pieces() {
            let batch = probe.read(piece)?;
            for part in parts_of(&batch, work.query.settings.batch_rows) {
                work.check()?;
                self.push_probe(&part, &sides.probe, work.query)?;
            }
        }
        let share = DIVIDED_SHARE_MAX * build.rows() as f64;
        for partition in 0..FANOUT {
            let (mut build, mut probe) = (sides.build.stream(partition), sides.probe.stream(partition));
            let divides = (build.rows() as f64) < share;
            if self.join_partition((&mut build, &mut probe), (level + 1, divides), work, push)?
                == Flow::Enough
            {
                return Ok(Flow::Enough);
            }
        }
        count_spilled(work.query, self.node, sides.file.bytes());
        Ok(Flow::More)
    }

    /// Probe rows come out even where there is no build row.
    fn emits_without_build(&self) -> bool {
        self.kind.keeps_probe_rows()
    }

    /// The build side in as few parts as fit `most` bytes each, the probe side once for each.
    fn join_parts(
        &self,
        build: &SpillStream,
        probe: &SpillStream,
        most: usize,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let mut piece = 0;
        let mut buffers = Buffers::default();
        // For each probe piece, which rows have matched; with several parts only.
        let mut matched: Option<Vec<Vec<bool>>> = None;
        loop {
            let first = piece;
            let mut batches = vec![];
            let mut bytes = 0;
            while piece < build.pieces() && (piece == first || bytes < most) {
                work.check()?;
                let mut columns = build.read(piece)?.columns;
                let keys = columns.split_off(columns.len() - self.key_types.len());
                let rows = keys.first().map_or(0, Vector::len);
                let batch = self.build_batch(piece as u64, rows, columns, keys);
                bytes += batch.bytes + self.assembly_bytes(rows, batch.bytes);
                batches.push(batch);
                piece += 1;
            }
            let is_last = piece >= build.pieces();
            if first == 0 && !is_last {
                matched = Some(vec![vec![]; probe.pieces()]);
            }
            let built = self.build_partition(batches, work)?;
            if self.probe_part(&built, probe, &mut matched, &mut buffers, work, push)? == Flow::Enough
                || self.push_build_rows(&built, work, push)? == Flow::Enough
            {
                return Ok(Flow::Enough);
            }
            if is_last {
                return match matched {
                    Some(matched) => self.push_carried(&built, probe, matched, work, push),
                    None => Ok(Flow::More),
                };
            }
        }
    }

    fn probe_part(
        &self,
        built: &Built,
        probe: &SpillStream,
        matched: &mut Option<Vec<Vec<bool>>>,
        buffers: &mut Buffers,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        if self.has_no_result(built) {
            return Ok(Flow::More);
        }
        for piece in 0..probe.pieces() {
            let whole = probe.read(piece)?;
            let mut of_piece = vec![];
            let mut at = 0;
            for batch in parts_of(&whole, work.query.settings.batch_rows) {
                work.check()?;
                let mut carried =
                    matched.as_ref().map(|matched| match matched[piece].get(at..at + batch.rows) {
                        Some(known) => known.to_vec(),
                        None => vec![false; batch.rows],
                    });
                at += batch.rows;
                let flow = self.probe_batch(built, &batch, carried.as_mut(), buffers, work, push)?;
                if flow == Flow::Enough {
                    return Ok(Flow::Enough);
                }
                of_piece.extend(carried.unwrap_or_default());
            }
            if let Some(matched) = matched {
                matched[piece] = of_piece;
            }
        }
        Ok(Flow::More)
    }

    /// What probe rows come to, once all parts of the build were seen.
    fn push_carried(
        &self,
        built: &Built,
        probe: &SpillStream,
        matched: Vec<Vec<bool>>,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        if !self.emits_without_build() && self.kind != Kind::ProbeSemi {
            return Ok(Flow::More);
        }
        for (piece, matched) in matched.into_iter().enumerate() {
            let whole = probe.read(piece)?;
            let mut at = 0;
            for batch in parts_of(&whole, work.query.settings.batch_rows) {
                work.check()?;
                let carried = matched
                    .get(at..at + batch.rows)
                    .map_or_else(|| vec![false; batch.rows], <[bool]>::to_vec);
                at += batch.rows;
                if self.emit_carried(built, &batch, carried, work, push)? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
            }
        }
        Ok(Flow::More)
    }

    /// The matched or unmatched build rows of a part.
    fn push_build_rows(&self, built: &Built, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let Some(marks) = &built.matched else { return Ok(Flow::More) };
        if self.null_aware && self.kind == Kind::BuildAnti {
            // As for a join in memory: the list is the probe side.
            if self.list_has_null.load(Relaxed) {
                return Ok(Flow::More);
            }
            if self.list_has_rows.load(Relaxed) {
                built.null_rows.iter().for_each(|row| marks.set(*row));
            }
        }
        let wanted = self.kind == Kind::BuildSemi;
        for unit in 0..RowMarks::units(marks) {
            let flow = in_unit(marks, unit, wanted, work.query.settings.batch_rows, &mut |rows| {
                work.check()?;
                push(self.columns.of_build(&built.columns, rows))
            })?;
            if flow == Flow::Enough {
                return Ok(flow);
            }
        }
        Ok(Flow::More)
    }
}

/// A batch as batches of at most `rows` rows.
fn parts_of(batch: &Batch, rows: usize) -> impl Iterator<Item = Batch> {
    let rows = rows.max(1);
    (0..batch.rows).step_by(rows).map(move |at| batch.slice(at, rows.min(batch.rows - at)))
}

/// The rows of the partitions: a unit each.
pub(super) struct SpilledRows(pub Arc<HashJoin>);

impl Source for SpilledRows {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(if self.0.has_spilled() { FANOUT as u64 } else { 0 })
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let spilled = self.0.sides()?;
        let Sides { file, build, probe } = &spilled.sides;
        let (mut build, mut probe) = (build.stream(unit as usize), probe.stream(unit as usize));
        let flow = self.0.join_partition((&mut build, &mut probe), (0, true), work, push)?;
        // The last pieces of each partition are written right before it is joined.
        let bytes = file.bytes();
        let before = spilled.counted.fetch_max(bytes, Relaxed);
        count_spilled(work.query, self.0.node, bytes.saturating_sub(before));
        Ok(flow)
    }
}
