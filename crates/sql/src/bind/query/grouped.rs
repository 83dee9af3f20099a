//! Expressions over grouped rows: groups and calls by their columns, and nothing else of the input.

use std::collections::HashMap;
use std::rc::Rc;

use plan::{AggregateCall, AggregateFunction, ColumnId, Expr, ExprKind};
use types::{Error, Result, SqlState};

use crate::bind::Binder;
use crate::bind::function::aggregate::Aggregates;

/// What is known above an aggregation: group expressions by their columns, and the calls.
pub(crate) struct Grouping {
    /// The distinct group expressions, each with the column that holds it above the aggregation.
    pub groups: Vec<(ColumnId, Expr)>,
    by_expression: Vec<(Expr, ColumnId)>,
    /// Columns of the input that are neither grouped nor aggregated, and may not be seen above, by their names there.
    hidden: HashMap<ColumnId, Rc<str>>,
}

impl Grouping {
    /// The group expressions under the columns they become; `input` are the columns of the FROM clause.
    pub fn new(expressions: Vec<(ColumnId, Expr)>, input: impl Iterator<Item = (ColumnId, Rc<str>)>) -> Self {
        let mut groups: Vec<(ColumnId, Expr)> = Vec::new();
        let mut by_expression: Vec<(Expr, ColumnId)> = Vec::new();
        for (id, expr) in expressions {
            if by_expression.iter().any(|(e, _)| *e == expr) {
                continue;
            }
            by_expression.push((expr.clone(), id));
            groups.push((id, expr));
        }
        let mut hidden: HashMap<ColumnId, Rc<str>> = input.collect();
        for (id, _) in &groups {
            hidden.remove(id);
        }
        Grouping { groups, by_expression, hidden }
    }

    /// The keys of several grouping sets: columns of their own, what stands for them, and what computes them; and the
    /// number of the set.
    pub fn of_sets(
        keyed: Vec<(ColumnId, Expr, Expr)>,
        set: (ColumnId, Expr),
        input: impl Iterator<Item = (ColumnId, Rc<str>)>,
    ) -> Self {
        let by_expression = keyed.iter().map(|(id, key, _)| (key.clone(), *id)).collect();
        let mut groups: Vec<(ColumnId, Expr)> = keyed.into_iter().map(|(id, _, expr)| (id, expr)).collect();
        groups.push(set);
        Grouping { groups, by_expression, hidden: input.collect() }
    }

    /// An expression over the input as one over groups: group expressions become their columns. A column that is left
    /// over must depend on the groups, or it is an error.
    pub fn rewrite(&self, binder: &Binder<'_>, calls: &mut Aggregates<'_>, expr: Expr) -> Result<Expr> {
        if let Some((_, id)) = self.by_expression.iter().find(|(e, _)| e.is_like(&expr)) {
            return Ok(Expr::column(*id, expr.ty));
        }
        if let ExprKind::Column(id) = expr.kind {
            self.admit(binder, calls, id)?;
            return Ok(expr);
        }
        let mut expr = expr;
        for child in expr.children_mut() {
            let taken = std::mem::replace(child, Expr::boolean(false));
            *child = self.rewrite(binder, calls, taken)?;
        }
        Ok(expr)
    }

    /// Checks that a column may be used above the aggregation, and makes it available there.
    pub fn admit(&self, binder: &Binder<'_>, calls: &mut Aggregates<'_>, id: ColumnId) -> Result<()> {
        let Some(name) = self.hidden.get(&id).filter(|_| !calls.calls.iter().any(|(c, _)| *c == id)) else {
            return Ok(());
        };
        let grouped = |c: &ColumnId| self.groups.iter().any(|(g, _)| g == c);
        if binder.keys.iter().any(|k| k.row.contains(&id) && k.columns.iter().all(grouped)) {
            let argument = binder.column(id);
            let ty = argument.ty;
            let call = AggregateCall {
                function: AggregateFunction::AnyValue,
                argument: Some(argument),
                distinct: false,
                filter: None,
                ty,
            };
            calls.calls.push((id, call));
            return Ok(());
        }
        Err(Error::new(
            SqlState::GroupingError,
            format!(
                "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function"
            ),
        )
        .with_hint("group by it (GROUP BY ALL does), or take any_value of it"))
    }
}
