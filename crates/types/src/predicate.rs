//! The predicates on one column that a block evaluates itself, on codes where the column is coded.
//!
//! A row passes when the predicate is TRUE: NULL passes `IsNull` alone. Values have the column's physical type; the
//! planner casts them, and drops predicates whose literal lies outside the type's range. `accepts` defines the
//! meaning; blocks evaluate the same predicates on codes, and `may_match` skips blocks and zones by their statistics.
//! A `PredicateTree` joins them by AND and OR where a condition spans columns.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{LikePattern, Value};

/// SQL's six comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison that holds for `(b, a)` when this one holds for `(a, b)`.
    pub fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }
    /// The comparison that holds exactly when this one does not (for non-NULL operands).
    pub fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }
    /// Whether the comparison is TRUE for two values in this order.
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
    /// The operator as SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// One end of a range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Not NULL, in the physical form of the column.
    pub value: Value,
    /// Whether the value itself lies in the range.
    pub inclusive: bool,
}

/// A condition on one column, in a form that a block can evaluate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ColumnPredicate {
    /// Between the bounds, each optional; equality is a range of one value.
    Range {
        /// Absent: from the least value.
        low: Option<Bound>,
        /// Absent: to the greatest value.
        high: Option<Bound>,
    },
    /// Not NULL and another value; the operand is not NULL.
    NotEqual(Value),
    /// Equal to one of the values, which are sorted, distinct and not NULL.
    In(Arc<[Value]>),
    /// Not NULL and equal to none of the values, which are as those of `In`.
    NotIn(Arc<[Value]>),
    /// LIKE, or NOT LIKE if `negated`.
    Like {
        /// The pattern, taken apart.
        pattern: Arc<LikePattern>,
        /// NOT LIKE.
        negated: bool,
    },
    /// NULL.
    IsNull,
    /// Not NULL.
    IsNotNull,
}

/// AND and OR over conditions on columns, which are named by number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PredicateTree {
    /// A predicate on a column.
    Leaf(usize, ColumnPredicate),
    /// Every part passes; without parts it is TRUE.
    And(Vec<PredicateTree>),
    /// Some part passes; without parts it is FALSE.
    Or(Vec<PredicateTree>),
}

impl PredicateTree {
    /// Whether a row passes; `value` gives the row's value of a column.
    pub fn accepts(&self, value: &impl Fn(usize) -> Value) -> bool {
        match self {
            Self::Leaf(column, predicate) => predicate.accepts(&value(*column)),
            Self::And(parts) => parts.iter().all(|part| part.accepts(value)),
            Self::Or(parts) => parts.iter().any(|part| part.accepts(value)),
        }
    }
    /// The same condition with every column number replaced by what `number` gives for it.
    #[must_use]
    pub fn renumbered(&self, number: &impl Fn(usize) -> usize) -> Self {
        let all = |parts: &[Self]| parts.iter().map(|part| part.renumbered(number)).collect();
        match self {
            Self::Leaf(column, predicate) => Self::Leaf(number(*column), predicate.clone()),
            Self::And(parts) => Self::And(all(parts)),
            Self::Or(parts) => Self::Or(all(parts)),
        }
    }
    /// Appends the numbers of the columns that are looked at; a column may come more than once.
    pub fn add_columns(&self, columns: &mut Vec<usize>) {
        match self {
            Self::Leaf(column, _) => columns.push(*column),
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.add_columns(columns)),
        }
    }
}

impl ColumnPredicate {
    /// Whether one value passes. This is the definition that every faster evaluation is tested against.
    pub fn accepts(&self, value: &Value) -> bool {
        if value.is_null() {
            return matches!(self, Self::IsNull);
        }
        match self {
            Self::Range { low, high } => {
                let above = low.as_ref().is_none_or(|b| {
                    let order = value.total_cmp(&b.value);
                    order.is_gt() || (b.inclusive && order.is_eq())
                });
                let below = high.as_ref().is_none_or(|b| {
                    let order = value.total_cmp(&b.value);
                    order.is_lt() || (b.inclusive && order.is_eq())
                });
                above && below
            }
            Self::NotEqual(v) => value != v,
            Self::In(values) => values.binary_search(value).is_ok(),
            Self::NotIn(values) => values.binary_search(value).is_err(),
            Self::Like { pattern, negated } => {
                value.as_bytes().is_some_and(|b| pattern.matches(b)) != *negated
            }
            Self::IsNull => false,
            Self::IsNotNull => true,
        }
    }

    /// `false` only when no value between `min` and `max` can pass, so that the block need not be read. `min` is NULL
    /// when the column holds only NULLs.
    pub fn may_match(&self, min: &Value, max: &Value, null_count: u64, rows: u64) -> bool {
        match self {
            Self::IsNull => null_count > 0,
            _ if min.is_null() => false,
            Self::IsNotNull => null_count < rows,
            Self::Range { low, high } => {
                let reaches_low = low.as_ref().is_none_or(|b| {
                    let order = max.total_cmp(&b.value);
                    order.is_gt() || (b.inclusive && order.is_eq())
                });
                let reaches_high = high.as_ref().is_none_or(|b| {
                    let order = min.total_cmp(&b.value);
                    order.is_lt() || (b.inclusive && order.is_eq())
                });
                reaches_low && reaches_high
            }
            Self::NotEqual(v) => !(min == v && max == v),
            Self::In(values) => {
                let from = values.partition_point(|v| v.total_cmp(min).is_lt());
                values.get(from).is_some_and(|v| v.total_cmp(max).is_le())
            }
            Self::NotIn(values) => !(min == max && values.binary_search(min).is_ok()),
            Self::Like { .. } => true,
        }
    }
}
