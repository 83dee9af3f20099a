//! Between lists and texts.

use types::nested::encoding::{self, elements};
use types::{Result, Type, Value, cast};
use vector::nested::join;
use vector::{Vector, VectorBuilder};

use super::{Kernel, bytes, text};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "list_to_text" => list_to_text,
        "text_split" => text_split,
        "string_to_array" => string_to_array,
        _ => return None,
    })
}

/// Elements joined by a separator; NULL ones are left out, or written as the third argument.
fn list_to_text(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let ty = inputs[0].ty();
    let element = ty.element().unwrap_or(Type::Null);
    let mut builder = VectorBuilder::new(Type::Text, rows);
    for row in 0..rows {
        let (Some(list), Some(separator)) = (bytes(&inputs[0], row), text(&inputs[1], row)) else {
            builder.push_null();
            continue;
        };
        let of_null = inputs.get(2).and_then(|v| text(v, row));
        let mut out = String::new();
        let mut first = true;
        for slot in elements(ty, list) {
            let shown = match slot {
                Some(payload) => cast::format_value(&encoding::value_of(payload, element), element),
                None => match of_null {
                    Some(of_null) => of_null.to_owned(),
                    None => continue,
                },
            };
            if !first {
                out.push_str(separator);
            }
            first = false;
            out.push_str(&shown);
        }
        builder.push_bytes(out.as_bytes());
    }
    Ok(builder.finish())
}

fn push(part: &str, out: &mut Vec<u8>) {
    encoding::push_slot(&Value::text(part), Type::Text, out);
}

/// PostgreSQL's `string_to_array(text, separator [, null])`: an empty text has no parts, an empty separator is
/// nowhere, and a part that is the third argument is NULL.
fn string_to_array(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    Ok(join(ty, rows, |row, out| {
        let Some(given) = text(&inputs[0], row) else { return false };
        let null = inputs.get(2).and_then(|null| text(null, row));
        let put = |part: &str, out: &mut Vec<u8>| match null {
            Some(null) if null == part => out.push(encoding::NULL),
            _ => push(part, out),
        };
        match text(&inputs[1], row) {
            _ if given.is_empty() => {}
            None => given.char_indices().for_each(|(at, c)| put(&given[at..at + c.len_utf8()], out)),
            Some("") => put(given, out),
            Some(separator) => given.split(separator).for_each(|part| put(part, out)),
        }
        out.push(encoding::END);
        true
    }))
}

fn text_split(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    Ok(join(ty, rows, |row, out| {
        let Some(given) = text(&inputs[0], row) else { return false };
        match text(&inputs[1], row) {
            // NULL separates nothing.
            None => push(given, out),
            // Without a separator, every character for itself.
            Some("") => given.char_indices().for_each(|(at, c)| push(&given[at..at + c.len_utf8()], out)),
            Some(separator) => given.split(separator).for_each(|part| push(part, out)),
        }
        out.push(encoding::END);
        true
    }))
}
