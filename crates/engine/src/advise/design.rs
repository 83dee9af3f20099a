//! Designs of a table's blocks, and sampled blocks made by them.
//!
//! A [`Design`] is a layout, a sort column and indices. A [`Sample`] holds some blocks of the table and their rows;
//! `make` encodes these rows by a design into blocks of their own, in the pool but in no catalog, so that replays can
//! scan them as if they were the table. Called by `search` and `CALL advise` only.

use std::sync::Arc;
use std::time::{Duration, Instant};

use block::{EncodeOptions, IndexSpecification};
use catalog::{LayoutKind, StoredBlock, Table, TableData};
use types::Result;
use types::quote;
use vector::Batch;

use crate::database::Shared;

/// How a table's blocks are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Design {
    /// How a block's rows lie in memory.
    pub layout: LayoutKind,
    /// Position of the column by which each block's rows are sorted; `None`: in the order of insertion.
    pub sorted_by: Option<usize>,
    /// Indices of each block.
    pub indices: Vec<IndexSpecification>,
}

impl Design {
    /// What the table's definition says; its blocks may be of several others.
    pub fn of(table: &Table) -> Self {
        let EncodeOptions { layout, sorted_by, indices } = table.writer_options().encoding;
        Design { layout, sorted_by, indices }
    }

    /// This design with one more index.
    pub fn with_index(&self, index: IndexSpecification) -> Self {
        let mut design = self.clone();
        design.indices.push(index);
        design
    }

    /// Whether the layout is a column store. Only those can be sorted by a column.
    pub fn has_columns(&self) -> bool {
        matches!(self.layout, LayoutKind::ColumnStore | LayoutKind::CompressedColumnStore)
    }

    /// In words: `compressed_column, sort a, csbtree(b)`.
    pub fn describe(&self, table: &Table) -> String {
        let name = |column: usize| table.columns.fields()[column].name.as_str();
        let mut parts = vec![self.layout.name().to_owned()];
        parts.extend(self.sorted_by.map(|column| format!("sort {}", name(column))));
        parts.extend(self.indices.iter().map(|i| format!("{}({})", i.kind.name(), name(i.column))));
        parts.join(", ")
    }

    /// The statements that give a table of the design `from` this one.
    pub fn statements(&self, from: &Design, table: &Table) -> String {
        let name = named(table);
        let column = |column: usize| table.columns.fields()[column].name.clone();
        let mut statements = Vec::new();
        let mut options = Vec::new();
        if self.layout != from.layout {
            options.push(format!("layout = '{}'", self.layout.name()));
        }
        if self.sorted_by != from.sorted_by {
            let sort = self.sorted_by.map_or("none".to_owned(), column);
            options.push(format!("sort = {}", quote::text(&sort)));
        }
        if !options.is_empty() {
            statements.push(format!("ALTER TABLE {name} SET ({})", options.join(", ")));
        }
        for index in self.indices.iter().filter(|index| !from.indices.contains(index)) {
            let column = quote::name_if_needed(&column(index.column));
            statements.push(format!("CREATE INDEX ON {name} USING {} ({column})", index.kind.name()));
        }
        statements.join("; ")
    }
}

/// A table's name as SQL takes it.
pub(super) fn named(table: &Table) -> String {
    if let (Some(_), Some((database, schema))) = (catalog::mount_of(table.id), table.schema.split_once('.')) {
        return format!(
            "{}.{}.{}",
            quote::name_if_needed(database),
            quote::name_if_needed(schema),
            quote::name_if_needed(&table.name)
        );
    }
    match table.schema.as_str() {
        catalog::DEFAULT_SCHEMA | catalog::TEMPORARY_SCHEMA => quote::name_if_needed(&table.name),
        schema => format!("{}.{}", quote::name_if_needed(schema), quote::name_if_needed(&table.name)),
    }
}

/// Some blocks of a table, at even distances.
pub(super) struct Sample {
    /// The sampled blocks as the table has them.
    pub stored: Vec<StoredBlock>,
    batches: Vec<Batch>,
    /// Live rows of the sampled blocks.
    pub rows: u64,
    /// Rows of the table over those of the sample.
    pub scale: f64,
}

/// The sample's blocks by one design.
pub(super) struct Made {
    /// The design that the blocks were made by.
    pub design: Design,
    /// The table with only the sampled rows in it; replays scan it in place of the whole table.
    pub table: Arc<Table>,
    /// Bytes of the blocks and their indices.
    pub bytes: u64,
    /// What making them took; nothing for those that are there.
    pub making: Duration,
}

impl Sample {
    /// At most so many blocks, at even distances over the table.
    pub fn of(table: &Table, blocks_max: usize) -> Result<Self> {
        let stored = table.data.stored();
        let wanted = blocks_max.clamp(1, stored.len().max(1));
        let chosen: Vec<StoredBlock> = (0..wanted)
            .filter_map(|n| stored.get((2 * n + 1) * stored.len() / (2 * wanted)))
            .cloned()
            .collect();
        let batches = chosen.iter().map(StoredBlock::batch).collect::<Result<Vec<_>>>()?;
        let rows: u64 = chosen.iter().map(StoredBlock::live_rows).sum();
        let scale = table.rows() as f64 / rows.max(1) as f64;
        Ok(Sample { stored: chosen, batches, rows, scale })
    }

    /// The sampled blocks as they are.
    pub fn as_it_is(&self, table: &Arc<Table>) -> Made {
        let data = TableData::empty(table.data.types()).append_stored(self.stored.clone());
        let bytes = data.bytes();
        Made { design: Design::of(table), table: holding(table, data), bytes, making: Duration::ZERO }
    }

    /// The sampled rows in blocks of a design, one for each block that was sampled; `None` when some block has not got
    /// all the indices, because they cannot be built on its data.
    pub fn make(&self, table: &Arc<Table>, design: &Design, database: &Shared) -> Result<Option<Made>> {
        let started = Instant::now();
        let columns = table.declarations();
        let form = EncodeOptions {
            layout: design.layout,
            sorted_by: design.sorted_by,
            indices: design.indices.clone(),
        };
        let mut sealed = Vec::with_capacity(self.batches.len());
        for batch in &self.batches {
            let mut parts = vec![batch.clone()];
            if let Some(column) = design.sorted_by {
                parts = block::sort_parts(&parts, column).unwrap_or(parts);
            }
            let made = database.pool.seal(block::encode(&columns, &parts, &form)?)?;
            let has = |wanted: &IndexSpecification| made.block.indices().any(|(there, _)| there == *wanted);
            if !design.indices.iter().all(has) {
                return Ok(None);
            }
            sealed.push(made);
        }
        let making = started.elapsed();
        let data = TableData::from_blocks(table.data.types(), sealed);
        let bytes = data.bytes();
        Ok(Some(Made { design: design.clone(), table: holding(table, data), bytes, making }))
    }
}

/// The table with other rows in it, under the same name and id.
fn holding(table: &Arc<Table>, data: TableData) -> Arc<Table> {
    let mut sampled = Table::clone(table);
    sampled.data = Arc::new(data);
    Arc::new(sampled)
}
