//! A Bloom filter whose every test reads one word.
//!
//! ```text
//!  words   | 64 bits | 64 bits | ...      one word for every 4 keys: 16 bits a key
//!  word    slot(hash, words)               from the hash's high half
//!  bits    4 of the word, from 4 x 6 bits of the hash's low half
//! ```
//! Blocked by word rather than by cache line (Putze, Sanders, Singler, 2007, block by line): all four bits are tested
//! with one load and one comparison. Words get unequal numbers of keys, which costs some precision: about 1 % of
//! foreign keys pass.

use std::sync::atomic::Ordering::Relaxed;

use crate::exact_bits::Integer;
use crate::hashing::{hash_i64, slot};
use crate::select::and_where;
use crate::zeroed::{AtomicWords, Words};

/// Bits set per key.
const BITS: u32 = 4;

/// A filter being filled, by any number of workers.
pub struct BloomFilling {
    words: AtomicWords<u64>,
}

/// Words for `keys` keys.
fn words_for(keys: usize) -> usize {
    (keys / 4 + 1).min(u32::MAX as usize)
}

#[inline(always)]
fn mask(hash: u64) -> u64 {
    let mut mask = 0;
    for at in 0..BITS {
        mask |= 1u64 << (hash >> (6 * at) & 63);
    }
    mask
}

impl BloomFilling {
    /// Room for about `keys` keys; more can be inserted and let more strangers pass.
    pub fn new(keys: usize) -> Self {
        BloomFilling { words: AtomicWords::new(words_for(keys)) }
    }
    /// Bytes of the filter.
    pub fn bytes(&self) -> u64 {
        self.words.len() as u64 * 8
    }
    /// May be called by several workers: no bit is lost.
    pub fn insert(&self, hashes: &[u64]) {
        let words = self.words.len() as u32;
        for hash in hashes {
            let (word, mask) = (&self.words[slot(*hash, words)], mask(*hash));
            if word.load(Relaxed) & mask != mask {
                word.fetch_or(mask, Relaxed);
            }
        }
    }
    /// Ends the filling.
    pub fn finish(self) -> Bloom {
        Bloom { words: self.words.freeze() }
    }
}

/// A complete filter; read-only.
pub struct Bloom {
    words: Words<u64>,
}

impl Bloom {
    /// Bytes of the filter.
    pub fn bytes(&self) -> usize {
        self.words.len() * 8
    }
    /// Whether a key of this hash may have been inserted; never false for one that was.
    #[inline]
    pub fn contains(&self, hash: u64) -> bool {
        let mask = mask(hash);
        self.words[slot(hash, self.words.len() as u32)] & mask == mask
    }
    /// And-s into `words` (one bit a row) whether the integer `offset + step * value` may be in the set.
    pub fn and_into<T: Integer>(&self, values: &[T], offset: i64, step: i64, words: &mut [u64]) {
        and_into(&self.words, values, offset, step, words);
    }
    /// Keeps the rows whose hash may be in the set. `rows` are places in `hashes`.
    pub fn retain(&self, hashes: &[u64], rows: &mut Vec<u32>) {
        retain(&self.words, hashes, rows);
    }
    /// The same with a hash for each entry of `rows`, in order.
    pub fn retain_aligned(&self, hashes: &[u64], rows: &mut Vec<u32>) {
        assert_eq!(hashes.len(), rows.len(), "a hash a row");
        retain_aligned(&self.words, hashes, rows);
    }
}

simd::dispatch! {
    fn and_into<T: Integer>(bloom: &[u64], values: &[T], offset: i64, step: i64, words: &mut [u64]) {
        and_where(values, words, |value| {
            let hash = hash_i64(value.wrapping_mul(step).wrapping_add(offset));
            let mask = mask(hash);
            bloom[slot(hash, bloom.len() as u32)] & mask == mask
        });
    }
}

simd::dispatch! {
    fn retain(words: &[u64], hashes: &[u64], rows: &mut Vec<u32>) {
        let mut kept = 0;
        for at in 0..rows.len() {
            let row = rows[at];
            let hash = hashes[row as usize];
            let mask = mask(hash);
            rows[kept] = row;
            kept += usize::from(words[slot(hash, words.len() as u32)] & mask == mask);
        }
        rows.truncate(kept);
    }
}

simd::dispatch! {
    fn retain_aligned(words: &[u64], hashes: &[u64], rows: &mut Vec<u32>) {
        let mut kept = 0;
        for (at, hash) in hashes.iter().enumerate() {
            let mask = mask(*hash);
            rows[kept] = rows[at];
            kept += usize::from(words[slot(*hash, words.len() as u32)] & mask == mask);
        }
        rows.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_pass_and_few_others() {
        for keys in [0usize, 1, 100, 10_000] {
            let filling = BloomFilling::new(keys);
            let members: Vec<u64> = (0..keys as i64).map(|k| hash_i64(k * 3)).collect();
            filling.insert(&members);
            let bloom = filling.finish();
            let mut rows: Vec<u32> = (0..keys as u32).collect();
            bloom.retain(&members, &mut rows);
            assert_eq!(rows.len(), keys);
            bloom.retain_aligned(&members, &mut rows);
            assert_eq!(rows.len(), keys);
            assert!(members.iter().all(|h| bloom.contains(*h)));
            let values: Vec<i32> = (0..keys as i32).collect();
            let mut words = vec![u64::MAX; keys.div_ceil(64)];
            bloom.and_into(&values, 0, 3, &mut words);
            assert!(values.iter().all(|v| words[*v as usize / 64] >> (v % 64) & 1 == 1));
            let mut words = vec![u64::MAX; keys.div_ceil(64)];
            bloom.and_into(&values, 1, 3, &mut words);
            let passed = values.iter().filter(|v| words[**v as usize / 64] >> (**v % 64) & 1 == 1).count();
            assert!(passed * 20 <= keys, "{passed} of {keys} foreign keys pass");
            let others: Vec<u64> = (0..10_000i64).map(|k| hash_i64(k * 3 + 1)).collect();
            let mut rows: Vec<u32> = (0..10_000).collect();
            bloom.retain(&others, &mut rows);
            assert!(rows.len() < 300, "{} of 10000 foreign keys pass", rows.len());
        }
    }
}
