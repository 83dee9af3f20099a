//! Moments from text, by PostgreSQL's templates (`to_date`, `to_timestamp`) and by C's (`strptime`).
//!
//! Both readers walk template and text together and fill a `Read`: the fields found so far, with defaults for the
//! others. `moment` then checks the fields and gives microseconds since 1970 in UTC; without a zone in the text they
//! count as UTC. A field out of its range is an error. Text that does not follow a template of C's gives `None`,
//! which the caller makes an error or NULL.

use types::datetime::{self, MICROS_PER_SECOND};
use types::{Error, Result, SqlState, Zone};

use super::time::calendar::date_of;
use super::time_format::{DAYS, MONTHS};
use super::{invalid, refuse};

/// What was read so far.
struct Read {
    year: i64,
    month: i64,
    day: i64,
    day_of_year: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    afternoon: Option<bool>,
    zone: Zone,
}

impl Read {
    fn new() -> Self {
        Read {
            year: 1,
            month: 1,
            day: 1,
            day_of_year: None,
            hour: 0,
            minute: 0,
            second: 0,
            micros: 0,
            afternoon: None,
            zone: Zone::Utc,
        }
    }
    fn moment(&self) -> Result<i64> {
        let day = match self.day_of_year {
            Some(day) => date_of(self.year, 1, 1)? + day as i32 - 1,
            None => date_of(self.year, self.month, self.day)?,
        };
        let hour = match self.afternoon {
            Some(_) if !(1..=12).contains(&self.hour) => {
                return Err(refuse(
                    SqlState::InvalidDatetimeFormat,
                    format!("hour \"{}\" is invalid for the 12-hour clock", self.hour),
                ));
            }
            Some(afternoon) => self.hour % 12 + if afternoon { 12 } else { 0 },
            None => self.hour,
        };
        if !(0..24).contains(&hour) || !(0..60).contains(&self.minute) || !(0..60).contains(&self.second) {
            return Err(refuse(SqlState::DatetimeFieldOverflow, "date/time field value out of range"));
        }
        let seconds = hour * 3600 + self.minute * 60 + self.second;
        let local = datetime::moment(day, seconds * MICROS_PER_SECOND + self.micros);
        let beyond = || refuse(SqlState::DatetimeFieldOverflow, "timestamp out of range");
        local.and_then(|local| self.zone.instant(local)).and_then(datetime::finite).ok_or_else(beyond)
    }
}

/// At most `width` digits at the beginning, with a sign where one is allowed.
fn digits(text: &str, width: usize) -> Option<(i64, usize, &str)> {
    let count = text.bytes().take(width).take_while(u8::is_ascii_digit).count();
    if count == 0 {
        return None;
    }
    Some((text[..count].parse().ok()?, count, &text[count..]))
}

/// Which of the words the text begins with, the whole or its first three letters.
fn word<'t>(text: &'t str, words: &[&str], whole: bool) -> Option<(usize, &'t str)> {
    words.iter().enumerate().find_map(|(at, word)| {
        let wanted = if whole { word } else { &word[..3] };
        let found = text.get(..wanted.len()).filter(|t| t.eq_ignore_ascii_case(wanted))?;
        Some((at, &text[found.len()..]))
    })
}

fn half_day(text: &str) -> Option<(bool, &str)> {
    let letters = text.get(..2)?;
    if letters.eq_ignore_ascii_case("am") || letters.eq_ignore_ascii_case("pm") {
        return Some((letters.starts_with(['p', 'P']), &text[2..]));
    }
    let dotted = text.get(..4)?;
    (dotted.eq_ignore_ascii_case("a.m.") || dotted.eq_ignore_ascii_case("p.m."))
        .then(|| (dotted.starts_with(['p', 'P']), &text[4..]))
}

fn fraction(text: &str, width: usize) -> Option<(i64, &str)> {
    let (value, count, rest) = digits(text, width)?;
    let micros =
        if count <= 6 { value * 10i64.pow(6 - count as u32) } else { value / 10i64.pow(count as u32 - 6) };
    Some((micros, rest))
}

/// Years of two digits lie around the turn of the century.
fn full_year(year: i64, digits: usize) -> i64 {
    match digits {
        1 | 2 if year < 70 => 2000 + year,
        1 | 2 => 1900 + year,
        3 if year < 520 => 2000 + year,
        3 => 1000 + year,
        _ => year,
    }
}

/// `to_timestamp(text, template)`. Separators of text and template need not be the same.
pub(super) fn by_template(text: &str, template: &str) -> Result<i64> {
    let upper = template.to_uppercase();
    let mut read = Read::new();
    let mut rest = text.trim_start();
    let mut pattern = upper.as_str();
    let wrong = |what: &str, rest: &str| -> Error {
        refuse(
            SqlState::InvalidDatetimeFormat,
            format!("invalid value \"{}\" for \"{what}\"", rest.chars().take(10).collect::<String>()),
        )
        .with_hint("the text does not fit the template")
    };
    while !pattern.is_empty() {
        const NAMES: [&str; 19] = [
            "YYYY", "YYY", "YY", "MONTH", "MON", "MM", "DDD", "DD", "DAY", "DY", "HH24", "HH12", "HH", "MI",
            "SS", "MS", "US", "AM", "PM",
        ];
        if let Some(after) = pattern.strip_prefix("FM") {
            pattern = after;
            continue;
        }
        let Some(name) = NAMES.into_iter().find(|name| pattern.starts_with(name)) else {
            // A separator, which any other may stand for.
            let mut characters = pattern.chars();
            let wanted = characters.next().unwrap_or(' ');
            pattern = characters.as_str();
            if wanted.is_alphanumeric() && wanted != 'T' {
                return Err(invalid(format!("the pattern \"{wanted}\" is not supported in a template")));
            }
            if let Some(c) = rest.chars().next()
                && (!c.is_alphanumeric() || (wanted == 'T' && c.eq_ignore_ascii_case(&'t')))
            {
                rest = &rest[c.len_utf8()..];
            }
            continue;
        };
        pattern = &pattern[name.len()..];
        rest = rest.trim_start();
        // Before another number, a number has the pattern's width.
        let tight = pattern.starts_with(|c: char| c.is_ascii_alphabetic());
        let number = |width: usize| {
            digits(rest, if tight { width } else { width.max(10) }).ok_or_else(|| wrong(name, rest))
        };
        let mut set = |value: &mut i64, width: usize| -> Result<()> {
            let (read, _, after) = number(width)?;
            *value = read;
            rest = after;
            Ok(())
        };
        match name {
            "YYYY" | "YYY" | "YY" => {
                let (year, count, after) = number(name.len())?;
                read.year = if name == "YYYY" && count >= 4 { year } else { full_year(year, count) };
                rest = after;
            }
            "MM" => set(&mut read.month, 2)?,
            "DD" => set(&mut read.day, 2)?,
            "HH24" => set(&mut read.hour, 2)?,
            "MI" => set(&mut read.minute, 2)?,
            "SS" => set(&mut read.second, 2)?,
            "HH12" | "HH" => {
                set(&mut read.hour, 2)?;
                read.afternoon.get_or_insert(false);
            }
            "DDD" => {
                let (day, _, after) = number(3)?;
                (read.day_of_year, rest) = (Some(day), after);
            }
            "MONTH" | "MON" => {
                let found = word(rest, &MONTHS, true).or_else(|| word(rest, &MONTHS, false));
                let (at, after) = found.ok_or_else(|| wrong(name, rest))?;
                (read.month, rest) = (at as i64 + 1, after);
            }
            "DAY" | "DY" => {
                let found = word(rest, &DAYS, true).or_else(|| word(rest, &DAYS, false));
                rest = found.ok_or_else(|| wrong(name, rest))?.1;
            }
            "MS" | "US" => {
                let width = if name == "MS" { 3 } else { 6 };
                (read.micros, rest) = fraction(rest, width).ok_or_else(|| wrong(name, rest))?;
            }
            _ => {
                let (afternoon, after) = half_day(rest).ok_or_else(|| wrong(name, rest))?;
                (read.afternoon, rest) = (Some(afternoon), after);
            }
        }
    }
    read.moment()
}

/// Digits of a fraction of a second that a specifier reads.
fn digits_of(specifier: char) -> usize {
    match specifier {
        'g' => 3,
        'f' => 6,
        _ => 9,
    }
}

/// The format with what stands for several specifiers written out.
fn written_out(format: &str) -> String {
    let mut out = String::with_capacity(format.len());
    let mut characters = format.chars();
    while let Some(c) = characters.next() {
        match (c, if c == '%' { characters.next() } else { None }) {
            ('%', Some('c')) => out.push_str("%Y-%m-%d %H:%M:%S"),
            ('%', Some('x' | 'F')) => out.push_str("%Y-%m-%d"),
            ('%', Some('X' | 'T')) => out.push_str("%H:%M:%S"),
            (c, next) => out.extend([Some(c), next].into_iter().flatten()),
        }
    }
    out
}

/// A week of a year, as `strptime` reads one. What is read of it counts only where no day does.
#[derive(Default)]
struct Week {
    /// `%U`, `%W`: from the first Sunday or Monday of the year on, with 0 before it.
    from_sunday: Option<i64>,
    from_monday: Option<i64>,
    /// `%V` of `%G`: by ISO 8601.
    iso: Option<i64>,
    iso_year: Option<i64>,
    /// `%w` from Sunday as 0, `%u` from Monday as 1.
    weekday: Option<i64>,
    iso_weekday: Option<i64>,
}

impl Week {
    fn is_read(&self) -> bool {
        [self.from_sunday, self.from_monday, self.iso, self.iso_year].iter().any(Option::is_some)
    }
    /// Takes a number that was read; `false` where it fits neither its range nor what was read before.
    fn take(&mut self, kind: char, number: i64, year: bool, day: bool, day_of_year: bool) -> bool {
        let alone = day || !(self.from_sunday.is_some() || self.from_monday.is_some() || day_of_year);
        let (place, range, fits) = match kind {
            'U' => {
                let fits = day || !(self.is_read() || day_of_year);
                (&mut self.from_sunday, 0..=53, fits)
            }
            'W' => {
                let fits = day || !(self.is_read() || day_of_year);
                (&mut self.from_monday, 0..=53, fits)
            }
            'V' => (&mut self.iso, 1..=53, alone && (day || !year)),
            // The year that was read counts.
            'G' if year => return alone,
            'G' => (&mut self.iso_year, 0..=9999, alone),
            'w' => (&mut self.weekday, 0..=6, true),
            _ => (&mut self.iso_weekday, 1..=7, true),
        };
        *place = Some(number);
        fits && range.contains(&number)
    }
    /// The day, since 1970.
    fn day(&self, year: i64) -> Result<Option<i64>> {
        let year = if self.from_sunday.is_some() || self.from_monday.is_some() {
            year
        } else {
            self.iso_year.unwrap_or(year)
        };
        let first = i64::from(date_of(year, 1, 1)?);
        // 1970 began with a Thursday.
        let weekday = (first + 4).rem_euclid(7);
        Ok(if let Some(week) = self.from_sunday {
            Some(first + (7 - weekday) % 7 + (week - 1) * 7 + self.weekday.unwrap_or(0))
        } else if let Some(week) = self.from_monday {
            let from_monday = (self.weekday.unwrap_or(1) + 6) % 7;
            Some(first + (8 - weekday) % 7 + (week - 1) * 7 + from_monday)
        } else if self.iso.is_some() || self.iso_year.is_some() {
            // The week of the fourth of January.
            let monday = first + 3 - (weekday + 3 + 6) % 7;
            Some(monday + (self.iso.unwrap_or(1) - 1) * 7 + self.iso_weekday.unwrap_or(1) - 1)
        } else {
            None
        })
    }
}

/// `strptime(text, format)`; `None` where the text does not fit the format.
pub(super) fn strptime(text: &str, format: &str) -> Result<Option<i64>> {
    let mut reading = Reading::new();
    let mut rest = text.trim();
    let format = written_out(format);
    let mut pattern = format.chars();
    while let Some(c) = pattern.next() {
        if c.is_whitespace() {
            rest = rest.trim_start();
            continue;
        }
        if c != '%' {
            match rest.strip_prefix(c) {
                Some(after) => rest = after,
                None => return Ok(None),
            }
            continue;
        }
        let mut kind = pattern.next();
        if kind == Some('-') {
            kind = pattern.next();
        }
        let fits = match reading.number(kind, &mut rest) {
            Some(fits) => fits,
            None => reading.word(kind, &mut rest)?,
        };
        if !fits {
            return Ok(None);
        }
    }
    if rest.trim().is_empty() { Ok(reading.moment()) } else { Ok(None) }
}

/// What strptime has read so far.
struct Reading {
    read: Read,
    week: Week,
    day_is_read: bool,
    /// No year was read.
    year_of_epoch: bool,
    /// Seconds since 1970, which say everything.
    seconds: Option<i64>,
}

/// Takes what was found from the beginning of the text.
fn taken<'t, T>(found: Option<(T, &'t str)>, rest: &mut &'t str) -> Option<T> {
    let (value, after) = found?;
    *rest = after;
    Some(value)
}

/// One of these words, written out or cut short.
fn any_word<'t>(text: &'t str, words: &[&str]) -> Option<(usize, &'t str)> {
    word(text, words, true).or_else(|| word(text, words, false))
}

impl Reading {
    fn new() -> Self {
        let (week, year_of_epoch) = (Week::default(), true);
        Reading { read: Read::new(), week, day_is_read: false, year_of_epoch, seconds: None }
    }

    /// Reads by a specifier of digits: whether the text fits; `None` for other specifiers.
    fn number(&mut self, kind: Option<char>, rest: &mut &str) -> Option<bool> {
        let (read, week) = (&mut self.read, &mut self.week);
        let mut number = |value: &mut i64, width: usize| match digits(rest, width) {
            Some((read, _, after)) => {
                *value = read;
                *rest = after;
                true
            }
            None => false,
        };
        Some(match kind? {
            'Y' => {
                self.year_of_epoch = false;
                (week.iso, week.iso_year) = (None, None);
                number(&mut read.year, 4)
            }
            'y' => {
                let fits = number(&mut read.year, 2);
                read.year += if read.year < 69 { 2000 } else { 1900 };
                self.year_of_epoch = false;
                (week.iso, week.iso_year) = (None, None);
                fits
            }
            'm' => {
                self.day_is_read = true;
                number(&mut read.month, 2)
            }
            'd' => {
                self.day_is_read = true;
                number(&mut read.day, 2)
            }
            kind @ ('U' | 'W' | 'V' | 'G' | 'u' | 'w') => {
                let mut value = 0;
                let width = match kind {
                    'G' => 4,
                    'u' | 'w' => 1,
                    _ => 2,
                };
                let of_year = read.day_of_year.is_some();
                number(&mut value, width)
                    && week.take(kind, value, !self.year_of_epoch, self.day_is_read, of_year)
            }
            'H' => number(&mut read.hour, 2),
            'I' => {
                read.afternoon.get_or_insert(false);
                number(&mut read.hour, 2)
            }
            'M' => number(&mut read.minute, 2),
            'S' => number(&mut read.second, 2),
            'j' => {
                let mut day = 0;
                let fits = number(&mut day, 3);
                read.day_of_year = Some(day);
                fits && (1..=366).contains(&day) && (self.day_is_read || !week.is_read())
            }
            's' => {
                let mut value = 0;
                let fits = number(&mut value, 18);
                self.seconds = Some(value);
                fits
            }
            _ => return None,
        })
    }

    /// Reads by any other specifier: whether the text fits.
    fn word(&mut self, kind: Option<char>, rest: &mut &str) -> Result<bool> {
        let read = &mut self.read;
        Ok(match kind {
            // More digits than it has are not its own.
            Some(part @ ('f' | 'n' | 'g')) => {
                taken(fraction(rest, digits_of(part)), rest).map(|micros| read.micros = micros).is_some()
            }
            Some('p') => {
                taken(half_day(rest), rest).map(|afternoon| read.afternoon = Some(afternoon)).is_some()
            }
            Some('b' | 'h' | 'B') => {
                let month = taken(any_word(rest, &MONTHS), rest);
                self.day_is_read |= month.is_some();
                month.map(|at| read.month = at as i64 + 1).is_some()
            }
            Some('a' | 'A') => taken(any_word(rest, &DAYS), rest).is_some(),
            Some('z') => taken(zone(rest), rest).map(|zone| read.zone = zone).is_some(),
            Some('Z') => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                let zone = Zone::parse(&rest[..end]).map(|zone| (zone, &rest[end..]));
                taken(zone, rest).map(|zone| read.zone = zone).is_some()
            }
            Some('%') => taken(rest.strip_prefix('%').map(|after| ((), after)), rest).is_some(),
            other => {
                let shown = other.map_or_else(String::new, String::from);
                let error = invalid(format!("unknown format specifier \"%{shown}\""));
                return Err(error.with_hint("%Y, %m, %d, %j, %H, %M, %S, %f and %z are some that are read"));
            }
        })
    }

    /// The moment that was read; `None` where there is none of these fields.
    fn moment(mut self) -> Option<i64> {
        if let Some(seconds) = self.seconds {
            return Some(seconds * MICROS_PER_SECOND);
        }
        if self.year_of_epoch {
            // Without a year it is 1900, as in C.
            self.read.year = 1900;
        }
        if !self.day_is_read
            && self.read.day_of_year.is_none()
            && let Some(day) = self.week.day(self.read.year).ok()?
        {
            // Counted from the year's first day, which may be a day of the year before or after.
            let first = date_of(self.read.year, 1, 1).ok()?;
            self.read.day_of_year = Some(day - i64::from(first) + 1);
        }
        self.read.moment().ok()
    }
}

/// `+hh`, `+hhmm`, `+hh:mm` or `Z`.
fn zone(text: &str) -> Option<(Zone, &str)> {
    if let Some(after) = text.strip_prefix(['Z', 'z']) {
        return Some((Zone::Utc, after));
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, _, rest) = digits(text.strip_prefix(['+', '-'])?, 2)?;
    let (minutes, rest) = match digits(rest.strip_prefix(':').unwrap_or(rest), 2) {
        Some((minutes, _, rest)) => (minutes, rest),
        None => (0, rest),
    };
    Some((Zone::Fixed(i32::try_from(sign * (hours * 60 + minutes) * 60).ok()?), rest))
}
