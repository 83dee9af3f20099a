//! Numbers in a row: what `generate_series` and `range` in FROM give.

use serde::{Deserialize, Serialize};
use types::{Physical, Type, Value};

/// `first`, `first + step` and so on, `rows` of them, in the unit of the type's representation: a TIMESTAMP's in
/// microseconds. The last one, and so every one, fits the representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// The first value.
    pub first: i64,
    /// The distance from each value to the next; it may be negative.
    pub step: i64,
    /// How many values there are.
    pub rows: u64,
    /// The values' SQL type.
    pub ty: Type,
}

impl Series {
    /// From `first` to no further than `last`. `None` when a value does not fit the type, or the step is zero.
    pub fn to(first: i128, last: i128, step: i128, ty: Type) -> Option<Series> {
        if step == 0 {
            return None;
        }
        let along = (last - first).signum() * step.signum();
        let rows = if along < 0 { 0 } else { (last - first) / step + 1 };
        let series = Series {
            first: i64::try_from(first).ok()?,
            step: i64::try_from(step).ok()?,
            rows: u64::try_from(rows).ok()?,
            ty,
        };
        let (low, high) = types::cast::physical_range(ty.physical())?;
        let fits =
            rows == 0 || (low..=high).contains(&first) && (low..=high).contains(&series.value(rows - 1));
        fits.then_some(series)
    }

    /// Whether every value fits the type, which is one that numbers in a row can have.
    pub(crate) fn is_valid(&self) -> bool {
        let range = match self.ty.physical() {
            Physical::I32 | Physical::I64 => types::cast::physical_range(self.ty.physical()),
            _ => None,
        };
        let Some((low, high)) = range else { return false };
        let last = i128::from(self.rows).checked_sub(1);
        let fits = |at: i128| (low..=high).contains(&self.value(at));
        self.rows == 0 || (fits(0) && last.is_some_and(fits))
    }

    fn value(&self, at: i128) -> i128 {
        i128::from(self.first) + i128::from(self.step) * at
    }

    /// The value of row `at`, which is one of `rows`.
    pub fn at(&self, at: u64) -> i64 {
        // It lies between the first and the last, and those fit. Products that do not fit are those of no row.
        self.first.wrapping_add(self.step.wrapping_mul(at as i64))
    }

    /// The same as a value of the type.
    pub fn value_at(&self, at: u64) -> Value {
        match self.ty.physical() {
            // The last value fits, so each does.
            Physical::I32 => Value::I32(self.at(at) as i32),
            _ => Value::I64(self.at(at)),
        }
    }

    /// Smallest and largest value; `None` without rows.
    pub fn bounds(&self) -> Option<(i128, i128)> {
        let last = i128::from(self.at(self.rows.checked_sub(1)?));
        let first = i128::from(self.first);
        Some((first.min(last), first.max(last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_ends_before_it_passes_its_last_value() {
        let count = |first, last, step| Series::to(first, last, step, Type::BigInt).map(|s| s.rows);
        assert_eq!(count(1, 10, 4), Some(3));
        assert_eq!(count(10, 1, -4), Some(3));
        assert_eq!(count(1, 1, 1), Some(1));
        assert_eq!(count(2, 1, 1), Some(0));
        assert_eq!(count(1, 2, 0), None);
        assert_eq!(count(i128::from(i64::MIN), i128::from(i64::MAX), i128::from(i64::MAX)), Some(3));
        assert_eq!(Series::to(0, 1 << 40, 1 << 35, Type::Integer), None);
    }

    #[test]
    fn values_are_right_at_the_ends_of_the_type() {
        let whole = Series::to(i128::from(i64::MIN), i128::from(i64::MAX), 1 << 62, Type::BigInt).unwrap();
        let values: Vec<i64> = (0..whole.rows).map(|at| whole.at(at)).collect();
        assert_eq!(values, [i64::MIN, i64::MIN / 2, 0, 1 << 62]);
        assert_eq!(whole.bounds(), Some((i128::from(i64::MIN), 1 << 62)));
    }
}
