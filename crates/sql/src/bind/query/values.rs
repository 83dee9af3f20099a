//! VALUES: constant rows where they are constant, a union of one-row projections where they are not.
//!
//! A column has the common type of its values in a query, and the table's type in INSERT, where each value is
//! assigned on its own so that errors name the column. Consecutive constant rows become one node of literals; rows
//! with subqueries or other expressions are projections. Called by `bind::query` and `set_operation`.

use std::rc::Rc;

use plan::{ColumnId, Expr, LogicalPlan};
use syntax::Span;
use syntax::tree::{Expr as Ast, ExprKind as AstKind};
use types::stop::{Pace, Place};
use types::{Error, Result, SqlState, Type, Value};

use crate::RelationInfo;
use crate::bind::decorrelate::subquery::Pending;
use crate::bind::expression::coerce::{self, Bound};
use crate::bind::expression::{Clause, ExprBinder, strip};
use crate::bind::scope::Scope;
use crate::bind::{Binder, Relation, single_row};

type Row = Vec<Expr>;

/// What a constant costs to become a value of a node, as `Pace` counts.
const SPENT_ON_VALUE: usize = 32;

impl<'a> Binder<'a> {
    /// VALUES as a relation of its own: columns `column1`, `column2` and so on, each of its rows' common type.
    pub(crate) fn bind_values(&mut self, rows: &'a [Vec<Ast>], outer: Option<Rc<Scope>>) -> Result<Relation> {
        let scope = Rc::new(Scope::new(outer));
        let width = rows.first().map_or(0, Vec::len);
        let mut columns: Vec<Vec<Bound>> = (0..width).map(|_| Vec::with_capacity(rows.len())).collect();
        let mut pending = Vec::new();
        for row in rows {
            if row.len() != width {
                let error = Error::new(SqlState::SyntaxError, "VALUES lists must all be the same length");
                return Err(self.error_at(error, place_of(self.text, row)));
            }
            let mut binder = ExprBinder::new(self, scope.clone(), Clause::Values);
            for (ast, column) in row.iter().zip(&mut columns) {
                let bound = binder.bind(ast)?;
                crate::bind::check_depth(&bound.expr)?;
                column.push(bound);
            }
            pending.push(std::mem::take(&mut binder.pending));
        }
        let mut made: Vec<Row> = rows.iter().map(|_| Vec::with_capacity(width)).collect();
        let mut output = Vec::with_capacity(width);
        for (at, column) in columns.into_iter().enumerate() {
            let untyped = column.iter().all(|b| b.untyped || b.is_null());
            let (exprs, ty) = coerce::unify(column, "VALUES", self.text)?;
            let nullable = exprs.iter().any(|e| self.nullable(e));
            let name = format!("column{}", at + 1);
            let id = self.columns.add(name.clone(), ty, nullable);
            if untyped {
                self.untyped.insert(id);
            }
            output.push((Rc::from(name.as_str()), id));
            made.iter_mut().zip(exprs).for_each(|(row, e)| row.push(e));
        }
        let ids: Vec<ColumnId> = output.iter().map(|(_, id)| *id).collect();
        let plan = self.rows_plan(made, pending, ids)?;
        Ok(Relation { plan, columns: output })
    }

    /// INSERT's VALUES: every value is assigned to its column, so that a fault names the value and the column.
    pub(crate) fn bind_assigned_values(
        &mut self,
        rows: &'a [Vec<Ast>],
        info: &RelationInfo,
        targets: &[usize],
    ) -> Result<Relation> {
        let scope = Rc::new(Scope::default());
        let fields = info.columns.fields();
        let defaults = self.defaults(fields, &info.defaults)?;
        // A default that is computed for each row is so above all rows, unless some are given a value.
        let late = |at: usize| !targets.contains(&at) && defaults[at].as_literal().is_none();
        let late: Vec<usize> = (0..fields.len()).filter(|at| late(*at)).collect();
        let mut made = Vec::with_capacity(rows.len());
        let mut pending = Vec::with_capacity(rows.len());
        let mut nullable = vec![false; fields.len()];
        for given in rows {
            if given.len() != targets.len() {
                let more = if given.len() > targets.len() { "expressions" } else { "target columns" };
                let error = Error::new(
                    SqlState::SyntaxError,
                    format!("INSERT has more {more}: {} for {}", given.len(), targets.len()),
                );
                return Err(self.error_at(error, place_of(self.text, given)));
            }
            let mut binder = ExprBinder::new(self, scope.clone(), Clause::Values);
            let mut out: Row = defaults.clone();
            for (ast, target) in given.iter().zip(targets) {
                let field = &fields[*target];
                if is_default(ast) {
                    continue;
                }
                let bound = binder.bind(ast)?;
                crate::bind::check_depth(&bound.expr)?;
                out[*target] = coerce::assign(bound, field.ty, &field.name, binder.binder.text)?;
            }
            let found = std::mem::take(&mut binder.pending);
            pending.push(found);
            for (flag, expr) in nullable.iter_mut().zip(&out) {
                *flag = *flag || self.nullable(expr);
            }
            let early = out.into_iter().enumerate().filter(|(at, _)| !late.contains(at));
            made.push(early.map(|(_, expr)| expr).collect());
        }
        let ids: Vec<ColumnId> = fields
            .iter()
            .zip(nullable)
            .map(|(f, nullable)| self.columns.add(f.name.clone(), f.ty, nullable))
            .collect();
        let early = ids.iter().enumerate().filter(|(at, _)| !late.contains(at)).map(|(_, id)| *id);
        let mut plan = self.rows_plan(made, pending, early.collect())?;
        if !late.is_empty() {
            let computed = late.iter().map(|at| (ids[*at], defaults[*at].clone())).collect();
            plan = self.beside(plan, computed);
        }
        let columns = fields.iter().zip(ids).map(|(f, id)| (f.name.as_str().into(), id)).collect();
        self.generated(Relation { plan, columns }, info)
    }

    fn rows_plan(
        &mut self,
        rows: Vec<Row>,
        pending: Vec<Vec<Pending>>,
        ids: Vec<ColumnId>,
    ) -> Result<LogicalPlan> {
        let mut constants: Vec<Vec<Value>> = Vec::with_capacity(rows.len());
        let mut inputs: Vec<(LogicalPlan, Vec<ColumnId>)> = Vec::new();
        let several = rows.len();
        let mut pace = Pace::new(Place::Bind);
        for (row, pending) in rows.into_iter().zip(pending) {
            if several > 1 {
                pace.spend(SPENT_ON_VALUE * row.len())?;
            }
            if let Some(values) = row.iter().map(|e| e.as_literal().cloned()).collect::<Option<Vec<_>>>() {
                constants.push(values);
                continue;
            }
            // Rows keep their order.
            self.flush(&mut constants, &mut inputs, &ids);
            let (input, found) = self.attach(single_row(), pending)?;
            let expressions: Vec<(ColumnId, Expr)> = row
                .into_iter()
                .zip(&ids)
                .map(|(expr, id)| {
                    let expr = crate::bind::decorrelate::replace(expr, &found);
                    let info = self.columns.get(*id).clone();
                    let own =
                        if several == 1 { *id } else { self.columns.add(info.name, info.ty, info.nullable) };
                    (own, expr)
                })
                .collect();
            let own = expressions.iter().map(|(id, _)| *id).collect();
            inputs.push((LogicalPlan::Project { input: Box::new(input), expressions }, own));
        }
        if inputs.is_empty() {
            return Ok(LogicalPlan::Values { columns: ids, rows: constants });
        }
        self.flush(&mut constants, &mut inputs, &ids);
        if inputs.len() == 1
            && let Some((plan, own)) = inputs.pop()
        {
            if own == ids {
                return Ok(plan);
            }
            inputs.push((plan, own));
        }
        Ok(LogicalPlan::Union { inputs, columns: ids })
    }

    fn flush(
        &mut self,
        constants: &mut Vec<Vec<Value>>,
        inputs: &mut Vec<(LogicalPlan, Vec<ColumnId>)>,
        ids: &[ColumnId],
    ) {
        if constants.is_empty() {
            return;
        }
        let own: Vec<ColumnId> = ids
            .iter()
            .map(|id| {
                let info = self.columns.get(*id).clone();
                self.columns.add(info.name, info.ty, info.nullable)
            })
            .collect();
        let plan = LogicalPlan::Values { columns: own.clone(), rows: std::mem::take(constants) };
        inputs.push((plan, own));
    }

    /// A relation of literals, for plans that bring their own.
    pub(crate) fn literal_rows(
        &mut self,
        names: &[&str],
        ty: Type,
        rows: Vec<Vec<Value>>,
    ) -> (LogicalPlan, Vec<ColumnId>) {
        let ids: Vec<ColumnId> = names.iter().map(|n| self.columns.add(*n, ty, false)).collect();
        (LogicalPlan::Values { columns: ids.clone(), rows }, ids)
    }
}

/// The keyword DEFAULT.
pub(crate) fn is_default(ast: &Ast) -> bool {
    matches!(strip(ast).kind, AstKind::Default)
}

/// Where errors about a row of VALUES point at.
fn place_of(text: &str, row: &[Ast]) -> Span {
    row.first().map(|first| opening(text, first.span)).unwrap_or_default()
}

/// The bracket before what stands first in it; without one, what stands there.
pub(crate) fn opening(text: &str, first: Span) -> Span {
    let before = text.as_bytes().get(..first.start as usize).unwrap_or_default().trim_ascii_end();
    match before.last() {
        Some(b'(') => Span::new(before.len() as u32 - 1, before.len() as u32),
        _ => first,
    }
}
