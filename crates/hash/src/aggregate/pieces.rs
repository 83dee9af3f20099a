//! `string_agg`: the pieces in order of arrival, put together by group at the end.
//!
//! A log of (group, tag, text). Tags are those of the input's units, and all pieces of a unit come from one worker in
//! order, so a stable sort by tag restores the input's order whatever worker did which unit. DISTINCT has no such
//! order; its pieces are sorted by bytes.

use std::sync::{Arc, OnceLock};

use vector::StringBuilder;

use super::text::TextColumn;

#[derive(Debug)]
pub struct Pieces {
    pub(super) groups: Vec<u32>,
    pub(super) tags: Vec<u64>,
    pub(super) texts: TextColumn,
    delimiter: Arc<str>,
    by_bytes: bool,
    /// The pieces by group, and in a group as they are put together.
    order: OnceLock<Vec<u32>>,
    /// Pieces are ordered rows that carry the text (`plan::functions::ORDERED_ROW`).
    ordered: bool,
}

/// The text that an ordered row carries: behind its keys, whose length is at its end, and behind the mark that it is
/// not NULL.
pub fn carried(row: &[u8]) -> &[u8] {
    let Some((rest, length)) = row.split_last_chunk::<4>() else { return &[] };
    rest.get(u32::from_le_bytes(*length) as usize + 1..).unwrap_or_default()
}

impl Pieces {
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
    pub fn bytes(&self) -> usize {
        self.groups.capacity() * 16 + self.texts.bytes_held()
    }
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
    fn order(&self) -> &[u32] {
        self.order.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.groups.len() as u32).collect();
            if self.by_bytes {
                order.sort_by_key(|piece| {
                    let piece = *piece as usize;
                    (self.groups[piece], self.texts.get(piece))
                });
            } else {
                order.sort_by_key(|piece| (self.groups[*piece as usize], self.tags[*piece as usize]));
            }
            order
        })
    }
    /// The strings of the groups `[start, end)`; groups without pieces get an empty one.
    pub fn finish(&self, start: usize, end: usize) -> vector::Strings {
        let order = self.order();
        let first = order.partition_point(|piece| (self.groups[*piece as usize] as usize) < start);
        let mut out = StringBuilder::with_capacity(end - start);
        let mut text: Vec<u8> = vec![];
        let mut pieces = order[first..].iter().copied().peekable();
        for group in start..end {
            text.clear();
            let mut first = true;
            while let Some(piece) = pieces.next_if(|p| self.groups[*p as usize] as usize == group) {
                if !first {
                    text.extend_from_slice(self.delimiter.as_bytes());
                }
                first = false;
                let piece = self.texts.get(piece as usize);
                text.extend_from_slice(if self.ordered { carried(piece) } else { piece });
            }
            assert!(u32::try_from(text.len()).is_ok(), "a group's text of 4 GiB or more");
            out.push(&text);
        }
        out.finish()
    }
}
