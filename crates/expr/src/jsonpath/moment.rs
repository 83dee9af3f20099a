//! Dates, times and timestamps that `.datetime()` reads, in ISO's forms, and how they compare.
//!
//! Date and timestamp compare, each with its own kind too; what has a zone and what has none compare only where the
//! caller gives a zone (the functions ending in `_tz`), and otherwise are an error. Times and dates do not compare.

use std::cmp::Ordering;

use types::time_tz::TimeTz;
use types::{Error, Result, SqlState, Zone, datetime, zone};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Moment {
    /// Days from 1970-01-01.
    Date(i32),
    /// Microseconds from midnight.
    Time(i64),
    TimeTz(TimeTz),
    /// Microseconds from 1970-01-01.
    Stamp(i64),
    /// Microseconds from 1970-01-01 in UTC, and the zone it was written in.
    Zoned(i64, Zone),
}

fn is_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(t, f)| if f == b'0' { t.is_ascii_digit() } else { t == f })
}

/// Whether a text is `HH:MI:SS` with a fraction and, behind it, a zone such as `+01`, `+01:30`; the zone's place.
fn time_form(text: &str) -> Option<usize> {
    let head = text.get(..8)?;
    if !is_form(head, "00:00:00") {
        return None;
    }
    let mut end = 8;
    if text[end..].starts_with('.') {
        let digits = text[end + 1..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return None;
        }
        end += 1 + digits;
    }
    let zone = &text[end..];
    let sized = zone.is_empty() || is_zone(zone);
    sized.then_some(end)
}

fn is_zone(zone: &str) -> bool {
    let Some(digits) = zone.strip_prefix(['+', '-']) else { return false };
    is_form(digits, "00") || is_form(digits, "00:00")
}

impl Moment {
    /// Reads a text of one of ISO's forms.
    pub fn read(text: &str) -> Option<Moment> {
        if is_form(text, "0000-00-00") {
            return datetime::parse_date(text).map(Moment::Date);
        }
        if let Some(end) = time_form(text) {
            return match text.len() == end {
                true => datetime::parse_time(text).map(Moment::Time),
                false => TimeTz::parse(text).ok().map(Moment::TimeTz),
            };
        }
        let (day, time) = (text.get(..10)?, text.get(11..)?);
        if !is_form(day, "0000-00-00") || !matches!(text.as_bytes()[10], b' ' | b'T') {
            return None;
        }
        let end = time_form(time)?;
        let written = format!("{day} {time}");
        match (end == time.len(), datetime::parse_timestamp_and_zone(&written)?) {
            (true, (micros, _)) => Some(Moment::Stamp(micros)),
            (false, (_, zone)) => Some(Moment::Zoned(datetime::parse_timestamptz(&written)?, zone?)),
        }
    }

    /// The type's name, as `.type()` says it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Moment::Date(_) => "date",
            Moment::Time(_) => "time without time zone",
            Moment::TimeTz(_) => "time with time zone",
            Moment::Stamp(_) => "timestamp without time zone",
            Moment::Zoned(..) => "timestamp with time zone",
        }
    }

    /// As ISO writes it, with `T` between day and time, which JSON's texts of moments have.
    pub fn shown(&self) -> String {
        // A zone of full hours is written with its minutes, too.
        let zoned = |mut shown: String, seconds: i32| {
            zone::push_offset(&mut shown, seconds, true);
            shown
        };
        let stamp = |micros: i64| datetime::format_timestamp(micros).replacen(' ', "T", 1);
        match self {
            Moment::Date(days) => datetime::format_date(*days),
            Moment::Time(micros) => datetime::format_time(*micros),
            Moment::TimeTz(time) => zoned(datetime::format_time(time.micros), time.east),
            Moment::Stamp(micros) => stamp(*micros),
            Moment::Zoned(micros, zone) => {
                let local = zone.local(*micros).unwrap_or(*micros);
                zoned(stamp(local), zone.offset_at(*micros))
            }
        }
    }

    /// How two compare; `None` where they never do.
    pub fn compare(&self, other: &Moment, in_zone: Option<Zone>) -> Result<Option<Ordering>> {
        use Moment as M;
        let needed = || in_zone.ok_or_else(|| self.without_zone(other));
        let instant = |local: i64, zone: Zone| zone.instant(local).unwrap_or(local);
        let midnight = |days: i32| i64::from(days).saturating_mul(DAY);
        let by_time = |a: &TimeTz, b: &TimeTz| (a.utc(), a.packed()).cmp(&(b.utc(), b.packed()));
        Ok(Some(match (self, other) {
            (M::Date(a), M::Date(b)) => a.cmp(b),
            (M::Stamp(a), M::Stamp(b)) | (M::Zoned(a, _), M::Zoned(b, _)) | (M::Time(a), M::Time(b)) => {
                a.cmp(b)
            }
            (M::Date(a), M::Stamp(b)) => midnight(*a).cmp(b),
            (M::Stamp(a), M::Date(b)) => a.cmp(&midnight(*b)),
            (M::Date(a), M::Zoned(b, _)) => instant(midnight(*a), needed()?).cmp(b),
            (M::Zoned(a, _), M::Date(b)) => a.cmp(&instant(midnight(*b), needed()?)),
            (M::Stamp(a), M::Zoned(b, _)) => instant(*a, needed()?).cmp(b),
            (M::Zoned(a, _), M::Stamp(b)) => a.cmp(&instant(*b, needed()?)),
            (M::TimeTz(a), M::TimeTz(b)) => by_time(a, b),
            (M::Time(a), M::TimeTz(b)) => by_time(&TimeTz::in_zone_now(*a, needed()?), b),
            (M::TimeTz(a), M::Time(b)) => by_time(a, &TimeTz::in_zone_now(*b, needed()?)),
            _ => return Ok(None),
        }))
    }

    fn without_zone(&self, other: &Moment) -> Error {
        let zoned = |m: &Moment| matches!(m, Moment::TimeTz(_) | Moment::Zoned(..));
        let short = |m: &Moment| {
            m.type_name()
                .replace(" without time zone", "")
                .replace("timestamp with time zone", "timestamptz")
                .replace("time with time zone", "timetz")
        };
        let (from, to) = if zoned(self) { (other, self) } else { (self, other) };
        let message =
            format!("cannot convert value from {} to {} without time zone usage", short(from), short(to));
        Error::new(SqlState::FeatureNotSupported, message)
            .with_hint("Use *_tz() function for time zone support.")
    }
}
