//! Collect: the end of a query. Batches are kept by tag, so a result has the order of its source.
//!
//! Strings are copied out of blocks, so that a result outlives the tables it was read from.

use std::sync::{Arc, Mutex};

use plan::NodeId;
use types::Result;
use vector::Batch;

use crate::context::QueryContext;
pub use crate::detached::{detached, detached_batch};
use crate::pipeline::{Flow, Local, Sink, Work, local_state};

/// The rows of a finished query, in order.
#[derive(Clone, Debug, Default)]
pub struct QueryResult {
    /// The batches in the result's order; none of them refers to a block's memory.
    pub batches: Vec<Batch>,
}

impl QueryResult {
    /// Rows of all batches.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(|b| b.rows).sum()
    }
}

/// The sink that keeps a query's rows in memory until all have arrived.
pub struct Collect {
    node: NodeId,
    result: Arc<Mutex<QueryResult>>,
}

impl Collect {
    /// A sink for the plan node, and the place where `finish` leaves the result.
    pub fn new(node: NodeId) -> (Self, Arc<Mutex<QueryResult>>) {
        let result = Arc::new(Mutex::new(QueryResult::default()));
        (Collect { node, result: result.clone() }, result)
    }
}

/// Batches with the tags of their units.
#[derive(Default)]
pub struct Tagged {
    /// The pairs of tag and batch, as they arrive.
    pub batches: Vec<(u64, Batch)>,
}

/// All batches in tag order; batches of one tag keep their order, because one work order made them all.
pub fn in_tag_order(locals: Vec<Local>) -> Vec<Batch> {
    let mut all: Vec<(u64, Batch)> = Vec::new();
    for mut local in locals {
        all.append(&mut local_state::<Tagged>(&mut local).batches);
    }
    all.sort_by_key(|(tag, _)| *tag);
    all.into_iter().map(|(_, batch)| batch).collect()
}

impl Sink for Collect {
    fn node(&self) -> NodeId {
        self.node
    }
    fn local(&self) -> Local {
        Box::new(Tagged::default())
    }
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        let batch = work.query.conformed(detached_batch(&batch))?;
        local_state::<Tagged>(local).batches.push((tag, batch));
        Ok(Flow::More)
    }
    fn finish(&self, locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        let batches = in_tag_order(locals);
        let mut result = self.result.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        result.batches = batches;
        Ok(())
    }
}

/// A sink that drops everything: the probe side of joins that only mark build rows.
pub struct Discard {
    node: NodeId,
}

impl Discard {
    /// `node` is the plan node that the work orders are counted for.
    pub fn new(node: NodeId) -> Self {
        Discard { node }
    }
}

impl Sink for Discard {
    fn node(&self) -> NodeId {
        self.node
    }
    fn consume(&self, _batch: Batch, _tag: u64, _local: &mut Local, _work: &Work<'_>) -> Result<Flow> {
        Ok(Flow::More)
    }
    fn finish(&self, _locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        Ok(())
    }
}
