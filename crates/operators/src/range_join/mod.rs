//! The build rows that a range condition lets a probe row see: sorted by the compared column, found by binary search.
//!
//! ```text
//!  condition  b.k >= p.x  AND  b.k <= p.x + 10  AND  rest
//!  build      rows in the order of k, NULLs left out
//!  probe row  [first, last) of them by two searches; the rest of the condition over those alone
//! ```
//! Invariant: every row for which the whole condition is TRUE is in the range. The nested loops judge, mark and emit;
//! this only spares them pairs.

use expr::Program;
use plan::{Expr, ExprKind};
use types::{Comparison, Physical, Result};
use vector::{Batch, Data, Vector};

/// Which build column the condition compares with what of the probe row.
pub(crate) struct RangeKeys {
    /// Position among the kept build columns.
    key: usize,
    /// `key op bound`, the bounds in the order of the program's results.
    comparisons: Vec<Comparison>,
    bounds: Program,
    /// Nothing is left to evaluate.
    is_whole: bool,
}

/// The build rows by their key.
pub(crate) struct RangeIndex {
    keys: Vec<i64>,
    /// The build row at each place.
    pub order: Vec<u32>,
    /// The kept columns in that order; none where the range is the whole condition.
    pub columns: Vec<Vector>,
}

fn is_range(op: Comparison) -> bool {
    !matches!(op, Comparison::Equal | Comparison::NotEqual)
}

fn turned(op: Comparison) -> Comparison {
    match op {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

impl RangeKeys {
    /// The column with most bounds; `None` where the condition has none.
    pub fn of(
        condition: &Expr,
        probe_columns: usize,
        kept: &dyn Fn(usize) -> Result<usize>,
    ) -> Result<Option<Self>> {
        let mut parts = Vec::new();
        condition.clone().split_conjuncts(&mut parts);
        let mut found: Vec<(usize, Comparison, Expr)> = Vec::new();
        for part in &parts {
            let ExprKind::Compare { op, left, right } = &part.kind else { continue };
            for (op, key, bound) in [(*op, left, right), (turned(*op), right, left)] {
                let ExprKind::Input(column) = key.kind else { continue };
                let whole = matches!(key.ty.physical(), Physical::I16 | Physical::I32 | Physical::I64);
                let of_probe = bound.inputs().iter().all(|input| *input < probe_columns);
                if column >= probe_columns && is_range(op) && whole && key.ty == bound.ty && of_probe {
                    found.push((column, op, (**bound).clone()));
                    break;
                }
            }
        }
        let count = |column: usize| found.iter().filter(|(other, ..)| *other == column).count();
        let Some(key) = found.iter().map(|(column, ..)| *column).max_by_key(|column| count(*column)) else {
            return Ok(None);
        };
        found.retain(|(column, ..)| *column == key);
        let bounds: Vec<Expr> = found.iter().map(|(.., bound)| bound.clone()).collect();
        Ok(Some(RangeKeys {
            key: kept(key - probe_columns)?,
            comparisons: found.iter().map(|(_, op, _)| *op).collect(),
            bounds: Program::compile(&bounds)?,
            is_whole: bounds.len() == parts.len(),
        }))
    }

    /// The build rows in order.
    pub fn index(&self, columns: &[Vector]) -> Option<RangeIndex> {
        let key = columns.get(self.key)?.flatten();
        let mut order: Vec<u32> = (0..key.len() as u32).filter(|row| !key.is_null(*row as usize)).collect();
        let values = integers(&key)?;
        order.sort_by_key(|row| values[*row as usize]);
        let columns = if self.is_whole { vec![] } else { columns.iter().map(|c| c.gather(&order)).collect() };
        let keys = order.iter().map(|row| values[*row as usize]).collect();
        Some(RangeIndex { keys, order, columns })
    }

    /// The places that each row of the batch may match; `None` where a bound cannot be computed for all of them.
    pub fn ranges(&self, index: &RangeIndex, batch: &Batch) -> Option<Vec<(usize, usize)>> {
        let bounds = self.bounds.evaluate(batch).ok()?;
        let mut ranges = vec![(0, index.keys.len()); batch.rows];
        for (op, bound) in self.comparisons.iter().zip(bounds) {
            let bound = bound.flatten();
            let values = integers(&bound)?;
            for (row, range) in ranges.iter_mut().enumerate() {
                if bound.is_null(row) {
                    *range = (0, 0);
                    continue;
                }
                let value = values[row];
                let below = |strictly: bool| {
                    index.keys.partition_point(|key| if strictly { *key < value } else { *key <= value })
                };
                match op {
                    Comparison::GreaterOrEqual => range.0 = range.0.max(below(true)),
                    Comparison::Greater => range.0 = range.0.max(below(false)),
                    Comparison::LessOrEqual => range.1 = range.1.min(below(false)),
                    Comparison::Less => range.1 = range.1.min(below(true)),
                    Comparison::Equal | Comparison::NotEqual => return None,
                }
            }
        }
        Some(ranges)
    }

    /// Whether every row of a range matches.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }
}

fn integers(vector: &Vector) -> Option<Vec<i64>> {
    Some(match vector.data() {
        Data::I16(values) => values.iter().map(|v| i64::from(*v)).collect(),
        Data::I32(values) => values.iter().map(|v| i64::from(*v)).collect(),
        Data::I64(values) => values.to_vec(),
        _ => return None,
    })
}
