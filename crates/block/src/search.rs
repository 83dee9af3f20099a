//! LIKE over plain strings: the heap of a block is searched as if it were one text.
//!
//! Only rows that contain the pattern's longest fixed part are matched, and if the pattern is that part anywhere
//! (`%green%`) they match. A hit that straddles two rows belongs to neither. With AVX-512 a single part is looked for
//! everywhere at once (`simd::find_all`); with several parts a search that starts anew behind each row was measured to
//! be faster, since it skips the rest of a row that has a hit.

use simd::Bitmap;
use types::LikePattern;

use crate::stripe::StringStripe;

/// A literal part shorter than this occurs too often for a search to pay.
const SEARCHED_BYTES_MIN: usize = 3;
/// The heap is searched as a whole when at least one in this many rows is selected.
const SEARCHED_SHARE: usize = 4;
/// Bytes of text in which all hits are found at a time, so that their list stays small.
const WINDOW_BYTES: u32 = 256 << 10;

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
    let offsets = &strings.offsets[start..=start + selection.len()];
    if simd::find_all_pays() && pattern.is_floating() && pattern.literals().count() == 1 {
        find_part(strings.heap(), offsets, pattern, &mut found);
        found.and(selection);
        return found;
    }
    let heap = strings.heap();
    let end = offsets[selection.len()] as usize;
    let next =
        |from: usize| heap.get(from..end).and_then(|text| pattern.find_required(text)).map(|hit| from + hit);
    for row in by_rows(offsets, pattern.required().len(), next) {
        if selection.get(row) && pattern.matches(strings.get(start + row)) {
            found.set(row);
        }
    }
    found
}

/// Sets the rows, row `i` from `offsets[i]` to `offsets[i + 1]`, that contain the pattern's longest part.
fn find_part(heap: &[u8], offsets: &[u32], pattern: &LikePattern, found: &mut Bitmap) {
    let part = pattern.required();
    let mut hits: Vec<u32> = Vec::new();
    let mut first = 0;
    while first + 1 < offsets.len() {
        let limit = offsets[first].saturating_add(WINDOW_BYTES);
        let last = (first + 1).max(offsets.partition_point(|end| *end <= limit) - 1);
        let begin = offsets[first] as usize;
        let Some(text) = heap.get(begin..offsets[last] as usize) else { return };
        // A long text alone may have as many hits as bytes; one is enough.
        if last == first + 1 && text.len() > WINDOW_BYTES as usize {
            if pattern.find_required(text).is_some() {
                found.set(first);
            }
        } else {
            hits.clear();
            simd::find_all(text, part, &mut hits);
            let mut next = hits.iter().map(|hit| begin + *hit as usize);
            let rows = by_rows(&offsets[first..=last], part.len(), |from| next.find(|hit| *hit >= from));
            rows.for_each(|row| found.set(first + row));
        }
        first = last;
    }
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
