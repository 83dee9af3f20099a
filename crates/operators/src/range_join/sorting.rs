//! Sorting the rows of a build side by a key, in work orders: chunks are sorted, then ranges of keys are put together
//! from the pieces that the chunks have of them (as the full sort does, `sort/full.rs`).

use std::sync::OnceLock;

use super::keys::KeyColumn;

/// Rows of a chunk: a few milliseconds between two looks at the query's signal.
pub(super) const CHUNK_ROWS: usize = if cfg!(test) { 16 } else { 128 * 1024 };
/// Sampled keys of a chunk for each range, so that ranges come out within a few per cent of each other.
const SAMPLES_PER_RANGE: usize = 16;

/// A sort in two rounds of work orders: `sort_chunk` for each chunk, `divide` once, `merge_range` for each range.
pub(crate) struct Sorting {
    /// The keys of all rows, by row number.
    pub keys: KeyColumn,
    chunks: Vec<OnceLock<Vec<u32>>>,
    merge: OnceLock<Merge>,
}

struct Merge {
    /// Where each range begins in each chunk, with an end behind the last: `bounds[range][chunk]`.
    bounds: Vec<Vec<usize>>,
    pieces: Vec<OnceLock<Vec<u32>>>,
}

impl Sorting {
    /// A sort of all rows of `keys`, not begun.
    pub fn new(keys: KeyColumn) -> Sorting {
        let chunks = keys.len().div_ceil(CHUNK_ROWS);
        Sorting { keys, chunks: (0..chunks).map(|_| OnceLock::new()).collect(), merge: OnceLock::new() }
    }

    /// The number of chunks, work orders of the first round.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Sorts the rows of one chunk; once for each chunk, in any order.
    pub fn sort_chunk(&self, chunk: usize) {
        let first = chunk * CHUNK_ROWS;
        let mut rows: Vec<u32> = (first as u32..(first + CHUNK_ROWS).min(self.keys.len()) as u32).collect();
        self.keys.sort(&mut rows);
        // A chunk is sorted by one order.
        let _ = self.chunks[chunk].set(rows);
    }

    /// Once all chunks are sorted: cuts them into ranges.
    pub fn divide(&self) {
        let chunks: Vec<&[u32]> = self.chunks.iter().map(|c| c.get().map_or(&[][..], |rows| rows)).collect();
        let wanted = chunks.len();
        let mut bounds = vec![vec![0; wanted]];
        if wanted > 1 {
            let step = (CHUNK_ROWS / SAMPLES_PER_RANGE).max(1);
            let mut samples: Vec<u32> = Vec::new();
            for rows in &chunks {
                samples.extend(rows.iter().skip(step / 2).step_by(step));
            }
            let compare = |a: u32, b: u32| self.keys.compare(a, b).then(a.cmp(&b));
            samples.sort_unstable_by(|a, b| compare(*a, *b));
            for range in 1..wanted {
                let Some(splitter) = samples.get(samples.len() * range / wanted) else { continue };
                // Row numbers decide between equal keys, so that a key of many rows is divided, too.
                let before = |row: &u32| compare(*row, *splitter).is_lt();
                bounds.push(chunks.iter().map(|rows| rows.partition_point(before)).collect());
            }
        }
        bounds.push(chunks.iter().map(|rows| rows.len()).collect());
        let pieces = (1..bounds.len()).map(|_| OnceLock::new()).collect();
        // Dividing happens once.
        let _ = self.merge.set(Merge { bounds, pieces });
    }

    /// The number of ranges, work orders of the second round; 0 before `divide`.
    pub fn ranges(&self) -> usize {
        self.merge.get().map_or(0, |merge| merge.pieces.len())
    }

    /// Puts one range in order; does nothing before `divide`.
    pub fn merge_range(&self, range: usize) {
        let Some(merge) = self.merge.get() else { return };
        let (from, to) = (&merge.bounds[range], &merge.bounds[range + 1]);
        let mut rows = Vec::new();
        for (at, chunk) in self.chunks.iter().enumerate() {
            rows.extend_from_slice(chunk.get().map_or(&[], |rows| &rows[from[at]..to[at]]));
        }
        // A single chunk is in order already.
        if self.chunks.len() > 1 {
            self.keys.sort(&mut rows);
        }
        let _ = merge.pieces[range].set(rows);
    }

    /// The rows in the order of their keys.
    pub fn order(&self) -> Vec<u32> {
        let pieces = self.merge.get().map_or(&[][..], |merge| &merge.pieces);
        let mut order = Vec::with_capacity(self.keys.len());
        pieces.iter().filter_map(OnceLock::get).for_each(|piece| order.extend_from_slice(piece));
        order
    }
}

#[cfg(test)]
mod tests {
    use types::{Type, Value};
    use vector::Vector;

    use super::*;

    #[test]
    fn chunks_and_ranges_give_one_order() {
        let mut random = crate::hash_join::tests::Random::new(7);
        for rows in [0, 1, 15, 16, 17, 100, 1000] {
            for values in [1, 3, 1000] {
                let numbers: Vec<i64> = (0..rows).map(|_| random.below(values) as i64 - 500).collect();
                let long: Vec<Value> = numbers.iter().map(|n| Value::I128(i128::from(*n) << 70)).collect();
                let text: Vec<Value> =
                    numbers.iter().map(|n| Value::text(&format!("text {:05}", n + 1000))).collect();
                let wide = Type::Decimal { precision: 38, scale: 0 };
                for column in [
                    Vector::from_i64(Type::BigInt, numbers.clone()),
                    Vector::from_values(wide, &long),
                    Vector::from_values(Type::Text, &text),
                ] {
                    let sorting = Sorting::new(KeyColumn::of(&column).unwrap());
                    (0..sorting.chunks()).for_each(|chunk| sorting.sort_chunk(chunk));
                    sorting.divide();
                    (0..sorting.ranges()).for_each(|range| sorting.merge_range(range));
                    let mut expected: Vec<u32> = (0..rows as u32).collect();
                    expected.sort_by_key(|row| numbers[*row as usize]);
                    assert_eq!(sorting.order(), expected, "{rows} {values}");
                }
            }
        }
    }
}
