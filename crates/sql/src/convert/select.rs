//! SELECT and its clauses.
//!
//! USING SAMPLE is kept in the asides by the place of SELECT. GROUPING SETS are flattened to the nodes that the
//! binder reads; ROLLUP and CUBE inside them become calls. Clauses that the grammar does not have stay empty in the
//! node. Called by `query::set_expr`.

use sqlparser::ast;
use syntax::Span;
use syntax::tree::{self, ExprKind};
use types::Result;

use super::query::bare_select;
use super::{Converter, ident, location, made, object_name};

impl Converter<'_> {
    /// One SELECT with all its clauses up to QUALIFY.
    pub(super) fn select(&self, select: &tree::Select) -> Result<ast::Select> {
        let tree::Select {
            distinct,
            items,
            order,
            into,
            from,
            condition,
            group_by,
            having,
            windows,
            qualify,
            sample,
            span,
        } = select;
        let at = self.word_of(select);
        if let Some(sample) = sample {
            let clause = self.using_sample(sample)?;
            self.asides.borrow_mut().samples.push((location(at.start), clause));
        }
        let mut made = bare_select(at);
        made.distinct = match distinct {
            tree::Distinct::Unsaid => None,
            tree::Distinct::All => Some(ast::Distinct::All),
            tree::Distinct::Distinct => Some(ast::Distinct::Distinct),
            tree::Distinct::On(keys) => Some(ast::Distinct::On(self.exprs(keys)?)),
        };
        made.projection = match order {
            tree::ClauseOrder::FromOnly => {
                let wildcard_token = super::query::attached(*span);
                let star = ast::WildcardAdditionalOptions { wildcard_token, ..Default::default() };
                vec![ast::SelectItem::Wildcard(star)]
            }
            _ => items.iter().map(|item| self.select_item(item)).collect::<Result<_>>()?,
        };
        made.flavor = match order {
            tree::ClauseOrder::FromFirst => ast::SelectFlavor::FromFirst,
            _ => ast::SelectFlavor::Standard,
        };
        made.into = into.as_ref().map(|into| {
            let tree::Into { temporary, unlogged, table } = into;
            ast::SelectInto {
                temporary: *temporary,
                unlogged: *unlogged,
                table: false,
                name: object_name(table),
            }
        });
        made.from = self.tables(from)?;
        made.selection = self.optional(condition.as_ref())?;
        if let Some(group_by) = group_by {
            made.group_by = self.group_by(group_by)?;
        }
        made.having = self.optional(having.as_ref())?;
        for (name, window) in windows {
            let window = ast::NamedWindowExpr::WindowSpec(self.window(window, name.span)?);
            made.named_window.push(ast::NamedWindowDefinition(ident(name), window));
        }
        made.qualify = self.optional(qualify.as_ref())?;
        made.window_before_qualify = windows.first().is_some_and(|(name, _)| {
            qualify.as_ref().is_none_or(|qualify| name.span.start < qualify.span.start)
        });
        Ok(made)
    }

    /// The place of the word SELECT, or of FROM where it stands alone.
    fn word_of(&self, select: &tree::Select) -> Span {
        if select.order != tree::ClauseOrder::FromFirst {
            return select.span;
        }
        let listed = match &select.distinct {
            tree::Distinct::On(keys) => keys.first(),
            _ => None,
        };
        let first = listed.or(select.items.first().map(|item| &item.value));
        first.map_or(select.span, |first| self.word_before(first.span.start, "select"))
    }

    fn group_by(&self, group_by: &tree::GroupBy) -> Result<ast::GroupByExpr> {
        // ALL before the items is what is done without it.
        let tree::GroupBy { distinct, items } = group_by;
        let list = match items {
            tree::GroupItems::All => return Ok(ast::GroupByExpr::All(vec![])),
            tree::GroupItems::List(list) => list,
        };
        if *distinct == Some(true) {
            let at = list.first().map(group_item_span).unwrap_or_default();
            return Err(self.unsupported("GROUP BY DISTINCT", at));
        }
        let items = list.iter().map(|item| self.group_item(item)).collect::<Result<_>>()?;
        Ok(ast::GroupByExpr::Expressions(items, vec![]))
    }

    fn group_item(&self, item: &tree::GroupItem) -> Result<ast::Expr> {
        Ok(match item {
            tree::GroupItem::Expr(expr) => self.expr(expr)?,
            tree::GroupItem::Empty(_) => ast::Expr::Tuple(vec![]),
            tree::GroupItem::Rollup(elements, _) => ast::Expr::Rollup(self.group_elements(elements)?),
            tree::GroupItem::Cube(elements, _) => ast::Expr::Cube(self.group_elements(elements)?),
            tree::GroupItem::Sets(..) => {
                let mut sets = Vec::new();
                self.grouping_sets(item, &mut sets)?;
                ast::Expr::GroupingSets(sets)
            }
        })
    }

    /// Elements of ROLLUP and CUBE: those in brackets are one.
    fn group_elements(&self, elements: &[Vec<tree::Expr>]) -> Result<Vec<Vec<ast::Expr>>> {
        let element = |element: &Vec<tree::Expr>| match element.as_slice() {
            [one] => self.group_set(one),
            several => self.exprs(several),
        };
        elements.iter().map(element).collect()
    }

    /// The sets of GROUPING SETS; those of one inside another are its own.
    fn grouping_sets(&self, item: &tree::GroupItem, sets: &mut Vec<Vec<ast::Expr>>) -> Result<()> {
        match item {
            tree::GroupItem::Expr(expr) => sets.push(self.group_set(expr)?),
            tree::GroupItem::Empty(_) => sets.push(vec![]),
            tree::GroupItem::Rollup(elements, at) => sets.push(vec![self.called("ROLLUP", elements, *at)?]),
            tree::GroupItem::Cube(elements, at) => sets.push(vec![self.called("CUBE", elements, *at)?]),
            tree::GroupItem::Sets(inner, _) => {
                for item in inner {
                    self.grouping_sets(item, sets)?;
                }
            }
        }
        Ok(())
    }

    /// One set: what stands in a pair of brackets.
    fn group_set(&self, expr: &tree::Expr) -> Result<Vec<ast::Expr>> {
        match &expr.kind {
            ExprKind::Row { row: false, elements } => self.exprs(elements),
            ExprKind::Nested(inner) => Ok(vec![self.expr(inner)?]),
            _ => Ok(vec![self.expr(expr)?]),
        }
    }

    /// ROLLUP and CUBE inside GROUPING SETS, which the binder takes as calls.
    fn called(&self, name: &str, elements: &[Vec<tree::Expr>], at: Span) -> Result<ast::Expr> {
        let value = |element: &Vec<tree::Expr>| match element.as_slice() {
            [one] => self.expr(one),
            several => Ok(ast::Expr::Tuple(self.exprs(several)?)),
        };
        let argument = |value| ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value));
        let args = elements.iter().map(|element| value(element).map(argument)).collect::<Result<_>>()?;
        let end = at.start.saturating_add(name.len() as u32);
        let mut name = made(name, Span::new(at.start, end));
        // As it is written, upper or lower case.
        let written = self.text_of(Span::new(at.start, end));
        if written.eq_ignore_ascii_case(&name.value) {
            name.value = written.to_owned();
        }
        Ok(ast::Expr::Function(ast::Function {
            name: ast::ObjectName(vec![ast::ObjectNamePart::Identifier(name)]),
            uses_odbc_syntax: false,
            parameters: ast::FunctionArguments::None,
            args: ast::FunctionArguments::List(ast::FunctionArgumentList {
                duplicate_treatment: None,
                args,
                clauses: vec![],
            }),
            filter: None,
            null_treatment: None,
            over: None,
            within_group: vec![],
        }))
    }
}

fn group_item_span(item: &tree::GroupItem) -> Span {
    match item {
        tree::GroupItem::Expr(expr) => expr.span,
        tree::GroupItem::Empty(at)
        | tree::GroupItem::Rollup(_, at)
        | tree::GroupItem::Cube(_, at)
        | tree::GroupItem::Sets(_, at) => *at,
    }
}
