//! Every place where a byte string occurs in a long text.
//!
//! Two bytes of the needle, those that are rarest in a sample of the text, are compared at 64 places at a time; where
//! both agree the rest is compared. This is the packed pair of memchr (A. Gallant) and of W. Mula's "SIMD-friendly
//! algorithms for substring searching", with two differences: what is rare is counted in the text itself, and all hits
//! are found in one go, so that a frequent needle costs no new start at each of them.

use crate::{Level, level};

/// Bytes of the text that are counted to find what is rare.
const SAMPLE_BYTES: usize = 1024;

/// Whether `find_all` has more than plain code here.
pub fn find_all_pays() -> bool {
    level() == Level::Avx512
}

/// Appends the offset of every occurrence of `needle` in `text`, ascending; they may overlap. An empty needle occurs
/// nowhere. At most 4 GiB of text.
pub fn find_all(text: &[u8], needle: &[u8], hits: &mut Vec<u32>) {
    find_all_at(level(), text, needle, hits);
}

/// As `find_all`, at a level that is lowered to what the processor has.
pub fn find_all_at(wanted: Level, text: &[u8], needle: &[u8], hits: &mut Vec<u32>) {
    assert!(u32::try_from(text.len()).is_ok(), "offsets have 32 bits");
    if needle.is_empty() || needle.len() > text.len() {
        return;
    }
    let (first, second) = rare_pair(text, needle);
    #[cfg(target_arch = "x86_64")]
    if wanted.min(level()) == Level::Avx512 {
        // SAFETY: the level is what the processor has; both positions are in the needle, which is no longer than the
        // text.
        unsafe { crate::avx512_masked::find_all(text, needle, first, second, hits) };
        return;
    }
    let _ = wanted;
    let places = text.windows(needle.len()).enumerate();
    let candidates = places.filter(|(_, w)| w[first] == needle[first] && w[second] == needle[second]);
    hits.extend(candidates.filter(|(_, w)| *w == needle).map(|(at, _)| at as u32));
}

/// Positions in the needle of the two bytes that the text has least of.
fn rare_pair(text: &[u8], needle: &[u8]) -> (usize, usize) {
    let mut counts = [0u32; 256];
    for byte in &text[..text.len().min(SAMPLE_BYTES)] {
        counts[usize::from(*byte)] += 1;
    }
    let count = |at: usize| counts[usize::from(needle[at])];
    let first = (0..needle.len()).min_by_key(|at| count(*at)).unwrap_or(0);
    // Another byte if there is one: the same byte twice says less.
    let second = (0..needle.len())
        .filter(|at| *at != first)
        .min_by_key(|at| (needle[*at] == needle[first], count(*at)))
        .unwrap_or(first);
    (first, second)
}
