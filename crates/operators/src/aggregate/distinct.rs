//! DISTINCT arguments: a set of (groups, value) pairs for each, deduplicated before their values are added up.
//!
//! Every worker keeps a set of its own and empties it into partitions when it grows. Partitions are told by the hash
//! of the whole pair when groups are few, so that one group's values spread over all of them; by the hash of the
//! group when groups are many, so that a partition of pairs belongs to a partition of groups. All workers do the
//! same: whoever needs to know first decides.

use arrow_buffer::BooleanBuffer;
use hash::aggregate::{GroupTable, KeyBatch, KeyLayout, KeyStore, RowGroups, States};
use types::{Result, Value};
use vector::{Data, Vector};

use super::Aggregate;
use super::partition::{PARTITIONS, by_partition};

/// From this many groups on, pairs are partitioned by group.
const MANY_GROUPS: usize = 1024;

pub(super) struct Pairs {
    argument: usize,
    layout: KeyLayout,
    pub table: GroupTable,
    /// Empty or `PARTITIONS`.
    pub partitions: Vec<KeyStore>,
    keys: KeyBatch,
    found: Vec<u32>,
    partition_bytes: usize,
}

impl Aggregate {
    /// Whether pairs are partitioned by group.
    pub(super) fn pairs_by_group(&self, groups: usize) -> bool {
        *self.pairs_by_group.get_or_init(|| groups >= MANY_GROUPS)
    }
}

impl Pairs {
    pub fn new(argument: usize, layout: &KeyLayout) -> Self {
        Pairs {
            argument,
            layout: layout.clone(),
            table: GroupTable::new(layout),
            partitions: vec![],
            keys: KeyBatch::default(),
            found: vec![],
            partition_bytes: 0,
        }
    }
    pub fn bytes(&self) -> usize {
        self.table.bytes() + self.partition_bytes
    }
    /// Adds a batch's pairs: of the rows that pass the filter and have a value.
    pub fn consume(
        &mut self,
        aggregate: &Aggregate,
        groups: &[Vector],
        vectors: &[Vector],
        rows: usize,
        groups_seen: usize,
    ) -> Result<()> {
        let input = &aggregate.arguments[self.argument];
        let Some(value) = input.value.map(|at| &vectors[at]) else { return Ok(()) };
        let kept = kept_rows(value, input.filter.map(|at| &vectors[at]), rows);
        let mut columns: Vec<Vector> = groups.to_vec();
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
        self.layout.encode(&columns, count, &mut self.keys)?;
        self.table.find_or_insert(&self.keys.view(), None, &mut self.found);
        if self.table.len() >= aggregate.strategies.groups_max {
            self.flush(aggregate, aggregate.pairs_by_group(groups_seen));
        }
        Ok(())
    }
    /// Moves the pairs into the partitions.
    pub fn flush(&mut self, aggregate: &Aggregate, by_group: bool) {
        let keys = std::mem::replace(&mut self.table, GroupTable::new(&self.layout)).keys;
        if self.partitions.is_empty() {
            self.partitions.extend((0..PARTITIONS).map(|_| KeyStore::new(&self.layout)));
        }
        let hashes = if by_group { keys.prefix_hashes(aggregate.layout.width()) } else { keys.hashes() };
        for (partition, rows) in self.partitions.iter_mut().zip(by_partition(&hashes)) {
            partition.append(&keys.view(&[]), &rows);
        }
        self.partition_bytes = self.partitions.iter().map(KeyStore::bytes).sum();
    }
}

/// The pairs of several stores, each once.
pub(super) fn deduplicated(mut stores: Vec<KeyStore>) -> Option<KeyStore> {
    let first = stores.first()?;
    let pairs = stores.iter().map(KeyStore::len).sum();
    let mut table = GroupTable::with_capacity(first.layout(), pairs);
    let mut found = vec![];
    for store in stores.drain(..) {
        let hashes = store.hashes();
        table.find_or_insert(&store.view(&hashes), None, &mut found);
    }
    Some(table.keys)
}

/// Adds the values of `pairs`, each of which occurs once, to the states of their groups; `table` numbers those.
pub(super) fn add_pairs(
    aggregate: &Aggregate,
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
