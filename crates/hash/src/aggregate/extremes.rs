//! Least and greatest value by group, and the value of any row.
//!
//! Numbers begin at the value that every other replaces, so the loops have no branch; whether a group had a value at
//! all is known from its counts. Floats are ordered as PostgreSQL has it: NaN is the greatest.

use simd::dispatch;

use super::rows::RowGroups;
use super::sums::{check_groups, merge_each};
use super::text::TextColumn;

/// A number with an order and its ends.
pub trait Extreme: Copy {
    /// No value is less.
    const LEAST: Self;
    /// No value is greater.
    const GREATEST: Self;
    /// Whether `self` comes before `other` in SQL's order.
    fn less(self, other: Self) -> bool;
}
impl Extreme for i64 {
    const LEAST: i64 = i64::MIN;
    const GREATEST: i64 = i64::MAX;
    #[inline(always)]
    fn less(self, other: i64) -> bool {
        self < other
    }
}
impl Extreme for i128 {
    const LEAST: i128 = i128::MIN;
    const GREATEST: i128 = i128::MAX;
    #[inline(always)]
    fn less(self, other: i128) -> bool {
        self < other
    }
}
impl Extreme for f64 {
    const LEAST: f64 = f64::NEG_INFINITY;
    const GREATEST: f64 = f64::NAN;
    #[inline(always)]
    fn less(self, other: f64) -> bool {
        self < other || (other.is_nan() && !self.is_nan())
    }
}

/// The least or the greatest number of each group.
#[derive(Clone, Debug)]
pub struct Extremes<T> {
    pub(super) values: Vec<T>,
    greatest: bool,
}

#[inline(always)]
fn least<T: Extreme>(a: T, b: T) -> T {
    if b.less(a) { b } else { a }
}

#[inline(always)]
fn greatest<T: Extreme>(a: T, b: T) -> T {
    if a.less(b) { b } else { a }
}

dispatch! {
    fn fold_least<T: Extreme>(values: &[T]) -> T {
        values.iter().fold(T::GREATEST, |a, b| least(a, *b))
    }
}

dispatch! {
    fn fold_greatest<T: Extreme>(values: &[T]) -> T {
        values.iter().fold(T::LEAST, |a, b| greatest(a, *b))
    }
}

impl<T: Extreme> Extremes<T> {
    /// `greatest`: keep greatest values instead of least.
    pub fn new(greatest: bool) -> Self {
        Extremes { values: vec![], greatest }
    }
    /// Makes room for groups below `groups`; new ones begin at the value that every other replaces.
    pub fn resize(&mut self, groups: usize) {
        let empty = if self.greatest { T::LEAST } else { T::GREATEST };
        self.values.resize(groups, empty);
    }
    /// Bytes held, for the memory budget.
    pub fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<T>()
    }
    /// The value of each group; meaningless for groups without rows, which counts tell.
    pub fn values(&self) -> &[T] {
        &self.values
    }
    /// Takes a batch's values in. Panics when a group has no room.
    pub fn update(&mut self, groups: RowGroups<'_>, values: &[T]) {
        match groups {
            RowGroups::Single(_) if self.greatest => {
                self.values[0] = greatest(self.values[0], fold_greatest(values));
            }
            RowGroups::Single(_) => self.values[0] = least(self.values[0], fold_least(values)),
            RowGroups::Each(each) => self.update_each(each, values),
            RowGroups::Runs(runs) => self.update_each(runs.each(), values),
        }
    }
    fn update_each(&mut self, groups: &[u32], values: &[T]) {
        check_groups(groups, self.values.len());
        if self.greatest {
            merge_each(&mut self.values, values, None, groups, |a, b| *a = greatest(*a, b));
        } else {
            merge_each(&mut self.values, values, None, groups, |a, b| *a = least(*a, b));
        }
    }
    /// Takes the other's values of the groups `rows` (all when `None`), which are `groups` here.
    pub fn merge(&mut self, other: &Extremes<T>, rows: Option<&[u32]>, groups: &[u32]) {
        if self.greatest {
            merge_each(&mut self.values, &other.values, rows, groups, |a, b| *a = greatest(*a, b));
        } else {
            merge_each(&mut self.values, &other.values, rows, groups, |a, b| *a = least(*a, b));
        }
    }
}

/// Which text a group keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextChoice {
    /// The least in the order of the bytes.
    Least,
    /// The greatest in the order of the bytes.
    Greatest,
    /// The first that comes.
    Any,
}

/// The least, greatest or any text of each group.
#[derive(Debug)]
pub struct TextExtremes {
    /// The text kept for each group, unset where none has come.
    pub values: TextColumn,
    choice: TextChoice,
}

impl TextExtremes {
    /// No groups yet: `values` is resized by the caller.
    pub fn new(choice: TextChoice) -> Self {
        TextExtremes { values: TextColumn::default(), choice }
    }
    /// Replaces the group's text where `bytes` is the better choice.
    #[inline]
    pub fn offer(&mut self, group: usize, bytes: &[u8]) {
        let better = !self.values.is_set(group)
            || match self.choice {
                TextChoice::Least => bytes < self.values.get(group),
                TextChoice::Greatest => bytes > self.values.get(group),
                TextChoice::Any => false,
            };
        if better {
            self.values.set(group, bytes);
        }
    }
    /// Offers a batch's texts, none of which may be NULL.
    pub fn update(&mut self, groups: RowGroups<'_>, text: &vector::Strings) {
        match groups {
            RowGroups::Single(rows) => (0..rows).for_each(|row| self.offer(0, text.get(row))),
            RowGroups::Runs(runs) if self.choice == TextChoice::Any => {
                for (run, group) in runs.groups.iter().enumerate() {
                    self.offer(*group as usize, text.get(runs.starts[run] as usize));
                }
            }
            RowGroups::Each(each) => self.update_each(each, text),
            RowGroups::Runs(runs) => self.update_each(runs.each(), text),
        }
    }
    fn update_each(&mut self, groups: &[u32], text: &vector::Strings) {
        for (row, group) in groups.iter().enumerate() {
            if self.choice != TextChoice::Any || !self.values.is_set(*group as usize) {
                self.offer(*group as usize, text.get(row));
            }
        }
    }
    /// Takes the other's texts of the groups `rows` (all when `None`), which are `groups` here.
    pub fn merge(&mut self, other: &TextExtremes, rows: Option<&[u32]>, groups: &[u32]) {
        for (at, group) in groups.iter().enumerate() {
            let row = rows.map_or(at, |r| r[at] as usize);
            if other.values.is_set(row) {
                self.offer(*group as usize, other.values.get(row));
            }
        }
    }
}
