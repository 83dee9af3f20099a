//! Range tests on bit slices, by the widest registers that the processor has; `slices.rs` has the algorithm.

use crate::lanes::Words;
use crate::slices::{CodeRange, Plan, RowTest, SEGMENT_WORDS, Slices, scan};
use crate::{Level, level};

/// Keeps the bits of rows whose code is in the range. `words` holds the selection from segment `first` on; the last
/// segment may be there in part. With `anew` all rows are selected, whatever the words hold: they are written and not
/// read, and what lies past the last row is the caller's to clear. Returns the number of words of slices that were read.
///
/// With `test`, it decides the few rows of a segment that the first group of slices leaves open: the code is one cache
/// line, where further slices are several.
pub fn and_slices(
    slices: Slices<'_>,
    range: CodeRange,
    first: usize,
    words: &mut [u64],
    anew: bool,
    test: Option<&dyn RowTest>,
) -> usize {
    and_slices_at(level(), slices, range, first, words, anew, test)
}

/// As `and_slices`, at a level that is lowered to what the processor has.
pub fn and_slices_at(
    wanted: Level,
    slices: Slices<'_>,
    range: CodeRange,
    first: usize,
    words: &mut [u64],
    anew: bool,
    test: Option<&dyn RowTest>,
) -> usize {
    let segments = words.len().div_ceil(SEGMENT_WORDS);
    assert!((first + segments) * SEGMENT_WORDS <= slices.stride, "segments of the slices");
    assert!((1..=64).contains(&slices.bits) && slices.stride * slices.bits as usize <= slices.words.len());
    assert!(range.low <= range.high && range.high <= u64::MAX >> (64 - slices.bits), "a range of codes");
    let plan = Plan::new(slices, range, first, anew);
    match wanted.min(level()) {
        // SAFETY: `level` is what the processor has; places were checked above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { crate::avx512::and_slices(&plan, words, test) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { crate::avx2::and_slices(&plan, words, test) },
        // SAFETY: plain code; places were checked above.
        _ => unsafe { scan::<Words>(&plan, words, test) },
    }
}
