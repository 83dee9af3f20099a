//! `string_agg`: the pieces in order of arrival, put together by group at the end.
//!
//! A log of (group, unit, text). Units are those of the input, and all pieces of one come from one worker in order, so
//! that the order of their tags restores the input's order whatever worker did which unit. DISTINCT has no such order;
//! its pieces are sorted by bytes.
//!
//! ```text
//!  own log    groups 1 0 1    units 0 0 1    texts a b c      tags of the units 7 9
//!  taken      (log of another, its group -> group here), ...
//! ```
//! Merging copies no piece: logs are shared, and which of their groups were taken is kept beside them. Each is arranged
//! by group once, by the first that needs it.

use std::sync::{Arc, OnceLock};

use types::{Error, Result};
use vector::strings::{INLINE_BYTES, inline_view, view_length};
use vector::{StringBuilder, Strings};

use super::grouped::Grouped;
use super::lookups::with_viewed;
use super::rows::RowGroups;
use super::text::TextColumn;

/// The pieces of all groups, and how to put them together.
#[derive(Debug)]
pub struct Pieces {
    /// What was added here, later than all that was taken.
    log: Arc<Log>,
    taken: Vec<Taken>,
    delimiter: Arc<str>,
    by_bytes: bool,
    /// Pieces are ordered rows that carry the text (`plan::functions::ORDERED_ROW`).
    ordered: bool,
    /// For each group which of `taken`, and its number there.
    sources: OnceLock<Grouped<(u32, u32)>>,
}

#[derive(Clone, Debug, Default)]
struct Log {
    groups: Vec<u32>,
    /// Places among `tags`.
    units: Vec<u32>,
    texts: TextColumn,
    /// Of the units, one behind the other; a unit may be there several times.
    tags: Vec<u64>,
    /// One more than the greatest group.
    count: usize,
    arranged: OnceLock<Grouped<Piece>>,
}

/// A piece by itself: reading those of a group, one behind the other, needs nothing else of the log.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    unit: u32,
    /// The text's view, in four parts so that a piece takes 20 bytes.
    view: [u32; 4],
}

impl Piece {
    fn view(&self) -> u128 {
        self.view.iter().rev().fold(0, |view, part| view << 32 | u128::from(*part))
    }
}

/// Groups of another's log.
#[derive(Debug)]
struct Taken {
    log: Arc<Log>,
    /// Their numbers there and here.
    groups: Vec<(u32, u32)>,
}

/// Pieces of one group and unit.
#[derive(Clone, Copy)]
struct Run<'a> {
    tag: u64,
    log: &'a Log,
    pieces: &'a [Piece],
}

/// The text that an ordered row carries: behind its keys, whose length is at its end, and behind the mark that it is
/// not NULL.
pub fn carried(row: &[u8]) -> &[u8] {
    let Some((rest, length)) = row.split_last_chunk::<4>() else { return &[] };
    rest.get(u32::from_le_bytes(*length) as usize + 1..).unwrap_or_default()
}

impl Log {
    fn bytes(&self) -> usize {
        self.groups.capacity() * 8
            + self.texts.bytes_held()
            + self.tags.capacity() * 8
            + Grouped::<Piece>::bytes_of(self.groups.len())
    }
    fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
    /// The unit of that tag, to which the next pieces belong.
    fn unit(&mut self, tag: u64) -> u32 {
        if self.tags.last() != Some(&tag) {
            self.tags.push(tag);
        }
        self.tags.len() as u32 - 1
    }
    /// The pieces of each group.
    fn arranged(&self) -> &Grouped<Piece> {
        self.arranged.get_or_init(|| Grouped::of(self.groups.iter().copied(), |place| self.piece(place)))
    }
    #[inline(always)]
    fn piece(&self, place: usize) -> Piece {
        let view = self.texts.view(place);
        let part = |at: u32| (view >> (32 * at)) as u32;
        Piece { unit: self.units[place], view: [part(0), part(1), part(2), part(3)] }
    }
    fn tag(&self, piece: &Piece) -> u64 {
        self.tags[piece.unit as usize]
    }
}

impl Pieces {
    /// `by_bytes`: pieces are sorted by their bytes instead of by arrival; `ordered`: they are ordered rows, and
    /// sorted so too.
    pub fn new(delimiter: Arc<str>, by_bytes: bool, ordered: bool) -> Self {
        Pieces {
            log: Arc::default(),
            taken: vec![],
            delimiter,
            by_bytes: by_bytes || ordered,
            ordered,
            sources: OnceLock::new(),
        }
    }
    /// Bytes held, for the memory budget; of a log that others share, what its groups here are of all.
    pub fn bytes(&self) -> usize {
        let taken = self.taken.iter().map(|taken| {
            let share = taken.groups.len() as f64 / taken.log.count.max(1) as f64;
            taken.groups.capacity() * 8 + (taken.log.bytes() as f64 * share) as usize
        });
        self.log.bytes() + taken.sum::<usize>()
    }
    /// Adds the texts of a batch, none of which is NULL, from the input's unit `tag`.
    pub fn update(&mut self, groups: RowGroups<'_>, texts: &Strings, tag: u64) {
        let rows = groups.rows();
        if self.log.groups.len() + rows > u32::MAX as usize || Arc::strong_count(&self.log) > 1 {
            self.put_own_aside();
        }
        // Nobody shares it, so it is not copied.
        let log = Arc::make_mut(&mut self.log);
        log.arranged.take();
        match groups {
            RowGroups::Single(_) => log.groups.extend(std::iter::repeat_n(0, rows)),
            RowGroups::Each(each) => log.groups.extend_from_slice(each),
            RowGroups::Runs(runs) => log.groups.extend_from_slice(runs.each()),
        }
        let new = log.groups.len().saturating_sub(rows);
        let greatest = log.groups[new..].iter().max().map_or(0, |group| *group as usize + 1);
        log.count = log.count.max(greatest);
        let unit = log.unit(tag);
        log.units.resize(log.groups.len(), unit);
        log.texts.extend(texts);
    }
    /// What was added so far becomes the last that was taken.
    fn put_own_aside(&mut self) {
        self.sources.take();
        if !self.log.is_empty() {
            let log = std::mem::take(&mut self.log);
            let groups = (0..log.count as u32).map(|group| (group, group)).collect();
            self.taken.push(Taken { log, groups });
        }
    }
    /// Takes the other's pieces of the groups `rows` (all when `None`), which are `groups` here.
    pub fn merge(&mut self, other: &Pieces, rows: Option<&[u32]>, groups: &[u32]) {
        self.put_own_aside();
        self.sources.take();
        let row = |at: usize| rows.map_or(at as u32, |rows| rows[at]);
        if !other.taken.is_empty() {
            let count = (0..groups.len()).map(|at| row(at) as usize + 1).max().unwrap_or(0);
            let mut here = vec![u32::MAX; count];
            groups.iter().enumerate().for_each(|(at, group)| here[row(at) as usize] = *group);
            for taken in &other.taken {
                let known = |(there, group): &(u32, u32)| {
                    let group = here.get(*group as usize).filter(|group| **group != u32::MAX)?;
                    Some((*there, *group))
                };
                self.take(&taken.log, taken.groups.iter().filter_map(known).collect());
            }
        }
        let own = groups.iter().enumerate().map(|(at, group)| (row(at), *group));
        let own = own.filter(|(row, _)| (*row as usize) < other.log.count).collect();
        self.take(&other.log, own);
    }
    fn take(&mut self, log: &Arc<Log>, groups: Vec<(u32, u32)>) {
        if !groups.is_empty() && !log.is_empty() {
            self.taken.push(Taken { log: log.clone(), groups });
        }
    }
    /// The pieces' groups, tags and texts; those of a group and tag are in order.
    pub(super) fn into_parts(self) -> (Vec<u32>, Vec<u64>, TextColumn) {
        let (mut groups, mut tags, mut texts) = (vec![], vec![], TextColumn::default());
        let mut push = |log: &Log, piece: &Piece, group: u32| {
            groups.push(group);
            tags.push(log.tag(piece));
            match view_length(piece.view()) <= INLINE_BYTES {
                true => texts.push_view(piece.view()),
                false => texts.push(log.texts.viewed(piece.view())),
            }
        };
        for Taken { log, groups } in &self.taken {
            for (there, group) in groups {
                log.arranged().group(*there as usize).iter().for_each(|piece| push(log, piece, *group));
            }
        }
        for (place, group) in self.log.groups.iter().enumerate() {
            push(&self.log, &self.log.piece(place), *group);
        }
        (groups, tags, texts)
    }
    /// The pieces again.
    pub(super) fn fill(&mut self, groups: Vec<u32>, tags: Vec<u64>, texts: TextColumn) {
        let mut log = Log { texts, ..Log::default() };
        log.count = groups.iter().max().map_or(0, |group| *group as usize + 1);
        log.units = tags.into_iter().map(|tag| log.unit(tag)).collect();
        log.groups = groups;
        self.log = Arc::new(log);
        self.taken.clear();
        self.sources.take();
    }
    fn sources(&self) -> &Grouped<(u32, u32)> {
        self.sources.get_or_init(|| {
            let all: Vec<(u32, u32, u32)> = self
                .taken
                .iter()
                .enumerate()
                .flat_map(|(at, taken)| {
                    taken.groups.iter().map(move |(there, here)| (*here, at as u32, *there))
                })
                .collect();
            Grouped::of(all.iter().map(|(here, ..)| *here), |at| (all[at].1, all[at].2))
        })
    }
    /// Calls `each` with a group's pieces in each log, in the order in which they were taken.
    fn each_source<'a>(&'a self, group: usize, mut each: impl FnMut(&'a Log, &'a [Piece])) {
        for (at, there) in self.sources().group(group) {
            let log = &*self.taken[*at as usize].log;
            each(log, log.arranged().group(*there as usize));
        }
        if !self.log.is_empty() {
            each(&self.log, self.log.arranged().group(group));
        }
    }
    /// The strings of the groups `[start, end)`; groups without pieces get an empty one.
    pub fn finish(&self, start: usize, end: usize) -> Result<Strings> {
        let mut out = StringBuilder::with_capacity(end - start);
        let mut text = Joined::new(self.delimiter.as_bytes());
        let (mut runs, mut sorted): (Vec<Run<'_>>, Vec<(u128, &TextColumn)>) = (vec![], vec![]);
        for group in start..end {
            text.clear();
            runs.clear();
            self.each_source(group, |log, pieces| {
                for pieces in pieces.chunk_by(|a, b| a.unit == b.unit) {
                    runs.push(Run { tag: log.tag(&pieces[0]), log, pieces });
                }
            });
            if self.by_bytes {
                sorted.clear();
                for run in &runs {
                    sorted.extend(run.pieces.iter().map(|piece| (piece.view(), &run.log.texts)));
                }
                sorted.sort_unstable_by(|a, b| {
                    with_viewed(a.0, a.1, |left| with_viewed(b.0, b.1, |right| left.cmp(right)))
                });
                for (view, texts) in &sorted {
                    with_viewed(*view, texts, |piece| {
                        text.push(if self.ordered { carried(piece) } else { piece });
                    });
                }
            } else {
                if !runs.is_sorted_by_key(|run| run.tag) {
                    // Stable: the pieces of a unit are in order.
                    runs.sort_by_key(|run| run.tag);
                }
                for run in &runs {
                    run.pieces.iter().for_each(|piece| text.push_of(piece.view(), &run.log.texts));
                }
            }
            if u32::try_from(text.bytes().len()).is_err() {
                return Err(Error::unsupported("a group's text of 4 GiB or more"));
            }
            out.push(text.bytes());
        }
        Ok(out.finish())
    }
}

/// Texts with a delimiter between them.
struct Joined<'a> {
    delimiter: &'a [u8],
    /// Short delimiters as a view.
    short: Option<u128>,
    /// Longer than what is filled of it, so that short texts are written without regard to their lengths.
    room: Vec<u8>,
    filled: usize,
    is_first: bool,
}

impl<'a> Joined<'a> {
    fn new(delimiter: &'a [u8]) -> Self {
        let short = (delimiter.len() <= INLINE_BYTES).then(|| inline_view(delimiter));
        Joined { delimiter, short, room: vec![], filled: 0, is_first: true }
    }
    fn clear(&mut self) {
        (self.filled, self.is_first) = (0, true);
    }
    fn bytes(&self) -> &[u8] {
        &self.room[..self.filled]
    }
    fn push(&mut self, text: &[u8]) {
        self.delimit();
        self.append(text);
    }
    #[inline(always)]
    fn push_of(&mut self, view: u128, texts: &TextColumn) {
        self.delimit();
        match view_length(view) <= INLINE_BYTES {
            true => self.append_short(view),
            false => self.append(texts.viewed(view)),
        }
    }
    #[inline(always)]
    fn delimit(&mut self) {
        if self.is_first {
            self.is_first = false;
            return;
        }
        match self.short {
            Some(view) => self.append_short(view),
            None => self.append(self.delimiter),
        }
    }
    /// A text that its view holds.
    #[inline(always)]
    fn append_short(&mut self, view: u128) {
        if self.room.len() < self.filled + INLINE_BYTES {
            self.room.resize((self.filled + INLINE_BYTES) * 2, 0);
        }
        // The bytes of views are behind their length, in little endian order.
        let bytes = (view >> 32).to_le_bytes();
        if let Some(to) = self.room[self.filled..].first_chunk_mut::<INLINE_BYTES>()
            && let Some(from) = bytes.first_chunk::<INLINE_BYTES>()
        {
            *to = *from;
        }
        self.filled += view_length(view);
    }
    fn append(&mut self, text: &[u8]) {
        self.room.truncate(self.filled);
        self.room.extend_from_slice(text);
        self.filled = self.room.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(texts: &[&str]) -> Strings {
        let mut builder = StringBuilder::with_capacity(texts.len());
        texts.iter().for_each(|text| builder.push(text.as_bytes()));
        builder.finish()
    }

    fn of(delimiter: &str) -> Pieces {
        Pieces::new(delimiter.into(), false, false)
    }

    fn texts(pieces: &Pieces, groups: usize) -> Vec<String> {
        let strings = pieces.finish(0, groups).unwrap();
        (0..groups).map(|at| String::from_utf8(strings.get(at).to_vec()).unwrap()).collect()
    }

    #[test]
    fn units_are_put_in_order() {
        let mut early = of(", ");
        early.update(RowGroups::Each(&[0, 2, 0]), &strings(&["a", "b", "c"]), 1);
        early.update(RowGroups::Each(&[0, 0]), &strings(&["h", "a text that is longer than a view"]), 5);
        let mut late = of(", ");
        late.update(RowGroups::Each(&[1, 0]), &strings(&["d", "e"]), 3);
        late.update(RowGroups::Single(2), &strings(&["f", ""]), 4);
        assert_eq!(texts(&early, 3), ["a, c, h, a text that is longer than a view", "", "b"]);
        // Their groups 0 are our group 1.
        let mut all = of(", ");
        all.merge(&late, Some(&[0]), &[1]);
        all.merge(&early, None, &[1, 5, 0]);
        let expected = ["b", "a, c, e, f, , h, a text that is longer than a view", ""];
        assert_eq!(texts(&all, 3), expected);
        // What is added later of the same unit comes later, and so does what is merged again.
        all.update(RowGroups::Each(&[0, 1]), &strings(&["x", "y"]), 5);
        let mut again = of(", ");
        again.merge(&all, Some(&[1]), &[0]);
        again.update(RowGroups::Single(1), &strings(&["z"]), 4);
        let expected = "a, c, e, f, , z, h, a text that is longer than a view, y";
        assert_eq!(texts(&again, 1), [expected]);
        let (groups, tags, column) = again.into_parts();
        assert_eq!(groups.len(), 9);
        let mut read = of(", ");
        read.fill(groups, tags, column);
        assert_eq!(texts(&read, 2), [expected, ""]);
    }

    #[test]
    fn pieces_by_their_bytes() {
        let mut pieces = Pieces::new("a delimiter longer than views".into(), true, false);
        pieces.update(RowGroups::Each(&[0, 1, 0]), &strings(&["b", "c", "a"]), 0);
        assert_eq!(texts(&pieces, 2), ["aa delimiter longer than viewsb", "c"]);
        let mut ordered = Pieces::new("-".into(), false, true);
        ordered.update(RowGroups::Single(2), &strings(&["2\u{1}x\u{1}\0\0\0", "1\u{1}y\u{1}\0\0\0"]), 0);
        assert_eq!(texts(&ordered, 1), ["y-x"]);
    }

    #[test]
    fn shares_of_a_log_are_its_bytes_in_all() {
        let mut log = of(",");
        let groups: Vec<u32> = (0..64).collect();
        log.update(RowGroups::Each(&groups), &strings(&["text"; 64]), 0);
        let parts: usize = (0..4u32)
            .map(|part| {
                let mut share = of(",");
                let rows: Vec<u32> = groups.iter().copied().filter(|group| group % 4 == part).collect();
                share.merge(&log, Some(&rows), &(0..16).collect::<Vec<_>>());
                share.bytes()
            })
            .sum();
        assert!(parts >= log.bytes() && parts < log.bytes() * 2, "{parts} of {}", log.bytes());
    }
}
