//! Build rows after all probing: the matched ones of a semi join, the unmatched ones of outer and anti joins.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use plan::{NodeId, PhysicalJoinKind as Kind};
use types::{Error, Result};

use super::HashJoin;
use super::row_marks::{RowMarks, in_unit};
use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Source, Work};

/// Delivers build rows after all probing, matched or unmatched ones.
pub(super) struct BuildRows(pub Arc<HashJoin>);

impl Source for BuildRows {
    fn node(&self) -> NodeId {
        self.0.node
    }

    fn add_user(&self) {
        self.0.add_user();
    }

    fn finished(&self) {
        self.0.user_finished();
    }

    fn start(&self, _query: &QueryContext) -> Result<u64> {
        let join = &*self.0;
        if join.has_spilled() {
            return Ok(0);
        }
        let built = join.built()?;
        if join.null_aware && join.kind == Kind::BuildAnti && !join.looks_at_unknown_pairs() {
            // The list is the probe side. A NULL in it: no row passes. Any row in it: no NULL passes.
            if join.list_has_null.load(Relaxed) {
                return Ok(0);
            }
            if let (true, Some(marks)) = (join.list_has_rows.load(Relaxed), &built.matched) {
                built.null_rows.iter().for_each(|row| marks.set(*row));
            }
        }
        Ok(built.matched.as_ref().map_or(0, RowMarks::units))
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
