//! What a whole plan costs, and what keeping its rows costs instead: enough to decide whether a subplan runs once.

use plan::{Expr, PhysicalNode, PhysicalPlan};

use super::{BUILD_FACTOR, access, column_bytes, evaluation, hash_join, nested_loops, range_join};
use crate::Statistics;

/// Cost of a comparison in a sort, and of putting a row into its partition.
const SORTED_ROW: f64 = 2.0;
/// Cost of a group's key and of one aggregate, for a row.
const GROUPED_ROW: f64 = 4.0;
/// Cost of a call of a window function for a row.
const WINDOWED_ROW: f64 = 4.0;
/// Cost of reading a column of a row.
const READ_COLUMN: f64 = 0.5;
/// Cost of a row of a file beside one of a table.
const FILE_FACTOR: f64 = 8.0;
/// Cost of writing a byte of a row that is kept, and of reading it again.
const KEPT_BYTE: f64 = 0.15;

fn sorting(rows: f64) -> f64 {
    rows * rows.max(2.0).log2() * SORTED_ROW
}

fn all<'e>(expressions: impl IntoIterator<Item = &'e Expr>) -> f64 {
    expressions.into_iter().map(evaluation).sum()
}

/// Cost of running a plan once, by the rows that are expected of its nodes.
pub(crate) fn running(plan: &PhysicalPlan, statistics: &dyn Statistics) -> f64 {
    use PhysicalNode as N;
    let below: f64 = plan.children().into_iter().map(|child| running(child, statistics)).sum();
    let rows = |plan: &PhysicalPlan| plan.estimated_rows.max(1.0);
    let out = rows(plan);
    let own = match &plan.node {
        N::TableScan { table, filters, columns, .. } => {
            let read = statistics.table(*table).map_or(out, |t| t.rows as f64);
            read * (all(filters) + READ_COLUMN * columns.len() as f64)
        }
        N::FileScan { file, filters, columns, .. } => {
            let read = crate::lower::rows_in_files(file);
            read * (all(filters) + FILE_FACTOR * READ_COLUMN * columns.len() as f64)
        }
        N::Generate { columns, .. } => out * FILE_FACTOR * columns.len() as f64,
        N::Series { .. } | N::Values { .. } | N::Materialized { .. } | N::Limit { .. } => out * READ_COLUMN,
        N::Filter { input, predicate } => rows(input) * evaluation(predicate),
        N::Project { expressions, .. } => out * all(expressions),
        N::HashJoin { probe, build, residual, .. } => {
            hash_join(rows(probe), rows(build), 0.0, out) + out * all(residual)
        }
        N::Fetch { output, .. } => out * output.len() as f64 * READ_COLUMN * access(out),
        N::NestedLoopJoin { probe, build, by_range: true, .. } => {
            range_join(rows(probe), rows(build), 1.0, out)
        }
        N::NestedLoopJoin { probe, build, predicate, .. } => {
            nested_loops(rows(probe), rows(build), out) + rows(probe) * rows(build) * all(predicate)
        }
        N::Aggregate { input, groups, aggregates } => {
            let arguments = aggregates.iter().flat_map(|call| call.argument.iter().chain(&call.filter));
            let each = all(groups) + all(arguments) + GROUPED_ROW * (1.0 + aggregates.len() as f64);
            rows(input) * each * access(out)
        }
        N::Sort { input, limit, .. } => {
            let kept = limit.map_or(rows(input), |limit| (limit as f64).clamp(2.0, rows(input).max(2.0)));
            rows(input) * kept.log2().max(1.0) * SORTED_ROW
        }
        N::Window { input, calls, sorted, .. } => {
            let order = if *sorted { 0.0 } else { sorting(rows(input)) };
            order + rows(input) * (BUILD_FACTOR + WINDOWED_ROW * calls.len() as f64)
        }
        N::Unnest { lists, input, .. } => rows(input) * all(lists) + out * READ_COLUMN,
        N::UnionAll { .. } => 0.0,
        N::Exchange { .. } => out * plan.output.iter().map(|c| column_bytes(c.ty)).sum::<f64>() * KEPT_BYTE,
        N::Insert { .. } => out * BUILD_FACTOR,
    };
    below + own
}

/// Cost of keeping a plan's rows, and of reading them so many times.
pub(crate) fn keeping(plan: &PhysicalPlan, reads: usize) -> f64 {
    let bytes: f64 = plan.output.iter().map(|column| column_bytes(column.ty)).sum();
    let each = (1.0 + bytes * KEPT_BYTE) * (1.0 + reads as f64);
    plan.estimated_rows.max(1.0) * each
}
