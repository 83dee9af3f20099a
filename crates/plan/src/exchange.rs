//! Plans of a cluster: rows that go from node to node, and what of a source's rows each node reads.
//!
//! A query of a cluster of n nodes is **one** plan that every node runs, under its own number in 0..n; 0 is the
//! coordinator. Every node composes the whole tree. A source gives a node its share ([`Share`]), an exchange
//! (`PhysicalNode::Exchange`) sends rows between the nodes, and what stands above the last gather gets rows at the
//! coordinator alone, whose result is the query's; what other nodes deliver is dropped.
//!
//! ```text
//!  Sort                          coordinator: all rows    others: none
//!    Exchange 1 gather           ---------------- wire ----------------
//!      Aggregate                 groups that hash to this node
//!        Exchange 0 hash [key]   ---------------- wire ----------------
//!          TableScan, part       the me-th of n parts of the blocks
//! ```
//! Made by `optimizer::distribute`, which also proves that every operator finds its rows where it needs them. The bytes
//! are those of a plan ([`crate::encoding`]).

use serde::{Deserialize, Serialize};

use crate::expr::{Expr, SortKey};

/// Most nodes of a cluster. A node's number fits a message's header.
pub const NODES_MAX: u32 = 1 << 16;

/// An exchange's number within its plan; no two have the same. Messages go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExchangeNumber(pub u32);

/// Which rows go to which node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// Its number within the plan.
    pub number: ExchangeNumber,
    /// Where rows go.
    pub kind: ExchangeKind,
}

/// Where the rows of an exchange go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ExchangeKind {
    /// Rows with equal keys meet at one node; NULLs are equal. Values that are equal though their types differ (what
    /// `Type::same_representation` allows) go to one node, too: the two sides of a join are sent by the same rule.
    Hash {
        /// Over the input's columns; at least one.
        keys: Vec<Expr>,
    },
    /// Node i gets rows that come before those of node i + 1; rows with equal keys meet at one node. The bounds between
    /// them are sampled when the query runs.
    Range {
        /// Over the input's columns; at least one.
        keys: Vec<SortKey>,
    },
    /// Every node gets all rows, in the same order everywhere: by node, then as they came.
    Broadcast,
    /// The coordinator gets all rows, other nodes none.
    Gather {
        /// Each node's rows come in this order, over the input's columns, and leave merged in it, equal ones by node.
        /// Without keys rows leave by node, then as they came.
        order: Vec<SortKey>,
    },
    /// Rows go to the nodes in turn.
    Scatter,
}

impl ExchangeKind {
    /// The word that EXPLAIN prints.
    pub fn name(&self) -> &'static str {
        match self {
            ExchangeKind::Hash { .. } => "hash",
            ExchangeKind::Range { .. } => "range",
            ExchangeKind::Broadcast => "broadcast",
            ExchangeKind::Gather { .. } => "gather",
            ExchangeKind::Scatter => "scatter",
        }
    }
    /// The expressions that say where a row goes, or where it stands among the others.
    pub fn expressions(&self) -> Vec<&Expr> {
        match self {
            ExchangeKind::Hash { keys } => keys.iter().collect(),
            ExchangeKind::Range { keys } | ExchangeKind::Gather { order: keys } => {
                keys.iter().map(|key| &key.expr).collect()
            }
            ExchangeKind::Broadcast | ExchangeKind::Scatter => vec![],
        }
    }
    /// As `expressions`, for changing them.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            ExchangeKind::Hash { keys } => keys.iter_mut().collect(),
            ExchangeKind::Range { keys } | ExchangeKind::Gather { order: keys } => {
                keys.iter_mut().map(|key| &mut key.expr).collect()
            }
            ExchangeKind::Broadcast | ExchangeKind::Scatter => vec![],
        }
    }
}

/// What of a source's rows a node reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Share {
    /// The me-th of n contiguous parts: all parts together are the whole, and in the order of their nodes they are in
    /// the source's order.
    Part,
    /// All rows, on every node, in one order.
    Whole,
    /// All rows at the coordinator, none elsewhere.
    Coordinator,
}

impl Share {
    /// Which of `count` units in a row (blocks, row groups, files) node `me` of `nodes` reads.
    pub fn of(self, count: usize, me: u32, nodes: u32) -> std::ops::Range<usize> {
        match self {
            Share::Whole => 0..count,
            Share::Coordinator if me == 0 => 0..count,
            Share::Coordinator => 0..0,
            Share::Part => {
                // In 128 bits nothing overflows: counts are below 2^64, nodes at most 2^16.
                let cut = |at: u32| (count as u128 * u128::from(at) / u128::from(nodes.max(1))) as usize;
                cut(me.min(nodes))..cut(me.saturating_add(1).min(nodes))
            }
        }
    }
    /// The word that EXPLAIN prints.
    pub fn name(self) -> &'static str {
        match self {
            Share::Part => "part",
            Share::Whole => "whole",
            Share::Coordinator => "at the coordinator",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_contiguous_and_together_the_whole() {
        for count in [0, 1, 2, 3, 7, 100, usize::MAX - 1] {
            for nodes in [1, 2, 3, 4, 1000, NODES_MAX] {
                let mut next = 0;
                for me in 0..nodes {
                    let part = Share::Part.of(count, me, nodes);
                    assert_eq!(part.start, next);
                    assert!(part.len() <= count / nodes as usize + 1);
                    next = part.end;
                }
                assert_eq!(next, count);
                assert_eq!(Share::Whole.of(count, nodes - 1, nodes), 0..count);
                assert_eq!(Share::Coordinator.of(count, 0, nodes), 0..count);
            }
        }
        assert_eq!(Share::Coordinator.of(9, 1, 3), 0..0);
    }
}
