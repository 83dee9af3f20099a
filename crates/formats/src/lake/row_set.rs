//! Sets of row numbers, as Roaring bitmaps hold them.
//!
//! ```text
//! magic, 4 bytes | number of maps, 8 bytes | upper 32 bits of the numbers, a bitmap of the lower 32 bits | ...
//! ```
//! A bitmap has a container for each 65,536 numbers: sorted numbers, bits, or runs, whichever is shortest. They are kept
//! as they come, so that a set takes no more memory than its bytes. Every length is checked before it is believed.

use std::ops::Range;

/// Begins the bytes of a set: the portable form.
const MAGIC: u32 = 1_681_511_377;
/// A bitmap that may have runs, with the number of containers in the upper half.
const WITH_RUNS: u32 = 12_347;
/// A bitmap without runs.
const WITHOUT_RUNS: u32 = 12_346;
/// Containers of more numbers are bits.
const SORTED_MAX: usize = 4096;
/// With so many containers, their places are listed even where there are runs.
const PLACES_MIN: usize = 4;
const WORDS: usize = 1024;

/// Row numbers.
#[derive(Debug, Default)]
pub(crate) struct RowSet {
    /// By the number's upper 48 bits, ascending.
    containers: Vec<(u64, Container)>,
}

#[derive(Debug)]
enum Container {
    Sorted(Vec<u16>),
    Bits(Vec<u64>),
    /// First and last of each.
    Runs(Vec<(u16, u16)>),
}

/// Takes bytes from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }
    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }
    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

impl RowSet {
    /// The set of a table format's bitmap; `None` where the bytes are none.
    pub(crate) fn read(bytes: &[u8]) -> Option<RowSet> {
        let mut bytes = Bytes(bytes);
        if bytes.u32()? != MAGIC {
            return None;
        }
        let maps = bytes.u64()?;
        let mut set = RowSet::default();
        for _ in 0..maps {
            let upper = bytes.u32()?;
            set.read_map(u64::from(upper) << 16, &mut bytes)?;
        }
        let ascending = set.containers.windows(2).all(|pair| pair[0].0 < pair[1].0);
        (ascending && bytes.0.is_empty()).then_some(set)
    }

    fn read_map(&mut self, upper: u64, bytes: &mut Bytes<'_>) -> Option<()> {
        let cookie = bytes.u32()?;
        let (count, runs) = match cookie & 0xFFFF {
            WITH_RUNS => {
                let count = (cookie >> 16) as usize + 1;
                (count, Some(bytes.take(count.div_ceil(8))?))
            }
            _ if cookie == WITHOUT_RUNS => (bytes.u32()? as usize, None),
            _ => return None,
        };
        if count > 1 << 16 {
            return None;
        }
        let heads = bytes.take(count * 4)?;
        if runs.is_none() || count >= PLACES_MIN {
            bytes.take(count * 4)?;
        }
        for (at, head) in heads.chunks_exact(4).enumerate() {
            let key = u64::from(u16::from_le_bytes([head[0], head[1]]));
            let numbers = usize::from(u16::from_le_bytes([head[2], head[3]])) + 1;
            let is_runs = runs.is_some_and(|runs| runs.get(at / 8).is_some_and(|b| b >> (at % 8) & 1 == 1));
            let container = read_container(numbers, is_runs, bytes)?;
            self.containers.push((upper | key, container));
        }
        Some(())
    }

    /// The set of these numbers, in any order.
    pub(crate) fn of(mut rows: Vec<u64>) -> RowSet {
        rows.sort_unstable();
        rows.dedup();
        let mut set = RowSet::default();
        for run in rows.chunk_by(|a, b| a >> 16 == b >> 16) {
            let low = run.iter().map(|row| (row & 0xFFFF) as u16);
            let container = match run.len() {
                ..=SORTED_MAX => Container::Sorted(low.collect()),
                _ => {
                    let mut words = vec![0u64; WORDS];
                    low.for_each(|row| words[usize::from(row) / 64] |= 1 << (row % 64));
                    Container::Bits(words)
                }
            };
            set.containers.push((run[0] >> 16, container));
        }
        set
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> u64 {
        let of = |container: &Container| match container {
            Container::Sorted(rows) => rows.len() as u64,
            Container::Bits(words) => words.iter().map(|word| u64::from(word.count_ones())).sum(),
            Container::Runs(runs) => runs.iter().map(|(a, b)| u64::from(*b) - u64::from(*a) + 1).sum(),
        };
        self.containers.iter().map(|(_, container)| of(container)).sum()
    }

    /// Says of the rows from `first` on whether they are kept: those of the set are not.
    pub(crate) fn drop_from(&self, kept: &mut [bool], first: u64) {
        let rows = first..first.saturating_add(kept.len() as u64);
        let at = self.containers.partition_point(|(key, _)| *key < rows.start >> 16);
        for (key, container) in self.containers[at..].iter().take_while(|(key, _)| key << 16 < rows.end) {
            let mut drop = |from: u64, to: u64| {
                let (from, to) = ((key << 16 | from).max(rows.start), (key << 16 | to).min(rows.end - 1));
                if from <= to {
                    kept[(from - rows.start) as usize..=(to - rows.start) as usize].fill(false);
                }
            };
            match container {
                Container::Sorted(numbers) => {
                    numbers.iter().for_each(|n| drop(u64::from(*n), u64::from(*n)));
                }
                Container::Runs(runs) => runs.iter().for_each(|(a, b)| drop(u64::from(*a), u64::from(*b))),
                Container::Bits(words) => {
                    for row in within(*key, &rows) {
                        if words[row as usize / 64] >> (row % 64) & 1 == 1 {
                            drop(row, row);
                        }
                    }
                }
            }
        }
    }
}

/// The part of these rows that lies in a container, counted from its beginning.
fn within(key: u64, rows: &Range<u64>) -> Range<u64> {
    let begin = key << 16;
    rows.start.max(begin) - begin..rows.end.min(begin + (1 << 16)) - begin
}

fn read_container(numbers: usize, is_runs: bool, bytes: &mut Bytes<'_>) -> Option<Container> {
    if is_runs {
        let count = usize::from(bytes.u16()?);
        let mut runs = Vec::with_capacity(count.min(bytes.0.len() / 4));
        for _ in 0..count {
            let (first, more) = (bytes.u16()?, bytes.u16()?);
            runs.push((first, first.checked_add(more)?));
        }
        return runs.windows(2).all(|pair| pair[0].1 < pair[1].0).then_some(Container::Runs(runs));
    }
    if numbers > SORTED_MAX {
        let words = bytes.take(WORDS * 8)?.as_chunks::<8>().0;
        return Some(Container::Bits(words.iter().map(|word| u64::from_le_bytes(*word)).collect()));
    }
    let sorted: Vec<u16> =
        bytes.take(numbers * 2)?.as_chunks::<2>().0.iter().map(|n| u16::from_le_bytes(*n)).collect();
    sorted.windows(2).all(|pair| pair[0] < pair[1]).then_some(Container::Sorted(sorted))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bitmap with one container of each kind.
    fn bytes() -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(MAGIC.to_le_bytes());
        out.extend(1u64.to_le_bytes());
        out.extend(0u32.to_le_bytes());
        out.extend((WITH_RUNS | 2 << 16).to_le_bytes());
        out.push(0b010);
        for (key, numbers) in [(0u16, 2u16), (1, 10), (3, 5000)] {
            out.extend(key.to_le_bytes());
            out.extend((numbers - 1).to_le_bytes());
        }
        [5u16, 9].iter().for_each(|n| out.extend(n.to_le_bytes()));
        [1u16, 100, 9].iter().for_each(|n| out.extend(n.to_le_bytes()));
        (0..WORDS).for_each(|word| out.extend((if word < 100 { u64::MAX } else { 0 }).to_le_bytes()));
        out
    }

    #[test]
    fn every_kind_of_container_is_read() {
        let set = RowSet::read(&bytes()).unwrap();
        assert_eq!(set.len(), 2 + 10 + 6400);
        let mut kept = vec![true; 4 << 16];
        set.drop_from(&mut kept, 0);
        let dropped: Vec<usize> = (0..kept.len()).filter(|row| !kept[*row]).collect();
        assert_eq!(&dropped[..4], [5, 9, (1 << 16) + 100, (1 << 16) + 101]);
        assert_eq!((dropped.len(), dropped.last()), (6412, Some(&((3 << 16) + 6399))));
        // The same by pieces.
        for from in (0..kept.len()).step_by(1000) {
            let mut piece = vec![true; 1000.min(kept.len() - from)];
            set.drop_from(&mut piece, from as u64);
            assert_eq!(piece, kept[from..from + piece.len()]);
        }
        let same = RowSet::of(dropped.iter().rev().map(|row| *row as u64).collect());
        let mut again = vec![true; kept.len()];
        same.drop_from(&mut again, 0);
        assert_eq!(again, kept);
    }

    #[test]
    fn damaged_bytes_are_no_set() {
        let whole = bytes();
        for end in 0..whole.len() {
            assert!(RowSet::read(&whole[..end]).is_none(), "{end}");
        }
        // Whatever byte is another: an answer, and no panic.
        for at in 0..80 {
            for bit in 0..8 {
                let mut other = whole.clone();
                other[at] ^= 1 << bit;
                if let Some(set) = RowSet::read(&other) {
                    set.drop_from(&mut vec![true; 1000], 65_000);
                    set.len();
                }
            }
        }
    }
}
