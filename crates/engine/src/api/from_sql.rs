//! SQL's values as Rust's: which types may be read as which.
//!
//! A value is read as what it is: no text is read as a number, and no number as a text. Numbers are read as wider ones,
//! and as narrower ones where the value fits.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use types::interval::Interval;
use types::nested::encoding;
use types::{Type, Value, cast};

use super::values::{Date, Decimal, Time, Timestamp, TimestampTz, Uuid};

/// Why a value is none of the type wanted. [`Row::get`](super::Row::get) makes an error of it that names the column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It is NULL, which the type has not.
    Null,
    /// Values of this SQL type are no values of the Rust type.
    Type,
    /// This one is not, though others are: it is too large, say.
    Value(String),
}

/// What a value is read as.
///
/// | Rust | SQL |
/// | --- | --- |
/// | `bool` | BOOLEAN |
/// | `i8` … `i128`, `u8` … `u128`, `isize`, `usize` | SMALLINT, INTEGER, BIGINT, DECIMAL without a fraction, if it fits |
/// | `f32`, `f64` | REAL; all numbers, decimals by the nearest float |
/// | `String`, `Box<str>`, `Arc<str>` | texts, JSON |
/// | `Vec<u8>`, `[u8; N]` | BYTEA |
/// | `Vec<T>` | lists |
/// | `BTreeMap<K, V>`, `HashMap<K, V>` | MAP; with keys of text STRUCT, too |
/// | `Option<T>` | as `T`, or NULL |
/// | [`Decimal`] | DECIMAL and whole numbers |
/// | [`Uuid`], [`Date`], [`Time`], [`Timestamp`], [`TimestampTz`], [`Interval`] | the types of these names |
/// | chrono's `NaiveDate`, `NaiveTime`, `NaiveDateTime`, `DateTime<Utc>`, `DateTime<FixedOffset>`, `TimeDelta` | DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL without months |
/// | `std::time::SystemTime`, `Duration` | TIMESTAMPTZ, INTERVAL without months |
/// | `Value`, `(Value, Type)` | everything |
pub trait FromSql: Sized {
    /// Reads a value that is not NULL.
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch>;

    /// What NULL is read as.
    fn from_null() -> Result<Self, Mismatch> {
        Err(Mismatch::Null)
    }

    /// Reads a value, or NULL.
    fn from_nullable(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        if value.is_null() { Self::from_null() } else { Self::from_sql(value, ty) }
    }

    /// Reads values one after the other. Bytes are those of BYTEA.
    #[doc(hidden)]
    fn vec_from_sql(value: &Value, ty: Type) -> Result<Vec<Self>, Mismatch> {
        let element = ty.element().ok_or(Mismatch::Type)?;
        let bytes = value.as_bytes().ok_or(Mismatch::Type)?;
        encoding::elements(ty, bytes)
            .map(|slot| Self::from_nullable(&encoding::slot_value(slot, element), element))
            .collect()
    }
}

impl<T: FromSql> FromSql for Option<T> {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        T::from_sql(value, ty).map(Some)
    }
    fn from_null() -> Result<Self, Mismatch> {
        Ok(None)
    }
}

impl FromSql for bool {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        value.as_bool().filter(|_| ty == Type::Boolean).ok_or(Mismatch::Type)
    }
}

/// A number without a fraction.
fn whole(value: &Value, ty: Type) -> Result<i128, Mismatch> {
    let is_whole = ty.is_integer() || matches!(ty, Type::Decimal { scale: 0, .. });
    value.as_i128().filter(|_| is_whole).ok_or(Mismatch::Type)
}

macro_rules! whole_numbers {
    ($($rust:ty),*) => {
        $(impl FromSql for $rust {
            fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
                let wide = whole(value, ty)?;
                <$rust>::try_from(wide).map_err(|_| Mismatch::Value(format!("{wide} is out of its range")))
            }
        })*
    };
}

whole_numbers!(i8, i16, i32, i64, i128, isize, u16, u32, u64, u128, usize);

impl FromSql for u8 {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        let wide = whole(value, ty)?;
        u8::try_from(wide).map_err(|_| Mismatch::Value(format!("{wide} is out of its range")))
    }
    fn vec_from_sql(value: &Value, ty: Type) -> Result<Vec<u8>, Mismatch> {
        if let Some(element) = ty.element() {
            let bytes = value.as_bytes().ok_or(Mismatch::Type)?;
            let items = encoding::elements(ty, bytes).map(|slot| encoding::slot_value(slot, element));
            return items.map(|item| u8::from_nullable(&item, element)).collect();
        }
        value.as_bytes().filter(|_| ty == Type::Bytea).map(<[u8]>::to_vec).ok_or(Mismatch::Type)
    }
}

impl FromSql for f64 {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        match (value.as_f64(), value.as_i128()) {
            (Some(float), _) => Ok(float),
            (None, Some(digits)) if ty.is_numeric() => Ok(cast::decimal_to_f64(digits, ty.scale())),
            _ => Err(Mismatch::Type),
        }
    }
}

impl FromSql for f32 {
    fn from_sql(value: &Value, _: Type) -> Result<Self, Mismatch> {
        match value {
            Value::F32(float) => Ok(*float),
            Value::I16(whole) => Ok(f32::from(*whole)),
            _ => Err(Mismatch::Type),
        }
    }
}

fn text(value: &Value, ty: Type) -> Result<&str, Mismatch> {
    value.as_text().filter(|_| ty.is_text()).ok_or(Mismatch::Type)
}

impl FromSql for String {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        text(value, ty).map(str::to_owned)
    }
}

impl FromSql for Box<str> {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        text(value, ty).map(Into::into)
    }
}

impl FromSql for Arc<str> {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        text(value, ty).map(Into::into)
    }
}

impl<T: FromSql> FromSql for Vec<T> {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        T::vec_from_sql(value, ty)
    }
}

impl<T: FromSql, const N: usize> FromSql for [T; N] {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        let values = T::vec_from_sql(value, ty)?;
        let count = values.len();
        values.try_into().map_err(|_| Mismatch::Value(format!("{count} are not {N}")))
    }
}

/// The entries of a map, or the fields of a struct by their names.
fn entries<K: FromSql, V: FromSql>(value: &Value, ty: Type) -> Result<Vec<(K, V)>, Mismatch> {
    let bytes = value.as_bytes().ok_or(Mismatch::Type)?;
    if let Some((key, value)) = ty.entry() {
        let slots: Vec<Option<&[u8]>> = encoding::entries(ty, bytes).collect();
        let pair = |pair: &[Option<&[u8]>]| {
            let (k, v) = (encoding::slot_value(pair[0], key), encoding::slot_value(pair[1], value));
            Ok((K::from_nullable(&k, key)?, V::from_nullable(&v, value)?))
        };
        return slots.chunks_exact(2).map(pair).collect();
    }
    let fields = ty.fields().ok_or(Mismatch::Type)?;
    let slots = encoding::fields(ty, bytes);
    let field = |((name, ty), slot): (&(String, Type), &Option<&[u8]>)| {
        let value = encoding::slot_value(*slot, *ty);
        Ok((K::from_nullable(&Value::text(name), Type::Text)?, V::from_nullable(&value, *ty)?))
    };
    fields.iter().zip(&slots).map(field).collect()
}

impl<K: FromSql + Ord, V: FromSql> FromSql for BTreeMap<K, V> {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        entries(value, ty).map(|entries| entries.into_iter().collect())
    }
}

impl<K: FromSql + Eq + Hash, V: FromSql> FromSql for HashMap<K, V> {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        entries(value, ty).map(|entries| entries.into_iter().collect())
    }
}

impl FromSql for Value {
    fn from_sql(value: &Value, _: Type) -> Result<Self, Mismatch> {
        Ok(value.clone())
    }
    fn from_null() -> Result<Self, Mismatch> {
        Ok(Value::Null)
    }
}

impl FromSql for (Value, Type) {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        Ok((value.clone(), ty))
    }
    fn from_null() -> Result<Self, Mismatch> {
        Ok((Value::Null, Type::Null))
    }
}

impl FromSql for Decimal {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        let exact = ty.is_integer() || ty.is_decimal();
        let digits = value.as_i128().filter(|_| exact).ok_or(Mismatch::Type)?;
        Decimal::new(digits, ty.scale())
            .ok_or_else(|| Mismatch::Value(format!("{digits} has too many digits")))
    }
}

impl FromSql for Uuid {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        let bits = value.as_i128().filter(|_| ty == Type::Uuid).ok_or(Mismatch::Type)?;
        Ok(Uuid::from_bytes(cast::uuid_to_bytes(bits)))
    }
}

/// The number that a value of one type is held as.
fn held(value: &Value, ty: Type, wanted: Type) -> Result<i64, Mismatch> {
    value.as_i64().filter(|_| ty == wanted).ok_or(Mismatch::Type)
}

impl FromSql for Date {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        let days = held(value, ty, Type::Date)?;
        i32::try_from(days).map(Date::from_days).map_err(|_| Mismatch::Type)
    }
}

impl FromSql for Time {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        Time::from_micros(held(value, ty, Type::Time)?).ok_or(Mismatch::Type)
    }
}

impl FromSql for Timestamp {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        held(value, ty, Type::Timestamp).map(Timestamp::from_micros)
    }
}

impl FromSql for TimestampTz {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        held(value, ty, Type::TimestampTz).map(TimestampTz::from_micros)
    }
}

impl FromSql for Interval {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        match ty.is_interval() {
            true => Interval::of_kind(value, ty).map_err(|_| Mismatch::Type),
            false => Err(Mismatch::Type),
        }
    }
}

/// The microseconds of an interval without months.
fn duration(value: &Value, ty: Type) -> Result<i64, Mismatch> {
    let interval = Interval::from_sql(value, ty)?;
    interval.day_time().filter(|_| interval.months == 0).ok_or_else(|| beyond(value, ty))
}

fn beyond(value: &Value, ty: Type) -> Mismatch {
    Mismatch::Value(format!("{} is out of its range", value.display(ty)))
}

impl FromSql for NaiveDate {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        let days = held(value, ty, Type::Date)?;
        let since = TimeDelta::try_days(days).ok_or_else(|| beyond(value, ty))?;
        NaiveDate::default().checked_add_signed(since).ok_or_else(|| beyond(value, ty))
    }
}

impl FromSql for NaiveTime {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        let micros = held(value, ty, Type::Time)?;
        // 24:00:00 is a time in SQL and none in chrono.
        let seconds = u32::try_from(micros / 1_000_000).ok();
        let nanos = u32::try_from(micros % 1_000_000 * 1000).unwrap_or_default();
        seconds
            .and_then(|s| NaiveTime::from_num_seconds_from_midnight_opt(s, nanos))
            .ok_or_else(|| beyond(value, ty))
    }
}

impl FromSql for NaiveDateTime {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        let micros = held(value, ty, Type::Timestamp)?;
        DateTime::from_timestamp_micros(micros).map(|at| at.naive_utc()).ok_or_else(|| beyond(value, ty))
    }
}

impl FromSql for DateTime<Utc> {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        DateTime::from_timestamp_micros(held(value, ty, Type::TimestampTz)?).ok_or_else(|| beyond(value, ty))
    }
}

impl FromSql for DateTime<FixedOffset> {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        DateTime::<Utc>::from_sql(value, ty).map(|at| at.fixed_offset())
    }
}

impl FromSql for TimeDelta {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        duration(value, ty).map(TimeDelta::microseconds)
    }
}

impl FromSql for Duration {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        let micros = duration(value, ty)?;
        u64::try_from(micros)
            .map(Duration::from_micros)
            .map_err(|_| Mismatch::Value(format!("{} is negative", value.display(ty))))
    }
}

impl FromSql for SystemTime {
    fn from_sql(value: &Value, ty: Type) -> Result<Self, Mismatch> {
        let micros = held(value, ty, Type::TimestampTz)?;
        let since = Duration::from_micros(micros.unsigned_abs());
        let at = match micros < 0 {
            true => SystemTime::UNIX_EPOCH.checked_sub(since),
            false => SystemTime::UNIX_EPOCH.checked_add(since),
        };
        at.ok_or_else(|| beyond(value, ty))
    }
}
