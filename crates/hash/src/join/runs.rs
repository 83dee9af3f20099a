//! The table for keys that ascend with repetitions, as a clustered foreign key does: rows of one key are neighbours.
//!
//! ```text
//!  bits, ranks   as in `exact_bits.rs`; a partition's ranks begin with the number of its first row, so that there is room
//!                for as many runs as it has rows, and each can be filled without knowing of the others
//!  first         row of the run with that rank; at its end `NO_ROW`, for codes that are not there
//!  next          row + 2 where the following row belongs to the same run, 0 at its end
//! ```
//! A probe that misses reads only bits, 1.5 a possible code, which stay in the caches; one that hits reads one entry of
//! `first` more.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};

use vector::gather::NO_ROW;

use crate::exact_bits::{ExactBits, RankedFilling, Ranks, find_first};
use crate::zeroed::{PartedWords, Words};

/// Rows whose entries are zeroed together.
const PART_ROWS: usize = if cfg!(test) { 64 } else { 1 << 16 };

pub(super) struct RunsFilling {
    ranked: RankedFilling,
    /// Runs and rows of each partition so far.
    runs: Box<[Counts]>,
    first: PartedWords<u32>,
    next: PartedWords<u32>,
    duplicates: AtomicBool,
}

#[derive(Default)]
struct Counts {
    runs: AtomicU32,
    rows: AtomicU32,
}

/// Words of `rows` rows in parts.
fn of_rows(rows: usize) -> PartedWords<u32> {
    PartedWords::new((0..rows).step_by(PART_ROWS).chain([rows]).collect())
}

impl RunsFilling {
    pub(super) fn new(range: u64, rows: usize, partitions: u64) -> Self {
        let ranked = RankedFilling::new(range, partitions);
        RunsFilling {
            runs: (0..ranked.bits.partitions()).map(|_| Counts::default()).collect(),
            ranked,
            first: of_rows(rows + 1),
            next: of_rows(rows),
            duplicates: AtomicBool::new(false),
        }
    }
    pub(super) fn wants(&self, partition: u64, lowest: u64, highest: u64) -> bool {
        self.ranked.bits.wants(partition, lowest, highest)
    }
    /// Batches of a partition come in the order of their rows.
    pub(super) fn insert(&self, partition: u64, base: u32, codes: &[u64]) {
        let bits = &self.ranked.bits;
        let inside = bits.codes_of(partition);
        // The batch may go on with the run of the one before, which this very worker has put in.
        let mut before =
            codes.first().copied().filter(|code| inside.contains(code) && bits.has(partition, *code));
        let Some(first_row) = self.ranked.insert(partition, base, codes) else { return };
        let counts = &self.runs[partition as usize];
        let (mut runs, mut rows) = (counts.runs.load(Relaxed), 0);
        // No more runs than rows: the entries lie among those of the partition's rows up to the batch's last.
        let first_entry = (first_row + runs) as usize;
        let first = self.first.range(first_entry, (first_entry + codes.len()).min(self.first.len()));
        // Entries of `next` are of the row before.
        let start = (base as usize).saturating_sub(1);
        let next = self.next.range(start, base as usize + codes.len());
        let (runs_before, mut duplicates) = (runs, false);
        for (row, code) in (base..).zip(codes) {
            if !inside.contains(code) {
                continue;
            }
            rows += 1;
            if before == Some(*code) {
                // Row 0 starts a run, so there is a row before.
                next[row as usize - 1 - start].store(row + 1, Relaxed);
                duplicates = true;
            } else {
                first[(runs - runs_before) as usize].store(row, Relaxed);
                runs += 1;
            }
            before = Some(*code);
        }
        counts.runs.store(runs, Relaxed);
        counts.rows.fetch_add(rows, Relaxed);
        if duplicates {
            self.duplicates.store(true, Relaxed);
        }
    }
    pub(super) fn close(&self, partition: u64) {
        self.ranked.close(partition);
        if let Some((first, _, rows)) = self.counted(partition) {
            // What runs have left of the partition's entries is zeroed here and not when all are waiting.
            self.first.range(first, first + rows);
        }
    }
    /// A partition's first row, its runs and rows, if it has any.
    fn counted(&self, partition: u64) -> Option<(usize, usize, usize)> {
        let Counts { runs, rows } = &self.runs[partition as usize];
        let first = self.ranked.first_row(partition)?;
        Some((first as usize, runs.load(Relaxed) as usize, rows.load(Relaxed) as usize))
    }
    pub(super) fn finish(self) -> (ExactBits, Runs, Option<Words<u32>>) {
        let partitions = self.runs.len() as u64;
        (0..partitions).for_each(|partition| self.close(partition));
        let runs: usize = (0..partitions).filter_map(|p| self.counted(p)).map(|(_, runs, _)| runs).sum();
        let entries = self.first.len();
        self.first.range(entries - 1, entries)[0].store(NO_ROW, Relaxed);
        let (bits, ranks) = self.ranked.finish();
        assert_eq!(runs, ranks.count() as usize, "a run of rows a code: the codes do not ascend");
        let next = self.duplicates.into_inner().then(|| self.next.freeze());
        (bits, Runs { ranks, first: self.first.freeze() }, next)
    }
}

pub(super) struct Runs {
    ranks: Ranks,
    first: Words<u32>,
}

impl Runs {
    pub(super) fn each_piece(&self, name: &mut dyn FnMut(&[u8])) {
        name(self.ranks.as_bytes());
        name(self.first.as_bytes());
    }
    pub(super) fn bytes(&self) -> usize {
        self.ranks.bytes() + self.first.len() * 4
    }
    pub(super) fn find(&self, bits: &ExactBits, codes: &[u64], found: &mut [u32]) {
        find_first(bits, &self.ranks, &self.first, codes, found);
    }
}
