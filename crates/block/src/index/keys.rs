//! The keys of a column: numbers of 64 bits in the order of its values, on which every index works.
//!
//! | column holds | key | exact |
//! | --- | --- | --- |
//! | codes | the code | yes |
//! | plain integers | value - least value, where that fits | yes |
//! | plain floats | the bits, turned so that they order as PostgreSQL orders floats | yes |
//! | plain strings | eight bytes behind the prefix that all values share | no: equal keys may be different values |
//!
//! A predicate, already in terms of the block (`Test`), becomes ranges of keys. Where keys are not exact the rows found
//! are candidates, to be tested by their values.

use types::{ColumnPredicate, Value};

use crate::stripe::{Stripe, Values};
use crate::test::Test;

/// How values of a column become keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeySpace {
    Codes,
    Integers { base: i128 },
    Floats,
    Text { shared: Vec<u8> },
}

/// The keys of a column's rows, one by one.
#[derive(Clone, Copy)]
pub(crate) struct RowKeys<'a> {
    space: &'a KeySpace,
    values: &'a Values,
    rows: usize,
}

impl<'a> RowKeys<'a> {
    /// `None` where values do not lie side by side, as in row stores: there a row's key is not at hand.
    pub(crate) fn of(space: &'a KeySpace, values: &'a Values, rows: usize) -> Option<Self> {
        let there = match values {
            Values::Codes8(c) => c.len(),
            Values::Codes16(c) => c.len(),
            Values::Codes32(c) => c.len(),
            Values::I16(v) => v.len(),
            Values::I32(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::I128(v) => v.len(),
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Bits(_) | Values::Strings(_) => 0,
        };
        (there >= rows).then_some(RowKeys { space, values, rows })
    }
    /// Leaves of ascending row numbers, which count from row `first`, those whose key passes, in front and in their order;
    /// tells how many they are. The key of a NULL is any.
    pub(crate) fn retain(&self, first: usize, rows: &mut [u32], passes: impl Fn(u64) -> bool) -> usize {
        let there = rows.partition_point(|row| first + (*row as usize) < self.rows);
        let rows = &mut rows[..there];
        macro_rules! each {
            ($values:expr, $key:expr) => {{
                rows.iter().for_each(|row| simd::prefetch_l2($values, first + *row as usize));
                let mut kept = 0;
                for at in 0..rows.len() {
                    let row = rows[at];
                    rows[kept] = row;
                    kept += usize::from(passes($key(first + row as usize)));
                }
                kept
            }};
        }
        let key = |row: usize| self.space.key(self.values, row);
        match self.values {
            Values::Codes8(c) => each!(c, |row: usize| u64::from(c[row])),
            Values::Codes16(c) => each!(c, |row: usize| u64::from(c[row])),
            Values::Codes32(c) => each!(c, |row: usize| u64::from(c[row])),
            Values::I16(v) => each!(v, key),
            Values::I32(v) => each!(v, key),
            Values::I64(v) => each!(v, key),
            Values::I128(v) => each!(v, key),
            Values::F32(v) => each!(v, key),
            Values::F64(v) => each!(v, key),
            Values::Bits(_) | Values::Strings(_) => 0,
        }
    }
}

/// Keys that pass: ranges with both ends in, ascending, without overlap.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyRanges {
    pub(crate) ranges: Vec<(u64, u64)>,
    /// Every row with such a key passes; otherwise it may.
    pub(crate) exact: bool,
}

/// Code tables larger than this are not looked through for runs: the scan that they are made for is faster.
const RUNS_TABLE_MAX: usize = 1 << 16;
/// Bytes of a string that fit a key.
const KEY_BYTES: usize = 8;

impl KeySpace {
    pub(crate) fn of(stripe: &Stripe) -> Option<KeySpace> {
        let (min, max) = (&stripe.statistics.min, &stripe.statistics.max);
        match &stripe.values {
            Values::Codes8(_) | Values::Codes16(_) | Values::Codes32(_) => Some(KeySpace::Codes),
            Values::I16(_) | Values::I32(_) | Values::I64(_) | Values::I128(_) => {
                let (low, high) = (min.as_i128()?, max.as_i128()?);
                u64::try_from(high.checked_sub(low)?).ok()?;
                Some(KeySpace::Integers { base: low })
            }
            Values::F32(_) | Values::F64(_) => Some(KeySpace::Floats),
            Values::Strings(_) => {
                let (low, high) = (min.as_bytes()?, max.as_bytes()?);
                let shared = low.iter().zip(high).take_while(|(a, b)| a == b).count();
                Some(KeySpace::Text { shared: low[..shared].to_vec() })
            }
            Values::Bits(_) => None,
        }
    }
    pub(crate) fn is_exact(&self) -> bool {
        !matches!(self, KeySpace::Text { .. })
    }

    /// The key of a row that is not NULL.
    #[inline]
    pub(crate) fn key(&self, values: &Values, row: usize) -> u64 {
        let integer = |value: i128| match self {
            KeySpace::Integers { base } => value.wrapping_sub(*base) as u64,
            _ => 0,
        };
        match values {
            Values::Codes8(c) => u64::from(c[row]),
            Values::Codes16(c) => u64::from(c[row]),
            Values::Codes32(c) => u64::from(c[row]),
            Values::I16(v) => integer(i128::from(v[row])),
            Values::I32(v) => integer(i128::from(v[row])),
            Values::I64(v) => integer(i128::from(v[row])),
            Values::I128(v) => integer(v[row]),
            Values::F32(v) => u64::from(image_f32(v[row])),
            Values::F64(v) => image_f64(v[row]),
            Values::Strings(s) => match self {
                KeySpace::Text { shared } => text_key(s.get(row).get(shared.len()..).unwrap_or(&[]), 0),
                _ => 0,
            },
            Values::Bits(_) => 0,
        }
    }

    /// The greatest key that a column may have.
    pub(crate) fn last(&self, stripe: &Stripe) -> u64 {
        let greatest = |codes: Option<u64>| codes.unwrap_or(0);
        match (&stripe.values, self) {
            (Values::Codes8(c), _) => greatest(simd::bounds(c).map(|(_, high)| u64::from(high))),
            (Values::Codes16(c), _) => greatest(simd::bounds(c).map(|(_, high)| u64::from(high))),
            (Values::Codes32(c), _) => greatest(simd::bounds(c).map(|(_, high)| u64::from(high))),
            (_, KeySpace::Integers { base }) => {
                let max = stripe.statistics.max.as_i128().unwrap_or(*base);
                u64::try_from(max.saturating_sub(*base)).unwrap_or(u64::MAX)
            }
            (Values::F32(_), _) => u64::from(u32::MAX),
            _ => u64::MAX,
        }
    }

    /// The keys of the rows that a test lets pass; `None` when keys cannot tell.
    pub(crate) fn ranges(&self, test: &Test) -> Option<KeyRanges> {
        let exact = |ranges| Some(KeyRanges { ranges, exact: true });
        match (self, test) {
            (KeySpace::Codes, Test::Codes { low, high, negate }) => {
                exact(negated(vec![(u64::from(*low), u64::from(*high))], *negate))
            }
            (KeySpace::Codes, Test::Table { table, negate }) if table.len() <= RUNS_TABLE_MAX => {
                exact(negated(
                    runs((0..table.len()).filter(|code| table.accepts(*code)).map(|c| c as u64)),
                    *negate,
                ))
            }
            (KeySpace::Codes, Test::Set { members, negate }) => {
                exact(negated(runs(members.iter().filter_map(|m| u64::try_from(*m).ok())), *negate))
            }
            (KeySpace::Integers { base }, Test::Integers { low, high, negate }) => {
                exact(negated(integer_range(*base, *low, *high).into_iter().collect(), *negate))
            }
            (KeySpace::Integers { base }, Test::Set { members, negate }) => {
                let key = |m: &i128| integer_range(*base, *m, *m).map(|(key, _)| key);
                exact(negated(runs(members.iter().filter_map(key)), *negate))
            }
            (KeySpace::Text { shared }, Test::Values(predicate)) => text_ranges(shared, predicate),
            _ => None,
        }
    }

    /// As `ranges`, of floats, whose keys depend on the width.
    pub(crate) fn float_ranges(values: &Values, test: &Test) -> Option<KeyRanges> {
        let Test::Floats { low, high, nan, negate } = test else { return None };
        let image = |value: f64| match values {
            Values::F32(_) => u64::from(image_f32(value as f32)),
            _ => image_f64(value),
        };
        let mut ranges = Vec::new();
        if low <= high {
            ranges.push((image(*low), image(*high)));
        }
        if *nan {
            ranges.push((image(f64::NAN), image(f64::NAN)));
        }
        Some(KeyRanges { ranges: negated(ranges, *negate), exact: true })
    }
}

/// The ranges of a stripe's keys that a test lets pass.
pub(crate) fn ranges_of(space: &KeySpace, values: &Values, test: &Test) -> Option<KeyRanges> {
    match space {
        KeySpace::Floats => KeySpace::float_ranges(values, test),
        _ => space.ranges(test),
    }
}

fn integer_range(base: i128, low: i128, high: i128) -> Option<(u64, u64)> {
    let from = if low <= base { 0 } else { u64::try_from(low.checked_sub(base)?).ok()? };
    if high < base {
        return None;
    }
    let to = high.checked_sub(base).map_or(u64::MAX, |d| u64::try_from(d).unwrap_or(u64::MAX));
    (from <= to).then_some((from, to))
}

/// Ascending keys as ranges of adjoining ones.
fn runs(keys: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for key in keys {
        match out.last_mut() {
            Some((_, high)) if *high + 1 == key => *high = key,
            _ => out.push((key, key)),
        }
    }
    out
}

/// What lies between the ranges, when it is that which is meant.
fn negated(ranges: Vec<(u64, u64)>, negate: bool) -> Vec<(u64, u64)> {
    if !negate {
        return ranges;
    }
    let mut out = Vec::with_capacity(ranges.len() + 1);
    let mut next = Some(0u64);
    for (low, high) in ranges {
        if let Some(from) = next.filter(|from| *from < low) {
            out.push((from, low - 1));
        }
        next = high.checked_add(1);
    }
    out.extend(next.map(|from| (from, u64::MAX)));
    out
}

/// The first eight bytes as a number that orders as they do, filled up with `fill`.
fn text_key(bytes: &[u8], fill: u8) -> u64 {
    let mut raw = [fill; KEY_BYTES];
    let length = bytes.len().min(KEY_BYTES);
    raw[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(raw)
}

/// Keys of the strings that may pass.
fn text_ranges(shared: &[u8], predicate: &ColumnPredicate) -> Option<KeyRanges> {
    // The least and the greatest key of strings on the one and the other side of a literal; `None` when there is none.
    let lowest = |value: &Value| {
        let bytes = value.as_bytes()?;
        match bytes.strip_prefix(shared) {
            Some(rest) => Some(text_key(rest, 0)),
            None => (bytes < shared).then_some(0),
        }
    };
    let highest = |value: &Value| {
        let bytes = value.as_bytes()?;
        match bytes.strip_prefix(shared) {
            Some(rest) => Some(text_key(rest, 0)),
            None => (bytes > shared).then_some(u64::MAX),
        }
    };
    let candidates = |ranges| Some(KeyRanges { ranges, exact: false });
    match predicate {
        ColumnPredicate::Range { low, high } => {
            let from = low.as_ref().map_or(Some(0), |b| lowest(&b.value));
            let to = high.as_ref().map_or(Some(u64::MAX), |b| highest(&b.value));
            candidates(from.zip(to).filter(|(from, to)| from <= to).into_iter().collect())
        }
        ColumnPredicate::In(values) => {
            let key = |v: &Value| v.as_bytes()?.strip_prefix(shared).map(|rest| text_key(rest, 0));
            let mut keys: Vec<u64> = values.iter().filter_map(key).collect();
            // Sorted values have sorted keys, some of them equal.
            keys.dedup();
            candidates(runs(keys.into_iter()))
        }
        ColumnPredicate::Like { pattern, negated: false } => {
            let prefix = pattern.prefix();
            let rest = prefix.strip_prefix(shared).filter(|rest| !rest.is_empty())?;
            candidates(vec![(text_key(rest, 0), text_key(rest, u8::MAX))])
        }
        _ => None,
    }
}

/// Bits of a float, turned so that they order as the floats do: -0 as 0, NaN above everything.
pub(crate) fn image_f64(value: f64) -> u64 {
    let bits = if value.is_nan() { f64::NAN.to_bits() & !(1 << 63) } else { (value + 0.0).to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

pub(crate) fn image_f32(value: f32) -> u32 {
    let bits = if value.is_nan() { f32::NAN.to_bits() & !(1 << 31) } else { (value + 0.0).to_bits() };
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_order_as_floats_do() {
        let values = [
            f64::NEG_INFINITY,
            -1e300,
            -1.5,
            -f64::MIN_POSITIVE,
            0.0,
            5e-324,
            1.0,
            1e300,
            f64::INFINITY,
            f64::NAN,
        ];
        for pair in values.windows(2) {
            assert!(image_f64(pair[0]) < image_f64(pair[1]), "{pair:?}");
            assert!(image_f32(pair[0] as f32) <= image_f32(pair[1] as f32), "{pair:?}");
        }
        assert_eq!((image_f64(-0.0), image_f64(-f64::NAN)), (image_f64(0.0), image_f64(f64::NAN)));
        assert_eq!((image_f32(-0.0), image_f32(-f32::NAN)), (image_f32(0.0), image_f32(f32::NAN)));
    }

    #[test]
    fn ranges_are_negated() {
        assert_eq!(negated(vec![], true), [(0, u64::MAX)]);
        assert_eq!(negated(vec![(0, 3), (5, 5)], true), [(4, 4), (6, u64::MAX)]);
        assert_eq!(negated(vec![(7, u64::MAX)], true), [(0, 6)]);
        assert_eq!(runs([1, 2, 3, 7, 9, 10].into_iter()), [(1, 3), (7, 7), (9, 10)]);
    }
}
