//! One value as bytes of either format: elements of arrays, and the definition that the column-wise writers of rows are
//! compared with.
//!
//! Arrays have a dimension for each level of a LIST. Text shows any list, `{{1,2},{3}}`, and leaves it to its reader;
//! the binary form has room for lists of equal lengths alone, and others are an error 2202E. A list without any element
//! has no dimensions there, as in PostgreSQL.

use types::interval::Interval;
use types::nested::encoding;
use types::{Error, Physical, Result, SqlState, Type, Value, Zone, enums, json, timestamp_units};

use crate::binary::{self, NO_FORM, NumericForm};
use crate::format::Format;
use crate::oid::{self, TypeOids};
use crate::text;

/// What the forms of values depend on beside the values.
#[derive(Clone, Copy)]
pub struct ValueForm<'a> {
    /// The zone in which text shows instants.
    pub zone: Zone,
    /// The OIDs of enums, which stand in arrays.
    pub oids: &'a dyn TypeOids,
}

/// The bytes of a value that is held as a number, or `None` for types of any length.
pub(crate) fn bounded(value: &Value, ty: Type, format: Format, zone: Zone, to: &mut [u8]) -> Option<usize> {
    if ty.is_timestamp_of_unit() {
        // PostgreSQL's timestamps are of microseconds.
        let held = value.as_i64().unwrap_or(0);
        let micros = timestamp_units::converted(held, ty, ty.in_microseconds()).unwrap_or(held);
        return bounded(&Value::I64(micros), ty.in_microseconds(), format, zone, to);
    }
    if ty == Type::TimeNs {
        let micros = types::time_ns::in_microseconds(value.as_i64().unwrap_or(0));
        return bounded(&Value::I64(micros), Type::Time, format, zone, to);
    }
    let narrow = || value.as_i64().unwrap_or(0);
    let wide = || value.as_i128().unwrap_or(0);
    let interval = || Interval::of_kind(value, ty).unwrap_or_default();
    let is_text = format == Format::Text;
    Some(match (ty, ty.physical()) {
        (Type::Boolean, _) if is_text => text::boolean(value.as_bool().unwrap_or(false), to),
        (Type::Boolean, _) => binary::boolean(value.as_bool().unwrap_or(false), to),
        (Type::Date, _) if is_text => text::date(narrow() as i32, to),
        (Type::Date, _) => binary::date(narrow() as i32, to),
        (Type::Time, _) if is_text => text::time(narrow(), to),
        (Type::TimeTz, _) if is_text => text::time_tz(narrow(), to),
        (Type::TimeTz, _) => binary::time_tz(narrow(), to),
        (Type::Timestamp, _) if is_text => text::timestamp(narrow(), to),
        (Type::TimestampTz, _) if is_text => text::timestamp_tz(narrow(), zone, to),
        (Type::Timestamp | Type::TimestampTz, _) => binary::timestamp(narrow(), to),
        (Type::Interval | Type::IntervalYearMonth | Type::IntervalDayTime, _) if is_text => {
            text::interval(interval(), to)
        }
        (Type::Interval | Type::IntervalYearMonth | Type::IntervalDayTime, _) => {
            binary::interval(interval(), to)
        }
        (Type::Uuid, _) if is_text => text::uuid(wide(), to),
        (Type::Uuid, _) => binary::uuid(wide(), to),
        (Type::Decimal { scale, .. }, _) if is_text => text::decimal_128(wide(), scale, to),
        (Type::Decimal { scale, .. }, _) => NumericForm::new(scale).write_128(wide(), to),
        (Type::Real, _) => {
            let Value::F32(value) = value else { return Some(NO_FORM) };
            if is_text { text::float_32(*value, to) } else { binary::float_32(*value, to) }
        }
        (Type::Double, _) => {
            let Value::F64(value) = value else { return Some(NO_FORM) };
            if is_text { text::float_64(*value, to) } else { binary::float_64(*value, to) }
        }
        (Type::Enum(_), _) => return None,
        (_, Physical::Bytes | Physical::Bool) => return None,
        (ty, _) if ty.is_oid() && !is_text => binary::int_32(narrow() as i32, to),
        _ if is_text => text::integer_128(wide(), to),
        (Type::UBigInt | Type::HugeInt, _) => NumericForm::new(0).write_128(wide(), to),
        // UINTEGER is sent as BIGINT, USMALLINT as INTEGER, the eight-bit ones as SMALLINT.
        (_, Physical::I16) => binary::int_16(narrow() as i16, to),
        (_, Physical::I32) => binary::int_32(narrow() as i32, to),
        _ => binary::int_64(narrow(), to),
    })
}

/// The error of a value that PostgreSQL's binary form has no place for.
pub(crate) fn no_form(ty: Type) -> Error {
    Error::new(
        SqlState::DatetimeFieldOverflow,
        format!("a value of type {ty} is out of the range of PostgreSQL's binary form"),
    )
    .with_hint("ask for the column as text")
}

/// Appends a value, not NULL, in that format.
pub fn push(value: &Value, ty: Type, format: Format, form: ValueForm<'_>, out: &mut Vec<u8>) -> Result<()> {
    let mut room = [0u8; text::VALUE_BYTES];
    if let Some(length) = bounded(value, ty, format, form.zone, &mut room) {
        if length == NO_FORM {
            return Err(no_form(ty));
        }
        out.extend_from_slice(&room[..length]);
        return Ok(());
    }
    let bytes = value.as_bytes().unwrap_or_default();
    match ty {
        Type::Enum(_) => out.extend_from_slice(enums::label_of(value, ty).as_bytes()),
        // Blanks between, and no braces.
        Type::List(_) if ty.is_vector() && format == Format::Text => {
            out.extend_from_slice(value.display(ty).as_bytes());
        }
        Type::List(_) if format == Format::Text => push_array_text(bytes, ty, form, out)?,
        Type::List(_) => push_array(bytes, ty, form, out)?,
        Type::Struct(_) | Type::Map(_) | Type::Union(_) => {
            out.extend_from_slice(json_of(value, ty, form.zone).as_bytes())
        }
        _ if ty.is_wide_integer() && format == Format::Text => {
            out.extend_from_slice(value.display(ty).as_bytes());
        }
        _ if ty.is_wide_integer() => binary::push_whole_number(&value.display(ty), out),
        _ => push_bytes(bytes, ty, format, out),
    }
    Ok(())
}

/// A nested value as JSON.
pub(crate) fn json_of(value: &Value, ty: Type, zone: Zone) -> String {
    let mut text = String::new();
    types::zone::within(zone, || json::push_value(value, ty, &mut text));
    text
}

/// Blanks that CHAR(n) lacks to its n characters.
pub(crate) fn blanks(bytes: &[u8], ty: Type) -> usize {
    let Type::Char(n) = ty else { return 0 };
    // Continuation bytes begin no character.
    let characters = bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
    (n as usize).saturating_sub(characters)
}

/// A value of `regclass` or kin as it is sent: its name as text, its number in binary.
pub(crate) fn reg_form(bytes: &[u8], format: Format) -> &[u8] {
    match format {
        Format::Text => types::system_type::reg_name(bytes).as_bytes(),
        Format::Binary => &bytes[..bytes.len().min(4)],
    }
}

/// Appends a value that is held as bytes and is not nested.
pub(crate) fn push_bytes(bytes: &[u8], ty: Type, format: Format, out: &mut Vec<u8>) {
    let begin = out.len();
    match (ty, format) {
        (ty, format) if ty.is_reg() => out.extend_from_slice(reg_form(bytes, format)),
        (Type::Bytea, Format::Text) => {
            out.extend_from_slice(b"\\x");
            out.resize(begin + 2 + bytes.len() * 2, 0);
            text::hexadecimal(bytes, &mut out[begin + 2..]);
        }
        (Type::Bit(_) | Type::VarBit(_), Format::Binary) => {
            out.resize(begin + binary::bits_bytes(bytes.len()), 0);
            binary::bits(bytes, &mut out[begin..]);
        }
        (Type::Jsonb, Format::Binary) => {
            out.push(binary::JSONB_VERSION);
            out.extend_from_slice(bytes);
        }
        _ => {
            out.extend_from_slice(bytes);
            out.resize(out.len() + blanks(bytes, ty), b' ');
        }
    }
}

/// Whether an array's text has to quote an element.
fn needs_quotes(text: &[u8]) -> bool {
    text.is_empty()
        || text.eq_ignore_ascii_case(b"null")
        || text.iter().any(|byte| b"\"\\{}, \t\n\r\x0b\x0c".contains(byte))
}

fn push_array_text(bytes: &[u8], ty: Type, form: ValueForm<'_>, out: &mut Vec<u8>) -> Result<()> {
    let element = ty.element().unwrap_or(Type::Null);
    let mut shown = Vec::new();
    out.push(b'{');
    for (at, slot) in encoding::elements(ty, bytes).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match slot {
            None => out.extend_from_slice(b"NULL"),
            Some(payload) if matches!(element, Type::List(_)) => {
                push_array_text(payload, element, form, out)?
            }
            Some(payload) => {
                shown.clear();
                push(&encoding::value_of(payload, element), element, Format::Text, form, &mut shown)?;
                if !needs_quotes(&shown) {
                    out.extend_from_slice(&shown);
                    continue;
                }
                out.push(b'"');
                for byte in &shown {
                    if matches!(byte, b'"' | b'\\') {
                        out.push(b'\\');
                    }
                    out.push(*byte);
                }
                out.push(b'"');
            }
        }
    }
    out.push(b'}');
    Ok(())
}

/// The lengths of a list's levels, which each list of a level must share.
fn dimensions(bytes: &[u8], ty: Type, level: usize, lengths: &mut [Option<usize>]) -> Result<()> {
    let inner = ty.element().unwrap_or(Type::Null);
    let length = encoding::elements(ty, bytes).count();
    match lengths[level] {
        Some(known) if known != length => return Err(ragged()),
        _ => lengths[level] = Some(length),
    }
    if matches!(inner, Type::List(_)) {
        for slot in encoding::elements(ty, bytes) {
            dimensions(slot.ok_or_else(ragged)?, inner, level + 1, lengths)?;
        }
    }
    Ok(())
}

fn ragged() -> Error {
    Error::new(
        SqlState::ArraySubscript,
        "lists of different lengths, or NULL among lists, have no form as a multidimensional array in binary",
    )
    .with_hint("ask for the column as text, or cast it to JSON")
}

/// Most dimensions of an array in PostgreSQL.
pub(crate) const DIMENSIONS_MAX: usize = 6;

fn push_array(bytes: &[u8], ty: Type, form: ValueForm<'_>, out: &mut Vec<u8>) -> Result<()> {
    let (element, levels) = oid::innermost(ty);
    if levels > DIMENSIONS_MAX {
        let message = format!("a list of {levels} levels is no array of at most {DIMENSIONS_MAX} dimensions");
        return Err(Error::new(SqlState::StatementTooComplex, message)
            .with_hint("ask for the column as text, or cast it to JSON"));
    }
    let mut lengths = vec![None; levels];
    dimensions(bytes, ty, 0, &mut lengths)?;
    let is_empty = lengths.iter().any(|length| length.is_none_or(|length| length == 0));
    let number = |value: usize| i32::try_from(value).map_err(|_| too_long());
    out.extend(if is_empty { 0 } else { levels as i32 }.to_be_bytes());
    let mark = out.len();
    out.extend(0i32.to_be_bytes());
    out.extend(oid::describe(element, form.oids).oid.to_be_bytes());
    if is_empty {
        return Ok(());
    }
    for length in lengths.into_iter().flatten() {
        out.extend(number(length)?.to_be_bytes());
        out.extend(1i32.to_be_bytes());
    }
    if push_elements(bytes, ty, form, out)? {
        out[mark..mark + 4].copy_from_slice(&1i32.to_be_bytes());
    }
    Ok(())
}

/// Appends the innermost elements, each behind its length; says whether one is NULL.
fn push_elements(bytes: &[u8], ty: Type, form: ValueForm<'_>, out: &mut Vec<u8>) -> Result<bool> {
    let element = ty.element().unwrap_or(Type::Null);
    let mut has_null = false;
    for slot in encoding::elements(ty, bytes) {
        match slot {
            None => {
                has_null = true;
                out.extend((-1i32).to_be_bytes());
            }
            Some(payload) if matches!(element, Type::List(_)) => {
                has_null |= push_elements(payload, element, form, out)?;
            }
            Some(payload) => {
                let begin = out.len();
                out.extend([0; 4]);
                push(&encoding::value_of(payload, element), element, Format::Binary, form, out)?;
                let length = i32::try_from(out.len() - begin - 4).map_err(|_| too_long())?;
                out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
    }
    Ok(has_null)
}

fn too_long() -> Error {
    Error::new(SqlState::StatementTooComplex, "a value of more than two gigabytes cannot be sent")
}
