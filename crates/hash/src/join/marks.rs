//! Which build rows matched: one bit a row, set by any worker while probing, read when all have ended.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Rows of a unit: few enough that workers end together where rows are few. A multiple of 64, the rows
/// of a word.
const UNIT_ROWS: usize = 1 << 14;

/// One bit a row, set by any worker.
#[derive(Debug)]
pub struct RowMarks {
    words: Vec<AtomicU64>,
    rows: usize,
}

impl RowMarks {
    /// Marks for so many rows, none set.
    pub fn new(rows: usize) -> Self {
        RowMarks { words: (0..rows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(), rows }
    }
    /// Whether the row is marked. Complete only once all workers have ended.
    #[inline]
    pub fn get(&self, row: u32) -> bool {
        self.words[row as usize / 64].load(Relaxed) >> (row % 64) & 1 == 1
    }
    /// Marks a row; any worker may do so at any time.
    #[inline]
    pub fn set(&self, row: u32) {
        let (word, bit) = (&self.words[row as usize / 64], 1 << (row % 64));
        // Most marks are there already, and reading is cheap.
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }
    /// Appends the rows among `first .. end` that are set (or not), ascending; `first` is a multiple of 64.
    fn rows(&self, first: usize, end: usize, set: bool, out: &mut Vec<u32>) {
        let end = end.min(self.rows);
        let flip = if set { 0 } else { u64::MAX };
        for row in (first..end).step_by(64) {
            let mut word = self.words[row / 64].load(Relaxed) ^ flip;
            if end - row < 64 {
                word &= (1 << (end - row)) - 1;
            }
            simd::append_indices(&[word], row as u32, out);
        }
    }

    /// Units of work for going through all rows.
    pub fn units(&self) -> u64 {
        self.rows.div_ceil(UNIT_ROWS) as u64
    }
    /// The rows of a unit that are set (or not), ascending.
    pub fn in_unit(&self, unit: u64, set: bool) -> Vec<u32> {
        let first = unit as usize * UNIT_ROWS;
        let mut rows = Vec::new();
        self.rows(first, first + UNIT_ROWS, set, &mut rows);
        rows
    }
}
