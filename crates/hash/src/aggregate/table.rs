//! The table from packed keys to group numbers.
//!
//! ```text
//!  slots, a power of two     | high 32 bits of the hash | group number + 1 |    0: empty; linear probing, at most half full
//!  keys                      KeyStore: `width` words a group, in order of group numbers
//! ```
//! A slot's place is the top bits of the hash, which are in the slot, so the table grows without touching keys.
//! Partitions are told by the lowest bits of the hash, which the table does not use.
//!
//! Look-ups in a table that is larger than the second-level cache are misses that depend on each other: the slot names
//! the group, whose words and text lie elsewhere. They are asked for some rows before they are used, each by what the
//! one before it has brought (`ask`), so that misses of several rows are under way at the same time.

use super::keys::{KeyStore, Keys, STEP_ROWS, Texts, long_texts_equal};
use super::layout::KeyLayout;
use super::text::TextColumn;
use simd::prefetch;

/// Misses of a smaller table are served by the third-level cache, and the processor sees enough of them ahead: asking
/// costs more. Measured on Zen 4: 30,000 integers 9.4 ns a row without, 11.6 with; 900,000 of them 49 and 30.
const PREFETCH_BYTES_MIN: usize = if cfg!(test) { 4 << 10 } else { 8 << 20 };
/// As before, where texts lie in memory of their own, at the end of a longer chain: 30,000 of them 54 and 46 ns.
const PREFETCH_BYTES_MIN_LONG: usize = if cfg!(test) { 4 << 10 } else { 3 << 20 };

/// Slots of a new table: a few groups cost one small allocation.
const SLOTS_MIN: usize = 64;

/// Keys, each with a number: 0 for the first that came, and so on.
#[derive(Debug)]
pub struct GroupTable {
    /// The keys by group number.
    pub keys: KeyStore,
    slots: Vec<u64>,
    /// The place of a hash: `fragment >> shift`, fragment being its high 32 bits.
    shift: u32,
}

impl GroupTable {
    /// An empty table, which takes memory at its first key.
    pub fn new(layout: &KeyLayout) -> Self {
        GroupTable { keys: KeyStore::new(layout), slots: vec![], shift: 32 }
    }
    /// A table with room for `groups` before it grows.
    pub fn with_capacity(layout: &KeyLayout, groups: usize) -> Self {
        let mut table = GroupTable::new(layout);
        table.keys.reserve(groups);
        table.set_slots((groups * 2).next_power_of_two().max(SLOTS_MIN));
        table
    }
    /// Takes keys that are all different.
    pub fn from_keys(keys: KeyStore) -> Self {
        let hashes = keys.hashes();
        let mut table = GroupTable { keys, slots: vec![], shift: 32 };
        table.set_slots((hashes.len() * 2).next_power_of_two().max(SLOTS_MIN));
        for (group, hash) in hashes.iter().enumerate() {
            table.place(hash >> 32 << 32 | (group as u64 + 1));
        }
        table
    }
    /// Number of groups.
    pub fn len(&self) -> usize {
        self.keys.len()
    }
    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
    /// Bytes of slots and keys.
    pub fn bytes(&self) -> usize {
        self.slots.len() * 8 + self.keys.bytes()
    }
    /// Bytes that room for `groups` more would take.
    pub fn bytes_with(&self, groups: usize) -> usize {
        (self.len() + groups) * (32 + self.keys.layout().width() * 8)
    }

    fn set_slots(&mut self, slots: usize) {
        self.slots = vec![0; slots];
        self.shift = 32 - slots.trailing_zeros();
    }
    /// Puts a slot at the first free place from its own.
    fn place(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = ((slot >> 32) >> self.shift) as usize;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }
    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.set_slots((old.len() * 4).max(SLOTS_MIN));
        for slot in old.into_iter().filter(|s| *s != 0) {
            self.place(slot);
        }
    }

    /// The group number of each of `rows` of `keys` (all rows when `None`), new groups added: `groups[i]` for the
    /// i-th row. `groups` is overwritten.
    pub fn find_or_insert(&mut self, keys: &Keys<'_>, rows: Option<&[u32]>, groups: &mut Vec<u32>) {
        debug_assert_eq!(keys.width, self.keys.layout().width());
        let texts = self.keys.layout().texts() > 0;
        match (keys.width, texts) {
            (1, false) => self.probe_fixed::<1, false>(keys, rows, groups),
            (2, false) => self.probe_fixed::<2, false>(keys, rows, groups),
            (3, false) => self.probe_fixed::<3, false>(keys, rows, groups),
            (4, false) => self.probe_fixed::<4, false>(keys, rows, groups),
            (2, true) => self.probe_fixed::<2, true>(keys, rows, groups),
            (3, true) => self.probe_fixed::<3, true>(keys, rows, groups),
            (4, true) => self.probe_fixed::<4, true>(keys, rows, groups),
            (5, true) => self.probe_fixed::<5, true>(keys, rows, groups),
            (width, _) => self.probe(keys, rows, groups, |a, b| a[..width] == b[..width], true),
        }
    }
    fn probe_fixed<const W: usize, const TEXTS: bool>(
        &mut self,
        keys: &Keys<'_>,
        rows: Option<&[u32]>,
        groups: &mut Vec<u32>,
    ) {
        self.probe(
            keys,
            rows,
            groups,
            |a, b| {
                let mut difference = 0;
                for word in 0..W {
                    difference |= a[word] ^ b[word];
                }
                difference == 0
            },
            TEXTS,
        );
    }
    #[inline(always)]
    fn probe(
        &mut self,
        keys: &Keys<'_>,
        rows: Option<&[u32]>,
        groups: &mut Vec<u32>,
        equal: impl Fn(&[u64], &[u64]) -> bool,
        texts: bool,
    ) {
        groups.clear();
        let ahead = self.asks_ahead();
        match rows {
            None if ahead => {
                let count = keys.hashes.len();
                groups.reserve(count);
                for (row, hash) in keys.hashes.iter().enumerate() {
                    self.ask(keys, row, count, |at| at, texts);
                    groups.push(self.find_one(keys, row, *hash, &equal, texts));
                }
            }
            None => {
                groups.reserve(keys.hashes.len());
                for (row, hash) in keys.hashes.iter().enumerate() {
                    groups.push(self.find_one(keys, row, *hash, &equal, texts));
                }
            }
            Some(rows) => {
                groups.reserve(rows.len());
                for (at, row) in rows.iter().enumerate() {
                    if ahead {
                        // The rows lie anywhere in the other store.
                        let next = |steps: usize| rows[(at + steps * STEP_ROWS).min(rows.len() - 1)] as usize;
                        prefetch(keys.hashes, next(4));
                        prefetch(keys.words, next(4) * keys.width);
                        if texts {
                            keys.texts.ask_views(next(2));
                            keys.texts.ask_bytes(next(1));
                        }
                        self.ask(keys, at, rows.len(), |at| rows[at] as usize, texts);
                    }
                    let row = *row as usize;
                    groups.push(self.find_one(keys, row, keys.hashes[row], &equal, texts));
                }
            }
        }
    }
    /// Whether what look-ups need is asked for ahead.
    fn asks_ahead(&self) -> bool {
        let chained = self.keys.texts.iter().any(TextColumn::has_long);
        self.bytes() >= if chained { PREFETCH_BYTES_MIN_LONG } else { PREFETCH_BYTES_MIN }
    }
    /// Asks for what the rows behind the `at`-th of `count` will need: the slot of one, the words of one whose slot
    /// has come, the text of one whose words have. `row` gives the row in a place.
    #[inline(always)]
    fn ask(&self, keys: &Keys<'_>, at: usize, count: usize, row: impl Fn(usize) -> usize, texts: bool) {
        let fragment = |at: usize| keys.hashes[row(at)] >> 32;
        if at + 3 * STEP_ROWS < count {
            prefetch(&self.slots, (fragment(at + 3 * STEP_ROWS) >> self.shift) as usize);
        }
        // The group in the slot that a fragment points to: mostly the one, and else nothing is lost.
        let guess = |at: usize| {
            let fragment = fragment(at);
            let slot = self.slots.get((fragment >> self.shift) as usize).copied().unwrap_or(0);
            (slot >> 32 == fragment && slot != 0).then(|| (slot as u32 - 1) as usize)
        };
        if at + 2 * STEP_ROWS < count
            && let Some(group) = guess(at + 2 * STEP_ROWS)
        {
            prefetch(&self.keys.words, group * keys.width);
            if texts {
                Texts::Store(&self.keys.texts).ask_views(group);
            }
        }
        if texts
            && at + STEP_ROWS < count
            && let Some(group) = guess(at + STEP_ROWS)
        {
            Texts::Store(&self.keys.texts).ask_bytes(group);
        }
    }
    #[inline(always)]
    fn find_one(
        &mut self,
        keys: &Keys<'_>,
        row: usize,
        hash: u64,
        equal: &impl Fn(&[u64], &[u64]) -> bool,
        texts: bool,
    ) -> u32 {
        let width = keys.width;
        let fragment = hash >> 32;
        if !self.slots.is_empty() {
            let mask = self.slots.len() - 1;
            let mut at = (fragment >> self.shift) as usize;
            loop {
                let slot = self.slots[at];
                if slot == 0 {
                    break;
                }
                if slot >> 32 == fragment {
                    let group = (slot as u32 - 1) as usize;
                    if equal(&self.keys.words[group * width..], &keys.words[row * width..])
                        && (!texts || long_texts_equal(&self.keys, group, keys, row))
                    {
                        return group as u32;
                    }
                }
                at = (at + 1) & mask;
            }
        }
        self.insert(keys, row, fragment)
    }
    #[inline(never)]
    fn insert(&mut self, keys: &Keys<'_>, row: usize, fragment: u64) -> u32 {
        let group = self.keys.len();
        assert!(group < u32::MAX as usize - 1, "a table of groups holds fewer than 2^32");
        if (group + 1) * 2 > self.slots.len() {
            self.grow();
        }
        self.keys.push(keys, row);
        self.place(fragment << 32 | (group as u64 + 1));
        group as u32
    }
}
