//! Predicates on a stripe: translated once per block (`prepare`), then evaluated range by range (`apply`).
//!
//! What is asked of the codes is a `Test` (`test`), made from the predicate and the column's stripe; here it is applied
//! to ranges of rows, in the way that is cheapest (`access`).

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use simd::{Bitmap, CodeTable, and_float_range, and_lookup};
use types::{Bound, ColumnPredicate, Value};

use crate::AccessCounters;
use crate::access::AccessPlan;
use crate::costs::AccessPath;
use crate::ranges::{and_integer_range, code_range_into};
use crate::search;
use crate::stripe::{StringStripe, Stripe, Values};
use crate::test::{Test, translate};

/// A predicate in terms of one block's codes. Belongs to the block that prepared it.
#[derive(Clone, Debug)]
pub struct PreparedPredicate {
    column: usize,
    pub(crate) test: Test,
    pub(crate) access: AccessPlan,
}

/// Up to this many members, a set is tested as that many ranges over all rows; beyond, by search row by row.
const SET_AS_RANGES_MAX: usize = 8;

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
