//! Which rows lie in blocks together: partitions, by the hash or by ranges of one column.
//!
//! C. Chasseur, "A Bare-Metal Approach to Database Performance on Contemporary Hardware", 2015, section 2.5: a partition
//! scheme is a part of the insert destination, through which all rows come, so that loading, inserting and moving rows
//! by an update need no code of their own. A block holds rows of one partition. Integers hash to themselves: of four
//! partitions, values 0 and 4 share one, and 1 is in the next.
//!
//! Where a value lies is stored with the rows that lie there, so nothing here may ever change.

use block::Block;
use types::{ColumnPredicate, Error, Result, SqlState, Type, Value};
use vector::{Batch, Data, Vector};

/// Partitions of a table, at most: each has a block of its own that is being filled.
pub const PARTITIONS_MAX: usize = 1024;

/// How rows are shared out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionScheme {
    /// By the value's hash, modulo the count. NULLs lie in the first one.
    Hash {
        /// The number of partitions.
        count: usize,
    },
    /// Up to, and without, each of these values, which rise; `None` stands last and is greater than all. NULL and what is
    /// not below the last one have no partition.
    Range {
        /// By partition, the value that its rows are below.
        below: Vec<Option<Value>>,
    },
}

impl PartitionScheme {
    /// The number of partitions.
    pub fn count(&self) -> usize {
        match self {
            Self::Hash { count } => *count,
            Self::Range { below } => below.len(),
        }
    }

    /// Whether columns of a type can be partitioned by: equal values have to look the same.
    pub fn suits(ty: Type) -> bool {
        !ty.is_nested() && !matches!(ty, Type::Real | Type::Double | Type::Null | Type::Json)
    }

    /// The partition of a value of the column; `None` for one that no range has.
    pub fn of(&self, value: &Value) -> Option<usize> {
        match self {
            Self::Hash { count } => Some(match value {
                Value::Null => 0,
                Value::Bool(v) => usize::from(*v) % count,
                Value::Bytes(bytes) => of_bytes(bytes, *count),
                other => of_integer(other.as_i128().unwrap_or(0), *count),
            }),
            Self::Range { .. } if value.is_null() => None,
            Self::Range { below } => {
                debug_assert!(rises(below), "bounds of ranges rise: {below:?}");
                let at =
                    below.partition_point(|bound| bound.as_ref().is_some_and(|b| b.total_cmp(value).is_le()));
                (at < below.len()).then_some(at)
            }
        }
    }

    /// The partitions in which rows may pass a predicate on the column, one flag each; `None` when it cannot tell.
    pub fn may_match(&self, predicate: &ColumnPredicate) -> Option<Vec<bool>> {
        let mut keep = vec![false; self.count()];
        let mut mark = |value: &Value| {
            if let Some(at) = self.of(value) {
                keep[at] = true;
            }
        };
        match (self, predicate) {
            (_, ColumnPredicate::In(values)) => values.iter().for_each(mark),
            (_, ColumnPredicate::Range { low: Some(low), high: Some(high) })
                if low.inclusive && high.inclusive && low.value == high.value =>
            {
                mark(&low.value);
            }
            (Self::Hash { .. }, ColumnPredicate::IsNull) => keep[0] = true,
            (Self::Range { .. }, ColumnPredicate::IsNull) => {}
            (Self::Range { below }, ColumnPredicate::Range { low, high }) => {
                let first = low.as_ref().map_or(0, |bound| {
                    below.partition_point(|b| b.as_ref().is_some_and(|b| b.total_cmp(&bound.value).is_le()))
                });
                let last = high.as_ref().map_or(below.len(), |bound| {
                    let order = |b: &Value| match bound.inclusive {
                        true => b.total_cmp(&bound.value).is_le(),
                        false => b.total_cmp(&bound.value).is_lt(),
                    };
                    1 + below.partition_point(|b| b.as_ref().is_some_and(order))
                });
                (first..last.min(below.len())).for_each(|at| keep[at] = true);
            }
            _ => return None,
        }
        Some(keep)
    }

    /// The partition that a block's rows are of; `column` is the one partitioned by. `None` when that cannot be read.
    pub fn of_block(&self, block: &Block, column: usize) -> Option<usize> {
        let least = &block.statistics(column).min;
        match least {
            Value::Null => self.of(&Value::Null),
            // A long text's bound is cut short.
            Value::Bytes(bytes) if bytes.len() + 4 > block::layout::BOUND_BYTES_MAX => {
                let pinned = block.pin(&[column]).ok()?;
                let values = pinned.fetch(column, 0..block.rows()).flatten();
                let row = (0..values.len()).find(|row| !values.is_null(*row))?;
                self.of(&values.value(row))
            }
            value => self.of(value),
        }
    }
}

/// Whether each bound is above the one before it; `None` is above all.
fn rises(below: &[Option<Value>]) -> bool {
    below.is_sorted_by(|a, b| match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(b).is_lt(),
        (last, _) => last.is_some(),
    })
}

fn of_integer(value: i128, count: usize) -> usize {
    debug_assert_ne!(count, 0, "a table has a partition");
    value.rem_euclid(count as i128) as usize
}

/// FNV-1a, 64 bits (G. Fowler, L. Noll, K. Vo). CHAR pads with blanks that equality does not see.
fn of_bytes(bytes: &[u8], count: usize) -> usize {
    let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1);
    let mixed = bytes[..end].iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    // The low bits alone are weak.
    ((mixed ^ (mixed >> 32)) % count as u64) as usize
}

/// A table's partitions, as a writer of its rows needs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPartitions {
    /// The table's name, for messages.
    pub relation: String,
    /// Name of the column partitioned by, for messages.
    pub key: String,
    /// Its position among the table's columns.
    pub column: usize,
    /// How its values are shared out.
    pub scheme: PartitionScheme,
}

impl RowPartitions {
    /// The partition of each row, in order. A row that has none is the user's mistake.
    fn assign(&self, batch: &Batch) -> Result<Vec<u32>> {
        debug_assert!(self.scheme.count() <= PARTITIONS_MAX, "{} partitions", self.scheme.count());
        let values = batch.columns[self.column].flatten();
        debug_assert_eq!(values.len(), batch.rows, "the key of each row");
        if let PartitionScheme::Hash { count } = &self.scheme {
            let of = |row: usize, value: i128| {
                if values.is_null(row) { 0 } else { of_integer(value, *count) as u32 }
            };
            match values.data() {
                Data::I32(v) => {
                    return Ok(v.iter().enumerate().map(|(r, x)| of(r, i128::from(*x))).collect());
                }
                Data::I64(v) => {
                    return Ok(v.iter().enumerate().map(|(r, x)| of(r, i128::from(*x))).collect());
                }
                _ => {}
            }
        }
        (0..batch.rows).map(|row| self.one(&values, row)).collect()
    }

    fn one(&self, values: &Vector, row: usize) -> Result<u32> {
        let value = values.value(row);
        self.scheme.of(&value).map(|at| at as u32).ok_or_else(|| {
            let shown = match &value {
                Value::Null => "null".to_owned(),
                other => types::cast::cast_value(other, values.ty(), Type::Text)
                    .ok()
                    .and_then(|text| text.as_text().map(str::to_owned))
                    .unwrap_or_default(),
            };
            let message = format!("no partition of relation \"{}\" found for row", self.relation);
            Error::new(SqlState::CheckViolation, message)
                .with_detail(format!("Partition key of the failing row contains ({}) = ({shown}).", self.key))
        })
    }

    /// A batch's rows by partition: those that have some, in the order of the batch each.
    pub(crate) fn split(&self, batch: &Batch) -> Result<Vec<(usize, Batch)>> {
        let assigned = self.assign(batch)?;
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); self.scheme.count()];
        assigned.iter().enumerate().for_each(|(row, at)| rows[*at as usize].push(row as u32));
        debug_assert_eq!(
            rows.iter().map(Vec::len).sum::<usize>(),
            batch.rows,
            "each row lies in one partition"
        );
        let some = rows.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
        Ok(some
            .map(|(at, rows)| {
                let whole = rows.len() == batch.rows;
                (at, if whole { batch.clone() } else { batch.gather(&rows) })
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Bound;

    fn range(low: Option<(i64, bool)>, high: Option<(i64, bool)>) -> ColumnPredicate {
        let bound = |(v, inclusive): (i64, bool)| Bound { value: Value::I64(v), inclusive };
        ColumnPredicate::Range { low: low.map(bound), high: high.map(bound) }
    }

    #[test]
    fn integers_hash_to_themselves() {
        let four = PartitionScheme::Hash { count: 4 };
        let of = |v| four.of(&Value::I64(v)).unwrap();
        assert_eq!([0, 4, 1, 5, -1].map(of), [0, 0, 1, 1, 3]);
        assert_eq!(four.of(&Value::Null), Some(0));
        // Widths of one number agree, as do padded and plain texts.
        assert_eq!(four.of(&Value::I32(7)), four.of(&Value::I128(7)));
        assert_eq!(four.of(&Value::text("ab")), four.of(&Value::text("ab   ")));
        // Stored with the rows for ever.
        let text = PartitionScheme::Hash { count: 1000 };
        assert_eq!(["", "a", "quickstep"].map(|t| text.of(&Value::text(t)).unwrap()), [945, 824, 529]);
    }

    /// Whatever a predicate accepts lies in a partition that is kept.
    #[test]
    fn no_partition_with_a_match_is_passed_over() {
        let bounds = |values: &[Option<i64>]| values.iter().map(|v| v.map(Value::I64)).collect();
        let schemes = [
            PartitionScheme::Hash { count: 3 },
            PartitionScheme::Hash { count: 1 },
            PartitionScheme::Range { below: bounds(&[Some(0), Some(5), None]) },
            PartitionScheme::Range { below: bounds(&[Some(-2), Some(7)]) },
        ];
        let ends: Vec<Option<(i64, bool)>> =
            (-4..9).flat_map(|v| [Some((v, true)), Some((v, false))]).chain([None]).collect();
        let mut predicates = vec![ColumnPredicate::IsNull, ColumnPredicate::IsNotNull];
        predicates.push(ColumnPredicate::In([1, 6].map(Value::I64).into_iter().collect()));
        predicates.push(ColumnPredicate::NotEqual(Value::I64(3)));
        for low in &ends {
            predicates.extend(ends.iter().map(|high| range(*low, *high)));
        }
        let mut passed_over = 0;
        for scheme in &schemes {
            for predicate in &predicates {
                let Some(keep) = scheme.may_match(predicate) else { continue };
                passed_over += keep.iter().filter(|kept| !**kept).count();
                for value in (-6..12).map(Value::I64).chain([Value::Null]) {
                    let Some(at) = scheme.of(&value) else { continue };
                    assert!(keep[at] || !predicate.accepts(&value), "{scheme:?} {predicate:?} {value:?}");
                }
            }
        }
        assert!(passed_over > 300, "{passed_over}");
    }
}
