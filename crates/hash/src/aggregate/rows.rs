//! Which group each row of a batch belongs to.
//!
//! Look-ups of keys produce these forms, `States::update` and its accumulators consume them. A form is chosen for
//! speed and all say the same: one group for all rows, a number a row, runs of adjacent rows with one key (one
//! look-up a run), or bit masks where groups are few. `Runs` is filled in two steps: finding sets `starts`, the
//! look-up then pushes one group a run; `each` spreads them over the rows on first use, and every new search forgets
//! it.

use std::sync::OnceLock;

use vector::{Data, Vector};

/// Adjacent rows of one group, found before any table is asked: one look-up a run instead of one a row.
#[derive(Debug, Default)]
pub struct Runs {
    /// First row of each run, ascending from 0.
    pub starts: Vec<u32>,
    /// The group of each run; filled by the look-up of the keys.
    pub groups: Vec<u32>,
    rows: usize,
    each: OnceLock<Vec<u32>>,
    /// Room for `find_identical`.
    begins: Vec<bool>,
}

impl Runs {
    /// The runs of equal keys, `width` words each.
    pub fn find(&mut self, words: &[u64], width: usize, rows: usize) {
        self.rows = rows;
        self.each.take();
        self.groups.clear();
        self.starts.clear();
        self.starts.resize(rows, 0);
        let starts = &mut self.starts[..];
        let count = match width {
            1 => starts_of(starts, words, |a, b| a[0] != b[0], 1),
            2 => starts_of(starts, words, |a, b| (a[0] ^ b[0]) | (a[1] ^ b[1]) != 0, 2),
            _ => starts_of(starts, words, |a, b| a[..width] != b[..width], width),
        };
        self.starts.truncate(count);
    }
    /// The runs of rows whose values are the same as they lie in memory, if they are half as many as the rows at most.
    /// Equal keys may be in several runs, one behind the other: texts that lie at several places are not compared.
    /// False: the keys have no such runs, or NULLs, and the runs are undefined.
    pub fn find_identical(&mut self, keys: &[Vector], rows: usize) -> bool {
        if rows == 0 || keys.iter().any(Vector::has_nulls) {
            return false;
        }
        self.begins.clear();
        self.begins.resize(rows, false);
        self.begins[0] = true;
        for key in keys {
            let begins = &mut self.begins[1..];
            match key.data() {
                Data::I16(v) => mark_changes(v, begins),
                Data::I32(v) => mark_changes(v, begins),
                Data::I64(v) => mark_changes(v, begins),
                Data::I128(v) => mark_changes(v, begins),
                Data::Bytes(strings) => mark_changes(strings.views(), begins),
                Data::Dictionary { codes, .. } => mark_changes(codes, begins),
                Data::Constant(_) => {}
                _ => return false,
            }
            if self.begins.iter().map(|begins| usize::from(*begins)).sum::<usize>() * 2 > rows {
                return false;
            }
        }
        self.rows = rows;
        self.each.take();
        self.groups.clear();
        self.starts.clear();
        let begins = self.begins.iter().enumerate().filter(|(_, begins)| **begins);
        self.starts.extend(begins.map(|(row, _)| row as u32));
        true
    }
    /// The runs of keys that ascend from `before` on: whether the first run has that key. `None` when they do not
    /// ascend; the runs are undefined then. `words` is room for a bit a row.
    pub fn find_ascending(
        &mut self,
        before: Option<i64>,
        keys: &[i64],
        words: &mut Vec<u64>,
    ) -> Option<bool> {
        let first = *keys.first()?;
        if !simd::differing_neighbours(before.unwrap_or(first), keys, words) {
            return None;
        }
        self.rows = keys.len();
        self.each.take();
        self.groups.clear();
        self.starts.clear();
        // The first row begins a run of this batch, be it a new key or not.
        words[0] |= 1;
        simd::append_indices(words, 0, &mut self.starts);
        Some(before == Some(first))
    }
    /// Number of runs.
    pub fn len(&self) -> usize {
        self.starts.len()
    }
    /// Whether there is no run.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }
    /// Number of rows in all runs together.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// One past the last row of run `run`.
    #[inline]
    pub fn end(&self, run: usize) -> usize {
        self.starts.get(run + 1).map_or(self.rows, |s| *s as usize)
    }
    /// The group of every row.
    pub fn each(&self) -> &[u32] {
        self.each.get_or_init(|| {
            let mut each = Vec::with_capacity(self.rows);
            for (run, group) in self.groups.iter().enumerate() {
                each.resize(self.end(run), *group);
            }
            each
        })
    }
}

/// Marks the values, from the second on, that differ from the one before.
fn mark_changes<T: PartialEq>(values: &[T], marks: &mut [bool]) {
    for (mark, pair) in marks.iter_mut().zip(values.windows(2)) {
        *mark |= pair[0] != pair[1];
    }
}

/// Writes every row's number and advances only where a run begins: no branch to mispredict.
#[inline(always)]
fn starts_of(
    starts: &mut [u32],
    words: &[u64],
    differ: impl Fn(&[u64], &[u64]) -> bool,
    width: usize,
) -> usize {
    let rows = starts.len();
    if rows == 0 || width == 0 {
        return rows.min(1);
    }
    starts[0] = 0;
    let mut count = 1;
    for row in 1..rows {
        let new = differ(&words[(row - 1) * width..], &words[row * width..]);
        // `count <= row`, so the write is in range.
        starts[count.min(row)] = row as u32;
        count += usize::from(new);
    }
    count
}

/// The groups of a batch's selected rows, when they are few: a bit mask for each group and 64 rows.
#[derive(Debug, Default)]
pub struct MaskedGroups {
    /// Parts of at most `simd::FEW_GROUPS` groups each; no group is in two.
    pub parts: Vec<MaskedPart>,
}

/// A few groups of the batch, with their masks.
#[derive(Debug, Default)]
pub struct MaskedPart {
    /// As `simd::group_masks` makes them.
    pub masks: Vec<u64>,
    /// The groups' numbers among the states, and how many selected rows each has.
    pub groups: Vec<u32>,
    /// Selected rows of each of `groups`.
    pub counts: Vec<i64>,
}

/// The groups of a batch's rows.
#[derive(Clone, Copy)]
pub enum RowGroups<'a> {
    /// Every one of so many rows is of group 0.
    Single(usize),
    /// The group of each row.
    Each(&'a [u32]),
    /// Groups of rows that follow each other.
    Runs(&'a Runs),
}

impl RowGroups<'_> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            RowGroups::Single(rows) => *rows,
            RowGroups::Each(groups) => groups.len(),
            RowGroups::Runs(runs) => runs.rows(),
        }
    }
}

#[cfg(test)]
mod tests {
    use types::{Type, Value};
    use vector::StringBuilder;

    use super::*;

    #[test]
    fn identical_neighbours_are_runs() {
        let texts = |texts: &[&str]| {
            let mut builder = StringBuilder::with_capacity(texts.len());
            texts.iter().for_each(|text| builder.push(text.as_bytes()));
            Vector::new(Type::Text, Data::Bytes(builder.finish()), None)
        };
        let distinct = texts(&["short", "a text that is longer", "another long text of these"]);
        let column = distinct.gather(&[0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
        let numbers = Vector::from_i64(Type::BigInt, vec![1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
        let one = Vector::constant(Type::BigInt, Value::I64(1), 10);
        let mut runs = Runs::default();
        assert!(runs.find_identical(&[column.clone(), numbers.clone(), one], 10));
        assert_eq!((runs.starts.as_slice(), runs.rows()), ([0, 2, 4, 6].as_slice(), 10));
        runs.groups.extend([7, 8, 9, 7]);
        assert_eq!(runs.each(), [7, 7, 8, 8, 9, 9, 7, 7, 7, 7]);
        // More runs than half the rows, and values that may be NULL.
        let ascending = Vector::from_i64(Type::BigInt, (0..10).collect());
        assert!(!runs.find_identical(&[column.clone(), ascending], 10));
        let some = Vector::from_i64(Type::BigInt, vec![1; 10])
            .with_validity(Some((0..10).map(|row| row != 4).collect()));
        assert!(!runs.find_identical(&[column, some], 10));
    }
}
