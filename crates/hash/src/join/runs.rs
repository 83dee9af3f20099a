//! The table for keys that ascend with repetitions, as a clustered foreign key does: rows of one key are neighbours.
//!
//! ```text
//!  bits, ranks   as in `exact_bits.rs`: rank of a code = how many smaller codes there are
//!  first         row of the run with that rank; one more entry, `NO_ROW`, for codes that are not there
//!  next          row + 2 where the following row belongs to the same run, 0 at its end
//! ```
//! A probe that misses reads only bits, 1.5 a possible code, which stay in the caches; one that hits reads one entry of
//! `first` more. While filling, a bit a row says whether a run starts there; their places are `first`.

use arrow_buffer::ToByteSlice;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use vector::gather::NO_ROW;

use crate::exact_bits::{BitsFilling, ExactBits, Ranks, find_first};
use crate::zeroed::{AtomicWords, Words};

pub(super) struct RunsFilling {
    bits: BitsFilling,
    /// A bit a row: its code differs from the row's before.
    starts: AtomicWords<u64>,
    next: AtomicWords<u32>,
    duplicates: AtomicBool,
}

impl RunsFilling {
    pub(super) fn new(range: u64, rows: usize, partitions: u64) -> Self {
        RunsFilling {
            bits: BitsFilling::new(range, partitions),
            starts: AtomicWords::new(rows.div_ceil(64)),
            next: AtomicWords::new(rows),
            duplicates: AtomicBool::new(false),
        }
    }
    pub(super) fn wants(&self, partition: u64, lowest: u64, highest: u64) -> bool {
        self.bits.wants(partition, lowest, highest)
    }
    /// Batches of a partition come in the order of their rows.
    pub(super) fn insert(&self, partition: u64, base: u32, codes: &[u64]) {
        let inside = self.bits.codes_of(partition);
        // The batch may go on with the run of the one before, which this very worker has put in.
        let mut before =
            codes.first().copied().filter(|code| inside.contains(code) && self.bits.has(partition, *code));
        let (mut word, mut starts, mut duplicates) = (base as usize / 64, 0u64, false);
        for (row, code) in (base..).zip(codes) {
            if row as usize / 64 != word {
                self.starts[word].fetch_or(starts, Relaxed);
                (word, starts) = (row as usize / 64, 0);
            }
            if !inside.contains(code) {
                continue;
            }
            if before == Some(*code) {
                // Row 0 starts a run, so there is a row before.
                self.next[row as usize - 1].store(row + 1, Relaxed);
                duplicates = true;
            } else {
                starts |= 1 << (row % 64);
            }
            before = Some(*code);
        }
        if starts != 0 {
            self.starts[word].fetch_or(starts, Relaxed);
        }
        if duplicates {
            self.duplicates.store(true, Relaxed);
        }
        self.bits.insert(partition, codes);
    }
    pub(super) fn finish(self) -> (ExactBits, Runs, Option<Words<u32>>) {
        let bits = self.bits.finish();
        let ranks = bits.ranks();
        let mut first = Vec::with_capacity(ranks.count() as usize + 1);
        simd::append_indices(&self.starts.freeze(), 0, &mut first);
        assert_eq!(first.len(), ranks.count() as usize, "a run of rows a code: the codes do not ascend");
        first.push(NO_ROW);
        let next = self.duplicates.into_inner().then(|| self.next.freeze());
        (bits, Runs { ranks, first }, next)
    }
}

pub(super) struct Runs {
    ranks: Ranks,
    first: Vec<u32>,
}

impl Runs {
    pub(super) fn each_piece(&self, name: &mut dyn FnMut(&[u8])) {
        name(self.ranks.as_bytes());
        name(self.first.to_byte_slice());
    }
    pub(super) fn bytes(&self) -> usize {
        self.ranks.bytes() + self.first.len() * 4
    }
    pub(super) fn find(&self, bits: &ExactBits, codes: &[u64], found: &mut [u32]) {
        find_first(bits, &self.ranks, &self.first, codes, found);
    }
}
