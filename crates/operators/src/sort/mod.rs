//! Sort: the operator's three parts (sink, merge step, source) around one shared state.

use std::sync::Arc;

use plan::{NodeId, PhysicalNode, PhysicalPlan};
use types::{Error, Result};
use vector::Batch;

use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Sink, Source, Step, Work};

pub struct Sort {
    node: NodeId,
}

impl Sort {
    pub fn new(plan: &PhysicalPlan, _query: &QueryContext) -> Result<Arc<Sort>> {
        let PhysicalNode::Sort { .. } = &plan.node else {
            return Err(Error::internal("not a sort"));
        };
        Ok(Arc::new(Sort { node: plan.id }))
    }
    pub fn sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(SortSink(self.clone()))
    }
    pub fn merge_step(self: &Arc<Self>) -> Arc<dyn Step> {
        Arc::new(SortMerge(self.clone()))
    }
    pub fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        Arc::new(SortSource(self.clone()))
    }
}

struct SortSink(Arc<Sort>);
struct SortMerge(Arc<Sort>);
struct SortSource(Arc<Sort>);

impl Sink for SortSink {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn consume(&self, _batch: Batch, _tag: u64, _local: &mut Local, _work: &Work<'_>) -> Result<Flow> {
        Err(Error::unsupported("sort"))
    }
    fn finish(&self, _locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        Ok(())
    }
}

impl Step for SortMerge {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(0)
    }
    fn run(&self, _partition: u64, _work: &Work<'_>) -> Result<()> {
        Ok(())
    }
}

impl Source for SortSource {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(0)
    }
    fn run(&self, _unit: u64, _local: &mut Local, _work: &Work<'_>, _push: &mut Push<'_>) -> Result<Flow> {
        Ok(Flow::More)
    }
}
