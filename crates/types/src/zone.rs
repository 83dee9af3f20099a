//! Time zones: conversion between instants and the readings of a local clock.
//!
//! Instants and readings are microseconds since 1970-01-01 00:00:00, of UTC and of the wall. The IANA database comes
//! with the crate `chrono-tz`, so every machine answers alike. A reading that a clock skips (a gap) is read with the
//! offset from before, so it is moved on by the gap's length; one that it shows twice (a fold) is the second time,
//! which is standard time where summer time ends. PostgreSQL does both so, and DuckDB.
//!
//! The zone of a session stands in a thread's scope while a statement is bound or a result is printed (`within`);
//! elsewhere it is UTC. Plans name their zone, so that workers need none.

use std::cell::Cell;

use chrono::{DateTime, Datelike, Offset, TimeZone};
use chrono_tz::{OffsetComponents, OffsetName, TZ_VARIANTS, Tz};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil, is_leap};
use crate::{Error, Result, SqlState, names};

/// The last year whose rules the database's tables hold; later years repeat.
const TABLE_YEAR_MAX: i32 = 2099;
/// Offsets from UTC are less than 16 hours.
const OFFSET_SECONDS_MAX: i32 = 16 * 3600;

/// A time zone; the default is UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Zone {
    #[default]
    /// Coordinated universal time.
    Utc,
    /// Seconds east of Greenwich.
    Fixed(i32),
    /// A zone of the IANA database.
    Named(Tz),
}

/// By its name, which `parse` reads.
impl Serialize for Zone {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Zone::parse(&name).ok_or_else(|| serde::de::Error::custom("an unknown time zone"))
    }
}

/// Abbreviations that are no names of the database, with hours east of Greenwich, as PostgreSQL reads them.
const ABBREVIATIONS: [(&str, i32); 12] = [
    ("ADT", -3),
    ("AST", -4),
    ("EDT", -4),
    ("CDT", -5),
    ("CST", -6),
    ("MDT", -6),
    ("PDT", -7),
    ("PST", -8),
    ("BST", 1),
    ("CEST", 2),
    ("EEST", 3),
    ("JST", 9),
];

thread_local! {
    static CURRENT: Cell<Zone> = const { Cell::new(Zone::Utc) };
}

/// The zone in which this thread reads and prints instants: that of the innermost `within`, else UTC.
pub fn current() -> Zone {
    CURRENT.get()
}

/// Runs `work` with `zone` as this thread's current one, and restores the one before, also on a panic.
pub fn within<T>(zone: Zone, work: impl FnOnce() -> T) -> T {
    struct Before(Zone);
    impl Drop for Before {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _before = Before(CURRENT.replace(zone));
    work()
}

impl Zone {
    /// Reads a name of the database in any case, an abbreviation, or an offset such as `+05:30`, which is east of
    /// Greenwich. `None` for anything else.
    pub fn parse(text: &str) -> Option<Zone> {
        let text = text.trim();
        if text.is_empty() || text.len() > 64 {
            return None;
        }
        if ["z", "utc", "gmt", "zulu", "etc/utc"].iter().any(|name| text.eq_ignore_ascii_case(name)) {
            return Some(Zone::Utc);
        }
        if text.starts_with(['+', '-']) {
            return parse_offset(text)
                .map(|seconds| if seconds == 0 { Zone::Utc } else { Zone::Fixed(seconds) });
        }
        if let Ok(zone) = text.parse::<Tz>() {
            return Some(Zone::Named(zone));
        }
        if let Some(zone) = TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(text)) {
            return Some(Zone::Named(*zone));
        }
        let known = ABBREVIATIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        known.map(|(_, hours)| Zone::Fixed(hours * 3600))
    }

    /// As `parse`, with an error for an unknown zone that suggests a similar name.
    pub fn named(text: &str) -> Result<Zone> {
        Zone::parse(text).ok_or_else(|| {
            let shown: String = text.chars().take(80).collect();
            let error = Error::new(
                SqlState::InvalidParameterValue,
                format!("time zone \"{shown}\" not recognized"),
            );
            // A city without its continent is a common mistake.
            let city = |name: &'static str| name.rsplit_once('/').map_or(name, |(_, city)| city);
            let wanted = shown.trim().replace(' ', "_");
            let all = || TZ_VARIANTS.iter().map(|zone| zone.name());
            let of_city = all().find(|name| name.contains('/') && city(name).eq_ignore_ascii_case(&wanted));
            match of_city.or_else(|| names::nearest(&wanted, all())) {
                Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                None => error.with_hint(
                    "zones are written as \"Europe/Berlin\", \"UTC\" or \"+05:30\"; SELECT * FROM quickstep_time_zones() lists them",
                ),
            }
        })
    }

    /// Every name of the database, in order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TZ_VARIANTS.iter().map(|zone| zone.name())
    }

    /// `UTC`, an offset such as `+05:30`, or the name in the database; `parse` reads each of them.
    pub fn name(self) -> String {
        match self {
            Zone::Utc => "UTC".into(),
            Zone::Fixed(seconds) => {
                let mut text = String::new();
                push_offset(&mut text, seconds, true);
                text
            }
            Zone::Named(zone) => zone.name().into(),
        }
    }

    /// Seconds east of Greenwich at that instant.
    pub fn offset_at(self, instant: i64) -> i32 {
        match self {
            Zone::Utc => 0,
            Zone::Fixed(seconds) => seconds,
            Zone::Named(zone) => {
                let at = moment(instant);
                zone.offset_from_utc_datetime(&at.naive_utc()).fix().local_minus_utc()
            }
        }
    }

    /// The abbreviation of the zone's time at that instant, such as `CEST`, or the offset if it has none.
    pub fn abbreviation(self, instant: i64) -> String {
        match self {
            Zone::Utc => "UTC".into(),
            Zone::Fixed(_) => self.name(),
            Zone::Named(zone) => {
                let at = moment(instant);
                let offset = zone.offset_from_utc_datetime(&at.naive_utc());
                match offset.abbreviation() {
                    Some(name) if !name.starts_with(['+', '-']) => name.to_owned(),
                    _ => Zone::Fixed(offset.fix().local_minus_utc()).name(),
                }
            }
        }
    }

    /// Whether summer time (daylight saving) is in force at that instant.
    pub fn is_summer_time(self, instant: i64) -> bool {
        match self {
            Zone::Named(zone) => {
                !zone.offset_from_utc_datetime(&moment(instant).naive_utc()).dst_offset().is_zero()
            }
            _ => false,
        }
    }

    /// What the clock shows at that instant; `None` beyond the range of timestamps.
    pub fn local(self, instant: i64) -> Option<i64> {
        match self {
            Zone::Utc => Some(instant),
            _ if crate::calendar::is_infinite(instant) => Some(instant),
            zone => instant.checked_add(i64::from(zone.offset_at(instant)) * MICROS_PER_SECOND),
        }
    }

    /// The instant at which the clock shows `local`; `None` out of range. The head of the file says how gaps and
    /// folds are read.
    pub fn instant(self, local: i64) -> Option<i64> {
        let micros = |seconds: i32| i64::from(seconds) * MICROS_PER_SECOND;
        match self {
            Zone::Utc => Some(local),
            _ if crate::calendar::is_infinite(local) => Some(local),
            Zone::Fixed(seconds) => local.checked_sub(micros(seconds)),
            Zone::Named(_) => {
                // No zone has two changes within two days, and no offset is a day.
                let before = self.offset_at(local.checked_sub(MICROS_PER_DAY)?);
                let after = self.offset_at(local.checked_add(MICROS_PER_DAY)?);
                let later = local.checked_sub(micros(after))?;
                if before == after || self.offset_at(later) == after {
                    return Some(later);
                }
                // The change has not come yet at this reading, or it lies in the gap.
                local.checked_sub(micros(before))
            }
        }
    }

    /// The same reading of the clock so many days later, moved on only if it falls into a gap; `None` out of range.
    pub fn plus_days(self, instant: i64, days: i64) -> Option<i64> {
        if days == 0 {
            return Some(instant);
        }
        let moved = self.local(instant)?.checked_add(days.checked_mul(MICROS_PER_DAY)?)?;
        self.instant(moved)
    }

    /// The same reading of the clock so many months later, the day clamped to the month's last; `None` out of range.
    pub fn plus_months(self, instant: i64, months: i32) -> Option<i64> {
        if months == 0 {
            return Some(instant);
        }
        self.instant(crate::calendar::timestamp_add_months(self.local(instant)?, months)?)
    }
}

/// The instant as the tables of zones take it: in years after theirs, the same day of a year with the same calendar.
fn moment(instant: i64) -> DateTime<chrono::Utc> {
    /// After 400 years the calendar and its weekdays repeat; timestamps reach further than `chrono`.
    const CYCLE: i64 = 146_097 * MICROS_PER_DAY;
    let late = i64::from(days_from_civil(TABLE_YEAR_MAX + 1, 1, 1)) * MICROS_PER_DAY;
    let instant = if instant >= late { late + (instant - late) % CYCLE } else { instant };
    let at = |micros: i64| DateTime::from_timestamp(micros.div_euclid(MICROS_PER_SECOND), 0);
    let bound = if instant < 0 { DateTime::<chrono::Utc>::MIN_UTC } else { DateTime::<chrono::Utc>::MAX_UTC };
    let moment = at(instant).unwrap_or(bound);
    let year = moment.year();
    if year <= TABLE_YEAR_MAX {
        return moment;
    }
    let first = |year: i32| days_from_civil(year, 1, 1);
    let alike = (TABLE_YEAR_MAX - 27..=TABLE_YEAR_MAX)
        .find(|y| is_leap(*y) == is_leap(year) && (first(year) - first(*y)) % 7 == 0);
    let Some(alike) = alike else { return moment };
    at(instant - i64::from(first(year) - first(alike)) * MICROS_PER_DAY).unwrap_or(moment)
}

/// Reads `+hh`, `+hhmm`, `+hh:mm` or `+hh:mm:ss` as seconds east of Greenwich; `None` for other forms, and from 16
/// hours.
pub fn parse_offset(text: &str) -> Option<i32> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let number = |t: &str| {
        let digits = !t.is_empty() && t.len() <= 2 && t.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| t.parse::<i32>().ok()).flatten()
    };
    let mut parts = rest.split(':');
    let (hours, minutes, seconds) = match (parts.next()?, parts.next(), parts.next(), parts.next()) {
        (together, None, None, None) if together.len() == 4 && together.is_ascii() => {
            (number(&together[..2])?, number(&together[2..])?, 0)
        }
        (hours, None, None, None) => (number(hours)?, 0, 0),
        (hours, Some(minutes), None, None) => (number(hours)?, number(minutes)?, 0),
        (hours, Some(minutes), Some(seconds), None) => (number(hours)?, number(minutes)?, number(seconds)?),
        _ => return None,
    };
    let total = hours * 3600 + minutes * 60 + seconds;
    (minutes < 60 && seconds < 60 && total < OFFSET_SECONDS_MAX).then_some(sign * total)
}

/// Appends an offset in seconds as `+02`, `+05:30` or `-00:19:32`; zero minutes are written only if `minutes` asks.
pub fn push_offset(text: &mut String, seconds: i32, minutes: bool) {
    let size = seconds.abs();
    text.push(if seconds < 0 { '-' } else { '+' });
    text.push_str(&format!("{:02}", size / 3600));
    if minutes || size % 3600 != 0 {
        text.push_str(&format!(":{:02}", size / 60 % 60));
    }
    if size % 60 != 0 {
        text.push_str(&format!(":{:02}", size % 60));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datetime::{format_timestamp, parse_timestamp};

    fn shown(zone: &str, local: &str) -> String {
        let zone = Zone::parse(zone).unwrap();
        format_timestamp(zone.instant(parse_timestamp(local).unwrap()).unwrap())
    }

    #[test]
    fn gaps_move_on_and_folds_are_standard_time() {
        // 02:00 to 03:00 is skipped; 01:00 to 02:00 comes twice.
        assert_eq!(shown("America/New_York", "2024-03-10 01:59:59"), "2024-03-10 06:59:59");
        assert_eq!(shown("America/New_York", "2024-03-10 02:30:00"), "2024-03-10 07:30:00");
        assert_eq!(shown("America/New_York", "2024-03-10 03:00:00"), "2024-03-10 07:00:00");
        assert_eq!(shown("America/New_York", "2024-11-03 00:59:59"), "2024-11-03 04:59:59");
        assert_eq!(shown("America/New_York", "2024-11-03 01:30:00"), "2024-11-03 06:30:00");
        assert_eq!(shown("America/New_York", "2024-11-03 02:00:00"), "2024-11-03 07:00:00");
        // Half an hour of summer time, and a day that did not exist at all.
        assert_eq!(shown("Australia/Lord_Howe", "2024-10-06 02:15:00"), "2024-10-05 15:45:00");
        assert_eq!(shown("Pacific/Apia", "2011-12-30 12:00:00"), "2011-12-30 22:00:00");
        assert_eq!(shown("europe/berlin", "2024-10-27 02:30:00"), "2024-10-27 01:30:00");
        assert_eq!(shown("Asia/Kathmandu", "2024-01-01 00:00:00"), "2023-12-31 18:15:00");
    }

    #[test]
    fn years_after_the_tables_have_the_last_rules() {
        assert_eq!(shown("Europe/Berlin", "2400-07-01 12:00:00"), "2400-07-01 10:00:00");
        assert_eq!(shown("Europe/Berlin", "2101-01-01 12:00:00"), "2101-01-01 11:00:00");
        assert_eq!(shown("America/New_York", "9999-07-01 12:00:00"), "9999-07-01 16:00:00");
        // 294246-06-01 and -12-31, beyond the years of the library that has the tables.
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        let offset = |seconds: i64| berlin.offset_at(seconds * MICROS_PER_SECOND);
        assert_eq!((offset(9_223_352_755_200), offset(9_223_371_158_400)), (7200, 3600));
        // As in 2066, whose calendar 2150 has: the last Sunday of March is the 29th.
        assert_eq!(shown("Europe/Berlin", "2150-03-29 03:30:00"), "2150-03-29 01:30:00");
        assert_eq!(shown("Europe/Berlin", "2150-03-29 01:30:00"), "2150-03-29 00:30:00");
    }

    #[test]
    fn readings_come_back_unless_the_clock_skips_them() {
        for name in
            ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Tehran", "Africa/Casablanca"]
        {
            let zone = Zone::parse(name).unwrap();
            for hour in 0..(60 * 366 * 24) {
                let instant = hour * 3600 * MICROS_PER_SECOND + 7 * 60 * MICROS_PER_SECOND;
                let local = zone.local(instant).unwrap();
                let back = zone.instant(local).unwrap();
                assert_eq!(zone.local(back), Some(local), "{name} {}", format_timestamp(instant));
                assert!(back == instant || zone.offset_at(instant) > zone.offset_at(back), "{name}");
            }
        }
    }

    #[test]
    fn names_are_checked() {
        let hint = |text: &str| Zone::named(text).unwrap_err().hint().unwrap_or_default().to_owned();
        assert_eq!(hint("Europe/Berln"), "did you mean \"Europe/Berlin\"?");
        assert_eq!(hint("new york"), "did you mean \"America/New_York\"?");
        assert!(hint("nowhere at all").starts_with("zones are written"));
        assert_eq!(Zone::parse("+05:30"), Some(Zone::Fixed(19_800)));
        assert_eq!(Zone::parse("-0330").map(Zone::name), Some("-03:30".into()));
        assert_eq!(Zone::parse("pst"), Some(Zone::Fixed(-28_800)));
        for wrong in ["", "+", "+99", "+1:99", "+12:30:00:00", "Europe/", "+é1:00"] {
            assert_eq!(Zone::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_scope_ends() {
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        within(berlin, || {
            assert_eq!(current(), berlin);
            within(Zone::Utc, || assert_eq!(current(), Zone::Utc));
            assert_eq!(current(), berlin);
        });
        assert_eq!(current(), Zone::Utc);
    }
}
