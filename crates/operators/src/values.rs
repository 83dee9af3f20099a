//! Values: constant rows, one unit per batch.

use plan::{NodeId, OutputColumn};
use types::{Result, Value};
use vector::{Batch, Vector, VectorBuilder};

use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Source, Work};

/// The source of constant rows.
pub struct Values {
    node: NodeId,
    columns: Vec<Vector>,
    rows: usize,
}

impl Values {
    /// Builds the rows as vectors of the output's types.
    pub fn new(node: NodeId, rows: &[Vec<Value>], output: &[OutputColumn]) -> Self {
        Values { node, columns: columns_of(rows, output), rows: rows.len() }
    }
}

/// The rows as vectors of the output's types.
pub(crate) fn columns_of(rows: &[Vec<Value>], output: &[OutputColumn]) -> Vec<Vector> {
    let column = |(at, column): (usize, &OutputColumn)| {
        let mut builder = VectorBuilder::new(column.ty, rows.len());
        for row in rows {
            builder.push(&row[at]);
        }
        builder.finish()
    };
    output.iter().enumerate().map(column).collect()
}

impl Source for Values {
    fn node(&self) -> NodeId {
        self.node
    }
    fn start(&self, query: &QueryContext) -> Result<u64> {
        Ok(query.part(self.node, usize::from(self.rows > 0)).len() as u64)
    }
    fn run(&self, _unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let whole = Batch::new(self.columns.clone(), self.rows);
        slices(&whole, work.query.settings.batch_rows, push)
    }
}

/// Hands a large batch on in pieces of at most `batch_rows`.
pub fn slices(whole: &Batch, batch_rows: usize, push: &mut Push<'_>) -> Result<Flow> {
    let mut at = 0;
    while at < whole.rows {
        let rows = batch_rows.min(whole.rows - at);
        if push(whole.slice(at, rows))? == Flow::Enough {
            return Ok(Flow::Enough);
        }
        at += rows;
    }
    Ok(Flow::More)
}
