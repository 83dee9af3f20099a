//! What the suites say about a table, as plain data, and the grid that cuts it into batches.
//!
//! Unit: what a table is counted and cut in. An order for orders, lineitem, lineorder and TPC-DS's sales and
//! returns (so that an order's lines never straddle a batch), a part for part and partsupp, otherwise a row.
//!
//! Grid: `units` in `batches` batches of `units / batches` each, the last one taking the remainder too. With
//! `batches = units / unit_goal` the remainder stays below `unit_goal`, so no batch exceeds twice the goal.
//! The formula is also how tpchgen cuts a table into parts, which is what lets a batch be one of its parts.

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;
use tpchgen::text::TextPool;

/// Smallest scale: below it TPC-H has no supplier at all.
pub const SCALE_MIN: f64 = 0.0001;

/// Largest scale: above about 10,700 tpchgen's part keys leave the 32-bit generator that the official one
/// uses.
pub const SCALE_MAX: f64 = 10_000.0;

/// Primary and foreign keys of a table, by column name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The primary key's columns, in key order.
    pub primary: &'static [&'static str],
    /// The foreign keys; empty where none is declared.
    pub foreign: &'static [ForeignKey],
}

/// `columns` of this table refer to `referenced` of table `table`, position by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The referring columns, of this table.
    pub columns: &'static [&'static str],
    /// The table referred to, of the same suite.
    pub table: &'static str,
    /// Its columns, one for each of `columns`.
    pub referenced: &'static [&'static str],
}

/// For the tables' static data.
pub(crate) const fn refers(
    columns: &'static [&'static str],
    table: &'static str,
    referenced: &'static [&'static str],
) -> ForeignKey {
    ForeignKey { columns, table, referenced }
}

/// The types that TPC-H and SSB use.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Int32,
    Int64,
    Money,
    Date,
    Text,
}

/// A table's columns: listed here, or as the generator's crate has them.
#[derive(Clone, Copy)]
pub(crate) enum Columns {
    Listed(&'static [(&'static str, Kind)]),
    Given(fn() -> SchemaRef),
}

/// Rows per unit.
#[derive(Clone, Copy)]
pub(crate) enum UnitRows {
    Exactly(u64),
    /// So many on average; the specification leaves the sum to the random stream.
    About(f64),
}

/// How a batch of the grid is made. Every column comes back in schema order with the same length.
#[derive(Clone, Copy)]
pub(crate) enum Generate {
    Tpch(fn(&Cell, &TextPool) -> Result<Vec<ArrayRef>, ArrowError>),
    /// Needs nothing but its place.
    Alone(fn(&Cell) -> Result<Vec<ArrayRef>, ArrowError>),
}

/// A table of a suite.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: Columns,
    pub(crate) keys: Keys,
    /// Units at a scale, at least 1.
    pub(crate) units: fn(f64) -> u64,
    /// Units a batch should have; `u64::MAX` for the fixed tables, which are one batch.
    pub(crate) unit_goal: u64,
    pub(crate) unit_rows: UnitRows,
    pub(crate) generate: Generate,
}

impl Table {
    pub(crate) fn schema(&self) -> SchemaRef {
        let columns = match self.columns {
            Columns::Listed(columns) => columns,
            Columns::Given(schema) => return schema(),
        };
        let field = |&(name, kind): &(&str, Kind)| {
            let data_type = match kind {
                Kind::Int32 => DataType::Int32,
                Kind::Int64 => DataType::Int64,
                Kind::Money => DataType::Decimal128(15, 2),
                Kind::Date => DataType::Date32,
                Kind::Text => DataType::Utf8View,
            };
            Field::new(name, data_type, false)
        };
        Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
    }

    /// Number of batches of the grid.
    pub(crate) fn batches(&self, scale: f64) -> u64 {
        ((self.units)(scale) / self.unit_goal).max(1)
    }

    pub(crate) fn cell(&self, scale: f64, index: u64) -> Cell {
        let (units, count) = ((self.units)(scale), self.batches(scale));
        let each = units / count;
        let end = if index + 1 == count { units } else { each * (index + 1) };
        Cell { scale, index, count, units: each * index..end }
    }
}

/// One batch of the grid: its place, and the units it covers.
pub(crate) struct Cell {
    pub(crate) scale: f64,
    pub(crate) index: u64,
    pub(crate) count: u64,
    pub(crate) units: Range<u64>,
}

/// `base` units a scale factor, rounded down as the official generators do.
pub(crate) fn scaled(base: u32, scale: f64) -> u64 {
    ((f64::from(base) * scale) as u64).max(1)
}
