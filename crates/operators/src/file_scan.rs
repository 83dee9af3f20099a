//! File scan: a reader's units become work orders; conjuncts are evaluated on what is read.

use std::sync::Arc;

use expr::{Predicate, Selected};
use plan::{Expr, NodeId, PhysicalNode, PhysicalPlan};
use types::{Error, Result};

use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Source, Work};

pub struct FileScan {
    node: NodeId,
    reader: Arc<dyn formats::Reader>,
    predicate: Option<Predicate>,
    projection: Vec<usize>,
}

impl FileScan {
    pub fn new(plan: &PhysicalPlan, query: &QueryContext) -> Result<Self> {
        let PhysicalNode::FileScan { file, columns, filters, projection, .. } = &plan.node else {
            return Err(Error::internal("not a file scan"));
        };
        let reader = formats::open(file, columns, query.settings.batch_rows)?;
        let predicate = match filters.len() {
            0 => None,
            _ => Some(Predicate::compile(&Expr::and(filters.clone()))?),
        };
        Ok(FileScan { node: plan.id, reader, predicate, projection: projection.clone() })
    }
}

impl Source for FileScan {
    fn node(&self) -> NodeId {
        self.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        self.reader.units()
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let mut flow = Flow::More;
        self.reader.read(unit, &mut |batch| {
            work.check()?;
            let batch = match &self.predicate {
                None => batch,
                Some(predicate) => match predicate.select(&batch)? {
                    Selected::All => batch,
                    Selected::None => return Ok(true),
                    Selected::Rows(rows) => batch.gather(&rows),
                },
            };
            flow = push(batch.select(&self.projection))?;
            Ok(flow == Flow::More)
        })?;
        Ok(flow)
    }
}
