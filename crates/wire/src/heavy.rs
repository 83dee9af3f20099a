//! Keys that come far more often than others, found while rows are sent: the space-saving sketch (Metwally, Agrawal, El
//! Abbadi, *Efficient computation of frequent and top-k elements in data streams*, ICDT 2005).
//!
//! A sketch of m entries keeps m keys with a count each. A key that is there counts up; another takes the place of the
//! least count, and counts on from it. So a count is never too low, too high by at most that least count, which is at
//! most rows / m; and every key above rows / m is there. Two sketches are merged as in Agarwal et al., *Mergeable
//! summaries*, PODS 2012: a key that one of them does not have counts there as its least count.
//!
//! Keys are known by their hash (`scatter::hash_keys`), which both sides of a join have in common: two keys of one hash
//! are both heavy or neither, which costs bytes, not answers.

/// Entries: what the design asks for. A key above a 64th of the rows is always found, and heavy is what exceeds an eighth
/// of a machine's share: with eight machines or more the least count is above that bound, so [`Sketch::heavy`] asks for
/// what is proven.
pub const ENTRIES: usize = 64;
/// Rows that a sink looks at, at least, before it says what is heavy.
pub const SAMPLE_ROWS_MIN: u64 = 64 << 10;

/// Counts of the most frequent keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    hashes: Vec<u64>,
    /// Upper bounds.
    counts: Vec<u64>,
    /// By how much each count may be too high.
    errors: Vec<u64>,
    rows: u64,
    /// By the last bits of a hash, how many entries have these: mostly none, which spares a search.
    met: Vec<u8>,
    /// No count is less, and those of entries before `cursor` are greater.
    floor: u64,
    cursor: usize,
}

/// Counters of the last bits of hashes: sixteen for each entry.
const MET: usize = 16 * ENTRIES;

/// What a sketch says of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heavy {
    /// The key's hash.
    pub hash: u64,
    /// Its rows, at most,
    pub at_most: u64,
    /// and at least.
    pub at_least: u64,
}

impl Sketch {
    /// A sketch that has seen no row.
    pub fn new() -> Self {
        Self::default()
    }
    /// Rows that were counted.
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// Counts the rows of these keys.
    pub fn add_all(&mut self, hashes: &[u64]) {
        let mut rest = hashes;
        // Rows of one key often follow each other.
        while let Some(first) = rest.first() {
            let run = rest.iter().take_while(|hash| *hash == first).count();
            self.add(*first, run as u64);
            rest = &rest[run..];
        }
    }
    /// Counts `rows` rows of a key.
    pub fn add(&mut self, hash: u64, rows: u64) {
        self.rows += rows;
        let may_be_there = self.met.get(hash as usize % MET).is_some_and(|met| *met > 0);
        if may_be_there && let Some(at) = self.hashes.iter().position(|known| *known == hash) {
            self.counts[at] += rows;
        } else if self.hashes.len() < ENTRIES {
            self.push(Heavy { hash, at_most: rows, at_least: rows });
        } else {
            let at = self.next_least();
            self.met[self.hashes[at] as usize % MET] -= 1;
            self.met[hash as usize % MET] += 1;
            self.hashes[at] = hash;
            self.errors[at] = self.counts[at];
            self.counts[at] += rows;
        }
    }
    /// An entry of the least count, whose count is about to grow: a pass over the entries finds many of them.
    fn next_least(&mut self) -> usize {
        loop {
            if let Some(step) = self.counts[self.cursor..].iter().position(|count| *count == self.floor) {
                self.cursor += step + 1;
                return self.cursor - 1;
            }
            self.floor = self.counts.iter().copied().min().unwrap_or(0);
            self.cursor = 0;
        }
    }
    fn push(&mut self, key: Heavy) {
        self.met.resize(MET, 0);
        self.met[key.hash as usize % MET] += 1;
        self.hashes.push(key.hash);
        self.counts.push(key.at_most);
        self.errors.push(key.at_most - key.at_least);
    }
    /// What a key that is not there may count.
    fn floor(&self) -> u64 {
        if self.hashes.len() < ENTRIES { 0 } else { self.counts.iter().copied().min().unwrap_or(0) }
    }
    fn entries(&self) -> impl Iterator<Item = Heavy> + '_ {
        (0..self.hashes.len()).map(|at| Heavy {
            hash: self.hashes[at],
            at_most: self.counts[at],
            at_least: self.counts[at] - self.errors[at],
        })
    }
    /// Takes over what another sketch, of other rows, has counted.
    pub fn merge(&mut self, other: &Sketch) {
        let (ours, theirs) = (self.floor(), other.floor());
        let find = |sketch: &Sketch, hash: u64| sketch.entries().find(|entry| entry.hash == hash);
        let mut merged: Vec<Heavy> = Vec::with_capacity(2 * ENTRIES);
        for entry in self.entries() {
            let met = find(other, entry.hash);
            merged.push(Heavy {
                hash: entry.hash,
                at_most: entry.at_most + met.map_or(theirs, |met| met.at_most),
                at_least: entry.at_least + met.map_or(0, |met| met.at_least),
            });
        }
        for entry in other.entries().filter(|entry| find(self, entry.hash).is_none()) {
            merged.push(Heavy { at_most: entry.at_most + ours, ..entry });
        }
        merged.sort_unstable_by_key(|entry| (std::cmp::Reverse(entry.at_most), entry.hash));
        let rows = self.rows + other.rows;
        *self = Sketch { rows, ..Sketch::default() };
        merged.into_iter().take(ENTRIES).for_each(|entry| self.push(entry));
    }
    /// The keys that have surely more than so many rows of a million, the heaviest first.
    pub fn heavy(&self, rows_of_a_million: u64) -> Vec<Heavy> {
        let bound = |key: &Heavy| {
            u128::from(key.at_least) * 1_000_000 > u128::from(self.rows) * u128::from(rows_of_a_million)
        };
        let mut heavy: Vec<Heavy> = self.entries().filter(bound).collect();
        heavy.sort_unstable_by_key(|key| (std::cmp::Reverse(key.at_least), key.hash));
        heavy
    }
    /// The keys that make machines uneven: those above an eighth of a machine's share.
    pub fn heavy_for(&self, machines: usize) -> HeavyKeys {
        let bound = 1_000_000 / (8 * machines.max(1) as u64);
        HeavyKeys::new(self.heavy(bound).into_iter().map(|key| key.hash))
    }
    /// The sketch as bytes, for the coordinator that merges.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 + 24 * self.hashes.len());
        out.extend_from_slice(&self.rows.to_le_bytes());
        for entry in self.entries() {
            for word in [entry.hash, entry.at_most, entry.at_least] {
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
        out
    }
    /// A sketch from bytes; `None` for what no sketch writes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Sketch> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let (rows, entries) = words.split_first()?;
        if !entries.len().is_multiple_of(3) || entries.len() > 3 * ENTRIES {
            return None;
        }
        let mut sketch = Sketch { rows: *rows, ..Sketch::default() };
        for entry in entries.chunks_exact(3) {
            let key = Heavy { hash: entry[0], at_most: entry[1], at_least: entry[2] };
            if key.at_least > key.at_most || key.at_least > *rows || sketch.hashes.contains(&key.hash) {
                return None;
            }
            sketch.push(key);
        }
        Some(sketch)
    }
}

/// A set of heavy keys, by their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeavyKeys {
    sorted: Vec<u64>,
    /// A bit for each hash's low six bits: most rows are told apart by it.
    bits: u64,
}

impl HeavyKeys {
    /// The set of these hashes.
    pub fn new(hashes: impl IntoIterator<Item = u64>) -> HeavyKeys {
        let mut sorted: Vec<u64> = hashes.into_iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let bits = sorted.iter().fold(0, |bits, hash| bits | 1 << (hash & 63));
        HeavyKeys { sorted, bits }
    }
    /// Whether a key with this hash is heavy.
    #[inline]
    pub fn contains(&self, hash: u64) -> bool {
        self.bits >> (hash & 63) & 1 == 1 && self.sorted.binary_search(&hash).is_ok()
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use random::Random;

    /// Keys of a Zipf distribution, by its sums.
    fn zipf(keys: usize, z: f64, rows: usize, random: &mut Random) -> Vec<u64> {
        let mut sums = Vec::with_capacity(keys);
        let mut sum = 0.0;
        for key in 1..=keys {
            sum += 1.0 / (key as f64).powf(z);
            sums.push(sum);
        }
        (0..rows)
            .map(|_| {
                let at = random.below(1u64 << 53) as f64 / (1u64 << 53) as f64 * sum;
                sums.partition_point(|s| *s < at) as u64
            })
            .collect()
    }

    fn exact(rows: &[u64]) -> std::collections::HashMap<u64, u64> {
        let mut counts = std::collections::HashMap::new();
        rows.iter().for_each(|key| *counts.entry(*key).or_insert(0) += 1);
        counts
    }

    #[test]
    fn counts_lie_between_their_bounds_and_heavy_keys_are_there() {
        let mut random = Random::new(11);
        for z in [0.5, 0.84, 1.2] {
            let rows = zipf(10_000, z, 80_000, &mut random);
            let counts = exact(&rows);
            let mut whole = Sketch::new();
            whole.add_all(&rows);
            let mut parts: Vec<Sketch> = Vec::new();
            for part in rows.chunks(20_000) {
                let mut sketch = Sketch::new();
                sketch.add_all(part);
                parts.push(Sketch::from_bytes(&sketch.to_bytes()).expect("its own bytes"));
            }
            let mut merged = Sketch::new();
            parts.iter().for_each(|part| merged.merge(part));
            for sketch in [&whole, &merged] {
                assert_eq!(sketch.rows(), 80_000);
                for entry in sketch.entries() {
                    let count = counts[&entry.hash];
                    assert!(entry.at_least <= count && count <= entry.at_most, "z {z}: {entry:?}, {count}");
                }
                for (key, count) in &counts {
                    assert!(
                        *count <= 80_000 / 64 * 2 || sketch.entries().any(|e| e.hash == *key),
                        "z {z}: key {key} with {count} rows is missing"
                    );
                }
            }
        }
    }

    #[test]
    fn keys_that_make_six_machines_uneven_are_found() {
        let mut random = Random::new(12);
        let rows = zipf(100_000, 1.2, 65_536, &mut random);
        let mut sketch = Sketch::new();
        sketch.add_all(&rows);
        let heavy = sketch.heavy_for(6);
        // An eighth of a sixth is 2.1 %: at z = 1.2 the first few keys of ranks 1 to 6 or so.
        let counts = exact(&rows);
        for (key, count) in counts {
            if count > 65_536 / 48 + 65_536 / 64 {
                assert!(heavy.contains(key), "key {key} with {count} rows");
            }
            if count < 65_536 / 48 {
                assert!(!heavy.contains(key));
            }
        }
        let mut even = Sketch::new();
        even.add_all(&(0..65_536).collect::<Vec<u64>>());
        assert!(even.heavy_for(32).is_empty(), "of even keys none is heavy");
    }

    #[test]
    fn foreign_bytes_are_no_sketch() {
        let mut sketch = Sketch::new();
        sketch.add_all(&[1, 2, 2, 3]);
        let bytes = sketch.to_bytes();
        assert_eq!(Sketch::from_bytes(&bytes), Some(sketch));
        assert_eq!(Sketch::from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Sketch::from_bytes(&bytes[..bytes.len() - 8]), None);
        let mut above = bytes.clone();
        above[24] = 0xFF;
        assert_eq!(Sketch::from_bytes(&above), None);
    }
}
