//! ALTER COLUMN TYPE as a query: a table's rows, some columns cast or computed anew.

use std::rc::Rc;

use plan::{ColumnId, Expr, LogicalPlan, LogicalQuery};
use syntax::Span;
use syntax::tree::Expr as Ast;
use types::{Error, Result, Type};

use crate::RelationInfo;
use crate::bind::expression::casts::explicit_cast;
use crate::bind::expression::{Clause, ExprBinder, coerce};
use crate::bind::scope::{Entry, Scope};
use crate::bind::{Binder, Relation, check_depth};
use crate::place::Placed;

/// A column, the type it gets, and USING's expression over the table's columns.
pub(crate) struct Retyped<'a> {
    /// The column's position in the table.
    pub column: usize,
    /// The new type.
    pub ty: Type,
    /// The USING expression; `None` casts the old value.
    pub using: Option<&'a Ast>,
    /// Where the statement names the column, for errors.
    pub span: Span,
}

impl<'a> Binder<'a> {
    /// A query over the table's rows in which the given columns have their new types.
    pub(crate) fn retyped(mut self, info: RelationInfo, changes: &[Retyped<'a>]) -> Result<LogicalQuery> {
        let table: Rc<str> = info.name.as_str().into();
        let Relation { plan, columns } = self.scan(info);
        let mut scope = Scope::new(None);
        let entry = |(name, id): &(Rc<str>, ColumnId)| Entry {
            table: Some(table.clone()),
            schema: None,
            name: name.clone(),
            id: *id,
            plain: true,
            hidden: false,
        };
        scope.entries.extend(columns.iter().map(entry));
        let scope = Rc::new(scope);
        let mut expressions: Vec<(ColumnId, Expr)> =
            columns.iter().map(|(_, id)| (*id, self.column(*id))).collect();
        let mut output = columns.clone();
        for change in changes {
            let (name, id) = &columns[change.column];
            let expr = match change.using {
                None => {
                    let value = coerce::Bound::typed(self.column(*id), change.span);
                    // As an assignment where that is possible, so that no text is cut short in silence.
                    if coerce::assignable(value.ty(), change.ty) {
                        coerce::assign(value, change.ty, name, self.text)?
                    } else {
                        explicit_cast(value, change.ty, false).placed(self.text, change.span)?
                    }
                }
                Some(ast) => {
                    let subqueries = self.subqueries.len();
                    let mut binder = ExprBinder::new(&mut self, scope.clone(), Clause::Values);
                    let bound = binder.bind(ast)?;
                    if !binder.pending.is_empty() || self.subqueries.len() > subqueries {
                        let error = Error::unsupported("a subquery in USING is not supported");
                        return Err(self.error_at(error, change.span));
                    }
                    check_depth(&bound.expr)?;
                    coerce::assign(bound, change.ty, name, self.text)?
                }
            };
            let made = self.columns.add(&**name, change.ty, true);
            expressions[change.column] = (made, expr);
            output[change.column].1 = made;
        }
        let plan = LogicalPlan::Project { input: Box::new(plan), expressions };
        self.finish(Relation { plan, columns: output })
    }
}
