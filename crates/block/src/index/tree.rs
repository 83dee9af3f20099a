//! The CSB+-tree (Rao and Ross, SIGMOD 2000): nodes of 64 bytes, all children of a node in one contiguous group.
//!
//! ```text
//!  levels   root first; a level is nodes of 16 keys of 4 bytes, or of 8 of 8 bytes; key j of a node is the last key
//!           of the node's child j, and the greatest number where there is no such child
//!  keys     the leaves: all keys, ascending, 16 or 8 a node
//!  rows     u32 each: the row of the key in the same place; equal keys have their rows ascending
//! ```
//!
//! Each of the three begins on a multiple of 64. Keys are codes where the column is coded. NULLs are not in the tree.
//!
//! Deviations: a sealed block never changes, so all groups are full and lie in order, and a node's child group follows
//! from its own place: the group reference that Rao and Ross keep in a node is left out, which is what their
//! Cache-Sensitive Search tree does. Key and row lie apart, so that the rows of a range are one run of memory.

use arrow_buffer::{Buffer, ScalarBuffer};

use super::Checked;
use crate::layout::align_up;

#[derive(Clone, Debug)]
pub(crate) enum TreeKeys {
    Narrow(Levels<u32>),
    Wide(Levels<u64>),
}

/// The levels over some keys, and they themselves as the last level.
#[derive(Clone, Debug)]
pub(crate) struct Levels<K: Key> {
    levels: Vec<ScalarBuffer<K>>,
    keys: ScalarBuffer<K>,
}

#[derive(Clone, Debug)]
pub(crate) struct Tree {
    keys: TreeKeys,
    rows: ScalarBuffer<u32>,
}

const NODE_BYTES: usize = 64;

pub(crate) trait Key: arrow_buffer::ArrowNativeType + Ord + simd::Plain {
    const LAST: Self;
    /// The low bits.
    fn narrowed(key: u64) -> Self;
    fn wide(self) -> u64;
}
impl Key for u32 {
    const LAST: Self = u32::MAX;
    fn narrowed(key: u64) -> Self {
        key as u32
    }
    fn wide(self) -> u64 {
        u64::from(self)
    }
}
impl Key for u64 {
    const LAST: Self = u64::MAX;
    fn narrowed(key: u64) -> Self {
        key
    }
    fn wide(self) -> u64 {
        self
    }
}

/// Keys of a level, root first, for `count` keys of `width` bytes. A level has one key a node of the level below.
fn level_sizes(count: usize, width: usize) -> Vec<usize> {
    let fan = NODE_BYTES / width;
    let mut sizes = Vec::new();
    let mut nodes = count.div_ceil(fan);
    while nodes > 1 {
        sizes.push(nodes);
        nodes = nodes.div_ceil(fan);
    }
    sizes.reverse();
    sizes
}

/// Bytes of the tree of `count` keys.
pub(crate) fn length(count: usize, width: usize) -> usize {
    let levels: usize = level_sizes(count, width).iter().map(|size| align_up(size * width, NODE_BYTES)).sum();
    levels + align_up(count * width, NODE_BYTES) + align_up(count * 4, NODE_BYTES)
}

/// The tree of (key, row) pairs, which are sorted. Keys of 4 bytes when `width` says so.
pub(crate) fn build(pairs: &[(u64, u32)], width: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(length(pairs.len(), width));
    let fan = NODE_BYTES / width;
    let mut push_level = |keys: &mut dyn Iterator<Item = u64>| {
        for key in keys {
            out.extend_from_slice(&key.to_le_bytes()[..width]);
        }
        // Past the last child stands the greatest number, so that no search goes there.
        out.resize(align_up(out.len(), NODE_BYTES), u8::MAX);
    };
    let sizes = level_sizes(pairs.len(), width);
    for (depth, size) in sizes.iter().enumerate() {
        // Keys under one key of this level.
        let under = fan.pow((sizes.len() - depth) as u32);
        push_level(&mut (0..*size).map(|i| pairs[((i + 1) * under).min(pairs.len()) - 1].0));
    }
    push_level(&mut pairs.iter().map(|(key, _)| *key));
    for (_, row) in pairs {
        out.extend_from_slice(&row.to_le_bytes());
    }
    out.resize(align_up(out.len(), NODE_BYTES), 0);
    out
}

impl Tree {
    /// Reads a tree; `check` says that its bytes come from elsewhere. Rows are less than `rows`.
    pub(crate) fn open(
        bytes: &Buffer,
        count: usize,
        width: usize,
        rows: usize,
        check: bool,
    ) -> Checked<Tree> {
        if (width != 4 && width != 8) || count > rows || bytes.len() != length(count, width) {
            return Err(format!("a tree of {count} keys of {width} bytes has not {} bytes", bytes.len()));
        }
        let keys = match width {
            4 => TreeKeys::Narrow(Levels::open(bytes, count, check)?),
            _ => TreeKeys::Wide(Levels::open(bytes, count, check)?),
        };
        let at = bytes.len() - align_up(count * 4, NODE_BYTES);
        let places = slice::<u32>(bytes, at, count);
        if check && places.iter().any(|row| *row as usize >= rows) {
            return Err("a tree leads to a row that is not there".into());
        }
        Ok(Tree { keys, rows: places })
    }

    /// Places of the keys in the range, both ends in.
    pub(crate) fn find(&self, low: u64, high: u64) -> std::ops::Range<usize> {
        match &self.keys {
            TreeKeys::Narrow(levels) => levels.find(low, high),
            TreeKeys::Wide(levels) => levels.find(low, high),
        }
    }
    /// The rows at places.
    pub(crate) fn rows(&self, places: std::ops::Range<usize>) -> &[u32] {
        &self.rows[places]
    }
}

fn slice<T: arrow_buffer::ArrowNativeType>(bytes: &Buffer, at: usize, count: usize) -> ScalarBuffer<T> {
    if count == 0 {
        return Vec::new().into();
    }
    ScalarBuffer::new(bytes.slice_with_length(at, count * size_of::<T>()), 0, count)
}

impl<K: Key> Levels<K> {
    const FAN: usize = NODE_BYTES / size_of::<K>();

    fn open(bytes: &Buffer, count: usize, check: bool) -> Checked<Self> {
        let mut at = 0;
        let mut levels = Vec::new();
        for size in level_sizes(count, size_of::<K>()) {
            // Levels are read in whole nodes.
            let length = align_up(size * size_of::<K>(), NODE_BYTES);
            levels.push(slice::<K>(bytes, at, length / size_of::<K>()));
            at += length;
        }
        let keys = slice::<K>(bytes, at, count);
        let opened = Levels { levels, keys };
        if check {
            opened.check()?;
        }
        Ok(opened)
    }

    fn check(&self) -> Checked<()> {
        if !self.keys.windows(2).all(|pair| pair[0] <= pair[1]) {
            return Err("the keys of a tree are out of order".into());
        }
        let mut below: &[K] = &self.keys;
        let sizes = level_sizes(self.keys.len(), size_of::<K>());
        for (level, size) in self.levels.iter().zip(&sizes).rev() {
            let last = below.chunks(Self::FAN).map(|node| node[node.len() - 1]);
            let rest = std::iter::repeat_n(K::LAST, level.len() - size);
            if !last.chain(rest).eq(level.iter().copied()) {
                return Err("an inner node of a tree does not fit its children".into());
            }
            below = &level[..*size];
        }
        Ok(())
    }

    fn find(&self, low: u64, high: u64) -> std::ops::Range<usize> {
        if low > K::LAST.wide() || self.keys.is_empty() {
            return 0..0;
        }
        // The first key needs no way down.
        let from = if low == 0 { 0 } else { self.lower_bound(K::narrowed(low)) };
        let to = match high.checked_add(1) {
            Some(next) if next <= K::LAST.wide() => self.lower_bound(K::narrowed(next)),
            _ => self.keys.len(),
        };
        from..to.max(from)
    }

    /// The place of the first key that is at least `key`.
    fn lower_bound(&self, key: K) -> usize {
        let mut node = 0;
        for level in &self.levels {
            let keys = level.get(node * Self::FAN..(node + 1) * Self::FAN).unwrap_or(&[]);
            // Counting compiles to one comparison of vectors a node; a search inside the node does not.
            let below = keys.iter().filter(|k| **k < key).count();
            // Below the greatest key of the level, so that the last node is the furthest one can come.
            node = node * Self::FAN + below.min(Self::FAN - 1);
        }
        let from = (node * Self::FAN).min(self.keys.len());
        let to = (from + Self::FAN).min(self.keys.len());
        from + self.keys[from..to].iter().filter(|k| **k < key).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Random;

    #[test]
    fn every_search_finds_what_a_scan_finds() {
        let mut random = Random::new(3);
        for width in [4usize, 8] {
            for count in [0usize, 1, 7, 8, 15, 16, 17, 64, 255, 256, 257, 1000, 4096, 4097, 20_000] {
                for spread in
                    [3u64, 1000, u64::from(u32::MAX), if width == 4 { u64::from(u32::MAX) } else { u64::MAX }]
                {
                    let mut pairs: Vec<(u64, u32)> =
                        (0..count).map(|row| (random.bits() % spread.max(1), row as u32)).collect();
                    if let Some(pair) = pairs.first_mut().filter(|_| spread > 1 << 31) {
                        pair.0 = spread;
                    }
                    pairs.sort_unstable();
                    let bytes = Buffer::from_slice_ref::<u8, _>(build(&pairs, width).as_slice());
                    assert_eq!(bytes.len(), length(count, width));
                    let tree = Tree::open(&bytes, count, width, count, true).unwrap();
                    for _ in 0..50 {
                        let (a, b) = (random.bits() % spread, random.bits() % spread);
                        let near = pairs.get(random.below(count.max(1) as u64) as usize).map_or(0, |p| p.0);
                        for (low, high) in
                            [(a.min(b), a.max(b)), (near, near), (near, u64::MAX), (0, near), (a, a)]
                        {
                            let found = tree.rows(tree.find(low, high));
                            let expected: Vec<u32> =
                                pairs.iter().filter(|p| (low..=high).contains(&p.0)).map(|p| p.1).collect();
                            assert_eq!(found, expected, "{low}..={high} of {count}");
                        }
                    }
                }
            }
        }
    }
}
