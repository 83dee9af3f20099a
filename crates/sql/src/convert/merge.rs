//! MERGE, and what stands for its clauses that the binder's tree has no place for (names in `made`, places in `asides`).
//!
//! A star in UPDATE or INSERT becomes the internal names `EVERY` and `EVERY_BY_NAME`; THEN ERROR becomes an
//! assignment of its message to the internal column `REFUSAL`. A clause that does nothing becomes another one, whose
//! place is kept in `nothing`. USING of columns is written out as an ON condition. Called by `convert::statement`;
//! `bind::merge` reads the result.

use std::ops::ControlFlow;

use sqlparser::ast::{self, MergeClauseKind};
use syntax::Span;
use syntax::tree::{self, MergeAction, MergeCondition, MergeWhen, TableKind};
use types::Result;

use super::from::{Behind, named_factor};
use super::query::{attached, in_parens, marker, text_value};
use super::{Converter, ident, location, made, object_name, span};
use crate::bind::MERGE_ACTION;
use crate::made::{EVERY, EVERY_BY_NAME, REFUSAL};

/// What a clause without a message says.
const REFUSED: &str = "a row meets MERGE's THEN ERROR";
/// The name of a source that has none of its own.
const SOURCE: &str = "merge source";

impl Converter<'_> {
    /// A MERGE with its WITH and RETURNING.
    pub(crate) fn merge(&self, merge: &tree::Merge) -> Result<ast::Statement> {
        let tree::Merge { with, table, alias, source, condition, clauses, returning, span } = merge;
        let target = alias.as_ref().map(|name| ast::TableAlias {
            explicit: true,
            name: ident(name),
            columns: vec![],
            at: None,
        });
        let (source, on) = self.merge_source(merge, source, condition)?;
        let output = self.returning(returning)?.map(|mut select_items| {
            for item in &mut select_items {
                name_actions(item);
            }
            let at = returning.first().map_or(*span, |item| item.value.span);
            ast::OutputClause::Returning { returning_token: attached(at), select_items }
        });
        let statement = ast::Merge {
            merge_token: attached(*span),
            optimizer_hints: vec![],
            into: true,
            table: named_factor(object_name(table), None, false, Behind { alias: target, sample: None }),
            source,
            on: Box::new(on),
            clauses: clauses.iter().map(|clause| self.merge_clause(clause)).collect::<Result<_>>()?,
            output,
        };
        self.behind_with(with.as_ref(), statement.into())
    }

    /// The source and what makes its rows match.
    fn merge_source(
        &self,
        merge: &tree::Merge,
        source: &tree::TableWithJoins,
        condition: &MergeCondition,
    ) -> Result<(ast::TableFactor, ast::Expr)> {
        let mut factor = match source.joins.is_empty() {
            true => self.table(&source.table)?,
            false => {
                let table_with_joins = Box::new(self.table_with_joins(source)?);
                ast::TableFactor::NestedJoin { table_with_joins, alias: None }
            }
        };
        let columns = match condition {
            MergeCondition::On(condition) => return Ok((factor, self.expr(condition)?)),
            MergeCondition::Using(columns) => columns,
        };
        let at = columns.first().map_or(source.table.span, |column| column.span);
        let named = match (&source.table.alias, &source.table.kind) {
            _ if !source.joins.is_empty() || !source.table.pivots.is_empty() => None,
            (Some(tree::TableAlias { name: Some(name), .. }), _) => Some(name),
            (None, TableKind::Named { name, .. } | TableKind::Function { name, .. }) => name.last(),
            _ => None,
        };
        let named = match named {
            Some(name) => ident(name),
            None => {
                let name = marker(SOURCE, at);
                let alias = ast::TableAlias { explicit: true, name: name.clone(), columns: vec![], at: None };
                if !set_alias(&mut factor, alias) {
                    return Err(self.wrong("the source of MERGE with USING needs a name", source.table.span));
                }
                name
            }
        };
        let Some(target) = merge.alias.as_ref().or(merge.table.last()).map(ident) else {
            return Err(self.wrong("MERGE needs a table", at));
        };
        let equals = |column: &tree::Name| {
            // What is wrong with a column is told where it stands.
            let of = |table: &ast::Ident| {
                let table = ast::Ident { span: span(column.span), ..table.clone() };
                Box::new(ast::Expr::CompoundIdentifier(vec![table, ident(column)]))
            };
            ast::Expr::BinaryOp { left: of(&target), op: ast::BinaryOperator::Eq, right: of(&named) }
        };
        let and = |left: ast::Expr, right: ast::Expr| ast::Expr::BinaryOp {
            left: Box::new(left),
            op: ast::BinaryOperator::And,
            right: Box::new(right),
        };
        match columns.iter().map(equals).reduce(and) {
            Some(condition) => Ok((factor, condition)),
            None => Err(self.wrong("USING needs a column", at)),
        }
    }

    fn merge_clause(&self, clause: &tree::MergeClause) -> Result<ast::MergeClause> {
        let tree::MergeClause { when, condition, action, span } = clause;
        let clause_kind = match when {
            MergeWhen::Matched => MergeClauseKind::Matched,
            MergeWhen::NotMatched => MergeClauseKind::NotMatched,
            MergeWhen::NotMatchedByTarget => MergeClauseKind::NotMatchedByTarget,
            MergeWhen::NotMatchedBySource => MergeClauseKind::NotMatchedBySource,
        };
        // Rows of the source alone are there to be inserted; all others are there already.
        let alone = matches!(when, MergeWhen::NotMatched | MergeWhen::NotMatchedByTarget);
        let verb = match action {
            MergeAction::Delete if alone => Some("DELETE"),
            MergeAction::Update(_) | MergeAction::UpdateAll { .. } if alone => Some("UPDATE"),
            MergeAction::Insert { .. } | MergeAction::InsertAll { .. } if !alone => Some("INSERT"),
            _ => None,
        };
        if let Some(verb) = verb {
            let at = self.verb_of(action, *span);
            return Err(self.wrong(format!("{verb} is not allowed in a {clause_kind} merge clause"), at));
        }
        Ok(ast::MergeClause {
            when_token: attached(*span),
            clause_kind,
            predicate: self.optional(condition.as_ref())?,
            action: self.merge_action(action, alone, self.verb_of(action, *span))?,
        })
    }

    /// From the verb of a clause to its end.
    fn verb_of(&self, action: &MergeAction, clause: Span) -> Span {
        let verb = match action {
            MergeAction::Nothing => "do",
            MergeAction::Delete => "delete",
            MergeAction::Update(_) | MergeAction::UpdateAll { .. } => "update",
            MergeAction::Insert { .. } | MergeAction::InsertAll { .. } => "insert",
            MergeAction::Error(_) => "error",
        };
        let inside = match action {
            MergeAction::Update(set) => {
                set.first().and_then(|first| first.targets.first()).map(|t| t.path.span())
            }
            MergeAction::Insert { columns, values, .. } => columns
                .first()
                .map(|target| target.path.span())
                .or_else(|| values.as_ref().and_then(|values| values.first()).map(|value| value.span)),
            MergeAction::Error(Some(message)) => Some(message.span),
            _ => None,
        };
        // Before what it is given, which may have the same word in it.
        let before = inside.map_or(clause.end, |inside| inside.start);
        Span::new(self.word_before(before, verb).start, clause.end)
    }

    fn merge_action(&self, action: &MergeAction, alone: bool, at: Span) -> Result<ast::MergeAction> {
        Ok(match action {
            MergeAction::Nothing => {
                self.asides.borrow_mut().nothing.push(location(at.start));
                let null = ast::Expr::Value(ast::Value::Null.with_span(span(at)));
                match alone {
                    true => inserting(vec![], vec![null], at),
                    false => ast::MergeAction::Delete { delete_token: attached(at) },
                }
            }
            MergeAction::Delete => ast::MergeAction::Delete { delete_token: attached(at) },
            MergeAction::Update(set) => updating(self.assignments(set)?, at),
            MergeAction::UpdateAll { by_name } => {
                let zero = ast::Expr::Value(ast::Value::Number("0".into(), false).with_span(span(at)));
                updating(vec![assigned(self.every(*by_name, at), zero)], at)
            }
            MergeAction::Insert { columns, overriding_system, values } => {
                self.keep_overriding(*overriding_system);
                let values = match values {
                    Some(values) => self.exprs(values)?,
                    None if columns.is_empty() => vec![ast::Expr::Identifier(made("DEFAULT", at))],
                    None => return Err(self.wrong("DEFAULT VALUES takes no list of columns", at)),
                };
                inserting(self.targets(columns)?, values, at)
            }
            MergeAction::InsertAll { by_name } => {
                let zero = ast::Expr::Value(ast::Value::Number("0".into(), false).with_span(span(at)));
                inserting(vec![self.every(*by_name, at).into()], vec![zero], at)
            }
            MergeAction::Error(message) => {
                let message = self.optional(message.as_ref())?;
                let message = message.unwrap_or_else(|| text_value(REFUSED, at));
                let name = marker(REFUSAL, at);
                match alone {
                    true => inserting(vec![name.into()], vec![message], at),
                    false => updating(vec![assigned(name, message)], at),
                }
            }
        })
    }

    /// What stands for every column: a star means them by name, too.
    fn every(&self, by_name: Option<bool>, at: Span) -> ast::Ident {
        let star = self.text_of(at).trim_end().ends_with('*');
        let by_name = by_name.unwrap_or(star);
        marker(if by_name { EVERY_BY_NAME } else { EVERY }, at)
    }
}

fn assigned(name: ast::Ident, value: ast::Expr) -> ast::Assignment {
    ast::Assignment { target: ast::AssignmentTarget::ColumnName(name.into()), value }
}

fn updating(assignments: Vec<ast::Assignment>, at: Span) -> ast::MergeAction {
    ast::MergeAction::Update(ast::MergeUpdateExpr {
        update_token: attached(at),
        assignments,
        update_predicate: None,
        delete_predicate: None,
    })
}

fn inserting(columns: Vec<ast::ObjectName>, values: Vec<ast::Expr>, at: Span) -> ast::MergeAction {
    ast::MergeAction::Insert(ast::MergeInsertExpr {
        insert_token: attached(at),
        columns,
        kind_token: attached(at),
        kind: ast::MergeInsertKind::Values(ast::Values {
            explicit_row: false,
            value_keyword: false,
            rows: vec![in_parens(values, at)],
        }),
        insert_predicate: None,
    })
}

/// Gives a table a name; whether it can have one.
fn set_alias(factor: &mut ast::TableFactor, given: ast::TableAlias) -> bool {
    match factor {
        ast::TableFactor::Table { alias, .. }
        | ast::TableFactor::Derived { alias, .. }
        | ast::TableFactor::Function { alias, .. }
        | ast::TableFactor::UNNEST { alias, .. }
        | ast::TableFactor::NestedJoin { alias, .. }
        | ast::TableFactor::Pivot { alias, .. }
        | ast::TableFactor::Unpivot { alias, .. }
            if alias.is_none() =>
        {
            *alias = Some(given);
            true
        }
        _ => false,
    }
}

/// `merge_action()` and `merge_action` in RETURNING as the column that the binder has for them.
fn name_actions(item: &mut ast::SelectItem) {
    let _: ControlFlow<()> = ast::visit_expressions_mut(item, |expr| {
        let at = match expr {
            ast::Expr::Identifier(name) if is_action(name) => name.span,
            ast::Expr::Function(function) => match (function.name.0.as_slice(), &function.args) {
                ([ast::ObjectNamePart::Identifier(name)], ast::FunctionArguments::List(list))
                    if is_action(name) && list.args.is_empty() =>
                {
                    name.span
                }
                _ => return ControlFlow::Continue(()),
            },
            _ => return ControlFlow::Continue(()),
        };
        let name = ast::Ident { value: MERGE_ACTION.to_owned(), quote_style: Some('"'), span: at };
        *expr = ast::Expr::CompoundIdentifier(vec![name.clone(), name]);
        ControlFlow::Continue(())
    });
}

fn is_action(name: &ast::Ident) -> bool {
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case(MERGE_ACTION)
}
