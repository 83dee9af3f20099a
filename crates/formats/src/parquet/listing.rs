//! What Parquet files say of themselves, as rows: `parquet_metadata`, `parquet_schema`, `parquet_file_metadata` and
//! `parquet_kv_metadata`, with the columns that DuckDB gives them.
//!
//! Everything comes from the footers, which `footer` has checked. Memory is asked for before rows are made, since a
//! footer of many row groups and columns gives many rows. What a footer does not state is NULL.

use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::schema::types::{ColumnDescriptor, Type as Written};
use types::{Error, Field, Result, Schema, Type, Value, cast};

use super::footer::{footer_bytes, load};
use crate::Environment;
use crate::input::Input;

/// The table functions that `rows` answers.
pub const FUNCTIONS: [&str; 4] =
    ["parquet_metadata", "parquet_schema", "parquet_file_metadata", "parquet_kv_metadata"];

/// Bytes of a row in memory, about: what is asked for before rows are made.
const ROW_BYTES: u64 = 1 << 10;

fn text(name: &str) -> Field {
    Field::new(name, Type::Text, true)
}
fn number(name: &str) -> Field {
    Field::new(name, Type::BigInt, true)
}
fn truth(name: &str) -> Field {
    Field::new(name, Type::Boolean, true)
}
fn count(value: impl TryInto<i64>) -> Value {
    value.try_into().map_or(Value::Null, Value::I64)
}
fn maybe<T>(value: Option<T>, shown: impl FnOnce(T) -> Value) -> Value {
    value.map_or(Value::Null, shown)
}

/// The rows of the function of that name over the files; memory is asked for before rows are made.
pub fn rows(
    environment: &Environment,
    function: &str,
    paths: &[String],
) -> Result<(Schema, Vec<Vec<Value>>)> {
    let ask = &|bytes| environment.ask(bytes);
    let mut out = Vec::new();
    for path in paths {
        let (input, metadata) = load(environment, path)?;
        match function {
            "parquet_metadata" => chunks(path, &metadata, ask, &mut out)?,
            "parquet_schema" => {
                let leaves = metadata.parquet_schema().num_columns() as u64;
                ask(leaves.saturating_mul(2 * ROW_BYTES))?;
                elements(path, metadata.parquet_schema().root_schema(), &mut out);
            }
            "parquet_file_metadata" => out.push(file(path, &input, &metadata)?),
            _ => {
                let file = metadata.metadata().file_metadata();
                for entry in file.key_value_metadata().into_iter().flatten() {
                    let bytes = |text: &str| Value::Bytes(text.as_bytes().into());
                    ask((entry.key.len() + entry.value.as_ref().map_or(0, String::len)) as u64)?;
                    out.push(vec![
                        Value::text(path),
                        bytes(&entry.key),
                        maybe(entry.value.as_deref(), bytes),
                    ]);
                }
            }
        }
    }
    Ok((columns(function)?, out))
}

fn columns(function: &str) -> Result<Schema> {
    let bytes = |name: &str| Field::new(name, Type::Bytea, true);
    Ok(Schema::new(match function {
        "parquet_metadata" => vec![
            text("file_name"),
            number("row_group_id"),
            number("row_group_num_rows"),
            number("row_group_num_columns"),
            number("row_group_bytes"),
            number("column_id"),
            number("file_offset"),
            number("num_values"),
            text("path_in_schema"),
            text("type"),
            text("stats_min"),
            text("stats_max"),
            number("stats_null_count"),
            number("stats_distinct_count"),
            text("stats_min_value"),
            text("stats_max_value"),
            text("compression"),
            text("encodings"),
            number("index_page_offset"),
            number("dictionary_page_offset"),
            number("data_page_offset"),
            number("total_compressed_size"),
            number("total_uncompressed_size"),
            Field::new("key_value_metadata", Type::map(Type::Bytea, Type::Bytea)?, true),
            number("bloom_filter_offset"),
            number("bloom_filter_length"),
            truth("min_is_exact"),
            truth("max_is_exact"),
            number("row_group_compressed_bytes"),
        ],
        "parquet_schema" => vec![
            text("file_name"),
            text("name"),
            text("type"),
            text("type_length"),
            text("repetition_type"),
            number("num_children"),
            text("converted_type"),
            number("scale"),
            number("precision"),
            number("field_id"),
            text("logical_type"),
        ],
        "parquet_file_metadata" => vec![
            text("file_name"),
            text("created_by"),
            number("num_rows"),
            number("num_row_groups"),
            number("format_version"),
            text("encryption_algorithm"),
            text("footer_signing_key_metadata"),
            number("file_size_bytes"),
            number("footer_size"),
        ],
        "parquet_kv_metadata" => vec![text("file_name"), bytes("key"), bytes("value")],
        other => return Err(Error::internal(format!("{other} says nothing of Parquet files"))),
    }))
}

/// A row for each column of each row group.
fn chunks(
    path: &str,
    metadata: &ArrowReaderMetadata,
    ask: &dyn Fn(u64) -> Result<()>,
    out: &mut Vec<Vec<Value>>,
) -> Result<()> {
    for (number, group) in metadata.metadata().row_groups().iter().enumerate() {
        ask((group.num_columns() as u64).saturating_mul(ROW_BYTES))?;
        for (column, chunk) in group.columns().iter().enumerate() {
            let bounds = bounds(chunk);
            let statistics = chunk.statistics();
            let encodings: Vec<String> = chunk.encodings().map(|encoding| format!("{encoding:?}")).collect();
            out.push(vec![
                Value::text(path),
                count(number),
                count(group.num_rows()),
                count(group.num_columns()),
                count(group.total_byte_size()),
                count(column),
                count(chunk.file_offset()),
                count(chunk.num_values()),
                Value::text(&chunk.column_path().parts().join(", ")),
                Value::text(&format!("{:?}", chunk.column_type())),
                bounds.0.clone(),
                bounds.1.clone(),
                maybe(statistics.and_then(|s| s.null_count_opt()), count),
                maybe(statistics.and_then(|s| s.distinct_count_opt()), count),
                bounds.0,
                bounds.1,
                Value::text(&format!("{:?}", chunk.compression_codec())),
                Value::text(&encodings.join(", ")),
                maybe(chunk.index_page_offset(), count),
                maybe(chunk.dictionary_page_offset(), count),
                count(chunk.data_page_offset()),
                count(chunk.compressed_size()),
                count(chunk.uncompressed_size()),
                // The crate does not tell a column's own.
                Value::Null,
                maybe(chunk.bloom_filter_offset(), count),
                maybe(chunk.bloom_filter_length(), count),
                maybe(statistics.filter(|s| s.min_bytes_opt().is_some()), |s| Value::Bool(s.min_is_exact())),
                maybe(statistics.filter(|s| s.max_bytes_opt().is_some()), |s| Value::Bool(s.max_is_exact())),
                count(group.compressed_size()),
            ]);
        }
    }
    Ok(())
}

/// The least and the greatest value of a chunk as texts, as far as the file says them.
fn bounds(chunk: &ColumnChunkMetaData) -> (Value, Value) {
    let shown = |bytes: Option<&[u8]>| {
        maybe(bytes.and_then(|bytes| shown(bytes, chunk.column_descr())), |text: String| Value::text(&text))
    };
    match chunk.statistics() {
        Some(statistics) => (shown(statistics.min_bytes_opt()), shown(statistics.max_bytes_opt())),
        None => (Value::Null, Value::Null),
    }
}

/// A value's bytes as SQL shows the value; bytes of no type are shown as BYTEA.
fn shown(bytes: &[u8], column: &ColumnDescriptor) -> Option<String> {
    let (logical, converted) = (column.logical_type_ref(), column.converted_type());
    let decimal = match (logical, converted) {
        (Some(LogicalType::Decimal(_)), _) | (None, ConvertedType::DECIMAL) => {
            Type::decimal(column.type_precision().max(0) as u32, column.type_scale().max(0) as u32)
        }
        _ => None,
    };
    let raw = || Value::Bytes(bytes.into()).display(Type::Bytea);
    Some(match column.physical_type() {
        Physical::BOOLEAN => (*bytes.first()? != 0).to_string(),
        Physical::FLOAT => Value::F32(f32::from_le_bytes(bytes.try_into().ok()?)).display(Type::Real),
        Physical::DOUBLE => Value::F64(f64::from_le_bytes(bytes.try_into().ok()?)).display(Type::Double),
        Physical::INT96 => raw(),
        Physical::INT32 | Physical::INT64 => {
            let number = match *bytes {
                [_, _, _, _] => i64::from(i32::from_le_bytes(bytes.try_into().ok()?)),
                _ => i64::from_le_bytes(bytes.try_into().ok()?),
            };
            let unsigned = matches!(logical, Some(LogicalType::Integer(int)) if !int.is_signed)
                || matches!(
                    converted,
                    ConvertedType::UINT_8
                        | ConvertedType::UINT_16
                        | ConvertedType::UINT_32
                        | ConvertedType::UINT_64
                );
            match (logical, converted) {
                _ if decimal.is_some() => {
                    let ty = decimal?;
                    Value::from_i128(i128::from(number), ty.physical())?.display(ty)
                }
                _ if unsigned && bytes.len() == 4 => (number as u32).to_string(),
                _ if unsigned => (number as u64).to_string(),
                (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => {
                    Value::I32(i32::try_from(number).ok()?).display(Type::Date)
                }
                (Some(LogicalType::Timestamp(stamp)), _) => {
                    let ty = if stamp.is_adjusted_to_u_t_c { Type::TimestampTz } else { Type::Timestamp };
                    Value::I64(micros(number, &stamp.unit)?).display(ty)
                }
                (None, ConvertedType::TIMESTAMP_MICROS) => Value::I64(number).display(Type::Timestamp),
                (None, ConvertedType::TIMESTAMP_MILLIS) => {
                    Value::I64(number.checked_mul(1000)?).display(Type::Timestamp)
                }
                (Some(LogicalType::Time(time)), _) => {
                    Value::I64(micros(number, &time.unit)?).display(Type::Time)
                }
                _ => number.to_string(),
            }
        }
        Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => match (logical, converted) {
            _ if decimal.is_some() => {
                let ty = decimal?;
                if bytes.is_empty() || bytes.len() > 16 {
                    return Some(raw());
                }
                let sign = if bytes[0] & 0x80 != 0 { 0xFF } else { 0 };
                let mut wide = [sign; 16];
                wide[16 - bytes.len()..].copy_from_slice(bytes);
                Value::from_i128(i128::from_be_bytes(wide), ty.physical())?.display(ty)
            }
            (Some(LogicalType::Uuid), _) => {
                Value::I128(cast::uuid_from_bytes(bytes.try_into().ok()?)).display(Type::Uuid)
            }
            (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json), _)
            | (None, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON) => {
                std::str::from_utf8(bytes).map_or_else(|_| raw(), str::to_owned)
            }
            _ => raw(),
        },
    })
}

fn micros(number: i64, unit: &TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::MILLIS => number.checked_mul(1000),
        TimeUnit::MICROS => Some(number),
        TimeUnit::NANOS => Some(number.div_euclid(1000)),
    }
}

/// A row for the element and those in it, depth first, as the file lists them.
fn elements(path: &str, ty: &Written, out: &mut Vec<Vec<Value>>) {
    let info = ty.get_basic_info();
    let (mut physical, mut length, mut scale, mut precision, mut children) =
        (Value::Null, Value::Null, Value::Null, Value::Null, Value::Null);
    match ty {
        Written::PrimitiveType { physical_type, type_length, scale: s, precision: p, .. } => {
            physical = Value::text(&format!("{physical_type:?}"));
            if *type_length > 0 {
                length = Value::text(&type_length.to_string());
            }
            let decimal = matches!(info.logical_type_ref(), Some(LogicalType::Decimal(_)))
                || info.converted_type() == ConvertedType::DECIMAL;
            if decimal {
                (scale, precision) = (count(*s), count(*p));
            }
        }
        Written::GroupType { fields, .. } => children = count(fields.len()),
    }
    let converted = info.converted_type();
    out.push(vec![
        Value::text(path),
        Value::text(info.name()),
        physical,
        length,
        match info.has_repetition() {
            true => Value::text(&format!("{:?}", info.repetition())),
            false => Value::Null,
        },
        children,
        match converted {
            ConvertedType::NONE => Value::Null,
            known => Value::text(&format!("{known:?}")),
        },
        scale,
        precision,
        if info.has_id() { count(info.id()) } else { Value::Null },
        maybe(info.logical_type_ref(), |ty| Value::text(&logical(ty))),
    ]);
    if let Written::GroupType { fields, .. } = ty {
        fields.iter().for_each(|field| elements(path, field, out));
    }
}

/// A logical type with what belongs to it.
fn logical(ty: &LogicalType) -> String {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => "MILLIS",
        TimeUnit::MICROS => "MICROS",
        TimeUnit::NANOS => "NANOS",
    };
    match ty {
        LogicalType::Decimal(decimal) => {
            format!("DecimalType(scale={}, precision={})", decimal.scale, decimal.precision)
        }
        LogicalType::Integer(int) => {
            format!("IntType(bitWidth={}, isSigned={})", int.bit_width, u8::from(int.is_signed))
        }
        LogicalType::Timestamp(stamp) => format!(
            "TimestampType(isAdjustedToUTC={}, unit={})",
            u8::from(stamp.is_adjusted_to_u_t_c),
            unit(&stamp.unit)
        ),
        LogicalType::Time(time) => {
            format!(
                "TimeType(isAdjustedToUTC={}, unit={})",
                u8::from(time.is_adjusted_to_u_t_c),
                unit(&time.unit)
            )
        }
        LogicalType::Uuid => "UUIDType()".to_owned(),
        other => {
            let name = format!("{other:?}");
            let name = name.split(['(', ' ', '{']).next().unwrap_or_default();
            format!("{name}Type()")
        }
    }
}

fn file(path: &str, input: &Input, metadata: &ArrowReaderMetadata) -> Result<Vec<Value>> {
    let file = metadata.metadata().file_metadata();
    Ok(vec![
        Value::text(path),
        maybe(file.created_by(), Value::text),
        count(file.num_rows()),
        count(metadata.metadata().num_row_groups()),
        count(file.version()),
        // Encrypted files are refused before.
        Value::Null,
        Value::Null,
        count(input.length),
        count(footer_bytes(input)?),
    ])
}
