//! A selection of rows: one bit a row, row 0 in the lowest bit of the first word. Bits past the last row are zero.
//!
//! ```text
//!  words  | rows 0..64 | rows 64..128 | ... | last rows, then zeros |      len.div_ceil(64) words
//! ```
//! Scans narrow a bitmap predicate by predicate: the kernels of this crate clear bits of its words. Counting,
//! comparing and iterating rely on the zeros past the last row, so code that writes whole words (`words_mut`,
//! `reset_unwritten`) ends with `clear_tail`. The `reset_*` functions keep the memory for the next use.

use std::ops::Range;

use crate::append_indices;

/// One bit for each of `len` rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// No row selected.
    pub fn empty(len: usize) -> Self {
        Bitmap { words: vec![0; len.div_ceil(64)], len }
    }
    /// Every row selected.
    pub fn full(len: usize) -> Self {
        let mut bitmap = Bitmap { words: vec![u64::MAX; len.div_ceil(64)], len };
        bitmap.clear_tail();
        bitmap
    }
    /// Selects the rows for which `test` is true; it is called once a row, in order.
    pub fn from_fn(len: usize, mut test: impl FnMut(usize) -> bool) -> Self {
        let mut bitmap = Bitmap::empty(len);
        for row in 0..len {
            bitmap.words[row / 64] |= u64::from(test(row)) << (row % 64);
        }
        bitmap
    }
    /// Takes words of a bitmap of `len` rows; bits past `len` are cleared.
    pub fn from_words(mut words: Vec<u64>, len: usize) -> Self {
        words.resize(len.div_ceil(64), 0);
        let mut bitmap = Bitmap { words, len };
        bitmap.clear_tail();
        bitmap
    }
    /// Makes it `len` rows, all selected, keeping the memory.
    pub fn reset_full(&mut self, len: usize) {
        self.words.clear();
        self.words.resize(len.div_ceil(64), u64::MAX);
        self.len = len;
        self.clear_tail();
    }
    /// Makes it `len` rows, none selected, keeping the memory.
    pub fn reset_empty(&mut self, len: usize) {
        self.words.clear();
        self.words.resize(len.div_ceil(64), 0);
        self.len = len;
    }
    /// Makes it `len` rows for a caller that writes all words: until then these hold anything.
    pub fn reset_unwritten(&mut self, len: usize) {
        self.words.resize(len.div_ceil(64), 0);
        self.len = len;
    }
    /// Clears the bits past the last row, after whole words have been written.
    pub fn clear_tail(&mut self) {
        if !self.len.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }
    /// Number of rows it speaks of.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there is no row at all; a bitmap of unselected rows is not empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The bits, 64 rows a word.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
    /// The bits, to write. The caller must leave the bits past the last row zero.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
    /// Whether the row is selected. Panics when it is out of range, as do `set` and `clear`.
    #[inline]
    pub fn get(&self, row: usize) -> bool {
        assert!(row < self.len, "row out of range");
        self.words[row / 64] >> (row % 64) & 1 == 1
    }
    /// Selects the row.
    #[inline]
    pub fn set(&mut self, row: usize) {
        assert!(row < self.len, "row out of range");
        self.words[row / 64] |= 1 << (row % 64);
    }
    /// Takes the row out of the selection.
    #[inline]
    pub fn clear(&mut self, row: usize) {
        assert!(row < self.len, "row out of range");
        self.words[row / 64] &= !(1 << (row % 64));
    }
    /// Selects no row; the length stays.
    pub fn clear_all(&mut self) {
        self.words.fill(0);
    }
    fn for_words(&mut self, rows: Range<usize>, change: impl Fn(&mut u64, u64)) {
        assert!(rows.start <= rows.end && rows.end <= self.len, "rows out of range");
        let mut row = rows.start;
        while row < rows.end {
            let bit = row % 64;
            let count = (64 - bit).min(rows.end - row);
            change(&mut self.words[row / 64], mask(count) << bit);
            row += count;
        }
    }
    /// Selects the rows of the range; panics when it leaves the bitmap.
    pub fn set_range(&mut self, rows: Range<usize>) {
        self.for_words(rows, |word, bits| *word |= bits);
    }
    /// Takes the rows of the range out of the selection; panics when it leaves the bitmap.
    pub fn clear_range(&mut self, rows: Range<usize>) {
        self.for_words(rows, |word, bits| *word &= !bits);
    }
    /// Number of selected rows.
    pub fn count(&self) -> usize {
        count_ones(&self.words)
    }
    /// Number of selected rows in the range; panics when it leaves the bitmap.
    pub fn count_range(&self, rows: Range<usize>) -> usize {
        assert!(rows.start <= rows.end && rows.end <= self.len, "rows out of range");
        if rows.is_empty() {
            return 0;
        }
        let (first, last) = (rows.start / 64, (rows.end - 1) / 64);
        // What the first and the last word have outside of the range is taken off.
        let before = self.words[first] & mask(rows.start % 64);
        let after = self.words[last] & !mask((rows.end - 1) % 64 + 1);
        let all: usize = self.words[first..=last].iter().map(|w| w.count_ones() as usize).sum();
        all - before.count_ones() as usize - after.count_ones() as usize
    }
    /// Whether no row is selected.
    pub fn none(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }
    /// Whether every row is selected.
    pub fn all(&self) -> bool {
        self.count() == self.len
    }
    /// Keeps the rows that `other`, of the same length, selects as well.
    pub fn and(&mut self, other: &Bitmap) {
        assert_eq!(self.len, other.len, "bitmaps of one length");
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= b);
    }
    /// Keeps the rows that `other`, of the same length, does not select.
    pub fn and_not(&mut self, other: &Bitmap) {
        assert_eq!(self.len, other.len, "bitmaps of one length");
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= !b);
    }
    /// Selects the rows that `other`, of the same length, selects as well.
    pub fn or(&mut self, other: &Bitmap) {
        assert_eq!(self.len, other.len, "bitmaps of one length");
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }
    /// Selects exactly the rows that were not selected.
    pub fn negate(&mut self) {
        self.words.iter_mut().for_each(|w| *w = !*w);
        self.clear_tail();
    }
    /// Keeps only the selected rows that also pass `test`.
    pub fn retain(&mut self, mut test: impl FnMut(usize) -> bool) {
        for (i, word) in self.words.iter_mut().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                if !test(i * 64 + bit) {
                    *word &= !(1 << bit);
                }
            }
        }
    }
    /// And-s in `bits`, little-endian words of a bitmap that starts `offset` bits in.
    pub fn and_bits(&mut self, bits: &[u64], offset: usize) {
        let rows = self.len;
        let (skip, shift) = (offset / 64, offset % 64);
        for (i, word) in self.words.iter_mut().enumerate() {
            let low = bits.get(skip + i).copied().unwrap_or(0) >> shift;
            let high =
                if shift == 0 { 0 } else { bits.get(skip + i + 1).copied().unwrap_or(0) << (64 - shift) };
            *word &= low | high;
        }
        debug_assert!(offset + rows <= bits.len() * 64);
    }
    /// As `and_bits`, with the bits inverted.
    pub fn and_not_bits(&mut self, bits: &[u64], offset: usize) {
        let (skip, shift) = (offset / 64, offset % 64);
        for (i, word) in self.words.iter_mut().enumerate() {
            let low = bits.get(skip + i).copied().unwrap_or(0) >> shift;
            let high =
                if shift == 0 { 0 } else { bits.get(skip + i + 1).copied().unwrap_or(0) << (64 - shift) };
            *word &= !(low | high);
        }
    }
    /// The first selected row at or after `row`.
    pub fn next_set(&self, row: usize) -> Option<usize> {
        if row >= self.len {
            return None;
        }
        let mut i = row / 64;
        let mut word = self.words[i] & (u64::MAX << (row % 64));
        loop {
            if word != 0 {
                return Some(i * 64 + word.trailing_zeros() as usize);
            }
            i += 1;
            word = *self.words.get(i)?;
        }
    }
    /// Appends the selected rows among `rows`, ascending, to `out`.
    pub fn append_indices(&self, rows: Range<usize>, out: &mut Vec<u32>) {
        assert!(rows.start <= rows.end && rows.end <= self.len, "rows out of range");
        if rows.is_empty() {
            return;
        }
        let (first, last) = (rows.start / 64, (rows.end - 1) / 64);
        let head = u64::MAX << (rows.start % 64);
        let tail = u64::MAX >> (63 - (rows.end - 1) % 64);
        if first == last {
            append_indices(&[self.words[first] & head & tail], (first * 64) as u32, out);
            return;
        }
        append_indices(&[self.words[first] & head], (first * 64) as u32, out);
        append_indices(&self.words[first + 1..last], ((first + 1) * 64) as u32, out);
        append_indices(&[self.words[last] & tail], (last * 64) as u32, out);
    }
    /// The selected rows, ascending.
    pub fn to_indices(&self) -> Vec<u32> {
        let mut out = Vec::new();
        append_indices(&self.words, 0, &mut out);
        out
    }
    /// Appends selected rows from `from` on until `limit` were taken; returns the row to go on from. For consumers
    /// that take a selection batch by batch.
    pub fn take_indices(&self, from: usize, limit: usize, out: &mut Vec<u32>) -> usize {
        let (mut row, mut left) = (from, limit);
        while row < self.len && left > 0 {
            // Whole words at a time while they are sure to fit, then row by row.
            if row % 64 == 0 && left >= 64 {
                let words = ((self.len - row).div_ceil(64)).min(left / 64);
                let start = row / 64;
                let before = out.len();
                append_indices(&self.words[start..start + words], row as u32, out);
                left -= out.len() - before;
                row = (row + words * 64).min(self.len);
            } else {
                let end = (row / 64 * 64 + 64).min(self.len);
                let mut word = self.words[row / 64] & (u64::MAX << (row % 64));
                while word != 0 && left > 0 {
                    let found = row / 64 * 64 + word.trailing_zeros() as usize;
                    out.push(found as u32);
                    word &= word - 1;
                    left -= 1;
                    if left == 0 {
                        return found + 1;
                    }
                }
                row = end;
            }
        }
        row
    }
}

fn mask(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

crate::dispatch! {
    pub(crate) fn count_ones(words: &[u64]) -> usize {
        words.iter().map(|w| w.count_ones() as usize).sum()
    }
}
