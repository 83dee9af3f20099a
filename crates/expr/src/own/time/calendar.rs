//! The calendar under functions of time: days, weeks, years, and where a unit begins.

use types::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days, days_from_civil, days_in_month};
use types::{Error, Result, SqlState, Type, Value, datetime};

use crate::own::{Arguments, invalid, refuse};

pub(in crate::own) const MICROS_PER_HOUR: i64 = 3600 * MICROS_PER_SECOND;

pub(in crate::own) const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;

pub(in crate::own) fn overflow() -> Error {
    refuse(SqlState::DatetimeFieldOverflow, "interval out of range")
}

/// The day of a moment, counted from 1970-01-01.
pub(in crate::own) fn day_of(micros: i64) -> i32 {
    micros.div_euclid(MICROS_PER_DAY) as i32
}

/// 0 is Sunday.
pub(in crate::own) fn weekday(day: i32) -> usize {
    (day + 4).rem_euclid(7) as usize
}

/// The day's number in its year, from 1.
pub(in crate::own) fn day_of_year(day: i32) -> i32 {
    day - days_from_civil(civil_from_days(day).year, 1, 1) + 1
}

/// The year and week that ISO 8601 counts a day to.
pub(in crate::own) fn iso_week(day: i32) -> (i32, i32) {
    // The week is that of its Thursday.
    let thursday = day - (day + 3).rem_euclid(7) + 3;
    let year = civil_from_days(thursday).year;
    (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
}

/// The day of a date, counted from 1970-01-01; year -1 is the one before year 1. An error for a date that does not
/// exist.
pub(in crate::own) fn date_of(year: i64, month: i64, day: i64) -> Result<i32> {
    let wrong = || field_out_of_range("date", &format!("{year}-{month:02}-{day:02}"));
    let years =
        i32::try_from(year).ok().filter(|y| (-4712..=294_275).contains(y) && *y != 0).ok_or_else(wrong)?;
    // There is no year 0: -1 is the one before 1.
    let counted = if years < 0 { years + 1 } else { years };
    let months = u32::try_from(month).ok().filter(|m| (1..=12).contains(m)).ok_or_else(wrong)?;
    let days = u32::try_from(day).ok().filter(|d| (1..=days_in_month(counted, months)).contains(d));
    Ok(days_from_civil(counted, months, days.ok_or_else(wrong)?))
}

/// The beginning of the unit that the moment lies in.
pub(in crate::own) fn truncated(unit: &str, micros: i64) -> Option<i64> {
    if datetime::is_infinite(micros) {
        return Some(micros);
    }
    let day = day_of(micros);
    let date = civil_from_days(day);
    let midnight = |day: i32| i64::from(day) * MICROS_PER_DAY;
    Some(match unit {
        "microsecond" => micros,
        "millisecond" => micros - micros.rem_euclid(1000),
        "second" => micros - micros.rem_euclid(MICROS_PER_SECOND),
        "minute" => micros - micros.rem_euclid(MICROS_PER_MINUTE),
        "hour" => micros - micros.rem_euclid(MICROS_PER_HOUR),
        "day" | "dow" | "isodow" | "doy" | "julian" => midnight(day),
        "epoch" => micros - micros.rem_euclid(MICROS_PER_SECOND),
        "week" | "yearweek" => midnight(day - (day + 3).rem_euclid(7)),
        "isoyear" => {
            let day = days_from_civil(iso_week(day).0, 1, 4);
            midnight(day - (day + 3).rem_euclid(7))
        }
        "month" => midnight(days_from_civil(date.year, date.month, 1)),
        "quarter" => midnight(days_from_civil(date.year, (date.month - 1) / 3 * 3 + 1, 1)),
        unit => midnight(days_from_civil(years_of(unit, date.year)?, 1, 1)),
    })
}

/// The first day of the years that a unit of several begins with.
pub(super) fn years_of(unit: &str, year: i32) -> Option<i32> {
    Some(match unit {
        "year" => year,
        "decade" => year.div_euclid(10) * 10,
        // The first century is from year 1 to 100.
        "century" => (year - 1).div_euclid(100) * 100 + 1,
        "millennium" => (year - 1).div_euclid(1000) * 1000 + 1,
        _ => return None,
    })
}

pub(super) fn field_out_of_range(what: &str, shown: &str) -> Error {
    refuse(SqlState::DatetimeFieldOverflow, format!("{what} field value out of range: {shown}"))
}

pub(in crate::own) fn text<'a>(a: &'a Arguments<'_>, at: usize) -> &'a str {
    a.text(at).unwrap_or_default()
}

pub(in crate::own) fn checked(micros: Option<i64>) -> Result<Value> {
    micros.map(Value::I64).ok_or_else(overflow)
}

/// Whether one of these arguments is an infinite moment.
pub(in crate::own) fn any_infinite(a: &Arguments<'_>, mut places: std::ops::Range<usize>) -> Result<bool> {
    places.try_fold(false, |found, at| Ok(found || datetime::is_infinite(a.integer(at)?)))
}

/// The last day of a finite moment's month.
pub(in crate::own) fn last_day(micros: i64) -> i32 {
    let day = civil_from_days(day_of(micros));
    days_from_civil(day.year, day.month, days_in_month(day.year, day.month))
}

pub(in crate::own) fn time_of(hour: i64, minute: i64, second: f64) -> Result<i64> {
    let fits = (0..=24).contains(&hour) && (0..=59).contains(&minute) && (0.0..=60.0).contains(&second);
    let micros = hour
        .saturating_mul(MICROS_PER_HOUR)
        .saturating_add(minute.saturating_mul(MICROS_PER_MINUTE))
        .saturating_add((second * 1e6).round_ties_even() as i64);
    if !fits || micros > MICROS_PER_DAY {
        return Err(field_out_of_range("time", &format!("{hour}:{minute:02}:{second:02}")));
    }
    Ok(micros)
}

pub(in crate::own) fn unknown_unit(unit: &str, ty: Type) -> Error {
    invalid(format!("unit \"{unit}\" not recognized for type {ty}"))
        .with_hint("year, quarter, month, week, day, hour, minute and second are units")
}

/// The place of a finite moment's weekday among the names.
pub(in crate::own) fn day_place(micros: i64) -> usize {
    weekday(day_of(micros))
}

/// The place of a finite moment's month among the names.
pub(in crate::own) fn month_place(micros: i64) -> usize {
    civil_from_days(day_of(micros)).month as usize - 1
}
