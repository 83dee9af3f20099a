//! Filters over join keys that a build side fills and scans apply before the probe (LIP: lookahead information
//! passing, Zhu, Potti, Saurabh, Patel, 2017; exact bits instead of Bloom filters where the keys' range allows).
//!
//! | build keys | filter |
//! | --- | --- |
//! | none | nothing passes |
//! | integers without gaps | their bounds |
//! | integers, at most `SPREAD` possible keys a row or `SMALL_RANGE` in all | exact bits (those of the join table, if it has them) |
//! | everything else | blocked Bloom filter |
//!
//! A filter never drops a row that has a match. NULL keys are dropped, so filters are published only by joins in
//! which NULL matches nothing and unmatched probe rows are not wanted. Which filter to apply first, and whether at
//! all, is the scan's business: it sees what they drop.

use std::sync::Arc;

use hash::exact_bits::{ExactBits, Integer};
use hash::join::BITS_RANGE_MAX;
use hash::{BitsFilling, Bloom, BloomFilling, KeyBounds, KeyCodes, hash_vector, is_integer_key};
use types::{Type, Value};
use vector::{Data, Vector};

/// Possible keys per row up to which exact bits are taken: eight bytes a row.
const SPREAD: u64 = 64;
/// Bits up to 16 MiB are taken in any case: exact, and cheaper to test than a Bloom filter.
const SMALL_RANGE: u64 = 1 << 27;

/// A set of keys, exact or approximate: a key it rejects has no match.
pub struct KeyFilter {
    /// Bounds of the keys (integers, dates, decimals unscaled), for skipping blocks. The lower is above the upper
    /// when there are no keys.
    pub bounds: Option<(i128, i128)>,
    set: KeySet,
}

enum KeySet {
    Nothing,
    /// Every integer between the bounds.
    Range {
        min: i64,
        max: i64,
    },
    /// Bits for the integers from `min` on.
    Bits {
        min: i64,
        bits: Arc<ExactBits>,
    },
    Bloom(Bloom),
}

/// A filter being filled, its parts by different workers if they like.
pub enum KeyFilterFilling {
    /// There are no keys.
    Nothing,
    /// Every integer between the bounds is a key.
    Range(KeyBounds),
    /// A bit for each possible key.
    Bits(KeyBounds, KeyCodes, BitsFilling),
    /// With the number of parts.
    Bloom(BloomFilling, u64),
}

/// Keys for which a worker more pays, about.
const PART_KEYS: usize = 1 << 17;

impl KeyFilterFilling {
    /// For `rows` keys of type `ty`, with their bounds when they are integers.
    pub fn new(ty: Type, rows: usize, bounds: Option<KeyBounds>) -> KeyFilterFilling {
        Self::in_parts(ty, rows, bounds, 1)
    }
    /// How many parts a filling of so many keys has, if there may be `parts_max`.
    pub fn parts(rows: usize, parts_max: u64) -> u64 {
        ((rows / PART_KEYS) as u64).clamp(1, parts_max.max(1))
    }
    /// The same with parts that may be filled at the same time.
    pub fn in_parts(ty: Type, rows: usize, bounds: Option<KeyBounds>, parts: u64) -> KeyFilterFilling {
        if rows == 0 {
            return KeyFilterFilling::Nothing;
        }
        if let Some(bounds) = bounds.filter(|_| is_integer_key(ty)) {
            if bounds.range() == 0 {
                return KeyFilterFilling::Nothing;
            }
            if bounds.ascending && bounds.range() == rows as u128 {
                return KeyFilterFilling::Range(bounds);
            }
            if let Some(codes) = KeyCodes::new(&[bounds], false) {
                let range = codes.range();
                let spread = range <= (rows as u64).saturating_mul(SPREAD);
                if range <= SMALL_RANGE || (range <= BITS_RANGE_MAX && spread) {
                    return KeyFilterFilling::Bits(bounds, codes, BitsFilling::new(range, parts));
                }
            }
        }
        KeyFilterFilling::Bloom(BloomFilling::new(rows), parts.max(1))
    }
    /// Bytes that the filter takes while it is filled.
    pub fn bytes(&self) -> u64 {
        match self {
            KeyFilterFilling::Nothing | KeyFilterFilling::Range(_) => 0,
            KeyFilterFilling::Bits(_, codes, _) => hash::exact_bits::bits_bytes(codes.range()),
            KeyFilterFilling::Bloom(bloom, _) => bloom.bytes(),
        }
    }
    /// True when `insert` has nothing to do.
    pub fn is_done(&self) -> bool {
        matches!(self, KeyFilterFilling::Nothing | KeyFilterFilling::Range(_))
    }
    /// Adds all keys of a vector, to every part.
    pub fn insert(&self, keys: &Vector) {
        let bounds = is_integer_key(keys.ty()).then(|| KeyBounds::of(keys, false));
        for part in 0..if let KeyFilterFilling::Bits(_, _, bits) = self { bits.partitions() } else { 1 } {
            self.insert_part(part, 0, bounds, keys);
        }
    }
    /// Takes batch number `at` of the keys, with its bounds if they are integers. Every batch is to be offered once
    /// to each part.
    pub fn insert_part(&self, part: u64, at: usize, own: Option<KeyBounds>, keys: &Vector) {
        match self {
            KeyFilterFilling::Nothing | KeyFilterFilling::Range(_) => {}
            KeyFilterFilling::Bits(all, codes, bits) => {
                // The batch's own bounds, which differ from all keys' where keys are clustered.
                if let Some(own) = own {
                    let place = |key: i64| key.wrapping_sub(all.min) as u64;
                    if own.range() == 0 || !bits.wants(part, place(own.min), place(own.max)) {
                        return;
                    }
                }
                let mut out = Vec::new();
                codes.encode(std::slice::from_ref(keys), keys.len(), &mut out);
                bits.insert(part, &out);
            }
            KeyFilterFilling::Bloom(_, parts) if at as u64 % parts != part => {}
            KeyFilterFilling::Bloom(bloom, _) => {
                let mut hashes = vec![0; keys.len()];
                hash_vector(keys, &mut hashes);
                if keys.has_nulls() {
                    let valid = (0..keys.len()).filter(|row| !keys.is_null(*row)).map(|row| hashes[row]);
                    bloom.insert(&valid.collect::<Vec<u64>>());
                } else {
                    bloom.insert(&hashes);
                }
            }
        }
    }
    /// `bounds`: of the keys, when they are integers.
    pub fn finish(self, bounds: Option<KeyBounds>) -> KeyFilter {
        match self {
            KeyFilterFilling::Nothing => KeyFilter::nothing(),
            KeyFilterFilling::Range(bounds) => KeyFilter::range(bounds),
            KeyFilterFilling::Bits(bounds, _, bits) => KeyFilter::bits(bounds, Arc::new(bits.finish())),
            KeyFilterFilling::Bloom(bloom, _) => KeyFilter {
                bounds: bounds.map(|b| (i128::from(b.min), i128::from(b.max))),
                set: KeySet::Bloom(bloom.finish()),
            },
        }
    }
}

/// A bit a row, all set.
fn every_row(rows: usize) -> Vec<u64> {
    let mut words = vec![u64::MAX; rows.div_ceil(64)];
    if !rows.is_multiple_of(64) {
        words[rows / 64] = (1 << (rows % 64)) - 1;
    }
    words
}

impl KeyFilter {
    /// No key passes.
    pub fn nothing() -> KeyFilter {
        KeyFilter { bounds: Some((i128::MAX, i128::MIN)), set: KeySet::Nothing }
    }
    fn range(bounds: KeyBounds) -> KeyFilter {
        KeyFilter {
            bounds: Some((i128::from(bounds.min), i128::from(bounds.max))),
            set: KeySet::Range { min: bounds.min, max: bounds.max },
        }
    }
    /// A filter of bits whose code 0 stands for the lower bound; a plain range when all bits are set.
    pub fn bits(bounds: KeyBounds, bits: Arc<ExactBits>) -> KeyFilter {
        if bits.is_full() {
            return KeyFilter::range(bounds);
        }
        KeyFilter {
            bounds: Some((i128::from(bounds.min), i128::from(bounds.max))),
            set: KeySet::Bits { min: bounds.min, bits },
        }
    }
    /// As EXPLAIN ANALYZE prints it.
    pub fn name(&self) -> &'static str {
        match self.set {
            KeySet::Nothing => "nothing",
            KeySet::Range { .. } => "range",
            KeySet::Bits { .. } => "bits",
            KeySet::Bloom(_) => "bloom",
        }
    }
    /// Bytes of the bits or of the Bloom filter; 0 for a range.
    pub fn bytes(&self) -> usize {
        match &self.set {
            KeySet::Nothing | KeySet::Range { .. } => 0,
            KeySet::Bits { bits, .. } => bits.bytes(),
            KeySet::Bloom(bloom) => bloom.bytes(),
        }
    }

    /// Keeps in `rows` (indices into `keys`) those whose key may be in the set; NULL keys are dropped.
    pub fn retain(&self, keys: &Vector, rows: &mut Vec<u32>) {
        if keys.has_nulls() {
            rows.retain(|row| !keys.is_null(*row as usize));
        }
        match (&self.set, keys.data()) {
            (KeySet::Nothing, _) => rows.clear(),
            (_, Data::I16(v)) => self.retain_integers(v, 0, rows),
            (_, Data::I32(v)) => self.retain_integers(v, 0, rows),
            (_, Data::I64(v)) => self.retain_integers(v, 0, rows),
            (_, Data::Constant(value)) => {
                if !self.may_contain(value) {
                    rows.clear();
                }
            }
            (_, Data::Dictionary { codes, values }) if values.len() <= codes.len().max(256) => {
                // Each distinct value is judged once.
                let accepted = self.accepted(values);
                let accepts = |code: usize| accepted[code / 64] >> (code % 64) & 1 == 1;
                rows.retain(|row| accepts(codes[*row as usize] as usize));
            }
            (_, Data::Dictionary { .. }) => {
                let chosen = keys.gather(rows).flatten();
                let mut places: Vec<u32> = (0..rows.len() as u32).collect();
                self.retain(&chosen, &mut places);
                for (at, place) in places.iter().enumerate() {
                    rows[at] = rows[*place as usize];
                }
                rows.truncate(places.len());
            }
            (KeySet::Bloom(bloom), _) => {
                if rows.len() * 2 < keys.len() {
                    let chosen = keys.gather(rows);
                    let mut hashes = vec![0; rows.len()];
                    hash_vector(&chosen, &mut hashes);
                    bloom.retain_aligned(&hashes, rows);
                } else {
                    let mut hashes = vec![0; keys.len()];
                    hash_vector(keys, &mut hashes);
                    bloom.retain(&hashes, rows);
                }
            }
            (KeySet::Range { .. } | KeySet::Bits { .. }, _) => {
                rows.retain(|row| self.may_contain(&keys.value(*row as usize)));
            }
        }
    }

    /// The same for integers that stand for `base + value`, as truncated block codes do; none is NULL.
    pub fn retain_integers<T: KeyLane>(&self, values: &[T], base: i64, rows: &mut Vec<u32>) {
        if rows.len() == values.len() && rows.len() >= 64 {
            // All rows, which are ascending: a bit a row is found faster than a list is thinned.
            let mut words = every_row(values.len());
            self.and_integers(values, base, 1, &mut words);
            rows.clear();
            simd::append_indices(&words, 0, rows);
            return;
        }
        match &self.set {
            KeySet::Nothing => rows.clear(),
            KeySet::Range { min, max } => {
                let span = max.wrapping_sub(*min) as u64;
                let min = min.wrapping_sub(base);
                let mut kept = 0;
                for at in 0..rows.len() {
                    let row = rows[at];
                    rows[kept] = row;
                    kept += usize::from(values[row as usize].into().wrapping_sub(min) as u64 <= span);
                }
                rows.truncate(kept);
            }
            KeySet::Bits { min, bits } => bits.retain(values, min.wrapping_sub(base), rows),
            KeySet::Bloom(bloom) => {
                let mut hashes = Vec::with_capacity(rows.len());
                hashes.extend(
                    rows.iter()
                        .map(|row| hash::hashing::hash_i64(values[*row as usize].into().wrapping_add(base))),
                );
                bloom.retain_aligned(&hashes, rows);
            }
        }
    }

    /// And-s into `words`, one bit a row, whether the integer `base + step * value` may be in the set: block codes as
    /// they stand. For scans that hold their rows as a bitmap.
    pub fn and_integers<T: KeyLane>(&self, values: &[T], base: i64, step: i64, words: &mut [u64]) {
        match &self.set {
            KeySet::Nothing => words.fill(0),
            KeySet::Range { min, max } => {
                // Values from `low` to `high` lie between the bounds.
                let (base, step) = (i128::from(base), i128::from(step));
                let low = (i128::from(*min) - base).div_euclid(step)
                    + i128::from((i128::from(*min) - base).rem_euclid(step) != 0);
                let high = (i128::from(*max) - base).div_euclid(step);
                if low > T::HIGHEST || high < T::LOWEST || low > high {
                    words.fill(0);
                } else {
                    simd::and_range(values, T::nearest(low), T::nearest(high), false, words);
                }
            }
            KeySet::Bits { min, bits } => bits.and_into(values, base.wrapping_sub(*min), step, words),
            KeySet::Bloom(bloom) => bloom.and_into(values, base, step, words),
        }
    }

    /// What a test of one row costs, about, in nanoseconds: for the order in which filters are applied.
    pub fn test_ns(&self) -> f64 {
        match &self.set {
            KeySet::Nothing | KeySet::Range { .. } => 0.1,
            // The cost depends on the level of the cache that holds the filter; in the nearest level, a smaller
            // filter leaves more room for the keys.
            KeySet::Bits { bits, .. } => match bits.bytes() {
                near @ 0..=0x8000 => 0.4 + 0.1 * near as f64 / 32_768.0,
                0x8001..=0x8_0000 => 0.8,
                _ => 1.6,
            },
            KeySet::Bloom(bloom) => match bloom.bytes() {
                0..=0x8000 => 1.5,
                0x8001..=0x8_0000 => 2.0,
                _ => 3.0,
            },
        }
    }
    /// The integers it lets through, when it lets through all of an interval.
    pub fn interval(&self) -> Option<(i64, i64)> {
        if let KeySet::Range { min, max } = self.set { Some((min, max)) } else { None }
    }
    /// Whether every key it lets through has a match.
    pub fn is_exact(&self) -> bool {
        !matches!(self.set, KeySet::Bloom(_))
    }

    /// One integer key.
    pub fn may_contain_integer(&self, key: i64) -> bool {
        match &self.set {
            KeySet::Nothing => false,
            KeySet::Range { min, max } => key >= *min && key <= *max,
            KeySet::Bits { min, bits } => key >= *min && bits.contains(key.wrapping_sub(*min) as u64),
            KeySet::Bloom(bloom) => bloom.contains(hash::hashing::hash_i64(key)),
        }
    }

    /// Whether each value of a dictionary may be in the set: a bit a code.
    pub fn accepted(&self, values: &Vector) -> Vec<u64> {
        let mut words = every_row(values.len());
        match values.data() {
            Data::I16(v) if !values.has_nulls() => self.and_integers(v, 0, 1, &mut words),
            Data::I32(v) if !values.has_nulls() => self.and_integers(v, 0, 1, &mut words),
            Data::I64(v) if !values.has_nulls() => self.and_integers(v, 0, 1, &mut words),
            _ => {
                let mut rows: Vec<u32> = (0..values.len() as u32).collect();
                self.retain(values, &mut rows);
                words.fill(0);
                rows.iter().for_each(|row| words[*row as usize / 64] |= 1 << (row % 64));
            }
        }
        words
    }

    /// One key.
    pub fn may_contain(&self, key: &Value) -> bool {
        if key.is_null() {
            return false;
        }
        let integer = || match key {
            Value::Bool(b) => Some(i64::from(*b)),
            other => other.as_i64(),
        };
        match &self.set {
            KeySet::Nothing => false,
            KeySet::Range { min, max } => integer().is_none_or(|k| k >= *min && k <= *max),
            KeySet::Bits { min, bits } => {
                integer().is_none_or(|k| k >= *min && bits.contains(k.wrapping_sub(*min) as u64))
            }
            KeySet::Bloom(bloom) => bloom.contains(hash::hashing::hash_value(key)),
        }
    }
}

/// Integers that stand for keys: the codes of blocks and the values of vectors.
pub trait KeyLane: Integer + simd::Key {
    /// The least value of the type.
    const LOWEST: i128;
    /// The greatest value of the type.
    const HIGHEST: i128;
    /// The value, or the bound beyond which it lies.
    fn nearest(value: i128) -> Self;
}

macro_rules! key_lane {
    ($($ty:ty),*) => {
        $(impl KeyLane for $ty {
            const LOWEST: i128 = <$ty>::MIN as i128;
            const HIGHEST: i128 = <$ty>::MAX as i128;
            fn nearest(value: i128) -> Self {
                value.clamp(Self::LOWEST, Self::HIGHEST) as $ty
            }
        })*
    };
}
key_lane!(u8, u16, u32, i16, i32, i64);

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(keys: &Vector) -> KeyFilter {
        let bounds = is_integer_key(keys.ty()).then(|| KeyBounds::of(keys, true));
        let filling = KeyFilterFilling::new(keys.ty(), keys.len(), bounds);
        filling.insert(keys);
        filling.finish(bounds)
    }

    fn kept(filter: &KeyFilter, keys: &Vector) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..keys.len() as u32).collect();
        filter.retain(keys, &mut rows);
        rows
    }

    fn integers(values: &[Option<i64>]) -> Vector {
        let values: Vec<Value> = values.iter().map(|v| v.map_or(Value::Null, Value::I64)).collect();
        Vector::from_values(Type::BigInt, &values)
    }

    #[test]
    fn every_kind_keeps_members_and_drops_nulls() {
        let kinds = [
            (integers(&[]), "nothing"),
            (integers(&[None]), "nothing"),
            (integers(&[Some(5), Some(6), Some(7)]), "range"),
            (integers(&[Some(7), Some(5), Some(6)]), "range"),
            (integers(&[Some(-5), None, Some(60), Some(60)]), "bits"),
            (integers(&[Some(i64::MIN), Some(i64::MAX)]), "bloom"),
        ];
        let asked: Vec<Option<i64>> =
            (-70..70).map(Some).chain([None, Some(i64::MIN), Some(i64::MAX)]).collect();
        let probe = integers(&asked);
        let places: Vec<u32> = (0..asked.len() as u32).collect();
        let dictionary = Vector::dictionary(
            places.into(),
            Arc::new(integers(&asked.iter().map(|a| Some(a.unwrap_or(0))).collect::<Vec<_>>())),
            probe.validity().cloned(),
        );
        for (keys, name) in kinds {
            let filter = filter(&keys);
            assert_eq!(filter.name(), name);
            let members: Vec<u32> = (0..asked.len() as u32)
                .filter(|r| asked[*r as usize].is_some())
                .filter(|r| (0..keys.len()).any(|k| keys.value(k) == probe.value(*r as usize)))
                .collect();
            let valid: Vec<i64> = asked.iter().map(|a| a.unwrap_or(0)).collect();
            let (mut all, mut some) =
                (Vec::from_iter(0..valid.len() as u32), Vec::from_iter(1..valid.len() as u32));
            filter.retain_integers(&valid, 0, &mut all);
            filter.retain_integers(&valid, 0, &mut some);
            all.retain(|row| *row > 0);
            assert_eq!(all, some, "{name}: by bitmap and by list");
            for probe in [&probe, &dictionary] {
                let rows = kept(&filter, probe);
                if name == "bloom" {
                    assert!(members.iter().all(|m| rows.contains(m)) && rows.len() < 10);
                } else {
                    assert_eq!(rows, members, "{name}");
                }
            }
        }
    }

    #[test]
    fn strings_and_codes_with_a_base() {
        let texts = |words: &[&str]| {
            Vector::from_values(Type::Text, &words.iter().map(|w| Value::text(w)).collect::<Vec<_>>())
        };
        let names = filter(&texts(&["apple", "a much longer string than fits"]));
        assert_eq!(names.bounds, None);
        assert_eq!(kept(&names, &texts(&["pear", "apple", "a much longer string than fits"])), [1, 2]);
        let mut few = vec![2];
        names.retain(&texts(&["pear", "apple", "a much longer string than fits", "x", "y"]), &mut few);
        assert_eq!(few, [2]);
        for keys in [[Some(1000), Some(1003)], [Some(1000), Some(i64::MAX)]] {
            let filter = filter(&integers(&keys));
            let mut rows = vec![0, 1, 2];
            filter.retain_integers(&[0u8, 1, 3], 1000, &mut rows);
            assert!(rows.contains(&0) && !rows.contains(&1));
        }
    }
}
