//! IS NULL, IS TRUE and IS NOT DISTINCT FROM: the tests that are never NULL themselves.

use arrow_buffer::BooleanBuffer;
use types::{Comparison, Value};
use vector::{Data, Vector};

use super::compare;
use crate::frame::null_bits;
use crate::operand::{boolean_bits, constant_bits};

/// IS NULL, or IS NOT NULL when `negated`; never NULL itself.
pub(crate) fn is_null(input: &Vector, negated: bool) -> Vector {
    match null_bits(input) {
        None => Vector::constant(types::Type::Boolean, Value::Bool(negated), input.len()),
        Some(nulls) => Vector::from_bool(if negated { !&nulls } else { nulls }, None),
    }
}

/// IS TRUE or IS FALSE, or their negations; never NULL itself.
pub(crate) fn is_boolean(input: &Vector, value: bool, negated: bool) -> Vector {
    let bits = boolean_bits(input);
    let mut same = if value { bits } else { !&bits };
    if let Some(nulls) = null_bits(input) {
        same = &same & &!&nulls;
    }
    Vector::from_bool(if negated { !&same } else { same }, None)
}

/// NULLs count as equal to each other and to nothing else.
pub(crate) fn not_distinct(a: &Vector, b: &Vector, negated: bool, rows: usize) -> Vector {
    let constant_null = |v: &Vector| matches!(v.data(), Data::Constant(Value::Null));
    let mut same = if constant_null(a) || constant_null(b) {
        constant_bits(false, rows)
    } else {
        compare::compare(Comparison::Equal, a, b, rows)
    };
    let (nulls_a, nulls_b) = (null_bits(a), null_bits(b));
    if nulls_a.is_some() || nulls_b.is_some() {
        let none = || BooleanBuffer::new_unset(rows);
        let (nulls_a, nulls_b) = (nulls_a.unwrap_or_else(none), nulls_b.unwrap_or_else(none));
        same = &(&same & &!&(&nulls_a | &nulls_b)) | &(&nulls_a & &nulls_b);
    }
    Vector::from_bool(if negated { !&same } else { same }, None)
}
