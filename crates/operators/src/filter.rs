//! Filter: rows for which a predicate is TRUE.

use codegen::Computation;
use plan::{Expr, NodeId};
use types::Result;
use vector::Batch;

use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Transform, Work};

/// The transform that passes the rows for which its predicate is TRUE.
pub struct Filter {
    node: NodeId,
    computation: Computation,
}

impl Filter {
    /// Compiles the predicate over the input's columns.
    pub fn new(node: NodeId, predicate: &Expr) -> Result<Self> {
        Ok(Filter { node, computation: Computation::condition(expr::Predicate::compile(predicate)?) })
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
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let how = work.query.how();
        let select = |batch: &Batch, room: expr::Room<'_>| self.computation.select(batch, room, &how);
        work.within_room(&select, batch, &mut |batch, selected| match selected {
            expr::Selected::All => push(batch),
            expr::Selected::None => Ok(Flow::More),
            expr::Selected::Rows(rows) => push(batch.gather(&rows)),
        })
    }
    fn tell(&self, query: &QueryContext) {
        query.state_execution(self.node, [&self.computation]);
    }
}
