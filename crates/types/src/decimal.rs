//! Exact decimals: an unscaled integer and a scale, the number of digits behind the point.
//!
//! The functions take the unscaled value as `i128`, whatever width holds it, and the scale from the type; nothing
//! here stores them together. Rounding is half away from zero, as in PostgreSQL. Casts, arithmetic on decimals and
//! readers of files use this.

use crate::logical::DECIMAL_PRECISION_MAX;

/// Powers of ten up to 10^38.
pub const POWERS_OF_TEN: [i128; 39] = {
    let mut table = [1i128; 39];
    let mut i = 1;
    while i < 39 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

/// 10 to the power of `exponent`; exponents above 38 give 10^38.
pub fn power_of_ten(exponent: u8) -> i128 {
    POWERS_OF_TEN[usize::from(exponent.min(38))]
}

/// True when `unscaled` has at most `precision` digits.
pub fn fits(unscaled: i128, precision: u8) -> bool {
    unscaled.unsigned_abs() < power_of_ten(precision.min(DECIMAL_PRECISION_MAX)).unsigned_abs()
}

/// Divides, rounding half away from zero as PostgreSQL's NUMERIC does. `divisor` is positive.
pub fn divide_rounded(value: i128, divisor: i128) -> i128 {
    let quotient = value / divisor;
    let remainder = value % divisor;
    if remainder.unsigned_abs() >= divisor.unsigned_abs() - remainder.unsigned_abs() {
        quotient + value.signum()
    } else {
        quotient
    }
}

/// Changes the scale; rounds half away from zero when digits are lost, `None` on overflow.
pub fn rescale(unscaled: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        unscaled.checked_mul(power_of_ten(to - from))
    } else {
        Some(divide_rounded(unscaled, power_of_ten(from - to)))
    }
}

/// The decimal in plain notation with exactly `scale` digits behind the point.
pub fn format(unscaled: i128, scale: u8) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = unscaled.unsigned_abs();
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let unit = power_of_ten(scale).unsigned_abs();
    format!("{sign}{}.{:0width$}", digits / unit, digits % unit, width = usize::from(scale))
}

/// Parses `[+-]digits[.digits][e[+-]digits]` to the given scale, rounding. `Ok(None)` when it overflows 38 digits,
/// `Err(NotANumber)` when the text is no number.
pub fn parse(text: &str, scale: u8) -> Result<Option<i128>, NotANumber> {
    let text = text.trim();
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => {
            let exponent: i32 = text[at + 1..].parse().map_err(|_| NotANumber)?;
            (&text[..at], exponent)
        }
        None => (text, 0),
    };
    let (negative, digits) = match mantissa.as_bytes().first() {
        Some(b'-') => (true, &mantissa[1..]),
        Some(b'+') => (false, &mantissa[1..]),
        _ => (false, mantissa),
    };
    let mut significant: Vec<u8> = Vec::with_capacity(digits.len());
    let mut point_seen = false;
    let mut any = false;
    let mut fraction_digits = 0i64;
    for byte in digits.bytes() {
        match byte {
            b'0'..=b'9' => {
                any = true;
                significant.push(byte - b'0');
                fraction_digits += i64::from(point_seen);
            }
            b'.' if !point_seen => point_seen = true,
            _ => return Err(NotANumber),
        }
    }
    if !any {
        return Err(NotANumber);
    }
    // value = significant * 10^(exponent - fraction_digits); wanted: value * 10^scale, rounded.
    let shift = i64::from(exponent) - fraction_digits + i64::from(scale);
    let mut unscaled: i128 = 0;
    let kept = significant.len() as i64 + shift.min(0);
    if kept < 0 {
        return Ok(Some(0));
    }
    for digit in &significant[..kept as usize] {
        unscaled = match unscaled.checked_mul(10).and_then(|v| v.checked_add(i128::from(*digit))) {
            Some(v) => v,
            None => return Ok(None),
        };
    }
    if shift > 0 {
        if unscaled != 0 {
            let Some(scaled) = u8::try_from(shift)
                .ok()
                .filter(|s| *s <= 38)
                .and_then(|s| unscaled.checked_mul(power_of_ten(s)))
            else {
                return Ok(None);
            };
            unscaled = scaled;
        }
    } else if significant.get(kept as usize).is_some_and(|d| *d >= 5) {
        unscaled += 1;
    }
    Ok(fits(unscaled, DECIMAL_PRECISION_MAX).then_some(if negative { -unscaled } else { unscaled }))
}

/// The text is not a number at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotANumber;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_rounds() {
        assert_eq!(parse("123.455", 2), Ok(Some(12346)));
        assert_eq!(parse("-0.005", 2), Ok(Some(-1)));
        assert_eq!(parse("1e3", 2), Ok(Some(100_000)));
        assert_eq!(parse("12e-3", 2), Ok(Some(1)));
        assert_eq!(parse(".5", 0), Ok(Some(1)));
        assert_eq!(parse("0.0000000000000000000000000000000000000000001", 2), Ok(Some(0)));
        assert_eq!(parse("1e39", 0), Ok(None));
        assert_eq!(parse("0e99", 0), Ok(Some(0)));
        assert_eq!(parse("1.2.3", 0), Err(NotANumber));
        assert_eq!(parse("", 0), Err(NotANumber));
        assert_eq!(parse("99999999999999999999999999999999999999", 0), Ok(Some(10i128.pow(38) - 1)));
    }

    #[test]
    fn formats() {
        assert_eq!(format(-5, 2), "-0.05");
        assert_eq!(format(12345, 2), "123.45");
        assert_eq!(rescale(-125, 2, 1), Some(-13));
        assert_eq!(rescale(124, 2, 1), Some(12));
    }
}
