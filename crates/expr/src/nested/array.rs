//! PostgreSQL's functions of arrays: replacing and removing elements, dimensions. A list of lists is an array of as
//! many dimensions as its type has levels.
//!
//! `named` gives the function behind a name, with the types that it is called with; `nested` asks it while a plan is
//! compiled. Values are read and written in the byte form of `types::nested`.

use types::nested::encoding::{self, elements};
use types::{Error, Result, SqlState, Type, Value};
use vector::nested::{join, push_slot};
use vector::{Vector, VectorBuilder};

use super::list::{BYTES_MAX, compared, equality};
use super::{Kernel, bytes, integers, invalid, payload, whole};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "array_remove" => |inputs, ty, rows| replaced(inputs, ty, rows),
        "array_replace" => |inputs, ty, rows| replaced(inputs, ty, rows),
        "array_positions" => |inputs, ty, rows| positions(&compared(inputs), ty, rows),
        "array_position_from" => |inputs, ty, rows| position_from(&compared(inputs), ty, rows),
        "array_length_of" => {
            |inputs, _, rows| Ok(integers(rows, |row| length_of(&inputs[0], row, whole(&inputs[1], row)?)))
        }
        "array_dims" => dimensions,
        "array_fill" => fill,
        "trim_array" => trim,
        "list_bucket" => |inputs, ty, rows| bucket(&compared(inputs), ty, rows),
        _ => return None,
    })
}

fn list(ty: Type, rows: usize, mut write: impl FnMut(usize, &mut Vec<u8>) -> Result<bool>) -> Result<Vector> {
    let mut failed = None;
    let result = join(ty, rows, |row, out| match write(row, out) {
        Ok(valid) => {
            out.push(encoding::END);
            valid
        }
        Err(error) => {
            failed = failed.take().or(Some(error));
            out.push(encoding::END);
            false
        }
    });
    failed.map_or(Ok(result), Err)
}

/// `array_remove(list, value)` and, with a third argument in the value's place, `array_replace`. NULL is a value
/// here.
fn replaced(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut scratch = Vec::new();
    let mut made = 0;
    let equality = equality(&inputs[0]);
    list(ty, rows, |row, out| {
        let Some(given) = bytes(&inputs[0], row) else { return Ok(false) };
        let wanted = equality.slot(payload(&inputs[1], row, &mut scratch));
        let begin = out.len();
        for slot in elements(inputs[0].ty(), given) {
            match inputs.get(2) {
                _ if equality.slot(slot) != wanted => encoding::push_raw(slot, out),
                Some(other) => push_slot(other, row, out),
                None => {}
            }
            if made + out.len() - begin > BYTES_MAX {
                return Err(too_large());
            }
        }
        made += out.len() - begin;
        Ok(true)
    })
}

fn too_large() -> Error {
    Error::new(SqlState::OutOfMemory, "the lists that a function makes are too large")
}

fn positions(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut scratch = Vec::new();
    list(ty, rows, |row, out| {
        let Some(given) = bytes(&inputs[0], row) else { return Ok(false) };
        let wanted = payload(&inputs[1], row, &mut scratch);
        for (at, _) in elements(inputs[0].ty(), given).enumerate().filter(|(_, slot)| *slot == wanted) {
            encoding::push_raw(Some(&encoding::sortable_i32(i32::try_from(at + 1).unwrap_or(i32::MAX))), out);
        }
        Ok(true)
    })
}

/// `array_position(list, value, start)`.
fn position_from(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    if (0..rows).any(|row| inputs[2].is_null(row)) {
        return Err(Error::new(SqlState::NullValueNotAllowed, "initial position must not be null"));
    }
    Ok(integers(rows, |row| {
        let mut scratch = Vec::new();
        let wanted = payload(&inputs[1], row, &mut scratch);
        let skipped = usize::try_from(whole(&inputs[2], row)? - 1).unwrap_or(0);
        let mut slots = elements(inputs[0].ty(), bytes(&inputs[0], row)?).enumerate().skip(skipped);
        slots.find(|(_, slot)| *slot == wanted).map(|(at, _)| at as i64 + 1)
    }))
}

/// How long an array is along a dimension from 1 on: that of the first element, where it lies deeper. `None` where
/// there is no such dimension, or nothing in it.
fn length_of(vector: &Vector, row: usize, dimension: i64) -> Option<i64> {
    let (mut ty, mut given) = (vector.ty(), bytes(vector, row)?);
    let mut left = dimension;
    while left > 1 {
        given = elements(ty, given).next()??;
        ty = ty.element().filter(|inner| matches!(inner, Type::List(_)))?;
        left -= 1;
    }
    let count = elements(ty, given).count() as i64;
    (left == 1 && count > 0).then_some(count)
}

/// `[1:2][1:3]`.
fn dimensions(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let lengths = (1..).map_while(|d| length_of(&inputs[0], row, d));
        let shown: String = lengths.map(|length| format!("[1:{length}]")).collect();
        match shown.is_empty() {
            true => builder.push_null(),
            false => builder.push(&Value::text(&shown)),
        }
    }
    Ok(builder.finish())
}

/// `array_fill(value, lengths)`, of one dimension.
fn fill(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut made = 0;
    list(ty, rows, |row, out| {
        let null =
            || Error::new(SqlState::NullValueNotAllowed, "dimension array or low bound array cannot be null");
        let lengths = bytes(&inputs[1], row).ok_or_else(null)?;
        let element = inputs[1].ty().element().unwrap_or(Type::Null);
        let lengths: Vec<Option<i64>> = elements(inputs[1].ty(), lengths)
            .map(|slot| slot.and_then(|slot| encoding::value_of(slot, element).as_i64()))
            .collect();
        let count = match lengths.as_slice() {
            [] => 0,
            [Some(count)] => *count,
            [None] => {
                return Err(Error::new(SqlState::NullValueNotAllowed, "dimension values cannot be null"));
            }
            _ => {
                return Err(Error::unsupported("array_fill makes arrays of one dimension")
                    .with_hint("fill a list with lists: array_fill(array_fill(value, ARRAY[n]), ARRAY[m])"));
            }
        };
        if count < 0 {
            return Err(invalid("array size cannot be negative"));
        }
        for _ in 0..count {
            let begin = out.len();
            push_slot(&inputs[0], row, out);
            made += out.len() - begin;
            if made > BYTES_MAX {
                return Err(too_large());
            }
        }
        Ok(true)
    })
}

/// `width_bucket(value, thresholds)`: how many thresholds, which are in order, are not above the value.
fn bucket(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    let mut scratch = Vec::new();
    for row in 0..rows {
        let (Some(wanted), Some(list)) = (payload(&inputs[0], row, &mut scratch), bytes(&inputs[1], row))
        else {
            builder.push_null();
            continue;
        };
        let mut below = 0i32;
        for slot in elements(inputs[1].ty(), list) {
            let Some(threshold) = slot else {
                return Err(Error::new(
                    SqlState::NullValueNotAllowed,
                    "thresholds array must not contain NULLs",
                ));
            };
            if threshold <= wanted {
                below = below.saturating_add(1);
            }
        }
        builder.push(&Value::I32(below));
    }
    Ok(builder.finish())
}

/// `trim_array(list, n)`: without the last n elements.
fn trim(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    list(ty, rows, |row, out| {
        let (Some(given), Some(cut)) = (bytes(&inputs[0], row), whole(&inputs[1], row)) else {
            return Ok(false);
        };
        let slots: Vec<_> = elements(inputs[0].ty(), given).collect();
        let kept = usize::try_from(cut).ok().and_then(|cut| slots.len().checked_sub(cut));
        let Some(kept) = kept else {
            return Err(Error::new(
                SqlState::InvalidParameterValue,
                format!("number of elements to trim must be between 0 and {}", slots.len()),
            ));
        };
        slots[..kept].iter().for_each(|slot| encoding::push_raw(*slot, out));
        Ok(true)
    })
}
