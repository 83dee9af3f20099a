//! Exact filters: one bit per possible key code.
//!
//! ```text
//!  words   | 64 codes | 64 codes | ... |  range / 64 + 1 words, so that the bit at `range` exists and is zero:
//!                                          a code outside is tested as `min(code, range)`, without a branch
//!  ranks   number of bits set before the word (only where rows are wanted)
//!  row of a code = ranks[code / 64] + bits set below it in its word
//! ```
//! Rows by rank are for builds whose key ascends strictly in row order, as a stored primary key does: 1.5 bits a
//! possible key instead of 32, so the structure of a million orders stays in the second-level cache.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use vector::gather::NO_ROW;

use crate::select::and_where;
use crate::zeroed::{PartedWords, Words};

/// Values that widen to `i64`: the codes of blocks and the integers of vectors.
pub trait Integer: Copy + Into<i64> + Send + Sync {}
impl<T: Copy + Into<i64> + Send + Sync> Integer for T {}

/// Neighbouring codes looked at to tell how codes lie.
const SAMPLE: usize = 64;

/// Bits being set; each partition covers its own range of words.
pub struct BitsFilling {
    words: PartedWords<u64>,
    range: u64,
    partitions: u64,
}

impl BitsFilling {
    /// For codes below `range`.
    pub fn new(range: u64, partitions: u64) -> Self {
        let (words, partitions) = (words_for(range) as u64, partitions.max(1));
        let borders =
            (0..=partitions).map(|p| (u128::from(p) * u128::from(words) / u128::from(partitions)) as usize);
        BitsFilling { words: PartedWords::new(borders.collect()), range, partitions }
    }
    /// Number of partitions, at least 1.
    pub fn partitions(&self) -> u64 {
        self.partitions
    }
    /// The partition's first word and the one after its last.
    fn part(&self, partition: u64) -> (u64, u64) {
        let (first, end) = self.words.borders(partition as usize);
        (first as u64, end as u64)
    }
    /// False when no code between `lowest` and `highest` belongs to the partition.
    pub fn wants(&self, partition: u64, lowest: u64, highest: u64) -> bool {
        let (first, end) = self.part(partition);
        lowest >> 6 < end && highest >> 6 >= first
    }
    /// Sets the bits of those codes that belong to the partition; codes outside the range are passed over.
    pub fn insert(&self, partition: u64, codes: &[u64]) {
        let (first, end) = self.part(partition);
        let own = self.words.part(partition as usize);
        let or = |word: u64, bits: u64| {
            if let Some(place) = own.get((word - first) as usize) {
                place.store(place.load(Relaxed) | bits, Relaxed);
            }
        };
        // Where neighbours are mostly in different words, a test for it would be guessed wrong as often as not.
        let apart = codes.iter().zip(codes.iter().skip(1)).take(SAMPLE).filter(|(a, b)| *a >> 6 != *b >> 6);
        if apart.count() * 8 > SAMPLE {
            for code in codes {
                let word = *code >> 6;
                let inside = *code < self.range && word >= first && word < end;
                or(if inside { word } else { first }, u64::from(inside) << (*code & 63));
            }
            return;
        }
        // A run of codes in one word, as sorted keys have, is collected in a register.
        let (mut at, mut bits) = (first, 0u64);
        for code in codes {
            let word = *code >> 6;
            let inside = *code < self.range && word >= first && word < end;
            let (word, bit) = if inside { (word, 1 << (*code & 63)) } else { (at, 0) };
            if word != at {
                or(at, bits);
                (at, bits) = (word, 0);
            }
            bits |= bit;
        }
        or(at, bits);
    }
    /// The codes that belong to the partition.
    pub fn codes_of(&self, partition: u64) -> std::ops::Range<u64> {
        let (first, end) = self.part(partition);
        (first * 64).min(self.range)..end.saturating_mul(64).min(self.range)
    }
    /// Whether the code, which must belong to the partition, was set before.
    pub fn has(&self, partition: u64, code: u64) -> bool {
        let (first, _) = self.part(partition);
        self.words.part(partition as usize)[((code >> 6) - first) as usize].load(Relaxed) >> (code & 63) & 1
            == 1
    }
    /// Ends the filling.
    pub fn finish(self) -> ExactBits {
        ExactBits { words: self.words.freeze(), range: self.range }
    }
}

/// Bits of codes that ascend with the rows, and their words' ranks. Each partition's rows follow one another, so that its
/// first row tells how many codes or rows come before it, and its ranks are made as soon as it is closed; made when
/// all are filled, they kept all workers waiting for one.
pub(crate) struct RankedFilling {
    pub(crate) bits: BitsFilling,
    ranks: PartedWords<u32>,
    parts: Box<[RankedPart]>,
}

/// What is known of a partition so far.
struct RankedPart {
    /// `NO_ROW`: no code has come yet.
    first_row: AtomicU32,
    count: AtomicU32,
    closed: AtomicBool,
}

impl RankedFilling {
    pub(crate) fn new(range: u64, partitions: u64) -> Self {
        let bits = BitsFilling::new(range, partitions);
        let part = |_| RankedPart {
            first_row: AtomicU32::new(NO_ROW),
            count: AtomicU32::new(0),
            closed: AtomicBool::new(false),
        };
        let parts = (0..bits.partitions).map(part).collect();
        RankedFilling { ranks: PartedWords::new(bits.words.all_borders().to_vec()), bits, parts }
    }
    /// The rows `base ..` have these codes. Returns the first row of the partition, if one has come.
    pub(crate) fn insert(&self, partition: u64, base: u32, codes: &[u64]) -> Option<u32> {
        let first_row = &self.parts[partition as usize].first_row;
        if first_row.load(Relaxed) == NO_ROW {
            let inside = self.bits.codes_of(partition);
            let at = codes.iter().position(|code| inside.contains(code))?;
            first_row.store(base + at as u32, Relaxed);
        }
        self.bits.insert(partition, codes);
        Some(first_row.load(Relaxed))
    }
    /// Nothing more comes to the partition: its ranks are made, the first of them being its first row's number.
    pub(crate) fn close(&self, partition: u64) {
        let part = &self.parts[partition as usize];
        if part.closed.swap(true, Relaxed) {
            return;
        }
        let (words, ranks) = (self.bits.words.part(partition as usize), self.ranks.part(partition as usize));
        let first_row = part.first_row.load(Relaxed);
        if first_row != NO_ROW {
            part.count.store(rank_words(words, first_row, ranks) - first_row, Relaxed);
        }
    }
    /// The number of the partition's first row, if one has come.
    pub(crate) fn first_row(&self, partition: u64) -> Option<u32> {
        Some(self.parts[partition as usize].first_row.load(Relaxed)).filter(|row| *row != NO_ROW)
    }
    pub(crate) fn finish(self) -> (ExactBits, Ranks) {
        (0..self.bits.partitions).for_each(|partition| self.close(partition));
        let count = self.parts.iter().map(|part| part.count.load(Relaxed)).sum();
        (self.bits.finish(), Ranks { ranks: self.ranks.freeze(), count })
    }
}

fn words_for(range: u64) -> usize {
    (range / 64 + 1) as usize
}

/// Bytes of the bits for `range` codes.
pub fn bits_bytes(range: u64) -> u64 {
    (range / 64 + 1) * 8
}

/// A set of codes.
pub struct ExactBits {
    words: Words<u64>,
    range: u64,
}

impl ExactBits {
    /// All codes of the set are below this.
    pub fn range(&self) -> u64 {
        self.range
    }
    /// Bytes of the set.
    pub fn bytes(&self) -> usize {
        self.words.len() * 8
    }
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.words.as_bytes()
    }
    /// Whether the code is in the set; codes outside the range are not.
    pub fn contains(&self, code: u64) -> bool {
        code < self.range && self.words[(code >> 6) as usize] >> (code & 63) & 1 == 1
    }
    /// Number of codes in the set.
    pub fn count(&self) -> u64 {
        count(&self.words)
    }
    /// Whether every code below the range is in the set; found out at the first that is not.
    pub fn is_full(&self) -> bool {
        let whole = (self.range / 64) as usize;
        self.words[..whole].iter().all(|word| *word == u64::MAX)
            && self.words[whole].count_ones() == (self.range % 64) as u32
    }
    /// 0 for codes in the set, `NO_ROW` for others.
    pub fn find(&self, codes: &[u64], found: &mut [u32]) {
        find(&self.words, self.range, codes, found);
    }
    /// Keeps the rows whose value, less `min`, is in the set. `rows` are places in `values`.
    pub fn retain<T: Integer>(&self, values: &[T], min: i64, rows: &mut Vec<u32>) {
        retain(&self.words, self.range, values, min, rows);
    }
    /// And-s into `words` (one bit a row) whether `offset + step * value` is a code of the set.
    pub fn and_into<T: simd::Key>(&self, values: &[T], offset: i64, step: i64, words: &mut [u64]) {
        if step == 1 {
            simd::and_members(&self.words, values, offset, words);
        } else {
            and_stepped(&self.words, self.range, values, offset, step, words);
        }
    }
}

/// How many codes of a set come before each of its words; or rather, in each partition, as many more as the number of its
/// first row is greater than that. Words of partitions without a code have any.
pub struct Ranks {
    ranks: Words<u32>,
    /// Codes in the set.
    count: u32,
}

impl Ranks {
    /// Bytes of the ranks, the set's own left out.
    pub fn bytes(&self) -> usize {
        self.ranks.len() * 4
    }
    /// Number of codes in the set.
    pub fn count(&self) -> u32 {
        self.count
    }
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.ranks.as_bytes()
    }
    /// The rank of each code in the set, `NO_ROW` for others.
    pub fn find(&self, bits: &ExactBits, codes: &[u64], found: &mut [u32]) {
        assert_eq!(self.ranks.len(), bits.words.len(), "ranks of other bits");
        find_rank(&bits.words, &self.ranks, bits.range, codes, found);
    }
}

/// `first[rank]` of each code in the set, `NO_ROW` for others. `first` has an entry for each rank and `NO_ROW` at its end.
pub(crate) fn find_first(bits: &ExactBits, ranks: &Ranks, first: &[u32], codes: &[u64], found: &mut [u32]) {
    assert_eq!(ranks.ranks.len(), bits.words.len(), "ranks of other bits");
    assert!(first.len() > ranks.count as usize, "an entry for each rank");
    find_first_of(&bits.words, &ranks.ranks, first, bits.range, codes, found);
}

/// The word of `code` and its bit's place; codes outside fall on the zero bit at `range`.
#[inline(always)]
fn word_at(words: &[u64], range: u64, code: u64) -> (u64, u32) {
    let code = code.min(range);
    debug_assert!(((code >> 6) as usize) < words.len());
    // SAFETY: `words` has `range / 64 + 1` words (the only way to make `ExactBits`), and `code <= range`.
    (unsafe { *words.get_unchecked((code >> 6) as usize) }, (code & 63) as u32)
}

simd::dispatch! {
    fn count(words: &[u64]) -> u64 {
        words.iter().map(|w| u64::from(w.count_ones())).sum()
    }
}

simd::dispatch! {
    /// How many bits are set before each word, counted from `before` on; returns the count at the end.
    fn rank_words(words: &[AtomicU64], before: u32, ranks: &[AtomicU32]) -> u32 {
        let mut sum = before;
        for (word, rank) in words.iter().zip(ranks) {
            rank.store(sum, Relaxed);
            sum += word.load(Relaxed).count_ones();
        }
        sum
    }
}

simd::dispatch! {
    fn find(words: &[u64], range: u64, codes: &[u64], found: &mut [u32]) {
        for (code, found) in codes.iter().zip(found) {
            let (word, bit) = word_at(words, range, *code);
            *found = ((word >> bit) as u32 & 1).wrapping_sub(1);
        }
    }
}

simd::dispatch! {
    fn find_rank(words: &[u64], ranks: &[u32], range: u64, codes: &[u64], found: &mut [u32]) {
        for (code, found) in codes.iter().zip(found) {
            let (word, bit) = word_at(words, range, *code);
            // SAFETY: `ranks` is as long as `words` (asserted by the caller), see `word_at`.
            let before = unsafe { *ranks.get_unchecked(((*code).min(range) >> 6) as usize) };
            let rank = before + (word & ((1u64 << bit) - 1)).count_ones();
            *found = rank | ((word >> bit) as u32 & 1).wrapping_sub(1);
        }
    }
}

simd::dispatch! {
    fn find_first_of(
        words: &[u64],
        ranks: &[u32],
        first: &[u32],
        range: u64,
        codes: &[u64],
        found: &mut [u32],
    ) {
        let last = first.len() as u32 - 1;
        for (code, found) in codes.iter().zip(found) {
            let (word, bit) = word_at(words, range, *code);
            // SAFETY: `ranks` is as long as `words` (asserted by the caller), see `word_at`.
            let before = unsafe { *ranks.get_unchecked(((*code).min(range) >> 6) as usize) };
            let rank = before + (word & ((1u64 << bit) - 1)).count_ones();
            let rank = if word >> bit & 1 == 1 { rank } else { last };
            // SAFETY: `last` is a place in `first`.
            *found = unsafe { *first.get_unchecked(rank.min(last) as usize) };
        }
    }
}
const _: () = assert!(NO_ROW == u32::MAX, "`x | all ones` is NO_ROW");

simd::dispatch! {
    fn retain<T: Integer>(words: &[u64], range: u64, values: &[T], min: i64, rows: &mut Vec<u32>) {
        let mut kept = 0;
        for at in 0..rows.len() {
            let row = rows[at];
            let code = values[row as usize].into().wrapping_sub(min) as u64;
            let (word, bit) = word_at(words, range, code);
            // `kept` never passes `at`.
            rows[kept] = row;
            kept += (word >> bit) as usize & 1;
        }
        rows.truncate(kept);
    }
}

simd::dispatch! {
    fn and_stepped<T: simd::Key>(
        bits: &[u64],
        range: u64,
        values: &[T],
        offset: i64,
        step: i64,
        words: &mut [u64],
    ) {
        and_where(values, words, |value| {
            let (word, bit) = word_at(bits, range, value.wrapping_mul(step).wrapping_add(offset) as u64);
            word >> bit & 1 == 1
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_sets_say_so() {
        for range in [1u64, 63, 64, 65, 128] {
            let filling = BitsFilling::new(range, 2);
            let codes: Vec<u64> = (0..range).collect();
            (0..2).for_each(|p| filling.insert(p, &codes));
            assert!(filling.finish().is_full(), "{range}");
        }
    }

    #[test]
    fn bits_and_ranks_agree_with_a_set() {
        for range in [0u64, 1, 63, 64, 65, 1000, 4096] {
            let members: Vec<u64> = (0..range).filter(|c| c * 7 % 5 < 2).collect();
            for partitions in [1, 3] {
                let filling = RankedFilling::new(range, partitions);
                for partition in 0..partitions {
                    for (at, codes) in members.chunks(7).enumerate() {
                        filling.insert(partition, at as u32 * 7, codes);
                    }
                    // Codes outside are passed over; whether a partition is closed, or left for the end, is the same.
                    filling.insert(partition, members.len() as u32, &[u64::MAX, range, range + 64]);
                    if partition != 1 {
                        filling.close(partition);
                    }
                }
                let (bits, ranks) = filling.finish();
                assert_eq!(bits.count(), members.len() as u64);
                assert_eq!(bits.is_full(), range == members.len() as u64);
                assert_eq!(ranks.count() as usize, members.len());
                let asked: Vec<u64> = (0..range + 70).chain([u64::MAX]).collect();
                let (mut found, mut rank) = (vec![0; asked.len()], vec![0; asked.len()]);
                bits.find(&asked, &mut found);
                ranks.find(&bits, &asked, &mut rank);
                for (at, code) in asked.iter().enumerate() {
                    let place = members.binary_search(code).ok().map(|p| p as u32);
                    assert_eq!(bits.contains(*code), place.is_some());
                    assert_eq!(found[at] == 0, place.is_some());
                    assert_eq!(rank[at], place.unwrap_or(NO_ROW));
                }
                let values: Vec<i32> = (-5..range as i32 + 70).collect();
                let expected: Vec<u32> = (0..values.len() as u32)
                    .filter(|r| members.contains(&((*r as i64 - 8) as u64)))
                    .collect();
                let mut rows: Vec<u32> = (0..values.len() as u32).collect();
                bits.retain(&values, 3, &mut rows);
                assert_eq!(rows, expected);
                let mut words = vec![u64::MAX; values.len().div_ceil(64)];
                bits.and_into(&values, -3, 1, &mut words);
                let mut rows = Vec::new();
                simd::append_indices(&words, 0, &mut rows);
                rows.retain(|r| (*r as usize) < values.len());
                assert_eq!(rows, expected);
                // Steps, and words that were thinned before.
                for thinned in [u64::MAX, 0x8000_0100_0000_0401, 0] {
                    let mut words = vec![thinned; values.len().div_ceil(64)];
                    bits.and_into(&values, 1, 2, &mut words);
                    for (row, value) in values.iter().enumerate() {
                        let member = members.contains(&((i64::from(*value) * 2 + 1) as u64));
                        let kept = thinned >> (row % 64) & 1 == 1 && member;
                        assert_eq!(words[row / 64] >> (row % 64) & 1 == 1, kept);
                    }
                }
            }
        }
    }
}
