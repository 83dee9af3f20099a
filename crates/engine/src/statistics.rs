//! The snapshot's statistics as the optimizer sees them, with selectivities from sampled blocks.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use block::Bitmap;
use catalog::Snapshot;
use expr::{Predicate, Selected};
use optimizer::{Sample, Statistics, TableInfo};
use plan::{Expr, TableId};
use vector::Batch;

/// Blocks looked at, and rows of each, for one sample.
const SAMPLE_BLOCKS: usize = 4;
const SAMPLE_ROWS_PER_BLOCK: usize = 512;

pub(crate) struct SnapshotStatistics<'a> {
    snapshot: &'a Arc<Snapshot>,
    tables: RefCell<HashMap<TableId, Arc<TableInfo>>>,
}

impl<'a> SnapshotStatistics<'a> {
    pub fn new(snapshot: &'a Arc<Snapshot>) -> Self {
        SnapshotStatistics { snapshot, tables: RefCell::default() }
    }
}

impl Statistics for SnapshotStatistics<'_> {
    fn table(&self, id: TableId) -> Option<Arc<TableInfo>> {
        if let Some(known) = self.tables.borrow().get(&id) {
            return Some(known.clone());
        }
        let table = self.snapshot.table_by_id(catalog::TableId(id.0))?;
        let declared = table.keys.iter().map(|k| k.columns.clone());
        let info = Arc::new(TableInfo {
            rows: table.rows(),
            columns: table.data.all_statistics().to_vec(),
            unique_keys: declared.chain(table.data.unique_sets().iter().cloned()).collect(),
            blocks: table.data.blocks().len() as u64,
        });
        self.tables.borrow_mut().insert(id, info.clone());
        Some(info)
    }

    fn sample(&self, id: TableId, columns: &[usize], filters: &[Expr]) -> Option<Sample> {
        let table = self.snapshot.table_by_id(catalog::TableId(id.0))?;
        let blocks = table.data.blocks();
        if blocks.is_empty() {
            return Some(Sample { filters_passed: vec![0; filters.len()], ..Sample::default() });
        }
        let predicates: Vec<Predicate> =
            filters.iter().map(Predicate::compile).collect::<Result<_, _>>().ok()?;
        let mut sample = Sample { filters_passed: vec![0; filters.len()], ..Sample::default() };
        let taken = SAMPLE_BLOCKS.min(blocks.len());
        for at in 0..taken {
            // Evenly spread, in the middle of each share.
            let block = &blocks[(2 * at + 1) * blocks.len() / (2 * taken)];
            let stride = (block.rows() / SAMPLE_ROWS_PER_BLOCK).max(1);
            let rows: Vec<u32> = (0..block.rows()).step_by(stride).map(|r| r as u32).collect();
            let batch = Batch::new(columns.iter().map(|c| block.fetch(*c, &rows)).collect(), rows.len());
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
        }
        Some(sample)
    }
}
