//! Counters per plan node, for EXPLAIN ANALYZE. Work orders count locally and add once at their end.
//!
//! A run has one `Metrics`, which any worker adds to and which outlives the run in its trace. Of a plan that several nodes
//! ran, the coordinator's takes in those of the others (`absorb`) when all have ended.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use plan::NodeId;
use plan::print::NodeMetrics;

/// The name of the number that adds up what a node read from files for its blocks' columns.
pub const BYTES_READ: &str = "bytes read from files";

/// The name of the tally that counts how blocks evaluated their predicates.
pub const ACCESS_PATHS: &str = "access paths";

/// The name of the number that adds up what a node sends to others of its cluster.
pub const BYTES_SENT: &str = "bytes sent";

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
    /// Adds what other nodes of a cluster counted for the same plan, and says of its exchanges and sources how many rows
    /// each node had.
    pub fn absorb(&self, plan: &plan::PhysicalPlan, others: &[&Metrics]) {
        let listed = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let all: Vec<&Metrics> = std::iter::once(self).chain(others.iter().copied()).collect();
        let mut open = vec![plan];
        while let Some(node) = open.pop() {
            let is_exchange = matches!(node.node, plan::PhysicalNode::Exchange { .. });
            if is_exchange || node.children().is_empty() {
                let rows: Vec<u64> = all.iter().map(|metrics| metrics.rows(node.id)).collect();
                self.state(node.id, "rows by node", listed(&rows));
                if is_exchange && rows.len() > 1 && rows[1..].iter().any(|rows| *rows > 0) {
                    let (most, sum) = (rows.iter().max().copied().unwrap_or(0), rows.iter().sum::<u64>());
                    let skew = most as f64 * rows.len() as f64 / sum.max(1) as f64;
                    self.state(node.id, "most rows over the mean", format!("{skew:.2}"));
                }
            }
            if is_exchange {
                let sent: Vec<u64> = all.iter().map(|metrics| metrics.number(node.id, BYTES_SENT)).collect();
                self.state(node.id, "bytes sent by node", listed(&sent));
            }
            others.iter().for_each(|other| self.absorb_node(node.id, other));
            open.extend(node.children());
        }
    }
    fn absorb_node(&self, node: NodeId, other: &Metrics) {
        let Some(theirs) = other.nodes.get(node.0 as usize) else { return };
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.add(node, of(&theirs.rows), of(&theirs.work_orders), of(&theirs.nanoseconds), of(&theirs.bytes));
        let Ok(notes) = theirs.notes.lock() else { return };
        for (name, note) in notes.iter() {
            match note {
                Note::Number(number) => self.count(node, name, *number),
                Note::Tally(kinds) => self.note(node, name, Note::Tally(kinds.clone())),
                // What the coordinator says in words is as good as any other node's.
                Note::Text(text) if !self.has(node, name) => self.state(node, name, text.clone()),
                Note::Text(_) => {}
            }
        }
    }
    fn has(&self, node: NodeId, name: &str) -> bool {
        let counters = self.nodes.get(node.0 as usize);
        counters.is_some_and(|c| c.notes.lock().is_ok_and(|notes| notes.iter().any(|(n, _)| n == name)))
    }
    fn rows(&self, node: NodeId) -> u64 {
        self.nodes.get(node.0 as usize).map_or(0, |counters| counters.rows.load(Ordering::Relaxed))
    }
    fn number(&self, node: NodeId, name: &str) -> u64 {
        let Some(counters) = self.nodes.get(node.0 as usize) else { return 0 };
        let Ok(notes) = counters.notes.lock() else { return 0 };
        match notes.iter().find(|(known, _)| known == name) {
            Some((_, Note::Number(number))) => *number,
            _ => 0,
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
