//! Year, month and day of a day number, in 32-bit multiplications that vectorise.
//!
//! After C. Neri and L. Schneider, "Euclidean affine functions and their application to calendar algorithms" (2022):
//! with the year beginning in March, each step is an affine function divided by a constant, and two of the divisions
//! become one multiplication and a shift. Deviation: days are shifted by whole cycles to be positive.

use types::datetime;

/// Days from 0000-03-01 to 1970-01-01, and whole 400-year cycles so that the sum is never negative.
const CYCLES: u32 = 3670;
const SHIFT: u32 = 719_468 + 146_097 * CYCLES;
const YEARS: i32 = 400 * CYCLES as i32;

/// Days this close to 1970 are computed fast: nearly a million years and a half. Beyond, four times the shifted day
/// would not fit 32 bits.
pub(crate) const FAST_DAYS: i32 = 536_800_000;

/// A part of a date.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Year,
    Month,
    Day,
}

/// The part of the date `days` after 1970-01-01; right for `FAST_DAYS` around it.
#[inline(always)]
pub(crate) fn fast(days: i32, part: Part) -> i64 {
    let shifted = (days as u32).wrapping_add(SHIFT);
    // Century, and the day in it.
    let quarter_days = shifted.wrapping_mul(4).wrapping_add(3);
    let century = quarter_days / 146_097;
    let day_of_century = quarter_days % 146_097 / 4;
    // Year of the century, and the day in it: one multiplication gives quotient and remainder by 1461.
    let product = 2_939_745 * u64::from(4 * day_of_century + 3);
    let year_of_century = (product >> 32) as u32;
    let day_of_year = product as u32 / 2_939_745 / 4;
    // January and February belong to the year that began in March before.
    let wraps = u32::from(day_of_year >= 306);
    match part {
        Part::Year => i64::from((100 * century + year_of_century + wraps) as i32 - YEARS),
        Part::Month => i64::from(((2141 * day_of_year + 197_913) >> 16) - 12 * wraps),
        Part::Day => i64::from(((2141 * day_of_year + 197_913) & 0xFFFF) / 2141 + 1),
    }
}

/// The same for any day number.
pub(crate) fn exact(days: i32, part: Part) -> i64 {
    let date = datetime::civil_from_days(days);
    match part {
        Part::Year => i64::from(date.year),
        Part::Month => i64::from(date.month),
        Part::Day => i64::from(date.day),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_is_exact() {
        let all = (-1_500_000..1_500_000).chain((-FAST_DAYS..FAST_DAYS).step_by(9973));
        for days in all.chain([-FAST_DAYS, FAST_DAYS]) {
            for part in [Part::Year, Part::Month, Part::Day] {
                assert_eq!(fast(days, part), exact(days, part), "{days}");
            }
        }
    }
}
