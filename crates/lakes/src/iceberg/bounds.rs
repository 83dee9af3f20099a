//! Values in metadata: bounds in bytes, partitions' values, defaults in JSON.
//!
//! Bounds may be shortened texts, of which the greatest is rounded up. A column that was widened has bounds as narrow
//! as its files; a float's greatest value counts only where no value is NaN. What cannot be read bounds nothing.

use plan::Zone;
use serde_json::Value as Json;
use types::{Type, Value, Zone as TimeZone, cast, zone};

use super::avro;
use super::manifest::Entry;
use super::metadata::Spec;
use super::schema::TableSchema;

/// What is known of a file's columns: bounds, and where there are none, what the partition says.
pub(crate) fn zones(schema: &TableSchema, spec: Option<&Spec>, entry: &Entry) -> Vec<(usize, Zone)> {
    let mut zones = Vec::new();
    for (at, (column, id)) in schema.columns.iter().zip(&schema.ids).enumerate() {
        let ty = column.stored.ty;
        if ty.is_nested() {
            continue;
        }
        let bound = |bounds: &[(i64, Vec<u8>)]| {
            let (_, bytes) = bounds.iter().find(|(of, _)| of == id)?;
            of_bytes(bytes, ty)
        };
        let count = |counts: &[(i64, i64)]| {
            let (_, count) = counts.iter().find(|(of, _)| of == id)?;
            u64::try_from(*count).ok()
        };
        let may_be_nan = ty.is_float() && count(&entry.nan_counts) != Some(0);
        let mut zone = Zone {
            min: bound(&entry.lower),
            max: bound(&entry.upper).filter(|_| !may_be_nan),
            null_count: count(&entry.null_counts).filter(|nulls| *nulls <= entry.rows),
            rows: entry.rows,
        };
        let upside_down = match (&zone.min, &zone.max) {
            (Some(min), Some(max)) => min.total_cmp(max).is_gt(),
            _ => false,
        };
        if upside_down {
            (zone.min, zone.max) = (None, None);
        }
        for field in spec.into_iter().flat_map(|spec| &spec.fields).filter(|field| field.source_id == *id) {
            let value = entry.partition.iter().find(|(of, _)| *of == field.field_id);
            let Some((min, max)) = value.and_then(|(_, value)| of_transform(&field.transform, value, ty))
            else {
                continue;
            };
            zone.min = zone.min.or(Some(min));
            zone.max = zone.max.or(Some(max));
        }
        if zone.min.is_some() || zone.max.is_some() || zone.null_count.is_some() {
            zones.push((at, zone));
        }
    }
    zones
}

/// The least and the greatest value that a partition's value stands for; `None` where that is not known. Of times before
/// 1970 it is not: writers have cut them off in two ways.
fn of_transform(transform: &str, value: &avro::Value, ty: Type) -> Option<(Value, Value)> {
    const DAY: i64 = 86_400_000_000;
    let number = value.long()?;
    let first_day = |years: i64, months: i64| {
        let (years, months) = (1970 + years + months / 12, months % 12 + 1);
        let text = format!("{years:04}-{months:02}-01");
        cast::parse_text(&text, Type::Date)
            .ok()
            .and_then(|day| day.as_i128())
            .and_then(|day| i64::try_from(day).ok())
    };
    if let Some(width) = transform.strip_prefix("truncate[").and_then(|rest| rest.strip_suffix(']')) {
        let width: i64 = width.parse().ok().filter(|width| *width > 0)?;
        let whole = matches!(ty, Type::Integer | Type::BigInt);
        let last = i128::from(number) + i128::from(width) - 1;
        let value = |number| Value::from_i128(number, ty.physical());
        return whole.then(|| value(i128::from(number)).zip(value(last))).flatten();
    }
    if number <= 0 || number > 1 << 24 {
        return None;
    }
    // In days, or in hours.
    let (from, to, unit) = match transform {
        "year" => (first_day(number, 0)?, first_day(number + 1, 0)?, DAY),
        "month" => (first_day(0, number)?, first_day(0, number + 1)?, DAY),
        "day" => (number, number + 1, DAY),
        "hour" => (number, number + 1, DAY / 24),
        _ => return None,
    };
    match ty {
        Type::Date if unit == DAY => {
            Some((Value::I32(i32::try_from(from).ok()?), Value::I32(i32::try_from(to - 1).ok()?)))
        }
        Type::Timestamp | Type::TimestampTz => {
            Some((Value::I64(from.checked_mul(unit)?), Value::I64(to.checked_mul(unit)? - 1)))
        }
        _ => None,
    }
}

/// A bound's value.
fn of_bytes(bytes: &[u8], ty: Type) -> Option<Value> {
    let number = || match *bytes {
        [a, b, c, d] => Some(i128::from(i32::from_le_bytes([a, b, c, d]))),
        _ => <[u8; 8]>::try_from(bytes).ok().map(|bytes| i128::from(i64::from_le_bytes(bytes))),
    };
    match ty {
        Type::Boolean => Some(Value::Bool(*bytes.first()? != 0)),
        Type::Integer | Type::BigInt => Value::from_i128(number()?, ty.physical()),
        Type::Date => <[u8; 4]>::try_from(bytes).ok().map(|bytes| Value::I32(i32::from_le_bytes(bytes))),
        // A date that was widened is not taken for a time.
        Type::Time | Type::Timestamp | Type::TimestampTz | Type::TimestampNs | Type::TimestampTzNs => {
            <[u8; 8]>::try_from(bytes).ok().map(|bytes| Value::I64(i64::from_le_bytes(bytes)))
        }
        Type::Real | Type::Double => {
            let value = match *bytes {
                [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
                _ => f64::from_le_bytes(bytes.try_into().ok()?),
            };
            let value = Some(value).filter(|value| value.is_finite())?;
            Some(if ty == Type::Real { Value::F32(value as f32) } else { Value::F64(value) })
        }
        Type::Decimal { .. } => {
            let first = *bytes.first().filter(|_| bytes.len() <= 16)?;
            let start = if first & 0x80 == 0 { 0i128 } else { -1 };
            let number = bytes.iter().fold(start, |value, byte| value << 8 | i128::from(*byte));
            Value::from_i128(number, ty.physical())
        }
        Type::Text => std::str::from_utf8(bytes).ok().map(Value::text),
        _ => None,
    }
}

/// The value of a column that is a partition as it is; `None` where it is to be read from the file.
pub(crate) fn of_partition(value: &avro::Value, ty: Type) -> Option<Value> {
    match (value, ty) {
        (avro::Value::Null, _) => Some(Value::Null),
        (avro::Value::Bool(value), Type::Boolean) => Some(Value::Bool(*value)),
        (
            avro::Value::Long(value),
            Type::Integer | Type::BigInt | Type::Date | Type::Time | Type::Timestamp | Type::TimestampTz,
        ) => Value::from_i128(i128::from(*value), ty.physical()),
        (avro::Value::Text(value), Type::Text) => Some(Value::text(value)),
        (avro::Value::Float(value), Type::Real) => Some(Value::F32(*value)),
        (avro::Value::Float(value), Type::Double) => Some(Value::F64(f64::from(*value))),
        (avro::Value::Double(value), Type::Double) => Some(Value::F64(*value)),
        (avro::Value::Bytes(bytes), Type::Decimal { .. }) => of_bytes(bytes, ty),
        (avro::Value::Bytes(bytes), Type::Bytea) => Some(Value::Bytes(bytes.as_slice().into())),
        _ => None,
    }
}

/// A default; `None` for one that is not read.
pub(crate) fn of_json(json: &Json, ty: Type) -> Option<Value> {
    match json {
        Json::Bool(value) if ty == Type::Boolean => Some(Value::Bool(*value)),
        Json::String(text) if ty == Type::Text => Some(Value::text(text)),
        Json::String(text) if ty != Type::Bytea && !ty.is_nested() => {
            zone::within(TimeZone::Utc, || cast::parse_text(text, ty).ok())
        }
        Json::Number(number) if ty.is_numeric() => cast::parse_text(&number.to_string(), ty).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_stand_for_ranges() {
        let of = |transform, number, ty| {
            let (min, max) = of_transform(transform, &avro::Value::Long(number), ty)?;
            Some((min.display(ty), max.display(ty)))
        };
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(of("year", 54, Type::Date), pair("2024-01-01", "2024-12-31"));
        assert_eq!(of("month", 649, Type::Date), pair("2024-02-01", "2024-02-29"));
        assert_eq!(of("month", 647, Type::Date), pair("2023-12-01", "2023-12-31"));
        assert_eq!(of("day", 1, Type::Timestamp), pair("1970-01-02 00:00:00", "1970-01-02 23:59:59.999999"));
        assert_eq!(
            of("hour", 25, Type::Timestamp),
            pair("1970-01-02 01:00:00", "1970-01-02 01:59:59.999999")
        );
        assert_eq!(of("truncate[10]", -10, Type::BigInt), pair("-10", "-1"));
        assert_eq!(of("truncate[10]", i64::from(i32::MAX), Type::Integer), None);
        assert_eq!((of("day", 0, Type::Date), of("bucket[4]", 1, Type::BigInt)), (None, None));
    }

    #[test]
    fn bounds_are_values() {
        assert_eq!(of_bytes(&[1, 0, 0, 0], Type::BigInt), Some(Value::I64(1)));
        assert_eq!(of_bytes(&[0xFF; 8], Type::BigInt), Some(Value::I64(-1)));
        let ty = Type::Decimal { precision: 9, scale: 2 };
        assert_eq!(of_bytes(&[0xFF, 0x00], ty), Some(Value::I64(-256)));
        assert_eq!(of_bytes(&1.5f32.to_le_bytes(), Type::Double), Some(Value::F64(1.5)));
        assert_eq!(of_bytes(&[1, 2, 3], Type::BigInt), None);
        assert_eq!(of_bytes(&[0xFF], Type::Text), None);
        assert_eq!(of_bytes(&[], Type::Boolean), None);
    }
}
