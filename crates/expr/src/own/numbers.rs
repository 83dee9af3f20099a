//! Functions of numbers and operators on bits.
//!
//! Each is a function of one row's values (`own` walks the batch). Functions that PostgreSQL has follow it: a result
//! that is not finite although the arguments are is an error (`finite`), and functions of degrees are exact at the
//! angles that have exact values. Results of integers that do not fit their type are errors, too.

use std::cmp::Ordering;

use plan::functions::{BITWISE_NOT, FLOAT_REMAINDER};
use types::datetime::is_infinite;
use types::{Physical, Result, SqlState, Type, Value};
use vector::Vector;

use super::declare::*;
use super::{Arguments, maps, refuse};
use crate::room::Room;

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    in_batches(
        |i, ty, rows, _| maps::bitwise(i, ty, rows, |x, y| x & y),
        internal("&", &[first(&[Takes::Integer, Takes::Integer])], |a| bitwise(a, |x, y| x & y)),
    ),
    in_batches(
        |i, ty, rows, _| maps::bitwise(i, ty, rows, |x, y| x | y),
        internal("|", &[first(&[Takes::Integer, Takes::Integer])], |a| bitwise(a, |x, y| x | y)),
    ),
    in_batches(
        |i, ty, rows, _| maps::bitwise(i, ty, rows, |x, y| x ^ y),
        internal("#", &[first(&[Takes::Integer, Takes::Integer])], |a| bitwise(a, |x, y| x ^ y)),
    ),
    internal("<<", &[first(&[Takes::Integer, BIG])], |a| shifted(a, true)),
    internal(">>", &[first(&[Takes::Integer, BIG])], |a| shifted(a, false)),
    internal(BITWISE_NOT, &[first(&[Takes::Integer])], inverted),
    // Halves go to the even neighbour, as PostgreSQL's do for floats.
    in_batches(
        |i, ty, rows, _| match i.len() {
            1 => maps::float(i, ty, rows, f64::round_ties_even),
            _ => maps::float_digits(i, ty, rows, |x, digits| places(x, digits, f64::round)),
        },
        own(
            "round",
            &[is(&[DOUBLE], Type::Double), is(&[DOUBLE, BIG], Type::Double)],
            page(
                "numeric",
                "round(number [, digits])",
                "The number rounded to that many digits behind the point; a DECIMAL's half goes away from zero.",
                "round(2.345, 2)",
                "2.35",
            ),
            |a| match a.len() {
                1 => Ok(Value::F64(a.float(0)?.round_ties_even())),
                _ => to_places(a, f64::round),
            },
        ),
    ),
    in_batches(
        |i, ty, rows, _| maps::float_digits(i, ty, rows, |x, digits| places(x, digits, f64::trunc)),
        own(
            "trunc",
            &[is(&[DOUBLE, BIG], Type::Double)],
            page(
                "numeric",
                "trunc(number [, digits])",
                "The number without the digits behind those given.",
                "trunc(-2.789, 1)",
                "-2.7",
            ),
            |a| to_places(a, f64::trunc),
        ),
    ),
    own(
        "factorial",
        &[is(&[BIG], Type::BigInt)],
        page(
            "numeric",
            "factorial(n)",
            "The product of the whole numbers from 1 to n.",
            "factorial(5)",
            "120",
        ),
        factorial,
    ),
    in_batches(
        bit_counts,
        own(
            "bit_count",
            &[
                is(&[Takes::Integer], Type::BigInt),
                is(&[BYTES], Type::BigInt),
                is(&[Takes::Is(Type::UHugeInt)], Type::BigInt),
            ],
            page("numeric", "bit_count(value)", "The number of bits that are 1.", "bit_count(7)", "3"),
            bit_count,
        ),
    ),
    own(
        "width_bucket",
        &[is(&[DOUBLE, DOUBLE, DOUBLE, BIG], Type::Integer)],
        page(
            "numeric",
            "width_bucket(number, low, high, count)",
            "The number of the part that a value lies in when low to high is cut into count equal parts; 0 and count + 1 are outside.",
            "width_bucket(5.35, 0.024, 10.06, 5)",
            "3",
        ),
        width_bucket,
    ),
    in_batches(
        |i, ty, rows, _| maps::float_digits(i, ty, rows, to_even),
        own(
            "round_even",
            &[is(&[DOUBLE, BIG], Type::Double)],
            page(
                "numeric",
                "round_even(number, digits)",
                "Rounded to that many digits behind the point; halves go to the even neighbour.",
                "round_even(24.5, 0)",
                "24",
            ),
            |a| Ok(Value::F64(to_even(a.float(0)?, a.integer(1)?))),
        ),
    ),
    own(
        "gamma",
        &[is(&[DOUBLE], Type::Double)],
        page(
            "numeric",
            "gamma(number)",
            "The gamma function, which is (n - 1)! at whole numbers.",
            "gamma(5)",
            "24",
        ),
        |a| finite(libm::tgamma(a.float(0)?), a),
    ),
    own(
        "lgamma",
        &[is(&[DOUBLE], Type::Double)],
        page(
            "numeric",
            "lgamma(number)",
            "The natural logarithm of the gamma function's size.",
            "round(lgamma(10), 3)",
            "12.802",
        ),
        |a| finite(libm::lgamma(a.float(0)?), a),
    ),
    in_batches(
        |i, ty, rows, _| maps::float(i, ty, rows, even),
        own(
            "even",
            &[is(&[DOUBLE], Type::Double)],
            page("numeric", "even(number)", "The next even whole number away from zero.", "even(2.9)", "4"),
            |a| Ok(Value::F64(even(a.float(0)?))),
        ),
    ),
    in_batches(
        |i, ty, rows, _| maps::float_pair(i, ty, rows, |x, y| (x / y).floor()),
        own(
            "fdiv",
            &[is(&[DOUBLE, DOUBLE], Type::Double)],
            page(
                "numeric",
                "fdiv(a, b)",
                "The greatest whole number not above the quotient.",
                "fdiv(-7, 2)",
                "-4",
            ),
            |a| divided(a, |x, y| (x / y).floor()),
        ),
    ),
    in_batches(
        |i, ty, rows, _| maps::float_remainder(i, ty, rows),
        internal(FLOAT_REMAINDER, &[is(&[DOUBLE, DOUBLE], Type::Double)], |a| match a.float(1)? {
            0.0 => Err(types::Error::division_by_zero()),
            divisor => Ok(Value::F64(a.float(0)? % divisor)),
        }),
    ),
    in_batches(
        |i, ty, rows, _| maps::float_pair(i, ty, rows, |x, y| x - y * (x / y).floor()),
        own(
            "fmod",
            &[is(&[DOUBLE, DOUBLE], Type::Double)],
            page(
                "numeric",
                "fmod(a, b)",
                "The remainder that belongs to fdiv, with the sign of b.",
                "fmod(-7, 2)",
                "1",
            ),
            |a| divided(a, |x, y| x - y * (x / y).floor()),
        ),
    ),
    own(
        "isfinite",
        &[
            is(&[DOUBLE], Type::Boolean),
            is(&[INTERVAL], Type::Boolean),
            is(&[DATE], Type::Boolean),
            is(&[STAMP], Type::Boolean),
            is(&[ZONED], Type::Boolean),
        ],
        page(
            "numeric",
            "isfinite(value)",
            "Whether a number or a moment is neither infinite nor NaN.",
            "isfinite('infinity'::double precision)",
            "false",
        ),
        |a| {
            Ok(Value::Bool(match (&a.values[0], a.types[0]) {
                (Value::I32(day), Type::Date) => !matches!(*day, i32::MAX | i32::MIN),
                (Value::I64(micros), Type::Timestamp | Type::TimestampTz) => !is_infinite(*micros),
                (value, _) => value.as_f64().is_none_or(f64::is_finite),
            }))
        },
    ),
    in_batches(
        |i, ty, rows, _| maps::float_test(i, ty, rows, f64::is_infinite),
        own(
            "isinf",
            &[is(&[DOUBLE], Type::Boolean)],
            page(
                "numeric",
                "isinf(number)",
                "Whether a floating-point number is infinite.",
                "isinf('infinity'::double precision)",
                "true",
            ),
            |a| Ok(Value::Bool(a.float(0)?.is_infinite())),
        ),
    ),
    in_batches(
        |i, ty, rows, _| maps::float_test(i, ty, rows, f64::is_sign_negative),
        own(
            "signbit",
            &[is(&[DOUBLE], Type::Boolean)],
            page(
                "numeric",
                "signbit(number)",
                "Whether the sign of a floating-point number is minus.",
                "signbit(-0.5)",
                "true",
            ),
            |a| Ok(Value::Bool(a.float(0)?.is_sign_negative())),
        ),
    ),
    own(
        "sind",
        &[is(&[DOUBLE], Type::Double)],
        page("numeric", "sind(angle)", "The sine of an angle in degrees.", "sind(30)", "0.5"),
        |a| {
            degrees(
                a,
                f64::sin,
                &[
                    (0.0, 0.0),
                    (30.0, 0.5),
                    (90.0, 1.0),
                    (150.0, 0.5),
                    (180.0, 0.0),
                    (210.0, -0.5),
                    (270.0, -1.0),
                    (330.0, -0.5),
                ],
            )
        },
    ),
    own(
        "cosd",
        &[is(&[DOUBLE], Type::Double)],
        page("numeric", "cosd(angle)", "The cosine of an angle in degrees.", "cosd(60)", "0.5"),
        |a| {
            degrees(
                a,
                f64::cos,
                &[
                    (0.0, 1.0),
                    (60.0, 0.5),
                    (90.0, 0.0),
                    (120.0, -0.5),
                    (180.0, -1.0),
                    (240.0, -0.5),
                    (270.0, 0.0),
                    (300.0, 0.5),
                ],
            )
        },
    ),
    own(
        "tand",
        &[is(&[DOUBLE], Type::Double)],
        page("numeric", "tand(angle)", "The tangent of an angle in degrees.", "tand(45)", "1"),
        |a| {
            degrees(
                a,
                f64::tan,
                &[
                    (0.0, 0.0),
                    (45.0, 1.0),
                    (90.0, f64::INFINITY),
                    (135.0, -1.0),
                    (180.0, 0.0),
                    (225.0, 1.0),
                    (270.0, f64::NEG_INFINITY),
                    (315.0, -1.0),
                ],
            )
        },
    ),
    own(
        "cotd",
        &[is(&[DOUBLE], Type::Double)],
        page("numeric", "cotd(angle)", "The cotangent of an angle in degrees.", "cotd(45)", "1"),
        |a| {
            degrees(
                a,
                |x| 1.0 / x.tan(),
                &[
                    (0.0, f64::INFINITY),
                    (45.0, 1.0),
                    (90.0, 0.0),
                    (135.0, -1.0),
                    (180.0, f64::NEG_INFINITY),
                    (225.0, 1.0),
                    (270.0, 0.0),
                    (315.0, -1.0),
                ],
            )
        },
    ),
    own(
        "asind",
        &[is(&[DOUBLE], Type::Double)],
        page("numeric", "asind(number)", "The angle, in degrees, whose sine this is.", "asind(0.5)", "30"),
        |a| arc(a, f64::asin, &[(0.0, 0.0), (0.5, 30.0), (1.0, 90.0), (-0.5, -30.0), (-1.0, -90.0)]),
    ),
    own(
        "acosd",
        &[is(&[DOUBLE], Type::Double)],
        page("numeric", "acosd(number)", "The angle, in degrees, whose cosine this is.", "acosd(0.5)", "60"),
        |a| arc(a, f64::acos, &[(1.0, 0.0), (0.5, 60.0), (0.0, 90.0), (-0.5, 120.0), (-1.0, 180.0)]),
    ),
    own(
        "atand",
        &[is(&[DOUBLE], Type::Double)],
        page("numeric", "atand(number)", "The angle, in degrees, whose tangent this is.", "atand(1)", "45"),
        |a| Ok(Value::F64(whole_degrees(a.float(0)?.atan()))),
    ),
    own(
        "atan2d",
        &[is(&[DOUBLE, DOUBLE], Type::Double)],
        page("numeric", "atan2d(y, x)", "The angle, in degrees, of the point (x, y).", "atan2d(1, 1)", "45"),
        |a| Ok(Value::F64(whole_degrees(a.float(0)?.atan2(a.float(1)?)))),
    ),
    own(
        "nextafter",
        &[
            is(&[Takes::Is(Type::Real), Takes::Is(Type::Real)], Type::Real),
            is(&[DOUBLE, DOUBLE], Type::Double),
        ],
        page(
            "numeric",
            "nextafter(from, to)",
            "The next number that a float can hold, from the one towards the other.",
            "nextafter(1.0::DOUBLE, 2.0::DOUBLE) > 1.0",
            "true",
        ),
        |a| {
            let (from, to) = (a.float(0)?, a.float(1)?);
            Ok(match a.values.first() {
                Some(Value::F32(from)) => Value::F32(match f64::from(*from).partial_cmp(&to) {
                    None => f32::NAN,
                    Some(Ordering::Less) => from.next_up(),
                    Some(Ordering::Greater) => from.next_down(),
                    Some(Ordering::Equal) => to as f32,
                }),
                _ => Value::F64(match from.partial_cmp(&to) {
                    None => f64::NAN,
                    Some(Ordering::Less) => from.next_up(),
                    Some(Ordering::Greater) => from.next_down(),
                    Some(Ordering::Equal) => to,
                }),
            })
        },
    ),
    own(
        "scale",
        &[is(&[Takes::Number], Type::Integer)],
        page(
            "numeric",
            "scale(number)",
            "The number of digits behind the point of an exact number.",
            "scale(8.4100)",
            "4",
        ),
        |a| Ok(Value::I32(i32::from(a.types[0].scale()))),
    ),
];

fn out_of_range(a: &Arguments<'_>) -> types::Error {
    types::Error::out_of_range(&a.ty)
}

fn fitted(a: &Arguments<'_>, value: i128) -> Result<Value> {
    Value::of_integer(value, a.ty).ok_or_else(|| out_of_range(a))
}

fn bitwise(a: &Arguments<'_>, apply: fn(i128, i128) -> i128) -> Result<Value> {
    fitted(a, apply(a.whole(0)?, a.whole(1)?))
}

/// Every bit of the type turned; of an unsigned type those that it has.
fn inverted(a: &Arguments<'_>) -> Result<Value> {
    let value = a.whole(0)?;
    fitted(
        a,
        match a.ty.integer_range() {
            Some((0, high)) => high - value,
            _ => !value,
        },
    )
}

/// Within the width of the type; as many places as the width holds are none, as on the processors PostgreSQL runs on.
fn shifted(a: &Arguments<'_>, left: bool) -> Result<Value> {
    if a.ty.is_ranged_integer() {
        let (value, places) = (a.whole(0)?, u32::try_from(a.whole(1)?).map_err(|_| out_of_range(a))?);
        let shifted = match left {
            true => 1i128.checked_shl(places.min(127)).and_then(|unit| value.checked_mul(unit)),
            false => Some(value >> places.min(127)),
        };
        return fitted(a, shifted.ok_or_else(|| out_of_range(a))?);
    }
    let (value, places) = (a.integer(0)?, a.integer(1)? as u32);
    Ok(match a.ty {
        // Shifted as an INTEGER, then cut.
        Type::SmallInt => {
            let wide = value as i32;
            Value::I16(if left { wide.wrapping_shl(places) } else { wide.wrapping_shr(places) } as i16)
        }
        Type::Integer => {
            let value = value as i32;
            Value::I32(if left { value.wrapping_shl(places) } else { value.wrapping_shr(places) })
        }
        _ => Value::I64(if left { value.wrapping_shl(places) } else { value.wrapping_shr(places) }),
    })
}

/// What came of finite numbers must be one; infinity and NaN may give what they like.
fn finite(value: f64, a: &Arguments<'_>) -> Result<Value> {
    if value.is_finite() || !a.float(0)?.is_finite() {
        return Ok(Value::F64(value));
    }
    Err(refuse(SqlState::NumericValueOutOfRange, "value out of range: it has no finite result"))
}

/// A float to digits behind the point, or, of a negative number of them, before it. Beyond what a float has digits
/// for, it is as round as it was, or 0.
fn places(number: f64, digits: i64, whole: fn(f64) -> f64) -> f64 {
    let digits = digits.clamp(-400, 400) as i32;
    let scale = 10f64.powi(digits.abs());
    let rounded = if digits < 0 { whole(number / scale) * scale } else { whole(number * scale) / scale };
    match (number.is_finite(), rounded.is_finite()) {
        (true, false) if digits < 0 => 0.0,
        (true, false) => number,
        _ => rounded,
    }
}

fn to_places(a: &Arguments<'_>, whole: fn(f64) -> f64) -> Result<Value> {
    Ok(Value::F64(places(a.float(0)?, a.integer(1)?, whole)))
}

/// `round_even(number, digits)`: halves go to the even neighbour.
fn to_even(number: f64, digits: i64) -> f64 {
    let digits = digits.clamp(-400, 400) as i32;
    let scale = 10f64.powi(digits.abs());
    let rounded = match digits {
        0.. => (number * scale).round_ties_even() / scale,
        _ => (number / scale).round_ties_even() * scale,
    };
    // Beyond what a float has digits for, it is as round as it was.
    match digits {
        0.. if !rounded.is_finite() => number,
        _ if rounded.is_nan() => 0.0,
        _ => rounded,
    }
}

fn factorial(a: &Arguments<'_>) -> Result<Value> {
    let n = a.integer(0)?;
    if n < 0 {
        return Err(refuse(SqlState::NumericValueOutOfRange, "factorial of a negative number is undefined"));
    }
    let product = (1..=n.min(21)).try_fold(1i64, i64::checked_mul).filter(|_| n < 21);
    product.map(Value::I64).ok_or_else(|| out_of_range(a))
}

fn bit_count(a: &Arguments<'_>) -> Result<Value> {
    if a.types[0] == Type::UHugeInt {
        let ones = types::wide::number(&a.values[0]).magnitude().count_ones();
        return Ok(Value::I64(i64::try_from(ones).unwrap_or(i64::MAX)));
    }
    let count = match a.values[0].as_bytes() {
        Some(bytes) => bytes.iter().map(|b| u64::from(b.count_ones())).sum(),
        // A negative number has as many bits as its type.
        None => u64::from(match a.types[0] {
            Type::TinyInt => (a.integer(0)? as i8).count_ones(),
            Type::SmallInt => (a.integer(0)? as i16).count_ones(),
            Type::Integer => (a.integer(0)? as i32).count_ones(),
            Type::HugeInt | Type::UBigInt => a.whole(0)?.count_ones(),
            _ => a.integer(0)?.count_ones(),
        }),
    };
    Ok(Value::I64(count as i64))
}

fn width_bucket(a: &Arguments<'_>) -> Result<Value> {
    let wrong = |message: &str| refuse(SqlState::InvalidWidthBucketArgument, message);
    let (value, low, high, count) = (a.float(0)?, a.float(1)?, a.float(2)?, a.integer(3)?);
    let count = i32::try_from(count).ok().filter(|c| *c > 0);
    let Some(count) = count else { return Err(wrong("count must be greater than zero")) };
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return Err(wrong("operand, lower bound, and upper bound cannot be NaN"));
    }
    if !low.is_finite() || !high.is_finite() {
        return Err(wrong("lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(wrong("lower bound cannot equal upper bound"));
    }
    let part = if low < high { (value - low) / (high - low) } else { (low - value) / (low - high) };
    let inside = |part: f64| ((part * f64::from(count)).floor() as i32).min(count - 1) + 1;
    Ok(Value::I32(if part < 0.0 {
        0
    } else if part >= 1.0 {
        count.checked_add(1).ok_or_else(|| out_of_range(a))?
    } else {
        inside(part)
    }))
}

/// The next even number away from zero.
fn even(value: f64) -> f64 {
    let away = if value < 0.0 { value.floor() } else { value.ceil() };
    if away % 2.0 == 0.0 { away } else { away + if value < 0.0 { -1.0 } else { 1.0 } }
}

fn divided(a: &Arguments<'_>, apply: fn(f64, f64) -> f64) -> Result<Value> {
    Ok(Value::F64(apply(a.float(0)?, a.float(1)?)))
}

/// A function of an angle in degrees; exact where the value is a round number.
fn degrees(a: &Arguments<'_>, apply: fn(f64) -> f64, exact: &[(f64, f64)]) -> Result<Value> {
    let angle = a.float(0)?;
    if angle.is_infinite() {
        return Err(refuse(SqlState::NumericValueOutOfRange, "input is out of range"));
    }
    let turned = angle.rem_euclid(360.0);
    let known = exact.iter().find(|(at, _)| *at == turned);
    Ok(Value::F64(known.map_or_else(|| apply(turned.to_radians()), |(_, value)| *value)))
}

/// The angle, in degrees, at which a function has a value.
fn arc(a: &Arguments<'_>, apply: fn(f64) -> f64, exact: &[(f64, f64)]) -> Result<Value> {
    let value = a.float(0)?;
    if value.abs() > 1.0 {
        return Err(refuse(SqlState::NumericValueOutOfRange, "input is out of range"));
    }
    let known = exact.iter().find(|(at, _)| *at == value);
    Ok(Value::F64(known.map_or_else(|| apply(value).to_degrees(), |(_, angle)| *angle)))
}

/// Degrees, without the last digits' noise where they are as good as whole.
fn whole_degrees(angle: f64) -> f64 {
    let degrees = angle.to_degrees();
    let whole = degrees.round();
    if whole != 0.0 && (degrees - whole).abs() < 1e-13 { whole } else { degrees }
}

/// `bit_count` of integers: a negative number has as many bits as its type.
fn bit_counts(inputs: &[Vector], ty: Type, rows: usize, _: Room<'_>) -> maps::Made {
    let of = inputs.first()?.ty();
    match of.physical() {
        Physical::I16 if of == Type::SmallInt => {
            maps::one(inputs, Physical::I16, ty, rows, |x: i16| Some(i64::from(x.count_ones())))
        }
        Physical::I32 if of == Type::Integer => {
            maps::one(inputs, Physical::I32, ty, rows, |x: i32| Some(i64::from(x.count_ones())))
        }
        Physical::I64 => maps::one(inputs, Physical::I64, ty, rows, |x: i64| Some(i64::from(x.count_ones()))),
        _ => None,
    }
}
