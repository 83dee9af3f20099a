//! Negation, absolute value, and the places of samples.

use arrow_buffer::NullBuffer;
use types::{Error, Physical, Result, Type};
use vector::{Data, Vector};

use crate::operand::{Native, any_valid, map, map_flagged};

/// The values with the other sign; the least integer of a type is an error, unless the row is NULL.
pub(crate) fn negate(a: &Vector, ty: Type, validity: Option<NullBuffer>, rows: usize) -> Result<Vector> {
    change(a, ty, validity, rows, true)
}

/// The absolute values; errors as for `negate`.
pub(crate) fn absolute(a: &Vector, ty: Type, validity: Option<NullBuffer>, rows: usize) -> Result<Vector> {
    change(a, ty, validity, rows, false)
}

/// `types::sample::signed_place` of two BIGINTs.
pub(crate) fn sample_place(
    number: &Vector,
    seed: &Vector,
    ty: Type,
    validity: Option<NullBuffer>,
    rows: usize,
) -> Vector {
    let (number, seed) = (i64::operand(number), i64::operand(seed));
    let places: Vec<i64> =
        (0..rows).map(|row| types::sample::signed_place(number.at(row), seed.at(row))).collect();
    Vector::new(ty, Data::I64(places.into()), validity)
}

/// The smallest integer has no counterpart; everything else does.
fn change(a: &Vector, ty: Type, validity: Option<NullBuffer>, rows: usize, negate: bool) -> Result<Vector> {
    macro_rules! integer {
        ($native:ty, $variant:ident) => {{
            let a = <$native as Native>::operand(a);
            let (values, flagged) = if negate {
                map_flagged(&a, rows, |v| (v.wrapping_neg(), v == <$native>::MIN))
            } else {
                map_flagged(&a, rows, |v| (v.wrapping_abs(), v == <$native>::MIN))
            };
            if flagged && any_valid(validity.as_ref(), rows, |row| a.at(row) == <$native>::MIN) {
                return Err(Error::out_of_range(&ty));
            }
            Data::$variant(values.into())
        }};
    }
    macro_rules! float {
        ($native:ty, $variant:ident) => {{
            let a = <$native as Native>::operand(a);
            let values = if negate { map(&a, rows, |v| -v) } else { map(&a, rows, |v| v.abs()) };
            Data::$variant(values.into())
        }};
    }
    let data = match ty.physical() {
        Physical::I16 => integer!(i16, I16),
        Physical::I32 => integer!(i32, I32),
        Physical::I64 => integer!(i64, I64),
        Physical::I128 => integer!(i128, I128),
        Physical::F32 => float!(f32, F32),
        Physical::F64 => float!(f64, F64),
        Physical::Bool | Physical::Bytes => {
            return Err(Error::internal(format!("values of {ty} have no sign")));
        }
    };
    let vector = Vector::new(ty, data, validity);
    if ty.is_ranged_integer() {
        check_range(&vector, a)?;
    }
    Ok(vector)
}

/// Values of a type that is narrower than its form; `from` is what they were made of.
fn check_range(values: &Vector, from: &Vector) -> Result<()> {
    let ty = values.ty();
    let (low, high) = ty.integer_range().unwrap_or((i128::MIN, i128::MAX));
    for row in (0..values.len()).filter(|row| !values.is_null(*row)) {
        if values.value(row).as_i128().is_some_and(|v| v < low || v > high) {
            let detail =
                format!("the negative of {} is none of its values", from.value(row).display(from.ty()));
            return Err(Error::out_of_range(&ty).with_detail(detail));
        }
    }
    Ok(())
}
