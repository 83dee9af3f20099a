//! Arithmetic of dates, times and intervals: what is added moves days, microseconds or months.

use plan::{Arithmetic, Function};
use types::datetime::{self, MICROS_PER_DAY};
use types::{Error, Result, SqlState, Type, Value};

/// PostgreSQL's dates end at 5874897-12-31 and begin at 4714-11-24 BC.
const DATES: std::ops::RangeInclusive<i128> = -2_440_588..=2_145_042_905;

fn out_of_range(ty: Type) -> Error {
    Error::new(SqlState::DatetimeFieldOverflow, format!("{} out of range", ty.sql_name().to_lowercase()))
}

fn is_point(ty: Type) -> bool {
    matches!(ty, Type::Date | Type::Time | Type::Timestamp | Type::TimestampTz)
}

/// The operators between moments, dates, times, intervals and numbers.
pub(crate) fn arithmetic(
    op: Arithmetic,
    (left, left_ty): (&Value, Type),
    (right, right_ty): (&Value, Type),
    ty: Type,
) -> Result<Value> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    // What moves stands on the right.
    let swap = match op {
        Add => is_point(right_ty) && !is_point(left_ty),
        Multiply => right_ty.is_interval(),
        _ => false,
    };
    let ((a, a_ty), (b, b_ty)) =
        if swap { ((right, right_ty), (left, left_ty)) } else { ((left, left_ty), (right, right_ty)) };
    let refuse = || Error::internal(format!("no arithmetic {left_ty} {} {right_ty}", op.symbol()));
    if matches!(op, Multiply | Divide) {
        let (Some(unit), Some(factor)) = (a.as_i64(), b.as_f64()) else { return Err(refuse()) };
        return scaled(op, unit, factor, ty);
    }
    let (Some(x), Some(y)) = (a.as_i128(), b.as_i128()) else { return Err(refuse()) };
    let y = match op {
        Add => y,
        Subtract => -y,
        _ => return Err(refuse()),
    };
    let result: Option<i128> = match (a_ty, b_ty) {
        (Type::Date, Type::IntervalYearMonth) if ty == Type::Date => i32::try_from(x)
            .ok()
            .zip(i32::try_from(y).ok())
            .and_then(|(day, months)| datetime::add_months(day, months))
            .map(i128::from),
        (Type::Timestamp | Type::TimestampTz, Type::IntervalYearMonth) => i64::try_from(x)
            .ok()
            .zip(i32::try_from(y).ok())
            .and_then(|(micros, months)| datetime::timestamp_add_months(micros, months))
            .map(i128::from),
        (Type::Date, Type::IntervalDayTime) if ty == Type::Date => {
            Some((x * i128::from(MICROS_PER_DAY) + y).div_euclid(i128::from(MICROS_PER_DAY)))
        }
        (Type::Time, Type::IntervalDayTime) => Some((x + y).rem_euclid(i128::from(MICROS_PER_DAY))),
        (Type::Date, Type::Date) if ty == Type::IntervalDayTime => Some((x + y) * i128::from(MICROS_PER_DAY)),
        (Type::Date, other) if other == Type::Date || other.is_integer() => Some(x + y),
        (p, q) if p == q || (is_point(p) && (is_point(q) || q == Type::IntervalDayTime)) => Some(x + y),
        _ => return Err(refuse()),
    };
    result
        .filter(|r| ty != Type::Date || DATES.contains(r))
        .and_then(|r| Value::from_i128(r, ty.physical()))
        .ok_or_else(|| out_of_range(ty))
}

/// An interval times or divided by a number, rounded to whole months or microseconds.
fn scaled(op: Arithmetic, unit: i64, factor: f64, ty: Type) -> Result<Value> {
    let divide = op == Arithmetic::Divide;
    if divide && factor == 0.0 {
        return Err(Error::division_by_zero());
    }
    let result = if !divide && factor.fract() == 0.0 && factor.abs() < 9e15 {
        Some(i128::from(unit) * factor as i128)
    } else {
        let result = if divide { unit as f64 / factor } else { unit as f64 * factor };
        Some(result.round_ties_even()).filter(|r| r.abs() < 9.2e18).map(|r| r as i128)
    };
    result.and_then(|r| Value::from_i128(r, ty.physical())).ok_or_else(|| out_of_range(ty))
}

/// The days since 1970 of a date or timestamp.
pub(crate) fn day_of(value: &Value, ty: Type) -> Result<i32> {
    let count = value.as_i64().ok_or_else(|| Error::internal("a date without a value"))?;
    let days = match ty {
        Type::Date => count,
        Type::Timestamp | Type::TimestampTz => count.div_euclid(MICROS_PER_DAY),
        _ => return Err(Error::unsupported(format!("the reference knows no day of {ty}"))),
    };
    i32::try_from(days).map_err(|_| out_of_range(ty))
}

/// Year, month or day of a date, a timestamp or an interval.
pub(crate) fn extract(function: Function, value: &Value, from: Type) -> Result<i64> {
    let count = value.as_i64().ok_or_else(|| Error::internal("a date without a value"))?;
    match from {
        Type::IntervalYearMonth => Ok(match function {
            Function::ExtractYear => count / 12,
            Function::ExtractMonth => count % 12,
            _ => 0,
        }),
        Type::IntervalDayTime => {
            Ok(if function == Function::ExtractDay { count / MICROS_PER_DAY } else { 0 })
        }
        _ => {
            let date = datetime::civil_from_days(day_of(value, from)?);
            Ok(match function {
                // Before 1 there is -1.
                Function::ExtractYear => i64::from(date.year) - i64::from(date.year <= 0),
                Function::ExtractMonth => i64::from(date.month),
                _ => i64::from(date.day),
            })
        }
    }
}
