//! Arithmetic on numbers: exact types as 128-bit integers with range checks against the result's type, floats with
//! PostgreSQL's checks. Dates and intervals are in `temporal`.
//!
//! Written from the standard's rules and without the engine's kernels, which it judges. A value out of range is the
//! same SQLSTATE as there. Callers evaluate one value at a time.

use plan::Arithmetic;
use types::{Error, Result, SqlState, Type, Value, decimal};

use crate::temporal;

/// The integer as a value of `ty`, if it is in range.
pub(crate) fn whole(value: i128, ty: Type) -> Result<Value> {
    let fits = match ty {
        Type::Decimal { precision, .. } => decimal::fits(value, precision),
        _ => true,
    };
    let value = if fits { Value::of_integer(value, ty) } else { None };
    value.ok_or_else(|| Error::out_of_range(&ty))
}

/// `left op right`; neither is NULL.
pub(crate) fn arithmetic(
    op: Arithmetic,
    (left, left_ty): (&Value, Type),
    (right, right_ty): (&Value, Type),
    ty: Type,
) -> Result<Value> {
    match ty {
        Type::Real => {
            let (a, b) = floats(left, right)?;
            let result = float(op, f64::from(a as f32), f64::from(b as f32))?;
            let narrow = result as f32;
            // The single operation in 64 bits, rounded, is the operation in 32 bits; so is its range.
            check_float(op, f64::from(narrow), a, b)?;
            Ok(Value::F32(narrow))
        }
        Type::Double if left_ty.is_numeric() && right_ty.is_numeric() => {
            let (a, b) = floats(left, right)?;
            let result = float(op, a, b)?;
            check_float(op, result, a, b)?;
            Ok(Value::F64(result))
        }
        _ if left_ty.is_numeric() && right_ty.is_numeric() && ty.is_numeric() => {
            let (a, b) = (integer(left)?, integer(right)?);
            let result = exact(op, (a, left_ty.scale()), (b, right_ty.scale()), ty)?;
            whole(result.ok_or_else(|| Error::out_of_range(&ty))?, ty)
        }
        _ => temporal::arithmetic(op, (left, left_ty), (right, right_ty), ty),
    }
}

fn integer(value: &Value) -> Result<i128> {
    value.as_i128().ok_or_else(|| Error::internal("an exact number without a value"))
}

fn floats(left: &Value, right: &Value) -> Result<(f64, f64)> {
    left.as_f64().zip(right.as_f64()).ok_or_else(|| Error::internal("a float without a value"))
}

fn float(op: Arithmetic, a: f64, b: f64) -> Result<f64> {
    Ok(match op {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide | Arithmetic::Modulo if b == 0.0 && !a.is_nan() => {
            return Err(Error::division_by_zero());
        }
        Arithmetic::Divide => a / b,
        Arithmetic::Modulo => a % b,
    })
}

fn check_float(op: Arithmetic, result: f64, a: f64, b: f64) -> Result<()> {
    let overflow = result.is_infinite() && a.is_finite() && b.is_finite();
    let vanished = result == 0.0 && a != 0.0;
    let underflow = match op {
        Arithmetic::Multiply => vanished && b != 0.0,
        Arithmetic::Divide => vanished && b.is_finite(),
        _ => false,
    };
    if overflow || underflow {
        return Err(Error::new(SqlState::NumericValueOutOfRange, "value out of range"));
    }
    Ok(())
}

/// The unscaled result in the scale of `ty`; `None` when it does not fit 128 bits.
fn exact(
    op: Arithmetic,
    (a, a_scale): (i128, u8),
    (b, b_scale): (i128, u8),
    ty: Type,
) -> Result<Option<i128>> {
    let scale = ty.scale();
    if matches!(op, Arithmetic::Divide | Arithmetic::Modulo) && b == 0 {
        return Err(Error::division_by_zero());
    }
    Ok(match op {
        // Integers cut towards zero.
        Arithmetic::Divide if !ty.is_decimal() => a.checked_div(b),
        Arithmetic::Divide => divide_decimal(a, a_scale, b, b_scale, scale),
        Arithmetic::Multiply => {
            a.checked_mul(b).and_then(|product| decimal::rescale(product, a_scale + b_scale, scale))
        }
        Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Modulo => {
            let common = a_scale.max(b_scale);
            let scaled = decimal::rescale(a, a_scale, common).zip(decimal::rescale(b, b_scale, common));
            scaled
                .and_then(|(a, b)| match op {
                    Arithmetic::Add => a.checked_add(b),
                    Arithmetic::Subtract => a.checked_sub(b),
                    _ => a.checked_rem(b),
                })
                .and_then(|result| decimal::rescale(result, common, scale))
        }
    })
}

/// `a / b` with `scale` digits after the point, by long division: one digit at a time, then rounded half away from
/// zero. `b` is not 0. `None` when the quotient does not fit.
pub(crate) fn divide_decimal(a: i128, a_scale: u8, b: i128, b_scale: u8, scale: u8) -> Option<i128> {
    let negative = (a < 0) != (b < 0);
    let (a, b) = (a.unsigned_abs(), b.unsigned_abs());
    let digits = i32::from(scale) + i32::from(b_scale) - i32::from(a_scale);
    let (mut quotient, mut rest) = (a / b, a % b);
    for _ in 0..digits {
        // Ten times the rest, less b as often as it goes; added up one by one, so that nothing can overflow.
        let (mut digit, mut next) = (0u128, 0u128);
        for _ in 0..10 {
            next += rest;
            if next >= b {
                next -= b;
                digit += 1;
            }
        }
        rest = next;
        quotient = quotient.checked_mul(10)?.checked_add(digit)?;
    }
    if digits >= 0 {
        if rest >= b - rest {
            quotient = quotient.checked_add(1)?;
        }
    } else {
        // Fewer digits than the quotient has: the last one dropped decides; what lies behind it cannot change that.
        let mut last = 0;
        for _ in digits..0 {
            last = quotient % 10;
            quotient /= 10;
        }
        if last >= 5 {
            quotient += 1;
        }
    }
    let value = i128::try_from(quotient).ok()?;
    Some(if negative { -value } else { value })
}

/// The negative; out of range where the type has none.
pub(crate) fn negate(value: &Value, ty: Type) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::F32(f) => Ok(Value::F32(-f)),
        Value::F64(f) => Ok(Value::F64(-f)),
        _ => whole(integer(value)?.checked_neg().ok_or_else(|| Error::out_of_range(&ty))?, ty),
    }
}

/// The absolute value; out of range where the type has none.
pub(crate) fn absolute(value: &Value, ty: Type) -> Result<Value> {
    match value {
        Value::F32(f) => Ok(Value::F32(f.abs())),
        Value::F64(f) => Ok(Value::F64(f.abs())),
        _ => whole(integer(value)?.checked_abs().ok_or_else(|| Error::out_of_range(&ty))?, ty),
    }
}
