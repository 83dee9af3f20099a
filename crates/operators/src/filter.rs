//! Filter: rows for which a predicate is TRUE.

use plan::{Expr, NodeId};
use types::Result;
use vector::Batch;

use crate::pipeline::{Flow, Local, Push, Transform, Work};

/// The transform that passes the rows for which its predicate is TRUE.
pub struct Filter {
    node: NodeId,
    predicate: expr::Predicate,
}

impl Filter {
    /// Compiles the predicate over the input's columns.
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
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        self.select(batch, work, push)
    }
}

impl Filter {
    /// Hands on the rows that pass; of a batch that is too wide for the condition's memory, half by half.
    fn select(&self, batch: Batch, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let ask = |bytes: u64| work.reserve(bytes as usize).map(drop);
        let room = expr::Room::in_pieces(&ask, work.query.piece_bytes_max());
        let selected = match self.predicate.select_within(&batch, room) {
            Err(error) if expr::is_too_wide(&error) => {
                return work.halves(batch, &mut |half| self.select(half, work, push));
            }
            selected => selected?,
        };
        match selected {
            expr::Selected::All => push(batch),
            expr::Selected::None => Ok(Flow::More),
            expr::Selected::Rows(rows) => push(batch.gather(&rows)),
        }
    }
}
