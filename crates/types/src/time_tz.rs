//! TIME WITH TIME ZONE: the reading of a clock, and the clock's offset from Greenwich.
//!
//! A value is packed into 64 bits, `utc * 2^18 + (west + 2^17)` with the microseconds since midnight in Greenwich and
//! the seconds that the zone lies west: integers are then in PostgreSQL's order, by the moment and then by the zone,
//! and equal values have equal bits.

use crate::date_text::{self, Fault};
use crate::datetime::{self, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::interval::Interval;
use crate::zone::{self, Zone};
use crate::{Error, Result, SqlState, Value};

/// Bits of the zone in the packed form, and what is added to seconds west so that they are not negative.
const ZONE_BITS: u32 = 18;
const ZONE_MIDDLE: i64 = 1 << (ZONE_BITS - 1);

/// A TIME WITH TIME ZONE taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeTz {
    /// Microseconds since midnight on the clock.
    pub micros: i64,
    /// Seconds east of Greenwich.
    pub east: i32,
}

/// Microseconds since 1970.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

impl TimeTz {
    /// Microseconds since midnight in Greenwich; below 0 and above a day where the zone is on another day.
    pub fn utc(self) -> i64 {
        self.micros - i64::from(self.east) * MICROS_PER_SECOND
    }
    /// The integer that holds the time: see the head of the file.
    pub fn packed(self) -> i64 {
        self.utc() << ZONE_BITS | (ZONE_MIDDLE - i64::from(self.east))
    }
    /// The time that an integer holds; the inverse of `packed`.
    pub fn of_packed(packed: i64) -> TimeTz {
        let east = ZONE_MIDDLE - (packed & ((1 << ZONE_BITS) - 1));
        let micros = (packed >> ZONE_BITS) + east * MICROS_PER_SECOND;
        TimeTz { micros, east: east as i32 }
    }
    /// The time that a value of type TIMETZ holds; midnight in Greenwich for NULL.
    pub fn of_value(value: &Value) -> TimeTz {
        TimeTz::of_packed(value.as_i64().unwrap_or(ZONE_MIDDLE))
    }
    /// The value of type TIMETZ.
    pub fn value(self) -> Value {
        Value::I64(self.packed())
    }
    /// A clock's reading, with the offset that the zone has at the time of the call.
    pub fn in_zone_now(micros: i64, zone: Zone) -> TimeTz {
        TimeTz { micros, east: zone.offset_at(now()) }
    }
    /// What a clock in that zone shows at an instant; `None` for infinite instants and out of range.
    pub fn of_instant(instant: i64, zone: Zone) -> Option<TimeTz> {
        let local = zone.local(instant).filter(|local| !datetime::is_infinite(*local))?;
        Some(TimeTz { micros: local.rem_euclid(MICROS_PER_DAY), east: zone.offset_at(instant) })
    }
    /// The same moment on a clock in another zone, with the offset that the zone has at the time of the call.
    pub fn at_zone(self, zone: Zone) -> TimeTz {
        let east = zone.offset_at(now());
        let micros = self.utc() + i64::from(east) * MICROS_PER_SECOND;
        TimeTz { micros: micros.rem_euclid(MICROS_PER_DAY), east }
    }
    /// The clock moved by an interval's time, modulo a day; the interval's days and months are ignored.
    pub fn moved(self, interval: Interval) -> TimeTz {
        let moved = self.micros + interval.micros % MICROS_PER_DAY;
        TimeTz { micros: moved.rem_euclid(MICROS_PER_DAY), ..self }
    }
    /// The instant of that time on a day, infinite for an infinite day; an error when timestamps do not reach so far.
    pub fn on(self, day: i32) -> Result<i64> {
        let instant = datetime::midnight(day).and_then(|midnight| match datetime::is_infinite(midnight) {
            true => Some(midnight),
            false => midnight.checked_add(self.utc()),
        });
        instant.ok_or_else(|| Error::new(SqlState::DatetimeFieldOverflow, "timestamp out of range"))
    }
    /// Reads a time with an offset or a zone's abbreviation. Without one it gets the current zone's offset of today;
    /// with a date in front, the offset of that date. A zone such as `Europe/Berlin` needs a date.
    pub fn parse(text: &str) -> std::result::Result<TimeTz, Fault> {
        let text = text.trim();
        // With a date, a zone may be one whose offset the date decides.
        if let Some((local, zone)) = datetime::parse_timestamp_and_zone(text)
            && text.contains(':')
        {
            let zone = zone.unwrap_or_else(zone::current);
            let instant = zone.instant(local).ok_or(Fault::Range)?;
            return TimeTz::of_instant(instant, zone).ok_or(Fault::Range);
        }
        let time = |text: &str| match datetime::parse_time(text) {
            Some(micros) => Ok(micros),
            None => date_text::time(text),
        };
        let split = text.rfind(['+', '-']).map(|at| text.split_at(at));
        let split = split.or_else(|| text.strip_suffix(['z', 'Z']).map(|head| (head, "Z")));
        let split = split.or_else(|| text.rsplit_once(char::is_whitespace));
        if let Some((head, tail)) = split
            && let Some(zone) = Zone::parse(tail)
        {
            if matches!(zone, Zone::Named(_)) && tail.contains('/') {
                // Which offset it has is a date's to say.
                return Err(Fault::Form);
            }
            return Ok(TimeTz::in_zone_now(time(head)?, zone));
        }
        Ok(TimeTz::in_zone_now(time(text)?, zone::current()))
    }
}

impl std::fmt::Display for TimeTz {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = datetime::format_time(self.micros);
        zone::push_offset(&mut text, self.east, false);
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_shown_again_and_in_order() {
        let texts =
            ["00:00:00+15:59", "04:05:06.789+05:30", "04:05:06+00", "04:05:06-08", "24:00:00-15:59:59"];
        let read: Vec<TimeTz> = texts.iter().map(|text| TimeTz::parse(text).unwrap()).collect();
        for (text, time) in texts.iter().zip(&read) {
            assert_eq!(time.to_string(), *text);
            assert_eq!(TimeTz::of_packed(time.packed()), *time);
        }
        assert!(read.windows(2).all(|pair| pair[0].packed() < pair[1].packed()));
        // One moment: the zone further east is less.
        let (berlin, utc) = (TimeTz::parse("05:00+01").unwrap(), TimeTz::parse("04:00Z").unwrap());
        assert!(berlin.packed() < utc.packed() && berlin.utc() == utc.utc());
        for wrong in ["", "x", "25:00+00", "04:05+17", "04:05 Europe/Berlin"] {
            assert!(TimeTz::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(TimeTz::parse("2024-07-01 04:05 Europe/Berlin").unwrap().to_string(), "04:05:00+02");
        let later = Interval::new(1, 1, -5 * 3600 * MICROS_PER_SECOND);
        assert_eq!(TimeTz::parse("04:05+02").unwrap().moved(later).to_string(), "23:05:00+02");
    }
}
