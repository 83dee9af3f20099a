//! Aggregates of a list's elements: `list_sum(l)` and `list_aggregate(l, 'sum')`. NULL elements do not count, and of
//! no elements the result is NULL, but for `count`.

use types::datetime::MICROS_PER_DAY;
use types::interval::Interval;
use types::nested::encoding::{self, elements};
use types::{Error, Result, SqlState, Type, Value, cast, decimal};
use vector::nested::PayloadBuilder;
use vector::{Vector, VectorBuilder};

use super::gathered::joined_bits;
use super::{Kernel, bytes, text};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "list_min" => |inputs, ty, rows| Ok(pick(inputs, ty, rows, |slots| slots.flatten().min())),
        "list_max" => |inputs, ty, rows| Ok(pick(inputs, ty, rows, |slots| slots.flatten().max())),
        "list_any_value" => |inputs, ty, rows| Ok(pick(inputs, ty, rows, |mut s| s.find_map(|slot| slot))),
        "list_first" => |inputs, ty, rows| Ok(pick(inputs, ty, rows, |mut slots| slots.next().flatten())),
        "list_last" => |inputs, ty, rows| Ok(pick(inputs, ty, rows, |slots| slots.last().flatten())),
        "list_mode" => |inputs, ty, rows| Ok(pick(inputs, ty, rows, most_frequent)),
        "list_count" => {
            |inputs, ty, rows| fold(inputs, ty, rows, |values, _| Ok(Value::I64(values.len() as i64)))
        }
        "list_sum" => |inputs, ty, rows| fold(inputs, ty, rows, sum),
        "list_avg" => |inputs, ty, rows| fold(inputs, ty, rows, |values, _| Ok(average(values))),
        "list_product" => |inputs, ty, rows| {
            fold(inputs, ty, rows, |values, _| Ok(some(values, |v| v.iter().map(float).product())))
        },
        "list_median" => |inputs, ty, rows| fold(inputs, ty, rows, |values, _| Ok(some(values, median))),
        "list_mad" => |inputs, ty, rows| {
            let element = inputs[0].ty().element().unwrap_or(Type::Null);
            fold(inputs, ty, rows, |values, ty| deviation(values, element, ty))
        },
        "list_var_samp" => |inputs, ty, rows| fold(inputs, ty, rows, |v, _| Ok(spread(v, true, false))),
        "list_var_pop" => |inputs, ty, rows| fold(inputs, ty, rows, |v, _| Ok(spread(v, false, false))),
        "list_stddev_samp" => |inputs, ty, rows| fold(inputs, ty, rows, |v, _| Ok(spread(v, true, true))),
        "list_stddev_pop" => |inputs, ty, rows| fold(inputs, ty, rows, |v, _| Ok(spread(v, false, true))),
        "list_sem" => |inputs, ty, rows| {
            fold(inputs, ty, rows, |values, _| Ok(some(values, |v| (central(v, 2) / v.len() as f64).sqrt())))
        },
        "list_skewness" => |inputs, ty, rows| fold(inputs, ty, rows, |values, _| Ok(skewness(values))),
        "list_kurtosis" => |inputs, ty, rows| fold(inputs, ty, rows, |values, _| Ok(kurtosis(values, true))),
        "list_kurtosis_pop" => {
            |inputs, ty, rows| fold(inputs, ty, rows, |values, _| Ok(kurtosis(values, false)))
        }
        "list_entropy" => entropy,
        "list_bit_and" => |inputs, ty, rows| fold(inputs, ty, rows, |v, ty| bits(v, ty, "AND", |a, b| a & b)),
        "list_bit_or" => |inputs, ty, rows| fold(inputs, ty, rows, |v, ty| bits(v, ty, "OR", |a, b| a | b)),
        "list_bit_xor" => |inputs, ty, rows| fold(inputs, ty, rows, |v, ty| bits(v, ty, "XOR", |a, b| a ^ b)),
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

fn most_frequent(slots: encoding::Slots<'_>) -> Option<&[u8]> {
    let mut counts: Vec<(&[u8], usize)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for slot in slots.flatten() {
        let place = *places.entry(slot).or_insert_with(|| {
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

fn some(values: &[Value], of: impl Fn(&[Value]) -> f64) -> Value {
    if values.is_empty() { Value::Null } else { Value::F64(of(values)) }
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
    let fits = match ty {
        Type::Decimal { precision, .. } => decimal::fits(total, precision),
        _ => true,
    };
    Value::of_integer(total, ty).filter(|_| fits).ok_or_else(|| Error::out_of_range(&ty))
}

fn average(values: &[Value]) -> Value {
    some(values, |values| values.iter().map(float).sum::<f64>() / values.len() as f64)
}

fn median(values: &[Value]) -> f64 {
    let mut numbers: Vec<f64> = values.iter().map(float).collect();
    numbers.sort_by(|a, b| types::value::compare_f64(*a, *b));
    let middle = numbers.len() / 2;
    match numbers.len() % 2 {
        0 => (numbers[middle - 1] + numbers[middle]) / 2.0,
        _ => numbers[middle],
    }
}

/// The median of the distances from the median, exact for what is no float. Of dates and times it is an interval.
fn deviation(values: &[Value], element: Type, ty: Type) -> Result<Value> {
    if values.is_empty() {
        return Ok(Value::Null);
    }
    if ty.is_float() {
        let middle = median(values);
        let distances: Vec<Value> =
            values.iter().map(|value| Value::F64((float(value) - middle).abs())).collect();
        let distance = median(&distances);
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
        numbers.sort_unstable();
        let middle = numbers.len() / 2;
        let other = if numbers.len().is_multiple_of(2) { middle - 1 } else { middle };
        numbers[other].checked_add(numbers[middle])
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

fn spread(values: &[Value], sample: bool, root: bool) -> Value {
    let divisor = values.len() as f64 - f64::from(u8::from(sample));
    if divisor <= 0.0 {
        return Value::Null;
    }
    let mean = values.iter().map(float).sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (float(v) - mean).powi(2)).sum::<f64>() / divisor;
    Value::F64(if root { variance.sqrt() } else { variance })
}

/// The mean of a power of the distances from the mean.
fn central(values: &[Value], power: i32) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().map(float).sum::<f64>() / count;
    values.iter().map(|value| (float(value) - mean).powi(power)).sum::<f64>() / count
}

/// The result is NULL for fewer than three values, or for equal ones.
fn skewness(values: &[Value]) -> Value {
    let count = values.len() as f64;
    let variance = if values.len() > 2 { central(values, 2) } else { 0.0 };
    match variance > 0.0 {
        true => {
            let of_all = central(values, 3) / variance.powf(1.5);
            Value::F64((count * (count - 1.0)).sqrt() / (count - 2.0) * of_all)
        }
        false => Value::Null,
    }
}

/// The excess kurtosis, for a sample corrected by its size.
fn kurtosis(values: &[Value], sample: bool) -> Value {
    let count = values.len() as f64;
    let least = if sample { 4 } else { 2 };
    let variance = if values.len() >= least { central(values, 2) } else { 0.0 };
    if variance <= 0.0 {
        return Value::Null;
    }
    let of_all = central(values, 4) / variance.powi(2);
    Value::F64(match sample {
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

/// Folds integers, or strings of bits; `verb` says in an error what was to be done.
fn bits(values: &[Value], ty: Type, verb: &str, combine: impl Fn(i128, i128) -> i128) -> Result<Value> {
    if ty.is_bits() {
        return joined_bits(values, verb, |a, b| combine(a.into(), b.into()) as u8);
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
