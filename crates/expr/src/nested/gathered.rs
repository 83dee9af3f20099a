//! What aggregates make of all values of a group, gathered as a list without NULLs: counts by bins, the most frequent
//! values, strings of bits, and sums that are added up in the list's order.

use std::collections::BTreeMap;

use types::nested::encoding::{self, elements};
use types::{Error, Result, SqlState, Type, Value, bits, stop};
use vector::nested::join;
use vector::{Vector, VectorBuilder};

use super::{Kernel, bytes, whole};

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "list_bins" => |inputs, ty, rows| bins(inputs, ty, rows, false),
        "list_bins_exact" => |inputs, ty, rows| bins(inputs, ty, rows, true),
        "list_top" => top,
        "list_bitstring" => bit_string,
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
    for edge in elements(inputs[1].ty(), least) {
        stop::spend(ELEMENT_UNITS);
        edges.push(edge.ok_or_else(|| refused("a bin of histogram is NULL"))?);
    }
    edges.sort_unstable();
    edges.dedup();
    let mut counts = vec![0i64; edges.len()];
    let mut beside = 0i64;
    for value in elements(inputs[0].ty(), values).flatten() {
        stop::spend(ELEMENT_UNITS);
        let at = match exact {
            true => edges.binary_search(&value).unwrap_or(edges.len()),
            false => edges.partition_point(|edge| *edge < value),
        };
        match counts.get_mut(at) {
            Some(count) => *count += 1,
            None => beside += 1,
        }
    }
    for (edge, count) in edges.iter().zip(counts) {
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

/// `list_top(values, count)`: the most frequent values, most frequent first, equally frequent ones in their order.
fn top(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    Ok(join(ty, rows, |row, out| {
        let (Some(values), Some(wanted)) = (bytes(&inputs[0], row), whole(&inputs[1], row)) else {
            return false;
        };
        let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
        for value in elements(inputs[0].ty(), values).flatten() {
            stop::spend(ELEMENT_UNITS);
            *counts.entry(value).or_default() += 1;
        }
        let mut counts: Vec<(&[u8], u64)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (value, _) in counts.iter().take(usize::try_from(wanted).unwrap_or(0)) {
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
    let of = inputs[0].ty();
    let mut builder = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        let (mut sum, mut lost, mut count) = (0.0f64, 0.0f64, 0.0f64);
        for payload in bytes(&inputs[0], row).into_iter().flat_map(|list| elements(of, list)).flatten() {
            stop::spend(ELEMENT_UNITS);
            let value = encoding::value_of(payload, Type::Double).as_f64().unwrap_or(0.0);
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
