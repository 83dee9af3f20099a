//! What scans of bit slices do with a segment's bits of one slice, at every level; here without vector instructions.

use std::ops::Range;

use crate::open_rows::OpenRows;
use crate::slices::{Plan, SEGMENT_WORDS};

/// A segment's bits of one slice, in registers.
pub(crate) trait Lanes: Copy {
    /// # Safety
    /// `SEGMENT_WORDS` words can be read at `from`, and the processor has the level that the type is made for, as for
    /// all functions here.
    unsafe fn load(from: *const u64) -> Self;
    /// # Safety
    /// As `load`, to write.
    unsafe fn store(self, to: *mut u64);
    /// # Safety
    /// See `load`.
    unsafe fn splat(word: u64) -> Self;
    /// # Safety
    /// See `load`.
    unsafe fn and(self, other: Self) -> Self;
    /// `self & !other`.
    ///
    /// # Safety
    /// See `load`.
    unsafe fn and_not(self, other: Self) -> Self;
    /// # Safety
    /// See `load`.
    unsafe fn or(self, other: Self) -> Self;
    /// # Safety
    /// See `load`.
    unsafe fn is_zero(self) -> bool;
    /// Calls `Plan::stretch`. Where it is a function of its own, its state stays in registers, which what is around the loop
    /// would otherwise take.
    ///
    /// # Safety
    /// As `Plan::stretch`.
    #[inline(always)]
    unsafe fn stretch<const LOW: bool, const HIGH: bool>(
        plan: &Plan<'_>,
        first: usize,
        segments: Range<usize>,
        words: &mut [u64],
        listed: &mut OpenRows,
        listed_max: usize,
    ) {
        // SAFETY: the caller's promises.
        unsafe { plan.stretch::<Self, LOW, HIGH>(first, segments, words, listed, listed_max) }
    }
    /// How many words are not zero.
    ///
    /// # Safety
    /// See `load`.
    #[inline(always)]
    unsafe fn some(self) -> usize {
        let mut all = [0u64; SEGMENT_WORDS];
        // SAFETY: there is room for the words of a segment.
        unsafe { self.store(all.as_mut_ptr()) };
        all.into_iter().map(|word| usize::from(word != 0)).sum()
    }
    /// Writes the words that are not zero, and of each its number, that of the first being `first`; tells how many they
    /// are.
    ///
    /// # Safety
    /// See `load`; `SEGMENT_WORDS` words and numbers can be written.
    #[inline(always)]
    unsafe fn list(self, first: u32, words: *mut u64, numbers: *mut u32) -> usize {
        let mut all = [0; SEGMENT_WORDS];
        let mut count = 0;
        // SAFETY: there is room for all words of a segment, and no more are counted.
        unsafe {
            self.store(all.as_mut_ptr());
            for (i, word) in all.into_iter().enumerate() {
                words.add(count).write(word);
                numbers.add(count).write(first + i as u32);
                count += usize::from(word != 0);
            }
        }
        count
    }
}

/// Without vector instructions, and what the others are held to.
#[derive(Clone, Copy)]
pub(crate) struct Words([u64; SEGMENT_WORDS]);

impl Words {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let mut out = [0; SEGMENT_WORDS];
        for (i, out) in out.iter_mut().enumerate() {
            *out = f(self.0[i], other.0[i]);
        }
        Words(out)
    }
}

impl Lanes for Words {
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller promises that the words are there.
        Words(unsafe { from.cast::<[u64; SEGMENT_WORDS]>().read() })
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: as above, to write.
        unsafe { to.cast::<[u64; SEGMENT_WORDS]>().write(self.0) }
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn splat(word: u64) -> Self {
        Words([word; SEGMENT_WORDS])
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn and_not(self, other: Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }
    #[inline(always)]
    // SAFETY: the caller keeps what the trait asks for.
    unsafe fn is_zero(self) -> bool {
        self.0.iter().fold(0, |any, word| any | word) == 0
    }
}
