//! The hash table: one slot per distinct key, found by linear probing.
//!
//! ```text
//!  slot    | tag: 32 bits | row + 1: 32 bits |   0: free
//!  slots   2 per row, so half of them are free; a key's first place is slot(hash, slots), its high hash bits
//!  tag     the code itself when all codes fit 32 bits: equal tags are equal keys
//!          otherwise the hash's low half; then `codes[row]` decides (codes of more than 32 bits),
//!          or whoever probes compares the keys (hashed keys)
//!  next    as in the other tables
//! ```
//! A partition is a range of leading hash bits, hence a range of slots; probing wraps at its end. A probe of a batch
//! asks for all first slots, then tests each once without a branch, then follows the few that met another key.
//! Built for one cache miss a probe: slots hold what decides, 8 to a cache line.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use vector::gather::NO_ROW;

use super::JoinKeys;
use crate::hashing::{fragment, hash_i64, slot};
use crate::key_code::NO_CODE;
use crate::zeroed::{AtomicWords, Words, prefetch};

/// Rows looked up together: their slots' cache lines fit the first-level cache beside everything else.
const GROUP: usize = 128;
/// Tables smaller than this stay in the second-level cache, and prefetching only costs.
const PREFETCH_BYTES_MIN: usize = 512 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tags {
    /// The code.
    Code,
    /// A part of the code's hash.
    WideCode,
    /// A part of the hash given.
    Hash,
}

impl Tags {
    fn of(keys: JoinKeys) -> Tags {
        match keys {
            JoinKeys::Codes { range, .. } if range <= 1 << 32 => Tags::Code,
            JoinKeys::Codes { .. } => Tags::WideCode,
            JoinKeys::Hashes => Tags::Hash,
        }
    }
    #[inline(always)]
    fn hash(self, code: u64) -> u64 {
        if self == Tags::Hash { code } else { hash_i64(code as i64) }
    }
    #[inline(always)]
    fn tag(self, code: u64, hash: u64) -> u32 {
        if self == Tags::Code { code as u32 } else { fragment(hash) }
    }
}

/// A multiple of the greatest number of partitions, so that borders between partitions fall between slots.
fn slots_for(rows: usize) -> u32 {
    let slots = rows.saturating_mul(2).saturating_add(16).min((u32::MAX - 63) as usize);
    slots.next_multiple_of(super::PARTITIONS_MAX as usize) as u32
}

/// Bytes of slots and codes, without chains.
pub(super) fn bytes(rows: usize, keys: JoinKeys) -> u64 {
    let codes = if Tags::of(keys) == Tags::WideCode { rows as u64 * 8 } else { 0 };
    u64::from(slots_for(rows)) * 8 + codes
}

/// The leading bits of the hash that name the partition.
#[inline(always)]
fn partition_of(hash: u64, bits: u32) -> usize {
    // Shifted in two steps: by 64 at once is not defined.
    (hash >> 1 >> (63 - bits)) as usize
}

/// First slot of each partition, and the end of the last.
fn borders(slots: u32, bits: u32) -> Vec<usize> {
    let mut borders: Vec<usize> =
        (0..1u64 << bits).map(|p| if p == 0 { 0 } else { slot(p << (64 - bits), slots) }).collect();
    borders.push(slots as usize);
    borders
}

pub(super) struct SlotsFilling {
    slots: AtomicWords<u64>,
    codes: AtomicWords<u64>,
    next: AtomicWords<u32>,
    tags: Tags,
    partition_bits: u32,
    borders: Vec<usize>,
    duplicates: AtomicBool,
    overflow: AtomicBool,
}

impl SlotsFilling {
    pub(super) fn new(rows: usize, keys: JoinKeys, partitions: u64) -> Self {
        let tags = Tags::of(keys);
        let slots = slots_for(rows);
        let partition_bits = partitions.trailing_zeros();
        SlotsFilling {
            slots: AtomicWords::new(slots as usize),
            codes: AtomicWords::new(if tags == Tags::WideCode { rows } else { 0 }),
            next: AtomicWords::new(rows),
            tags,
            partition_bits,
            borders: borders(slots, partition_bits),
            duplicates: AtomicBool::new(false),
            overflow: AtomicBool::new(false),
        }
    }

    pub(super) fn insert(&self, partition: u64, base: u32, codes: &[u64]) {
        let slots = self.slots.len() as u32;
        let (first, end) = (self.borders[partition as usize], self.borders[partition as usize + 1]);
        let mut picked = [(0u32, 0u32, 0u64); GROUP];
        for (group, codes) in codes.chunks(GROUP).enumerate() {
            let base = base + (group * GROUP) as u32;
            let mut count = 0;
            for (row, code) in (base..).zip(codes) {
                let hash = self.tags.hash(*code);
                let place = slot(hash, slots);
                picked[count] = (place as u32, row, *code);
                let wanted = *code != NO_CODE && place >= first && place < end;
                count += usize::from(wanted);
                prefetch(&self.slots, if wanted { place } else { first });
            }
            for (place, row, code) in &picked[..count] {
                self.insert_row(*place as usize, first, end, *row, *code);
            }
        }
    }

    #[inline(always)]
    fn insert_row(&self, mut place: usize, first: usize, end: usize, row: u32, code: u64) {
        let tag = self.tags.tag(code, self.tags.hash(code));
        if let Some(own) = self.codes.get(row as usize) {
            own.store(code, Relaxed);
        }
        for _ in first..end {
            let slot = &self.slots[place];
            let held = slot.load(Relaxed);
            if held == 0 {
                slot.store(u64::from(tag) << 32 | u64::from(row + 1), Relaxed);
                return;
            }
            if (held >> 32) as u32 == tag && self.same_code(held as u32 - 1, code) {
                self.next[row as usize].store(held as u32, Relaxed);
                slot.store(u64::from(tag) << 32 | u64::from(row + 1), Relaxed);
                if !self.duplicates.load(Relaxed) {
                    self.duplicates.store(true, Relaxed);
                }
                return;
            }
            place += 1;
            if place == end {
                place = first;
            }
        }
        // Twice as many slots as rows: only hashes that crowd into one partition come here.
        self.overflow.store(true, Relaxed);
    }

    #[inline(always)]
    fn same_code(&self, row: u32, code: u64) -> bool {
        self.tags != Tags::WideCode || self.codes[row as usize].load(Relaxed) == code
    }

    /// `None` when a partition overflowed.
    pub(super) fn finish(self) -> Option<(Slots, Option<Words<u32>>)> {
        if self.overflow.into_inner() {
            return None;
        }
        let next = self.duplicates.into_inner().then(|| self.next.freeze());
        let slots = Slots {
            slots: self.slots.freeze(),
            codes: self.codes.freeze(),
            tags: self.tags,
            partition_bits: self.partition_bits,
            borders: self.borders,
        };
        Some((slots, next))
    }
}

pub(super) struct Slots {
    slots: Words<u64>,
    codes: Words<u64>,
    tags: Tags,
    partition_bits: u32,
    borders: Vec<usize>,
}

impl Slots {
    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * 8 + self.codes.len() * 8
    }
    pub(super) fn find(&self, codes: &[u64], found: &mut [u32]) {
        match self.tags {
            Tags::Code => find_code(self, codes, found),
            Tags::WideCode => find_wide(self, codes, found),
            Tags::Hash => find_hash(self, codes, found),
        }
    }
}

simd::dispatch! {
    fn find_code(table: &Slots, codes: &[u64], found: &mut [u32]) {
        find(table, Tags::Code, codes, found);
    }
}
simd::dispatch! {
    fn find_wide(table: &Slots, codes: &[u64], found: &mut [u32]) {
        find(table, Tags::WideCode, codes, found);
    }
}
simd::dispatch! {
    fn find_hash(table: &Slots, codes: &[u64], found: &mut [u32]) {
        find(table, Tags::Hash, codes, found);
    }
}

#[inline(always)]
fn find(table: &Slots, tags: Tags, codes: &[u64], found: &mut [u32]) {
    let slots: &[u64] = &table.slots;
    let count = slots.len() as u32;
    let prefetches = slots.len() * 8 >= PREFETCH_BYTES_MIN;
    let mut hashes = [0u64; GROUP];
    let mut missed = [0u32; GROUP];
    for (codes, found) in codes.chunks(GROUP).zip(found.chunks_mut(GROUP)) {
        for (code, hash) in codes.iter().zip(&mut hashes) {
            *hash = tags.hash(*code);
        }
        if prefetches {
            for hash in &hashes[..codes.len()] {
                prefetch(slots, slot(*hash, count));
            }
        }
        let mut misses = 0;
        for (at, (code, found)) in codes.iter().zip(found.iter_mut()).enumerate() {
            let hash = hashes[at];
            // SAFETY: `slot` is below `count`, the number of slots, for every hash; there are at least 16 slots.
            let held = unsafe { *slots.get_unchecked(slot(hash, count)) };
            let same = held != 0
                && (held >> 32) as u32 == tags.tag(*code, hash)
                && *code != NO_CODE
                && (tags != Tags::WideCode || same_wide(table, held, *code));
            *found = if same { held as u32 - 1 } else { NO_ROW };
            missed[misses] = at as u32;
            misses += usize::from(!same && held != 0 && *code != NO_CODE);
        }
        for at in &missed[..misses] {
            let at = *at as usize;
            found[at] = follow(table, tags, codes[at], hashes[at]);
        }
    }
}

#[inline(always)]
fn same_wide(table: &Slots, held: u64, code: u64) -> bool {
    table.codes[(held as u32 - 1) as usize] == code
}

/// Probes on behind the first slot.
fn follow(table: &Slots, tags: Tags, code: u64, hash: u64) -> u32 {
    let slots: &[u64] = &table.slots;
    let partition = partition_of(hash, table.partition_bits);
    let (first, end) = (table.borders[partition], table.borders[partition + 1]);
    let tag = tags.tag(code, hash);
    let mut place = slot(hash, slots.len() as u32);
    for _ in first..end {
        place += 1;
        if place == end {
            place = first;
        }
        let held = slots[place];
        if held == 0 {
            return NO_ROW;
        }
        if (held >> 32) as u32 == tag && (tags != Tags::WideCode || same_wide(table, held, code)) {
            return held as u32 - 1;
        }
    }
    NO_ROW
}
