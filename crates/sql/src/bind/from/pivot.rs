//! PIVOT and UNPIVOT behind a table: rows to columns, and back.
//!
//! ```text
//! t PIVOT (sum(x) FOR k IN ('a', 'b'))     Aggregate by [the other columns] [sum(x) FILTER (k = 'a'), sum(x) FILTER (k = 'b')]
//! t UNPIVOT (v FOR n IN (a, b))            Filter v IS NOT NULL, Project others, n = CASE i ..., v = CASE i ...
//!                                            Join Cross t, Values (0), (1)
//! ```

use std::collections::HashSet;
use std::rc::Rc;

use plan::{AggregateCall, ColumnId, Expr, ExprKind, JoinKind, LogicalPlan};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, PivotValues, TablePivotKind};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use crate::bind::decorrelate::joined;
use crate::bind::expression::coerce::{self, Bound};
use crate::bind::expression::{Clause, ExprBinder, operator, strip};
use crate::bind::from::Source;
use crate::bind::function::aggregate::Aggregates;
use crate::bind::query::heading::heading;
use crate::bind::query::select::filtered;
use crate::bind::refusal::unsupported;
use crate::bind::scope::{Entry, Scope};
use crate::bind::{Binder, Relation, folded, place_of};

/// Columns that one PIVOT may make, and that one UNPIVOT may take.
const COLUMNS_MAX: usize = 1600;

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn too_many() -> Error {
    Error::new(SqlState::StatementTooComplex, format!("more than {COLUMNS_MAX} columns"))
}

impl<'a> Binder<'a> {
    /// PIVOT or UNPIVOT behind a source.
    pub(crate) fn table_pivot(&mut self, source: Source, pivot: &'a tree::TablePivot) -> Result<Relation> {
        let Source { plan, entries, lateral: _ } = source;
        match &pivot.kind {
            TablePivotKind::Pivot { aggregates, columns, group_by } => {
                let [column] = columns.as_slice() else {
                    return Err(unsupported("PIVOT over several columns", self.text, pivot.span));
                };
                if let Some(first) = group_by.first() {
                    return Err(unsupported("GROUP BY in PIVOT", self.text, first.span));
                }
                self.bind_pivot(plan, entries, aggregates, column, pivot.span)
            }
            TablePivotKind::Unpivot(unpivot) => self.bind_unpivot(plan, entries, unpivot),
        }
    }

    /// `PIVOT (functions FOR by IN (values))` over a plan.
    fn bind_pivot(
        &mut self,
        plan: LogicalPlan,
        entries: Vec<Entry>,
        functions: &'a [tree::SelectItem],
        tree::PivotColumn { value: by, among }: &'a tree::PivotColumn,
        span: Span,
    ) -> Result<Relation> {
        let by = match &by.kind {
            AstKind::Row { row: false, elements } => elements,
            AstKind::Nested(inner) => std::slice::from_ref(&**inner),
            _ => std::slice::from_ref(by),
        };
        let values = match among {
            Some(PivotValues::List(values)) => Some(values),
            Some(PivotValues::Query(_)) => None,
            Some(PivotValues::Type(name)) => {
                return Err(unsupported("PIVOT over the values of a type", self.text, name.span()));
            }
            None => return Err(unsupported("PIVOT without values", self.text, span)),
        };
        let ([by], Some(values)) = (by, values) else {
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
            let bound = binder.bind(&function.value)?;
            let known = binder.aggregates.as_ref().map_or(&[][..], |a| &a.calls);
            let call = known.iter().find(|(id, _)| bound.expr.as_column() == Some(*id));
            let Some((_, call)) = call else {
                let error = Error::new(SqlState::GroupingError, "PIVOT takes aggregate calls before FOR");
                return Err(binder.binder.error_at(error, bound.span));
            };
            let suffix = match &function.alias {
                Some(alias) => format!("_{}", folded(alias)),
                None if functions.len() > 1 => format!("_{}", function.value).to_lowercase(),
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
        let mut known: Vec<Value> = Vec::with_capacity(values.len());
        for value in values {
            let mut binder = ExprBinder::new(self, Rc::new(Scope::default()), Clause::Values);
            let bound = binder.bind(&value.value)?;
            let Some(constant) = bound.expr.as_literal().cloned() else {
                let error = Error::unsupported("the values of PIVOT must be constants");
                return Err(self.error_at(error, bound.span));
            };
            if known.contains(&constant) {
                let message = format!("the value {} stands twice in PIVOT", constant.display(bound.ty()));
                return Err(self.error_at(Error::new(SqlState::SyntaxError, message), bound.span));
            }
            known.push(constant.clone());
            let name = match &value.alias {
                Some(alias) => folded(alias),
                None => constant.display(bound.ty()),
            };
            let is_value = is_constant(&key, &constant, bound, self.text)?;
            for (suffix, call) in &calls {
                let mut call = call.clone();
                let conditions = call.filter.take().into_iter().chain([is_value.clone()]).collect();
                call.filter = Some(Expr::and(conditions));
                let counts = call.function.counts();
                let name = format!("{name}{suffix}");
                let id = self.columns.add(name.as_str(), call.ty, !counts);
                columns.push((name.as_str().into(), id));
                aggregates.push((id, call));
            }
        }
        Ok(Relation { plan: LogicalPlan::Aggregate { input: Box::new(plan), groups, aggregates }, columns })
    }

    /// `UNPIVOT (value FOR name IN (columns))` over a plan.
    fn bind_unpivot(
        &mut self,
        plan: LogicalPlan,
        entries: Vec<Entry>,
        unpivot: &'a tree::Unpivot,
    ) -> Result<Relation> {
        let tree::Unpivot { include_nulls, values: values_named, name, columns: taken } = unpivot;
        if taken.len() > COLUMNS_MAX {
            return Err(too_many());
        }
        let mut scope = Scope::new(None);
        scope.entries.clone_from(&entries);
        let mut binder = ExprBinder::new(self, Rc::new(scope), Clause::Select);
        let mut bound: Vec<(String, Vec<Bound>)> = Vec::with_capacity(taken.len());
        for column in taken {
            let one = strip(&column.value);
            let parts: &[Ast] = match &one.kind {
                AstKind::Row { row: false, elements } => elements,
                _ => std::slice::from_ref(one),
            };
            if parts.len() != values_named.len() {
                let message = format!(
                    "UNPIVOT has {} before FOR, and {} for it in IN",
                    counted(values_named.len(), "name"),
                    counted(parts.len(), "column")
                );
                let error = Error::new(SqlState::SyntaxError, message)
                    .with_hint("write (a, b) FOR name IN ((c, d), (e, f)), as many columns in each as names");
                return Err(binder.binder.error_at(error, place_of(&column.value)));
            }
            let names = || parts.iter().map(heading).collect::<Vec<String>>().join("_");
            let name = column.alias.as_ref().map_or_else(names, folded);
            let parts: Result<Vec<Bound>> = parts.iter().map(|part| binder.bind(part)).collect();
            bound.push((name, parts?));
        }
        if !binder.pending.is_empty() {
            return Err(Error::unsupported("a subquery inside UNPIVOT is not supported"));
        }
        let mut types = vec![Type::Null; values_named.len()];
        for (name, columns) in &bound {
            for (column, ty) in columns.iter().zip(&mut types) {
                let Some(common) = coerce::common_type(*ty, column.ty()) else {
                    let message =
                        format!("UNPIVOT column \"{name}\" of type {} does not go with {ty}", column.ty());
                    let error = Error::new(SqlState::DatatypeMismatch, message)
                        .with_hint("cast the columns to one type");
                    return Err(self.error_at(error, column.span));
                };
                *ty = common;
            }
        }
        let all = bound.iter().flat_map(|(_, columns)| columns);
        let used: HashSet<ColumnId> = all.flat_map(|b| b.expr.columns()).collect();
        let number = self.columns.add("column", Type::Integer, false);
        let rows = (0..bound.len()).map(|at| vec![Value::I32(at as i32)]).collect();
        let numbers = LogicalPlan::Values { columns: vec![number], rows };
        let plan = joined(plan, numbers, vec![], JoinKind::Inner);
        let is = |binder: &Self, at: usize| {
            let at = Expr::literal(Value::I32(at as i32), Type::Integer);
            Expr::compare(Comparison::Equal, binder.column(number), at)
        };
        let mut names = Vec::new();
        let mut values: Vec<Vec<(Expr, Expr)>> = vec![vec![]; types.len()];
        for (at, (name, columns)) in bound.into_iter().enumerate() {
            names.push((is(self, at), Expr::literal(Value::text(&name), Type::Text)));
            for ((column, ty), values) in columns.into_iter().zip(&types).zip(&mut values) {
                values.push((is(self, at), coerce::cast(column.expr, *ty)));
            }
        }
        let case = |branches, ty| Expr::new(ExprKind::Case { branches, otherwise: None }, ty);
        let name = folded(name);
        let name_id = self.columns.add(name.as_str(), Type::Text, false);
        let mut columns: Vec<(Rc<str>, ColumnId)> = Vec::new();
        let mut expressions: Vec<(ColumnId, Expr)> = Vec::new();
        for entry in entries.iter().filter(|e| e.plain && !used.contains(&e.id)) {
            columns.push((entry.name.clone(), entry.id));
            if !expressions.iter().any(|(id, _)| *id == entry.id) {
                expressions.push((entry.id, self.column(entry.id)));
            }
        }
        columns.push((name.as_str().into(), name_id));
        expressions.push((name_id, case(names, Type::Text)));
        let mut there = Vec::with_capacity(types.len());
        for ((value, ty), branches) in values_named.iter().zip(&types).zip(values) {
            let value = folded(value);
            let id = self.columns.add(value.as_str(), *ty, true);
            columns.push((value.as_str().into(), id));
            expressions.push((id, case(branches, *ty)));
            let input = Box::new(self.column(id));
            there.push(Expr::new(ExprKind::IsNull { input, negated: true }, Type::Boolean));
        }
        let mut plan = LogicalPlan::Project { input: Box::new(plan), expressions };
        if *include_nulls != Some(true) {
            // A row stays where one of its values is there.
            plan = filtered(plan, vec![Expr::or(there)]);
        }
        Ok(Relation { plan, columns })
    }
}

/// Whether the key has the value, which may be NULL.
fn is_constant(key: &Bound, constant: &Value, value: Bound, text: &str) -> Result<Expr> {
    if constant.is_null() {
        let input = Box::new(key.expr.clone());
        return Ok(Expr::new(ExprKind::IsNull { input, negated: false }, Type::Boolean));
    }
    operator::comparison(Comparison::Equal, key.clone(), value, text)
}
