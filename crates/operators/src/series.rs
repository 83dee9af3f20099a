//! Series: numbers in a row, made when they are asked for. No memory but the batches on their way.

use std::sync::OnceLock;

use plan::{NodeId, PhysicalNode, PhysicalPlan, Series};
use types::{Error, Physical, Result};
use vector::{Batch, Data, Vector};

use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Source, Work};

/// Rows of a unit: some tens of batches, so that workers share a short series and a long one has few units.
const UNIT_ROWS: u64 = 1 << 17;
/// Units of a series, at most: a unit's number is part of its tag.
const UNITS_MAX: u64 = 1 << 40;

/// The source of a series of numbers; a unit is a stretch of it.
pub struct SeriesSource {
    node: NodeId,
    series: Series,
    /// How often it is delivered: once, or not at all where only rows are counted.
    columns: usize,
    unit_rows: u64,
    /// The first unit that this engine reads.
    first: OnceLock<u64>,
}

impl SeriesSource {
    /// `plan` has to be a Series node.
    pub fn new(plan: &PhysicalPlan) -> Result<Self> {
        let PhysicalNode::Series { series, columns } = &plan.node else {
            return Err(Error::internal("not a series"));
        };
        let unit_rows = UNIT_ROWS.max(series.rows / UNITS_MAX + 1);
        Ok(SeriesSource {
            node: plan.id,
            series: *series,
            columns: columns.len(),
            unit_rows,
            first: OnceLock::new(),
        })
    }

    fn batch(&self, first: u64, rows: usize) -> Batch {
        let (start, step) = (self.series.at(first), self.series.step);
        let data = match self.series.ty.physical() {
            // The series' last value fits the representation, so each does.
            Physical::I32 => {
                let values: Vec<i32> = (0..rows as i32)
                    .map(|at| (start as i32).wrapping_add((step as i32).wrapping_mul(at)))
                    .collect();
                Data::I32(values.into())
            }
            _ => {
                let values: Vec<i64> =
                    (0..rows as i64).map(|at| start.wrapping_add(step.wrapping_mul(at))).collect();
                Data::I64(values.into())
            }
        };
        let column = Vector::new(self.series.ty, data, None);
        Batch::new(vec![column; self.columns], rows)
    }
}

impl Source for SeriesSource {
    fn node(&self) -> NodeId {
        self.node
    }
    fn start(&self, query: &QueryContext) -> Result<u64> {
        let part = query.part(self.node, self.series.rows.div_ceil(self.unit_rows) as usize);
        let _ = self.first.set(part.start as u64);
        Ok(part.len() as u64)
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let mut at = (self.first.get().copied().unwrap_or(0) + unit) * self.unit_rows;
        let end = (at + self.unit_rows).min(self.series.rows);
        while at < end {
            work.check()?;
            let rows = (end - at).min(work.query.settings.batch_rows as u64);
            if push(self.batch(at, rows as usize))? == Flow::Enough {
                return Ok(Flow::Enough);
            }
            at += rows;
        }
        Ok(Flow::More)
    }
}
