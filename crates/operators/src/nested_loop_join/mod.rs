//! Nested loops: every build row against every probe row, for joins without equalities.
//! (Interface first; the parts are on their way.)

use std::sync::Arc;

use plan::{NodeId, PhysicalJoinKind, PhysicalNode, PhysicalPlan};
use types::{Error, Result};
use vector::Batch;

use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Sink, Source, Step, Transform, Work};

pub struct NestedLoopJoin {
    node: NodeId,
    kind: PhysicalJoinKind,
}

struct Part(Arc<NestedLoopJoin>);

impl NestedLoopJoin {
    pub fn new(plan: &PhysicalPlan, _query: &QueryContext) -> Result<Arc<NestedLoopJoin>> {
        match &plan.node {
            PhysicalNode::NestedLoopJoin { kind, .. } => Ok(Arc::new(NestedLoopJoin { node: plan.id, kind: *kind })),
            _ => Err(Error::internal("not a nested-loop join")),
        }
    }
    /// Collects the build side.
    pub fn build_sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(Part(self.clone()))
    }
    /// Joins the collected rows, once all build rows are there.
    pub fn build_step(self: &Arc<Self>) -> Arc<dyn Step> {
        Arc::new(Part(self.clone()))
    }
    pub fn probe(self: &Arc<Self>) -> Arc<dyn Transform> {
        Arc::new(Part(self.clone()))
    }
    /// False when the probe only marks build rows.
    pub fn probe_emits(&self) -> bool {
        !matches!(self.kind, PhysicalJoinKind::BuildSemi | PhysicalJoinKind::BuildAnti)
    }
    /// Build rows that come out after all probing.
    pub fn build_rows(self: &Arc<Self>) -> Option<Arc<dyn Source>> {
        use PhysicalJoinKind as K;
        match self.kind {
            K::BuildOuter | K::FullOuter | K::BuildSemi | K::BuildAnti => Some(Arc::new(Part(self.clone()))),
            _ => None,
        }
    }
}

fn missing<T>() -> Result<T> {
    Err(Error::unsupported("joins are not there yet"))
}

impl Sink for Part {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn consume(&self, _batch: Batch, _tag: u64, _local: &mut Local, _work: &Work<'_>) -> Result<Flow> {
        missing()
    }
    fn finish(&self, _locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        missing()
    }
}

impl Step for Part {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        missing()
    }
    fn run(&self, _partition: u64, _work: &Work<'_>) -> Result<()> {
        missing()
    }
}

impl Transform for Part {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn transform(
        &self,
        _batch: Batch,
        _local: &mut Local,
        _work: &Work<'_>,
        _push: &mut Push<'_>,
    ) -> Result<Flow> {
        missing()
    }
}

impl Source for Part {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        missing()
    }
    fn run(&self, _unit: u64, _local: &mut Local, _work: &Work<'_>, _push: &mut Push<'_>) -> Result<Flow> {
        missing()
    }
}
