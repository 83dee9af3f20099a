//! Values kept whole until the end, for what depends on their order: quantiles.
//!
//! A log of (group, value), as `pieces` is for texts. At the end it is arranged once by group, by counting; a quantile
//! then selects in the values of its group. Groups are finished independently, so several workers finish one log.
//!
//! ```text
//!  log        groups 1 0 1 1    values 7 5 3 9
//!  arranged   starts 0 1 4      values 5 | 7 3 9
//! ```
//! Floats are arranged as integers of the same order (`float_key`), texts as their places in the log.

use std::sync::OnceLock;

use types::Physical;

use super::grouped::Grouped;
use super::rows::RowGroups;
use super::text::TextColumn;

#[derive(Debug)]
pub(super) enum Values {
    Integers(Vec<i64>),
    Wide(Vec<i128>),
    Floats(Vec<f64>),
    Texts(TextColumn),
}

impl Values {
    /// No values, in the form of a type.
    pub(super) fn of(physical: Physical) -> Self {
        match physical {
            Physical::Bytes => Values::Texts(TextColumn::default()),
            Physical::F32 | Physical::F64 => Values::Floats(vec![]),
            Physical::I128 => Values::Wide(vec![]),
            _ => Values::Integers(vec![]),
        }
    }
}

/// All values of one argument, each with its group, until the groups are finished.
#[derive(Debug)]
pub struct Collected {
    pub(super) groups: Vec<u32>,
    pub(super) values: Values,
    arranged: OnceLock<Arranged>,
}

/// The log by group.
#[derive(Debug)]
enum Arranged {
    Integers(Grouped<i64>),
    Wide(Grouped<i128>),
    /// By `float_key`.
    Floats(Grouped<i64>),
    /// Places in the log.
    Texts(Grouped<u32>),
}

/// What was chosen of each group; groups without values have `None`.
pub(super) enum Chosen<'a> {
    Integers(Vec<Option<i64>>),
    Wide(Vec<Option<i128>>),
    Floats(Vec<Option<f64>>),
    Texts(Vec<Option<&'a [u8]>>),
    /// By their views into a column.
    Views(Vec<Option<u128>>, &'a TextColumn),
}

/// The position of a fraction, from the least value or, descending, from the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    /// The fraction, told by its bits.
    pub fraction: u64,
    /// From the greatest value.
    pub descending: bool,
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
pub(super) fn float_key(value: f64) -> i64 {
    let value = if value.is_nan() { f64::NAN } else { value };
    let bits = value.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The float of a key.
pub(super) fn keyed_float(key: i64) -> f64 {
    f64::from_bits((key ^ ((key >> 63) as u64 >> 1) as i64) as u64)
}

impl Arranged {
    fn of(groups: &[u32], values: &Values) -> Self {
        let groups = groups.iter().copied();
        match values {
            Values::Integers(v) => Arranged::Integers(Grouped::of(groups, |row| v[row])),
            Values::Wide(v) => Arranged::Wide(Grouped::of(groups, |row| v[row])),
            Values::Floats(v) => Arranged::Floats(Grouped::of(groups, |row| float_key(v[row]))),
            Values::Texts(_) => Arranged::Texts(Grouped::of(groups, |row| row as u32)),
        }
    }
}

/// Calls `each` with a copy of the values of each of the groups `[start, end)`.
fn copies<T: Copy + Default, R>(
    values: &Grouped<T>,
    start: usize,
    end: usize,
    mut each: impl FnMut(&mut [T]) -> R,
) -> Vec<R> {
    let mut copy: Vec<T> = Vec::new();
    (start..end)
        .map(|group| {
            copy.clear();
            copy.extend_from_slice(values.group(group));
            each(&mut copy)
        })
        .collect()
}

/// Chooses of one group's values, in any order.
fn choose_of<T: Copy>(
    values: &mut [T],
    quantile: Quantile,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Option<T> {
    if values.is_empty() {
        return None;
    }
    let place = quantile_place(values.len(), f64::from_bits(quantile.fraction), quantile.descending);
    Some(*values.select_nth_unstable_by(place, order).1)
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

/// Takes another's values of the groups `rows`, which are `groups` here.
fn take<T: Copy + Default>(
    mine: &mut Vec<u32>,
    theirs: &Grouped<T>,
    rows: &[u32],
    groups: &[u32],
    mut push: impl FnMut(T),
) {
    for (row, group) in rows.iter().zip(groups) {
        let values = theirs.group(*row as usize);
        mine.extend(std::iter::repeat_n(*group, values.len()));
        values.iter().for_each(|value| push(*value));
    }
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
            Values::Integers(v) => v.capacity() * 8 + Grouped::<i64>::bytes_of(v.len()),
            Values::Wide(v) => v.capacity() * 16 + Grouped::<i128>::bytes_of(v.len()),
            Values::Floats(v) => v.capacity() * 8 + Grouped::<i64>::bytes_of(v.len()),
            Values::Texts(v) => v.bytes_held() + Grouped::<u32>::bytes_of(v.len()),
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
        let mine = &mut self.groups;
        let Some(rows) = rows else {
            // All of them, one for one.
            mine.extend(other.groups.iter().map(|group| groups[*group as usize]));
            match (&mut self.values, &other.values) {
                (Values::Integers(a), Values::Integers(b)) => a.extend_from_slice(b),
                (Values::Wide(a), Values::Wide(b)) => a.extend_from_slice(b),
                (Values::Floats(a), Values::Floats(b)) => a.extend_from_slice(b),
                (Values::Texts(a), Values::Texts(b)) => (0..b.len()).for_each(|at| a.push(b.get(at))),
                _ => panic!("states of one query have one form"),
            }
            return;
        };
        match (&mut self.values, other.arranged(), &other.values) {
            (Values::Integers(a), Arranged::Integers(b), _) => take(mine, b, rows, groups, |v| a.push(v)),
            (Values::Wide(a), Arranged::Wide(b), _) => take(mine, b, rows, groups, |v| a.push(v)),
            (Values::Floats(a), Arranged::Floats(b), _) => {
                take(mine, b, rows, groups, |v| a.push(keyed_float(v)));
            }
            (Values::Texts(a), Arranged::Texts(b), Values::Texts(texts)) => {
                take(mine, b, rows, groups, |at| a.push(texts.get(at as usize)));
            }
            _ => panic!("states of one query have one form"),
        }
    }
    fn arranged(&self) -> &Arranged {
        self.arranged.get_or_init(|| Arranged::of(&self.groups, &self.values))
    }
    /// Which value each of the groups `[start, end)` has.
    pub(super) fn choose(&self, quantile: Quantile, start: usize, end: usize) -> Chosen<'_> {
        match (self.arranged(), &self.values) {
            (Arranged::Integers(v), _) => {
                Chosen::Integers(copies(v, start, end, |values| choose_of(values, quantile, i64::cmp)))
            }
            (Arranged::Wide(v), _) => {
                Chosen::Wide(copies(v, start, end, |values| choose_of(values, quantile, i128::cmp)))
            }
            (Arranged::Floats(v), _) => Chosen::Floats(copies(v, start, end, |values| {
                choose_of(values, quantile, i64::cmp).map(keyed_float)
            })),
            (Arranged::Texts(v), Values::Texts(texts)) => {
                let text = |at: u32| texts.get(at as usize);
                let order = |a: &u32, b: &u32| text(*a).cmp(text(*b));
                Chosen::Texts(copies(v, start, end, |values| choose_of(values, quantile, order).map(text)))
            }
            (Arranged::Texts(_), _) => panic!("places of texts come from texts"),
        }
    }
    /// The numbers at a fraction of the way through each group.
    pub(super) fn between(&self, fraction: f64, descending: bool, start: usize, end: usize) -> Vec<f64> {
        match self.arranged() {
            Arranged::Integers(v) => {
                copies(v, start, end, |values| between_of(values, fraction, descending, |v| v as f64))
            }
            Arranged::Floats(v) => {
                copies(v, start, end, |values| between_of(values, fraction, descending, keyed_float))
            }
            _ => vec![0.0; end - start],
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
        let median = Quantile { fraction: 0.5f64.to_bits(), descending: false };
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
