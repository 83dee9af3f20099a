//! Casting one value between types, reading it from text, and printing it: the definition that every vectorised
//! cast is tested against. The rules are PostgreSQL's; `docs/decisions/types.md` lists the deviations.
//!
//! Most of the work is delegated to the module of the type: `decimal`, `datetime`, `interval`, `json`, `nested` and
//! others. What `format_value` prints of a value that is not NULL, `parse_text` reads back. The only state is the
//! thread's current zone, which decides casts between instants and local times. Literals, file readers, constant
//! folding and the fallback of expressions call this.

pub use crate::float_text::FloatText;
pub use crate::logical::physical_range;
pub use crate::numbers::decimal_to_f64;
pub use crate::uuid::{uuid_from_bytes, uuid_to_bytes};

use crate::date_text::Fault;
use crate::datetime::{self, MICROS_PER_DAY};
use crate::interval::Interval;
use crate::nested::Inner;
use crate::numbers::{cast_number, decimal_value, integer};
use crate::time_tz::TimeTz;
use crate::unreadable::{datetime_fault, unreadable};
use crate::uuid::{format_uuid, parse_uuid};
use crate::{
    Error, Result, SqlState, Type, Value, Zone, bits, date_text, decimal, enums, integers, interval_text,
    json, jsonb, nested, system_type, time_ns, timestamp_units, wide, zone,
};

/// How values inside of nested ones are cast, read and shown: as others.
pub(crate) const INNER: Inner = Inner { cast: cast_inside, parse: parse_text, show: format_value };

/// Casts `value` of type `from` to `to`. NULL stays NULL; a value that does not fit and a pair of types without a
/// cast are errors. Instants are read and shown in the current zone of the thread (`zone::current`).
pub fn cast_value(value: &Value, from: Type, to: Type) -> Result<Value> {
    cast_with(value, from, to, false)
}

/// As `cast_value`, but values inside a list, struct or map that do not fit become NULL. At the top they are still an
/// error.
pub fn try_cast_value(value: &Value, from: Type, to: Type) -> Result<Value> {
    cast_with(value, from, to, true)
}

/// Casts a value inside a list, struct or map. If the cast is `lenient`, a value that does not fit becomes NULL.
pub(crate) fn cast_inside(value: &Value, from: Type, to: Type, lenient: bool) -> Result<Value> {
    match cast_with(value, from, to, lenient) {
        Err(_) if lenient => Ok(Value::Null),
        result => result,
    }
}

/// Casts with `lenient` for the values inside of nested ones; at the top a value that does not fit is an error.
fn cast_with(value: &Value, from: Type, to: Type, lenient: bool) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    if from == to {
        return Ok(value.clone());
    }
    if to == Type::Json {
        return json::from_value(value, from);
    }
    if to == Type::Jsonb {
        return jsonb::canonical(json::from_value(value, from)?.as_text().unwrap_or("null"));
    }
    if from.is_json() && !to.is_text() {
        return json::to_value(value.as_text().unwrap_or("null"), to, lenient);
    }
    if matches!(to, Type::Union(_)) && !from.is_nested() {
        return nested::union::of_value(value, from, to, lenient, cast_inside);
    }
    if from.is_nested() && to.is_nested() {
        return nested::cast_nested(value.as_bytes().unwrap_or_default(), from, to, lenient, cast_inside);
    }
    if from.is_text() {
        let text = value.as_text().ok_or_else(|| Error::internal("text value without text"))?;
        return match to {
            to if to.is_text() => fit_text(text, to),
            to if to.is_nested() => nested::parse(text, to, lenient, INNER),
            to => read_text(text, to),
        };
    }
    if to.is_text() {
        return fit_text(&format_value(value, from), to);
    }
    if from.is_reg() && (to.is_integer() || to.is_reg()) {
        return of_reg(value.as_bytes().unwrap_or_default(), to);
    }
    if from.is_wide_integer() || (to.is_wide_integer() && !matches!(from, Type::Enum(_))) {
        return wide::cast(value, from, to);
    }
    if from == Type::TimeNs || to == Type::TimeNs {
        return time_ns::cast(value, from, to, cast_value);
    }
    if from.is_timestamp_of_unit() || to.is_timestamp_of_unit() {
        return timestamp_units::cast(value, from, to, if lenient { try_cast_value } else { cast_value });
    }
    cast_plain(value, from, to)
}

/// Casts between types that are neither texts nor nested.
fn cast_plain(value: &Value, from: Type, to: Type) -> Result<Value> {
    let unsupported = || Error::new(SqlState::DatatypeMismatch, format!("cannot cast type {from} to {to}"));
    match (from, to) {
        (f, t) if f.is_bits() && t.is_bits() => bits::fitted(value.as_text().unwrap_or_default(), to),
        (f, t) if f.is_bits() && t.is_integer() => bits::to_integer(value.as_text().unwrap_or_default(), to),
        (f, t) if f.is_integer() && t.is_bits() => {
            Ok(Value::text(&bits::of_integer(value.as_i128().unwrap_or(0), to)))
        }
        (Type::Time, Type::TimeTz) => {
            Ok(TimeTz::in_zone_now(value.as_i64().unwrap_or(0), zone::current()).value())
        }
        (Type::TimeTz, Type::Time) => Ok(Value::I64(TimeTz::of_value(value).micros)),
        (Type::TimestampTz, Type::TimeTz) if !value.as_i64().is_some_and(datetime::is_infinite) => {
            let read = TimeTz::of_instant(value.as_i64().unwrap_or(0), zone::current());
            read.map(TimeTz::value).ok_or_else(|| Error::out_of_range(&to))
        }
        (Type::Boolean, t) if t.is_integer() => integer(i128::from(value.as_bool().unwrap_or(false)), to),
        (f, Type::Boolean) if f.is_integer() => Ok(Value::Bool(value.as_i128() != Some(0))),
        // The same 32 bits, as in PostgreSQL.
        (Type::SmallInt | Type::Integer, t) if t.is_oid() => {
            Ok(Value::I64(i64::from(value.as_i64().unwrap_or(0) as u32)))
        }
        (f, Type::System(kind)) if f.is_integer() && to.is_reg() => {
            let number = cast_number(value, f, Type::OID)?;
            system_type::parse(&number.as_i64().unwrap_or(0).to_string(), kind)
        }
        (f, t) if f.is_numeric() && t.is_numeric() => cast_number(value, f, t),
        (Type::TimestampTz, Type::Date | Type::Time | Type::Timestamp) if zone::current() != Zone::Utc => {
            let local = zone::current().local(value.as_i64().unwrap_or(0));
            let local = local.ok_or_else(|| Error::out_of_range(&to))?;
            cast_value(&Value::I64(local), Type::Timestamp, to)
        }
        (Type::Date | Type::Timestamp, Type::TimestampTz) if zone::current() != Zone::Utc => {
            let local = cast_value(value, from, Type::Timestamp)?.as_i64();
            let instant = local.and_then(|local| zone::current().instant(local));
            instant.map(Value::I64).ok_or_else(|| Error::out_of_range(&to))
        }
        (Type::Date, Type::Timestamp | Type::TimestampTz) => {
            let day = value.as_i64().and_then(|day| i32::try_from(day).ok());
            day.and_then(datetime::midnight).map(Value::I64).ok_or_else(|| Error::out_of_range(&to))
        }
        (Type::Timestamp | Type::TimestampTz, Type::Date) => {
            Ok(Value::I32(datetime::day_of(value.as_i64().unwrap_or(0))))
        }
        // An infinite moment has no time of day.
        (Type::Timestamp | Type::TimestampTz, Type::Time | Type::TimeTz)
            if value.as_i64().is_some_and(datetime::is_infinite) =>
        {
            Ok(Value::Null)
        }
        (Type::Timestamp | Type::TimestampTz, Type::Time) => {
            Ok(Value::I64(value.as_i64().unwrap_or(0).rem_euclid(MICROS_PER_DAY)))
        }
        (Type::Timestamp, Type::TimestampTz) | (Type::TimestampTz, Type::Timestamp) => Ok(value.clone()),
        (Type::Uuid, Type::Bytea) => {
            Ok(Value::Bytes(uuid_to_bytes(value.as_i128().unwrap_or(0)).as_slice().into()))
        }
        (Type::Bytea, Type::Uuid) => {
            let bytes = value.as_bytes().unwrap_or_default();
            let sixteen: [u8; 16] = bytes.try_into().map_err(|_| {
                let message = format!("a UUID has 16 bytes, not {}", bytes.len());
                Error::new(SqlState::InvalidTextRepresentation, message)
            })?;
            Ok(Value::I128(uuid_from_bytes(sixteen)))
        }
        (Type::Enum(_), t) if t.is_numeric() || t.is_wide_integer() => {
            read_text(enums::label_of(value, from), t)
        }
        (Type::Enum(_), Type::Enum(_)) => enums::parse(enums::label_of(value, from), to),
        (f, t) if f.is_interval() && t.is_interval() => Interval::of_kind(value, f)?.restricted_to(t),
        (Type::Time, Type::Interval) => Interval::new(0, 0, value.as_i64().unwrap_or(0)).value(),
        (Type::Interval, Type::Time) => {
            Ok(Value::I64(Interval::of_value(value)?.micros.rem_euclid(MICROS_PER_DAY)))
        }
        (Type::Time, Type::IntervalDayTime) => Ok(value.clone()),
        (Type::IntervalDayTime, Type::Time) => {
            Ok(Value::I64(value.as_i64().unwrap_or(0).rem_euclid(MICROS_PER_DAY)))
        }
        _ => Err(unsupported()),
    }
}

/// A value of `regclass` or kin as a number, or under its name as one of another kind.
fn of_reg(bytes: &[u8], to: Type) -> Result<Value> {
    let (oid, name) = (system_type::reg_oid(bytes), system_type::reg_name(bytes));
    if to.is_reg() { Ok(system_type::reg_value(oid, name)) } else { integer(i128::from(oid), to) }
}

/// Checks a string against CHAR(n) and VARCHAR(n). Excess blanks are cut, anything else is an error; this is the
/// rule of assignment (PostgreSQL cuts silently in an explicit cast; so does `truncate_text`).
pub fn fit_text(text: &str, to: Type) -> Result<Value> {
    let (kept, limit) = match to {
        Type::Char(n) => (text.trim_end_matches(' '), n),
        Type::Varchar(n) => (text, n),
        Type::System(kind) => return Ok(Value::text(system_type::fit(text, kind))),
        _ => return Ok(Value::text(text)),
    };
    if kept.len() <= limit as usize || kept.chars().count() <= limit as usize {
        return Ok(Value::text(kept));
    }
    let cut = prefix_characters(kept, limit);
    if kept[cut.len()..].chars().all(|c| c == ' ') {
        return Ok(Value::text(cut));
    }
    Err(Error::new(
        SqlState::StringDataRightTruncation,
        format!("value too long for type {}", to.sql_name().to_lowercase()),
    )
    .with_detail(format!("the value has {} characters", kept.chars().count())))
}

/// The text as an explicit cast to CHAR(n) or VARCHAR(n) makes it: cut to n characters, and for CHAR(n) without
/// trailing blanks. Other types keep the whole text.
pub fn truncate_text(text: &str, to: Type) -> &str {
    match to {
        Type::Char(n) => prefix_characters(text, n).trim_end_matches(' '),
        Type::Varchar(n) => prefix_characters(text, n),
        _ => text,
    }
}

fn prefix_characters(text: &str, n: u32) -> &str {
    text.char_indices().nth(n as usize).map_or(text, |(at, _)| &text[..at])
}

/// Reads a value of type `to` from text as a cast does: for integers digits behind a point and exponents are read, too,
/// and rounded. A literal without a type and a file have no such freedom (`parse_text`).
pub fn read_text(text: &str, to: Type) -> Result<Value> {
    match parse_text(text, to) {
        Err(error) if to.is_integer() && error.state() == SqlState::InvalidTextRepresentation => {
            integers::rounded_text(text, to)
        }
        result => result,
    }
}

/// The value of an untyped literal that meets type `to`: what is written must be one.
pub fn literal_value(value: &Value, to: Type) -> Result<Value> {
    match value.as_text() {
        Some(text) if to.is_integer() => parse_text(text, to),
        _ => cast_value(value, Type::Text, to),
    }
}

/// Reads a value of type `to` from text, as a literal or a file has it. Blanks around it are dropped except for text,
/// BYTEA, JSON and ENUM. The error shows at most 80 characters of the text.
pub fn parse_text(text: &str, to: Type) -> Result<Value> {
    let trimmed = text.trim();
    let invalid = || unreadable(text, to);
    let fault = |fault: Fault| datetime_fault(text, to, fault);
    match to {
        Type::Null => Err(invalid()),
        Type::Boolean => match trimmed.to_ascii_lowercase().as_str() {
            "t" | "tr" | "tru" | "true" | "y" | "ye" | "yes" | "on" | "1" => Ok(Value::Bool(true)),
            "f" | "fa" | "fal" | "fals" | "false" | "n" | "no" | "of" | "off" | "0" => Ok(Value::Bool(false)),
            _ => Err(invalid()),
        },
        Type::SmallInt
        | Type::Integer
        | Type::BigInt
        | Type::TinyInt
        | Type::UTinyInt
        | Type::USmallInt
        | Type::UInteger
        | Type::UBigInt
        | Type::HugeInt => match trimmed.parse::<i128>() {
            Ok(v) => integer(v, to).map_err(|_| Error::value_out_of_range(trimmed, to)),
            Err(_)
                if !trimmed.is_empty()
                    && trimmed.bytes().skip(1).all(|b| b.is_ascii_digit())
                    && trimmed.len() > 30 =>
            {
                Err(Error::out_of_range(&to))
            }
            Err(_) => Err(invalid()),
        },
        Type::Real => {
            let wide = parse_float(trimmed).ok_or_else(invalid)?;
            finite_text(trimmed, f64::from(wide as f32), to).map(|_| Value::F32(wide as f32))
        }
        Type::Double => {
            let value = parse_float(trimmed).ok_or_else(invalid)?;
            finite_text(trimmed, value, to).map(Value::F64)
        }
        Type::Decimal { precision, scale } => match decimal::parse(trimmed, scale) {
            Ok(Some(v)) if decimal::fits(v, precision) => decimal_value(v, to),
            Ok(_) => Err(Error::new(SqlState::NumericValueOutOfRange, "numeric field overflow")
                .with_detail(format!("\"{trimmed}\" does not fit {to}"))),
            Err(decimal::NotANumber) => Err(invalid()),
        },
        Type::UHugeInt | Type::BigNum => wide::parse(text, to),
        Type::TimeNs => time_ns::parse(trimmed, parse_text),
        Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Collated(_) => fit_text(text, to),
        Type::Date => match datetime::parse_date(trimmed) {
            Some(day) => Ok(Value::I32(day)),
            None => date_text::date(trimmed).map(Value::I32).map_err(fault),
        },
        Type::Time => match datetime::parse_time(trimmed) {
            Some(micros) => Ok(Value::I64(micros)),
            None => date_text::time(trimmed).map(Value::I64).map_err(fault),
        },
        Type::TimeTz => TimeTz::parse(trimmed).map(TimeTz::value).map_err(fault),
        Type::Bit(_) | Type::VarBit(_) => bits::fitted(&bits::parse(trimmed)?, to),
        Type::Timestamp => match datetime::parse_timestamp(trimmed) {
            Some(micros) => Ok(Value::I64(micros)),
            None => date_text::timestamp(trimmed).map(Value::I64).map_err(fault),
        },
        Type::TimestampS | Type::TimestampMs | Type::TimestampNs | Type::TimestampTzNs => {
            timestamp_units::parse(text, to, parse_text)
        }
        Type::TimestampTz => match datetime::parse_timestamptz(trimmed) {
            Some(micros) => Ok(Value::I64(micros)),
            None => date_text::timestamptz(trimmed).map(Value::I64).map_err(fault),
        },
        Type::Interval | Type::IntervalYearMonth | Type::IntervalDayTime => {
            interval_text::parse(trimmed, None).ok_or_else(invalid)?.restricted_to(to)
        }
        Type::Bytea => parse_bytea(text).map(|b| Value::Bytes(b.into())).ok_or_else(invalid),
        Type::Uuid => parse_uuid(trimmed).map(Value::I128).ok_or_else(invalid),
        Type::Json => json::checked(text),
        Type::Jsonb => jsonb::canonical(text),
        Type::System(kind) => system_type::parse(text, kind),
        Type::Enum(_) => enums::parse(text, to),
        Type::List(_) | Type::Struct(_) | Type::Map(_) | Type::Union(_) => {
            nested::parse(text, to, false, INNER)
        }
    }
}

/// Reads a float as PostgreSQL does: `NaN`, `Infinity` and `inf` in any case, else digits with an exponent.
fn parse_float(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        "nan" => Some(f64::NAN),
        "infinity" | "inf" | "+infinity" => Some(f64::INFINITY),
        "-infinity" | "-inf" => Some(f64::NEG_INFINITY),
        _ if text.bytes().any(|b| b.is_ascii_alphabetic() && b != b'e' && b != b'E') => None,
        _ => text.parse().ok(),
    }
}

/// A number too large for the type is an error; the word infinity is not.
fn finite_text(text: &str, value: f64, to: Type) -> Result<f64> {
    if value.is_infinite() && text.bytes().any(|b| b.is_ascii_digit()) {
        return Err(Error::new(
            SqlState::NumericValueOutOfRange,
            format!("\"{text}\" is out of range for type {}", to.sql_name().to_lowercase()),
        ));
    }
    Ok(value)
}

/// Bytes as text: `\x` and hexadecimal digits throughout, else text in which `\\` stands for a
/// backslash, `\ooo` (octal) for a byte, as in PostgreSQL, and `\xHH` for a byte, as in DuckDB.
fn parse_bytea(text: &str) -> Option<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(hex) if hex.chars().all(|c| c.is_ascii_hexdigit() || c.is_whitespace()) => {
            hexadecimal_bytes(hex)
        }
        _ => escaped_bytes(text.as_bytes()),
    }
}

fn hexadecimal_bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        hex.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    let digits = digits?;
    (digits.len() % 2 == 0).then(|| digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// The bytes of a text with escapes; `None` for a malformed escape.
fn escaped_bytes(mut text: &[u8]) -> Option<Vec<u8>> {
    let hexadecimal = |digit: u8| char::from(digit).to_digit(16).map(|d| d as u8);
    let mut bytes = Vec::with_capacity(text.len());
    while let Some(&first) = text.first() {
        let (byte, length) = match text {
            [b'\\', b'\\', ..] => (b'\\', 2),
            [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', ..] => {
                ((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'), 4)
            }
            [b'\\', b'x', high, low, ..] => (hexadecimal(*high)? << 4 | hexadecimal(*low)?, 4),
            [b'\\', ..] => return None,
            _ => (first, 1),
        };
        bytes.push(byte);
        text = &text[length..];
    }
    Some(bytes)
}

impl Value {
    /// The value as SQL prints it; NULL prints as `NULL`.
    pub fn display(&self, ty: Type) -> String {
        format_value(self, ty)
    }
}

/// The value as PostgreSQL prints it (booleans as `true` and `false`, NULL as `NULL`). Instants are shown in the
/// current zone of the thread (`zone::current`).
pub fn format_value(value: &Value, ty: Type) -> String {
    match (value, ty) {
        (Value::Null, _) => "NULL".into(),
        (Value::Bool(b), _) => b.to_string(),
        (Value::F64(f), _) => FloatText::of_f64(*f).as_str().to_owned(),
        (Value::F32(f), _) => FloatText::of_f32(*f).as_str().to_owned(),
        (Value::Bytes(b), Type::Bytea) => {
            let mut text = String::with_capacity(2 + b.len() * 2);
            text.push_str("\\x");
            for byte in b.iter() {
                text.push_str(&format!("{byte:02x}"));
            }
            text
        }
        (Value::Bytes(b), ty) if ty.is_nested() => nested::format(b, ty, INNER),
        (Value::Bytes(b), ty) if ty.is_wide_integer() => wide::format(b),
        (Value::Bytes(b), ty) if ty.is_reg() => system_type::reg_name(b).to_owned(),
        (Value::Bytes(b), _) => String::from_utf8_lossy(b).into_owned(),
        (_, Type::Enum(_)) => enums::label_of(value, ty).to_owned(),
        (_, Type::Decimal { scale, .. }) => decimal::format(value.as_i128().unwrap_or(0), scale),
        (_, Type::Date) => {
            datetime::format_date(value.as_i64().and_then(|v| i32::try_from(v).ok()).unwrap_or(0))
        }
        (_, Type::Time) => datetime::format_time(value.as_i64().unwrap_or(0)),
        (_, Type::TimeNs) => time_ns::format(value.as_i64().unwrap_or(0)),
        (_, Type::TimeTz) => TimeTz::of_value(value).to_string(),
        (_, Type::Timestamp) => datetime::format_timestamp(value.as_i64().unwrap_or(0)),
        (_, Type::TimestampS | Type::TimestampMs) => datetime::format_timestamp(value.as_i64().unwrap_or(0)),
        (_, Type::TimestampNs) => timestamp_units::format(value.as_i64().unwrap_or(0)),
        (_, Type::TimestampTzNs) => {
            timestamp_units::format_in_zone(value.as_i64().unwrap_or(0), zone::current())
        }
        (_, Type::TimestampTz) => datetime::format_timestamptz(value.as_i64().unwrap_or(0), zone::current()),
        (_, ty) if ty.is_interval() => {
            Interval::of_kind(value, ty).map_or_else(|_| String::new(), |i| i.to_string())
        }
        (_, Type::Uuid) => format_uuid(value.as_i128().unwrap_or(0)),
        _ => value.as_i128().unwrap_or(0).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_postgresql_prints_them() {
        let print = |f: f64| format_value(&Value::F64(f), Type::Double);
        assert_eq!(print(0.1), "0.1");
        assert_eq!(print(1e15), "1e+15");
        assert_eq!(print(123456789012345.0), "123456789012345");
        assert_eq!(print(0.0001), "0.0001");
        assert_eq!(print(0.00001), "1e-05");
        assert_eq!(print(-1.5e300), "-1.5e+300");
        assert_eq!(print(100.0), "100");
        assert_eq!(format_value(&Value::F32(1e6), Type::Real), "1e+06");
        assert_eq!(print(-0.0), "-0");
    }

    #[test]
    fn numbers_cast_with_rounding_and_range() {
        let d = |p, s| Type::Decimal { precision: p, scale: s };
        assert_eq!(cast_value(&Value::I64(12345), d(15, 2), Type::Integer).unwrap(), Value::I32(123));
        assert_eq!(cast_value(&Value::I64(12350), d(15, 2), Type::Integer).unwrap(), Value::I32(124));
        assert_eq!(cast_value(&Value::F64(2.5), Type::Double, Type::Integer).unwrap(), Value::I32(2));
        assert!(cast_value(&Value::F64(1e10), Type::Double, Type::Integer).is_err());
        assert!(cast_value(&Value::I64(100), d(3, 0), d(2, 0)).is_err());
        assert_eq!(cast_value(&Value::F64(0.1), Type::Double, d(10, 3)).unwrap(), Value::I64(100));
    }

    #[test]
    fn text_is_checked() {
        assert!(fit_text("abc", Type::Varchar(2)).is_err());
        assert_eq!(fit_text("ab   ", Type::Varchar(2)).unwrap().as_text(), Some("ab"));
        assert_eq!(fit_text("ab ", Type::Char(5)).unwrap().as_text(), Some("ab"));
        assert!(parse_text("12x", Type::Integer).is_err());
        assert_eq!(
            parse_text("99999999999", Type::Integer).unwrap_err().state(),
            SqlState::NumericValueOutOfRange
        );
        let uuid = parse_text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", Type::Uuid).unwrap();
        assert_eq!(format_value(&uuid, Type::Uuid), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
        assert_eq!(format_value(&parse_text("\\xDEad", Type::Bytea).unwrap(), Type::Bytea), "\\xdead");
    }
}
