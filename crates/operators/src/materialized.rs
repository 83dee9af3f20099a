//! Materialized: the rows of a common subplan, which ran before; one unit a batch.

use std::sync::{Arc, OnceLock};

use plan::NodeId;
use types::{Error, Result};
use vector::Batch;

use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Source, Work};
use crate::values::slices;

/// The source over a common subplan's rows.
pub struct Materialized {
    node: NodeId,
    rows: Arc<Vec<Batch>>,
    columns: Vec<usize>,
    /// The first batch that this engine reads.
    first: OnceLock<usize>,
}

impl Materialized {
    /// `index` numbers the plan's common subplans, `columns` chooses among their columns. An internal error if the
    /// subplan has not run.
    pub fn new(node: NodeId, index: usize, columns: &[usize], query: &QueryContext) -> Result<Self> {
        let rows = query.materialized.get(index).cloned();
        let rows = rows.ok_or_else(|| Error::internal(format!("common subplan {index} has not run")))?;
        Ok(Materialized { node, rows, columns: columns.to_vec(), first: OnceLock::new() })
    }
}

impl Source for Materialized {
    fn node(&self) -> NodeId {
        self.node
    }
    fn start(&self, query: &QueryContext) -> Result<u64> {
        let part = query.part(self.node, self.rows.len());
        let _ = self.first.set(part.start);
        Ok(part.len() as u64)
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let batch = &self.rows[self.first.get().copied().unwrap_or(0) + unit as usize];
        let columns = self.columns.iter().map(|c| batch.columns[*c].clone()).collect();
        slices(&Batch::new(columns, batch.rows), work.query.settings.batch_rows, push)
    }
}
