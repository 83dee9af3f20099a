//! One relation, as one snapshot sees it.
//!
//! A `Table` is one version of a relation: its definition, and the rows as an `Arc<TableData>`. It is shared by all
//! snapshots between two changes and never altered in place; a change makes another `Table` of the same `id`.
//! `version` rises with the data, which is how appends find out that they verified keys against an older state.
//! Column positions in keys, foreign keys, checks, indices and options are positions in `columns`. `Draft` and
//! `AlteredTable` make new versions.

use std::sync::{Arc, Mutex};

use block::{EncodeOptions, IndexKind, IndexSpecification, LayoutKind};
use pool::BLOCK_BYTES_DEFAULT;
use types::{ColumnStatistics, ReferentialAction, Schema};

use crate::{Partitioning, TableData, TableId, WideTable};

/// A declared key: PRIMARY KEY or UNIQUE. Every statement that adds rows verifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// As declared; `None` gives it a name by `constraint_name`.
    pub name: Option<String>,
    /// Positions of the columns.
    pub columns: Vec<usize>,
    /// Its columns are NOT NULL then; in a UNIQUE key NULLs equal each other only where `nulls_equal` says so.
    pub primary: bool,
    /// NULLS NOT DISTINCT.
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
    /// Unique within the table; DROP CONSTRAINT and errors use it.
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

/// A declared FOREIGN KEY. Every statement that adds rows verifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// As declared; `None` gives it a name by `constraint_name`.
    pub name: Option<String>,
    /// Positions of the referring columns.
    pub columns: Vec<usize>,
    /// The table that is referred to, perhaps this one itself.
    pub parent: TableId,
    /// Positions in the parent, a declared key of it.
    pub parent_columns: Vec<usize>,
    /// What a DELETE of the referenced row does.
    pub on_delete: ReferentialAction,
    /// What an UPDATE of the referenced columns does.
    pub on_update: ReferentialAction,
    /// MATCH FULL: of several columns either all are NULL or none is.
    pub full: bool,
}

/// What `WITH (...)` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// The tuple store of new blocks.
    pub layout: LayoutKind,
    /// The column that the rows of each block are sorted by.
    pub sorted_by: Option<usize>,
    /// Bytes that a block is filled to; the writer holds it within its limits.
    pub block_bytes: usize,
}

/// An index that the table's blocks have. It is a wish: a block on whose data it cannot be built, or that was there
/// before and has not got it yet, is scanned. An index over several columns is one of each, next to each other and of
/// the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableIndex {
    /// Shared by the indices of one CREATE INDEX.
    pub name: String,
    /// The sub-block that each block gets.
    pub kind: IndexKind,
    /// Position of the indexed column.
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

/// What is kept of a column in addition to its name and type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnAttributes {
    /// DEFAULT, as it was written: it is bound anew by every statement that adds rows.
    pub default: Option<String>,
    /// COMMENT ON COLUMN.
    pub comment: Option<String>,
    /// GENERATED ALWAYS AS (expression), as it was written: statements that add or change rows compute it from the row's
    /// other columns, and it is kept as any column is.
    pub generated: Option<String>,
}

/// A relation with its rows, in one version. Clones share the rows.
#[derive(Clone, Debug)]
pub struct Table {
    /// Stays when the table is renamed or altered.
    pub id: TableId,
    /// Canonical name of its schema.
    pub schema: String,
    /// Without the schema.
    pub name: String,
    /// NOT NULL is each field's `nullable`.
    pub columns: Schema,
    /// One a column.
    pub attributes: Vec<ColumnAttributes>,
    /// COMMENT ON TABLE.
    pub comment: Option<String>,
    /// PRIMARY KEY and UNIQUE; at most one is primary.
    pub keys: Vec<Key>,
    /// References to keys of other tables, or of this one.
    pub foreign_keys: Vec<ForeignKey>,
    /// CHECK constraints.
    pub checks: Vec<Check>,
    /// How its blocks are made.
    pub options: TableOptions,
    /// The indices that its blocks have, or are to get.
    pub indices: Vec<TableIndex>,
    /// `None` when the table is not partitioned.
    pub partitioning: Option<Arc<Partitioning>>,
    /// What a wide table is made of; `None` for other tables.
    pub wide: Option<Arc<WideTable>>,
    /// The number of the build that a wide table shows, while it shows its base tables as they are.
    pub build: Option<u64>,
    /// The rows.
    pub data: Arc<TableData>,
    /// Rises with every change of the data.
    pub version: u64,
    pub(crate) writers: Arc<Mutex<()>>,
}

impl Table {
    /// Rows that are not deleted.
    pub fn rows(&self) -> u64 {
        self.data.rows()
    }
    /// Temporary tables are never logged, and end with the process.
    pub fn is_temporary(&self) -> bool {
        self.schema == crate::TEMPORARY_SCHEMA
    }
    /// As `TableData::statistics`: deleted rows are included.
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
    /// How small blocks are merged: in the order of their rows, so that deletions by row number stay valid.
    pub(crate) fn merge_options(&self) -> EncodeOptions {
        EncodeOptions { sorted_by: None, ..self.writer_options().encoding }
    }
    /// Type of each column, and whether it may hold NULL: the form that encoders take.
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
