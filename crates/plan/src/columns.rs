//! Tables and columns as plans know them: a table by its number, a column by what is promised of its values.

use serde::{Deserialize, Serialize};
use types::Type;

/// A table of the catalog, by its never reused number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableId(pub u64);

/// A column of a query: its name and type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnInfo {
    /// Name for people: EXPLAIN and result headings.
    pub name: String,
    /// The type of its values.
    pub ty: Type,
    /// Whether a NULL can occur; false is a promise that the optimizer relies on.
    pub nullable: bool,
}

/// A column that a node delivers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputColumn {
    /// The name that EXPLAIN and result headings show.
    pub name: String,
    /// The type of its values.
    pub ty: Type,
    /// Whether a NULL can occur; false is a promise.
    pub nullable: bool,
    /// Bounds of the values, when known (integers, dates, decimals in their unscaled form).
    pub bounds: Option<(i128, i128)>,
}
