//! Types as drivers of ODBC's and JDBC's kind know them.

use std::sync::LazyLock;

use arrow_array::RecordBatch;
use arrow_flight::sql::metadata::{XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder};
use arrow_flight::sql::{CommandGetXdbcTypeInfo, Nullable, Searchable, XdbcDataType, XdbcDatetimeSubcode};
use arrow_schema::SchemaRef;
use engine::Result;

use super::parts::failed;

/// What differs between types: name, kind, digits, what literals stand between, subcode of dates and intervals.
type Row = (&'static str, XdbcDataType, i32, Option<&'static str>, Option<XdbcDatetimeSubcode>);

const ROWS: [Row; 21] = [
    ("boolean", XdbcDataType::XdbcBit, 1, None, None),
    ("tinyint", XdbcDataType::XdbcTinyint, 3, None, None),
    ("smallint", XdbcDataType::XdbcSmallint, 5, None, None),
    ("integer", XdbcDataType::XdbcInteger, 10, None, None),
    ("bigint", XdbcDataType::XdbcBigint, 19, None, None),
    ("hugeint", XdbcDataType::XdbcNumeric, 38, None, None),
    ("decimal", XdbcDataType::XdbcDecimal, 38, None, None),
    ("real", XdbcDataType::XdbcReal, 24, None, None),
    ("double precision", XdbcDataType::XdbcDouble, 53, None, None),
    ("char", XdbcDataType::XdbcChar, i32::MAX, Some("'"), None),
    ("varchar", XdbcDataType::XdbcVarchar, i32::MAX, Some("'"), None),
    ("text", XdbcDataType::XdbcLongvarchar, i32::MAX, Some("'"), None),
    ("json", XdbcDataType::XdbcLongvarchar, i32::MAX, Some("'"), None),
    ("bytea", XdbcDataType::XdbcVarbinary, i32::MAX, Some("'"), None),
    ("uuid", XdbcDataType::XdbcBinary, 16, Some("'"), None),
    ("date", XdbcDataType::XdbcDate, 10, Some("'"), Some(XdbcDatetimeSubcode::XdbcSubcodeYear)),
    ("time", XdbcDataType::XdbcTime, 15, Some("'"), Some(XdbcDatetimeSubcode::XdbcSubcodeTime)),
    (
        "timestamp",
        XdbcDataType::XdbcTimestamp,
        26,
        Some("'"),
        Some(XdbcDatetimeSubcode::XdbcSubcodeTimestamp),
    ),
    (
        "timestamptz",
        XdbcDataType::XdbcTimestamp,
        32,
        Some("'"),
        Some(XdbcDatetimeSubcode::XdbcSubcodeTimestampWithTimezone),
    ),
    (
        "interval",
        XdbcDataType::XdbcInterval,
        49,
        Some("'"),
        Some(XdbcDatetimeSubcode::XdbcSubcodeDayToSecond),
    ),
    ("enum", XdbcDataType::XdbcVarchar, i32::MAX, Some("'"), None),
];

static TYPES: LazyLock<std::result::Result<XdbcTypeInfoData, String>> = LazyLock::new(|| {
    let mut types = XdbcTypeInfoDataBuilder::new();
    for (name, kind, size, quote, subcode) in ROWS {
        let is_number = quote.is_none() && kind != XdbcDataType::XdbcBit;
        let binary = matches!(kind, XdbcDataType::XdbcReal | XdbcDataType::XdbcDouble);
        let parameters = match name {
            "decimal" => Some(vec!["precision".to_owned(), "scale".to_owned()]),
            "char" | "varchar" => Some(vec!["length".to_owned()]),
            _ => None,
        };
        types.append(XdbcTypeInfo {
            type_name: name.to_owned(),
            data_type: kind,
            column_size: Some(size),
            literal_prefix: quote.map(str::to_owned),
            literal_suffix: quote.map(str::to_owned),
            create_params: parameters,
            nullable: Nullable::NullabilityNullable,
            case_sensitive: matches!(name, "char" | "varchar" | "text" | "enum"),
            searchable: Searchable::Full,
            unsigned_attribute: is_number.then_some(false),
            fixed_prec_scale: false,
            auto_increment: is_number.then_some(false),
            local_type_name: Some(name.to_owned()),
            minimum_scale: (name == "decimal").then_some(0),
            maximum_scale: (name == "decimal").then_some(38),
            sql_data_type: if subcode.is_some() { XdbcDataType::XdbcDatetime } else { kind },
            datetime_subcode: subcode,
            num_prec_radix: is_number.then_some(if binary { 2 } else { 10 }),
            interval_precision: None,
        });
    }
    types.build().map_err(|error| error.to_string())
});

/// Columns of the answer.
pub fn schema() -> SchemaRef {
    TYPES.as_ref().map_or_else(|_| super::parts::schema_of(vec![]), XdbcTypeInfoData::schema)
}

/// The types of the kind that is asked for; all of them where none is named.
pub fn rows(command: CommandGetXdbcTypeInfo) -> Result<RecordBatch> {
    let types = TYPES.as_ref().map_err(failed)?;
    types.record_batch(command.data_type).map_err(failed)
}
