//! The hash table: one slot per distinct key, eight slots a bucket, a bucket a cache line.
//!
//! ```text
//!  slot    | tag: 32 bits | row + 1: 32 bits |   0: free; where tags are codes also payload + 1
//!  bucket  8 slots, filled from the front; full when the last is taken, then the next bucket takes over
//!  table   2 slots a row; a key's first bucket is slot(hash, buckets), its high hash bits
//!  tag     the code itself when all codes fit 32 bits: equal tags are equal keys
//!          otherwise the hash's low half; then `codes[row]` decides (codes of more than 32 bits),
//!          or the caller of the probe compares the keys (hashed keys)
//!  next    as in the other tables
//! ```
//! A partition is a range of leading hash bits, hence a range of buckets; overflow wraps at its end. Built for one
//! cache miss a probe: a group of rows asks for its buckets first, then all eight tags of each are compared at once,
//! without a branch, and only the few rows whose bucket is full of others look further. At two slots a row, one bucket
//! in fifty is full.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use vector::gather::NO_ROW;

use super::JoinKeys;
use crate::hashing::{fragment, hash_i64, slot};
use crate::key_code::NO_CODE;
use crate::zeroed::{AtomicWords, PartedWords, Words};
use simd::prefetch;

/// Slots of a bucket: a cache line.
const BUCKET: usize = 8;
/// Rows looked up together: their buckets fit the first-level cache together with everything else.
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
            // The tag of `NO_CODE` belongs to no code.
            JoinKeys::Codes { range, .. } if range < 1 << 32 => Tags::Code,
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

/// Whether slots can hold payloads: next to a whole code any entry will do; next to a part of a hash the entry must
/// be the row number that leads to the code or the key.
pub(super) fn holds_payloads(keys: JoinKeys) -> bool {
    Tags::of(keys) == Tags::Code
}

/// A multiple of the greatest number of partitions, so that borders between partitions fall between buckets.
fn buckets_for(rows: usize) -> u32 {
    let buckets = (rows.saturating_mul(2) / BUCKET).saturating_add(1).min((u32::MAX - 63) as usize);
    buckets.next_multiple_of(super::PARTITIONS_MAX as usize) as u32
}

/// Bytes of slots and codes, without chains.
pub(super) fn bytes(rows: usize, keys: JoinKeys) -> u64 {
    let codes = if Tags::of(keys) == Tags::WideCode { rows as u64 * 8 } else { 0 };
    u64::from(buckets_for(rows)) * (BUCKET * 8) as u64 + codes
}

/// The leading bits of the hash that name the partition.
#[inline(always)]
fn partition_of(hash: u64, bits: u32) -> usize {
    // Shifted in two steps: by 64 at once is not defined.
    (hash >> 1 >> (63 - bits)) as usize
}

/// First bucket of each partition, and the end of the last.
fn borders(buckets: u32, bits: u32) -> Vec<usize> {
    let mut borders: Vec<usize> =
        (0..1u64 << bits).map(|p| if p == 0 { 0 } else { slot(p << (64 - bits), buckets) }).collect();
    borders.push(buckets as usize);
    borders
}

pub(super) struct SlotsFilling {
    slots: PartedWords<u64>,
    codes: AtomicWords<u64>,
    next: AtomicWords<u32>,
    tags: Tags,
    partition_bits: u32,
    borders: Vec<usize>,
    /// Partitions that a worker is writing to.
    busy: Vec<AtomicBool>,
    duplicates: AtomicBool,
    overflow: AtomicBool,
}

impl SlotsFilling {
    /// `chained`: keys may repeat, and entries are row + 1.
    pub(super) fn new(rows: usize, keys: JoinKeys, partitions: u64, chained: bool) -> Self {
        let tags = Tags::of(keys);
        let buckets = buckets_for(rows);
        let partition_bits = partitions.trailing_zeros();
        let borders = borders(buckets, partition_bits);
        SlotsFilling {
            slots: PartedWords::new(borders.iter().map(|bucket| bucket * BUCKET).collect()),
            codes: AtomicWords::new(if tags == Tags::WideCode { rows } else { 0 }),
            next: AtomicWords::new(if chained { rows } else { 0 }),
            tags,
            partition_bits,
            borders,
            busy: (0..1u64 << partition_bits).map(|_| AtomicBool::new(false)).collect(),
            duplicates: AtomicBool::new(false),
            overflow: AtomicBool::new(false),
        }
    }

    /// Puts codes into the partition. `entries`: what each code's slot is to hold next to the tag.
    pub(super) fn insert(&self, partition: u64, entries: &[u32], codes: &[u64]) {
        let busy = &self.busy[partition as usize];
        assert!(!busy.swap(true, Acquire), "two workers fill one partition");
        let first = self.borders[partition as usize];
        // SAFETY: `busy` lets one worker at a time into each partition; slots are reached here and by `insert_shared`
        // only, of which a filling uses one.
        let slots = unsafe { self.slots.exclusive(partition as usize) };
        insert(self, slots, first, entries, codes);
        busy.store(false, Release);
    }

    /// Puts rows in while other workers do the same, anywhere in the table: the original system's single shared table.
    /// A slot goes from free to a row, and from a row to a later row of the same key whose chain goes on at the row
    /// before; each step is one compare-and-swap, and a worker that loses one looks at the slot again. Slots never
    /// become free, so a key that was passed over in front of a free slot cannot appear there afterwards, and a key
    /// is in one slot.
    pub(super) fn insert_shared(&self, entries: &[u32], codes: &[u64]) {
        assert_eq!(self.partition_bits, 0, "a shared table has no partitions");
        let slots = self.slots.part(0);
        let buckets = slots.len() / BUCKET;
        let mut hashes = [0u64; GROUP];
        for (entries, codes) in entries.chunks(GROUP).zip(codes.chunks(GROUP)) {
            for (code, hash) in codes.iter().zip(&mut hashes) {
                *hash = self.tags.hash(*code);
                prefetch(slots, slot(*hash, buckets as u32) * BUCKET);
            }
            for ((entry, code), hash) in entries.iter().zip(codes).zip(&hashes) {
                if *code == NO_CODE {
                    continue;
                }
                if let Some(place) = self.codes.get(*entry as usize - 1) {
                    place.store(*code, Relaxed);
                }
                self.insert_row_shared(slots, slot(*hash, buckets as u32), *entry, *code, *hash);
            }
        }
    }

    fn insert_row_shared(&self, slots: &[AtomicU64], first: usize, entry: u32, code: u64, hash: u64) {
        let tag = self.tags.tag(code, hash);
        let own = u64::from(tag) << 32 | u64::from(entry);
        let count = slots.len();
        for place in first * BUCKET..first * BUCKET + count {
            let slot = &slots[if place < count { place } else { place - count }];
            let mut held = slot.load(Acquire);
            loop {
                if held != 0 {
                    if (held >> 32) as u32 != tag || !self.same_code(held as u32 - 1, code) {
                        break;
                    }
                    if let Some(next) = self.next.get(entry as usize - 1) {
                        next.store(held as u32, Relaxed);
                    }
                }
                // Released, so that a worker that finds the row finds its code; acquired as `held` was.
                match slot.compare_exchange_weak(held, own, AcqRel, Acquire) {
                    Ok(_) => {
                        if held != 0 && !self.duplicates.load(Relaxed) {
                            self.duplicates.store(true, Relaxed);
                        }
                        return;
                    }
                    Err(now) => held = now,
                }
            }
        }
        self.overflow.store(true, Relaxed);
    }

    /// Puts a row into the first bucket from `bucket` on that has its key or room.
    #[inline(always)]
    fn insert_row(&self, slots: &mut [u64], mut bucket: usize, entry: u32, code: u64, hash: u64) {
        let tag = self.tags.tag(code, hash);
        let own = u64::from(tag) << 32 | u64::from(entry);
        let buckets = slots.len() / BUCKET;
        for _ in 0..buckets {
            let Some((held, _)) = slots[bucket * BUCKET..].split_first_chunk_mut::<BUCKET>() else { break };
            // All eight are looked at without a branch: what they hold follows no pattern.
            let (mut same, mut taken) = (0u32, 0);
            for (at, slot) in held.iter().enumerate() {
                same |= u32::from((slot >> 32) as u32 == tag && *slot != 0) << at;
                taken += usize::from(*slot != 0);
            }
            while same != 0 {
                let slot = &mut held[same.trailing_zeros() as usize % BUCKET];
                let before = *slot as u32;
                if self.same_code(before - 1, code) {
                    if let Some(next) = self.next.get(entry as usize - 1) {
                        next.store(before, Relaxed);
                    }
                    *slot = own;
                    if !self.duplicates.load(Relaxed) {
                        self.duplicates.store(true, Relaxed);
                    }
                    return;
                }
                same &= same - 1;
            }
            if let Some(free) = held.get_mut(taken) {
                *free = own;
                return;
            }
            bucket += 1;
            if bucket == buckets {
                bucket = 0;
            }
        }
        // Twice as many slots as rows: only hashes that crowd into one partition come here.
        self.overflow.store(true, Relaxed);
    }

    #[inline(always)]
    fn same_code(&self, row: u32, code: u64) -> bool {
        self.tags != Tags::WideCode || self.codes[row as usize].load(Relaxed) == code
    }

    pub(super) fn has_duplicates(&self) -> bool {
        self.duplicates.load(Relaxed)
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

simd::dispatch! {
    // `slots` are those of one partition, whose first bucket is `first`.
    fn insert(filling: &SlotsFilling, slots: &mut [u64], first: usize, entries: &[u32], codes: &[u64]) {
        let buckets = (filling.slots.len() / BUCKET) as u32;
        let own_buckets = slots.len() / BUCKET;
        let mut picked = [(0u32, 0u32, 0u64, 0u64); GROUP];
        for (entries, codes) in entries.chunks(GROUP).zip(codes.chunks(GROUP)) {
            let mut count = 0;
            for (entry, code) in entries.iter().zip(codes) {
                let hash = filling.tags.hash(*code);
                let bucket = slot(hash, buckets).wrapping_sub(first);
                picked[count] = (bucket as u32, *entry, *code, hash);
                let own = *code != NO_CODE && bucket < own_buckets;
                count += usize::from(own);
                prefetch(slots, if own { bucket } else { 0 } * BUCKET);
            }
            for (bucket, entry, code, hash) in &picked[..count] {
                if let Some(place) = filling.codes.get(*entry as usize - 1) {
                    place.store(*code, Relaxed);
                }
                filling.insert_row(slots, *bucket as usize, *entry, *code, *hash);
            }
        }
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
    pub(super) fn each_piece(&self, name: &mut dyn FnMut(&[u8])) {
        name(self.slots.as_bytes());
        name(self.codes.as_bytes());
    }
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
    let buckets = (slots.len() / BUCKET) as u32;
    let prefetches = slots.len() * 8 >= PREFETCH_BYTES_MIN;
    let mut hashes = [0u64; GROUP];
    let mut missed = [0u32; GROUP];
    for (codes, found) in codes.chunks(GROUP).zip(found.chunks_mut(GROUP)) {
        for (code, hash) in codes.iter().zip(&mut hashes) {
            *hash = tags.hash(*code);
        }
        if prefetches {
            for hash in &hashes[..codes.len()] {
                prefetch(slots, slot(*hash, buckets) * BUCKET);
            }
        }
        let mut misses = 0;
        for (at, (code, found)) in codes.iter().zip(found.iter_mut()).enumerate() {
            let hash = hashes[at];
            let bucket = slot(hash, buckets) * BUCKET;
            debug_assert!(bucket + BUCKET <= slots.len());
            // SAFETY: `slot` is below the number of buckets for every hash, and there is at least one bucket.
            let held: &[u64; BUCKET] = unsafe { &*slots.as_ptr().add(bucket).cast() };
            let hit = tagged_row(held, tags.tag(*code, hash));
            let hit = if tags != Tags::Code && *code == NO_CODE { 0 } else { hit };
            *found = hit.wrapping_sub(1);
            if tags == Tags::WideCode {
                prefetch(&table.codes, hit.wrapping_sub(1) as usize);
            }
            missed[misses] = at as u32;
            misses += usize::from(hit == 0 && held[BUCKET - 1] != 0);
        }
        if tags == Tags::WideCode {
            // Equal tags are probably equal codes; where not, the bucket is gone through.
            for (at, (code, found)) in codes.iter().zip(found.iter_mut()).enumerate() {
                let hash = hashes[at];
                let bucket = slot(hash, buckets) * BUCKET;
                // SAFETY: as above.
                let held: &[u64; BUCKET] = unsafe { &*slots.as_ptr().add(bucket).cast() };
                let is_row = table.codes.get(*found as usize) == Some(code);
                if *found != NO_ROW && !(is_row && is_held(held, tags.tag(*code, hash), *found)) {
                    *found = follow(table, tags, *code, hash);
                }
            }
        }
        for at in &missed[..misses] {
            let at = *at as usize;
            found[at] = follow(table, tags, codes[at], hashes[at]);
        }
    }
}

/// The row plus one of the slot with the tag, 0 when there is none. Only parts of codes' hashes can be in several
/// slots; the result is then of no use (`is_held` tells).
#[inline(always)]
fn tagged_row(held: &[u64; BUCKET], tag: u32) -> u32 {
    let mut hit = 0;
    for slot in held {
        // A free slot's row is 0. Or-ing is what compilers make eight lanes of.
        hit |= if (slot >> 32) as u32 == tag { *slot as u32 } else { 0 };
    }
    hit
}

/// Whether a slot holds the tag with the row.
#[inline(always)]
fn is_held(held: &[u64; BUCKET], tag: u32, row: u32) -> bool {
    let wanted = u64::from(tag) << 32 | u64::from(row + 1);
    held.iter().fold(false, |found, slot| found | (*slot == wanted))
}

/// Looks for a key slot by slot, from its first bucket on.
fn follow(table: &Slots, tags: Tags, code: u64, hash: u64) -> u32 {
    let slots: &[u64] = &table.slots;
    if code == NO_CODE {
        return NO_ROW;
    }
    let partition = partition_of(hash, table.partition_bits);
    let (first, end) = (table.borders[partition], table.borders[partition + 1]);
    let mut bucket = slot(hash, (slots.len() / BUCKET) as u32);
    let tag = tags.tag(code, hash);
    for _ in first..end {
        for slot in &slots[bucket * BUCKET..(bucket + 1) * BUCKET] {
            if *slot == 0 {
                return NO_ROW;
            }
            let row = *slot as u32 - 1;
            if (slot >> 32) as u32 == tag && (tags != Tags::WideCode || table.codes[row as usize] == code) {
                return row;
            }
        }
        bucket += 1;
        if bucket == end {
            bucket = first;
        }
    }
    NO_ROW
}
