//! WITH RECURSIVE: a query over the rows that its last step gave, until there are none.

use std::rc::Rc;
use std::sync::Arc;

use plan::{ColumnId, ExprKind, LogicalPlan, MaterializedSource, OutputColumn, Recursion, ScanSource};
use sqlparser::ast::{ObjectName, Query, SetExpr, SetOperator, SetQuantifier, visit_relations};
use types::{Error, Result, SqlState, Type};

use super::coerce;
use super::unnest::free_columns;
use super::{Binder, Relation, folded};

/// What is known of a recursive query's rows once its first part is bound.
#[derive(Clone)]
pub(super) struct Named {
    columns: Vec<(Rc<str>, Type)>,
    working: usize,
    result: usize,
    /// Inside its own second part.
    inside: bool,
}

impl<'a> Binder<'a> {
    /// One use of a recursive common table expression; `None` for one that does not refer to itself.
    pub(super) fn bind_recursive(&mut self, at: usize) -> Result<Option<Relation>> {
        if let Some(named) = self.ctes[at].recursion.clone() {
            let index = if named.inside { named.working } else { named.result };
            return Ok(Some(self.read_rows(&named, index)));
        }
        let cte = &self.ctes[at];
        let (query, scope, names, name) =
            (cte.query, cte.scope.clone(), cte.columns.clone(), cte.name.clone());
        if !mentions(query, &name) {
            return Ok(None);
        }
        let shape = || {
            Error::new(
                SqlState::InvalidRecursion,
                format!(
                    "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
                ),
            )
        };
        let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right } =
            query.body.as_ref()
        else {
            return Err(shape());
        };
        if set_mentions(left, &name) {
            return Err(shape());
        }
        if query.with.is_some() || query.order_by.is_some() || query.limit_clause.is_some() {
            return Err(Error::unsupported(
                "WITH, ORDER BY and LIMIT in a recursive query are not supported",
            )
            .with_hint("they may stand in the query that uses it"));
        }
        let distinct = match set_quantifier {
            SetQuantifier::All => false,
            SetQuantifier::None | SetQuantifier::Distinct => true,
            _ => return Err(Error::unsupported("UNION BY NAME in a recursive query is not supported")),
        };
        let hidden = self.ctes.split_off(at + 1);
        let parts = self.recursive_parts(at, (left, right), (&names, &name), scope);
        self.ctes.truncate(at + 1);
        self.ctes.extend(hidden);
        let (base, step, mut named) = parts?;
        named.inside = false;
        for plan in [&base.plan, &step.plan] {
            if !free_columns(plan).is_empty() {
                return Err(Error::unsupported(
                    "a recursive query that uses columns around it is not supported",
                ));
            }
            if has_subquery(plan) {
                return Err(Error::unsupported("a scalar subquery in a recursive query is not supported")
                    .with_hint("join with the subquery in FROM"));
            }
        }
        let ids =
            |relation: &Relation| -> Vec<ColumnId> { relation.columns.iter().map(|(_, id)| *id).collect() };
        self.recursions.push(Recursion {
            name,
            base_columns: ids(&base),
            base: base.plan,
            step_columns: ids(&step),
            step: step.plan,
            distinct,
            working: named.working,
            result: named.result,
        });
        let relation = self.read_rows(&named, named.result);
        self.ctes[at].recursion = Some(named);
        Ok(Some(relation))
    }

    fn recursive_parts(
        &mut self,
        at: usize,
        (left, right): (&'a SetExpr, &'a SetExpr),
        (names, name): (&[String], &str),
        scope: Option<Rc<super::scope::Scope>>,
    ) -> Result<(Relation, Relation, Named)> {
        let mut base = self.bind_branch(left, scope.clone())?;
        self.settle_nulls(&mut base)?;
        self.rename_columns(&mut base, names)?;
        let columns: Vec<(Rc<str>, Type)> =
            base.columns.iter().map(|(name, id)| (name.clone(), self.columns.get(*id).ty)).collect();
        let working = self.materialized;
        self.materialized += 2;
        let named = Named { columns, working, result: working + 1, inside: true };
        self.ctes[at].recursion = Some(named.clone());
        let step = self.bind_branch(right, scope);
        self.ctes[at].recursion = None;
        let mut step = step?;
        self.settle_nulls(&mut step)?;
        if step.columns.len() != named.columns.len() {
            return Err(Error::new(
                SqlState::SyntaxError,
                "each UNION query must have the same number of columns",
            ));
        }
        let mut expressions = Vec::with_capacity(step.columns.len());
        for (place, ((_, id), (column, ty))) in step.columns.iter_mut().zip(&named.columns).enumerate() {
            let expr = self.column(*id);
            let from = expr.ty;
            if !(from == *ty || (from.is_text() && ty.is_text()) || coerce::widens(from, *ty)) {
                return Err(Error::new(
                    SqlState::DatatypeMismatch,
                    format!(
                        "recursive query \"{name}\" column {} has type {ty} in non-recursive term but type {from} overall",
                        place + 1
                    ),
                )
                .with_hint("cast the output of the non-recursive term to the correct type"));
            }
            let own = self.columns.add(&**column, *ty, true);
            expressions.push((own, coerce::cast(expr, *ty)));
            *id = own;
        }
        step.plan = LogicalPlan::Project { input: Box::new(step.plan), expressions };
        Ok((base, step, named))
    }

    fn read_rows(&mut self, named: &Named, index: usize) -> Relation {
        /// Nobody knows how long a recursion goes on.
        const ROWS_GUESSED: f64 = 1000.0;
        let mut ids = Vec::with_capacity(named.columns.len());
        for (name, ty) in &named.columns {
            ids.push(self.columns.add(&**name, *ty, true));
        }
        let columns = named
            .columns
            .iter()
            .map(|(name, ty)| OutputColumn { name: name.to_string(), ty: *ty, nullable: true, bounds: None })
            .collect();
        let source = MaterializedSource {
            index,
            rows: ROWS_GUESSED,
            columns,
            distinct: vec![None; named.columns.len()],
            unique: vec![],
        };
        let plan = LogicalPlan::Scan {
            source: ScanSource::Materialized(Arc::new(source)),
            columns: ids.iter().enumerate().map(|(at, id)| (*id, at)).collect(),
            filters: vec![],
        };
        let columns = named.columns.iter().zip(ids).map(|((name, _), id)| (name.clone(), id)).collect();
        Relation { plan, columns }
    }
}

fn is_name(relation: &ObjectName, name: &str) -> bool {
    matches!(relation.0.as_slice(), [part] if part.as_ident().is_some_and(|i| folded(i) == name))
}

fn mentions(query: &Query, name: &str) -> bool {
    let found = visit_relations(query, |relation| {
        if is_name(relation, name) {
            std::ops::ControlFlow::Break(())
        } else {
            std::ops::ControlFlow::Continue(())
        }
    });
    found.is_break()
}

fn set_mentions(body: &SetExpr, name: &str) -> bool {
    let found = visit_relations(body, |relation| {
        if is_name(relation, name) {
            std::ops::ControlFlow::Break(())
        } else {
            std::ops::ControlFlow::Continue(())
        }
    });
    found.is_break()
}

fn has_subquery(plan: &LogicalPlan) -> bool {
    let mut found = false;
    for expr in plan.expressions() {
        expr.visit(&mut |e| found |= matches!(e.kind, ExprKind::ScalarSubquery(_)));
    }
    found || plan.children().into_iter().any(has_subquery)
}
