//! Sort and top-k.
//!
//! A full sort keeps its input, cuts it into runs of whole batches in input order, sorts the runs in parallel (the
//! merge step's partitions), and merges them in key ranges that are independent work orders of the source. Runs are
//! lists of batches together with an order. Where memory is short, runs go to a file instead (`external`).
//!
//! A top-k keeps, per worker, little more than k rows and the k-th key seen so far, which drops most rows on arrival
//! (`top`), and tells the scan that the first key comes from (`bound`). Rows with equal keys stand in the order of
//! the input in both cases.

pub mod bound;
mod external;
mod full;
pub mod keys;
pub(crate) mod radix;
#[cfg(test)]
mod tests;
mod top;

use std::sync::Arc;

use expr::Program;
use plan::{Expr, NodeId, PhysicalNode, PhysicalPlan, SortKey};
use types::{Error, Result};
use vector::{Batch, Vector};

use crate::context::QueryContext;
use crate::pipeline::{Sink, Source, Step};
use bound::TopBound;
use keys::{Keys, Shape};

/// Above this many rows a top-k is a full sort that stops early.
const TOP_ROWS_MAX: u64 = 65_536;

/// Less is never asked for.
const ASKED_BYTES_MIN: u64 = 1 << 20;

/// One sort or top-k: its keys at plan time, and what sink, step and source share.
pub struct Sort {
    node: NodeId,
    /// Keys as expressions over the input.
    keys: Vec<SortKey>,
    program: Program,
    shape: Shape,
    limit: Option<u64>,
    /// Known to the scan too, when the first key is one of its columns.
    bound: Option<Arc<TopBound>>,
    full: full::FullState,
    external: external::ExternalState,
    top: top::TopState,
}

impl Sort {
    /// With `bounds` it tightens a bound for a scan (`bounded_scan`).
    pub fn new(plan: &PhysicalPlan, bounds: bool) -> Result<Arc<Sort>> {
        let PhysicalNode::Sort { keys, limit, .. } = &plan.node else {
            return Err(Error::internal("not a sort"));
        };
        Sort::made(plan.id, keys, *limit, bounds)
    }
    /// All rows by these keys, for the node of another kind that wants them so.
    pub fn of_keys(node: NodeId, keys: &[SortKey]) -> Result<Arc<Sort>> {
        Sort::made(node, keys, None, false)
    }
    fn made(node: NodeId, keys: &[SortKey], limit: Option<u64>, bounds: bool) -> Result<Arc<Sort>> {
        let descending = keys.first().is_some_and(|k| k.descending);
        let bound = bounds.then(|| Arc::new(TopBound::new(descending)));
        let expressions: Vec<Expr> = keys.iter().map(|k| k.expr.clone()).collect();
        Ok(Arc::new(Sort {
            node,
            program: Program::compile(&expressions)?,
            shape: keys::shape(keys),
            keys: keys.to_vec(),
            limit,
            bound,
            full: full::FullState::default(),
            external: external::ExternalState::default(),
            top: top::TopState::default(),
        }))
    }
    /// The scan that a top-k's worst row can drop rows in, and the position of the first key among its fetched
    /// columns.
    pub fn bounded_scan(plan: &PhysicalPlan) -> Option<(NodeId, usize)> {
        match &plan.node {
            PhysicalNode::Sort { input, keys, limit: Some(limit) } if *limit <= TOP_ROWS_MAX => {
                bound::scan_of(input, keys)
            }
            _ => None,
        }
    }
    /// What it tells the scan, if it does.
    pub fn bound(&self) -> Option<Arc<TopBound>> {
        self.bound.clone()
    }
    fn is_top(&self) -> bool {
        self.limit.is_some_and(|k| k <= TOP_ROWS_MAX)
    }
    /// Collects the input.
    pub fn sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        if self.is_top() {
            Arc::new(top::TopSink(self.clone()))
        } else {
            Arc::new(full::SortSink(self.clone()))
        }
    }
    /// Sorts runs, or merges the workers' first rows; for after the sink.
    pub fn merge_step(self: &Arc<Self>) -> Arc<dyn Step> {
        if self.is_top() {
            Arc::new(top::TopMerge(self.clone()))
        } else {
            Arc::new(full::SortRuns(self.clone()))
        }
    }
    /// Delivers the rows in order, once the merge step has ended.
    pub fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        if self.is_top() {
            Arc::new(top::TopRows(self.clone()))
        } else {
            Arc::new(full::MergedRows(self.clone()))
        }
    }
    /// As `encode`, with room asked for what is computed.
    fn encode_within(&self, batch: &Batch, query: &QueryContext) -> Result<Keys> {
        let columns: Vec<Vector> = query.evaluate(&self.program, batch)?;
        // The keys are copies of them.
        let bytes: u64 = columns.iter().map(expr::text_bytes).sum();
        let _room = if bytes > ASKED_BYTES_MIN { Some(query.reserve(bytes as usize)?) } else { None };
        Ok(Keys::encode(self.shape, &columns, &self.keys, batch.rows))
    }
    fn encode(&self, batch: &Batch) -> Result<Keys> {
        let columns: Vec<Vector> = self.program.evaluate(batch)?;
        Ok(Keys::encode(self.shape, &columns, &self.keys, batch.rows))
    }
}
