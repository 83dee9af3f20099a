//! Values kept whole until the end, for what depends on their order: quantiles, the mode, the entropy.
//!
//! A log of (group, value), as `pieces` is for texts. At the end it is arranged once by group, by counting; a quantile
//! then selects in the values of its group, and the mode and the entropy sort them. Groups are finished independently, so
//! several workers finish one log.
//!
//! ```text
//!  log        groups 1 0 1 1    values 7 5 3 9
//!  arranged   starts 0 1 4      values 5 | 7 3 9
//! ```
//! Floats are arranged as integers of the same order (`float_key`), texts as their places in the log.

use std::sync::OnceLock;

use super::few;
use super::rows::RowGroups;
use super::text::TextColumn;
use crate::hashing::hash_bytes;

#[derive(Debug)]
pub(super) enum Values {
    Integers(Vec<i64>),
    Wide(Vec<i128>),
    Floats(Vec<f64>),
    Texts(TextColumn),
}

/// All values of one argument, each with its group, until the groups are finished.
#[derive(Debug)]
pub struct Collected {
    pub(super) groups: Vec<u32>,
    pub(super) values: Values,
    arranged: OnceLock<Arranged>,
}

/// The log by group: those of group g are `[starts[g], starts[g + 1])`.
#[derive(Debug)]
struct Arranged {
    starts: Vec<usize>,
    values: ArrangedValues,
}

#[derive(Debug)]
enum ArrangedValues {
    Integers(Vec<i64>),
    Wide(Vec<i128>),
    /// By `float_key`.
    Floats(Vec<i64>),
    /// Places in the log.
    Texts(Vec<u32>),
}

/// What was chosen of each group; groups without values have `None`.
pub(super) enum Chosen<'a> {
    Integers(Vec<Option<i64>>),
    Wide(Vec<Option<i128>>),
    Floats(Vec<Option<f64>>),
    Texts(Vec<Option<&'a [u8]>>),
}

/// What is made of a group's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The position of a fraction, told by its bits, from the least value or, descending, from the greatest.
    Quantile {
        fraction: u64,
        descending: bool,
    },
    Mode,
}

/// The place of the value at which a share of at least `fraction` of `count` values is reached.
pub fn quantile_place(count: usize, fraction: f64, descending: bool) -> usize {
    let place = ((fraction * count as f64).ceil() as usize).clamp(1, count.max(1)) - 1;
    if descending { count - 1 - place } else { place }
}

/// Between which two of `count` values in order the fraction lies, from the least or, descending, from the greatest,
/// and how far from the first of them.
pub fn quantile_between(count: usize, fraction: f64, descending: bool) -> (usize, usize, f64) {
    let place = fraction * (count as f64 - 1.0);
    let first = (place.floor() as usize).min(count - 1);
    let second = (first + 1).min(count - 1);
    let part = place - place.floor();
    if descending { (count - 1 - first, count - 1 - second, part) } else { (first, second, part) }
}

/// A value `part` of the way between two.
pub fn interpolated(from: f64, to: f64, part: f64) -> f64 {
    if part == 0.0 || from == to { from } else { from + part * (to - from) }
}

/// Runs of equal neighbours: the start of the longest, the first of several, and the entropy of their lengths.
pub fn runs(count: usize, mut equal: impl FnMut(usize, usize) -> bool) -> (usize, f64) {
    let (mut best, mut longest, mut entropy, mut start) = (0, 0, 0.0, 0);
    for at in 1..=count {
        if at < count && equal(at - 1, at) {
            continue;
        }
        let length = at - start;
        if length > longest {
            (best, longest) = (start, length);
        }
        let share = length as f64 / count as f64;
        entropy -= share * share.log2();
        start = at;
    }
    (best, entropy.max(0.0))
}

/// An integer in the order of PostgreSQL's floats: NaN is greater than all others. Both zeros keep their sign, -0 first.
fn float_key(value: f64) -> i64 {
    let value = if value.is_nan() { f64::NAN } else { value };
    let bits = value.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The float of a key.
fn keyed_float(key: i64) -> f64 {
    f64::from_bits((key ^ ((key >> 63) as u64 >> 1) as i64) as u64)
}

/// Both zeros are one value.
fn same_float(a: i64, b: i64) -> bool {
    a == b || keyed_float(a) == keyed_float(b)
}

/// Values in the order of their groups.
fn by_group<T: Copy + Default>(groups: &[u32], starts: &[usize], value: impl Fn(usize) -> T) -> Vec<T> {
    if starts.len() <= 2 {
        return (0..groups.len()).map(value).collect();
    }
    let mut next = starts.to_vec();
    let mut arranged = vec![T::default(); groups.len()];
    for (row, group) in groups.iter().enumerate() {
        let place = &mut next[*group as usize];
        arranged[*place] = value(row);
        *place += 1;
    }
    arranged
}

/// Where each group begins, and the end.
pub(super) fn group_starts(groups: &[u32]) -> Vec<usize> {
    let count = groups.iter().max().map_or(0, |group| *group as usize + 1);
    let mut starts = vec![0; count + 1];
    for group in groups {
        starts[*group as usize + 1] += 1;
    }
    let mut total = 0;
    for start in &mut starts {
        total += *start;
        *start = total;
    }
    starts
}

impl Arranged {
    fn of(groups: &[u32], values: &Values) -> Self {
        let starts = group_starts(groups);
        let values = match values {
            Values::Integers(v) => ArrangedValues::Integers(by_group(groups, &starts, |row| v[row])),
            Values::Wide(v) => ArrangedValues::Wide(by_group(groups, &starts, |row| v[row])),
            Values::Floats(v) => ArrangedValues::Floats(by_group(groups, &starts, |row| float_key(v[row]))),
            Values::Texts(_) => ArrangedValues::Texts(by_group(groups, &starts, |row| row as u32)),
        };
        Arranged { starts, values }
    }
    /// The range of a group; groups behind the last that has values have none.
    fn range(&self, group: usize) -> std::ops::Range<usize> {
        match (self.starts.get(group), self.starts.get(group + 1)) {
            (Some(start), Some(end)) => *start..*end,
            _ => 0..0,
        }
    }
    /// Calls `each` with a copy of the values of each of the groups `[start, end)`.
    fn groups<T: Copy, R>(
        &self,
        values: &[T],
        start: usize,
        end: usize,
        mut each: impl FnMut(&mut [T]) -> R,
    ) -> Vec<R> {
        let mut copy: Vec<T> = Vec::new();
        (start..end)
            .map(|group| {
                copy.clear();
                copy.extend_from_slice(&values[self.range(group)]);
                each(&mut copy)
            })
            .collect()
    }
}

/// Chooses of one group's values, in any order.
fn choose_of<T: Copy>(
    values: &mut [T],
    choice: Choice,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
    same: impl Fn(T, T) -> bool,
    hash: impl Fn(T) -> u64,
) -> Option<T> {
    if values.is_empty() {
        return None;
    }
    let place = match choice {
        Choice::Quantile { fraction, descending } => {
            let place = quantile_place(values.len(), f64::from_bits(fraction), descending);
            return Some(*values.select_nth_unstable_by(place, order).1);
        }
        Choice::Mode => {
            if let Some(counts) = few::counts(values, hash, &same) {
                return few::most_frequent(&counts, order);
            }
            values.sort_unstable_by(order);
            runs(values.len(), |a, b| same(values[a], values[b])).0
        }
    };
    values.get(place).copied()
}

/// The entropy of one group's values.
fn entropy_of<T: Copy>(
    values: &mut [T],
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
    same: impl Fn(T, T) -> bool,
    hash: impl Fn(T) -> u64,
) -> f64 {
    if let Some(counts) = few::counts(values, hash, &same) {
        return few::entropy(&counts);
    }
    values.sort_unstable_by(order);
    runs(values.len(), |a, b| same(values[a], values[b])).1
}

fn integer_hash(value: i64) -> u64 {
    few::spread(value as u64)
}

fn wide_hash(value: i128) -> u64 {
    few::spread(value as u64 ^ few::spread((value >> 64) as u64))
}

/// Both zeros have one hash.
fn float_hash(key: i64) -> u64 {
    few::spread((keyed_float(key) + 0.0).to_bits())
}

/// The number a fraction of the way through one group's values, 0 where there are none.
fn between_of<T: Copy + Ord>(
    values: &mut [T],
    fraction: f64,
    descending: bool,
    number: impl Fn(T) -> f64,
) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let (first, second, part) = quantile_between(values.len(), fraction, descending);
    let (low, high) = (first.min(second), first.max(second));
    let (_, lower, behind) = values.select_nth_unstable(low);
    let lower = *lower;
    let upper = match high > low {
        true => behind.iter().copied().min().unwrap_or(lower),
        false => lower,
    };
    match first <= second {
        true => interpolated(number(lower), number(upper), part),
        false => interpolated(number(upper), number(lower), part),
    }
}

/// Appends the values whose group is known under another number, `u32::MAX` for none.
fn take_values<T: Copy>(to: &mut Vec<T>, from: &[T], groups: &[u32], here: &[u32]) {
    to.extend(groups.iter().zip(from).filter(|(g, _)| here[**g as usize] != u32::MAX).map(|(_, v)| *v));
}

impl Collected {
    pub(super) fn new(values: Values) -> Self {
        Collected { groups: vec![], values, arranged: OnceLock::new() }
    }
    /// Bytes held, with the copy that finishing will make.
    pub fn bytes(&self) -> usize {
        // Arranging copies the values at the end, when nothing can be refused any more, and choosing those of a group
        // once more.
        let values = match &self.values {
            Values::Integers(v) => v.capacity() * 24,
            Values::Wide(v) => v.capacity() * 48,
            Values::Floats(v) => v.capacity() * 24,
            Values::Texts(v) => v.bytes_held() + v.len() * 8,
        };
        self.groups.capacity() * 4 + values
    }
    /// Adds the groups of a batch; the values are pushed by the caller.
    pub(super) fn add_groups(&mut self, groups: RowGroups<'_>) {
        self.arranged.take();
        match groups {
            RowGroups::Single(rows) => self.groups.extend(std::iter::repeat_n(0, rows)),
            RowGroups::Each(each) => self.groups.extend_from_slice(each),
            RowGroups::Runs(runs) => self.groups.extend_from_slice(runs.each()),
        }
    }
    /// Takes the other's values of the groups `rows` (all when `None`), which are `groups` here.
    pub fn merge(&mut self, other: &Collected, rows: Option<&[u32]>, groups: &[u32]) {
        self.arranged.take();
        let mut here = vec![u32::MAX; other.groups.iter().max().map_or(0, |g| *g as usize + 1)];
        for (at, group) in groups.iter().enumerate() {
            let row = rows.map_or(at, |r| r[at] as usize);
            if let Some(slot) = here.get_mut(row) {
                *slot = *group;
            }
        }
        match (&mut self.values, &other.values) {
            (Values::Integers(a), Values::Integers(b)) => take_values(a, b, &other.groups, &here),
            (Values::Wide(a), Values::Wide(b)) => take_values(a, b, &other.groups, &here),
            (Values::Floats(a), Values::Floats(b)) => take_values(a, b, &other.groups, &here),
            (Values::Texts(a), Values::Texts(b)) => {
                let taken = other.groups.iter().enumerate().filter(|(_, g)| here[**g as usize] != u32::MAX);
                taken.for_each(|(at, _)| a.push(b.get(at)));
            }
            _ => panic!("states of one query have one form"),
        }
        let known = other.groups.iter().map(|g| here[*g as usize]).filter(|g| *g != u32::MAX);
        self.groups.extend(known);
    }
    fn arranged(&self) -> &Arranged {
        self.arranged.get_or_init(|| Arranged::of(&self.groups, &self.values))
    }
    /// Which value each of the groups `[start, end)` has.
    pub(super) fn choose(&self, choice: Choice, start: usize, end: usize) -> Chosen<'_> {
        let arranged = self.arranged();
        match (&arranged.values, &self.values) {
            (ArrangedValues::Integers(v), _) => {
                let pick =
                    |values: &mut [i64]| choose_of(values, choice, i64::cmp, |a, b| a == b, integer_hash);
                Chosen::Integers(arranged.groups(v, start, end, pick))
            }
            (ArrangedValues::Wide(v), _) => {
                let pick =
                    |values: &mut [i128]| choose_of(values, choice, i128::cmp, |a, b| a == b, wide_hash);
                Chosen::Wide(arranged.groups(v, start, end, pick))
            }
            (ArrangedValues::Floats(v), _) => {
                let pick = |values: &mut [i64]| {
                    choose_of(values, choice, i64::cmp, same_float, float_hash).map(keyed_float)
                };
                Chosen::Floats(arranged.groups(v, start, end, pick))
            }
            (ArrangedValues::Texts(v), Values::Texts(texts)) => {
                let text = |at: u32| texts.get(at as usize);
                let order = |a: &u32, b: &u32| text(*a).cmp(text(*b));
                let pick = |values: &mut [u32]| {
                    choose_of(values, choice, order, |a, b| text(a) == text(b), |a| hash_bytes(text(a)))
                        .map(text)
                };
                Chosen::Texts(arranged.groups(v, start, end, pick))
            }
            (ArrangedValues::Texts(_), _) => panic!("places of texts come from texts"),
        }
    }
    /// The numbers at a fraction of the way through each group.
    pub(super) fn between(&self, fraction: f64, descending: bool, start: usize, end: usize) -> Vec<f64> {
        let arranged = self.arranged();
        match &arranged.values {
            ArrangedValues::Integers(v) => arranged
                .groups(v, start, end, |values| between_of(values, fraction, descending, |v| v as f64)),
            ArrangedValues::Floats(v) => {
                arranged.groups(v, start, end, |values| between_of(values, fraction, descending, keyed_float))
            }
            _ => vec![0.0; end - start],
        }
    }
    pub(super) fn entropies(&self, start: usize, end: usize) -> Vec<f64> {
        let arranged = self.arranged();
        match (&arranged.values, &self.values) {
            (ArrangedValues::Integers(v), _) => arranged
                .groups(v, start, end, |values| entropy_of(values, i64::cmp, |a, b| a == b, integer_hash)),
            (ArrangedValues::Wide(v), _) => arranged
                .groups(v, start, end, |values| entropy_of(values, i128::cmp, |a, b| a == b, wide_hash)),
            (ArrangedValues::Floats(v), _) => {
                arranged.groups(v, start, end, |values| entropy_of(values, i64::cmp, same_float, float_hash))
            }
            (ArrangedValues::Texts(v), Values::Texts(texts)) => arranged.groups(v, start, end, |values| {
                let text = |at: u32| texts.get(at as usize);
                let order = |a: &u32, b: &u32| text(*a).cmp(text(*b));
                entropy_of(values, order, |a, b| text(a) == text(b), |a| hash_bytes(text(a)))
            }),
            (ArrangedValues::Texts(_), _) => panic!("places of texts come from texts"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_fractions() {
        assert_eq!([0.0, 0.2, 0.21, 0.5, 1.0].map(|f| quantile_place(5, f, false)), [0, 0, 1, 2, 4]);
        assert_eq!(quantile_place(5, 0.3, true), 3);
        assert_eq!(quantile_between(5, 0.3, true), (3, 2, 0.3 * 4.0 - 1.0));
        assert_eq!(quantile_between(1, 1.0, false), (0, 0, 0.0));
        assert_eq!(interpolated(f64::INFINITY, f64::INFINITY, 0.5), f64::INFINITY);
    }

    #[test]
    fn the_longest_run_and_its_entropy() {
        let values = [1, 2, 2, 7];
        let (longest, entropy) = runs(4, |a, b| values[a] == values[b]);
        assert_eq!((longest, entropy), (1, 1.5));
        assert_eq!(runs(0, |_, _| true), (0, 0.0));
    }

    #[test]
    fn groups_are_merged_under_other_numbers() {
        let mut a = Collected::new(Values::Integers(vec![5, 3]));
        a.add_groups(RowGroups::Each(&[0, 1]));
        let mut b = Collected::new(Values::Integers(vec![9, 1, 4]));
        b.add_groups(RowGroups::Each(&[2, 0, 2]));
        // Its group 2 is our group 0; its group 0 goes elsewhere.
        a.merge(&b, Some(&[2]), &[0]);
        let median = Choice::Quantile { fraction: 0.5f64.to_bits(), descending: false };
        let Chosen::Integers(picked) = a.choose(median, 0, 3) else { panic!() };
        assert_eq!(picked, [Some(5), Some(3), None]);
        assert_eq!(a.between(0.5, false, 0, 3), [5.0, 3.0, 0.0]);
    }

    #[test]
    fn floats_are_in_postgres_order() {
        let sorted = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN];
        for pair in sorted.windows(2) {
            assert!(float_key(pair[0]) < float_key(pair[1]), "{pair:?}");
        }
        for value in sorted {
            assert_eq!(keyed_float(float_key(value)).to_bits(), value.to_bits());
        }
        assert_eq!(float_key(-f64::NAN), float_key(f64::NAN));
        // Two zeros of either sign are more than one 2.
        let mut all = Collected::new(Values::Floats(vec![2.0, 0.0, -0.0]));
        all.add_groups(RowGroups::Single(3));
        let Chosen::Floats(modes) = all.choose(Choice::Mode, 0, 1) else { panic!() };
        assert_eq!(modes, [Some(0.0)]);
    }

    #[test]
    fn quantiles_are_those_of_sorted_values() {
        let mut values: Vec<i64> = (0..101).map(|v| v * 37 % 101).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable();
        for (fraction, descending) in [(0.0, false), (0.3, false), (0.3, true), (0.995, false), (1.0, true)] {
            let (first, second, part) = quantile_between(values.len(), fraction, descending);
            let expected = interpolated(sorted[first] as f64, sorted[second] as f64, part);
            assert_eq!(between_of(&mut values, fraction, descending, |v| v as f64), expected);
        }
    }
}
