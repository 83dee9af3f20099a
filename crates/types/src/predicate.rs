//! The predicates on one column that a block evaluates itself, on codes where the column is coded.
//!
//! A row passes when the predicate is TRUE: NULL never passes, except `IsNull`. Values are of the column's physical
//! type; the planner casts them, and drops predicates whose literal lies outside the type's range.

use std::sync::Arc;

use crate::{LikePattern, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
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
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub value: Value,
    pub inclusive: bool,
}

#[derive(Clone, Debug)]
pub enum ColumnPredicate {
    /// Between the bounds, each optional; equality is a range of one value.
    Range {
        low: Option<Bound>,
        high: Option<Bound>,
    },
    NotEqual(Value),
    /// Among the values, which are sorted, distinct and not NULL.
    In(Arc<[Value]>),
    /// Not NULL and not among the values.
    NotIn(Arc<[Value]>),
    Like {
        pattern: Arc<LikePattern>,
        negated: bool,
    },
    IsNull,
    IsNotNull,
}

/// A condition on several columns, which go by their numbers.
#[derive(Clone, Debug)]
pub enum PredicateTree {
    /// A predicate on a column.
    Leaf(usize, ColumnPredicate),
    /// Every part holds; so does none at all.
    And(Vec<PredicateTree>),
    /// Some part holds.
    Or(Vec<PredicateTree>),
}

impl PredicateTree {
    /// Whether a row passes whose columns have these values.
    pub fn accepts(&self, value: &impl Fn(usize) -> Value) -> bool {
        match self {
            Self::Leaf(column, predicate) => predicate.accepts(&value(*column)),
            Self::And(parts) => parts.iter().all(|part| part.accepts(value)),
            Self::Or(parts) => parts.iter().any(|part| part.accepts(value)),
        }
    }
    /// The same of columns with other numbers.
    #[must_use]
    pub fn renumbered(&self, number: &impl Fn(usize) -> usize) -> Self {
        let all = |parts: &[Self]| parts.iter().map(|part| part.renumbered(number)).collect();
        match self {
            Self::Leaf(column, predicate) => Self::Leaf(number(*column), predicate.clone()),
            Self::And(parts) => Self::And(all(parts)),
            Self::Or(parts) => Self::Or(all(parts)),
        }
    }
    /// Adds the columns that are looked at, some perhaps again.
    pub fn add_columns(&self, columns: &mut Vec<usize>) {
        match self {
            Self::Leaf(column, _) => columns.push(*column),
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.add_columns(columns)),
        }
    }
}

impl ColumnPredicate {
    /// Whether one value passes; the definition every faster evaluation is tested against.
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

    /// False when no value between `min` and `max` can pass, so the block need not be read. `min` is NULL when the
    /// column holds only NULLs.
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
