//! Exact numbers at the ends of their ranges: quotients and remainders whose intermediate values have more digits
//! than a DECIMAL, digits that a row's value says, scales.
//!
//! A number is a magnitude of 128 bits with a scale; quotients are made digit by digit, so that no intermediate value
//! is cut. A result that does not fit its type is an error. Declared in the list of `own`.

use plan::functions::{EXACT_REMAINDER, ROUND_TO, TRUNC_TO, WHOLE_QUOTIENT};
use types::decimal::{divide_rounded, power_of_ten};
use types::{Result, SqlState, Type, Value, decimal};

use super::declare::*;
use super::{Arguments, refuse};

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    internal(WHOLE_QUOTIENT, &[is(&[Takes::Number, Takes::Number], WIDE)], |a| {
        let (left, right) = divided(a)?;
        let negative = (left.0 < 0) != (right.0 < 0);
        let (quotient, _) = quotient(left, right).ok_or_else(|| out_of_range(a))?;
        let quotient = i128::try_from(quotient).map_err(|_| out_of_range(a))?;
        fitted(a, if negative { -quotient } else { quotient })
    }),
    internal(EXACT_REMAINDER, &[is(&[Takes::Number, Takes::Number], WIDE)], |a| {
        let (left, right) = divided(a)?;
        let rest = remainder(left, right).ok_or_else(|| out_of_range(a))?;
        let rest = i128::try_from(rest).map_err(|_| out_of_range(a))?;
        fitted(a, if left.0 < 0 { -rest } else { rest })
    }),
    internal(ROUND_TO, &[is(&[Takes::Number, BIG], WIDE)], |a| to_digits(a, true)),
    internal(TRUNC_TO, &[is(&[Takes::Number, BIG], WIDE)], |a| to_digits(a, false)),
    own(
        "min_scale",
        &[is(&[Takes::Number], Type::Integer)],
        page(
            "numeric",
            "min_scale(number)",
            "Digits behind the point that a number needs.",
            "min_scale(8.4100)",
            "2",
        ),
        |a| {
            let (_, scale) = trimmed(a)?;
            Ok(Value::I32(i32::from(scale)))
        },
    ),
];

/// An unscaled number and its scale.
type Exact = (i128, u8);

fn out_of_range(a: &Arguments<'_>) -> types::Error {
    types::Error::out_of_range(&a.ty)
}

fn fitted(a: &Arguments<'_>, value: i128) -> Result<Value> {
    let fits = match a.ty {
        Type::Decimal { precision, .. } => decimal::fits(value, precision),
        _ => true,
    };
    Value::from_i128(value, a.ty.physical()).filter(|_| fits).ok_or_else(|| out_of_range(a))
}

fn exact(a: &Arguments<'_>, at: usize) -> Result<Exact> {
    let value = a.values.get(at).and_then(Value::as_i128).ok_or_else(|| a.mismatch(at))?;
    Ok((value, a.types.get(at).map_or(0, |ty| ty.scale())))
}

fn divided(a: &Arguments<'_>) -> Result<(Exact, Exact)> {
    let (left, right) = (exact(a, 0)?, exact(a, 1)?);
    match right.0 {
        0 => Err(refuse(SqlState::DivisionByZero, "division by zero")),
        _ => Ok((left, right)),
    }
}

/// `value * 10^places / divisor` and what is left, which is below the divisor; `None` where the quotient is too
/// large. The divisor has at most 38 digits, so that twice as much fits 128 bits.
fn scaled_division(value: u128, places: u8, divisor: u128) -> Option<(u128, u128)> {
    let (mut whole, mut rest) = (value / divisor, value % divisor);
    for _ in 0..places {
        let (mut digit, mut next) = (0u128, 0u128);
        for _ in 0..10 {
            next += rest;
            if next >= divisor {
                next -= divisor;
                digit += 1;
            }
        }
        whole = whole.checked_mul(10)?.checked_add(digit)?;
        rest = next;
    }
    Some((whole, rest))
}

/// The quotient of the magnitudes without its fraction.
fn quotient(left: Exact, right: Exact) -> Option<(u128, u128)> {
    let (value, divisor) = (left.0.unsigned_abs(), right.0.unsigned_abs());
    if right.1 >= left.1 {
        return scaled_division(value, right.1 - left.1, divisor);
    }
    // A divisor that outgrows 128 bits is greater than any value.
    match divisor.checked_mul(power_of_ten(left.1 - right.1).unsigned_abs()) {
        Some(divisor) => Some((value / divisor, value % divisor)),
        None => Some((0, value)),
    }
}

/// The quotient of two decimals at the scale of the call's type, rounded to the nearest, halves to the even digit.
pub(super) fn rounded_quotient(a: &Arguments<'_>) -> Result<Value> {
    let (left, right) = divided(a)?;
    let negative = (left.0 < 0) != (right.0 < 0);
    let scale = i32::from(a.ty.scale()) + i32::from(right.1) - i32::from(left.1);
    let (value, divisor) = (left.0.unsigned_abs(), right.0.unsigned_abs());
    let (whole, rest, by) = match u8::try_from(scale) {
        Ok(places) => {
            let (whole, rest) = scaled_division(value, places, divisor).ok_or_else(|| out_of_range(a))?;
            (whole, rest, divisor)
        }
        // The divisor grows instead; one that outgrows 128 bits is greater than twice any value.
        Err(_) => match divisor.checked_mul(power_of_ten(scale.unsigned_abs() as u8).unsigned_abs()) {
            Some(divisor) => (value / divisor, value % divisor, divisor),
            None => (0, 0, 1),
        },
    };
    let half = rest.cmp(&(by - rest));
    let up = half.is_gt() || (half.is_eq() && whole % 2 == 1);
    let quotient = whole + u128::from(up);
    let quotient = i128::try_from(quotient).map_err(|_| out_of_range(a))?;
    fitted(a, if negative { -quotient } else { quotient })
}

/// The remainder of the magnitudes, at the larger of the two scales.
fn remainder(left: Exact, right: Exact) -> Option<u128> {
    let (value, divisor) = (left.0.unsigned_abs(), right.0.unsigned_abs());
    if right.1 >= left.1 {
        let (mut rest, places) = (value % divisor, right.1 - left.1);
        for _ in 0..places {
            // Only what is left counts: the quotient may be of any size.
            rest = scaled_division(rest, 1, divisor)?.1;
        }
        return Some(rest);
    }
    match divisor.checked_mul(power_of_ten(left.1 - right.1).unsigned_abs()) {
        Some(divisor) => Some(value % divisor),
        None => Some(value),
    }
}

/// `round(number, digits)` and `trunc`, where the digits are a value of the row; the scale stays.
fn to_digits(a: &Arguments<'_>, rounds: bool) -> Result<Value> {
    let (value, scale) = exact(a, 0)?;
    let dropped = i64::from(scale).saturating_sub(a.integer(1)?);
    let Ok(dropped) = u8::try_from(dropped.max(0)) else { return fitted(a, 0) };
    if dropped > 38 {
        return fitted(a, 0);
    }
    let unit = power_of_ten(dropped);
    let units = if rounds { divide_rounded(value, unit) } else { value / unit };
    fitted(a, units.checked_mul(unit).ok_or_else(|| out_of_range(a))?)
}

/// Without the zeros at its end.
fn trimmed(a: &Arguments<'_>) -> Result<Exact> {
    let (mut value, mut scale) = exact(a, 0)?;
    while scale > 0 && value % 10 == 0 {
        value /= 10;
        scale -= 1;
    }
    Ok((value, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_beyond_128_bits() {
        let nines = 10i128.pow(38) - 1;
        assert_eq!(quotient((nines, 0), (1, 0)), Some((nines.unsigned_abs(), 0)));
        assert_eq!(quotient((nines, 0), (1, 1)), None);
        assert_eq!(remainder((nines, 0), (7, 1)), Some(3));
        assert_eq!(remainder((nines, 38), (nines, 0)), Some(nines.unsigned_abs()));
        assert_eq!(quotient((nines, 38), (nines, 0)).map(|q| q.0), Some(0));
        assert_eq!(quotient((125, 1), (3, 1)).map(|q| q.0), Some(41));
    }
}
