//! What a predicate asks of the codes of one block, and how it is told from the predicate and the column's stripe.
//!
//! Comparisons with values become comparisons with codes: on an ordered dictionary by binary search for the literal,
//! on a truncated column by subtracting the base and dividing by the step. What only sees whole values (LIKE) is
//! evaluated once per distinct value and becomes a set of accepted codes, which is a range of codes when they adjoin.
//! The column's bounds answer for all rows where they can. Made once per block by `predicate::prepare`, read by scans,
//! searches and indices.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use simd::CodeTable;
use types::{Bound, ColumnPredicate, Physical, Value};

use crate::stripe::{DictionaryStripe, StringStripe, Stripe, Values};
use crate::{AccessCounters, Coding};

#[derive(Clone, Debug)]
pub(crate) enum Test {
    /// Every row passes.
    All,
    /// No row does.
    None,
    /// Rows that are not NULL pass.
    Valid,
    /// Rows that are NULL pass.
    Null,
    /// Rows whose code is in the range, or outside it with `negate`.
    Codes {
        low: u32,
        high: u32,
        negate: bool,
    },
    Table {
        table: CodeTable,
        negate: bool,
    },
    /// Sorted codes or values, few against the possible ones.
    Set {
        members: Vec<i128>,
        negate: bool,
    },
    /// As a LIKE among `Values`, which only strings have, without searching.
    LikeByRow {
        pattern: Arc<types::LikePattern>,
        negated: bool,
    },
    /// Plain integers.
    Integers {
        low: i128,
        high: i128,
        negate: bool,
    },
    Floats {
        low: f64,
        high: f64,
        nan: bool,
        negate: bool,
    },
    /// Booleans equal to this.
    Truth(bool),
    /// Evaluated value by value.
    Values(ColumnPredicate),
}

/// Dictionaries up to this size get a table of accepted codes for sets: the table costs less than a pass over a block.
const TABLE_CODES_MAX: usize = 1 << 20;

pub(crate) fn translate(
    stripe: &Stripe,
    rows: usize,
    predicate: &ColumnPredicate,
    counters: &AccessCounters,
) -> Test {
    let statistics = &stripe.statistics;
    let (min, max) = (&statistics.min, &statistics.max);
    match predicate {
        ColumnPredicate::IsNull if stripe.nulls.is_none() => return Test::None,
        ColumnPredicate::IsNull => return Test::Null,
        ColumnPredicate::IsNotNull => return Test::Valid,
        _ => {}
    }
    if !predicate.may_match(min, max, statistics.null_count, rows as u64) {
        return Test::None;
    }
    if always_true(predicate, min, max) {
        return Test::Valid;
    }
    if let Some(dictionary) = &stripe.dictionary {
        return on_dictionary(dictionary, predicate, counters);
    }
    match (&stripe.values, stripe.coding) {
        (_, Coding::Truncated { width, base, step }) => on_truncated(width, base, step, predicate),
        (Values::Bits(_), _) => on_booleans(predicate),
        (Values::F32(_) | Values::F64(_), _) => on_floats(predicate, matches!(stripe.values, Values::F32(_))),
        (Values::Strings(_), _) => Test::Values(predicate.clone()),
        _ => on_integers(predicate, stripe.ty.physical()),
    }
}

/// True when every value between the bounds passes.
fn always_true(predicate: &ColumnPredicate, min: &Value, max: &Value) -> bool {
    if min.is_null() {
        return false;
    }
    match predicate {
        ColumnPredicate::Range { low, high } => {
            let above = low.as_ref().is_none_or(|b| {
                let order = min.total_cmp(&b.value);
                order.is_gt() || (b.inclusive && order.is_eq())
            });
            let below = high.as_ref().is_none_or(|b| {
                let order = max.total_cmp(&b.value);
                order.is_lt() || (b.inclusive && order.is_eq())
            });
            above && below
        }
        ColumnPredicate::NotEqual(v) => v.total_cmp(min).is_lt() || v.total_cmp(max).is_gt(),
        ColumnPredicate::NotIn(values) => {
            values.iter().all(|v| v.total_cmp(min).is_lt() || v.total_cmp(max).is_gt())
        }
        _ => false,
    }
}

fn code_range(low: u32, end: u32, size: u32) -> Test {
    if low >= end {
        Test::None
    } else if low == 0 && end >= size {
        Test::Valid
    } else {
        Test::Codes { low, high: end - 1, negate: false }
    }
}

/// A set of accepted codes, as a range where it is one.
fn accept_codes(table: CodeTable, size: usize) -> Test {
    match table.count() {
        0 => Test::None,
        n if n == size => Test::Valid,
        _ => match table.as_run() {
            Some((low, high)) => Test::Codes { low: low as u32, high: high as u32, negate: false },
            None => Test::Table { table, negate: false },
        },
    }
}

fn on_dictionary(
    dictionary: &DictionaryStripe,
    predicate: &ColumnPredicate,
    counters: &AccessCounters,
) -> Test {
    let size = dictionary.size as u32;
    match predicate {
        ColumnPredicate::Range { low, high } => {
            let start = low.as_ref().map_or(0, |b| {
                dictionary.partition_point(|o| o.is_lt() || (o.is_eq() && !b.inclusive), &b.value)
            });
            let end = high.as_ref().map_or(size, |b| {
                dictionary.partition_point(|o| o.is_lt() || (o.is_eq() && b.inclusive), &b.value)
            });
            code_range(start, end, size)
        }
        ColumnPredicate::NotEqual(value) => match dictionary.find(value) {
            Some(code) => Test::Codes { low: code, high: code, negate: true },
            None => Test::Valid,
        },
        ColumnPredicate::In(values) | ColumnPredicate::NotIn(values) => {
            let negate = matches!(predicate, ColumnPredicate::NotIn(_));
            let members: Vec<i128> =
                values.iter().filter_map(|v| dictionary.find(v).map(i128::from)).collect();
            code_set(members, dictionary.size, negate)
        }
        ColumnPredicate::Like { pattern, negated } => {
            let Values::Strings(strings) = &dictionary.values else {
                return if *negated { Test::Valid } else { Test::None };
            };
            // Only values that start with the pattern's literal prefix can match it.
            let prefix = pattern.prefix();
            let possible = prefix_range(strings, dictionary.size, &prefix);
            counters.strings_decoded.fetch_add(possible.len() as u64, Relaxed);
            let accept = (0..dictionary.size)
                .map(|code| (possible.contains(&code) && pattern.matches(strings.get(code))) != *negated);
            accept_codes(CodeTable::new(accept), dictionary.size)
        }
        ColumnPredicate::IsNull | ColumnPredicate::IsNotNull => Test::Values(predicate.clone()),
    }
}

/// The rows of sorted strings that start with `prefix`.
fn prefix_range(strings: &StringStripe, size: usize, prefix: &[u8]) -> Range<usize> {
    let point = |before: &dyn Fn(&[u8]) -> bool| {
        let (mut low, mut high) = (0, size);
        while low < high {
            let middle = usize::midpoint(low, high);
            if before(strings.get(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    };
    point(&|s| s < prefix)..point(&|s| s < prefix || s.starts_with(prefix))
}

/// A sorted set of codes among `size` possible ones.
fn code_set(members: Vec<i128>, size: usize, negate: bool) -> Test {
    match members.as_slice() {
        [] => return if negate { Test::Valid } else { Test::None },
        [first, .., last] if last - first + 1 == members.len() as i128 => {
            return Test::Codes { low: *first as u32, high: *last as u32, negate };
        }
        [only] => return Test::Codes { low: *only as u32, high: *only as u32, negate },
        _ => {}
    }
    if size > TABLE_CODES_MAX {
        return Test::Set { members, negate };
    }
    let mut accept = vec![false; size];
    for code in members {
        accept[code as usize] = true;
    }
    Test::Table { table: CodeTable::new(accept.into_iter()), negate }
}

/// The range as inclusive integers; `None` when it is empty.
fn integer_range(low: &Option<Bound>, high: &Option<Bound>) -> Option<(i128, i128)> {
    let from = match low {
        None => i128::MIN,
        Some(b) => {
            let value = b.value.as_i128()?;
            if b.inclusive { value } else { value.checked_add(1)? }
        }
    };
    let to = match high {
        None => i128::MAX,
        Some(b) => {
            let value = b.value.as_i128()?;
            if b.inclusive { value } else { value.checked_sub(1)? }
        }
    };
    (from <= to).then_some((from, to))
}

fn on_truncated(width: u8, base: i128, step: i128, predicate: &ColumnPredicate) -> Test {
    let last = i128::from(u32::MAX >> (32 - u32::from(width) * 8));
    // The code of a value that the column could hold. `base` is the least value, so the difference fits.
    let code_of = |value: &Value| {
        let offset = value.as_i128()?.checked_sub(base)?;
        (offset >= 0 && offset % step == 0 && offset / step <= last).then_some(offset / step)
    };
    match predicate {
        ColumnPredicate::Range { low, high } => {
            let Some((from, to)) = integer_range(low, high) else { return Test::None };
            // Codes at or above `from`: the quotient rounded up. At or below `to`: rounded down.
            let start = if from <= base {
                0
            } else {
                from.checked_sub(base).map_or(last + 1, |d| (d / step) + i128::from(d % step != 0))
            };
            if to < base || start > last {
                return Test::None;
            }
            let end = to.checked_sub(base).map_or(last, |d| (d / step).min(last));
            if start > end {
                return Test::None;
            }
            Test::Codes { low: start as u32, high: end as u32, negate: false }
        }
        ColumnPredicate::NotEqual(value) => match code_of(value) {
            Some(code) => Test::Codes { low: code as u32, high: code as u32, negate: true },
            None => Test::Valid,
        },
        ColumnPredicate::In(values) | ColumnPredicate::NotIn(values) => {
            let negate = matches!(predicate, ColumnPredicate::NotIn(_));
            let members: Vec<i128> = values.iter().filter_map(code_of).collect();
            let size = if width <= 2 { last as usize + 1 } else { usize::MAX };
            code_set(members, size, negate)
        }
        // What is no string is not like anything.
        ColumnPredicate::Like { negated, .. } => {
            if *negated {
                Test::Valid
            } else {
                Test::None
            }
        }
        ColumnPredicate::IsNull | ColumnPredicate::IsNotNull => Test::Values(predicate.clone()),
    }
}

fn on_booleans(predicate: &ColumnPredicate) -> Test {
    match (predicate.accepts(&Value::Bool(false)), predicate.accepts(&Value::Bool(true))) {
        (true, true) => Test::Valid,
        (false, false) => Test::None,
        (_, truth) => Test::Truth(truth),
    }
}

fn on_integers(predicate: &ColumnPredicate, physical: Physical) -> Test {
    match predicate {
        ColumnPredicate::Range { low, high } => match integer_range(low, high) {
            Some((low, high)) => Test::Integers { low, high, negate: false },
            None => Test::None,
        },
        ColumnPredicate::NotEqual(value) => match value.as_i128() {
            Some(value) => Test::Integers { low: value, high: value, negate: true },
            None => Test::Valid,
        },
        ColumnPredicate::In(values) | ColumnPredicate::NotIn(values) => {
            let negate = matches!(predicate, ColumnPredicate::NotIn(_));
            let members: Vec<i128> = values
                .iter()
                .filter_map(Value::as_i128)
                .filter(|v| Value::from_i128(*v, physical).is_some())
                .collect();
            match members.as_slice() {
                [] if negate => Test::Valid,
                [] => Test::None,
                _ => Test::Set { members, negate },
            }
        }
        // What is no string is not like anything.
        ColumnPredicate::Like { negated, .. } => {
            if *negated {
                Test::Valid
            } else {
                Test::None
            }
        }
        ColumnPredicate::IsNull | ColumnPredicate::IsNotNull => Test::Values(predicate.clone()),
    }
}

fn on_floats(predicate: &ColumnPredicate, single: bool) -> Test {
    // The next float in the column's own precision, so that an exclusive bound becomes an inclusive one.
    let next = |v: f64, up: bool| match (single, up) {
        (true, true) => f64::from((v as f32).next_up()),
        (true, false) => f64::from((v as f32).next_down()),
        (false, true) => v.next_up(),
        (false, false) => v.next_down(),
    };
    let exact = |v: f64| !single || f64::from(v as f32) == v || v.is_nan();
    match predicate {
        ColumnPredicate::Range { low, high } => {
            // NaN is above everything, infinity included, and equal to itself.
            let nan = high.as_ref().is_none_or(|b| b.inclusive && is_nan(&b.value));
            let from = match low {
                None => f64::NEG_INFINITY,
                Some(b) => match b.value.as_f64() {
                    Some(v) if v.is_nan() => {
                        return if b.inclusive && nan {
                            Test::Floats { low: 1.0, high: 0.0, nan: true, negate: false }
                        } else {
                            Test::None
                        };
                    }
                    Some(f64::INFINITY) if !b.inclusive => {
                        return if nan {
                            Test::Floats { low: 1.0, high: 0.0, nan: true, negate: false }
                        } else {
                            Test::None
                        };
                    }
                    Some(v) if exact(v) => {
                        if b.inclusive {
                            v
                        } else {
                            next(v, true)
                        }
                    }
                    _ => return Test::Values(predicate.clone()),
                },
            };
            let to = match high {
                None => f64::INFINITY,
                Some(b) => match b.value.as_f64() {
                    Some(v) if v.is_nan() => f64::INFINITY,
                    Some(f64::NEG_INFINITY) if !b.inclusive => return Test::None,
                    Some(v) if exact(v) => {
                        if b.inclusive {
                            v
                        } else {
                            next(v, false)
                        }
                    }
                    _ => return Test::Values(predicate.clone()),
                },
            };
            Test::Floats { low: from, high: to, nan, negate: false }
        }
        ColumnPredicate::NotEqual(value) => match value.as_f64() {
            Some(v) if v.is_nan() => Test::Floats { low: 1.0, high: 0.0, nan: true, negate: true },
            Some(v) if exact(v) => Test::Floats { low: v, high: v, nan: false, negate: true },
            _ => Test::Values(predicate.clone()),
        },
        _ => Test::Values(predicate.clone()),
    }
}

pub(crate) fn is_nan(value: &Value) -> bool {
    value.as_f64().is_some_and(f64::is_nan)
}
