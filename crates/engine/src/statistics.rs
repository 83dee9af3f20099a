//! The snapshot's statistics as the optimizer sees them, with selectivities from sampled blocks.
//!
//! One [`SnapshotStatistics`] serves the planning of one query. A table's counts and bounds come from the catalog and
//! its blocks' headers. A sample reads some rows of a few blocks, evenly spread, and only the columns that its
//! filters and keys need; it evaluates the filters themselves, so that correlated predicates are estimated together.
//! An error while sampling means no sample: the optimizer then uses its defaults.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use block::Bitmap;
use catalog::Snapshot;
use expr::{Predicate, Selected};
use optimizer::{Sample, Statistics, TableInfo, WideInfo, WideNode};
use plan::{Expr, ROW_REFERENCE, TableId};
use types::{Type, Value};
use vector::{Batch, Vector};

/// Blocks looked at, and rows of all of them, for one sample.
const SAMPLE_BLOCKS: usize = 4;
const SAMPLE_ROWS: usize = 2048;
/// Rows that distinct values are counted in, at most, and at least for the count to say anything.
const DISTINCT_ROWS: usize = 512;
const DISTINCT_ROWS_MIN: usize = 30;

/// The optimizer's [`Statistics`] over one snapshot, for the planning of one statement.
pub(crate) struct SnapshotStatistics<'a> {
    snapshot: &'a Arc<Snapshot>,
    tables: RefCell<HashMap<TableId, Arc<TableInfo>>>,
}

impl<'a> SnapshotStatistics<'a> {
    /// Statistics of this snapshot's tables; each table is described once, and samples are read as they are asked
    /// for.
    pub fn new(snapshot: &'a Arc<Snapshot>) -> Self {
        SnapshotStatistics { snapshot, tables: RefCell::default() }
    }

    /// What may be read in the place of its base tables; `None` for a table that does not show them as they are.
    fn wide_info(&self, table: &catalog::Table) -> Option<WideInfo> {
        let wide = table.wide.as_ref().filter(|_| table.build.is_some())?;
        if table.rows() != self.snapshot.table_by_id(wide.fact())?.rows() {
            return None;
        }
        let nodes = wide.nodes.iter().map(|node| {
            let base = self.snapshot.table_by_id(node.table)?;
            Some(WideNode {
                table: TableId(node.table.0),
                name: base.name.clone(),
                parent: node.parent,
                columns: node.columns.clone(),
                referenced: node.referenced.clone(),
                places: node.places.clone(),
            })
        });
        Some(WideInfo {
            table: TableId(table.id.0),
            name: table.name.clone(),
            nodes: nodes.collect::<Option<_>>()?,
            nullable: table.columns.fields().iter().map(|f| f.nullable).collect(),
        })
    }
}

impl Statistics for SnapshotStatistics<'_> {
    fn table(&self, id: TableId) -> Option<Arc<TableInfo>> {
        if let Some(known) = self.tables.borrow().get(&id) {
            return Some(known.clone());
        }
        let table = self.snapshot.table_by_id(catalog::TableId(id.0))?;
        // A row of a wide table is one of its fact table's.
        let fact = table.wide.as_ref().filter(|_| table.build.is_some()).and_then(|wide| {
            let keys = &self.snapshot.table_by_id(wide.fact())?.keys;
            let places = &wide.nodes.first()?.places;
            let moved = |key: &catalog::Key| key.columns.iter().map(|c| places.get(*c).copied()).collect();
            keys.iter().map(moved).collect::<Option<Vec<Vec<usize>>>>()
        });
        let declared = table.keys.iter().map(|k| k.columns.clone()).chain(fact.into_iter().flatten());
        let info = Arc::new(TableInfo {
            rows: table.rows(),
            columns: table.data.all_statistics().to_vec(),
            unique_keys: declared.chain(table.data.unique_sets().iter().cloned()).collect(),
            blocks: table.data.blocks().len() as u64,
        });
        self.tables.borrow_mut().insert(id, info.clone());
        Some(info)
    }

    fn wide_tables(&self) -> Vec<Arc<WideInfo>> {
        self.snapshot.wide_tables().filter_map(|table| self.wide_info(table)).map(Arc::new).collect()
    }

    fn sample(
        &self,
        id: TableId,
        columns: &[usize],
        filters: &[Expr],
        distinct_of: &[usize],
    ) -> Option<Sample> {
        let table = self.snapshot.table_by_id(catalog::TableId(id.0))?;
        let blocks = table.data.blocks();
        let mut sample = Sample { filters_passed: vec![0; filters.len()], ..Sample::default() };
        if blocks.is_empty() {
            return Some(sample);
        }
        let predicates: Vec<Predicate> =
            filters.iter().map(Predicate::compile).collect::<Result<_, _>>().ok()?;
        let mut seen: Vec<Vec<u64>> = vec![Vec::new(); distinct_of.len()];
        // Only what is asked about is read.
        let mut needed: BTreeSet<usize> = distinct_of.iter().copied().collect();
        needed.extend(filters.iter().flat_map(Expr::inputs));
        let stored = needed.iter().map(|at| columns[*at]).filter(|column| *column != ROW_REFERENCE);
        let stored: Vec<usize> = stored.collect();
        let taken = SAMPLE_BLOCKS.min(blocks.len());
        for at in 0..taken {
            // Evenly spread, in the middle of each share.
            let ordinal = (2 * at + 1) * blocks.len() / (2 * taken);
            let block = &blocks[ordinal];
            let stride = (block.rows() * taken).div_ceil(SAMPLE_ROWS).max(1);
            let block = block.pin(&stored).ok()?;
            let mut rows: Vec<u32> = (0..block.rows()).step_by(stride).map(|r| r as u32).collect();
            if let Some(deleted) = table.data.deleted(ordinal) {
                rows.retain(|row| deleted.live.get(*row as usize));
            }
            let nothing = Vector::constant(Type::BigInt, Value::I64(0), rows.len()).flatten();
            let fetch = |(at, column): (usize, &usize)| match *column {
                column if column != ROW_REFERENCE && needed.contains(&at) => block.fetch(column, &rows),
                _ => nothing.clone(),
            };
            let batch = Batch::new(columns.iter().enumerate().map(fetch).collect(), rows.len());
            let mut all = Bitmap::full(rows.len());
            for (predicate, passed) in predicates.iter().zip(&mut sample.filters_passed) {
                match predicate.select(&batch).ok()? {
                    Selected::All => *passed += rows.len() as u64,
                    Selected::None => all.clear_all(),
                    Selected::Rows(kept) => {
                        *passed += kept.len() as u64;
                        let mut those = Bitmap::empty(rows.len());
                        kept.iter().for_each(|r| those.set(*r as usize));
                        all.and(&those);
                    }
                }
            }
            sample.rows_tested += rows.len() as u64;
            sample.rows_passed += all.count() as u64;
            let room = DISTINCT_ROWS.saturating_sub(seen.first().map_or(0, Vec::len));
            let passed: Vec<usize> = (0..rows.len()).filter(|r| all.get(*r)).take(room).collect();
            if !passed.is_empty() {
                let mut hashes = vec![0; rows.len()];
                for (column, seen) in distinct_of.iter().zip(&mut seen) {
                    hash::hash_vector(&batch.columns[*column], &mut hashes);
                    seen.extend(passed.iter().map(|r| hashes[*r]));
                }
            }
        }
        let whole = sample.rows_tested == table.rows();
        sample.distinct = seen.into_iter().map(|hashes| distinct(hashes, whole)).collect();
        Some(sample)
    }
}

/// Distinct values to expect where a sample of the rows has these hashes, after Chao (1984): the values seen, and as
/// many unseen as the values seen once or twice suggest. `whole`: the sample is all there is.
fn distinct(mut hashes: Vec<u64>, whole: bool) -> Option<f64> {
    if hashes.len() < DISTINCT_ROWS_MIN && !whole {
        return None;
    }
    hashes.sort_unstable();
    let (mut seen, mut once, mut twice) = (0.0, 0.0, 0.0);
    for group in hashes.chunk_by(|a, b| a == b) {
        seen += 1.0;
        match group.len() {
            1 => once += 1.0,
            2 => twice += 1.0,
            _ => {}
        }
    }
    Some(if whole { seen } else { seen + once * (once - 1.0_f64).max(0.0) / (2.0 * (twice + 1.0)) })
}

#[cfg(test)]
mod tests {
    use super::distinct;

    #[test]
    fn unseen_values_are_guessed_from_rare_ones() {
        // All of a few values seen many times: no more to come.
        assert_eq!(distinct((0..500).map(|i| i % 5).collect(), false), Some(5.0));
        // 60 draws of 1,000 values: nearly all different, so many more must exist.
        let few = distinct((0..60u64).map(|i| i * 7919 % 1000).collect(), false);
        assert!(few.is_some_and(|d| d > 500.0), "{few:?}");
        assert_eq!(distinct(vec![1, 2, 3], true), Some(3.0));
        assert_eq!(distinct(vec![1, 2, 3], false), None);
    }
}
