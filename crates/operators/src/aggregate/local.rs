//! A worker's part of an aggregation: numbering the groups of each batch and updating their states.
//!
//! `LocalGroups` is a worker's state of the sink. The groups in memory are numbered from 0; keys, states and DISTINCT
//! pairs are kept by that number. `Index` is the present way of numbering and only ever moves towards the general
//! ones: ordered, direct, hash, passing. A table that reaches its limit is emptied into `partitions`, after which
//! numbers begin anew. All memory is charged to the budget as it grows; a worker that is refused, or of a query that
//! is held, writes its partitions to files (`spilled`).

use std::sync::Arc;

use hash::aggregate::{DirectMap, GroupTable, KeyBatch, KeyStore, RowGroups, Runs, SmallCodes, States};
use types::{Error, Result};
use vector::{Batch, Vector};

use super::cells::CellGroups;
use super::descriptor::Descriptor;
use super::distinct::Pairs;
use super::masked::Masked;
use crate::pipeline::Work;
use hash::aggregate::ordered::{Ordered, Segment, key_column};
use hash::aggregate::partition::{Groups, SharedGroups, by_partition, scatter};

/// A table that reduces its rows by less than this is not worth its look-ups.
const REDUCTION_MIN: u64 = 2;
/// One that reduces them this much may grow instead of emptying itself, up to `GROWTH` times.
const REDUCTION_GOOD: u64 = 4;
const GROWTH: usize = 8;
/// Rows that only pass are spread over the partitions while they are still in the second-level cache.
const PASSING_GROUPS: usize = 1 << 13;
/// After a batch without runs, this many are not searched for any.
const RUNLESS_BATCHES: u32 = 15;

/// About how many groups there are in all, if the keys of `rows` rows were `seen` different ones out of equally frequent
/// ones: the solution n of `seen = n (1 - exp(-rows / n))`; infinite where hardly any key came twice.
fn groups_in_all(seen: f64, rows: f64) -> f64 {
    let expected = |all: f64| all * -(-rows / all).exp_m1();
    // One pair of equal keys in sixty-four rows is not enough to tell.
    if seen * 64.0 > rows * 63.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (seen, rows * 64.0);
    while high - low > 0.01 * low {
        let middle = (low * high).sqrt();
        if expected(middle) < seen { low = middle } else { high = middle }
    }
    high
}

/// How the groups of the next batch are numbered.
pub(super) enum Index {
    /// There are no group columns.
    Single,
    /// Keys have ascended so far.
    Ordered(Ordered),
    /// An array over the key's bounds.
    Direct(DirectMap),
    /// The hash table, after a look at small codes and runs of equal keys.
    Hash,
    /// Every row or run is a group of its own until partitions are merged.
    Passing,
}

/// One worker's groups and their states; kept by the query from work order to work order.
pub(super) struct LocalGroups {
    /// The strategy in use; it changes when the input does not suit it.
    pub index: Index,
    /// The keys of the groups in memory; a group's number is its place here.
    pub table: GroupTable,
    /// The states, by the group's number.
    pub states: States,
    /// Groups of earlier tables; empty or `PARTITIONS`.
    pub partitions: Vec<Groups>,
    /// For each DISTINCT argument, its set of pairs.
    pub pairs: Vec<Pairs>,
    /// Groups found by bit masks over a block's codes.
    pub masked: Masked,
    /// Groups summed by cells over a block's codes.
    pub cells: CellGroups,
    codes: SmallCodes,
    runs: Runs,
    runless: u32,
    keys: KeyBatch,
    groups: Vec<u32>,
    unseen: Vec<u32>,
    found: Vec<u32>,
    /// Where the groups of the last flush went.
    places: Vec<(u32, u32)>,
    /// Rows since the table was empty.
    pub(super) rows: u64,
    groups_max: usize,
    pub(super) reservation: Option<memory::Reservation>,
    partition_bytes: usize,
}

impl LocalGroups {
    /// No groups; without group columns, the single group with its initial states.
    pub fn new(aggregate: &Descriptor) -> Self {
        let strategies = &aggregate.strategies;
        let mut states = States::new(&aggregate.spec);
        let index = if aggregate.groups.is_empty() {
            states.resize(1);
            Index::Single
        } else if strategies.ordered && aggregate.single_integer_key() {
            Index::Ordered(Ordered::default())
        } else {
            Self::unordered(aggregate)
        };
        LocalGroups {
            index,
            table: GroupTable::new(&aggregate.layout),
            states,
            partitions: vec![],
            pairs: (0..aggregate.pairs.len()).map(|at| Pairs::new(aggregate, at)).collect(),
            masked: Masked::default(),
            cells: CellGroups::default(),
            codes: SmallCodes::new(strategies.codes),
            runs: Runs::default(),
            runless: 0,
            keys: KeyBatch::default(),
            groups: vec![],
            unseen: vec![],
            found: vec![],
            places: vec![],
            rows: 0,
            groups_max: strategies.groups_max,
            reservation: None,
            partition_bytes: 0,
        }
    }
    fn unordered(aggregate: &Descriptor) -> Index {
        match aggregate.direct {
            Some((low, values)) => Index::Direct(DirectMap::new(low, values)),
            None => Index::Hash,
        }
    }
    /// Whether some groups have left the table for the partitions.
    pub fn is_flushed(&self) -> bool {
        !self.partitions.is_empty()
    }
    /// No two groups of the table have one key.
    pub fn is_unique(&self) -> bool {
        !matches!(self.index, Index::Passing | Index::Ordered(_))
    }
    /// The parts of a worker whose keys ascended throughout.
    pub fn into_ordered(self) -> (KeyStore, States, Vec<Segment>) {
        let segments = if let Index::Ordered(ordered) = self.index { ordered.segments } else { vec![] };
        (self.table.keys, self.states, segments)
    }

    /// Adds the rows of a batch that are not codes. `tag` is the number of its unit; a batch too wide to be evaluated at
    /// once is an error, before anything was added.
    pub fn consume(
        &mut self,
        aggregate: &Descriptor,
        batch: &Batch,
        tag: u64,
        work: &Work<'_>,
    ) -> Result<()> {
        let ask = |bytes: u64| work.reserve(bytes as usize).map(drop);
        let room = expr::Room::in_pieces(&ask, work.query.piece_bytes_max());
        let vectors = aggregate.computation.evaluate(batch, room, &work.query.how())?;
        let keys: Vec<Vector> = aggregate.groups.iter().map(|at| vectors[*at].clone()).collect();
        let uses_runs = self.number(aggregate, &keys, batch.rows, tag)?;
        let groups = match (&self.index, uses_runs) {
            (Index::Single, _) => RowGroups::Single(batch.rows),
            (_, true) => RowGroups::Runs(&self.runs),
            (_, false) => RowGroups::Each(&self.groups),
        };
        if !matches!(self.index, Index::Single) {
            self.states.resize(self.table.len());
        }
        self.states.count_rows(groups);
        for (argument, input) in aggregate.arguments.iter().enumerate() {
            if !input.distinct {
                input.update(argument, &mut self.states, groups, &vectors, tag)?;
            }
        }
        for pairs in &mut self.pairs {
            pairs.consume(aggregate, &keys, groups, &vectors)?;
        }
        self.rows += batch.rows as u64;
        self.limit(aggregate);
        self.limit_pairs(aggregate);
        Ok(())
    }

    /// The number of the group of one row.
    pub(super) fn number_one(&mut self, aggregate: &Descriptor, keys: &[Vector], tag: u64) -> Result<u32> {
        let numbers = if matches!(self.index, Index::Hash) {
            // Straight to the table: a map of codes would take a single row for a sign that it is of no use.
            aggregate.layout.encode(keys, 1, &mut self.keys)?;
            self.table.find_or_insert(&self.keys.view(), None, &mut self.found);
            &self.found
        } else if self.number(aggregate, keys, 1, tag)? {
            &self.runs.groups
        } else {
            &self.groups
        };
        numbers.first().copied().ok_or_else(|| Error::internal("a row without a group"))
    }

    /// Numbers the groups of a batch's rows, into `runs` (true) or `groups` (false).
    fn number(&mut self, aggregate: &Descriptor, keys: &[Vector], rows: usize, tag: u64) -> Result<bool> {
        loop {
            let next = self.table.len();
            match &mut self.index {
                Index::Single => return Ok(false),
                Index::Ordered(ordered) => {
                    aggregate.layout.encode(keys, rows, &mut self.keys)?;
                    self.runs.find(self.keys.words(), self.keys.width(), rows);
                    let Runs { starts, groups, .. } = &mut self.runs;
                    if ordered.find(&keys[0], starts, tag, next, groups, &mut self.unseen) {
                        self.table.keys.append(&self.keys.view(), &self.unseen);
                        return Ok(true);
                    }
                    self.leave_ordered(aggregate)?;
                }
                Index::Direct(map) => {
                    if map.find(&keys[0], next, &mut self.groups, &mut self.unseen) {
                        if !self.unseen.is_empty() {
                            let new = [keys[0].gather(&self.unseen)];
                            aggregate.layout.encode(&new, self.unseen.len(), &mut self.keys)?;
                            self.found.clear();
                            self.found.extend(0..self.unseen.len() as u32);
                            self.table.keys.append(&self.keys.view(), &self.found);
                        }
                        return Ok(false);
                    }
                    // A value out of the bounds: the bounds were wrong, the answer will not be.
                    let table = std::mem::replace(&mut self.table, GroupTable::new(&aggregate.layout));
                    self.table = GroupTable::from_keys(table.keys);
                    self.index = Index::Hash;
                }
                Index::Hash => return self.number_by_table(aggregate, keys, rows),
                Index::Passing => {
                    aggregate.layout.encode(keys, rows, &mut self.keys)?;
                    let by_runs = self.find_runs(rows);
                    let count = if by_runs { self.runs.len() } else { rows };
                    let numbers = next as u32..(next + count) as u32;
                    let view = self.keys.view();
                    if by_runs {
                        self.table.keys.append(&view, &self.runs.starts);
                        self.runs.groups.extend(numbers);
                    } else {
                        self.groups.clear();
                        self.groups.extend(numbers);
                        (0..rows).for_each(|row| self.table.keys.push(&view, row));
                    }
                    return Ok(by_runs);
                }
            }
        }
    }

    fn number_by_table(&mut self, aggregate: &Descriptor, keys: &[Vector], rows: usize) -> Result<bool> {
        if self.codes.find(keys, rows, &mut self.groups, &mut self.unseen) {
            if !self.unseen.is_empty() {
                let new: Vec<Vector> = keys.iter().map(|k| k.gather(&self.unseen)).collect();
                aggregate.layout.encode(&new, self.unseen.len(), &mut self.keys)?;
                self.table.find_or_insert(&self.keys.view(), None, &mut self.found);
                self.codes.learn(&self.unseen, &self.found, &mut self.groups);
            }
            return Ok(false);
        }
        // Neighbours from one row of a join's build side: the rest of their keys is neither packed nor hashed.
        let searched =
            aggregate.strategies.identical_runs && self.runless == 0 && aggregate.layout.width() > 1;
        if searched && self.runs.find_identical(keys, rows) {
            let first: Vec<Vector> = keys.iter().map(|k| k.gather(&self.runs.starts)).collect();
            aggregate.layout.encode(&first, self.runs.len(), &mut self.keys)?;
            self.table.find_or_insert(&self.keys.view(), None, &mut self.runs.groups);
            return Ok(true);
        }
        aggregate.layout.encode(keys, rows, &mut self.keys)?;
        if self.find_runs(rows) {
            let Runs { starts, groups, .. } = &mut self.runs;
            self.table.find_or_insert(&self.keys.view(), Some(starts), groups);
            return Ok(true);
        }
        self.table.find_or_insert(&self.keys.view(), None, &mut self.groups);
        Ok(false)
    }

    /// Whether runs of equal keys are worth using; they are then in `runs`, without groups.
    fn find_runs(&mut self, rows: usize) -> bool {
        if self.runless > 0 {
            self.runless -= 1;
            return false;
        }
        self.runs.find(self.keys.words(), self.keys.width(), rows);
        let worth = self.runs.len() * 2 <= rows;
        if !worth {
            self.runless = RUNLESS_BATCHES;
        }
        worth
    }

    /// Ascending keys no more: segments may share groups, which one table brings together.
    pub fn leave_ordered(&mut self, aggregate: &Descriptor) -> Result<()> {
        let keys = std::mem::replace(&mut self.table, GroupTable::new(&aggregate.layout)).keys;
        let states = std::mem::replace(&mut self.states, States::new(&aggregate.spec));
        self.index = Self::unordered(aggregate);
        if keys.is_empty() {
            return Ok(());
        }
        if let Index::Direct(map) = &mut self.index {
            let rows: Vec<u32> = (0..keys.len() as u32).collect();
            let frozen = keys.freeze();
            let column = key_column(&frozen);
            if map.find(&column, 0, &mut self.groups, &mut self.unseen) {
                aggregate.layout.encode(&[column], rows.len(), &mut self.keys)?;
                self.table.keys.append(&self.keys.view(), &self.unseen);
            } else {
                self.index = Index::Hash;
                aggregate.layout.encode(&[column], rows.len(), &mut self.keys)?;
                self.table.find_or_insert(&self.keys.view(), None, &mut self.groups);
            }
        } else {
            let hashes = keys.hashes();
            self.table.find_or_insert(&keys.view(&hashes), None, &mut self.groups);
        }
        self.states.resize(self.table.len());
        self.states.merge(&states, None, &self.groups);
        Ok(())
    }

    /// Empties the table when it is full, and changes the strategy if it was not worth it.
    pub(super) fn limit(&mut self, aggregate: &Descriptor) {
        let groups = self.table.len();
        if !matches!(self.index, Index::Hash | Index::Passing) || groups < self.groups_max {
            return;
        }
        let reduction = self.rows / groups as u64;
        let grown_max = aggregate.strategies.groups_max.saturating_mul(GROWTH);
        if matches!(self.index, Index::Hash) {
            let few_expected = aggregate.estimated_groups < grown_max as f64 && reduction >= REDUCTION_MIN;
            // A table that fills with keys most of which are still to come again has reduced little so far. Where some
            // keys are much more frequent than others there are more than told: it grows for that once only.
            let all = groups_in_all(groups as f64, self.rows as f64);
            let few_left = self.groups_max == aggregate.strategies.groups_max
                && all < (2 * self.groups_max) as f64
                && aggregate.input_rows >= all * REDUCTION_GOOD as f64;
            if self.groups_max < grown_max && (reduction >= REDUCTION_GOOD || few_expected || few_left) {
                self.groups_max *= 2;
                return;
            }
            if reduction < REDUCTION_MIN {
                self.index = Index::Passing;
                self.groups_max = aggregate.strategies.groups_max.min(PASSING_GROUPS);
            }
        }
        self.flush(aggregate);
    }

    /// Empties sets of pairs that are full: numbered ones together with their groups.
    fn limit_pairs(&mut self, aggregate: &Descriptor) {
        let limit = aggregate.strategies.groups_max;
        if self.pairs.iter().all(|p| p.table.len() < limit) {
            return;
        }
        if !aggregate.groups.is_empty() && aggregate.pairs_by_group(self.table.len()) {
            self.flush(aggregate);
            return;
        }
        for pairs in &mut self.pairs {
            pairs.make_whole(aggregate, &self.table.keys);
            if pairs.table.len() >= limit {
                pairs.flush_whole(aggregate);
            }
        }
    }

    /// Moves the table's groups into the partitions, and the pairs that bear their numbers.
    pub fn flush(&mut self, aggregate: &Descriptor) {
        let table = std::mem::replace(&mut self.table, GroupTable::new(&aggregate.layout));
        let states = std::mem::replace(&mut self.states, States::new(&aggregate.spec));
        self.settle_pairs(aggregate, &table.keys);
        let numbered = self.pairs.iter().any(Pairs::is_numbered);
        let places = numbered.then_some(&mut self.places);
        scatter(&table.keys, &states, &aggregate.layout, &aggregate.spec, &mut self.partitions, places);
        for pairs in self.pairs.iter_mut().filter(|p| p.is_numbered()) {
            pairs.flush_numbered(aggregate, &self.places);
        }
        self.codes = SmallCodes::new(aggregate.strategies.codes && !self.codes.is_off());
        self.masked.forget();
        self.cells.forget();
        self.rows = 0;
        self.partition_bytes = self.partitions.iter().map(Groups::bytes).sum();
    }

    /// Pairs of few groups become whole ones before these leave the table.
    fn settle_pairs(&mut self, aggregate: &Descriptor, groups: &KeyStore) {
        if self.pairs.iter().any(Pairs::is_numbered) && !aggregate.pairs_by_group(groups.len()) {
            for pairs in &mut self.pairs {
                pairs.make_whole(aggregate, groups);
            }
        }
    }

    /// The table's groups as they lie there, with the rows of each partition; the pairs that bear their numbers go
    /// into partitions. For a worker's end. `None`: some groups are in partitions already, `flush` puts the rest
    /// there.
    pub fn shared(&mut self, aggregate: &Descriptor) -> Option<(Arc<SharedGroups>, Vec<Vec<u32>>)> {
        if self.is_flushed() {
            return None;
        }
        let keys = std::mem::replace(&mut self.table, GroupTable::new(&aggregate.layout)).keys;
        let states = std::mem::replace(&mut self.states, States::new(&aggregate.spec));
        self.settle_pairs(aggregate, &keys);
        let hashes = keys.hashes();
        let rows = by_partition(&hashes);
        if self.pairs.iter().any(Pairs::is_numbered) {
            self.places.clear();
            self.places.resize(keys.len(), (0, 0));
            for (partition, rows) in rows.iter().enumerate() {
                for (place, row) in rows.iter().enumerate() {
                    self.places[*row as usize] = (partition as u32, place as u32);
                }
            }
            for pairs in self.pairs.iter_mut().filter(|p| p.is_numbered()) {
                pairs.flush_numbered(aggregate, &self.places);
            }
        }
        Some((Arc::new(SharedGroups { groups: Groups { keys, states }, hashes }), rows))
    }

    /// Takes the table's groups out, which are on their way to a file. What comes later is numbered by a table: maps
    /// and ascending keys would only keep what is in the file already.
    pub(super) fn take_groups(&mut self, aggregate: &Descriptor) -> (KeyStore, States) {
        let table = std::mem::replace(&mut self.table, GroupTable::new(&aggregate.layout));
        let states = std::mem::replace(&mut self.states, States::new(&aggregate.spec));
        if matches!(self.index, Index::Ordered(_) | Index::Direct(_)) {
            self.index = Index::Hash;
        }
        self.codes = SmallCodes::new(aggregate.strategies.codes && !self.codes.is_off());
        self.masked.forget();
        self.cells.forget();
        self.rows = 0;
        self.partition_bytes = 0;
        self.reservation = None;
        (table.keys, states)
    }

    /// Bytes of the table, states, pairs and partitions.
    pub(super) fn bytes(&self) -> usize {
        let index = if let Index::Direct(map) = &self.index { map.bytes() } else { 0 };
        let pairs: usize = self.pairs.iter().map(Pairs::bytes).sum();
        self.table.bytes() + self.states.bytes() + self.partition_bytes + index + pairs
    }
}

#[cfg(test)]
mod tests {
    use super::groups_in_all;

    #[test]
    fn the_number_of_keys_is_told_from_those_that_came_twice() {
        for all in [1000.0f64, 100_000.0, 5e6] {
            for rows in [all * 0.1, all * 0.5, all, all * 5.0] {
                let seen = all * (1.0 - (-rows / all).exp());
                let told = groups_in_all(seen, rows);
                assert!((told / all - 1.0).abs() < 0.05, "{told} instead of {all} after {rows} rows");
            }
        }
        assert_eq!(groups_in_all(65_536.0, 65_540.0), f64::INFINITY);
        assert!(groups_in_all(10.0, 1e9) < 10.2);
    }
}
