//! The value of the input's first or last row: the row's tag and the value, a group.
//!
//! Rows of one unit have one tag and come from one worker in order, so among equal tags the earlier update is the
//! earlier row.

use super::rows::RowGroups;
use super::text::TextColumn;

/// The first or last value of each group, with the tag of the input's unit that it came in.
#[derive(Debug)]
pub struct Arrivals {
    last: bool,
    pub(super) tags: Vec<u64>,
    pub(super) values: TextColumn,
}

impl Arrivals {
    /// `last`: keep the last row's value instead of the first's.
    pub fn new(last: bool) -> Self {
        Arrivals { last, tags: vec![], values: TextColumn::default() }
    }
    /// Makes room for groups below `groups`; new groups have no value yet.
    pub fn resize(&mut self, groups: usize) {
        self.tags.resize(groups, 0);
        self.values.resize(groups);
    }
    /// Bytes held, for the memory budget.
    pub fn bytes(&self) -> usize {
        self.tags.capacity() * 8 + self.values.bytes_held()
    }
    fn offer(&mut self, group: usize, tag: u64, value: &[u8]) {
        let better = !self.values.is_set(group)
            || if self.last { tag >= self.tags[group] } else { tag < self.tags[group] };
        if better {
            self.tags[group] = tag;
            self.values.set(group, value);
        }
    }
    /// Adds a batch's rows. All of them have the tag `tag`, and none of the values may be NULL.
    pub fn update(&mut self, groups: RowGroups<'_>, values: &vector::Strings, tag: u64) {
        match groups {
            RowGroups::Single(rows) => (0..rows).for_each(|row| self.offer(0, tag, values.get(row))),
            RowGroups::Each(each) => {
                each.iter().enumerate().for_each(|(row, g)| self.offer(*g as usize, tag, values.get(row)));
            }
            RowGroups::Runs(runs) => {
                runs.each()
                    .iter()
                    .enumerate()
                    .for_each(|(row, g)| self.offer(*g as usize, tag, values.get(row)));
            }
        }
    }
    /// Takes the other's values of the groups `rows` (all when `None`), which are `groups` here.
    pub fn merge(&mut self, other: &Arrivals, rows: Option<&[u32]>, groups: &[u32]) {
        for (at, group) in groups.iter().enumerate() {
            let row = rows.map_or(at, |r| r[at] as usize);
            if other.values.is_set(row) {
                self.offer(*group as usize, other.tags[row], other.values.get(row));
            }
        }
    }
}
