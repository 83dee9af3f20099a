//! Functions of JSON: parts by key, index or path, what they are, and JSON made of values.
//!
//! JSON and JSONB are text here, and a part is a slice of it. A NULL input or a missing part gives NULL; a malformed
//! path is an error of the statement. A path that is read stays known for the next row (`Parts`). Functions named
//! `..._all` take a path with wildcards or a list of paths and give a list, one element for each part.
//! `nested::named` finds the functions by the names that the binder uses, which are not always those of SQL.

use types::json::{self, Parsed, Step};
use types::nested::encoding::{self, elements};
use types::{Result, Type, Value};
use vector::nested::join;
use vector::{Data, Vector, VectorBuilder};

use super::{Kernel, booleans, bytes, integers, invalid, text};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "json_extract" => |inputs, ty, rows| by_path(inputs, ty, rows, as_json(inputs)),
        "json_extract_string" => |inputs, ty, rows| by_path(inputs, ty, rows, as_text(inputs)),
        "json_value" => |inputs, ty, rows| by_path(inputs, ty, rows, scalar),
        "json_extract_all" => |inputs, ty, rows| many(inputs, ty, rows, &shown_by(as_json(inputs))),
        "json_extract_string_all" => |inputs, ty, rows| many(inputs, ty, rows, &shown_by(as_text(inputs))),
        "json_value_all" => |inputs, ty, rows| many(inputs, ty, rows, &shown_by(scalar)),
        "json_type_all" => {
            |inputs, ty, rows| many(inputs, ty, rows, &shown_by(|part| Some(json::kind(part).to_owned())))
        }
        "json_exists_all" => |inputs, ty, rows| many(inputs, ty, rows, &|part| Value::Bool(part.is_some())),
        "json_array_length_all" => |inputs, ty, rows| {
            many(inputs, ty, rows, &|part| part.map_or(Value::Null, |part| Value::I64(length(part))))
        },
        "json_keys_all" => |inputs, ty, rows| many(inputs, ty, rows, &keys_of),
        "json_extract_path" => |inputs, ty, rows| by_steps(inputs, ty, rows, as_json(inputs)),
        "json_extract_path_text" => |inputs, ty, rows| by_steps(inputs, ty, rows, as_text(inputs)),
        "json_exists" => exists,
        "json_valid" => {
            |inputs, _, rows| Ok(booleans(rows, |row| Some(json::is_valid(text(&inputs[0], row)?))))
        }
        "json_type" => |inputs, ty, rows| by_path(inputs, ty, rows, |part| Some(json::kind(part).to_owned())),
        "json_typeof" => |inputs, ty, rows| by_path(inputs, ty, rows, |part| Some(kind_of(part).to_owned())),
        "json_array_length" => array_length,
        "json_length_of_array" => length_of_array,
        "json_keys" => keys,
        "json_keys_of_object" => |inputs, ty, rows| {
            for row in 0..rows {
                if let Some(part) = text(&inputs[0], row)
                    && !matches!(json::parse(part), Parsed::Object(_))
                {
                    let kind =
                        if matches!(json::parse(part), Parsed::Array(_)) { "an array" } else { "a scalar" };
                    return Err(invalid(format!("cannot call json_object_keys on {kind}")));
                }
            }
            keys(inputs, ty, rows)
        },
        "json_object" => object,
        "json_array" => array,
        "to_json" => |inputs, _, rows| made(rows, |row, out| push(&inputs[0], row, out)),
        "json_piece" => |inputs, _, rows| piece(inputs, rows),
        "json_pair" => pair,
        "json_of_pieces" => of_pieces,
        "json_contains_at_top" => {
            |inputs, _, rows| both(inputs, rows, |whole, part| Ok(json::contains(whole, part)))
        }
        "json_has_any" => has_any,
        "json_has_all" => has_all,
        "json_elements" => items,
        "json_entries" => entries,
        _ => return None,
    })
}

/// A part of JSON as a value: compact, but of JSONB as it stands, which has one form.
fn as_json(inputs: &[Vector]) -> impl Fn(&str) -> Option<String> {
    let stands = inputs[0].ty() == Type::Jsonb;
    move |part| Some(if stands { part.to_owned() } else { json::compact(part).into_owned() })
}

/// A part as text: a string without its quotes, null as NULL.
fn as_text(inputs: &[Vector]) -> impl Fn(&str) -> Option<String> {
    let stands = inputs[0].ty() == Type::Jsonb;
    move |part| match part.as_bytes().first() {
        Some(b'{' | b'[') if stands => Some(part.to_owned()),
        _ => json::unquoted(part),
    }
}

/// A number, text or truth value as text.
fn scalar(part: &str) -> Option<String> {
    if part.starts_with(['{', '[']) { None } else { json::unquoted(part) }
}

/// The part of a row's JSON that a path, if there is one, leads to. Paths are mostly the same for all rows.
struct Parts<'a> {
    inputs: &'a [Vector],
    known: Option<(String, Vec<Step>)>,
}

impl<'a> Parts<'a> {
    fn of(inputs: &'a [Vector]) -> Self {
        Parts { inputs, known: None }
    }
    fn steps(&mut self, row: usize) -> Result<Option<&[Step]>> {
        let Some(path) = self.inputs.get(1) else { return Ok(Some(&[])) };
        if let Some(index) = path.value(row).as_i64() {
            self.known = Some((String::new(), vec![Step::Index(index)]));
        } else {
            let Some(written) = text(path, row) else { return Ok(None) };
            if self.known.as_ref().is_none_or(|(known, _)| known != written) {
                self.known = Some((written.to_owned(), json::path(written)?));
            }
        }
        Ok(self.known.as_ref().map(|(_, steps)| steps.as_slice()))
    }
    fn get(&mut self, row: usize) -> Result<Option<&'a str>> {
        let Some(whole) = text(&self.inputs[0], row) else { return Ok(None) };
        let steps = self.steps(row)?;
        Ok(steps.and_then(|steps| json::get(whole, steps)))
    }
}

/// As [`Parts::get`] where the path must lead to one part: which type the answer has was said before the path was
/// known.
fn one<'a>(parts: &mut Parts<'a>, row: usize) -> Result<Option<&'a str>> {
    if parts.steps(row)?.is_some_and(json::has_wildcard) {
        return Err(invalid("a JSON path with a wildcard must be a constant, of which a list comes")
            .with_hint("write the path as a literal, or leave the wildcard out"));
    }
    parts.get(row)
}

fn by_path(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    shown: impl Fn(&str) -> Option<String>,
) -> Result<Vector> {
    let mut parts = Parts::of(inputs);
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        match one(&mut parts, row)?.and_then(&shown) {
            Some(part) => builder.push_bytes(part.as_bytes()),
            None => builder.push_null(),
        }
    }
    Ok(builder.finish())
}

/// A part as a value of text.
fn shown_by(shown: impl Fn(&str) -> Option<String>) -> impl Fn(Option<&str>) -> Value {
    move |part| part.and_then(&shown).map_or(Value::Null, |text| Value::text(&text))
}

/// What `read` says of every part that a path with wildcards leads to, or of the part of each path of a list.
fn many(inputs: &[Vector], ty: Type, rows: usize, read: &dyn Fn(Option<&str>) -> Value) -> Result<Vector> {
    let element = ty.element().unwrap_or(Type::Null);
    let mut parts = Parts::of(inputs);
    let mut paths: Option<(Vec<u8>, Vec<Vec<Step>>)> = None;
    let mut failed = None;
    let result = join(ty, rows, |row, out| {
        let mut write = || -> Result<bool> {
            let Some(whole) = text(&inputs[0], row) else { return Ok(false) };
            if inputs[1].ty().element().is_some() {
                let Some(list) = bytes(&inputs[1], row) else { return Ok(false) };
                if paths.as_ref().is_none_or(|(known, _)| known != list) {
                    paths = Some((list.to_owned(), paths_of(&inputs[1], list)?));
                }
                for steps in paths.iter().flat_map(|(_, paths)| paths) {
                    encoding::push_slot(&read(json::get(whole, steps)), element, out);
                }
            } else {
                let Some(steps) = parts.steps(row)? else { return Ok(false) };
                for part in json::all(whole, steps, usize::MAX) {
                    encoding::push_slot(&read(Some(part)), element, out);
                }
            }
            out.push(encoding::END);
            Ok(true)
        };
        write().unwrap_or_else(|error| {
            failed = Some(error);
            false
        })
    });
    failed.map_or(Ok(result), Err)
}

/// The paths of a list of texts.
fn paths_of(vector: &Vector, list: &[u8]) -> Result<Vec<Vec<Step>>> {
    let mut paths = Vec::new();
    for slot in elements(vector.ty(), list) {
        let written = encoding::slot_value(slot, Type::Text);
        let Some(written) = written.as_text() else { return Err(invalid("a JSON path of a list is NULL")) };
        let steps = json::path(written)?;
        if json::has_wildcard(&steps) {
            return Err(invalid(format!("the JSON path \"{written}\" of a list has a wildcard")));
        }
        paths.push(steps);
    }
    Ok(paths)
}

/// PostgreSQL's `#>`: a list of keys, of which numbers are also places in arrays.
fn by_steps(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    shown: impl Fn(&str) -> Option<String>,
) -> Result<Vector> {
    let list = inputs[1].ty();
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let found = || {
            let mut part = text(&inputs[0], row)?.trim();
            for slot in elements(list, bytes(&inputs[1], row)?) {
                let key = encoding::slot_value(slot, Type::Text);
                let key = key.as_text()?;
                let step = match (part.starts_with('['), key.parse::<i64>()) {
                    (true, Ok(index)) => Step::Index(index),
                    _ => Step::Key(key.to_owned()),
                };
                part = json::get(part, &[step])?;
            }
            shown(part)
        };
        match found() {
            Some(part) => builder.push_bytes(part.as_bytes()),
            None => builder.push_null(),
        }
    }
    Ok(builder.finish())
}

fn exists(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let mut parts = Parts::of(inputs);
    let mut found = Vec::with_capacity(rows);
    for row in 0..rows {
        let known = text(&inputs[0], row).is_some() && inputs.get(1).is_none_or(|p| !p.is_null(row));
        found.push(if known { Some(parts.get(row)?.is_some()) } else { None });
    }
    Ok(booleans(rows, |row| found[row]))
}

/// What kind of value a text is, in PostgreSQL's words.
fn kind_of(part: &str) -> &'static str {
    match json::kind(part) {
        "OBJECT" => "object",
        "ARRAY" => "array",
        "VARCHAR" => "string",
        "BOOLEAN" => "boolean",
        "NULL" => "null",
        _ => "number",
    }
}

fn length(part: &str) -> i64 {
    if let Parsed::Array(items) = json::parse(part) { items.len() as i64 } else { 0 }
}

fn array_length(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let mut parts = Parts::of(inputs);
    let mut lengths = Vec::with_capacity(rows);
    for row in 0..rows {
        lengths.push(one(&mut parts, row)?.map(length));
    }
    Ok(integers(rows, |row| lengths[row]))
}

/// PostgreSQL's `json_array_length`: what is no array has no length.
fn length_of_array(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let mut lengths = Vec::with_capacity(rows);
    for row in 0..rows {
        lengths.push(match text(&inputs[0], row).map(json::parse) {
            None => None,
            Some(Parsed::Array(items)) => Some(items.len() as i64),
            Some(Parsed::Object(_)) => return Err(invalid("cannot get array length of a non-array")),
            Some(_) => return Err(invalid("cannot get array length of a scalar")),
        });
    }
    Ok(integers(rows, |row| lengths[row]))
}

fn keys(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut parts = Parts::of(inputs);
    let mut found = Vec::with_capacity(rows);
    for row in 0..rows {
        found.push(one(&mut parts, row)?);
    }
    Ok(join(ty, rows, |row, out| {
        let Some(part) = found[row] else { return false };
        push_keys(part, out);
        true
    }))
}

fn push_keys(part: &str, out: &mut Vec<u8>) {
    if let Parsed::Object(entries) = json::parse(part) {
        entries.iter().for_each(|(key, _)| encoding::push_slot(&Value::text(key), Type::Text, out));
    }
    out.push(encoding::END);
}

fn keys_of(part: Option<&str>) -> Value {
    part.map_or(Value::Null, |part| {
        let mut list = Vec::new();
        push_keys(part, &mut list);
        Value::Bytes(list.into())
    })
}

fn push(input: &Vector, row: usize, out: &mut String) -> bool {
    if input.ty() == Type::Text
        && let Data::Bytes(strings) = input.data()
        && let Ok(text) = std::str::from_utf8(strings.get(row))
    {
        let known = !input.is_null(row);
        if known {
            json::push_string(text, out);
        }
        return known;
    }
    let value = input.value(row);
    if value.is_null() {
        return false;
    }
    json::push_value(&value, input.ty(), out);
    true
}

/// A JSON text a row; NULL where `write` says no.
fn made(rows: usize, mut write: impl FnMut(usize, &mut String) -> bool) -> Result<Vector> {
    let mut builder = VectorBuilder::new(Type::Json, rows);
    let mut out = String::new();
    for row in 0..rows {
        out.clear();
        match write(row, &mut out) {
            true => builder.push_bytes(out.as_bytes()),
            false => builder.push_null(),
        }
    }
    Ok(builder.finish())
}

fn object(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let mut failed = None;
    let result = made(rows, |row, out| {
        out.push('{');
        for (at, pair) in inputs.chunks(2).enumerate() {
            if at > 0 {
                out.push(',');
            }
            let key = pair[0].value(row);
            if key.is_null() {
                failed = Some(invalid("the keys of a JSON object cannot be NULL"));
            }
            json::push_string(&key.display(pair[0].ty()), out);
            out.push(':');
            if !pair.get(1).is_some_and(|value| push(value, row, out)) {
                out.push_str("null");
            }
        }
        out.push('}');
        true
    });
    failed.map_or(result, Err)
}

fn array(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    made(rows, |row, out| {
        out.push('[');
        for (at, input) in inputs.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            if !push(input, row, out) {
                out.push_str("null");
            }
        }
        out.push(']');
        true
    })
}

/// What is asked of two JSON values.
pub(super) fn both(
    inputs: &[Vector],
    rows: usize,
    ask: impl Fn(&str, &str) -> Result<bool>,
) -> Result<Vector> {
    let mut answers = Vec::with_capacity(rows);
    for row in 0..rows {
        answers.push(match (text(&inputs[0], row), text(&inputs[1], row)) {
            (Some(whole), Some(part)) => Some(ask(whole, part)?),
            _ => None,
        });
    }
    Ok(booleans(rows, |row| answers[row]))
}

/// Whether a text is a key of the object, or a text of the array, or the text itself.
fn has_key(whole: &str, key: &str) -> bool {
    let is_key = |value: &str| matches!(json::parse(value), Parsed::Text(text) if text == key);
    match json::parse(whole) {
        Parsed::Object(entries) => entries.iter().any(|(own, _)| own == key),
        Parsed::Array(items) => items.iter().any(|item| is_key(item.get())),
        Parsed::Text(text) => text == key,
        _ => false,
    }
}

fn wanted_keys(vector: &Vector, row: usize) -> Option<Vec<String>> {
    let bytes = bytes(vector, row)?;
    if vector.ty().is_text() {
        return Some(vec![String::from_utf8_lossy(bytes).into_owned()]);
    }
    let key = |slot| encoding::slot_value(slot, Type::Text).as_text().map(str::to_owned);
    Some(elements(vector.ty(), bytes).filter_map(key).collect())
}

fn has_any(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    Ok(booleans(rows, |row| {
        let whole = text(&inputs[0], row)?;
        Some(wanted_keys(&inputs[1], row)?.iter().any(|key| has_key(whole, key)))
    }))
}

fn has_all(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    Ok(booleans(rows, |row| {
        let whole = text(&inputs[0], row)?;
        Some(wanted_keys(&inputs[1], row)?.iter().all(|key| has_key(whole, key)))
    }))
}

/// The elements of an array as a list, of JSON or of texts as the result's type says.
fn items(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut failed = None;
    let quoted = ty.element() == Some(Type::Text);
    let result = join(ty, rows, |row, out| {
        let Some(whole) = text(&inputs[0], row) else { return false };
        let Parsed::Array(items) = json::parse(whole) else {
            failed = Some(invalid(format!("cannot take elements of a JSON {}", kind_of(whole))));
            return false;
        };
        for item in items {
            push_part(item.get(), quoted, inputs, out);
        }
        out.push(encoding::END);
        true
    });
    failed.map_or(Ok(result), Err)
}

fn push_part(part: &str, quoted: bool, inputs: &[Vector], out: &mut Vec<u8>) {
    let shown = if quoted { as_text(inputs)(part) } else { as_json(inputs)(part) };
    let value = shown.map_or(Value::Null, |text| Value::text(&text));
    encoding::push_slot(&value, Type::Text, out);
}

/// The entries of an object as a list of key and value.
fn entries(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut failed = None;
    let value_type = ty.element().and_then(Type::fields).and_then(|f| f.get(1)).map(|(_, ty)| *ty);
    let quoted = value_type == Some(Type::Text);
    let result = join(ty, rows, |row, out| {
        let Some(whole) = text(&inputs[0], row) else { return false };
        let mut pair = |key: &str, value: &str| {
            out.push(encoding::VALUE);
            encoding::push_slot(&Value::text(key), Type::Text, out);
            push_part(value, quoted, inputs, out);
        };
        match json::parse(whole) {
            Parsed::Object(entries) => entries.iter().for_each(|(key, value)| pair(key, value.get())),
            _ => failed = Some(invalid(format!("cannot take the entries of a JSON {}", kind_of(whole)))),
        }
        out.push(encoding::END);
        true
    });
    failed.map_or(Ok(result), Err)
}

fn texts(rows: usize, mut write: impl FnMut(usize, &mut String)) -> Vector {
    let mut builder = VectorBuilder::new(Type::Text, rows);
    let mut out = String::new();
    for row in 0..rows {
        out.clear();
        write(row, &mut out);
        builder.push_bytes(out.as_bytes());
    }
    builder.finish()
}

/// An element of an array that is gathered.
fn piece(inputs: &[Vector], rows: usize) -> Result<Vector> {
    Ok(texts(rows, |row, out| {
        if !push(&inputs[0], row, out) {
            out.push_str("null");
        }
    }))
}

/// An entry of an object that is gathered.
fn pair(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    if (0..rows).any(|row| inputs[0].is_null(row)) {
        return Err(invalid("the keys of a JSON object cannot be NULL"));
    }
    Ok(texts(rows, |row, out| {
        json::push_string(&inputs[0].value(row).display(inputs[0].ty()), out);
        out.push(':');
        if !push(&inputs[1], row, out) {
            out.push_str("null");
        }
    }))
}

/// Gathered pieces in brackets.
fn of_pieces(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    made(rows, |row, out| {
        let (Some(pieces), Some(brackets)) = (text(&inputs[0], row), text(&inputs[1], row)) else {
            return false;
        };
        let (open, close) = brackets.split_at(1);
        out.push_str(open);
        out.push_str(pieces);
        out.push_str(close);
        true
    })
}
