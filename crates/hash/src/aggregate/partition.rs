//! Groups without an index: what tables empty themselves into, and what merging takes from.

use std::sync::Arc;

use super::{KeyLayout, KeyStore, StateSpec, States};

/// Enough that 16 workers merge in parallel and a partition of some millions of groups fits a core's cache.
pub const PARTITIONS: usize = 64;

/// Keys, perhaps repeated, and the state of each.
pub struct Groups {
    /// The group keys.
    pub keys: KeyStore,
    /// One state for each key.
    pub states: States,
}

impl Groups {
    /// No groups.
    pub fn new(layout: &KeyLayout, spec: &StateSpec) -> Self {
        Groups { keys: KeyStore::new(layout), states: States::new(spec) }
    }
    /// Bytes of keys and states.
    pub fn bytes(&self) -> usize {
        self.keys.bytes() + self.states.bytes()
    }
    /// Appends the groups `rows` of others; their hashes are not needed.
    pub fn append(&mut self, keys: &KeyStore, states: &States, rows: &[u32]) {
        let base = self.keys.len() as u32;
        self.keys.append(&keys.view(&[]), rows);
        self.states.resize(self.keys.len());
        let groups: Vec<u32> = (base..self.keys.len() as u32).collect();
        self.states.merge(states, Some(rows), &groups);
    }
}

/// A worker's groups that several partitions take from.
pub struct SharedGroups {
    /// The groups, in the order of the worker's table.
    pub groups: Groups,
    /// The hash of each key; its lowest bits name the partition.
    pub hashes: Vec<u64>,
}

/// A worker's share of a partition.
pub enum Share {
    /// Groups that belong to this partition alone.
    Own(Groups),
    /// Rows of groups that stay where they are: keys with long texts are not copied once more.
    Rows {
        /// The groups of the worker.
        of: Arc<SharedGroups>,
        /// Their numbers.
        rows: Vec<u32>,
    },
}

impl Share {
    /// The number of groups.
    pub fn len(&self) -> usize {
        match self {
            Share::Own(groups) => groups.keys.len(),
            Share::Rows { rows, .. } => rows.len(),
        }
    }
    /// Whether the share has no groups.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes of the share; an average of the whole where it is a choice of rows.
    pub fn bytes(&self) -> usize {
        match self {
            Share::Own(groups) => groups.bytes(),
            Share::Rows { of, rows } => of.groups.bytes() / of.hashes.len().max(1) * rows.len(),
        }
    }
}

/// The rows of each partition, told by the lowest bits of the hash, which the table does not use.
pub fn by_partition(hashes: &[u64]) -> Vec<Vec<u32>> {
    let room = hashes.len() / PARTITIONS + 8;
    let mut rows: Vec<Vec<u32>> = (0..PARTITIONS).map(|_| Vec::with_capacity(room)).collect();
    for (row, hash) in hashes.iter().enumerate() {
        rows[*hash as usize % PARTITIONS].push(row as u32);
    }
    rows
}

/// Empties `keys` and `states` into partitions. With `places`, tells every group's partition and its place there.
pub fn scatter(
    keys: &KeyStore,
    states: &States,
    layout: &KeyLayout,
    spec: &StateSpec,
    into: &mut Vec<Groups>,
    mut places: Option<&mut Vec<(u32, u32)>>,
) {
    if into.is_empty() {
        into.extend((0..PARTITIONS).map(|_| Groups::new(layout, spec)));
    }
    if let Some(places) = &mut places {
        places.clear();
        places.resize(keys.len(), (0, 0));
    }
    for (number, (partition, rows)) in into.iter_mut().zip(by_partition(&keys.hashes())).enumerate() {
        if let Some(places) = &mut places {
            let base = partition.keys.len() as u32;
            for (at, row) in rows.iter().enumerate() {
                places[*row as usize] = (number as u32, base + at as u32);
            }
        }
        if !rows.is_empty() {
            partition.append(keys, states, &rows);
        }
    }
}
