//! Functions of moments over whole batches: what `time` declares beside the functions of one row.

use types::datetime::{self, moment};
use types::{Physical, Type};
use vector::Vector;

use super::super::maps::{self, Made, Refused, longs, operand};
use super::calendar::{date_of, last_day, time_of};
use crate::room::Room;

/// What a function makes of finite moments; infinite ones give NULL. `None` is left to the function of one row.
pub(super) fn finite(inputs: &[Vector], ty: Type, rows: usize, of: impl Fn(i64) -> Option<i64>) -> Made {
    maps::nullable(inputs, Physical::I64, ty, rows, |micros: i64| match datetime::is_infinite(micros) {
        true => Ok(None),
        false => of(micros).map(Some).ok_or(Refused),
    })
}

/// `last_day`.
pub(super) fn last_days(inputs: &[Vector], ty: Type, rows: usize, _: Room<'_>) -> Made {
    maps::nullable(inputs, Physical::I64, ty, rows, |micros: i64| {
        Ok((!datetime::is_infinite(micros)).then(|| last_day(micros)))
    })
}

/// `epoch_ms`, of a moment and of a number.
pub(super) fn milliseconds(inputs: &[Vector], ty: Type, rows: usize, _: Room<'_>) -> Made {
    match ty {
        Type::Timestamp => maps::one(inputs, Physical::I64, ty, rows, |number: i64| number.checked_mul(1000)),
        _ => finite(inputs, ty, rows, |micros| Some(micros.div_euclid(1000))),
    }
}

/// `epoch_ns`.
pub(super) fn nanoseconds(inputs: &[Vector], ty: Type, rows: usize, _: Room<'_>) -> Made {
    let unit = if inputs.first()?.ty().is_timestamp_of_unit() { 1 } else { 1000 };
    finite(inputs, ty, rows, |held| held.checked_mul(unit))
}

/// `make_date(year, month, day)`.
pub(super) fn dates(inputs: &[Vector], ty: Type, rows: usize, _: Room<'_>) -> Made {
    let [year, month, day] = inputs else { return None };
    let (year, month, day) = (longs(year)?, longs(month)?, longs(day)?);
    maps::each(inputs, ty, rows, |row| {
        date_of(year.at(row), month.at(row), day.at(row)).map(Some).map_err(|_| Refused)
    })
}

/// `make_time(hour, minute, second)`.
pub(super) fn times(inputs: &[Vector], ty: Type, rows: usize, _: Room<'_>) -> Made {
    let [hour, minute, second] = inputs else { return None };
    let (hour, minute) = (longs(hour)?, longs(minute)?);
    let second = operand::<f64>(second, Physical::F64)?;
    maps::each(inputs, ty, rows, |row| {
        time_of(hour.at(row), minute.at(row), second.at(row)).map(Some).map_err(|_| Refused)
    })
}

/// `make_timestamp`, of six numbers and of microseconds.
pub(super) fn made(inputs: &[Vector], ty: Type, rows: usize, _: Room<'_>) -> Made {
    let [year, month, day, hour, minute, second] = inputs else {
        return maps::one(inputs, Physical::I64, ty, rows, |micros: i64| {
            (!datetime::is_infinite(micros)).then_some(micros)
        });
    };
    let (year, month, day) = (longs(year)?, longs(month)?, longs(day)?);
    let (hour, minute, second) = (longs(hour)?, longs(minute)?, operand::<f64>(second, Physical::F64)?);
    maps::each(inputs, ty, rows, |row| {
        let day = date_of(year.at(row), month.at(row), day.at(row)).map_err(|_| Refused)?;
        let time = time_of(hour.at(row), minute.at(row), second.at(row)).map_err(|_| Refused)?;
        moment(day, time).map(Some).ok_or(Refused)
    })
}
