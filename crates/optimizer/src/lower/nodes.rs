//! Nodes that every kind of lowering puts around others, and the order of filters.

use plan::{Expr, PhysicalNode, PhysicalPlan};

use super::Relation;

/// A node over one input that delivers the input's columns as they are.
pub(crate) fn wrap(
    input: Relation,
    rows: f64,
    node: impl FnOnce(Box<PhysicalPlan>) -> PhysicalNode,
) -> Relation {
    let output = input.plan.output.clone();
    let plan = PhysicalPlan::new(node(Box::new(input.plan)), output, rows);
    Relation { plan, ..input }
}

/// No rows, with the columns of `relation`.
pub(crate) fn empty(relation: Relation) -> Relation {
    let output = relation.plan.output.clone();
    let plan = PhysicalPlan::new(PhysicalNode::Values { rows: vec![] }, output, 0.0);
    Relation { plan, ..relation }
}

/// FALSE or NULL: as a filter, both keep nothing.
pub(crate) fn never_true(expr: &Expr) -> bool {
    expr.as_literal().is_some_and(|v| v.as_bool() != Some(true))
}

/// Cheapest and most selective first. What may raise an error comes after what may not, so that a guard such as
/// `b <> 0 AND a / b > 1` guards.
pub(crate) fn order_filters(filters: &mut [Expr], selectivity: impl Fn(&Expr) -> f64) {
    filters.sort_by_cached_key(|filter| {
        let dropped = (1.0 - selectivity(filter)).max(0.001);
        let rank = crate::cost::evaluation(filter) / dropped;
        // The rank is a small positive number; as an integer it can be a sort key.
        (crate::cost::raises(filter), (rank * 1e6).min(1e18) as u64)
    });
}
