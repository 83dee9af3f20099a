//! Estimates: what is known of a column's values, how many rows a predicate keeps, how many groups there are.
//!
//! Row counts of tables are exact, selectivities come from samples where they can, and joins and groups from distinct
//! counts. A column's distinct count here is that of its *domain* (the values it may have after predicates on the
//! column itself), not of the rows at hand: containment of keys is judged by domains.

pub(crate) mod join;
pub(crate) mod moments;
pub(crate) mod selectivity;

use moments::Moments;
use types::datetime::MICROS_PER_DAY;
use types::{Type, Value, cast};

/// What is known of one column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Distinct values of the domain.
    pub(crate) distinct: Option<f64>,
    /// Smallest and largest value, in units of the type (see `natural`).
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) null_fraction: f64,
    /// Mean and variance, in units of the type, where the values are expected to lie around a mean (aggregates).
    pub(crate) moments: Option<Moments>,
}

impl Facts {
    /// Nothing is known, and no NULLs are expected.
    pub(crate) const UNKNOWN: Facts =
        Facts { distinct: None, low: None, high: None, null_fraction: 0.0, moments: None };
}

/// A number that compares across types: decimals unscaled, dates and timestamps in days. `None` for text.
pub(crate) fn natural(value: &Value, ty: Type) -> Option<f64> {
    match ty {
        Type::Decimal { scale, .. } => Some(cast::decimal_to_f64(value.as_i128()?, scale)),
        Type::Timestamp | Type::TimestampTz | Type::Time => {
            Some(value.as_i128()? as f64 / MICROS_PER_DAY as f64)
        }
        _ => value.as_f64().or_else(|| value.as_i128().map(|v| v as f64)),
    }
}

/// How many of `domain` distinct values occur among `rows` rows that draw them evenly.
pub(crate) fn distinct_among(domain: f64, rows: f64) -> f64 {
    if domain <= 1.0 {
        return domain.min(rows).max(0.0);
    }
    // Each value is missed with probability (1 - 1/domain)^rows.
    let expected = domain * -f64::exp_m1(-rows / domain);
    expected.min(domain).min(rows)
}

/// Rows are never estimated at nothing unless they provably are: a zero would make every plan above look free.
pub(crate) fn at_least_one(rows: f64) -> f64 {
    if rows.is_finite() { rows.max(1.0) } else { 1.0 }
}
