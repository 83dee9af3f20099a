//! Predicates on a stripe: translated once per block (`prepare`), then evaluated range by range (`apply`).
//!
//! Comparisons with values become comparisons with codes: on an ordered dictionary by binary search for the literal,
//! on a truncated column by subtracting the base and dividing by the step. What only sees whole values (LIKE) is
//! evaluated once per distinct value and becomes a set of accepted codes, which is a range of codes when they adjoin.
//! The column's bounds answer for all rows where they can.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use simd::{Bitmap, CodeTable, and_float_range, and_lookup};
use types::{Bound, ColumnPredicate, Physical, Value};

use crate::access::{AccessPath, AccessPlan};
use crate::ranges::{and_integer_range, code_range_into};
use crate::search;
use crate::stripe::{DictionaryStripe, StringStripe, Stripe, Values};
use crate::{AccessCounters, Coding};

/// A predicate in terms of one block's codes. Belongs to the block that prepared it.
#[derive(Clone, Debug)]
pub struct PreparedPredicate {
    column: usize,
    pub(crate) test: Test,
    pub(crate) access: AccessPlan,
}

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

/// Up to this many members, a set is tested as that many ranges over all rows; beyond, by search row by row.
const SET_AS_RANGES_MAX: usize = 8;
/// Dictionaries up to this size get a table of accepted codes for sets: the table costs less than a pass over a block.
const TABLE_CODES_MAX: usize = 1 << 20;

impl PreparedPredicate {
    /// The number of the column it is for, in the block that prepared it.
    pub fn column(&self) -> usize {
        self.column
    }
    /// For the block's column of that number, which the tuple store may know by another.
    pub(crate) fn on(self, column: usize) -> Self {
        PreparedPredicate { column, ..self }
    }
    /// No row can pass: the block need not be read.
    pub fn rejects_all(&self) -> bool {
        matches!(self.test, Test::None)
    }
    /// LIKE looks at every selected row, instead of searching the strings of a block as one text.
    #[must_use]
    pub fn row_by_row(mut self) -> Self {
        if let Test::Values(ColumnPredicate::Like { pattern, negated }) = self.test {
            self.test = Test::LikeByRow { pattern, negated };
        }
        self
    }
    /// Every row passes: nothing needs to be evaluated.
    pub fn accepts_all(&self) -> bool {
        matches!(self.test, Test::All)
    }
    /// Keeps rows whose code is accepted.
    pub(crate) fn accepting(column: usize, accept: &[bool]) -> Self {
        let table = CodeTable::new(accept.iter().copied());
        // Codes past the end of `accept` are not accepted, so that even a full table is a range, not a yes to all.
        let test = match table.as_run() {
            Some((low, high)) => Test::Codes { low: low as u32, high: high as u32, negate: false },
            None if table.count() == 0 => Test::None,
            None => Test::Table { table, negate: false },
        };
        PreparedPredicate { column, test, access: AccessPlan::default() }
    }
    /// The ways of evaluation that indices and order offer besides a scan; the block chooses among them.
    pub fn offered(&self) -> impl Iterator<Item = AccessPath> + '_ {
        self.access.paths()
    }
    /// To be evaluated in this way, whatever it costs; `None` when it is not offered. For tests and measurements.
    #[must_use]
    pub fn by(mut self, path: AccessPath) -> Option<Self> {
        self.access.keep_only(path).then_some(self)
    }
    /// To be evaluated by looking at values.
    #[must_use]
    pub fn without_indices(mut self) -> Self {
        self.access.keep_none();
        self
    }

    /// Whether values or codes have to be looked at; bounds and validity answer the rest.
    pub(crate) fn reads_values(&self) -> bool {
        !matches!(self.test, Test::All | Test::None | Test::Valid | Test::Null)
    }

    /// Keeps the selected rows that pass, looking at no other; NULLs are left to the caller.
    pub(crate) fn apply_to_selected(&self, stripe: &Stripe, start: usize, selection: &mut Bitmap) -> bool {
        let test = &self.test;
        macro_rules! each {
            ($values:expr, $test:expr) => {{
                let test = $test;
                selection.retain(|row| test($values[start + row]));
            }};
        }
        match (&stripe.values, test) {
            (Values::Codes8(c), Test::Codes { low, high, negate }) => {
                each!(c, |v: u8| (*low..=*high).contains(&u32::from(v)) != *negate)
            }
            (Values::Codes16(c), Test::Codes { low, high, negate }) => {
                each!(c, |v: u16| (*low..=*high).contains(&u32::from(v)) != *negate)
            }
            (Values::Codes32(c), Test::Codes { low, high, negate }) => {
                each!(c, |v: u32| (*low..=*high).contains(&v) != *negate)
            }
            (Values::Codes8(c), Test::Table { table, negate }) => {
                each!(c, |v: u8| table.accepts(v as usize) != *negate)
            }
            (Values::Codes16(c), Test::Table { table, negate }) => {
                each!(c, |v: u16| table.accepts(v as usize) != *negate)
            }
            (Values::Codes32(c), Test::Table { table, negate }) => {
                each!(c, |v: u32| table.accepts(v as usize) != *negate)
            }
            (Values::I16(v), Test::Integers { low, high, negate }) => {
                each!(v, |v: i16| (*low..=*high).contains(&i128::from(v)) != *negate)
            }
            (Values::I32(v), Test::Integers { low, high, negate }) => {
                each!(v, |v: i32| (*low..=*high).contains(&i128::from(v)) != *negate)
            }
            (Values::I64(v), Test::Integers { low, high, negate }) => {
                each!(v, |v: i64| (*low..=*high).contains(&i128::from(v)) != *negate)
            }
            (Values::I128(v), Test::Integers { low, high, negate }) => {
                each!(v, |v: i128| (*low..=*high).contains(&v) != *negate)
            }
            _ => return false,
        }
        true
    }

    /// Keeps the rows whose string passes; NULLs are left to the caller.
    pub(crate) fn apply_to_strings<'a>(&self, string: impl Fn(usize) -> &'a [u8], selection: &mut Bitmap) {
        match &self.test {
            Test::LikeByRow { pattern, negated } => {
                selection.retain(|row| pattern.matches(string(row)) != *negated);
            }
            Test::Values(predicate) => and_each_string(string, predicate, selection),
            _ => unreachable!("strings are tested by their values"),
        }
    }

    /// As `apply` to a selection of all rows, whatever it holds, which is written and not read where the test can.
    pub(crate) fn apply_anew(
        &self,
        stripe: &Stripe,
        rows: Range<usize>,
        selection: &mut Bitmap,
        counters: &AccessCounters,
    ) {
        let Test::Codes { low, high, negate } = &self.test else {
            selection.reset_full(rows.len());
            return self.apply(stripe, rows, selection, counters);
        };
        counters.predicates_on_codes.fetch_add(1, Relaxed);
        selection.reset_unwritten(rows.len());
        code_range_into(stripe, rows.clone(), [*low, *high], *negate, true, selection.words_mut());
        if let Some(words) = &stripe.null_words {
            selection.and_bits(words, rows.start);
        }
    }

    pub(crate) fn apply(
        &self,
        stripe: &Stripe,
        rows: Range<usize>,
        selection: &mut Bitmap,
        counters: &AccessCounters,
    ) {
        match &self.test {
            Test::All => {
                counters.predicates_by_bounds.fetch_add(1, Relaxed);
                return;
            }
            Test::None => {
                counters.predicates_by_bounds.fetch_add(1, Relaxed);
                selection.clear_all();
                return;
            }
            Test::Null => {
                match &stripe.null_words {
                    Some(words) => selection.and_not_bits(words, rows.start),
                    None => selection.clear_all(),
                }
                return;
            }
            Test::Valid => {}
            Test::Codes { low, high, negate } => {
                counters.predicates_on_codes.fetch_add(1, Relaxed);
                code_range_into(stripe, rows.clone(), [*low, *high], *negate, false, selection.words_mut());
            }
            Test::Table { table, negate } => {
                counters.predicates_on_codes.fetch_add(1, Relaxed);
                let words = selection.words_mut();
                match &stripe.values {
                    Values::Codes8(c) => and_lookup(&c[rows.clone()], table, *negate, words),
                    Values::Codes16(c) => and_lookup(&c[rows.clone()], table, *negate, words),
                    Values::Codes32(c) => and_lookup(&c[rows.clone()], table, *negate, words),
                    _ => unreachable!("tables are made for coded columns only"),
                }
            }
            Test::Set { members, negate } => {
                and_set(stripe, rows.clone(), members, *negate, selection);
                if stripe.coding.code_width().is_some() {
                    counters.predicates_on_codes.fetch_add(1, Relaxed);
                }
            }
            Test::Integers { low, high, negate } => {
                and_integer_range(stripe, rows.clone(), *low, *high, *negate, selection.words_mut());
            }
            Test::Floats { low, high, nan, negate } => {
                let words = selection.words_mut();
                match &stripe.values {
                    Values::F32(v) => {
                        let (low, high) = (*low as f32, *high as f32);
                        and_float_range(&v[rows.clone()], low, high, *nan, *negate, words);
                    }
                    Values::F64(v) => and_float_range(&v[rows.clone()], *low, *high, *nan, *negate, words),
                    _ => unreachable!("float ranges are made for plain floats only"),
                }
            }
            Test::Truth(truth) => {
                let Values::Bits(bits) = &stripe.values else {
                    unreachable!("truth is asked of booleans only")
                };
                if *truth {
                    selection.and_bits(&bits.words, rows.start);
                } else {
                    selection.and_not_bits(&bits.words, rows.start);
                }
            }
            Test::LikeByRow { pattern, negated } => {
                if let Values::Strings(strings) = &stripe.values {
                    let matches = |row: usize| pattern.matches(strings.get(rows.start + row));
                    selection.retain(|row| matches(row) != *negated);
                }
            }
            Test::Values(predicate) => and_values(stripe, rows.clone(), predicate, selection, counters),
        }
        if let Some(words) = &stripe.null_words {
            selection.and_bits(words, rows.start);
        }
    }
}

pub(crate) fn prepare(
    stripe: &Stripe,
    column: usize,
    rows: usize,
    predicate: &ColumnPredicate,
    counters: &AccessCounters,
) -> PreparedPredicate {
    let mut test = translate(stripe, rows, predicate, counters);
    if stripe.nulls.is_none() && matches!(test, Test::Valid) {
        test = Test::All;
    }
    PreparedPredicate { column, test, access: AccessPlan::default() }
}

fn translate(stripe: &Stripe, rows: usize, predicate: &ColumnPredicate, counters: &AccessCounters) -> Test {
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

fn is_nan(value: &Value) -> bool {
    value.as_f64().is_some_and(f64::is_nan)
}

fn and_set(stripe: &Stripe, rows: Range<usize>, members: &[i128], negate: bool, selection: &mut Bitmap) {
    if members.len() <= SET_AS_RANGES_MAX {
        if negate {
            for member in members {
                and_member(stripe, rows.clone(), *member, true, selection.words_mut());
            }
            return;
        }
        let mut found = Bitmap::empty(selection.len());
        let mut one = Bitmap::default();
        for member in members {
            one.reset_full(selection.len());
            and_member(stripe, rows.clone(), *member, false, one.words_mut());
            found.or(&one);
        }
        selection.and(&found);
        return;
    }
    let contains = |v: i128| members.binary_search(&v).is_ok() != negate;
    let start = rows.start;
    match &stripe.values {
        Values::I16(v) => selection.retain(|row| contains(i128::from(v[start + row]))),
        Values::I32(v) => selection.retain(|row| contains(i128::from(v[start + row]))),
        Values::I64(v) => selection.retain(|row| contains(i128::from(v[start + row]))),
        Values::I128(v) => selection.retain(|row| contains(v[start + row])),
        Values::Codes32(c) => selection.retain(|row| contains(i128::from(c[start + row]))),
        _ => unreachable!("sets are made for plain integers and wide codes only"),
    }
}

fn and_member(stripe: &Stripe, rows: Range<usize>, member: i128, negate: bool, words: &mut [u64]) {
    if stripe.coding.code_width().is_some() {
        code_range_into(stripe, rows, [member as u32; 2], negate, false, words);
    } else {
        and_integer_range(stripe, rows, member, member, negate, words);
    }
}

/// Value by value, only where the selection still has a row.
fn and_values(
    stripe: &Stripe,
    rows: Range<usize>,
    predicate: &ColumnPredicate,
    selection: &mut Bitmap,
    counters: &AccessCounters,
) {
    let start = rows.start;
    match &stripe.values {
        Values::Strings(strings) => {
            counters.strings_decoded.fetch_add(selection.count() as u64, Relaxed);
            and_strings(strings, start, predicate, selection);
        }
        Values::F32(v) => selection.retain(|row| predicate.accepts(&Value::F32(v[start + row]))),
        Values::F64(v) => selection.retain(|row| predicate.accepts(&Value::F64(v[start + row]))),
        // Every other form has its own test; a predicate that reaches here accepts by the definition.
        _ => selection.retain(|row| {
            let value = crate::fetch::fetch(stripe, (start + row..start + row + 1).into(), counters).value(0);
            predicate.accepts(&value)
        }),
    }
}

fn and_strings(strings: &StringStripe, start: usize, predicate: &ColumnPredicate, selection: &mut Bitmap) {
    match predicate {
        ColumnPredicate::Like { pattern, negated } if search::pays(pattern, selection) => {
            let found = search::search(strings, start, pattern, selection);
            if *negated {
                selection.and_not(&found);
            } else {
                selection.and(&found);
            }
        }
        _ => and_each_string(|row| strings.get(start + row), predicate, selection),
    }
}

fn and_each_string<'a>(
    string: impl Fn(usize) -> &'a [u8],
    predicate: &ColumnPredicate,
    selection: &mut Bitmap,
) {
    match predicate {
        ColumnPredicate::Range { low: Some(low), high: Some(high) }
            if low.inclusive && high.inclusive && low.value == high.value =>
        {
            // Lengths decide most rows without a look at the heap.
            let wanted = low.value.as_bytes().unwrap_or(&[]);
            selection.retain(|row| string(row) == wanted);
        }
        ColumnPredicate::Range { low, high } => {
            let bound = |b: &Option<Bound>| {
                b.as_ref().map(|b| (b.value.as_bytes().unwrap_or(&[]).to_vec(), b.inclusive))
            };
            let (low, high) = (bound(low), bound(high));
            selection.retain(|row| {
                let bytes = string(row);
                low.as_ref().is_none_or(|(b, inclusive)| bytes > &b[..] || (*inclusive && bytes == &b[..]))
                    && high
                        .as_ref()
                        .is_none_or(|(b, inclusive)| bytes < &b[..] || (*inclusive && bytes == &b[..]))
            });
        }
        ColumnPredicate::NotEqual(value) => {
            let unwanted = value.as_bytes().unwrap_or(&[]);
            selection.retain(|row| string(row) != unwanted);
        }
        ColumnPredicate::In(values) | ColumnPredicate::NotIn(values) => {
            let negate = matches!(predicate, ColumnPredicate::NotIn(_));
            selection.retain(|row| {
                let bytes = string(row);
                values.binary_search_by(|v| v.as_bytes().unwrap_or(&[]).cmp(bytes)).is_ok() != negate
            });
        }
        ColumnPredicate::Like { pattern, negated } => {
            selection.retain(|row| pattern.matches(string(row)) != *negated);
        }
        ColumnPredicate::IsNull | ColumnPredicate::IsNotNull => {}
    }
}
