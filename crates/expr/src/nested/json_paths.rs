//! PostgreSQL's functions of SQL/JSON paths (`jsonpath` says what a path means), row by row.
//!
//! Arguments are a JSONB, a path as text, an object with the path's variables, whether errors are silent, and perhaps a
//! zone for moments without one. A NULL argument makes the row NULL. A path is read once for as long as it stays the
//! same.

use types::jsonb::Tree;
use types::nested::encoding;
use types::{Result, Type, Value, Zone};
use vector::{Vector, VectorBuilder};

use super::{Kernel, booleans, invalid, text};
use crate::jsonpath::{How, JsonPath};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "jsonpath_shown" => shown,
        "jsonb_path_exists" | "jsonb_path_exists_opr" => {
            |inputs, _, rows| truths(inputs, rows, JsonPath::exists)
        }
        "jsonb_path_match" | "jsonb_path_match_opr" => {
            |inputs, _, rows| truths(inputs, rows, JsonPath::matches)
        }
        "jsonb_path_items" => |inputs, ty, rows| {
            items(inputs, ty, rows, |found, out| {
                for item in found {
                    encoding::push_slot(&Value::text(&item.shown()), Type::Text, out);
                }
                out.push(encoding::END);
                true
            })
        },
        "jsonb_path_query_array" => |inputs, ty, rows| {
            items(inputs, ty, rows, |found, out| {
                out.extend_from_slice(Tree::Array(found).shown().as_bytes());
                true
            })
        },
        "jsonb_path_query_first" => |inputs, ty, rows| {
            items(inputs, ty, rows, |found, out| match found.first() {
                Some(item) => {
                    out.extend_from_slice(item.shown().as_bytes());
                    true
                }
                None => false,
            })
        },
        _ => return None,
    })
}

/// The path of the rows so far.
#[derive(Default)]
struct Known(Option<(String, JsonPath)>);

impl Known {
    fn path(&mut self, written: &str) -> Result<&JsonPath> {
        if self.0.as_ref().is_none_or(|(text, _)| text != written) {
            self.0 = Some((written.to_owned(), JsonPath::read(written)?));
        }
        match &self.0 {
            Some((_, path)) => Ok(path),
            None => Err(types::Error::internal("a path that was read is not there")),
        }
    }
}

/// What `evaluate` makes of a row; `None` where an argument is NULL.
fn of_row<T>(
    inputs: &[Vector],
    row: usize,
    known: &mut Known,
    evaluate: impl FnOnce(&JsonPath, &Tree, &Tree, How) -> Result<T>,
) -> Result<Option<T>> {
    let [value, path, more @ ..] = inputs else {
        return Err(types::Error::internal("a path without its arguments"));
    };
    let (Some(value), Some(path)) = (text(value, row), text(path, row)) else { return Ok(None) };
    // An operator has no variables, and none of its errors is told.
    let [variables, silent, zone @ ..] = more else {
        let how = How { silent: true, zone: None };
        return evaluate(known.path(path)?, &Tree::read(value)?, &Tree::Null, how).map(Some);
    };
    let Some(variables) = text(variables, row) else { return Ok(None) };
    let Some(silent) = silent.value(row).as_bool() else { return Ok(None) };
    let zone = match zone.first().and_then(|zone| text(zone, row)) {
        Some(name) => Some(Zone::named(name)?),
        None => None,
    };
    let (value, variables) = (Tree::read(value)?, Tree::read(variables)?);
    if !matches!(variables, Tree::Object(_)) {
        let message = "\"vars\" argument is not an object";
        return Err(invalid(message)
            .with_detail("Jsonpath parameters should be encoded as key-value pairs of \"vars\" object."));
    }
    evaluate(known.path(path)?, &value, &variables, How { silent, zone }).map(Some)
}

fn truths(
    inputs: &[Vector],
    rows: usize,
    evaluate: fn(&JsonPath, &Tree, &Tree, How) -> Result<Option<bool>>,
) -> Result<Vector> {
    let (mut known, mut failed) = (Known::default(), None);
    let vector = booleans(rows, |row| {
        if failed.is_some() {
            return None;
        }
        match of_row(inputs, row, &mut known, evaluate) {
            Ok(truth) => truth.flatten(),
            Err(error) => {
                failed = Some(error);
                None
            }
        }
    });
    failed.map_or(Ok(vector), Err)
}

/// Bytes made of a row's items; NULL where `write` says so.
fn items(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    write: impl Fn(Vec<Tree>, &mut Vec<u8>) -> bool,
) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    let (mut known, mut out) = (Known::default(), Vec::new());
    for row in 0..rows {
        out.clear();
        let found = of_row(inputs, row, &mut known, JsonPath::query)?;
        match found.is_some_and(|found| write(found, &mut out)) {
            true => builder.push_bytes(&out),
            false => builder.push_null(),
        }
    }
    Ok(builder.finish())
}

/// The path in its one form: what a cast to JSONPATH gives.
fn shown(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let Some(written) = text(&inputs[0], row) else {
            builder.push_null();
            continue;
        };
        builder.push_bytes(JsonPath::read(written)?.to_string().as_bytes());
    }
    Ok(builder.finish())
}
