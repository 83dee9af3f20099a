//! Values kept whole until the end, for what depends on their order: quantiles, the mode, the entropy.
//!
//! A log of (group, value), as `pieces` is for texts. At the end it is sorted once by group and value, and each group
//! is a range of that order. Equal values need no order among themselves.

use std::cmp::Ordering;
use std::sync::OnceLock;

use super::extremes::Extreme;
use super::rows::RowGroups;
use super::text::TextColumn;

/// Bytes that the order takes for a value.
const ORDER_BYTES: usize = 4;

#[derive(Debug)]
pub(super) enum Values {
    Integers(Vec<i64>),
    Wide(Vec<i128>),
    Floats(Vec<f64>),
    Texts(TextColumn),
}

#[derive(Debug)]
pub struct Collected {
    pub(super) groups: Vec<u32>,
    pub(super) values: Values,
    order: OnceLock<Vec<u32>>,
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

fn float_order(a: f64, b: f64) -> Ordering {
    if a.less(b) {
        Ordering::Less
    } else if b.less(a) {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

impl Values {
    fn compare(&self, a: usize, b: usize) -> Ordering {
        match self {
            Values::Integers(v) => v[a].cmp(&v[b]),
            Values::Wide(v) => v[a].cmp(&v[b]),
            Values::Floats(v) => float_order(v[a], v[b]),
            Values::Texts(v) => v.get(a).cmp(v.get(b)),
        }
    }
    fn push_from(&mut self, other: &Values, at: usize) {
        match (self, other) {
            (Values::Integers(a), Values::Integers(b)) => a.push(b[at]),
            (Values::Wide(a), Values::Wide(b)) => a.push(b[at]),
            (Values::Floats(a), Values::Floats(b)) => a.push(b[at]),
            (Values::Texts(a), Values::Texts(b)) => a.push(b.get(at)),
            _ => panic!("states of one query have one form"),
        }
    }
}

impl Collected {
    pub(super) fn new(values: Values) -> Self {
        Collected { groups: vec![], values, order: OnceLock::new() }
    }
    pub fn bytes(&self) -> usize {
        let values = match &self.values {
            Values::Integers(v) => v.capacity() * 8,
            Values::Wide(v) => v.capacity() * 16,
            Values::Floats(v) => v.capacity() * 8,
            Values::Texts(v) => v.bytes_held(),
        };
        // The order comes at the end, when nothing can be refused any more.
        self.groups.capacity() * (4 + ORDER_BYTES) + values
    }
    /// Adds the groups of a batch; the values are pushed by the caller.
    pub(super) fn add_groups(&mut self, groups: RowGroups<'_>) {
        self.order.take();
        match groups {
            RowGroups::Single(rows) => self.groups.extend(std::iter::repeat_n(0, rows)),
            RowGroups::Each(each) => self.groups.extend_from_slice(each),
            RowGroups::Runs(runs) => self.groups.extend_from_slice(runs.each()),
        }
    }
    /// Takes the other's values of the groups `rows` (all when `None`), which are `groups` here.
    pub fn merge(&mut self, other: &Collected, rows: Option<&[u32]>, groups: &[u32]) {
        self.order.take();
        let mut here = vec![u32::MAX; other.groups.iter().max().map_or(0, |g| *g as usize + 1)];
        for (at, group) in groups.iter().enumerate() {
            let row = rows.map_or(at, |r| r[at] as usize);
            if let Some(slot) = here.get_mut(row) {
                *slot = *group;
            }
        }
        for (at, group) in other.groups.iter().enumerate() {
            let group = here[*group as usize];
            if group != u32::MAX {
                self.groups.push(group);
                self.values.push_from(&other.values, at);
            }
        }
    }
    fn order(&self) -> &[u32] {
        self.order.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.groups.len() as u32).collect();
            order.sort_unstable_by(|a, b| {
                let (a, b) = (*a as usize, *b as usize);
                self.groups[a].cmp(&self.groups[b]).then_with(|| self.values.compare(a, b))
            });
            order
        })
    }
    /// The values of each of the groups `[start, end)`, in order.
    fn by_group(&self, start: usize, end: usize) -> impl Iterator<Item = &[u32]> {
        let order = self.order();
        let mut at = order.partition_point(|v| (self.groups[*v as usize] as usize) < start);
        (start..end).map(move |group| {
            let length =
                order[at..].iter().take_while(|v| self.groups[**v as usize] as usize == group).count();
            at += length;
            &order[at - length..at]
        })
    }
    /// Which value each of the groups `[start, end)` has; groups without values have any.
    pub(super) fn choose(&self, choice: Choice, start: usize, end: usize) -> Vec<Option<usize>> {
        let pick = |values: &[u32]| {
            if values.is_empty() {
                return None;
            }
            let place = match choice {
                Choice::Quantile { fraction, descending } => {
                    quantile_place(values.len(), f64::from_bits(fraction), descending)
                }
                Choice::Mode => {
                    runs(values.len(), |a, b| {
                        self.values.compare(values[a] as usize, values[b] as usize).is_eq()
                    })
                    .0
                }
            };
            Some(values[place] as usize)
        };
        self.by_group(start, end).map(pick).collect()
    }
    /// The numbers at a fraction of the way through each group.
    pub(super) fn between(&self, fraction: f64, descending: bool, start: usize, end: usize) -> Vec<f64> {
        let number = |at: u32| match &self.values {
            Values::Floats(v) => v[at as usize],
            Values::Integers(v) => v[at as usize] as f64,
            _ => 0.0,
        };
        self.by_group(start, end)
            .map(|values| {
                if values.is_empty() {
                    return 0.0;
                }
                let (low, high, part) = quantile_between(values.len(), fraction, descending);
                interpolated(number(values[low]), number(values[high]), part)
            })
            .collect()
    }
    pub(super) fn entropies(&self, start: usize, end: usize) -> Vec<f64> {
        self.by_group(start, end)
            .map(|values| {
                runs(values.len(), |a, b| self.values.compare(values[a] as usize, values[b] as usize).is_eq())
                    .1
            })
            .collect()
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
        let Values::Integers(values) = &a.values else { panic!() };
        let picked: Vec<Option<i64>> =
            a.choose(median, 0, 3).into_iter().map(|p| p.map(|p| values[p])).collect();
        assert_eq!(picked, [Some(5), Some(3), None]);
    }
}
