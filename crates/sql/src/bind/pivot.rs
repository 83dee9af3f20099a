//! PIVOT and UNPIVOT behind a table: rows to columns, and back.
//!
//! ```text
//! t PIVOT (sum(x) FOR k IN ('a', 'b'))     Aggregate by [the other columns] [sum(x) FILTER (k = 'a'), sum(x) FILTER (k = 'b')]
//! t UNPIVOT (v FOR n IN (a, b))            Filter v IS NOT NULL, Project others, n = CASE i ..., v = CASE i ...
//!                                            Join Cross t, Values (0), (1)
//! ```

use std::collections::HashSet;
use std::rc::Rc;

use plan::{AggregateCall, AggregateFunction, ColumnId, Expr, ExprKind, JoinKind, LogicalPlan};
use sqlparser::ast::{Expr as Ast, ExprWithAlias, Ident, NullInclusion, PivotValueSource};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use super::aggregate::Aggregates;
use super::coerce::{self, Bound};
use super::decorrelate::joined;
use super::expression::{Clause, ExprBinder, strip};
use super::heading::heading;
use super::scope::{Entry, Scope};
use super::select::filtered;
use super::{Binder, Relation, folded, operator};

/// Columns that one PIVOT may make, and that one UNPIVOT may take.
const COLUMNS_MAX: usize = 1600;

fn too_many() -> Error {
    Error::new(SqlState::StatementTooComplex, format!("more than {COLUMNS_MAX} columns"))
}

impl<'a> Binder<'a> {
    pub(super) fn bind_pivot(
        &mut self,
        plan: LogicalPlan,
        entries: Vec<Entry>,
        functions: &'a [ExprWithAlias],
        by: &'a [Ast],
        values: &'a PivotValueSource,
    ) -> Result<Relation> {
        let ([by], PivotValueSource::List(values)) = (by, values) else {
            return Err(Error::unsupported("PIVOT takes one expression behind FOR and a list of constants")
                .with_hint("write PIVOT (sum(x) FOR k IN ('a', 'b'))"));
        };
        if functions.len().saturating_mul(values.len()) > COLUMNS_MAX {
            return Err(too_many());
        }
        let mut scope = Scope::new(None);
        scope.entries.clone_from(&entries);
        let mut binder = ExprBinder::new(self, Rc::new(scope), Clause::Select);
        let key = binder.bind(by)?;
        binder.aggregates = Some(Aggregates::default());
        let mut calls: Vec<(String, AggregateCall)> = Vec::with_capacity(functions.len());
        for function in functions {
            let bound = binder.bind(&function.expr)?;
            let known = binder.aggregates.as_ref().map_or(&[][..], |a| &a.calls);
            let call = known.iter().find(|(id, _)| bound.expr.as_column() == Some(*id));
            let Some((_, call)) = call else {
                let error = Error::new(SqlState::GroupingError, "PIVOT takes aggregate calls before FOR");
                return Err(binder.binder.error_at(error, bound.span));
            };
            let suffix = match &function.alias {
                Some(alias) => format!("_{}", folded(alias)),
                None if functions.len() > 1 => format!("_{}", function.expr).to_lowercase(),
                None => String::new(),
            };
            calls.push((suffix, call.clone()));
        }
        let subqueries =
            !binder.pending.is_empty() || binder.aggregates.as_ref().is_some_and(|a| !a.below.is_empty());
        if subqueries {
            return Err(Error::unsupported("a subquery inside PIVOT is not supported"));
        }
        let mut used: HashSet<ColumnId> = key.expr.columns().into_iter().collect();
        for (_, call) in &calls {
            used.extend(call.argument.iter().chain(&call.filter).flat_map(Expr::columns));
        }
        let mut columns: Vec<(Rc<str>, ColumnId)> = Vec::new();
        let mut groups: Vec<(ColumnId, Expr)> = Vec::new();
        for entry in entries.iter().filter(|e| e.plain && !used.contains(&e.id)) {
            columns.push((entry.name.clone(), entry.id));
            if !groups.iter().any(|(id, _)| *id == entry.id) {
                groups.push((entry.id, self.column(entry.id)));
            }
        }
        let mut aggregates = Vec::with_capacity(values.len() * calls.len());
        for value in values {
            let mut binder = ExprBinder::new(self, Rc::new(Scope::default()), Clause::Values);
            let bound = binder.bind(&value.expr)?;
            let Some(constant) = bound.expr.as_literal().cloned() else {
                let error = Error::unsupported("the values of PIVOT must be constants");
                return Err(self.error_at(error, bound.span));
            };
            let name = match &value.alias {
                Some(alias) => folded(alias),
                None => constant.display(bound.ty()),
            };
            let is_value = if constant.is_null() {
                let input = Box::new(key.expr.clone());
                Expr::new(ExprKind::IsNull { input, negated: false }, Type::Boolean)
            } else {
                operator::comparison(Comparison::Equal, key.clone(), bound, self.text)?
            };
            for (suffix, call) in &calls {
                let mut call = call.clone();
                let conditions = call.filter.take().into_iter().chain([is_value.clone()]).collect();
                call.filter = Some(Expr::and(conditions));
                let counts = matches!(call.function, AggregateFunction::Count | AggregateFunction::CountStar);
                let name = format!("{name}{suffix}");
                let id = self.columns.add(name.as_str(), call.ty, !counts);
                columns.push((name.as_str().into(), id));
                aggregates.push((id, call));
            }
        }
        Ok(Relation { plan: LogicalPlan::Aggregate { input: Box::new(plan), groups, aggregates }, columns })
    }

    pub(super) fn bind_unpivot(
        &mut self,
        plan: LogicalPlan,
        entries: Vec<Entry>,
        (value, name): (&'a Ast, &'a Ident),
        taken: &'a [ExprWithAlias],
        nulls: Option<&NullInclusion>,
    ) -> Result<Relation> {
        let Ast::Identifier(value) = strip(value) else {
            return Err(Error::new(SqlState::SyntaxError, "UNPIVOT takes a name before FOR"));
        };
        if taken.len() > COLUMNS_MAX {
            return Err(too_many());
        }
        let mut scope = Scope::new(None);
        scope.entries.clone_from(&entries);
        let mut binder = ExprBinder::new(self, Rc::new(scope), Clause::Select);
        let mut bound: Vec<(String, Bound)> = Vec::with_capacity(taken.len());
        for column in taken {
            let name = column.alias.as_ref().map_or_else(|| heading(&column.expr), folded);
            bound.push((name, binder.bind(&column.expr)?));
        }
        if !binder.pending.is_empty() {
            return Err(Error::unsupported("a subquery inside UNPIVOT is not supported"));
        }
        let mut ty = Type::Null;
        for (name, column) in &bound {
            let Some(common) = coerce::common_type(ty, column.ty()) else {
                let message =
                    format!("UNPIVOT column \"{name}\" of type {} does not go with {ty}", column.ty());
                let error =
                    Error::new(SqlState::DatatypeMismatch, message).with_hint("cast the columns to one type");
                return Err(self.error_at(error, column.span));
            };
            ty = common;
        }
        let used: HashSet<ColumnId> = bound.iter().flat_map(|(_, b)| b.expr.columns()).collect();
        let number = self.columns.add("column", Type::Integer, false);
        let rows = (0..bound.len()).map(|at| vec![Value::I32(at as i32)]).collect();
        let numbers = LogicalPlan::Values { columns: vec![number], rows };
        let plan = joined(plan, numbers, vec![], JoinKind::Inner);
        let is = |binder: &Self, at: usize| {
            let at = Expr::literal(Value::I32(at as i32), Type::Integer);
            Expr::compare(Comparison::Equal, binder.column(number), at)
        };
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (at, (name, column)) in bound.into_iter().enumerate() {
            names.push((is(self, at), Expr::literal(Value::text(&name), Type::Text)));
            values.push((is(self, at), coerce::cast(column.expr, ty)));
        }
        let case = |branches, ty| Expr::new(ExprKind::Case { branches, otherwise: None }, ty);
        let (name, value) = (folded(name), folded(value));
        let name_id = self.columns.add(name.as_str(), Type::Text, false);
        let value_id = self.columns.add(value.as_str(), ty, true);
        let mut columns: Vec<(Rc<str>, ColumnId)> = Vec::new();
        let mut expressions: Vec<(ColumnId, Expr)> = Vec::new();
        for entry in entries.iter().filter(|e| e.plain && !used.contains(&e.id)) {
            columns.push((entry.name.clone(), entry.id));
            if !expressions.iter().any(|(id, _)| *id == entry.id) {
                expressions.push((entry.id, self.column(entry.id)));
            }
        }
        columns.extend([(name.as_str().into(), name_id), (value.as_str().into(), value_id)]);
        expressions.extend([(name_id, case(names, Type::Text)), (value_id, case(values, ty))]);
        let mut plan = LogicalPlan::Project { input: Box::new(plan), expressions };
        if !matches!(nulls, Some(NullInclusion::IncludeNulls)) {
            let input = Box::new(self.column(value_id));
            let there = Expr::new(ExprKind::IsNull { input, negated: true }, Type::Boolean);
            plan = filtered(plan, vec![there]);
        }
        Ok(Relation { plan, columns })
    }
}
