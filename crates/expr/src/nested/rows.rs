//! Values of nested kernels' arguments, row by row, and vectors of their results.

use arrow_buffer::{BooleanBuffer, NullBufferBuilder};
use types::{Error, Result, SqlState, Type, Value, stop};
use vector::{Data, Vector};

/// Inputs are flat or constant; the result has `rows` rows of the type.
pub(crate) type Kernel = fn(&[Vector], Type, usize) -> Result<Vector>;

/// What a function costs for a row of no bytes, more or less.
const ROW_UNITS: usize = 64;

/// The bytes of a row of a nested or text vector; `None` for NULL.
pub(super) fn bytes(vector: &Vector, row: usize) -> Option<&[u8]> {
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

pub(super) fn text(vector: &Vector, row: usize) -> Option<&str> {
    bytes(vector, row).and_then(|b| std::str::from_utf8(b).ok())
}

pub(super) fn whole(vector: &Vector, row: usize) -> Option<i64> {
    vector.value(row).as_i64()
}

/// The payload of a row of any type, in `scratch`; `None` for NULL.
pub(super) fn payload<'s>(vector: &Vector, row: usize, scratch: &'s mut Vec<u8>) -> Option<&'s [u8]> {
    if vector.is_null(row) {
        return None;
    }
    scratch.clear();
    vector::nested::push_payload(vector, row, scratch);
    Some(scratch)
}

pub(super) fn booleans(rows: usize, mut value: impl FnMut(usize) -> Option<bool>) -> Vector {
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

pub(super) fn integers(rows: usize, mut value: impl FnMut(usize) -> Option<i64>) -> Vector {
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

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}
