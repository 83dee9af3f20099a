//! Build rows in the order of one key, with what finds among any run of them those in a range of a second key.
//!
//! ```text
//!  place      0  1  2  3  4  5  6  7  8 ...          rows in the order of the first key
//!  rank       5  0  7  2  8  1  3  6  4              each row's place in the order of the second key
//!  blocks    [ maximum 7 ][ maximum 8 ][...          64 places each
//!  windows   the block with the maximum of 1, 2, 4, 8 ... blocks from each block on
//! ```
//! A probe row asks for the rows at places `from..to` whose rank is in `low..high`. The first two come from searching
//! the first key, the other two from searching the second. Two windows tell which of the blocks between has the
//! greatest rank: is it too small, no row of them is wanted; else that block is looked through, and the blocks on
//! either side of it are asked likewise. Each question that says yes finds a row, and each that says no was asked
//! because of one that said yes: what a search costs after its two searches grows with the rows it finds alone.
//!
//! The constant-time question is Bender, Farach-Colton, "The LCA Problem Revisited" (LATIN 2000), section 3, over
//! blocks in the place of elements; asking on both sides of what was found is Muthukrishnan, "Efficient Algorithms
//! for Document Retrieval Problems" (SODA 2002), section 3. IEJoin (Khayyat et al., PVLDB 8(13), 2015) goes through a
//! bitmap of all rows for each probe row instead, which is quadratic with a small constant, and needs both sides at
//! once.
//!
//! Where the second key has upper bounds alone, ranks are counted from the end, so that it is always the greatest
//! that decides. With bounds on both ends the lower one is searched by and the upper one looked at.

use std::ops::Range;

use types::Result;

use super::keys::KeyColumn;
use crate::pipeline::Flow;

/// Places of a block, a bit each of a word.
const BLOCK: usize = 64;
/// Neighbouring places handed over at once.
const RUN: usize = 512;
/// Rows between two looks at the query's signal.
pub(crate) const CHECKED_ROWS: usize = 1 << 16;

/// The build rows by place, as the text above describes.
pub(crate) struct RangeIndex {
    /// The first keys by place; ascending within each group of rows that are searched together.
    pub first: KeyColumn,
    /// Absent where one range alone is compared.
    pub second: Option<SecondKey>,
}

/// The order of the second key and what finds greatest ranks among places.
pub(crate) struct SecondKey {
    /// In their own order.
    pub keys: KeyColumn,
    is_reversed: bool,
    /// Each place's rank.
    ranks: Vec<u32>,
    /// The greatest rank in each block.
    maxima: Vec<u32>,
    /// `windows[l][b]`: the block with the greatest maximum among the `2^l` from `b` on.
    windows: Vec<Vec<u32>>,
}

/// What a probe row asks for: places, and ranks of the second key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The first place.
    pub from: u32,
    /// The place behind the last.
    pub to: u32,
    /// The lowest rank.
    pub low: u32,
    /// The rank behind the highest.
    pub high: u32,
}

impl Found {
    /// Whether no place can qualify.
    pub fn is_empty(&self) -> bool {
        self.from >= self.to || self.low >= self.high
    }
}

impl SecondKey {
    /// Bytes for so many rows, keys aside.
    pub fn bytes(rows: usize) -> usize {
        let blocks = rows.div_ceil(BLOCK);
        rows * 4 + blocks * 4 * (2 + blocks.max(1).ilog2() as usize)
    }

    /// The order of rows whose second keys, in order, are `keys`; `places` gives the place of the row at each rank.
    /// Calls `check` now and then and ends with its error.
    pub fn new(
        keys: KeyColumn,
        places: impl Iterator<Item = u32>,
        is_reversed: bool,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<SecondKey> {
        let rows = keys.len();
        let mut ranks = vec![0u32; rows];
        for (rank, place) in places.enumerate() {
            if rank % CHECKED_ROWS == 0 {
                check()?;
            }
            ranks[place as usize] = if is_reversed { rows - 1 - rank } else { rank } as u32;
        }
        check()?;
        let maxima: Vec<u32> =
            ranks.chunks(BLOCK).map(|ranks| ranks.iter().copied().max().unwrap_or(0)).collect();
        let mut windows = vec![(0..maxima.len() as u32).collect::<Vec<u32>>()];
        let mut width = 1;
        while let Some(last) = windows.last().filter(|_| 2 * width <= maxima.len()) {
            let wider = (0..=maxima.len() - 2 * width)
                .map(|block| greater(&maxima, last[block], last[block + width]))
                .collect();
            windows.push(wider);
            width *= 2;
        }
        Ok(SecondKey { keys, is_reversed, ranks, maxima, windows })
    }

    /// Ranks of the places `range` of the keys' order.
    pub fn ranks_of(&self, range: Range<u32>) -> Range<u32> {
        let rows = self.ranks.len() as u32;
        match self.is_reversed {
            true => rows - range.end.max(range.start)..rows - range.start,
            false => range,
        }
    }

    /// The block among these with the greatest rank.
    fn greatest(&self, blocks: Range<u32>) -> u32 {
        let count = blocks.end - blocks.start;
        let level = count.ilog2();
        let window = &self.windows[level as usize];
        let last = blocks.end - (1 << level);
        greater(&self.maxima, window[blocks.start as usize], window[last as usize])
    }

    /// Appends those of some places of a block whose ranks are wanted, ascending.
    fn look_through(&self, places: Range<usize>, found: &Found, out: &mut Vec<u32>) {
        if places.is_empty() || found.low >= found.high {
            return;
        }
        let mut word = [0u64];
        let ranks = &self.ranks[places.clone()];
        simd::range_anew(ranks, found.low, found.high - 1, false, &mut word);
        simd::append_indices(&word, places.start as u32, out);
    }

    fn any(&self, places: Range<usize>, found: &Found) -> bool {
        self.ranks[places].iter().any(|rank| (found.low..found.high).contains(rank))
    }
}

fn greater(maxima: &[u32], a: u32, b: u32) -> u32 {
    if maxima[b as usize] > maxima[a as usize] { b } else { a }
}

/// A search of which part is still to be done.
#[derive(Default)]
pub(crate) struct Search {
    found: Found,
    head: Option<Range<usize>>,
    tail: Option<Range<usize>>,
    /// Whole blocks that were not asked yet, the next ones last.
    blocks: Vec<(u32, u32)>,
}

impl Search {
    /// Begins anew.
    pub fn begin(&mut self, found: Found) {
        self.found = found;
        self.blocks.clear();
        let (from, to) = (found.from as usize, found.to.max(found.from) as usize);
        let (first, end) = (from.div_ceil(BLOCK), to / BLOCK);
        if first > end {
            // Part of one block.
            (self.head, self.tail) = (Some(from..to), None);
            return;
        }
        (self.head, self.tail) = (Some(from..first * BLOCK), Some(end * BLOCK..to));
        if first < end {
            self.blocks.push((first as u32, end as u32));
        }
    }

    /// Appends some further places, in ascending order; false when there are no more.
    pub fn next(&mut self, second: &SecondKey, out: &mut Vec<u32>) -> bool {
        if let Some(head) = self.head.take() {
            second.look_through(head, &self.found, out);
            return true;
        }
        while let Some((first, end)) = self.blocks.pop() {
            let greatest = second.greatest(first..end);
            if second.maxima[greatest as usize] < self.found.low {
                continue;
            }
            if end - first == 1 {
                let from = first as usize * BLOCK;
                second.look_through(from..from + BLOCK, &self.found, out);
                return true;
            }
            for part in [(greatest + 1, end), (greatest, greatest + 1), (first, greatest)] {
                if part.0 < part.1 {
                    self.blocks.push(part);
                }
            }
        }
        if let Some(tail) = self.tail.take() {
            second.look_through(tail, &self.found, out);
            return true;
        }
        false
    }
}

impl RangeIndex {
    /// Hands places over, some at a time, until `visit` says that there are enough.
    pub fn each(
        &self,
        found: Found,
        (search, places): (&mut Search, &mut Vec<u32>),
        visit: &mut impl FnMut(&[u32]) -> Result<Flow>,
    ) -> Result<Flow> {
        if found.is_empty() {
            return Ok(Flow::More);
        }
        match &self.second {
            None => {
                for first in (found.from..found.to).step_by(RUN) {
                    places.clear();
                    places.extend(first..found.to.min(first.saturating_add(RUN as u32)));
                    if visit(places)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                }
            }
            Some(second) => {
                search.begin(found);
                places.clear();
                while search.next(second, places) {
                    if visit(places)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                    places.clear();
                }
            }
        }
        Ok(Flow::More)
    }

    /// Whether there is any row.
    pub fn exists(&self, found: Found, search: &mut Search, places: &mut Vec<u32>) -> bool {
        let Some(second) = &self.second else { return !found.is_empty() };
        if found.is_empty() {
            return false;
        }
        search.begin(found);
        for edge in [search.head.take(), search.tail.take()].into_iter().flatten() {
            if second.any(edge, &found) {
                return true;
            }
        }
        places.clear();
        while search.next(second, places) {
            if !places.is_empty() {
                return true;
            }
        }
        false
    }

    /// Bytes of the keys and of all that is kept about places.
    pub fn bytes(&self) -> usize {
        self.first.bytes()
            + self.second.as_ref().map_or(0, |s| s.keys.bytes() + SecondKey::bytes(s.keys.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(ranks: &[u32], is_reversed: bool) -> RangeIndex {
        let rows = ranks.len();
        let mut places = vec![0; rows];
        for (place, rank) in ranks.iter().enumerate() {
            places[*rank as usize] = place as u32;
        }
        let keys = || KeyColumn::Short((0..rows as u64).collect());
        let second = SecondKey::new(keys(), places.into_iter(), is_reversed, &|| Ok(())).unwrap();
        RangeIndex { first: keys(), second: Some(second) }
    }

    #[test]
    fn searches_find_what_a_walk_finds() {
        let mut random = crate::hash_join::tests::Random::new(3);
        for rows in [1usize, 63, 64, 65, 127, 128, 500, 3000] {
            let mut ranks: Vec<u32> = (0..rows as u32).collect();
            for at in (1..rows).rev() {
                ranks.swap(at, random.below(at as u64 + 1) as usize);
            }
            for is_reversed in [false, true] {
                let index = index(&ranks, is_reversed);
                let second = index.second.as_ref().unwrap();
                let mut search = Search::default();
                for _ in 0..200 {
                    let mut pick = || random.below(rows as u64 + 1) as u32;
                    let (from, to, low) = (pick(), pick(), pick());
                    // Mostly open at one end, as two inequalities are.
                    let high =
                        if random.chance(70) { rows as u32 } else { random.below(rows as u64 + 1) as u32 };
                    let wanted =
                        if is_reversed { rows as u32 - high..rows as u32 - low.min(high) } else { low..high };
                    let ranks_wanted = second.ranks_of(wanted.clone());
                    let found = Found { from, to, low: ranks_wanted.start, high: ranks_wanted.end };
                    let expected: Vec<u32> =
                        (from..to).filter(|place| wanted.contains(&ranks[*place as usize])).collect();
                    let mut places = vec![];
                    search.begin(found);
                    while search.next(second, &mut places) {}
                    assert_eq!(places, expected, "{rows} {found:?} {is_reversed}");
                    assert_eq!(index.exists(found, &mut search, &mut vec![]), !expected.is_empty());
                }
            }
        }
    }

    /// The questions asked are few, however the rows that are found lie.
    #[test]
    fn a_search_asks_in_proportion_to_what_it_finds() {
        let rows = 64 * 1024u32;
        // Only rows far apart are wanted.
        let mut by_wish: Vec<u32> = (0..rows).filter(|p| p % 6400 != 0).collect();
        let few: Vec<u32> = (0..rows).filter(|p| p % 6400 == 0).collect();
        by_wish.extend(&few);
        let mut ranks = vec![0; rows as usize];
        by_wish.iter().enumerate().for_each(|(rank, place)| ranks[*place as usize] = rank as u32);
        let index = index(&ranks, false);
        let second = index.second.as_ref().unwrap();
        let mut search = Search::default();
        search.begin(Found { from: 0, to: rows, low: rows - few.len() as u32, high: rows });
        let (mut places, mut steps) = (vec![], 0);
        while search.next(second, &mut places) {
            steps += 1;
        }
        assert_eq!(places, few);
        assert!(steps <= few.len() + 3, "{steps} steps");
    }
}
