//! Casts between nested types: element by element, a struct's fields by name where names agree, else by position. A
//! struct becomes a map of its names, a value a union with a member that takes it (`union`); there are no other casts
//! between the kinds.

use super::encoding::{self, elements, entries, fields};
use super::inner::Cast;
use super::union;
use crate::{Error, Result, SqlState, Type, Value};

/// For each field of `to`, the place of the field of `from` that becomes it, or `None` for NULL: by name if any name
/// agrees, else by position. `None` altogether when neither names nor numbers of fields agree.
pub fn matched_fields(from: &[(String, Type)], to: &[(String, Type)]) -> Option<Vec<Option<usize>>> {
    let place = |name: &str| {
        let exact = from.iter().position(|(own, _)| own == name);
        exact.or_else(|| from.iter().position(|(own, _)| own.eq_ignore_ascii_case(name)))
    };
    let by_name: Vec<Option<usize>> =
        to.iter().map(|(name, _)| if name.is_empty() { None } else { place(name) }).collect();
    if by_name.iter().any(Option::is_some) {
        return Some(by_name);
    }
    (from.len() == to.len()).then(|| (0..to.len()).map(Some).collect())
}

/// Which casts `castable` admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Casts {
    /// Casts that the binder adds by itself.
    Implicit,
    /// Casts that are written in SQL; these include STRUCT to MAP.
    Explicit,
}

/// Whether there is a cast from `from` to `to`. `plain` decides for pairs that are not both nested; it is never
/// called with two nested types, so that it may call back here.
pub fn castable(from: Type, to: Type, casts: Casts, plain: &dyn Fn(Type, Type) -> bool) -> bool {
    let inner = |from: Type, to: Type| from == Type::Null || from == to || castable(from, to, casts, plain);
    match (from, to) {
        (Type::List(_), Type::List(_)) => {
            from.element().zip(to.element()).is_some_and(|(from, to)| inner(from, to))
        }
        (Type::Map(_), Type::Map(_)) => from
            .entry()
            .zip(to.entry())
            .is_some_and(|((from_key, from), (key, to))| inner(from_key, key) && inner(from, to)),
        (Type::Struct(_), Type::Struct(_)) => {
            let (from, to) = (from.fields().unwrap_or_default(), to.fields().unwrap_or_default());
            matched_fields(from, to).is_some_and(|places| {
                places.iter().zip(to).all(|(at, (_, to))| at.is_none_or(|at| inner(from[at].1, *to)))
            })
        }
        (Type::Struct(_), Type::Map(_)) if casts == Casts::Explicit => {
            let fields = from.fields().unwrap_or_default();
            to.entry().is_some_and(|(key, value)| {
                let named = fields.iter().all(|(name, _)| !name.is_empty());
                named && inner(Type::Text, key) && fields.iter().all(|(_, field)| inner(*field, value))
            })
        }
        (Type::Union(_), Type::Union(_)) => {
            let (from, to) = (from.members().unwrap_or_default(), to.members().unwrap_or_default());
            union::matched_members(from, to)
                .is_some_and(|places| from.iter().zip(places).all(|((_, ty), at)| inner(*ty, to[at].1)))
        }
        (_, Type::Union(_)) => union::member_for(from, to).is_some(),
        _ if from.is_nested() && to.is_nested() => false,
        _ => plain(from, to),
    }
}

/// Casts a nested value of type `from` to the nested type `to`. If `lenient`, values inside that do not fit become
/// NULL, except keys of maps, which remain an error. `cast` casts values inside that are not nested.
pub(crate) fn cast_nested(bytes: &[u8], from: Type, to: Type, lenient: bool, cast: Cast) -> Result<Value> {
    let mut out = Vec::with_capacity(bytes.len());
    if let (Type::List(_), Type::List(_)) = (from, to)
        && let Some(element) = from.element()
        && to.element() == Some(Type::Double)
        && push_floats(bytes, from, element, &mut out).is_some()
    {
        return Ok(Value::Bytes(out.into()));
    }
    out.clear();
    push(bytes, from, to, (lenient, cast), &mut out)?;
    Ok(Value::Bytes(out.into()))
}

fn push(bytes: &[u8], from: Type, to: Type, (lenient, cast): (bool, Cast), out: &mut Vec<u8>) -> Result<()> {
    let slot = |slot: Option<&[u8]>, from: Type, to: Type, lenient: bool, out: &mut Vec<u8>| -> Result<()> {
        match slot {
            _ if from == to => encoding::push_raw(slot, out),
            None => out.push(encoding::NULL),
            Some(payload) if from.is_nested() && to.is_nested() => {
                out.push(encoding::VALUE);
                push(payload, from, to, (lenient, cast), out)?;
            }
            Some(payload) => {
                let value = cast(&encoding::value_of(payload, from), from, to, lenient)?;
                encoding::push_slot(&value, to, out);
            }
        }
        Ok(())
    };
    match (from, to) {
        (Type::List(_), Type::List(_)) => {
            let (from_element, to_element) =
                (from.element().unwrap_or(Type::Null), to.element().unwrap_or(Type::Null));
            for element in elements(from, bytes) {
                slot(element, from_element, to_element, lenient, out)?;
            }
            out.push(encoding::END);
        }
        (Type::Map(_), Type::Map(_)) => {
            let nothing = (Type::Null, Type::Null);
            let (from_types, to_types) = (from.entry().unwrap_or(nothing), to.entry().unwrap_or(nothing));
            for (at, entry) in entries(from, bytes).enumerate() {
                match at % 2 {
                    // A key is not NULL.
                    0 => slot(entry, from_types.0, to_types.0, false, out)?,
                    _ => slot(entry, from_types.1, to_types.1, lenient, out)?,
                }
            }
            out.push(encoding::END);
        }
        (Type::Struct(_), Type::Struct(_)) => {
            let (from_fields, to_fields) =
                (from.fields().unwrap_or_default(), to.fields().unwrap_or_default());
            let places = matched_fields(from_fields, to_fields).ok_or_else(|| no_cast(from, to))?;
            let values = fields(from, bytes);
            for (place, (_, to)) in places.into_iter().zip(to_fields) {
                match place {
                    Some(at) => slot(values[at], from_fields[at].1, *to, lenient, out)?,
                    None => out.push(encoding::NULL),
                }
            }
        }
        (Type::Struct(_), Type::Map(_)) => {
            let (key_type, value_type) = to.entry().unwrap_or((Type::Null, Type::Null));
            let from_fields = from.fields().unwrap_or_default();
            let mut keys: Vec<Value> = Vec::with_capacity(from_fields.len());
            for ((name, field), value) in from_fields.iter().zip(fields(from, bytes)) {
                // A key is not NULL, whatever is said of the values.
                let key = cast(&Value::text(name), Type::Text, key_type, false)?;
                if keys.contains(&key) {
                    let message = format!("map keys must be unique: {}", key.display(key_type));
                    return Err(Error::new(SqlState::InvalidParameterValue, message));
                }
                encoding::push_slot(&key, key_type, out);
                slot(value, *field, value_type, lenient, out)?;
                keys.push(key);
            }
            out.push(encoding::END);
        }
        (Type::Union(_), Type::Union(_)) => {
            let (own, members) = (from.members().unwrap_or_default(), to.members().unwrap_or_default());
            let places = union::matched_members(own, members).ok_or_else(|| no_cast(from, to))?;
            let (tag, member, value) = union::member_of(from, bytes).ok_or_else(|| no_cast(from, to))?;
            let (_, wanted) = members[places[tag]];
            out.push(places[tag] as u8);
            slot(value, member, wanted, lenient, out)?;
        }
        (_, Type::Union(_)) => {
            let made = union::of_value(&Value::Bytes(bytes.into()), from, to, lenient, cast)?;
            out.extend_from_slice(made.as_bytes().unwrap_or_default());
        }
        _ => return Err(no_cast(from, to)),
    }
    Ok(())
}

/// The floats of a list of integers or of floats, none of which is out of range. `None` for other elements.
fn push_floats(bytes: &[u8], list: Type, element: Type, out: &mut Vec<u8>) -> Option<()> {
    let float: fn(&[u8]) -> Option<f64> = match element {
        Type::SmallInt => |p| Some((i16::from_be_bytes(p.try_into().ok()?) ^ i16::MIN).into()),
        Type::Integer => |p| Some((i32::from_be_bytes(p.try_into().ok()?) ^ i32::MIN).into()),
        Type::BigInt => |p| Some((i64::from_be_bytes(p.try_into().ok()?) ^ i64::MIN) as f64),
        Type::Real => |p| Some(encoding::float_32(p.try_into().ok()?).into()),
        _ => return None,
    };
    for slot in elements(list, bytes) {
        match slot {
            Some(payload) => {
                out.push(encoding::VALUE);
                out.extend_from_slice(&encoding::sortable_f64(float(payload)?));
            }
            None => out.push(encoding::NULL),
        }
    }
    out.push(encoding::END);
    Some(())
}

fn no_cast(from: Type, to: Type) -> Error {
    Error::new(SqlState::CannotCoerce, format!("cannot cast type {from} to {to}"))
}
