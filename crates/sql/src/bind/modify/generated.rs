//! Generated columns: GENERATED ALWAYS AS (expression) over the row's other columns.
//!
//! The expression is kept as text and bound anew by every statement that makes or changes rows, which computes the
//! column above the row's other values. STORED and VIRTUAL are the same here: the expression is immutable, so that a
//! value which is kept and one which is computed when it is read cannot differ.

use std::rc::Rc;

use plan::{ColumnId, Expr, LogicalPlan};
use syntax::Span;
use types::{Error, Field, Result, SqlState};

use crate::RelationInfo;
use crate::bind::expression::{Clause, ExprBinder, coerce};
use crate::bind::scope::{Entry, Scope};
use crate::bind::{Binder, Relation};

impl<'a> Binder<'a> {
    /// The rows of a relation that has all columns of a table, with the generated ones computed.
    pub(crate) fn generated(&mut self, relation: Relation, info: &RelationInfo) -> Result<Relation> {
        let Relation { plan, mut columns } = relation;
        let mut values: Vec<ColumnId> = columns.iter().map(|(_, id)| *id).collect();
        let plan = self.generated_values(plan, info, &mut values)?;
        columns.iter_mut().zip(values).for_each(|((_, id), value)| *id = value);
        Ok(Relation { plan, columns })
    }

    /// The same for a plan in which `values` are the table's columns; those of generated columns are replaced.
    pub(crate) fn generated_values(
        &mut self,
        mut plan: LogicalPlan,
        info: &RelationInfo,
        values: &mut [ColumnId],
    ) -> Result<LogicalPlan> {
        let texts = info.generated.iter().enumerate();
        // In the table's order: one may be computed from another before it.
        for (at, text) in texts.filter_map(|(at, text)| Some((at, text.as_deref()?))) {
            let field = &info.columns.fields()[at];
            let scope = scope_of(&info.name, info.columns.fields(), values);
            let expr = self.generated_value(scope, field, text, Span::default())?;
            values[at] = self.new_value(info, at, &expr);
            plan = self.beside(plan, vec![(values[at], expr)]);
        }
        Ok(plan)
    }

    /// The expression of a generated column. A field of type NULL takes the expression's type.
    fn generated_value(&mut self, scope: Scope, field: &Field, text: &str, span: Span) -> Result<Expr> {
        // Parameters and subqueries are those of the statement that changes the table.
        let (values, subqueries) = (std::mem::take(&mut self.values), self.subqueries.len());
        let around = self.relations.search_in(vec![]);
        let mut binder = ExprBinder::new(self, Rc::new(scope), Clause::Generated);
        let what = format!("the expression of generated column \"{}\"", field.name);
        let bound = binder.bind_inside(what, format!("SELECT {text}"), span);
        let pending = !binder.pending.is_empty();
        self.relations.search_in(around);
        self.values = values;
        let bound = bound?;
        if pending || self.subqueries.len() > subqueries {
            let error = Error::unsupported("cannot use subquery in column generation expression");
            return Err(self.error_at(error, span));
        }
        crate::bind::check_depth(&bound.expr)?;
        let to = if field.ty == types::Type::Null { bound.expr.ty } else { field.ty };
        let expr = coerce::assign(bound, to, &field.name, self.text)?;
        Ok(crate::bind::expression::fold::fold(expr))
    }

    /// Checks the expression of the column `at` of a table that is to be made, over `ColumnId(i)` for the i-th
    /// column. The binder must be a fresh one, so that ids count from 0.
    pub(crate) fn check_generated(
        &mut self,
        table: &str,
        columns: &[Field],
        at: usize,
        text: &str,
        span: Span,
    ) -> Result<Expr> {
        let ids: Vec<ColumnId> =
            columns.iter().map(|field| self.columns.add(&field.name, field.ty, field.nullable)).collect();
        let expr = self.generated_value(scope_of(table, columns, &ids), &columns[at], text, span)?;
        if expr.is_volatile() || self.moment.is_some() {
            let error =
                Error::new(SqlState::InvalidObjectDefinition, "generation expression is not immutable");
            return Err(self.error_at(error, span));
        }
        Ok(expr)
    }
}

fn scope_of(table: &str, columns: &[Field], ids: &[ColumnId]) -> Scope {
    let table: Rc<str> = table.into();
    let entries = columns
        .iter()
        .zip(ids)
        .map(|(field, id)| Entry {
            table: Some(table.clone()),
            schema: None,
            name: field.name.as_str().into(),
            id: *id,
            plain: true,
            hidden: false,
        })
        .collect();
    Scope { entries, ..Scope::default() }
}
