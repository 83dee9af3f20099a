//! JSON: a text that is checked when it becomes JSON, and values that go to it and come from it.
//!
//! The text is kept as it was written; parts that are taken out of it lose the blanks between their own. It is read by
//! `serde_json`, and where only a part is wanted (`get`) nothing else of it is built. Numbers keep their digits.

use std::fmt::Write;

use serde_json::value::RawValue;

use crate::nested::encoding::{self, elements, entries, fields};
use crate::nested::union;
use crate::{Error, Result, SqlState, Type, Value, cast, digits};

pub use crate::json_path::{Step, all, get, has_wildcard, path};

/// The text as a JSON value, unchanged. Malformed JSON and escapes that are half of a surrogate pair are errors.
pub fn checked(text: &str) -> Result<Value> {
    serde_json::from_str::<&RawValue>(text).map_err(|e| malformed(text, &e))?;
    match half_pair(text) {
        Some(at) => Err(refused(text, format!("at byte {at}: half of a surrogate pair"))),
        None => Ok(Value::text(text)),
    }
}

/// The place of an escape that is half of a surrogate pair, in a text that is JSON otherwise: a string with it is no text,
/// and its value could not be had.
fn half_pair(text: &str) -> Option<usize> {
    let unit = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('\\')).map(|at| from + at) {
        from = match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at + 12,
            Some(0xD800..=0xDFFF) => return Some(at),
            Some(_) => at + 6,
            None => at + 2,
        };
    }
    None
}

fn malformed(text: &str, error: &serde_json::Error) -> Error {
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or_default();
    refused(text, format!("line {}, column {}: {reason}", error.line(), error.column()))
}

fn refused(text: &str, detail: String) -> Error {
    let shown: String = text.chars().take(80).collect();
    Error::new(
        SqlState::InvalidTextRepresentation,
        format!("invalid input syntax for type json: \"{shown}\""),
    )
    .with_detail(detail)
    .with_hint("json_valid(text) tells which texts are JSON, TRY_CAST makes NULL of the others")
}

/// Whether the text is JSON that `checked` accepts.
pub fn is_valid(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok() && half_pair(text).is_none()
}

/// The JSON text without blanks outside of strings; borrowed when it has none.
pub fn compact(text: &str) -> std::borrow::Cow<'_, str> {
    let blank = |b: &u8| matches!(b, b' ' | b'\n' | b'\t' | b'\r');
    if !text.as_bytes().iter().any(blank) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let (mut begin, mut in_string, mut escaped) = (0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ if !in_string && blank(&byte) => {
                out.push_str(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    out.push_str(&text[begin..]);
    out.into()
}

/// A JSON text taken apart, one level deep: what is inside arrays and objects stays text.
pub enum Parsed<'a> {
    /// `null`
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// As written.
    Number(&'a str),
    /// A string, its escapes resolved.
    Text(String),
    /// The elements in their order.
    Array(Vec<&'a RawValue>),
    /// The entries in their order, repeated keys included.
    Object(Vec<(String, &'a RawValue)>),
}

/// Reads one level of a text that `checked` has accepted; malformed text gives `Parsed::Null`.
pub fn parse(text: &str) -> Parsed<'_> {
    let text = text.trim();
    let read = || {
        Some(match text.as_bytes().first()? {
            b'n' => Parsed::Null,
            b't' => Parsed::Bool(true),
            b'f' => Parsed::Bool(false),
            b'"' => Parsed::Text(serde_json::from_str(text).ok()?),
            b'[' => Parsed::Array(serde_json::from_str(text).ok()?),
            b'{' => Parsed::Object(serde_json::from_str::<Entries<'_>>(text).ok()?.0),
            _ => Parsed::Number(text),
        })
    };
    read().unwrap_or(Parsed::Null)
}

/// An object's entries in their order, keys that come twice included.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Entries<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Entries<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: serde::de::MapAccess<'de>>(
                self,
                mut map: M,
            ) -> std::result::Result<Self::Value, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry::<String, &'de RawValue>()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        source.deserialize_map(Visitor)
    }
}

/// A JSON value as SQL text (`->>`): a string without its quotes, other values compact; `None` for null.
pub fn unquoted(text: &str) -> Option<String> {
    match parse(text) {
        Parsed::Null => None,
        Parsed::Text(text) => Some(text),
        _ => Some(compact(text).into_owned()),
    }
}

/// Appends a value as JSON. Values that JSON has no form for become strings; a text becomes a string too, unless its
/// type is JSON or JSONB.
pub fn push_value(value: &Value, ty: Type, out: &mut String) {
    let shown = |out: &mut String| push_string(&cast::format_value(value, ty), out);
    match (value, ty) {
        (Value::Null, _) => out.push_str("null"),
        (Value::Bool(b), _) => out.push_str(if *b { "true" } else { "false" }),
        (Value::F32(_) | Value::F64(_), _) if !value.as_f64().is_some_and(f64::is_finite) => shown(out),
        (Value::F32(_) | Value::F64(_), _) => out.push_str(&cast::format_value(value, ty)),
        (Value::I16(v), Type::SmallInt) => push_integer((*v).into(), out),
        (Value::I32(v), Type::Integer) => push_integer((*v).into(), out),
        (Value::I64(v), Type::BigInt) => push_integer(*v, out),
        (_, ty) if ty.is_integer() || ty.is_decimal() || ty.is_wide_integer() => {
            out.push_str(&cast::format_value(value, ty))
        }
        (Value::Bytes(bytes), Type::Json | Type::Jsonb) => {
            out.push_str(&compact(&String::from_utf8_lossy(bytes)))
        }
        (Value::Bytes(bytes), Type::List(_)) => {
            let element = ty.element().unwrap_or(Type::Null);
            out.push('[');
            for (at, slot) in elements(ty, bytes).enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_value(&encoding::slot_value(slot, element), element, out);
            }
            out.push(']');
        }
        (Value::Bytes(bytes), Type::Struct(_)) => {
            let types = ty.fields().unwrap_or_default();
            let named = types.iter().any(|(name, _)| !name.is_empty());
            out.push(if named { '{' } else { '[' });
            for (at, ((name, ty), slot)) in types.iter().zip(fields(ty, bytes)).enumerate() {
                if at > 0 {
                    out.push(',');
                }
                if named {
                    push_string(name, out);
                    out.push(':');
                }
                push_value(&encoding::slot_value(slot, *ty), *ty, out);
            }
            out.push(if named { '}' } else { ']' });
        }
        (Value::Bytes(bytes), Type::Union(_)) => {
            let Some((name, ty, slot)) = union::named_member_of(ty, bytes) else {
                return out.push_str("null");
            };
            out.push('{');
            push_string(name, out);
            out.push(':');
            push_value(&encoding::slot_value(slot, ty), ty, out);
            out.push('}');
        }
        (Value::Bytes(bytes), Type::Map(_)) => {
            let (key, item) = ty.entry().unwrap_or((Type::Null, Type::Null));
            out.push('{');
            for (at, slot) in entries(ty, bytes).enumerate() {
                let ty = if at % 2 == 0 { key } else { item };
                let value = encoding::slot_value(slot, ty);
                match (at, at % 2) {
                    (0, _) => {}
                    (_, 0) => out.push(','),
                    _ => out.push(':'),
                }
                match at % 2 {
                    0 => push_string(&cast::format_value(&value, ty), out),
                    _ => push_value(&value, ty, out),
                }
            }
            out.push('}');
        }
        _ => shown(out),
    }
}

fn push_integer(value: i64, out: &mut String) {
    // Writing to a text does not fail.
    let _ = write!(out, "{value}");
}

/// Appends a JSON string with its quotes, escaped.
pub fn push_string(text: &str, out: &mut String) {
    out.push('"');
    // What is written as it is comes in one piece.
    let is_odd = |byte: u8| !(b' '..0x7F).contains(&byte) || byte == b'"' || byte == b'\\';
    let mut rest = text;
    while let Some(at) = rest.bytes().position(is_odd) {
        out.push_str(&rest[..at]);
        let mut characters = rest[at..].chars();
        match characters.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\t') => out.push_str("\\t"),
            Some('\r') => out.push_str("\\r"),
            Some(c) if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            Some(c) => out.push(c),
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Casts a value to JSON: text is parsed and checked, values of other types are converted. JSON and JSONB stay as
/// they are.
pub fn from_value(value: &Value, from: Type) -> Result<Value> {
    if from.is_text() {
        return match (from, value.as_text()) {
            (Type::Json | Type::Jsonb, _) => Ok(value.clone()),
            (_, Some(text)) => checked(text),
            (_, None) => Ok(Value::Null),
        };
    }
    let mut out = String::new();
    push_value(value, from, &mut out);
    Ok(Value::text(&out))
}

/// How values become those of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// As a cast does.
    Cast,
    /// Values inside that do not fit are NULL.
    Lenient,
    /// Whatever the type would change is an error.
    Exact,
}

/// Casts a JSON value to a type: null becomes NULL, a string is read as a quoted literal is. If `lenient`, values
/// inside arrays and objects that do not fit become NULL.
pub fn to_value(text: &str, to: Type, lenient: bool) -> Result<Value> {
    converted(text, to, if lenient { Manner::Lenient } else { Manner::Cast })
}

/// As `to_value`, for a type that was found by looking at other values: one that the type would change is an error.
pub fn to_value_exactly(text: &str, to: Type) -> Result<Value> {
    converted(text, to, Manner::Exact)
}

/// Why a number would not be the same in a type.
fn changed(number: &str, ty: Type) -> Option<&'static str> {
    let fraction = || digits::fixed(number).is_none_or(|(_, behind)| behind > 0);
    match ty {
        Type::Boolean => Some("a number is no boolean"),
        Type::Decimal { scale, .. } => digits::fixed(number)
            .is_none_or(|(_, behind)| behind > usize::from(scale))
            .then_some("the type would cut its digits"),
        ty if ty.is_integer() => fraction().then_some("the type would cut its fraction"),
        Type::Real | Type::Double => {
            (!digits::held_by_double(number)).then_some("the type would cut its digits")
        }
        _ => None,
    }
}

/// The union of an object whose only key is a member's name.
fn one_member(
    entries: &[(String, &RawValue)],
    to: Type,
    inside: &dyn Fn(&str, Type) -> Result<Value>,
    wrong: &dyn Fn(&str) -> Error,
) -> Result<Value> {
    let members = to.members().unwrap_or_default();
    let [(name, value)] = entries else { return Err(wrong("object of another number of keys than one")) };
    let Some(tag) = union::place_of(members, name) else { return Err(wrong("object of another key")) };
    Ok(union::value_of(tag, &inside(value.get(), members[tag].1)?, members[tag].1))
}

fn converted(text: &str, to: Type, manner: Manner) -> Result<Value> {
    match to {
        Type::Json => return Ok(Value::text(text)),
        Type::Jsonb => return crate::jsonb::canonical(text),
        _ => {}
    }
    let lenient = manner == Manner::Lenient;
    let wrong = |what: &str| {
        let shown: String = text.chars().take(80).collect();
        Error::new(SqlState::InvalidTextRepresentation, format!("cannot cast JSON {what} to {to}"))
            .with_detail(format!("the value is {shown}"))
            .with_hint("TRY_CAST makes NULL of what does not fit")
    };
    let inside = |text: &str, ty: Type| match converted(text, ty, manner) {
        // A part is NULL where the whole would be: JSON's null is no value of a field or an element.
        _ if text == "null" => Ok(Value::Null),
        Err(_) if lenient => Ok(Value::Null),
        result => result,
    };
    let list = |items: &[&RawValue], element: Type| {
        let mut out = Vec::new();
        for item in items {
            encoding::push_slot(&inside(item.get(), element)?, element, &mut out);
        }
        out.push(encoding::END);
        Ok(Value::Bytes(out.into()))
    };
    match (parse(text), to) {
        (Parsed::Null, _) => Ok(Value::Null),
        (Parsed::Array(items), Type::List(_)) => list(&items, to.element().unwrap_or(Type::Null)),
        (Parsed::Array(items), Type::Struct(_)) if to.fields().is_some_and(|f| f.len() == items.len()) => {
            let mut out = Vec::new();
            for (item, (_, ty)) in items.iter().zip(to.fields().unwrap_or_default()) {
                encoding::push_slot(&inside(item.get(), *ty)?, *ty, &mut out);
            }
            Ok(Value::Bytes(out.into()))
        }
        (Parsed::Object(entries), Type::Struct(_)) => {
            let mut out = Vec::new();
            for (name, ty) in to.fields().unwrap_or_default() {
                let exact = entries.iter().find(|(key, _)| key == name);
                let found = exact.or_else(|| entries.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)));
                let value = found.map_or(Ok(Value::Null), |(_, value)| inside(value.get(), *ty))?;
                encoding::push_slot(&value, *ty, &mut out);
            }
            Ok(Value::Bytes(out.into()))
        }
        (Parsed::Object(entries), Type::Union(_)) => one_member(&entries, to, &inside, &wrong),
        (Parsed::Object(entries), Type::Map(_)) => {
            let (key, item) = to.entry().unwrap_or((Type::Null, Type::Null));
            let mut out = Vec::new();
            let mut known = std::collections::HashSet::new();
            for (name, value) in &entries {
                if known.insert(name) {
                    encoding::push_slot(
                        &cast::cast_value(&Value::text(name), Type::Text, key)?,
                        key,
                        &mut out,
                    );
                    encoding::push_slot(&inside(value.get(), item)?, item, &mut out);
                }
            }
            out.push(encoding::END);
            Ok(Value::Bytes(out.into()))
        }
        (Parsed::Array(_), _) if !to.is_text() => Err(wrong("array")),
        (Parsed::Object(_), _) if !to.is_text() => Err(wrong("object")),
        (_, ty) if ty.is_nested() => Err(wrong("value")),
        (Parsed::Bool(_), ty) if manner == Manner::Exact && ty.is_numeric() => Err(wrong("boolean")),
        (Parsed::Number(number), ty) if manner == Manner::Exact && changed(number, ty).is_some() => {
            let why = changed(number, ty).unwrap_or_default();
            Err(Error::new(
                SqlState::InvalidTextRepresentation,
                format!("{number} is not the same as {to}: {why}"),
            ))
        }
        (Parsed::Bool(b), Type::Boolean) => Ok(Value::Bool(b)),
        (Parsed::Bool(b), ty) if ty.is_numeric() => {
            cast::cast_value(&Value::I32(i32::from(b)), Type::Integer, ty)
        }
        (Parsed::Number(number), ty)
            if ty.is_integer() && !number.bytes().all(|b| b.is_ascii_digit() || b == b'-') =>
        {
            match (digits::fixed(number), number.split_once('.')) {
                // By way of a double, a large one would be another.
                (Some((_, 0)), Some((whole, _))) => cast::cast_value(&Value::text(whole), Type::Text, ty),
                _ => cast::cast_value(&cast::parse_text(number, Type::Double)?, Type::Double, ty),
            }
        }
        (Parsed::Number(number), ty) => cast::cast_value(&Value::text(number), Type::Text, ty),
        (Parsed::Text(text), ty) => cast::cast_value(&Value::text(&text), Type::Text, ty),
        (_, ty) => cast::cast_value(&Value::text(&compact(text)), Type::Text, ty),
    }
}

/// The name that DuckDB's `json_type` gives the kind of a JSON text.
pub fn kind(text: &str) -> &'static str {
    match text.trim().as_bytes().first() {
        Some(b'{') => "OBJECT",
        Some(b'[') => "ARRAY",
        Some(b'"') => "VARCHAR",
        Some(b't' | b'f') => "BOOLEAN",
        Some(b'n') | None => "NULL",
        _ if text.contains(['.', 'e', 'E']) => "DOUBLE",
        Some(b'-') => "BIGINT",
        _ => "UBIGINT",
    }
}

/// Whether `outer` contains `inner`, as PostgreSQL's `@>` defines it. Values nested deeper than 500 levels do not
/// match.
pub fn contains(outer: &str, inner: &str) -> bool {
    fn within(outer: &str, inner: &str, depth: usize) -> bool {
        if depth > CONTAINS_DEPTH_MAX {
            return false;
        }
        match (parse(outer), parse(inner)) {
            (Parsed::Object(have), Parsed::Object(want)) => want.iter().all(|(key, wanted)| {
                have.iter().any(|(own, value)| own == key && within(value.get(), wanted.get(), depth + 1))
            }),
            (Parsed::Array(have), Parsed::Array(want)) => want
                .iter()
                .all(|wanted| have.iter().any(|value| within(value.get(), wanted.get(), depth + 1))),
            // An array contains a plain value, at its top only.
            (Parsed::Array(_), Parsed::Object(_)) => false,
            (Parsed::Array(have), _) => {
                depth == 0 && have.iter().any(|value| within(value.get(), inner, depth + 1))
            }
            (Parsed::Text(a), Parsed::Text(b)) => a == b,
            (Parsed::Number(a), Parsed::Number(b)) => a == b || number(a) == number(b),
            (Parsed::Bool(a), Parsed::Bool(b)) => a == b,
            (Parsed::Null, Parsed::Null) => true,
            _ => false,
        }
    }
    fn number(text: &str) -> Option<f64> {
        text.parse().ok()
    }
    within(outer, inner, 0)
}

/// Deepest containment that is looked into; each level is a level of the stack.
const CONTAINS_DEPTH_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found() {
        let text = r#"{"a": [1, {"b c": "x\ty"}, null], "d": 1.10}"#;
        let at = |p: &str| get(text, &path(p).unwrap());
        assert_eq!(at("$.a[0]"), Some("1"));
        assert_eq!(at("$.a[1].\"b c\""), Some("\"x\\ty\""));
        assert_eq!(at("/a/0"), Some("1"));
        assert_eq!(at("d"), Some("1.10"));
        assert_eq!(at("$.a[-1]"), Some("null"));
        assert_eq!(at("$.z"), None);
        assert_eq!(all(text, &path("$.a[*]").unwrap(), 9).len(), 3);
        assert_eq!(compact(text), r#"{"a":[1,{"b c":"x\ty"},null],"d":1.10}"#);
        for wrong in ["$.", "$a", "$[", "$[x]", "$.\"a"] {
            assert!(path(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn deep_texts_do_not_overflow() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let _ = (checked(&deep), kind(&deep), contains(&deep, &deep));
        let _ = get(&deep, &vec![Step::Index(0); 100]);
    }

    #[test]
    fn values_go_and_come() {
        let ty = Type::structure(vec![
            ("a".into(), Type::list(Type::Integer).unwrap()),
            ("b".into(), Type::map(Type::Text, Type::Double).unwrap()),
        ])
        .unwrap();
        let text = r#"{"a":[1,null],"b":{"x":1.5,"y":null}}"#;
        let value = to_value(text, ty, false).unwrap();
        assert_eq!(from_value(&value, ty).unwrap().as_text(), Some(text));
        assert!(to_value("[1,\"x\"]", Type::list(Type::Integer).unwrap(), false).is_err());
        assert!(checked("{\"a\":}").is_err());
        for sound in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u00e9 \" é""#, r#"{"\\": "\n"}"#] {
            assert!(is_valid(sound) && checked(sound).is_ok(), "{sound}");
        }
        for half in [r#""\ud83d""#, r#"["\ude00"]"#, r#"{"\ud83d\u0041": 1}"#, r#""\ud83d\ud83d\ude00""#] {
            assert!(!is_valid(half) && checked(half).is_err(), "{half}");
        }
    }
}
