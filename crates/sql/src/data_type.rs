//! Type names as the parser has them, to types.
//!
//! `column_type` resolves a name to a type: built-in names, aliases of other systems, nested types by their text
//! (`type_names`), and types of CREATE TYPE through `Relations`. A type may ask for a limit that the engine's types
//! do not keep, such as TIMESTAMP(3); `limited` splits it off, and casts and CHECKs apply it. Called for casts,
//! columns and parameters.

use std::borrow::Cow;

use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, EnumMember, ExactNumberInfo, Ident, IntervalFields,
    ObjectName, TimezoneInfo,
};
use types::bits::BITS_MAX;
use types::logical::DECIMAL_PRECISION_MAX;
use types::{Error, Result, SqlState, Type};

use crate::bind::folded;
use crate::{Relations, type_names};

/// Longest CHAR(n) and VARCHAR(n), PostgreSQL's.
const CHARACTERS_MAX: u64 = 10_485_760;

/// Types of other systems, by how their names begin, and what takes their values here.
const INSTEAD: [(&str, &str); 5] = [
    ("TIMESTAMP_NS", "TIMESTAMP, to the microsecond,"),
    ("UHUGEINT", "HUGEINT, or TEXT for more than 2^127 - 1,"),
    ("UINT128", "HUGEINT, or TEXT for more than 2^127 - 1,"),
    ("NUMBER", "DECIMAL(precision, scale)"),
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

/// What a written type asks of its values that the type here does not keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// So many digits of a second.
    Digits(u64),
    /// So many elements of a list.
    Length(u64),
}

/// The type without such a limit, and the limit: a cast keeps it, and so does a column with a CHECK.
pub(crate) fn limited(name: &DataType) -> (Cow<'_, DataType>, Option<Limit>) {
    use DataType as D;
    let (plain, limit) = match name {
        D::Time(Some(digits @ 0..6), zone) => (D::Time(None, *zone), Limit::Digits(*digits)),
        D::Timestamp(Some(digits @ 0..6), zone) => (D::Timestamp(None, *zone), Limit::Digits(*digits)),
        D::Datetime(Some(digits @ 0..6)) => (D::Datetime(None), Limit::Digits(*digits)),
        D::Array(ArrayElemTypeDef::SquareBracket(element, Some(length))) => {
            (D::Array(ArrayElemTypeDef::SquareBracket(element.clone(), None)), Limit::Length(*length))
        }
        D::Custom(custom, arguments) if arguments.is_empty() => match unquoted(custom).as_deref() {
            Some("timestamp_s") => (D::Timestamp(None, TimezoneInfo::None), Limit::Digits(0)),
            Some("timestamp_ms") => (D::Timestamp(None, TimezoneInfo::None), Limit::Digits(3)),
            Some("timestamp_us") => return (Cow::Owned(D::Timestamp(None, TimezoneInfo::None)), None),
            _ => return (Cow::Borrowed(name), None),
        },
        _ => return (Cow::Borrowed(name), None),
    };
    (Cow::Owned(plain), Some(limit))
}

/// Where a limit cannot be kept.
pub(crate) fn refuse_limit(name: &DataType, limit: Limit) -> Error {
    match limit {
        Limit::Digits(digits) => Error::unsupported(format!(
            "{name}: a column keeps microseconds, not {digits} digits of a second"
        ))
        .with_hint("leave the precision of the column out, and cast what it is given: a cast rounds"),
        Limit::Length(length) => {
            Error::unsupported(format!("{name}: the length {length} of a list is not kept here"))
                .with_hint(format!("leave the length out; CHECK (len(column) = {length}) keeps it"))
        }
    }
}

/// The type that a name says; `relations` know those of CREATE TYPE.
pub(crate) fn column_type(name: &DataType, relations: &dyn Relations) -> Result<Type> {
    use DataType as D;
    if let (_, Some(limit)) = limited(name) {
        return Err(refuse_limit(name, limit));
    }
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
        D::Time(precision, _) => {
            fraction(*precision, name)?;
            Type::TimeTz
        }
        D::Bit(length) => Type::Bit(bits(*length, 1)?),
        D::BitVarying(length) | D::VarBit(length) => Type::VarBit(bits(*length, 0)?),
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
        ) => Type::list(column_type(element, relations)?)?,
        D::Custom(name, _) if nested_name(name).is_some() => {
            type_names::named(nested_name(name).unwrap_or_default(), relations)?
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
        D::Enum(members, None) => enumeration(members)?,
        D::Custom(name, arguments) => {
            if let Some(ty) = user_type(name, relations)? {
                if !arguments.is_empty() {
                    let error = Error::new(
                        SqlState::SyntaxError,
                        format!("type modifier is not allowed for type \"{name}\""),
                    );
                    return Err(error);
                }
                return Ok(ty);
            }
            let error = Error::new(SqlState::UndefinedObject, format!("type \"{name}\" does not exist"));
            let shown = name.to_string().to_uppercase();
            if let Some((_, ours)) = INSTEAD.iter().find(|(theirs, _)| shown.starts_with(theirs)) {
                return Err(error.with_hint(format!("{ours} holds its values")));
            }
            let own = relations.type_names(None);
            let near = types::names::nearest(&shown, TYPE_NAMES).map(str::to_owned).or_else(|| {
                types::names::nearest(&name.to_string(), own.iter().map(String::as_str)).map(str::to_owned)
            });
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

/// `ENUM('a', 'b')`.
fn enumeration(members: &[EnumMember]) -> Result<Type> {
    let label = |member: &EnumMember| match member {
        EnumMember::Name(label) => Ok(label.clone()),
        EnumMember::NamedValue(label, _) => {
            let message = format!("the label '{label}' of an enum is given a number");
            Err(Error::unsupported(message).with_hint("labels are numbered in their order, from 0"))
        }
    };
    Type::enumeration(None, members.iter().map(label).collect::<Result<_>>()?)
}

/// The schema that stands before a type's name, if one does, and the name.
fn schema_of<'n>(
    name: &'n ObjectName,
    relations: &dyn Relations,
) -> Result<Option<(Option<String>, &'n Ident)>> {
    let idents: Vec<&Ident> = name.0.iter().filter_map(|part| part.as_ident()).collect();
    Ok(match idents.as_slice() {
        [last] => Some((None, last)),
        [schema, last] => Some((Some(relations.schema_key(None, &folded(schema))?), last)),
        [database, schema, last] => {
            Some((Some(relations.schema_key(Some(&folded(database)), &folded(schema))?), last))
        }
        _ => None,
    })
}

/// The type that CREATE TYPE has given this name.
fn user_type(name: &ObjectName, relations: &dyn Relations) -> Result<Option<Type>> {
    let Some((schema, last)) = schema_of(name, relations)? else { return Ok(None) };
    let schema = schema.as_deref();
    if let Some(ty) = relations.type_named(schema, &folded(last)) {
        return Ok(Some(ty));
    }
    // As other names: one that is not quoted matches in any case where nothing is spelled in lower case.
    let names = relations.type_names(schema);
    let alike: Vec<&String> = names
        .iter()
        .filter(|own| last.quote_style.is_none() && own.eq_ignore_ascii_case(&last.value))
        .collect();
    match alike.as_slice() {
        [] => Ok(None),
        [one] => Ok(relations.type_named(schema, one)),
        [first, second, ..] => {
            let message = format!("type \"{}\" may be \"{first}\" or \"{second}\"", last.value);
            Err(Error::new(SqlState::AmbiguousAlias, message).with_hint("put the name in double quotes"))
        }
    }
}

/// What `type_names` made of a nested type's name.
fn nested_name(name: &ObjectName) -> Option<&str> {
    match name.0.as_slice() {
        [part] => part.as_ident().map(|i| i.value.as_str()).filter(|n| n.contains('(')),
        _ => None,
    }
}

/// A name of one word that is not quoted, in lower case.
fn unquoted(name: &ObjectName) -> Option<String> {
    let [part] = name.0.as_slice() else { return None };
    Some(part.as_ident().filter(|i| i.quote_style.is_none())?.value.to_ascii_lowercase())
}

/// Types under names that the parser has no words for.
fn other_name(name: &ObjectName) -> Option<Type> {
    Some(match unquoted(name)?.as_str() {
        "int1" => Type::TinyInt,
        "timestamp_us" => Type::Timestamp,
        "bitstring" => Type::BITS,
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
        Some(digits @ 0..6) => Err(refuse_limit(name, Limit::Digits(digits))),
        Some(_) => Err(Error::unsupported(format!("{name}: a second has at most 6 digits"))
            .with_hint("a precision of 6, which holds without a word, is the largest")),
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

fn bits(length: Option<u64>, absent: u32) -> Result<u32> {
    match length {
        None => Ok(absent),
        Some(length) if (1..=u64::from(BITS_MAX)).contains(&length) => Ok(length as u32),
        Some(length) => Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("length {length} of a type of bits must be between 1 and {BITS_MAX}"),
        )),
    }
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
