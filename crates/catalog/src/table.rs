//! One relation, as one snapshot sees it.

use std::sync::{Arc, Mutex};

use block::{EncodeOptions, IndexKind, IndexSpecification, LayoutKind};
use pool::BLOCK_BYTES_DEFAULT;
use types::{ColumnStatistics, ReferentialAction, Schema};

use crate::{Partitioning, TableData, WideTable};

/// Never reused within a catalog; survives changes of the table, not its being dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u64);

/// A declared key: PRIMARY KEY or UNIQUE. Every statement that adds rows verifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub name: Option<String>,
    /// Positions of the columns.
    pub columns: Vec<usize>,
    /// Its columns are NOT NULL then; in a UNIQUE key NULLs equal each other only where `nulls_equal` says so.
    pub primary: bool,
    pub nulls_equal: bool,
}

impl Key {
    /// The constraint's name: its own, or PostgreSQL's for it, such as `t_pkey` and `t_a_b_key`.
    pub fn constraint_name(&self, table: &str, columns: &Schema) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None if self.primary => format!("{table}_pkey"),
            None => format!("{table}_{}_key", joined(&self.columns, columns)),
        }
    }
}

fn joined(positions: &[usize], columns: &Schema) -> String {
    positions.iter().map(|c| columns.fields()[*c].name.as_str()).collect::<Vec<_>>().join("_")
}

impl ForeignKey {
    /// As `Key::constraint_name`: `t_a_b_fkey`.
    pub fn constraint_name(&self, table: &str, columns: &Schema) -> String {
        self.name.clone().unwrap_or_else(|| format!("{table}_{}_fkey", joined(&self.columns, columns)))
    }
}

/// A condition that no row of the table makes false. Every statement that adds rows verifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    /// As it was written.
    pub text: String,
    /// The columns it uses: the name that the text has for each, which stays when the column is renamed, and its place.
    pub columns: Vec<(String, usize)>,
}

impl Check {
    /// PostgreSQL's name for one: `t_a_check` over one column, else `t_check`, with a number where that is `taken`.
    pub fn name_for(table: &str, columns: &[String], taken: impl Fn(&str) -> bool) -> String {
        let base = match columns {
            [column] => format!("{table}_{column}_check"),
            _ => format!("{table}_check"),
        };
        let numbered = (1..).map(|number| format!("{base}{number}"));
        std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    pub name: Option<String>,
    pub columns: Vec<usize>,
    pub parent: TableId,
    /// Positions in the parent, a declared key of it.
    pub parent_columns: Vec<usize>,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
    /// MATCH FULL: of several columns either all are NULL or none is.
    pub full: bool,
}

/// What `WITH (...)` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    pub layout: LayoutKind,
    /// The column that the rows of each block are sorted by.
    pub sorted_by: Option<usize>,
    pub block_bytes: usize,
}

/// An index that the table's blocks have. It is a wish: a block on whose data it cannot be built, or that was there
/// before and has not got it yet, is scanned. An index over several columns is one of each, next to each other and of
/// the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableIndex {
    pub name: String,
    pub kind: IndexKind,
    pub column: usize,
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions { layout: LayoutKind::default(), sorted_by: None, block_bytes: BLOCK_BYTES_DEFAULT }
    }
}

/// How blocks are made of rows that come in any number, partitions aside.
pub fn writer_options(options: &TableOptions, indices: &[TableIndex]) -> pool::WriterOptions {
    // A column that several indices name gets one of each kind.
    let mut wanted: Vec<IndexSpecification> = Vec::with_capacity(indices.len());
    for index in indices {
        let one = IndexSpecification { kind: index.kind, column: index.column };
        if !wanted.contains(&one) {
            wanted.push(one);
        }
    }
    let indices = wanted;
    let encoding = EncodeOptions { layout: options.layout, sorted_by: options.sorted_by, indices };
    pool::WriterOptions { encoding, block_bytes: options.block_bytes, partitions: None }
}

/// What is kept of a column beside its name and type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnAttributes {
    /// DEFAULT, as it was written: it is bound anew by every statement that adds rows.
    pub default: Option<String>,
    pub comment: Option<String>,
    /// GENERATED ALWAYS AS (expression), as it was written: statements that add or change rows compute it from the row's
    /// other columns, and it is kept as any column is.
    pub generated: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Table {
    pub id: TableId,
    pub schema: String,
    pub name: String,
    /// NOT NULL is each field's `nullable`.
    pub columns: Schema,
    /// One a column.
    pub attributes: Vec<ColumnAttributes>,
    pub comment: Option<String>,
    pub keys: Vec<Key>,
    pub foreign_keys: Vec<ForeignKey>,
    pub checks: Vec<Check>,
    pub options: TableOptions,
    pub indices: Vec<TableIndex>,
    pub partitioning: Option<Arc<Partitioning>>,
    /// Of a table that is made of others: of which, and how.
    pub wide: Option<Arc<WideTable>>,
    /// The number of the build that a wide table shows, while it shows its base tables as they are.
    pub build: Option<u64>,
    pub data: Arc<TableData>,
    /// Rises with every change of the data.
    pub version: u64,
    pub(crate) writers: Arc<Mutex<()>>,
}

impl Table {
    pub fn rows(&self) -> u64 {
        self.data.rows()
    }
    pub fn is_temporary(&self) -> bool {
        self.schema == crate::TEMPORARY_SCHEMA
    }
    pub fn statistics(&self, column: usize) -> &ColumnStatistics {
        self.data.statistics(column)
    }
    /// The same table with no rows.
    pub(crate) fn without_rows(&self) -> Table {
        let types: Vec<_> = self.columns.fields().iter().map(|f| f.ty).collect();
        Table { data: Arc::new(TableData::empty(&types)), ..self.clone() }
    }
    /// True when only rows differ.
    pub(crate) fn same_definition(&self, other: &Table) -> bool {
        self.schema == other.schema
            && self.name == other.name
            && self.columns == other.columns
            && self.attributes == other.attributes
            && self.comment == other.comment
            && self.keys == other.keys
            && self.foreign_keys == other.foreign_keys
            && self.options == other.options
            && self.indices == other.indices
            && self.checks == other.checks
            && self.wide == other.wide
            && self.partitioning == other.partitioning
    }
    /// How rows that come become blocks.
    pub fn writer_options(&self) -> pool::WriterOptions {
        let partitions = self.partitioning.as_ref().map(|p| p.rows(&self.name, &self.columns));
        pool::WriterOptions { partitions, ..writer_options(&self.options, &self.indices) }
    }
    /// How small blocks are merged: in the order of their rows, so that everybody finds them again.
    pub(crate) fn merge_options(&self) -> EncodeOptions {
        EncodeOptions { sorted_by: None, ..self.writer_options().encoding }
    }
    /// Types and nullability, as encoders want them.
    pub fn declarations(&self) -> Vec<(types::Type, bool)> {
        self.columns.fields().iter().map(|f| (f.ty, f.nullable)).collect()
    }
    /// Held by a session (never by a worker) from the snapshot it verifies keys against to its commit, so that
    /// statements that add rows to one table take turns. A lock whose holder panicked is free again.
    pub fn writers(&self) -> &Arc<Mutex<()>> {
        &self.writers
    }
    /// True when no two rows agree on all of `columns` (NULLs aside), by declaration or by what the data shows.
    pub fn is_unique(&self, columns: &[usize]) -> bool {
        self.keys.iter().any(|k| k.columns.iter().all(|c| columns.contains(c)))
            || columns.iter().any(|c| self.statistics(*c).unique)
            || self.data.unique_sets().iter().any(|set| set.iter().all(|c| columns.contains(c)))
    }
}
