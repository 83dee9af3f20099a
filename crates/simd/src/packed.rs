//! Values of the rows that earlier tests left, moved together, so that a test of 64 at a time wastes none.
//!
//! ```text
//!  words    0 1 1 0 1 ...                 rows left
//!  packed   v1 v2 v4 ...                  one compression a register
//!  bits     test of 64 packed values      a bit a packed value
//!  words    0 b0 b1 0 b2 ...              the bits back to their rows: one deposit a word
//! ```
//! On Zen 4 moving the values of a word together and their bits back takes 4 ns, whatever the number of rows; a row that
//! is listed takes 2.5.

use crate::Key;

/// Words whose values are moved together at a time: they stay in the first-level cache.
const WORDS: usize = 16;

/// And-s into `words` what `test` says of the values of the rows left.
#[target_feature(
    enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq"
)]
pub(crate) fn and_packed<T: Key>(values: &[T], words: &mut [u64], test: impl Fn(&[T; 64]) -> u64) {
    let Some(first) = values.first() else { return };
    assert!(words.len() >= values.len().div_ceil(64), "a bit a row");
    let mut packed = [*first; (WORDS + 1) * 64];
    let (body, tail) = values.as_chunks::<64>();
    let (words, tail_words) = words.split_at_mut(body.len());
    for (values, words) in body.chunks(WORDS).zip(words.chunks_mut(WORDS)) {
        let mut count = 0;
        for (values, word) in values.iter().zip(&*words) {
            // SAFETY: the features are this function's; there are 64 values, and room for one word's values more than
            // all words have.
            count += unsafe { T::pack64(values.as_ptr(), *word, packed.as_mut_ptr().add(count)) };
        }
        let mut bits = [0u64; WORDS + 1];
        for (bits, values) in bits.iter_mut().zip(packed.as_chunks::<64>().0).take(count.div_ceil(64)) {
            *bits = test(values);
        }
        let mut taken = 0;
        for word in words {
            let (at, shift) = (taken / 64, taken % 64);
            let own = bits[at] >> shift | (bits[at + 1] << 1) << (63 - shift);
            taken += word.count_ones() as usize;
            *word = std::arch::x86_64::_pdep_u64(own, *word);
        }
    }
    if let (Some(word), [_, ..]) = (tail_words.first_mut(), tail) {
        packed[..tail.len()].copy_from_slice(tail);
        if let Some(values) = packed.first_chunk::<64>() {
            *word &= test(values) & ((1 << tail.len()) - 1);
        }
    }
}
