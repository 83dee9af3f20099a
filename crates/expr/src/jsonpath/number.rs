//! Arithmetic on JSON's numbers: exact, but for division, whose digits are those of PostgreSQL's `numeric`.
//!
//! A number is a whole one over a power of ten. Results of more than `DIGITS_MAX` digits are error 22003, so that a path
//! cannot make a number that takes long.

use num_bigint::{BigInt, Sign};
use types::jsonb::Tree;
use types::{Error, Result, SqlState, stop};

use super::Arithmetic;

/// Digits before and behind the point that a result may have.
const DIGITS_MAX: i64 = 20_000;

/// `units` divided by ten to the power of `scale`, which is not negative.
#[derive(Clone, Debug)]
pub(super) struct Number {
    units: BigInt,
    scale: u32,
}

fn overflow() -> Error {
    Error::new(SqlState::NumericValueOutOfRange, "value overflows numeric format")
        .with_hint(format!("a jsonpath computes with numbers of at most {DIGITS_MAX} digits"))
}

fn power(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// The number that a path writes.
pub(super) fn literal(digits: &str) -> Result<Tree> {
    let mut text = digits.to_owned();
    if text.starts_with('.') {
        text.insert(0, '0');
    }
    // `1.` and `1.e5` are not JSON.
    if let Some(at) = text.find('.')
        && !text[at + 1..].starts_with(|c: char| c.is_ascii_digit())
    {
        text.remove(at);
    }
    types::json::checked(&text)?;
    Tree::read(&text)
}

/// A number's opposite.
pub(super) fn negated(digits: &str) -> Result<Tree> {
    Number::read(digits)?.negated().tree()
}

impl Number {
    pub fn read(digits: &str) -> Result<Number> {
        let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent: i64 = exponent.trim_start_matches('+').parse().map_err(|_| overflow())?;
        let scale = (fraction.len() as i64).saturating_sub(exponent);
        if scale.abs() > DIGITS_MAX || mantissa.len() as i64 > DIGITS_MAX {
            return Err(overflow());
        }
        stop::spend(mantissa.len() * mantissa.len() / 64);
        let units: BigInt = format!("{whole}{fraction}").parse().map_err(|_| overflow())?;
        Ok(match u32::try_from(scale) {
            Ok(scale) => Number { units, scale },
            Err(_) => Number { units: units * power(scale.unsigned_abs() as u32), scale: 0 },
        })
    }

    pub fn tree(&self) -> Result<Tree> {
        let digits = self.units.magnitude().to_string();
        stop::spend(digits.len() * digits.len() / 64);
        if digits.len() as i64 > DIGITS_MAX || i64::from(self.scale) > DIGITS_MAX {
            return Err(overflow());
        }
        let scale = self.scale as usize;
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        let sign = if self.units.sign() == Sign::Minus { "-" } else { "" };
        let point = if scale > 0 { "." } else { "" };
        Tree::read(&format!("{sign}{whole}{point}{fraction}"))
    }

    fn scaled(&self, scale: u32) -> BigInt {
        &self.units * power(scale - self.scale)
    }

    pub fn negated(&self) -> Number {
        Number { units: -&self.units, scale: self.scale }
    }

    pub fn absolute(&self) -> Number {
        Number { units: BigInt::from(self.units.magnitude().clone()), scale: self.scale }
    }

    /// Rounded down.
    pub fn floor(&self) -> Number {
        let by = power(self.scale);
        let (quotient, rest) = (&self.units / &by, &self.units % &by);
        let units = if rest.sign() == Sign::Minus { quotient - 1 } else { quotient };
        Number { units, scale: 0 }
    }

    pub fn ceiling(&self) -> Number {
        self.negated().floor().negated()
    }

    /// Cut to a whole number, if it is one of 32 bits.
    pub fn truncated(&self) -> Option<i32> {
        i32::try_from(&self.units / power(self.scale)).ok()
    }

    pub fn apply(&self, operator: Arithmetic, other: &Number) -> Result<Number> {
        let scale = self.scale.max(other.scale);
        let whole = |units: BigInt| Number { units, scale };
        Ok(match operator {
            Arithmetic::Add => whole(self.scaled(scale) + other.scaled(scale)),
            Arithmetic::Subtract => whole(self.scaled(scale) - other.scaled(scale)),
            Arithmetic::Multiply => {
                stop::spend((self.units.bits() * other.units.bits() / 4096) as usize);
                Number { units: &self.units * &other.units, scale: self.scale + other.scale }
            }
            Arithmetic::Remainder if other.units.sign() == Sign::NoSign => {
                return Err(Error::division_by_zero());
            }
            Arithmetic::Remainder => whole(self.scaled(scale) % other.scaled(scale)),
            Arithmetic::Divide => self.divided(other)?,
        })
    }

    /// At least 16 digits that count, as PostgreSQL's `select_div_scale` finds them, rounded.
    fn divided(&self, by: &Number) -> Result<Number> {
        if by.units.sign() == Sign::NoSign {
            return Err(Error::division_by_zero());
        }
        let (weight, first) = self.leading();
        let (by_weight, by_first) = by.leading();
        let quotient = weight - by_weight - i64::from(first <= by_first);
        let scale =
            (16 - 4 * quotient).max(i64::from(self.scale)).max(i64::from(by.scale)).clamp(0, 1000) as u32;
        // self.units / 10^self.scale / (by.units / 10^by.scale), in units of 10^-scale.
        let exponent = i64::from(scale) + i64::from(by.scale) - i64::from(self.scale);
        let (mut above, mut below) = (self.units.clone(), by.units.clone());
        match exponent >= 0 {
            true => above *= power(exponent as u32),
            false => below *= power(exponent.unsigned_abs() as u32),
        }
        stop::spend(((above.bits() + below.bits()) * below.bits() / 4096) as usize);
        let (quotient, rest) = (&above / &below, &above % &below);
        let up = BigInt::from(2u8) * BigInt::from(rest.magnitude().clone())
            >= BigInt::from(below.magnitude().clone());
        let away = match (up, (above.sign() == Sign::Minus) != (below.sign() == Sign::Minus)) {
            (false, _) => 0,
            (true, true) => -1,
            (true, false) => 1,
        };
        Ok(Number { units: quotient + away, scale })
    }

    /// The place of the first digit in base 10,000, and that digit.
    fn leading(&self) -> (i64, u32) {
        let digits = self.units.magnitude().to_string();
        if self.units.sign() == Sign::NoSign {
            return (0, 0);
        }
        // Digits before the point; below one, how many zeros are behind it, negative.
        let before = digits.len() as i64 - i64::from(self.scale);
        let weight = (before - 1).div_euclid(4);
        let width = (before - 4 * weight) as usize;
        let first: String = digits.chars().chain(std::iter::repeat('0')).take(width).collect();
        (weight, first.parse().unwrap_or(0))
    }
}
