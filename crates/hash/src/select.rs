//! Tests of values that end in selection bitmaps: the loop that filters share.

use crate::exact_bits::Integer;

/// Up to this many rows of a word are visited one by one; beyond, all 64 are tested, which needs no branch a row.
/// (Measured: a full word takes as long as about 16 single rows, whose number the branch predictor cannot know.)
const SPARSE: u32 = 16;

/// And-s into `words` (one bit a row) whether a row's value passes. Words that earlier filters emptied are passed over,
/// and of those that they thinned only the rows left are looked at.
#[inline(always)]
pub fn and_where<T: Integer>(values: &[T], words: &mut [u64], test: impl Fn(i64) -> bool) {
    assert!(words.len() >= values.len().div_ceil(64), "a bit a row");
    for (values, word) in values.chunks(64).zip(words) {
        let left = word.count_ones();
        if left <= SPARSE {
            let (mut rest, mut kept) = (*word, 0u64);
            while rest != 0 {
                let row = rest.trailing_zeros();
                rest &= rest - 1;
                // A bit past the last row stays cleared.
                kept |= u64::from(values.get(row as usize).is_some_and(|v| test((*v).into()))) << row;
            }
            *word = kept;
            continue;
        }
        let mut passed = 0u64;
        match <&[T; 64]>::try_from(values) {
            Ok(values) => {
                for (row, value) in values.iter().enumerate() {
                    passed |= u64::from(test((*value).into())) << row;
                }
            }
            Err(_) => {
                for (row, value) in values.iter().enumerate() {
                    passed |= u64::from(test((*value).into())) << row;
                }
            }
        }
        *word &= passed;
    }
}
