//! A query as the scheduler sees it: segments and the edges between them.
//!
//! Invariant after [`Dag::topological_order`] succeeded: every edge's ends exist, and the edges
//! form no cycle, so that every segment can start some time.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::{Segment, SegmentId};

/// How a consumer depends on its producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    /// The consumer starts after the producer has finished.
    Blocking,
    /// The consumer takes units while the producer still makes more.
    Streaming,
}

/// One dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The segment that makes units.
    pub producer: SegmentId,
    /// The segment that takes them.
    pub consumer: SegmentId,
    /// Whether the consumer may begin before the producer has finished.
    pub kind: EdgeKind,
}

/// Segments, addressed by position, and their edges.
#[derive(Clone, Default)]
pub struct Dag {
    /// The segments; a [`SegmentId`] is a position here.
    pub segments: Vec<Arc<dyn Segment>>,
    /// Their dependencies.
    pub edges: Vec<Edge>,
}

/// What is wrong with a [`Dag`]: a fault of the code that built it, never of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DagError {
    /// An edge names a segment that does not exist.
    UnknownSegment {
        /// The edge.
        edge: Edge,
        /// How many segments there are.
        segments: usize,
    },
    /// These segments wait for each other.
    Cycle {
        /// One segment of the cycle or behind it.
        segment: SegmentId,
    },
}

impl fmt::Display for DagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DagError::UnknownSegment { edge, segments } => write!(
                f,
                "edge from segment {} to segment {} in a plan of {segments} segments",
                edge.producer.0, edge.consumer.0
            ),
            DagError::Cycle { segment } => {
                write!(f, "segment {} waits for itself through a cycle of edges", segment.0)
            }
        }
    }
}

impl std::error::Error for DagError {}

impl Dag {
    /// An empty plan.
    pub fn new() -> Self {
        Dag::default()
    }

    /// Adds a segment and returns its id.
    pub fn add(&mut self, segment: Arc<dyn Segment>) -> SegmentId {
        let id = SegmentId(self.segments.len() as u32);
        self.segments.push(segment);
        id
    }

    /// Adds an edge.
    pub fn connect(&mut self, producer: SegmentId, consumer: SegmentId, kind: EdgeKind) {
        self.edges.push(Edge { producer, consumer, kind });
    }

    /// Checks the plan.
    pub fn validate(&self) -> Result<(), DagError> {
        self.topological_order().map(drop)
    }

    /// The segments, producers before consumers; fails on a broken plan.
    pub fn topological_order(&self) -> Result<Vec<SegmentId>, DagError> {
        topological_order(self.segments.len(), &self.edges)
    }
}

/// So many segments, producers before consumers; fails where an edge's end does not exist or edges form a cycle.
pub fn topological_order(count: usize, edges: &[Edge]) -> Result<Vec<SegmentId>, DagError> {
    let mut producers_left = vec![0usize; count];
    let mut consumers: Vec<Vec<u32>> = vec![Vec::new(); count];
    for edge in edges {
        if edge.producer.index() >= count || edge.consumer.index() >= count {
            return Err(DagError::UnknownSegment { edge: *edge, segments: count });
        }
        producers_left[edge.consumer.index()] += 1;
        consumers[edge.producer.index()].push(edge.consumer.0);
    }
    let mut ready: VecDeque<u32> = (0..count as u32).filter(|&id| producers_left[id as usize] == 0).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(id) = ready.pop_front() {
        order.push(SegmentId(id));
        for &consumer in &consumers[id as usize] {
            producers_left[consumer as usize] -= 1;
            if producers_left[consumer as usize] == 0 {
                ready.push_back(consumer);
            }
        }
    }
    match producers_left.iter().position(|&left| left > 0) {
        None => {
            debug_assert_eq!(order.len(), count, "each segment has one place");
            Ok(order)
        }
        Some(segment) => Err(DagError::Cycle { segment: SegmentId(segment as u32) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Claim, Failure, Outcome, WorkContext, WorkOrder};

    struct Empty;

    impl Segment for Empty {
        fn name(&self) -> &str {
            "empty"
        }
        fn start(&self) -> Result<(), Failure> {
            Ok(())
        }
        fn claim(&self, _: crate::Near<'_>) -> Claim {
            Claim::Exhausted
        }
        fn execute(&self, _: WorkOrder, _: &WorkContext<'_>) -> Result<Outcome, Failure> {
            Ok(Outcome::Done)
        }
    }

    fn plan(segments: u32, edges: &[(u32, u32)]) -> Dag {
        let mut dag = Dag::new();
        for _ in 0..segments {
            dag.add(Arc::new(Empty));
        }
        for &(producer, consumer) in edges {
            dag.connect(SegmentId(producer), SegmentId(consumer), EdgeKind::Blocking);
        }
        dag
    }

    #[test]
    fn producers_come_before_consumers() {
        let dag = plan(5, &[(4, 1), (1, 0), (4, 2), (2, 0), (0, 3)]);
        let order = dag.topological_order().unwrap();
        let position = |id: u32| order.iter().position(|&s| s == SegmentId(id)).unwrap();
        for edge in &dag.edges {
            assert!(position(edge.producer.0) < position(edge.consumer.0));
        }
        assert_eq!(plan(0, &[]).topological_order().unwrap(), vec![]);
    }

    #[test]
    fn broken_plans_are_refused() {
        assert!(matches!(plan(2, &[(0, 2)]).validate(), Err(DagError::UnknownSegment { .. })));
        assert!(matches!(plan(3, &[(0, 1), (1, 2), (2, 1)]).validate(), Err(DagError::Cycle { .. })));
        assert!(matches!(plan(1, &[(0, 0)]).validate(), Err(DagError::Cycle { .. })));
        assert!(plan(2, &[(0, 1), (0, 1)]).validate().is_ok());
    }
}
