//! Parameters of bound statements: which there are, and values in their places.
//!
//! A statement that is bound without values has [`ExprKind::Parameter`]s in its expressions, each of the type that its
//! place asks for. `of_statement` finds them; `put` puts values where they stand, in a bound statement or in a plan, so
//! that what is left is what literals would have given.

use std::sync::Arc;

use types::{Type, Value};

use crate::cursor::CursorCommand;
use crate::{Expr, ExprKind, LogicalPlan, LogicalQuery, Parameter, PhysicalPlan, Statement};

/// The values of the parameters `$1`, `$2` and so on.
pub type Values<'v> = &'v [(Value, Type)];

/// Parameters of a statement's queries with their types, in the order in which they are met, one for each place.
pub fn of_statement(statement: &mut Statement) -> Vec<(Parameter, Type)> {
    let mut found = Vec::new();
    for query in queries_mut(statement) {
        for plan in plans_mut(query) {
            of_plan(plan, &mut found);
        }
    }
    found
}

/// A statement's queries, for changing them; those of EXPLAIN are those of what it explains.
pub fn queries_mut(statement: &mut Statement) -> Vec<&mut LogicalQuery> {
    match statement {
        Statement::Query(query)
        | Statement::CreateTableAs { query, .. }
        | Statement::AlterTypes { query, .. }
        | Statement::Insert { query, .. }
        | Statement::CopyFrom { query, .. }
        | Statement::CopyTo { query, .. } => vec![query],
        Statement::ChangingQuery(query) => vec![query],
        Statement::Modify(modification) => vec![&mut modification.query],
        Statement::Reorganize { rows: Some(rows), .. } => vec![&mut rows.query],
        Statement::Explain { statement, .. } => queries_mut(statement),
        Statement::Cursor(CursorCommand::Declare(cursor)) => vec![&mut cursor.query],
        _ => vec![],
    }
}

/// All plans of a query: its own, and those that run before.
fn plans_mut(query: &mut LogicalQuery) -> impl Iterator<Item = &mut LogicalPlan> {
    let common = query.common.iter_mut().flat_map(|common| {
        [&mut common.base].into_iter().chain(common.step.iter_mut().flat_map(crate::logical::Step::plans_mut))
    });
    [&mut query.plan].into_iter().chain(&mut query.subqueries).chain(common)
}

fn of_plan(plan: &LogicalPlan, found: &mut Vec<(Parameter, Type)>) {
    plan.children().into_iter().for_each(|child| of_plan(child, found));
    plan.expressions().into_iter().for_each(|expr| of_expression(expr, found));
}

fn of_expression(expr: &Expr, found: &mut Vec<(Parameter, Type)>) {
    expr.visit(&mut |e| match &e.kind {
        ExprKind::Parameter(parameter) => found.push((*parameter, e.ty)),
        ExprKind::Lambda(body) => of_expression(body, found),
        _ => {}
    });
}

/// Puts values where a statement's parameters stand.
pub fn put(statement: &mut Statement, values: Values<'_>) {
    for query in queries_mut(statement) {
        plans_mut(query).for_each(|plan| put_in_plan(plan, values));
    }
}

fn put_in_plan(plan: &mut LogicalPlan, values: Values<'_>) {
    plan.children_mut().into_iter().for_each(|child| put_in_plan(child, values));
    for expr in plan.expressions_mut() {
        put_in(expr, values);
    }
}

/// Puts values where a plan's parameters stand; `changed` sees every node that had some.
pub fn put_in_physical(
    plan: &mut PhysicalPlan,
    values: Values<'_>,
    changed: &mut impl FnMut(&mut PhysicalPlan),
) {
    for child in plan.children_mut() {
        put_in_physical(child, values, changed);
    }
    let mut any = false;
    for expr in plan.expressions_mut() {
        any |= put_in(expr, values);
    }
    if any {
        changed(plan);
    }
}

/// Puts values where an expression's parameters stand; whether there were any.
fn put_in(expr: &mut Expr, values: Values<'_>) -> bool {
    if !has_parameters(expr) {
        return false;
    }
    let taken = std::mem::replace(expr, Expr::boolean(false));
    *expr = taken.transform(&mut |e| match e.kind {
        ExprKind::Parameter(parameter) => {
            let value = (parameter.number as usize).checked_sub(1).and_then(|at| values.get(at));
            match value {
                Some((value, ty)) if value.is_null() || ty.same_representation(e.ty) => {
                    Expr::literal(value.clone(), e.ty)
                }
                // A rule has made the place narrower than what the parameter was bound as.
                Some((value, ty)) => Expr::literal(value.clone(), *ty).cast(e.ty),
                None => e,
            }
        }
        ExprKind::Lambda(body) if has_parameters(&body) => {
            let mut body = Arc::unwrap_or_clone(body);
            put_in(&mut body, values);
            Expr::new(ExprKind::Lambda(Arc::new(body)), e.ty)
        }
        _ => e,
    });
    true
}

/// Whether there are parameters in an expression, or in a lambda of it.
pub fn has_parameters(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |e| {
        found |= match &e.kind {
            ExprKind::Parameter(_) => true,
            ExprKind::Lambda(body) => has_parameters(body),
            _ => false,
        };
    });
    found
}
