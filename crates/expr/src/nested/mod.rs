//! Functions of lists, structs and maps, and of JSON, called by name over vectors as the library's are.
//!
//! A list's elements are looked at where they lie: equal values have equal bytes, and bytes order as values do, so that
//! searching, sorting, cutting and joining lists needs no element's value. Arguments come with the types that the binder
//! cast them to: two lists of one call have the same elements.

mod array;
mod distance;
mod file_names;
mod fold;
mod gathered;
mod growing;
mod json;
mod json_change;
mod json_shape;
mod jsonb;
mod lambda;
mod list;
mod moments;
mod record;
mod regular;
mod text;

pub(crate) use growing::replaced_bytes;
pub(crate) use json_shape::pretty_bytes;
pub(crate) use lambda::LambdaCall;
pub(crate) use moments::moments_bytes;
pub(crate) use regular::replaced_by_pattern;

use arrow_buffer::{BooleanBuffer, NullBufferBuilder};
use types::{Error, Result, SqlState, Type, Value, stop};
use vector::{Data, Vector};

/// Inputs are flat or constant; the result has `rows` rows of the type.
pub(crate) type Kernel = fn(&[Vector], Type, usize) -> Result<Vector>;

/// The function of that name.
pub(crate) fn named(name: &str) -> Option<Kernel> {
    list::named(name)
        .or_else(|| record::named(name))
        .or_else(|| regular::named(name))
        .or_else(|| text::named(name))
        .or_else(|| fold::named(name))
        .or_else(|| gathered::named(name))
        .or_else(|| distance::named(name))
        .or_else(|| json::named(name))
        .or_else(|| json_change::named(name))
        .or_else(|| json_shape::named(name))
        .or_else(|| file_names::named(name))
        .or_else(|| moments::named(name))
        .or_else(|| jsonb::named(name))
        .or_else(|| array::named(name))
        .or_else(|| growing::named(name))
        .or_else(|| crate::own::kernel_of(name))
}

/// What a function costs for a row of no bytes, more or less.
const ROW_UNITS: usize = 64;

/// The bytes of a row of a nested or text vector; `None` for NULL.
fn bytes(vector: &Vector, row: usize) -> Option<&[u8]> {
    if vector.is_null(row) {
        return None;
    }
    let bytes = match vector.data() {
        Data::Bytes(strings) => strings.get(row),
        Data::Constant(Value::Bytes(bytes)) => bytes,
        _ => return None,
    };
    // What is asked for is walked, each time.
    stop::spend(ROW_UNITS + bytes.len());
    Some(bytes)
}

fn text(vector: &Vector, row: usize) -> Option<&str> {
    bytes(vector, row).and_then(|b| std::str::from_utf8(b).ok())
}

fn whole(vector: &Vector, row: usize) -> Option<i64> {
    vector.value(row).as_i64()
}

/// The payload of a row of any type, in `scratch`; `None` for NULL.
fn payload<'s>(vector: &Vector, row: usize, scratch: &'s mut Vec<u8>) -> Option<&'s [u8]> {
    if vector.is_null(row) {
        return None;
    }
    scratch.clear();
    vector::nested::push_payload(vector, row, scratch);
    Some(scratch)
}

fn booleans(rows: usize, value: impl Fn(usize) -> Option<bool>) -> Vector {
    let mut nulls = NullBufferBuilder::new(rows);
    let bits: BooleanBuffer = (0..rows)
        .map(|row| {
            let value = value(row);
            nulls.append(value.is_some());
            value.unwrap_or(false)
        })
        .collect();
    Vector::from_bool(bits, nulls.finish().filter(|n| n.null_count() > 0))
}

fn integers(rows: usize, value: impl Fn(usize) -> Option<i64>) -> Vector {
    let mut nulls = NullBufferBuilder::new(rows);
    let values: Vec<i64> = (0..rows)
        .map(|row| {
            let value = value(row);
            nulls.append(value.is_some());
            value.unwrap_or(0)
        })
        .collect();
    Vector::new(Type::BigInt, Data::I64(values.into()), nulls.finish().filter(|n| n.null_count() > 0))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}
