//! What aggregates make of all values of a group, gathered as a list without NULLs: counts by bins, the most frequent
//! values, strings of bits, and sums that are added up in the list's order.
//!
//! The binder makes an aggregate that gathers, and one of these over its result; `nested` finds them by name while a
//! plan is compiled.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use types::interval::{self, Interval};
use types::nested::encoding::{self, elements};
use types::{Error, Result, SqlState, Type, Value, bits, stop};
use vector::nested::join;
use vector::{Vector, VectorBuilder};

use super::fixed::{self, Fixed, by_width};
use super::list::{equality, runs};
use super::{Kernel, bytes, whole};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "list_bins" => |inputs, ty, rows| bins(inputs, ty, rows, false),
        "list_bins_exact" => |inputs, ty, rows| bins(inputs, ty, rows, true),
        "list_top" => top,
        "list_bitstring" => bit_string,
        "list_wide_sum" => wide_sum,
        "list_interval_sum" => |inputs, ty, rows| different_intervals(inputs, ty, rows, false),
        "list_interval_avg" => |inputs, ty, rows| different_intervals(inputs, ty, rows, true),
        "list_decimal_average" => decimal_average,
        "list_lttb" => downsampled,
        "list_fsum" => |inputs, ty, rows| careful(inputs, ty, rows, |sum, _| sum),
        "list_favg" => |inputs, ty, rows| careful(inputs, ty, rows, |sum, count| sum / count),
        _ => return None,
    })
}

const ELEMENT_UNITS: usize = 16;

/// `list_bins(values, bins, bins, other)`: a map of the bins in order, and how many values are at most a bin and
/// above the one before it, or `exact`ly a bin. What is in none is counted under the other bin, where there is any.
/// The bins are given twice, as the least and the greatest of a group's: a group has one list of them.
fn bins(inputs: &[Vector], ty: Type, rows: usize, exact: bool) -> Result<Vector> {
    let mut failed = None;
    let result = join(ty, rows, |row, out| match bins_of_row(inputs, row, exact, out) {
        Ok(valid) => valid,
        Err(error) => {
            failed.get_or_insert(error);
            false
        }
    });
    failed.map_or(Ok(result), Err)
}

fn bins_of_row(inputs: &[Vector], row: usize, exact: bool, out: &mut Vec<u8>) -> Result<bool> {
    let Some(values) = bytes(&inputs[0], row) else { return Ok(false) };
    let refused = |message: &str| Error::new(SqlState::NullValueNotAllowed, message);
    let (Some(least), Some(greatest)) = (bytes(&inputs[1], row), bytes(&inputs[2], row)) else {
        return Err(refused("the list of bins of histogram is NULL"));
    };
    if least != greatest {
        let message = "the bins of histogram differ among the rows of a group";
        return Err(Error::new(SqlState::InvalidParameterValue, message)
            .with_hint("bins are a constant, or made of the group's keys"));
    }
    let mut edges = Vec::new();
    let equality = equality(&inputs[1]);
    for edge in elements(inputs[1].ty(), least) {
        stop::spend(ELEMENT_UNITS);
        let edge = edge.ok_or_else(|| refused("a bin of histogram is NULL"))?;
        edges.push((equality.bytes(edge), edge));
    }
    edges.sort_unstable();
    edges.dedup_by(|a, b| a.0 == b.0);
    let of = inputs[0].ty();
    let alike = equality.is_of_bytes() && inputs[1].ty().element() == of.element();
    let (counts, beside) = match fixed::width(of) {
        // Bytes order as values do, and so do the numbers that they are.
        Some(2) if alike => counted::<2>(values, &edges, exact),
        Some(4) if alike => counted::<4>(values, &edges, exact),
        Some(8) if alike => counted::<8>(values, &edges, exact),
        _ => {
            let values = elements(of, values).flatten().map(|value| equality.bytes(value));
            let edges: Vec<&[u8]> = edges.iter().map(|(bytes, _)| bytes.as_ref()).collect();
            counted_in(values.inspect(|_| stop::spend(ELEMENT_UNITS)), &edges, exact, |edge, value| {
                Ord::cmp(*edge, value.as_ref())
            })
        }
    };
    for ((_, edge), count) in edges.iter().zip(counts) {
        encoding::push_raw(Some(edge), out);
        encoding::push_slot(&Value::I64(count), Type::BigInt, out);
    }
    if beside > 0 {
        vector::nested::push_slot(&inputs[3], row, out);
        encoding::push_slot(&Value::I64(beside), Type::BigInt, out);
    }
    out.push(encoding::END);
    Ok(true)
}

/// How many of the values are in each bin, and in none.
fn counted_in<V, E>(
    values: impl Iterator<Item = V>,
    edges: &[E],
    exact: bool,
    compare: impl Fn(&E, &V) -> Ordering,
) -> (Vec<i64>, i64) {
    let mut counts = vec![0i64; edges.len()];
    let mut beside = 0i64;
    for value in values {
        let at = edges.partition_point(|edge| compare(edge, &value).is_lt());
        match counts.get_mut(at) {
            Some(count) if !exact || compare(&edges[at], &value).is_eq() => *count += 1,
            _ => beside += 1,
        }
    }
    (counts, beside)
}

/// As `counted_in`, of a list's elements of `W` bytes, at most eight.
fn counted<const W: usize>(list: &[u8], edges: &[(Cow<'_, [u8]>, &[u8])], exact: bool) -> (Vec<i64>, i64) {
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let edges: Vec<u64> = edges.iter().map(|(bytes, _)| number(bytes)).collect();
    let values = Fixed::<W>(list).flatten().inspect(|_| stop::spend(4)).map(|payload| number(payload));
    counted_in(values, &edges, exact, Ord::cmp)
}

/// `list_top(values, count)`: the most frequent values, most frequent first, equally frequent ones in their order.
fn top(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let equality = equality(&inputs[0]);
    Ok(join(ty, rows, |row, out| {
        let (Some(values), Some(wanted)) = (bytes(&inputs[0], row), whole(&inputs[1], row)) else {
            return false;
        };
        let of = inputs[0].ty();
        let wanted = usize::try_from(wanted).unwrap_or(0);
        if equality.is_of_bytes() {
            let done = by_width!(
                of,
                {
                    let mut runs = runs::<W>(values);
                    // Stable: equally frequent ones stay in their order.
                    runs.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
                    runs.iter().take(wanted).for_each(|(value, _)| encoding::push_raw(Some(value), out));
                    true
                },
                false,
            );
            if done {
                out.push(encoding::END);
                return true;
            }
        }
        let mut counts: HashMap<Cow<'_, [u8]>, (&[u8], u64)> = HashMap::new();
        for value in elements(of, values).flatten() {
            stop::spend(ELEMENT_UNITS);
            counts.entry(equality.bytes(value)).or_insert((value, 0)).1 += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable_by(|(a, (_, of_a)), (b, (_, of_b))| of_b.cmp(of_a).then_with(|| a.cmp(b)));
        for (_, (value, _)) in counts.iter().take(wanted) {
            encoding::push_raw(Some(value), out);
        }
        out.push(encoding::END);
        true
    }))
}

/// `list_bitstring(values [, least, greatest])`: a bit for each integer from the least to the greatest, set where it
/// is among the values.
fn bit_string(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let of = inputs[0].ty();
    let element = of.element().unwrap_or(Type::Null);
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let Some(list) = bytes(&inputs[0], row) else {
            builder.push_null();
            continue;
        };
        let values: Vec<i128> = elements(of, list)
            .flatten()
            .filter_map(|payload| encoding::value_of(payload, element).as_i128())
            .collect();
        stop::spend(values.len() * ELEMENT_UNITS);
        let (found_least, found_greatest) = (values.iter().copied().min(), values.iter().copied().max());
        let (Some(found_least), Some(found_greatest)) = (found_least, found_greatest) else {
            builder.push_null();
            continue;
        };
        let (mut least, mut greatest) = (found_least, found_greatest);
        if let Some([low, high]) = inputs.get(1..3) {
            (least, greatest) = match (low.value(row).as_i128(), high.value(row).as_i128()) {
                (Some(low), Some(high)) => (low, high),
                _ => {
                    let message = "a bound of bitstring_agg is NULL";
                    return Err(Error::new(SqlState::NullValueNotAllowed, message));
                }
            };
        }
        for value in [found_least, found_greatest] {
            if !(least..=greatest).contains(&value) {
                let message = format!("value {value} is not between the bounds {least} and {greatest}");
                return Err(Error::new(SqlState::NumericValueOutOfRange, message));
            }
        }
        let count = greatest.checked_sub(least).and_then(|range| u32::try_from(range).ok());
        let Some(count) = count.filter(|count| *count < bits::BITS_MAX) else {
            let message = format!("the range from {least} to {greatest} is too large for bitstring_agg");
            return Err(Error::new(SqlState::NumericValueOutOfRange, message)
                .with_hint(format!("a string of bits has at most {} of them", bits::BITS_MAX)));
        };
        let mut digits = vec![b'0'; count as usize + 1];
        stop::spend(digits.len());
        for value in values {
            if let Some(digit) = usize::try_from(value - least).ok().and_then(|at| digits.get_mut(at)) {
                *digit = b'1';
            }
        }
        builder.push_bytes(&digits);
    }
    Ok(builder.finish())
}

/// `list_wide_sum(values)`: the sum of UHUGEINT or BIGNUM values, of the same type.
fn wide_sum(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let of = inputs[0].ty();
    let element = of.element().unwrap_or(Type::Null);
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let Some(list) = bytes(&inputs[0], row) else {
            builder.push_null();
            continue;
        };
        let mut sum = None;
        for payload in elements(of, list).flatten() {
            stop::spend(ELEMENT_UNITS + payload.len());
            let number = types::wide::number(&encoding::value_of(payload, element));
            sum = Some(sum.map_or_else(|| number.clone(), |sum| sum + &number));
        }
        match sum {
            Some(sum) => builder.push(&types::wide::value_of(&sum, ty)?),
            None => builder.push_null(),
        }
    }
    Ok(builder.finish())
}

/// `list_interval_sum(values)` and `list_interval_avg(values)`: of those that differ, the first of equal ones.
fn different_intervals(inputs: &[Vector], ty: Type, rows: usize, averages: bool) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let (mut seen, mut sum) = (HashSet::new(), Interval::default());
        let slots = bytes(&inputs[0], row).into_iter().flat_map(|list| elements(inputs[0].ty(), list));
        for payload in slots.flatten() {
            stop::spend(ELEMENT_UNITS);
            let interval = Interval::of_value(&encoding::value_of(payload, Type::Interval))?;
            if seen.insert(interval.key()) {
                sum = sum.checked_add(interval).ok_or_else(interval::out_of_range)?;
            }
        }
        match (seen.len(), averages) {
            (0, _) => builder.push_null(),
            (_, false) => builder.push(&sum.value()?),
            (count, true) => {
                let mean = sum.scaled(count as f64, true).ok_or_else(interval::out_of_range)?;
                builder.push(&mean.value()?);
            }
        }
    }
    Ok(builder.finish())
}

/// `list_decimal_average(values)`: the mean at the scale of the values, halves to the even neighbour.
fn decimal_average(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let of = inputs[0].ty();
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let Some(list) = bytes(&inputs[0], row) else {
            builder.push_null();
            continue;
        };
        let (mut sum, mut count) = (0i128, 0i128);
        let mut fits = true;
        fixed::each_integer(of, list, |value| {
            let (next, overflowed) = sum.overflowing_add(value);
            sum = next;
            fits &= !overflowed;
            count += 1;
        });
        if !fits {
            return Err(Error::out_of_range(&ty));
        }
        if count == 0 {
            builder.push_null();
            continue;
        }
        let (floor, rest) = (sum.div_euclid(count), sum.rem_euclid(count));
        let up = rest * 2 > count || (rest * 2 == count && floor % 2 != 0);
        let mean = Value::from_i128(floor + i128::from(up), ty.physical());
        builder.push(&mean.ok_or_else(|| Error::out_of_range(&ty))?);
    }
    Ok(builder.finish())
}

/// `list_lttb(points, count)`: so many of the points, chosen by largest triangles (Steinarsson, Downsampling Time
/// Series for Visual Representation, 2013, section 4.2): the first, the last, and of each bucket between them the one
/// that makes the largest triangle with the point chosen before and the mean of the next bucket.
fn downsampled(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let of = inputs[0].ty();
    let point = of.element().unwrap_or(Type::Null);
    Ok(join(ty, rows, |row, out| {
        let (Some(list), Some(wanted)) = (bytes(&inputs[0], row), whole(&inputs[1], row)) else {
            return false;
        };
        let payloads: Vec<&[u8]> = elements(of, list).flatten().collect();
        stop::spend(payloads.len() * ELEMENT_UNITS);
        if payloads.is_empty() {
            return false;
        }
        let wanted = usize::try_from(wanted).unwrap_or(2).max(2);
        for at in largest_triangles(&coordinates(&payloads, point), wanted) {
            encoding::push_raw(Some(payloads[at]), out);
        }
        out.push(encoding::END);
        true
    }))
}

/// The points as floats; moments are counted from the first, so that nanoseconds are kept.
fn coordinates(payloads: &[&[u8]], point: Type) -> Vec<(f64, f64)> {
    let types: Vec<Type> = point.fields().unwrap_or_default().iter().map(|(_, ty)| *ty).collect();
    let [of_x, of_y] = types.as_slice() else { return Vec::new() };
    let mut first = None;
    let number =
        |payload: &[u8], at: usize, ty: Type| encoding::slot_value(encoding::field(point, payload, at), ty);
    payloads
        .iter()
        .map(|payload| {
            let x = number(payload, 0, *of_x);
            let x = x.as_f64().unwrap_or_else(|| {
                let held = x.as_i128().unwrap_or(0);
                (held - *first.get_or_insert(held)) as f64
            });
            (x, number(payload, 1, *of_y).as_f64().unwrap_or(0.0))
        })
        .collect()
}

/// The places of the chosen points, in their order.
fn largest_triangles(points: &[(f64, f64)], wanted: usize) -> Vec<usize> {
    let count = points.len();
    if count <= wanted {
        return (0..count).collect();
    }
    let mut chosen = Vec::with_capacity(wanted);
    chosen.push(0);
    let buckets = wanted - 2;
    let width = (count - 2) as f64 / buckets.max(1) as f64;
    let edge = |bucket: usize| ((bucket as f64 * width) as usize + 1).min(count - 1);
    let mut before = points[0];
    for bucket in 0..buckets {
        let next = edge(bucket + 1)..edge(bucket + 2).max(edge(bucket + 1) + 1).min(count);
        let size = next.len().max(1) as f64;
        let mean = points[next].iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / size, sum.1 + p.1 / size));
        let area = |p: &(f64, f64)| {
            ((before.0 - mean.0) * (p.1 - before.1) - (before.0 - p.0) * (mean.1 - before.1)).abs()
        };
        let mut best = (edge(bucket), f64::NEG_INFINITY);
        for at in edge(bucket)..edge(bucket + 1) {
            let found = area(&points[at]);
            if found > best.1 {
                best = (at, found);
            }
        }
        before = points[best.0];
        chosen.push(best.0);
    }
    chosen.push(count - 1);
    chosen
}

/// Strings of bits of one length, joined digit by digit.
pub(super) fn joined_bits(values: &[Value], verb: &str, combine: impl Fn(u8, u8) -> u8) -> Result<Value> {
    let mut strings = values.iter().filter_map(Value::as_bytes);
    let Some(first) = strings.next() else { return Ok(Value::Null) };
    let mut all = first.to_vec();
    for string in strings {
        if string.len() != all.len() {
            let message = format!("cannot {verb} bit strings of different sizes");
            return Err(Error::new(SqlState::StringDataLengthMismatch, message));
        }
        stop::spend(string.len());
        for (digit, other) in all.iter_mut().zip(string) {
            *digit = b'0' | (combine(*digit, *other) & 1);
        }
    }
    Ok(Value::Bytes(all.into()))
}

/// Finishes the sum of a list's floats, with rounding errors carried along (Kahan, as Neumaier has it, 1974), and
/// their number.
fn careful(inputs: &[Vector], ty: Type, rows: usize, finish: impl Fn(f64, f64) -> f64) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let (mut sum, mut lost, mut count) = (0.0f64, 0.0f64, 0.0f64);
        for payload in bytes(&inputs[0], row).into_iter().flat_map(Fixed::<8>).flatten() {
            stop::spend(4);
            let value = encoding::float_64(*payload);
            let next = sum + value;
            lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
            sum = next;
            count += 1.0;
        }
        // From an infinity nothing is lost.
        let total = if sum.is_finite() { sum + lost } else { sum };
        match count > 0.0 {
            true => builder.push(&Value::F64(finish(total, count))),
            false => builder.push_null(),
        }
    }
    Ok(builder.finish())
}
