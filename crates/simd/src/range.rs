//! Range tests that end in bitmap words.
//!
//! All tests are and-ed into `words`, so that a conjunction needs no temporary and bits past the last row, which are
//! zero, stay zero. `words` holds `ceil(values.len() / 64)` words.

use crate::{Code, Float, Lane, Level, level};

/// Keeps the bits of values in `low..=high`; with `negate`, of values outside. An empty range (`low > high`) keeps
/// none, resp. all.
pub fn and_range<T: Lane>(values: &[T], low: T, high: T, negate: bool, words: &mut [u64]) {
    and_range_at(level(), values, low, high, negate, words);
}

/// As `and_range`, at a level that is lowered to what the processor has.
pub fn and_range_at<T: Lane>(wanted: Level, values: &[T], low: T, high: T, negate: bool, words: &mut [u64]) {
    in_range(wanted, values, low, high, negate, false, words);
}

/// As `and_range` with all rows selected, whatever the words hold: they are written and not read.
pub fn range_anew<T: Lane>(values: &[T], low: T, high: T, negate: bool, words: &mut [u64]) {
    range_anew_at(level(), values, low, high, negate, words);
}

/// As `range_anew`, at a level that is lowered to what the processor has.
pub fn range_anew_at<T: Lane>(wanted: Level, values: &[T], low: T, high: T, negate: bool, words: &mut [u64]) {
    if low > high {
        check_lengths(values.len(), words.len());
        where_anew(values, |_| negate, words);
    } else {
        in_range(wanted, values, low, high, negate, true, words);
    }
}

fn in_range<T: Lane>(
    wanted: Level,
    values: &[T],
    low: T,
    high: T,
    negate: bool,
    anew: bool,
    words: &mut [u64],
) {
    check_lengths(values.len(), words.len());
    if low > high {
        if !negate {
            words.fill(0);
        }
        return;
    }
    let values = T::unsigned_slice(values);
    let (low, span) = (low.unsigned(), high.unsigned().wrapping_sub(low.unsigned()));
    let flip = if negate { u64::MAX } else { 0 };
    let whole = values.len() / 64;
    let (body, tail) = values.split_at(whole * 64);
    let (body_words, tail_words) = words.split_at_mut(whole);
    let test = |v: <T as Lane>::Unsigned| (v.wrapping_sub(low) <= span) != negate;
    match wanted.min(level()) {
        // SAFETY: `level` is what the processor has, and the slices were cut to whole words.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { T::Unsigned::and_range_avx512(body, low, span, flip, anew, body_words) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { T::Unsigned::and_range_avx2(body, low, span, flip, anew, body_words) },
        _ if anew => where_anew(body, test, body_words),
        _ => and_where(body, test, body_words),
    }
    if anew {
        where_anew(tail, test, tail_words);
    } else {
        and_where(tail, test, tail_words);
    }
}

/// Keeps the bits of values with `low <= value <= high`, and of NaN when `nan`; with `negate`, of the others. NaN is
/// in no range by itself: the caller, for which NaN sorts above everything, says with `nan` whether it is meant.
pub fn and_float_range<T: Float>(values: &[T], low: T, high: T, nan: bool, negate: bool, words: &mut [u64]) {
    and_float_range_at(level(), values, low, high, nan, negate, words);
}

/// As `and_float_range`, at a level that is lowered to what the processor has.
pub fn and_float_range_at<T: Float>(
    wanted: Level,
    values: &[T],
    low: T,
    high: T,
    nan: bool,
    negate: bool,
    words: &mut [u64],
) {
    check_lengths(values.len(), words.len());
    let flip = if negate { u64::MAX } else { 0 };
    let whole = values.len() / 64;
    let (body, tail) = values.split_at(whole * 64);
    let (body_words, tail_words) = words.split_at_mut(whole);
    let test = |v: T| (((v >= low) & (v <= high)) | (nan & v.is_nan())) != negate;
    match wanted.min(level()) {
        // SAFETY: `level` is what the processor has, and the slices were cut to whole words.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { T::and_range_avx512(body, low, high, nan, flip, body_words) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { T::and_range_avx2(body, low, high, nan, flip, body_words) },
        _ => and_where(body, test, body_words),
    }
    and_where(tail, test, tail_words);
}

/// Keeps the bits of values that pass `test`: the scalar twin of the kernels, and the general case.
#[inline(always)]
pub fn and_where<T: Copy>(values: &[T], test: impl Fn(T) -> bool, words: &mut [u64]) {
    for (chunk, word) in values.chunks(64).zip(words) {
        let mut bits = 0u64;
        for (i, value) in chunk.iter().enumerate() {
            bits |= u64::from(test(*value)) << i;
        }
        *word &= bits;
    }
}

/// As `and_where` with all rows selected, whatever the words hold.
#[inline(always)]
fn where_anew<T: Copy>(values: &[T], test: impl Fn(T) -> bool, words: &mut [u64]) {
    for (chunk, word) in values.chunks(64).zip(words) {
        let bits = chunk.iter().enumerate().map(|(i, value)| u64::from(test(*value)) << i);
        *word = bits.fold(0, |word, bit| word | bit);
    }
}

pub(crate) fn check_lengths(rows: usize, words: usize) {
    assert_eq!(words, rows.div_ceil(64), "one bitmap word per 64 rows");
}
