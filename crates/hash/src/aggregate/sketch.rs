//! `approx_count_distinct`: a sketch of the values of each group, of bounded size.
//!
//! HyperLogLog (Flajolet, Fusy, Gandouet and Meunier, 2007): a value's hash names one of `REGISTERS` registers by its
//! first `INDEX_BITS` bits, and the register keeps the greatest rank, the place of the first set bit behind them. The
//! number of values is estimated from how often each rank occurs, by the improved estimator of Ertl, "New cardinality
//! estimation algorithms for HyperLogLog sketches" (2017), section 4, which needs no table of corrections. The standard
//! error is `1.04 / sqrt(REGISTERS)`, 1.6 %.
//!
//! ```text
//!  hash   | 12 bits: register | 14 bits | 38 bits |
//!  entry  | 26 bits of the hash         | 6 bits: rank within the last 38 |
//! ```
//! Registers of many small groups would be a waste, so a group begins with the entries of its hashes in a small table,
//! as in HyperLogLog++ (Heule, Nunkesser and Hall, 2013); an entry has all that its register needs. Unlike there,
//! entries that differ in their ranks alone are kept apart, and their number is the estimate: up to `ENTRIES_MAX`
//! values it is exact but for collisions of 26 bits and more.
//!
//! A sketch depends on the set of values only: not on their order, their repetition or on which worker saw them.

use types::Result;
use vector::{Data, Vector};

use super::rows::RowGroups;
use super::text::TextColumn;
use crate::hashing::hash_vector;

const INDEX_BITS: u32 = 12;
const REGISTERS: usize = 1 << INDEX_BITS;
/// Bits of a hash behind the register's number; the greatest rank is one more.
const RANK_BITS: u32 = 64 - INDEX_BITS;
/// Bits of a hash that an entry keeps, and those behind them of which it keeps the rank.
const ENTRY_BITS: u32 = 26;
/// Entries before registers, which take as much memory as a table of so many, are made.
const ENTRIES_MAX: usize = 768;
const TABLE_MIN: usize = 8;
/// Entries in bytes may not look like registers.
const _: () = assert!(ENTRIES_MAX * 4 < REGISTERS);

/// The sketch of one group.
#[derive(Clone, Debug, Default)]
enum Sketch {
    #[default]
    Empty,
    /// A hash table of a power of two of places, at most three in four taken; 0 is a free place.
    Few {
        table: Box<[u32]>,
        entries: u32,
    },
    Many(Box<[u8; REGISTERS]>),
}

/// Bijective: no information of the hash is lost, and its high bits depend on all of it.
#[inline(always)]
fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// The register of a hash and its rank, 1 to `RANK_BITS + 1`.
#[inline(always)]
fn register(hash: u64) -> (usize, u8) {
    // The bit set behind the last ends the count there.
    let rest = (hash << INDEX_BITS) | (1 << (INDEX_BITS - 1));
    ((hash >> RANK_BITS) as usize, rest.leading_zeros() as u8 + 1)
}

/// What of a hash is kept while there are few. Not 0, as ranks begin at 1.
#[inline(always)]
fn entry(hash: u64) -> u32 {
    let rest = (hash << ENTRY_BITS) | (1 << (ENTRY_BITS - 1));
    ((hash >> (64 - ENTRY_BITS)) as u32) << 6 | (rest.leading_zeros() + 1)
}

/// The register of an entry's hash, and its rank.
fn register_of(entry: u32) -> (usize, u8) {
    let (prefix, rank) = (entry >> 6, entry & 63);
    let between = ENTRY_BITS - INDEX_BITS;
    // The bits between the register's number and those that only the rank is kept of.
    let bits = prefix << (32 - between);
    let rank = if bits == 0 { between + rank } else { bits.leading_zeros() + 1 };
    ((prefix >> between) as usize, rank as u8)
}

/// Puts an entry into a table that has a free place; tells whether it is new.
#[inline]
fn put(table: &mut [u32], entry: u32) -> bool {
    let mask = table.len() - 1;
    let mut place = (entry.wrapping_mul(0x9e37_79b1) >> 16) as usize & mask;
    loop {
        match table[place] {
            0 => {
                table[place] = entry;
                return true;
            }
            there if there == entry => return false,
            _ => place = (place + 1) & mask,
        }
    }
}

impl Sketch {
    fn bytes(&self) -> usize {
        match self {
            Sketch::Empty => 0,
            Sketch::Few { table, .. } => table.len() * 4,
            Sketch::Many(_) => REGISTERS,
        }
    }
    #[inline(always)]
    fn add(&mut self, hash: u64) {
        match self {
            Sketch::Many(registers) => {
                let (at, rank) = register(hash);
                registers[at] = registers[at].max(rank);
            }
            _ => self.add_entry(entry(hash)),
        }
    }
    fn add_entry(&mut self, entry: u32) {
        match self {
            Sketch::Empty => {
                let mut table = vec![0; TABLE_MIN].into_boxed_slice();
                put(&mut table, entry);
                *self = Sketch::Few { table, entries: 1 };
            }
            Sketch::Few { table, entries } => {
                *entries += u32::from(put(table, entry));
                if *entries as usize > ENTRIES_MAX {
                    *self = Sketch::Many(registers_of(table));
                } else if *entries as usize * 4 > table.len() * 3 {
                    let mut larger = vec![0; table.len() * 2].into_boxed_slice();
                    table.iter().filter(|entry| **entry != 0).for_each(|entry| {
                        put(&mut larger, *entry);
                    });
                    *table = larger;
                }
            }
            Sketch::Many(registers) => {
                let (at, rank) = register_of(entry);
                registers[at] = registers[at].max(rank);
            }
        }
    }
    fn merge(&mut self, other: &Sketch) {
        match other {
            Sketch::Empty => {}
            Sketch::Few { table, .. } => {
                table.iter().filter(|entry| **entry != 0).for_each(|entry| self.add_entry(*entry));
            }
            Sketch::Many(theirs) => {
                if let Sketch::Few { table, .. } = self {
                    *self = Sketch::Many(registers_of(table));
                }
                match self {
                    Sketch::Many(mine) => {
                        mine.iter_mut()
                            .zip(theirs.iter())
                            .for_each(|(mine, rank)| *mine = (*mine).max(*rank));
                    }
                    _ => *self = other.clone(),
                }
            }
        }
    }
    fn estimate(&self) -> i64 {
        match self {
            Sketch::Empty => 0,
            Sketch::Few { entries, .. } => i64::from(*entries),
            Sketch::Many(registers) => estimate(registers),
        }
    }
    /// Its bytes in a file; `read` makes it anew.
    fn written(&self) -> Vec<u8> {
        match self {
            Sketch::Empty => vec![],
            Sketch::Few { table, .. } => {
                table.iter().filter(|entry| **entry != 0).flat_map(|entry| entry.to_le_bytes()).collect()
            }
            Sketch::Many(registers) => registers.to_vec(),
        }
    }
    fn read(bytes: &[u8]) -> Sketch {
        if let Ok(registers) = <[u8; REGISTERS]>::try_from(bytes) {
            return Sketch::Many(Box::new(registers));
        }
        let mut sketch = Sketch::Empty;
        bytes.as_chunks::<4>().0.iter().for_each(|entry| sketch.add_entry(u32::from_le_bytes(*entry)));
        sketch
    }
}

fn registers_of(table: &[u32]) -> Box<[u8; REGISTERS]> {
    let mut registers = Box::new([0; REGISTERS]);
    for entry in table.iter().filter(|entry| **entry != 0) {
        let (at, rank) = register_of(*entry);
        registers[at] = registers[at].max(rank);
    }
    registers
}

/// The improved estimator (Ertl, algorithm 6), with his names.
fn estimate(registers: &[u8; REGISTERS]) -> i64 {
    let mut counts = [0u32; RANK_BITS as usize + 2];
    registers.iter().for_each(|rank| counts[*rank as usize] += 1);
    let m = REGISTERS as f64;
    let mut z = m * tau(1.0 - f64::from(counts[RANK_BITS as usize + 1]) / m);
    for count in counts[1..=RANK_BITS as usize].iter().rev() {
        z = 0.5 * (z + f64::from(*count));
    }
    z += m * sigma(f64::from(counts[0]) / m);
    let alpha = 0.5 / std::f64::consts::LN_2;
    (alpha * m * m / z).round() as i64
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

/// The sketches of all groups.
#[derive(Debug, Default)]
pub struct Sketches {
    groups: Vec<Sketch>,
    /// Bytes of tables and registers.
    held: usize,
    hashes: Vec<u64>,
}

impl Sketches {
    /// Bytes held, for the memory budget.
    pub(super) fn bytes(&self) -> usize {
        self.held + self.groups.capacity() * size_of::<Sketch>()
    }
    pub(super) fn resize(&mut self, groups: usize) {
        self.groups.resize_with(groups, Sketch::default);
    }
    /// Adds a batch of values without NULLs.
    pub(super) fn update(&mut self, groups: RowGroups<'_>, values: &Vector) -> Result<()> {
        self.hashes.resize(values.len(), 0);
        hash_vector(values, &mut self.hashes);
        let each = match groups {
            RowGroups::Single(_) => {
                let sketch = &mut self.groups[0];
                self.held -= sketch.bytes();
                self.hashes.iter().for_each(|hash| sketch.add(mixed(*hash)));
                self.held += sketch.bytes();
                return Ok(());
            }
            RowGroups::Each(each) => each,
            RowGroups::Runs(runs) => runs.each(),
        };
        for (group, hash) in each.iter().zip(&self.hashes) {
            let sketch = &mut self.groups[*group as usize];
            let before = sketch.bytes();
            sketch.add(mixed(*hash));
            self.held = self.held - before + sketch.bytes();
        }
        Ok(())
    }
    /// Adds the other's groups `rows` (all when `None`) to `groups` here.
    pub(super) fn merge(&mut self, other: &Sketches, rows: Option<&[u32]>, groups: &[u32]) {
        for (at, group) in groups.iter().enumerate() {
            let sketch = &mut self.groups[*group as usize];
            let before = sketch.bytes();
            sketch.merge(&other.groups[rows.map_or(at, |rows| rows[at] as usize)]);
            self.held = self.held - before + sketch.bytes();
        }
    }
    /// About how many different values each of the groups `[start, end)` has.
    pub(super) fn estimates(&self, start: usize, end: usize) -> impl Iterator<Item = i64> {
        self.groups[start..end].iter().map(Sketch::estimate)
    }
    /// As a vector of bytes, for files.
    pub(super) fn into_vector(self) -> Vector {
        let mut texts = TextColumn::default();
        self.groups.iter().for_each(|sketch| texts.push(&sketch.written()));
        texts.into_vector()
    }
    /// Again, from that vector; `None` where it is another.
    pub(super) fn from_vector(vector: &Vector) -> Option<Sketches> {
        let Data::Bytes(bytes) = vector.data() else { return None };
        let groups: Vec<Sketch> = (0..vector.len()).map(|row| Sketch::read(bytes.get(row))).collect();
        let held = groups.iter().map(Sketch::bytes).sum();
        Some(Sketches { groups, held, hashes: vec![] })
    }
}

#[cfg(test)]
mod tests {
    use types::Type;

    use super::*;

    fn of(values: impl Iterator<Item = i64>) -> Sketches {
        let mut sketches = Sketches::default();
        sketches.resize(1);
        let values: Vec<i64> = values.collect();
        for part in values.chunks(1000) {
            let vector = Vector::from_i64(Type::BigInt, part.to_vec());
            sketches.update(RowGroups::Single(part.len()), &vector).expect("integers have hashes");
        }
        sketches
    }

    fn counted(sketches: &Sketches) -> i64 {
        sketches.estimates(0, 1).next().expect("there is a group")
    }

    #[test]
    fn estimates_are_within_five_standard_errors() {
        for step in [1, 1 << 12, 0x0123_4567_89ab_cdef] {
            for count in [1, 7, 100, 700] {
                assert_eq!(counted(&of((0..count).map(|v: i64| v.wrapping_mul(step)))), count);
            }
            for count in [800, 2_000, 8_000, 20_000, 100_000, 400_000] {
                let about = counted(&of((0..count).map(|v: i64| v.wrapping_mul(step))));
                let error = (about - count).abs() as f64 / count as f64;
                assert!(error < 5.0 * 1.04 / 64.0, "{about} instead of {count}, step {step}");
            }
        }
    }

    #[test]
    fn the_mean_of_estimates_is_hardly_biased() {
        // Where tables of corrections used to be needed: between counting free registers and the harmonic mean.
        for count in [4_000i64, 10_000, 16_000] {
            let estimates: Vec<f64> =
                (0..64).map(|set| counted(&of((0..count).map(|v| v + set * 1_000_003))) as f64).collect();
            let mean = estimates.iter().sum::<f64>() / 64.0;
            assert!((mean / count as f64 - 1.0).abs() < 0.01, "{mean} instead of {count}");
            let squares = estimates.iter().map(|e| (e / count as f64 - 1.0).powi(2)).sum::<f64>() / 64.0;
            assert!(squares.sqrt() < 0.022, "{} is not the standard error of {count}", squares.sqrt());
        }
    }

    #[test]
    fn a_sketch_is_one_of_the_set() {
        for count in [3, 700, 769, 50_000] {
            let all = of(0..count);
            let mut twice = of((0..count).rev().chain(0..count));
            assert_eq!(counted(&all), counted(&twice));
            let (small, large) = (of(0..count / 3), of(count / 4..count));
            for (first, second) in [(&small, &large), (&large, &small)] {
                let mut merged = Sketches::default();
                merged.resize(1);
                merged.merge(first, None, &[0]);
                merged.merge(second, Some(&[0]), &[0]);
                assert_eq!(counted(&merged), counted(&all), "{count}");
                assert_eq!(merged.held, merged.groups.iter().map(Sketch::bytes).sum::<usize>());
            }
            twice = Sketches::from_vector(&twice.into_vector()).expect("is one");
            assert_eq!(counted(&twice), counted(&all));
        }
        assert_eq!(counted(&of(0..0)), 0);
    }

    #[test]
    fn entries_have_what_registers_need() {
        for at in 0..100_000u64 {
            let hash = mixed(at) >> (at % 40) | mixed(at) << 52;
            assert_eq!(register(hash), register_of(entry(hash)), "{hash:x}");
        }
        assert_eq!(register(0), register_of(entry(0)));
        assert_eq!(register(0), (0, RANK_BITS as u8 + 1));
    }
}
