//! DISTINCT arguments: a set of (group, value) pairs for each, deduplicated before their values are added up.
//!
//! ```text
//!  numbered pairs   | number of the group in the worker's table | value |      most queries: no group key is copied
//!  whole pairs      | words of the group key ...                | value |      few groups with very many values
//! ```
//! Every worker keeps a set of its own. Numbered pairs leave together with the groups whose numbers they bear: into
//! the same partitions, where the number becomes the group's place in the partition. So a group key is hashed and
//! compared once for each row and once in the merge, however many DISTINCT values it has, and texts of keys are
//! copied once a group.
//!
//! Pairs of few possible values, codes of a dictionary among them, are found by a map of codes (`SmallCodes`): the set
//! itself is asked once for each.
//!
//! When groups are few but a worker's pairs overflow, one partition could not hold the pairs of its groups: then
//! pairs become whole ones and are partitioned by the hash of the whole pair, so that one group's values spread over
//! all partitions. All workers do the same: the first that has to know decides.

use arrow_buffer::BooleanBuffer;
use hash::aggregate::{
    GroupTable, KeyBatch, KeyLayout, KeyStore, RowGroups, SmallCodes, States, extend_numbered,
};
use types::{Result, Type, Value};
use vector::{Data, Vector};

use super::descriptor::Descriptor;
use hash::aggregate::partition::{PARTITIONS, by_partition};

/// Pairs after which a table is judged.
const SEEN_MIN: usize = if cfg!(test) { 50 } else { 4096 };

/// A worker's set of pairs for one DISTINCT argument.
pub(super) struct Pairs {
    /// Which of the aggregation's pairs these are.
    at: usize,
    /// Pairs bear group numbers; otherwise they are whole.
    numbered: bool,
    /// The pairs in memory, without repetition except while numbered pairs are collected.
    pub table: GroupTable,
    /// Whole pairs emptied from the table, or numbered ones whose groups are in the worker's partitions; empty or
    /// `PARTITIONS`.
    pub partitions: Vec<KeyStore>,
    codes: SmallCodes,
    keys: KeyBatch,
    found: Vec<u32>,
    unseen: Vec<u32>,
    /// What was found for `unseen`.
    new: Vec<u32>,
    /// Pairs seen since the table was empty.
    seen: usize,
    /// Numbered pairs are collected, not looked up: nearly all were different. Until the table is emptied.
    collects: bool,
    partition_bytes: usize,
}

impl Pairs {
    /// An empty set for the pair layout `at` of the aggregation.
    pub fn new(aggregate: &Descriptor, at: usize) -> Self {
        let numbered = !aggregate.groups.is_empty();
        let layout = &aggregate.pairs[at];
        Pairs {
            at,
            numbered,
            table: GroupTable::new(if numbered { &layout.numbered } else { &layout.whole }),
            partitions: vec![],
            codes: SmallCodes::new(aggregate.strategies.codes),
            keys: KeyBatch::default(),
            found: vec![],
            unseen: vec![],
            new: vec![],
            seen: 0,
            collects: false,
            partition_bytes: 0,
        }
    }
    /// Bytes of the table and of the partitions.
    pub fn bytes(&self) -> usize {
        self.table.bytes() + self.partition_bytes
    }
    /// Whether pairs hold the group's number rather than its key; so it is when the query has group columns.
    pub fn is_numbered(&self) -> bool {
        self.numbered
    }
    /// Adds a batch's pairs: of the rows that pass the filter and have a value. `numbers` are the rows' groups.
    pub fn consume(
        &mut self,
        aggregate: &Descriptor,
        groups: &[Vector],
        numbers: RowGroups<'_>,
        vectors: &[Vector],
    ) -> Result<()> {
        let rows = numbers.rows();
        let layout = &aggregate.pairs[self.at];
        let input = &aggregate.arguments[layout.argument];
        let Some(value) = input.value.map(|at| &vectors[at]) else { return Ok(()) };
        let kept = kept_rows(value, input.filter.map(|at| &vectors[at]), rows);
        let mut columns: Vec<Vector> =
            if self.numbered { vec![number_vector(numbers)] } else { groups.to_vec() };
        columns.push(value.clone());
        let mut count = rows;
        if let Some(kept) = kept {
            if kept.is_empty() {
                return Ok(());
            }
            count = kept.len();
            columns = columns.iter().map(|c| c.gather(&kept)).collect();
            if let Some(last) = columns.last_mut() {
                *last = last.clone().with_validity(None);
            }
        }
        let layout = if self.numbered { &layout.numbered } else { &layout.whole };
        if self.collects {
            layout.encode(&columns, count, &mut self.keys)?;
            self.found.clear();
            self.found.extend(0..count as u32);
            self.table.keys.append(&self.keys.view(), &self.found);
            return Ok(());
        }
        if self.codes.find(&columns, count, &mut self.found, &mut self.unseen) {
            if !self.unseen.is_empty() {
                let new: Vec<Vector> = columns.iter().map(|c| c.gather(&self.unseen)).collect();
                layout.encode(&new, self.unseen.len(), &mut self.keys)?;
                self.table.find_or_insert(&self.keys.view(), None, &mut self.new);
                self.codes.learn(&self.unseen, &self.new, &mut self.found);
            }
        } else {
            layout.encode(&columns, count, &mut self.keys)?;
            self.table.find_or_insert(&self.keys.view(), None, &mut self.found);
        }
        self.seen += count;
        // Few are dropped: the merge, which looks them up in small tables, does it all.
        self.collects = self.numbered
            && aggregate.strategies.collects_pairs
            && self.seen >= SEEN_MIN
            && self.table.len() * 4 > self.seen * 3;
        Ok(())
    }
    /// A table of pairs for what comes next; returns the pairs there were.
    fn empty(&mut self, layout: &KeyLayout) -> KeyStore {
        (self.seen, self.collects) = (0, false);
        self.codes = SmallCodes::new(!self.codes.is_off());
        std::mem::replace(&mut self.table, GroupTable::new(layout)).keys
    }
    /// Takes the table's pairs out.
    pub fn take(&mut self, aggregate: &Descriptor) -> KeyStore {
        let layout = &aggregate.pairs[self.at];
        let layout = if self.numbered { &layout.numbered } else { &layout.whole };
        self.partition_bytes = 0;
        self.empty(layout)
    }
    /// Numbered pairs become whole ones: `groups` are the keys of their groups.
    pub fn make_whole(&mut self, aggregate: &Descriptor, groups: &KeyStore) {
        if !self.numbered {
            return;
        }
        let layout = &aggregate.pairs[self.at];
        let collected = self.collects;
        let numbered = self.empty(&layout.whole);
        let mut whole = KeyStore::new(&layout.whole);
        extend_numbered(&mut whole, groups, &numbered);
        self.table = match collected {
            false => GroupTable::from_keys(whole),
            true => table_of(vec![whole], &layout.whole),
        };
        self.numbered = false;
    }
    /// Moves whole pairs into partitions, told by the hash of the pair.
    pub fn flush_whole(&mut self, aggregate: &Descriptor) {
        let layout = &aggregate.pairs[self.at].whole;
        let keys = self.empty(layout);
        if self.partitions.is_empty() {
            self.partitions.extend((0..PARTITIONS).map(|_| KeyStore::new(layout)));
        }
        for (partition, rows) in self.partitions.iter_mut().zip(by_partition(&keys.hashes())) {
            partition.append(&keys.view(&[]), &rows);
        }
        self.partition_bytes = self.partitions.iter().map(KeyStore::bytes).sum();
    }
    /// Moves numbered pairs into the partitions of their groups: `places[group]` is the group's partition and its
    /// place there.
    pub fn flush_numbered(&mut self, aggregate: &Descriptor, places: &[(u32, u32)]) {
        let layout = &aggregate.pairs[self.at].numbered;
        let mut keys = self.empty(layout);
        if self.partitions.is_empty() {
            self.partitions.extend((0..PARTITIONS).map(|_| KeyStore::new(layout)));
        }
        let mut rows: Vec<Vec<u32>> = vec![vec![]; PARTITIONS];
        keys.renumber(|row, group| {
            let (partition, place) = places[group as usize];
            rows[partition as usize].push(row as u32);
            place
        });
        for (partition, rows) in self.partitions.iter_mut().zip(rows) {
            partition.append(&keys.view(&[]), &rows);
        }
        self.partition_bytes = self.partitions.iter().map(KeyStore::bytes).sum();
    }
}

/// Group numbers as a column of keys.
fn number_vector(numbers: RowGroups<'_>) -> Vector {
    let each: Vec<i32> = match numbers {
        RowGroups::Single(rows) => vec![0; rows],
        RowGroups::Each(each) => each.iter().map(|g| *g as i32).collect(),
        RowGroups::Runs(runs) => runs.each().iter().map(|g| *g as i32).collect(),
    };
    Vector::new(Type::Integer, Data::I32(each.into()), None)
}

/// The pairs of several stores, each once.
pub(super) fn deduplicated(stores: Vec<KeyStore>) -> Option<KeyStore> {
    let layout = stores.first()?.layout().clone();
    Some(table_of(stores, &layout).keys)
}

fn table_of(stores: Vec<KeyStore>, layout: &KeyLayout) -> GroupTable {
    let mut table = GroupTable::with_capacity(layout, stores.iter().map(KeyStore::len).sum());
    let mut found = vec![];
    for store in stores {
        let hashes = store.hashes();
        table.find_or_insert(&store.view(&hashes), None, &mut found);
    }
    table
}

/// Adds the values of whole `pairs`, each of which occurs once, to the states of their groups; `table` numbers those.
pub(super) fn add_whole(
    aggregate: &Descriptor,
    argument: usize,
    pairs: KeyStore,
    table: &mut GroupTable,
    states: &mut States,
) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let count = pairs.len();
    let width = aggregate.layout.width();
    let mut groups = vec![];
    if aggregate.groups.is_empty() {
        states.resize(1);
    } else {
        let words = pairs.prefix_words(width);
        let hashes = pairs.prefix_hashes(width);
        table.find_or_insert(&pairs.prefix_view(width, &words, &hashes), None, &mut groups);
        states.resize(table.len());
    }
    let column = aggregate.groups.len();
    let values = pairs.freeze().column(column, 0, count);
    let groups =
        if aggregate.groups.is_empty() { RowGroups::Single(count) } else { RowGroups::Each(&groups) };
    states.update_distinct(argument, groups, &values)
}

/// Adds the values of numbered `pairs`, each of which occurs once, to the states of the groups they name.
pub(super) fn add_numbered(argument: usize, pairs: KeyStore, states: &mut States) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let count = pairs.len();
    let groups: Vec<u32> = pairs.numbers().collect();
    let values = pairs.freeze().column(1, 0, count);
    states.update_distinct(argument, RowGroups::Each(&groups), &values)
}

/// The rows with a value that pass the filter; `None` for all.
fn kept_rows(value: &Vector, filter: Option<&Vector>, rows: usize) -> Option<Vec<u32>> {
    let all_null = matches!(value.data(), Data::Constant(Value::Null));
    if !value.has_nulls() && filter.is_none() {
        return None;
    }
    let filter = filter.map(Vector::flatten);
    let passes = |row: usize| match &filter {
        Some(f) => !f.is_null(row) && matches!(f.data(), Data::Bool(bits) if bits.value(row)),
        None => true,
    };
    let kept = BooleanBuffer::collect_bool(rows, |row| !all_null && !value.is_null(row) && passes(row));
    Some(kept.set_indices().map(|row| row as u32).collect())
}
