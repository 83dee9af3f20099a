//! `string_agg`: the pieces in order of arrival, put together by group at the end.
//!
//! A log of (group, tag, text). Tags are those of the input's units, and all pieces of a unit come from one worker in
//! order, so a stable sort by tag restores the input's order whatever worker did which unit. DISTINCT has no such
//! order; its pieces are sorted by bytes.
//!
//! While pieces come unit by unit, the log keeps a tag for each run of them: putting them in order is then a matter of
//! the runs. A log that took some groups out of others has a tag for every piece.
//!
//! A log of several groups is arranged once (one group's is read as it is), when the first merge takes some of its
//! groups or when the first groups are finished: tags and views are moved, so that what reads a group, of how many
//! there may be, reads neighbours. Each merge then reads the pieces of its own groups only. Several workers read one
//! log at the same time.
//!
//! ```text
//!  log        groups 1 0 1    tags 4 from 0, 9 from 2    views a b c
//!  arranged   starts 0 1 3    (4, b) | (4, a) (9, c)
//! ```

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use vector::strings::{INLINE_BYTES, view_length};
use vector::{StringBuilder, Strings};

use super::counted::with_viewed;
use super::grouped::{Grouped, STEP_GROUPS};
use super::rows::RowGroups;
use super::text::TextColumn;

/// A piece as it is arranged for merges: the tag, and the view of the text in two words, the lower one first.
type Placed = [u64; 3];

/// Pieces of one unit, one behind the other, up to the next run.
#[derive(Clone, Copy, Debug)]
struct Run {
    tag: u64,
    start: usize,
}

/// Of which units the pieces are.
#[derive(Debug)]
enum Tags {
    Runs(Vec<Run>),
    Each(Vec<u64>),
}

impl Tags {
    fn bytes(&self) -> usize {
        match self {
            Tags::Runs(runs) => runs.capacity() * size_of::<Run>(),
            Tags::Each(tags) => tags.capacity() * 8,
        }
    }
}

/// The pieces of all groups, and how to put them together.
#[derive(Debug)]
pub struct Pieces {
    groups: Vec<u32>,
    tags: Tags,
    texts: TextColumn,
    delimiter: Arc<str>,
    by_bytes: bool,
    /// The greatest group that has a piece.
    last: u32,
    /// By group, with tags, for merges and where every piece has one.
    arranged: OnceLock<Grouped<Placed>>,
    /// By group in the order in which they are put together, where runs have the tags.
    ordered_views: OnceLock<Grouped<u128>>,
    /// Pieces are ordered rows that carry the text (`plan::functions::ORDERED_ROW`).
    ordered: bool,
    /// Only so many first pieces of a group are wanted.
    most: usize,
    /// By group, what the first bytes of a piece are at most that may still be among them.
    cuts: Vec<u128>,
    /// The number of pieces at which those that are not wanted are dropped.
    dropped_at: usize,
}

/// The text that an ordered row carries: behind its keys, whose length is at its end, and behind the mark that it is
/// not NULL.
pub fn carried(row: &[u8]) -> &[u8] {
    let Some((rest, length)) = row.split_last_chunk::<4>() else { return &[] };
    rest.get(u32::from_le_bytes(*length) as usize + 1..).unwrap_or_default()
}

/// The first sixteen bytes, zeros behind the end: their order does not contradict that of the pieces.
fn prefix(piece: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let length = piece.len().min(bytes.len());
    bytes[..length].copy_from_slice(&piece[..length]);
    u128::from_be_bytes(bytes)
}

fn placed(tag: u64, view: u128) -> Placed {
    [tag, view as u64, (view >> 64) as u64]
}

fn view(placed: &Placed) -> u128 {
    u128::from(placed[1]) | u128::from(placed[2]) << 64
}

/// The runs of a log of `len` pieces, in the order of their tags; those of one tag stay in theirs.
fn in_order(runs: &[Run], len: usize) -> Vec<(u64, Range<usize>)> {
    let ends = runs.iter().skip(1).map(|run| run.start).chain([len]);
    let mut all: Vec<_> = runs.iter().zip(ends).map(|(run, end)| (run.tag, run.start..end)).collect();
    all.sort_by_key(|(tag, _)| *tag);
    all
}

impl Pieces {
    /// `by_bytes`: pieces are sorted by their bytes instead of by arrival; `ordered`: they are ordered rows, and
    /// sorted so too.
    pub fn new(delimiter: Arc<str>, by_bytes: bool, ordered: bool) -> Self {
        Pieces {
            groups: vec![],
            tags: Tags::Runs(vec![]),
            texts: TextColumn::default(),
            delimiter,
            by_bytes: by_bytes || ordered,
            last: 0,
            arranged: OnceLock::new(),
            ordered_views: OnceLock::new(),
            ordered,
            most: usize::MAX,
            cuts: vec![],
            dropped_at: DROPPED_AT_MIN,
        }
    }
    /// Where only some first pieces of a group are wanted, in the order of their bytes: the others are dropped as they
    /// come.
    #[must_use]
    pub fn of_first(mut self, most: Option<u32>) -> Self {
        if self.ordered {
            self.most = most.map_or(usize::MAX, |most| most as usize);
        }
        self
    }
    /// Those of a file.
    pub(super) fn fill(&mut self, groups: Vec<u32>, tags: Vec<u64>, texts: TextColumn) {
        self.last = groups.iter().copied().max().unwrap_or(0);
        (self.groups, self.tags, self.texts) = (groups, Tags::Each(tags), texts);
    }
    /// For a file: the group, the tag and the text of each piece.
    pub(super) fn into_parts(mut self) -> (Vec<u32>, Vec<u64>, TextColumn) {
        let tags = std::mem::take(self.each_tag());
        (self.groups, tags, self.texts)
    }
    /// Bytes held, for the memory budget, with the arrangement that merges and the end make.
    pub fn bytes(&self) -> usize {
        let pieces = self.groups.len();
        let arranged = match self.last as usize {
            0 if matches!(self.tags, Tags::Runs(_)) && !self.by_bytes => 0,
            // Their order and views, and half of these while they are sorted.
            0 => pieces * 32,
            last if last + 2 <= STEP_GROUPS => pieces * size_of::<Placed>() / 2 * 3,
            _ => Grouped::<Placed>::bytes_of(pieces),
        };
        self.groups.capacity() * 4
            + self.cuts.capacity() * 16
            + self.tags.bytes()
            + arranged
            + self.texts.bytes_held()
    }
    /// Adds a batch's pieces, from the input's unit `tag`.
    pub fn extend(&mut self, groups: RowGroups<'_>, tag: u64, texts: &Strings) {
        if self.most < usize::MAX {
            return match groups {
                RowGroups::Single(_) => self.extend_first(|_| 0, texts),
                RowGroups::Each(each) => self.extend_first(|row| each[row], texts),
                RowGroups::Runs(runs) => {
                    let each = runs.each();
                    self.extend_first(|row| each[row], texts);
                }
            };
        }
        self.begin(tag, groups.rows());
        match groups {
            RowGroups::Single(rows) => self.groups.resize(self.groups.len() + rows, 0),
            RowGroups::Each(each) => self.take_groups(each),
            RowGroups::Runs(runs) => self.take_groups(runs.each()),
        }
        self.texts.extend(texts);
    }
    /// Adds those pieces that may be among the first of their groups.
    fn extend_first(&mut self, group: impl Fn(usize) -> u32, texts: &Strings) {
        for (row, piece) in texts.iter().enumerate() {
            let group = group(row);
            if self.cuts.get(group as usize).is_none_or(|cut| prefix(piece) <= *cut) {
                self.begin(0, 1);
                self.groups.push(group);
                self.texts.push(piece);
                self.last = self.last.max(group);
            }
        }
        if self.groups.len() >= self.dropped_at {
            self.drop_others();
        }
    }
    /// Drops the pieces that are not among the first of their groups.
    fn drop_others(&mut self) {
        let mut arranged = Grouped::of(self.groups.iter().copied(), |piece| self.texts.view(piece));
        let (mut groups, mut texts, mut cuts) = (vec![], TextColumn::default(), vec![]);
        arranged.each_mut(|views| {
            let mut cut = u128::MAX;
            if let Some(last) = self.most.checked_sub(1).filter(|last| *last < views.len()) {
                let (_, greatest, _) = views.select_nth_unstable_by(last, |a, b| self.compared(*a, *b));
                cut = with_viewed(*greatest, &self.texts, prefix);
            }
            for view in views.iter().take(self.most) {
                groups.push(cuts.len() as u32);
                texts.push_viewed(&self.texts, *view);
            }
            cuts.push(cut);
        });
        self.tags = Tags::Runs(if groups.is_empty() { vec![] } else { vec![Run { tag: 0, start: 0 }] });
        self.dropped_at = (groups.len() * 2).max(DROPPED_AT_MIN);
        (self.groups, self.texts, self.cuts) = (groups, texts, cuts);
        self.arranged.take();
        self.ordered_views.take();
    }
    fn take_groups(&mut self, groups: &[u32]) {
        self.groups.extend_from_slice(groups);
        self.last = groups.iter().fold(self.last, |last, group| last.max(*group));
    }
    /// `pieces` pieces of the unit follow, whose groups and texts the caller adds.
    #[inline]
    fn begin(&mut self, tag: u64, pieces: usize) {
        self.arranged.take();
        self.ordered_views.take();
        if pieces == 0 {
            return;
        }
        // In the order of bytes all units are one.
        let tag = if self.by_bytes { 0 } else { tag };
        match &mut self.tags {
            Tags::Runs(runs) => {
                if runs.last().is_none_or(|run| run.tag != tag) {
                    runs.push(Run { tag, start: self.groups.len() });
                }
            }
            Tags::Each(tags) => tags.resize(tags.len() + pieces, tag),
        }
    }
    /// The tags of the pieces, one each from now on.
    fn each_tag(&mut self) -> &mut Vec<u64> {
        if let Tags::Runs(runs) = &self.tags {
            let mut tags = Vec::with_capacity(self.groups.len());
            let ends = runs.iter().skip(1).map(|run| run.start).chain([self.groups.len()]);
            runs.iter().zip(ends).for_each(|(run, end)| tags.resize(end, run.tag));
            self.tags = Tags::Each(tags);
        }
        match &mut self.tags {
            Tags::Each(tags) => tags,
            Tags::Runs(_) => unreachable!("the tags were taken apart above"),
        }
    }
    /// Takes the other's pieces of the groups `rows` (all when `None`), which are `groups` here.
    pub fn merge(&mut self, other: &Pieces, rows: Option<&[u32]>, groups: &[u32]) {
        match rows {
            None => self.take_all(other, |group| groups[group as usize]),
            Some(rows) if other.last == 0 => {
                if let Some((_, group)) = rows.iter().zip(groups).find(|(row, _)| **row == 0) {
                    self.take_all(other, |_| *group);
                }
            }
            Some(rows) => {
                if !self.by_bytes {
                    self.each_tag();
                }
                let arranged = other.arranged();
                for (row, group) in rows.iter().zip(groups) {
                    let pieces = arranged.group(*row as usize);
                    for piece in pieces {
                        self.begin(piece[0], 1);
                        self.groups.push(*group);
                        self.texts.push_viewed(&other.texts, view(piece));
                    }
                    if !pieces.is_empty() {
                        self.last = self.last.max(*group);
                    }
                }
            }
        }
    }
    fn take_all(&mut self, other: &Pieces, group: impl Fn(u32) -> u32) {
        let base = self.groups.len();
        match &other.tags {
            Tags::Runs(runs) => {
                let ends = runs.iter().skip(1).map(|run| run.start).chain([other.groups.len()]);
                for (run, end) in runs.iter().zip(ends) {
                    self.begin(run.tag, end - run.start);
                    self.groups.extend(other.groups[run.start..end].iter().map(|of| group(*of)));
                }
            }
            Tags::Each(tags) => {
                for (of, tag) in other.groups.iter().zip(tags) {
                    self.begin(*tag, 1);
                    self.groups.push(group(*of));
                }
            }
        }
        self.last = self.groups[base..].iter().fold(self.last, |last, group| last.max(*group));
        (0..other.texts.len())
            .for_each(|piece| self.texts.push_viewed(&other.texts, other.texts.view(piece)));
    }
    /// Pieces by group, each with its tag; in order, where every piece has one, or bytes decide.
    fn arranged(&self) -> &Grouped<Placed> {
        self.arranged.get_or_init(|| {
            let view_of = |piece: usize| self.texts.view(piece);
            match &self.tags {
                Tags::Runs(runs) => {
                    let runs = in_order(runs, self.groups.len());
                    let each = runs.iter().flat_map(|(tag, run)| run.clone().map(|piece| (*tag, piece)));
                    let each = each.map(|(tag, piece)| (self.groups[piece], placed(tag, view_of(piece))));
                    Grouped::of_pairs(each)
                }
                Tags::Each(tags) => {
                    let place = |piece: usize| placed(tags[piece], view_of(piece));
                    let mut arranged = Grouped::of(self.groups.iter().copied(), place);
                    arranged.each_mut(|pieces| {
                        if self.by_bytes {
                            self.sort_by_bytes(pieces, view);
                        } else if !pieces.is_sorted_by_key(|piece| piece[0]) {
                            // Stable: the pieces of a unit are in order.
                            pieces.sort_by_key(|piece| piece[0]);
                        }
                    });
                    arranged
                }
            }
        })
    }
    fn views_in_order(&self, runs: &[Run]) -> &Grouped<u128> {
        self.ordered_views.get_or_init(|| {
            let runs = in_order(runs, self.groups.len());
            let pieces = runs.iter().flat_map(|(_, run)| run.clone());
            let mut arranged =
                Grouped::of_pairs(pieces.map(|piece| (self.groups[piece], self.texts.view(piece))));
            if self.by_bytes {
                arranged.each_mut(|views| self.sort_by_bytes(views, |view| *view));
            }
            arranged
        })
    }
    /// The strings of the groups `[start, end)`; groups without pieces get an empty one.
    pub fn finish(&self, start: usize, end: usize) -> Strings {
        let mut out = StringBuilder::with_capacity(end - start);
        match &self.tags {
            Tags::Runs(runs) if self.last == 0 && !self.by_bytes => {
                let runs = in_order(runs, self.groups.len());
                for group in start..end {
                    let runs = if group == 0 { runs.as_slice() } else { &[] };
                    let pieces = runs.iter().flat_map(|(_, run)| run.clone());
                    self.put_out(pieces.map(|piece| self.texts.view(piece)), &mut out);
                }
            }
            _ if self.last == 0 => {
                let all = self.all_views();
                for group in start..end {
                    self.put_out(all.iter().copied().filter(|_| group == 0), &mut out);
                }
            }
            Tags::Runs(runs) => {
                let arranged = self.views_in_order(runs);
                (start..end).for_each(|group| self.put_out(arranged.group(group).iter().copied(), &mut out));
            }
            Tags::Each(_) => {
                let arranged = self.arranged();
                (start..end).for_each(|group| self.put_out(arranged.group(group).iter().map(view), &mut out));
            }
        }
        out.finish()
    }
    /// The views of all pieces in order, those of the only group.
    fn all_views(&self) -> Vec<u128> {
        let view = |piece: usize| self.texts.view(piece);
        let mut views: Vec<u128> = match &self.tags {
            Tags::Runs(runs) => {
                in_order(runs, self.groups.len()).into_iter().flat_map(|(_, run)| run.map(view)).collect()
            }
            Tags::Each(tags) => {
                let mut order: Vec<usize> = (0..self.texts.len()).collect();
                order.sort_by_key(|piece| tags[*piece]);
                order.into_iter().map(view).collect()
            }
        };
        if self.by_bytes {
            self.sort_by_bytes(&mut views, |view| *view);
        }
        views
    }
    /// Sorts pieces by their bytes, of which the first sixteen are read once and decide most comparisons.
    fn sort_by_bytes<T: Copy>(&self, pieces: &mut [T], view: impl Fn(&T) -> u128) {
        if pieces.len() <= FEW {
            pieces.sort_by(|a, b| self.compared(view(a), view(b)));
            return;
        }
        let mut keyed: Vec<(u128, T)> =
            pieces.iter().map(|piece| (with_viewed(view(piece), &self.texts, prefix), *piece)).collect();
        // Equal pieces are one and the same to who reads them.
        keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.compared(view(&a.1), view(&b.1))));
        for (place, (_, piece)) in pieces.iter_mut().zip(keyed) {
            *place = piece;
        }
    }
    fn compared(&self, a: u128, b: u128) -> std::cmp::Ordering {
        with_viewed(a, &self.texts, |a| with_viewed(b, &self.texts, |b| a.cmp(b)))
    }
    /// Appends a group's text, written where it stays.
    fn put_out(&self, pieces: impl Iterator<Item = u128> + Clone, out: &mut StringBuilder) {
        let (delimiter, pieces) = (self.delimiter.as_bytes(), pieces.take(self.most));
        let bytes: usize = pieces.clone().map(|view| view_length(view) + delimiter.len()).sum();
        assert!(u32::try_from(bytes).is_ok(), "a group's text of 4 GiB or more");
        // Short pieces are written with what is cut off behind them.
        out.push_written(bytes + size_of::<u128>(), |text| {
            let mut pieces = pieces;
            if let Some(first) = pieces.next() {
                self.write(first, text);
            }
            if delimiter.len() <= DELIMITER_BYTES_SHORT && !self.ordered {
                self.write_short(pieces, text);
                return;
            }
            pieces.for_each(|view| {
                text.extend_from_slice(delimiter);
                self.write(view, text);
            });
        });
    }
    /// Pieces behind a short delimiter each: one that is in its view is written by two stores of constant length.
    #[inline]
    fn write_short(&self, pieces: impl Iterator<Item = u128>, text: &mut Vec<u8>) {
        let delimiter = self.delimiter.as_bytes();
        let mut before = [0; DELIMITER_BYTES_SHORT];
        before[..delimiter.len()].copy_from_slice(delimiter);
        for view in pieces {
            text.extend_from_slice(&before);
            text.truncate(text.len() - DELIMITER_BYTES_SHORT + delimiter.len());
            let length = view_length(view);
            if length <= INLINE_BYTES {
                text.extend_from_slice(&view.to_le_bytes()[16 - INLINE_BYTES..]);
                text.truncate(text.len() - INLINE_BYTES + length);
            } else {
                text.extend_from_slice(self.texts.viewed(view));
            }
        }
    }
    fn write(&self, view: u128, text: &mut Vec<u8>) {
        with_viewed(view, &self.texts, |piece| {
            text.extend_from_slice(if self.ordered { carried(piece) } else { piece });
        });
    }
}

/// At fewer pieces than these none is dropped.
const DROPPED_AT_MIN: usize = if cfg!(test) { 64 } else { 1 << 15 };
/// Pieces of a group that are sorted where they lie.
const FEW: usize = 16;

/// Delimiters of at most so many bytes are written by one store.
const DELIMITER_BYTES_SHORT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn push(pieces: &mut Pieces, group: u32, tag: u64, text: &str) {
        let mut one = StringBuilder::with_capacity(1);
        one.push(text.as_bytes());
        pieces.extend(RowGroups::Each(&[group]), tag, &one.finish());
    }

    fn texts(pieces: &Pieces, groups: usize) -> Vec<String> {
        let strings = pieces.finish(0, groups);
        (0..groups).map(|group| String::from_utf8_lossy(strings.get(group)).into_owned()).collect()
    }

    #[test]
    fn pieces_are_in_the_order_of_the_input_whoever_had_them() {
        for groups in [1u32, 3, 1000] {
            let piece = |row: u32| {
                if row.is_multiple_of(7) {
                    format!("{row} is more than twelve bytes")
                } else {
                    row.to_string()
                }
            };
            let group = |row: u32| row.wrapping_mul(2_654_435_761) % groups;
            let mut expected = vec![vec![]; groups as usize];
            (0..5000).for_each(|row| expected[group(row) as usize].push(piece(row)));
            let expected: Vec<String> = expected.into_iter().map(|pieces| pieces.join("; ")).collect();
            // Units of a hundred rows, every other one another worker's.
            let worker = |own: u32| {
                let mut pieces = Pieces::new("; ".into(), false, false);
                for row in (0..5000).filter(|row| row / 100 % 2 == own) {
                    push(&mut pieces, group(row), u64::from(row / 100), &piece(row));
                }
                pieces
            };
            let (even, odd) = (worker(0), worker(1));
            let numbers: Vec<u32> = (0..groups).collect();
            for (first, second) in [(&even, &odd), (&odd, &even)] {
                for rows in [None, Some(numbers.as_slice())] {
                    let mut merged = Pieces::new("; ".into(), false, false);
                    merged.merge(first, rows, &numbers);
                    merged.merge(second, rows, &numbers);
                    assert_eq!(texts(&merged, groups as usize), expected);
                }
            }
            // Groups that another takes, under another number.
            let mut some = Pieces::new("; ".into(), false, false);
            some.merge(&even, Some(&[groups - 1]), &[1]);
            some.merge(&odd, Some(&[groups - 1]), &[1]);
            assert_eq!(texts(&some, 3), ["", &expected[groups as usize - 1], ""]);
        }
    }

    #[test]
    fn the_first_of_each_group_are_kept() {
        let row = |number: u32| {
            // A key of four bytes, and a text that is not NULL.
            let mut row = number.to_be_bytes().to_vec();
            row.extend(format!("\u{1}{number},").bytes());
            row.extend(4u32.to_le_bytes());
            row
        };
        for groups in [1u32, 3, 50] {
            let worker = |own: u32| {
                let mut pieces = Pieces::new("".into(), false, true).of_first(Some(4));
                for number in (0..4000u32).filter(|n| n % 2 == own) {
                    let number = number.wrapping_mul(2_654_435_761) % 100_003;
                    let mut one = StringBuilder::with_capacity(1);
                    one.push(&row(number));
                    pieces.extend(RowGroups::Each(&[number % groups]), 0, &one.finish());
                }
                assert!(pieces.groups.len() <= (groups as usize * 8).max(128));
                pieces
            };
            let all: Vec<u32> = (0..groups).collect();
            let mut merged = Pieces::new("".into(), false, true).of_first(Some(4));
            merged.merge(&worker(0), Some(&all), &all);
            merged.merge(&worker(1), None, &all);
            let mut numbers: Vec<u32> =
                (0..4000u32).map(|n| n.wrapping_mul(2_654_435_761) % 100_003).collect();
            numbers.sort_unstable();
            let expected = |group: u32| -> String {
                let of = numbers.iter().filter(|n| *n % groups == group).take(4);
                of.map(|n| format!("{n},")).collect()
            };
            assert_eq!(texts(&merged, groups as usize), all.iter().map(|g| expected(*g)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_group_is_not_arranged() {
        let mut one = Pieces::new(",".into(), false, false);
        (0..1000).for_each(|_| push(&mut one, 0, 0, "text"));
        let bytes = one.bytes();
        push(&mut one, 1, 0, "text");
        assert!(
            one.bytes() >= bytes + 1000 * size_of::<Placed>(),
            "the arrangement of two groups is charged"
        );
    }
}
