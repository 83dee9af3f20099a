//! 64-bit hashes of column values, two multiplications a value.
//!
//! ```text
//!  integers of any width, dates, times, decimals of at most 18 digits    mix(x)   of the value as i64
//!  wider integers, UUIDs                                                 mix of the low word's, with the high word
//!  floats                                                                as integers of their bits, -0 as 0, one NaN
//!  text and bytes   up to 12 bytes: two folds of the view                longer: a fold per 16 bytes, length in the seed
//!  NULL             NULL_HASH
//!
//!  mix(x)          x ^ SEED; twice: x ^= x >> s, x *= m; x ^= x >> 31     (Stafford's variant 13)
//!  fold(x, m)      low(p) ^ high(p), p = x * m in 128 bits                 (wyhash: Wang Yi, 2019)
//!  several columns (rotate(hash, 23) ^ next) * MULTIPLIER, high half xor-ed into the low
//! ```
//! Equal values of types with the same representation hash equal whatever form the vector has (flat, dictionary,
//! constant); SMALLINT, INTEGER and BIGINT of one value do too. A dictionary's values are hashed once, unless there are
//! more of them than rows. Hashes never leave the process, so they may change.
//!
//! Integers are mixed twice because keys come in strides: after a single multiplication, multiples of 100 crowd in some
//! places of a table (measured: probes five times slower). The two need no 128-bit products, so eight are made at once.
//!
//! Tables take their place from the high bits and their fingerprints from the low ones (`slot`, `fragment`).

use arrow_buffer::NullBuffer;
use types::Value;
use vector::strings::{INLINE_BYTES, view_length};
use vector::{Data, Strings, Vector};

use crate::exact_bits::Integer;

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
const SEED: u64 = 0xD6E8_FEB8_6659_FD93;
const STRING_SEED: u64 = 0xA076_1D64_78BD_642F;
const STRING_MULTIPLIER: u64 = 0xE703_7ED1_A0B4_28DB;

/// The hash of NULL, where NULLs are hashed at all.
pub const NULL_HASH: u64 = 0x589F_CBA1_2E2D_6A4B;

#[inline(always)]
fn fold(value: u64, multiplier: u64) -> u64 {
    let product = u128::from(value) * u128::from(multiplier);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of an integer of any width, widened.
#[inline(always)]
pub fn hash_i64(value: i64) -> u64 {
    let mut x = value as u64 ^ SEED;
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The hash of a 128-bit integer; not that of the same value in 64 bits.
#[inline(always)]
pub fn hash_i128(value: i128) -> u64 {
    hash_i64((hash_i64(value as i64) ^ (value >> 64) as u64) as i64)
}

/// The hash of a BOOLEAN.
#[inline(always)]
pub fn hash_bool(value: bool) -> u64 {
    hash_i64(i64::from(value))
}

/// The hash of a double: one for all NaNs, one for 0 and -0.
#[inline(always)]
pub fn hash_f64(value: f64) -> u64 {
    // Adding 0.0 turns -0 into 0.
    let bits = if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() };
    hash_i64(bits as i64)
}

/// The hash of a float: one for all NaNs, one for 0 and -0; not that of the same number as a double.
#[inline(always)]
pub fn hash_f32(value: f32) -> u64 {
    let bits = if value.is_nan() { f32::NAN.to_bits() } else { (value + 0.0).to_bits() };
    hash_i64(i64::from(bits as i32))
}

#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    let mut raw = [0u8; 8];
    raw.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(raw)
}

/// The hash of a string that lives in its view: unused bytes are zero, so the view is all there is.
#[inline(always)]
fn hash_short(view: u128) -> u64 {
    fold(fold(view as u64 ^ STRING_SEED, MULTIPLIER) ^ (view >> 64) as u64, STRING_MULTIPLIER)
}

fn hash_long(bytes: &[u8]) -> u64 {
    debug_assert!(bytes.len() > INLINE_BYTES);
    let mut hash = STRING_SEED ^ bytes.len() as u64;
    if bytes.len() >= 16 {
        let mut rest = bytes;
        while rest.len() > 16 {
            hash = pair(hash, word(rest), word(&rest[8..]));
            rest = &rest[16..];
        }
        // The last 16 bytes, which may overlap those before.
        let tail = &bytes[bytes.len() - 16..];
        return pair(hash, word(tail), word(&tail[8..]));
    }
    // 13 to 15 bytes: two overlapping words.
    pair(hash, word(bytes), word(&bytes[bytes.len() - 8..]))
}

#[inline(always)]
fn pair(hash: u64, low: u64, high: u64) -> u64 {
    let product = u128::from(low ^ hash) * u128::from(high ^ STRING_MULTIPLIER);
    fold(product as u64 ^ (product >> 64) as u64, MULTIPLIER)
}

/// The hash of a string given as bytes; the same as that of its view.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    if bytes.len() <= INLINE_BYTES {
        hash_short(vector::strings::inline_view(bytes))
    } else {
        hash_long(bytes)
    }
}

#[inline(always)]
fn hash_view(strings: &Strings, views: &[u128], row: usize) -> u64 {
    let view = views[row];
    if view_length(view) <= INLINE_BYTES { hash_short(view) } else { hash_long(strings.get(row)) }
}

/// Mixes the hash of a further column into a row's hash.
#[inline(always)]
pub fn combine(hash: u64, next: u64) -> u64 {
    let product = (hash.rotate_left(23) ^ next).wrapping_mul(MULTIPLIER);
    product ^ (product >> 32)
}

/// The hash of one value; the same as in a vector.
pub fn hash_value(value: &Value) -> u64 {
    match value {
        Value::Null => NULL_HASH,
        Value::Bool(v) => hash_bool(*v),
        Value::I16(v) => hash_i64(i64::from(*v)),
        Value::I32(v) => hash_i64(i64::from(*v)),
        Value::I64(v) => hash_i64(*v),
        Value::I128(v) => hash_i128(*v),
        Value::F32(v) => hash_f32(*v),
        Value::F64(v) => hash_f64(*v),
        Value::Bytes(v) => hash_bytes(v),
    }
}

/// The place of a hash among `slots`, from its high bits: monotone in the hash, any number of slots.
#[inline(always)]
pub fn slot(hash: u64, slots: u32) -> usize {
    (((hash >> 32) * u64::from(slots)) >> 32) as usize
}

/// The part of a hash that `slot` does not use.
#[inline(always)]
pub fn fragment(hash: u64) -> u32 {
    hash as u32
}

/// How a vector's hashes go into `out`.
trait Store: Copy {
    fn store(self, out: &mut u64, hash: u64);
}
#[derive(Clone, Copy)]
struct Set;
#[derive(Clone, Copy)]
struct Combine;
impl Store for Set {
    #[inline(always)]
    fn store(self, out: &mut u64, hash: u64) {
        *out = hash;
    }
}
impl Store for Combine {
    #[inline(always)]
    fn store(self, out: &mut u64, hash: u64) {
        *out = combine(*out, hash);
    }
}

/// Writes the hash of every row to `out`, which has the vector's length.
pub fn hash_vector(vector: &Vector, out: &mut [u64]) {
    into(vector, out, Set);
}

/// Mixes the hash of every row into `out`, which has the vector's length.
pub fn combine_vector(vector: &Vector, out: &mut [u64]) {
    into(vector, out, Combine);
}

/// The hash of every row of several columns. `out` is made as long as `rows`.
pub fn hash_columns(columns: &[Vector], rows: usize, out: &mut Vec<u64>) {
    out.clear();
    out.resize(rows, SEED);
    let mut columns = columns.iter();
    if let Some(first) = columns.next() {
        hash_vector(first, out);
    }
    for column in columns {
        combine_vector(column, out);
    }
}

fn into<S: Store>(vector: &Vector, out: &mut [u64], store: S) {
    assert_eq!(vector.len(), out.len(), "a hash a row");
    match vector.data() {
        Data::Constant(value) => {
            let hash = hash_value(value);
            write(out, vector.validity(), store, |_| hash);
        }
        Data::Dictionary { codes, values } => {
            // Hashing the values once pays while there are no more of them than rows.
            if values.len() <= codes.len() {
                let mut hashes = vec![0; values.len()];
                hash_vector(values, &mut hashes);
                write(out, vector.validity(), store, |row| hashes[codes[row] as usize]);
            } else {
                flat(values, out, vector.validity(), store, |row| codes[row] as usize);
            }
        }
        Data::I16(v) if !vector.has_nulls() => integer_slice(v, out, store),
        Data::I32(v) if !vector.has_nulls() => integer_slice(v, out, store),
        Data::I64(v) if !vector.has_nulls() => integer_slice(v, out, store),
        _ => flat(vector, out, vector.validity(), store, |row| row),
    }
}

/// Hashes rows of a flat vector; `place` gives the value's place for an output row.
#[inline(always)]
fn flat<S: Store>(
    vector: &Vector,
    out: &mut [u64],
    validity: Option<&NullBuffer>,
    store: S,
    place: impl Fn(usize) -> usize + Copy,
) {
    match vector.data() {
        Data::Bool(v) => write(out, validity, store, |row| hash_bool(v.value(place(row)))),
        Data::I16(v) => write(out, validity, store, |row| hash_i64(i64::from(v[place(row)]))),
        Data::I32(v) => write(out, validity, store, |row| hash_i64(i64::from(v[place(row)]))),
        Data::I64(v) => write(out, validity, store, |row| hash_i64(v[place(row)])),
        Data::I128(v) => write(out, validity, store, |row| hash_i128(v[place(row)])),
        Data::F32(v) => write(out, validity, store, |row| hash_f32(v[place(row)])),
        Data::F64(v) => write(out, validity, store, |row| hash_f64(v[place(row)])),
        Data::Bytes(v) => {
            let views: &[u128] = v.views();
            write(out, validity, store, |row| hash_view(v, views, place(row)));
        }
        // A dictionary's values are flat, and the caller has dealt with the rest.
        Data::Dictionary { .. } | Data::Constant(_) | Data::Coded(_) => {
            write(out, validity, store, |row| hash_value(&vector.value(place(row))));
        }
    }
}

// Integers in order and without NULLs: the loop that matters most.
simd::dispatch! {
    fn integer_slice<T: Integer, S: Store>(values: &[T], out: &mut [u64], store: S) {
        for (value, out) in values.iter().zip(out) {
            store.store(out, hash_i64((*value).into()));
        }
    }
}

#[inline(always)]
fn write<S: Store>(out: &mut [u64], validity: Option<&NullBuffer>, store: S, hash: impl Fn(usize) -> u64) {
    match validity.filter(|v| v.null_count() > 0) {
        None => {
            for (row, out) in out.iter_mut().enumerate() {
                store.store(out, hash(row));
            }
        }
        Some(validity) => {
            for (row, out) in out.iter_mut().enumerate() {
                // The place of a NULL holds some value, so hashing it first keeps the loop without branches.
                let hash = hash(row);
                store.store(out, if validity.is_valid(row) { hash } else { NULL_HASH });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use types::Type;

    fn hashes(vector: &Vector) -> Vec<u64> {
        let mut out = vec![0; vector.len()];
        hash_vector(vector, &mut out);
        out
    }

    #[test]
    fn the_form_of_a_vector_does_not_matter() {
        let texts = [
            "",
            "a",
            "abcdefghijkl",
            "abcdefghijklm",
            "sixteen bytes ab",
            "a string of more than sixteen bytes",
        ];
        let values: Vec<Value> = texts.iter().map(|t| Value::text(t)).collect();
        let flat = Vector::from_values(Type::Text, &values);
        let dictionary = Vector::dictionary(vec![5u32, 4, 3, 2, 1, 0].into(), Arc::new(flat.clone()), None);
        let by_flat = hashes(&flat);
        let mut backwards = hashes(&dictionary);
        backwards.reverse();
        assert_eq!(by_flat, backwards);
        for (row, value) in values.iter().enumerate() {
            assert_eq!(by_flat[row], hash_value(value));
            assert_eq!(by_flat[row], hash_bytes(texts[row].as_bytes()));
            assert_eq!(hashes(&Vector::constant(Type::Text, value.clone(), 2)), vec![by_flat[row]; 2]);
            // A dictionary longer than the rows that use it.
            let one = Vector::dictionary(vec![row as u32].into(), Arc::new(flat.clone()), None);
            assert_eq!(hashes(&one), vec![by_flat[row]]);
        }
        let mut distinct = by_flat.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), texts.len());
    }

    #[test]
    fn equal_values_hash_equal() {
        assert_eq!(hash_f64(-0.0), hash_f64(0.0));
        assert_eq!(hash_f64(f64::NAN), hash_f64(-f64::NAN));
        assert_eq!(hash_f32(-0.0), hash_f32(0.0));
        for v in [-5i64, 0, 7, 32_000] {
            assert_eq!(hash_value(&Value::I16(v as i16)), hash_value(&Value::I64(v)));
            assert_eq!(hash_value(&Value::I32(v as i32)), hash_value(&Value::I64(v)));
        }
        let nulls = Vector::from_values(Type::Integer, &[Value::Null, Value::I32(0), Value::Null]);
        assert_eq!(hashes(&nulls), vec![NULL_HASH, hash_i64(0), NULL_HASH]);
        assert_eq!(hashes(&Vector::constant(Type::Integer, Value::Null, 1)), vec![NULL_HASH]);
    }

    #[test]
    fn columns_combine_in_order() {
        let a = Vector::from_i64(Type::BigInt, vec![1, 2, 3]);
        let b = Vector::from_i64(Type::BigInt, vec![2, 1, 3]);
        let (mut ab, mut ba) = (Vec::new(), Vec::new());
        hash_columns(&[a.clone(), b.clone()], 3, &mut ab);
        hash_columns(&[b, a], 3, &mut ba);
        assert_eq!((ab[0], ab[2]), (ba[1], ba[2]));
        assert_ne!(ab[0], ba[0]);
        hash_columns(&[], 2, &mut ab);
        assert_eq!(ab[0], ab[1]);
    }

    #[test]
    fn strides_do_not_crowd() {
        // In a table twice as large as its keys, a run of full places is short if the places are random.
        for stride in [1i64, 7, 100, 1000, 1_000_003, 1 << 20, 1 << 36] {
            let count = 100_000u32;
            let mut taken = vec![0u32; 2 * count as usize];
            for i in 0..i64::from(count) {
                taken[slot(hash_i64(i * stride), 2 * count)] += 1;
            }
            // Linear probing, in one sweep: how many wait at each place.
            let (mut waiting, mut longest) = (0u32, 0u32);
            for t in &taken {
                waiting = (waiting + t).saturating_sub(1);
                longest = longest.max(waiting);
            }
            assert!(longest < 60, "stride {stride}: {longest} keys wait for a place");
        }
    }

    #[test]
    fn places_and_fragments_spread() {
        for step in [1i64, 32, 4096, 1 << 20, 1 << 32, 1 << 40] {
            let (mut slots, mut fragments) = (vec![0u32; 1024], vec![0u32; 1024]);
            for i in 0..16_384 {
                let hash = hash_i64(i * step);
                slots[slot(hash, 1024)] += 1;
                fragments[fragment(hash) as usize >> 22] += 1;
            }
            // Sixteen are expected in each; a random spread stays far below four times that.
            assert!(slots.iter().max() < Some(&64), "slots for steps of {step}");
            assert!(fragments.iter().max() < Some(&64), "fragments for steps of {step}");
        }
    }
}
