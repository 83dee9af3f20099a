//! PIVOT and UNPIVOT.

use sqlparser::ast;
use syntax::Span;
use syntax::tree::{self, ExprKind, PivotValues, TablePivotKind};
use types::Result;

use super::from::{Behind, text_function};
use super::query::everything;
use super::{Converter, ident};
use crate::made::PIVOT_OF;

impl Converter<'_> {
    /// `PIVOT t ON ...` as a query's body.
    pub(crate) fn pivot_statement(&self, pivot: &tree::PivotStatement) -> Result<ast::SetExpr> {
        Ok(self.pivot_of(pivot, pivot.span, ""))
    }

    /// The same by its text, in `whole`, and by what is WITH before it, which its questions for values need, too.
    pub(super) fn pivot_of(&self, pivot: &tree::PivotStatement, whole: Span, with: &str) -> ast::SetExpr {
        let written = self.text_of(whole);
        // The binder reads it by one name each.
        let verb = written.find(|c: char| !c.is_ascii_alphabetic() && c != '_').unwrap_or(written.len());
        let own = match (written.split_at_checked(verb), pivot.unpivot) {
            (Some((verb, rest)), true) if verb.contains('_') => format!("UNPIVOT{rest}"),
            (Some((verb, rest)), false) if verb.contains('_') => format!("PIVOT{rest}"),
            _ => written.to_owned(),
        };
        let at = Span::new(whole.start, whole.start.saturating_add(verb as u32));
        let table = text_function(PIVOT_OF, &[&own, with], at, Behind::default());
        ast::SetExpr::Select(Box::new(everything(table, at)))
    }

    /// PIVOT and UNPIVOT behind a table.
    pub(super) fn table_pivot(
        &self,
        table: ast::TableFactor,
        pivot: &tree::TablePivot,
    ) -> Result<ast::TableFactor> {
        let tree::TablePivot { kind, alias, span } = pivot;
        let alias = alias.as_ref().map(|alias| self.table_alias(alias)).transpose()?;
        let table = Box::new(table);
        match kind {
            TablePivotKind::Pivot { aggregates, columns, group_by } => {
                let [tree::PivotColumn { value, among }] = columns.as_slice() else {
                    return Err(self.unsupported("PIVOT over several columns", *span));
                };
                if let Some(first) = group_by.first() {
                    return Err(self.unsupported("GROUP BY in PIVOT", first.span));
                }
                Ok(ast::TableFactor::Pivot {
                    table,
                    aggregate_functions: self.named_values(aggregates)?,
                    value_column: match &value.kind {
                        ExprKind::Row { row: false, elements } => self.exprs(elements)?,
                        ExprKind::Nested(inner) => vec![self.expr(inner)?],
                        _ => vec![self.expr(value)?],
                    },
                    value_source: match among {
                        Some(PivotValues::List(values)) => {
                            ast::PivotValueSource::List(self.named_values(values)?)
                        }
                        Some(PivotValues::Query(query)) => {
                            ast::PivotValueSource::Subquery(Box::new(self.query(query)?))
                        }
                        Some(PivotValues::Type(name)) => {
                            return Err(self.unsupported("PIVOT over the values of a type", name.span()));
                        }
                        None => return Err(self.unsupported("PIVOT without values", *span)),
                    },
                    default_on_null: None,
                    alias,
                })
            }
            TablePivotKind::Unpivot(tree::Unpivot { include_nulls, values, name, columns }) => {
                let mut values: Vec<ast::Expr> =
                    values.iter().map(|name| ast::Expr::Identifier(ident(name))).collect();
                let value = match (values.len(), values.pop()) {
                    (1, Some(value)) => value,
                    (_, last) => {
                        values.extend(last);
                        ast::Expr::Tuple(values)
                    }
                };
                Ok(ast::TableFactor::Unpivot {
                    table,
                    value,
                    name: ident(name),
                    columns: self.named_values(columns)?,
                    null_inclusion: include_nulls.map(|include| match include {
                        true => ast::NullInclusion::IncludeNulls,
                        false => ast::NullInclusion::ExcludeNulls,
                    }),
                    alias,
                })
            }
        }
    }

    fn named_values(&self, items: &[tree::SelectItem]) -> Result<Vec<ast::ExprWithAlias>> {
        let named = |item: &tree::SelectItem| {
            let tree::SelectItem { value, alias, alias_first: _ } = item;
            let alias = alias.as_ref().map(|alias| self.label(alias));
            Ok(ast::ExprWithAlias { expr: self.expr(value)?, alias })
        };
        items.iter().map(named).collect()
    }
}
