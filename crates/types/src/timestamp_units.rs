//! TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS and TIMESTAMPTZ_NS: timestamps that keep to another unit than microseconds.
//!
//! Seconds and milliseconds are held in microseconds, as TIMESTAMP is, and are rounded to their unit wherever a value
//! is made: they compare with each other and with TIMESTAMP as they are. Nanoseconds are held as such, from 1677 to
//! 2262. The largest and the smallest integer are the infinite moments in each of them. Everything that is not said
//! here goes through the type of microseconds, `in_microseconds`: functions take it in their place, and other casts
//! pass by it.

use crate::{Error, Result, SqlState, Type, Value, Zone, datetime, zone};

/// Nanoseconds of a microsecond.
const NANOS_PER_MICRO: i128 = 1000;

impl Type {
    /// Whether the type is a timestamp of another unit than microseconds.
    pub fn is_timestamp_of_unit(self) -> bool {
        matches!(self, Type::TimestampS | Type::TimestampMs | Type::TimestampNs | Type::TimestampTzNs)
    }
    /// TIMESTAMP or TIMESTAMPTZ for a timestamp of another unit; other types as they are.
    pub fn in_microseconds(self) -> Type {
        match self {
            Type::TimestampS | Type::TimestampMs | Type::TimestampNs => Type::Timestamp,
            Type::TimestampTzNs => Type::TimestampTz,
            other => other,
        }
    }
    /// Nanoseconds of the unit to which a timestamp is rounded; `None` for other types.
    fn unit_nanos(self) -> Option<i64> {
        Some(match self {
            Type::TimestampS => 1_000_000_000,
            Type::TimestampMs => 1_000_000,
            Type::Timestamp | Type::TimestampTz => 1000,
            Type::TimestampNs | Type::TimestampTzNs => 1,
            _ => return None,
        })
    }
    /// Nanoseconds of the unit to which timestamps without a zone are rounded; `None` for other types.
    pub fn timestamp_unit_nanos(self) -> Option<i64> {
        self.unit_nanos().filter(|_| self.in_microseconds() == Type::Timestamp)
    }
}

/// What an integer that holds a timestamp of the type counts, in nanoseconds.
fn held_nanos(ty: Type) -> i128 {
    if ty.unit_nanos() == Some(1) { 1 } else { NANOS_PER_MICRO }
}

/// The integer that holds in `to` the moment that `held` is in `from`, both timestamps without a zone or both with one,
/// rounded to the unit of `to`, a half up; `None` where `to` does not reach so far.
pub fn converted(held: i64, from: Type, to: Type) -> Option<i64> {
    if datetime::is_infinite(held) || from == to {
        return Some(held);
    }
    let unit = i128::from(to.unit_nanos()?);
    let nanos = i128::from(held) * held_nanos(from);
    let rounded = (nanos + unit / 2).div_euclid(unit) * unit;
    i64::try_from(rounded / held_nanos(to)).ok().filter(|held| !datetime::is_infinite(*held))
}

/// Casts from or to one of these types, by way of microseconds where the other one has another zone or none; `again`
/// casts those.
pub(crate) fn cast(
    value: &Value,
    from: Type,
    to: Type,
    again: fn(&Value, Type, Type) -> Result<Value>,
) -> Result<Value> {
    let (near, far) = (from.in_microseconds(), to.in_microseconds());
    if let (Some(held), true) = (value.as_i64(), near != far && held_nanos(from) + held_nanos(to) == 2)
        && to.unit_nanos().is_some()
        && !datetime::is_infinite(held)
    {
        // What is below a microsecond is the same in every zone.
        let there = again(&Value::I64(held.div_euclid(1000)), near, far)?.as_i64();
        let nanos = there.and_then(|micros| micros.checked_mul(1000)?.checked_add(held.rem_euclid(1000)));
        return nanos.map(Value::I64).ok_or_else(|| Error::out_of_range(&to));
    }
    if near != far {
        let micros = if from == near { value.clone() } else { cast(value, from, near, again)? };
        let there = again(&micros, near, far)?;
        return if to == far { Ok(there) } else { cast(&there, far, to, again) };
    }
    in_unit(value, from, to)
}

/// Casts between timestamps that both have a zone or none.
fn in_unit(value: &Value, from: Type, to: Type) -> Result<Value> {
    match value.as_i64() {
        None => Ok(Value::Null),
        Some(held) => converted(held, from, to).map(Value::I64).ok_or_else(|| {
            let message = format!("{} is out of range for type {to}", value.display(from));
            Error::new(SqlState::DatetimeFieldOverflow, message)
                .with_hint("nanoseconds reach from 1677-09-21 to 2262-04-11")
        }),
    }
}

/// Reads a timestamp as `read` reads that of microseconds; of nanoseconds nine digits behind the point are kept, more are
/// cut.
pub(crate) fn parse(text: &str, to: Type, read: fn(&str, Type) -> Result<Value>) -> Result<Value> {
    let (short, nanos) = match to.unit_nanos() {
        Some(1) => split_nanos(text),
        _ => (None, 0),
    };
    let plain = to.in_microseconds();
    let micros = read(short.as_deref().unwrap_or(text), plain)?;
    let whole = in_unit(&micros, plain, to)?;
    match whole.as_i64() {
        Some(held) if nanos > 0 && !datetime::is_infinite(held) => {
            held.checked_add(nanos).map(Value::I64).ok_or_else(|| Error::out_of_range(&to))
        }
        _ => Ok(whole),
    }
}

/// A text whose time has more than six digits behind the point without those, and what the next three say.
fn split_nanos(text: &str) -> (Option<String>, i64) {
    let Some(point) = text.rfind(':').and_then(|colon| Some(colon + text[colon..].find('.')?)) else {
        // An offset may have a colon as well; the point stands before it.
        return match text.rfind('.').filter(|point| text[..*point].contains(':')) {
            Some(point) => split_at_point(text, point),
            None => (None, 0),
        };
    };
    split_at_point(text, point)
}

/// As `split_nanos`, the place of the point being known.
pub(crate) fn split_at_point(text: &str, point: usize) -> (Option<String>, i64) {
    let digits = text[point + 1..].bytes().take_while(u8::is_ascii_digit).count();
    if digits <= 6 {
        return (None, 0);
    }
    let (kept, rest) = text.split_at(point + 7);
    let nanos: String = rest[..digits - 6].chars().chain("00".chars()).take(3).collect();
    (Some(format!("{kept}{}", &rest[digits - 6..])), nanos.parse().unwrap_or(0))
}

/// The text of nanoseconds since 1970.
pub(crate) fn format(nanos: i64) -> String {
    if datetime::is_infinite(nanos) {
        return datetime::format_timestamp(nanos);
    }
    let mut text = datetime::format_timestamp(nanos.div_euclid(1000));
    push_nanos(&mut text, nanos.rem_euclid(1000));
    text
}

/// Appends the nanoseconds below a microsecond to a time of day that ends in at most six digits behind the point.
pub(crate) fn push_nanos(text: &mut String, rest: i64) {
    if rest > 0 {
        let digits = text.rfind('.').map_or(0, |point| text.len() - point - 1);
        if digits == 0 {
            text.push('.');
        }
        text.push_str(&"000000"[digits..]);
        text.push_str(std::format!("{rest:03}").trim_end_matches('0'));
    }
}

/// The text of nanoseconds since 1970 in UTC, as a clock in the zone shows them, with its offset.
pub(crate) fn format_in_zone(nanos: i64, zone: Zone) -> String {
    let micros = nanos.div_euclid(1000);
    let local =
        zone.local(micros).and_then(|local| local.checked_mul(1000)?.checked_add(nanos.rem_euclid(1000)));
    match local {
        Some(local) if !datetime::is_infinite(nanos) => {
            let mut text = format(local);
            zone::push_offset(&mut text, zone.offset_at(micros), false);
            text
        }
        _ => format(nanos),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast;

    #[test]
    fn nanoseconds_are_read_and_shown() {
        for text in [
            "1992-01-01 12:03:27.123456789",
            "1992-01-01 12:03:27.00000001",
            "1969-12-31 23:59:59.999999999",
            "2262-04-11 23:47:16.854775806",
            "1992-01-01 12:03:27.5",
            "1992-01-01 00:00:00",
            "infinity",
            "-infinity",
        ] {
            let value = cast::parse_text(text, Type::TimestampNs).unwrap();
            assert_eq!(value.display(Type::TimestampNs), text);
        }
        let shown = |text: &str, ty: Type| cast::parse_text(text, ty).unwrap().display(ty);
        assert_eq!(
            shown("1992-01-01 12:03:27.1234567899+00:00", Type::TimestampNs),
            "1992-01-01 12:03:27.123456789"
        );
        assert_eq!(shown("1992-01-01 12:03:27.5", Type::TimestampS), "1992-01-01 12:03:28");
        assert_eq!(shown("1969-12-31 23:59:58.4", Type::TimestampS), "1969-12-31 23:59:58");
        assert_eq!(shown("1992-01-01 12:03:27.1235", Type::TimestampMs), "1992-01-01 12:03:27.124");
        assert!(cast::parse_text("2500-01-01", Type::TimestampNs).is_err());
        let instant = cast::parse_text("1992-01-01 12:03:27.123456789+05:30", Type::TimestampTzNs).unwrap();
        assert_eq!(instant.display(Type::TimestampTzNs), "1992-01-01 06:33:27.123456789+00");
        let named = Zone::named("Asia/Kolkata").unwrap();
        zone::within(named, || {
            assert_eq!(instant.display(Type::TimestampTzNs), "1992-01-01 12:03:27.123456789+05:30");
        });
    }

    #[test]
    fn units_are_rounded_once() {
        let nanos = cast::parse_text("1992-01-01 12:03:27.499999999", Type::TimestampNs).unwrap();
        let in_unit = |to: Type| cast::cast_value(&nanos, Type::TimestampNs, to).unwrap().display(to);
        assert_eq!(in_unit(Type::TimestampS), "1992-01-01 12:03:27");
        assert_eq!(in_unit(Type::Timestamp), "1992-01-01 12:03:27.5");
        assert_eq!(in_unit(Type::Date), "1992-01-01");
        assert_eq!(in_unit(Type::Time), "12:03:27.5");
        assert_eq!(in_unit(Type::Text), "1992-01-01 12:03:27.499999999");
    }
}
