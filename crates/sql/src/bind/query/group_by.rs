//! GROUP BY: its expressions and grouping sets, positions and aliases in it, GROUP BY ALL.
//!
//! Called by `select` after WHERE and before the select list is bound. An expression that stands twice is one key.
//! GROUP BY ALL is settled behind the select list: every item without an aggregate.

use std::collections::HashSet;
use std::rc::Rc;

use plan::{ColumnId, Expr, LogicalPlan};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::{Error, Result, Type};

use crate::bind::decorrelate::replace;
use crate::bind::decorrelate::subquery::Pending;
use crate::bind::expression::{Clause, ExprBinder, strip};
use crate::bind::function::aggregate::Aggregates;
use crate::bind::function::window::BoundWindow;
use crate::bind::nested::paths::names_of;
use crate::bind::query::columns::is_pattern;
use crate::bind::query::grouping::{Groups, combined, sets_of};
use crate::bind::query::select::Item;
use crate::bind::scope::Scope;
use crate::bind::{Binder, folded, refusal};
use crate::names::Name;

impl<'a> Binder<'a> {
    /// GROUP BY's expressions; subqueries in them are joined to `plan` at once, and such expressions go to `grouped`.
    pub(crate) fn bind_groups(
        &mut self,
        plan: &mut LogicalPlan,
        select: &'a tree::Select,
        items: &'a [tree::SelectItem],
        scope: &Rc<Scope>,
        grouped: &mut Vec<(&'a Ast, Expr)>,
    ) -> Result<Option<Groups>> {
        let Some(tree::GroupBy { distinct, items: grouped_by }) = &select.group_by else { return Ok(None) };
        let list = match grouped_by {
            tree::GroupItems::All => {
                return Ok(Some(Groups { all: true, sets: vec![vec![]], ..Groups::default() }));
            }
            tree::GroupItems::List(list) => list,
        };
        // ALL before the items is what is done without it.
        if *distinct == Some(true) {
            let at = list.first().map(place_of_item).unwrap_or_default();
            return Err(refusal::unsupported("GROUP BY DISTINCT", self.text, at));
        }
        if list.is_empty() {
            return Ok(None);
        }
        let mut groups = Groups { sets: vec![vec![]], ..Groups::default() };
        for item in list {
            let mut sets = Vec::new();
            for set in sets_of(item)? {
                let mut places = Vec::with_capacity(set.len());
                for ast in set {
                    let place = groups.key(self.bind_group(plan, ast, items, scope, grouped)?);
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
        items: &'a [tree::SelectItem],
        scope: &Rc<Scope>,
        grouped: &mut Vec<(&'a Ast, Expr)>,
    ) -> Result<Expr> {
        let ast = self.group_target(ast, items, scope)?;
        let mut binder = ExprBinder::new(self, scope.clone(), Clause::GroupBy);
        binder.listed = items;
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
    pub(crate) fn group_by_all(
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
            if item.expr.is_given() || used.iter().any(|id| computed.contains(id)) {
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
    fn group_target(&self, ast: &'a Ast, items: &'a [tree::SelectItem], scope: &Scope) -> Result<&'a Ast> {
        if let Some(at) = self.output_position(ast, items.len())? {
            return match &items[at].value {
                value if is_star(value) => Err(Error::unsupported("GROUP BY position of * is not supported")),
                value => Ok(value),
            };
        }
        if let Some([written]) = names_of(strip(ast)) {
            let name = Name::of(written);
            let input = scope.find_here(None, None, &name).map_err(|e| self.error_at(e, written.span))?;
            if input.is_none() {
                for fits in [Name::is, Name::resembles] {
                    let named = items.iter().find(|item| {
                        let alias = item.alias.as_ref().filter(|_| !is_star(&item.value));
                        alias.is_some_and(|alias| fits(&name, &folded(alias)))
                    });
                    if let Some(item) = named {
                        return Ok(&item.value);
                    }
                }
            }
        }
        Ok(ast)
    }
}

/// Whether an item of the select list stands for columns without naming them.
fn is_star(value: &Ast) -> bool {
    matches!(&value.kind, AstKind::Star(star) if !is_pattern(star))
}

fn place_of_item(item: &tree::GroupItem) -> Span {
    match item {
        tree::GroupItem::Expr(expr) => expr.span,
        tree::GroupItem::Empty(at)
        | tree::GroupItem::Rollup(_, at)
        | tree::GroupItem::Cube(_, at)
        | tree::GroupItem::Sets(_, at) => *at,
    }
}
