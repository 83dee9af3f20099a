//! Moments and intervals as text by PostgreSQL's templates (`to_char`).
//!
//! A template is words and what stands between them. A word may follow FM (no filling) or TM, and be followed by TH
//! or th (an ordinal's ending); of the words that fit, the longest counts. What an interval has no meaning for is an
//! error.

use types::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days, is_infinite};
use types::interval::Interval;
use types::{Result, SqlState, Type, Value, Zone};

use super::time::calendar::{day_of, day_of_year, iso_week, weekday};
use super::time_format::{DAYS, MONTHS};
use super::{Arguments, refuse, to_char_number};

/// The words, of one beginning the longer ones first. Those in capitals exist in small letters, too, but for Day, Dy,
/// Month and Mon, which have a form of their own.
const WORDS: [&str; 58] = [
    "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "CC", "DAY", "DDD", "DD", "DY", "Day", "Dy", "D", "FF1", "FF2",
    "FF3", "FF4", "FF5", "FF6", "FX", "HH24", "HH12", "HH", "IDDD", "ID", "IW", "IYYY", "IYY", "IY", "I",
    "J", "MI", "MM", "MONTH", "MON", "MS", "Month", "Mon", "OF", "P.M.", "PM", "Q", "RM", "SSSSS", "SSSS",
    "SS", "TZH", "TZM", "TZ", "US", "WW", "W", "Y,YYY", "YYYY", "YYY", "YY", "Y",
];
const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// What a moment or an interval is made of; of an interval, each part has its own sign.
struct Parts {
    /// Days since 1970, of a moment.
    number: Option<i32>,
    year: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// The zone's short name at an instant.
    zone: String,
    /// Seconds east of Greenwich.
    offset: i32,
}

impl Parts {
    fn with_time(mut self, micros: i64) -> Parts {
        let seconds = micros / MICROS_PER_SECOND;
        self.hour = seconds / 3600;
        self.minute = seconds / 60 % 60;
        self.second = seconds % 60;
        self.micros = micros % MICROS_PER_SECOND;
        self
    }

    fn of_moment(moment: i64) -> Parts {
        let number = day_of(moment);
        let date = civil_from_days(number);
        let parts = Parts {
            number: Some(number),
            year: i64::from(date.year),
            month: i64::from(date.month),
            day: i64::from(date.day),
            day_of_year: i64::from(day_of_year(number)),
            hour: 0,
            minute: 0,
            second: 0,
            micros: 0,
            zone: String::new(),
            offset: 0,
        };
        parts.with_time(moment.rem_euclid(MICROS_PER_DAY))
    }

    fn of_interval(interval: Interval) -> Parts {
        let months = i64::from(interval.months);
        let parts = Parts {
            number: None,
            year: months / 12,
            month: months % 12,
            day: i64::from(interval.days),
            day_of_year: months * 30 + i64::from(interval.days),
            hour: 0,
            minute: 0,
            second: 0,
            micros: 0,
            zone: String::new(),
            offset: 0,
        };
        parts.with_time(interval.micros)
    }

    /// Years BC are counted from 1 on, backwards; an interval's are as they are.
    fn shown_year(&self, year: i64) -> i64 {
        if self.number.is_some() && year <= 0 { 1 - year } else { year }
    }
}

/// `to_char(value, template)` of numbers, moments and intervals.
pub(super) fn to_char(a: &Arguments<'_>) -> Result<Value> {
    let template = a.text(1)?;
    if a.types[0].is_numeric() {
        return Ok(Value::text(&to_char_number::formatted(&a.values[0], a.types[0], template)?));
    }
    if template.is_empty() {
        return Ok(Value::Null);
    }
    let parts = match a.types[0] {
        Type::Interval => Parts::of_interval(a.interval(0)?),
        // A time of day is as an interval.
        Type::Time => Parts::of_interval(Interval::new(0, 0, a.integer(0)?)),
        ty => {
            let instant = a.integer(0)?;
            if is_infinite(instant) {
                return Ok(Value::Null);
            }
            let zone = if a.len() > 2 { super::zones::zone_of(a, 2)? } else { Zone::Utc };
            let mut parts = Parts::of_moment(zone.local(instant).unwrap_or(instant));
            if ty == Type::TimestampTz {
                parts.zone = zone.abbreviation(instant);
                parts.offset = zone.offset_at(instant);
            }
            parts
        }
    };
    Ok(Value::text(&by_template(&parts, template)?))
}

fn after_any<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| text.strip_prefix(word))
}

/// The word that the text begins with, in capitals but for its own form, and whether it is in small letters.
fn word_of(text: &str) -> Option<(&'static str, bool)> {
    let small = |word: &str| {
        let mixed = word.bytes().skip(1).any(|b| b.is_ascii_lowercase());
        !mixed && text.get(..word.len()).is_some_and(|t| t == word.to_ascii_lowercase())
    };
    WORDS.iter().find_map(|word| match text.starts_with(word) {
        true => Some((*word, false)),
        false => small(word).then_some((*word, true)),
    })
}

fn by_template(parts: &Parts, template: &str) -> Result<String> {
    let mut out = String::new();
    let mut rest = template;
    while !rest.is_empty() {
        let (mut fill, mut of_names, mut body) = (true, true, rest);
        if let Some(after) = after_any(body, &["FM", "fm"]) {
            (fill, body) = (false, after);
        } else if let Some(after) = after_any(body, &["TM", "tm"]) {
            // Names in the C locale's language, which are not filled.
            (of_names, body) = (false, after);
        }
        if let Some((word, small)) = word_of(body) {
            let name = matches!(word, "MONTH" | "Month" | "DAY" | "Day");
            let fill = fill && (of_names || !name);
            rest = &body[word.len()..];
            let ordinal = ["TH", "th"].into_iter().find(|ending| rest.starts_with(ending));
            let numeric = field(parts, word, small, fill, &mut out)?;
            if let Some(ending) = ordinal {
                rest = &rest[2..];
                if let Some(digits) = numeric {
                    let suffix = ordinal_ending(&digits);
                    out.push_str(&if ending == "TH" { suffix.to_uppercase() } else { suffix.to_owned() });
                }
            } else if let Some(after) = rest.strip_prefix("SP") {
                rest = after;
            }
            continue;
        }
        // A quoted part is taken as it is, but for a backslash, which keeps the next character from its meaning.
        if let Some(quoted) = body.strip_prefix('"') {
            let mut characters = quoted.chars();
            while let Some(c) = characters.next() {
                match c {
                    '"' => break,
                    '\\' => out.extend(characters.next()),
                    c => out.push(c),
                }
            }
            rest = characters.as_str();
            continue;
        }
        let body = if body.starts_with("\\\"") { &body[1..] } else { body };
        let mut characters = body.chars();
        out.extend(characters.next());
        rest = characters.as_str();
    }
    Ok(out)
}

/// st, nd, rd or th, by the last digits of a number.
pub(super) fn ordinal_ending(number: &str) -> &'static str {
    let digits = number.as_bytes();
    let last = digits.last().copied().unwrap_or(b'0');
    match (digits.len().checked_sub(2).map(|at| digits[at]), last) {
        (Some(b'1'), _) => "th",
        (_, b'1') => "st",
        (_, b'2') => "nd",
        (_, b'3') => "rd",
        _ => "th",
    }
}

/// Writes a word's value; a number comes back, for its ordinal.
fn field(p: &Parts, word: &str, small: bool, fill: bool, out: &mut String) -> Result<Option<String>> {
    if let Some(text) = written(p, word, small, fill)? {
        out.push_str(&text);
        return Ok(None);
    }
    let shown = counted(p, word, fill)?;
    out.push_str(shown.as_deref().unwrap_or_default());
    Ok(shown)
}

/// The number of the day; intervals have none.
fn day_number(p: &Parts) -> Result<i32> {
    p.number.ok_or_else(|| {
        refuse(SqlState::InvalidDatetimeFormat, "invalid format specification for an interval value")
            .with_hint("Intervals are not tied to specific calendar dates.")
    })
}

/// A number of at least so many digits, if it is filled; a sign takes a place more.
fn digits(value: i64, width: usize, fill: bool) -> String {
    match fill {
        true => format!("{value:0width$}", width = width + usize::from(value < 0)),
        false => value.to_string(),
    }
}

/// The value of a word that has no ordinal; `None` for other words.
fn written(p: &Parts, word: &str, small: bool, fill: bool) -> Result<Option<String>> {
    let cased = |name: &str| match word.as_bytes().get(1).is_some_and(u8::is_ascii_lowercase) {
        true => name.to_owned(),
        false if small => name.to_lowercase(),
        false => name.to_uppercase(),
    };
    let wide = |name: String| if fill { format!("{name:<9}") } else { name };
    let half = |early: &str, late: &str, is_late: bool| {
        let word = if is_late { late } else { early };
        if small { word.to_lowercase() } else { word.to_owned() }
    };
    let month_name = |p: &Parts| MONTHS.get((p.month - 1) as usize).copied().unwrap_or_default();
    Ok(Some(match word {
        "A.M." | "P.M." => half("A.M.", "P.M.", p.hour % 24 >= 12),
        "AM" | "PM" => half("AM", "PM", p.hour % 24 >= 12),
        "A.D." | "B.C." => {
            day_number(p)?;
            half("A.D.", "B.C.", p.year <= 0)
        }
        "AD" | "BC" => {
            day_number(p)?;
            half("AD", "BC", p.year <= 0)
        }
        "MONTH" | "Month" => {
            day_number(p)?;
            wide(cased(month_name(p)))
        }
        "MON" | "Mon" => {
            day_number(p)?;
            cased(month_name(p).get(..3).unwrap_or_default())
        }
        "DAY" | "Day" => wide(cased(DAYS[weekday(day_number(p)?)])),
        "DY" | "Dy" => cased(&DAYS[weekday(day_number(p)?)][..3]),
        "RM" => {
            if p.month == 0 && p.year == 0 {
                return Ok(Some(String::new()));
            }
            let at = match p.month {
                0 if p.year >= 0 => 11,
                0 => 0,
                month if month < 0 => 12 + month,
                month => month - 1,
            };
            let roman = ROMAN.get(at as usize).copied().unwrap_or_default();
            let roman = if small { roman.to_lowercase() } else { roman.to_owned() };
            if fill { format!("{roman:<4}") } else { roman }
        }
        "TZ" => {
            day_number(p)?;
            if small { p.zone.to_lowercase() } else { p.zone.clone() }
        }
        "TZH" => {
            day_number(p)?;
            let sign = if p.offset < 0 { '-' } else { '+' };
            format!("{sign}{:02}", p.offset.abs() / 3600)
        }
        "TZM" => {
            day_number(p)?;
            format!("{:02}", p.offset.abs() % 3600 / 60)
        }
        "OF" => {
            day_number(p)?;
            let sign = if p.offset < 0 { '-' } else { '+' };
            let hours = digits(i64::from(p.offset.abs() / 3600), 2, fill);
            let minutes = p.offset.abs() % 3600 / 60;
            let minutes = if minutes == 0 { String::new() } else { format!(":{minutes:02}") };
            format!("{sign}{hours}{minutes}")
        }
        "FX" => String::new(),
        _ => return Ok(None),
    }))
}

/// The value of a word that is a number; `None` for other words.
fn counted(p: &Parts, word: &str, fill: bool) -> Result<Option<String>> {
    let number = |value: i64, width: usize| digits(value, width, fill);
    let iso_year = |number: i32| p.shown_year(i64::from(iso_week(number).0));
    let year = p.shown_year(p.year);
    Ok(Some(match word {
        "HH24" => number(p.hour, 2),
        "HH12" | "HH" => number(if p.hour % 12 == 0 { 12 } else { p.hour % 12 }, 2),
        "MI" => number(p.minute, 2),
        "SS" => number(p.second, 2),
        // Digits behind a point keep their zeros, whatever FM says.
        "MS" => format!("{:03}", p.micros / 1000),
        "US" => format!("{:06}", p.micros),
        "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
            let digits = usize::from(word.as_bytes()[2] - b'0');
            format!("{:0digits$}", p.micros / 10_i64.pow(6 - digits as u32))
        }
        "SSSSS" | "SSSS" => (p.hour * 3600 + p.minute * 60 + p.second).to_string(),
        "MM" => number(p.month, 2),
        "DDD" if fill => format!("{:03}", p.day_of_year),
        "DD" if fill => format!("{:02}", p.day),
        "DDD" => p.day_of_year.to_string(),
        "DD" => p.day.to_string(),
        "D" => (weekday(day_number(p)?) + 1).to_string(),
        "ID" => ((weekday(day_number(p)?) + 6) % 7 + 1).to_string(),
        "IDDD" => {
            let day = day_number(p)?;
            let monday = day - (weekday(day) as i32 + 6) % 7 - (iso_week(day).1 - 1) * 7;
            number(i64::from(day - monday + 1), 3)
        }
        "IW" => number(i64::from(iso_week(day_number(p)?).1), 2),
        "WW" => number((p.day_of_year - 1) / 7 + 1, 2),
        "W" => ((p.day - 1) / 7 + 1).to_string(),
        "Q" if p.month == 0 => return Ok(None),
        "Q" => ((p.month - 1) / 3 + 1).to_string(),
        "J" => p
            .number
            .map_or_else(|| julian(p.year, p.month, p.day), |day| i64::from(day) + 2_440_588)
            .to_string(),
        "CC" => {
            let century = match (p.number, p.year) {
                (None, year) => year / 100,
                (_, year @ 1..) => (year - 1) / 100 + 1,
                (_, year) => year / 100 - 1,
            };
            number(century, 2)
        }
        "Y,YYY" => format!("{},{:03}", year / 1000, year % 1000),
        "YYYY" => number(year, 4),
        "YYY" => number(year % 1000, 3),
        "YY" => number(year % 100, 2),
        "Y" => (year % 10).to_string(),
        "IYYY" => number(iso_year(day_number(p)?), 4),
        "IYY" => number(iso_year(day_number(p)?) % 1000, 3),
        "IY" => number(iso_year(day_number(p)?) % 100, 2),
        "I" => (iso_year(day_number(p)?) % 10).to_string(),
        _ => return Ok(None),
    }))
}

/// The Julian day of a year, month and day that need not be a date's.
fn julian(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year + 4800, month + 1) } else { (year + 4799, month + 13) };
    let century = year / 100;
    year * 365 - 32_167 + year / 4 - century + century / 4 + 7834 * month / 256 + day
}
