//! Reading dates and moments in the forms that PostgreSQL takes in addition to ISO 8601: `20240131`,
//! `1/31/2024`, `31 Jan 2024 4:05 PM`, `J2460341`, `infinity`, years BC. Three numbers without a year of three
//! digits or more in front are read as month, day, year; with dots between them they are rejected as ambiguous.
//!
//! `cast::parse_text` tries `datetime`, which reads ISO 8601, first and falls back to this module.

use crate::datetime::{
    self, DATE_MAX, DATE_MIN, MICROS_PER_SECOND, days_from_civil, days_in_month, parse_time,
};
use crate::zone::{self, Zone};

/// Why a text is no date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text has no form that is known.
    Form,
    /// The form is known, but a field or the whole is out of range.
    Range,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Day {
    Of(i32),
    Infinity,
    MinusInfinity,
}

/// What a text says: a day, a time of day in microseconds, and a zone if one is named.
struct Moment {
    day: Day,
    micros: i64,
    zone: Option<Zone>,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// The Julian day number of 1970-01-01.
const JULIAN_OF_1970: i64 = 2_440_588;

/// Reads a date as days since 1970-01-01; `infinity` is `i32::MAX`, `-infinity` `i32::MIN`.
pub fn date(text: &str) -> Result<i32, Fault> {
    Ok(match read(text)?.day {
        Day::Of(day) => day,
        Day::Infinity => i32::MAX,
        Day::MinusInfinity => i32::MIN,
    })
}

/// Reads a TIMESTAMP as microseconds since 1970-01-01 00:00:00 of the local clock; a zone is ignored, as in
/// PostgreSQL.
pub fn timestamp(text: &str) -> Result<i64, Fault> {
    let moment = read(text)?;
    local(&moment)
}

/// Reads a TIMESTAMPTZ as microseconds since 1970-01-01 00:00:00 UTC; a text without a zone is read in the current
/// one.
pub fn timestamptz(text: &str) -> Result<i64, Fault> {
    let moment = read(text)?;
    let local = local(&moment)?;
    if !matches!(moment.day, Day::Of(_)) {
        return Ok(local);
    }
    let instant = moment.zone.unwrap_or_else(zone::current).instant(local);
    instant.and_then(datetime::finite).ok_or(Fault::Range)
}

fn local(moment: &Moment) -> Result<i64, Fault> {
    match moment.day {
        Day::Infinity => Ok(i64::MAX),
        Day::MinusInfinity => Ok(i64::MIN),
        Day::Of(day) => datetime::moment(day, moment.micros).ok_or(Fault::Range),
    }
}

/// Reads a text token by token: dates, times, zones, AM and PM, BC, names of weekdays (which are ignored).
fn read(text: &str) -> Result<Moment, Fault> {
    let text = text.trim().to_ascii_lowercase();
    let whole = |day| Ok(Moment { day, micros: 0, zone: None });
    match text.as_str() {
        "infinity" | "+infinity" => return whole(Day::Infinity),
        "-infinity" => return whole(Day::MinusInfinity),
        "epoch" => return Ok(Moment { day: Day::Of(0), micros: 0, zone: Some(Zone::Utc) }),
        _ => {}
    }
    if text.len() > 100 || !text.is_ascii() {
        return Err(Fault::Form);
    }
    let mut fields: Vec<&str> = Vec::new();
    let mut clock: Option<i64> = None;
    let mut zone = None;
    let mut before_christ = false;
    // `0044-03-15 (BC)`, as DuckDB writes it.
    let between = |c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')');
    for token in text.split(between).filter(|t| !t.is_empty()) {
        match token {
            "bc" | "b.c." => before_christ = true,
            "ad" | "a.d." => {}
            "am" | "pm" => clock = Some(halved(clock.ok_or(Fault::Form)?, token)?),
            // `20240131t040506`, `1/31/2024t04:05`.
            _ if clock.is_none() && !token.contains(':') && is_stamp(token) => {
                let (date, time) = token.split_once('t').ok_or(Fault::Form)?;
                fields.extend(parts(date)?);
                let (micros, rest) = time_of(time)?;
                (clock, zone) = (Some(micros), zone_of(rest)?);
            }
            _ if token.contains(':') && clock.is_none() => {
                let token = match token.split_once('t') {
                    Some((date, time)) if date.ends_with(|c: char| c.is_ascii_digit()) => {
                        fields.extend(parts(date)?);
                        time
                    }
                    _ => token.strip_prefix('t').unwrap_or(token),
                };
                let (micros, rest) = time_of(token)?;
                match rest {
                    "am" | "pm" => clock = Some(halved(micros, rest)?),
                    rest => (clock, zone) = (Some(micros), zone_of(rest)?),
                }
            }
            // `20240131 040506`.
            _ if clock.is_none()
                && !fields.is_empty()
                && is_bare_time(token)
                && day_of(&fields, false).is_ok() =>
            {
                let (micros, rest) = time_of(token)?;
                (clock, zone) = (Some(micros), zone_of(rest)?);
            }
            _ if is_name_of(token, &WEEKDAYS) => {}
            // What follows the time is its zone.
            _ if clock.is_some() && zone.is_none() && fields.len() >= 3 => {
                zone = Some(Zone::parse(token).ok_or(Fault::Form)?);
            }
            _ if clock.is_some() && zone.is_none() && is_zone(token) => {
                zone = Some(Zone::parse(token).ok_or(Fault::Form)?);
            }
            token => fields.extend(parts(token)?),
        }
    }
    let day = day_of(&fields, before_christ)?;
    Ok(Moment { day: Day::Of(day), micros: clock.unwrap_or(0), zone })
}

/// Digits, a `t`, and digits: a date and a time without any separators in the time.
fn is_stamp(token: &str) -> bool {
    token.split_once('t').is_some_and(|(date, time)| {
        date.len() >= 6
            && date.bytes().all(|b| b.is_ascii_digit() || b"-/.".contains(&b))
            && time.len() >= 4
            && time.bytes().take(4).all(|b| b.is_ascii_digit())
    })
}

/// Six digits, and perhaps a fraction or a zone.
fn is_bare_time(token: &str) -> bool {
    token.bytes().take_while(u8::is_ascii_digit).count() == 6
}

/// Reads a time of day (`4:05 PM`, `040506`) as microseconds since midnight.
pub fn time(text: &str) -> Result<i64, Fault> {
    let text = text.trim().to_ascii_lowercase();
    let (micros, rest) = time_of(&text)?;
    match rest.trim() {
        "" => Ok(micros),
        half @ ("am" | "pm") => halved(micros, half),
        _ => Err(Fault::Form),
    }
}

fn is_zone(token: &str) -> bool {
    token.starts_with(['+', '-'])
        || (token.bytes().any(|b| b.is_ascii_alphabetic()) && month_of(token).is_none())
}

fn zone_of(rest: &str) -> Result<Option<Zone>, Fault> {
    match rest {
        "" => Ok(None),
        rest => Zone::parse(rest).map(Some).ok_or(Fault::Form),
    }
}

/// A time at the beginning of a text, `04:05:06.7` or `040506.7`, and what follows it.
fn time_of(text: &str) -> Result<(i64, &str), Fault> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.')).unwrap_or(text.len());
    let (time, rest) = text.split_at(end);
    if time.contains(':') {
        return Ok((parse_time(time).ok_or(Fault::Range)?, rest));
    }
    let (whole, fraction) = time.split_once('.').map_or((time, ""), |(w, f)| (w, f));
    let parted = match whole.len() {
        4 => format!("{}:{}", &whole[..2], &whole[2..]),
        6 if fraction.is_empty() => format!("{}:{}:{}", &whole[..2], &whole[2..4], &whole[4..]),
        6 => format!("{}:{}:{}.{fraction}", &whole[..2], &whole[2..4], &whole[4..]),
        _ => return Err(Fault::Form),
    };
    Ok((parse_time(&parted).ok_or(Fault::Range)?, rest))
}

/// A reading of a clock with twelve hours as one of a clock with 24.
fn halved(micros: i64, half: &str) -> Result<i64, Fault> {
    let hour = 3600 * MICROS_PER_SECOND;
    if micros >= 13 * hour {
        return Err(Fault::Range);
    }
    let of_twelve = if micros >= 12 * hour { micros - 12 * hour } else { micros };
    Ok(if half == "pm" { of_twelve + 12 * hour } else { of_twelve })
}

/// The numbers and names of a date's token, between `-`, `/` and `.` and where digits meet letters.
fn parts(token: &str) -> Result<Vec<&str>, Fault> {
    let mut out = Vec::new();
    for piece in token.split(['-', '/', '.']) {
        let mut rest = piece;
        while !rest.is_empty() {
            let digits = rest.as_bytes()[0].is_ascii_digit();
            let end = rest.bytes().position(|b| b.is_ascii_digit() != digits).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            if !part.bytes().all(|b| b.is_ascii_alphanumeric()) {
                return Err(Fault::Form);
            }
            out.push(part);
            rest = after;
        }
        if piece.is_empty() {
            return Err(Fault::Form);
        }
    }
    // `1.3.2024` is the first of March wherever dates are written so, and would be read as the third of January.
    let numbers = out.iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    if numbers && out.len() == 3 && out[0].len() < 3 && token.contains('.') {
        return Err(Fault::Form);
    }
    Ok(out)
}

fn is_name_of(token: &str, names: &[&str]) -> bool {
    let token = token.trim_end_matches('.');
    names.iter().any(|name| token.len() >= 3 && name.starts_with(token))
}

fn month_of(part: &str) -> Option<u32> {
    let at = MONTHS.iter().position(|name| part.len() >= 3 && name.starts_with(part))?;
    Some(at as u32 + 1)
}

/// The day of a date's fields: names of months and numbers, in one of the orders that are known.
fn day_of(fields: &[&str], before_christ: bool) -> Result<i32, Fault> {
    let number = |part: &str| match part.len() <= 9 && part.bytes().all(|b| b.is_ascii_digit()) {
        true => part.parse::<i64>().map_err(|_| Fault::Form),
        false => Err(Fault::Form),
    };
    if let ["j", julian] = fields {
        return in_calendar(number(julian)? - JULIAN_OF_1970);
    }
    let names: Vec<u32> = fields.iter().filter_map(|f| month_of(f)).collect();
    let numbers: Vec<&str> = fields.iter().copied().filter(|f| month_of(f).is_none()).collect();
    let (year, month, day): (&str, i64, i64) = match (names.as_slice(), numbers.as_slice()) {
        // One run of digits: year, month and day, or the day of the year.
        ([], [digits]) if digits.bytes().all(|b| b.is_ascii_digit()) => match digits.len() {
            6 => (&digits[..2], number(&digits[2..4])?, number(&digits[4..])?),
            7.. => {
                let at = digits.len() - 4;
                (&digits[..at], number(&digits[at..at + 2])?, number(&digits[at + 2..])?)
            }
            _ => return Err(Fault::Form),
        },
        // The year and the day of the year.
        ([], [year, day]) if year.len() >= 4 && day.len() == 3 => {
            let first = days_from_civil(year_of(year, before_christ)?, 1, 1);
            return in_year(first, number(day)?);
        }
        ([], [year, month, day]) if year.len() >= 3 => (year, number(month)?, number(day)?),
        ([], [month, day, year]) => (year, number(month)?, number(day)?),
        ([month], [year, day]) if year.len() >= 3 => (year, i64::from(*month), number(day)?),
        ([month], [day, year]) => (year, i64::from(*month), number(day)?),
        _ => return Err(Fault::Form),
    };
    let year = year_of(year, before_christ)?;
    let month = u32::try_from(month).ok().filter(|m| (1..=12).contains(m)).ok_or(Fault::Range)?;
    let day = u32::try_from(day).ok().filter(|d| (1..=days_in_month(year, month)).contains(d));
    in_calendar(i64::from(days_from_civil(year, month, day.ok_or(Fault::Range)?)))
}

/// The year of its digits; two of them are of the years 1970 to 2069.
fn year_of(digits: &str, before_christ: bool) -> Result<i32, Fault> {
    if digits.len() > 7 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Fault::Form);
    }
    let year: i32 = digits.parse().map_err(|_| Fault::Form)?;
    let year = match (digits.len(), before_christ, year) {
        (1 | 2, false, 0..70) => year + 2000,
        (1 | 2, false, _) => year + 1900,
        (_, _, 0) => return Err(Fault::Range),
        (_, true, _) => 1 - year,
        _ => year,
    };
    if (-4713..=5_874_897).contains(&year) { Ok(year) } else { Err(Fault::Range) }
}

/// The day of a year by its number, 1 to 366, counted from the year's first day.
fn in_year(first: i32, day: i64) -> Result<i32, Fault> {
    if !(1..=366).contains(&day) {
        return Err(Fault::Range);
    }
    in_calendar(i64::from(first) + day - 1)
}

/// Checks that a day lies between `DATE_MIN` and `DATE_MAX`.
fn in_calendar(day: i64) -> Result<i32, Fault> {
    if !(DATE_MIN..=DATE_MAX).contains(&day) {
        return Err(Fault::Range);
    }
    i32::try_from(day).map_err(|_| Fault::Range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datetime::{format_date, format_timestamp};

    #[test]
    fn forms_of_dates() {
        for (text, shown) in [
            ("20240131", "2024-01-31"),
            ("240131", "2024-01-31"),
            ("1/31/2024", "2024-01-31"),
            ("1/2/03", "2003-01-02"),
            ("1-2-70", "1970-01-02"),
            ("January 8, 1999", "1999-01-08"),
            ("8 Jan 1999", "1999-01-08"),
            ("Jan-08-1999", "1999-01-08"),
            ("1999-Jan-08", "1999-01-08"),
            ("08-Jan-99", "1999-01-08"),
            ("Mon Jan 08 1999", "1999-01-08"),
            ("1999.008", "1999-01-08"),
            ("J2451187", "1999-01-08"),
            ("January 8, 99 BC", "0099-01-08 BC"),
            ("0044-03-15 BC", "0044-03-15 BC"),
            ("0044-03-15 (BC)", "0044-03-15 BC"),
            ("10000-01-01", "10000-01-01"),
            ("infinity", "infinity"),
            ("-infinity", "-infinity"),
            ("epoch", "1970-01-01"),
        ] {
            assert_eq!(date(text).map(format_date), Ok(shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn forms_of_moments() {
        for (text, shown) in [
            ("20240131T040506", "2024-01-31 04:05:06"),
            ("20240131T040506.5+02", "2024-01-31 04:05:06.5"),
            ("Jan 8 1999 4:05 PM", "1999-01-08 16:05:00"),
            ("1/8/1999 12:05am", "1999-01-08 00:05:00"),
            ("Wed Dec 17 07:37:16 1997 PST8PDT", "1997-12-17 07:37:16"),
            ("0044-03-15 12:00:00 BC", "0044-03-15 12:00:00 BC"),
            ("infinity", "infinity"),
        ] {
            assert_eq!(timestamp(text).map(format_timestamp), Ok(shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn others_are_none() {
        for text in [
            "",
            "x",
            "1",
            "12",
            "1/2",
            "2024",
            "1/2/3/4",
            "jan",
            "8 jan",
            "99999999999999",
            "é",
            "1//2",
            "bc",
        ] {
            assert_eq!(date(text), Err(Fault::Form), "{text}");
        }
        for text in ["13/1/2024", "2/30/2024", "20241301", "0000-01-01", "5874898-01-01", "4715-01-01 BC"] {
            assert_eq!(date(text), Err(Fault::Range), "{text}");
        }
    }
}
