//! LIKE over plain strings: the heap of a block is searched as if it were one text.
//!
//! The fixed part of the pattern that is rarest in the heap's beginning is looked for everywhere (`simd::find_all`),
//! and only rows that contain it are looked at. If the pattern is fixed parts in a row (`%a%b%`), the others are looked
//! for likewise and their places decide; otherwise the row is matched. A hit that straddles two rows belongs to neither.

use std::ops::Range;

use simd::Bitmap;
use types::LikePattern;

use crate::stripe::StringStripe;

/// A literal part shorter than this occurs too often for a search to pay.
const SEARCHED_BYTES_MIN: usize = 3;
/// The heap is searched as a whole when at least one in this many rows is selected.
const SEARCHED_SHARE: usize = 4;
/// Bytes in which the fixed parts are counted, to find the rarest.
const SAMPLE_BYTES: usize = 1 << 14;
/// Bytes of text that are searched at a time.
const WINDOW_BYTES: u32 = 256 << 10;
/// More parts than this are not looked for one by one.
const PARTS_MAX: usize = 4;

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
    let end = offsets[selection.len()] as usize;
    if simd::find_all_pays() {
        let literals: Vec<&[u8]> = pattern.literals().collect();
        let Some(sample) = heap.get(offsets[0] as usize..end.min(offsets[0] as usize + SAMPLE_BYTES)) else {
            return found;
        };
        let rarest = rarest(sample, &literals);
        let mut row = 0;
        while row < selection.len() {
            // Rows whose text stays in the second-level cache while each part is looked for.
            let limit = offsets[row].saturating_add(WINDOW_BYTES);
            let last = (row + 1).max(offsets.partition_point(|end| *end <= limit) - 1);
            search_window(strings, start, pattern, (&literals, rarest), row..last, selection, &mut found);
            row = last;
        }
        return found;
    }
    let needle = pattern.required().len();
    by_rows(offsets, needle, |from| {
        heap.get(from..end).and_then(|text| pattern.find_required(text)).map(|hit| from + hit)
    })
    .for_each(|row| {
        if selection.get(row) && pattern.matches(strings.get(start + row)) {
            found.set(row);
        }
    });
    found
}

/// As `search`, of the rows `rows` behind `start`; `parts` are the pattern's fixed parts and which of them is rarest.
fn search_window(
    strings: &StringStripe,
    start: usize,
    pattern: &LikePattern,
    (literals, rarest): (&[&[u8]], usize),
    rows: Range<usize>,
    selection: &Bitmap,
    found: &mut Bitmap,
) {
    let first = rows.start;
    let offsets = &strings.offsets[start + rows.start..=start + rows.end];
    let (begin, end) = (offsets[0] as usize, offsets[rows.len()] as usize);
    let Some(text) = strings.heap().get(begin..end) else { return };
    // A long text alone is matched: its hits might be as many as its bytes.
    if rows.len() == 1 {
        if selection.get(first) && pattern.matches(text) {
            found.set(first);
        }
        return;
    }
    let mut hits = Hits::of(text, begin, literals[rarest]);
    // Parts that may lie anywhere: their places tell all. Otherwise rows with the rarest part are matched.
    let mut parts: Option<Vec<Hits>> = None;
    if pattern.is_floating() && literals.len() <= PARTS_MAX && !hits.places.is_empty() {
        let of = |(at, part): (usize, &&[u8])| {
            if at == rarest { hits.clone() } else { Hits::of(text, begin, part) }
        };
        parts = Some(literals.iter().enumerate().map(of).collect());
    }
    for row in by_rows(offsets, literals[rarest].len(), |from| hits.next_from(from)) {
        if !selection.get(first + row) {
            continue;
        }
        let matches = match &mut parts {
            Some(parts) => lie_in(parts, offsets[row] as usize..offsets[row + 1] as usize),
            None => pattern.matches(strings.get(start + first + row)),
        };
        if matches {
            found.set(first + row);
        }
    }
}

/// The places of one fixed part, asked for with places that only grow.
#[derive(Clone)]
struct Hits {
    /// Offsets from `begin`.
    places: Vec<u32>,
    begin: usize,
    bytes: usize,
    next: usize,
}

impl Hits {
    fn of(text: &[u8], begin: usize, part: &[u8]) -> Hits {
        let mut places = Vec::new();
        simd::find_all(text, part, &mut places);
        Hits { places, begin, bytes: part.len(), next: 0 }
    }
    /// The first at or after heap offset `from`; it may be asked for again.
    fn next_from(&mut self, from: usize) -> Option<usize> {
        while let Some(place) = self.places.get(self.next) {
            let place = self.begin + *place as usize;
            if place >= from {
                return Some(place);
            }
            self.next += 1;
        }
        None
    }
}

/// Whether the parts lie in the row one behind the other, each at its first place behind the one before it.
fn lie_in(parts: &mut [Hits], row: Range<usize>) -> bool {
    let mut from = row.start;
    for part in parts {
        match part.next_from(from) {
            Some(place) if place + part.bytes <= row.end => from = place + part.bytes,
            _ => return false,
        }
    }
    true
}

/// Which of the parts has the fewest occurrences in a sample of the text, the longest of those. Parts that are
/// too short count as frequent.
fn rarest(sample: &[u8], literals: &[&[u8]]) -> usize {
    let mut hits = Vec::new();
    let mut count = |needle: &[u8]| {
        hits.clear();
        simd::find_all(sample, needle, &mut hits);
        (needle.len() < SEARCHED_BYTES_MIN, hits.len(), std::cmp::Reverse(needle.len()))
    };
    (0..literals.len()).min_by_key(|at| count(literals[*at])).unwrap_or(0)
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
