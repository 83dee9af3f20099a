//! Arithmetic on UHUGEINT and BIGNUM (`types::wide`), a row at a time.
//!
//! A result that the type has not is error 22003; division by zero is 22012. Multiplying, dividing and shifting spend
//! what they cost before they begin, so that a statement over numbers of many digits can be stopped.

use num_bigint::{BigInt, Sign};
use plan::functions::{
    WIDE_ABSOLUTE, WIDE_ADD, WIDE_AND, WIDE_DIVIDE, WIDE_LEFT, WIDE_MULTIPLY, WIDE_NEGATE, WIDE_NOT, WIDE_OR,
    WIDE_REMAINDER, WIDE_RIGHT, WIDE_SIGN, WIDE_SUBTRACT, WIDE_XOR,
};
use types::wide::{DIGITS_MAX, number, value_of};
use types::{Error, Result, Type, Value};

use super::declare::*;
use super::{Arguments, invalid};

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    internal(WIDE_ADD, &[first(&[Takes::Any, Takes::Any])], |a| of_two(a, |x, y| Ok(x + y))),
    internal(WIDE_SUBTRACT, &[first(&[Takes::Any, Takes::Any])], |a| of_two(a, |x, y| Ok(x - y))),
    internal(WIDE_MULTIPLY, &[first(&[Takes::Any, Takes::Any])], |a| of_two(a, |x, y| Ok(x * y))),
    internal(WIDE_DIVIDE, &[first(&[Takes::Any, Takes::Any])], |a| of_two(a, |x, y| Ok(x / divisor(y)?))),
    internal(WIDE_REMAINDER, &[first(&[Takes::Any, Takes::Any])], |a| of_two(a, |x, y| Ok(x % divisor(y)?))),
    internal(WIDE_AND, &[first(&[Takes::Any, Takes::Any])], |a| of_two(a, |x, y| Ok(x & y))),
    internal(WIDE_OR, &[first(&[Takes::Any, Takes::Any])], |a| of_two(a, |x, y| Ok(x | y))),
    internal(WIDE_XOR, &[first(&[Takes::Any, Takes::Any])], |a| of_two(a, |x, y| Ok(x ^ y))),
    internal(WIDE_LEFT, &[first(&[Takes::Any, BIG])], |a| shifted(a, true)),
    internal(WIDE_RIGHT, &[first(&[Takes::Any, BIG])], |a| shifted(a, false)),
    internal(WIDE_NEGATE, &[first(&[Takes::Any])], |a| value_of(&-number(&a.values[0]), a.ty)),
    internal(WIDE_ABSOLUTE, &[first(&[Takes::Any])], |a| {
        value_of(&BigInt::from(number(&a.values[0]).magnitude().clone()), a.ty)
    }),
    internal(WIDE_SIGN, &[is(&[Takes::Any], Type::Integer)], |a| {
        Ok(Value::I32(match number(&a.values[0]).sign() {
            Sign::Minus => -1,
            Sign::NoSign => 0,
            Sign::Plus => 1,
        }))
    }),
    // All 128 bits of a UHUGEINT; of a BIGNUM, which has endless ones, as of a number in two's complement.
    internal(WIDE_NOT, &[first(&[Takes::Any])], |a| {
        let given = number(&a.values[0]);
        match a.ty {
            Type::UHugeInt => value_of(&(BigInt::from(u128::MAX) - given), a.ty),
            _ => value_of(&(-given - 1), a.ty),
        }
    }),
];

fn divisor(number: BigInt) -> Result<BigInt> {
    if number.sign() == Sign::NoSign { Err(Error::division_by_zero()) } else { Ok(number) }
}

fn of_two(a: &Arguments<'_>, op: fn(BigInt, BigInt) -> Result<BigInt>) -> Result<Value> {
    value_of(&op(number(&a.values[0]), number(&a.values[1]))?, a.ty)
}

/// The bits moved by so many places; what a UHUGEINT has no room for is an error to the left, as in DuckDB.
fn shifted(a: &Arguments<'_>, left: bool) -> Result<Value> {
    let given = number(&a.values[0]);
    let places = a.integer(1)?;
    let Ok(places) = usize::try_from(places) else {
        return Err(invalid(format!("cannot shift by negative number {places}")));
    };
    match left {
        false => value_of(&(given >> places), a.ty),
        true if given.sign() == Sign::NoSign => value_of(&given, a.ty),
        true if places > 4 * DIGITS_MAX => Err(Error::out_of_range(&a.ty)),
        true => value_of(&(given << places), a.ty),
    }
}
