//! The build side of nested loops: collected, joined end to end; and its rows after all probing.

use std::sync::{Arc, PoisonError};

use plan::{NodeId, PhysicalJoinKind as Kind};
use types::{Error, Result, Value};
use vector::{Batch, Vector};

use super::{Built, NestedLoopJoin};
use crate::collect::{Tagged, detached_batch, in_tag_order};
use crate::context::QueryContext;
use crate::hash_join::row_marks::{RowMarks, in_unit};
use crate::pipeline::{Flow, Local, Push, Sink, Source, Step, Work, local_state};

/// The batches of one worker.
pub(super) type Collected = Local;

/// Collects the kept columns.
pub(super) struct BuildSink(pub Arc<NestedLoopJoin>);
/// Joins the collected batches end to end.
pub(super) struct BuildStep(pub Arc<NestedLoopJoin>);
/// Delivers build rows after all probing, matched or unmatched ones.
pub(super) struct BuildRows(pub Arc<NestedLoopJoin>);

impl Sink for BuildSink {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(Tagged::default())
    }
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, _work: &Work<'_>) -> Result<Flow> {
        let kept = detached_batch(&batch.select(&self.0.columns.kept));
        local_state::<Tagged>(local).batches.push((tag, kept));
        // A semi join without a condition asks only whether there is a row.
        let one_is_enough = self.0.condition.is_none()
            && matches!(self.0.kind, Kind::ProbeSemi | Kind::ProbeAnti | Kind::ProbeMark);
        Ok(if one_is_enough { Flow::Enough } else { Flow::More })
    }
    fn finish(&self, mut locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        self.0.collected.lock().unwrap_or_else(PoisonError::into_inner).append(&mut locals);
        Ok(())
    }
}

impl Step for BuildStep {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(1)
    }
    fn run(&self, _partition: u64, work: &Work<'_>) -> Result<()> {
        let join = &*self.0;
        let locals = std::mem::take(&mut *join.collected.lock().unwrap_or_else(PoisonError::into_inner));
        let batches = in_tag_order(locals);
        let rows: usize = batches.iter().map(|b| b.rows).sum();
        // Row numbers are of 32 bits, the last of which means none.
        if rows >= u32::MAX as usize {
            return Err(Error::unsupported(format!("a nested-loop join with a build side of {rows} rows")));
        }
        let of_rows = batches.iter().map(Batch::bytes).sum::<usize>();
        let reservation = work.reserve(of_rows + rows / 8)?;
        let columns: Vec<Vector> = (0..join.columns.kept.len())
            .map(|c| {
                let parts: Vec<&Vector> = batches.iter().map(|b| &b.columns[c]).collect();
                match parts.is_empty() {
                    true => Vector::from_values(join.columns.kept_types[c], &[] as &[Value]),
                    false => Vector::concat(&parts),
                }
            })
            .collect();
        let matched = join.marks_build_rows().then(|| RowMarks::new(rows));
        work.query.metrics.count(join.node, "build rows", rows as u64);
        let built = Built { rows, columns, matched, _reservation: reservation };
        join.built.set(built).map_err(|_| Error::internal("a join was built twice"))
    }
}

impl Source for BuildRows {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(self.0.built()?.matched.as_ref().map_or(0, RowMarks::units))
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let join = &*self.0;
        let built = join.built()?;
        let marks = built.matched.as_ref().ok_or_else(|| Error::internal("build rows were not marked"))?;
        in_unit(marks, unit, join.kind == Kind::BuildSemi, work.query.settings.batch_rows, &mut |rows| {
            push(join.columns.of_build(&built.columns, rows))
        })
    }
}
