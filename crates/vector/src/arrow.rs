//! To and from Arrow, sharing buffers wherever the layouts agree.
//!
//! | type | Arrow | copies |
//! | --- | --- | --- |
//! | BOOLEAN, SMALLINT .. DOUBLE, DATE, TIME, TIMESTAMP | the primitive of the same width | none |
//! | DECIMAL(p <= 18) | Decimal128 out, Decimal32/64/128 in | widened, narrowed |
//! | DECIMAL(p > 18) | Decimal128 | none |
//! | CHAR, VARCHAR, TEXT | Utf8View out; Utf8, LargeUtf8, Utf8View, Dictionary in | none for views |
//! | BYTEA | BinaryView | none |
//! | INTERVAL | IntervalMonthDayNano | yes |
//! | INTERVAL YEAR TO MONTH, DAY TO SECOND | IntervalYearMonth, IntervalMonthDayNano | second kind |
//! | UUID | FixedSizeBinary(16) | yes |
//! | JSON | Utf8View out; a union's values in | none |
//! | LIST, STRUCT, MAP | List, Struct, Map; also the other kinds of lists in | yes (`nested_arrow`) |
//!
//! Foreign arrays are not trusted: view offsets and UTF-8 are validated by Arrow's constructors on the way in; a
//! dictionary's codes are checked here.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types as at;
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, NullArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringViewArray,
};
use arrow_buffer::{IntervalMonthDayNano, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field as ArrowField, IntervalUnit, Schema as ArrowSchema, SchemaRef, TimeUnit};
use types::interval::Interval;
use types::logical::DECIMAL_PRECISION_MAX;
use types::system_type::{Storage, reg_name};
use types::{Error, Result, Schema, SqlState, Type, Value, Zone, cast, datetime};

use crate::{Batch, Data, StringBuilder, Strings, Vector, VectorBuilder, labels, nested_arrow};

/// The Arrow type that carries `ty` out of the engine.
pub fn arrow_type(ty: Type) -> DataType {
    match ty {
        Type::Null => DataType::Null,
        Type::Boolean => DataType::Boolean,
        Type::SmallInt => DataType::Int16,
        Type::Integer => DataType::Int32,
        Type::BigInt => DataType::Int64,
        Type::TinyInt => DataType::Int8,
        Type::UTinyInt => DataType::UInt8,
        Type::USmallInt => DataType::UInt16,
        Type::UInteger => DataType::UInt32,
        Type::UBigInt => DataType::UInt64,
        // Arrow has no such integer.
        Type::HugeInt => DataType::Decimal128(DECIMAL_PRECISION_MAX, 0),
        Type::Real => DataType::Float32,
        Type::Double => DataType::Float64,
        Type::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
        Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Collated(_) | Type::Json | Type::Jsonb => {
            DataType::Utf8View
        }
        Type::System(kind) => match kind.storage() {
            Storage::Number => DataType::UInt32,
            Storage::Named | Storage::Text => DataType::Utf8View,
        },
        // Arrow has no such types.
        Type::TimeTz | Type::Bit(_) | Type::VarBit(_) | Type::UHugeInt | Type::BigNum => DataType::Utf8View,
        Type::Date => DataType::Date32,
        Type::Time => DataType::Time64(TimeUnit::Microsecond),
        Type::TimeNs => DataType::Time64(TimeUnit::Nanosecond),
        Type::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        Type::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
        Type::TimestampS => DataType::Timestamp(TimeUnit::Second, None),
        Type::TimestampMs => DataType::Timestamp(TimeUnit::Millisecond, None),
        Type::TimestampNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
        Type::TimestampTzNs => DataType::Timestamp(TimeUnit::Nanosecond, Some("+00:00".into())),
        Type::IntervalYearMonth => DataType::Interval(IntervalUnit::YearMonth),
        Type::Interval | Type::IntervalDayTime => DataType::Interval(IntervalUnit::MonthDayNano),
        Type::Bytea => DataType::BinaryView,
        Type::Uuid => DataType::FixedSizeBinary(16),
        Type::Enum(_) => labels::arrow_type(),
        Type::List(_) | Type::Struct(_) | Type::Map(_) | Type::Union(_) => nested_arrow::arrow_type_of(ty),
    }
}

/// An Arrow column; that of an enum is marked as an ordered dictionary.
fn arrow_field(name: &str, ty: Type, nullable: bool) -> ArrowField {
    let field = ArrowField::new(name, arrow_type(ty), nullable);
    if matches!(ty, Type::Enum(_)) { field.with_dict_is_ordered(true) } else { field }
}

/// The type that receives an Arrow column; `None` when there is none for it.
pub fn type_from_arrow(ty: &DataType) -> Option<Type> {
    Some(match ty {
        DataType::Null => Type::Null,
        DataType::Boolean => Type::Boolean,
        DataType::Int8 => Type::TinyInt,
        DataType::UInt8 => Type::UTinyInt,
        DataType::Int16 => Type::SmallInt,
        DataType::UInt16 => Type::USmallInt,
        DataType::Int32 => Type::Integer,
        DataType::UInt32 => Type::UInteger,
        DataType::Int64 => Type::BigInt,
        DataType::UInt64 => Type::UBigInt,
        DataType::Float16 | DataType::Float32 => Type::Real,
        DataType::Float64 => Type::Double,
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) | DataType::Decimal128(p, s)
            if *s >= 0 && *s <= *p as i8 =>
        {
            Type::Decimal { precision: *p, scale: *s as u8 }
        }
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) | DataType::Decimal128(p, s) => {
            odd_decimal(*p, *s)
        }
        DataType::Decimal256(p, s) if *p <= DECIMAL_PRECISION_MAX && *s >= 0 && *s <= *p as i8 => {
            Type::Decimal { precision: *p, scale: *s as u8 }
        }
        DataType::Decimal256(p, s) => odd_decimal(*p, *s),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::Text,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Type::Bytea,
        DataType::FixedSizeBinary(16) => Type::Uuid,
        DataType::FixedSizeBinary(_) => Type::Bytea,
        DataType::Date32 | DataType::Date64 => Type::Date,
        DataType::Time64(TimeUnit::Nanosecond) => Type::TimeNs,
        DataType::Time32(_) | DataType::Time64(_) => Type::Time,
        DataType::Timestamp(TimeUnit::Nanosecond, None) => Type::TimestampNs,
        DataType::Timestamp(_, None) => Type::Timestamp,
        DataType::Timestamp(TimeUnit::Nanosecond, Some(_)) => Type::TimestampTzNs,
        DataType::Timestamp(_, Some(_)) => Type::TimestampTz,
        DataType::Interval(IntervalUnit::YearMonth) => Type::IntervalYearMonth,
        DataType::Interval(IntervalUnit::MonthDayNano) => Type::Interval,
        DataType::Interval(IntervalUnit::DayTime) | DataType::Duration(_) => Type::IntervalDayTime,
        DataType::Dictionary(_, value) => type_from_arrow(value)?,
        nested => return nested_arrow::nested_from_arrow(nested),
    })
}

/// The type of decimals whose point lies outside their digits, or that have more than 38 digits: whole numbers where
/// they fit, else text.
fn odd_decimal(precision: u8, scale: i8) -> Type {
    let digits = u32::from(precision) + u32::from(scale.min(0).unsigned_abs());
    match scale <= 0 && digits <= u32::from(DECIMAL_PRECISION_MAX) {
        true => Type::Decimal { precision: digits as u8, scale: 0 },
        false => Type::Text,
    }
}

/// The Arrow schema of a result with these columns; instants bear UTC.
pub fn arrow_schema(schema: &Schema) -> SchemaRef {
    let fields: Vec<ArrowField> =
        schema.fields().iter().map(|f| arrow_field(&f.name, f.ty, f.nullable)).collect();
    Arc::new(ArrowSchema::new(fields))
}

/// As `arrow_schema`; columns of instants bear the zone's name. Inside lists and structs they bear UTC.
pub fn arrow_schema_in(schema: &Schema, zone: Zone) -> SchemaRef {
    if zone == Zone::Utc || !schema.fields().iter().any(|f| f.ty == Type::TimestampTz) {
        return arrow_schema(schema);
    }
    let field = |f: &types::Field| match f.ty {
        Type::TimestampTz => {
            let ty = DataType::Timestamp(TimeUnit::Microsecond, Some(zone.name().into()));
            ArrowField::new(&f.name, ty, f.nullable)
        }
        ty => arrow_field(&f.name, ty, f.nullable),
    };
    Arc::new(ArrowSchema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// The instants with the zone that the schema says, values shared.
fn zoned(array: ArrayRef, wanted: &DataType) -> ArrayRef {
    match (wanted, array.as_any().downcast_ref::<PrimitiveArray<at::TimestampMicrosecondType>>()) {
        (DataType::Timestamp(TimeUnit::Microsecond, zone @ Some(_)), Some(instants))
            if array.data_type() != wanted =>
        {
            Arc::new(instants.clone().with_timezone_opt(zone.clone()))
        }
        _ => array,
    }
}

/// A batch as an Arrow record batch of `schema` (as made by `arrow_schema` or `arrow_schema_in`).
pub fn to_record_batch(batch: &Batch, schema: &SchemaRef) -> Result<RecordBatch> {
    let arrays = batch.columns.iter().map(to_array).zip(schema.fields());
    let columns: Vec<ArrayRef> = arrays.map(|(array, field)| zoned(array, field.data_type())).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|e| Error::internal(format!("result does not fit its schema: {e}")))
}

/// The vector as an Arrow array of `arrow_type(vector.ty())`, flattened first. Buffers are shared unless the table
/// at the head of the file says otherwise.
pub fn to_array(vector: &Vector) -> ArrayRef {
    let vector = vector.flatten();
    let nulls = vector.validity().cloned();
    // For types that are narrower than their form; the values of NULL rows may be out of range.
    macro_rules! narrowed {
        ($arrow:ty, $values:expr) => {{
            let narrow = |v| <$arrow as at::ArrowPrimitiveType>::Native::try_from(v).unwrap_or_default();
            let values: Vec<_> = $values.iter().map(|v| narrow(*v)).collect();
            Arc::new(PrimitiveArray::<$arrow>::new(values.into(), nulls))
        }};
    }
    match (vector.data(), vector.ty()) {
        (Data::I16(v), Type::TinyInt) => narrowed!(at::Int8Type, v),
        (Data::I16(v), Type::UTinyInt) => narrowed!(at::UInt8Type, v),
        (Data::I32(v), Type::USmallInt) => narrowed!(at::UInt16Type, v),
        (Data::I64(v), Type::UInteger) | (Data::I64(v), Type::System(_)) => narrowed!(at::UInt32Type, v),
        (Data::I128(v), Type::UBigInt) => narrowed!(at::UInt64Type, v),
        (_, Type::Enum(_)) => labels::to_array(&vector),
        (_, Type::Null) => Arc::new(NullArray::new(vector.len())),
        (Data::Bool(b), _) => Arc::new(BooleanArray::new(b.clone(), nulls)),
        (Data::I16(v), _) => Arc::new(PrimitiveArray::<at::Int16Type>::new(v.clone(), nulls)),
        (Data::I32(v), Type::Date) => Arc::new(PrimitiveArray::<at::Date32Type>::new(v.clone(), nulls)),
        (Data::I32(v), Type::IntervalYearMonth) => {
            Arc::new(PrimitiveArray::<at::IntervalYearMonthType>::new(v.clone(), nulls))
        }
        (Data::I32(v), _) => Arc::new(PrimitiveArray::<at::Int32Type>::new(v.clone(), nulls)),
        (Data::I64(v), Type::Decimal { precision, scale }) => {
            let wide: Vec<i128> = v.iter().map(|x| i128::from(*x)).collect();
            Arc::new(decimal_array(wide.into(), nulls, precision, scale))
        }
        (Data::I64(v), Type::Time) => {
            Arc::new(PrimitiveArray::<at::Time64MicrosecondType>::new(v.clone(), nulls))
        }
        (Data::I64(v), Type::Timestamp) => {
            Arc::new(PrimitiveArray::<at::TimestampMicrosecondType>::new(v.clone(), nulls))
        }
        (Data::I64(v), ty) if ty.is_timestamp_of_unit() => timestamps_of_unit(v, ty, nulls),
        (Data::I64(v), Type::TimestampTz) => Arc::new(
            PrimitiveArray::<at::TimestampMicrosecondType>::new(v.clone(), nulls).with_timezone("+00:00"),
        ),
        (Data::I128(v), Type::Interval) => {
            let wide: Vec<IntervalMonthDayNano> = v.iter().map(|packed| month_day_nano(*packed)).collect();
            Arc::new(PrimitiveArray::<at::IntervalMonthDayNanoType>::new(wide.into(), nulls))
        }
        (Data::I64(v), Type::IntervalDayTime) => {
            let wide: Vec<IntervalMonthDayNano> = v
                .iter()
                .map(|x| {
                    let days = (x / datetime::MICROS_PER_DAY) as i32;
                    IntervalMonthDayNano::new(0, days, (x % datetime::MICROS_PER_DAY) * 1000)
                })
                .collect();
            Arc::new(PrimitiveArray::<at::IntervalMonthDayNanoType>::new(wide.into(), nulls))
        }
        (Data::I64(v), Type::TimeNs) => {
            Arc::new(PrimitiveArray::<at::Time64NanosecondType>::new(v.clone(), nulls))
        }
        (Data::I64(_), Type::TimeTz) => as_texts(&vector),
        (Data::I64(v), _) => Arc::new(PrimitiveArray::<at::Int64Type>::new(v.clone(), nulls)),
        (Data::I128(v), Type::Uuid) => {
            let mut builder = FixedSizeBinaryBuilder::with_capacity(v.len(), 16);
            for (row, value) in v.iter().enumerate() {
                if nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                    builder.append_null();
                } else {
                    // Sixteen bytes always fit a column of width 16.
                    let _ = builder.append_value(cast::uuid_to_bytes(*value));
                }
            }
            Arc::new(builder.finish())
        }
        (Data::I128(v), Type::Decimal { precision, scale }) => {
            Arc::new(decimal_array(v.clone(), nulls, precision, scale))
        }
        (Data::I128(v), _) => Arc::new(decimal_array(v.clone(), nulls, 38, 0)),
        (Data::F32(v), _) => Arc::new(PrimitiveArray::<at::Float32Type>::new(v.clone(), nulls)),
        (Data::F64(v), _) => Arc::new(PrimitiveArray::<at::Float64Type>::new(v.clone(), nulls)),
        (Data::Bytes(_), ty) if ty.is_nested() => nested_arrow::to_nested_array(&vector),
        (Data::Bytes(s), ty) if ty.is_reg() => {
            let shown = (0..vector.len()).map(|row| (!vector.is_null(row)).then(|| reg_name(s.get(row))));
            Arc::new(StringViewArray::from_iter(shown))
        }
        (Data::Bytes(_), ty) if ty.is_wide_integer() => as_texts(&vector),
        (Data::Bytes(s), ty) => {
            // SAFETY: `Strings` keeps every view inside its buffers (checked when it is made), and text types hold
            // UTF-8 only: it is validated where it enters (files, Arrow, literals) and kept by every kernel.
            unsafe {
                if ty == Type::Bytea {
                    Arc::new(BinaryViewArray::new_unchecked(s.views().clone(), s.buffers().to_vec(), nulls))
                } else {
                    Arc::new(StringViewArray::new_unchecked(s.views().clone(), s.buffers().to_vec(), nulls))
                }
            }
        }
        (Data::Dictionary { .. } | Data::Constant(_) | Data::Coded(_), _) => unreachable!("flattened above"),
    }
}

/// Values of a type that Arrow has not, as they are shown.
fn as_texts(vector: &Vector) -> ArrayRef {
    let shown = |row: usize| (!vector.is_null(row)).then(|| vector.value(row).display(vector.ty()));
    Arc::new(StringViewArray::from_iter((0..vector.len()).map(shown)))
}

/// Timestamps of another unit than microseconds.
fn timestamps_of_unit(held: &ScalarBuffer<i64>, ty: Type, nulls: Option<NullBuffer>) -> ArrayRef {
    let nanos = |nulls| PrimitiveArray::<at::TimestampNanosecondType>::new(held.clone(), nulls);
    match ty {
        Type::TimestampS => Arc::new(in_unit::<at::TimestampSecondType>(held, nulls, 1_000_000)),
        Type::TimestampMs => Arc::new(in_unit::<at::TimestampMillisecondType>(held, nulls, 1000)),
        Type::TimestampTzNs => Arc::new(nanos(nulls).with_timezone("+00:00")),
        _ => Arc::new(nanos(nulls)),
    }
}

/// Whole seconds or milliseconds, which are held in microseconds; infinite moments keep their integers.
fn in_unit<T: at::ArrowPrimitiveType<Native = i64>>(
    micros: &[i64],
    nulls: Option<NullBuffer>,
    unit: i64,
) -> PrimitiveArray<T> {
    let count = |micros: &i64| if datetime::is_infinite(*micros) { *micros } else { micros.div_euclid(unit) };
    PrimitiveArray::<T>::new(micros.iter().map(count).collect::<Vec<_>>().into(), nulls)
}

/// An interval as Arrow has it.
fn month_day_nano(packed: i128) -> IntervalMonthDayNano {
    let Interval { months, days, micros } = Interval::of_packed(packed);
    // Beyond 292 years of time, nanoseconds have no place; whole days of it have.
    let (over, micros) = match micros.checked_mul(1000) {
        Some(_) => (0, micros),
        None => (micros / datetime::MICROS_PER_DAY, micros % datetime::MICROS_PER_DAY),
    };
    IntervalMonthDayNano::new(months, days.saturating_add(over as i32), micros * 1000)
}

fn decimal_array(
    values: ScalarBuffer<i128>,
    nulls: Option<NullBuffer>,
    precision: u8,
    scale: u8,
) -> Decimal128Array {
    let array = Decimal128Array::new(values, nulls);
    match array.clone().with_precision_and_scale(precision, scale as i8) {
        Ok(array) => array,
        Err(_) => array,
    }
}

/// An Arrow array as a vector of `ty`, which must be `type_from_arrow` of the array's type, or for text any text
/// type (lengths are not checked here). Values that do not fit (a date out of range) are errors.
pub fn from_array(array: &dyn Array, ty: Type) -> Result<Vector> {
    let nulls = array.nulls().filter(|n| n.null_count() > 0).cloned();
    macro_rules! primitive {
        ($arrow:ty, $variant:ident) => {
            Ok(Vector::new(ty, Data::$variant(array.as_primitive::<$arrow>().values().clone()), nulls))
        };
    }
    macro_rules! converted {
        ($arrow:ty, $variant:ident, $f:expr) => {{
            let out: Vec<_> = array.as_primitive::<$arrow>().values().iter().map($f).collect();
            Ok(Vector::new(ty, Data::$variant(out.into()), nulls))
        }};
    }
    match array.data_type() {
        DataType::Null => Ok(Vector::constant(ty, Value::Null, array.len())),
        DataType::Boolean => Ok(Vector::new(ty, Data::Bool(array.as_boolean().values().clone()), nulls)),
        DataType::Int8 => converted!(at::Int8Type, I16, |v| i16::from(*v)),
        DataType::UInt8 => converted!(at::UInt8Type, I16, |v| i16::from(*v)),
        DataType::Int16 => primitive!(at::Int16Type, I16),
        DataType::UInt16 => converted!(at::UInt16Type, I32, |v| i32::from(*v)),
        DataType::Int32 => primitive!(at::Int32Type, I32),
        DataType::UInt32 => converted!(at::UInt32Type, I64, |v| i64::from(*v)),
        DataType::Int64 => primitive!(at::Int64Type, I64),
        DataType::UInt64 => converted!(at::UInt64Type, I128, |v| i128::from(*v)),
        DataType::Float16 => converted!(at::Float16Type, F32, |v| v.to_f32()),
        DataType::Float32 => primitive!(at::Float32Type, F32),
        DataType::Float64 => primitive!(at::Float64Type, F64),
        DataType::Decimal32(_, s) | DataType::Decimal64(_, s) | DataType::Decimal128(_, s)
            if *s < 0 || type_from_arrow(array.data_type()) == Some(Type::Text) =>
        {
            // The point lies outside the digits.
            let wide = arrow_cast_to_256(array)?;
            from_wide_decimals(&wide, ty)
        }
        DataType::Decimal256(..) => from_wide_decimals(array.as_primitive::<at::Decimal256Type>(), ty),
        DataType::Decimal32(..) => converted!(at::Decimal32Type, I64, |v| i64::from(*v)),
        DataType::Decimal64(..) => primitive!(at::Decimal64Type, I64),
        DataType::Decimal128(p, _) if *p <= 18 => from_narrow_decimals(array, ty, nulls),
        DataType::Decimal128(..) => primitive!(at::Decimal128Type, I128),
        DataType::Date32 => primitive!(at::Date32Type, I32),
        DataType::Date64 => {
            converted!(at::Date64Type, I32, |v| v
                .div_euclid(86_400_000)
                .clamp(i64::from(i32::MIN), i64::from(i32::MAX))
                as i32)
        }
        DataType::Time32(TimeUnit::Second) => {
            converted!(at::Time32SecondType, I64, |v| i64::from(*v) * 1_000_000)
        }
        DataType::Time32(_) => converted!(at::Time32MillisecondType, I64, |v| i64::from(*v) * 1000),
        DataType::Time64(TimeUnit::Microsecond) => primitive!(at::Time64MicrosecondType, I64),
        DataType::Time64(_) if ty == Type::TimeNs => primitive!(at::Time64NanosecondType, I64),
        DataType::Time64(_) => converted!(at::Time64NanosecondType, I64, |v| v.div_euclid(1000)),
        DataType::Timestamp(TimeUnit::Second, _) => {
            converted!(at::TimestampSecondType, I64, |v| v.saturating_mul(1_000_000))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            converted!(at::TimestampMillisecondType, I64, |v| v.saturating_mul(1000))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => primitive!(at::TimestampMicrosecondType, I64),
        DataType::Timestamp(TimeUnit::Nanosecond, _) if ty.is_timestamp_of_unit() => {
            primitive!(at::TimestampNanosecondType, I64)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            converted!(at::TimestampNanosecondType, I64, |v| v.div_euclid(1000))
        }
        DataType::Interval(IntervalUnit::YearMonth) => primitive!(at::IntervalYearMonthType, I32),
        DataType::Interval(IntervalUnit::DayTime) => converted!(at::IntervalDayTimeType, I64, |v| {
            i64::from(v.days) * datetime::MICROS_PER_DAY + i64::from(v.milliseconds) * 1000
        }),
        DataType::Interval(IntervalUnit::MonthDayNano) => from_month_day_nanos(array, ty, nulls),
        DataType::Duration(TimeUnit::Second) => {
            converted!(at::DurationSecondType, I64, |v| v.saturating_mul(1_000_000))
        }
        DataType::Duration(TimeUnit::Millisecond) => {
            converted!(at::DurationMillisecondType, I64, |v| v.saturating_mul(1000))
        }
        DataType::Duration(TimeUnit::Microsecond) => primitive!(at::DurationMicrosecondType, I64),
        DataType::Duration(TimeUnit::Nanosecond) => {
            converted!(at::DurationNanosecondType, I64, |v| v.div_euclid(1000))
        }
        DataType::Utf8View
        | DataType::BinaryView
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::FixedSizeBinary(_) => Ok(from_texts(array, ty, nulls)),
        DataType::Dictionary(_, _) => from_dictionary(array, ty),
        other => {
            if let Some(vector) = nested_arrow::from_nested_array(array, ty) {
                return vector;
            }
            Err(Error::new(SqlState::FeatureNotSupported, format!("Arrow type {other} has no counterpart")))
        }
    }
}

/// Texts and bytes, however Arrow holds them.
fn from_texts(array: &dyn Array, ty: Type, nulls: Option<NullBuffer>) -> Vector {
    match array.data_type() {
        DataType::Utf8View => {
            let a = array.as_string_view();
            strings_vector(ty, a.views().clone(), a.data_buffers().to_vec().into(), nulls)
        }
        DataType::BinaryView => {
            let a = array.as_binary_view();
            strings_vector(ty, a.views().clone(), a.data_buffers().to_vec().into(), nulls)
        }
        DataType::Utf8 => {
            let a = array.as_string::<i32>();
            views_over(ty, a.len(), |row| a.value(row).as_bytes(), nulls)
        }
        DataType::LargeUtf8 => {
            let a = array.as_string::<i64>();
            views_over(ty, a.len(), |row| a.value(row).as_bytes(), nulls)
        }
        DataType::Binary => {
            let a = array.as_binary::<i32>();
            views_over(ty, a.len(), |row| a.value(row), nulls)
        }
        DataType::LargeBinary => {
            let a = array.as_binary::<i64>();
            views_over(ty, a.len(), |row| a.value(row), nulls)
        }
        DataType::FixedSizeBinary(width) => {
            let a = array.as_fixed_size_binary();
            if *width == 16 && ty == Type::Uuid {
                let out: Vec<i128> = (0..a.len())
                    .map(|row| <[u8; 16]>::try_from(a.value(row)).map_or(0, cast::uuid_from_bytes))
                    .collect();
                return Vector::new(ty, Data::I128(out.into()), nulls);
            }
            views_over(ty, a.len(), |row| a.value(row), nulls)
        }
        _ => Vector::constant(ty, Value::Null, array.len()),
    }
}

/// Intervals of months, days and nanoseconds.
fn from_month_day_nanos(array: &dyn Array, ty: Type, nulls: Option<NullBuffer>) -> Result<Vector> {
    let values = array.as_primitive::<at::IntervalMonthDayNanoType>().values();
    if ty == Type::Interval {
        let mut out = Vec::with_capacity(values.len());
        for (row, v) in values.iter().enumerate() {
            let interval = Interval::new(v.months, v.days, v.nanoseconds.div_euclid(1000));
            match interval.packed() {
                _ if array.is_null(row) => out.push(0),
                Some(packed) => out.push(packed),
                None => return Err(types::interval::out_of_range()),
            }
        }
        return Ok(Vector::new(ty, Data::I128(out.into()), nulls));
    }
    let with_months = (0..values.len()).any(|row| values[row].months != 0 && !array.is_null(row));
    if with_months {
        return Err(Error::unsupported("an interval that mixes months with days is not supported")
            .with_hint("split it into a year-month and a day-time interval"));
    }
    let out: Vec<i64> =
        values.iter().map(|v| i64::from(v.days) * datetime::MICROS_PER_DAY + v.nanoseconds / 1000).collect();
    Ok(Vector::new(ty, Data::I64(out.into()), nulls))
}

/// Decimals whose declared precision 64 bits have room for.
fn from_narrow_decimals(array: &dyn Array, ty: Type, nulls: Option<NullBuffer>) -> Result<Vector> {
    // A foreign array may hold a value wider than its declared precision.
    let values = array.as_primitive::<at::Decimal128Type>().values();
    let mut wide = false;
    let out: Vec<i64> = values
        .iter()
        .map(|v| {
            wide |= *v != i128::from(*v as i64);
            *v as i64
        })
        .collect();
    if wide {
        for (row, v) in values.iter().enumerate() {
            if i64::try_from(*v).is_err() && !array.is_null(row) {
                return Err(Error::out_of_range(&ty));
            }
        }
    }
    Ok(Vector::new(ty, Data::I64(out.into()), nulls))
}

/// Decimals of any width and scale as those of at most 38 digits, or as text.
fn from_wide_decimals(array: &PrimitiveArray<at::Decimal256Type>, ty: Type) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, array.len());
    let scale = array.scale();
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.push_null();
            continue;
        }
        let digits = array.value(row).to_string();
        let text = placed_point(&digits, scale);
        let value = match ty {
            Type::Text => Value::text(&text),
            _ => cast::parse_text(&text, ty)?,
        };
        builder.push(&value);
    }
    Ok(builder.finish())
}

/// The digits of an unscaled number with the point where the scale says.
fn placed_point(digits: &str, scale: i8) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |d| ("-", d));
    if scale <= 0 {
        let zeros = if digits == "0" { 0 } else { usize::from(scale.unsigned_abs()) };
        return format!("{sign}{digits}{}", "0".repeat(zeros));
    }
    let scale = usize::from(scale.unsigned_abs());
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// Decimals of any width as the widest.
fn arrow_cast_to_256(array: &dyn Array) -> Result<PrimitiveArray<at::Decimal256Type>> {
    use arrow_buffer::i256;
    let nulls = array.nulls().cloned();
    let (values, scale): (Vec<i256>, i8) = match array.data_type() {
        DataType::Decimal32(_, s) => {
            let wide = |v: &i32| i256::from_i128(i128::from(*v));
            (array.as_primitive::<at::Decimal32Type>().values().iter().map(wide).collect(), *s)
        }
        DataType::Decimal64(_, s) => {
            let wide = |v: &i64| i256::from_i128(i128::from(*v));
            (array.as_primitive::<at::Decimal64Type>().values().iter().map(wide).collect(), *s)
        }
        DataType::Decimal128(_, s) => {
            let wide = |v: &i128| i256::from_i128(*v);
            (array.as_primitive::<at::Decimal128Type>().values().iter().map(wide).collect(), *s)
        }
        other => return Err(Error::internal(format!("{other} is no decimal"))),
    };
    PrimitiveArray::<at::Decimal256Type>::new(values.into(), nulls)
        .with_precision_and_scale(76, scale)
        .map_err(|e| Error::unsupported(e.to_string()))
}

/// A vector over Arrow's own views and buffers, without a copy of the bytes.
fn strings_vector(
    ty: Type,
    views: ScalarBuffer<u128>,
    buffers: Arc<[arrow_buffer::Buffer]>,
    nulls: Option<NullBuffer>,
) -> Vector {
    // A NULL row's view may hold anything; it is blanked, so that every view is valid.
    let strings = match &nulls {
        None => Strings::new(views, buffers),
        Some(nulls) => {
            let cleaned: Vec<u128> =
                views.iter().enumerate().map(|(row, v)| if nulls.is_null(row) { 0 } else { *v }).collect();
            Strings::new(cleaned.into(), buffers)
        }
    };
    Vector::new(ty, Data::Bytes(strings), nulls)
}

/// Strings copied row by row; a NULL row becomes the empty string.
fn views_over<'a>(
    ty: Type,
    rows: usize,
    get: impl Fn(usize) -> &'a [u8],
    nulls: Option<NullBuffer>,
) -> Vector {
    let mut builder = StringBuilder::with_capacity(rows);
    for row in 0..rows {
        let null = nulls.as_ref().is_some_and(|n| n.is_null(row));
        builder.push(if null { b"" } else { get(row) });
    }
    Vector::new(ty, Data::Bytes(builder.finish()), nulls)
}

/// A dictionary array as a dictionary vector, or decoded if NULL is among its values.
fn from_dictionary(array: &dyn Array, ty: Type) -> Result<Vector> {
    let dictionary = array.as_any_dictionary();
    let values = from_array(dictionary.values().as_ref(), ty)?;
    let keys = dictionary.normalized_keys();
    let nulls = array.logical_nulls().filter(|n| n.null_count() > 0);
    let bound = values.len();
    if values.has_nulls() || bound == 0 || keys.len() > u32::MAX as usize {
        // A dictionary with NULL among its values is decoded.
        let indices: Vec<u32> = keys
            .iter()
            .enumerate()
            .map(|(row, k)| {
                let null = nulls.as_ref().is_some_and(|n| n.is_null(row));
                if null || *k >= bound { crate::gather::NO_ROW } else { *k as u32 }
            })
            .collect();
        return Ok(values.gather_nullable(&indices));
    }
    let codes: Vec<u32> = keys.iter().map(|k| if *k < bound { *k as u32 } else { 0 }).collect();
    Ok(Vector::dictionary(codes.into(), Arc::new(values), nulls))
}
