//! Range tests on bit slices: BitWeaving/V of Li and Patel (SIGMOD 2013), section 4.3.
//!
//! A slice of a column holds one bit of every row's code. A comparison walks from the most significant slice down and
//! stops when every row of a segment is decided (early pruning). A segment is 512 rows, one cache line of each slice.
//! Twelve slices lie together, segment after segment (the paper's bit groups, which have four).
//!
//! ```text
//!  segment 0: slice 0, 1, ... 11  | segment 1: slice 0, 1, ... 11  | ...      64 bytes a slice
//!  segment 0: slice 12, ... 23    | segment 1: slice 12, ... 23    | ...      the last group may have fewer
//! ```
//!
//! Deviations: the paper's segment is a processor word or a vector register. With both ends of a range the paper
//! compares twice; here both comparisons go down the slices together.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::lanes::Lanes;
use crate::open_rows::{OPEN_MANY, OpenRows};

/// Words of a segment.
pub const SEGMENT_WORDS: usize = 8;
/// Rows of a segment, one bit of each in every slice.
pub const SEGMENT_ROWS: usize = SEGMENT_WORDS * 64;

/// Slices that lie together: as many as decide most segments of uniform codes, the binary logarithm of their rows and
/// some. What a scan reads is then one stream of memory; four slices a group, the paper's choice, would be three, of
/// which processors fetch ahead what is not wanted.
const GROUP_SLICES: usize = 12;
/// Words of a segment with open rows up to which these are listed. Uniform codes have one such word in eight segments.
pub(crate) const OPEN_MAX: usize = 3;
/// Segments that are compared before those with more open rows are taken up: their next slices have come from memory then.
pub(crate) const STRETCH: usize = 64;
/// Slices between two looks at whether all rows are decided.
const ASKED_SLICES: usize = 4;

/// Where the words from `at` on, the first of a segment, of slice `slice` lie, the most significant being slice 0.
#[inline(always)]
pub fn slice_at(bits: u32, stride: usize, slice: u32, at: usize) -> usize {
    let group = slice as usize / GROUP_SLICES * GROUP_SLICES;
    let together = (bits as usize - group).min(GROUP_SLICES);
    group * stride + at * together + (slice as usize - group) * SEGMENT_WORDS
}

/// The slices of a column: `bits` of them, `stride` words each, at `slice_at`.
#[derive(Clone, Copy)]
pub struct Slices<'a> {
    /// All slices, as `slice_at` places them.
    pub words: &'a [u64],
    /// Words of a slice: `SEGMENT_WORDS` for each segment.
    pub stride: usize,
    /// Number of slices: bits of a code.
    pub bits: u32,
}

/// A range of codes, both ends in; with `negate` the codes outside.
#[derive(Clone, Copy)]
pub struct CodeRange {
    /// The least code inside.
    pub low: u64,
    /// The greatest code inside.
    pub high: u64,
    /// Whether the codes outside are wanted instead.
    pub negate: bool,
}

/// The test of single rows by their codes, where the caller has these at hand. Row 0 is the first of the selection.
pub trait RowTest {
    /// Leaves of ascending rows those whose code is in the range, or outside if that is wanted, in front and in their
    /// order; tells how many they are. The rows are far apart: their codes are best asked for all before one is read.
    fn retain(&self, rows: &mut [u32]) -> usize;
}

/// # Safety
/// The processor has the level of `L`; `words` is segments, the last one perhaps in part, which lie within the stride of
/// the plan's slices, of which there are as many as it says.
#[inline(always)]
pub(crate) unsafe fn scan<L: Lanes>(plan: &Plan<'_>, words: &mut [u64], test: Option<&dyn RowTest>) -> usize {
    // SAFETY: the caller's promises are passed on.
    unsafe {
        match plan.ends {
            (true, false) => plan.run::<L, true, false>(words, test),
            (false, true) => plan.run::<L, false, true>(words, test),
            (true, true) => plan.run::<L, true, true>(words, test),
            (false, false) => plan.run::<L, false, false>(words, test),
        }
    }
}

/// The bits of a code, the most significant first, each as a word of 64 times this bit.
#[inline(always)]
fn bits_from_top(code: u64, bits: u32) -> [u64; 64] {
    let mut out = [0; 64];
    for (slice, word) in out.iter_mut().enumerate().take(bits as usize) {
        *word = (code >> (bits as usize - 1 - slice) & 1).wrapping_neg();
    }
    out
}

/// Slices of the first group that are compared together.
const TOGETHER: usize = 4;
/// Bits of a code that the first group holds, as numbers of `TOGETHER` bits each, the most significant first.
type Parts = [usize; GROUP_SLICES / TOGETHER];

/// The most significant bits of a code of more than a group.
fn parts_of(code: u64, bits: u32) -> Parts {
    let group = code >> (bits as usize).saturating_sub(GROUP_SLICES);
    std::array::from_fn(|part| (group >> (GROUP_SLICES - TOGETHER * (part + 1))) as usize % (1 << TOGETHER))
}

/// Calls the one of sixteen functions that is made for these bits of an end.
macro_rules! for_bits {
    ($bits:expr, $state:ident.$function:ident::<$end:ident>($values:expr)) => {
        for_bits!(@ $bits, $state, $function, $end, $values, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $bits:expr, $state:ident, $function:ident, $end:ident, $values:expr, $($number:literal)*) => {
        match $bits {
            $($number => $state.$function::<$end, $number>($values),)*
            // SAFETY: numbers of four bits (`parts_of`).
            _ => std::hint::unreachable_unchecked(),
        }
    };
}

/// What is compared with what.
pub(crate) struct Plan<'a> {
    slices: Slices<'a>,
    low: [u64; 64],
    high: [u64; 64],
    low_parts: Parts,
    high_parts: Parts,
    /// Which ends are compared with; with neither, for equality with both.
    ends: (bool, bool),
    negate: bool,
    first: usize,
    anew: bool,
}

/// Rows that agree with the ends so far, and those that have passed them.
#[derive(Clone, Copy)]
struct State<L> {
    at_low: L,
    above_low: L,
    at_high: L,
    below_high: L,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(slices: Slices<'a>, range: CodeRange, first: usize, anew: bool) -> Plan<'a> {
        let CodeRange { low, high, negate } = range;
        let last = u64::MAX >> (64 - slices.bits);
        let ends = match (low > 0, high < last) {
            _ if low == high => (false, false),
            (false, false) => (true, true),
            ends => ends,
        };
        let (low_parts, high_parts) = (parts_of(low, slices.bits), parts_of(high, slices.bits));
        let (low, high) = (bits_from_top(low, slices.bits), bits_from_top(high, slices.bits));
        Plan { slices, low, high, low_parts, high_parts, ends, negate, first, anew }
    }

    /// Compares with the lower end (`LOW`), the upper one (`HIGH`), both, or, with neither, for equality with both.
    ///
    /// # Safety
    /// As `scan`.
    #[inline(always)]
    unsafe fn run<L: Lanes, const LOW: bool, const HIGH: bool>(
        &self,
        words: &mut [u64],
        test: Option<&dyn RowTest>,
    ) -> usize {
        let (whole, part) = words.split_at_mut(words.len() / SEGMENT_WORDS * SEGMENT_WORDS);
        let mut open = OpenRows::none();
        // SAFETY: the caller's promises, here and below.
        let mut read = unsafe { self.run_whole::<L, LOW, HIGH>(self.first, whole, test, &mut open) };
        if let Some(test) = test {
            // SAFETY: as above; what is counted is of these words.
            unsafe { open.decide::<L>(test, 0, whole) };
        }
        if !part.is_empty() {
            let mut segment = [0; SEGMENT_WORDS];
            segment[..part.len()].copy_from_slice(part);
            let first = self.first + whole.len() / SEGMENT_WORDS;
            // SAFETY: as above.
            unsafe {
                read += self.run_whole::<L, LOW, HIGH>(first, &mut segment, test, &mut open);
                if let Some(test) = test {
                    open.decide::<L>(test, whole.len(), &mut segment);
                }
            }
            part.copy_from_slice(&segment[..part.len()]);
        }
        read
    }

    /// As `run`, of whole segments, of which the first is segment `first` of the slices. What is listed last is left for
    /// the caller to decide.
    ///
    /// # Safety
    /// As `scan`.
    #[inline(always)]
    unsafe fn run_whole<L: Lanes, const LOW: bool, const HIGH: bool>(
        &self,
        first: usize,
        words: &mut [u64],
        test: Option<&dyn RowTest>,
        open: &mut OpenRows,
    ) -> usize {
        let mut read = 0;
        let segments = words.len() / SEGMENT_WORDS;
        if self.slices.bits as usize <= GROUP_SLICES {
            for number in 0..segments {
                // SAFETY: segments lie in the slices and in `words`, and the processor has the level (the caller's
                // promise).
                unsafe { self.only_group::<L, LOW, HIGH>(first, number, words, &mut read) };
            }
            return read;
        }
        let listed_max = if test.is_some() { OPEN_MAX } else { 0 };
        for start in (0..segments).step_by(STRETCH) {
            let stretch = start..(start + STRETCH).min(segments);
            read += GROUP_SLICES * SEGMENT_WORDS * stretch.len();
            // SAFETY: as above.
            unsafe { L::stretch::<LOW, HIGH>(self, first, stretch, words, open, listed_max) };
            if let Some(test) = test.filter(|_| open.count >= OPEN_MANY) {
                // SAFETY: as above; what is listed was written.
                unsafe { open.decide::<L>(test, 0, words) };
            }
        }
        read
    }

    /// The rows of a segment that are still selected.
    ///
    /// # Safety
    /// The processor has the level of `L`; the segment lies in `words`.
    #[inline(always)]
    unsafe fn selected<L: Lanes>(&self, number: usize, words: &[u64]) -> L {
        // SAFETY: the caller's promises.
        unsafe {
            if self.anew { L::splat(u64::MAX) } else { L::load(words.as_ptr().add(number * SEGMENT_WORDS)) }
        }
    }

    /// Decides a segment by the only group of slices.
    ///
    /// # Safety
    /// As `scan`; the segment lies in `words`.
    #[inline(always)]
    unsafe fn only_group<L: Lanes, const LOW: bool, const HIGH: bool>(
        &self,
        first: usize,
        number: usize,
        words: &mut [u64],
        read: &mut usize,
    ) {
        // SAFETY: the caller's promises.
        unsafe {
            let zero = L::splat(0);
            let selected: L = self.selected(number, words);
            if !selected.is_zero() {
                let mut state = State::of(selected);
                let at = (first + number) * SEGMENT_WORDS;
                self.group::<L, LOW, HIGH>(&mut state, at, 0, read);
                self.keep::<L, LOW, HIGH>(&state, zero, number, words);
            }
        }
    }

    /// Decides segments by the first group of several: lists the open rows of a segment, or, where they are more than
    /// few, goes on with its next groups. Nothing is called here that would empty the registers.
    ///
    /// # Safety
    /// As `scan`; the segments lie in `words`, and are `STRETCH` at most; the list is empty.
    #[inline(always)]
    pub(crate) unsafe fn stretch<L: Lanes, const LOW: bool, const HIGH: bool>(
        &self,
        first: usize,
        segments: Range<usize>,
        words: &mut [u64],
        listed: &mut OpenRows,
        listed_max: usize,
    ) {
        // SAFETY: the caller's promises. There is room for what is listed: at most `OPEN_MAX` words of each segment are
        // counted.
        unsafe {
            let mut waiting = [const { MaybeUninit::uninit() }; STRETCH];
            let (mut waits, mut count) = (0, listed.count);
            for number in segments {
                let selected: L = self.selected(number, words);
                if selected.is_zero() {
                    continue;
                }
                let mut state = State::of(selected);
                let at = (first + number) * SEGMENT_WORDS;
                self.first_group::<L, LOW, HIGH>(&mut state, at);
                // Which of the segments have an open row cannot be foreseen; that they have few, can.
                let left = state.open::<LOW, HIGH>();
                listed.put(count, number, left);
                let open = left.some();
                if open <= listed_max {
                    count += usize::from(open > 0);
                    self.keep::<L, LOW, HIGH>(&state, left, number, words);
                } else {
                    self.ask_for(at, GROUP_SLICES);
                    waiting[waits].write((number, state));
                    waits += 1;
                }
            }
            listed.count = count;
            self.finish::<L, LOW, HIGH>(&waiting[..waits], first, words);
        }
    }

    /// Takes up the segments that the first group has left undecided: their slices have come meanwhile.
    ///
    /// # Safety
    /// As `scan`; the segments are written, and lie in `words`.
    #[inline(always)]
    unsafe fn finish<L: Lanes, const LOW: bool, const HIGH: bool>(
        &self,
        waiting: &[MaybeUninit<(usize, State<L>)>],
        first: usize,
        words: &mut [u64],
    ) {
        for segment in waiting {
            // SAFETY: those that wait were written (the caller's promise).
            let (number, mut state) = unsafe { segment.assume_init_read() };
            let mut slice = GROUP_SLICES;
            // SAFETY: the caller's promises.
            unsafe {
                let mut read = 0;
                while !self.group::<L, LOW, HIGH>(
                    &mut state,
                    (first + number) * SEGMENT_WORDS,
                    slice,
                    &mut read,
                ) {
                    slice += GROUP_SLICES;
                }
                self.keep::<L, LOW, HIGH>(&state, L::splat(0), number, words);
            }
        }
    }

    /// Asks for the beginning of a segment's group.
    #[inline(always)]
    fn ask_for(&self, at: usize, slice: usize) {
        let Slices { words, stride, bits } = self.slices;
        let from = slice * stride + at * (bits as usize - slice).min(GROUP_SLICES);
        for i in 0..ASKED_SLICES {
            crate::prefetch(words, from + i * SEGMENT_WORDS);
        }
    }

    /// Writes the rows that have passed to their segment of the selection, but for those left open.
    ///
    /// # Safety
    /// The processor has the level of `L`; the segment lies in `words`.
    #[inline(always)]
    unsafe fn keep<L: Lanes, const LOW: bool, const HIGH: bool>(
        &self,
        state: &State<L>,
        left: L,
        number: usize,
        words: &mut [u64],
    ) {
        // SAFETY: the caller's promises.
        unsafe {
            let word = words.as_mut_ptr().add(number * SEGMENT_WORDS);
            let passes = state.passed::<LOW, HIGH>();
            let kept = if self.negate { self.selected::<L>(number, words).and_not(passes) } else { passes };
            kept.and_not(left).store(word);
        }
    }

    /// Compares with all slices of the first group, of several, for the segment at `at`. There is code for each of the
    /// sixteen values that four bits of an end can have: a slice is then one or two instructions, no literal takes a
    /// register, and the jump, to the same place for every segment, is foreseen. Memory is read in its order: read in
    /// another, it comes half as fast, for the processor does not fetch it ahead.
    ///
    /// # Safety
    /// The processor has the level of `L`; the segment lies in the slices, of which there are more than one group.
    #[inline(always)]
    unsafe fn first_group<L: Lanes, const LOW: bool, const HIGH: bool>(
        &self,
        state: &mut State<L>,
        at: usize,
    ) {
        // SAFETY: the caller promises the level, and that the group's slices are there.
        unsafe {
            let from = self.slices.words.as_ptr().add(at * GROUP_SLICES);
            self.part::<L, LOW, HIGH>(state, from, 0);
            self.part::<L, LOW, HIGH>(state, from, 1);
            self.part::<L, LOW, HIGH>(state, from, 2);
        }
    }

    /// # Safety
    /// As `first_group`, whose slices begin at `from`; there is such a part.
    #[inline(always)]
    unsafe fn part<L: Lanes, const LOW: bool, const HIGH: bool>(
        &self,
        state: &mut State<L>,
        from: *const u64,
        part: usize,
    ) {
        // SAFETY: the caller's promises.
        unsafe {
            let mut values = [state.at_low; TOGETHER];
            for (slice, value) in values.iter_mut().enumerate() {
                *value = L::load(from.add((part * TOGETHER + slice) * SEGMENT_WORDS));
            }
            if LOW || !HIGH {
                for_bits!(self.low_parts[part], state.beside_low::<LOW>(values));
            }
            if HIGH {
                for_bits!(self.high_parts[part], state.beside_high::<HIGH>(values));
            }
        }
    }

    /// Goes down the slices of the group that begins with `slice`, for the segment at `at`. Returns whether that was all:
    /// no row is open, or there are no more slices. No closures here: a closure is compiled without the vector
    /// instructions of the function that it stands in.
    ///
    /// # Safety
    /// The processor has the level of `L`; the segment lies in the slices, of which `slice` is one.
    #[inline(always)]
    unsafe fn group<L: Lanes, const LOW: bool, const HIGH: bool>(
        &self,
        state: &mut State<L>,
        at: usize,
        slice: usize,
        read: &mut usize,
    ) -> bool {
        let Slices { words, stride, bits } = self.slices;
        let together = (bits as usize - slice).min(GROUP_SLICES);
        // SAFETY: the caller promises the level; a group's slices lie where `slice_at` says, within the slices.
        unsafe {
            let from = words.as_ptr().add(slice * stride + at * together);
            let mut i = 0;
            // Whether all rows are decided is asked once in a few slices: asked at every one, the answer comes at
            // another one in every segment, and the branch is foreseen in none. The first group's end does not ask.
            while i + ASKED_SLICES <= together {
                for k in i..i + ASKED_SLICES {
                    self.step::<L, LOW, HIGH>(state, L::load(from.add(k * SEGMENT_WORDS)), slice + k);
                }
                i += ASKED_SLICES;
                if i + slice != GROUP_SLICES && state.is_decided::<LOW, HIGH>() {
                    *read += i * SEGMENT_WORDS;
                    return true;
                }
            }
            while i < together {
                self.step::<L, LOW, HIGH>(state, L::load(from.add(i * SEGMENT_WORDS)), slice + i);
                i += 1;
            }
        }
        *read += together * SEGMENT_WORDS;
        slice + together == bits as usize
    }

    /// # Safety
    /// The processor has the level of `L`.
    #[inline(always)]
    unsafe fn step<L: Lanes, const LOW: bool, const HIGH: bool>(
        &self,
        state: &mut State<L>,
        value: L,
        slice: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            // The ends' bits are the same for every segment, so that these branches are foreseen; masks instead of them
            // are a load more each, and loads are what there is most of.
            if LOW || !HIGH {
                if self.low[slice] != 0 {
                    state.at_low = state.at_low.and(value);
                } else {
                    // A one where the end has a zero is above it.
                    if LOW {
                        state.above_low = state.above_low.or(state.at_low.and(value));
                    }
                    state.at_low = state.at_low.and_not(value);
                }
            }
            if HIGH {
                if self.high[slice] != 0 {
                    state.below_high = state.below_high.or(state.at_high.and_not(value));
                    state.at_high = state.at_high.and(value);
                } else {
                    state.at_high = state.at_high.and_not(value);
                }
            }
        }
    }
}

impl<L: Lanes> State<L> {
    /// The state of a segment of which nothing is known yet.
    ///
    /// # Safety
    /// The processor has the level of `L`.
    #[inline(always)]
    unsafe fn of(selected: L) -> Self {
        // SAFETY: the caller's promise.
        let zero = unsafe { L::splat(0) };
        State { at_low: selected, above_low: zero, at_high: selected, below_high: zero }
    }
    /// Goes down slices in which the lower end's bits are `BITS`; without `LOW` for equality only.
    ///
    /// # Safety
    /// The processor has the level of `L`.
    #[inline(always)]
    unsafe fn beside_low<const LOW: bool, const BITS: usize>(&mut self, values: [L; TOGETHER]) {
        for (slice, value) in values.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                if BITS >> (TOGETHER - 1 - slice) & 1 == 1 {
                    self.at_low = self.at_low.and(value);
                } else {
                    // A one where the end has a zero is above it.
                    if LOW {
                        self.above_low = self.above_low.or(self.at_low.and(value));
                    }
                    self.at_low = self.at_low.and_not(value);
                }
            }
        }
    }
    /// As `beside_low`, of the upper end.
    ///
    /// # Safety
    /// The processor has the level of `L`.
    #[inline(always)]
    unsafe fn beside_high<const HIGH: bool, const BITS: usize>(&mut self, values: [L; TOGETHER]) {
        for (slice, value) in values.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                if BITS >> (TOGETHER - 1 - slice) & 1 == 1 {
                    if HIGH {
                        self.below_high = self.below_high.or(self.at_high.and_not(value));
                    }
                    self.at_high = self.at_high.and(value);
                } else {
                    self.at_high = self.at_high.and_not(value);
                }
            }
        }
    }
    /// # Safety
    /// The processor has the level of `L`.
    #[inline(always)]
    unsafe fn open<const LOW: bool, const HIGH: bool>(&self) -> L {
        match (LOW, HIGH) {
            // SAFETY: the caller's promise.
            (true, true) => unsafe { self.at_low.or(self.at_high) },
            (false, true) => self.at_high,
            _ => self.at_low,
        }
    }
    /// # Safety
    /// The processor has the level of `L`.
    #[inline(always)]
    unsafe fn is_decided<const LOW: bool, const HIGH: bool>(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.open::<LOW, HIGH>().is_zero() }
    }
    /// # Safety
    /// The processor has the level of `L`.
    #[inline(always)]
    unsafe fn passed<const LOW: bool, const HIGH: bool>(&self) -> L {
        // SAFETY: the caller's promise.
        unsafe {
            match (LOW, HIGH) {
                (true, true) => self.above_low.or(self.at_low).and(self.below_high.or(self.at_high)),
                (true, false) => self.above_low.or(self.at_low),
                (false, true) => self.below_high.or(self.at_high),
                (false, false) => self.at_low,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, and_slices, and_slices_at};

    struct Codes<'a> {
        codes: &'a [u64],
        low: u64,
        high: u64,
        negate: bool,
    }
    impl RowTest for Codes<'_> {
        fn retain(&self, rows: &mut [u32]) -> usize {
            assert!(rows.is_sorted());
            let passes =
                |row: &u32| (self.low..=self.high).contains(&self.codes[*row as usize]) != self.negate;
            let kept: Vec<u32> = rows.iter().copied().filter(passes).collect();
            rows[..kept.len()].copy_from_slice(&kept);
            kept.len()
        }
    }

    #[test]
    fn every_range_of_every_width() {
        let mut state = 7u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut shorter = 0;
        for bits in [1u32, 2, 3, 7, 8, 12, 13, 20, 31, 32, 33, 64] {
            let mask = u64::MAX >> (64 - bits);
            let rows = SEGMENT_ROWS * 5;
            let codes: Vec<u64> = (0..rows).map(|_| next() & mask).collect();
            let stride = rows / 64;
            let mut slices = vec![0u64; stride * bits as usize];
            for (row, code) in codes.iter().enumerate() {
                for bit in 0..bits {
                    let segment = row / SEGMENT_ROWS * SEGMENT_WORDS;
                    let at = slice_at(bits, stride, bits - 1 - bit, segment);
                    slices[at + row / 64 % SEGMENT_WORDS] |= ((code >> bit) & 1) << (row % 64);
                }
            }
            for _ in 0..60 {
                let (a, b) = (next() & mask, next() & mask);
                let near = codes[next() as usize % rows];
                for (low, high) in [
                    (a.min(b), a.max(b)),
                    (near, near),
                    (0, a),
                    (a, mask),
                    (near, mask),
                    (0, near),
                    (0, mask),
                ] {
                    for (negate, at) in
                        [false, true].into_iter().flat_map(|n| Level::available().map(move |l| (n, l)))
                    {
                        let before: Vec<u64> = (0..16).map(|_| next() | next()).collect();
                        let mut words = before.clone();
                        let slices = Slices { words: &slices, stride, bits };
                        let range = CodeRange { low, high, negate };
                        let test = Codes { codes: &codes[2 * SEGMENT_ROWS..], low, high, negate };
                        let test: Option<&dyn RowTest> = (next() % 2 == 0).then_some(&test);
                        // The last segment may be there in part; with all rows selected, what the words held is nothing.
                        let kept = if next() % 2 == 0 { 16 } else { 9 + next() as usize % 7 };
                        let anew = next() % 3 == 0;
                        words.truncate(kept);
                        let read = and_slices_at(at, slices, range, 2, &mut words, anew, test);
                        assert!(read <= bits as usize * 16);
                        shorter += usize::from(test.is_some() && bits == 32 && read == 12 * 16);
                        for (i, (word, before)) in words.iter().zip(&before).enumerate() {
                            let before = if anew { &u64::MAX } else { before };
                            for row in 0..64 {
                                let code = codes[2 * SEGMENT_ROWS + i * 64 + row];
                                let expected =
                                    (low <= code && code <= high) != negate && before >> row & 1 == 1;
                                assert_eq!(word >> row & 1 == 1, expected, "{low}..={high} of {bits} bits");
                            }
                        }
                    }
                }
            }
        }
        assert!(shorter > 100, "open rows were decided by their codes");
    }

    #[test]
    fn decided_segments_are_not_read_on() {
        let (bits, rows) = (32u32, SEGMENT_ROWS);
        // Every code is ones: already the top slice decides against a literal that begins with a zero.
        let slices = vec![u64::MAX; rows / 64 * bits as usize];
        let mut words = vec![u64::MAX; SEGMENT_WORDS];
        let slices = Slices { words: &slices, stride: rows / 64, bits };
        let range = CodeRange { low: 0, high: 5, negate: false };
        assert_eq!(and_slices(slices, range, 0, &mut words, false, None), GROUP_SLICES * SEGMENT_WORDS);
        assert!(words.iter().all(|word| *word == 0));
    }
}
