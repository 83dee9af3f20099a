//! Zeroed memory that many workers fill and then only read: the substance of join tables and filters.
//!
//! ```text
//!  AtomicWords<T>  --freeze-->  Words<T>               UnwrittenWords  --freeze-->  Words<u64>
//!  filled by relaxed loads      read as plain slices   not even zeroed: every byte is written
//!  and stores, any worker
//!  PartedWords<T>  --freeze-->  the same, each part zeroed on its first use
//! ```
//! The filler decides which worker writes which word (partitions do not overlap); relaxed atomics are plain moves on
//! the machines we know, so this costs nothing and a mistake is a wrong value, never undefined behaviour.
//! Large pieces ask for huge pages: probes are random reads, and address translation would cost as much as the read.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};

use arrow_buffer::Buffer;

/// Integers for which all-zero bytes are a value and which have an atomic twin of the same layout.
pub trait Word: Copy + sealed::Sealed + Send + Sync + std::panic::RefUnwindSafe + 'static {
    /// The atomic type of the same layout.
    type Atomic: Sync;
}
impl Word for u32 {
    type Atomic = AtomicU32;
}
impl Word for u64 {
    type Atomic = AtomicU64;
}
mod sealed {
    /// Keeps [`Word`](super::Word) to the types listed here.
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

const HUGE_PAGE_BYTES: usize = 2 << 20;
/// Below this, the few huge pages that fit inside do not pay for the call.
const HUGE_BYTES_MIN: usize = 4 << 20;

/// Words start at a cache line, so that a group of 64 bytes is in one.
const LINE_BYTES: usize = 64;

struct Owned<T: Word> {
    /// As allocated, a line longer than the words; dangling when there are none.
    base: NonNull<u8>,
    /// The first line's start.
    start: NonNull<T>,
    len: usize,
}

// SAFETY: `Owned` owns its words as a `Box<[T]>` would, and `T` is `Send`.
unsafe impl<T: Word> Send for Owned<T> {}
// SAFETY: shared access is either to atomics (before `freeze`) or read-only (after it).
unsafe impl<T: Word> Sync for Owned<T> {}

impl<T: Word> Owned<T> {
    fn layout(len: usize) -> Layout {
        // Aligned by hand: allocators that have zeroed pages at hand give them only for ordinary alignments.
        let bytes = len.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(LINE_BYTES));
        match bytes.map(|bytes| Layout::from_size_align(bytes, align_of::<T>())) {
            Some(Ok(layout)) => layout,
            // Longer than the address space: nothing that was counted in memory can be.
            _ => panic!("{len} words do not fit the address space"),
        }
    }

    fn new(len: usize) -> Self {
        Self::with(len, alloc_zeroed)
    }

    // SAFETY: `allocate` is a function of `std::alloc` that asks for a layout that is not empty.
    fn with(len: usize, allocate: unsafe fn(Layout) -> *mut u8) -> Self {
        if len == 0 {
            return Owned { base: NonNull::dangling(), start: NonNull::dangling(), len };
        }
        let layout = Self::layout(len);
        // SAFETY: the layout is not empty: it has a line more than the words.
        let Some(base) = NonNull::new(unsafe { allocate(layout) }) else { handle_alloc_error(layout) };
        if layout.size() >= HUGE_BYTES_MIN {
            advise_huge(base.as_ptr() as usize, layout.size());
        }
        let skipped = base.align_offset(LINE_BYTES).min(LINE_BYTES);
        // SAFETY: at most a line is skipped, and the allocation is a line longer than the words.
        let start = unsafe { base.add(skipped) }.cast::<T>();
        debug_assert!(start.is_aligned());
        Owned { base, start, len }
    }
}

impl<T: Word> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: `base` came from `alloc_zeroed` with this very layout and is freed once.
            unsafe { dealloc(self.base.as_ptr(), Self::layout(self.len)) };
        }
    }
}

/// Asks for huge pages in the whole huge pages inside `[start, start + bytes)`. Failing changes only speed.
fn advise_huge(start: usize, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        let first = start.next_multiple_of(HUGE_PAGE_BYTES);
        let end = (start + bytes) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
        if end > first {
            // SAFETY: the range lies inside memory we own, and the advice changes no contents.
            unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

/// Zeroed words being filled.
pub struct AtomicWords<T: Word>(Owned<T>);

impl<T: Word> AtomicWords<T> {
    /// `len` words, all zero.
    pub fn new(len: usize) -> Self {
        AtomicWords(Owned::new(len))
    }
    /// Ends the filling.
    pub fn freeze(self) -> Words<T> {
        Words(self.0)
    }
}

impl<T: Word> Deref for AtomicWords<T> {
    type Target = [T::Atomic];
    #[inline]
    fn deref(&self) -> &[T::Atomic] {
        // SAFETY: the atomic twin has the layout of `T`; the words are initialised (zeroed) and live as long as
        // `self`; while this type exists they are reached through atomics only.
        unsafe { std::slice::from_raw_parts(self.0.start.as_ptr().cast::<T::Atomic>(), self.0.len) }
    }
}

/// Words in parts, which different workers fill. A part is zeroed when it is first asked for: for a table of many
/// megabytes that is milliseconds, in which one worker would keep all others waiting.
pub(crate) struct PartedWords<T: Word> {
    words: Owned<T>,
    /// The first word of each part, and the end of the last.
    borders: Vec<usize>,
    zeroed: Box<[OnceLock<()>]>,
}

impl<T: Word> PartedWords<T> {
    /// `borders`: 0, then where each part ends, ascending.
    pub(crate) fn new(borders: Vec<usize>) -> Self {
        assert!(borders.first() == Some(&0) && borders.is_sorted(), "parts follow one another");
        let words = Owned::with(borders.last().copied().unwrap_or(0), alloc);
        let zeroed = (1..borders.len()).map(|_| OnceLock::new()).collect();
        PartedWords { words, borders, zeroed }
    }
    /// Number of words in all parts together.
    pub(crate) fn len(&self) -> usize {
        self.words.len
    }
    /// As given to `new`.
    pub(crate) fn all_borders(&self) -> &[usize] {
        &self.borders
    }
    /// First word and end of a part.
    pub(crate) fn borders(&self, part: usize) -> (usize, usize) {
        (self.borders[part], self.borders[part + 1])
    }
    fn zero(&self, part: usize) -> (NonNull<T>, usize) {
        let (first, end) = self.borders(part);
        // SAFETY: borders ascend up to the number of words.
        let start = unsafe { self.words.start.add(first) };
        self.zeroed[part].get_or_init(|| {
            // SAFETY: the part lies inside the words; no reference to it exists yet, since all come from here, after
            // this.
            unsafe { start.as_ptr().write_bytes(0, end - first) }
        });
        (start, end - first)
    }
    /// The words of a part.
    #[inline]
    pub(crate) fn part(&self, part: usize) -> &[T::Atomic] {
        let (start, len) = self.zero(part);
        // SAFETY: the atomic twin has the layout of `T`; the words are initialised, live as long as `self`, and are
        // reached through atomics only, but for `exclusive`, whose caller promises to be alone.
        unsafe { std::slice::from_raw_parts(start.as_ptr().cast::<T::Atomic>(), len) }
    }
    /// The words `[first, end)`, of whichever parts.
    pub(crate) fn range(&self, first: usize, end: usize) -> &[T::Atomic] {
        assert!(first <= end && end <= self.words.len, "words out of range");
        let mut part = self.borders.partition_point(|border| *border <= first).saturating_sub(1);
        while part < self.zeroed.len() && self.borders[part] < end {
            self.zero(part);
            part += 1;
        }
        // SAFETY: the range lies inside the words, and its parts are initialised; otherwise as in `part`.
        unsafe { std::slice::from_raw_parts(self.words.start.add(first).as_ptr().cast(), end - first) }
    }
    /// The words of a part as plain ones, for their only user.
    ///
    /// # Safety
    /// Until the slice is dropped, no other slice of this part exists.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn exclusive(&self, part: usize) -> &mut [T] {
        let (start, len) = self.zero(part);
        // SAFETY: the words are initialised and inside the allocation; that they have no other user is the caller's
        // promise.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), len) }
    }
    /// Ends the filling.
    pub(crate) fn freeze(self) -> Words<T> {
        (0..self.zeroed.len()).for_each(|part| _ = self.zero(part));
        Words(self.words)
    }
}

/// Words that are not zeroed first, because every byte of them will be written: zeroing columns before they are copied
/// took one thread as long as copying took all.
pub(crate) struct UnwrittenWords(Owned<u64>);

impl UnwrittenWords {
    /// Room for `bytes` bytes; what the last word has beyond them is zero.
    pub(crate) fn new(bytes: usize) -> Self {
        let words = Owned::with(bytes.div_ceil(8), alloc);
        if words.len > 0 {
            // SAFETY: the last of at least one word, which is aligned and ours.
            unsafe { words.start.add(words.len - 1).write(0) };
        }
        UnwrittenWords(words)
    }
    /// Copies bytes over the words, from byte `at` on.
    ///
    /// # Safety
    /// Meanwhile, no other thread reads or writes these bytes.
    pub(crate) unsafe fn write_bytes(&self, at: usize, bytes: &[u8]) {
        let room = self.0.len * size_of::<u64>();
        assert!(at <= room && bytes.len() <= room - at, "bytes out of range");
        // SAFETY: the target lies inside the words (asserted) and has no other user (the caller's promise); the
        // source is another allocation, since ours is reached through this type only.
        unsafe {
            let target = self.0.start.as_ptr().cast::<u8>().add(at);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
    }
    /// Ends the filling.
    ///
    /// # Safety
    /// All the bytes that `new` was asked for have been written.
    pub(crate) unsafe fn freeze(self) -> Words<u64> {
        Words(self.0)
    }
}

/// Filled words; read-only.
pub struct Words<T: Word>(Owned<T>);

impl<T: Word> Deref for Words<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the words are initialised and live as long as `self`; nothing writes them any more, because
        // `freeze` took the only way to the atomics.
        unsafe { std::slice::from_raw_parts(self.0.start.as_ptr(), self.0.len) }
    }
}

impl<T: Word> Words<T> {
    /// The words as they lie in memory.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: words are integers without padding; they are initialised, and nothing writes them any more.
        unsafe { std::slice::from_raw_parts(self.0.start.as_ptr().cast(), self.0.len * size_of::<T>()) }
    }
    /// The words as an Arrow buffer, not copied.
    pub fn into_buffer(self) -> Buffer {
        if self.0.len == 0 {
            return Buffer::default();
        }
        let (start, bytes) = (self.0.start.cast::<u8>(), self.0.len * size_of::<T>());
        // SAFETY: the bytes are initialised, never change any more, and live as long as the owner handed over.
        unsafe { Buffer::from_custom_allocation(start, bytes, Arc::new(self.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn parts_start_zero_whoever_comes_first() {
        // Memory that was used before, so that zeros are not there by chance.
        drop(std::hint::black_box(vec![u64::MAX; 3000]));
        let words = PartedWords::<u64>::new(vec![0, 1000, 1000, 3000]);
        assert_eq!(words.len(), 3000);
        std::thread::scope(|scope| {
            for own in 0..4 {
                let words = &words;
                scope.spawn(move || (0..500).for_each(|at| words.part(2)[at * 4 + own].store(1, Relaxed)));
            }
        });
        // SAFETY: the other slices are gone.
        let alone = unsafe { words.exclusive(2) };
        alone[0] = 7;
        let words = words.freeze();
        assert_eq!(words.iter().sum::<u64>(), 2006);
        assert!(words[..1000].iter().all(|word| *word == 0));
        assert!(PartedWords::<u32>::new(vec![0]).freeze().is_empty());
    }

    #[test]
    fn ranges_span_parts() {
        drop(std::hint::black_box(vec![u64::MAX; 300]));
        let words = PartedWords::<u64>::new(vec![0, 100, 100, 200, 300]);
        for (first, end) in [(0, 0), (99, 101), (100, 200), (150, 300), (300, 300)] {
            let range = words.range(first, end);
            assert_eq!(range.len(), end - first);
            range.iter().for_each(|word| word.store(word.load(Relaxed) + 1, Relaxed));
        }
        let words = words.freeze();
        let expected = |at: usize| {
            u64::from((99..101).contains(&at)) + u64::from((100..200).contains(&at)) + u64::from(at >= 150)
        };
        assert!(words.iter().enumerate().all(|(at, word)| *word == expected(at)));
    }

    #[test]
    fn words_start_zero_and_keep_what_is_stored() {
        for len in [0usize, 1, 1000, 3 << 20] {
            let words = AtomicWords::<u32>::new(len);
            assert_eq!(words.len(), len);
            assert!(words.iter().all(|w| w.load(Relaxed) == 0));
            if len > 0 {
                words[len - 1].store(7, Relaxed);
            }
            let words = words.freeze();
            assert_eq!(words.iter().map(|w| u64::from(*w)).sum::<u64>(), if len > 0 { 7 } else { 0 });
        }
    }
}
