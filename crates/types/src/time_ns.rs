//! TIME_NS: a time of day in nanoseconds, from 00:00:00 to 24:00:00.
//!
//! A value is the nanoseconds since midnight in 64 bits. Everything that is not said here goes through TIME: functions
//! and operators take it rounded to microseconds, a half up, as they take TIMESTAMP_NS.

use crate::{Error, Result, Type, Value, datetime, timestamp_units};

/// Nanoseconds of a microsecond.
const NANOS_PER_MICRO: i64 = 1000;
/// Nanoseconds of a day.
const NANOS_PER_DAY: i64 = datetime::MICROS_PER_DAY * NANOS_PER_MICRO;

/// The microseconds nearest to a time of day in nanoseconds, a half up.
pub fn in_microseconds(nanos: i64) -> i64 {
    nanos.saturating_add(NANOS_PER_MICRO / 2).div_euclid(NANOS_PER_MICRO)
}

/// Whether the integer is a time of day.
pub fn is_time(nanos: i64) -> bool {
    (0..=NANOS_PER_DAY).contains(&nanos)
}

/// Reads a time as `read` reads TIME; nine digits behind the point are kept, more are cut.
pub(crate) fn parse(text: &str, read: fn(&str, Type) -> Result<Value>) -> Result<Value> {
    let point = text.rfind('.').filter(|point| text[..*point].contains(':'));
    let (short, nanos) = point.map_or((None, 0), |point| timestamp_units::split_at_point(text, point));
    let micros = read(short.as_deref().unwrap_or(text), Type::Time)?.as_i64().unwrap_or(0);
    let nanos = micros * NANOS_PER_MICRO + nanos;
    if is_time(nanos) { Ok(Value::I64(nanos)) } else { Err(Error::out_of_range(&Type::TimeNs)) }
}

/// The text of a time of day.
pub(crate) fn format(nanos: i64) -> String {
    let mut text = datetime::format_time(nanos.div_euclid(NANOS_PER_MICRO));
    timestamp_units::push_nanos(&mut text, nanos.rem_euclid(NANOS_PER_MICRO));
    text
}

/// Casts from or to TIME_NS: from and to TIMESTAMP_NS exactly, else by way of TIME, which `again` casts.
pub(crate) fn cast(
    value: &Value,
    from: Type,
    to: Type,
    again: fn(&Value, Type, Type) -> Result<Value>,
) -> Result<Value> {
    let held = value.as_i64().unwrap_or(0);
    match (from, to) {
        (Type::TimeNs, Type::Time) => Ok(Value::I64(in_microseconds(held))),
        (Type::Time, Type::TimeNs) => Ok(Value::I64(held.saturating_mul(NANOS_PER_MICRO))),
        (Type::TimestampNs, Type::TimeNs) if !datetime::is_infinite(held) => {
            Ok(Value::I64(held.rem_euclid(NANOS_PER_DAY)))
        }
        (Type::TimeNs, _) => again(&Value::I64(in_microseconds(held)), Type::Time, to),
        _ => match again(value, from, Type::Time)?.as_i64() {
            Some(micros) => Ok(Value::I64(micros.saturating_mul(NANOS_PER_MICRO))),
            None => Ok(Value::Null),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast;

    #[test]
    fn nanoseconds_are_read_shown_and_rounded() {
        for text in ["00:00:00", "12:03:27.123456789", "24:00:00", "01:02:03.5", "01:02:03.000000001"] {
            assert_eq!(parse(text, cast::parse_text).unwrap().display(Type::TimeNs), text);
        }
        assert_eq!(
            parse("12:00:00.1234567891", cast::parse_text).unwrap().display(Type::TimeNs),
            "12:00:00.123456789"
        );
        assert!(
            parse("24:00:00.000000001", cast::parse_text).is_err()
                && parse("25:00:00", cast::parse_text).is_err()
        );
        let nanos = parse("12:00:00.1234565", cast::parse_text).unwrap();
        let micros = cast(&nanos, Type::TimeNs, Type::Time, cast::cast_value).unwrap();
        assert_eq!(micros.display(Type::Time), "12:00:00.123457");
        assert_eq!(
            cast(&micros, Type::Time, Type::TimeNs, cast::cast_value).unwrap().display(Type::TimeNs),
            "12:00:00.123457"
        );
    }
}
