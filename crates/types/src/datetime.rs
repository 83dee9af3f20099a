//! Dates, times and intervals: civil calendar arithmetic, text in and out.
//!
//! Days are counted from 1970-01-01 in the proleptic Gregorian calendar (Howard Hinnant, "chrono-compatible
//! low-level date algorithms"). Read here is ISO 8601 with years 1 to 9999; `date_text` reads other forms.

use crate::interval::Interval;
use crate::time_tz::TimeTz;
use crate::zone::{self, Zone};
use crate::{Error, Result, Type, Value};

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

/// Rounds microseconds to `digits` decimal places of a second, a half away from zero; six places or more change
/// nothing.
pub fn to_digits(value: i64, digits: u64) -> i64 {
    if digits >= 6 {
        return value;
    }
    let unit = 10_i64.pow(6 - digits as u32);
    let rest = value % unit;
    match rest.abs() * 2 >= unit {
        true => (value - rest).saturating_add(unit * rest.signum()),
        false => value - rest,
    }
}

/// Rounds a timestamp, time or interval to `digits` decimal places of a second, as TIMESTAMP(n) asks; NULL and
/// infinite timestamps stay.
pub fn rounded(value: &Value, ty: Type, digits: u64) -> Result<Value> {
    /// 2000-01-01, from which PostgreSQL counts and so rounds away.
    const CENTURY: i64 = 946_684_800 * MICROS_PER_SECOND;
    if value.is_null() {
        return Ok(Value::Null);
    }
    if ty == Type::Interval {
        let mut interval = Interval::of_value(value)?;
        interval.micros = to_digits(interval.micros, digits);
        return interval.value();
    }
    if ty == Type::TimeTz {
        let time = TimeTz::of_value(value);
        return Ok(TimeTz { micros: to_digits(time.micros, digits), ..time }.value());
    }
    let micros = value.as_i64().unwrap_or(0);
    Ok(Value::I64(match ty {
        Type::Timestamp | Type::TimestampTz if is_infinite(micros) => micros,
        Type::Timestamp | Type::TimestampTz => {
            let since = micros.checked_sub(CENTURY).ok_or_else(|| Error::out_of_range(&ty))?;
            to_digits(since, digits).checked_add(CENTURY).ok_or_else(|| Error::out_of_range(&ty))?
        }
        _ => to_digits(micros, digits),
    }))
}

/// The date as `YYYY-MM-DD`, with ` BC` behind it before year 1; infinite dates as `infinity` and `-infinity`.
pub fn format_date(days: i32) -> String {
    match days {
        i32::MAX => return "infinity".into(),
        i32::MIN => return "-infinity".into(),
        _ => {}
    }
    let date = civil_from_days(days);
    if date.year > 0 {
        format!("{:04}-{:02}-{:02}", date.year, date.month, date.day)
    } else {
        format!("{:04}-{:02}-{:02} BC", 1 - date.year, date.month, date.day)
    }
}

/// Microseconds since midnight as `HH:MM:SS`, with the fraction of the second if it is not zero.
pub fn format_time(micros: i64) -> String {
    let seconds = micros / MICROS_PER_SECOND;
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    push_fraction(&mut text, micros % MICROS_PER_SECOND);
    text
}

fn push_fraction(text: &mut String, micros: i64) {
    if micros != 0 {
        let digits = format!(".{micros:06}");
        text.push_str(digits.trim_end_matches('0'));
    }
}

/// The timestamp as date and time with a blank between them; ` BC` comes last, infinite ones are shown as dates are.
pub fn format_timestamp(micros: i64) -> String {
    if is_infinite(micros) {
        return format_date(day_of(micros));
    }
    let days = micros.div_euclid(MICROS_PER_DAY);
    let date = format_date(i32::try_from(days).unwrap_or(i32::MAX));
    let time = format_time(micros.rem_euclid(MICROS_PER_DAY));
    match date.strip_suffix(" BC") {
        Some(date) => format!("{date} {time} BC"),
        None => format!("{date} {time}"),
    }
}

/// The unsigned number of one to nine digits that `text` begins with, and what follows it.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 || end > 9 {
        return None;
    }
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Days since 1970-01-01 of the date that `text` begins with, and what follows it.
fn parse_date_prefix(text: &str) -> Option<(i32, &str)> {
    let (year, rest) = number(text)?;
    // Without three digits it may be a month: see `date_text`.
    if text.len() - rest.len() < 3 {
        return None;
    }
    let (month, rest) = number(rest.strip_prefix(['-', '/'])?)?;
    let (day, rest) = number(rest.strip_prefix(['-', '/'])?)?;
    let year = i32::try_from(year).ok()?;
    let valid = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day);
    valid.then(|| (days_from_civil(year, month, day), rest))
}

/// Microseconds of the time that `text` begins with, and what follows it. Fractions round half up to microseconds.
fn parse_time_prefix(text: &str) -> Option<(i64, &str)> {
    let (hour, rest) = number(text)?;
    let (minute, mut rest) = number(rest.strip_prefix(':')?)?;
    let mut second = 0;
    let mut fraction = 0i64;
    if let Some(after) = rest.strip_prefix(':') {
        (second, rest) = number(after)?;
        if let Some(after) = rest.strip_prefix('.') {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                return None;
            }
            let kept: String = after[..digits].chars().chain("000000".chars()).take(7).collect();
            let sevenfold: i64 =
                if digits > 6 { kept.parse().ok()? } else { kept[..6].parse::<i64>().ok()? * 10 };
            fraction = (sevenfold + 5) / 10;
            rest = &after[digits..];
        }
    }
    if hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    let micros = seconds * MICROS_PER_SECOND + fraction;
    (micros <= MICROS_PER_DAY).then_some((micros, rest))
}

/// A zone at the end: `Z`, `+hh`, `-hh:mm`, `Europe/Berlin`.
fn parse_zone(text: &str) -> Option<Zone> {
    Zone::parse(text)
}

/// Reads an ISO 8601 date of the years 1 to 9999 as days since 1970-01-01; `None` for anything else.
pub fn parse_date(text: &str) -> Option<i32> {
    let text = text.trim();
    let (days, rest) = parse_date_prefix(text)?;
    // A time after the date is allowed and dropped, as PostgreSQL does.
    if rest.is_empty() {
        return Some(days);
    }
    let rest = rest.strip_prefix(['T', ' '])?;
    let (_, rest) = parse_time_prefix(rest.trim_start())?;
    (rest.is_empty() || parse_zone(rest).is_some()).then_some(days)
}

/// Reads `HH:MM[:SS[.f]]` as microseconds since midnight, up to 24:00; `None` for anything else.
pub fn parse_time(text: &str) -> Option<i64> {
    let text = text.trim();
    // A date before the time is allowed and dropped, as PostgreSQL does.
    let time = match parse_date_prefix(text) {
        Some((_, rest)) => rest.strip_prefix(['T', ' '])?.trim_start(),
        None => text,
    };
    let (micros, rest) = parse_time_prefix(time)?;
    rest.is_empty().then_some(micros)
}

/// Reads an ISO 8601 timestamp as microseconds of its local clock, and the zone that it names, if any. `None` when
/// the text has another form.
pub fn parse_timestamp_and_zone(text: &str) -> Option<(i64, Option<Zone>)> {
    let text = text.trim();
    let (days, rest) = parse_date_prefix(text)?;
    let midnight = i64::from(days) * MICROS_PER_DAY;
    if rest.is_empty() {
        return Some((midnight, None));
    }
    let Some(rest) = rest.strip_prefix(['T', ' ']) else {
        return Some((midnight, Some(parse_zone(rest)?)));
    };
    let (micros, rest) = parse_time_prefix(rest.trim_start())?;
    let zone = if rest.trim().is_empty() { None } else { Some(parse_zone(rest)?) };
    Some((midnight + micros, zone))
}

/// Reads a TIMESTAMP in ISO 8601; a zone is read and ignored, as in PostgreSQL.
pub fn parse_timestamp(text: &str) -> Option<i64> {
    parse_timestamp_and_zone(text).map(|(micros, _)| micros)
}

/// Reads a TIMESTAMPTZ in ISO 8601 as microseconds since 1970-01-01 00:00:00 UTC; a text without a zone is read in
/// the current one.
pub fn parse_timestamptz(text: &str) -> Option<i64> {
    let (local, zone) = parse_timestamp_and_zone(text)?;
    zone.unwrap_or_else(zone::current).instant(local)
}

/// An instant as PostgreSQL prints it in that zone: `2024-07-01 14:00:00+02`.
pub fn format_timestamptz(instant: i64, zone: Zone) -> String {
    if is_infinite(instant) {
        return format_timestamp(instant);
    }
    let offset = zone.offset_at(instant);
    let mut text = format_timestamp(zone.local(instant).unwrap_or(instant));
    let before_christ = text.ends_with(" BC");
    if before_christ {
        text.truncate(text.len() - 3);
    }
    zone::push_offset(&mut text, offset, false);
    if before_christ {
        text.push_str(" BC");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar_round_trips() {
        for days in -800_000..800_000 {
            let c = civil_from_days(days);
            assert_eq!(days_from_civil(c.year, c.month, c.day), days);
        }
        assert_eq!(days_from_civil(1970, 1, 1), 0);
    }

    #[test]
    fn months_clamp_and_december_stays_in_its_year() {
        let date = |s| parse_date(s).unwrap();
        assert_eq!(format_date(add_months(date("2015-11-30"), 1).unwrap()), "2015-12-30");
        assert_eq!(format_date(add_months(date("2015-12-31"), 2).unwrap()), "2016-02-29");
        assert_eq!(format_date(add_months(date("2016-01-31"), -1).unwrap()), "2015-12-31");
        assert_eq!(format_date(add_months(date("2016-02-29"), 12).unwrap()), "2017-02-28");
    }

    #[test]
    fn text_forms() {
        assert_eq!(parse_date("2023-02-29"), None);
        assert_eq!(
            format_timestamp(parse_timestamp("2020-01-02 03:04:05.678").unwrap()),
            "2020-01-02 03:04:05.678"
        );
        assert_eq!(parse_timestamptz("2020-01-01 00:00:00+02"), parse_timestamptz("2019-12-31 22:00:00Z"));
    }
}
