//! The rows of a table in one snapshot: a list of sealed blocks, and what is known of them together.
//!
//! A `TableData` does not change once it is published: every change returns another value, which shares the blocks.
//! `blocks`, `stored` and the zone map have one entry per block, in the same order; statistics and sketches one per
//! column, over all blocks. Deleted rows stay in their block, in `offsets` and in the statistics; only `rows` leaves
//! them out. The last block, while it is small, is merged with small additions. `moves` tells where the rows of
//! merged blocks are, so that a deletion recorded under the old block's name still finds them. `Draft` makes the
//! changes; scans, planning and the store read the result.

use std::sync::Arc;

use block::{Bitmap, Block, EncodeOptions, Sketch};
use pool::{Pool, SealedBlock};
use types::{ColumnStatistics, Error, PredicateTree, Result, SqlState, Type};
use vector::Batch;

use crate::{BlockId, Sketches, ZoneMap};

/// Rows of a block that are deleted. A block's bytes never change: the deletions are kept apart from them, and
/// snapshots that see other rows have other deletions for the same block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// One bit a row of the block, set where the row is there.
    pub live: Bitmap,
    /// Rows that are not there; never 0.
    pub rows: usize,
}

impl Deleted {
    /// Deletions of a block with these rows left; `None` when that is all of them.
    pub fn from_live(live: Bitmap) -> Option<Self> {
        let rows = live.len() - live.count();
        (rows > 0).then_some(Deleted { live, rows })
    }
}

/// A block with its name, and everything that a list of blocks keeps of it.
#[derive(Clone, Debug)]
pub struct StoredBlock {
    /// Its name, which no other block of the process has.
    pub id: BlockId,
    /// The rows, shared by all snapshots that hold the block.
    pub block: Arc<Block>,
    /// One a column.
    pub sketches: Sketches,
    /// `None` while no row is deleted.
    pub deleted: Option<Arc<Deleted>>,
    /// The blocks that this one was merged of, with their deletions then; in the snapshot that merged them and the next
    /// ones, until it is merged itself.
    pub merged_of: Option<Arc<[StoredBlock]>>,
}

impl StoredBlock {
    /// A sealed block under a new name.
    pub fn new(sealed: SealedBlock) -> Self {
        let SealedBlock { block, sketches } = sealed;
        StoredBlock { id: BlockId::next(), block, sketches: sketches.into(), deleted: None, merged_of: None }
    }
    /// Rows of the block that are not deleted.
    pub fn live_rows(&self) -> u64 {
        (self.block.rows() - self.deleted.as_ref().map_or(0, |d| d.rows)) as u64
    }
    /// All rows that are there.
    pub fn batch(&self) -> Result<Batch> {
        let (block, rows) = (self.block.pin_all()?, self.block.rows());
        let whole = Batch::new((0..block.columns()).map(|c| block.fetch(c, 0..rows)).collect(), rows);
        Ok(match &self.deleted {
            None => whole,
            Some(deleted) => whole.gather(&deleted.live.to_indices()),
        })
    }
}

/// How blocks of a table are made.
pub struct Encoding<'a> {
    /// Where the memory of new blocks comes from.
    pub pool: &'a Pool,
    /// Type, and whether NULLs are allowed.
    pub columns: &'a [(Type, bool)],
    /// Layout, sort column and indices of new blocks.
    pub options: EncodeOptions,
}

/// What may be done to the last block of a table when rows are added.
#[derive(Clone, Copy, Debug)]
pub struct Merging {
    /// Older than all blocks of the change that the addition is a part of.
    pub began: BlockId,
    /// Others' changes may overtake this one: older blocks stay as they are.
    pub private: bool,
    /// `StoredBlock::merged_of` will be asked for.
    pub remembering: bool,
}

/// Where the rows of a block are that has left the list: in another block from `offset` on, without those that were
/// deleted when they moved.
#[derive(Clone, Debug)]
struct Move {
    from: BlockId,
    deleted: Option<Arc<Deleted>>,
    rows: usize,
    into: BlockId,
    offset: usize,
    /// Where each row that was there is now, if they do not follow each other from `offset` on.
    places: Option<Arc<[u32]>>,
}

/// Moves that are remembered: a transaction that began earlier than that many merges ago may have to be run again.
const MOVES_MAX: usize = 4096;

/// The blocks of a table with their deletions, statistics and zone map. Clones share the blocks.
#[derive(Clone, Debug)]
pub struct TableData {
    types: Vec<Type>,
    blocks: Vec<Arc<Block>>,
    /// What else is kept of each block.
    stored: Vec<StoredBlock>,
    /// Rows of all blocks that are deleted.
    deleted_rows: u64,
    /// The oldest first.
    moves: Vec<Move>,
    /// Rows before each block, deleted ones counted; one more entry than blocks.
    offsets: Vec<u64>,
    statistics: Vec<ColumnStatistics>,
    sketches: Vec<Sketch>,
    /// Per column: values rise strictly over the whole table so far, so that it is unique while that lasts.
    increasing: Vec<bool>,
    /// Columns found to be unique by looking at all their values; forgotten when rows are added.
    proven: Vec<bool>,
    /// Sets of columns found to be unique together; forgotten when rows are added.
    unique_sets: Vec<Vec<usize>>,
    zones: ZoneMap,
    /// This data without its last block, while that block is small enough to be merged with what comes.
    before_tail: Option<Arc<TableData>>,
}

/// A last block of at most this many rows is merged with small additions, so that a table filled by single-row
/// statements does not become a block per row.
const TAIL_ROWS_MAX: u64 = 8192;

impl TableData {
    /// No rows, of columns of these types.
    pub fn empty(types: &[Type]) -> Self {
        TableData {
            types: types.to_vec(),
            blocks: Vec::new(),
            stored: Vec::new(),
            deleted_rows: 0,
            moves: Vec::new(),
            offsets: vec![0],
            statistics: vec![ColumnStatistics::empty(); types.len()],
            sketches: vec![Sketch::default(); types.len()],
            increasing: vec![true; types.len()],
            proven: vec![false; types.len()],
            unique_sets: Vec::new(),
            zones: ZoneMap::new(types),
            before_tail: None,
        }
    }

    /// The rows of these blocks, which get new names. Their columns have these types.
    pub fn from_blocks(types: &[Type], blocks: Vec<SealedBlock>) -> Self {
        TableData::empty(types).append(blocks)
    }

    /// This data with more blocks at the end. Blocks are shared, not copied.
    #[must_use]
    pub fn append(&self, blocks: Vec<SealedBlock>) -> TableData {
        self.append_stored(blocks.into_iter().map(StoredBlock::new).collect())
    }

    /// As `append`, for blocks that have names already.
    #[must_use]
    pub fn append_stored(&self, blocks: Vec<StoredBlock>) -> TableData {
        let mut data = self.clone();
        data.extend(blocks, None);
        data
    }

    /// The data of these blocks, whose sketches were merged before.
    pub(crate) fn of_stored(
        types: &[Type],
        blocks: Vec<StoredBlock>,
        merged: Option<Vec<Sketch>>,
    ) -> TableData {
        let mut data = TableData::empty(types);
        data.extend(blocks, merged);
        data
    }
    /// One a column, of all blocks.
    pub(crate) fn sketches(&self) -> &[Sketch] {
        &self.sketches
    }

    /// As `append_stored`; but when the last block and the new ones are small together, they become one block, which is
    /// encoded anew.
    pub fn append_merging(
        &self,
        blocks: Vec<StoredBlock>,
        encoding: &Encoding<'_>,
        merging: Merging,
    ) -> Result<TableData> {
        let added: u64 = blocks.iter().map(StoredBlock::live_rows).sum();
        let (Some(_), Some(tail)) = (&self.before_tail, self.stored.last()) else {
            return Ok(self.append_stored(blocks));
        };
        if added == 0
            || tail.live_rows() + added > TAIL_ROWS_MAX
            || (merging.private && tail.id < merging.began)
        {
            return Ok(self.append_stored(blocks));
        }
        // Its parts do not tell which of its rows were deleted after they were merged.
        let merged_before = tail.merged_of.is_some() && tail.id > merging.began;
        if merging.remembering && merged_before && tail.deleted.is_some() {
            return Ok(self.append_stored(blocks));
        }
        let mut data = self.merged(&blocks, BlockId::next(), encoding)?;
        if merging.private || !merging.remembering {
            return Ok(data);
        }
        // Remembered is what those blocks were made of that others know.
        let known = match &tail.merged_of {
            Some(parts) if tail.id > merging.began => parts.to_vec(),
            _ => vec![StoredBlock { merged_of: None, ..tail.clone() }],
        };
        if let Some(whole) = data.stored.last_mut() {
            whole.merged_of = Some(known.into_iter().chain(blocks).collect());
        }
        Ok(data)
    }

    /// The last block and those behind it as one, of the name `id`.
    pub(crate) fn merged(
        &self,
        behind: &[StoredBlock],
        id: BlockId,
        encoding: &Encoding<'_>,
    ) -> Result<TableData> {
        let (Some(before), Some(tail)) = (&self.before_tail, self.stored.last()) else {
            return Err(Error::internal("there is no last block to merge"));
        };
        let parts = || std::iter::once(tail).chain(behind);
        let rows: Vec<Batch> = parts().map(StoredBlock::batch).collect::<Result<_>>()?;
        let sealed = encoding.pool.seal(block::encode(encoding.columns, &rows, &encoding.options)?)?;
        let mut data = (**before).clone();
        data.moves = self.moves.clone();
        let mut offset = 0;
        for part in parts() {
            let (from, deleted, rows) = (part.id, part.deleted.clone(), part.block.rows());
            data.moves.push(Move { from, deleted, rows, into: id, offset, places: None });
            offset += part.live_rows() as usize;
        }
        data.forget_old_moves();
        data.extend(vec![StoredBlock { id, ..StoredBlock::new(sealed) }], None);
        Ok(data)
    }

    /// This data without some rows: per block, one bit a row, set for those to be deleted. Rows of blocks that were
    /// merged meanwhile are found in the merged ones. SQLSTATE 40001 when another transaction has deleted a row, or
    /// the row's block is gone.
    pub fn delete(&self, rows: &[(BlockId, Arc<Bitmap>)]) -> Result<TableData> {
        let mut data = self.clone();
        for (id, doomed) in rows {
            let mut doomed = doomed.clone();
            let mut id = *id;
            let ordinal = loop {
                if let Some(ordinal) = data.stored.iter().rposition(|s| s.id == id) {
                    break ordinal;
                }
                let moved = data.moves.iter().rev().find(|m| m.from == id);
                let Some(moved) = moved.filter(|m| m.rows == doomed.len()) else {
                    return Err(concurrently());
                };
                let Some(into) = data.length_of(moved.into) else { return Err(concurrently()) };
                doomed = Arc::new(moved.translate(&doomed, into)?);
                id = moved.into;
            };
            data.delete_in(ordinal, &doomed)?;
            if let Some(before) = &data.before_tail
                && ordinal < before.blocks.len()
            {
                let mut changed = (**before).clone();
                changed.delete_in(ordinal, &doomed)?;
                data.before_tail = Some(Arc::new(changed));
            }
        }
        Ok(data)
    }

    /// These blocks, some of which others were merged into: the block, what it is part of, and the row it begins at there.
    pub(crate) fn with_merged(
        &self,
        stored: Vec<StoredBlock>,
        merged: Vec<(StoredBlock, BlockId, usize)>,
    ) -> TableData {
        if merged.is_empty() {
            let added = stored.into_iter().skip(self.stored.len()).collect();
            return self.append_stored(added);
        }
        let mut data = TableData::empty(&self.types).append_stored(stored);
        data.moves.clone_from(&self.moves);
        for (part, into, offset) in merged {
            let (from, deleted, rows) = (part.id, part.deleted, part.block.rows());
            data.moves.push(Move { from, deleted, rows, into, offset, places: None });
        }
        data.forget_old_moves();
        data
    }

    fn forget_old_moves(&mut self) {
        let surplus = self.moves.len().saturating_sub(MOVES_MAX);
        self.moves.drain(..surplus);
    }

    /// This data with the rows of one block in another block, made of the rows that `before` saw there. `places` says
    /// for each of them, in their order there, which row it is now; `None` when the order is the same. `None` when the
    /// block is no longer there, or has lost rows since.
    pub fn with_block_remade(
        &self,
        before: &StoredBlock,
        remade: StoredBlock,
        places: Option<Arc<[u32]>>,
    ) -> Option<TableData> {
        let ordinal = self.stored.iter().position(|s| s.id == before.id)?;
        let there = &self.stored[ordinal];
        let same = match (&there.deleted, &before.deleted) {
            (None, None) => true,
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            _ => false,
        };
        if !same || !Arc::ptr_eq(&there.block, &before.block) {
            return None;
        }
        let moved = Move {
            from: before.id,
            deleted: before.deleted.clone(),
            rows: before.block.rows(),
            into: remade.id,
            offset: 0,
            places,
        };
        let proven = self.proven();
        let mut stored = self.stored.clone();
        stored[ordinal] = remade;
        let mut data = TableData::empty(&self.types).append_stored(stored);
        proven.into_iter().for_each(|columns| data.add_unique(columns));
        data.moves.clone_from(&self.moves);
        data.moves.push(moved);
        data.forget_old_moves();
        Some(data)
    }

    /// This data with other bytes for the same rows of one block: indices came or went. `None` when the block is no
    /// longer there.
    pub fn with_indices_of(&self, before: &StoredBlock, block: Arc<Block>) -> Option<TableData> {
        let ordinal = self.stored.iter().position(|s| s.id == before.id)?;
        let mut data = self.clone();
        if !Arc::ptr_eq(&data.stored[ordinal].block, &before.block) {
            return None;
        }
        data.blocks[ordinal] = block.clone();
        data.stored[ordinal].block = block.clone();
        if let Some(tail) = &data.before_tail
            && ordinal < tail.blocks.len()
        {
            let mut changed = (**tail).clone();
            changed.blocks[ordinal] = block.clone();
            changed.stored[ordinal].block = block;
            data.before_tail = Some(Arc::new(changed));
        }
        Some(data)
    }

    /// Goes on remembering what another version of the table did.
    pub(crate) fn remember_moves_of(&mut self, other: &TableData) {
        self.moves.clone_from(&other.moves);
    }

    /// Rows of a block that is in the list, or was and moved on.
    fn length_of(&self, id: BlockId) -> Option<usize> {
        let there = self.stored.iter().rev().find(|s| s.id == id).map(|s| s.block.rows());
        there.or_else(|| self.moves.iter().rev().find(|m| m.from == id).map(|m| m.rows))
    }

    fn delete_in(&mut self, ordinal: usize, doomed: &Bitmap) -> Result<()> {
        let stored = &mut self.stored[ordinal];
        if doomed.len() != stored.block.rows() {
            return Err(Error::internal("deleted rows and their block do not go together"));
        }
        let mut live = match &stored.deleted {
            Some(deleted) => deleted.live.clone(),
            None => Bitmap::full(doomed.len()),
        };
        let (before, count) = (live.count(), doomed.count());
        live.and_not(doomed);
        if before - live.count() != count {
            return Err(concurrently());
        }
        self.deleted_rows += count as u64;
        stored.deleted = Deleted::from_live(live).map(Arc::new);
        Ok(())
    }

    /// The same rows with only these columns, in this order. Blocks share their bytes with those before.
    #[must_use]
    pub fn of_columns(&self, columns: &[usize]) -> TableData {
        let place = |column: &usize| columns.iter().position(|c| c == column);
        let kept = |set: &Vec<usize>| set.iter().map(place).collect::<Option<Vec<usize>>>();
        let blocks: Vec<Arc<Block>> = self.blocks.iter().map(|b| Arc::new(b.of_columns(columns))).collect();
        TableData {
            types: columns.iter().map(|c| self.types[*c]).collect(),
            blocks: blocks.clone(),
            stored: self
                .stored
                .iter()
                .zip(blocks)
                .map(|(stored, block)| {
                    let sketches = stored.sketches.of_columns(columns);
                    StoredBlock { block, sketches, merged_of: None, ..stored.clone() }
                })
                .collect(),
            deleted_rows: self.deleted_rows,
            moves: self.moves.clone(),
            offsets: self.offsets.clone(),
            statistics: columns.iter().map(|c| self.statistics[*c].clone()).collect(),
            sketches: columns.iter().map(|c| self.sketches[*c].clone()).collect(),
            increasing: columns.iter().map(|c| self.increasing[*c]).collect(),
            proven: columns.iter().map(|c| self.proven[*c]).collect(),
            unique_sets: self.unique_sets.iter().filter_map(kept).collect(),
            zones: self.zones.of_columns(columns),
            before_tail: self.before_tail.as_ref().map(|before| Arc::new(before.of_columns(columns))),
        }
    }

    /// These rows with more columns: those of `right`, which has them in blocks of the same rows.
    pub fn beside(&self, right: &TableData) -> Result<TableData> {
        if self.offsets != right.offsets {
            return Err(types::Error::internal("columns of different blocks do not go together"));
        }
        let shift = self.types.len();
        let moved = |set: &Vec<usize>| set.iter().map(|c| c + shift).collect();
        let blocks: Vec<Arc<Block>> =
            self.blocks.iter().zip(&right.blocks).map(|(l, r)| Arc::new(l.beside(r))).collect();
        Ok(TableData {
            types: [self.types.as_slice(), &right.types].concat(),
            stored: self
                .stored
                .iter()
                .zip(&right.stored)
                .zip(&blocks)
                .map(|((left, right), block)| StoredBlock {
                    block: block.clone(),
                    sketches: left.sketches.beside(&right.sketches),
                    merged_of: None,
                    ..left.clone()
                })
                .collect(),
            blocks,
            deleted_rows: self.deleted_rows,
            moves: self.moves.clone(),
            offsets: self.offsets.clone(),
            statistics: [self.statistics.as_slice(), &right.statistics].concat(),
            sketches: [self.sketches.as_slice(), &right.sketches].concat(),
            increasing: [self.increasing.as_slice(), &right.increasing].concat(),
            proven: [self.proven.as_slice(), &right.proven].concat(),
            unique_sets: self
                .unique_sets
                .iter()
                .cloned()
                .chain(right.unique_sets.iter().map(moved))
                .collect(),
            zones: self.zones.beside(&right.zones),
            // The tail stays a block of its own.
            before_tail: None,
        })
    }

    /// Adds blocks; `known` are the sketches of this data with them, merged.
    fn extend(&mut self, blocks: Vec<StoredBlock>, known: Option<Vec<Sketch>>) {
        let mut blocks: Vec<StoredBlock> = blocks.into_iter().filter(|s| s.block.rows() > 0).collect();
        let Some(last) = blocks.pop() else { return };
        let some = !blocks.is_empty();
        let is_tail = last.block.rows() as u64 <= TAIL_ROWS_MAX / 2;
        // Data without its tail has sketches of its own.
        let merging = known.is_none() || is_tail;
        blocks.into_iter().for_each(|stored| self.push(stored, merging));
        self.before_tail = None;
        if is_tail {
            if some {
                self.count_distinct();
            }
            self.before_tail = Some(Arc::new(self.clone()));
        }
        self.push(last, merging);
        if let Some(known) = known.filter(|_| !merging) {
            self.sketches = known;
        }
        self.count_distinct();
    }

    /// Distinct counts, once for all blocks that were added: an estimate looks at a whole sketch.
    fn count_distinct(&mut self) {
        let rows = self.physical_rows();
        for (column, total) in self.statistics.iter_mut().enumerate() {
            let present = rows - total.null_count;
            total.distinct = match self.blocks.as_slice() {
                [only] => only.statistics(column).distinct,
                _ if total.unique => present,
                _ => self.sketches[column].estimate().min(present),
            };
        }
    }

    fn push(&mut self, stored: StoredBlock, merging: bool) {
        let block = stored.block.clone();
        debug_assert_eq!(block.columns(), self.types.len());
        let rows_before = self.physical_rows();
        if merging {
            stored.sketches.merge_into(&mut self.sketches);
        }
        for column in 0..self.types.len() {
            let known = block.statistics(column);
            let total = &mut self.statistics[column];
            let first = rows_before == 0;
            let rises = known.sorted && known.unique;
            let follows = first || (!total.max.is_null() && total.max < known.min);
            let not_below = first || (!total.max.is_null() && total.max <= known.min);
            self.increasing[column] &= rises && follows;
            total.sorted &= known.sorted && not_below;
            total.null_count += known.null_count;
            total.unique = self.increasing[column] || (first && known.unique);
            if total.min.is_null() || (!known.min.is_null() && known.min < total.min) {
                total.min = known.min.clone();
            }
            if total.max.is_null() || (!known.max.is_null() && known.max > total.max) {
                total.max = known.max.clone();
            }
            self.proven[column] = false;
        }
        self.unique_sets.clear();
        self.zones.push(&block);
        self.offsets.push(rows_before + block.rows() as u64);
        self.deleted_rows += stored.deleted.as_ref().map_or(0, |d| d.rows as u64);
        self.blocks.push(block);
        self.stored.push(stored);
    }

    /// Whether a row that is there is NULL in a column. Blocks with NULLs and deletions are read for it: an error where
    /// one cannot be.
    pub fn has_live_null(&self, column: usize) -> Result<bool> {
        for stored in &self.stored {
            if stored.block.statistics(column).null_count == 0 {
                continue;
            }
            let Some(deleted) = &stored.deleted else { return Ok(true) };
            let block = stored.block.pin(&[column])?;
            let values = block.fetch(column, 0..block.rows());
            if (0..values.len()).any(|row| deleted.live.get(row) && values.is_null(row)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The blocks with their names and deletions.
    pub fn stored(&self) -> &[StoredBlock] {
        &self.stored
    }
    /// Deletions of a block; `None` when all its rows are there.
    pub fn deleted(&self, ordinal: usize) -> Option<&Arc<Deleted>> {
        self.stored[ordinal].deleted.as_ref()
    }

    /// The blocks in row order; deletions are in `stored`.
    pub fn blocks(&self) -> &[Arc<Block>] {
        &self.blocks
    }
    /// The block with that ordinal; panics beyond the last.
    pub fn block(&self, ordinal: usize) -> &Arc<Block> {
        &self.blocks[ordinal]
    }
    /// Rows that are there.
    pub fn rows(&self) -> u64 {
        self.physical_rows() - self.deleted_rows
    }
    /// Rows of all blocks, those that are deleted counted.
    pub fn physical_rows(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }
    /// Bytes of all blocks and of their indices.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes() as u64).sum()
    }
    /// Rows before each block, deleted ones counted, and at the end `physical_rows`.
    pub fn row_offsets(&self) -> &[u64] {
        &self.offsets
    }
    /// Block ordinal and row in it, of a row of the table.
    pub fn locate(&self, row: u64) -> Option<(usize, usize)> {
        if row >= self.physical_rows() {
            return None;
        }
        let ordinal = self.offsets.partition_point(|o| *o <= row) - 1;
        Some((ordinal, (row - self.offsets[ordinal]) as usize))
    }
    /// The type of each column.
    pub fn types(&self) -> &[Type] {
        &self.types
    }
    /// Statistics of one column over all blocks, deleted rows included: bounds may be wider than the live values.
    pub fn statistics(&self, column: usize) -> &ColumnStatistics {
        &self.statistics[column]
    }
    /// As `statistics`, one per column.
    pub fn all_statistics(&self) -> &[ColumnStatistics] {
        &self.statistics
    }
    /// The bounds of each block, for pruning.
    pub fn zones(&self) -> &ZoneMap {
        &self.zones
    }
    /// Bytes that a scan of a column reads.
    pub fn column_bytes(&self, column: usize) -> u64 {
        self.blocks.iter().map(|b| b.column_bytes(column) as u64).sum()
    }

    /// Ordinals of the blocks in which rows may satisfy the tree.
    pub fn prune(&self, tree: &PredicateTree) -> Vec<u32> {
        let mut keep = vec![true; self.blocks.len()];
        self.prune_by(tree, &mut keep);
        (0..self.blocks.len() as u32).filter(|i| keep[*i as usize]).collect()
    }

    fn prune_by(&self, tree: &PredicateTree, keep: &mut [bool]) {
        match tree {
            PredicateTree::Leaf(column, predicate) => {
                if self.zones.prune(*column, predicate, keep) {
                    return;
                }
                for (keep, block) in keep.iter_mut().zip(&self.blocks).filter(|(keep, _)| **keep) {
                    let s = block.statistics(*column);
                    *keep = predicate.may_match(&s.min, &s.max, s.null_count, block.rows() as u64);
                }
            }
            PredicateTree::And(parts) => parts.iter().for_each(|part| self.prune_by(part, keep)),
            PredicateTree::Or(parts) => {
                let mut some = vec![false; keep.len()];
                for part in parts {
                    let mut own = keep.to_vec();
                    self.prune_by(part, &mut own);
                    some.iter_mut().zip(own).for_each(|(some, own)| *some |= own);
                }
                keep.copy_from_slice(&some);
            }
        }
    }

    /// Sets of several columns that were found to be unique together. Unique single columns are in their statistics.
    pub fn unique_sets(&self) -> &[Vec<usize>] {
        &self.unique_sets
    }
    /// Columns and sets of columns that were found to be unique by looking.
    pub fn proven(&self) -> Vec<Vec<usize>> {
        let single = (0..self.types.len()).filter(|c| self.proven[*c]).map(|c| vec![c]);
        single.chain(self.unique_sets.iter().cloned()).collect()
    }
    /// Records that no two rows agree on all of `columns`. The caller has examined every row of this data.
    pub fn add_unique(&mut self, columns: Vec<usize>) {
        match columns.as_slice() {
            [] => {}
            [column] => {
                let present = self.physical_rows() - self.statistics[*column].null_count;
                self.proven[*column] = true;
                self.statistics[*column].unique = true;
                self.statistics[*column].distinct = present;
            }
            _ => self.unique_sets.push(columns),
        }
    }
    /// Looks for columns whose values are all different but not in order; see `unique.rs`.
    pub fn discover_unique(&mut self) {
        for column in 0..self.types.len() {
            if crate::unique::is_unique(self, column) {
                self.add_unique(vec![column]);
            }
        }
    }
}

impl Move {
    /// Rows of the block that moved, as rows of the one that they moved into, which has `into` rows.
    fn translate(&self, rows: &Bitmap, into: usize) -> Result<Bitmap> {
        let mut moved = Bitmap::empty(into);
        let (mut place, mut next) = (0, 0);
        for row in rows.to_indices() {
            let row = row as usize;
            match &self.deleted {
                Some(deleted) if !deleted.live.get(row) => return Err(concurrently()),
                Some(deleted) => place += deleted.live.count_range(next..row),
                None => place += row - next,
            }
            next = row;
            let now = match &self.places {
                Some(places) => places.get(place).map(|now| *now as usize),
                None => Some(self.offset + place),
            };
            match now.filter(|now| *now < into) {
                Some(now) => moved.set(now),
                None => return Err(Error::internal("a moved row lies behind its block's end")),
            }
        }
        Ok(moved)
    }
}

/// The error for a row that another transaction has changed since this one began.
pub(crate) fn concurrently() -> Error {
    Error::new(SqlState::SerializationFailure, "could not serialize access due to concurrent update")
        .with_hint("run the transaction again")
}
