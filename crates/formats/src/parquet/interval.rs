//! INTERVAL in Parquet files: 12 bytes of months, days and milliseconds, each without a sign.
//!
//! The crate neither writes nor reads all three, so to it a column of them is one of 12 plain bytes, with the annotation
//! put on or taken off here; values are turned batch by batch, inside of lists, structs and maps, too. What 12 bytes do
//! not hold (a sign, parts of a millisecond) is an error, never cut. Timestamps of seconds, which Parquet has
//! not, become those of milliseconds on the same way, and a UNION is refused. Written by `write`, read by `unit`.

use std::sync::Arc;

use ::parquet::arrow::ArrowSchemaConverter;
use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use ::parquet::arrow::arrow_writer::ArrowWriterOptions;
use ::parquet::basic::ConvertedType;
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::{FileMetaData, ParquetMetaDataBuilder};
use ::parquet::file::properties::WriterProperties;
use ::parquet::schema::types::{SchemaDescriptor, Type as Written};
use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{IntervalMonthDayNanoType, TimestampMillisecondType, TimestampSecondType};
use arrow_array::{Array, ArrayRef, BinaryArray, PrimitiveArray, RecordBatch, make_array};
use arrow_buffer::IntervalMonthDayNano;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, IntervalUnit, Schema, SchemaRef, TimeUnit};
use types::interval::Interval;
use types::{Error, Result, SqlState};

use super::footer::of_leaves;
use super::uuid;

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const BYTES: i32 = 12;
const NANOS_PER_MILLISECOND: i64 = 1_000_000;
const MILLISECONDS_PER_DAY: i64 = 86_400_000;

/// Whether a type is an interval or has one inside.
pub(super) fn holds_intervals(ty: &DataType) -> bool {
    holds(ty, &|ty| *ty == INTERVAL)
}

/// Whether `wanted` holds for a type or for one inside it.
fn holds(ty: &DataType, wanted: &dyn Fn(&DataType) -> bool) -> bool {
    let inside = |field: &FieldRef| holds(field.data_type(), wanted);
    match ty {
        DataType::Struct(fields) => fields.iter().any(inside),
        DataType::List(of)
        | DataType::LargeList(of)
        | DataType::ListView(of)
        | DataType::LargeListView(of) => inside(of),
        DataType::FixedSizeList(of, _) | DataType::Map(of, _) => inside(of),
        ty => wanted(ty),
    }
}

/// The schema with milliseconds for seconds; an error for a union.
fn of_parquet(schema: &SchemaRef) -> ParquetResult<SchemaRef> {
    let any = |wanted: &dyn Fn(&DataType) -> bool| {
        schema.fields().iter().find(|field| holds(field.data_type(), wanted))
    };
    if let Some(field) = any(&|ty| matches!(ty, DataType::Union(..))) {
        let message = format!("Parquet has no type for the UNION of column \"{}\"", field.name());
        return Err(ParquetError::NYI(format!("{message}; cast it to JSON or TEXT, or write JSON or Arrow")));
    }
    if any(&|ty| matches!(ty, DataType::Timestamp(TimeUnit::Second, _))).is_none() {
        return Ok(schema.clone());
    }
    let mut ty = |_: usize, ty: &DataType| match ty {
        DataType::Timestamp(TimeUnit::Second, zone) => {
            DataType::Timestamp(TimeUnit::Millisecond, zone.clone())
        }
        ty => ty.clone(),
    };
    let fields: Vec<Field> = schema.fields().iter().map(|field| of_leaves(field, &mut 0, &mut ty)).collect();
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

fn in_schema(schema: &Schema) -> bool {
    schema.fields().iter().any(|field| holds_intervals(field.data_type()))
}

/// The schema with plain bytes for intervals.
fn plain(schema: &Schema) -> SchemaRef {
    let mut ty =
        |_: usize, ty: &DataType| if *ty == INTERVAL { DataType::FixedSizeBinary(BYTES) } else { ty.clone() };
    let fields: Vec<Field> = schema.fields().iter().map(|field| of_leaves(field, &mut 0, &mut ty)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The schema that a writer of a file takes, and its options; `numbered` is the schema with numbers of its fields, if they
/// are to have some.
pub(crate) fn writing(
    schema: &SchemaRef,
    properties: WriterProperties,
    numbered: Option<Schema>,
) -> ParquetResult<(SchemaRef, ArrowWriterOptions)> {
    let options = ArrowWriterOptions::new().with_properties(properties);
    let schema = &of_parquet(schema)?;
    if !in_schema(schema) && !uuid::in_schema(schema) && numbered.is_none() {
        return Ok((schema.clone(), options));
    }
    let described = match numbered {
        Some(numbered) => of_parquet(&Arc::new(numbered))?,
        None => schema.clone(),
    };
    let annotated = uuid::annotated(&ArrowSchemaConverter::new().convert(&described)?)?;
    Ok((plain(schema), options.with_parquet_schema(annotated)))
}

/// The rows as `writing`'s schema has them.
pub(crate) fn written(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if batch.schema() == *schema {
        return Ok(batch);
    }
    let columns = batch.columns().iter().zip(schema.fields());
    let columns =
        columns.map(|(column, field)| turned(column, field.data_type())).collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(schema.clone(), columns).map_err(|e| failed(&e))
}

/// A file's metadata with the bytes of intervals as plain bytes, if it has intervals.
pub(super) fn reading(metadata: &ArrowReaderMetadata) -> ParquetResult<Option<ArrowReaderMetadata>> {
    if !in_schema(metadata.schema()) {
        return Ok(None);
    }
    let file = metadata.metadata().file_metadata();
    let mut whole = Vec::new();
    let mut note = |_: usize, ty: &DataType| {
        whole.push(*ty == INTERVAL);
        ty.clone()
    };
    let mut next = 0;
    for field in metadata.schema().fields() {
        of_leaves(field, &mut next, &mut note);
    }
    let root = unannotated(file.schema_descr().root_schema(), &mut whole.into_iter())?;
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        Arc::new(SchemaDescriptor::new(Arc::new(root))),
        file.column_orders().cloned(),
    );
    let bytes = ParquetMetaDataBuilder::new(file)
        .set_row_groups(metadata.metadata().row_groups().to_vec())
        .set_column_index(metadata.metadata().column_index().cloned())
        .set_offset_index(metadata.metadata().offset_index().cloned())
        .build();
    let options = ArrowReaderOptions::new().with_schema(plain(metadata.schema()));
    ArrowReaderMetadata::try_new(Arc::new(bytes), options).map(Some)
}

/// A file's type without the annotation of intervals, where `whole` says so of its leaves, in order.
fn unannotated(ty: &Written, whole: &mut dyn Iterator<Item = bool>) -> ParquetResult<Written> {
    let info = ty.get_basic_info();
    let id = info.has_id().then(|| info.id());
    match ty {
        Written::PrimitiveType { physical_type, .. } => {
            if !whole.next().unwrap_or(false) || info.converted_type() != ConvertedType::INTERVAL {
                return Ok(ty.clone());
            }
            Written::primitive_type_builder(info.name(), *physical_type)
                .with_repetition(info.repetition())
                .with_length(BYTES)
                .with_id(id)
                .build()
        }
        Written::GroupType { fields, .. } => {
            let inner = fields.iter().map(|field| unannotated(field, whole).map(Arc::new));
            let mut group = Written::group_type_builder(info.name())
                .with_fields(inner.collect::<ParquetResult<Vec<_>>>()?)
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_id(id);
            if info.has_repetition() {
                group = group.with_repetition(info.repetition());
            }
            group.build()
        }
    }
}

/// An array of the type, made of one that has plain bytes for intervals, or the other way round, or bytes of one length for
/// bytes of any.
pub(super) fn turned(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let from = array.data_type();
    if from == to {
        return Ok(array.clone());
    }
    match (from, to) {
        (DataType::FixedSizeBinary(BYTES), ty) if *ty == INTERVAL => {
            let bytes = array.as_fixed_size_binary();
            let value = |row| if bytes.is_null(row) { None } else { interval_of(bytes.value(row)) };
            let values: PrimitiveArray<IntervalMonthDayNanoType> = (0..bytes.len()).map(value).collect();
            Ok(Arc::new(values))
        }
        (DataType::FixedSizeBinary(_), DataType::Binary) => {
            Ok(Arc::new(array.as_fixed_size_binary().iter().collect::<BinaryArray>()))
        }
        (DataType::Timestamp(TimeUnit::Second, _), DataType::Timestamp(TimeUnit::Millisecond, zone)) => {
            // They were held in microseconds, so that milliseconds fit, but for the infinite ones.
            let seconds = array.as_primitive::<TimestampSecondType>();
            let milliseconds: PrimitiveArray<TimestampMillisecondType> =
                seconds.unary(|s| s.checked_mul(1000).unwrap_or(s));
            Ok(Arc::new(milliseconds.with_timezone_opt(zone.clone())))
        }
        (from, DataType::FixedSizeBinary(BYTES)) if *from == INTERVAL => {
            let values = array.as_primitive::<IntervalMonthDayNanoType>();
            let mut bytes = FixedSizeBinaryBuilder::with_capacity(values.len(), BYTES);
            for value in values.iter() {
                match value {
                    Some(value) => bytes.append_value(bytes_of(value)?).map_err(|e| failed(&e))?,
                    None => bytes.append_null(),
                }
            }
            Ok(Arc::new(bytes.finish()))
        }
        _ => {
            let inner: Vec<&FieldRef> = match to {
                DataType::Struct(fields) => fields.iter().collect(),
                DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => vec![of],
                DataType::ListView(of) | DataType::LargeListView(of) | DataType::Map(of, _) => vec![of],
                // Text and bytes are as the file's own decoder has them.
                _ => return Ok(array.clone()),
            };
            let data = array.to_data();
            let children = data.child_data().iter().zip(inner);
            let children = children.map(|(child, field)| {
                turned(&make_array(child.clone()), field.data_type()).map(|a| a.to_data())
            });
            let children = children.collect::<Result<Vec<_>>>()?;
            let built = data.into_builder().child_data(children).data_type(to.clone()).build();
            built.map(make_array).map_err(|e| failed(&e))
        }
    }
}

fn failed(error: &ArrowError) -> Error {
    Error::internal(format!("intervals of a Parquet file: {error}"))
}

fn interval_of(bytes: &[u8]) -> Option<IntervalMonthDayNano> {
    let part = |at: usize| bytes.get(at..at + 4).and_then(|b| <[u8; 4]>::try_from(b).ok());
    let (months, days) = (i32::from_le_bytes(part(0)?), i32::from_le_bytes(part(4)?));
    let milliseconds = u32::from_le_bytes(part(8)?);
    Some(IntervalMonthDayNano::new(months, days, i64::from(milliseconds) * NANOS_PER_MILLISECOND))
}

fn bytes_of(value: IntervalMonthDayNano) -> Result<[u8; 12]> {
    let refuse = |what: &str| {
        let shown = Interval::new(value.months, value.days, value.nanoseconds / 1000);
        let message = format!("Parquet's INTERVAL holds {what}: \"{shown}\"");
        Error::new(SqlState::NumericValueOutOfRange, message)
            .with_hint("cast the column to TEXT, or write CSV, JSON or Arrow, which hold every interval")
    };
    if value.months < 0 || value.days < 0 || value.nanoseconds < 0 {
        return Err(refuse("no negative parts"));
    }
    if value.nanoseconds % NANOS_PER_MILLISECOND != 0 {
        return Err(refuse("whole milliseconds only"));
    }
    let (mut days, mut milliseconds) = (i64::from(value.days), value.nanoseconds / NANOS_PER_MILLISECOND);
    if milliseconds > i64::from(u32::MAX) {
        days += milliseconds / MILLISECONDS_PER_DAY;
        milliseconds %= MILLISECONDS_PER_DAY;
    }
    let days = i32::try_from(days).map_err(|_| refuse("days of 32 bits"))?;
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&value.months.to_le_bytes());
    bytes[4..8].copy_from_slice(&days.to_le_bytes());
    // It fits: see above.
    bytes[8..].copy_from_slice(&(milliseconds as u32).to_le_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_bytes_hold_what_they_hold() {
        for (months, days, nanos) in
            [(0, 0, 0), (14, 3, 4_500_000_000), (i32::MAX, i32::MAX, 4_294_967_295_000_000)]
        {
            let value = IntervalMonthDayNano::new(months, days, nanos);
            assert_eq!(interval_of(&bytes_of(value).unwrap()), Some(value));
        }
        let long = bytes_of(IntervalMonthDayNano::new(0, 1, 100 * 86_400_000_000_000)).unwrap();
        assert_eq!(interval_of(&long), Some(IntervalMonthDayNano::new(0, 101, 0)));
        for (months, days, nanos) in [(-1, 0, 0), (0, -1, 0), (0, 0, -1_000_000), (0, 0, 1000)] {
            assert!(bytes_of(IntervalMonthDayNano::new(months, days, nanos)).is_err());
        }
    }
}
