//! Statistics of one column's values, in a block or a whole table.

use crate::Value;

/// Bounds and counts of a column. `min` and `max` are of the column's physical type and are `Null` when every value
/// is NULL (or there is none); they are bounds: no non-NULL value lies outside.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// Lower bound; NULL when there is no value.
    pub min: Value,
    /// Upper bound; NULL when there is no value.
    pub max: Value,
    /// Rows that are NULL.
    pub null_count: u64,
    /// An estimate of the number of distinct non-NULL values; 0 when there are none.
    pub distinct: u64,
    /// Whether every non-NULL value is known to occur once; `false` says nothing.
    pub unique: bool,
    /// Whether values never decrease in row order and there is no NULL.
    pub sorted: bool,
}

impl ColumnStatistics {
    /// The statistics of a column without rows.
    pub fn empty() -> Self {
        ColumnStatistics {
            min: Value::Null,
            max: Value::Null,
            null_count: 0,
            distinct: 0,
            unique: true,
            sorted: true,
        }
    }
}
