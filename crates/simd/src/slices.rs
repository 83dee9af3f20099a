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

use crate::{Level, level};

/// Words of a segment.
pub const SEGMENT_WORDS: usize = 8;
pub const SEGMENT_ROWS: usize = SEGMENT_WORDS * 64;

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
struct Words([u64; SEGMENT_WORDS]);

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
    // SAFETY: who calls keeps what the trait asks for.
    unsafe fn load(from: *const u64) -> Self {
        // SAFETY: the caller promises that the words are there.
        Words(unsafe { from.cast::<[u64; SEGMENT_WORDS]>().read() })
    }
    #[inline(always)]
    // SAFETY: who calls keeps what the trait asks for.
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: as above, to write.
        unsafe { to.cast::<[u64; SEGMENT_WORDS]>().write(self.0) }
    }
    #[inline(always)]
    // SAFETY: who calls keeps what the trait asks for.
    unsafe fn splat(word: u64) -> Self {
        Words([word; SEGMENT_WORDS])
    }
    #[inline(always)]
    // SAFETY: who calls keeps what the trait asks for.
    unsafe fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }
    #[inline(always)]
    // SAFETY: who calls keeps what the trait asks for.
    unsafe fn and_not(self, other: Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }
    #[inline(always)]
    // SAFETY: who calls keeps what the trait asks for.
    unsafe fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }
    #[inline(always)]
    // SAFETY: who calls keeps what the trait asks for.
    unsafe fn is_zero(self) -> bool {
        self.0.iter().fold(0, |any, word| any | word) == 0
    }
}

/// Slices that lie together: as many as decide most segments of uniform codes, the binary logarithm of their rows and
/// some. What a scan reads is then one stream of memory; four slices a group, the paper's choice, would be three, of
/// which processors fetch ahead what is not wanted.
const GROUP_SLICES: usize = 12;
/// Segments that wait, undecided by their first group, until their next one has come from memory: read at once, it would
/// be a miss that everything waits for.
const WAITING: usize = 16;
/// Words of a segment with open rows up to which these are listed. Uniform codes have one such word in eight segments.
const OPEN_MAX: usize = 3;
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
    pub words: &'a [u64],
    pub stride: usize,
    pub bits: u32,
}

/// A range of codes, both ends in; with `negate` the codes outside.
#[derive(Clone, Copy)]
pub struct CodeRange {
    pub low: u64,
    pub high: u64,
    pub negate: bool,
}

/// Rows that slices leave open: of each word of a selection in which there are some, its number, and their bits.
#[derive(Clone, Debug, Default)]
pub struct Open {
    numbers: Vec<u32>,
    words: Vec<u64>,
}

impl Open {
    /// Words of a selection that have open rows, ascending, and the bits of these.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.numbers.iter().map(|number| *number as usize).zip(self.words.iter().copied())
    }
    /// The word that comes `ahead` after the one at `at`, or the last one.
    pub fn ahead(&self, at: usize, ahead: usize) -> Option<(usize, u64)> {
        let at = (at + ahead).min(self.numbers.len().checked_sub(1)?);
        Some((self.numbers[at] as usize, self.words[at]))
    }
}

/// Keeps the bits of rows whose code is in the range. `words` holds the selection of whole segments, from segment
/// `first` on. Returns the number of words of slices that were read.
///
/// With `open`, the few rows of a segment that the first group of slices leaves undecided are listed there, and their
/// bits cleared: who has the codes at hand looks at one cache line for each of them, where the slices would be several.
pub fn and_slices(
    slices: Slices<'_>,
    range: CodeRange,
    first: usize,
    words: &mut [u64],
    open: Option<&mut Open>,
) -> usize {
    and_slices_at(level(), slices, range, first, words, open)
}

/// As `and_slices`, at a level that is lowered to what the processor has.
pub fn and_slices_at(
    wanted: Level,
    slices: Slices<'_>,
    range: CodeRange,
    first: usize,
    words: &mut [u64],
    open: Option<&mut Open>,
) -> usize {
    let segments = words.len() / SEGMENT_WORDS;
    assert_eq!(words.len(), segments * SEGMENT_WORDS, "a selection of whole segments");
    assert!((first + segments) * SEGMENT_WORDS <= slices.stride, "segments of the slices");
    assert!((1..=64).contains(&slices.bits) && slices.stride * slices.bits as usize <= slices.words.len());
    assert!(range.low <= range.high && range.high <= u64::MAX >> (64 - slices.bits), "a range of codes");
    match wanted.min(level()) {
        // SAFETY: `level` is what the processor has; places were checked above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { crate::avx512::and_slices(slices, range, first, words, open) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { crate::avx2::and_slices(slices, range, first, words, open) },
        // SAFETY: plain code; places were checked above.
        _ => unsafe { scan::<Words>(slices, range, first, words, open) },
    }
}

/// # Safety
/// The processor has the level of `L`; `words` is whole segments, which from `first` on lie within the stride; there
/// are `bits` slices of `stride` words.
#[inline(always)]
pub(crate) unsafe fn scan<L: Lanes>(
    slices: Slices<'_>,
    range: CodeRange,
    first: usize,
    words: &mut [u64],
    open: Option<&mut Open>,
) -> usize {
    let CodeRange { low, high, negate } = range;
    let last = u64::MAX >> (64 - slices.bits);
    let plan =
        Plan { slices, low: bits_from_top(low, slices.bits), high: bits_from_top(high, slices.bits), negate };
    // SAFETY: the caller's promises are passed on.
    unsafe {
        match (low > 0, high < last) {
            _ if low == high => plan.run::<L, false, false>(first, words, open),
            (true, false) => plan.run::<L, true, false>(first, words, open),
            (false, true) => plan.run::<L, false, true>(first, words, open),
            _ => plan.run::<L, true, true>(first, words, open),
        }
    }
}

/// The bits of a code, the most significant first.
#[inline(always)]
fn bits_from_top(code: u64, bits: u32) -> [bool; 64] {
    let mut out = [false; 64];
    for (slice, bit) in out.iter_mut().enumerate().take(bits as usize) {
        *bit = code >> (bits as usize - 1 - slice) & 1 == 1;
    }
    out
}

struct Plan<'a> {
    slices: Slices<'a>,
    low: [bool; 64],
    high: [bool; 64],
    negate: bool,
}

/// Rows that agree with the ends so far, and those that have passed them.
#[derive(Clone, Copy)]
struct State<L> {
    at_low: L,
    above_low: L,
    at_high: L,
    below_high: L,
}

impl Plan<'_> {
    /// Compares with the lower end (`LOW`), the upper one (`HIGH`), both, or, with neither, for equality with both.
    ///
    /// # Safety
    /// As `scan`.
    #[inline(always)]
    unsafe fn run<L: Lanes, const LOW: bool, const HIGH: bool>(
        &self,
        first: usize,
        words: &mut [u64],
        open: Option<&mut Open>,
    ) -> usize {
        let mut read = 0;
        let segments = words.len() / SEGMENT_WORDS;
        let mut unlisted = Open::default();
        let (open, listed_max) = match open {
            Some(open) if self.slices.bits as usize > GROUP_SLICES => (open, OPEN_MAX),
            _ => (&mut unlisted, 0),
        };
        // A segment's words are written before it is known how many of them count.
        let room = if listed_max > 0 { segments * OPEN_MAX } else { 0 } + SEGMENT_WORDS;
        open.words.reserve(room);
        open.numbers.reserve(room);
        let mut listed = open.words.len();
        // SAFETY: segments lie in the slices and in `words`, and the processor has the level (the caller's promise).
        // There is room for what is listed: at most `OPEN_MAX` words of each segment are counted.
        unsafe {
            let zero = L::splat(0);
            let mut waiting =
                [(0, State { at_low: zero, above_low: zero, at_high: zero, below_high: zero }); WAITING];
            let mut waits = 0;
            let (to, numbers) = (open.words.as_mut_ptr(), open.numbers.as_mut_ptr());
            let several = self.slices.bits as usize > GROUP_SLICES;
            for number in 0..segments {
                let selected = L::load(words.as_ptr().add(number * SEGMENT_WORDS));
                if selected.is_zero() {
                    continue;
                }
                let mut state =
                    State { at_low: selected, above_low: zero, at_high: selected, below_high: zero };
                let at = (first + number) * SEGMENT_WORDS;
                if !several {
                    self.group::<L, LOW, HIGH>(&mut state, at, 0, &mut read);
                    self.keep::<L, LOW, HIGH>(&state, zero, number, words);
                    continue;
                }
                let from = self.slices.words.as_ptr().add(at * GROUP_SLICES);
                for slice in 0..GROUP_SLICES {
                    self.step::<L, LOW, HIGH>(&mut state, L::load(from.add(slice * SEGMENT_WORDS)), slice);
                }
                read += GROUP_SLICES * SEGMENT_WORDS;
                // Which of the segments have an open row cannot be foreseen; that they have few, can.
                let left = state.open::<LOW, HIGH>();
                let count =
                    left.list((number * SEGMENT_WORDS) as u32, to.add(listed), numbers.add(listed));
                if count <= listed_max {
                    listed += count;
                    self.keep::<L, LOW, HIGH>(&state, left, number, words);
                    continue;
                }
                self.ask_for(at, GROUP_SLICES);
                waiting[waits] = (number, state);
                waits += 1;
                if waits == WAITING {
                    self.finish::<L, LOW, HIGH>(&waiting, first, words, &mut read);
                    waits = 0;
                }
            }
            self.finish::<L, LOW, HIGH>(&waiting[..waits], first, words, &mut read);
            open.words.set_len(listed);
            open.numbers.set_len(listed);
        }
        read
    }

    /// Takes up the segments that the first group has left undecided: their slices have come meanwhile.
    ///
    /// # Safety
    /// As `scan`; the segments lie in `words`.
    #[inline(always)]
    unsafe fn finish<L: Lanes, const LOW: bool, const HIGH: bool>(
        &self,
        waiting: &[(usize, State<L>)],
        first: usize,
        words: &mut [u64],
        read: &mut usize,
    ) {
        for (number, state) in waiting {
            let mut state = *state;
            let mut slice = GROUP_SLICES;
            // SAFETY: the caller's promises.
            unsafe {
                while !self.group::<L, LOW, HIGH>(&mut state, (first + number) * SEGMENT_WORDS, slice, read) {
                    slice += GROUP_SLICES;
                }
                self.keep::<L, LOW, HIGH>(&state, L::splat(0), *number, words);
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
            let kept = if self.negate { L::load(word).and_not(passes) } else { passes };
            kept.and_not(left).store(word);
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
                if self.low[slice] {
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
                if self.high[slice] {
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

    #[test]
    fn every_range_of_every_width() {
        let mut state = 7u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut listed = 0;
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
                        let mut open = Open::default();
                        let list = (next() % 2 == 0).then_some(&mut open);
                        let read = and_slices_at(at, slices, range, 2, &mut words, list);
                        assert!(read <= bits as usize * 16);
                        for (number, bits) in open.iter() {
                            assert!(bits != 0 && words[number] & bits == 0 && bits & !before[number] == 0);
                            for row in (0..64).filter(|row| bits >> row & 1 == 1) {
                                let code = codes[2 * SEGMENT_ROWS + number * 64 + row];
                                words[number] |= u64::from((low..=high).contains(&code) != negate) << row;
                            }
                            listed += 1;
                        }
                        for (i, (word, before)) in words.iter().zip(&before).enumerate() {
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
        assert!(listed > 100, "rows were left open");
    }

    #[test]
    fn decided_segments_are_not_read_on() {
        let (bits, rows) = (32u32, SEGMENT_ROWS);
        // Every code is one: already the top slice decides against a literal that begins with a zero.
        let slices = vec![u64::MAX; rows / 64 * bits as usize];
        let mut words = vec![u64::MAX; SEGMENT_WORDS];
        let slices = Slices { words: &slices, stride: rows / 64, bits };
        let range = CodeRange { low: 0, high: 5, negate: false };
        assert_eq!(and_slices(slices, range, 0, &mut words, None), ASKED_SLICES * SEGMENT_WORDS);
        assert!(words.iter().all(|word| *word == 0));
    }
}
