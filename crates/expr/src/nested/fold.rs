//! Aggregates of a list's elements: `list_sum(l)` and `list_aggregate(l, 'sum')`. NULL elements do not count, and of no
//! elements the result is NULL, but for `count`.

use types::nested::encoding::{self, elements};
use types::{Error, Result, Type, Value, cast, decimal};
use vector::nested::PayloadBuilder;
use vector::{Vector, VectorBuilder};

use super::{Kernel, bytes, text};

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
        "list_var_samp" => |inputs, ty, rows| fold(inputs, ty, rows, |v, _| Ok(spread(v, true, false))),
        "list_var_pop" => |inputs, ty, rows| fold(inputs, ty, rows, |v, _| Ok(spread(v, false, false))),
        "list_stddev_samp" => |inputs, ty, rows| fold(inputs, ty, rows, |v, _| Ok(spread(v, true, true))),
        "list_stddev_pop" => |inputs, ty, rows| fold(inputs, ty, rows, |v, _| Ok(spread(v, false, true))),
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

fn spread(values: &[Value], sample: bool, root: bool) -> Value {
    let divisor = values.len() as f64 - f64::from(u8::from(sample));
    if divisor <= 0.0 {
        return Value::Null;
    }
    let mean = values.iter().map(float).sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (float(v) - mean).powi(2)).sum::<f64>() / divisor;
    Value::F64(if root { variance.sqrt() } else { variance })
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
