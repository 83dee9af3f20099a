//! Rules `partial_predicates` and `transitive_predicates`: conditions on single relations that follow from conditions
//! over several.
//!
//! *Partial predicates* (Patel et al., "Quickstep", PVLDB 2018, section on optimizations): for a condition made of
//! ANDs and ORs over several relations, the weakest condition on one relation that it implies is found by replacing
//! every part that uses another relation by TRUE. If the result is not TRUE it is pushed down; the original condition
//! is still evaluated where all its columns meet. The nesting may have any depth. Which sides of outer, semi- and
//! anti-joins may be restricted is said at `derive_partial` in `join_order`. A scan leaves a partial predicate out when
//! its sample says that too many rows pass (`lower::scan`).
//!
//! *Transitive predicates*: where `a = b` holds in every row that survives, a comparison of `a` with constants holds
//! for `b`.

use plan::{ColumnId, Expr, ExprKind, LogicalPlan, ScanSource};

use crate::columns::ColumnSet;

/// The weakest condition over `columns` that `expr` implies, unless it is TRUE.
pub(crate) fn implied(expr: &Expr, columns: &ColumnSet) -> Option<Expr> {
    let used = ColumnSet::of(expr);
    if used.is_subset(columns) {
        return (!used.is_empty() && !crate::cost::raises(expr)).then(|| expr.clone());
    }
    match &expr.kind {
        ExprKind::And(parts) => {
            let found: Vec<Expr> = parts.iter().filter_map(|p| implied(p, columns)).collect();
            (!found.is_empty()).then(|| Expr::and(found))
        }
        ExprKind::Or(parts) => {
            let found: Option<Vec<Expr>> = parts.iter().map(|p| implied(p, columns)).collect();
            Some(Expr::or(found?))
        }
        _ => None,
    }
}

/// Comparisons of single columns with constants that hold for every row of `plan`, by column.
pub(crate) fn constant_predicates(plan: &LogicalPlan, found: &mut Vec<(ColumnId, Expr)>) {
    match plan {
        LogicalPlan::Scan { source, filters, .. } => {
            // A generator cannot use predicates, but what it says of its rows is as true.
            let _: &ScanSource = source;
            filters.iter().for_each(|f| collect(f, found));
        }
        LogicalPlan::Filter { input, predicate } => {
            collect(predicate, found);
            constant_predicates(input, found);
        }
        LogicalPlan::Project { input, .. } => constant_predicates(input, found),
        LogicalPlan::Aggregate { input, groups, .. } => {
            let mut below = Vec::new();
            constant_predicates(input, &mut below);
            for (id, key) in groups {
                let Some(column) = key.as_column() else { continue };
                for (_, predicate) in below.iter().filter(|(of, _)| *of == column) {
                    found.push((*id, on_column(predicate.clone(), column, *id, key.ty)));
                }
            }
        }
        LogicalPlan::Join { left, right, kind, .. } => {
            use plan::JoinKind as J;
            if matches!(kind, J::Inner | J::Left | J::LeftSemi | J::LeftAnti | J::LeftMark) {
                constant_predicates(left, found);
            }
            if *kind == J::Inner {
                constant_predicates(right, found);
            }
        }
        _ => {}
    }
}

fn collect(expr: &Expr, found: &mut Vec<(ColumnId, Expr)>) {
    match &expr.kind {
        ExprKind::And(parts) => parts.iter().for_each(|p| collect(p, found)),
        ExprKind::Compare { left, right, .. } => match (left.as_column(), right.as_column()) {
            (Some(id), None) if is_constant(right) => found.push((id, expr.clone())),
            (None, Some(id)) if is_constant(left) => found.push((id, expr.clone())),
            _ => {}
        },
        ExprKind::InList { input, .. } | ExprKind::Like { input, .. } => {
            if let Some(id) = input.as_column() {
                found.push((id, expr.clone()));
            }
        }
        _ => {}
    }
}

fn is_constant(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(_) | ExprKind::ScalarSubquery(_) | ExprKind::Parameter(_))
}

/// A predicate on `from` as one on `to`.
pub(crate) fn on_column(predicate: Expr, from: ColumnId, to: ColumnId, ty: types::Type) -> Expr {
    predicate.transform(&mut |e| if e.as_column() == Some(from) { Expr::column(to, ty) } else { e })
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Comparison, Type, Value};

    fn equal(id: u32, v: i32) -> Expr {
        Expr::compare(
            Comparison::Equal,
            Expr::column(ColumnId(id), Type::Integer),
            Expr::literal(Value::I32(v), Type::Integer),
        )
    }

    #[test]
    fn a_disjunction_over_two_relations_gives_one_for_each() {
        let both = |a, b| Expr::and(vec![equal(0, a), equal(1, b)]);
        let pair = Expr::or(vec![both(1, 2), both(2, 1)]);
        let first: ColumnSet = [ColumnId(0)].into_iter().collect();
        assert_eq!(implied(&pair, &first), Some(Expr::or(vec![equal(0, 1), equal(0, 2)])));
        assert_eq!(implied(&Expr::or(vec![both(1, 2), equal(1, 5)]), &first), None);
        // Nested: (x = 1 AND (x = 2 OR y = 3)) OR (x = 4 AND y = 5).
        let nested = Expr::or(vec![
            Expr::and(vec![equal(0, 1), Expr::or(vec![equal(0, 2), equal(1, 3)])]),
            both(4, 5),
        ]);
        assert_eq!(implied(&nested, &first), Some(Expr::or(vec![equal(0, 1), equal(0, 4)])));
    }
}
