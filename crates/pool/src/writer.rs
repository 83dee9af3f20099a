//! Cutting a stream of batches into blocks.
//!
//! How many rows fill a block is guessed from a sample of the first rows and known from the last block afterwards. A
//! block that comes out too long is cut again with fewer rows. Order is kept: blocks hold the rows as they came. Rows of
//! a partitioned table are shared out first, and order is kept within each partition.

use std::collections::VecDeque;
use std::sync::Arc;

use block::{EncodeOptions, encode, estimate_row_bytes, sort_parts};
use types::stop::{self, Place};
use types::{Result, Type};
use vector::strings::view_length;
use vector::{Batch, Data, Vector};

use crate::{
    BLOCK_BYTES_DEFAULT, BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, BLOCK_ROWS_MAX, Pool, RowPartitions, SealedBlock,
};

/// How a table wants its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// With a sort column, the rows of each block are sorted by it, and come out in that order.
    pub encoding: EncodeOptions,
    /// The size that blocks aim at; `BlockWriter::new` brings it within the limits of the crate.
    pub block_bytes: usize,
    /// Rows of different partitions lie in different blocks.
    pub partitions: Option<Arc<RowPartitions>>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            encoding: EncodeOptions::default(),
            block_bytes: BLOCK_BYTES_DEFAULT,
            partitions: None,
        }
    }
}

/// Collects batches and seals full blocks. One writer per worker.
#[derive(Debug)]
pub struct BlockWriter {
    pool: Pool,
    columns: Vec<(Type, bool)>,
    options: WriterOptions,
    /// One a partition.
    lanes: Vec<Lane>,
}

/// Rows on their way into one block after the other.
#[derive(Debug, Default)]
struct Lane {
    pending: VecDeque<Batch>,
    pending_rows: usize,
    /// Bytes of a row: of the last block, or estimated.
    row_bytes: Option<f64>,
    /// True when `row_bytes` comes from a block.
    measured: bool,
}

/// Blocks aim a little short of the wanted size, because rows vary from block to block.
const FILL: f64 = 0.97;

impl BlockWriter {
    /// A writer for rows of these columns (type, may be NULL). The block size is held within its limits.
    pub fn new(pool: Pool, columns: Vec<(Type, bool)>, options: WriterOptions) -> Self {
        let block_bytes = options.block_bytes.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        let lanes = options.partitions.as_ref().map_or(1, |partitions| partitions.scheme.count());
        BlockWriter {
            pool,
            columns,
            options: WriterOptions { block_bytes, ..options },
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
        }
    }

    /// Rows taken in and not yet sealed.
    pub fn pending_rows(&self) -> usize {
        self.lanes.iter().map(|lane| lane.pending_rows).sum()
    }

    /// Bytes that the pending rows will take, estimated.
    pub fn pending_bytes(&self) -> usize {
        let bytes = |lane: &Lane| (lane.pending_rows as f64 * lane.row_bytes.unwrap_or(1.0)) as usize;
        self.lanes.iter().map(bytes).sum()
    }

    /// Gives the pending rows back instead of sealing them.
    pub fn into_pending(self) -> Vec<Batch> {
        self.lanes.into_iter().flat_map(|lane| lane.pending).collect()
    }

    /// Takes a batch; returns the blocks that it filled. A row that has no partition is an error (SQLSTATE 23514).
    pub fn push(&mut self, batch: Batch) -> Result<Vec<SealedBlock>> {
        let mut sealed = Vec::new();
        if batch.rows == 0 {
            return Ok(sealed);
        }
        match self.options.partitions.clone() {
            None => self.push_to(0, batch, &mut sealed)?,
            Some(partitions) => {
                for (lane, rows) in partitions.split(&batch)? {
                    self.push_to(lane, rows, &mut sealed)?;
                }
            }
        }
        Ok(sealed)
    }

    fn push_to(&mut self, at: usize, batch: Batch, sealed: &mut Vec<SealedBlock>) -> Result<()> {
        let lane = &mut self.lanes[at];
        if !lane.measured {
            // The first batches of a file may not be typical: the largest estimate so far counts.
            let estimate = estimate_row_bytes(&batch, self.options.encoding.layout) as f64;
            lane.row_bytes = Some(lane.row_bytes.map_or(estimate, |r| r.max(estimate)));
        }
        debug_assert_eq!(batch.columns.len(), self.columns.len(), "columns of the batch and of the table");
        debug_assert!(
            batch.columns.iter().all(|column| column.len() == batch.rows),
            "each column has each row"
        );
        lane.pending_rows += batch.rows;
        lane.pending.push_back(lightened(batch));
        debug_assert!(lane.adds_up(), "{} rows are pending", lane.pending_rows);
        loop {
            stop::check(Place::Seal)?;
            let wanted = self.wanted_rows(at);
            if self.lanes[at].pending_rows < wanted {
                return Ok(());
            }
            sealed.push(self.cut(at, wanted)?);
        }
    }

    /// Seals what is left.
    pub fn finish(mut self) -> Result<Vec<SealedBlock>> {
        let mut sealed = Vec::new();
        for lane in 0..self.lanes.len() {
            while self.lanes[lane].pending_rows > 0 {
                let wanted = self.wanted_rows(lane).min(self.lanes[lane].pending_rows);
                sealed.push(self.cut(lane, wanted)?);
            }
        }
        Ok(sealed)
    }

    fn wanted_rows(&self, lane: usize) -> usize {
        let row_bytes = self.lanes[lane].row_bytes.unwrap_or(1.0).max(0.01);
        let rows = (self.options.block_bytes as f64 * FILL / row_bytes) as usize;
        // Larger blocks than usual are asked for on purpose; they may have more rows.
        let most = BLOCK_ROWS_MAX.max(self.options.block_bytes / 16);
        rows.clamp(1, most)
    }

    /// Seals a block of `rows` rows, or of fewer when they do not fit.
    fn cut(&mut self, at: usize, mut rows: usize) -> Result<SealedBlock> {
        loop {
            debug_assert!((1..=self.lanes[at].pending_rows).contains(&rows), "a block of {rows} rows");
            let mut parts = self.lanes[at].first_rows(rows);
            debug_assert_eq!(parts.iter().map(|part| part.rows).sum::<usize>(), rows, "the rows of a block");
            if let Some(column) = self.options.encoding.sorted_by {
                parts = sort_parts(&parts, column).unwrap_or(parts);
            }
            let encoded = encode(&self.columns, &parts, &self.options.encoding)?;
            let bytes = encoded.len();
            let lane = &mut self.lanes[at];
            lane.row_bytes = Some(bytes as f64 / rows as f64);
            lane.measured = true;
            if bytes > self.options.block_bytes && rows > 1 {
                let share = self.options.block_bytes as f64 * FILL / bytes as f64;
                rows = ((rows as f64 * share) as usize).clamp(1, rows - 1);
                continue;
            }
            // A partition's blocks lie on one memory node, so that a worker on it can be near all of them.
            let topology = self.pool.arena().topology();
            let node = self.options.partitions.is_some().then(|| topology.node_of_partition(at));
            let sealed = self.pool.seal_on(encoded, node)?;
            debug_assert_eq!(sealed.block.rows(), rows, "no row is lost or doubled");
            drop(parts);
            self.lanes[at].drop_rows(rows);
            return Ok(sealed);
        }
    }
}

impl Lane {
    /// Whether the count is that of the rows.
    fn adds_up(&self) -> bool {
        self.pending.iter().map(|batch| batch.rows).sum::<usize>() == self.pending_rows
    }

    fn first_rows(&self, rows: usize) -> Vec<Batch> {
        let mut parts = Vec::new();
        let mut left = rows;
        for batch in &self.pending {
            if left == 0 {
                break;
            }
            let take = left.min(batch.rows);
            parts.push(if take == batch.rows { batch.clone() } else { batch.slice(0, take) });
            left -= take;
        }
        parts
    }

    fn drop_rows(&mut self, mut rows: usize) {
        self.pending_rows -= rows;
        while rows > 0 {
            let Some(front) = self.pending.front_mut() else { break };
            if front.rows <= rows {
                rows -= front.rows;
                self.pending.pop_front();
            } else {
                *front = front.slice(rows, front.rows - rows);
                rows = 0;
            }
        }
        debug_assert!(rows == 0 && self.adds_up(), "{rows} rows too many, {} pending", self.pending_rows);
    }
}

/// Bytes that a pending vector may keep alive, whatever it is worth.
const KEPT_BYTES: usize = 64 << 10;

/// The batch with strings copied where they would keep far more bytes alive than they have: a few rows each of many
/// blocks would otherwise hold all of those blocks' strings until the writer's block is full.
fn lightened(mut batch: Batch) -> Batch {
    for column in &mut batch.columns {
        let Data::Bytes(strings) = column.data() else { continue };
        let kept: usize = strings.buffers().iter().map(arrow_buffer::Buffer::len).sum();
        let used = || strings.views().iter().map(|view| view_length(*view)).sum::<usize>();
        if kept > KEPT_BYTES && kept > 2 * used() {
            let copied = Data::Bytes(strings.compact());
            *column = Vector::new(column.ty(), copied, column.validity().cloned());
        }
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::LayoutKind;
    use memory::Budget;
    use types::Value;

    fn batch(from: usize, rows: usize) -> Batch {
        let numbers: Vec<i64> = (from..from + rows).map(|i| i as i64 * 1_000_003).collect();
        let texts: Vec<Value> =
            (from..from + rows).map(|i| Value::text(&"x".repeat(i * 7919 % 90))).collect();
        Batch::new(
            vec![Vector::from_i64(Type::BigInt, numbers), Vector::from_values(Type::Text, &texts)],
            rows,
        )
    }

    #[test]
    fn blocks_fit_are_well_filled_and_keep_the_order() {
        for layout in [LayoutKind::ColumnStore, LayoutKind::CompressedColumnStore] {
            let options =
                WriterOptions { encoding: layout.into(), block_bytes: BLOCK_BYTES_MIN, partitions: None };
            let pool = Pool::new(Budget::unlimited());
            let columns = vec![(Type::BigInt, false), (Type::Text, false)];
            let mut writer = BlockWriter::new(pool, columns, options);
            let (mut sealed, mut from) = (Vec::new(), 0);
            for rows in [1, 7, 5000, 0, 4096, 4096, 20_000, 3] {
                sealed.extend(writer.push(batch(from, rows)).unwrap());
                from += rows;
            }
            sealed.extend(writer.finish().unwrap());
            let mut at = 0;
            for (i, block) in sealed.iter().map(|s| &s.block).enumerate() {
                assert!(block.bytes() <= BLOCK_BYTES_MIN, "{} bytes", block.bytes());
                // The first blocks are cut by estimates (more rows make dictionaries pay), the last by the end.
                if i > 3 && i + 1 < sealed.len() {
                    assert!(block.bytes() * 10 > BLOCK_BYTES_MIN * 8, "{} bytes", block.bytes());
                }
                let numbers = block.fetch(0, 0..block.rows());
                for row in 0..block.rows() {
                    assert_eq!(numbers.value(row), Value::I64((at + row) as i64 * 1_000_003));
                }
                at += block.rows();
            }
            assert_eq!(at, from);
        }
    }

    /// On a machine that is made up: partitions go round its nodes, and rows without partitions belong to none.
    #[test]
    fn partitions_lie_on_memory_nodes() {
        use crate::{PartitionScheme, RowPartitions};
        use memory::{Arena, Topology};
        let count = 5;
        let of = |scheme| RowPartitions { relation: "t".into(), key: "k".into(), column: 0, scheme };
        for nodes in [1, 2, 3] {
            let arena = Arena::with_topology(Budget::unlimited(), Topology::emulated(nodes, 2));
            let pool = Pool::with_arena(arena);
            let scheme = PartitionScheme::Hash { count };
            for partitions in [Some(Arc::new(of(scheme))), None] {
                let divided = partitions.is_some() && nodes > 1;
                let encoding = LayoutKind::ColumnStore.into();
                let options = WriterOptions { encoding, block_bytes: BLOCK_BYTES_MIN, partitions };
                let columns = vec![(Type::BigInt, false), (Type::Text, false)];
                let mut writer = BlockWriter::new(pool.clone(), columns, options);
                let mut sealed = writer.push(batch(0, 20_000)).unwrap();
                sealed.extend(writer.finish().unwrap());
                assert!(sealed.len() > 2 * count);
                for block in sealed.iter().map(|sealed| &sealed.block) {
                    let Value::I64(key) = block.fetch(0, 0..1).value(0) else { panic!() };
                    let expected = divided.then_some(key as usize % count % nodes);
                    assert_eq!(pool.arena().node_of(block.as_bytes().as_ptr()), expected, "{nodes} nodes");
                }
            }
        }
    }

    #[test]
    fn blocks_are_sorted_and_indexed_each_by_itself() {
        use block::{IndexKind, IndexSpecification};
        let indices = vec![IndexSpecification { kind: IndexKind::Tree, column: 0 }];
        let encoding =
            EncodeOptions { layout: LayoutKind::ColumnStore, sorted_by: Some(0), indices: indices.clone() };
        let options = WriterOptions { encoding, block_bytes: BLOCK_BYTES_MIN, partitions: None };
        let pool = Pool::new(Budget::unlimited());
        let mut writer = BlockWriter::new(pool.clone(), vec![(Type::BigInt, false)], options);
        let count = 100_000i64;
        let numbers: Vec<i64> = (0..count).map(|i| i * 7919 % count).collect();
        let batch = Batch::new(vec![Vector::from_i64(Type::BigInt, numbers)], count as usize);
        let mut sealed = writer.push(batch).unwrap();
        sealed.extend(writer.finish().unwrap());
        assert!(sealed.len() > 1);
        for block in sealed.iter().map(|s| &s.block) {
            assert!(block.bytes() <= BLOCK_BYTES_MIN);
            assert_eq!((block.sorted_by(), block.indices().count()), (Some(0), 1));
            assert!(block.plain_i64(0).unwrap().is_sorted());
            let bare = block.without_index(indices[0]);
            let again = pool.with_indices(&bare, &indices).unwrap();
            assert_eq!((bare.indices().count(), again.indices().count()), (0, 1));
        }
    }

    #[test]
    fn a_row_larger_than_a_block_gets_its_own() {
        let options = WriterOptions { block_bytes: 1, ..Default::default() };
        let mut writer = BlockWriter::new(Pool::new(Budget::unlimited()), vec![(Type::Text, true)], options);
        let long = "y".repeat(300_000);
        let values = [Value::text("a"), Value::text(&long), Value::Null, Value::text("b")];
        let mut sealed = writer.push(Batch::new(vec![Vector::from_values(Type::Text, &values)], 4)).unwrap();
        sealed.extend(writer.finish().unwrap());
        let mut got = Vec::new();
        for s in &sealed {
            let v = s.block.fetch(0, 0..s.block.rows());
            got.extend((0..v.len()).map(|row| v.value(row)));
        }
        assert_eq!(got, values);
    }

    #[test]
    fn pending_rows_keep_no_block_alive() {
        let pool = Pool::new(Budget::unlimited());
        let columns = vec![(Type::BigInt, false), (Type::Text, false)];
        let parts = [batch(0, 10_000)];
        let source =
            encode(&columns, &parts, LayoutKind::ColumnStore).and_then(|e| pool.seal(e)).unwrap().block;
        assert!(source.column_bytes(1) > 2 * KEPT_BYTES);
        let mut writer = BlockWriter::new(pool.clone(), columns, WriterOptions::default());
        let rows = [17, 4711, 9_000];
        let columns = (0..2).map(|column| source.fetch(column, &rows[..])).collect();
        writer.push(Batch::new(columns, 3)).unwrap();
        drop(source);
        assert_eq!(pool.statistics().resident_bytes, 0);
        let written = writer.finish().unwrap().remove(0).block;
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(written.fetch(1, 0..3).value(at), parts[0].columns[1].value(*row as usize));
        }
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let mut writer = BlockWriter::new(Pool::new(Budget::unlimited()), vec![], WriterOptions::default());
        writer.push(Batch::new(vec![], 10)).unwrap();
        let sealed = writer.finish().unwrap();
        assert_eq!(sealed.iter().map(|s| s.block.rows()).sum::<usize>(), 10);
    }
}
