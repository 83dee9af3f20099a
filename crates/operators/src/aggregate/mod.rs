//! Aggregation: the operator's three parts (sink, merge step, source) around one shared state.

use std::sync::Arc;

use plan::{NodeId, PhysicalNode, PhysicalPlan};
use types::{Error, Result};
use vector::Batch;

use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Sink, Source, Step, Work};

pub struct Aggregate {
    node: NodeId,
}

impl Aggregate {
    pub fn new(plan: &PhysicalPlan, _query: &QueryContext) -> Result<Arc<Aggregate>> {
        let PhysicalNode::Aggregate { .. } = &plan.node else {
            return Err(Error::internal("not an aggregation"));
        };
        Ok(Arc::new(Aggregate { node: plan.id }))
    }
    pub fn sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(AggregateSink(self.clone()))
    }
    pub fn merge_step(self: &Arc<Self>) -> Arc<dyn Step> {
        Arc::new(AggregateMerge(self.clone()))
    }
    pub fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        Arc::new(AggregateSource(self.clone()))
    }
}

struct AggregateSink(Arc<Aggregate>);
struct AggregateMerge(Arc<Aggregate>);
struct AggregateSource(Arc<Aggregate>);

impl Sink for AggregateSink {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn consume(&self, _batch: Batch, _tag: u64, _local: &mut Local, _work: &Work<'_>) -> Result<Flow> {
        Err(Error::unsupported("aggregation"))
    }
    fn finish(&self, _locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        Ok(())
    }
}

impl Step for AggregateMerge {
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

impl Source for AggregateSource {
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
