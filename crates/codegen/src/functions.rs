//! Functions of the library that are code: one instruction, or one call of the function that the library itself calls.
//!
//! A call gives the bits that the vectorised evaluator gives, because both end in the same function. Where the library
//! refuses a result (`ln(0)`), the code flags it and the vectorised evaluator finds the words. The functions below are
//! plain: no state, no allocation, no panic.

use plan::functions::BITWISE_NOT;
use types::Type;
use types::datetime::{self, DATE_MAX, DATE_MIN, MICROS_PER_DAY, is_infinite};

use crate::kind::Kind;

/// How a function becomes code.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known {
    /// The square root, an error below 0.
    SquareRoot,
    /// The next whole number below, above, or nearest.
    Round(Rounding),
    /// A call of a function of one DOUBLE; `partial` functions have no value that is not finite.
    Call {
        /// `extern "C" fn(f64) -> f64`.
        address: usize,
        /// A result that is not finite is looked at by the vectorised evaluator.
        partial: bool,
    },
    /// A call of a function of two.
    CallOfTwo {
        /// `extern "C" fn(f64, f64) -> f64`.
        address: usize,
        /// As for `Call`.
        partial: bool,
    },
    /// Operators on the bits of integers.
    Bits(Bits),
}

/// Which whole number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rounding {
    Down,
    Up,
    NearestEven,
}

/// Operators on bits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bits {
    And,
    Or,
    Xor,
    Not,
    Left,
    Right,
}

macro_rules! of_doubles {
    ($($function:ident),*) => {$(
        extern "C" fn $function(x: f64) -> f64 {
            f64::$function(x)
        }
    )*};
}
of_doubles!(
    exp, ln, log2, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, cbrt,
    to_degrees, to_radians
);

extern "C" fn power(base: f64, exponent: f64) -> f64 {
    base.powf(exponent)
}

extern "C" fn atan2(y: f64, x: f64) -> f64 {
    y.atan2(x)
}

extern "C" fn remainder(a: f64, b: f64) -> f64 {
    a % b
}

/// The address of `a % b` of two DOUBLEs.
pub(crate) fn float_remainder() -> usize {
    remainder as extern "C" fn(f64, f64) -> f64 as usize
}

/// What `date_add_months` and its kin give where there is no such moment, or the vectorised evaluator knows better.
pub(crate) const NONE: i64 = i64::MIN;

extern "C" fn date_add_months(day: i64, months: i64) -> i64 {
    let (Ok(day), Ok(months)) = (i32::try_from(day), i32::try_from(months)) else { return NONE };
    match day {
        i32::MAX | i32::MIN => NONE,
        day => match datetime::add_months(day, months) {
            Some(moved) if (DATE_MIN..=DATE_MAX).contains(&i64::from(moved)) => i64::from(moved),
            _ => NONE,
        },
    }
}

extern "C" fn date_add_micros(day: i64, micros: i64) -> i64 {
    if day == i64::from(i32::MAX) || day == i64::from(i32::MIN) {
        return NONE;
    }
    match day.checked_add(micros.div_euclid(MICROS_PER_DAY)) {
        Some(day) if (DATE_MIN..=DATE_MAX).contains(&day) => day,
        _ => NONE,
    }
}

extern "C" fn moment_add_micros(moment: i64, micros: i64) -> i64 {
    match moment.checked_add(micros) {
        Some(moved) if !is_infinite(moment) && !is_infinite(moved) => moved,
        _ => NONE,
    }
}

/// The address of the sum of a date or moment and an interval, `extern "C" fn(i64, i64) -> i64` with `NONE` where the
/// vectorised evaluator has to look.
pub(crate) fn moved(from: Type, by: Type) -> Option<usize> {
    type Function = extern "C" fn(i64, i64) -> i64;
    Some(match (from, by) {
        (Type::Date, Type::IntervalYearMonth) => date_add_months as Function as usize,
        (Type::Date, Type::IntervalDayTime) => date_add_micros as Function as usize,
        (Type::Timestamp | Type::TimestampTz, Type::IntervalDayTime) => {
            moment_add_micros as Function as usize
        }
        _ => return None,
    })
}

/// The product of two whole numbers of 128 bits, at `out`; not 0 where it does not fit.
extern "C" fn multiply_wide(a_low: u64, a_high: u64, b_low: u64, b_high: u64, out: &mut [u64; 2]) -> u64 {
    stored(joined(a_low, a_high).checked_mul(joined(b_low, b_high)), out)
}

/// The quotient of two decimals with `shift` more places, rounded as the vectorised evaluator rounds.
extern "C" fn divide_decimals(
    a_low: u64,
    a_high: u64,
    b_low: u64,
    b_high: u64,
    shift: i64,
    out: &mut [u64; 2],
) -> u64 {
    let divisor = joined(b_low, b_high);
    let shift = i32::try_from(shift).ok().filter(|_| divisor != 0);
    stored(shift.and_then(|shift| expr::divide_decimals(joined(a_low, a_high), divisor, shift)), out)
}

fn joined(low: u64, high: u64) -> i128 {
    (u128::from(high) << 64 | u128::from(low)) as i128
}

fn stored(value: Option<i128>, out: &mut [u64; 2]) -> u64 {
    let Some(value) = value else { return 1 };
    *out = [value as u64, ((value as u128) >> 64) as u64];
    0
}

/// The address of the product of 128-bit numbers, which takes halves and where to put the result's.
pub(crate) fn wide_product() -> usize {
    multiply_wide as extern "C" fn(u64, u64, u64, u64, &mut [u64; 2]) -> u64 as usize
}

/// The address of the quotient of decimals.
pub(crate) fn decimal_quotient() -> usize {
    divide_decimals as extern "C" fn(u64, u64, u64, u64, i64, &mut [u64; 2]) -> u64 as usize
}

/// How the function of that name becomes code for arguments of these types, if it does.
pub(crate) fn known(name: &str, types: &[Type], result: Type) -> Option<Known> {
    match types {
        [Type::Double] if result == Type::Double => of_double(name),
        [Type::Double, Type::Double] if result == Type::Double => {
            type Function = extern "C" fn(f64, f64) -> f64;
            Some(match name {
                "power" | "pow" => Known::CallOfTwo { address: power as Function as usize, partial: true },
                "atan2" => Known::CallOfTwo { address: atan2 as Function as usize, partial: false },
                _ => return None,
            })
        }
        [a, b] if *a == result && Kind::of(result) == Some(Kind::Whole) => match name {
            "&" | "|" | "#" if b == a && a.is_integer() => Some(Known::Bits(match name {
                "&" => Bits::And,
                "|" => Bits::Or,
                _ => Bits::Xor,
            })),
            "<<" | ">>" if a.is_plain_integer() && *b == Type::BigInt => {
                Some(Known::Bits(if name == "<<" { Bits::Left } else { Bits::Right }))
            }
            _ => None,
        },
        [a] if *a == result && a.is_plain_integer() && name == BITWISE_NOT => Some(Known::Bits(Bits::Not)),
        _ => None,
    }
}

fn of_double(name: &str) -> Option<Known> {
    type Function = extern "C" fn(f64) -> f64;
    let (function, partial): (Function, bool) = match name {
        "sqrt" => return Some(Known::SquareRoot),
        "floor" => return Some(Known::Round(Rounding::Down)),
        "ceil" | "ceiling" => return Some(Known::Round(Rounding::Up)),
        "round" => return Some(Known::Round(Rounding::NearestEven)),
        "exp" => (exp, true),
        "ln" => (ln, true),
        "log2" => (log2, true),
        "log10" => (log10, true),
        "sin" => (sin, true),
        "cos" => (cos, true),
        "tan" => (tan, true),
        "asin" => (asin, true),
        "acos" => (acos, true),
        "acosh" => (acosh, true),
        "atanh" => (atanh, true),
        "atan" => (atan, false),
        "sinh" => (sinh, false),
        "cosh" => (cosh, false),
        "tanh" => (tanh, false),
        "asinh" => (asinh, false),
        "cbrt" => (cbrt, false),
        "degrees" => (to_degrees, false),
        "radians" => (to_radians, false),
        _ => return None,
    };
    Some(Known::Call { address: function as usize, partial })
}
