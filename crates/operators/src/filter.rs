//! Filter: rows for which a predicate is TRUE.

use plan::{Expr, NodeId};
use types::Result;
use vector::Batch;

use crate::pipeline::{Flow, Local, Push, Transform, Work};

pub struct Filter {
    node: NodeId,
    predicate: expr::Predicate,
}

impl Filter {
    pub fn new(node: NodeId, predicate: &Expr) -> Result<Self> {
        Ok(Filter { node, predicate: expr::Predicate::compile(predicate)? })
    }
}

impl Transform for Filter {
    fn node(&self) -> NodeId {
        self.node
    }
    fn transform(
        &self,
        batch: Batch,
        _local: &mut Local,
        _work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        match self.predicate.select(&batch)? {
            expr::Selected::All => push(batch),
            expr::Selected::None => Ok(Flow::More),
            expr::Selected::Rows(rows) => push(batch.gather(&rows)),
        }
    }
}
