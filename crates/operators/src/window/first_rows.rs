//! Rows that no filter above the window lets through are dropped before they are collected.
//!
//! ```text
//!  row_number() OVER (PARTITION BY p ORDER BY o) <= 2        group of p    its 2 least keys seen
//!                                                            'a'           3, 8      a row of 'a' with key 9 is dropped
//! ```
//! With a filter `row_number() <= k` or `rank() <= k`, a row counts only while fewer than k rows of its partition
//! stand before it. Each worker keeps the k least keys of every partition it has seen, and drops rows whose key is
//! behind all of them. Rows with an equal key stay: rank counts them, and ties are for the sort to decide. What is
//! dropped has at least k rows before it, so the first k keep their numbers. When all input is seen, the rows that were
//! kept are compared with the last bounds of their worker once more (`Bounds::keep`), before they are gathered and sorted. Keys are compared by their first 16
//! bytes, which never drops too much. Where few rows can be dropped the work stops.

use hash::aggregate::{GroupTable, KeyBatch, KeyLayout};
use types::Result;
use vector::Vector;

/// For larger k a list is too slow; the sort does it.
pub(super) const FIRST_MAX: u64 = 64;
/// After so many rows, and after so many times the rows that are kept in any case, it has to have dropped a share.
const TRIED_ROWS: usize = 1 << 16;
const TRIED_SHARE: usize = 4;
const DROPPED_SHARE_MIN: usize = 4;
/// Keys and table of a worker take at most this.
const BYTES_MAX: usize = 64 << 20;

/// The least keys of each partition, of one worker.
pub(super) struct FirstRows {
    first: usize,
    table: GroupTable,
    batch: KeyBatch,
    /// Partition of each row of the batch.
    groups: Vec<u32>,
    /// `first` keys a partition, in descending order: the greatest of the least. `u128::MAX` where none is yet.
    least: Vec<u128>,
    rows: usize,
    dropped: usize,
}

/// The least keys of each partition of one worker when all input is seen.
pub(super) struct Bounds {
    first: usize,
    least: Vec<u128>,
}

impl Bounds {
    /// Whether a row of a batch that was kept is still one of the first, after all that came behind it.
    pub(super) fn keep(&self, places: &Places, row: usize) -> bool {
        places.keys[row] <= self.least[places.partitions[row] as usize * self.first]
    }
}

/// Partition and key of each row of a batch that was kept: bounds sink with the rows behind it.
#[derive(Default)]
pub(super) struct Places {
    partitions: Vec<u32>,
    keys: Vec<u128>,
}

impl Places {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.partitions.capacity() * size_of::<u32>() + self.keys.capacity() * size_of::<u128>()
    }
}

impl FirstRows {
    /// Keeps at most `first` keys of each partition; `layout` is that of the partition keys.
    pub(super) fn new(first: usize, layout: &KeyLayout) -> Self {
        FirstRows {
            first,
            table: GroupTable::new(layout),
            batch: KeyBatch::default(),
            groups: vec![],
            least: vec![],
            rows: 0,
            dropped: 0,
        }
    }
    /// Bytes of the table and the keys.
    pub(super) fn bytes(&self) -> usize {
        self.table.bytes() + self.least.capacity() * size_of::<u128>()
    }
    /// Whether going on is worth it.
    pub(super) fn pays(&self) -> bool {
        // Rows are dropped once their partition has had its first ones.
        let tried = TRIED_ROWS.max(TRIED_SHARE * self.least.len());
        self.bytes() <= BYTES_MAX && (self.rows < tried || self.dropped >= self.rows / DROPPED_SHARE_MIN)
    }
    /// The rows of a batch that may count, by their partition's columns and their keys; `None` for all.
    pub(super) fn retain(
        &mut self,
        layout: &KeyLayout,
        partition: &[Vector],
        keys: &[u128],
        places: &mut Places,
    ) -> Result<Option<Vec<u32>>> {
        layout.encode(partition, keys.len(), &mut self.batch)?;
        self.table.find_or_insert(&self.batch.view(), None, &mut self.groups);
        self.least.resize(self.table.len() * self.first, u128::MAX);
        let mut kept = Vec::with_capacity(keys.len());
        for (row, (group, key)) in self.groups.iter().zip(keys).enumerate() {
            let start = *group as usize * self.first;
            let least = &mut self.least[start..start + self.first];
            if *key > least[0] {
                continue;
            }
            kept.push(row as u32);
            places.partitions.push(*group);
            places.keys.push(*key);
            // Puts the key in the place of the greatest.
            let mut at = 0;
            while at + 1 < least.len() && least[at + 1] > *key {
                least[at] = least[at + 1];
                at += 1;
            }
            least[at] = *key;
        }
        self.rows += keys.len();
        self.dropped += keys.len() - kept.len();
        Ok((kept.len() < keys.len()).then_some(kept))
    }
    /// The bounds after all input.
    pub(super) fn into_bounds(self) -> Bounds {
        Bounds { first: self.first, least: self.least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hash::aggregate::KeyColumn;
    use types::{Type, Value};

    #[test]
    fn the_first_rows_and_their_peers_stay() {
        let layout = KeyLayout::new(&[KeyColumn { ty: Type::Integer, nullable: true }]);
        let mut first = FirstRows::new(2, &layout);
        let parts = |values: &[Option<i32>]| {
            let values: Vec<Value> = values.iter().map(|v| v.map_or(Value::Null, Value::I32)).collect();
            [Vector::from_values(Type::Integer, &values)]
        };
        let mut places = Places::default();
        let all = first
            .retain(&layout, &parts(&[Some(1), Some(1), None, Some(1)]), &[5, 7, 9, 7], &mut places)
            .unwrap();
        assert_eq!(all, None);
        // 7 is a peer of the second; 8 is behind two. The other partition has one so far.
        let mut more = Places::default();
        let some = first
            .retain(&layout, &parts(&[Some(1), Some(1), None, None]), &[7, 8, 30, 20], &mut more)
            .unwrap();
        assert_eq!(some, Some(vec![0, 2, 3]));
        let mut last = Places::default();
        let some = first
            .retain(&layout, &parts(&[Some(1), None, Some(1), Some(1)]), &[1, 20, 6, 5], &mut last)
            .unwrap();
        assert_eq!(some, Some(vec![0, 1, 3]));
        // The bounds are 5 and 20 now: of what was kept, 7 and 30 are not among the first any more.
        let bounds = first.into_bounds();
        let kept = |places: &Places, rows: usize| (0..rows).filter(|row| bounds.keep(places, *row)).collect();
        let (of_first, of_second, of_last): (Vec<usize>, Vec<usize>, Vec<usize>) =
            (kept(&places, 4), kept(&more, 3), kept(&last, 3));
        assert_eq!((of_first, of_second, of_last), (vec![0, 2], vec![2], vec![0, 1, 2]));
    }
}
