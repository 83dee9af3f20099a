//! Whole numbers in other bases, binomial coefficients, and quotients of decimals of a scale that is asked for.

use plan::functions::DECIMAL_QUOTIENT;
use types::{Error, Result, SqlState, Type, Value};

use super::declare::*;
use super::exact::rounded_quotient;
use super::written::{Given, writes};
use super::{Arguments, invalid, refuse};

/// Most digits that `to_base` fills up to.
const DIGITS_MAX: i64 = 64;

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    writes!(
        "to_base",
        &[is(&[BIG, BIG], Type::Text), is(&[BIG, BIG, BIG], Type::Text)],
        page(
            "numeric",
            "to_base(number, radix [, digits])",
            "The digits of a number from zero on in a base of 2 to 36, filled up with zeros to so many.",
            "to_base(42, 16, 4)",
            "002A",
        ),
        to_base,
    ),
    own(
        "binom",
        &[is(&[BIG, BIG], Type::HugeInt)],
        page(
            "numeric",
            "binom(n, k)",
            "How many sets of k can be chosen from n: the binomial coefficient.",
            "binom(5, 2)",
            "10",
        ),
        binomial,
    ),
    internal(DECIMAL_QUOTIENT, &[is(&[Takes::Number, Takes::Number], WIDE)], rounded_quotient),
];

fn to_base(a: &dyn Given, out: &mut Vec<u8>) -> Result<()> {
    let (number, radix) = (a.number(0)?, a.number(1)?);
    let least = if a.count() == 3 { a.number(2)? } else { 0 };
    let Ok(mut rest) = u64::try_from(number) else {
        return Err(invalid(format!("to_base takes a number from 0 on, not {number}")));
    };
    let Some(radix) = u64::try_from(radix).ok().filter(|radix| (2..=36).contains(radix)) else {
        return Err(invalid(format!("the radix must be between 2 and 36, not {radix}")));
    };
    if !(0..=DIGITS_MAX).contains(&least) {
        return Err(invalid(format!("the number of digits must be between 0 and {DIGITS_MAX}, not {least}")));
    }
    const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let begin = out.len();
    while rest > 0 || out.len() == begin {
        out.push(DIGITS[(rest % radix) as usize]);
        rest /= radix;
    }
    out.resize(out.len().max(begin + least as usize), b'0');
    out[begin..].reverse();
    Ok(())
}

/// Multiplies and divides in turn: each step is itself a binomial coefficient, so that no division leaves a rest.
fn binomial(a: &Arguments<'_>) -> Result<Value> {
    let (n, k) = (a.integer(0)?, a.integer(1)?);
    if n < 0 || k < 0 {
        return Err(refuse(SqlState::NumericValueOutOfRange, "binom takes numbers from 0 on"));
    }
    if k > n {
        return Ok(Value::I128(0));
    }
    let (n, k) = (n as u128, (k as u128).min((n - k) as u128));
    let mut result: u128 = 1;
    for step in 1..=k {
        let factor = n - k + step;
        // What the divisor and each factor share is taken out first, so that the product stays small.
        let shared = greatest_common(result, step);
        let (left, divisor) = (result / shared, step / shared);
        result = left.checked_mul(factor / divisor).ok_or_else(|| Error::out_of_range(&a.ty))?;
        if i128::try_from(result).is_err() {
            return Err(Error::out_of_range(&a.ty));
        }
    }
    Ok(Value::I128(result as i128))
}

fn greatest_common(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
