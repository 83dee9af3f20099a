//! LIKE over plain strings: the heap of a block is searched as if it were one text.
//!
//! The fixed part of the pattern that is rarest in the heap's beginning is looked for everywhere (`simd::find_all`),
//! and only rows that contain it are matched. A hit that straddles two rows belongs to neither.

use simd::Bitmap;
use types::LikePattern;

use crate::stripe::StringStripe;

/// A literal part shorter than this occurs too often for a search to pay.
const SEARCHED_BYTES_MIN: usize = 3;
/// The heap is searched as a whole when at least one in this many rows is selected.
const SEARCHED_SHARE: usize = 4;
/// Bytes in which the fixed parts are counted, to find the rarest.
const SAMPLE_BYTES: usize = 1 << 14;

/// Whether a search beats looking at every selected row.
pub(crate) fn pays(pattern: &LikePattern, selection: &Bitmap) -> bool {
    pattern.required().len() >= SEARCHED_BYTES_MIN
        && pattern.prefix().is_empty()
        && selection.count() * SEARCHED_SHARE >= selection.len()
}

/// The selected rows that match, of the rows from `start` on.
pub(crate) fn search(
    strings: &StringStripe,
    start: usize,
    pattern: &LikePattern,
    selection: &Bitmap,
) -> Bitmap {
    let mut found = Bitmap::empty(selection.len());
    let heap = strings.heap();
    let offsets = &strings.offsets[start..=start + selection.len()];
    let (begin, end) = (offsets[0] as usize, offsets[selection.len()] as usize);
    let Some(text) = heap.get(begin..end) else { return found };
    if simd::find_all_pays() {
        let needle = rarest(text, pattern);
        let mut hits = Vec::new();
        simd::find_all(text, needle, &mut hits);
        let mut next = 0;
        by_rows(offsets, needle.len(), |from| {
            while let Some(hit) = hits.get(next) {
                next += 1;
                if begin + *hit as usize >= from {
                    return Some(begin + *hit as usize);
                }
            }
            None
        })
        .for_each(|row| mark(row, strings, start, pattern, selection, &mut found));
        return found;
    }
    let needle = pattern.required().len();
    by_rows(offsets, needle, |from| {
        heap.get(from..end).and_then(|text| pattern.find_required(text)).map(|hit| from + hit)
    })
    .for_each(|row| mark(row, strings, start, pattern, selection, &mut found));
    found
}

fn mark(
    row: usize,
    strings: &StringStripe,
    start: usize,
    pattern: &LikePattern,
    selection: &Bitmap,
    found: &mut Bitmap,
) {
    if selection.get(row) && pattern.matches(strings.get(start + row)) {
        found.set(row);
    }
}

/// The fixed part with the fewest occurrences in the beginning of the text, the longest of those.
fn rarest<'a>(text: &[u8], pattern: &'a LikePattern) -> &'a [u8] {
    let sample = &text[..text.len().min(SAMPLE_BYTES)];
    let mut hits = Vec::new();
    let mut count = |needle: &[u8]| {
        hits.clear();
        simd::find_all(sample, needle, &mut hits);
        hits.len()
    };
    pattern
        .literals()
        .filter(|needle| needle.len() >= SEARCHED_BYTES_MIN)
        .min_by_key(|needle| (count(needle), std::cmp::Reverse(needle.len())))
        .unwrap_or_else(|| pattern.required())
}

/// The rows that contain a hit, each once. `hit(from)`: the next one at or after heap offset `from`, which only grows.
fn by_rows<'a>(
    offsets: &'a [u32],
    needle: usize,
    mut hit: impl FnMut(usize) -> Option<usize> + 'a,
) -> impl Iterator<Item = usize> + 'a {
    let mut at = offsets[0] as usize;
    let mut row = 0;
    std::iter::from_fn(move || {
        loop {
            let hit = hit(at)?;
            // The hit lies before the end, so some row from `row` on ends beyond it.
            row += ends_up_to(&offsets[row + 1..], hit);
            let row_end = *offsets.get(row + 1)? as usize;
            if hit + needle > row_end {
                at = hit + 1;
                continue;
            }
            at = row_end;
            row += 1;
            return Some(row - 1);
        }
    })
}

/// How many of the ascending `ends` are at most `hit`. Hits lie a few rows apart, so the search doubles its way from the
/// front: a bisection of all rows of a block costs five times as much.
fn ends_up_to(ends: &[u32], hit: usize) -> usize {
    let (mut low, mut step) = (0, 1);
    while ends.get(low + step - 1).is_some_and(|end| *end as usize <= hit) {
        low += step;
        step *= 2;
    }
    let high = ends.len().min(low + step);
    low + ends[low..high].partition_point(|end| *end as usize <= hit)
}

#[cfg(test)]
mod tests {
    use super::ends_up_to;

    #[test]
    fn doubling_search_finds_what_bisection_finds() {
        for len in 0..40u32 {
            let ends: Vec<u32> = (0..len).map(|i| i * i / 3).collect();
            for hit in 0..600 {
                let expected = ends.partition_point(|end| *end as usize <= hit);
                assert_eq!(ends_up_to(&ends, hit), expected, "{len} {hit}");
            }
        }
    }
}
