//! Counters per plan node, for EXPLAIN ANALYZE. Work orders count locally and add once at their end.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use plan::NodeId;
use plan::print::NodeMetrics;

/// The name of the number that adds up what a node read from files for its blocks' columns.
pub const BYTES_READ: &str = "bytes read from files";

/// The name of the tally that counts how blocks evaluated their predicates.
pub const ACCESS_PATHS: &str = "access paths";

#[derive(Default)]
struct Counters {
    rows: AtomicU64,
    work_orders: AtomicU64,
    nanoseconds: AtomicU64,
    bytes: AtomicU64,
    notes: Mutex<Vec<(String, Note)>>,
}

/// A further fact of a node. Numbers of one name add up; texts overwrite; tallies have a number a kind.
enum Note {
    Number(u64),
    Text(String),
    Tally(BTreeMap<&'static str, u64>),
}

impl Note {
    fn shown(&self) -> String {
        match self {
            Note::Number(n) => n.to_string(),
            Note::Text(text) => text.clone(),
            Note::Tally(kinds) => {
                let kinds: Vec<String> = kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
                kinds.join(", ")
            }
        }
    }
}

/// The counters of one run, by plan node. Any worker may add; unknown nodes are ignored.
pub struct Metrics {
    nodes: Vec<Counters>,
}

impl Metrics {
    /// Counters at zero for the nodes `0..nodes`.
    pub fn new(nodes: usize) -> Self {
        Metrics { nodes: (0..nodes).map(|_| Counters::default()).collect() }
    }
    /// Adds output rows, work orders, own time and the bytes of scanned columns.
    pub fn add(&self, node: NodeId, rows: u64, work_orders: u64, nanoseconds: u64, bytes: u64) {
        if let Some(counters) = self.nodes.get(node.0 as usize) {
            counters.rows.fetch_add(rows, Ordering::Relaxed);
            counters.work_orders.fetch_add(work_orders, Ordering::Relaxed);
            counters.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
            counters.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }
    /// Adds to a named number of the node: blocks skipped, rows a filter dropped.
    pub fn count(&self, node: NodeId, name: &str, amount: u64) {
        self.note(node, name, Note::Number(amount));
    }
    /// Adds to the number of one kind: predicates by the way that they were evaluated.
    pub fn tally(&self, node: NodeId, name: &str, kinds: impl Iterator<Item = &'static str>) {
        let mut counted = BTreeMap::new();
        kinds.for_each(|kind| *counted.entry(kind).or_default() += 1);
        if !counted.is_empty() {
            self.note(node, name, Note::Tally(counted));
        }
    }
    /// States a fact in words: which kind of table was built.
    pub fn state(&self, node: NodeId, name: &str, value: impl Into<String>) {
        self.note(node, name, Note::Text(value.into()));
    }
    fn note(&self, node: NodeId, name: &str, note: Note) {
        let Some(counters) = self.nodes.get(node.0 as usize) else { return };
        let Ok(mut notes) = counters.notes.lock() else { return };
        match (notes.iter_mut().find(|(n, _)| n == name), note) {
            (Some((_, Note::Number(sum))), Note::Number(more)) => *sum += more,
            (Some((_, Note::Tally(sums))), Note::Tally(more)) => {
                more.into_iter().for_each(|(kind, n)| *sums.entry(kind).or_default() += n);
            }
            (Some((_, slot)), note) => *slot = note,
            (None, note) => notes.push((name.to_owned(), note)),
        }
    }
    /// A copy of the node's counters and notes; zeros for an unknown node.
    pub fn get(&self, node: NodeId) -> NodeMetrics {
        let Some(counters) = self.nodes.get(node.0 as usize) else { return NodeMetrics::default() };
        let notes = counters.notes.lock().map_or_else(
            |_| Vec::new(),
            |notes| notes.iter().map(|(name, note)| (name.clone(), note.shown())).collect(),
        );
        NodeMetrics {
            rows: counters.rows.load(Ordering::Relaxed),
            work_orders: counters.work_orders.load(Ordering::Relaxed),
            nanoseconds: counters.nanoseconds.load(Ordering::Relaxed),
            bytes: counters.bytes.load(Ordering::Relaxed),
            notes,
        }
    }
}
