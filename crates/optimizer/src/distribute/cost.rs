//! What exchanges cost: the bytes that the busiest node sends or receives.
//!
//! Hashing rows that lie anywhere moves (n - 1)/n of them, a n-th of that to each node; broadcasting brings all others'
//! rows to each. Both are equal where one side has n - 1 times the bytes of the other, the paper's crossover. Rows that
//! are all at the coordinator leave it alone, which makes it the busiest.

use plan::{PhysicalNode as N, PhysicalPlan};
use types::{Physical, Type};

use super::place::Place;
use crate::Statistics;

/// Bytes that a text takes on the wire where nothing is known of it.
const TEXT_BYTES: f64 = 24.0;

/// Bytes of a value on the wire, before compression.
fn value_bytes(ty: Type) -> f64 {
    match ty.physical() {
        Physical::Bytes => TEXT_BYTES,
        _ => crate::cost::column_bytes(ty),
    }
}

/// Bytes of a row that leaves the plan.
pub(super) fn row_bytes(plan: &PhysicalPlan) -> f64 {
    plan.output.iter().map(|column| value_bytes(column.ty)).sum::<f64>().max(1.0)
}

/// Bytes of all rows that are expected out of the plan.
pub(super) fn bytes(plan: &PhysicalPlan) -> f64 {
    plan.estimated_rows.max(1.0) * row_bytes(plan)
}

/// Bytes at the busiest node where `bytes` that lie so are hashed over `nodes`.
pub(super) fn hashing(bytes: f64, place: &Place, nodes: f64) -> f64 {
    let whole = bytes * (nodes - 1.0) / nodes;
    if *place == Place::Single { whole } else { whole / nodes }
}

/// The same where they are broadcast.
pub(super) fn broadcasting(bytes: f64, place: &Place, nodes: f64) -> f64 {
    let received = bytes * (nodes - 1.0) / nodes;
    if *place == Place::Single { received * nodes } else { received }
}

/// The same where they are gathered at the coordinator.
pub(super) fn gathering(bytes: f64, place: &Place, nodes: f64) -> f64 {
    if *place == Place::Single { 0.0 } else { bytes * (nodes - 1.0) / nodes }
}

/// Bytes that travel in all, for EXPLAIN.
pub(super) fn travelling(bytes: f64, place: &Place, nodes: f64, kind: &plan::ExchangeKind) -> f64 {
    use plan::ExchangeKind as K;
    match kind {
        K::Broadcast => bytes * (nodes - 1.0),
        K::Gather { .. } => gathering(bytes, place, nodes),
        K::Hash { .. } | K::Range { .. } | K::Scatter => bytes * (nodes - 1.0) / nodes,
    }
}

/// Bytes of the columns that the sources of a plan read, filters left aside; `None` where there is a source whose size
/// is not known.
pub(super) fn read_bytes(plan: &PhysicalPlan, statistics: &dyn Statistics) -> Option<f64> {
    let width = |fetched: &[plan::OutputColumn]| fetched.iter().map(|c| value_bytes(c.ty)).sum::<f64>();
    match &plan.node {
        N::TableScan { table, fetched, .. } => {
            Some(statistics.table(*table)?.rows as f64 * width(fetched).max(1.0))
        }
        N::FileScan { file, fetched, .. } => Some(file.rows? as f64 * width(fetched).max(1.0)),
        N::Values { .. } | N::Series { .. } | N::Generate { .. } | N::Materialized { .. } => None,
        _ => plan.children().into_iter().map(|child| read_bytes(child, statistics)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of R and S, broadcasting R costs what hashing both does where S has n - 1 times its bytes.
    #[test]
    fn the_crossover_is_at_one_less_than_the_nodes() {
        for nodes in [2.0, 3.0, 6.0, 100.0] {
            let small = 1000.0;
            let both = |large: f64| hashing(small, &Place::Any, nodes) + hashing(large, &Place::Any, nodes);
            let all = broadcasting(small, &Place::Any, nodes);
            assert!((both(small * (nodes - 1.0)) - all).abs() < 1e-9);
            assert!(both(small * (nodes - 0.9)) > all);
            assert!(both(small * (nodes - 1.1)) < all);
        }
    }

    /// Rows at the coordinator leave by its link alone.
    #[test]
    fn one_sender_is_busier_than_all() {
        assert_eq!(hashing(900.0, &Place::Single, 3.0), 600.0);
        assert_eq!(hashing(900.0, &Place::Any, 3.0), 200.0);
        assert_eq!(broadcasting(900.0, &Place::Single, 3.0), 1800.0);
        assert_eq!(gathering(900.0, &Place::Single, 3.0), 0.0);
    }
}
