//! Which machine a row goes to, and the rows of a batch in the order of their machines.
//!
//! ```text
//!  hash of the key columns --mix--> one of the partitions --map--> machine           (hash)
//!  key columns as ordered bytes --search--> between which splitters                  (range)
//!  count of rows by machine, beginnings, row numbers in their places                 (counting sort)
//! ```
//! **The hash is mixed again.** Join and aggregation tables of a machine take their places from the high bits of the same
//! hashes (`hash::hashing::slot`); if the machine came from those bits too, all rows of a machine would crowd in one part
//! of its tables. And it is no identity: keys come in strides (TPC-H's order keys have residues 0 to 7 of 32), which leave
//! machines empty.
//!
//! Machines must agree on where a key goes, so the hash is frozen with the version of the wire: a test holds it to
//! recorded places. Equal keys have equal hashes: types in which equal values may have different bytes (intervals, and
//! what holds them) are hashed by the value that stands for all of them.

use std::borrow::Cow;
use std::sync::Arc;

use hash::hashing::slot;
use types::nested::encoding;
use types::nested::equality::Equality;
use types::{Type, Value};
use vector::{Vector, nested};

use crate::heavy::HeavyKeys;

/// Partitions of tables that are distributed by hash; a map says which machine has each.
pub const PARTITIONS: usize = 1024;

const MIX: u64 = 0xC2B2_AE3D_27D4_EB4F;

/// The hash that places rows, out of the hash of their keys.
#[inline(always)]
pub fn placing(hash: u64) -> u64 {
    let mixed = (hash ^ (hash >> 29)).wrapping_mul(MIX);
    mixed ^ (mixed >> 32)
}

/// The hashes of the rows' keys, which are the columns at `keys`: equal for equal keys on all machines. `hashes` is made as
/// long as `rows`.
pub fn hash_keys(columns: &[Vector], keys: &[usize], rows: usize, hashes: &mut Vec<u64>) {
    hashes.clear();
    hashes.resize(rows, 0);
    for (at, place) in keys.iter().enumerate() {
        let column = &columns[*place];
        let column = match Equality::of(column.ty()).is_of_bytes() {
            true => Cow::Borrowed(column),
            false => Cow::Owned(nested::by_equality(column.clone())),
        };
        match at {
            0 => hash::hash_vector(&column, hashes),
            _ => hash::combine_vector(&column, hashes),
        }
    }
}

/// The partition of a key's hash, of any number of them.
#[inline(always)]
pub fn partition(hash: u64, partitions: usize) -> usize {
    slot(placing(hash), partitions as u32)
}

/// How a column of a range's keys is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeKey {
    /// The greatest first.
    pub descending: bool,
    /// NULLs before all values.
    pub nulls_first: bool,
}

/// Where ranges of keys begin. Machine i has the keys from splitter i - 1 on and below splitter i.
#[derive(Clone, Debug)]
pub struct Splitters {
    order: Vec<RangeKey>,
    /// As ordered bytes, ascending.
    bounds: Vec<Vec<u8>>,
}

/// Appends a row's key as bytes whose plain order is the order wanted.
fn push_key(columns: &[Cow<'_, Vector>], order: &[RangeKey], row: usize, out: &mut Vec<u8>) {
    for (column, key) in columns.iter().zip(order) {
        let begin = out.len();
        match column.is_null(row) {
            true => out.push(if key.nulls_first { 0 } else { encoding::NULL }),
            false => nested::push_slot(column, row, out),
        }
        if key.descending {
            out[begin + 1..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

fn flat(columns: &[Vector]) -> Vec<Cow<'_, Vector>> {
    let one = |column| match Vector::is_flat(column) {
        true => Cow::Borrowed(column),
        false => Cow::Owned(column.flatten()),
    };
    columns.iter().map(one).collect()
}

impl Splitters {
    /// Splitters from the rows of `columns`, which are ascending in the order wanted: one less than there are machines.
    pub fn new(columns: &[Vector], rows: usize, order: &[RangeKey]) -> Splitters {
        let columns = flat(columns);
        let mut bounds: Vec<Vec<u8>> = (0..rows)
            .map(|row| {
                let mut key = Vec::new();
                push_key(&columns, order, row, &mut key);
                key
            })
            .collect();
        bounds.sort_unstable();
        Splitters { order: order.to_vec(), bounds }
    }
    /// Ranges that there are.
    pub fn ranges(&self) -> usize {
        self.bounds.len() + 1
    }
    fn range_of(&self, key: &[u8]) -> usize {
        self.bounds.partition_point(|bound| bound.as_slice() <= key)
    }
}

/// What is done with rows of heavy keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeavyRows {
    /// They stay on the machine that they are on: the side of a join that is skewed.
    Stay,
    /// They go to all machines: the other side.
    ToAll,
}

/// How rows find their machines.
#[derive(Clone, Debug)]
pub enum Route {
    /// By the hash of key columns.
    Hash {
        /// Places of the key columns.
        keys: Vec<usize>,
        /// The machine of each partition; as many as there are machines, or [`PARTITIONS`] of a distributed table.
        map: Arc<[u16]>,
        /// Keys that are dealt with apart.
        heavy: Option<(Arc<HeavyKeys>, HeavyRows)>,
    },
    /// By ranges of key columns.
    Range {
        /// Places of the key columns.
        keys: Vec<usize>,
        /// Where the ranges begin.
        splitters: Arc<Splitters>,
    },
    /// Batches in turn.
    RoundRobin,
    /// Every row to every machine.
    Broadcast,
    /// Every row to one machine.
    To(u16),
}

impl Route {
    /// By hash, evenly over so many machines.
    pub fn hash(keys: Vec<usize>, machines: usize) -> Route {
        Route::Hash { keys, map: (0..machines as u16).collect(), heavy: None }
    }
}

/// A map of [`PARTITIONS`] that deals them out in turn; placement by weight makes its own.
pub fn even_map(machines: usize) -> Arc<[u16]> {
    (0..PARTITIONS).map(|partition| (partition % machines.max(1)) as u16).collect()
}

/// The rows of a batch in the order of their machines; its memory is used again for the next batch.
///
/// There is a group for each machine, and one behind them for rows that go to all.
#[derive(Default)]
pub struct Scatter {
    hashes: Vec<u64>,
    groups: Vec<u16>,
    order: Vec<u32>,
    /// By group, the end of its rows in `order`.
    ends: Vec<u32>,
    key: Vec<u8>,
    turn: usize,
}

impl Scatter {
    /// Memory that has seen no batch.
    pub fn new() -> Self {
        Self::default()
    }
    /// The hashes of the last batch's keys, where it was routed by hash.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }
    /// Finds the machine of every row of a batch with these columns, seen from machine `own` of `machines`. Gives the one
    /// group that has all rows, where that is known without looking at them: then there is no order.
    pub fn route(
        &mut self,
        route: &Route,
        columns: &[Vector],
        rows: usize,
        own: usize,
        machines: usize,
    ) -> Option<usize> {
        match route {
            Route::Broadcast => return Some(machines),
            Route::To(machine) => return Some(usize::from(*machine)),
            Route::RoundRobin => {
                self.turn = (self.turn + 1) % machines;
                return Some(self.turn);
            }
            Route::Hash { keys, map, heavy } => {
                hash_keys(columns, keys, rows, &mut self.hashes);
                self.groups.clear();
                let partitions = map.len();
                self.groups.extend(self.hashes.iter().map(|hash| map[partition(*hash, partitions)]));
                if let Some((keys, rows)) = heavy {
                    let group = if *rows == HeavyRows::Stay { own } else { machines } as u16;
                    for (to, hash) in self.groups.iter_mut().zip(&self.hashes) {
                        if keys.contains(*hash) {
                            *to = group;
                        }
                    }
                }
            }
            Route::Range { keys, splitters } => {
                let keys: Vec<Vector> = keys.iter().map(|place| columns[*place].clone()).collect();
                let keys = flat(&keys);
                self.groups.clear();
                for row in 0..rows {
                    self.key.clear();
                    push_key(&keys, &splitters.order, row, &mut self.key);
                    self.groups.push(splitters.range_of(&self.key).min(machines - 1) as u16);
                }
            }
        }
        self.sort(machines + 1);
        None
    }
    /// Counting sort: rows of a group keep their order.
    fn sort(&mut self, groups: usize) {
        self.ends.clear();
        self.ends.resize(groups, 0);
        for group in &self.groups {
            self.ends[usize::from(*group)] += 1;
        }
        let mut sum = 0;
        for end in &mut self.ends {
            // Beginnings for now; placing the rows makes them ends.
            sum += std::mem::replace(end, sum);
        }
        self.order.clear();
        self.order.resize(self.groups.len(), 0);
        for (row, group) in self.groups.iter().enumerate() {
            let place = &mut self.ends[usize::from(*group)];
            self.order[*place as usize] = row as u32;
            *place += 1;
        }
    }
    /// The rows of a group, ascending.
    pub fn rows_of(&self, group: usize) -> &[u32] {
        let begin = if group == 0 { 0 } else { self.ends[group - 1] as usize };
        &self.order[begin..self.ends[group] as usize]
    }
}

/// The machine of a single key, for routing by values: as the rows of a batch with that key.
pub fn machine_of(key: &[(Type, Value)], map: &[u16]) -> u16 {
    let columns: Vec<Vector> =
        key.iter().map(|(ty, value)| Vector::constant(*ty, value.clone(), 1)).collect();
    let mut hashes = Vec::new();
    let places: Vec<usize> = (0..columns.len()).collect();
    hash_keys(&columns, &places, 1, &mut hashes);
    map[partition(hashes[0], map.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use random::Random;

    fn counts(keys: Vec<i64>, map: &[u16], machines: usize) -> Vec<usize> {
        let rows = keys.len();
        let mut scatter = Scatter::new();
        let route = Route::Hash { keys: vec![0], map: map.into(), heavy: None };
        scatter.route(&route, &[Vector::from_i64(Type::BigInt, keys)], rows, 0, machines);
        (0..machines).map(|machine| scatter.rows_of(machine).len()).collect()
    }

    #[test]
    fn keys_of_any_stride_are_even_on_3_to_32_machines() {
        let mut random = Random::new(7);
        let mut strides: Vec<i64> =
            vec![1, 2, 3, 4, 7, 8, 16, 24, 31, 32, 100, 1000, 1024, 4096, 1 << 20, 1 << 32];
        strides.extend((0..8).map(|_| random.between(1, 1 << 40)));
        const KEYS: usize = 10_000;
        for stride in strides {
            for machines in 3..=32 {
                for map in [
                    Route::hash(vec![0], machines),
                    Route::Hash { keys: vec![0], map: even_map(machines), heavy: None },
                ] {
                    let Route::Hash { map, .. } = map else { continue };
                    let keys = (0..KEYS as i64).map(|i| i.wrapping_mul(stride)).collect();
                    let counts = counts(keys, &map, machines);
                    let mean = KEYS as f64 / machines as f64;
                    let dealt = map.len().div_ceil(machines) as f64 * machines as f64 / map.len() as f64;
                    // Five deviations of a random throw, and what does not divide.
                    let allowed = mean * dealt + 5.0 * mean.sqrt();
                    let most = counts.iter().copied().max().unwrap_or(0) as f64;
                    assert!(most <= allowed, "stride {stride}, {machines} machines: {counts:?}");
                }
            }
        }
    }

    #[test]
    fn order_keys_leave_no_machine_empty() {
        // TPC-H's: only residues 0 to 7 of 32 occur.
        let keys: Vec<i64> = (0..40_000).map(|i| (i / 8) * 32 + i % 8).collect();
        for machines in [16, 32] {
            let counts = counts(keys.clone(), &even_map(machines), machines);
            assert!(counts.iter().all(|c| *c > 40_000 / machines * 8 / 10), "{counts:?}");
        }
    }

    #[test]
    fn a_machines_rows_spread_over_its_tables() {
        let keys: Vec<i64> = (0..64_000).collect();
        let mut scatter = Scatter::new();
        let rows = keys.len();
        scatter.route(&Route::hash(vec![0], 4), &[Vector::from_i64(Type::BigInt, keys)], rows, 0, 4);
        for machine in 0..4 {
            let mut slots = [0; 64];
            for row in scatter.rows_of(machine) {
                slots[slot(scatter.hashes()[*row as usize], 64)] += 1;
            }
            let (least, most) = (slots.iter().min(), slots.iter().max());
            assert!(least > Some(&150) && most < Some(&360), "machine {machine}: {slots:?}");
        }
    }

    #[test]
    fn places_are_those_of_this_version() {
        // A change here places rows of distributed tables anew: it is another version of the wire.
        let of = |key: &[(Type, Value)]| machine_of(key, &(0..1000).collect::<Vec<u16>>());
        let found = [
            of(&[(Type::BigInt, Value::I64(1))]),
            of(&[(Type::Integer, Value::I32(1))]),
            of(&[(Type::BigInt, Value::I64(-77))]),
            of(&[(Type::Text, Value::text("BUILDING"))]),
            of(&[(Type::Text, Value::text("a text that is longer than a view"))]),
            of(&[(Type::Double, Value::F64(0.5))]),
            of(&[(Type::HugeInt, Value::I128(1 << 70))]),
            of(&[(Type::BigInt, Value::Null)]),
            of(&[(Type::Integer, Value::I32(3)), (Type::Text, Value::text("x"))]),
        ];
        assert_eq!(found, PLACES, "version {}", crate::header::VERSION);
        assert_eq!(found[0], found[1], "integers of all widths go to one place");
    }
    const PLACES: [u16; 9] = [685, 685, 642, 215, 669, 86, 45, 599, 206];

    #[test]
    fn equal_intervals_go_to_one_machine() {
        use types::interval::Interval;
        let of = |i: Interval| machine_of(&[(Type::Interval, i.value().expect("a value"))], &even_map(7));
        for months in 1..20 {
            assert_eq!(of(Interval::new(months, 0, 0)), of(Interval::new(0, 30 * months, 0)));
        }
    }

    #[test]
    fn ranges_have_the_rows_between_their_splitters() {
        let mut random = Random::new(3);
        for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
            let order = [RangeKey { descending, nulls_first }];
            let splitters = Vector::from_values(Type::Integer, &[Value::I32(-5), Value::I32(10)]);
            let splitters = Arc::new(Splitters::new(&[splitters], 2, &order));
            assert_eq!(splitters.ranges(), 3);
            let values: Vec<Value> = (0..500)
                .map(|_| match random.chance(10) {
                    true => Value::Null,
                    false => Value::I32(random.between(-20, 20) as i32),
                })
                .collect();
            let mut scatter = Scatter::new();
            let column = Vector::from_values(Type::Integer, &values);
            scatter.route(&Route::Range { keys: vec![0], splitters }, &[column], 500, 0, 3);
            for machine in 0..3 {
                for row in scatter.rows_of(machine) {
                    let expected = match (&values[*row as usize], descending) {
                        (Value::Null, _) => {
                            if nulls_first {
                                0
                            } else {
                                2
                            }
                        }
                        (Value::I32(v), false) => usize::from(*v >= -5) + usize::from(*v >= 10),
                        (Value::I32(v), true) => usize::from(*v <= 10) + usize::from(*v <= -5),
                        _ => unreachable!("integers"),
                    };
                    assert_eq!(machine, expected, "{:?}", values[*row as usize]);
                }
            }
        }
    }
}
