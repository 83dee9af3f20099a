//! Aggregates of a list's elements: `list_sum(l)` and `list_aggregate(l, 'sum')`. NULL elements do not count, and of
//! no elements the result is NULL, but for `count`.
//!
//! `named` gives the function behind a name and an element's type; `nested` asks it while a plan is compiled. Sums
//! are in the type that the aggregate of a column would have, and overflow is its error.

use std::cmp::Ordering;

use arrow_buffer::NullBufferBuilder;
use types::datetime::MICROS_PER_DAY;
use types::interval::Interval;
use types::nested::encoding::{self, elements};
use types::nested::equality::Equality;
use types::{Error, Physical, Result, SqlState, Type, Value, cast, decimal, wide};
use vector::nested::PayloadBuilder;
use vector::{Data, Vector, VectorBuilder};

use super::fixed::{self, Fixed, by_width};
use super::gathered::joined_bits;
use super::list::equality;
use super::{Kernel, bytes, integers, text};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        // Bytes order as values do.
        "list_min" => |inputs, ty, rows| Ok(extreme(inputs, ty, rows, Ordering::Less)),
        "list_max" => |inputs, ty, rows| Ok(extreme(inputs, ty, rows, Ordering::Greater)),
        "list_any_value" => |inputs, ty, rows| Ok(pick(inputs, ty, rows, |mut s| s.find_map(|slot| slot))),
        "list_first" => |inputs, ty, rows| Ok(pick(inputs, ty, rows, |mut slots| slots.next().flatten())),
        "list_last" => |inputs, ty, rows| Ok(pick(inputs, ty, rows, |slots| slots.last().flatten())),
        "list_mode" => |inputs, ty, rows| {
            let equality = equality(&inputs[0]);
            Ok(pick(inputs, ty, rows, |slots| most_frequent(slots, equality)))
        },
        "list_count" => |inputs, _, rows| {
            let of = inputs[0].ty();
            Ok(integers(rows, |row| Some(present(of, bytes(&inputs[0], row)?))))
        },
        "list_sum" => sums,
        "list_avg" => |inputs, ty, rows| floats(inputs, ty, rows, |v| some(v, average)),
        "list_product" => |inputs, ty, rows| floats(inputs, ty, rows, |v| some(v, |v| v.iter().product())),
        "list_median" => |inputs, ty, rows| floats(inputs, ty, rows, |v| some(v, median)),
        "list_mad" => |inputs, ty, rows| {
            let element = inputs[0].ty().element().unwrap_or(Type::Null);
            match ty {
                Type::Double => floats(inputs, ty, rows, |v| some(v, float_deviation)),
                _ => fold(inputs, ty, rows, |values, ty| deviation(values, element, ty)),
            }
        },
        "list_var_samp" => |inputs, ty, rows| floats(inputs, ty, rows, |v| spread(v, true, false)),
        "list_var_pop" => |inputs, ty, rows| floats(inputs, ty, rows, |v| spread(v, false, false)),
        "list_stddev_samp" => |inputs, ty, rows| floats(inputs, ty, rows, |v| spread(v, true, true)),
        "list_stddev_pop" => |inputs, ty, rows| floats(inputs, ty, rows, |v| spread(v, false, true)),
        "list_sem" => |inputs, ty, rows| {
            floats(inputs, ty, rows, |v| some(v, |v| (central(v, 2) / v.len() as f64).sqrt()))
        },
        "list_skewness" => |inputs, ty, rows| floats(inputs, ty, rows, skewness),
        "list_kurtosis" => |inputs, ty, rows| floats(inputs, ty, rows, |v| kurtosis(v, true)),
        "list_kurtosis_pop" => |inputs, ty, rows| floats(inputs, ty, rows, |v| kurtosis(v, false)),
        "list_entropy" => entropy,
        "list_bit_and" => |inputs, ty, rows| bits(inputs, ty, rows, "AND", |a, b| a & b),
        "list_bit_or" => |inputs, ty, rows| bits(inputs, ty, rows, "OR", |a, b| a | b),
        "list_bit_xor" => |inputs, ty, rows| bits(inputs, ty, rows, "XOR", |a, b| a ^ b),
        "list_bool_and" => |inputs, ty, rows| {
            fold(inputs, ty, rows, |values, _| {
                Ok(truth(values, |v| v.iter().all(|b| b.as_bool() == Some(true))))
            })
        },
        "list_bool_or" => |inputs, ty, rows| {
            fold(inputs, ty, rows, |values, _| {
                Ok(truth(values, |v| v.iter().any(|b| b.as_bool() == Some(true))))
            })
        },
        "list_string_agg" => string_agg,
        _ => return None,
    })
}

/// The values that a list's elements have, as floats where they are numbers: decimals are scaled before.
fn float(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_i128().map(|v| v as f64)).unwrap_or(0.0)
}

fn pick(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    choose: impl for<'a> Fn(encoding::Slots<'a>) -> Option<&'a [u8]>,
) -> Vector {
    let mut builder = PayloadBuilder::new(ty);
    for row in 0..rows {
        builder.push(bytes(&inputs[0], row).and_then(|list| choose(elements(inputs[0].ty(), list))));
    }
    builder.finish()
}

/// The element that is `wanted` than all others; of equal ones no matter which.
fn extreme(inputs: &[Vector], ty: Type, rows: usize, wanted: Ordering) -> Vector {
    let of = inputs[0].ty();
    let mut builder = PayloadBuilder::new(ty);
    for row in 0..rows {
        let list = bytes(&inputs[0], row);
        builder.push(by_width!(
            of,
            list.and_then(|list| {
                let best = Fixed::<W>(list).flatten().reduce(|a, b| if b.cmp(a) == wanted { b } else { a });
                best.map(|payload| &payload[..])
            }),
            list.and_then(|list| {
                elements(of, list).flatten().reduce(|a, b| if b.cmp(a) == wanted { b } else { a })
            }),
        ));
    }
    builder.finish()
}

/// How many elements are not NULL.
fn present(list: Type, bytes: &[u8]) -> i64 {
    by_width!(list, Fixed::<W>(bytes).flatten().count(), elements(list, bytes).flatten().count()) as i64
}

/// What `of` makes of the floats of each list; decimals are scaled before.
fn floats(inputs: &[Vector], ty: Type, rows: usize, of: impl Fn(&[f64]) -> Option<f64>) -> Result<Vector> {
    let list = inputs[0].ty();
    let element = list.element().unwrap_or(Type::Null);
    let mut nulls = NullBufferBuilder::new(rows);
    let mut results = Vec::with_capacity(rows);
    let mut values = Vec::new();
    for row in 0..rows {
        let result = match bytes(&inputs[0], row) {
            Some(given) => {
                values.clear();
                if !fixed::push_floats(list, ty == Type::Double, given, &mut values) {
                    let slots = elements(list, given).flatten();
                    values.extend(slots.map(|payload| float(&encoding::value_of(payload, element))));
                }
                of(&values)
            }
            None => None,
        };
        nulls.append(result.is_some());
        results.push(result.unwrap_or(0.0));
    }
    let nulls = nulls.finish().filter(|nulls| nulls.null_count() > 0);
    Ok(Vector::new(ty, Data::F64(results.into()), nulls))
}

/// `list_sum`.
fn sums(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let list = inputs[0].ty();
    match list.element().unwrap_or(Type::Null).physical() {
        _ if ty == Type::Double => {
            floats(inputs, ty, rows, |values| some(values, |values| values.iter().sum::<f64>()))
        }
        // So many of 64 bits do not fit any memory as would leave 128 bits.
        Physical::I16 | Physical::I32 | Physical::I64 if !ty.is_float() => {
            let mut builder = VectorBuilder::new(ty, rows);
            for row in 0..rows {
                let (mut total, mut any) = (0i128, false);
                if let Some(given) = bytes(&inputs[0], row) {
                    fixed::each_integer(list, given, |value| {
                        total += value;
                        any = true;
                    });
                }
                builder.push(&if any { exact_sum(total, ty)? } else { Value::Null });
            }
            Ok(builder.finish())
        }
        _ => fold(inputs, ty, rows, sum),
    }
}

/// `list_bit_and` and its like: integers, or strings of bits; `verb` says in an error what was to be done.
fn bits(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    verb: &str,
    combine: impl Fn(i128, i128) -> i128,
) -> Result<Vector> {
    let list = inputs[0].ty();
    if !list.element().is_some_and(Type::is_plain_integer) || !ty.is_plain_integer() {
        return fold(inputs, ty, rows, |values, ty| bits_of(values, ty, verb, &combine));
    }
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let mut all = None;
        if let Some(given) = bytes(&inputs[0], row) {
            fixed::each_integer(list, given, |value| {
                all = Some(all.map_or(value, |all| combine(all, value)));
            });
        }
        builder.push(&match all {
            Some(all) => Value::of_integer(all, ty).ok_or_else(|| Error::out_of_range(&ty))?,
            None => Value::Null,
        });
    }
    Ok(builder.finish())
}

fn most_frequent(slots: encoding::Slots<'_>, equality: Equality) -> Option<&[u8]> {
    let mut counts: Vec<(&[u8], usize)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for slot in slots.flatten() {
        let place = *places.entry(equality.bytes(slot)).or_insert_with(|| {
            counts.push((slot, 0));
            counts.len() - 1
        });
        counts[place].1 += 1;
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(slot, _)| slot)
}

fn fold(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    combine: impl Fn(&[Value], Type) -> Result<Value>,
) -> Result<Vector> {
    let of = inputs[0].ty();
    let element = of.element().unwrap_or(Type::Null);
    let mut builder = VectorBuilder::new(ty, rows);
    let mut values = Vec::new();
    for row in 0..rows {
        let Some(list) = bytes(&inputs[0], row) else {
            builder.push_null();
            continue;
        };
        values.clear();
        values.extend(elements(of, list).flatten().map(|payload| encoding::value_of(payload, element)));
        if ty == Type::Double && element.is_decimal() {
            for value in &mut values {
                *value = cast::cast_value(value, element, Type::Double)?;
            }
        }
        builder.push(&combine(&values, ty)?);
    }
    Ok(builder.finish())
}

fn some(values: &[f64], of: impl Fn(&[f64]) -> f64) -> Option<f64> {
    (!values.is_empty()).then(|| of(values))
}

fn truth(values: &[Value], of: impl Fn(&[Value]) -> bool) -> Value {
    if values.is_empty() { Value::Null } else { Value::Bool(of(values)) }
}

/// Exact for exact numbers; the type is that of `sum`.
fn sum(values: &[Value], ty: Type) -> Result<Value> {
    if values.is_empty() {
        return Ok(Value::Null);
    }
    if ty.is_float() {
        let total: f64 = values.iter().map(float).sum();
        return Ok(if ty == Type::Real { Value::F32(total as f32) } else { Value::F64(total) });
    }
    let mut total = 0i128;
    for value in values {
        let next = value.as_i128().and_then(|v| total.checked_add(v));
        total = next.ok_or_else(|| Error::out_of_range(&ty))?;
    }
    exact_sum(total, ty)
}

fn exact_sum(total: i128, ty: Type) -> Result<Value> {
    let fits = match ty {
        Type::Decimal { precision, .. } => decimal::fits(total, precision),
        _ => true,
    };
    Value::of_integer(total, ty).filter(|_| fits).ok_or_else(|| Error::out_of_range(&ty))
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(values: &[f64]) -> f64 {
    let mut numbers = values.to_vec();
    let middle = numbers.len() / 2;
    let compare = |a: &f64, b: &f64| types::value::compare_f64(*a, *b);
    let (below, upper, _) = numbers.select_nth_unstable_by(middle, compare);
    let upper = *upper;
    match values.len() % 2 {
        0 => (below.iter().copied().max_by(compare).unwrap_or(upper) + upper) / 2.0,
        _ => upper,
    }
}

/// The median of the distances from the median.
fn float_deviation(values: &[f64]) -> f64 {
    let middle = median(values);
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<f64>>())
}

/// The median of the distances from the median, exact for what is no float. Of dates and times it is an interval.
fn deviation(values: &[Value], element: Type, ty: Type) -> Result<Value> {
    if values.is_empty() {
        return Ok(Value::Null);
    }
    if ty.is_float() {
        let distance = float_deviation(&values.iter().map(float).collect::<Vec<f64>>());
        return Ok(if ty == Type::Real { Value::F32(distance as f32) } else { Value::F64(distance) });
    }
    let beyond = || match ty {
        Type::Interval => Error::new(SqlState::DatetimeFieldOverflow, "interval out of range"),
        ty => Error::out_of_range(&ty),
    };
    let unit = if element == Type::Date { i128::from(MICROS_PER_DAY) } else { 1 };
    // Infinite moments have no distance.
    let infinite = |value: &Value| match (element, value.as_i128()) {
        (Type::Date, Some(day)) => day == i128::from(i32::MAX) || day == i128::from(i32::MIN),
        (Type::Timestamp | Type::TimestampTz, Some(at)) => {
            at == i128::from(i64::MAX) || at == i128::from(i64::MIN)
        }
        _ => false,
    };
    if values.iter().any(infinite) {
        return Err(beyond());
    }
    // Twice, and then four times, what it is, so that halves are whole.
    let twice = |mut numbers: Vec<i128>| {
        let (middle, odd) = (numbers.len() / 2, !numbers.len().is_multiple_of(2));
        let (below, upper, _) = numbers.select_nth_unstable(middle);
        let upper = *upper;
        let lower = if odd { upper } else { below.iter().copied().max().unwrap_or(upper) };
        lower.checked_add(upper)
    };
    let scaled = |value: &Value| value.as_i128().and_then(|v| v.checked_mul(unit));
    let result = values.iter().map(scaled).collect::<Option<Vec<i128>>>().and_then(|numbers| {
        let middle = twice(numbers.clone())?;
        let distances: Option<Vec<i128>> = numbers
            .into_iter()
            .map(|number| Some(number.checked_mul(2)?.checked_sub(middle)?.unsigned_abs() as i128))
            .collect();
        Some(twice(distances?)? / 4)
    });
    let result = result.ok_or_else(beyond)?;
    match ty {
        Type::Interval => {
            let micros = i64::try_from(result).map_err(|_| beyond())?;
            let packed = Interval::of_micros(micros).packed();
            packed.map(Value::I128).ok_or_else(beyond)
        }
        _ => Value::of_integer(result, ty).ok_or_else(beyond),
    }
}

fn spread(values: &[f64], sample: bool, root: bool) -> Option<f64> {
    let divisor = values.len() as f64 - f64::from(u8::from(sample));
    if divisor <= 0.0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / divisor;
    Some(if root { variance.sqrt() } else { variance })
}

/// The mean of a power of the distances from the mean.
fn central(values: &[f64], power: i32) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / count
}

/// The result is NULL for fewer than three values, or for equal ones.
fn skewness(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let variance = if values.len() > 2 { central(values, 2) } else { 0.0 };
    match variance > 0.0 {
        true => {
            let of_all = central(values, 3) / variance.powf(1.5);
            Some((count * (count - 1.0)).sqrt() / (count - 2.0) * of_all)
        }
        false => None,
    }
}

/// The excess kurtosis, for a sample corrected by its size.
fn kurtosis(values: &[f64], sample: bool) -> Option<f64> {
    let count = values.len() as f64;
    let least = if sample { 4 } else { 2 };
    let variance = if values.len() >= least { central(values, 2) } else { 0.0 };
    if variance <= 0.0 {
        return None;
    }
    let of_all = central(values, 4) / variance.powi(2);
    Some(match sample {
        true => {
            let corrected = (count + 1.0) * of_all - 3.0 * (count - 1.0);
            (count - 1.0) * corrected / ((count - 2.0) * (count - 3.0))
        }
        false => of_all - 3.0,
    })
}

/// In bits; of no elements 0.
fn entropy(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let Some(list) = bytes(&inputs[0], row) else {
            builder.push_null();
            continue;
        };
        let mut counts: std::collections::BTreeMap<&[u8], u64> = std::collections::BTreeMap::new();
        elements(inputs[0].ty(), list).flatten().for_each(|slot| *counts.entry(slot).or_default() += 1);
        let all = counts.values().sum::<u64>() as f64;
        let shares = counts.values().map(|count| *count as f64 / all);
        builder.push(&Value::F64(shares.map(|share| -share * share.log2()).sum::<f64>().abs()));
    }
    Ok(builder.finish())
}

/// The bits of a UHUGEINT.
fn unsigned(value: &Value) -> i128 {
    let number = wide::number(value);
    let digits = number.magnitude().iter_u64_digits();
    digits.take(2).enumerate().fold(0u128, |bits, (at, digit)| bits | u128::from(digit) << (64 * at)) as i128
}

fn bits_of(values: &[Value], ty: Type, verb: &str, combine: impl Fn(i128, i128) -> i128) -> Result<Value> {
    if ty.is_bits() {
        return joined_bits(values, verb, |a, b| combine(a.into(), b.into()) as u8);
    }
    if ty == Type::UHugeInt {
        let numbers = values.iter().filter(|value| !value.is_null()).map(unsigned);
        return match numbers.reduce(combine) {
            Some(bits) => wide::value_of(&(bits as u128).into(), ty),
            None => Ok(Value::Null),
        };
    }
    match values.iter().filter_map(Value::as_i128).reduce(combine) {
        Some(result) => Value::of_integer(result, ty).ok_or_else(|| Error::out_of_range(&ty)),
        None => Ok(Value::Null),
    }
}

fn string_agg(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let of = inputs[0].ty();
    let element = of.element().unwrap_or(Type::Null);
    let mut builder = VectorBuilder::new(Type::Text, rows);
    for row in 0..rows {
        let Some(list) = bytes(&inputs[0], row) else {
            builder.push_null();
            continue;
        };
        let separator = inputs.get(1).and_then(|v| text(v, row)).unwrap_or(",");
        let shown: Vec<String> = elements(of, list)
            .flatten()
            .map(|payload| cast::format_value(&encoding::value_of(payload, element), element))
            .collect();
        match shown.is_empty() {
            true => builder.push_null(),
            false => builder.push_bytes(shown.join(separator).as_bytes()),
        }
    }
    Ok(builder.finish())
}
