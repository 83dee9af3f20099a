//! Plans for any values of a statement's parameters.
//!
//! `generic` plans a query with its parameters left in it, where one plan is all that it takes: nothing runs before it
//! whose outcome would decide the rest. `with_values` makes such a plan one for given values just before it runs, without
//! planning anew: values go into its expressions, these are simplified, and what a scan's blocks can then evaluate
//! themselves becomes their predicates, so that blocks are skipped as for literals. Estimates, the order of joins and
//! access paths stay those of the generic plan.

use plan::program::{Remaining, Step};
use plan::{ColumnId, Expr, ExprKind, LogicalQuery, PhysicalNode, PhysicalPlan, parameters};
use types::{Result, Type, Value};

use crate::lower::predicate::{Merged, extract};
use crate::rules::simplify::simplify_all;
use crate::{Known, Settings, Statistics, program};

/// The plan of a query whose parameters have no values; `None` where more than one plan would run.
pub fn generic(
    query: LogicalQuery,
    statistics: &dyn Statistics,
    settings: &Settings,
) -> Result<Option<PhysicalPlan>> {
    if !query.subqueries.is_empty() || !query.common.is_empty() {
        return Ok(None);
    }
    let mut steps = program(Remaining::all(query), &Known::default(), statistics, settings)?.steps;
    Ok(match (steps.pop(), steps.is_empty()) {
        (Some(Step::Return(plan)), true) => Some(*plan),
        _ => None,
    })
}

/// A generic plan with these values for its parameters.
pub fn with_values(generic: &PhysicalPlan, values: &[(Value, Type)], settings: &Settings) -> PhysicalPlan {
    let mut plan = generic.clone();
    parameters::put_in_physical(&mut plan, values, &mut |node| specialize(node, settings));
    plan
}

/// Brings a node into which values have come into the form that literals would have given it.
fn specialize(plan: &mut PhysicalPlan, settings: &Settings) {
    for expr in plan.expressions_mut() {
        let taken = std::mem::replace(expr, Expr::boolean(false));
        *expr = simplify_all(taken);
    }
    if let PhysicalNode::TableScan { fetched, predicates, filters, .. } = &mut plan.node
        && settings.block_predicates
    {
        let mut conjuncts = Vec::with_capacity(filters.len());
        std::mem::take(filters).into_iter().for_each(|filter| filter.split_conjuncts(&mut conjuncts));
        let mut merged: Vec<(usize, Merged)> = Vec::new();
        let mut slot_of = |at: usize| match merged.iter().position(|(column, _)| *column == at) {
            Some(slot) => slot,
            None => {
                merged.push((at, Merged::default()));
                merged.len() - 1
            }
        };
        let mut found = Vec::new();
        for conjunct in conjuncts {
            match extract(&by_column(conjunct.clone())) {
                Some((ColumnId(at), more)) => {
                    found.extend(more.into_iter().map(|p| (slot_of(at as usize), p)))
                }
                None => filters.push(conjunct),
            }
        }
        for (at, predicate) in std::mem::take(predicates) {
            found.push((slot_of(at), predicate));
        }
        for (slot, predicate) in found {
            merged[slot].1.add(predicate);
        }
        for (at, merged) in merged {
            let nullable = fetched[at].nullable;
            predicates.extend(merged.finish(nullable).into_iter().map(|predicate| (at, predicate)));
        }
    }
}

/// The fetched columns of a scan as columns of a logical plan, numbered by their places.
fn by_column(expr: Expr) -> Expr {
    expr.transform(&mut |e| match e.kind {
        ExprKind::Input(at) => Expr::column(ColumnId(u32::try_from(at).unwrap_or(u32::MAX)), e.ty),
        _ => e,
    })
}
