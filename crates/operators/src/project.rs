//! Project: new columns computed from a batch.

use codegen::Computation;
use plan::{Expr, ExprKind, NodeId};
use types::Result;
use vector::Batch;

use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Transform, Work};

/// The transform that computes new columns and drops the others.
pub struct Project {
    node: NodeId,
    computation: Computation,
    /// Only columns, so nothing is computed and batches of any size are welcome.
    positions: Option<Vec<usize>>,
}

impl Project {
    /// Compiles the expressions; if all are plain columns, batches pass without computation.
    pub fn new(node: NodeId, expressions: &[Expr]) -> Result<Self> {
        let positions = positions(expressions);
        Ok(Project {
            node,
            computation: Computation::values(expr::Program::compile(expressions)?),
            positions,
        })
    }
}

/// The columns that expressions are, if all of them are plain columns.
pub(crate) fn positions(expressions: &[Expr]) -> Option<Vec<usize>> {
    expressions.iter().map(|e| if let ExprKind::Input(i) = e.kind { Some(i) } else { None }).collect()
}

impl Transform for Project {
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
        match &self.positions {
            Some(positions) => push(batch.select(positions)),
            None => {
                let how = work.query.how();
                let values =
                    |batch: &Batch, room: expr::Room<'_>| self.computation.evaluate(batch, room, &how);
                work.within_room(&values, batch, &mut |batch, values| {
                    let rows = batch.rows;
                    push(Batch::new(values, rows))
                })
            }
        }
    }
    fn wants_full_batches(&self) -> bool {
        self.positions.is_none()
    }
    fn tell(&self, query: &QueryContext) {
        query.state_execution(self.node, [&self.computation]);
    }
}
