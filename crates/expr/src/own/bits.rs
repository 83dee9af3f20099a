//! Operators and functions of BIT and BIT VARYING, whose values are their digits.

use plan::functions::{
    BITS_AND, BITS_COUNT, BITS_GET, BITS_JOINED, BITS_LEFT, BITS_NOT, BITS_OR, BITS_RESIZED, BITS_RIGHT,
    BITS_SET, BITS_XOR,
};
use types::{Result, SqlState, Value, bits};

use super::declare::*;
use super::{Arguments, invalid, refuse};

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    internal(BITS_AND, &[first(&[Takes::Any, Takes::Any])], |a| paired(a, "AND", |x, y| x & y)),
    internal(BITS_OR, &[first(&[Takes::Any, Takes::Any])], |a| paired(a, "OR", |x, y| x | y)),
    internal(BITS_XOR, &[first(&[Takes::Any, Takes::Any])], |a| paired(a, "XOR", |x, y| x ^ y)),
    internal(BITS_NOT, &[first(&[Takes::Any])], |a| Ok(digits(a.text(0)?.bytes().map(|digit| digit ^ 1)))),
    internal(BITS_LEFT, &[first(&[Takes::Any, BIG])], |a| shifted(a.text(0)?, -i128::from(a.integer(1)?))),
    internal(BITS_RIGHT, &[first(&[Takes::Any, BIG])], |a| shifted(a.text(0)?, i128::from(a.integer(1)?))),
    internal(BITS_JOINED, &[is(&[Takes::Any, Takes::Any], Type::BITS)], |a| {
        Ok(Value::text(&format!("{}{}", a.text(0)?, a.text(1)?)))
    }),
    internal(BITS_RESIZED, &[is(&[Takes::Any], Type::BITS)], |a| {
        let from = a.types[0];
        let read = match () {
            () if from.is_bits() => a.text(0)?.to_owned(),
            () if from.is_integer() => return Ok(Value::text(&bits::of_integer(a.whole(0)?, a.ty))),
            () => bits::parse(a.text(0)?.trim())?,
        };
        Ok(Value::text(&bits::resized(&read, a.ty)))
    }),
    internal(BITS_GET, &[is(&[Takes::Any, BIG], Type::Integer)], |a| {
        let (text, at) = (a.text(0)?, index(a)?);
        Ok(Value::I32(i32::from(text.as_bytes()[at] == b'1')))
    }),
    internal(BITS_SET, &[first(&[Takes::Any, BIG, BIG])], |a| {
        let (text, at) = (a.text(0)?, index(a)?);
        let digit = match a.integer(2)? {
            0 => b'0',
            1 => b'1',
            _ => return Err(invalid("new bit must be 0 or 1")),
        };
        Ok(digits(text.bytes().enumerate().map(|(place, old)| if place == at { digit } else { old })))
    }),
    own(
        "bitstring",
        &[is(&[Takes::Is(Type::BITS)], Type::BITS), is(&[Takes::Is(Type::BITS), BIG], Type::BITS)],
        page(
            "text",
            "bitstring(bits [, length])",
            "The bits with zeros before them, up to a length.",
            "bitstring('101', 8)",
            "00000101",
        ),
        |a| {
            let text = a.text(0)?;
            let length = if a.len() == 2 { a.integer(1)? } else { text.len() as i64 };
            match usize::try_from(length) {
                Ok(length) if length > bits::BITS_MAX as usize => {
                    Err(invalid(format!("a string of bits has at most {} of them", bits::BITS_MAX)))
                }
                Ok(length) if length >= text.len() => {
                    let zeros = std::iter::repeat_n(b'0', length - text.len());
                    Ok(digits(zeros.chain(text.bytes())))
                }
                _ => Err(invalid(format!("the length must be {} or more, not {length}", text.len()))),
            }
        },
    ),
    internal(BITS_COUNT, &[is(&[Takes::Any], Type::BigInt)], |a| {
        Ok(Value::I64(a.text(0)?.bytes().filter(|digit| *digit == b'1').count() as i64))
    }),
];

fn digits(digits: impl Iterator<Item = u8>) -> Value {
    Value::Bytes(digits.collect())
}

fn paired(a: &Arguments<'_>, verb: &str, op: fn(u8, u8) -> u8) -> Result<Value> {
    let (x, y) = (a.text(0)?, a.text(1)?);
    if x.len() != y.len() {
        let message = format!("cannot {verb} bit strings of different sizes");
        return Err(refuse(SqlState::StringDataLengthMismatch, message));
    }
    Ok(digits(x.bytes().zip(y.bytes()).map(|(x, y)| b'0' | (op(x, y) & 1))))
}

/// Moved to the right by so many places, which leaves zeros; a negative number moves to the left.
fn shifted(text: &str, by: i128) -> Result<Value> {
    let length = text.len() as i128;
    let at = |place: i128| match usize::try_from(place - by).ok().and_then(|from| text.as_bytes().get(from)) {
        Some(digit) => *digit,
        None => b'0',
    };
    Ok(digits((0..length).map(at)))
}

fn index(a: &Arguments<'_>) -> Result<usize> {
    let (length, wanted) = (a.text(0)?.len(), a.integer(1)?);
    usize::try_from(wanted).ok().filter(|at| *at < length).ok_or_else(|| {
        let message = format!("bit index {wanted} out of valid range (0..{})", length as i64 - 1);
        refuse(SqlState::ArraySubscript, message)
    })
}
