//! UHUGEINT and BIGNUM: integers that 128 bits with a sign do not hold.
//!
//! A value is a byte string whose order is that of the numbers, so that blocks, keys, sorts and joins handle it as they
//! handle BYTEA. The first three bytes hold the length of the magnitude with the highest bit set, the magnitude follows
//! without leading zeros, the most significant byte first; of a negative number every bit is turned:
//!
//! ```text
//!  1 lllllll llllllll llllllll | magnitude     zero and above: 0 is 80 00 00, 300 is 80 00 02 01 2C
//!  the same, every bit turned                  below zero: -300 is 7F FF FD FE D3
//! ```
//!
//! There is one form of each number; UHUGEINT has those from 0 to 2^128 - 1, BIGNUM those of at most `DIGITS_MAX`
//! decimal digits. Both are types of their own and no `is_integer`: the loops over machine integers never see them.
//! Casts are here; operators and functions are `expr`'s (`own::wide`).

use num_bigint::{BigInt, BigUint, Sign};

use crate::numbers::cast_number;
use crate::unreadable::unreadable;
use crate::uuid::{uuid_from_bytes, uuid_to_bytes};
use crate::{Error, Result, SqlState, Type, Value, bits, decimal};

/// Most decimal digits of a BIGNUM, as many as PostgreSQL's NUMERIC has before the point.
pub const DIGITS_MAX: usize = 131_072;
/// Bits of 10 to the power of `DIGITS_MAX`, the first number that is too large: with fewer bits a number fits, with more
/// it does not.
const BITS_MAX: u64 = (DIGITS_MAX as u64) * 33_219_281 / 10_000_000 + 1;
/// Bytes before the magnitude.
const HEADER: usize = 3;
/// The bit of the header that tells numbers from zero on from those below.
const NOT_NEGATIVE: u32 = 1 << 23;

impl Type {
    /// Whether the type is UHUGEINT or BIGNUM.
    pub fn is_wide_integer(self) -> bool {
        matches!(self, Type::UHugeInt | Type::BigNum)
    }
}

/// The bytes of a number.
fn encoded(number: &BigInt) -> Vec<u8> {
    let magnitude = match number.sign() {
        Sign::NoSign => Vec::new(),
        _ => number.magnitude().to_bytes_be(),
    };
    let header = NOT_NEGATIVE | magnitude.len() as u32;
    let mut out = Vec::with_capacity(HEADER + magnitude.len());
    out.extend_from_slice(&header.to_be_bytes()[1..]);
    out.extend_from_slice(&magnitude);
    if number.sign() == Sign::Minus {
        out.iter_mut().for_each(|byte| *byte = !*byte);
    }
    out
}

/// The number of those bytes; `None` for bytes that are no number's one form.
pub fn checked(bytes: &[u8]) -> Option<BigInt> {
    let negative = *bytes.first()? & 0x80 == 0;
    let turned: Vec<u8> = if negative { bytes.iter().map(|b| !b).collect() } else { bytes.to_vec() };
    let (header, magnitude) = turned.split_at_checked(HEADER)?;
    let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) & !NOT_NEGATIVE;
    if length as usize != magnitude.len() || magnitude.first() == Some(&0) || (negative && length == 0) {
        return None;
    }
    let sign = if negative { Sign::Minus } else { Sign::Plus };
    Some(BigInt::from_biguint(sign, BigUint::from_bytes_be(magnitude)))
}

/// The number that a value of one of the types holds; zero for what is no such value.
pub fn number(value: &Value) -> BigInt {
    value.as_bytes().and_then(checked).unwrap_or_default()
}

/// Whether the type has the number.
fn has(number: &BigInt, ty: Type) -> bool {
    match ty {
        Type::UHugeInt => number.sign() != Sign::Minus && number.bits() <= 128,
        // Digits are counted only near the end: counting them costs their square.
        _ if number.bits() > BITS_MAX => false,
        _ => number.bits() < BITS_MAX || number.magnitude().to_string().len() <= DIGITS_MAX,
    }
}

/// The number as a value of UHUGEINT or BIGNUM; 22003 where the type has no such number.
pub fn value_of(number: &BigInt, ty: Type) -> Result<Value> {
    match has(number, ty) {
        true => Ok(Value::Bytes(encoded(number).into())),
        false if number.bits() <= 512 => Err(Error::value_out_of_range(number, ty)),
        false => Err(Error::out_of_range(&ty)),
    }
}

/// The number that a text says: digits with a sign, `0x`, `0b` and `0o`, digits behind a point, which are rounded, and
/// an exponent.
pub(crate) fn parse(text: &str, ty: Type) -> Result<Value> {
    let trimmed = text.trim();
    let invalid = || unreadable(text, ty);
    if trimmed.len() > 2 * DIGITS_MAX {
        return Err(Error::out_of_range(&ty));
    }
    let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        if digits.trim_start_matches('0').len() > DIGITS_MAX {
            return Err(Error::out_of_range(&ty));
        }
        let magnitude: BigInt = digits.parse().map_err(|_| invalid())?;
        return value_of(&if trimmed.starts_with('-') { -magnitude } else { magnitude }, ty);
    }
    let radix = match trimmed.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 0,
    };
    if radix > 0 {
        let digits = &trimmed[2..];
        let plain = digits.chars().all(|digit| digit.is_digit(radix));
        let number = BigInt::parse_bytes(digits.as_bytes(), radix).filter(|_| plain).ok_or_else(invalid)?;
        return value_of(&number, ty);
    }
    let (mantissa, exponent) = match trimmed.find(['e', 'E']) {
        Some(at) => (&trimmed[..at], trimmed[at + 1..].parse::<i64>().map_err(|_| invalid())?),
        None => (trimmed, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (negative, whole) = match whole.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, whole.strip_prefix('+').unwrap_or(whole)),
    };
    let all_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return Err(invalid());
    }
    // The digits with the point moved by the exponent; what is behind it decides the rounding.
    let point = (whole.len() as i64).saturating_add(exponent);
    let all = [whole, fraction].concat();
    if point > DIGITS_MAX as i64 && !all.trim_start_matches('0').is_empty() {
        return Err(Error::out_of_range(&ty));
    }
    let kept = usize::try_from(point.clamp(0, all.len() as i64)).unwrap_or(0);
    let zeros = usize::try_from(point.saturating_sub(all.len() as i64).clamp(0, DIGITS_MAX as i64));
    let text = format!("0{}{}", &all[..kept], "0".repeat(zeros.unwrap_or(0)));
    let mut number: BigInt = text.parse().map_err(|_| invalid())?;
    if point >= 0 && all.as_bytes().get(kept).is_some_and(|digit| *digit >= b'5') {
        number += 1;
    }
    value_of(&if negative { -number } else { number }, ty)
}

/// The decimal digits of a value, with its sign.
pub fn format(bytes: &[u8]) -> String {
    checked(bytes).unwrap_or_default().to_string()
}

/// The double nearest to a number; `None` where there is none that is finite.
fn as_double(number: &BigInt) -> Option<f64> {
    // The conversion by digits is correctly rounded; beyond 1024 bits there is no double.
    (number.bits() <= 1024)
        .then(|| number.to_string().parse().unwrap_or(f64::NAN))
        .filter(|f: &f64| f.is_finite())
}

/// The number nearest to a finite double, halves to even.
fn of_double(float: f64) -> Option<BigInt> {
    let rounded = float.round_ties_even();
    if !rounded.is_finite() {
        return None;
    }
    let bits = rounded.to_bits();
    let exponent = ((bits >> 52) & 0x7FF) as i64 - 1075;
    let mantissa = (bits & ((1 << 52) - 1)) | if exponent == -1075 { 0 } else { 1 << 52 };
    let magnitude = match exponent {
        0.. => BigInt::from(mantissa) << exponent as usize,
        _ => BigInt::from(mantissa) >> exponent.unsigned_abs().min(128) as usize,
    };
    Some(if rounded < 0.0 { -magnitude } else { magnitude })
}

/// Whether there is a cast from `from` to `to`, one of which is wide, beside those from and to texts.
pub fn is_castable(from: Type, to: Type) -> bool {
    let other = if from.is_wide_integer() { to } else { from };
    other.is_numeric()
        || other.is_wide_integer()
        || other == Type::Boolean
        || (from == Type::UHugeInt && (to == Type::Uuid || to.is_bits()))
        || (to == Type::UHugeInt && (from == Type::Uuid || from.is_bits()))
}

/// Casts between a wide integer and another type that is no text.
pub(crate) fn cast(value: &Value, from: Type, to: Type) -> Result<Value> {
    let beyond = || Error::out_of_range(&to);
    if !is_castable(from, to) {
        return Err(Error::new(SqlState::DatatypeMismatch, format!("cannot cast type {from} to {to}")));
    }
    if !from.is_wide_integer() {
        let number = match (value, from) {
            (Value::Bool(truth), _) => BigInt::from(u8::from(*truth)),
            (_, from) if from.is_float() => value
                .as_f64()
                .and_then(of_double)
                .ok_or_else(|| Error::value_out_of_range(value.display(from), to))?,
            (_, Type::Uuid) => BigInt::from(u128::from_be_bytes(uuid_to_bytes(value.as_i128().unwrap_or(0)))),
            (_, from) if from.is_bits() => {
                let digits = value.as_text().filter(|digits| digits.len() <= 128).ok_or_else(beyond)?;
                BigInt::from(u128::from_str_radix(digits, 2).map_err(|_| beyond())?)
            }
            _ => {
                let whole =
                    decimal::rescale(value.as_i128().unwrap_or(0), from.scale(), 0).ok_or_else(beyond)?;
                BigInt::from(whole)
            }
        };
        return value_of(&number, to);
    }
    let number = number(value);
    match to {
        to if to.is_wide_integer() => value_of(&number, to),
        Type::Boolean => Ok(Value::Bool(number.sign() != Sign::NoSign)),
        Type::Double => as_double(&number).map(Value::F64).ok_or_else(beyond),
        Type::Real => {
            let double = as_double(&number).ok_or_else(beyond)?;
            #[allow(clippy::cast_possible_truncation)]
            let float = double as f32;
            if float.is_finite() { Ok(Value::F32(float)) } else { Err(beyond()) }
        }
        Type::Uuid => {
            let bits = u128::try_from(&number).map_err(|_| beyond())?;
            Ok(Value::I128(uuid_from_bytes(bits.to_be_bytes())))
        }
        to if to.is_bits() => {
            let bits = u128::try_from(&number).map_err(|_| beyond())?;
            Ok(Value::text(&bits::of_integer(bits as i128, to)))
        }
        _ => {
            let whole = i128::try_from(&number).map_err(|_| match number.bits() {
                0..=512 => Error::value_out_of_range(&number, to),
                _ => beyond(),
            })?;
            match to {
                Type::Decimal { .. } => cast_number(&Value::I128(whole), Type::HugeInt, to),
                _ => Value::of_integer(whole, to).ok_or_else(|| Error::value_out_of_range(whole, to)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bignum(text: &str) -> Value {
        parse(text, Type::BigNum).unwrap()
    }

    #[test]
    fn bytes_are_in_the_order_of_the_numbers() {
        let numbers = ["-65536", "-300", "-256", "-255", "-1", "0", "1", "255", "256", "65535", "1e40"];
        let values: Vec<Value> = numbers.iter().map(|text| bignum(text)).collect();
        for pair in values.windows(2) {
            assert!(pair[0].as_bytes() < pair[1].as_bytes(), "{pair:?}");
        }
        for (text, value) in numbers.iter().zip(&values).take(10) {
            assert_eq!(&value.display(Type::BigNum), text);
        }
        assert!(checked(&[0x7F, 0xFF, 0xFF]).is_none(), "there is no zero below zero");
        assert!(checked(&[0x80, 0, 1, 0]).is_none() && checked(&[0x80, 0, 2, 1]).is_none());
    }

    #[test]
    fn texts_are_rounded_and_bounded() {
        for (text, shown) in [
            ("1.5", "2"),
            ("-0.5", "-1"),
            ("0.4", "0"),
            ("12e2", "1200"),
            ("125e-1", "13"),
            ("1e-5", "0"),
            (".5", "1"),
        ] {
            assert_eq!(bignum(text).display(Type::BigNum), shown, "{text}");
        }
        for text in ["", "-", ".", "1x", "e5", "1e", "--1", "1.2.3"] {
            assert_eq!(parse(text, Type::BigNum).unwrap_err().state(), SqlState::InvalidTextRepresentation);
        }
        let largest = "340282366920938463463374607431768211455";
        assert_eq!(parse(largest, Type::UHugeInt).unwrap().display(Type::UHugeInt), largest);
        for text in ["340282366920938463463374607431768211456", "-1", "1e39"] {
            assert_eq!(parse(text, Type::UHugeInt).unwrap_err().state(), SqlState::NumericValueOutOfRange);
        }
        assert!(parse(&"9".repeat(DIGITS_MAX), Type::BigNum).is_ok());
        assert!(parse(&"9".repeat(DIGITS_MAX + 1), Type::BigNum).is_err());
        let largest = bignum(&"9".repeat(DIGITS_MAX));
        assert!(value_of(&(number(&largest) + 1), Type::BigNum).is_err());
        for text in ["1e99999999999", "1e9223372036854775807", "1e131072"] {
            assert_eq!(parse(text, Type::BigNum).unwrap_err().state(), SqlState::NumericValueOutOfRange);
        }
        assert_eq!(bignum("1e-9223372036854775807"), bignum("0"));
    }

    #[test]
    fn casts_keep_the_number_or_say_that_they_cannot() {
        let of = |float: f64| cast(&Value::F64(float), Type::Double, Type::BigNum).unwrap();
        assert_eq!(of(1e25).display(Type::BigNum), "10000000000000000905969664");
        assert_eq!(of(-2.5).display(Type::BigNum), "-2");
        let back = cast(&bignum("10000000000000000905969664"), Type::BigNum, Type::Double).unwrap();
        assert_eq!(back, Value::F64(1e25));
        assert!(cast(&bignum("1e400"), Type::BigNum, Type::Double).is_err());
        assert!(cast(&bignum("128"), Type::BigNum, Type::TinyInt).is_err());
        assert_eq!(cast(&bignum("127"), Type::BigNum, Type::TinyInt).unwrap(), Value::I16(127));
        let decimal = Type::Decimal { precision: 10, scale: 2 };
        assert_eq!(cast(&bignum("12"), Type::BigNum, decimal).unwrap(), Value::I64(1200));
        assert_eq!(cast(&Value::I64(1250), decimal, Type::BigNum).unwrap().display(Type::BigNum), "13");
    }
}
