//! Moments as text by C's templates (`strftime`); `to_char` has PostgreSQL's.

use types::datetime::{self, MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days};
use types::{Result, Zone};

use super::invalid;
use super::time::{day_of, day_of_year, iso_week, weekday};

pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
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

/// C's strftime, with `%g` for milliseconds, `%f` for microseconds and `-` for no filling, as DuckDB has them.
pub(super) fn strftime(instant: i64, format: &str, zone: Zone) -> Result<String> {
    if datetime::is_infinite(instant) {
        return Ok(datetime::format_timestamp(instant));
    }
    let p = parts(instant, zone);
    let mut out = String::new();
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
        let number =
            |value: i64, width: usize| if fill { format!("{value:0width$}") } else { value.to_string() };
        let day_of_week = weekday(p.day) as i32;
        out.push_str(&match kind {
            Some('a') => DAYS[weekday(p.day)][..3].to_owned(),
            Some('A') => DAYS[weekday(p.day)].to_owned(),
            Some('w') => weekday(p.day).to_string(),
            Some('u') => ((weekday(p.day) + 6) % 7 + 1).to_string(),
            Some('d') => number(i64::from(p.month_day), 2),
            Some('b' | 'h') => MONTHS[p.month as usize - 1][..3].to_owned(),
            Some('B') => MONTHS[p.month as usize - 1].to_owned(),
            Some('m') => number(i64::from(p.month), 2),
            Some('y') => number(i64::from(p.year.rem_euclid(100)), 2),
            Some('Y') => number(i64::from(p.year), 4),
            Some('G') => number(i64::from(iso_week(p.day).0), 4),
            Some('V') => number(i64::from(iso_week(p.day).1), 2),
            Some('U') => number(i64::from((day_of_year(p.day) + 6 - day_of_week) / 7), 2),
            Some('W') => number(i64::from((day_of_year(p.day) + 6 - (day_of_week + 6) % 7) / 7), 2),
            Some('H') => number(p.hour, 2),
            Some('I') => number(twelve(p.hour), 2),
            Some('p') => if p.hour < 12 { "AM" } else { "PM" }.to_owned(),
            Some('M') => number(p.minute, 2),
            Some('S') => number(p.second, 2),
            Some('g') => number(p.micros / 1000, 3),
            Some('f') => number(p.micros, 6),
            Some('n') => number(p.micros * 1000, 9),
            Some('j') => number(i64::from(day_of_year(p.day)), 3),
            Some('z') => offset(p.offset),
            Some('Z') => zone.name(),
            Some('c') => strftime(instant, "%Y-%m-%d %H:%M:%S", zone)?,
            Some('x' | 'F') => strftime(instant, "%Y-%m-%d", zone)?,
            Some('X' | 'T') => strftime(instant, "%H:%M:%S", zone)?,
            Some('%') => "%".to_owned(),
            other => {
                let shown = other.map_or_else(String::new, String::from);
                return Err(invalid(format!("unknown format specifier \"%{shown}\""))
                    .with_hint("%Y, %m, %d, %H, %M, %S and %% are some; the SQL reference has them all"));
            }
        });
    }
    Ok(out)
}
