//! Which rows a key can equal at all: bounds of its columns, and one integer column looked through for values between.

use types::nested::equality::has_own_equality;
use types::{Result, Value};
use vector::Data;

use super::{LiveBlock, steps};

/// Bits a value bitmap may have per row.
const BITS_PER_ROW_MAX: i128 = 64;

/// Rows of a block whose values are looked at for their bounds.
const FEW_ROWS: usize = 1024;

/// Minimum and maximum of a column over some blocks; `None` when every row is NULL.
#[derive(Clone)]
pub(super) struct Bounds(pub(super) Option<(Value, Value)>);

impl Bounds {
    /// From the blocks' statistics; they may be wider than the live rows. NULLs do not count.
    pub(super) fn of(column: usize, blocks: &[LiveBlock]) -> Bounds {
        let mut bounds: Option<(Value, Value)> = None;
        for block in blocks {
            let s = block.statistics(column);
            if s.min.is_null() {
                continue;
            }
            bounds = Some(match bounds {
                None => (s.min.clone(), s.max.clone()),
                Some((min, max)) => (min.min(s.min.clone()), max.max(s.max.clone())),
            });
        }
        Bounds(bounds)
    }
    /// As `of`, and of blocks of which few rows count, the bounds of those.
    pub(super) fn of_live(column: usize, blocks: &[LiveBlock]) -> Result<Bounds> {
        let mut bounds: Option<(Value, Value)> = None;
        let mut widen = |low: Value, high: Value| {
            if !low.is_null() {
                bounds = Some(match bounds.take() {
                    None => (low, high),
                    Some((min, max)) => (min.min(low), max.max(high)),
                });
            }
        };
        for block in blocks {
            let few = block.deleted.as_ref().filter(|d| d.live.count() <= FEW_ROWS);
            match few {
                Some(deleted) => {
                    let pinned = block.pin(&[column])?;
                    let values = pinned.fetch(column, &deleted.live.to_indices());
                    (0..values.len()).for_each(|row| widen(values.value(row), values.value(row)));
                }
                None => {
                    let statistics = block.statistics(column);
                    widen(statistics.min.clone(), statistics.max.clone());
                }
            }
        }
        Ok(Bounds(bounds))
    }
    fn integers(&self) -> Option<(i128, i128)> {
        let (min, max) = self.0.as_ref()?;
        Some((min.as_i128()?, max.as_i128()?))
    }
}

/// Whether a row of the block may have a key between the bounds. A key with a NULL never counts; bounds of intervals say
/// nothing, for equal ones are held as different values.
pub(super) fn may_hold(block: &LiveBlock, columns: &[usize], bounds: &[Bounds]) -> bool {
    block.rows() > 0
        && columns.iter().zip(bounds).all(|(column, bounds)| {
            let s = block.statistics(*column);
            match &bounds.0 {
                Some(_) if has_own_equality(block.ty(*column)) => !s.min.is_null(),
                Some((min, max)) => !s.min.is_null() && s.min <= *max && s.max >= *min,
                None => false,
            }
        })
}

/// Least value and number of values between the bounds of a single integer column, when a bit each is little.
pub(super) fn small_range(bounds: &[Bounds], rows: usize) -> Option<(i128, usize)> {
    let [bounds] = bounds else { return None };
    let (min, max) = bounds.integers()?;
    let range = max.checked_sub(min)?;
    (range < rows as i128 * BITS_PER_ROW_MAX).then_some((min, range as usize + 1))
}

/// Calls `visit` with the distance from `min` of every value of an integer column that lies in `min..min + values`,
/// NULLs passed over, until it returns true; the row it did so for.
pub(super) fn find_integer(
    column: usize,
    live: &LiveBlock,
    min: i128,
    values: usize,
    mut visit: impl FnMut(usize) -> bool,
) -> Result<Option<usize>> {
    let block = live.pin(&[column])?;
    for range in steps(block.rows()) {
        let vector = block.fetch(column, range.clone()).flatten();
        let nulls = vector.validity().filter(|n| n.null_count() > 0);
        let mut each = |row: usize, value: i128| {
            // What lies below `min` is far beyond as a distance without a sign; the ends of 128 bits have no other one.
            let distance = value.wrapping_sub(min) as u128;
            distance < values as u128
                && nulls.is_none_or(|n| n.is_valid(row))
                && live.is_live(range.start + row)
                && visit(distance as usize)
        };
        // The arithmetic is of the column's width, which the match decides once a step.
        macro_rules! search {
            ($slice:expr) => {
                $slice
                    .iter()
                    .enumerate()
                    .find(|(row, value)| each(*row, i128::from(**value)))
                    .map(|(row, _)| row)
            };
        }
        let found = match vector.data() {
            Data::I16(v) => search!(v),
            Data::I32(v) => search!(v),
            Data::I64(v) => match i64::try_from(min) {
                Ok(min) => v.iter().enumerate().position(|(row, value)| {
                    let distance = value.wrapping_sub(min) as u64;
                    // A value below the minimum wraps to one beyond the range.
                    distance < values as u64
                        && *value >= min
                        && nulls.is_none_or(|n| n.is_valid(row))
                        && live.is_live(range.start + row)
                        && visit(distance as usize)
                }),
                Err(_) => search!(v),
            },
            Data::I128(v) => search!(v),
            _ => None,
        };
        if let Some(row) = found {
            return Ok(Some(range.start + row));
        }
    }
    Ok(None)
}
