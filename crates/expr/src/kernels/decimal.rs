//! Exact decimal arithmetic: integers of 64 or 128 bits with a scale known from the types.
//!
//! A checked operation first bounds its operands: the OR of all magnitudes tells how many bits the batch uses, at a
//! tenth of a nanosecond a row. When the bound proves that every result fits the precision, which is nearly always,
//! the plain wrapping loop runs; otherwise each row that is not NULL is computed with care.

use arrow_buffer::NullBuffer;
use plan::Arithmetic;
use types::{Error, Physical, Result, Type, decimal};
use vector::{Data, Vector};

use super::integer::check_divisor;
use crate::operand::{Operand, Whole, zip};

/// The shape of one operation.
#[derive(Clone, Copy)]
struct Shape {
    op: Arithmetic,
    checked: bool,
    ty: Type,
    precision: u8,
    /// Scales of the operands, and of the result.
    left: u8,
    right: u8,
    scale: u8,
}

/// Applies the operator; `ty` is the decimal type of the result. With `checked`, a result beyond its precision is an
/// error in a row that is not NULL.
pub(crate) fn arithmetic(
    op: Arithmetic,
    checked: bool,
    ty: Type,
    a: &Vector,
    b: &Vector,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<Data> {
    let Type::Decimal { precision, scale } = ty else { unreachable!("decimal results only") };
    let shape = Shape { op, checked, ty, precision, left: a.ty().scale(), right: b.ty().scale(), scale };
    let wide = |v: &Vector| v.ty().physical() == Physical::I128;
    match (wide(a), wide(b)) {
        (false, false) => result::<i64, i64>(shape, a, b, validity, rows),
        (false, true) => result::<i64, i128>(shape, a, b, validity, rows),
        (true, false) => result::<i128, i64>(shape, a, b, validity, rows),
        (true, true) => result::<i128, i128>(shape, a, b, validity, rows),
    }
}

fn result<A: Whole, B: Whole>(
    shape: Shape,
    a: &Vector,
    b: &Vector,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<Data> {
    let (a, b) = (A::operand(a), B::operand(b));
    match shape.ty.physical() {
        Physical::I64 => Ok(i64_data(operate::<A, B, i64>(shape, &a, &b, validity, rows)?)),
        _ => Ok(Data::I128(operate::<A, B, i128>(shape, &a, &b, validity, rows)?.into())),
    }
}

fn i64_data(values: Vec<i64>) -> Data {
    Data::I64(values.into())
}

/// Bits such that every magnitude below 2^bits has at most `precision` digits.
fn bits_that_fit(precision: u8) -> u32 {
    127 - decimal::power_of_ten(precision).leading_zeros()
}

fn operate<A: Whole, B: Whole, R: Whole>(
    shape: Shape,
    a: &Operand<'_, A>,
    b: &Operand<'_, B>,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<Vec<R>> {
    match shape.op {
        Arithmetic::Divide => {
            check_divisor(b, validity, rows)?;
            return careful(shape, a, b, validity, rows);
        }
        Arithmetic::Modulo => {
            check_divisor(b, validity, rows)?;
            if shape.left != shape.scale || shape.right != shape.scale {
                return careful(shape, a, b, validity, rows);
            }
            // The remainder is no larger than either operand, so it fits what they fit.
            return Ok(zip(a, b, rows, |a, b| {
                let (a, b) = (a.widen(), b.widen());
                R::narrow(match (i64::try_from(a), i64::try_from(b)) {
                    (_, Ok(0)) => 0,
                    (Ok(a), Ok(b)) => i128::from(a.wrapping_rem(b)),
                    _ => a.wrapping_rem(b),
                })
            }));
        }
        _ => {}
    }
    let multiply = shape.op == Arithmetic::Multiply;
    let aligned = if multiply {
        shape.left + shape.right == shape.scale
    } else {
        shape.left == shape.scale && shape.right == shape.scale
    };
    if !aligned {
        return careful(shape, a, b, validity, rows);
    }
    if shape.checked {
        let (bits_a, bits_b) = (a.magnitude_bits(), b.magnitude_bits());
        let bits = if multiply { bits_a + bits_b } else { bits_a.max(bits_b) + 1 };
        if bits >= bits_that_fit(shape.precision) {
            return careful(shape, a, b, validity, rows);
        }
    }
    // Wide arithmetic cut to the result's width: the compiler drops the half that is not needed.
    Ok(match shape.op {
        Arithmetic::Add => zip(a, b, rows, |a, b| R::narrow(a.widen().wrapping_add(b.widen()))),
        Arithmetic::Subtract => zip(a, b, rows, |a, b| R::narrow(a.widen().wrapping_sub(b.widen()))),
        _ => zip(a, b, rows, |a, b| R::narrow(a.widen().wrapping_mul(b.widen()))),
    })
}

/// Row by row, valid rows only, in 128 bits and where needed 256; the result is rounded to the node's scale.
fn careful<A: Whole, B: Whole, R: Whole>(
    shape: Shape,
    a: &Operand<'_, A>,
    b: &Operand<'_, B>,
    validity: Option<&NullBuffer>,
    rows: usize,
) -> Result<Vec<R>> {
    let mut out = Vec::with_capacity(rows);
    for row in 0..rows {
        if validity.is_some_and(|v| v.is_null(row)) {
            out.push(R::default());
            continue;
        }
        let value = single(shape, a.at(row).widen(), b.at(row).widen())
            .filter(|v| !shape.checked || decimal::fits(*v, shape.precision))
            .ok_or_else(|| Error::out_of_range(&shape.ty))?;
        let narrow = R::narrow(value);
        if narrow.widen() != value {
            return Err(Error::out_of_range(&shape.ty));
        }
        out.push(narrow);
    }
    Ok(out)
}

/// One result at the node's scale; `None` when it does not fit 128 bits.
#[inline]
fn single(shape: Shape, a: i128, b: i128) -> Option<i128> {
    let Shape { op, left, right, scale, .. } = shape;
    match op {
        Arithmetic::Multiply => {
            let sum = left + right;
            match a.checked_mul(b) {
                Some(product) if sum == scale => Some(product),
                Some(product) => rescale(product, sum, scale),
                // a * b * 10^scale / 10^sum, when the scale shrinks.
                None if sum > scale => {
                    let (high, low) = multiply_wide(a.unsigned_abs(), b.unsigned_abs());
                    let divisor = decimal::power_of_ten(sum - scale).unsigned_abs();
                    signed(divide_wide(high, low, divisor)?, (a < 0) != (b < 0))
                }
                None => None,
            }
        }
        Arithmetic::Divide => divide(a, b, i32::from(scale) - i32::from(left) + i32::from(right)),
        _ => {
            let common = left.max(right);
            let (a, b) = (rescale(a, left, common)?, rescale(b, right, common)?);
            let value = match op {
                Arithmetic::Add => a.checked_add(b)?,
                Arithmetic::Subtract => a.checked_sub(b)?,
                _ => a.checked_rem(b)?,
            };
            rescale(value, common, scale)
        }
    }
}

#[inline]
fn rescale(value: i128, from: u8, to: u8) -> Option<i128> {
    if from == to { Some(value) } else { decimal::rescale(value, from, to) }
}

/// `a * 10^shift / b`, rounded half away from zero; `None` beyond 128 bits. `b` is not 0.
#[inline]
pub fn divide(a: i128, b: i128, shift: i32) -> Option<i128> {
    if shift < 0 {
        // Dividing by b * 10^-shift; a divisor beyond 128 bits makes the quotient vanish.
        let places = u8::try_from(-shift).ok()?;
        let Some(divisor) = b.unsigned_abs().checked_mul(power(places)?) else { return Some(0) };
        return signed(divide_rounded(a.unsigned_abs(), divisor), (a < 0) != (b < 0));
    }
    let scale = power(u8::try_from(shift).ok()?);
    if let (Ok(a64), Ok(b64)) = (i64::try_from(a), i64::try_from(b))
        && let Some(scale64) = scale.and_then(|s| u64::try_from(s).ok())
        && let Some(numerator) = a64.unsigned_abs().checked_mul(scale64)
    {
        // Sixty-four bits: twenty times faster than the division of wide integers.
        let divisor = b64.unsigned_abs();
        let (quotient, remainder) = (numerator / divisor, numerator % divisor);
        let rounded = quotient + u64::from(remainder >= divisor - remainder);
        return Some(if (a64 < 0) != (b64 < 0) { -i128::from(rounded) } else { i128::from(rounded) });
    }
    let negative = (a < 0) != (b < 0);
    let (numerator, divisor) = (a.unsigned_abs(), b.unsigned_abs());
    // A shift beyond 38 places goes in two steps; the first cannot lose digits.
    let Some(scale) = scale else {
        let (high, low) = multiply_wide(numerator, power(38)?);
        if high != 0 {
            return None;
        }
        return divide(i128::try_from(low).ok()?, i128::try_from(divisor).ok()?, shift - 38)
            .map(|v| if negative { -v } else { v });
    };
    match numerator.checked_mul(scale) {
        Some(numerator) => signed(divide_rounded(numerator, divisor), negative),
        None => {
            let (high, low) = multiply_wide(numerator, scale);
            signed(divide_wide(high, low, divisor)?, negative)
        }
    }
}

fn power(places: u8) -> Option<u128> {
    (places <= 38).then(|| decimal::power_of_ten(places).unsigned_abs())
}

#[inline]
fn divide_rounded(numerator: u128, divisor: u128) -> u128 {
    let (quotient, remainder) = (numerator / divisor, numerator % divisor);
    quotient + u128::from(remainder >= divisor - remainder)
}

fn signed(magnitude: u128, negative: bool) -> Option<i128> {
    let value = i128::try_from(magnitude).ok()?;
    Some(if negative { -value } else { value })
}

/// The full product as (high, low) 128-bit halves, by schoolbook multiplication of 64-bit digits.
fn multiply_wide(a: u128, b: u128) -> (u128, u128) {
    const HALF: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & HALF, b >> 64, b & HALF);
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 64);
    let cross = a0 * b1 + (middle & HALF);
    (a1 * b1 + (middle >> 64) + (cross >> 64), cross << 64 | low & HALF)
}

/// (high, low) / divisor, rounded half up; `None` when the quotient exceeds 128 bits. Bit by bit: rare.
fn divide_wide(high: u128, low: u128, divisor: u128) -> Option<u128> {
    if high >= divisor {
        return None;
    }
    let mut remainder = high;
    let mut quotient = 0u128;
    for bit in (0..128).rev() {
        let carry = remainder >> 127;
        remainder = remainder << 1 | (low >> bit) & 1;
        quotient <<= 1;
        // With a carry the true remainder exceeds any divisor.
        if carry == 1 || remainder >= divisor {
            remainder = remainder.wrapping_sub(divisor);
            quotient |= 1;
        }
    }
    if remainder >= divisor - remainder { quotient.checked_add(1) } else { Some(quotient) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_division() {
        let (high, low) = multiply_wide(u128::MAX, 12345);
        assert_eq!(divide_wide(high, low, 12345), Some(u128::MAX));
        assert_eq!(divide_wide(0, 7, 2), Some(4));
        assert_eq!(divide_wide(5, 0, 5), None);
        let a = 99_999_999_999_999_999_999_999_999_999_999_999_999i128;
        assert_eq!(divide(a, a, 10), Some(10i128.pow(10)));
        assert_eq!(divide(-a, a, 37), Some(-(10i128.pow(37))));
        assert_eq!(divide(1, 3, 38), Some(33_333_333_333_333_333_333_333_333_333_333_333_333));
        assert_eq!(divide(2, 3, 0), Some(1));
        assert_eq!(divide(-5, 2, 0), Some(-3));
        assert_eq!(divide(149, 1, -2), Some(1));
        assert_eq!(divide(150, 1, -2), Some(2));
    }

    #[test]
    fn precision_in_bits() {
        for precision in 1..=38 {
            let bits = bits_that_fit(precision);
            assert!(decimal::fits((1i128 << bits) - 1, precision), "{precision}");
        }
    }
}
