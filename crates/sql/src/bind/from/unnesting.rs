//! UNNEST of lists: in FROM, in the select list, and the functions of JSON that are it in disguise. (`unnest` is
//! about subqueries.)
//!
//! Lists of one call go side by side, the shorter ones with NULLs. In a select list the rows of all calls go side by
//! side as well, behind window functions. Called by `from` and by `query::select`.

use std::rc::Rc;

use plan::{ColumnId, Expr, ExprKind, Frame, JoinKind, LogicalPlan, WindowCall, WindowFunction};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::expression::coerce::Bound;
use crate::bind::expression::{Clause, ExprBinder};
use crate::bind::function::arguments;
pub(crate) use crate::bind::function::named::expanded;
use crate::bind::nested::{call, extract};
use crate::bind::query::select::{Item, filtered};
use crate::bind::scope::Scope;
use crate::bind::{Binder, Relation, folded, single_row};
use crate::place;

/// A plan of the elements of one list, without input.
pub(crate) fn one(list: Expr, id: ColumnId, ordinality: Option<ColumnId>) -> LogicalPlan {
    LogicalPlan::Unnest { input: Box::new(single_row()), lists: vec![(id, list)], ordinality, outer: false }
}

impl<'a> Binder<'a> {
    /// `UNNEST(list, ...) [WITH ORDINALITY]`.
    pub(crate) fn unnest_factor(
        &mut self,
        lists: Vec<&'a Ast>,
        with_ordinality: bool,
        scope: Rc<Scope>,
    ) -> Result<Relation> {
        let mut bound = Vec::with_capacity(lists.len());
        for list in lists {
            let mut binder = ExprBinder::new(self, scope.clone(), Clause::Argument);
            let list = binder.bind(list)?;
            if !binder.pending.is_empty() {
                let error = Error::unsupported("a subquery in the argument of UNNEST is not supported")
                    .with_hint("compute the list in a subquery in FROM");
                return Err(self.error_at(error, list.span));
            }
            crate::bind::check_depth(&list.expr)?;
            bound.push(list);
        }
        if let [one] = bound.as_slice()
            && one.ty().entry().is_some()
        {
            return self.unnest_map(one.clone(), with_ordinality);
        }
        let mut columns = Vec::new();
        let mut made = Vec::new();
        for list in bound {
            let (list, element) = self.list_of(list)?;
            let id = self.columns.add("unnest", element, true);
            columns.push((Rc::from("unnest"), id));
            made.push((id, list));
        }
        let ordinality = with_ordinality.then(|| self.columns.add("ordinality", Type::BigInt, true));
        columns.extend(ordinality.map(|id| (Rc::from("ordinality"), id)));
        let plan =
            LogicalPlan::Unnest { input: Box::new(single_row()), lists: made, ordinality, outer: false };
        Ok(Relation { plan, columns })
    }

    /// A map's keys and values.
    fn unnest_map(&mut self, map: Bound, with_ordinality: bool) -> Result<Relation> {
        let (key, value) = map.ty().entry().unwrap_or((Type::Null, Type::Null));
        let lists = [("key", "map_keys", key), ("value", "map_values", value)];
        let (mut columns, mut made) = (Vec::new(), Vec::new());
        for (name, function, ty) in lists {
            let id = self.columns.add(name, ty, true);
            columns.push((Rc::from(name), id));
            made.push((id, call(function, vec![map.expr.clone()], Type::list(ty)?)));
        }
        let ordinality = with_ordinality.then(|| self.columns.add("ordinality", Type::BigInt, true));
        columns.extend(ordinality.map(|id| (Rc::from("ordinality"), id)));
        let plan =
            LogicalPlan::Unnest { input: Box::new(single_row()), lists: made, ordinality, outer: false };
        Ok(Relation { plan, columns })
    }

    fn list_of(&self, list: Bound) -> Result<(Expr, Type)> {
        match list.ty() {
            Type::List(_) => {
                let element = list.ty().element().unwrap_or(Type::Null);
                Ok((list.expr, element))
            }
            Type::Null => Ok((Expr::literal(Value::Null, Type::list(Type::Null)?), Type::Null)),
            other => {
                let error =
                    Error::new(SqlState::DatatypeMismatch, format!("UNNEST takes a list, not {other}"));
                let hint = match list.untyped {
                    true => "say what it is a list of, as in '{1,2}'::INTEGER[]",
                    false => "a string is split into a list by string_split(text, separator)",
                };
                Err(self.error_at(error.with_hint(hint), list.span))
            }
        }
    }

    /// `json_each(j)` and its like.
    pub(crate) fn expanded_json(
        &mut self,
        function: &str,
        (arguments, alias): (&'a [tree::Argument], Option<&tree::TableAlias>),
        with_ordinality: bool,
        scope: Rc<Scope>,
        span: Span,
    ) -> Result<Relation> {
        let mut binder = ExprBinder::new(self, scope, Clause::Argument);
        let named = binder.path_arguments(function, arguments);
        let mut bound = named.map_err(|e| binder.binder.error_at(e, span))?.unwrap_or_default();
        let arguments = if bound.is_empty() { arguments } else { &[] };
        for argument in arguments {
            let Some(value) = binder.binder.argument_value(argument) else {
                let shown = arguments::shown(argument);
                let error = Error::unsupported(format!("{function} does not take the argument {shown}"));
                return Err(binder.binder.error_at(error, span));
            };
            bound.push(binder.bind(value)?);
        }
        let list = match crate::bind::from::set_returning::gives_records(function) {
            true => binder.records(function, bound, alias, span)?,
            false => binder.rows_as_list(function, bound, span)?,
        };
        if !binder.pending.is_empty() {
            let error =
                Error::unsupported("a subquery in the argument of a function in FROM is not supported");
            return Err(self.error_at(error, span));
        }
        crate::bind::check_depth(&list)?;
        let element = list.ty.element().unwrap_or(Type::Null);
        let of_json = function.starts_with("json")
            && !function.ends_with("object_keys")
            && !function.starts_with("jsonb_path_query");
        let name = if of_json { "value" } else { function };
        let id = self.columns.add(name, element, true);
        let ordinality = with_ordinality.then(|| self.columns.add("ordinality", Type::BigInt, true));
        let number = ordinality.map(|id| (Rc::from("ordinality"), id));
        let plan = one(list, id, ordinality);
        let Some(fields) = element.fields() else {
            let columns = [(name.into(), id)].into_iter().chain(number).collect();
            return Ok(Relation { plan, columns });
        };
        let (mut expressions, mut columns) = (Vec::new(), Vec::new());
        for (at, (name, ty)) in fields.iter().enumerate() {
            let part = self.columns.add(name, *ty, true);
            expressions.push((part, extract(Expr::column(id, element), at)));
            columns.push((Rc::from(name.as_str()), part));
        }
        expressions.extend(ordinality.map(|id| (id, Expr::column(id, Type::BigInt))));
        columns.extend(number);
        Ok(Relation { plan: LogicalPlan::Project { input: Box::new(plan), expressions }, columns })
    }

    /// A function's rows WITH ORDINALITY, numbered in the order in which they come.
    pub(crate) fn with_ordinality(&mut self, relation: Relation) -> Relation {
        let mut columns = relation.columns;
        let (plan, id) = self.with_row_numbers(relation.plan);
        columns.push(("ordinality".into(), id));
        Relation { plan, columns }
    }

    /// A plan's rows, numbered as they come.
    pub(crate) fn with_row_numbers(&mut self, input: LogicalPlan) -> (LogicalPlan, ColumnId) {
        let id = self.columns.add("ordinality", Type::BigInt, false);
        let call = WindowCall {
            function: WindowFunction::RowNumber,
            arguments: vec![],
            filter: None,
            ignore_nulls: false,
            frame: Frame::whole(),
            peers: 0,
            ty: Type::BigInt,
        };
        let input = Box::new(input);
        (LogicalPlan::Window { input, partition: vec![], order: vec![], calls: vec![(id, call)] }, id)
    }

    /// A join with what LATERAL made. Where that is made of one row, row by row, the left side's rows take that row's
    /// place, and no join is needed.
    pub(crate) fn attach_lateral(
        &mut self,
        left: LogicalPlan,
        right: LogicalPlan,
        mut conditions: Vec<Expr>,
        kind: JoinKind,
    ) -> Result<LogicalPlan> {
        // ON TRUE.
        conditions.retain(|c| c.as_literal() != Some(&Value::Bool(true)));
        let outer = kind == JoinKind::Left && conditions.is_empty();
        if (kind == JoinKind::Inner || outer) && of_one_row(&right, outer) {
            let passed = left.output().into_iter().map(|id| (id, self.column(id))).collect::<Vec<_>>();
            return Ok(filtered(over(left, right, &passed, outer), conditions));
        }
        self.attach_join(left, right, conditions, kind, None)
    }
}

/// Whether a plan is made of one row without columns, row by row, with an UNNEST on the way. For an outer join
/// nothing but UNNEST may drop the row.
fn of_one_row(plan: &LogicalPlan, outer: bool) -> bool {
    match plan {
        LogicalPlan::Unnest { input, .. } => {
            matches!(&**input, LogicalPlan::Values { columns, rows } if columns.is_empty() && rows.len() == 1)
                || (!outer && of_one_row(input, outer))
        }
        // Above a row that is kept for itself a computed value would be there where it should be NULL.
        LogicalPlan::Project { input, expressions } => {
            let of_column = |e: &Expr| match &e.kind {
                ExprKind::Column(_) => true,
                ExprKind::Library { name, arguments } => {
                    &**name == "struct_extract" && arguments[0].as_column().is_some()
                }
                _ => false,
            };
            (!outer || expressions.iter().all(|(_, e)| of_column(e))) && of_one_row(input, outer)
        }
        LogicalPlan::Filter { input, .. } => !outer && of_one_row(input, outer),
        _ => false,
    }
}

/// The plan with `left` in place of its one row, whose columns are passed on.
fn over(left: LogicalPlan, plan: LogicalPlan, passed: &[(ColumnId, Expr)], is_outer: bool) -> LogicalPlan {
    match plan {
        LogicalPlan::Unnest { input, lists, ordinality, outer } => {
            let input = Box::new(over(left, *input, passed, is_outer));
            LogicalPlan::Unnest { input, lists, ordinality, outer: outer || is_outer }
        }
        LogicalPlan::Project { input, mut expressions } => {
            let input = Box::new(over(left, *input, passed, is_outer));
            expressions.splice(0..0, passed.iter().cloned());
            LogicalPlan::Project { input, expressions }
        }
        LogicalPlan::Filter { input, predicate } => {
            LogicalPlan::Filter { input: Box::new(over(left, *input, passed, is_outer)), predicate }
        }
        _ => left,
    }
}

/// `unnest(value [, recursive := true] [, max_depth := n])`: the value and how many levels are opened.
fn unnest_arguments(ast: &Ast) -> Option<(&Ast, Option<u32>)> {
    let AstKind::Call(call) = &ast.kind else { return None };
    if !call.name.single()?.text.eq_ignore_ascii_case("unnest") || call.over.is_some() {
        return None;
    }
    let (first, options) = arguments::list(call).split_first()?;
    if first.name.is_some() || first.variadic || arguments::is_star(&first.value) {
        return None;
    }
    let mut levels = Some(1);
    for option in options {
        let (name, value) = arguments::named(option).filter(|_| !option.variadic)?;
        let AstKind::Literal(given) = &value.kind else { return None };
        levels = match (folded(name).as_str(), given) {
            ("recursive", tree::Literal::Bool(true)) => None,
            ("recursive", tree::Literal::Bool(false)) => levels,
            ("max_depth", tree::Literal::Number(levels)) => Some(levels.parse().ok()?),
            _ => return None,
        };
    }
    Some((&first.value, levels))
}

impl<'a> ExprBinder<'_, 'a> {
    /// The items that `unnest` of a struct, or of several levels, makes of one; `None` for everything else.
    pub(crate) fn unnested_items(&mut self, ast: &'a Ast) -> Result<Option<Vec<Item>>> {
        let Some((argument, levels)) = unnest_arguments(ast) else { return Ok(None) };
        let mut at = ast;
        if let AstKind::Call(call) = &at.kind
            && arguments::list(call).len() == 1
        {
            at = argument;
        }
        let around = self.unnests.take();
        let bound = self.bind(argument);
        self.unnests = around;
        let bound = bound?;
        let opens = |ty: Type| ty.fields().is_some_and(|f| !f.is_empty());
        if std::ptr::eq(at, argument) && !opens(bound.ty()) {
            return Ok(None);
        }
        let allowed = self.clause == Clause::Select && !self.in_window && self.unnests.is_some();
        if !allowed {
            let error = Error::unsupported(format!("unnest is not allowed in {}", self.clause.name()));
            return Err(place::at(error, self.binder.text, bound.span));
        }
        crate::bind::check_depth(&bound.expr)?;
        let (span, ty) = (bound.span, bound.ty());
        if ty.element().is_none() && !opens(ty) {
            // The error is that of a list that is none.
            self.binder.list_of(bound)?;
            return Ok(None);
        }
        let mut items = Vec::new();
        self.opened("unnest", bound.expr, levels, false, span, &mut items)?;
        Ok(Some(items))
    }

    /// A value's items: those of a struct's fields, those of a list's elements. `below`: the value is an element
    /// itself.
    fn opened(
        &mut self,
        name: &str,
        value: Expr,
        levels: Option<u32>,
        below: bool,
        span: Span,
        items: &mut Vec<Item>,
    ) -> Result<()> {
        let mut levels = levels;
        if levels != Some(0) {
            let ty = value.ty;
            if let Some(fields) = ty.fields() {
                let rest = levels.map(|levels| levels - 1);
                for (at, (field, _)) in fields.iter().enumerate() {
                    let name = if field.is_empty() { format!("element{}", at + 1) } else { field.clone() };
                    self.opened(&name, extract(value.clone(), at), rest, below, span, items)?;
                }
                return Ok(());
            }
            if ty.element().is_some() {
                if below {
                    let error = Error::unsupported("unnest of lists inside of elements is not supported")
                        .with_hint("unnest them in a query around this one");
                    return Err(self.binder.error_at(error, span));
                }
                // Lists in lists are one list.
                let mut list = Bound::typed(value, span);
                levels = levels.map(|levels| levels - 1);
                while levels != Some(0) && list.ty().element().is_some_and(|ty| ty.element().is_some()) {
                    list = self.apply("flatten", vec![list], span)?;
                    levels = levels.map(|levels| levels - 1);
                }
                let (list, element) = self.binder.list_of(list)?;
                let id = self.binder.columns.add("unnest", element, true);
                if let Some(unnests) = &mut self.unnests {
                    unnests.push((id, list));
                }
                let element = self.binder.column(id);
                return self.opened(name, element, levels, true, span, items);
            }
        }
        items.push(Item { name: name.into(), expr: value, untyped: false, span });
        Ok(())
    }

    /// `unnest(list)` in the select list: a row for each element. All such calls of a SELECT go side by side.
    pub(crate) fn unnest_call(&mut self, arguments: &'a [tree::Argument], span: Span) -> Result<Bound> {
        let text = self.binder.text;
        let argument = match arguments {
            [one] => self.binder.argument_value(one),
            _ => None,
        };
        let Some(argument) = argument else {
            let error = Error::new(SqlState::UndefinedFunction, "unnest takes one list in a select list")
                .with_hint("several lists stand in FROM: FROM unnest(a, b) AS t(x, y)");
            return Err(place::at(error, text, span));
        };
        let allowed = self.clause == Clause::Select && !self.in_window && self.unnests.is_some();
        if !allowed {
            let error = Error::unsupported(format!("unnest is not allowed in {}", self.clause.name()))
                .with_hint("put it in FROM: FROM t, unnest(t.list) AS u(x)");
            return Err(place::at(error, text, span));
        }
        // One inside another would need a second round.
        let around = self.unnests.take();
        let list = self.bind(argument);
        self.unnests = around;
        self.unnested_value(list?)
    }

    /// An element of a list, in the row that is made for it.
    pub(crate) fn unnested_value(&mut self, list: Bound) -> Result<Bound> {
        let span = list.span;
        crate::bind::check_depth(&list.expr)?;
        let (list, element) = self.binder.list_of(list)?;
        let known = self.unnests.iter().flatten().find(|(_, own)| *own == list).map(|(id, _)| *id);
        let id = known.unwrap_or_else(|| self.binder.columns.add("unnest", element, true));
        if known.is_none()
            && let Some(unnests) = &mut self.unnests
        {
            unnests.push((id, list));
        }
        Ok(Bound::typed(self.binder.column(id), span))
    }
}
