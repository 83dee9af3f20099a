//! Reading intervals: PostgreSQL's verbose form, ISO 8601 (`P1Y2M3DT4H5M6S`) and the SQL standard's (`1-2 3 4:05:06`).
//!
//! A literal's fields (`DAY TO HOUR`) say what a number without a unit counts, and which parts are kept. `cast` reads
//! values here, without fields, and the binder reads literals. The parts are summed up in 128 bits (`Sum`) and
//! checked once at the end, so that an intermediate sum cannot overflow. Each unit may occur once, as in PostgreSQL.

use crate::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::interval::Interval;

/// The fields that an interval literal may name, from the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Twelve months.
    Year,
    /// A month, of no fixed length.
    Month,
    /// A day, of no fixed length where clocks change.
    Day,
    /// 3,600 seconds.
    Hour,
    /// 60 seconds.
    Minute,
    /// A second.
    Second,
}

/// The restriction `first TO last`; one field stands for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The largest field.
    pub first: Unit,
    /// The smallest field, in which a number without a unit is counted.
    pub last: Unit,
}

impl Fields {
    /// The interval without the parts smaller than the last field; larger ones are kept, as in PostgreSQL.
    pub fn restricted(self, interval: Interval) -> Interval {
        let cut = |unit: i64| interval.micros - interval.micros % unit;
        let Interval { months, days, micros } = interval;
        match self.last {
            Unit::Year => Interval::new(months - months % 12, 0, 0),
            Unit::Month => Interval::new(months, 0, 0),
            Unit::Day => Interval::new(months, days, 0),
            Unit::Hour => Interval::new(months, days, cut(3600 * MICROS_PER_SECOND)),
            Unit::Minute => Interval::new(months, days, cut(60 * MICROS_PER_SECOND)),
            Unit::Second => Interval::new(months, days, micros),
        }
    }
}

/// Reads an interval; `None` when the text has no known form or a part is out of range.
pub fn parse(text: &str, fields: Option<Fields>) -> Option<Interval> {
    let text = text.trim();
    let mut sum = Sum::default();
    if text.starts_with(['P', 'p']) && text.len() > 1 {
        sum.iso(&text[1..])?;
    } else {
        sum.words(text, fields)?;
    }
    let interval = sum.interval()?;
    Some(fields.map_or(interval, |f| f.restricted(interval)))
}

/// Months, days and microseconds as they are added up.
#[derive(Default)]
struct Sum {
    months: i128,
    days: i128,
    micros: i128,
    /// The units that were named, by their places in `named`.
    seen: u16,
}

/// A number as its sign, whole part and fraction.
#[derive(Clone, Copy)]
struct Number {
    whole: i128,
    fraction: f64,
}

impl Number {
    /// The number that the text begins with, and what follows it.
    fn read(text: &str) -> Option<(Number, &str)> {
        let (negative, body) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let digits = |t: &str| t.bytes().take_while(u8::is_ascii_digit).count();
        let count = digits(body);
        if count > 19 {
            return None;
        }
        let whole: i128 = if count == 0 { 0 } else { body[..count].parse().ok()? };
        let mut rest = &body[count..];
        let mut fraction = 0.0;
        let mut places = 0;
        if let Some(after) = rest.strip_prefix('.') {
            places = digits(after);
            if places > 0 {
                fraction = format!("0.{}", &after[..places]).parse().ok()?;
            }
            rest = &after[places..];
        }
        if count == 0 && places == 0 {
            return None;
        }
        let number = match negative {
            true => Number { whole: -whole, fraction: -fraction },
            false => Number { whole, fraction },
        };
        Some((number, rest))
    }
}

impl Sum {
    fn interval(&self) -> Option<Interval> {
        Some(Interval {
            months: i32::try_from(self.months).ok()?,
            days: i32::try_from(self.days).ok()?,
            micros: i64::try_from(self.micros).ok()?,
        })
    }
    fn years(&mut self, n: Number, years: i128) {
        self.months += n.whole * years * 12 + (n.fraction * (years * 12) as f64).round_ties_even() as i128;
    }
    fn months(&mut self, n: Number) {
        self.months += n.whole;
        self.fraction_of_days(n.fraction * 30.0);
    }
    fn days(&mut self, n: Number, days: i128) {
        self.days += n.whole * days;
        self.fraction_of_days(n.fraction * days as f64);
    }
    fn fraction_of_days(&mut self, days: f64) {
        // What a fraction lacks of a whole day in its last digits is noise of its own.
        let whole = days.round();
        let days = if (days - whole).abs() < 1e-12 { whole } else { days };
        self.days += days.trunc() as i128;
        self.micros += (days.fract() * MICROS_PER_DAY as f64).round_ties_even() as i128;
    }
    fn time(&mut self, n: Number, unit: i64) {
        self.micros += n.whole * i128::from(unit) + (n.fraction * unit as f64).round_ties_even() as i128;
    }
    fn unit(&mut self, n: Number, unit: Unit) {
        match unit {
            Unit::Year => self.years(n, 1),
            Unit::Month => self.months(n),
            Unit::Day => self.days(n, 1),
            Unit::Hour => self.time(n, 3600 * MICROS_PER_SECOND),
            Unit::Minute => self.time(n, 60 * MICROS_PER_SECOND),
            Unit::Second => self.time(n, MICROS_PER_SECOND),
        }
    }
    /// Adds so many of a unit, which may stand once.
    fn named(&mut self, n: Number, name: &str) -> Option<()> {
        let place = match name.to_ascii_lowercase().as_str() {
            "mil" | "mils" | "millennium" | "millennia" | "millenniums" => {
                self.years(n, 1000);
                0
            }
            "c" | "cent" | "century" | "centuries" => {
                self.years(n, 100);
                1
            }
            "dec" | "decs" | "decade" | "decades" => {
                self.years(n, 10);
                2
            }
            "y" | "yr" | "yrs" | "year" | "years" => {
                self.years(n, 1);
                3
            }
            "quarter" | "quarters" => {
                self.months(Number { whole: n.whole * 3, fraction: n.fraction * 3.0 });
                4
            }
            "mon" | "mons" | "month" | "months" => {
                self.months(n);
                5
            }
            "w" | "week" | "weeks" => {
                self.days(n, 7);
                6
            }
            "d" | "day" | "days" => {
                self.days(n, 1);
                7
            }
            "h" | "hr" | "hrs" | "hour" | "hours" => {
                self.unit(n, Unit::Hour);
                8
            }
            "m" | "min" | "mins" | "minute" | "minutes" => {
                self.unit(n, Unit::Minute);
                9
            }
            "s" | "sec" | "secs" | "second" | "seconds" => {
                self.unit(n, Unit::Second);
                10
            }
            "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" | "millisecon" => {
                self.time(n, 1000);
                11
            }
            "us" | "usec" | "usecs" | "microsecond" | "microseconds" | "microsecon" => {
                self.time(n, 1);
                12
            }
            _ => return None,
        };
        self.once(1 << place)
    }

    /// Units that were there before are an error, as in PostgreSQL.
    fn once(&mut self, units: u16) -> Option<()> {
        let again = self.seen & units != 0;
        self.seen |= units;
        (!again).then_some(())
    }

    /// `[sign]hh:mm[:ss[.f]]`, or `mm:ss.f`.
    fn clock(&mut self, text: &str, fields: Option<Fields>) -> Option<()> {
        // Hours, minutes and seconds.
        self.once(0b111 << 8)?;
        let (negative, body) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let parts: Vec<&str> = body.split(':').collect();
        let whole = |t: &str| match !t.is_empty() && t.len() < 16 && t.bytes().all(|b| b.is_ascii_digit()) {
            true => t.parse::<i128>().ok(),
            false => None,
        };
        let seconds = |t: &str| match t.starts_with(|c: char| c.is_ascii_digit()) {
            true => Number::read(t).filter(|(_, rest)| rest.is_empty()).map(|(n, _)| n),
            false => None,
        };
        let minutes_and_seconds = |t: &str| {
            let by_fields = fields == Some(Fields { first: Unit::Minute, last: Unit::Second });
            t.contains('.') || by_fields
        };
        let zero = Number { whole: 0, fraction: 0.0 };
        let (hour, minute, second) = match parts.as_slice() {
            [minute, second] if minutes_and_seconds(second) => (0, whole(minute)?, seconds(second)?),
            [hour, ""] => (whole(hour)?, 0, zero),
            [hour, minute] => (whole(hour)?, whole(minute)?, zero),
            [hour, minute, second] => (whole(hour)?, whole(minute)?, seconds(second)?),
            _ => return None,
        };
        if minute > 59 || second.whole > 60 {
            return None;
        }
        let mut time = Sum::default();
        time.time(second, MICROS_PER_SECOND);
        time.micros += (hour * 3600 + minute * 60) * i128::from(MICROS_PER_SECOND);
        self.micros += if negative { -time.micros } else { time.micros };
        Some(())
    }

    fn words(&mut self, text: &str, fields: Option<Fields>) -> Option<()> {
        let tokens: Vec<&str> =
            text.split(|c: char| c.is_whitespace() || c == ',').filter(|t| !t.is_empty()).collect();
        let mut at = 0;
        let (mut any, mut ago) = (false, false);
        while at < tokens.len() {
            let token = tokens[at];
            at += 1;
            if token == "@" && !any {
                continue;
            }
            if token.eq_ignore_ascii_case("ago") && any {
                ago = true;
                continue;
            }
            any = true;
            if token.contains(':') {
                // `1:30hours` is none.
                self.clock(token, fields)?;
                continue;
            }
            // A sign may stand apart from its number.
            let joined;
            let token = match token {
                "-" | "+" if at < tokens.len() => {
                    joined = format!("{token}{}", tokens[at]);
                    at += 1;
                    if joined.contains(':') {
                        self.clock(&joined, fields)?;
                        continue;
                    }
                    joined.as_str()
                }
                token => token,
            };
            let (number, rest) = Number::read(token)?;
            if let Some(months) = rest.strip_prefix('-') {
                self.years_and_months(token, number, months)?;
                continue;
            }
            let next = tokens.get(at).copied();
            let name = match rest {
                "" => next.filter(|n| n.starts_with(|c: char| c.is_ascii_alphabetic())),
                glued => Some(glued),
            };
            match name {
                Some(name) if !name.eq_ignore_ascii_case("ago") => {
                    // `1h30m`: the next number is glued on.
                    let letters = name.bytes().take_while(u8::is_ascii_alphabetic).count();
                    self.named(number, &name[..letters])?;
                    if rest.is_empty() {
                        at += 1;
                    }
                    self.glued(&name[letters..])?;
                }
                _ => {
                    let unit = match (fields, next) {
                        // The days before a clock's reading.
                        (_, Some(next)) if next.contains(':') => Unit::Day,
                        // The days before the hours, `1 2`: no other number has a unit of its place alone.
                        (Some(f), Some(next))
                            if f.last == Unit::Hour
                                && at + 1 == tokens.len()
                                && next.bytes().all(|b| b.is_ascii_digit()) =>
                        {
                            Unit::Day
                        }
                        (_, Some(next)) if !next.eq_ignore_ascii_case("ago") => return None,
                        (Some(f), _) => f.last,
                        (None, _) => Unit::Second,
                    };
                    self.unit(number, unit);
                }
            }
        }
        if ago {
            (self.months, self.days, self.micros) = (-self.months, -self.days, -self.micros);
        }
        any.then_some(())
    }

    /// What follows a unit without a blank: `1h30m`.
    fn glued(&mut self, mut text: &str) -> Option<()> {
        while !text.is_empty() {
            let (number, rest) = Number::read(text)?;
            let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            self.named(number, &rest[..letters])?;
            text = &rest[letters..];
        }
        Some(())
    }

    /// `1-2`: the sign is that of both.
    fn years_and_months(&mut self, token: &str, years: Number, months: &str) -> Option<()> {
        let (month, rest) = Number::read(months)?;
        if !rest.is_empty()
            || years.fraction != 0.0
            || month.fraction != 0.0
            || !(0..12).contains(&month.whole)
        {
            return None;
        }
        self.years(years, 1);
        self.months += if token.starts_with('-') { -month.whole } else { month.whole };
        Some(())
    }

    fn iso(&mut self, text: &str) -> Option<()> {
        let (date, time) = match text.split_once(['T', 't']) {
            Some((date, time)) => (date, Some(time)),
            None => (text, None),
        };
        // The alternative form, `P0001-02-03T04:05:06`.
        let parts: Vec<&str> = date.split('-').collect();
        if parts.len() == 3 && parts.iter().all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit())) {
            let of = |t: &str| Number::read(t).map(|(number, _)| number);
            self.years(of(parts[0])?, 1);
            self.months(of(parts[1])?);
            self.days(of(parts[2])?, 1);
        } else {
            let mut rest = date;
            while !rest.is_empty() {
                let (number, after) = Number::read(rest)?;
                match after.as_bytes().first()? {
                    b'Y' | b'y' => self.years(number, 1),
                    b'M' | b'm' => self.months(number),
                    b'W' | b'w' => self.days(number, 7),
                    b'D' | b'd' => self.days(number, 1),
                    _ => return None,
                }
                rest = &after[1..];
            }
        }
        let Some(time) = time else { return Some(()) };
        if time.contains(':') {
            return self.clock(time, None);
        }
        let mut rest = time;
        while !rest.is_empty() {
            let (number, after) = Number::read(rest)?;
            match after.as_bytes().first()? {
                b'H' | b'h' => self.unit(number, Unit::Hour),
                b'M' | b'm' => self.unit(number, Unit::Minute),
                b'S' | b's' => self.unit(number, Unit::Second),
                _ => return None,
            }
            rest = &after[1..];
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = MICROS_PER_SECOND;
    const MINUTE: i64 = 60 * SECOND;
    const HOUR: i64 = 60 * MINUTE;

    #[test]
    fn forms_of_postgresql() {
        let clock = 4 * HOUR + 5 * MINUTE + 6 * SECOND;
        for (text, months, days, micros) in [
            ("1 year 2 months", 14, 0, 0),
            ("1 month 2 days", 1, 2, 0),
            ("3 days 04:05:06.7", 0, 3, clock + 700_000),
            ("1 day -00:00:01", 0, 1, -SECOND),
            ("1-2 3 4:05:06", 14, 3, clock),
            ("P1Y2M3DT4H5M6.7S", 14, 3, clock + 700_000),
            ("P0001-02-03T04:05:06", 14, 3, clock),
            ("P2W", 0, 14, 0),
            ("@ 1 week ago", 0, -7, 0),
            ("1 day ago 2 hours", 0, -1, -2 * HOUR),
            ("1.5 months", 1, 15, 0),
            ("1.5 years", 18, 0, 0),
            ("1.5 days", 0, 1, 12 * HOUR),
            ("36 hours", 0, 0, 36 * HOUR),
            ("90", 0, 0, 90 * SECOND),
            ("12:34.5", 0, 0, 12 * MINUTE + 34 * SECOND + 500_000),
            ("1h30m", 0, 0, 90 * MINUTE),
            ("-1-2", -14, 0, 0),
            ("0.1 month", 0, 3, 0),
        ] {
            assert_eq!(parse(text, None), Some(Interval::new(months, days, micros)), "{text}");
        }
    }

    #[test]
    fn other_texts_are_none() {
        let digits = "9".repeat(30);
        let exponents = "1e".repeat(100_000);
        for text in [
            "",
            "P",
            "-",
            "@",
            "ago",
            "nonsense",
            "1 fortnight",
            "1-12",
            "1:60",
            "1 2",
            "1 -2",
            "é",
            "1é",
            "Pé",
            "1 day é",
            "2147483648 months",
            "2562047788:01:00",
            &exponents,
            &format!("{digits} years"),
            &format!("P{digits}-01-01"),
            &format!("{}:00", digits),
        ] {
            assert_eq!(parse(text, None), None, "{text}");
        }
    }

    #[test]
    fn fields_say_what_numbers_count() {
        let read = |text, first, last| parse(text, Some(Fields { first, last }));
        for (text, first, last, months, days, micros) in [
            ("1 2", Unit::Day, Unit::Hour, 0, 1, 2 * HOUR),
            ("1 2:03", Unit::Day, Unit::Minute, 0, 1, 2 * HOUR + 3 * MINUTE),
            ("1:2", Unit::Minute, Unit::Second, 0, 0, MINUTE + 2 * SECOND),
            ("1.7", Unit::Hour, Unit::Hour, 0, 0, HOUR),
            ("3", Unit::Month, Unit::Month, 3, 0, 0),
        ] {
            assert_eq!(read(text, first, last), Some(Interval::new(months, days, micros)), "{text}");
        }
        assert_eq!(read("1 2 3", Unit::Day, Unit::Minute), None);
        assert_eq!(read("1 2", Unit::Day, Unit::Second), None);
    }
}
