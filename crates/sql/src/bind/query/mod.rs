//! Whole queries: WITH, the body, ORDER BY, LIMIT and OFFSET; and INSERT's queries, whose rows become a table's.
//!
//! `bind_query` makes the WITH queries visible, binds the body, orders and limits it, and hides them again; unused
//! WITH queries are bound for their errors only. ORDER BY of a single SELECT is bound in `select`, where input
//! columns are visible; after a set operation it sees output columns only. Columns of quoted literals stay untyped
//! until a context (`retype`) gives them a type; what is left becomes TEXT.

pub(crate) mod columns;
pub(crate) mod common_queries;
pub(crate) mod describe;
pub(crate) mod group_by;
pub(crate) mod grouped;
pub(crate) mod grouping;
pub(crate) mod heading;
pub(crate) mod limit;
pub(crate) mod marks;
pub(crate) mod pragma;
pub(crate) mod recursion;
pub(crate) mod select;
pub(crate) mod set_operation;
pub(crate) mod show;
pub(crate) mod star;
pub(crate) mod values;

use std::rc::Rc;

use plan::{ColumnId, Expr, ExprKind, LogicalPlan, SortKey};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, Literal, OperatorKind};
use types::{Error, Result, SqlState, Type, Value};

use crate::RelationInfo;
use crate::bind::expression::coerce::{self, Bound};
use crate::bind::expression::{Clause, ExprBinder, strip};
pub(crate) use crate::bind::nodes::{changes_rows, place_of};
use crate::bind::query::common_queries::relations_in;
use crate::bind::scope::{Entry, Scope};
use crate::bind::{Binder, Relation};
use crate::place;

/// What ORDER BY says.
#[derive(Clone, Copy)]
pub(crate) enum Ordering<'a> {
    List(&'a [tree::OrderItem]),
    /// ORDER BY ALL: every item, left to right.
    All(&'a tree::OrderItem),
}

impl<'a> Ordering<'a> {
    fn of(query: &'a tree::Query) -> Self {
        match query.order_by.as_slice() {
            [all @ tree::OrderItem { key: tree::OrderKey::All, .. }] => Ordering::All(all),
            list => Ordering::List(list),
        }
    }
}

/// What an item of ORDER BY orders by.
pub(crate) fn order_value<'a>(text: &str, item: &'a tree::OrderItem) -> Result<&'a Ast> {
    let error = match &item.key {
        tree::OrderKey::Expr(expr) => return Ok(expr),
        tree::OrderKey::All => Error::unsupported("ORDER BY ALL of this kind is not supported"),
        tree::OrderKey::Using(..) => {
            Error::unsupported("ORDER BY ... USING is not supported").with_hint("write ASC or DESC")
        }
    };
    Err(place::at(error, text, item.span))
}

impl<'a> Binder<'a> {
    /// A query as a relation; `outer` is the scope around it, if it is a subquery.
    pub(crate) fn bind_query(
        &mut self,
        query: &'a tree::Query,
        outer: Option<Rc<Scope>>,
    ) -> Result<Relation> {
        let visible = self.ctes.len();
        if let Some(with) = &query.with {
            self.bind_with(with, &relations_in(tree::walk::behind_with(query)), &outer)?;
        }
        let result = self.bind_query_body(query, outer);
        if result.is_ok() {
            // One that is never used is checked all the same, but does not run.
            for at in visible..self.ctes.len() {
                if !self.ctes[at].used {
                    let before = self.before();
                    self.bind_cte(at)?;
                    self.go_back(before);
                }
            }
        }
        self.ctes.truncate(visible);
        result
    }

    fn bind_query_body(&mut self, query: &'a tree::Query, outer: Option<Rc<Scope>>) -> Result<Relation> {
        self.count_instance()?;
        if !query.locks.is_empty() {
            return Err(Error::unsupported("FOR UPDATE and FOR SHARE are not supported").with_hint(
                "in a SERIALIZABLE transaction COMMIT fails where others have changed a table that it has read",
            ));
        }
        if let tree::SetExpr::Pivot(pivot) = &query.body {
            // What stands behind it belongs to it.
            let mut relation = self.bind_pivot_statement(pivot, Some(query))?;
            self.settle_nulls(&mut relation)?;
            return Ok(relation);
        }
        let order = Ordering::of(query);
        let mut relation = match self.select_of(&query.body) {
            Some(select) => self.bind_select(select, order, outer.clone())?,
            None => {
                let relation = self.bind_set_expr(&query.body, outer.clone())?;
                self.ordered_output(relation, order)?
            }
        };
        self.limit(&mut relation, query)?;
        self.settle_nulls(&mut relation)?;
        Ok(relation)
    }

    /// A body as a SELECT, if it is one or says the same: `TABLE t` is `SELECT * FROM t`.
    pub(crate) fn select_of(&self, body: &'a tree::SetExpr) -> Option<&'a tree::Select> {
        let (kind, span) = match body {
            tree::SetExpr::Select(select) => return Some(select),
            tree::SetExpr::Table(path) => {
                (tree::TableKind::Named { only: false, name: path.clone() }, path.span())
            }
            tree::SetExpr::Inspect(statement) => {
                let query = tree::Query {
                    with: None,
                    body: body.clone(),
                    order_by: vec![],
                    limit: None,
                    offset: None,
                    locks: vec![],
                    span: statement.span,
                };
                (tree::TableKind::Query { lateral: false, query: Box::new(query) }, statement.span)
            }
            tree::SetExpr::Query(_)
            | tree::SetExpr::Values(_)
            | tree::SetExpr::Set(..)
            | tree::SetExpr::Pivot(_) => return None,
        };
        let table = tree::Table { kind, alias: None, sample: None, pivots: vec![], span };
        Some(self.texts.keep_select(tree::Select {
            distinct: tree::Distinct::Unsaid,
            items: vec![],
            order: tree::ClauseOrder::FromOnly,
            into: None,
            from: vec![tree::TableWithJoins { table, joins: vec![] }],
            condition: None,
            group_by: None,
            having: None,
            windows: vec![],
            qualify: None,
            sample: None,
            span,
        }))
    }

    /// The common table expression a bare table name means, if any; inner ones hide outer ones.
    pub(crate) fn find_cte(&self, name: &str) -> Option<usize> {
        self.ctes.iter().rposition(|c| c.name == name)
    }

    /// Gives the first columns new names; more names than columns are an error.
    pub(crate) fn rename_columns(&self, relation: &mut Relation, names: &[String]) -> Result<()> {
        if names.len() > relation.columns.len() {
            return Err(Error::new(
                SqlState::SyntaxError,
                format!(
                    "{} column names given, but there are {} columns",
                    names.len(),
                    relation.columns.len()
                ),
            ));
        }
        for ((name, _), new) in relation.columns.iter_mut().zip(names) {
            *name = new.as_str().into();
        }
        Ok(())
    }

    /// ORDER BY over a relation's own columns, as after UNION.
    fn ordered_output(&mut self, relation: Relation, order: Ordering<'a>) -> Result<Relation> {
        let order = match order {
            Ordering::List([]) => return Ok(relation),
            Ordering::List(list) => list,
            Ordering::All(item) => {
                let keys =
                    relation.columns.iter().map(|(_, id)| self.sort_key(self.column(*id), item)).collect();
                let plan = LogicalPlan::Sort { input: Box::new(relation.plan), keys, limit: None };
                return Ok(Relation { plan, columns: relation.columns });
            }
        };
        let mut scope = Scope::new(None);
        for (name, id) in &relation.columns {
            scope.entries.push(Entry {
                table: None,
                schema: None,
                name: name.clone(),
                id: *id,
                plain: true,
                hidden: false,
            });
        }
        let scope = Rc::new(scope);
        let mut keys = Vec::with_capacity(order.len());
        for item in order {
            let value = order_value(self.text, item)?;
            let expr = match self.output_position(value, relation.columns.len())? {
                Some(at) => self.column(relation.columns[at].1),
                None => {
                    self.no_constant(value, "ORDER BY")?;
                    ExprBinder::new(self, scope.clone(), Clause::OrderBy).value(value)?
                }
            };
            keys.push(self.sort_key(expr, item));
        }
        let plan = LogicalPlan::Sort { input: Box::new(relation.plan), keys, limit: None };
        Ok(Relation { plan, columns: relation.columns })
    }

    /// `ORDER BY 2`, `GROUP BY 2`: the position, from zero.
    pub(crate) fn output_position(&self, ast: &Ast, columns: usize) -> Result<Option<usize>> {
        let (sign, number) = signed(ast);
        let AstKind::Literal(Literal::Number(text)) = &number.kind else { return Ok(None) };
        match text.parse::<usize>() {
            Ok(at) if sign.is_empty() && (1..=columns).contains(&at) => Ok(Some(at - 1)),
            Ok(at) if i32::try_from(at).is_ok() => {
                let error = Error::new(
                    SqlState::InvalidColumnReference,
                    format!("position {sign}{text} is not in the select list"),
                );
                Err(self.error_at(error, number.span))
            }
            _ => Ok(None),
        }
    }

    /// In ORDER BY and DISTINCT ON a constant that is no position does nothing, and is a mistake.
    pub(crate) fn no_constant(&self, ast: &Ast, clause: &str) -> Result<()> {
        let (_, constant) = signed(ast);
        match &constant.kind {
            AstKind::Literal(
                Literal::Null | Literal::Bool(_) | Literal::Number(_) | Literal::Text(_) | Literal::Bits(_),
            ) => {
                let message = format!("non-integer constant in {clause}");
                Err(self.error_at(Error::new(SqlState::SyntaxError, message), constant.span))
            }
            _ => Ok(()),
        }
    }

    /// NULL columns that no context gave a type are TEXT.
    pub(crate) fn settle_nulls(&mut self, relation: &mut Relation) -> Result<()> {
        for (_, id) in &relation.columns {
            if self.columns.get(*id).ty == Type::Null {
                self.retype(&mut relation.plan, *id, Type::Text, Span::default())?;
                self.untyped.insert(*id);
            }
        }
        Ok(())
    }

    /// Gives a column that is an untyped literal (or NULL) the type `to`, where the literal stands. False if it
    /// turns out to be something else.
    pub(crate) fn retype(
        &mut self,
        plan: &mut LogicalPlan,
        id: ColumnId,
        to: Type,
        span: Span,
    ) -> Result<bool> {
        // A text that something has been computed from, or compared with, remains one.
        if self.columns.get(id).ty != Type::Null && !is_passed_on(plan, id) {
            return Ok(false);
        }
        let done = match plan {
            LogicalPlan::Project { input, expressions } => {
                match expressions.iter_mut().find(|(e, _)| *e == id).map(|(_, expr)| expr) {
                    Some(expr) if expr.as_column() == Some(id) => self.retype(input, id, to, span)?,
                    Some(expr) if expr.as_parameter().is_some() => {
                        expr.ty = to;
                        true
                    }
                    Some(expr) => match expr.as_literal() {
                        Some(value) => {
                            *expr = Expr::literal(self.reread(value, to, span)?, to);
                            true
                        }
                        // What has no type is NULL, however it is written.
                        None if expr.ty == Type::Null && !expr.has_effects() => {
                            *expr = crate::bind::null_of(to);
                            true
                        }
                        None => false,
                    },
                    None => false,
                }
            }
            LogicalPlan::Values { columns, rows } => match columns.iter().position(|c| *c == id) {
                Some(at) => {
                    for row in rows {
                        row[at] = self.reread(&row[at], to, span)?;
                    }
                    true
                }
                None => false,
            },
            LogicalPlan::Union { inputs, columns } => match columns.iter().position(|c| *c == id) {
                Some(at) => {
                    let mut all = true;
                    for (input, ids) in inputs {
                        all &= self.retype(input, ids[at], to, span)?;
                    }
                    all
                }
                None => false,
            },
            LogicalPlan::Filter { input, .. }
            | LogicalPlan::Sort { input, .. }
            | LogicalPlan::Limit { input, .. }
            | LogicalPlan::Window { input, .. }
            | LogicalPlan::Unnest { input, .. }
            | LogicalPlan::Aggregate { input, .. } => self.retype(input, id, to, span)?,
            LogicalPlan::Join { left, right, .. } => {
                self.retype(left, id, to, span)? || self.retype(right, id, to, span)?
            }
            LogicalPlan::Scan { .. } => false,
        };
        if done {
            self.columns.get_mut(id).ty = to;
            for expr in plan.expressions_mut() {
                retype_uses(expr, id, to);
            }
        }
        Ok(done)
    }

    fn reread(&self, value: &Value, to: Type, span: Span) -> Result<Value> {
        types::cast::cast_value(value, Type::Text, to).map_err(|e| place::at(e, self.text, span))
    }

    /// INSERT's query: its columns become the table's, in the table's order, each of its column's type; columns that
    /// are not named get their default.
    pub(crate) fn bind_assigned(
        &mut self,
        query: &'a tree::Query,
        info: &RelationInfo,
        targets: &[usize],
    ) -> Result<Relation> {
        let plain = query.with.is_none()
            && query.order_by.is_empty()
            && query.limit.is_none()
            && query.offset.is_none();
        if let (tree::SetExpr::Values(values), true) = (&query.body, plain) {
            return self.bind_assigned_values(values, info, targets);
        }
        let relation = self.bind_query(query, None)?;
        self.assigned(relation, info, targets)
    }

    /// A relation's columns cast to a table's, as INSERT and COPY assign them.
    pub(crate) fn assigned(
        &mut self,
        relation: Relation,
        info: &RelationInfo,
        targets: &[usize],
    ) -> Result<Relation> {
        let schema = &info.columns;
        if relation.columns.len() > targets.len() || (!self.fewer && relation.columns.len() < targets.len()) {
            let more = if relation.columns.len() > targets.len() { "expressions" } else { "target columns" };
            return Err(Error::new(
                SqlState::SyntaxError,
                format!("INSERT has more {more}: {} for {}", relation.columns.len(), targets.len()),
            ));
        }
        let Relation { mut plan, columns } = relation;
        let defaults = self.defaults(schema.fields(), &info.defaults)?;
        let mut expressions = Vec::with_capacity(schema.len());
        for (at, field) in schema.fields().iter().enumerate() {
            let source =
                targets.iter().position(|t| *t == at).and_then(|from| columns.get(from)).map(|(_, id)| *id);
            let expr = match source {
                None => defaults[at].clone(),
                Some(id) => {
                    if self.untyped.contains(&id)
                        && self.columns.get(id).ty == Type::Text
                        && field.ty != Type::Text
                    {
                        self.retype(&mut plan, id, field.ty, Span::default())?;
                    }
                    let bound = Bound::typed(self.column(id), Span::default());
                    coerce::assign(bound, field.ty, &field.name, self.text)?
                }
            };
            // A column may be assigned to two, so that each gets its own unless it is passed on as it is.
            let id = match expr.as_column() {
                Some(id) if !expressions.iter().any(|(e, _)| *e == id) => id,
                _ => {
                    let nullable = self.nullable(&expr);
                    self.columns.add(field.name.clone(), field.ty, nullable)
                }
            };
            expressions.push((id, expr));
        }
        let columns =
            schema.fields().iter().zip(&expressions).map(|(f, (id, _))| (f.name.as_str().into(), *id));
        let columns = columns.collect();
        let plan = if expressions.iter().all(|(id, e)| e.as_column() == Some(*id)) {
            plan
        } else {
            LogicalPlan::Project { input: Box::new(plan), expressions }
        };
        self.generated(Relation { plan, columns }, info)
    }
}

/// Whether column `id`, from where it is made to the top of `plan`, is a literal that is passed on as it is.
fn is_passed_on(plan: &LogicalPlan, id: ColumnId) -> bool {
    let inside = |e: &Expr| e.as_column() != Some(id) && e.columns().contains(&id);
    if plan.expressions().into_iter().any(inside) {
        return false;
    }
    match plan {
        LogicalPlan::Project { input, expressions } => match expressions.iter().find(|(e, _)| *e == id) {
            Some((_, expr)) => match expr.as_column() {
                Some(own) => own == id && is_passed_on(input, id),
                None => expr.is_given(),
            },
            None => false,
        },
        LogicalPlan::Values { columns, .. } => columns.contains(&id),
        LogicalPlan::Union { inputs, columns } => match columns.iter().position(|c| *c == id) {
            Some(at) => inputs.iter().all(|(input, ids)| is_passed_on(input, ids[at])),
            None => false,
        },
        LogicalPlan::Filter { input, .. }
        | LogicalPlan::Sort { input, .. }
        | LogicalPlan::Limit { input, .. }
        | LogicalPlan::Window { input, .. }
        | LogicalPlan::Unnest { input, .. } => is_passed_on(input, id),
        LogicalPlan::Aggregate { input, groups, aggregates } => {
            let aggregated = aggregates
                .iter()
                .any(|(_, call)| call.argument.iter().chain(&call.filter).any(|e| e.columns().contains(&id)));
            !aggregated && groups.iter().any(|(own, _)| *own == id) && is_passed_on(input, id)
        }
        LogicalPlan::Join { left, right, .. } => {
            let compared = plan.expressions().into_iter().any(|e| e.columns().contains(&id));
            !compared && (is_passed_on(left, id) || is_passed_on(right, id))
        }
        LogicalPlan::Scan { .. } => false,
    }
}

fn retype_uses(expr: &mut Expr, id: ColumnId, to: Type) {
    if let ExprKind::Column(used) = expr.kind
        && used == id
    {
        expr.ty = to;
    }
    for child in expr.children_mut() {
        retype_uses(child, id, to);
    }
}

impl Binder<'_> {
    /// NULLs stand where the text says, or else the session's `default_null_order`.
    pub(crate) fn sort_key(&self, expr: Expr, item: &tree::OrderItem) -> SortKey {
        let descending = item.descending == Some(true);
        let expr = crate::bind::expression::operator::in_order(expr);
        let nulls_first = item.nulls_first.unwrap_or_else(|| self.relations.null_order().first(descending));
        SortKey { expr, descending, nulls_first }
    }
}

/// What stands behind a minus, in brackets or not, and that sign.
fn signed(ast: &Ast) -> (&'static str, &Ast) {
    match strip(ast) {
        Ast { kind: AstKind::Prefix(tree::Operator { kind: OperatorKind::Minus, .. }, operand), .. } => {
            ("-", strip(operand))
        }
        other => ("", other),
    }
}
