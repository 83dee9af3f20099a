//! Moments as text by C's templates (`strftime`); `to_char` has PostgreSQL's.
//!
//! A moment is microseconds since 1970 in UTC. It is taken apart once, in the zone given, and the template is then
//! walked letter by letter, appending to the caller's text, so that a batch needs one buffer. Infinite moments have
//! no parts and are written as casts to text write them. An unknown letter is an error of the statement.

use std::fmt::Write;

use types::datetime::{self, MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days};
use types::{Result, Zone};

use super::invalid;
use super::time::calendar::{day_of, day_of_year, iso_week, weekday};

/// English names of the days of the week, from Sunday.
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/// English names of the months.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// What a moment is made of.
struct Parts {
    day: i32,
    year: i32,
    month: u32,
    month_day: u32,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// Seconds east of Greenwich.
    offset: i32,
}

/// What a clock in the zone shows at the instant; a moment without a zone is taken as UTC.
fn parts(instant: i64, zone: Zone) -> Parts {
    let moment = zone.local(instant).unwrap_or(instant);
    let day = day_of(moment);
    let date = civil_from_days(day);
    let time = moment.rem_euclid(MICROS_PER_DAY);
    let seconds = time / MICROS_PER_SECOND;
    Parts {
        day,
        year: date.year,
        month: date.month,
        month_day: date.day,
        hour: seconds / 3600,
        minute: seconds / 60 % 60,
        second: seconds % 60,
        micros: time % MICROS_PER_SECOND,
        offset: zone.offset_at(instant),
    }
}

/// Hours of a clock with twelve.
fn twelve(hour: i64) -> i64 {
    (hour + 11) % 12 + 1
}

/// `+02`, `-03:30`.
fn offset(seconds: i32) -> String {
    let mut text = String::new();
    types::zone::push_offset(&mut text, seconds, false);
    text
}

/// Appends a number of at least `width` digits, filled with zeros unless `fill` is false; the sign counts as a digit,
/// as `{:0width$}` has it.
fn push_number(out: &mut String, value: i64, width: usize, fill: bool) {
    if fill && width == 2 && (0..100).contains(&value) {
        let digit = |value: i64| char::from(b'0' + value as u8);
        out.push(digit(value / 10));
        out.push(digit(value % 10));
        return;
    }
    // Writing to a string does not fail.
    let _ = match fill {
        true => write!(out, "{value:0width$}"),
        false => write!(out, "{value}"),
    };
}

/// Appends a moment by C's strftime, with `%g` for milliseconds, `%f` for microseconds and `-` for no filling, as
/// DuckDB has them.
pub(super) fn push_formatted(out: &mut String, instant: i64, format: &str, zone: Zone) -> Result<()> {
    if datetime::is_infinite(instant) {
        out.push_str(&datetime::format_timestamp(instant));
        return Ok(());
    }
    push_parts(out, &parts(instant, zone), format, zone)
}

fn push_parts(out: &mut String, p: &Parts, format: &str, zone: Zone) -> Result<()> {
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut kind = rest.next();
        let fill = kind != Some('-');
        if !fill {
            kind = rest.next();
        }
        let day_of_week = weekday(p.day) as i32;
        let (number, width) = match kind {
            Some('w') => (day_of_week.into(), 1),
            Some('u') => (i64::from((day_of_week + 6) % 7 + 1), 1),
            Some('d') => (i64::from(p.month_day), 2),
            Some('m') => (i64::from(p.month), 2),
            Some('y') => (i64::from(p.year.rem_euclid(100)), 2),
            Some('Y') => (i64::from(p.year), 4),
            Some('G') => (i64::from(iso_week(p.day).0), 4),
            Some('V') => (i64::from(iso_week(p.day).1), 2),
            Some('U') => (i64::from((day_of_year(p.day) + 6 - day_of_week) / 7), 2),
            Some('W') => (i64::from((day_of_year(p.day) + 6 - (day_of_week + 6) % 7) / 7), 2),
            Some('H') => (p.hour, 2),
            Some('I') => (twelve(p.hour), 2),
            Some('M') => (p.minute, 2),
            Some('S') => (p.second, 2),
            Some('g') => (p.micros / 1000, 3),
            Some('f') => (p.micros, 6),
            Some('n') => (p.micros * 1000, 9),
            Some('j') => (i64::from(day_of_year(p.day)), 3),
            other => {
                push_word(out, p, other, zone)?;
                continue;
            }
        };
        push_number(out, number, width, fill);
    }
    Ok(())
}

/// Appends what is no number.
fn push_word(out: &mut String, p: &Parts, kind: Option<char>, zone: Zone) -> Result<()> {
    match kind {
        Some('a') => out.push_str(&DAYS[weekday(p.day)][..3]),
        Some('A') => out.push_str(DAYS[weekday(p.day)]),
        Some('b' | 'h') => out.push_str(&MONTHS[p.month as usize - 1][..3]),
        Some('B') => out.push_str(MONTHS[p.month as usize - 1]),
        Some('p') => out.push_str(if p.hour < 12 { "AM" } else { "PM" }),
        Some('z') => out.push_str(&offset(p.offset)),
        Some('Z') => out.push_str(&zone.name()),
        Some('c') => push_parts(out, p, "%Y-%m-%d %H:%M:%S", zone)?,
        Some('x' | 'F') => push_parts(out, p, "%Y-%m-%d", zone)?,
        Some('X' | 'T') => push_parts(out, p, "%H:%M:%S", zone)?,
        Some('%') => out.push('%'),
        other => {
            let shown = other.map_or_else(String::new, String::from);
            return Err(invalid(format!("unknown format specifier \"%{shown}\""))
                .with_hint("%Y, %m, %d, %H, %M, %S and %% are some; the SQL reference has them all"));
        }
    }
    Ok(())
}
