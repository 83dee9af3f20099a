//! What statistics of a part of a file (the file itself, a row group, a page) can tell of a scan's filters.
//!
//! A `Pruning` is implied by a filter: where it cannot hold, the filter cannot be TRUE. It is never evaluated on rows,
//! so it may say less than the filter. Statistics that are missing or doubtful are given as `None` and prune nothing.

use serde::{Deserialize, Serialize};
use types::{Bound, ColumnPredicate, Value};

/// A condition over a scan's fetched columns that statistics can refute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pruning {
    /// The column, by position among the fetched ones, and what its value has to satisfy.
    Column(usize, ColumnPredicate),
    /// All of them hold.
    All(Vec<Pruning>),
    /// One of them holds.
    Any(Vec<Pruning>),
}

/// Bounds and counts of one column in a part of a file. What is not known is `None`; an open end bounds nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Zone {
    /// No value is less; `None` when there is no known lower bound.
    pub min: Option<Value>,
    /// No value is greater; `None` when there is no known upper bound.
    pub max: Option<Value>,
    /// How many values are NULL.
    pub null_count: Option<u64>,
    /// How many rows the part has, NULLs included.
    pub rows: u64,
}

/// Where the statistics come from.
pub trait Zones {
    /// The zone of the fetched column; `None` when nothing is known.
    fn zone(&self, column: usize) -> Option<Zone>;
    /// Whether the value may occur, asked of values within the bounds: a Bloom filter may know.
    fn may_contain(&self, _column: usize, _value: &Value) -> bool {
        true
    }
}

impl Pruning {
    /// False when no row of the part can satisfy the condition.
    pub fn may_match(&self, zones: &dyn Zones) -> bool {
        match self {
            Pruning::All(parts) => parts.iter().all(|p| p.may_match(zones)),
            Pruning::Any(parts) => parts.iter().any(|p| p.may_match(zones)),
            Pruning::Column(column, predicate) => {
                if let Some(zone) = zones.zone(*column)
                    && !zone.may_match(predicate)
                {
                    return false;
                }
                match predicate {
                    ColumnPredicate::Range {
                        low: Some(Bound { value, inclusive: true }),
                        high: Some(Bound { value: other, inclusive: true }),
                    } if value == other => zones.may_contain(*column, value),
                    ColumnPredicate::In(values) => values.iter().any(|v| zones.may_contain(*column, v)),
                    _ => true,
                }
            }
        }
    }

    /// Appends the fetched columns that the condition uses to `out`, each once.
    pub fn columns(&self, out: &mut Vec<usize>) {
        match self {
            Pruning::Column(column, _) => {
                if !out.contains(column) {
                    out.push(*column);
                }
            }
            Pruning::All(parts) | Pruning::Any(parts) => parts.iter().for_each(|p| p.columns(out)),
        }
    }
}

impl Zone {
    /// The zone of rows that all have this value.
    pub fn constant(value: &Value, rows: u64) -> Zone {
        match value.is_null() {
            true => Zone { min: None, max: None, null_count: Some(rows), rows },
            false => Zone { min: Some(value.clone()), max: Some(value.clone()), null_count: Some(0), rows },
        }
    }

    /// False when no value of the zone can pass.
    pub fn may_match(&self, predicate: &ColumnPredicate) -> bool {
        if matches!(predicate, ColumnPredicate::IsNull) {
            return self.null_count != Some(0);
        }
        if self.null_count.is_some_and(|nulls| nulls >= self.rows) {
            return false;
        }
        let below_max = |v: &Value| self.max.as_ref().is_none_or(|max| v.total_cmp(max).is_le());
        let above_min = |v: &Value| self.min.as_ref().is_none_or(|min| v.total_cmp(min).is_ge());
        let only = || match (&self.min, &self.max) {
            (Some(min), Some(max)) if min == max => Some(min),
            _ => None,
        };
        match predicate {
            ColumnPredicate::Range { low, high } => {
                let reaches = |bound: &Bound, end: &Option<Value>, beyond: std::cmp::Ordering| {
                    end.as_ref().is_none_or(|end| {
                        let order = end.total_cmp(&bound.value);
                        order == beyond || (bound.inclusive && order.is_eq())
                    })
                };
                low.as_ref().is_none_or(|b| reaches(b, &self.max, std::cmp::Ordering::Greater))
                    && high.as_ref().is_none_or(|b| reaches(b, &self.min, std::cmp::Ordering::Less))
            }
            ColumnPredicate::In(values) => values.iter().any(|v| below_max(v) && above_min(v)),
            ColumnPredicate::NotEqual(value) => only() != Some(value),
            ColumnPredicate::NotIn(values) => only().is_none_or(|v| values.binary_search(v).is_err()),
            ColumnPredicate::Like { .. } | ColumnPredicate::IsNull | ColumnPredicate::IsNotNull => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(Zone, Option<Value>);

    impl Zones for One {
        fn zone(&self, column: usize) -> Option<Zone> {
            (column == 0).then(|| self.0.clone())
        }
        fn may_contain(&self, _: usize, value: &Value) -> bool {
            self.1.as_ref() != Some(value)
        }
    }

    fn range(low: Option<i64>, high: Option<i64>, inclusive: bool) -> ColumnPredicate {
        let bound = |v: Option<i64>| v.map(|v| Bound { value: Value::I64(v), inclusive });
        ColumnPredicate::Range { low: bound(low), high: bound(high) }
    }

    fn zone(min: Option<i64>, max: Option<i64>, nulls: Option<u64>) -> Zone {
        Zone { min: min.map(Value::I64), max: max.map(Value::I64), null_count: nulls, rows: 10 }
    }

    #[test]
    fn only_what_is_refuted_is_pruned() {
        let known = zone(Some(10), Some(20), Some(0));
        for (predicate, expected) in [
            (range(Some(20), None, true), true),
            (range(Some(20), None, false), false),
            (range(None, Some(10), true), true),
            (range(None, Some(10), false), false),
            (range(Some(21), Some(30), true), false),
            (ColumnPredicate::In([Value::I64(9), Value::I64(21)].into()), false),
            (ColumnPredicate::In([Value::I64(9), Value::I64(15)].into()), true),
            (ColumnPredicate::IsNull, false),
            (ColumnPredicate::IsNotNull, true),
        ] {
            assert_eq!(known.may_match(&predicate), expected, "{predicate:?}");
        }
        // An open end reaches everywhere, unknown counts refute nothing.
        let open = zone(None, Some(20), None);
        assert!(open.may_match(&range(None, Some(-5), true)));
        assert!(!open.may_match(&range(Some(21), None, true)));
        assert!(open.may_match(&ColumnPredicate::IsNull));
        let nulls = zone(None, None, Some(10));
        assert!(!nulls.may_match(&range(None, None, true)) && !nulls.may_match(&ColumnPredicate::IsNotNull));
        assert!(!zone(Some(3), Some(3), None).may_match(&ColumnPredicate::NotEqual(Value::I64(3))));
    }

    #[test]
    fn conditions_combine_and_bloom_filters_are_asked() {
        let zones = One(zone(Some(10), Some(20), Some(0)), Some(Value::I64(15)));
        let equal = |v| Pruning::Column(0, range(Some(v), Some(v), true));
        assert!(equal(14).may_match(&zones) && !equal(15).may_match(&zones) && !equal(21).may_match(&zones));
        assert!(Pruning::Any(vec![equal(21), equal(14)]).may_match(&zones));
        assert!(!Pruning::Any(vec![equal(21), equal(15)]).may_match(&zones));
        assert!(!Pruning::All(vec![equal(14), equal(21)]).may_match(&zones));
        // Everything may match in a column about which nothing is known.
        assert!(Pruning::Column(1, range(Some(1), Some(1), false)).may_match(&zones));
    }
}
