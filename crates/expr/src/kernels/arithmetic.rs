//! `+ - * / %`: which kernel, by the types of operands and result.

use arrow_buffer::NullBuffer;
use plan::Arithmetic;
use types::{Physical, Result, Type};
use vector::Vector;

use super::{decimal, float, integer, temporal};

/// Applies the operator row by row; with `checked`, overflow in a row that is not NULL is an error.
pub(crate) fn arithmetic(
    op: Arithmetic,
    checked: bool,
    ty: Type,
    a: &Vector,
    b: &Vector,
    validity: Option<NullBuffer>,
    rows: usize,
) -> Result<Vector> {
    let nulls = validity.as_ref();
    let exact = a.ty().is_integer() && b.ty().is_integer();
    let data = match (ty, ty.physical()) {
        _ if exact && ty.is_ranged_integer() => integer::ranged(op, ty, a, b, nulls, rows)?,
        (_, Physical::I16) if exact => integer::arithmetic::<i16>(op, checked, ty, a, b, nulls, rows)?,
        (Type::Integer, _) if exact => integer::arithmetic::<i32>(op, checked, ty, a, b, nulls, rows)?,
        (Type::BigInt, _) if exact => integer::arithmetic::<i64>(op, checked, ty, a, b, nulls, rows)?,
        (Type::Decimal { .. }, _) => decimal::arithmetic(op, checked, ty, a, b, nulls, rows)?,
        (Type::Real, _) => float::arithmetic::<f32>(op, checked, a, b, nulls, rows)?,
        (Type::Double, _) => float::arithmetic::<f64>(op, checked, a, b, nulls, rows)?,
        _ => temporal::arithmetic(op, ty, a, b, nulls, rows)?,
    };
    Ok(Vector::new(ty, data, validity))
}
