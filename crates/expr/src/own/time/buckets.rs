//! Bins and buckets of moments: `date_bin` and `time_bucket`.
//!
//! A width is either whole months or microseconds. Over a batch the width, and where buckets begin, are worked out once where
//! they are constants.

use types::datetime::{self, MICROS_PER_DAY, civil_from_days, days_from_civil};
use types::interval::Interval;
use types::{Error, Physical, Result, SqlState, Type, Value};
use vector::{Data, Vector};

use super::super::{Arguments, maps, refuse};
use super::calendar::{checked, day_of, overflow};
use crate::operand::Operand;
use crate::room::Room;

/// The width of bins: either whole months or microseconds.
enum Width {
    Months(i64),
    Micros(i64),
}

fn width(interval: Interval, message: &str) -> Result<Width> {
    let micros = interval.day_time().ok_or_else(overflow)?;
    let width = match interval.months {
        0 => Width::Micros(micros),
        months if micros == 0 => Width::Months(i64::from(months)),
        _ => {
            let error = Error::unsupported("buckets of both months and days or times have no fixed width");
            return Err(error.with_hint("take months, or days and times"));
        }
    };
    match width {
        Width::Months(w) | Width::Micros(w) if w <= 0 => {
            Err(refuse(SqlState::DatetimeFieldOverflow, message))
        }
        width => Ok(width),
    }
}

fn bin_of(a: &Arguments<'_>, width: i64) -> Result<Value> {
    let micros = a.integer(1)?;
    let origin = if a.len() > 2 { a.integer(2)? } else { 0 };
    let moved = micros.checked_sub(origin).ok_or_else(overflow)?;
    checked(micros.checked_sub(moved.rem_euclid(width)))
}

/// `date_bin(width, moment, origin)`.
pub(super) fn date_bin(a: &Arguments<'_>) -> Result<Value> {
    let width = width(a.interval(0)?, "stride must be greater than zero")?;
    if a.len() > 2 && datetime::is_infinite(a.integer(2)?) {
        return Err(refuse(SqlState::DatetimeFieldOverflow, "origin out of range")
            .with_hint("bins are counted from a finite moment"));
    }
    match width {
        _ if datetime::is_infinite(a.integer(1)?) => Ok(a.values[1].clone()),
        Width::Micros(width) => bin_of(a, width),
        Width::Months(_) => {
            Err(Error::unsupported("timestamps cannot be binned into intervals containing months or years")
                .with_hint("time_bucket takes months, too"))
        }
    }
}

/// The beginning of a bucket: of days and times from Monday, 2000-01-03 on, of months from 2000-01-01 on. A third
/// argument is another beginning, by how far it is moved, or the zone whose clock counts; instants are counted in UTC
/// otherwise.
pub(super) fn time_bucket(a: &Arguments<'_>) -> Result<Value> {
    let moment = a.integer(1)?;
    if datetime::is_infinite(moment) {
        return Ok(Value::I64(moment));
    }
    let width = width(a.interval(0)?, "the width of buckets must be greater than zero")?;
    match a.types.get(2) {
        None => bucket(&width, moment, None).map(Value::I64),
        Some(Type::Interval) => {
            let offset = a.interval(2)?;
            let back = offset.checked_neg().and_then(|back| back.after(moment)).ok_or_else(overflow)?;
            checked(offset.after(bucket(&width, back, None)?))
        }
        Some(ty) if ty.is_text() => {
            let zone = super::super::zones::zone_of(a, 2)?;
            let local = zone.local(moment).ok_or_else(overflow)?;
            checked(zone.instant(bucket(&width, local, None)?))
        }
        Some(_) => match a.integer(2)? {
            origin if datetime::is_infinite(origin) => Ok(Value::Null),
            origin => bucket(&width, moment, Some(origin)).map(Value::I64),
        },
    }
}

fn bucket(width: &Width, micros: i64, origin: Option<i64>) -> Result<i64> {
    let width = match *width {
        Width::Micros(width) => {
            let monday = i64::from(days_from_civil(2000, 1, 3)) * MICROS_PER_DAY;
            let moved = micros.checked_sub(origin.unwrap_or(monday)).ok_or_else(overflow)?;
            return micros.checked_sub(moved.rem_euclid(width)).ok_or_else(overflow);
        }
        Width::Months(width) => width,
    };
    let number = |micros: i64| {
        let date = civil_from_days(day_of(micros));
        i64::from(date.year) * 12 + i64::from(date.month) - 1
    };
    let month = number(micros);
    let start = month - (month - origin.map_or(2000 * 12, number)).rem_euclid(width);
    let year = i32::try_from(start.div_euclid(12)).map_err(|_| overflow())?;
    Ok(i64::from(days_from_civil(year, start.rem_euclid(12) as u32 + 1, 1)) * MICROS_PER_DAY)
}

/// The constant's interval as a width.
fn constant_width(of: &Vector) -> Option<Width> {
    let Data::Constant(value) = of.data() else { return None };
    // The function of one row has the error.
    width(Interval::of_value(value).ok()?, "").ok()
}

/// `date_bin` with a constant width and origin.
pub(super) fn bins_in_batches(inputs: &[Vector], ty: Type, rows: usize, _: Room<'_>) -> maps::Made {
    let Width::Micros(width) = constant_width(inputs.first()?)? else { return None };
    let origin = match inputs.get(2) {
        None => 0,
        Some(origin) => match maps::longs(origin)? {
            Operand::Constant(origin) if rows > 0 && !origin_is_odd(inputs, origin) => origin,
            _ => return None,
        },
    };
    maps::one(&inputs[1..2], Physical::I64, ty, rows, |micros: i64| {
        if datetime::is_infinite(micros) {
            return Some(micros);
        }
        micros.checked_sub(micros.checked_sub(origin)?.rem_euclid(width))
    })
}

/// Infinite, or NULL.
fn origin_is_odd(inputs: &[Vector], origin: i64) -> bool {
    datetime::is_infinite(origin) || inputs[2].is_null(0)
}

/// `time_bucket` with a constant width, from the usual origin or from a constant moment.
pub(super) fn in_batches(inputs: &[Vector], ty: Type, rows: usize, _: Room<'_>) -> maps::Made {
    let width = constant_width(inputs.first()?)?;
    let origin = match inputs.get(2) {
        None => None,
        Some(origin) if matches!(origin.ty(), Type::Timestamp | Type::TimestampTz) => {
            match maps::longs(origin)? {
                Operand::Constant(origin) if rows > 0 && !origin_is_odd(inputs, origin) => Some(origin),
                _ => return None,
            }
        }
        Some(_) => return None,
    };
    if ty == Type::Time {
        return None;
    }
    maps::one(&inputs[1..2], Physical::I64, ty, rows, |micros: i64| match datetime::is_infinite(micros) {
        true => Some(micros),
        false => bucket(&width, micros, origin).ok(),
    })
}
