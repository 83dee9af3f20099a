//! The array table: a row number for every possible code.
//!
//! ```text
//!  heads | row + 1 of the last row inserted with the code, 0: none |  range + 1 entries; the last stays 0, and
//!        | or its payload + 1                                      |  codes outside are looked up there
//!  next  | row + 1 of the row inserted before with the same code  |  rows entries; dropped if it stays empty
//! ```
//! A partition is a range of codes, so partitions write to different places; rows belong to one code, hence to one
//! partition.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};

use crate::zeroed::{PartedWords, Words};

/// Rows between asking for a head and using it: heads lie anywhere, and each is a miss once they outgrow the cache.
const AHEAD: usize = 24;

/// Rows whose chains are zeroed together, by the worker that comes to them first.
const CHAINED_ROWS: usize = if cfg!(test) { 50 } else { 1 << 17 };

pub(super) struct ArrayFilling {
    heads: PartedWords<u32>,
    /// Empty when keys are known to be unique.
    next: PartedWords<u32>,
    duplicates: AtomicBool,
}

impl ArrayFilling {
    pub(super) fn new(range: u64, rows: usize, partitions: u64, unique: bool) -> Self {
        let border = |p: u64| (u128::from(range) * u128::from(p) / u128::from(partitions)) as usize;
        // The entry after all codes belongs to the last partition, and none of them writes it.
        let borders = (0..partitions).map(border).chain([range as usize + 1]);
        let chained = if unique { 0 } else { rows };
        ArrayFilling {
            heads: PartedWords::new(borders.collect()),
            next: PartedWords::new((0..chained).step_by(CHAINED_ROWS).chain([chained]).collect()),
            duplicates: AtomicBool::new(false),
        }
    }

    pub(super) fn wants(&self, partition: u64, lowest: u64, highest: u64) -> bool {
        let (first, end) = self.heads.borders(partition as usize);
        lowest < end as u64 && highest >= first as u64
    }

    /// `entries`: of each code what its head is to be; where keys may repeat, those of rows that follow one another.
    pub(super) fn insert(&self, partition: u64, entries: &[u32], codes: &[u64]) {
        let heads = self.heads.part(partition as usize);
        let first = self.heads.borders(partition as usize).0 as u64;
        // The entry after all codes stays empty.
        let own =
            (heads.len() - usize::from(self.heads.borders(partition as usize).1 == self.heads.len())) as u64;
        let rows = entries.first().filter(|_| self.next.len() > 0).map(|entry| *entry as usize - 1);
        let rows = rows.map_or(0..0, |row| row..row + entries.len());
        let next = self.next.range(rows.start, rows.end);
        let mut duplicates = false;
        // Rows of other partitions go to a place of no consequence, and so does the end of a chain: which they are
        // follows no pattern, so a branch would be guessed wrong every other time, and each time the processor would
        // wait for the head with nothing else to do.
        let nowhere = AtomicU32::new(0);
        for (at, (entry, code)) in entries.iter().zip(codes).enumerate() {
            let ahead = codes[(at + AHEAD).min(codes.len() - 1)];
            simd::prefetch(heads, ahead.wrapping_sub(first).min(own) as usize);
            let place = code.wrapping_sub(first);
            let inside = place < own;
            let head = heads.get(place as usize).filter(|_| inside).unwrap_or(&nowhere);
            let before = if inside { head.load(Relaxed) } else { 0 };
            head.store(*entry, Relaxed);
            duplicates |= before != 0;
            next.get(at).filter(|_| inside).unwrap_or(&nowhere).store(before, Relaxed);
        }
        if duplicates {
            self.duplicates.store(true, Relaxed);
        }
    }

    pub(super) fn has_duplicates(&self) -> bool {
        self.duplicates.load(Relaxed)
    }

    pub(super) fn finish(self) -> (Words<u32>, Option<Words<u32>>) {
        let next = self.duplicates.into_inner().then(|| self.next.freeze());
        (self.heads.freeze(), next)
    }
}

simd::dispatch! {
    pub(super) fn find(heads: &[u32], range: u64, codes: &[u64], found: &mut [u32]) {
        assert_eq!(heads.len() as u64, range + 1, "an entry a code");
        for (code, found) in codes.iter().zip(found) {
            // SAFETY: the index is at most `range`, and there are `range + 1` entries.
            let head = unsafe { *heads.get_unchecked((*code).min(range) as usize) };
            // None is 0, which becomes `NO_ROW`.
            *found = head.wrapping_sub(1);
        }
    }
}
