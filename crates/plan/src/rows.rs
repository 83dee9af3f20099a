//! How many rows a plan gives at most, whatever the data.
//!
//! The optimizer bounds sums and counts with it, and chooses nested loops; the engine runs a query whose few rows fit
//! one batch on the calling thread, since there is nothing to read ahead of a consumer. A bound is never a guess: what is
//! not known is [`UNKNOWN_ROWS`], more than any source has.

use crate::{PhysicalJoinKind as Kind, PhysicalNode as N, PhysicalPlan};

/// The assumed rows of a source of unknown length: more than any file has.
pub const UNKNOWN_ROWS: u128 = 1 << 40;

/// A number of rows that `plan` cannot exceed. `source_rows` is asked for the rows of scans of tables and of
/// materialised rows; `None` where they are not known.
pub fn rows_at_most(plan: &PhysicalPlan, source_rows: &mut dyn FnMut(&PhysicalPlan) -> Option<u64>) -> u128 {
    match &plan.node {
        N::TableScan { .. } | N::Materialized { .. } => source_rows(plan).map_or(UNKNOWN_ROWS, u128::from),
        // Every node may send as many as the input has here, and how many nodes there are is not known.
        N::Exchange { .. } => UNKNOWN_ROWS,
        N::FileScan { .. } | N::Generate { .. } | N::Unnest { .. } => UNKNOWN_ROWS,
        N::Values { rows } => rows.len() as u128,
        N::Series { series, .. } => u128::from(series.rows),
        N::Filter { input, .. }
        | N::Project { input, .. }
        | N::Fetch { input, .. }
        | N::Window { input, .. } => rows_at_most(input, source_rows),
        N::Sort { input, limit: count, .. } | N::Limit { input, count, .. } => {
            rows_at_most(input, source_rows).min(count.map_or(u128::MAX, u128::from))
        }
        N::Aggregate { input, groups, .. } => match groups.is_empty() {
            true => 1,
            false => rows_at_most(input, source_rows),
        },
        N::HashJoin { probe, build, kind, build_unique, .. } => {
            let (probe, build) = (rows_at_most(probe, source_rows), rows_at_most(build, source_rows));
            joined(*kind, probe, build, *build_unique)
        }
        N::NestedLoopJoin { probe, build, kind, .. } => {
            let (probe, build) = (rows_at_most(probe, source_rows), rows_at_most(build, source_rows));
            joined(*kind, probe, build, false)
        }
        N::UnionAll { inputs } => {
            inputs.iter().fold(0, |sum: u128, input| sum.saturating_add(rows_at_most(input, source_rows)))
        }
        N::Insert { .. } => 1,
    }
}

/// Rows of a join of so many rows; `unique`: no two build rows share a key.
fn joined(kind: Kind, probe: u128, build: u128, unique: bool) -> u128 {
    let pairs = if unique { probe } else { probe.saturating_mul(build) };
    match kind {
        Kind::Inner => pairs,
        Kind::ProbeSemi | Kind::ProbeAnti | Kind::ProbeMark => probe,
        Kind::BuildSemi | Kind::BuildAnti => build,
        Kind::ProbeOuter | Kind::BuildOuter | Kind::FullOuter => {
            pairs.saturating_add(probe).saturating_add(build)
        }
    }
}

#[cfg(test)]
mod tests {
    use types::Value;

    use super::*;
    use crate::Series;

    fn values(rows: usize) -> PhysicalPlan {
        PhysicalPlan::new(N::Values { rows: vec![vec![Value::I64(1)]; rows] }, vec![], rows as f64)
    }

    fn limited(input: PhysicalPlan, count: u64) -> PhysicalPlan {
        let node = N::Limit { input: Box::new(input), offset: 0, count: Some(count) };
        PhysicalPlan::new(node, vec![], count as f64)
    }

    fn bound(plan: &PhysicalPlan) -> u128 {
        rows_at_most(plan, &mut |_| None)
    }

    #[test]
    fn bounds_hold_for_every_source_and_are_cut_by_limits() {
        let series = Series { first: 0, step: 1, rows: 1000, ty: types::Type::BigInt };
        let series = PhysicalPlan::new(N::Series { series, columns: vec![0] }, vec![], 1e3);
        assert_eq!(bound(&series), 1000);
        assert_eq!(bound(&limited(series, 7)), 7);
        let two = PhysicalPlan::new(N::UnionAll { inputs: vec![values(3), values(4)] }, vec![], 7.0);
        assert_eq!(bound(&two), 7);
        let node = N::Aggregate { input: Box::new(values(3)), groups: vec![], aggregates: vec![] };
        assert_eq!(bound(&PhysicalPlan::new(node, vec![], 1.0)), 1);
    }

    #[test]
    fn joins_multiply_unless_partners_are_unique() {
        assert_eq!(joined(Kind::Inner, 10, 20, false), 200);
        assert_eq!(joined(Kind::Inner, 10, 20, true), 10);
        assert_eq!(joined(Kind::ProbeSemi, 10, 20, false), 10);
        assert_eq!(joined(Kind::FullOuter, 10, 20, true), 40);
        assert_eq!(joined(Kind::Inner, u128::MAX, 2, false), u128::MAX);
    }
}
