//! BitWeaving (Li and Patel, SIGMOD 2013): codes as bits side by side, scanned many rows at a time.
//!
//! **Vertical** (/V): a slice holds one bit of every row, row 0 in the lowest bit of the first word, in whole cache lines
//! of 512 rows; slices lie in groups, the most significant first. The scan reads slices until all rows of a line
//! are decided (`simd::slices`, where the places are drawn).
//!
//! **Horizontal** (/H): a code of `k` bits stands in a field of `k + 1` bits, `n = 64 / (k + 1)` fields a word. A segment
//! is `k + 1` words with `n * (k + 1)` codes; word `i` of a segment holds its codes `i`, `i + (k + 1)`, .... A comparison
//! leaves its result in the spare bit of each field, and the spare bits of a segment's words, shifted against one
//! another and put together, are the rows' bits in their order.
//!
//! ```text
//!  k = 2, fields of 3 bits, first segment (n = 21):
//!  word 0   | d 60 | ... | d 6 | d 3 | d 0 |      (d: the spare bit, 0 in the data)
//!  word 1   | d 61 | ... | d 7 | d 4 | d 1 |
//!  word 2   | d 62 | ... | d 8 | d 5 | d 2 |
//! ```
//!
//! NULL rows hold 0; the caller takes them out of the result.

use arrow_buffer::{Buffer, ScalarBuffer};
use simd::{Bitmap, Kernel, RowTest, SEGMENT_ROWS, SEGMENT_WORDS};

use super::Checked;
use super::keys::RowKeys;

/// Wider codes are not woven: their slices would be as large as the values.
pub(crate) const BITS_MAX: u32 = 64;
/// A field and its spare bit must fit a word, and two of them should.
pub(crate) const FIELD_BITS_MAX: u32 = 32;

/// Bits of the codes up to `last`.
pub(crate) fn bits_of(last: u64) -> u32 {
    (64 - last.leading_zeros()).max(1)
}

#[derive(Clone, Debug)]
pub(crate) struct Vertical {
    slices: ScalarBuffer<u64>,
    bits: u32,
    /// Words of a slice.
    stride: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Horizontal {
    words: ScalarBuffer<u64>,
    bits: u32,
    rows: usize,
}

fn stride(rows: usize) -> usize {
    rows.div_ceil(SEGMENT_ROWS) * SEGMENT_WORDS
}

pub(crate) fn vertical_length(rows: usize, bits: u32) -> usize {
    stride(rows) * bits as usize * 8
}

/// The slices of codes.
pub(crate) fn build_vertical(codes: &[u64], bits: u32) -> Vec<u8> {
    let stride = stride(codes.len());
    let mut slices = vec![0u64; stride * bits as usize];
    for (word, chunk) in codes.chunks(64).enumerate() {
        for bit in 0..bits {
            let mut slice = 0u64;
            for (row, code) in chunk.iter().enumerate() {
                slice |= (code >> bit & 1) << row;
            }
            let segment = word / SEGMENT_WORDS * SEGMENT_WORDS;
            let at = simd::slice_at(bits, stride, bits - 1 - bit, segment);
            slices[at + word % SEGMENT_WORDS] = slice;
        }
    }
    simd::as_bytes(&slices).to_vec()
}

impl Vertical {
    pub(crate) fn open(bytes: &Buffer, bits: u32, rows: usize) -> Checked<Vertical> {
        if !(1..=BITS_MAX).contains(&bits) || bytes.len() != vertical_length(rows, bits) {
            return Err(format!("slices of {rows} codes of {bits} bits have not {} bytes", bytes.len()));
        }
        let slices = ScalarBuffer::new(bytes.clone(), 0, bytes.len() / 8);
        Ok(Vertical { slices, bits, stride: stride(rows) })
    }
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }
    /// Keeps the bits of rows whose code is in one of `ranges`. `words` is the selection, from segment `first` on. With
    /// `keys`, the few rows that the first slices leave open are decided by these. With `anew` all rows are selected,
    /// whatever the words hold; bits past the last row are the caller's to clear.
    pub(crate) fn select(
        &self,
        ranges: &[(u64, u64)],
        first: usize,
        words: &mut [u64],
        anew: bool,
        keys: Option<RowKeys<'_>>,
    ) {
        let last = u64::MAX >> (64 - self.bits);
        let one = |low: u64, high: u64, negate: bool, anew: bool, words: &mut [u64]| {
            let slices = simd::Slices { words: &self.slices, stride: self.stride, bits: self.bits };
            let range = simd::CodeRange { low, high, negate };
            let test = keys.map(|keys| KeyTest { keys, range, first: first * SEGMENT_ROWS });
            let test = test.as_ref().map(|test| test as &dyn RowTest);
            simd::and_slices(slices, range, first, words, anew, test);
        };
        let ranges: Vec<(u64, u64)> =
            ranges.iter().filter(|r| r.0 <= last).map(|r| (r.0, r.1.min(last))).collect();
        match *ranges.as_slice() {
            [] => words.fill(0),
            [(low, high)] => one(low, high, false, anew, words),
            // All but what lies between.
            [(0, below), (above, high)] if high == last => one(below + 1, above - 1, true, anew, words),
            _ => {
                if anew {
                    words.fill(u64::MAX);
                }
                // Rows that one range has accepted need not be decided by the next.
                let mut left = words.to_vec();
                for (low, high) in ranges {
                    let mut found = left.clone();
                    one(low, high, false, false, &mut found);
                    left.iter_mut().zip(&found).for_each(|(left, found)| *left &= !found);
                }
                words.iter_mut().zip(&left).for_each(|(word, left)| *word &= !left);
            }
        }
    }
}

/// Tests rows by their keys.
struct KeyTest<'a> {
    keys: RowKeys<'a>,
    range: simd::CodeRange,
    /// The row of the block that is the selection's first.
    first: usize,
}

impl RowTest for KeyTest<'_> {
    fn retain(&self, rows: &mut [u32]) -> usize {
        let simd::CodeRange { low, high, negate } = self.range;
        self.keys.retain(self.first, rows, |key| (low..=high).contains(&key) != negate)
    }
}

/// Fields of a word, of `bits` and one to spare.
fn fields(bits: u32) -> usize {
    (64 / (bits + 1)) as usize
}

/// Rows of a segment.
fn segment_rows(bits: u32) -> usize {
    fields(bits) * (bits + 1) as usize
}

pub(crate) fn horizontal_length(rows: usize, bits: u32) -> usize {
    rows.div_ceil(segment_rows(bits)) * (bits + 1) as usize * 8
}

pub(crate) fn build_horizontal(codes: &[u64], bits: u32) -> Vec<u8> {
    let field = (bits + 1) as usize;
    let mut words = Vec::with_capacity(horizontal_length(codes.len(), bits) / 8);
    for segment in codes.chunks(segment_rows(bits)) {
        for i in 0..field {
            let mut word = 0u64;
            for j in 0..fields(bits) {
                let code = segment.get(i + j * field).copied().unwrap_or(0);
                word |= code << (j * field);
            }
            words.push(word);
        }
    }
    simd::as_bytes(&words).to_vec()
}

impl Horizontal {
    pub(crate) fn open(bytes: &Buffer, bits: u32, rows: usize) -> Checked<Horizontal> {
        if !(1..=FIELD_BITS_MAX).contains(&bits) || bytes.len() != horizontal_length(rows, bits) {
            return Err(format!("fields of {rows} codes of {bits} bits have not {} bytes", bytes.len()));
        }
        Ok(Horizontal { words: ScalarBuffer::new(bytes.clone(), 0, bytes.len() / 8), bits, rows })
    }
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }
    /// The rows whose code is in one of `ranges`, of all rows.
    pub(crate) fn select(&self, ranges: &[(u64, u64)]) -> Bitmap {
        let last = u64::MAX >> (64 - self.bits);
        let mut found = Bitmap::empty(self.rows);
        for (low, high) in ranges.iter().filter(|r| r.0 <= last) {
            simd::run(CompareFields {
                words: &self.words,
                bits: self.bits,
                low: *low,
                high: (*high).min(last),
                found: found.words_mut(),
            });
        }
        // Fields past the last row hold zero, which may lie in a range.
        let rows = self.rows;
        let words = found.words().to_vec();
        Bitmap::from_words(words, rows)
    }
}

/// Sets the bits of fields in `low..=high`. The formulas, with `X` a word of data and `C` the literal in each field:
/// `X <= C` is the spare bit of `C + (X ^ ones) + 1`, `X >= C` that of `X + (C ^ ones) + 1`.
struct CompareFields<'a> {
    words: &'a [u64],
    bits: u32,
    low: u64,
    high: u64,
    found: &'a mut [u64],
}

impl Kernel for CompareFields<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let field = (self.bits + 1) as usize;
        let fields = fields(self.bits);
        let in_each = |value: u64| (0..fields).fold(0u64, |word, j| word | value << (j * field));
        let ones = in_each(u64::MAX >> (64 - self.bits));
        let spare = in_each(1 << self.bits);
        let one = in_each(1);
        let (low, high) = (in_each(self.low) ^ ones, in_each(self.high));
        let segment_rows = fields * field;
        for (number, segment) in self.words.chunks_exact(field).enumerate() {
            let mut bits = 0u64;
            for (i, word) in segment.iter().enumerate() {
                let at_most = high.wrapping_add(word ^ ones).wrapping_add(one);
                let at_least = word.wrapping_add(low).wrapping_add(one);
                bits |= (at_most & at_least & spare) >> (self.bits as usize - i);
            }
            let row = number * segment_rows;
            let (word, shift) = (row / 64, row % 64);
            if let Some(out) = self.found.get_mut(word) {
                *out |= bits << shift;
            }
            if shift > 0
                && let Some(out) = self.found.get_mut(word + 1)
            {
                *out |= bits >> (64 - shift);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::keys::KeySpace;
    use crate::stripe::Values;
    use crate::tests::Random;

    #[test]
    fn both_ways_find_what_comparisons_find() {
        let mut random = Random::new(11);
        for bits in 1..=33u32 {
            for rows in [0usize, 1, 63, 64, 65, 511, 512, 513, 2000] {
                let mask = u64::MAX >> (64 - bits);
                let codes: Vec<u64> = (0..rows).map(|_| random.bits() & mask).collect();
                let narrow: Vec<u32> = codes.iter().map(|code| *code as u32).collect();
                let values = Values::Codes32(narrow.into());
                let buffer = |bytes: Vec<u8>| Buffer::from_slice_ref::<u8, _>(bytes.as_slice());
                let vertical = Vertical::open(&buffer(build_vertical(&codes, bits)), bits, rows).unwrap();
                let horizontal = (bits <= FIELD_BITS_MAX)
                    .then(|| Horizontal::open(&buffer(build_horizontal(&codes, bits)), bits, rows).unwrap());
                for _ in 0..6 {
                    let (a, b, c) = (random.bits() & mask, random.bits() & mask, random.bits() & mask);
                    let (low, high) = (a.min(b), a.max(b));
                    let mut sorted = [a, b, c];
                    sorted.sort_unstable();
                    for ranges in [
                        vec![(low, high)],
                        vec![(0, low)],
                        vec![(low, u64::MAX)],
                        vec![(low, low)],
                        vec![],
                        vec![(mask.wrapping_add(1), u64::MAX)].into_iter().filter(|r| r.0 > 0).collect(),
                        sorted.windows(2).filter(|p| p[0] + 1 < p[1]).map(|p| (p[0], p[0])).collect(),
                        vec![(0, low.saturating_sub(1)), (high.saturating_add(1), u64::MAX)]
                            .into_iter()
                            .filter(|_| low > 0 && high < mask && low < high)
                            .collect(),
                    ] {
                        let passes = |row: usize| ranges.iter().any(|r| (r.0..=r.1).contains(&codes[row]));
                        let expected = Bitmap::from_fn(rows, passes);
                        if let Some(horizontal) = &horizontal {
                            assert_eq!(horizontal.select(&ranges), expected, "{ranges:?} of {bits} bits");
                        }
                        let before = Bitmap::from_fn(rows, |_| random.below(5) > 0);
                        let mut wanted = expected;
                        wanted.and(&before);
                        for keys in [None, Some(RowKeys::of(&KeySpace::Codes, &values, rows).unwrap())] {
                            let keys = keys.filter(|_| bits <= 32);
                            let mut words = before.words().to_vec();
                            vertical.select(&ranges, 0, &mut words, false, keys);
                            assert_eq!(Bitmap::from_words(words, rows), wanted, "{ranges:?} of {bits} bits");
                            let mut words = before.words().to_vec();
                            vertical.select(&ranges, 0, &mut words, true, keys);
                            let anew = Bitmap::from_words(words, rows);
                            assert_eq!(
                                anew,
                                Bitmap::from_fn(rows, passes),
                                "{ranges:?} of {bits} bits, anew"
                            );
                        }
                    }
                }
            }
        }
    }
}
