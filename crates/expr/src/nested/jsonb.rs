//! Functions that change JSONB values, and what they are ordered by (`types::jsonb` says what the values look like).
//!
//! Each row is read into a `Tree`, changed, and written in JSONB's only form; a NULL argument makes the row NULL.
//! Paths are lists of keys and indices. A path that does not suit the value, such as a key of an array, is an error
//! of the statement where PostgreSQL has one. `jsonb_order` gives bytes whose plain order is that of the values, for
//! sorting and comparing.

use types::json::{self, Parsed};
use types::jsonb::{self, Tree};
use types::nested::encoding::{self, elements};
use types::{Error, Result, SqlState, Type};
use vector::{Vector, VectorBuilder};

use super::{Kernel, bytes, invalid, text, whole};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "jsonb_set" => |inputs, ty, rows| {
            changed(inputs, ty, rows, |tree, row| {
                let (Some(path), Some(value)) = (steps(&inputs[1], row)?, value(&inputs[2], row)?) else {
                    return Ok(None);
                };
                let Some(create) = inputs[3].value(row).as_bool() else { return Ok(None) };
                tree.set(&path, value, create).map(Some)
            })
        },
        "jsonb_insert" => |inputs, ty, rows| {
            changed(inputs, ty, rows, |tree, row| {
                let (Some(path), Some(value)) = (steps(&inputs[1], row)?, value(&inputs[2], row)?) else {
                    return Ok(None);
                };
                let Some(behind) = inputs[3].value(row).as_bool() else { return Ok(None) };
                tree.insert(&path, value, behind).map(Some)
            })
        },
        "jsonb_concat" => |inputs, ty, rows| {
            changed(inputs, ty, rows, |tree, row| {
                Ok(value(&inputs[1], row)?.map(|other| tree.concatenated(other)))
            })
        },
        "jsonb_delete_key" => |inputs, ty, rows| {
            changed(inputs, ty, rows, |tree, row| match text(&inputs[1], row) {
                Some(key) => tree.without_key(key).map(Some),
                None => Ok(None),
            })
        },
        "jsonb_delete_keys" => |inputs, ty, rows| {
            changed(inputs, ty, rows, |mut tree, row| {
                let Some(keys) = bytes(&inputs[1], row) else { return Ok(None) };
                for slot in elements(inputs[1].ty(), keys).flatten() {
                    if let Some(key) = encoding::value_of(slot, Type::Text).as_text() {
                        tree = tree.without_key(key)?;
                    }
                }
                Ok(Some(tree))
            })
        },
        "jsonb_delete_index" => |inputs, ty, rows| {
            changed(inputs, ty, rows, |tree, row| match whole(&inputs[1], row) {
                Some(index) => tree.without_index(index).map(Some),
                None => Ok(None),
            })
        },
        "jsonb_delete_path" => |inputs, ty, rows| {
            changed(inputs, ty, rows, |tree, row| match steps(&inputs[1], row)? {
                Some(path) => tree.without_path(&path).map(Some),
                None => Ok(None),
            })
        },
        "jsonb_strip_nulls" => {
            |inputs, ty, rows| changed(inputs, ty, rows, |tree, _| Ok(Some(tree.stripped())))
        }
        "json_strip_nulls" => |inputs, ty, rows| {
            made(inputs, ty, rows, |whole, out| {
                let mut stripped = String::new();
                push_stripped(whole, 0, &mut stripped)?;
                out.extend_from_slice(stripped.as_bytes());
                Ok(())
            })
        },
        "json_object_of" => object_of,
        "jsonb_pretty" => |inputs, ty, rows| {
            made(inputs, ty, rows, |whole, out| {
                out.extend_from_slice(Tree::read(whole)?.pretty().as_bytes());
                Ok(())
            })
        },
        "jsonb_order" => |inputs, ty, rows| {
            made(inputs, ty, rows, |whole, out| {
                out.extend_from_slice(&jsonb::order_key(&Tree::read(whole)?));
                Ok(())
            })
        },
        _ => return None,
    })
}

fn value(vector: &Vector, row: usize) -> Result<Option<Tree>> {
    text(vector, row).map(Tree::read).transpose()
}

/// `json_object(list)` of keys and values in turn, or `json_object(keys, values)`: the values are strings.
fn object_of(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let mut given = Vec::new();
        for input in inputs {
            let list = bytes(input, row).map(|list| elements(input.ty(), list).collect::<Vec<_>>());
            given.push(list);
        }
        let Some(given) = given.into_iter().collect::<Option<Vec<_>>>() else {
            builder.push_null();
            continue;
        };
        let pairs: Vec<_> = match given.as_slice() {
            [both] if both.len() % 2 == 0 => both.chunks(2).map(|pair| (pair[0], pair[1])).collect(),
            [_] => return Err(invalid("array must have even number of elements")),
            [keys, values] if keys.len() == values.len() => {
                keys.iter().copied().zip(values.iter().copied()).collect()
            }
            _ => return Err(invalid("mismatched array dimensions")),
        };
        let mut out = String::from("{");
        for (at, (key, value)) in pairs.into_iter().enumerate() {
            let text =
                |slot: &[u8]| encoding::value_of(slot, Type::Text).as_text().unwrap_or_default().to_owned();
            let Some(key) = key else {
                return Err(Error::new(
                    SqlState::NullValueNotAllowed,
                    "null value not allowed for object key",
                ));
            };
            out.push_str(if at > 0 { "," } else { "" });
            json::push_string(&text(key), &mut out);
            out.push(':');
            match value {
                Some(value) => json::push_string(&text(value), &mut out),
                None => out.push_str("null"),
            }
        }
        out.push('}');
        builder.push_bytes(out.as_bytes());
    }
    Ok(builder.finish())
}

/// A list of texts.
fn steps(vector: &Vector, row: usize) -> Result<Option<Vec<String>>> {
    let Some(list) = bytes(vector, row) else { return Ok(None) };
    let mut steps = Vec::new();
    for (at, slot) in elements(vector.ty(), list).enumerate() {
        let Some(step) = slot.and_then(|s| encoding::value_of(s, Type::Text).as_text().map(str::to_owned))
        else {
            let message = format!("path element at position {} is null", at + 1);
            return Err(Error::new(SqlState::NullValueNotAllowed, message));
        };
        steps.push(step);
    }
    Ok(Some(steps))
}

/// What `change` makes of the first argument, row by row.
fn changed(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    change: impl Fn(Tree, usize) -> Result<Option<Tree>>,
) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let made = match value(&inputs[0], row)? {
            Some(tree) => change(tree, row)?,
            None => None,
        };
        match made {
            Some(tree) => builder.push_bytes(tree.shown().as_bytes()),
            None => builder.push_null(),
        }
    }
    Ok(builder.finish())
}

/// Bytes made of a value, row by row.
fn made(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    make: impl Fn(&str, &mut Vec<u8>) -> Result<()>,
) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    let mut out = Vec::new();
    for row in 0..rows {
        match text(&inputs[0], row) {
            Some(whole) => {
                out.clear();
                make(whole, &mut out)?;
                builder.push_bytes(&out);
            }
            None => builder.push_null(),
        }
    }
    Ok(builder.finish())
}

/// Levels that are gone into; each is a level of the stack.
const DEPTH_MAX: usize = 500;

/// JSON keeps the order of keys, and those that come twice.
fn push_stripped(part: &str, depth: usize, out: &mut String) -> Result<()> {
    if depth > DEPTH_MAX {
        let message = format!("the JSON has more than {DEPTH_MAX} levels of arrays and objects");
        return Err(Error::new(SqlState::StatementTooComplex, message));
    }
    match json::parse(part) {
        Parsed::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                push_stripped(item.get(), depth + 1, out)?;
            }
            out.push(']');
        }
        Parsed::Object(entries) => {
            out.push('{');
            let mut first = true;
            for (key, value) in entries.iter().filter(|(_, value)| value.get() != "null") {
                out.push_str(if first { "" } else { "," });
                first = false;
                json::push_string(key, out);
                out.push(':');
                push_stripped(value.get(), depth + 1, out)?;
            }
            out.push('}');
        }
        _ => out.push_str(part.trim()),
    }
    Ok(())
}
