//! Filter and Project in one step: code finds the rows that pass and computes their new columns, with nothing but their
//! numbers in between.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use codegen::{Computation, Execution};
use plan::{Expr, NodeId};
use types::Result;
use vector::Batch;

use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Transform, Work};

/// The transform that computes new columns for the rows for which a predicate is TRUE.
pub struct FilterProject {
    filter: NodeId,
    project: NodeId,
    computation: Computation,
    /// Rows that passed and were not yet told of as the filter's.
    passed: AtomicU64,
}

impl FilterProject {
    /// Both in one, where the settings let code run and all of it is code; `None` where two steps are better.
    pub fn new(
        (filter, predicate): (NodeId, &Expr),
        (project, expressions): (NodeId, &[Expr]),
        query: &QueryContext,
    ) -> Result<Option<FilterProject>> {
        if query.settings.switches.execution == Execution::Vectorized || query.code.is_none() {
            return Ok(None);
        }
        let computation =
            Computation::both(expr::Predicate::compile(predicate)?, expr::Program::compile(expressions)?);
        let fused = FilterProject { filter, project, computation, passed: AtomicU64::new(0) };
        Ok(fused.computation.fuses().then_some(fused))
    }
}

impl Transform for FilterProject {
    fn node(&self) -> NodeId {
        self.project
    }
    fn transform(
        &self,
        batch: Batch,
        _local: &mut Local,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let how = work.query.how();
        let pass = |batch: &Batch, room: expr::Room<'_>| self.computation.pass(batch, room, &how);
        work.within_room(&pass, batch, &mut |_, passed| {
            if passed.rows == 0 {
                return Ok(Flow::More);
            }
            self.passed.fetch_add(passed.rows as u64, Relaxed);
            push(passed)
        })
    }
    fn tell(&self, query: &QueryContext) {
        let rows = self.passed.swap(0, Relaxed);
        query.metrics.add(self.filter, rows, 1, 0, 0);
        query.state_execution(self.project, [&self.computation]);
    }
}
