//! What depends on a time zone, which is always an argument: no worker has a zone of its own.

use plan::functions::{ADD_IN_ZONE, CAST_IN_ZONE, OFFSET_IN_ZONE, TRY_CAST_IN_ZONE};
use types::cast::{cast_value, try_cast_value};
use types::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, finite, is_infinite};
use types::time_tz::TimeTz;
use types::{Error, Result, SqlState, Type, Value, Zone, zone};

use super::declare::*;
use super::{Arguments, refuse};

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    own(
        "timezone",
        &[
            is(&[TEXT, STAMP], Type::TimestampTz),
            is(&[TEXT, ZONED], Type::Timestamp),
            is(&[TEXT, TIME_TZ], Type::TimeTz),
        ],
        page(
            "date and time",
            "timezone(zone, moment)",
            "What a clock in the zone shows at an instant (TIMESTAMPTZ), or the instant at which it shows a TIMESTAMP: AT TIME ZONE as a function.",
            "timezone('Asia/Tokyo', TIMESTAMPTZ '2024-02-03 04:05:06+00')",
            "2024-02-03 13:05:06",
        ),
        |a| {
            let (zone, moment) = (zone_of(a, 0)?, a.integer(1)?);
            if a.ty == Type::TimeTz {
                return Ok(TimeTz::of_packed(moment).at_zone(zone).value());
            }
            let turned = if a.ty == Type::Timestamp { zone.local(moment) } else { zone.instant(moment) };
            turned.map(Value::I64).ok_or_else(out_of_range)
        },
    ),
    internal(OFFSET_IN_ZONE, &[is(&[TEXT, ZONED], Type::BigInt)], |a| match a.integer(1)? {
        instant if is_infinite(instant) => Ok(Value::Null),
        instant => Ok(Value::I64(i64::from(zone_of(a, 0)?.offset_at(instant)))),
    }),
    internal(
        ADD_IN_ZONE,
        &[
            is(&[TEXT, ZONED, SPAN], Type::TimestampTz),
            is(&[TEXT, ZONED, MONTHS], Type::TimestampTz),
            is(&[TEXT, ZONED, INTERVAL], Type::TimestampTz),
        ],
        add,
    ),
    internal(CAST_IN_ZONE, &[variadic(&[TEXT], Type::Null)], |a| {
        zone::within(zone_of(a, 0)?, || cast_value(&a.values[1], a.types[1], a.ty))
    }),
    internal(TRY_CAST_IN_ZONE, &[variadic(&[TEXT], Type::Null)], |a| {
        let cast = || try_cast_value(&a.values[1], a.types[1], a.ty);
        Ok(zone::within(zone_of(a, 0)?, cast).unwrap_or(Value::Null))
    }),
];

/// The zone that an argument names.
pub(super) fn zone_of(a: &Arguments<'_>, at: usize) -> Result<Zone> {
    Zone::named(a.text(at)?)
}

fn out_of_range() -> Error {
    refuse(SqlState::DatetimeFieldOverflow, "timestamp out of range")
}

fn add(a: &Arguments<'_>) -> Result<Value> {
    let (zone, instant) = (zone_of(a, 0)?, a.integer(1)?);
    if is_infinite(instant) {
        return Ok(Value::I64(instant));
    }
    if a.types[2] == Type::Interval {
        let interval = a.interval(2)?;
        let moved = zone
            .plus_months(instant, interval.months)
            .and_then(|moved| zone.plus_days(moved, i64::from(interval.days)))
            .and_then(|moved| moved.checked_add(interval.micros));
        return moved.and_then(finite).map(Value::I64).ok_or_else(out_of_range);
    }
    let interval = a.integer(2)?;
    let moved = match a.types[2] {
        Type::IntervalYearMonth => {
            i32::try_from(interval).ok().and_then(|months| zone.plus_months(instant, months))
        }
        _ => zone
            .plus_days(instant, interval / MICROS_PER_DAY)
            .and_then(|moved| moved.checked_add(interval % MICROS_PER_DAY)),
    };
    moved.and_then(finite).map(Value::I64).ok_or_else(out_of_range)
}

/// The beginning of a unit by the zone's clock; hours and less keep the offset that the instant has.
pub(super) fn truncated(zone: Zone, unit: &str, instant: i64) -> Option<i64> {
    let local = zone.local(instant)?;
    let cut = super::time::calendar::truncated(unit, local)?;
    match unit {
        "microsecond" | "millisecond" | "second" | "minute" | "hour" => {
            cut.checked_sub(i64::from(zone.offset_at(instant)) * MICROS_PER_SECOND)
        }
        _ => zone.instant(cut),
    }
}
