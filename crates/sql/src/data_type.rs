//! Type names as the parser has them, to types.

use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, IntervalFields, ObjectName, TimezoneInfo,
};
use types::logical::DECIMAL_PRECISION_MAX;
use types::{Error, Result, SqlState, Type};

use crate::nested_syntax;

/// Longest CHAR(n) and VARCHAR(n), PostgreSQL's.
const CHARACTERS_MAX: u64 = 10_485_760;

/// Types of other systems, by how their names begin, and what takes their values here.
const INSTEAD: [(&str, &str); 5] = [
    ("UHUGEINT", "HUGEINT, or TEXT for more than 2^127 - 1,"),
    ("UINT128", "HUGEINT, or TEXT for more than 2^127 - 1,"),
    ("NUMBER", "DECIMAL(precision, scale)"),
    ("ENUM", "TEXT, with a CHECK,"),
    ("VARIANT", "JSON"),
];

/// Names that a misspelt type may have meant.
const TYPE_NAMES: [&str; 18] = [
    "BIGINT",
    "BOOLEAN",
    "BYTEA",
    "CHAR",
    "DATE",
    "DECIMAL",
    "DOUBLE",
    "FLOAT",
    "INTEGER",
    "INTERVAL",
    "NUMERIC",
    "REAL",
    "SMALLINT",
    "STRING",
    "TEXT",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "VARCHAR",
];

/// The type that a name says.
pub(crate) fn column_type(name: &DataType) -> Result<Type> {
    use DataType as D;
    let ty = match name {
        D::Boolean | D::Bool => Type::Boolean,
        D::SmallInt(_) | D::Int2(_) | D::Int16 => Type::SmallInt,
        D::Int(_) | D::Integer(_) | D::Int4(_) | D::Int32 => Type::Integer,
        D::BigInt(_) | D::Int8(_) | D::Int64 => Type::BigInt,
        D::TinyInt(None) => Type::TinyInt,
        D::UTinyInt | D::UInt8 | D::TinyIntUnsigned(None) => Type::UTinyInt,
        D::USmallInt | D::UInt16 | D::SmallIntUnsigned(None) | D::Int2Unsigned(None) => Type::USmallInt,
        D::UInt32 | D::IntUnsigned(None) | D::IntegerUnsigned(None) | D::Int4Unsigned(None) => Type::UInteger,
        D::UBigInt | D::UInt64 | D::BigIntUnsigned(None) | D::Int8Unsigned(None) => Type::UBigInt,
        D::HugeInt | D::Int128 => Type::HugeInt,
        D::Real | D::Float4 | D::Float32 => Type::Real,
        D::Float(ExactNumberInfo::Precision(bits)) if (1..=24).contains(bits) => Type::Real,
        D::Float(ExactNumberInfo::None) | D::DoublePrecision | D::Float8 | D::Float64 => Type::Double,
        D::Float(ExactNumberInfo::Precision(bits)) if (25..=53).contains(bits) => Type::Double,
        D::Double(_) => Type::Double,
        D::Decimal(info) | D::Numeric(info) | D::Dec(info) => decimal(info)?,
        D::Char(length) | D::Character(length) => Type::Char(characters(length.as_ref(), 1)?),
        D::Varchar(None) | D::CharacterVarying(None) | D::CharVarying(None) | D::Nvarchar(None) => Type::Text,
        D::Varchar(length) | D::CharacterVarying(length) | D::CharVarying(length) | D::Nvarchar(length) => {
            Type::Varchar(characters(length.as_ref(), 1)?)
        }
        D::Text | D::String(None) => Type::Text,
        D::Date => Type::Date,
        D::Time(precision, zone) if is_plain(zone) => {
            fraction(*precision, name)?;
            Type::Time
        }
        D::Timestamp(precision, zone) => {
            fraction(*precision, name)?;
            if is_plain(zone) { Type::Timestamp } else { Type::TimestampTz }
        }
        D::Datetime(None) => Type::Timestamp,
        D::Bytea | D::Blob(None) => Type::Bytea,
        D::Uuid => Type::Uuid,
        D::JSON => Type::Json,
        D::JSONB => Type::Jsonb,
        D::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => Type::list(column_type(element)?)?,
        D::Custom(name, _) if nested_name(name).is_some() => {
            nested_syntax::named(nested_name(name).unwrap_or_default())?
        }
        D::Custom(name, arguments) if arguments.is_empty() && other_name(name).is_some() => {
            other_name(name).unwrap_or(Type::Integer)
        }
        D::Interval { fields, precision } => {
            fraction(*precision, name)?;
            match fields {
                None => Type::Interval,
                Some(IntervalFields::Month | IntervalFields::YearToMonth) => Type::IntervalYearMonth,
                Some(IntervalFields::Second | IntervalFields::DayToSecond) => Type::IntervalDayTime,
                // No type keeps to these; a cast cuts the value (`bind/intervals.rs`).
                Some(_) => {
                    let message = format!("no column is restricted to {name}");
                    return Err(Error::unsupported(message)
                        .with_hint("INTERVAL, INTERVAL YEAR TO MONTH and INTERVAL DAY TO SECOND are types"));
                }
            }
        }
        D::Custom(name, _) => {
            let error = Error::new(SqlState::UndefinedObject, format!("type \"{name}\" does not exist"));
            let shown = name.to_string().to_uppercase();
            if let Some((_, ours)) = INSTEAD.iter().find(|(theirs, _)| shown.starts_with(theirs)) {
                return Err(error.with_hint(format!("{ours} holds its values")));
            }
            let near = types::names::nearest(&name.to_string().to_uppercase(), TYPE_NAMES);
            return Err(match near {
                Some(near) => error.with_hint(format!("did you mean {near}?")),
                None => error,
            });
        }
        other => {
            let error = Error::unsupported(format!("type {other} is not supported"));
            let shown = other.to_string().to_uppercase();
            let instead = INSTEAD.iter().find(|(theirs, _)| shown.starts_with(theirs));
            return Err(match instead {
                Some((_, ours)) => error.with_hint(format!("{ours} holds its values")),
                None => error,
            });
        }
    };
    Ok(ty)
}

/// What `nested_syntax` made of a nested type's name.
fn nested_name(name: &ObjectName) -> Option<&str> {
    match name.0.as_slice() {
        [part] => part.as_ident().map(|i| i.value.as_str()).filter(|n| n.contains('(')),
        _ => None,
    }
}

/// Integer types under names that the parser has no words for.
fn other_name(name: &ObjectName) -> Option<Type> {
    let [part] = name.0.as_slice() else { return None };
    let name = part.as_ident().filter(|i| i.quote_style.is_none())?.value.to_ascii_lowercase();
    Some(match name.as_str() {
        "int1" => Type::TinyInt,
        "int16" | "short" => Type::SmallInt,
        "int32" | "signed" => Type::Integer,
        "int64" | "long" => Type::BigInt,
        "int128" => Type::HugeInt,
        "uinteger" => Type::UInteger,
        "ubigint" => Type::UBigInt,
        "usmallint" => Type::USmallInt,
        "utinyint" => Type::UTinyInt,
        _ => return None,
    })
}

fn is_plain(zone: &TimezoneInfo) -> bool {
    matches!(zone, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
}

/// Fractions of a second are microseconds throughout.
fn fraction(precision: Option<u64>, name: &DataType) -> Result<()> {
    match precision {
        None | Some(6) => Ok(()),
        Some(_) => Err(Error::unsupported(format!("{name}: only a precision of 6 is supported"))),
    }
}

fn decimal(info: &ExactNumberInfo) -> Result<Type> {
    let (precision, scale) = match info {
        // PostgreSQL's NUMERIC without digits keeps whatever scale comes; ours is fixed, with half of the digits.
        ExactNumberInfo::None => return Ok(Type::Decimal { precision: DECIMAL_PRECISION_MAX, scale: 10 }),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    if !(1..=u64::from(DECIMAL_PRECISION_MAX)).contains(&precision) {
        return Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("DECIMAL precision {precision} must be between 1 and {DECIMAL_PRECISION_MAX}"),
        ));
    }
    if scale < 0 || scale as u64 > precision {
        return Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("DECIMAL scale {scale} must be between 0 and precision {precision}"),
        ));
    }
    Ok(Type::Decimal { precision: precision as u8, scale: scale as u8 })
}

fn characters(length: Option<&CharacterLength>, absent: u32) -> Result<u32> {
    match length {
        None => Ok(absent),
        Some(CharacterLength::IntegerLength { length, .. }) if (1..=CHARACTERS_MAX).contains(length) => {
            Ok(*length as u32)
        }
        Some(other) => Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("length {other} of a character type must be between 1 and {CHARACTERS_MAX}"),
        )),
    }
}
