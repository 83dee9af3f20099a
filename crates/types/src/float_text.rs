//! Floats as text: the fewest digits that are read as the same float, as PostgreSQL prints them (its Ryu takes no digits
//! that lie exactly between two floats, which a reader might round the wrong way: `1e23` is `9.999999999999999e+22`).
//!
//! Fixed notation stands for exponents from -4 to below 15 (6 for REAL), scientific notation beyond. The text is made in
//! place, without an allocation; casts and the encoders of results take it from here.

use std::fmt::Write;

/// Longest text: sign, 17 digits, point, and an exponent of five characters; or sign and `0.000` before 17 digits.
const BYTES_MAX: usize = 32;

/// The text of one float.
#[derive(Clone, Copy)]
pub struct FloatText {
    bytes: [u8; BYTES_MAX],
    len: usize,
}

impl Write for FloatText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            *self.bytes.get_mut(self.len).ok_or(std::fmt::Error)? = byte;
            self.len += 1;
        }
        Ok(())
    }
}

/// The digits of a float, and the exponent of ten of the first one.
struct Digits {
    bytes: [u8; 20],
    len: usize,
    exponent: i32,
}

impl Digits {
    /// Takes apart what a formatter printed: `12.5`, `0.001`, `1.5e-7`.
    fn of(text: &str) -> Digits {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let mut digits = Digits { bytes: [0; 20], len: 0, exponent: exponent.parse().unwrap_or(0) };
        let (mut whole, mut behind_point) = (0, false);
        let mut leading = 0;
        for byte in mantissa.bytes() {
            match byte {
                b'.' => behind_point = true,
                b'0' if digits.len == 0 => leading += i32::from(behind_point),
                b'0'..=b'9' => {
                    if digits.len < digits.bytes.len() {
                        digits.bytes[digits.len] = byte;
                        digits.len += 1;
                    }
                    whole += i32::from(!behind_point);
                }
                _ => {}
            }
        }
        digits.exponent += if whole > 0 { whole - 1 } else { -leading - 1 };
        while digits.len > 1 && digits.bytes[digits.len - 1] == b'0' {
            digits.len -= 1;
        }
        digits
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Whether the digits lie exactly in the middle between two floats that have `bits` significant bits.
    fn is_halfway(&self, bits: u32) -> bool {
        let number = self.as_bytes().iter().fold(0u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
        // The number times ten to this power; a middle has one bit more than a float, and 5^23 is the largest power
        // of five that leaves room for that.
        let power = self.exponent + 1 - self.len as i32;
        let odd = match power {
            0..=23 => number * 5u128.pow(power as u32),
            -3..0 => {
                let divisor = 5u128.pow(power.unsigned_abs());
                if number % divisor != 0 {
                    return false;
                }
                number / divisor
            }
            _ => return false,
        };
        odd != 0 && 128 - odd.leading_zeros() - odd.trailing_zeros() == bits + 1
    }
}

impl FloatText {
    /// The text of a DOUBLE PRECISION.
    pub fn of_f64(value: f64) -> FloatText {
        let shortest = |value: f64| Digits::of(ryu::Buffer::new().format_finite(value));
        let inside = |digits: usize| {
            let mut text = FloatText::empty();
            let _ = write!(text, "{:.*e}", digits - 1, value.abs());
            (text.as_str().parse() == Ok(value.abs())).then(|| Digits::of(text.as_str()))
        };
        FloatText::of(value, value.is_sign_negative(), 15, 53, shortest, inside)
    }

    /// The text of a REAL.
    pub fn of_f32(value: f32) -> FloatText {
        let shortest = |_: f64| Digits::of(ryu::Buffer::new().format_finite(value.abs()));
        let inside = |digits: usize| {
            let mut text = FloatText::empty();
            let _ = write!(text, "{:.*e}", digits - 1, value.abs());
            (text.as_str().parse() == Ok(value.abs())).then(|| Digits::of(text.as_str()))
        };
        FloatText::of(f64::from(value), value.is_sign_negative(), 6, 24, shortest, inside)
    }

    fn of(
        value: f64,
        negative: bool,
        exponent_max: i32,
        bits: u32,
        shortest: impl Fn(f64) -> Digits,
        inside: impl Fn(usize) -> Option<Digits>,
    ) -> FloatText {
        let mut text = FloatText::empty();
        if value.is_nan() {
            text.push(b"NaN");
            return text;
        }
        if negative {
            text.push(b"-");
        }
        if value.is_infinite() {
            text.push(b"Infinity");
        } else if value == 0.0 {
            text.push(b"0");
        } else {
            let mut digits = shortest(value.abs());
            if digits.is_halfway(bits) {
                let other = (1..=17).filter_map(inside).find(|digits| !digits.is_halfway(bits));
                digits = other.unwrap_or(digits);
            }
            text.number(&digits, exponent_max);
        }
        text
    }

    fn empty() -> FloatText {
        FloatText { bytes: [0; BYTES_MAX], len: 0 }
    }
    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
    fn zeros(&mut self, count: usize) {
        self.bytes[self.len..self.len + count].fill(b'0');
        self.len += count;
    }

    fn number(&mut self, digits: &Digits, exponent_max: i32) {
        let (bytes, exponent) = (digits.as_bytes(), digits.exponent);
        if !(-4..exponent_max).contains(&exponent) {
            self.push(&bytes[..1]);
            if bytes.len() > 1 {
                self.push(b".");
                self.push(&bytes[1..]);
            }
            self.push(if exponent < 0 { b"e-" } else { b"e+" });
            let size = exponent.unsigned_abs();
            if size >= 100 {
                self.push(&[b'0' + (size / 100) as u8]);
            }
            self.push(&[b'0' + (size / 10 % 10) as u8, b'0' + (size % 10) as u8]);
            return;
        }
        if exponent < 0 {
            self.push(b"0.");
            self.zeros((-exponent - 1) as usize);
            self.push(bytes);
            return;
        }
        let whole = exponent as usize + 1;
        if bytes.len() <= whole {
            self.push(bytes);
            self.zeros(whole - bytes.len());
        } else {
            self.push(&bytes[..whole]);
            self.push(b".");
            self.push(&bytes[whole..]);
        }
    }

    /// The text's bytes, which are ASCII.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
    /// The text.
    pub fn as_str(&self) -> &str {
        // Only ASCII is ever written.
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_those_of_postgresql() {
        for (value, shown) in [
            (1e23, "9.999999999999999e+22"),
            (8.41e21, "8.409999999999999e+21"),
            (9007199254740993.0, "9.007199254740992e+15"),
            (1152921504606846976.0, "1.152921504606847e+18"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (0.1, "0.1"),
            (-0.0001, "-0.0001"),
            (0.00001, "1e-05"),
            (123456789012345.0, "123456789012345"),
            (1e15, "1e+15"),
            (1e14, "100000000000000"),
            (12.5, "12.5"),
            (-0.0, "-0"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(FloatText::of_f64(value).as_str(), shown);
        }
    }

    #[test]
    fn reals_are_those_of_postgresql() {
        for (value, shown) in [
            (1e-45f32, "1e-45"),
            (f32::MAX, "3.4028235e+38"),
            (2e-7, "2e-07"),
            (1e6, "1e+06"),
            (123456.0, "123456"),
            (0.1, "0.1"),
            (16777216.0, "1.6777216e+07"),
            (33554432.0, "3.3554432e+07"),
            (8.5e9, "8.4999997e+09"),
            (9e9, "8.999999e+09"),
        ] {
            assert_eq!(FloatText::of_f32(value).as_str(), shown);
        }
    }

    #[test]
    fn what_is_shown_is_read_as_the_same() {
        let mut random = random::Random::new(1);
        for _ in 0..20_000 {
            let state = random.bits();
            let double = f64::from_bits(state);
            if double.is_finite() {
                assert_eq!(FloatText::of_f64(double).as_str().parse(), Ok(double));
            }
            let real = f32::from_bits((state >> 32) as u32);
            if real.is_finite() {
                assert_eq!(FloatText::of_f32(real).as_str().parse(), Ok(real));
            }
            // Powers of two and whole numbers, where digits in the middle of two floats are.
            let whole = (state >> 11) as f64 * 2f64.powi((state & 63) as i32);
            assert_eq!(FloatText::of_f64(whole).as_str().parse(), Ok(whole));
        }
    }
}
