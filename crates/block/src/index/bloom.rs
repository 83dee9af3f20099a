//! A Bloom filter in blocks of one cache line (Putze, Sanders, Singler 2007): a value sets one bit in each of the eight
//! words of one line, so that a test costs one miss. It answers equality and IN: values that it has not seen do not
//! occur. Twelve bits a value let about one in 200 others through.

use arrow_buffer::{Buffer, ScalarBuffer};
use types::Value;

use super::Checked;
use crate::Coding;
use crate::sketch::{hash_bytes, hash_f64, hash_i128};
use crate::stripe::{Stripe, Values};

#[derive(Clone, Debug)]
pub(crate) struct Bloom {
    words: ScalarBuffer<u64>,
}

const LINE_WORDS: usize = 8;
const BITS_A_VALUE: u64 = 12;
/// Odd numbers without a pattern: each word takes other bits of the hash.
const SALTS: [u32; LINE_WORDS] =
    [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D, 0x27D4_EB2F, 0x1656_67B1, 0xD3A2_646D, 0xFD70_46C5, 0xB55A_4F09];

fn line_of(hash: u64, lines: usize) -> usize {
    ((u128::from(hash) * lines as u128) >> 64) as usize
}
fn bit_of(hash: u64, word: usize) -> u64 {
    1 << ((hash as u32).wrapping_mul(SALTS[word]) >> 26)
}

fn hash(value: &Value) -> Option<u64> {
    Some(match value {
        Value::Bytes(bytes) => hash_bytes(bytes),
        Value::F32(v) => hash_f64(f64::from(*v)),
        Value::F64(v) => hash_f64(*v),
        integer => hash_i128(integer.as_i128()?),
    })
}

/// The filter of a column's values.
pub(crate) fn build(stripe: &Stripe, rows: usize) -> Vec<u8> {
    let distinct = stripe.statistics.distinct.clamp(1, rows.max(1) as u64);
    let lines = (distinct * BITS_A_VALUE).div_ceil(512) as usize;
    let mut words = vec![0u64; lines * LINE_WORDS];
    for_each_hash(stripe, rows, |hash| {
        let line = &mut words[line_of(hash, lines) * LINE_WORDS..][..LINE_WORDS];
        for (i, word) in line.iter_mut().enumerate() {
            *word |= bit_of(hash, i);
        }
    });
    simd::as_bytes(&words).to_vec()
}

/// Calls `f` with the hash of every value; of values that repeat once or several times.
fn for_each_hash(stripe: &Stripe, rows: usize, mut f: impl FnMut(u64)) {
    let present = |row: &usize| stripe.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
    if let Some(dictionary) = &stripe.dictionary {
        each(&dictionary.values, 0..dictionary.size, |_| true, &mut f);
    } else if let Coding::Truncated { base, step, .. } = stripe.coding {
        let code = |row: usize| match &stripe.values {
            Values::Codes8(c) => i128::from(c[row]),
            Values::Codes16(c) => i128::from(c[row]),
            Values::Codes32(c) => i128::from(c[row]),
            _ => 0,
        };
        (0..rows).filter(present).for_each(|row| f(hash_i128(base + code(row) * step)));
    } else {
        each(&stripe.values, 0..rows, |row| present(&row), &mut f);
    }
}

fn each(
    values: &Values,
    rows: std::ops::Range<usize>,
    present: impl Fn(usize) -> bool,
    f: &mut impl FnMut(u64),
) {
    for row in rows.filter(|row| present(*row)) {
        f(match values {
            Values::I16(v) => hash_i128(i128::from(v[row])),
            Values::I32(v) => hash_i128(i128::from(v[row])),
            Values::I64(v) => hash_i128(i128::from(v[row])),
            Values::I128(v) => hash_i128(v[row]),
            Values::F32(v) => hash_f64(f64::from(v[row])),
            Values::F64(v) => hash_f64(v[row]),
            Values::Strings(s) => hash_bytes(s.get(row)),
            Values::Bits(_) | Values::Codes8(_) | Values::Codes16(_) | Values::Codes32(_) => continue,
        });
    }
}

impl Bloom {
    pub(crate) fn open(bytes: &Buffer) -> Checked<Bloom> {
        if bytes.is_empty() || !bytes.len().is_multiple_of(LINE_WORDS * 8) {
            return Err(format!("a Bloom filter has not {} bytes", bytes.len()));
        }
        Ok(Bloom { words: ScalarBuffer::new(bytes.clone(), 0, bytes.len() / 8) })
    }

    /// Whether the value may occur.
    pub(crate) fn may_contain(&self, value: &Value) -> bool {
        let Some(hash) = hash(value) else { return true };
        let lines = self.words.len() / LINE_WORDS;
        let line = &self.words[line_of(hash, lines) * LINE_WORDS..][..LINE_WORDS];
        line.iter().enumerate().all(|(i, word)| word & bit_of(hash, i) != 0)
    }
}
