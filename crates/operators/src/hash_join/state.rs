//! What a join holds: the batches while they are collected, then table, columns and marks.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use hash::{JoinTable, KeyBounds, KeyCodes, key_hashes};
use vector::Vector;

/// Build rows as they came, narrowed.
pub(super) struct BuildBatch {
    pub tag: u64,
    pub rows: usize,
    /// The kept columns.
    pub columns: Vec<Vector>,
    /// The keys, flat.
    pub keys: Vec<Vector>,
    /// Of integer keys; empty when some key is of another type.
    pub bounds: Vec<KeyBounds>,
}

/// How keys are told apart.
pub(super) enum Keys {
    /// Codes: equal codes are equal keys.
    Codes(KeyCodes),
    /// Hashes, with the build's key columns to compare.
    Hashes { columns: Vec<Vector> },
}

impl Keys {
    pub fn encode(&self, keys: &[Vector], rows: usize, null_equals_null: bool, out: &mut Vec<u64>) {
        match self {
            Keys::Codes(codes) => codes.encode(keys, rows, out),
            Keys::Hashes { .. } => key_hashes(keys, rows, null_equals_null, out),
        }
    }
}

/// The build side, complete.
pub(super) struct Built {
    pub rows: usize,
    pub table: JoinTable,
    pub keys: Keys,
    /// The kept columns, all rows; row numbers of the table are places in them.
    pub columns: Vec<Vector>,
    /// Build rows that matched, when they are asked for.
    pub matched: Option<RowMarks>,
    /// Rows with a NULL among the keys, ascending, where NULL matches nothing and such rows are kept.
    pub null_rows: Vec<u32>,
    /// Key columns for comparing pairs with NULLs; empty with a single key, where all of them are unknown.
    pub compared_keys: Vec<Vector>,
    /// Room for the above.
    pub _reservation: memory::Reservation,
}

/// One bit a row, set by any worker.
pub(crate) struct RowMarks {
    words: Vec<AtomicU64>,
    rows: usize,
}

impl RowMarks {
    pub fn new(rows: usize) -> Self {
        RowMarks { words: (0..rows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(), rows }
    }
    #[inline]
    pub fn get(&self, row: u32) -> bool {
        self.words[row as usize / 64].load(Relaxed) >> (row % 64) & 1 == 1
    }
    #[inline]
    pub fn set(&self, row: u32) {
        let (word, bit) = (&self.words[row as usize / 64], 1 << (row % 64));
        // Most marks are there already, and reading is cheap.
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }
    /// Appends the rows among `first .. end` that are set (or not), ascending; `first` is a multiple of 64.
    pub fn rows(&self, first: usize, end: usize, set: bool, out: &mut Vec<u32>) {
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
}
