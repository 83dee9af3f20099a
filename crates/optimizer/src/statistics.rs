//! What the optimizer wants to know of tables, as a trait, so that it needs to know neither catalog nor blocks.
//!
//! The engine implements it over a snapshot: everything an answer claims must hold for the rows the query will read,
//! because bounds and unique keys are trusted, not checked again.

use std::sync::Arc;

use plan::{Expr, TableId};
use types::ColumnStatistics;

/// Facts of one table in the query's snapshot.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// The exact number of rows.
    pub rows: u64,
    /// One per table column, in order; empty when nothing is known of the columns.
    pub columns: Vec<ColumnStatistics>,
    /// Sets of columns of which no two rows agree (NULLs apart): primary keys and unique constraints.
    pub unique_keys: Vec<Vec<usize>>,
    /// The number of blocks that hold the rows.
    pub blocks: u64,
}

/// How many of the sampled rows passed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Rows on which the filters were evaluated.
    pub rows_tested: u64,
    /// Rows that passed all filters.
    pub rows_passed: u64,
    /// Rows that passed each filter alone, in the order asked.
    pub filters_passed: Vec<u64>,
    /// Distinct values to expect among all rows of the table that pass, by column asked for; `None` when too few
    /// sampled rows passed to tell.
    pub distinct: Vec<Option<f64>>,
}

/// A wide table that shows its base tables as they are in the query's snapshot: one row for each row of the fact
/// table, with the rows that its foreign keys lead to, or NULLs.
#[derive(Clone, Debug)]
pub struct WideInfo {
    /// The wide table.
    pub table: TableId,
    /// The name that EXPLAIN shows.
    pub name: String,
    /// Parents come before their children; the first is the fact table.
    pub nodes: Vec<WideNode>,
    /// For each column of the wide table, whether it may be NULL.
    pub nullable: Vec<bool>,
}

/// A base table in one role.
#[derive(Clone, Debug)]
pub struct WideNode {
    /// The base table.
    pub table: TableId,
    /// The base table's name.
    pub name: String,
    /// The node that refers to this one.
    pub parent: usize,
    /// The columns of the foreign key, in the parent's table, and those that they refer to in this one: a verified
    /// key.
    pub columns: Vec<usize>,
    /// Columns of the base table that the foreign key refers to, one for each of `columns`.
    pub referenced: Vec<usize>,
    /// Where each column of the table is in the wide table.
    pub places: Vec<usize>,
}

/// What the optimizer asks about the tables of one query.
pub trait Statistics {
    /// `None` when nothing is known.
    fn table(&self, table: TableId) -> Option<Arc<TableInfo>>;

    /// The wide tables that may be read in the place of their base tables.
    fn wide_tables(&self) -> Vec<Arc<WideInfo>> {
        vec![]
    }

    /// Evaluates `filters` (`Input(i)` is table column `columns[i]`) on a few blocks of the table. `None` when that
    /// is not possible, or an evaluation failed. `distinct_of` are positions in `columns` of which the distinct
    /// values among the rows that pass are wanted.
    fn sample(
        &self,
        table: TableId,
        columns: &[usize],
        filters: &[Expr],
        distinct_of: &[usize],
    ) -> Option<Sample>;
}

/// Statistics of a database of which nothing is known; plans come out right, if not good.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStatistics;

impl Statistics for NoStatistics {
    fn table(&self, _: TableId) -> Option<Arc<TableInfo>> {
        None
    }
    fn sample(&self, _: TableId, _: &[usize], _: &[Expr], _: &[usize]) -> Option<Sample> {
        None
    }
}
