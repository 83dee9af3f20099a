//! Distances and products of lists of numbers, taken for vectors: embeddings, coordinates.
//!
//! The elements are decoded where they lie, integers or floats, and summed up in 64 bits. Lists of different
//! lengths and NULL elements are errors: a vector with a hole has no length. A NULL list makes the result NULL.

use arrow_buffer::NullBufferBuilder;
use types::{Error, Result, SqlState, Type};
use vector::{Data, Vector};

use super::fixed::{self, Fixed, by_width};
use super::{Kernel, bytes};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "list_distance" => |inputs, _, rows| folded(inputs, rows, distance),
        "list_inner_product" => |inputs, _, rows| folded(inputs, rows, inner_product),
        "list_negative_inner_product" => |inputs, _, rows| folded(inputs, rows, |a, b| -inner_product(a, b)),
        "list_cosine_similarity" => |inputs, _, rows| folded(inputs, rows, cosine),
        "list_cosine_distance" => |inputs, _, rows| folded(inputs, rows, |a, b| 1.0 - cosine(a, b)),
        _ => return None,
    })
}

/// From 0 on: the sum of no floats is -0.
fn total(of: impl Iterator<Item = f64>) -> f64 {
    of.fold(0.0, |total, more| total + more)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    total(a.iter().zip(b).map(|(a, b)| (a - b) * (a - b))).sqrt()
}

fn inner_product(a: &[f64], b: &[f64]) -> f64 {
    total(a.iter().zip(b).map(|(a, b)| a * b))
}

/// Between -1 and 1, whatever rounding says; NaN where a vector has no direction.
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let lengths = (inner_product(a, a) * inner_product(b, b)).sqrt();
    // `clamp` leaves NaN as it is.
    (inner_product(a, b) / lengths).clamp(-1.0, 1.0)
}

fn folded(inputs: &[Vector], rows: usize, of: fn(&[f64], &[f64]) -> f64) -> Result<Vector> {
    let mut nulls = NullBufferBuilder::new(rows);
    let mut values = Vec::with_capacity(rows);
    let (mut left, mut right) = (Numbers::of(&inputs[0]), Numbers::of(&inputs[1]));
    for row in 0..rows {
        let known = left.read(row)? && right.read(row)?;
        nulls.append(known);
        if !known {
            values.push(0.0);
            continue;
        }
        let (left, right) = (&left.numbers, &right.numbers);
        if left.len() != right.len() {
            let message = format!("vectors of {} and of {} numbers", left.len(), right.len());
            return Err(Error::new(SqlState::InvalidParameterValue, message)
                .with_hint("both need as many elements; list_resize(list, size) makes them so"));
        }
        values.push(of(left, right));
    }
    let nulls = nulls.finish().filter(|n| n.null_count() > 0);
    Ok(Vector::new(Type::Double, Data::F64(values.into()), nulls))
}

/// A list's elements as numbers; those of a constant are read once.
struct Numbers<'a> {
    vector: &'a Vector,
    numbers: Vec<f64>,
    is_read: bool,
}

impl<'a> Numbers<'a> {
    fn of(vector: &'a Vector) -> Self {
        Numbers { vector, numbers: Vec::new(), is_read: false }
    }

    /// Reads the row's elements; false for NULL.
    fn read(&mut self, row: usize) -> Result<bool> {
        if self.is_read && matches!(self.vector.data(), Data::Constant(_)) {
            return Ok(true);
        }
        self.numbers.clear();
        let Some(list) = bytes(self.vector, row) else { return Ok(false) };
        let ty = self.vector.ty();
        let is_whole = fixed::push_floats(ty, true, list, &mut self.numbers)
            && by_width!(ty, Fixed::<W>(list).all(|slot| slot.is_some()), false);
        if !is_whole {
            let message = "a vector has a NULL among its numbers";
            return Err(Error::new(SqlState::NullValueNotAllowed, message)
                .with_hint("list_filter(list, x -> x IS NOT NULL) leaves them out"));
        }
        self.is_read = true;
        Ok(true)
    }
}
