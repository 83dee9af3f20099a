//! GROUP BY: its expressions and grouping sets, positions and aliases in it, GROUP BY ALL.

use std::collections::HashSet;
use std::rc::Rc;

use plan::{ColumnId, Expr, LogicalPlan};
use sqlparser::ast::{Expr as Ast, GroupByExpr, Select, SelectItem};
use types::{Error, Result, Type};

use super::aggregate::Aggregates;
use super::decorrelate::replace;
use super::expression::{Clause, ExprBinder, strip};
use super::grouping::{Groups, combined, sets_of};
use super::scope::Scope;
use super::select::Item;
use super::subquery::Pending;
use super::window::BoundWindow;
use super::{Binder, folded};
use crate::names::Name;

impl<'a> Binder<'a> {
    /// GROUP BY's expressions; subqueries in them are joined to `plan` at once, and such expressions go to `grouped`.
    pub(super) fn bind_groups(
        &mut self,
        plan: &mut LogicalPlan,
        select: &'a Select,
        scope: &Rc<Scope>,
        grouped: &mut Vec<(&'a Ast, Expr)>,
    ) -> Result<Option<Groups>> {
        let list = match &select.group_by {
            GroupByExpr::Expressions(list, modifiers) if modifiers.is_empty() => list,
            GroupByExpr::All(modifiers) if modifiers.is_empty() => {
                return Ok(Some(Groups { all: true, sets: vec![vec![]], ..Groups::default() }));
            }
            _ => return Err(Error::unsupported("this form of GROUP BY is not supported")),
        };
        if list.is_empty() {
            return Ok(None);
        }
        let mut groups = Groups { sets: vec![vec![]], ..Groups::default() };
        for item in list {
            let mut sets = Vec::new();
            for set in sets_of(item)? {
                let mut places = Vec::with_capacity(set.len());
                for ast in set {
                    let place = groups.key(self.bind_group(plan, ast, select, scope, grouped)?);
                    if !places.contains(&place) {
                        places.push(place);
                    }
                }
                sets.push(places);
            }
            groups.sets = combined(groups.sets, &sets)?;
        }
        match groups.sets.as_slice() {
            [only] => groups.keys = only.iter().map(|place| groups.keys[*place].clone()).collect(),
            _ => groups.number = Some(self.columns.add("grouping set", Type::Integer, false)),
        }
        if groups.number.is_none() {
            groups.sets = vec![(0..groups.keys.len()).collect()];
        }
        Ok(Some(groups))
    }

    fn bind_group(
        &mut self,
        plan: &mut LogicalPlan,
        ast: &'a Ast,
        select: &'a Select,
        scope: &Rc<Scope>,
        grouped: &mut Vec<(&'a Ast, Expr)>,
    ) -> Result<Expr> {
        let ast = self.group_target(ast, select, scope)?;
        let mut binder = ExprBinder::new(self, scope.clone(), Clause::GroupBy);
        binder.listed = &select.projection;
        let expr = binder.value(ast)?;
        let pending = std::mem::take(&mut binder.pending);
        let subqueries = !pending.is_empty();
        if !subqueries {
            return Ok(expr);
        }
        if let Some((_, known)) = grouped.iter().find(|(known, _)| *known == strip(ast)) {
            return Ok(known.clone());
        }
        let (joined, found) = self.attach(std::mem::replace(plan, LogicalPlan::placeholder()), pending)?;
        *plan = joined;
        let expr = replace(expr, &found);
        grouped.push((strip(ast), expr.clone()));
        Ok(expr)
    }

    /// GROUP BY ALL: the items of the select list without aggregates.
    pub(super) fn group_by_all(
        &self,
        groups: &mut Groups,
        items: &[Item],
        aggregates: &Aggregates<'a>,
        windows: &[BoundWindow],
        pending: &[Pending],
    ) -> Result<()> {
        let computed: HashSet<ColumnId> =
            aggregates.calls.iter().map(|(id, _)| *id).chain(windows.iter().map(|w| w.id)).collect();
        for item in items {
            let used = item.expr.columns();
            if item.expr.as_literal().is_some() || used.iter().any(|id| computed.contains(id)) {
                continue;
            }
            if pending.iter().any(|p| used.contains(&p.placeholder)) {
                let error = Error::unsupported("GROUP BY ALL over a subquery is not supported")
                    .with_hint("compute it in a subquery in FROM");
                return Err(self.error_at(error, item.span));
            }
            groups.key(item.expr.clone());
        }
        groups.sets = vec![(0..groups.keys.len()).collect()];
        Ok(())
    }

    /// What a GROUP BY item means: a position or, where no input column has the name, an alias of the select list.
    fn group_target(&self, ast: &'a Ast, select: &'a Select, scope: &Scope) -> Result<&'a Ast> {
        if let Some(at) = self.output_position(ast, select.projection.len())? {
            return match &select.projection[at] {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Ok(expr),
                _ => Err(Error::unsupported("GROUP BY position of * is not supported")),
            };
        }
        if let Ast::Identifier(ident) = strip(ast) {
            let name = Name::of(ident);
            let input = scope.find_here(None, None, &name).map_err(|e| self.error_at(e, ident.span))?;
            if input.is_none() {
                for fits in [Name::is, Name::resembles] {
                    for item in &select.projection {
                        if let SelectItem::ExprWithAlias { expr, alias } = item
                            && fits(&name, &folded(alias))
                        {
                            return Ok(expr);
                        }
                    }
                }
            }
        }
        Ok(ast)
    }
}
