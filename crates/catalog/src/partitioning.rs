//! How a table is partitioned, and which of its blocks lie in which partition.

use std::sync::Arc;

use block::Block;
use pool::{PartitionScheme, RowPartitions};
use types::Schema;

use crate::{BlockId, Encoding, Merging, StoredBlock, TableData};

/// A partitioned table's blocks hold rows of one partition each (`pool::RowPartitions`). Which one follows from any row of
/// the block, so nothing is kept of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitioning {
    /// The column partitioned by.
    pub column: usize,
    /// One a partition.
    pub names: Vec<String>,
    /// How a value of the column gives its partition.
    pub scheme: PartitionScheme,
}

impl Partitioning {
    /// The partition of a block; `None` when it cannot be read.
    pub fn of_block(&self, block: &Block) -> Option<usize> {
        self.scheme.of_block(block, self.column)
    }

    /// What a writer of rows of that relation needs.
    pub fn rows(&self, relation: &str, columns: &Schema) -> Arc<RowPartitions> {
        let key = columns.fields().get(self.column).map_or_else(String::new, |field| field.name.clone());
        Arc::new(RowPartitions {
            relation: relation.to_owned(),
            key,
            column: self.column,
            scheme: self.scheme.clone(),
        })
    }
}

/// A small block is merged with a small one of its partition, so that a table filled by single rows does not become a
/// block per row.
const MERGED_ROWS_MAX: u64 = 8192;

impl TableData {
    /// As `append_merging`, for a table whose blocks are partitioned: each small block may become one with a block of its
    /// own partition, wherever that stands.
    pub(crate) fn append_partitioned(
        &self,
        blocks: Vec<StoredBlock>,
        partitioning: &Partitioning,
        encoding: &Encoding<'_>,
        merging: Merging,
    ) -> types::Result<TableData> {
        let mut stored: Vec<StoredBlock> = self.stored().to_vec();
        let mut merged = Vec::new();
        for fresh in blocks {
            let own = partitioning.of_block(&fresh.block);
            let room = |there: &StoredBlock| {
                own.is_some()
                    && there.live_rows() + fresh.live_rows() <= MERGED_ROWS_MAX
                    && !(merging.private && there.id < merging.began)
                    && partitioning.of_block(&there.block) == own
            };
            let Some(at) = stored.iter().rposition(room) else {
                stored.push(fresh);
                continue;
            };
            let rows = [stored[at].batch()?, fresh.batch()?];
            let sealed = encoding.pool.seal(block::encode(encoding.columns, &rows, &encoding.options)?)?;
            let whole = StoredBlock { id: BlockId::next(), ..StoredBlock::new(sealed) };
            let before = std::mem::replace(&mut stored[at], whole);
            let offset = before.live_rows() as usize;
            merged.push((before, stored[at].id, 0));
            merged.push((fresh, stored[at].id, offset));
        }
        Ok(self.with_merged(stored, merged))
    }
}
