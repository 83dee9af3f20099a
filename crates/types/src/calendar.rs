//! Civil calendar arithmetic.
//!
//! Days are counted from 1970-01-01 in the proleptic Gregorian calendar (Howard Hinnant, "chrono-compatible
//! low-level date algorithms"), moments in microseconds from its midnight; the ends of what holds them are infinite.
//! Knows no types and no texts: `datetime`, `interval` and `zone` stand on it.

/// Microseconds in a second: times, timestamps and intervals count microseconds.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds in a day of 24 hours.
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// First finite date, 4714-11-24 BC as in PostgreSQL, in days since 1970-01-01.
pub const DATE_MIN: i64 = -2_440_588;
/// Last finite date, 5874897-12-31, in days since 1970-01-01.
pub const DATE_MAX: i64 = 2_145_042_905;

/// Whether a timestamp is `infinity` or `-infinity`: the ends of 64 bits. For dates these are the ends of 32 bits.
#[inline]
pub fn is_infinite(micros: i64) -> bool {
    micros == i64::MAX || micros == i64::MIN
}

/// The timestamp at which a day begins, infinite for an infinite day; `None` when 64 bits do not hold it.
pub fn midnight(day: i32) -> Option<i64> {
    match day {
        i32::MAX => Some(i64::MAX),
        i32::MIN => Some(i64::MIN),
        day => i64::from(day).checked_mul(MICROS_PER_DAY),
    }
}

/// The timestamp of a time of day (microseconds since midnight); `None` when no finite timestamp holds it.
pub fn moment(day: i32, time: i64) -> Option<i64> {
    finite(i64::from(day).checked_mul(MICROS_PER_DAY)?.checked_add(time)?)
}

/// Checks a computed timestamp: the ends of 64 bits, which mean infinity, are out of range and give `None`.
pub fn finite(micros: i64) -> Option<i64> {
    (!is_infinite(micros)).then_some(micros)
}

/// The day of a timestamp, rounded down; an infinite timestamp gives an infinite day.
pub fn day_of(micros: i64) -> i32 {
    match micros {
        i64::MAX => i32::MAX,
        i64::MIN => i32::MIN,
        // 64 bits of microseconds are at most 107 million days.
        micros => micros.div_euclid(MICROS_PER_DAY) as i32,
    }
}

/// A date of the proleptic Gregorian calendar, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Astronomical: 0 is 1 BC, -1 is 2 BC.
    pub year: i32,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
}

/// Days since 1970-01-01. The month must be 1 to 12; the day may lie beyond the month and counts on.
#[inline]
pub fn days_from_civil(year: i32, month: u32, day: u32) -> i32 {
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_index = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * month_index + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era - 719_468) as i32
}

/// The calendar date of a day, counted from 1970-01-01. Infinite dates are not treated specially.
#[inline]
pub fn civil_from_days(days: i32) -> Civil {
    let z = i64::from(days) + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_index + 2) / 5 + 1) as u32;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 } as u32;
    Civil { year: (year_of_era + era * 400 + i64::from(month <= 2)) as i32, month, day }
}

/// Whether the (astronomical) year has a 29th of February.
pub fn is_leap(year: i32) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

/// Length of the month, 28 to 31; `month` is 1 to 12.
pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Adds months to a date; the day is clamped to the month's last. `None` when the result leaves the calendar.
pub fn add_months(days: i32, months: i32) -> Option<i32> {
    let date = civil_from_days(days);
    let month_number = i64::from(date.year) * 12 + i64::from(date.month) - 1 + i64::from(months);
    let year = i32::try_from(month_number.div_euclid(12)).ok().filter(|y| (-4712..=294_275).contains(y))?;
    let month = month_number.rem_euclid(12) as u32 + 1;
    Some(days_from_civil(year, month, date.day.min(days_in_month(year, month))))
}

/// Adds months to a timestamp in microseconds: the date moves as in `add_months`, the time of day stays. Infinite
/// timestamps stay as they are; `None` when the result is out of range.
pub fn timestamp_add_months(micros: i64, months: i32) -> Option<i64> {
    if is_infinite(micros) {
        return Some(micros);
    }
    let days = i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok()?;
    let moved = add_months(days, months)?;
    moment(moved, micros.rem_euclid(MICROS_PER_DAY))
}
