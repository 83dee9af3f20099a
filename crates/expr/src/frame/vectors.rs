//! Vectors as sets of rows, and under other types.

use arrow_buffer::BooleanBuffer;
use types::{Type, Value};
use vector::{Data, Vector};

use crate::bits;
use crate::operand::boolean_bits;

/// Rows where the value is TRUE.
pub(crate) fn true_bits(value: &Vector) -> BooleanBuffer {
    bits::and_valid(boolean_bits(value), value.validity())
}

/// Rows where the value is NULL; `None` when there is none.
pub(crate) fn null_bits(value: &Vector) -> Option<BooleanBuffer> {
    if matches!(value.data(), Data::Constant(Value::Null)) {
        return Some(BooleanBuffer::new_set(value.len()));
    }
    value.validity().filter(|v| v.null_count() > 0).map(|v| !v.inner())
}

/// The value under another type of the same representation.
pub(crate) fn retyped(value: Vector, ty: Type) -> Vector {
    if value.ty() == ty { value } else { value.with_type(ty) }
}
