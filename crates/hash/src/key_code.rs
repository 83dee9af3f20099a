//! Integer keys as one code each: keys without hashing, composite ones included.
//!
//! ```text
//!  key columns k1 .. kn with known bounds [min_i, max_i], range_i = max_i - min_i + 1 (+ 1 for NULL where it matches)
//!  code = sum of (k_i - min_i) * stride_i,   stride_n = 1, stride_i = range_(i+1) * stride_(i+1)
//!  0 <= code < range = product of range_i < 2^63;   NO_CODE for a key that matches nothing
//! ```
//! Codes are equal exactly when keys are, so tables that hold codes never compare columns. SMALLINT to BIGINT, BOOLEAN,
//! dates, times, intervals and decimals of at most 18 digits count as integers.

use arrow_buffer::NullBuffer;
use types::{Physical, Type, Value};
use vector::{Data, Vector};

/// The code of a key outside the bounds, or NULL where NULL matches nothing.
pub const NO_CODE: u64 = u64::MAX;

/// Codes stay below this.
const RANGE_MAX: u128 = 1 << 63;

/// True for types whose values are held as integers of at most 64 bits.
pub fn is_integer_key(ty: Type) -> bool {
    matches!(ty.physical(), Physical::Bool | Physical::I16 | Physical::I32 | Physical::I64)
}

/// What is known of the values of one integer column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyBounds {
    /// No value is less; above `max` when there is no value.
    pub min: i64,
    /// No value is greater.
    pub max: i64,
    /// Each value is greater than the one before, and none is NULL.
    pub ascending: bool,
    /// No value is less than the one before, and none is NULL.
    pub sorted: bool,
    /// Whether a value is NULL.
    pub has_null: bool,
}

impl KeyBounds {
    /// The bounds of no rows at all: joins with any others without changing them.
    pub const EMPTY: KeyBounds =
        KeyBounds { min: i64::MAX, max: i64::MIN, ascending: true, sorted: true, has_null: false };

    /// The bounds of a vector of an integer type; `order` asks for `ascending` and `sorted` too.
    pub fn of(vector: &Vector, order: bool) -> KeyBounds {
        if vector.is_empty() {
            return KeyBounds::EMPTY;
        }
        let nulls = vector.validity().filter(|v| v.null_count() > 0);
        match vector.data() {
            Data::I16(v) => of_slice(v, nulls, order),
            Data::I32(v) => of_slice(v, nulls, order),
            Data::I64(v) => of_slice(v, nulls, order),
            _ => {
                let values: Vec<i64> = (0..vector.len()).map(|row| as_integer(&vector.value(row))).collect();
                let nulls = NullBuffer::from_iter((0..vector.len()).map(|row| !vector.is_null(row)));
                of_slice(&values, Some(&nulls).filter(|n| n.null_count() > 0), order)
            }
        }
    }
    /// The bounds of these rows followed by those of `next`.
    #[must_use]
    pub fn then(self, next: KeyBounds) -> KeyBounds {
        if next == KeyBounds::EMPTY {
            return self;
        }
        if self == KeyBounds::EMPTY {
            return next;
        }
        KeyBounds {
            min: self.min.min(next.min),
            max: self.max.max(next.max),
            ascending: self.ascending && next.ascending && self.max < next.min,
            sorted: self.sorted && next.sorted && self.max <= next.min,
            has_null: self.has_null || next.has_null,
        }
    }
    /// Number of values between the bounds, both included; 0 when there is none.
    pub fn range(&self) -> u128 {
        if self.min > self.max { 0 } else { (i128::from(self.max) - i128::from(self.min) + 1) as u128 }
    }
}

fn as_integer(value: &Value) -> i64 {
    match value {
        Value::Bool(b) => i64::from(*b),
        other => other.as_i64().unwrap_or(0),
    }
}

fn of_slice<T: Copy + Ord + Into<i64>>(values: &[T], nulls: Option<&NullBuffer>, order: bool) -> KeyBounds {
    match nulls {
        None => match simd::bounds(values) {
            None => KeyBounds::EMPTY,
            Some((min, max)) => KeyBounds {
                min: min.into(),
                max: max.into(),
                // Without early exit, so that it is vectorised.
                ascending: order
                    && values.iter().zip(&values[1..]).fold(true, |rising, (a, b)| rising & (a < b)),
                sorted: order
                    && values.iter().zip(&values[1..]).fold(true, |rising, (a, b)| rising & (a <= b)),
                has_null: false,
            },
        },
        Some(nulls) => {
            let mut bounds =
                KeyBounds { ascending: false, sorted: false, has_null: true, ..KeyBounds::EMPTY };
            for row in nulls.valid_indices() {
                let value = values[row].into();
                bounds.min = bounds.min.min(value);
                bounds.max = bounds.max.max(value);
            }
            bounds
        }
    }
}

/// Hashes of keys that have no codes. NULL where it matches nothing gives `NO_CODE`, which no key hashes to.
pub fn key_hashes(keys: &[Vector], rows: usize, null_matches: bool, out: &mut Vec<u64>) {
    crate::hashing::hash_columns(keys, rows, out);
    for hash in out.iter_mut() {
        *hash = (*hash).min(NO_CODE - 1);
    }
    if !null_matches {
        for key in keys.iter().filter(|k| k.has_nulls()) {
            for (row, hash) in out.iter_mut().enumerate() {
                if key.is_null(row) {
                    *hash = NO_CODE;
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Part {
    min: i64,
    range: u64,
    stride: u64,
}

/// How keys become codes.
#[derive(Clone, Debug)]
pub struct KeyCodes {
    parts: Vec<Part>,
    range: u64,
    /// NULL is a value like any other: its digit is the last of the part's range.
    null_matches: bool,
}

impl KeyCodes {
    /// `None` when the codes do not fit 63 bits.
    pub fn new(bounds: &[KeyBounds], null_matches: bool) -> Option<KeyCodes> {
        let mut parts: Vec<Part> = Vec::with_capacity(bounds.len());
        let mut stride: u128 = 1;
        for bounds in bounds.iter().rev() {
            let range = bounds.range() + u128::from(null_matches);
            if stride * range.max(1) > RANGE_MAX {
                return None;
            }
            parts.push(Part { min: bounds.min, range: range as u64, stride: stride as u64 });
            stride *= range.max(1);
        }
        parts.reverse();
        let empty = parts.iter().any(|p| p.range == 0);
        Some(KeyCodes { parts, range: if empty { 0 } else { stride as u64 }, null_matches })
    }
    /// Codes are below this.
    pub fn range(&self) -> u64 {
        self.range
    }
    /// The key column's value at code 0 of a single key.
    pub fn min(&self) -> i64 {
        self.parts.first().map_or(0, |p| p.min)
    }
    /// The code of every row; `out` is made as long as `rows`.
    pub fn encode(&self, keys: &[Vector], rows: usize, out: &mut Vec<u64>) {
        out.clear();
        out.resize(rows, 0);
        for (at, (part, key)) in self.parts.iter().zip(keys).enumerate() {
            self.add(part, key, at == 0, out);
        }
    }

    fn add(&self, part: &Part, key: &Vector, first: bool, out: &mut [u64]) {
        match key.data() {
            Data::Bool(v) => {
                let values: Vec<i16> = v.iter().map(i16::from).collect();
                self.add_slice(part, &values, key.validity(), first, out);
            }
            Data::I16(v) => self.add_slice(part, v, key.validity(), first, out),
            Data::I32(v) => self.add_slice(part, v, key.validity(), first, out),
            Data::I64(v) => self.add_slice(part, v, key.validity(), first, out),
            Data::Constant(value) => {
                let digit = self.digit(part, value);
                // A constant NULL is the same with its validity and without; flattened, it may still be a constant.
                if key.validity().is_some() && !value.is_null() {
                    return self.add(part, &key.flatten(), first, out);
                }
                for code in out.iter_mut() {
                    *code = add_digit(*code, digit, part, first);
                }
            }
            Data::Dictionary { codes, values } if values.len() <= codes.len() => {
                let mut digits = vec![0; values.len()];
                self.add(&Part { stride: 1, ..*part }, values, true, &mut digits);
                let nulls = key.validity().filter(|v| v.null_count() > 0);
                let null_digit = self.null_digit(part);
                for (row, code) in out.iter_mut().enumerate() {
                    let null = nulls.is_some_and(|n| n.is_null(row));
                    let digit = if null { null_digit } else { digits[codes[row] as usize] };
                    *code = add_digit(*code, digit, part, first);
                }
            }
            Data::Dictionary { .. } | Data::Coded(_) => self.add(part, &key.flatten(), first, out),
            // Values without an integer form equal none of those the codes were made for; NULLs have a digit.
            _ => {
                let null_digit = self.null_digit(part);
                for (row, code) in out.iter_mut().enumerate() {
                    let null = key.validity().is_some_and(|v| v.is_null(row));
                    *code = add_digit(*code, if null { null_digit } else { NO_CODE }, part, first);
                }
            }
        }
    }

    /// One value's digit, `part.range` or more when it matches nothing.
    fn digit(&self, part: &Part, value: &Value) -> u64 {
        if value.is_null() {
            return self.null_digit(part);
        }
        let digit = as_integer(value).wrapping_sub(part.min) as u64;
        if digit < self.values_range(part) { digit } else { NO_CODE }
    }
    fn null_digit(&self, part: &Part) -> u64 {
        if self.null_matches { part.range - 1 } else { NO_CODE }
    }
    /// The part's range without the digit of NULL.
    fn values_range(&self, part: &Part) -> u64 {
        part.range - u64::from(self.null_matches)
    }

    fn add_slice<T: Copy + Into<i64>>(
        &self,
        part: &Part,
        values: &[T],
        validity: Option<&NullBuffer>,
        first: bool,
        out: &mut [u64],
    ) {
        let (min, range) = (part.min, self.values_range(part));
        match validity.filter(|v| v.null_count() > 0) {
            None if first && part.stride == 1 => {
                for (code, value) in out.iter_mut().zip(values) {
                    let digit = (*value).into().wrapping_sub(min) as u64;
                    *code = if digit < range { digit } else { NO_CODE };
                }
            }
            None => {
                for (code, value) in out.iter_mut().zip(values) {
                    let digit = (*value).into().wrapping_sub(min) as u64;
                    *code = add_digit(*code, if digit < range { digit } else { NO_CODE }, part, first);
                }
            }
            Some(nulls) => {
                let null_digit = self.null_digit(part);
                for (row, (code, value)) in out.iter_mut().zip(values).enumerate() {
                    let digit = (*value).into().wrapping_sub(min) as u64;
                    let digit = if digit < range { digit } else { NO_CODE };
                    let digit = if nulls.is_valid(row) { digit } else { null_digit };
                    *code = add_digit(*code, digit, part, first);
                }
            }
        }
    }
}

#[inline(always)]
fn add_digit(code: u64, digit: u64, part: &Part, first: bool) -> u64 {
    let none = digit == NO_CODE || (!first && code == NO_CODE);
    let sum = digit.wrapping_mul(part.stride).wrapping_add(if first { 0 } else { code });
    if none { NO_CODE } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn integers(values: &[Option<i32>]) -> Vector {
        let values: Vec<Value> = values.iter().map(|v| v.map_or(Value::Null, Value::I32)).collect();
        Vector::from_values(Type::Integer, &values)
    }

    #[test]
    fn bounds_join() {
        let a = KeyBounds::of(&integers(&[Some(3), Some(5)]), true);
        let b = KeyBounds::of(&integers(&[Some(6), Some(9)]), true);
        assert_eq!(a.then(b), KeyBounds { min: 3, max: 9, ascending: true, sorted: true, has_null: false });
        assert!(!b.then(a).ascending && !b.then(a).sorted);
        let repeated = KeyBounds::of(&integers(&[Some(3), Some(3), Some(9)]), true);
        assert!(!repeated.ascending && repeated.sorted);
        let touching = repeated.then(KeyBounds::of(&integers(&[Some(9), Some(10)]), true));
        assert!(!touching.ascending && touching.sorted);
        assert_eq!(KeyBounds::EMPTY.then(a), a);
        let with_null = KeyBounds::of(&integers(&[None, Some(-4)]), true);
        assert_eq!(
            with_null,
            KeyBounds { min: -4, max: -4, ascending: false, sorted: false, has_null: true }
        );
        assert_eq!(KeyBounds { min: i64::MIN, max: i64::MAX, ..a }.range(), 1 << 64);
        assert_eq!(KeyBounds::EMPTY.range(), 0);
    }

    #[test]
    fn codes_are_equal_exactly_when_keys_are() {
        let a = integers(&[Some(1), Some(2), None, Some(2), Some(7)]);
        let b = integers(&[Some(-1), Some(-1), Some(4), Some(-1), None]);
        let bounds = [KeyBounds::of(&a, false), KeyBounds::of(&b, false)];
        for null_matches in [false, true] {
            let keys = KeyCodes::new(&bounds, null_matches).unwrap();
            let mut codes = Vec::new();
            keys.encode(&[a.clone(), b.clone()], 5, &mut codes);
            assert_eq!(codes[1], codes[3]);
            assert_ne!(codes[0], codes[1]);
            assert_eq!(codes[2] == NO_CODE, !null_matches);
            assert_eq!(codes[4] == NO_CODE, !null_matches);
            assert!(codes.iter().all(|c| *c < keys.range() || *c == NO_CODE));
            // The same through dictionaries and constants.
            let dictionary = |v: &Vector| {
                let values = integers(&[Some(-1), Some(1), Some(2), Some(4), Some(7)]);
                let places: Vec<u32> = (0..5)
                    .map(|r| (0..5).find(|p| values.value(*p) == v.value(r)).unwrap_or(0) as u32)
                    .collect();
                Vector::dictionary(places.into(), Arc::new(values), v.validity().cloned())
            };
            let mut others = Vec::new();
            keys.encode(&[dictionary(&a), dictionary(&b)], 5, &mut others);
            assert_eq!(codes, others);
            let constant = Vector::constant(Type::Integer, Value::I32(-1), 5);
            keys.encode(&[a.clone(), constant], 5, &mut others);
            assert_eq!(others[1], codes[1]);
            // Outside the bounds.
            keys.encode(&[integers(&[Some(8)]), integers(&[Some(-1)])], 1, &mut others);
            assert_eq!(others, [NO_CODE]);
        }
    }

    #[test]
    fn wide_ranges_are_refused() {
        let all =
            KeyBounds { ascending: false, sorted: false, min: i64::MIN, max: i64::MAX, has_null: false };
        assert!(KeyCodes::new(&[all], false).is_none());
        let half = KeyBounds { min: 0, max: i64::MAX, ..all };
        let keys = KeyCodes::new(&[half], false).unwrap();
        assert_eq!(keys.range(), 1 << 63);
        assert!(KeyCodes::new(&[half, half], false).is_none());
        let none = KeyCodes::new(&[KeyBounds::EMPTY], false).unwrap();
        let mut codes = Vec::new();
        none.encode(&[integers(&[Some(1)])], 1, &mut codes);
        assert_eq!((codes[0], none.range()), (NO_CODE, 0));
    }
}
