//! Search by binary search: what a sorted column makes of a predicate is runs of rows.

use std::ops::Range;

use types::{ColumnPredicate, Value};

use crate::index::keys::{KeySpace, ranges_of};
use crate::stripe::{StringStripe, Stripe, Values};
use crate::test::Test;

/// More ranges than this are not searched one by one.
const RANGES_MAX: usize = 1024;

/// The rows that pass, as runs, of a stripe whose values ascend with NULLs last; `None` when a search cannot tell.
pub(crate) fn search(stripe: &Stripe, rows: usize, test: &Test) -> Option<Vec<Range<u32>>> {
    let valid = rows - (stripe.statistics.null_count as usize).min(rows);
    if let (Values::Strings(strings), Test::Values(predicate)) = (&stripe.values, test) {
        return search_strings(strings, valid, predicate);
    }
    if let (Values::Bits(bits), Test::Truth(truth)) = (&stripe.values, test) {
        let first_true = partition(0..valid, |row| !bits.buffer.value(row));
        let range = if *truth { first_true..valid } else { 0..first_true };
        return Some(vec![range.start as u32..range.end as u32]);
    }
    let space = KeySpace::of(stripe)?;
    let keys = ranges_of(&space, &stripe.values, test)?;
    if !keys.exact || keys.ranges.len() > RANGES_MAX {
        return None;
    }
    let mut out: Vec<Range<u32>> = Vec::with_capacity(keys.ranges.len());
    let mut from = 0;
    for (low, high) in keys.ranges {
        let start = partition(from..valid, |row| space.key(&stripe.values, row) < low);
        let end = partition(start..valid, |row| space.key(&stripe.values, row) <= high);
        if start < end {
            out.push(start as u32..end as u32);
        }
        from = end;
    }
    Some(out)
}

/// The first row for which `before` is false.
fn partition(rows: Range<usize>, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (rows.start, rows.end);
    while low < high {
        let middle = usize::midpoint(low, high);
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn search_strings(
    strings: &StringStripe,
    valid: usize,
    predicate: &ColumnPredicate,
) -> Option<Vec<Range<u32>>> {
    let bytes = |value: &Value| -> Vec<u8> { value.as_bytes().unwrap_or(&[]).to_vec() };
    // The first row at or after the value, resp. after it.
    let start_of = |v: &[u8]| partition(0..valid, |row| strings.get(row) < v);
    let end_of = |v: &[u8]| partition(0..valid, |row| strings.get(row) <= v);
    let mut runs: Vec<Range<usize>> = match predicate {
        ColumnPredicate::Range { low, high } => {
            let start = low.as_ref().map_or(0, |b| {
                let value = bytes(&b.value);
                if b.inclusive { start_of(&value) } else { end_of(&value) }
            });
            let end = high.as_ref().map_or(valid, |b| {
                let value = bytes(&b.value);
                if b.inclusive { end_of(&value) } else { start_of(&value) }
            });
            vec![start..end]
        }
        ColumnPredicate::NotEqual(value) => {
            let value = bytes(value);
            vec![0..start_of(&value), end_of(&value)..valid]
        }
        ColumnPredicate::In(values) if values.len() <= RANGES_MAX => {
            values.iter().map(bytes).map(|value| start_of(&value)..end_of(&value)).collect()
        }
        _ => return None,
    };
    runs.retain(|run| run.start < run.end);
    Some(runs.into_iter().map(|run| run.start as u32..run.end as u32).collect())
}

/// Whether the values of a stripe ascend with NULLs last: what a sorted stripe's bytes are checked for.
pub(crate) fn is_sorted(stripe: &Stripe, rows: usize) -> bool {
    let valid = rows - (stripe.statistics.null_count as usize).min(rows);
    if stripe.nulls.as_ref().is_some_and(|nulls| (0..valid).any(|row| nulls.is_null(row))) {
        return false;
    }
    match &stripe.values {
        Values::Codes8(c) => c[..valid].is_sorted(),
        Values::Codes16(c) => c[..valid].is_sorted(),
        Values::Codes32(c) => c[..valid].is_sorted(),
        Values::I16(v) => v[..valid].is_sorted(),
        Values::I32(v) => v[..valid].is_sorted(),
        Values::I64(v) => v[..valid].is_sorted(),
        Values::I128(v) => v[..valid].is_sorted(),
        Values::F32(v) => {
            v[..valid].is_sorted_by(|a, b| types::value::compare_f64(f64::from(*a), f64::from(*b)).is_le())
        }
        Values::F64(v) => v[..valid].is_sorted_by(|a, b| types::value::compare_f64(*a, *b).is_le()),
        Values::Strings(s) => (1..valid).all(|row| s.get(row - 1) <= s.get(row)),
        Values::Bits(bits) => (1..valid).all(|row| !bits.buffer.value(row - 1) | bits.buffer.value(row)),
    }
}
