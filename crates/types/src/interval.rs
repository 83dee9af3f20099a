//! INTERVAL: months, days and microseconds, kept apart, because a month has no fixed number of days and a day no fixed
//! number of hours.
//!
//! A value is held as one 128-bit integer, `key * 2^58 + months * 2^31 + days`, where the key is what comparisons see:
//! microseconds, a month counted as 30 days and a day as 24 hours, as in PostgreSQL. The integers are ordered by their
//! keys, zero is 0, and a sum or a negative of integers is that of the intervals, as long as the parts stay in their
//! ranges. Intervals of one key are equal and may still print differently: what tests equality takes the key
//! (`sql`, `bind/expression/intervals.rs`).
//!
//! `interval_text` reads intervals; the restricted kinds (YEAR TO MONTH, DAY TO SECOND) hold months or microseconds
//! alone.

use std::fmt;

use crate::datetime::{self, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::{Error, Result, SqlState, Type, Value};

const DAYS_PER_MONTH: i32 = 30;
const MICROS_PER_MONTH: i128 = DAYS_PER_MONTH as i128 * MICROS_PER_DAY as i128;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// The places of key and months in the packed form; days are the lowest bits.
const KEY_SHIFT: u32 = 58;
const MONTHS_SHIFT: u32 = 31;
/// Largest number of months that the held form has a place for, about 5.5 million years.
pub const MONTHS_MAX: i32 = (1 << 26) - 1;
/// Largest number of days that the held form has a place for, about 2.9 million years.
pub const DAYS_MAX: i32 = (1 << 30) - 1;

/// An interval taken apart. The parts are independent and may differ in sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Whole months; a year is 12.
    pub months: i32,
    /// Whole days, of no fixed number of hours.
    pub days: i32,
    /// The time, in microseconds; it may exceed a day.
    pub micros: i64,
}

impl Interval {
    /// An interval of these parts. Their ranges are checked when it is packed.
    pub fn new(months: i32, days: i32, micros: i64) -> Self {
        Interval { months, days, micros }
    }
    /// Microseconds as days of 24 hours and a time, the form that the difference of two timestamps has.
    pub fn of_micros(micros: i64) -> Self {
        // At most 106,751,991 days.
        Interval::new(0, (micros / MICROS_PER_DAY) as i32, micros % MICROS_PER_DAY)
    }
    /// Days and time as microseconds, a day counted as 24 hours; `None` where they do not fit.
    pub fn day_time(self) -> Option<i64> {
        i64::from(self.days).checked_mul(MICROS_PER_DAY)?.checked_add(self.micros)
    }
    /// The number by which intervals are compared: microseconds, a month counted as 30 days and a day as 24 hours.
    pub fn key(self) -> i128 {
        i128::from(self.months) * MICROS_PER_MONTH
            + i128::from(self.days) * i128::from(MICROS_PER_DAY)
            + i128::from(self.micros)
    }
    /// The integer that holds the interval; `None` where months or days are out of range.
    pub fn packed(self) -> Option<i128> {
        let fits =
            self.months.unsigned_abs() <= MONTHS_MAX as u32 && self.days.unsigned_abs() <= DAYS_MAX as u32;
        fits.then(|| {
            (self.key() << KEY_SHIFT) + (i128::from(self.months) << MONTHS_SHIFT) + i128::from(self.days)
        })
    }
    /// The key of a packed interval, without taking it apart.
    pub fn key_of(packed: i128) -> i128 {
        packed.wrapping_add(1 << (KEY_SHIFT - 1)) >> KEY_SHIFT
    }
    /// The packed interval that stands for all that equal this one: of the same key, without months and days.
    pub fn least_equal(packed: i128) -> i128 {
        Self::key_of(packed) << KEY_SHIFT
    }
    /// The interval that an integer holds; the inverse of `packed`. Any other integer gives some interval, never a
    /// panic.
    pub fn of_packed(packed: i128) -> Interval {
        let key = Self::key_of(packed);
        let rest = packed.wrapping_sub(key << KEY_SHIFT) as i64;
        let months = (rest + (1 << (MONTHS_SHIFT - 1))) >> MONTHS_SHIFT;
        let days = rest - (months << MONTHS_SHIFT);
        let micros =
            key - i128::from(months) * MICROS_PER_MONTH - i128::from(days) * i128::from(MICROS_PER_DAY);
        Interval { months: months as i32, days: days as i32, micros: micros as i64 }
    }
    /// The interval that a value of type INTERVAL holds; an internal error for a value of another form.
    pub fn of_value(value: &Value) -> Result<Interval> {
        let packed = value.as_i128().ok_or_else(|| Error::internal("an interval of another form"))?;
        Ok(Interval::of_packed(packed))
    }
    /// The value of type INTERVAL; error 22008 when months or days are out of range.
    pub fn value(self) -> Result<Value> {
        self.packed().map(Value::I128).ok_or_else(out_of_range)
    }

    /// Every part negated; `None` on overflow.
    pub fn checked_neg(self) -> Option<Interval> {
        Some(Interval {
            months: self.months.checked_neg()?,
            days: self.days.checked_neg()?,
            micros: self.micros.checked_neg()?,
        })
    }
    /// The sum, part by part; `None` on overflow.
    pub fn checked_add(self, other: Interval) -> Option<Interval> {
        Some(Interval {
            months: self.months.checked_add(other.months)?,
            days: self.days.checked_add(other.days)?,
            micros: self.micros.checked_add(other.micros)?,
        })
    }
    /// Multiplies by `factor`, or divides if `divide`: fractions of months become days, those of days time, as in
    /// PostgreSQL. `None` when a part is out of range or the divisor is zero.
    pub fn scaled(self, factor: f64, divide: bool) -> Option<Interval> {
        let by = |value: f64| if divide { value / factor } else { value * factor };
        let whole = |value: f64| (value.abs() <= f64::from(i32::MAX)).then_some(value as i32);
        // Binary fractions are rounded to millionths.
        let rounded = |value: f64| (value * 1e6).round_ties_even() / 1e6;
        let month_part = by(f64::from(self.months));
        let day_part = by(f64::from(self.days));
        let months = whole(month_part)?;
        let mut days = whole(day_part)?;
        let month_days = rounded((month_part - f64::from(months)) * f64::from(DAYS_PER_MONTH));
        let mut seconds =
            rounded((day_part - f64::from(days) + month_days - month_days.trunc()) * SECONDS_PER_DAY);
        if seconds.abs() >= SECONDS_PER_DAY {
            let over = (seconds / SECONDS_PER_DAY).trunc();
            days = days.checked_add(over as i32)?;
            seconds -= over * SECONDS_PER_DAY;
        }
        days = days.checked_add(month_days.trunc() as i32)?;
        // Whole factors stay exact beyond 2^53.
        if !divide && factor.fract() == 0.0 && factor.abs() < 9e15 && seconds == 0.0 {
            return Some(Interval { months, days, micros: self.micros.checked_mul(factor as i64)? });
        }
        let micros = (by(self.micros as f64) + seconds * 1e6).round_ties_even();
        (micros.abs() < 9.2e18).then_some(Interval { months, days, micros: micros as i64 })
    }

    /// `justify_hours`: turns every 24 hours into a day. `None` on overflow.
    pub fn justified_hours(self) -> Option<Interval> {
        let mut of = self;
        of.days = of.days.checked_add((of.micros / MICROS_PER_DAY) as i32)?;
        of.micros %= MICROS_PER_DAY;
        Some(of.time_of_one_sign())
    }
    /// `justify_days`: turns every 30 days into a month. `None` on overflow.
    pub fn justified_days(self) -> Option<Interval> {
        let mut of = self;
        of.months = of.months.checked_add(of.days / DAYS_PER_MONTH)?;
        of.days %= DAYS_PER_MONTH;
        if of.months > 0 && of.days < 0 {
            of.days += DAYS_PER_MONTH;
            of.months -= 1;
        } else if of.months < 0 && of.days > 0 {
            of.days -= DAYS_PER_MONTH;
            of.months += 1;
        }
        Some(of)
    }
    /// `justify_interval`: does both, and gives all parts one sign. `None` on overflow.
    pub fn justified(self) -> Option<Interval> {
        let mut of = self;
        let days = i64::from(of.days) + of.micros / MICROS_PER_DAY;
        of.micros %= MICROS_PER_DAY;
        of.months = of.months.checked_add(i32::try_from(days / i64::from(DAYS_PER_MONTH)).ok()?)?;
        of.days = (days % i64::from(DAYS_PER_MONTH)) as i32;
        if of.months > 0 && (of.days < 0 || (of.days == 0 && of.micros < 0)) {
            of.days += DAYS_PER_MONTH;
            of.months -= 1;
        } else if of.months < 0 && (of.days > 0 || (of.days == 0 && of.micros > 0)) {
            of.days -= DAYS_PER_MONTH;
            of.months += 1;
        }
        Some(of.time_of_one_sign())
    }
    /// Gives the time the sign of the days, by moving one day between them.
    fn time_of_one_sign(mut self) -> Interval {
        if self.days > 0 && self.micros < 0 {
            self.micros += MICROS_PER_DAY;
            self.days -= 1;
        } else if self.days < 0 && self.micros > 0 {
            self.micros -= MICROS_PER_DAY;
            self.days += 1;
        }
        self
    }

    /// The timestamp that much later: months are added first (the day is clamped to the month's last), then days,
    /// then the time. An infinite timestamp stays; `None` when the result is out of range.
    pub fn after(self, moment: i64) -> Option<i64> {
        if datetime::is_infinite(moment) {
            return Some(moment);
        }
        let moved =
            if self.months == 0 { moment } else { datetime::timestamp_add_months(moment, self.months)? };
        let moved = moved.checked_add(i64::from(self.days).checked_mul(MICROS_PER_DAY)?)?;
        datetime::finite(moved.checked_add(self.micros)?)
    }

    /// `age`: the interval from `earlier` to `later` in months, days and time, as a calendar counts them. All parts
    /// are negative when `later` comes first.
    pub fn age(later: i64, earlier: i64) -> Interval {
        let (from, to, negative) =
            if later < earlier { (later, earlier, true) } else { (earlier, later, false) };
        let split = |moment: i64| {
            let day = moment.div_euclid(MICROS_PER_DAY) as i32;
            (datetime::civil_from_days(day), moment.rem_euclid(MICROS_PER_DAY))
        };
        let ((first, first_time), (last, last_time)) = (split(from), split(to));
        let mut months = (i64::from(last.year) - i64::from(first.year)) * 12 + i64::from(last.month)
            - i64::from(first.month);
        let mut days = last.day as i32 - first.day as i32;
        let mut micros = last_time - first_time;
        if micros < 0 {
            micros += MICROS_PER_DAY;
            days -= 1;
        }
        while days < 0 {
            // The month that is broken is as long as the earlier moment's.
            days += datetime::days_in_month(first.year, first.month) as i32;
            months -= 1;
        }
        let months = months as i32;
        match negative {
            true => Interval::new(-months, -days, -micros),
            false => Interval::new(months, days, micros),
        }
    }

    /// A field as EXTRACT has it, by its name as in `units`; `microsecond` counts within the minute, and the epoch is
    /// in microseconds. `None` for other fields and on overflow.
    pub fn field(self, field: &str) -> Option<i64> {
        let Interval { months, days, micros } = self;
        let months = i64::from(months);
        Some(match field {
            "year" => months / 12,
            "month" => months % 12,
            "quarter" => months % 12 / 3 + 1,
            "decade" => months / 120,
            "century" => months / 1200,
            "millennium" => months / 12_000,
            "day" => i64::from(days),
            "hour" => micros / (3600 * MICROS_PER_SECOND),
            "minute" => micros / (60 * MICROS_PER_SECOND) % 60,
            "microsecond" => micros % (60 * MICROS_PER_SECOND),
            // A year has 365.25 days, a month 30.
            "epoch" => (months / 12 * 31_557_600 + months % 12 * 2_592_000)
                .checked_mul(MICROS_PER_SECOND)?
                .checked_add(self.day_time()?)?,
            _ => return None,
        })
    }

    /// `date_trunc`: sets the parts smaller than the unit to zero; `None` for a unit that intervals do not have.
    pub fn truncated(self, unit: &str) -> Option<Interval> {
        let Interval { months, days, micros } = self;
        let whole_months = |of: i32| Interval::new(months - months % of, 0, 0);
        let time = |of: i64| Interval::new(months, days, micros - micros % of);
        Some(match unit {
            "millennium" => whole_months(12_000),
            "century" => whole_months(1200),
            "decade" => whole_months(120),
            "year" => whole_months(12),
            "quarter" => whole_months(3),
            "month" => whole_months(1),
            "day" => Interval::new(months, days, 0),
            "hour" => time(3600 * MICROS_PER_SECOND),
            "minute" => time(60 * MICROS_PER_SECOND),
            "second" => time(MICROS_PER_SECOND),
            "millisecond" => time(1000),
            "microsecond" => self,
            _ => return None,
        })
    }

    /// The value that holds the interval as one of the three interval types. YEAR TO MONTH drops days and time, as
    /// PostgreSQL does; months in DAY TO SECOND are an error.
    pub fn restricted_to(self, kind: Type) -> Result<Value> {
        match kind {
            Type::Interval => self.value(),
            Type::IntervalYearMonth => Ok(Value::I32(self.months)),
            Type::IntervalDayTime if self.months != 0 => Err(Error::new(
                SqlState::DatetimeFieldOverflow,
                format!("INTERVAL DAY TO SECOND has no place for the months of \"{self}\""),
            )
            .with_hint("INTERVAL holds months, days and times")),
            Type::IntervalDayTime => self.day_time().map(Value::I64).ok_or_else(out_of_range),
            other => Err(Error::internal(format!("{other} is no interval"))),
        }
    }
    /// The interval that a value of any of the three interval types holds.
    pub fn of_kind(value: &Value, kind: Type) -> Result<Interval> {
        let number = || value.as_i64().ok_or_else(|| Error::internal("an interval of another form"));
        match kind {
            Type::IntervalYearMonth => {
                Ok(Interval::new(i32::try_from(number()?).map_err(|_| out_of_range())?, 0, 0))
            }
            Type::IntervalDayTime => Ok(Interval::of_micros(number()?)),
            _ => Interval::of_value(value),
        }
    }
}

/// The error 22008 of an interval whose parts have no place.
pub fn out_of_range() -> Error {
    Error::new(SqlState::DatetimeFieldOverflow, "interval out of range")
}

/// Prints PostgreSQL's default style: `1 year 2 mons -3 days +04:05:06.7`.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut begun = false;
        let mut after_negative = false;
        for (count, unit) in [(self.months / 12, "year"), (self.months % 12, "mon"), (self.days, "day")] {
            if count == 0 {
                continue;
            }
            let blank = if begun { " " } else { "" };
            let sign = if after_negative && count > 0 { "+" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            write!(f, "{blank}{sign}{count} {unit}{plural}")?;
            after_negative = count < 0;
            begun = true;
        }
        if begun && self.micros == 0 {
            return Ok(());
        }
        let blank = if begun { " " } else { "" };
        let sign = match self.micros {
            ..0 => "-",
            _ if after_negative => "+",
            _ => "",
        };
        let size = self.micros.unsigned_abs();
        let (seconds, fraction) = (size / 1_000_000, size % 1_000_000);
        write!(f, "{blank}{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        if fraction != 0 {
            let digits = format!(".{fraction:06}");
            f.write_str(digits.trim_end_matches('0'))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600 * MICROS_PER_SECOND;

    #[test]
    fn days_are_24_hours_of_time() {
        assert_eq!(Interval::new(7, 2, -1).day_time(), Some(2 * MICROS_PER_DAY - 1));
        assert_eq!(Interval::new(0, i32::MAX, i64::MAX).day_time(), None);
        assert_eq!(Interval::new(0, i32::MIN, 0).day_time(), None);
    }

    #[test]
    fn integers_hold_intervals_and_their_order() {
        let parts = [0, 1, -1, 29, 30, 31, -30, 12, 1000, -77_777];
        let ends = [i64::MAX, i64::MIN, 0, 1, -1, MICROS_PER_DAY, -MICROS_PER_DAY, 720 * HOUR, 36 * HOUR];
        let mut all = Vec::new();
        for months in parts.into_iter().chain([MONTHS_MAX, -MONTHS_MAX]) {
            for days in parts.into_iter().chain([DAYS_MAX, -DAYS_MAX]) {
                all.extend(ends.map(|micros| Interval::new(months, days, micros)));
            }
        }
        for a in &all {
            let packed = a.packed().unwrap();
            assert_eq!((Interval::of_packed(packed), Interval::key_of(packed)), (*a, a.key()));
            assert_eq!(
                a.checked_neg().map(|n| n.packed().unwrap()),
                (a.micros != i64::MIN).then_some(-packed)
            );
            for b in all.iter().step_by(7) {
                if a.key() != b.key() {
                    assert_eq!(packed.cmp(&b.packed().unwrap()), a.key().cmp(&b.key()));
                }
            }
        }
        assert_eq!(Interval::new(MONTHS_MAX + 1, 0, 0).packed(), None);
        assert_eq!(Interval::new(0, i32::MIN, 0).packed(), None);
        for any in [i128::MAX, i128::MIN, 1 << 126, -1, 1 << 57, (1 << 57) - 1] {
            let _ = Interval::of_packed(any);
        }
    }

    #[test]
    fn text_is_that_of_postgresql() {
        for (months, days, micros, text) in [
            (0, 0, 0, "00:00:00"),
            (14, 3, 4 * HOUR, "1 year 2 mons 3 days 04:00:00"),
            (-1, 1, -1, "-1 mons +1 day -00:00:00.000001"),
            (0, -1, HOUR, "-1 days +01:00:00"),
            (0, 0, 36 * HOUR, "36:00:00"),
            (-14, 0, 0, "-1 years -2 mons"),
        ] {
            assert_eq!(Interval::new(months, days, micros).to_string(), text);
        }
    }

    #[test]
    fn fractions_go_to_smaller_parts() {
        let month = Interval::new(1, 0, 0);
        assert_eq!(month.scaled(1.5, false), Some(Interval::new(1, 15, 0)));
        assert_eq!(Interval::new(0, 1, 0).scaled(0.25, false), Some(Interval::new(0, 0, 6 * HOUR)));
        assert_eq!(month.scaled(4.0, true), Some(Interval::new(0, 7, 12 * HOUR)));
        assert_eq!(month.scaled(1e300, false), None);
        assert_eq!(month.scaled(f64::NAN, false), None);
    }
}
