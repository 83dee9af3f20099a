//! Build rows after all probing: the matched ones of a semi join, the unmatched ones of outer and anti joins.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use plan::{NodeId, PhysicalJoinKind as Kind};
use types::{Error, Result, Type, Value};
use vector::{Batch, Vector};

use super::{HashJoin, Output};
use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Source, Work};

pub(super) struct BuildRows(pub Arc<HashJoin>);

/// Rows of a unit; a multiple of 64, the rows of a word of marks.
const UNIT_ROWS: usize = 1 << 16;

impl Source for BuildRows {
    fn node(&self) -> NodeId {
        self.0.node
    }

    fn start(&self, _query: &QueryContext) -> Result<u64> {
        let join = &*self.0;
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
        Ok(built.rows.div_ceil(UNIT_ROWS) as u64)
    }

    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let join = &*self.0;
        let built = join.built()?;
        let marks = built.matched.as_ref().ok_or_else(|| Error::internal("build rows were not marked"))?;
        let first = unit as usize * UNIT_ROWS;
        let mut rows = Vec::new();
        marks.rows(first, first + UNIT_ROWS, join.kind == Kind::BuildSemi, &mut rows);
        for rows in rows.chunks(work.query.settings.batch_rows.max(1)) {
            let columns = join
                .output
                .iter()
                .map(|output| match output {
                    Output::Build { kept } => built.columns[*kept].gather(rows),
                    Output::Probe { ty, .. } => Vector::constant(*ty, Value::Null, rows.len()),
                    Output::Mark => Vector::constant(Type::Boolean, Value::Null, rows.len()),
                })
                .collect();
            if push(Batch::new(columns, rows.len()))? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }
}
