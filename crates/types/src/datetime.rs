//! Dates, times and intervals: arithmetic over the calendar (`calendar`), text in and out.
//!
//! Read here is ISO 8601 with years 1 to 9999; `date_text` reads other forms.
//! No state but the current zone of the thread (`zone::current`), by which instants are shown and read. Moments are
//! microseconds since 1970 and infinite at the ends of 64 bits, which no arithmetic here goes to unless it began there.
//! Casts, kernels and literals call this.

pub use crate::calendar::{
    Civil, DATE_MAX, DATE_MIN, MICROS_PER_DAY, MICROS_PER_SECOND, add_months, civil_from_days, day_of,
    days_from_civil, days_in_month, finite, is_infinite, is_leap, midnight, moment, timestamp_add_months,
};
use crate::interval::Interval;
use crate::time_tz::TimeTz;
use crate::zone::{self, Zone};
use crate::{Error, Result, Type, Value};

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
