//! The build side's sink: keys evaluated, columns narrowed, rows that cannot match dropped.
//!
//! Each worker collects `BuildBatch`es: kept columns, flat keys, their bounds and bytes, under the tag of the unit.
//! Small pieces of one work order are joined to one batch. Bytes and rows of all workers are counted in the join,
//! since what the assembly takes depends on both: before its state grows, a worker asks whether it should spill, and
//! then writes all it holds to the partitions of the join's file (`spilled.rs`). `finish` hands the batches to the
//! step (`assemble.rs`).

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use hash::{KeyBounds, is_integer_key};
use plan::{NodeId, PhysicalJoinKind};
use types::Result;
use vector::{Batch, Data, Vector};

use super::HashJoin;
use super::crowds::CROWDED_ROW_BYTES;
use super::null_keys::null_rows;
use super::shared::lock;
use super::state::BuildBatch;
use crate::collect::detached;
use crate::context::{QueryContext, out_of_memory};
use crate::pipeline::{Flow, Local, Sink, Work, local_state};

/// Dictionaries up to this size are kept: merged to one, they spare the probe's output, and groupings above it, the
/// strings themselves. Larger ones are rarely mergeable, and decoding them later is one thread's work.
const DICTIONARY_VALUES_MAX: usize = 4096;

/// A column as the build side keeps it.
fn kept(column: &Vector) -> Vector {
    match column.data() {
        Data::Dictionary { values, .. } if values.len() <= DICTIONARY_VALUES_MAX => column.clone(),
        _ => detached(column),
    }
}

impl HashJoin {
    fn for_table(&self, column: &Vector) -> bool {
        self.may_hold_payload && is_integer_key(column.ty())
    }
    /// Writes what a worker holds to files, if it should; returns whether.
    fn put_away(&self, collected: &mut Collected, work: &Work<'_>) -> Result<bool> {
        let more = self.assembly_bytes(self.held_rows.load(Relaxed), self.held_bytes.load(Relaxed));
        if !self.can_spill || !work.query.should_spill(collected.bytes, more) {
            return Ok(false);
        }
        collected.join_pieces(self);
        let Collected { batches, bytes, rows, .. } = std::mem::take(collected);
        self.held_bytes.fetch_sub(bytes, Relaxed);
        self.held_rows.fetch_sub(rows, Relaxed);
        work.put_away(|| self.spill_build(batches, work))?;
        Ok(true)
    }
    /// A batch of kept columns and keys, with their bounds.
    pub(super) fn build_batch(
        &self,
        tag: u64,
        rows: usize,
        columns: Vec<Vector>,
        keys: Vec<Vector>,
    ) -> BuildBatch {
        let column_bounds = match self.may_hold_payload {
            true => columns
                .iter()
                .map(|c| if self.for_table(c) { KeyBounds::of(c, false) } else { KeyBounds::EMPTY })
                .collect(),
            false => vec![],
        };
        let bounds = if self.key_types.iter().all(|ty| is_integer_key(*ty)) {
            keys.iter().map(|key| KeyBounds::of(key, true)).collect()
        } else {
            vec![]
        };
        let bytes_of = |vectors: &[Vector]| vectors.iter().map(Vector::bytes).sum::<usize>();
        let column_bytes = bytes_of(&columns);
        let bytes = column_bytes + bytes_of(&keys);
        let entries = OnceLock::new();
        BuildBatch { tag, rows, columns, keys, bounds, column_bounds, column_bytes, bytes, entries }
    }
}

impl HashJoin {
    /// What a build of so many rows takes in addition to them: a copy of the columns, slots, and places of crowded
    /// keys.
    pub(super) fn assembly_bytes(&self, rows: usize, bytes: usize) -> usize {
        bytes + rows * (24 + if self.range.is_some() { CROWDED_ROW_BYTES } else { 0 })
    }
}

/// The build side's sink.
pub(super) struct BuildSink(pub Arc<HashJoin>);

#[derive(Default)]
struct Collected {
    batches: Vec<BuildBatch>,
    /// Small pieces of one work order's run, in its order, which become one batch: of a thousand blocks of which a
    /// few rows are left each, everything that is done batch by batch afterwards would be done a thousand times.
    pieces: Vec<Piece>,
    piece_rows: usize,
    bytes: usize,
    rows: usize,
    reservation: Option<memory::Reservation>,
}

struct Piece {
    tag: u64,
    rows: usize,
    columns: Vec<Vector>,
    keys: Vec<Vector>,
}

impl Piece {
    /// Dictionaries would have to be merged, which takes longer the more values and the fewer rows they have.
    fn is_small(&self) -> bool {
        let is_dictionary = |vector: &Vector| matches!(vector.data(), Data::Dictionary { .. });
        self.rows < PIECE_ROWS_MAX && !self.columns.iter().any(is_dictionary)
    }
}

/// Pieces of fewer rows are put together, into batches of at most twice as many.
const PIECE_ROWS_MAX: usize = if cfg!(test) { 8 } else { vector::BATCH_ROWS / 2 };

impl Collected {
    fn add(&mut self, piece: Piece, join: &HashJoin) {
        let small = piece.is_small();
        if !small || self.piece_rows + piece.rows > 2 * PIECE_ROWS_MAX {
            self.join_pieces(join);
        }
        self.piece_rows += piece.rows;
        self.pieces.push(piece);
        if !small {
            self.join_pieces(join);
        }
    }

    /// Makes the pieces one batch, under the first one's tag.
    fn join_pieces(&mut self, join: &HashJoin) {
        let rows = std::mem::take(&mut self.piece_rows);
        let pieces = std::mem::take(&mut self.pieces);
        let Some(first) = pieces.first() else { return };
        let tag = first.tag;
        let joined = |vectors: fn(&Piece) -> &Vec<Vector>| -> Vec<Vector> {
            let column = |at| Vector::concat(&pieces.iter().map(|p| &vectors(p)[at]).collect::<Vec<_>>());
            (0..vectors(first).len()).map(column).collect()
        };
        self.batches.push(join.build_batch(tag, rows, joined(|p| &p.columns), joined(|p| &p.keys)));
    }
}

impl Sink for BuildSink {
    fn takes_any_order(&self) -> bool {
        true
    }
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(Collected::default())
    }

    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        let join = &*self.0;
        if batch.rows == 0 {
            return Ok(Flow::More);
        }
        let mut keys = work.query.evaluate(&join.build_keys, &batch)?;
        let mut rows = batch.rows;
        let mut columns: Vec<Vector> = join.columns.kept.iter().map(|c| batch.columns[*c].clone()).collect();
        let list = join.kind != PhysicalJoinKind::BuildAnti;
        if list && join.null_aware {
            join.list_has_rows.store(true, Relaxed);
        }
        if let Some(nulls) = null_rows(&keys, rows) {
            if list && join.null_aware {
                join.list_has_null.store(true, Relaxed);
                if join.kind == PhysicalJoinKind::ProbeAnti && !join.looks_at_unknown_pairs() {
                    // NOT IN a list with a NULL is never true: no further row matters.
                    return Ok(Flow::Enough);
                }
            }
            if !join.keeps_null_keys() {
                let valid: Vec<u32> = nulls.valid_indices().map(|row| row as u32).collect();
                rows = valid.len();
                columns = columns.iter().map(|c| c.gather(&valid)).collect();
                keys = keys.iter().map(|k| k.gather(&valid)).collect();
                if rows == 0 {
                    return Ok(Flow::More);
                }
            }
        }
        let columns: Vec<Vector> =
            columns.iter().map(|c| if join.for_table(c) { detached(c) } else { kept(c) }).collect();
        let keys: Vec<Vector> = keys.iter().map(detached).collect();
        let bytes = columns.iter().chain(&keys).map(Vector::bytes).sum::<usize>();
        let collected = local_state::<Collected>(local);
        collected.add(Piece { tag, rows, columns, keys }, join);
        collected.bytes += bytes;
        collected.rows += rows;
        join.held_bytes.fetch_add(bytes, Relaxed);
        join.held_rows.fetch_add(rows, Relaxed);
        if join.put_away(collected, work)? {
            return Ok(Flow::More);
        }
        match &mut collected.reservation {
            Some(reservation) => reservation.grow(bytes as u64).map_err(out_of_memory)?,
            none => *none = Some(work.reserve(bytes)?),
        }
        Ok(Flow::More)
    }

    fn end_order(&self, local: &mut Local, _work: &Work<'_>) -> Result<()> {
        // Tags of other orders may lie between this one's and those of the next.
        local_state::<Collected>(local).join_pieces(&self.0);
        Ok(())
    }

    fn put_away(&self, local: &mut Local, work: &Work<'_>) -> Result<()> {
        self.0.put_away(local_state::<Collected>(local), work).map(|_| ())
    }

    fn finish(&self, locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        let mut all = lock(&self.0.collected);
        for mut local in locals {
            let collected = local_state::<Collected>(&mut local);
            collected.join_pieces(&self.0);
            all.append(&mut collected.batches);
        }
        Ok(())
    }
}
