//! What a log says of a file's values.
//!
//! Bounds are believed, as the protocol has them: also where rows are deleted, of which they are then bounds all the
//! same. Times are written in milliseconds, cut off; a float's greatest value does not count NaN, which is greater than
//! all here. What cannot be read bounds nothing.

use std::collections::HashMap;

use plan::Zone;
use serde::Deserialize;
use serde_json::value::RawValue;
use types::{Type, Value, cast};

use super::actions::Add;
use super::schema::TableSchema;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statistics {
    num_records: Option<u64>,
    #[serde(default)]
    min_values: HashMap<String, Box<RawValue>>,
    #[serde(default)]
    max_values: HashMap<String, Box<RawValue>>,
    #[serde(default)]
    null_count: HashMap<String, Box<RawValue>>,
}

/// A file's rows, and bounds by column.
pub(crate) fn read(schema: &TableSchema, add: &Add) -> (Option<u64>, Vec<(usize, Zone)>) {
    let parsed = add.stats_parsed.as_ref().map(ToString::to_string);
    let text = add.stats.as_deref().filter(|text| !text.is_empty()).or(parsed.as_deref());
    let statistics = text.and_then(|text| serde_json::from_str::<Statistics>(text).ok());
    let Some((statistics, rows)) = statistics.and_then(|s| s.num_records.map(|rows| (s, rows))) else {
        return (None, vec![]);
    };
    let mut zones = Vec::new();
    for (at, column) in schema.columns.iter().enumerate() {
        let ty = column.stored.ty;
        if ty.is_nested() || schema.partitions.contains(&at) {
            continue;
        }
        let name = &schema.physical_names[at];
        let (min, max) = (statistics.min_values.get(name), statistics.max_values.get(name));
        let nulls = statistics.null_count.get(name).and_then(|raw| raw.get().parse::<u64>().ok());
        let mut zone = Zone {
            min: min.and_then(|raw| bound(raw.get(), ty, false)),
            max: max.and_then(|raw| bound(raw.get(), ty, true)),
            null_count: nulls.filter(|nulls| *nulls <= rows),
            rows,
        };
        let upside_down = match (&zone.min, &zone.max) {
            (Some(min), Some(max)) => min.total_cmp(max).is_gt(),
            _ => false,
        };
        if upside_down {
            (zone.min, zone.max) = (None, None);
        }
        if zone.min.is_some() || zone.max.is_some() || zone.null_count.is_some() {
            zones.push((at, zone));
        }
    }
    (Some(rows), zones)
}

/// A bound as it is written; `None` where it is none.
fn bound(raw: &str, ty: Type, greatest: bool) -> Option<Value> {
    let text = match raw.starts_with('"') {
        true => serde_json::from_str::<String>(raw).ok()?,
        false => raw.to_owned(),
    };
    match ty {
        Type::Text if raw.starts_with('"') => Some(Value::text(&text)),
        Type::Real | Type::Double if greatest => None,
        Type::Real => text.parse::<f32>().ok().filter(|v| v.is_finite()).map(Value::F32),
        Type::Double => text.parse::<f64>().ok().filter(|v| v.is_finite()).map(Value::F64),
        Type::Timestamp | Type::TimestampTz => match cast::parse_text(&text, ty).ok()? {
            Value::I64(micros) if greatest => micros.checked_add(999).map(Value::I64),
            value => Some(value),
        },
        Type::Date | Type::Boolean => cast::parse_text(&text, ty).ok(),
        Type::Decimal { .. } => exact(&text).then(|| cast::parse_text(&text, ty).ok()).flatten(),
        _ if ty.is_integer() => cast::parse_text(&text, ty).ok(),
        _ => None,
    }
}

/// Whether a decimal is written with all its digits: some writers give the nearest float, which has seventeen at most and
/// may lie on the wrong side of the value.
fn exact(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    !text.contains(['e', 'E']) && !(16..=17).contains(&digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_with_all_digits() {
        let wide = Type::Decimal { precision: 38, scale: 2 };
        let number = bound("123456789012345678901234567890.25", wide, true).unwrap();
        assert_eq!(number, Value::I128(12_345_678_901_234_567_890_123_456_789_025));
        assert_eq!(bound("9223372036854775807", Type::BigInt, true), Some(Value::I64(i64::MAX)));
        assert_eq!(bound("\"1970-01-01T00:00:00.001Z\"", Type::TimestampTz, true), Some(Value::I64(1999)));
        assert_eq!(bound("\"1970-01-01T00:00:00.001Z\"", Type::TimestampTz, false), Some(Value::I64(1000)));
        assert_eq!(bound("1.5", Type::Double, true), None);
        assert_eq!(bound("null", Type::BigInt, true), None);
        // The nearest floats of 12345678901234567.89 and of 0.1234567890123456789.
        assert_eq!(bound("1.2345678901234568e+16", wide, true), None);
        assert_eq!(bound("1234567890123456.8", wide, false), None);
        assert_eq!(bound("12.25", wide, false), Some(Value::I128(1225)));
        assert_eq!(bound("\"a\\\"b\"", Type::Text, false), Some(Value::text("a\"b")));
    }
}
