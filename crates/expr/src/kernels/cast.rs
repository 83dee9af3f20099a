//! Casts. `types::cast::cast_value` is the definition; here are loops for the pairs that matter, and the definition
//! row by row for the rest. A loop that meets a value it cannot vouch for gives up, and the row-by-row way finds the
//! error and its words.

use std::borrow::Cow;

use arrow_buffer::NullBuffer;
use types::datetime::{MICROS_PER_DAY, is_infinite};
use types::{Physical, Result, Type, Value, cast as scalar, decimal};
use vector::{Data, StringBuilder, Vector, VectorBuilder};

use super::text;
use crate::operand::{Native, Operand, Whole, any_valid, boolean_bits, map, map_flagged, test};

/// `input` is flat, or constant NULL.
pub(crate) fn cast(input: &Vector, to: Type, lenient: bool) -> Result<Vector> {
    let from = input.ty();
    if from == Type::Null || matches!(input.data(), Data::Constant(Value::Null)) {
        return Ok(Vector::constant(to, Value::Null, input.len()));
    }
    if from == to {
        return Ok(input.clone());
    }
    if matches!(from, Type::Enum(_)) && to == Type::Text {
        return Ok(vector::labels::as_text(input).flatten());
    }
    match fast(input, from, to) {
        Some(vector) => Ok(vector),
        None => row_by_row(input, from, to, lenient),
    }
}

/// `None`: no loop for this pair, or a value that may not fit.
fn fast(input: &Vector, from: Type, to: Type) -> Option<Vector> {
    let exact = |t: Type| t.is_integer() || t.is_decimal();
    let rows = input.len();
    let nulls = input.validity();
    let data = if exact(from) && exact(to) {
        match from.physical() {
            Physical::I16 => between_exact::<i16>(input, from, to)?,
            Physical::I32 => between_exact::<i32>(input, from, to)?,
            Physical::I64 => between_exact::<i64>(input, from, to)?,
            _ => between_exact::<i128>(input, from, to)?,
        }
    } else if exact(from) && to.is_float() {
        let doubles = match from.physical() {
            Physical::I16 => to_double(&i16::operand(input), from.scale(), rows),
            Physical::I32 => to_double(&i32::operand(input), from.scale(), rows),
            Physical::I64 => to_double(&i64::operand(input), from.scale(), rows),
            _ => to_double(&i128::operand(input), from.scale(), rows),
        };
        match to {
            Type::Real => Data::F32(doubles.into_iter().map(|v| v as f32).collect::<Vec<_>>().into()),
            _ => Data::F64(doubles.into()),
        }
    } else {
        match (from, to) {
            (Type::Real, Type::Double) => Data::F64(map(&f32::operand(input), rows, f64::from).into()),
            (Type::Double, Type::Real) => {
                let source = f64::operand(input);
                let narrow = |v: f64| (v as f32, v.is_finite() & (v as f32).is_infinite());
                let (values, flagged) = map_flagged(&source, rows, narrow);
                if flagged && any_valid(nulls, rows, |row| narrow(source.at(row)).1) {
                    return None;
                }
                Data::F32(values.into())
            }
            (f, t) if f.is_float() && t.is_plain_integer() => {
                let source = match f {
                    Type::Real => map(&f32::operand(input), rows, f64::from),
                    _ => map(&f64::operand(input), rows, |v| v),
                };
                match t {
                    Type::SmallInt => Data::I16(float_to::<i16>(&source, nulls, 32768.0)?.into()),
                    Type::Integer => Data::I32(float_to::<i32>(&source, nulls, 2_147_483_648.0)?.into()),
                    _ => Data::I64(float_to::<i64>(&source, nulls, 9_223_372_036_854_775_808.0)?.into()),
                }
            }
            (Type::Boolean, t) if t.is_plain_integer() => {
                let bits = boolean_bits(input);
                match t {
                    Type::SmallInt => Data::I16(bits.iter().map(i16::from).collect::<Vec<_>>().into()),
                    Type::Integer => Data::I32(bits.iter().map(i32::from).collect::<Vec<_>>().into()),
                    _ => Data::I64(bits.iter().map(i64::from).collect::<Vec<_>>().into()),
                }
            }
            (f, Type::Boolean) if f.is_plain_integer() => Data::Bool(match f {
                Type::SmallInt => test(&i16::operand(input), rows, |v| v != 0),
                Type::Integer => test(&i32::operand(input), rows, |v| v != 0),
                _ => test(&i64::operand(input), rows, |v| v != 0),
            }),
            (Type::Date, Type::Timestamp | Type::TimestampTz) => midnights(input, rows)?,
            (Type::Timestamp | Type::TimestampTz, Type::Date) => {
                let day = |v: i64| (v.div_euclid(MICROS_PER_DAY) as i32, is_infinite(v));
                let (values, infinite) = map_flagged(&i64::operand(input), rows, day);
                if infinite {
                    return None;
                }
                Data::I32(values.into())
            }
            (Type::Timestamp | Type::TimestampTz, Type::Time) => {
                let time = |v: i64| (v.rem_euclid(MICROS_PER_DAY), is_infinite(v));
                let (values, infinite) = map_flagged(&i64::operand(input), rows, time);
                if infinite {
                    return None;
                }
                Data::I64(values.into())
            }
            (Type::IntervalDayTime, Type::Time) => {
                Data::I64(map(&i64::operand(input), rows, |v| v.rem_euclid(MICROS_PER_DAY)).into())
            }
            (Type::Timestamp, Type::TimestampTz)
            | (Type::TimestampTz, Type::Timestamp)
            | (Type::Time, Type::IntervalDayTime) => input.data().clone(),
            (Type::SmallInt, Type::Text) => digits(&i16::operand(input), rows),
            (Type::Integer, Type::Text) => digits(&i32::operand(input), rows),
            (Type::BigInt, Type::Text) => digits(&i64::operand(input), rows),
            (f, t) if f.is_text() && t.is_text() && (!t.is_json() || f == t) => {
                return Some(text::truncate(input, t));
            }
            _ => return None,
        }
    };
    Some(Vector::new(to, data, input.validity().cloned()))
}

/// The moments at which days begin; `None` where one may be out of range.
fn midnights(input: &Vector, rows: usize) -> Option<Data> {
    let days = i32::operand(input);
    let (values, flagged) = map_flagged(&days, rows, |day| i64::from(day).overflowing_mul(MICROS_PER_DAY));
    let wraps = |row: usize| i64::from(days.at(row)).checked_mul(MICROS_PER_DAY).is_none();
    (!flagged || !any_valid(input.validity(), rows, wraps)).then(|| Data::I64(values.into()))
}

/// Integers in decimal digits, each at most twenty of them with its sign.
fn digits<T: Native + Into<i64>>(source: &Operand<'_, T>, rows: usize) -> Data {
    let mut out = StringBuilder::with_capacity(rows);
    let mut written = [0u8; 20];
    for row in 0..rows {
        let value: i64 = source.at(row).into();
        let (mut rest, mut at) = (value.unsigned_abs(), written.len());
        while rest > 0 || at == written.len() {
            at -= 1;
            written[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        if value < 0 {
            at -= 1;
            written[at] = b'-';
        }
        out.push(&written[at..]);
    }
    Data::Bytes(out.finish())
}

fn between_exact<T: Whole>(input: &Vector, from: Type, to: Type) -> Option<Data> {
    let source = T::operand(input);
    let nulls = input.validity();
    Some(match to.physical() {
        Physical::I16 => i16::data(rescaled(&source, from, to, nulls, input.len())?),
        Physical::I32 => i32::data(rescaled(&source, from, to, nulls, input.len())?),
        Physical::I64 => i64::data(rescaled(&source, from, to, nulls, input.len())?),
        _ => i128::data(rescaled(&source, from, to, nulls, input.len())?),
    })
}

/// The largest magnitude of an exact type; an integer's smallest value is one beyond and left to the slow way,
/// unless the source is no wider.
fn largest(ty: Type) -> i128 {
    match ty {
        Type::Decimal { precision, .. } => decimal::power_of_ten(precision) - 1,
        _ => scalar::physical_range(ty.physical()).map_or(i128::MAX, |(_, max)| max),
    }
}

fn rescaled<T: Whole, R: Whole>(
    source: &Operand<'_, T>,
    from: Type,
    to: Type,
    nulls: Option<&NullBuffer>,
    rows: usize,
) -> Option<Vec<R>> {
    let (from_scale, to_scale) = (from.scale(), to.scale());
    let max = largest(to);
    if to.is_ranged_integer() && from_scale != to_scale {
        return None;
    }
    if from_scale == to_scale {
        // A wider integer needs no look at the values.
        if to.holds_integers_of(from) {
            return Some(map(source, rows, |v| R::narrow(v.widen())));
        }
        if to.is_ranged_integer() {
            let (low, high) = to.integer_range()?;
            let beyond = |v: T| v.widen() < low || v.widen() > high;
            if any_valid(nulls, rows, |row| beyond(source.at(row))) {
                return None;
            }
            return Some(map(source, rows, |v| R::narrow(v.widen())));
        }
        if source.magnitude_bits() < 127 - max.leading_zeros() {
            return Some(map(source, rows, |v| R::narrow(v.widen())));
        }
        let beyond = |v: T| (v.widen() > max) | (v.widen() < -max);
        if any_valid(nulls, rows, |row| beyond(source.at(row))) {
            return None;
        }
        return Some(map(source, rows, |v| R::narrow(v.widen())));
    }
    if from_scale < to_scale {
        let factor = decimal::power_of_ten(to_scale - from_scale);
        // |value| <= 2^bits and factor < 2^(its bits), so this bounds the product below the largest.
        let bits = source.magnitude_bits() + 128 - factor.leading_zeros();
        if bits < 127 - max.leading_zeros() {
            return Some(map(source, rows, |v| R::narrow(v.widen().wrapping_mul(factor))));
        }
        return None;
    }
    let divisor = decimal::power_of_ten(from_scale - to_scale);
    // Room for half the divisor: 2^61 + 10^18 / 2 is below 2^63.
    if source.magnitude_bits() < 62
        && let Ok(divisor) = i64::try_from(divisor)
    {
        let half = divisor / 2;
        let (values, flagged) = map_flagged(source, rows, |v| {
            // Half the divisor away from zero, then truncated: rounds half away from zero.
            let value = i64::narrow(v.widen());
            let away = if value < 0 { -half } else { half };
            let rounded = i128::from(value.wrapping_add(away) / divisor);
            (R::narrow(rounded), (rounded > max) | (rounded < -max))
        });
        return (!flagged).then_some(values);
    }
    None
}

fn to_double<T: Whole>(source: &Operand<'_, T>, scale: u8, rows: usize) -> Vec<f64> {
    if source.magnitude_bits() < 53 && scale <= 22 {
        // Below 2^53 a 64-bit conversion is exact, and one division rounds once.
        let divisor = decimal::power_of_ten(scale) as f64;
        if scale == 0 {
            return map(source, rows, |v| i64::narrow(v.widen()) as f64);
        }
        return map(source, rows, |v| i64::narrow(v.widen()) as f64 / divisor);
    }
    if scale == 0 {
        return map(source, rows, |v| v.widen() as f64);
    }
    map(source, rows, |v| scalar::decimal_to_f64(v.widen(), scale))
}

/// Rounds to the nearest integer, halves to even; `None` when a valid row lies outside ±`limit`.
fn float_to<T: Whole>(source: &[f64], nulls: Option<&NullBuffer>, limit: f64) -> Option<Vec<T>> {
    let outside = |v: f64| !((v.round_ties_even() >= -limit) & (v.round_ties_even() < limit));
    let flagged = source.iter().fold(false, |flagged, v| flagged | outside(*v));
    if flagged && any_valid(nulls, source.len(), |row| outside(source[row])) {
        return None;
    }
    Some(source.iter().map(|v| T::narrow(i128::from(v.round_ties_even() as i64))).collect())
}

/// The definition, a row at a time. Lenient casts turn errors into NULL.
fn row_by_row(input: &Vector, from: Type, to: Type, lenient: bool) -> Result<Vector> {
    let rows = input.len();
    let mut builder = VectorBuilder::new(to, rows);
    for row in 0..rows {
        if input.is_null(row) {
            builder.push_null();
            continue;
        }
        let result = match input.data() {
            // What does not fit inside a list, struct or map is NULL there.
            _ if lenient && to.is_nested() => scalar::try_cast_value(&input.value(row), from, to),
            Data::Bytes(strings) if from.is_text() && !from.is_json() && !to.is_json() => {
                let text: Cow<'_, str> = String::from_utf8_lossy(strings.get(row));
                scalar::read_text(&text, to)
            }
            _ if to.is_text() && !to.is_json() => {
                let text = scalar::format_value(&input.value(row), from);
                builder.push_bytes(scalar::truncate_text(&text, to).as_bytes());
                continue;
            }
            _ => scalar::cast_value(&input.value(row), from, to),
        };
        match result {
            Ok(value) => builder.push(&value),
            Err(_) if lenient => builder.push_null(),
            Err(error) => return Err(error),
        }
    }
    let vector = builder.finish();
    let validity = vector.validity().filter(|v| v.null_count() > 0).cloned();
    Ok(vector.with_validity(validity))
}
