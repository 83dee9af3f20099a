//! Plan to plan: a logical plan becomes the physical plan that is expected to run fastest.
//!
//! The stages, in order: `rules` rewrite the logical plan (simplification, push-down, outer joins, top-k, wide tables);
//! `lower` turns it into a physical plan bottom-up, asking `join_order` for the order of joins, `estimate` for row
//! counts and `cost` for prices; on the way down `rules::runtime_filters` and `rules::narrow_decimals` do their work
//! where the plan is built. Statistics come through the trait `Statistics`; nothing here knows catalog, blocks or
//! execution. Every technique has a switch in `Settings`; switches change plans, never results.
#![forbid(unsafe_code)]

mod columns;
mod cost;
pub mod distribute;
mod estimate;
mod join_order;
mod lower;
pub mod parameters;
mod planner;
mod program;
mod rules;
mod settings;
mod statistics;

use plan::{ColumnId, ColumnTable, LogicalPlan, LogicalQuery, PhysicalPlan};
use types::Result;

use columns::ColumnSet;
use planner::Planner;
pub use program::{Known, program};
pub use settings::{JoinOrder, Settings};
pub use statistics::{NoStatistics, Sample, Statistics, TableInfo, WideInfo, WideNode};

/// Plans the main plan of a query; its scalar subqueries are planned apart, with `optimize_plan`. Output columns bear
/// the query's headings.
pub fn optimize(
    query: LogicalQuery,
    statistics: &dyn Statistics,
    settings: &Settings,
) -> Result<PhysicalPlan> {
    let LogicalQuery { plan, mut columns, output, .. } = query;
    let ids: Vec<ColumnId> = output.iter().map(|(id, _)| *id).collect();
    let mut physical = optimize_plan(plan, &mut columns, &ids, statistics, settings)?;
    for (column, (_, heading)) in physical.output.iter_mut().zip(output) {
        column.name = heading;
    }
    Ok(physical)
}

/// Plans one logical plan so that it delivers `output`, in order and in the types `columns` gives. Nodes are numbered.
pub fn optimize_plan(
    plan: LogicalPlan,
    columns: &mut ColumnTable,
    output: &[ColumnId],
    statistics: &dyn Statistics,
    settings: &Settings,
) -> Result<PhysicalPlan> {
    let (plan, renames) = rules::projections::normalize(plan);
    let mut plan = rules::rewrite(plan, columns, settings);
    if settings.shared_sums {
        plan = rules::shared_sums::apply(plan, columns);
    }
    let types: Vec<_> = output.iter().map(|id| columns.get(*id).ty).collect();
    let output: Vec<ColumnId> = output.iter().map(|id| renames.resolve(*id)).collect();
    let needed: ColumnSet = output.iter().copied().collect();
    let (plan, wide_remarks) = rules::wide_tables::apply(plan, columns, statistics, settings);
    let mut planner = Planner::new(columns, statistics, settings);
    planner.wide_remarks = wide_remarks;
    let relation = planner.lower(plan, &needed)?;
    let mut physical = planner.deliver(relation, &output, &types)?;
    if settings.late_materialization {
        rules::late_materialization::apply(&mut physical)?;
    }
    physical.number();
    Ok(physical)
}
