//! Nested loops: every build row against every probe row, for joins without equalities.
//!
//! ```text
//!  build input --> sink: narrowed columns --> step: end to end --> probe: loops --> build rows
//! ```
//! The side with fewer rows (of the batch) is walked row by row, its values as constants, and the condition runs over
//! the other side's vectors as they are: nothing is gathered before a pair is known to match. A build side of one
//! row, as scalar subqueries are, costs one evaluation a batch.
//!
//! Many rows that the condition compares by order are searched instead (`range_join`).
//!
//! `null_aware` (NOT IN, IN as a value): a pair whose condition is NULL makes the judged row's answer unknown.

mod build;
mod condition;
mod probe;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, OnceLock};

use plan::{NodeId, PhysicalJoinKind, PhysicalNode, PhysicalPlan};
use types::{Error, Result};
use vector::Vector;

use crate::context::QueryContext;
use crate::hash_join::output::JoinColumns;
use crate::hash_join::row_marks::RowMarks;
use crate::pipeline::{Sink, Source, Step, Transform};
use condition::Condition;

/// A join by nested loops: its condition, and the build side that sink, step and probe share.
pub struct NestedLoopJoin {
    node: NodeId,
    kind: PhysicalJoinKind,
    /// `None`: every pair matches.
    condition: Option<Condition>,
    null_aware: bool,
    columns: JoinColumns,
    collected: Mutex<Vec<build::Collected>>,
    built: OnceLock<Built>,
}

/// The build side, complete.
struct Built {
    rows: usize,
    /// The kept columns.
    columns: Vec<Vector>,
    matched: Option<RowMarks>,
    _reservation: memory::Reservation,
}

impl NestedLoopJoin {
    /// `plan` has to be a NestedLoopJoin node.
    pub fn new(plan: &PhysicalPlan, _query: &QueryContext) -> Result<Arc<NestedLoopJoin>> {
        let PhysicalNode::NestedLoopJoin { probe, build, kind, predicate, null_aware, output, .. } =
            &plan.node
        else {
            return Err(Error::internal("not a nested-loop join"));
        };
        let probe_columns = probe.output.len();
        let compared = predicate.iter().flat_map(|p| p.inputs());
        let compared = compared.filter_map(|input| input.checked_sub(probe_columns));
        let columns = JoinColumns::new(output, &plan.output, &build.output, compared)?;
        let condition = match predicate {
            None => None,
            Some(predicate) => {
                Some(Condition::new(predicate, probe_columns, &|column| columns.place(column))?)
            }
        };
        Ok(Arc::new(NestedLoopJoin {
            node: plan.id,
            kind: *kind,
            condition,
            null_aware: *null_aware,
            columns,
            collected: Mutex::default(),
            built: OnceLock::new(),
        }))
    }

    /// Collects the build side.
    pub fn build_sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(build::BuildSink(self.clone()))
    }
    /// Joins the collected rows end to end.
    pub fn build_step(self: &Arc<Self>) -> Arc<dyn Step> {
        Arc::new(build::BuildStep(self.clone()))
    }
    /// Compares probe batches with the build side, which has to be complete.
    pub fn probe(self: &Arc<Self>) -> Arc<dyn Transform> {
        Arc::new(probe::Probe(self.clone()))
    }
    /// False when the probe only marks build rows.
    pub fn probe_emits(&self) -> bool {
        self.kind.probe_emits()
    }
    /// Build rows that come out after all probing.
    pub fn build_rows(self: &Arc<Self>) -> Option<Arc<dyn Source>> {
        self.marks_build_rows().then(|| Arc::new(build::BuildRows(self.clone())) as Arc<dyn Source>)
    }

    fn marks_build_rows(&self) -> bool {
        self.kind.marks_build_rows()
    }
    fn built(&self) -> Result<&Built> {
        self.built.get().ok_or_else(|| Error::internal("a join was probed before it was built"))
    }
}
