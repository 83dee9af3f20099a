//! `string_agg`: the pieces in order of arrival, put together by group at the end.
//!
//! A log of (group, tag, text). Tags are those of the input's units, and all pieces of a unit come from one worker in
//! order, so a stable sort by tag restores the input's order whatever worker did which unit. DISTINCT has no such
//! order; its pieces are sorted by bytes.

use std::sync::{Arc, OnceLock};

use vector::StringBuilder;

use super::grouped::group_starts;
use super::text::TextColumn;

/// The pieces of all groups, and how to put them together.
#[derive(Debug)]
pub struct Pieces {
    pub(super) groups: Vec<u32>,
    pub(super) tags: Vec<u64>,
    pub(super) texts: TextColumn,
    delimiter: Arc<str>,
    by_bytes: bool,
    order: OnceLock<Order>,
    /// Pieces are ordered rows that carry the text (`plan::functions::ORDERED_ROW`).
    ordered: bool,
}

/// The pieces by group, and in a group as they are put together; those of group g are `[starts[g], starts[g + 1])`.
#[derive(Debug)]
struct Order {
    starts: Vec<usize>,
    pieces: Vec<u32>,
}

/// The text that an ordered row carries: behind its keys, whose length is at its end, and behind the mark that it is
/// not NULL.
pub fn carried(row: &[u8]) -> &[u8] {
    let Some((rest, length)) = row.split_last_chunk::<4>() else { return &[] };
    rest.get(u32::from_le_bytes(*length) as usize + 1..).unwrap_or_default()
}

impl Pieces {
    /// `by_bytes`: pieces are sorted by their bytes instead of by arrival; `ordered`: they are ordered rows, and
    /// sorted so too.
    pub fn new(delimiter: Arc<str>, by_bytes: bool, ordered: bool) -> Self {
        Pieces {
            groups: vec![],
            tags: vec![],
            texts: TextColumn::default(),
            delimiter,
            by_bytes: by_bytes || ordered,
            order: OnceLock::new(),
            ordered,
        }
    }
    /// Bytes held, for the memory budget.
    pub fn bytes(&self) -> usize {
        self.groups.capacity() * 16 + self.texts.bytes_held()
    }
    /// Adds a piece of the group, from the input's unit `tag`.
    pub fn push(&mut self, group: u32, tag: u64, text: &[u8]) {
        self.order.take();
        self.groups.push(group);
        self.tags.push(tag);
        self.texts.push(text);
    }
    /// Takes the other's pieces of the groups `rows` (all when `None`), which are `groups` here.
    pub fn merge(&mut self, other: &Pieces, rows: Option<&[u32]>, groups: &[u32]) {
        let mut here = vec![u32::MAX; other.groups.iter().max().map_or(0, |g| *g as usize + 1)];
        for (at, group) in groups.iter().enumerate() {
            let row = rows.map_or(at, |r| r[at] as usize);
            if let Some(slot) = here.get_mut(row) {
                *slot = *group;
            }
        }
        for (piece, group) in other.groups.iter().enumerate() {
            let group = here[*group as usize];
            if group != u32::MAX {
                self.push(group, other.tags[piece], other.texts.get(piece));
            }
        }
    }
    fn order(&self) -> &Order {
        self.order.get_or_init(|| {
            let starts = group_starts(self.groups.iter().copied());
            let mut next = starts.clone();
            let mut pieces = vec![0u32; self.groups.len()];
            for (piece, group) in self.groups.iter().enumerate() {
                let place = &mut next[*group as usize];
                pieces[*place] = piece as u32;
                *place += 1;
            }
            let tag = |piece: &u32| self.tags[*piece as usize];
            for range in starts.windows(2) {
                let group = &mut pieces[range[0]..range[1]];
                if self.by_bytes {
                    group.sort_by(|a, b| self.texts.get(*a as usize).cmp(self.texts.get(*b as usize)));
                } else if !group.is_sorted_by_key(tag) {
                    // Stable: the pieces of a unit are in order.
                    group.sort_by_key(tag);
                }
            }
            Order { starts, pieces }
        })
    }
    /// The strings of the groups `[start, end)`; groups without pieces get an empty one.
    pub fn finish(&self, start: usize, end: usize) -> vector::Strings {
        let Order { starts, pieces } = self.order();
        let mut out = StringBuilder::with_capacity(end - start);
        let mut text: Vec<u8> = vec![];
        for group in start..end {
            text.clear();
            let range = match (starts.get(group), starts.get(group + 1)) {
                (Some(start), Some(end)) => *start..*end,
                _ => 0..0,
            };
            for (at, piece) in pieces[range].iter().enumerate() {
                if at > 0 {
                    text.extend_from_slice(self.delimiter.as_bytes());
                }
                let piece = self.texts.get(*piece as usize);
                text.extend_from_slice(if self.ordered { carried(piece) } else { piece });
            }
            assert!(u32::try_from(text.len()).is_ok(), "a group's text of 4 GiB or more");
            out.push(&text);
        }
        out.finish()
    }
}
