//! The rows of a table in one snapshot: a list of sealed blocks, and what is known of them together.

use std::sync::Arc;

use block::{Block, LayoutKind, Sketch};
use pool::{Pool, SealedBlock};
use types::{ColumnPredicate, ColumnStatistics, Result, Type};
use vector::Batch;

use crate::ZoneMap;

#[derive(Clone, Debug)]
pub struct TableData {
    types: Vec<Type>,
    blocks: Vec<Arc<Block>>,
    /// Rows before each block; one more entry than blocks, the last is the row count.
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
    bytes: u64,
    /// This data without its last block, while that block is small enough to be merged with what comes.
    before_tail: Option<Arc<TableData>>,
}

/// A last block of at most this many rows is merged with small additions, so that a table filled by single-row
/// statements does not become a block per row.
const TAIL_ROWS_MAX: u64 = 8192;

impl TableData {
    pub fn empty(types: &[Type]) -> Self {
        TableData {
            types: types.to_vec(),
            blocks: Vec::new(),
            offsets: vec![0],
            statistics: vec![ColumnStatistics::empty(); types.len()],
            sketches: vec![Sketch::default(); types.len()],
            increasing: vec![true; types.len()],
            proven: vec![false; types.len()],
            unique_sets: Vec::new(),
            zones: ZoneMap::new(types),
            bytes: 0,
            before_tail: None,
        }
    }

    pub fn from_blocks(types: &[Type], blocks: Vec<SealedBlock>) -> Self {
        let mut data = TableData::empty(types);
        data.extend(blocks);
        data
    }

    /// This data with more blocks at the end. Blocks are shared, not copied.
    #[must_use]
    pub fn append(&self, blocks: Vec<SealedBlock>) -> TableData {
        let mut data = self.clone();
        data.extend(blocks);
        data
    }

    /// As `append`; but when the last block and the new ones are small together, they become one block, which is
    /// encoded into `pool` anew.
    pub fn append_merging(
        &self,
        blocks: Vec<SealedBlock>,
        pool: &Pool,
        columns: &[(Type, bool)],
        layout: LayoutKind,
    ) -> Result<TableData> {
        let added: u64 = blocks.iter().map(|s| s.block.rows() as u64).sum();
        let (Some(before), Some(tail)) = (&self.before_tail, self.blocks.last()) else {
            return Ok(self.append(blocks));
        };
        if added == 0 || tail.rows() as u64 + added > TAIL_ROWS_MAX {
            return Ok(self.append(blocks));
        }
        let all = std::iter::once(tail).chain(blocks.iter().map(|s| &s.block));
        let parts: Vec<Batch> = all
            .map(|block| {
                let (block, rows) = (block.pin_all()?, block.rows());
                Ok(Batch::new((0..block.columns()).map(|c| block.fetch(c, 0..rows)).collect(), rows))
            })
            .collect::<Result<_>>()?;
        let merged = pool.seal(block::encode(columns, &parts, layout)?)?;
        Ok(before.append(vec![merged]))
    }

    /// The same rows with only these columns, in this order. Blocks share their bytes with those before.
    #[must_use]
    pub fn of_columns(&self, columns: &[usize]) -> TableData {
        let place = |column: &usize| columns.iter().position(|c| c == column);
        let kept = |set: &Vec<usize>| set.iter().map(place).collect::<Option<Vec<usize>>>();
        TableData {
            types: columns.iter().map(|c| self.types[*c]).collect(),
            blocks: self.blocks.iter().map(|b| Arc::new(b.of_columns(columns))).collect(),
            offsets: self.offsets.clone(),
            statistics: columns.iter().map(|c| self.statistics[*c].clone()).collect(),
            sketches: columns.iter().map(|c| self.sketches[*c].clone()).collect(),
            increasing: columns.iter().map(|c| self.increasing[*c]).collect(),
            proven: columns.iter().map(|c| self.proven[*c]).collect(),
            unique_sets: self.unique_sets.iter().filter_map(kept).collect(),
            zones: self.zones.of_columns(columns),
            bytes: self.bytes,
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
        let blocks = self.blocks.iter().zip(&right.blocks).map(|(l, r)| Arc::new(l.beside(r)));
        Ok(TableData {
            types: [self.types.as_slice(), &right.types].concat(),
            blocks: blocks.collect(),
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
            bytes: self.bytes + right.bytes,
            // The tail stays a block of its own.
            before_tail: None,
        })
    }

    fn extend(&mut self, blocks: Vec<SealedBlock>) {
        let mut blocks: Vec<SealedBlock> = blocks.into_iter().filter(|s| s.block.rows() > 0).collect();
        let Some(last) = blocks.pop() else { return };
        let some = !blocks.is_empty();
        blocks.into_iter().for_each(|sealed| self.push(sealed));
        self.before_tail = None;
        if last.block.rows() as u64 <= TAIL_ROWS_MAX / 2 {
            if some {
                self.count_distinct();
            }
            self.before_tail = Some(Arc::new(self.clone()));
        }
        self.push(last);
        self.count_distinct();
    }

    /// Distinct counts, once for all blocks that were added: an estimate looks at a whole sketch.
    fn count_distinct(&mut self) {
        let rows = self.rows();
        for (column, total) in self.statistics.iter_mut().enumerate() {
            let present = rows - total.null_count;
            total.distinct = match self.blocks.as_slice() {
                [only] => only.statistics(column).distinct,
                _ if total.unique => present,
                _ => self.sketches[column].estimate().min(present),
            };
        }
    }

    fn push(&mut self, sealed: SealedBlock) {
        let SealedBlock { block, sketches } = sealed;
        debug_assert_eq!(block.columns(), self.types.len());
        let rows_before = self.rows();
        for column in 0..self.types.len() {
            self.sketches[column].merge(&sketches[column]);
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
        self.bytes += block.bytes() as u64;
        self.offsets.push(rows_before + block.rows() as u64);
        self.blocks.push(block);
    }

    pub fn blocks(&self) -> &[Arc<Block>] {
        &self.blocks
    }
    pub fn block(&self, ordinal: usize) -> &Arc<Block> {
        &self.blocks[ordinal]
    }
    pub fn rows(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }
    /// Bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Rows before each block, and at the end the row count.
    pub fn row_offsets(&self) -> &[u64] {
        &self.offsets
    }
    /// Block ordinal and row in it, of a row of the table.
    pub fn locate(&self, row: u64) -> Option<(usize, usize)> {
        if row >= self.rows() {
            return None;
        }
        let ordinal = self.offsets.partition_point(|o| *o <= row) - 1;
        Some((ordinal, (row - self.offsets[ordinal]) as usize))
    }
    pub fn types(&self) -> &[Type] {
        &self.types
    }
    pub fn statistics(&self, column: usize) -> &ColumnStatistics {
        &self.statistics[column]
    }
    pub fn all_statistics(&self) -> &[ColumnStatistics] {
        &self.statistics
    }
    pub fn zones(&self) -> &ZoneMap {
        &self.zones
    }
    /// Bytes that a scan of a column reads.
    pub fn column_bytes(&self, column: usize) -> u64 {
        self.blocks.iter().map(|b| b.column_bytes(column) as u64).sum()
    }

    /// Ordinals of the blocks in which rows may pass all of the predicates (column, predicate).
    pub fn prune(&self, predicates: &[(usize, ColumnPredicate)]) -> Vec<u32> {
        let mut keep = vec![true; self.blocks.len()];
        for (column, predicate) in predicates {
            if self.zones.prune(*column, predicate, &mut keep) {
                continue;
            }
            for (keep, block) in keep.iter_mut().zip(&self.blocks).filter(|(keep, _)| **keep) {
                let s = block.statistics(*column);
                *keep = predicate.may_match(&s.min, &s.max, s.null_count, block.rows() as u64);
            }
        }
        (0..self.blocks.len() as u32).filter(|i| keep[*i as usize]).collect()
    }

    /// Column sets that were found to be unique together, beside single columns, which their statistics tell.
    pub fn unique_sets(&self) -> &[Vec<usize>] {
        &self.unique_sets
    }
    /// Records that no two rows agree on all of `columns`: whoever says so has looked at every row of this data.
    pub fn add_unique(&mut self, columns: Vec<usize>) {
        match columns.as_slice() {
            [] => {}
            [column] => {
                let present = self.rows() - self.statistics[*column].null_count;
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
