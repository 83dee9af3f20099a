//! How often each value comes in each group: the mode and the entropy.
//!
//! A list of entries (group, value, how often), found again by a table as long as that pays:
//!
//! ```text
//!  entries    groups 0 0 1 0    values 7 5 7 9    counts 3 1 2 1
//!  table      slots -> entries
//! ```
//! A group's value may have several entries: where nearly all values are different the table rests and they are only
//! appended, and its size has a bound. Finishing arranges the entries by group, once, and puts the counts of equal
//! values together. Groups are finished independently, so several workers finish one list.

use std::cmp::Ordering;
use std::sync::OnceLock;

use types::Physical;
use vector::Strings;
use vector::strings::{INLINE_BYTES, view_length};

use super::collected::{Chosen, float_key, keyed_float};
use super::grouped::Grouped;
use super::rows::RowGroups;
use super::text::TextColumn;
use crate::hashing::hash_bytes;

/// Slots of a new table.
const SLOTS_MIN: usize = 256;
/// A table of so many slots rests if hardly a value was found again: one in so many.
const SLOTS_JUDGED: usize = if cfg!(test) { 1 << 10 } else { 1 << 15 };
const FOUND_MIN: usize = 64;
/// One of so many slots does unless half of all values were found again.
const SLOTS_FREE: usize = if cfg!(test) { 1 << 12 } else { 1 << 19 };
const SLOTS_MAX: usize = if cfg!(test) { 1 << 14 } else { 1 << 24 };
/// A table rests for so many values for each that it held.
const REST: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) group: u32,
    pub(super) count: u32,
}

/// The different values of each group with their counts.
#[derive(Debug)]
pub(super) enum Counted {
    Integers(Tally<Vec<i64>>),
    Wide(Tally<Vec<i128>>),
    Floats(Tally<Vec<f64>>),
    Texts(Tally<TextColumn>),
}

/// Those of values of one form.
#[derive(Debug)]
pub(super) struct Tally<C: Column> {
    pub(super) entries: Vec<Entry>,
    /// One for each entry.
    pub(super) values: C,
    table: Table,
    /// Whether a group may have several entries with one value.
    repeats: bool,
    arranged: OnceLock<Grouped<Share<C::Item>>>,
}

/// A value's item, and how often it comes.
type Share<T> = (T, u32);

/// Finds the entries from `base` on.
#[derive(Debug, Default)]
struct Table {
    /// The upper half of the hash, and the entry's place behind `base` plus 1; 0 where there is none.
    slots: Vec<u64>,
    base: usize,
    /// Values looked up since `base`.
    seen: usize,
    /// Values that are yet to be appended without being looked up.
    rest: usize,
}

/// Columns of values that can be looked up.
pub(super) trait Column: Default {
    /// A value as it is looked up.
    type Value<'a>: Copy;
    /// A value as it lies in the column.
    type Item: Copy + Default + std::fmt::Debug;
    fn hash(value: Self::Value<'_>) -> u64;
    fn item(&self, place: usize) -> Self::Item;
    fn value(&self, item: Self::Item) -> Self::Value<'_>;
    fn is(&self, item: Self::Item, value: Self::Value<'_>) -> bool;
    fn append(&mut self, value: Self::Value<'_>);
    fn order(a: Self::Value<'_>, b: Self::Value<'_>) -> Ordering;
    fn bytes(&self) -> usize;
}

fn spread(value: u64) -> u64 {
    let product = u128::from(value ^ 0xD6E8_FEB8_6659_FD93) * 0x9E37_79B9_7F4A_7C15;
    product as u64 ^ (product >> 64) as u64
}

/// Both zeros are one value, and all NaN are.
#[inline(always)]
fn same_float(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

macro_rules! column {
    ($type:ty, $hash:expr, $same:expr, $order:expr) => {
        impl Column for Vec<$type> {
            type Value<'a> = $type;
            type Item = $type;
            #[inline(always)]
            fn hash(value: $type) -> u64 {
                $hash(value)
            }
            #[inline(always)]
            fn item(&self, place: usize) -> $type {
                self[place]
            }
            #[inline(always)]
            fn value(&self, item: $type) -> $type {
                item
            }
            #[inline(always)]
            fn is(&self, item: $type, value: $type) -> bool {
                $same(item, value)
            }
            #[inline(always)]
            fn append(&mut self, value: $type) {
                self.push(value);
            }
            fn order(a: $type, b: $type) -> Ordering {
                $order(a, b)
            }
            fn bytes(&self) -> usize {
                self.capacity() * size_of::<$type>()
            }
        }
    };
}

column!(i64, |value| spread(value as u64), |a, b| a == b, |a: i64, b| a.cmp(&b));
column!(i128, |value| spread(value as u64 ^ spread((value >> 64) as u64)), |a, b| a == b, |a: i128, b| a
    .cmp(&b));
column!(
    f64,
    |value: f64| spread(if value.is_nan() { u64::MAX } else { (value + 0.0).to_bits() }),
    same_float,
    |a, b| float_key(a).cmp(&float_key(b))
);

/// A text, and its view, which holds short ones whole.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    view: u128,
    bytes: &'a [u8],
}

impl Text<'_> {
    #[inline(always)]
    fn is_short(&self) -> bool {
        view_length(self.view) <= INLINE_BYTES
    }
}

impl Column for TextColumn {
    type Value<'a> = Text<'a>;
    type Item = u128;
    #[inline(always)]
    fn hash(text: Text<'_>) -> u64 {
        match text.is_short() {
            true => spread(text.view as u64 ^ spread((text.view >> 64) as u64)),
            false => spread(hash_bytes(text.bytes)),
        }
    }
    #[inline(always)]
    fn item(&self, place: usize) -> u128 {
        self.view(place)
    }
    #[inline(always)]
    fn value(&self, view: u128) -> Text<'_> {
        // The bytes of short ones are rarely looked at, and those of the view do not live as long as the column.
        let bytes = if view_length(view) <= INLINE_BYTES { &[] } else { self.viewed(view) };
        Text { view, bytes }
    }
    #[inline(always)]
    fn is(&self, view: u128, text: Text<'_>) -> bool {
        match text.is_short() {
            true => view == text.view,
            false => view_length(view) == text.bytes.len() && self.viewed(view) == text.bytes,
        }
    }
    #[inline(always)]
    fn append(&mut self, text: Text<'_>) {
        match text.is_short() {
            true => self.push_view(text.view),
            false => self.push(text.bytes),
        }
    }
    fn order(a: Text<'_>, b: Text<'_>) -> Ordering {
        with_bytes(a, |a| with_bytes(b, |b| a.cmp(b)))
    }
    fn bytes(&self) -> usize {
        self.bytes_held()
    }
}

/// Calls `each` with the bytes of a text.
fn with_bytes<R>(text: Text<'_>, each: impl FnOnce(&[u8]) -> R) -> R {
    match text.is_short() {
        true => each(&simd::as_bytes(std::slice::from_ref(&text.view))[4..4 + view_length(text.view)]),
        false => each(text.bytes),
    }
}

/// Tells the same value of different groups apart.
#[inline(always)]
fn of_group(hash: u64, group: u32) -> u64 {
    hash ^ u64::from(group).wrapping_mul(0xA24B_AED4_963E_E407)
}

impl Table {
    /// Counts a value of a group so many times more. Returns whether the group's value may have an entry already that was not
    /// found.
    #[inline(always)]
    fn add<C: Column>(
        &mut self,
        entries: &mut Vec<Entry>,
        values: &mut C,
        entry: Entry,
        value: C::Value<'_>,
    ) -> bool {
        let hash = of_group(C::hash(value), entry.group);
        let mut repeated = false;
        if (entries.len() - self.base) * 2 >= self.slots.len() {
            repeated = self.make_room(entries, values);
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at & mask];
            if slot == 0 {
                self.slots[at & mask] = hash >> 32 << 32 | (entries.len() - self.base + 1) as u64;
                entries.push(entry);
                values.append(value);
                return repeated;
            }
            if slot >> 32 == hash >> 32 {
                let place = self.base + (slot as u32 - 1) as usize;
                let known = &mut entries[place];
                if known.group == entry.group && values.is(values.item(place), value) {
                    match known.count.checked_add(entry.count) {
                        Some(count) => {
                            known.count = count;
                            return repeated;
                        }
                        // Full: the value gets another entry.
                        None => repeated = true,
                    }
                }
            }
            at += 1;
        }
    }

    /// Makes a larger table, or an empty one; true: the entries there were are no longer found.
    #[cold]
    fn make_room<C: Column>(&mut self, entries: &[Entry], values: &C) -> bool {
        let own = entries.len() - self.base;
        let slots = self.slots.len();
        let (repeat, found) = (self.seen >= own * 2, self.seen - self.seen.min(own));
        let free = slots < SLOTS_FREE && (slots < SLOTS_JUDGED || found * FOUND_MIN >= own);
        if free || (repeat && slots < SLOTS_MAX) {
            let slots = (slots * 2).max(SLOTS_MIN);
            self.slots.clear();
            self.slots.resize(slots, 0);
            let mask = slots - 1;
            for place in self.base..entries.len() {
                let hash = of_group(C::hash(values.value(values.item(place))), entries[place].group);
                let mut at = hash as usize & mask;
                while self.slots[at] != 0 {
                    at = (at + 1) & mask;
                }
                self.slots[at] = hash >> 32 << 32 | (place - self.base + 1) as u64;
            }
            return false;
        }
        self.forget(entries.len());
        self.slots.resize(SLOTS_MIN, 0);
        self.rest = if repeat { 0 } else { own * REST };
        true
    }
    /// The entries there are will not be found any more.
    fn forget(&mut self, entries: usize) {
        self.slots.clear();
        self.base = entries;
        self.seen = 0;
    }
}

impl<C: Column> Tally<C> {
    fn new() -> Self {
        Tally {
            entries: vec![],
            values: C::default(),
            table: Table::default(),
            repeats: false,
            arranged: OnceLock::new(),
        }
    }
    /// The entries again, from files.
    pub(super) fn from_parts(groups: Vec<u32>, counts: Vec<u32>, values: C) -> Self {
        let entries = groups.into_iter().zip(counts).map(|(group, count)| Entry { group, count });
        let mut tally = Tally { entries: entries.collect(), values, repeats: true, ..Tally::new() };
        tally.table.forget(tally.entries.len());
        tally
    }
    fn bytes(&self) -> usize {
        // What finishing takes: the entries by group, and the counts of one.
        let finishing = Grouped::<Share<C::Item>>::bytes_of(self.entries.len());
        self.entries.capacity() * size_of::<Entry>()
            + self.values.bytes()
            + self.table.slots.capacity() * 8
            + finishing
    }
    /// Counts the values of rows.
    #[inline(always)]
    fn update<'a>(&mut self, groups: RowGroups<'_>, values: impl Iterator<Item = C::Value<'a>>) {
        self.arranged.take();
        let rows = groups.rows();
        let Tally { entries, values: kept, table, repeats, .. } = self;
        if table.rest > 0 {
            table.rest = table.rest.saturating_sub(rows);
            each_row(groups, values, |group, value| {
                entries.push(Entry { group, count: 1 });
                kept.append(value);
            });
            table.forget(entries.len());
            *repeats = true;
            return;
        }
        table.seen += rows;
        each_row(groups, values, |group, value| {
            *repeats |= table.add(entries, kept, Entry { group, count: 1 }, value);
        });
    }
    fn merge(&mut self, other: &Self, rows: Option<&[u32]>, groups: &[u32]) {
        self.arranged.take();
        // Entries that stand for one value each are hardly found again.
        let counted: u64 = other.entries.iter().map(|entry| u64::from(entry.count)).sum();
        let look_up = counted >= other.entries.len() as u64 * 2;
        let Tally { entries, values: kept, table, repeats, .. } = self;
        let mut add = |item: C::Item, entry: Entry| {
            if look_up {
                table.seen += 1;
                *repeats |= table.add(entries, kept, entry, other.values.value(item));
            } else {
                entries.push(entry);
                kept.append(other.values.value(item));
            }
        };
        match rows {
            None => other.entries.iter().enumerate().for_each(|(at, entry)| {
                if let Some(group) = groups.get(entry.group as usize) {
                    add(other.values.item(at), Entry { group: *group, count: entry.count });
                }
            }),
            Some(rows) => {
                let arranged = other.arranged();
                for (row, group) in rows.iter().zip(groups) {
                    for (item, count) in arranged.group(*row as usize) {
                        add(*item, Entry { group: *group, count: *count });
                    }
                }
            }
        }
        if !look_up {
            table.forget(entries.len());
            *repeats = true;
        }
    }
    fn arranged(&self) -> &Grouped<Share<C::Item>> {
        self.arranged.get_or_init(|| {
            Grouped::of(self.entries.iter().map(|entry| entry.group), |at| {
                (self.values.item(at), self.entries[at].count)
            })
        })
    }
    /// Calls `each` with the different values of each of the groups `[start, end)`, in any order, and their counts.
    fn each<R>(&self, start: usize, end: usize, each: impl Fn(&[Count<C::Item>]) -> R) -> Vec<R> {
        let arranged = self.arranged();
        let (mut counts, mut slots) = (vec![], vec![]);
        (start..end)
            .map(|group| {
                counts.clear();
                let entries = arranged.group(group);
                let count_of = |(item, count): &Share<C::Item>| (*item, u64::from(*count));
                if !self.repeats || entries.len() <= 1 {
                    counts.extend(entries.iter().map(count_of));
                } else if entries.len() <= ENTRIES_AT_ONCE {
                    self.put_together(entries, &mut counts, &mut slots);
                } else {
                    // By other bits of the hash than tables use.
                    let shift = 64 - (entries.len() / ENTRIES_AT_ONCE).ilog2() - 2;
                    let part = |item| (C::hash(self.values.value(item)) >> shift) as u32;
                    let parts = Grouped::of(entries.iter().map(|(item, _)| part(*item)), |at| entries[at]);
                    for part in 0..1 << (64 - shift) {
                        self.put_together(parts.group(part), &mut counts, &mut slots);
                    }
                }
                each(&counts)
            })
            .collect()
    }
    /// Appends the different values of `entries`, whose values are in no other part.
    fn put_together(
        &self,
        entries: &[Share<C::Item>],
        counts: &mut Vec<Count<C::Item>>,
        slots: &mut Vec<u32>,
    ) {
        let from = counts.len();
        slots.clear();
        slots.resize((entries.len() * 2).next_power_of_two(), 0u32);
        let mask = slots.len() - 1;
        for (item, count) in entries {
            let value = self.values.value(*item);
            let mut at = (C::hash(value) >> 16) as usize & mask;
            loop {
                let slot = slots[at & mask];
                if slot == 0 {
                    counts.push((*item, u64::from(*count)));
                    slots[at & mask] = (counts.len() - from) as u32;
                    break;
                }
                let known = &mut counts[from + slot as usize - 1];
                if self.values.is(known.0, value) {
                    known.1 += u64::from(*count);
                    break;
                }
                at += 1;
            }
        }
    }
    /// The most frequent value of each of the groups `[start, end)`, the least of several.
    fn modes(&self, start: usize, end: usize) -> Vec<Option<C::Item>> {
        self.each(start, end, |counts| {
            let value = |count: &Count<C::Item>| self.values.value(count.0);
            let most = counts.iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| C::order(value(b), value(a))));
            most.map(|(item, _)| *item)
        })
    }
}

/// A value by its item, and how often it comes in all.
type Count<T> = (T, u64);

/// Entries of a group whose values are looked up in one table.
const ENTRIES_AT_ONCE: usize = if cfg!(test) { 64 } else { 1 << 14 };

/// Calls `add` with each row's group and value.
#[inline(always)]
fn each_row<V>(groups: RowGroups<'_>, values: impl Iterator<Item = V>, mut add: impl FnMut(u32, V)) {
    match groups {
        RowGroups::Single(_) => values.for_each(|value| add(0, value)),
        RowGroups::Each(each) => each.iter().zip(values).for_each(|(group, value)| add(*group, value)),
        RowGroups::Runs(runs) => runs.each().iter().zip(values).for_each(|(group, value)| add(*group, value)),
    }
}

/// Values as they come in a batch, none of them missing.
pub(super) enum Batch<'a> {
    Integers(&'a [i64]),
    Wide(&'a [i128]),
    Floats(&'a [f64]),
    Texts(&'a Strings),
}

impl Counted {
    /// No values yet, in the form of a type.
    pub(super) fn new(physical: Physical) -> Self {
        match physical {
            Physical::Bytes => Counted::Texts(Tally::new()),
            Physical::F32 | Physical::F64 => Counted::Floats(Tally::new()),
            Physical::I128 => Counted::Wide(Tally::new()),
            _ => Counted::Integers(Tally::new()),
        }
    }
    /// Bytes held, with those that finishing will take.
    pub fn bytes(&self) -> usize {
        match self {
            Counted::Integers(tally) => tally.bytes(),
            Counted::Wide(tally) => tally.bytes(),
            Counted::Floats(tally) => tally.bytes(),
            Counted::Texts(tally) => tally.bytes(),
        }
    }
    /// Counts a batch's values.
    pub(super) fn update(&mut self, groups: RowGroups<'_>, batch: &Batch<'_>) {
        match (self, batch) {
            (Counted::Integers(tally), Batch::Integers(v)) => tally.update(groups, v.iter().copied()),
            (Counted::Wide(tally), Batch::Wide(v)) => tally.update(groups, v.iter().copied()),
            (Counted::Floats(tally), Batch::Floats(v)) => tally.update(groups, v.iter().copied()),
            (Counted::Texts(tally), Batch::Texts(texts)) => {
                let views = texts.views().iter().enumerate();
                tally.update(
                    groups,
                    views.map(|(row, view)| {
                        let short = view_length(*view) <= INLINE_BYTES;
                        Text { view: *view, bytes: if short { &[] } else { texts.get(row) } }
                    }),
                );
            }
            _ => panic!("values of one argument have one form"),
        }
    }
    /// Takes the other's counts of the groups `rows` (all when `None`), which are `groups` here.
    pub(super) fn merge(&mut self, other: &Counted, rows: Option<&[u32]>, groups: &[u32]) {
        match (self, other) {
            (Counted::Integers(a), Counted::Integers(b)) => a.merge(b, rows, groups),
            (Counted::Wide(a), Counted::Wide(b)) => a.merge(b, rows, groups),
            (Counted::Floats(a), Counted::Floats(b)) => a.merge(b, rows, groups),
            (Counted::Texts(a), Counted::Texts(b)) => a.merge(b, rows, groups),
            _ => panic!("states of one query have one form"),
        }
    }
    /// The most frequent value of each of the groups `[start, end)`, the least of several.
    pub(super) fn modes(&self, start: usize, end: usize) -> Chosen<'_> {
        match self {
            Counted::Integers(tally) => Chosen::Integers(tally.modes(start, end)),
            Counted::Wide(tally) => Chosen::Wide(tally.modes(start, end)),
            Counted::Floats(tally) => {
                // NaN has one form.
                let one = |value: f64| keyed_float(float_key(value));
                Chosen::Floats(tally.modes(start, end).into_iter().map(|mode| mode.map(one)).collect())
            }
            Counted::Texts(tally) => Chosen::Views(tally.modes(start, end), &tally.values),
        }
    }
    /// The entropy of the counts of each of the groups `[start, end)`, in bits.
    pub(super) fn entropies(&self, start: usize, end: usize) -> Vec<f64> {
        match self {
            Counted::Integers(tally) => tally.each(start, end, entropy),
            Counted::Wide(tally) => tally.each(start, end, entropy),
            Counted::Floats(tally) => tally.each(start, end, entropy),
            Counted::Texts(tally) => tally.each(start, end, entropy),
        }
    }
}

/// Calls `each` with the text of a view into a column.
pub(super) fn with_viewed<R>(view: u128, column: &TextColumn, each: impl FnOnce(&[u8]) -> R) -> R {
    with_bytes(column.value(view), each)
}

/// Counts below this are added up without being put in order, where there are more than so few.
const SMALL: usize = 256;
const FEW: usize = 64;

/// The entropy of the values' shares, in bits. It depends on the counts alone, not on their order.
fn entropy<T>(counts: &[Count<T>]) -> f64 {
    let total: u64 = counts.iter().map(|of| of.1).sum();
    let of = |count: u64, times: f64| {
        let share = count as f64 / total as f64;
        times * share * share.log2()
    };
    // One value has no entropy: 0, not -0.
    if counts.len() <= FEW {
        let mut counts: Vec<u64> = counts.iter().map(|of| of.1).collect();
        counts.sort_unstable();
        return (-counts.iter().map(|count| of(*count, 1.0)).sum::<f64>()).max(0.0) + 0.0;
    }
    let mut small = [0u64; SMALL];
    let mut large = vec![];
    for (_, count) in counts {
        match small.get_mut(*count as usize) {
            Some(times) => *times += 1,
            None => large.push(*count),
        }
    }
    large.sort_unstable();
    let small = small.iter().enumerate().filter(|(_, times)| **times > 0);
    let sum: f64 = small.map(|(count, times)| of(count as u64, *times as f64)).sum();
    let sum = large.iter().fold(sum, |sum, count| sum + of(*count, 1.0));
    (-sum).max(0.0) + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integers(groups: RowGroups<'_>, values: &[i64]) -> Counted {
        let mut all = Counted::new(Physical::I64);
        all.update(groups, &Batch::Integers(values));
        all
    }

    fn modes(all: &Counted, groups: usize) -> Vec<Option<i64>> {
        let Chosen::Integers(modes) = all.modes(0, groups) else { panic!() };
        modes
    }

    #[test]
    fn the_most_frequent_and_the_least_of_several() {
        let mut all = integers(RowGroups::Each(&[0, 1, 0, 0, 2, 0, 2]), &[5, 3, 7, 7, 4, 5, 2]);
        assert_eq!(modes(&all, 4), [Some(5), Some(3), Some(2), None]);
        assert_eq!(all.entropies(0, 4), [1.0, 0.0, 1.0, 0.0]);
        all.update(RowGroups::Single(1), &Batch::Integers(&[7]));
        assert_eq!(modes(&all, 1), [Some(7)]);
        assert_eq!(modes(&Counted::new(Physical::I64), 1), [None]);
    }

    #[test]
    fn groups_are_merged_under_other_numbers() {
        for times in [1, 4] {
            let mut all = integers(RowGroups::Each(&[0, 1]), &[5, 3]);
            let other = |groups: &[u32], values: &[i64]| {
                let (groups, values) = (groups.repeat(times), values.repeat(times));
                integers(RowGroups::Each(&groups), &values)
            };
            // Its group 2 is our group 0; its group 0 goes elsewhere.
            all.merge(&other(&[2, 0, 2, 2], &[9, 1, 4, 9]), Some(&[2]), &[0]);
            assert_eq!(modes(&all, 3), [Some(9), Some(3), None]);
            all.merge(&other(&[0, 1, 0], &[4, 6, 4]), None, &[0, 2]);
            assert_eq!(modes(&all, 3), [Some(4), Some(3), Some(6)]);
        }
    }

    #[test]
    fn many_different_values_repeat_late() {
        // More than the table holds, in batches; each value comes once, then those up to 50 again.
        let rows = 20_000i64;
        let mut all = Counted::new(Physical::I64);
        let mut counts = std::collections::BTreeMap::new();
        for batch in 0..10 {
            let values: Vec<i64> =
                (0..rows / 10).map(|row| if batch < 6 { batch * 2000 + row } else { row % 50 }).collect();
            let groups: Vec<u32> = values.iter().map(|v| (v % 3) as u32).collect();
            values.iter().for_each(|v| *counts.entry((v % 3, *v)).or_insert(0u64) += 1);
            all.update(RowGroups::Each(&groups), &Batch::Integers(&values));
        }
        let same = |all: &Counted| {
            let Counted::Integers(tally) = all else { panic!() };
            assert!(tally.repeats);
            let found = tally.each(0, 3, |counts| {
                let mut counts = counts.to_vec();
                counts.sort_unstable();
                counts
            });
            for (group, found) in found.into_iter().enumerate() {
                let expected = counts.range((group as i64, i64::MIN)..=(group as i64, i64::MAX));
                assert_eq!(found, expected.map(|((_, v), n)| (*v, *n)).collect::<Vec<_>>());
            }
        };
        same(&all);
        let mut merged = Counted::new(Physical::I64);
        merged.merge(&all, Some(&[2, 0, 1]), &[2, 0, 1]);
        same(&merged);
    }

    #[test]
    fn full_entries_are_followed_by_others() {
        let mut all = integers(RowGroups::Single(2), &[1, 2]);
        let Counted::Integers(tally) = &mut all else { panic!() };
        tally.entries[0].count = u32::MAX;
        tally.entries[1].count = u32::MAX - 1;
        tally.update(RowGroups::Single(4), [1, 2, 2, 2].into_iter());
        assert_eq!((tally.entries.len(), tally.repeats), (4, true));
        // 1 came 2^32 times, 2 once more.
        assert_eq!(modes(&all, 1), [Some(2)]);
    }

    #[test]
    fn zeros_and_nan_are_one_value_each() {
        let mut all = Counted::new(Physical::F64);
        all.update(RowGroups::Single(5), &Batch::Floats(&[2.0, 0.0, f64::NAN, -0.0, -f64::NAN]));
        let Chosen::Floats(found) = all.modes(0, 1) else { panic!() };
        assert_eq!(found, [Some(0.0)]);
        let mut merged = Counted::new(Physical::F64);
        merged.merge(&all, Some(&[0]), &[1]);
        assert_eq!(merged.entropies(1, 2), all.entropies(0, 1));
    }

    #[test]
    fn texts_short_and_long() {
        let mut builder = vector::StringBuilder::with_capacity(6);
        let long = "a text that does not fit a view";
        for text in ["b", long, "", "b", long, "a text that does not fit another"] {
            builder.push(text.as_bytes());
        }
        let texts = builder.finish();
        let mut all = Counted::new(Physical::Bytes);
        all.update(RowGroups::Single(6), &Batch::Texts(&texts));
        let Counted::Texts(tally) = &all else { panic!() };
        assert_eq!(tally.entries.len(), 4);
        let Chosen::Views(found, column) = all.modes(0, 1) else { panic!() };
        // The other comes twice, too.
        assert_eq!(found, [Some(tally.values.view(1))]);
        assert_eq!(column.viewed(tally.values.view(1)), long.as_bytes());
    }

    #[test]
    fn the_entropy_does_not_depend_on_the_order() {
        let counts: Vec<Count<i64>> = (0..1000).map(|i| (0, i * 37 % 401 + 1)).collect();
        let mut reversed = counts.clone();
        reversed.reverse();
        assert_eq!(entropy(&counts).to_bits(), entropy(&reversed).to_bits());
        let total: f64 = counts.iter().map(|of| of.1 as f64).sum();
        let shares = counts.iter().map(|of| of.1 as f64 / total);
        let plain: f64 = shares.map(|share| -share * share.log2()).sum();
        assert!((entropy(&counts) - plain).abs() < 1e-12);
        assert_eq!(entropy(&[(1i64, 5)]).to_bits(), 0.0f64.to_bits());
    }
}
