//! Window functions: every row with what the calls say of the rows around it.
//!
//! ```text
//!  sink (per worker)                step, one order a hash partition              source
//!  batches, rows numbered by   -->  gather > sort by partition and order keys >   one unit a
//!  hash of the PARTITION BY keys    segments and peers > frames > calls           hash partition
//! ```
//! Rows of one partition meet in one hash partition; all calls of the node share its sort (`partition`). A window
//! without PARTITION BY has one partition, whose input comes sorted by the sort operator, in parallel. Which rows a
//! call sees is told by two columns of row numbers (`frames`); from there on every call is linear or, for aggregates
//! over frames whose start moves, takes a logarithm of the frame's length a row (`aggregates`, after Leis,
//! Kundhikanjana, Kemper, Neumann, "Efficient Processing of Window Functions in Analytical SQL Queries", VLDB 2015,
//! section 4).
//!
//! Where a filter above wants the first rows of each partition only, others are dropped as they come (`first_rows`).
//!
//! Input that does not fit memory goes to hash partitions in a file, which are evaluated on their way out
//! (`spilled`).
//!
//! Rows come out partition by partition in the window's order; ties stand in the order of the input, so a result does
//! not depend on the number of workers.

mod aggregates;
mod call;
mod first_rows;
mod frames;
mod ordered;
mod partition;
mod ranks;
mod sink;
mod sorted;
mod spilled;
#[cfg(test)]
mod tests;
mod tree;
mod values;

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};

use expr::Program;
use hash::aggregate::{KeyColumn, KeyLayout};
use plan::{Expr, FrameBound, NodeId, PhysicalNode, PhysicalPlan, SortKey};
use types::{Error, Result};
use vector::Batch;

use crate::aggregate::may_be_null;
use crate::pipeline::{Sink, Source, Step};
use crate::sort::keys::{self, Shape};
use call::Call;
use first_rows::FIRST_MAX;

/// Hash partitions of an input with PARTITION BY: enough that workers stay busy when partitions are of unlike size.
const HASH_PARTITIONS: usize = 64;

/// One window node: its keys and calls at plan time, and what sink, step and source share.
pub struct Window {
    node: NodeId,
    /// Partition keys as sort keys, then the order keys.
    keys: Vec<SortKey>,
    /// How many of `keys` are partition keys.
    parts: usize,
    shape: Shape,
    key_program: Program,
    /// Arguments, filters and frame bounds of all calls; over the input's columns.
    argument_program: Program,
    calls: Vec<Call>,
    sorted: bool,
    /// Only so many first rows of each partition are wanted, and how partition keys are told apart.
    first: Option<(usize, KeyLayout)>,
    hash_partitions: usize,
    input: OnceLock<sink::Collected>,
    output: Mutex<Vec<Option<Batch>>>,
    /// Bytes and rows that all workers have collected.
    held_bytes: AtomicUsize,
    held_rows: AtomicUsize,
    spilled: OnceLock<spilled::Spilled>,
}

impl Window {
    /// `plan` has to be a Window node.
    pub fn new(plan: &PhysicalPlan) -> Result<Arc<Window>> {
        let PhysicalNode::Window { input, partition, order, calls, sorted, first } = &plan.node else {
            return Err(Error::internal("not a window node"));
        };
        let mut keys: Vec<SortKey> = partition
            .iter()
            .map(|expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false })
            .collect();
        let parts = keys.len();
        keys.extend(order.iter().cloned());
        let key_expressions: Vec<Expr> = keys.iter().map(|k| k.expr.clone()).collect();
        let mut expressions = Vec::new();
        let mut add = |expr: &Expr| {
            expressions.push(expr.clone());
            expressions.len() - 1
        };
        let calls = calls
            .iter()
            .map(|call| {
                let mut bound = |bound: &FrameBound| match bound {
                    FrameBound::Value { key, bound } => Some((add(key), add(bound))),
                    _ => None,
                };
                let (start, end) = (bound(&call.frame.start), bound(&call.frame.end));
                Call {
                    arguments: call.arguments.iter().map(&mut add).collect(),
                    filter: call.filter.as_ref().map(&mut add),
                    start,
                    end,
                    call: call.clone(),
                }
            })
            .collect();
        let wanted = first.filter(|first| *first <= FIRST_MAX && parts > 0).map(|first| {
            let columns: Vec<KeyColumn> =
                partition.iter().map(|e| KeyColumn { ty: e.ty, nullable: may_be_null(e, input) }).collect();
            (first as usize, KeyLayout::new(&columns))
        });
        Ok(Arc::new(Window {
            node: plan.id,
            first: wanted,
            shape: keys::shape(&keys),
            key_program: Program::compile(&key_expressions)?,
            argument_program: Program::compile(&expressions)?,
            hash_partitions: if parts == 0 { 1 } else { HASH_PARTITIONS },
            keys,
            parts,
            calls,
            sorted: *sorted,
            input: OnceLock::new(),
            output: Mutex::default(),
            held_bytes: AtomicUsize::new(0),
            held_rows: AtomicUsize::new(0),
            spilled: OnceLock::new(),
        }))
    }
    /// Collects the input, its rows numbered by hash partition.
    pub fn sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(sink::WindowSink(self.clone()))
    }
    /// Sorts the hash partitions and evaluates all calls, one partition a work order; nothing where the input has
    /// spilled.
    pub fn evaluate_step(self: &Arc<Self>) -> Arc<dyn Step> {
        Arc::new(partition::WindowEvaluate(self.clone()))
    }
    /// The input's rows with the calls' columns, a unit a hash partition.
    pub fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        Arc::new(partition::WindowRows(self.clone()))
    }
}
