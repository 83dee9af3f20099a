//! Values of parameters and of COPY's binary format, read from bytes of either format.
//!
//! Text is read as a literal's is (`types::cast::parse_text`); arrays have PostgreSQL's form, `{1,NULL,"a b"}`, and
//! values of STRUCT and MAP are JSON, which is what they are sent as. The binary forms are those of `binary`. Everything
//! is strict: a wrong length is error 22P03, text that is no value of the type 22P02 or 22007, text that is no UTF-8
//! 22021, a number without a place in our type 22003. An instant without a zone is read in the thread's current zone.

mod array;
mod binary;

use types::nested::encoding;
use types::{Error, Result, SqlState, Type, Value, cast, json};

use crate::format::Format;
use crate::oid::{self, TypeOids};
use crate::reader::utf8;
use crate::value::DIMENSIONS_MAX;

pub(crate) use array::array_text;

/// Reads a value that was sent as what [`oid::describe`] calls the type; `None` is NULL.
pub fn value(bytes: Option<&[u8]>, format: Format, ty: Type) -> Result<Value> {
    let Some(bytes) = bytes else { return Ok(Value::Null) };
    match format {
        Format::Text => text(bytes, ty),
        Format::Binary => binary::value(bytes, ty),
    }
}

/// Reads a parameter that the client calls a type by its OID: the type of ours that holds its values, and the value.
/// NUMERIC gets the precision and scale that the value needs, an array the levels that it has. Error 42704 for an OID
/// that is not known, 0 and `unknown` included: such a parameter has the type that its place in the statement gives it.
pub fn value_of_oid(bytes: Option<&[u8]>, format: Format, oid: u32) -> Result<(Type, Value)> {
    let known = oid::type_of(oid).ok_or_else(|| {
        Error::new(SqlState::UndefinedObject, format!("type with OID {oid} does not exist"))
    })?;
    let Some(bytes) = bytes else { return Ok((known, Value::Null)) };
    let ty = match (oid, format) {
        (oid::NUMERIC, _) => numeric_type(bytes, format)?,
        // Four bytes without a sign, where UINTEGER is sent as BIGINT.
        (oid::OID, Format::Binary) => {
            let bytes = bytes.try_into().map_err(|_| wrong_binary("oid"))?;
            return Ok((known, Value::I64(u32::from_be_bytes(bytes).into())));
        }
        _ => match oid::element_of(oid) {
            Some(oid::OID) if format == Format::Binary => {
                return Err(Error::unsupported("parameters of type oid[] are not supported in binary")
                    .with_hint("send them as bigint[] or as text"));
            }
            Some(element) => array_type(bytes, format, element, known)?,
            None => known,
        },
    };
    Ok((ty, value(Some(bytes), format, ty)?))
}

/// Reads a parameter whose place in the statement has a type, and that the client calls a type by its OID. What the OID
/// says decides how the bytes are read, as in PostgreSQL; the value is then cast as an assignment casts. With 0 and
/// `unknown`, and with the OID of the place's own type, it is read as the place's type. Text of a type that is not known
/// here is, too; in binary that is error 42704.
pub fn parameter(
    bytes: Option<&[u8]>,
    format: Format,
    oid: u32,
    ty: Type,
    oids: &dyn TypeOids,
) -> Result<Value> {
    let own = matches!(oid, 0 | oid::UNKNOWN) || oid == oid::describe(ty, oids).oid;
    if own || (format == Format::Text && oid::type_of(oid).is_none()) {
        return value(bytes, format, ty);
    }
    let (from, read) = value_of_oid(bytes, format, oid)?;
    if ty == Type::Null { Ok(read) } else { cast::cast_value(&read, from, ty) }
}

/// As [`parameter`], but of numbers nothing is lost: a number that its place's type does not hold exactly is given in a
/// type of its own, for which the statement has to be planned anew. PostgreSQL's parameters have no precision, so that
/// `price = $1` with 1.005 finds no price of two digits; read as its place's type it would be 1.01.
pub fn exact_parameter(
    bytes: Option<&[u8]>,
    format: Format,
    oid: u32,
    ty: Type,
    oids: &dyn TypeOids,
) -> Result<(Type, Value)> {
    let Some(raw) = bytes else { return Ok((ty, Value::Null)) };
    let says_nothing = matches!(oid, 0 | oid::UNKNOWN);
    let of_own_type = match ty {
        Type::Decimal { .. } if says_nothing || oid == oid::NUMERIC => {
            let own = numeric_type(raw, format)?;
            Some((own, value(bytes, format, own)?))
        }
        _ if ty.is_numeric() && !says_nothing && oid != oid::describe(ty, oids).oid => {
            oid::type_of(oid).map(|_| value_of_oid(bytes, format, oid)).transpose()?
        }
        _ => None,
    };
    match of_own_type.filter(|(from, _)| from.is_numeric()) {
        None => Ok((ty, parameter(bytes, format, oid, ty, oids)?)),
        Some((from, read)) => {
            let kept = cast::cast_value(&read, from, ty).ok();
            let kept = kept.filter(|kept| cast::cast_value(kept, ty, from).is_ok_and(|back| back == read));
            Ok(kept.map_or((from, read), |kept| (ty, kept)))
        }
    }
}

/// The list type for an array of a type: with a level for each dimension, and of NUMERIC with room for every element.
fn array_type(bytes: &[u8], format: Format, element: u32, known: Type) -> Result<Type> {
    let mut of_elements = known.element().unwrap_or(Type::Null);
    let levels = match format {
        Format::Binary => {
            let (levels, items) = binary::array_items(bytes)?;
            if element == oid::NUMERIC {
                of_elements = numeric_of_all(items.into_iter(), format)?;
            }
            levels
        }
        Format::Text => {
            let text = text_of(bytes)?;
            let body = text.trim_start();
            let body =
                if body.starts_with('[') { body.split_once('=').map_or("", |(_, body)| body) } else { body };
            let levels = body.chars().filter(|c| !c.is_ascii_whitespace()).take_while(|c| *c == '{').count();
            // What is more is found to be wrong when it is read.
            let levels = levels.min(DIMENSIONS_MAX);
            if element == oid::NUMERIC {
                let texts = list_of(Type::Text, levels)?;
                let Value::Bytes(items) = array_text(text, texts)? else { return Ok(known) };
                let mut found = Vec::new();
                leaves(&items, texts, &mut found);
                of_elements = numeric_of_all(found.iter().map(Vec::as_slice), format)?;
            }
            levels
        }
    };
    list_of(of_elements, levels)
}

fn list_of(element: Type, levels: usize) -> Result<Type> {
    (0..levels.max(1)).try_fold(element, |ty, _| Type::list(ty))
}

/// The texts in a list of texts of any levels; NULLs are left out.
fn leaves(bytes: &[u8], ty: Type, out: &mut Vec<Vec<u8>>) {
    let element = ty.element().unwrap_or(Type::Null);
    for payload in encoding::elements(ty, bytes).flatten() {
        match element {
            Type::List(_) => leaves(payload, element, out),
            _ => encoding::with_text(payload, |text| out.push(text.to_vec())),
        }
    }
}

fn numeric_of_all<'a>(items: impl Iterator<Item = &'a [u8]>, format: Format) -> Result<Type> {
    let (mut whole, mut scale) = (1, 0);
    for item in items {
        if let Type::Decimal { precision, scale: of_item } = numeric_type(item, format)? {
            whole = whole.max(precision - of_item);
            scale = scale.max(of_item);
        }
    }
    Type::decimal(u32::from(whole) + u32::from(scale), scale.into()).ok_or_else(too_many_digits)
}

/// The narrowest DECIMAL that holds a NUMERIC as it was sent, zeros behind its point included. Error 22003 for NaN,
/// infinities, and more than 38 digits.
pub fn numeric_type(bytes: &[u8], format: Format) -> Result<Type> {
    match format {
        Format::Binary => binary::numeric_type(bytes),
        Format::Text => {
            let text = utf8(bytes)?.trim();
            let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
            let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
            let exponent: i64 = exponent.parse().unwrap_or(0);
            let whole = whole.trim_start_matches(['+', '-']).trim_start_matches('0').len() as i64;
            let scale = (fraction.len() as i64).saturating_sub(exponent).max(0);
            let precision = whole.saturating_add(exponent.max(0)).saturating_add(scale).max(1);
            match (u32::try_from(precision), u32::try_from(scale)) {
                (Ok(precision), Ok(scale)) => {
                    Type::decimal(precision.max(scale), scale).ok_or_else(too_many_digits)
                }
                _ => Err(too_many_digits()),
            }
        }
    }
}

fn too_many_digits() -> Error {
    Error::new(
        SqlState::NumericValueOutOfRange,
        "a numeric of more than 38 digits has no DECIMAL that holds it",
    )
    .with_hint("send it as double precision or text")
}

/// The error of bytes that are no value of a type.
pub(crate) fn wrong_binary(name: &str) -> Error {
    Error::new(
        SqlState::InvalidBinaryRepresentation,
        format!("incorrect binary data format for type {}", name.to_lowercase()),
    )
}

/// Text as PostgreSQL takes it: UTF-8 without a zero byte.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str> {
    if memchr::memchr(0, bytes).is_some() {
        return Err(Error::new(
            SqlState::CharacterNotInRepertoire,
            "invalid byte sequence for encoding \"UTF8\": 0x00",
        ));
    }
    utf8(bytes)
}

fn text(bytes: &[u8], ty: Type) -> Result<Value> {
    let text = text_of(bytes)?;
    match ty {
        Type::List(_) => array_text(text, ty),
        Type::Struct(_) | Type::Map(_) | Type::Union(_) => json_text(text, ty),
        Type::Null => Ok(Value::text(text)),
        _ => cast::parse_text(text, ty),
    }
}

/// A STRUCT or MAP from its JSON.
pub(crate) fn json_text(text: &str, ty: Type) -> Result<Value> {
    json::checked(text)?;
    json::to_value(text, ty, false)
}

#[cfg(test)]
mod tests;
