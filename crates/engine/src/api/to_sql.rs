//! Rust values as parameters: which SQL type a value of which Rust type has.
//!
//! Each Rust type has one SQL type, whatever the statement is, except where a value needs a wider one (integers
//! beyond BIGINT) or where the place decides (text). Values are in their physical form, as the engine holds them in
//! vectors; nothing is checked against the statement here, binding does that.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Timelike};
use types::interval::Interval;
use types::logical::DECIMAL_PRECISION_MAX;
use types::nested::encoding;
use types::{Error, Result, SqlState, Type, Value, cast, datetime};

use super::values::{Date, Decimal, Time, Timestamp, TimestampTz, Uuid};

/// A value that may stand for a parameter.
///
/// | Rust | SQL |
/// | --- | --- |
/// | `bool` | BOOLEAN |
/// | `i8`, `i16`, `u8`; `i32`, `u16`; `i64`, `u32` | SMALLINT; INTEGER; BIGINT |
/// | `u64`, `usize`, `isize`, `i128`, `u128` | BIGINT, or DECIMAL where that has too few digits |
/// | `f32`, `f64` | REAL, DOUBLE PRECISION |
/// | `&str`, `String`, `Cow<str>` | what the place asks for, as a quoted literal does |
/// | `&[u8]`, `Vec<u8>`, `[u8; N]` | BYTEA |
/// | other `&[T]`, `Vec<T>`, `[T; N]` | a list |
/// | `Option<T>` | as `T`, or NULL |
/// | [`Decimal`], [`Uuid`], [`Date`], [`Time`], [`Timestamp`], [`TimestampTz`], [`Interval`] | the types of these names |
/// | chrono's `NaiveDate`, `NaiveTime`, `NaiveDateTime`, `DateTime<_>`, `TimeDelta` | DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL |
/// | `std::time::SystemTime`, `Duration` | TIMESTAMPTZ, INTERVAL |
/// | `(Value, Type)` | itself |
pub trait ToSql {
    /// The value in its physical form, and its type.
    fn to_sql(&self) -> Result<(Value, Type)>;

    /// Values of this type one after the other: a list. Bytes are BYTEA.
    #[doc(hidden)]
    fn slice_to_sql(values: &[Self]) -> Result<(Value, Type)>
    where
        Self: Sized,
    {
        let values = values.iter().map(Self::to_sql).collect::<Result<Vec<_>>>()?;
        list(&values)
    }
}

/// A list of values whose types may differ in digits, or not be known where they are NULL.
fn list(values: &[(Value, Type)]) -> Result<(Value, Type)> {
    let mut element = Type::Null;
    for (_, ty) in values {
        element = common(element, *ty).ok_or_else(|| {
            let message = format!("a list holds values of {element} and of {ty}");
            Error::new(SqlState::DatatypeMismatch, message)
        })?;
    }
    let values = values.iter().map(|(value, from)| match *from == element {
        true => Ok(value.clone()),
        false => cast::cast_value(value, *from, element),
    });
    let values = values.collect::<Result<Vec<_>>>()?;
    Ok((encoding::list_of(&values, element), Type::list(element)?))
}

/// The type of both, among those that the values of one Rust type have.
fn common(a: Type, b: Type) -> Option<Type> {
    match (a, b) {
        (a, b) if a == b => Some(a),
        (Type::Null, other) | (other, Type::Null) => Some(other),
        (Type::BigInt, Type::Decimal { precision, scale: 0 })
        | (Type::Decimal { precision, scale: 0 }, Type::BigInt) => {
            Some(Type::Decimal { precision: precision.max(19), scale: 0 })
        }
        (Type::Decimal { precision: p, scale: s }, Type::Decimal { precision: q, scale: t }) => {
            let (whole, scale) = ((p - s).max(q - t), s.max(t));
            (whole + scale <= DECIMAL_PRECISION_MAX)
                .then_some(Type::Decimal { precision: whole + scale, scale })
        }
        (a, b) => Type::list(common(a.element()?, b.element()?)?).ok(),
    }
}

macro_rules! as_value {
    ($($rust:ty: $variant:ident as $wide:ty, $ty:expr;)*) => {
        $(impl ToSql for $rust {
            fn to_sql(&self) -> Result<(Value, Type)> {
                Ok((Value::$variant(<$wide>::from(*self)), $ty))
            }
        })*
    };
}

as_value! {
    bool: Bool as bool, Type::Boolean;
    i8: I16 as i16, Type::SmallInt;
    i16: I16 as i16, Type::SmallInt;
    i32: I32 as i32, Type::Integer;
    u16: I32 as i32, Type::Integer;
    i64: I64 as i64, Type::BigInt;
    u32: I64 as i64, Type::BigInt;
    f32: F32 as f32, Type::Real;
    f64: F64 as f64, Type::Double;
}

impl ToSql for u8 {
    fn to_sql(&self) -> Result<(Value, Type)> {
        Ok((Value::I16(i16::from(*self)), Type::SmallInt))
    }
    fn slice_to_sql(values: &[u8]) -> Result<(Value, Type)> {
        Ok((Value::Bytes(values.into()), Type::Bytea))
    }
}

/// A whole number of any size.
fn whole(value: i128) -> Result<(Value, Type)> {
    match i64::try_from(value) {
        Ok(value) => Ok((Value::I64(value), Type::BigInt)),
        Err(_) => {
            let decimal = Decimal::new(value, 0).ok_or_else(|| {
                let message = format!("{value} has more than {DECIMAL_PRECISION_MAX} digits");
                Error::new(SqlState::NumericValueOutOfRange, message)
            })?;
            decimal.to_sql()
        }
    }
}

macro_rules! as_whole {
    ($($rust:ty),*) => {
        $(impl ToSql for $rust {
            fn to_sql(&self) -> Result<(Value, Type)> {
                whole(i128::try_from(*self).map_err(|_| {
                    Error::new(SqlState::NumericValueOutOfRange, format!("{self} has more than 38 digits"))
                })?)
            }
        })*
    };
}

as_whole!(u64, usize, isize, i128, u128);

impl ToSql for str {
    fn to_sql(&self) -> Result<(Value, Type)> {
        match self.contains('\0') {
            true => Err(Error::new(
                SqlState::InvalidTextRepresentation,
                "a text with a zero byte is not possible",
            )),
            false => Ok((Value::text(self), Type::Text)),
        }
    }
}

impl ToSql for String {
    fn to_sql(&self) -> Result<(Value, Type)> {
        self.as_str().to_sql()
    }
}

impl ToSql for char {
    fn to_sql(&self) -> Result<(Value, Type)> {
        self.encode_utf8(&mut [0; 4]).to_sql()
    }
}

impl<T: ToSql> ToSql for [T] {
    fn to_sql(&self) -> Result<(Value, Type)> {
        T::slice_to_sql(self)
    }
}

impl<T: ToSql> ToSql for Vec<T> {
    fn to_sql(&self) -> Result<(Value, Type)> {
        T::slice_to_sql(self)
    }
}

impl<T: ToSql, const N: usize> ToSql for [T; N] {
    fn to_sql(&self) -> Result<(Value, Type)> {
        T::slice_to_sql(self)
    }
}

impl<T: ToSql> ToSql for Option<T> {
    fn to_sql(&self) -> Result<(Value, Type)> {
        self.as_ref().map_or(Ok((Value::Null, Type::Null)), T::to_sql)
    }
}

macro_rules! as_what_it_points_to {
    ($($pointer:ty),*) => {
        $(impl<T: ToSql + ?Sized> ToSql for $pointer {
            fn to_sql(&self) -> Result<(Value, Type)> {
                (**self).to_sql()
            }
        })*
    };
}

as_what_it_points_to!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

impl<T: ToSql + ToOwned + ?Sized> ToSql for Cow<'_, T> {
    fn to_sql(&self) -> Result<(Value, Type)> {
        (**self).to_sql()
    }
}

impl ToSql for (Value, Type) {
    fn to_sql(&self) -> Result<(Value, Type)> {
        Ok(self.clone())
    }
}

impl ToSql for Decimal {
    fn to_sql(&self) -> Result<(Value, Type)> {
        let ty = self.sql_type();
        let value = Value::from_i128(self.unscaled(), ty.physical());
        value.map(|value| (value, ty)).ok_or_else(|| Error::out_of_range(&ty))
    }
}

impl ToSql for Uuid {
    fn to_sql(&self) -> Result<(Value, Type)> {
        Ok((Value::I128(cast::uuid_from_bytes(*self.as_bytes())), Type::Uuid))
    }
}

impl ToSql for Date {
    fn to_sql(&self) -> Result<(Value, Type)> {
        Ok((Value::I32(self.days()), Type::Date))
    }
}

impl ToSql for Time {
    fn to_sql(&self) -> Result<(Value, Type)> {
        Ok((Value::I64(self.micros()), Type::Time))
    }
}

impl ToSql for Timestamp {
    fn to_sql(&self) -> Result<(Value, Type)> {
        Ok((Value::I64(self.micros()), Type::Timestamp))
    }
}

impl ToSql for TimestampTz {
    fn to_sql(&self) -> Result<(Value, Type)> {
        Ok((Value::I64(self.micros()), Type::TimestampTz))
    }
}

impl ToSql for Interval {
    fn to_sql(&self) -> Result<(Value, Type)> {
        self.value().map(|value| (value, Type::Interval))
    }
}

impl ToSql for NaiveDate {
    fn to_sql(&self) -> Result<(Value, Type)> {
        let days = self.signed_duration_since(NaiveDate::default()).num_days();
        let days = i32::try_from(days).map_err(|_| Error::out_of_range(&Type::Date))?;
        Ok((Value::I32(days), Type::Date))
    }
}

impl ToSql for NaiveTime {
    fn to_sql(&self) -> Result<(Value, Type)> {
        let micros =
            i64::from(self.num_seconds_from_midnight()) * 1_000_000 + i64::from(self.nanosecond() / 1000);
        // A leap second is the next minute's first.
        Ok((Value::I64(micros.min(datetime::MICROS_PER_DAY)), Type::Time))
    }
}

impl ToSql for NaiveDateTime {
    fn to_sql(&self) -> Result<(Value, Type)> {
        Ok((Value::I64(self.and_utc().timestamp_micros()), Type::Timestamp))
    }
}

impl<Z: TimeZone> ToSql for DateTime<Z> {
    fn to_sql(&self) -> Result<(Value, Type)> {
        Ok((Value::I64(self.timestamp_micros()), Type::TimestampTz))
    }
}

impl ToSql for TimeDelta {
    fn to_sql(&self) -> Result<(Value, Type)> {
        let micros = self.num_microseconds().ok_or_else(|| Error::out_of_range(&Type::IntervalDayTime))?;
        Ok((Value::I64(micros), Type::IntervalDayTime))
    }
}

impl ToSql for Duration {
    fn to_sql(&self) -> Result<(Value, Type)> {
        let micros =
            i64::try_from(self.as_micros()).map_err(|_| Error::out_of_range(&Type::IntervalDayTime))?;
        Ok((Value::I64(micros), Type::IntervalDayTime))
    }
}

impl ToSql for SystemTime {
    fn to_sql(&self) -> Result<(Value, Type)> {
        let micros = match self.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_micros()).ok(),
            Err(before) => i64::try_from(before.duration().as_micros()).ok().map(i64::wrapping_neg),
        };
        let micros = micros.ok_or_else(|| Error::out_of_range(&Type::TimestampTz))?;
        Ok((Value::I64(micros), Type::TimestampTz))
    }
}
