//! Tests of values that end in selection bitmaps: the loop that filters share.

/// And-s into `words` (one bit a row) whether a row's value passes. Words that earlier filters emptied are passed over,
/// and where they left few rows only those are looked at.
#[inline(always)]
pub fn and_where<T: Copy + Into<i64>>(values: &[T], words: &mut [u64], test: impl Fn(i64) -> bool) {
    assert!(words.len() >= values.len().div_ceil(64), "a bit a row");
    if simd::is_sparse(words) {
        return simd::retain_listed(values, words, test);
    }
    for (values, word) in values.chunks(64).zip(words).filter(|(_, word)| **word != 0) {
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
