//! Rows that a scan of bit slices leaves open, to be decided by their codes.
//!
//! A code is a miss. A hundred misses that are asked for one behind another come side by side; a few at a time, between
//! the slices, they cost the slices their rate: measured on Zen 4 out of memory, a quarter of the whole. So they wait until
//! the slices are through, or until they are many.

use std::mem::MaybeUninit;

use crate::lanes::Lanes;
use crate::slices::{OPEN_MAX, RowTest, SEGMENT_WORDS, STRETCH};

/// Listed segments at which, behind a stretch, their rows are decided.
pub(crate) const OPEN_MANY: usize = 128;
const ROOM: usize = OPEN_MANY + STRETCH;
/// Rows that are looked at together.
const ROWS: usize = 256;
/// Room for words that are not zero; those of a segment are written all.
const WORDS: usize = ROOM * OPEN_MAX + SEGMENT_WORDS;

/// Segments of the selection with few open rows, and these rows' bits; behind `count` nothing is written yet.
pub(crate) struct OpenRows {
    segments: [MaybeUninit<u32>; ROOM],
    rows: [MaybeUninit<Line>; ROOM],
    pub(crate) count: usize,
}

/// A segment's bits.
#[repr(align(64))]
struct Line {
    _words: [u64; SEGMENT_WORDS],
}

impl OpenRows {
    #[inline(always)]
    pub(crate) fn none() -> OpenRows {
        OpenRows {
            segments: [const { MaybeUninit::uninit() }; ROOM],
            rows: [const { MaybeUninit::uninit() }; ROOM],
            count: 0,
        }
    }

    /// Writes a segment's open rows at a place, which the caller counts or not.
    ///
    /// # Safety
    /// The processor has the level of `L`; the place is less than `ROOM`.
    #[inline(always)]
    pub(crate) unsafe fn put<L: Lanes>(&mut self, at: usize, segment: usize, rows: L) {
        // SAFETY: the caller's promises.
        unsafe {
            rows.store(self.rows.as_mut_ptr().add(at).cast());
            self.segments.get_unchecked_mut(at).write(segment as u32);
        }
    }

    /// Asks for the codes of all open rows, then looks at them. `words` are those of the segments, and lie so many words
    /// behind the test's first row.
    ///
    /// # Safety
    /// The processor has the level of `L`; what is counted was put, with at most `OPEN_MAX` words of a segment that are
    /// not zero.
    #[inline(always)]
    pub(crate) unsafe fn decide<L: Lanes>(&mut self, test: &dyn RowTest, base: usize, words: &mut [u64]) {
        let mut numbers = [const { MaybeUninit::<u32>::uninit() }; WORDS];
        let mut open = [const { MaybeUninit::<u64>::uninit() }; WORDS];
        let mut count = 0;
        for at in 0..self.count {
            // SAFETY: the caller's promises; there is room for as many words.
            unsafe {
                let first = self.segments[at].assume_init() * SEGMENT_WORDS as u32;
                let rows = L::load(self.rows[at].as_ptr().cast());
                let (to, to_numbers) = (open.as_mut_ptr().add(count), numbers.as_mut_ptr().add(count));
                count += rows.list(first, to.cast(), to_numbers.cast());
            }
        }
        let mut rows = [const { MaybeUninit::<u32>::uninit() }; ROWS];
        let mut listed = 0;
        for at in 0..count {
            // SAFETY: what is counted was written.
            let (number, mut bits) = unsafe { (numbers[at].assume_init(), open[at].assume_init()) };
            let first = (base as u32 + number) * 64;
            while bits != 0 {
                rows[listed].write(first + bits.trailing_zeros());
                listed += 1;
                bits &= bits - 1;
            }
            if listed > ROWS - 64 || at + 1 == count {
                // SAFETY: as many were written.
                let rows = unsafe { std::slice::from_raw_parts_mut(rows.as_mut_ptr().cast::<u32>(), listed) };
                let passed = test.retain(rows);
                for row in &rows[..passed] {
                    let row = *row as usize - base * 64;
                    words[row / 64] |= 1 << (row % 64);
                }
                listed = 0;
            }
        }
        self.count = 0;
    }
}
