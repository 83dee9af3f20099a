//! Expressions.
//!
//! `expr` handles casts, CASE and columns itself and hands other kinds to the files of their kind: `operator`,
//! `call`, `special`, `nested`, `literal`. It recurses with the depth of the tree, for which `stack` has made room.
//! Brackets are kept, as they decide what is a row or a nested chain.

use sqlparser::ast::{self, CaseWhen, CastKind, helpers::attached_token::AttachedToken};
use sqlparser::tokenizer::{Token, TokenWithSpan};
use syntax::Span;
use syntax::tree::{self, ExprKind};
use types::stop::{self, Place};
use types::{Error, Result};

use super::{Converter, ident, object_name, span};

/// A word of the text that belongs to a node.
pub(super) fn attached(word: &str, at: Span) -> AttachedToken {
    AttachedToken(TokenWithSpan { token: Token::make_keyword(word), span: span(at) })
}

/// What stands in the brackets, if a query is nothing but brackets around another.
pub(super) fn bracketed(query: &tree::Query) -> Option<&tree::Query> {
    match query {
        tree::Query {
            with: None,
            body: tree::SetExpr::Query(inner),
            order_by,
            limit: None,
            offset: None,
            locks,
            span: _,
        } if order_by.is_empty() && locks.is_empty() => Some(inner),
        _ => None,
    }
}

impl Converter<'_> {
    /// As `expr`, in a box.
    pub(crate) fn boxed(&self, e: &tree::Expr) -> Result<Box<ast::Expr>> {
        Ok(Box::new(self.expr(e)?))
    }
    /// As `boxed`, where there is an expression.
    pub(crate) fn boxed_if(&self, e: Option<&tree::Expr>) -> Result<Option<Box<ast::Expr>>> {
        e.map(|e| self.boxed(e)).transpose()
    }

    /// Any expression.
    pub(crate) fn expr(&self, e: &tree::Expr) -> Result<ast::Expr> {
        stop::check(Place::Parse)?;
        Ok(match &e.kind {
            ExprKind::Literal(literal) => return self.literal(literal, e.span),
            ExprKind::Parameter(parameter) => self.parameter(parameter, e.span),
            ExprKind::Column(path) => self.column(path),
            ExprKind::Position(number) => self.position(*number, e.span),
            ExprKind::Star(star) => return self.star_value(star, e.span),
            ExprKind::Columns(call) => ast::Expr::Function(self.columns(call, e.span)?),
            ExprKind::Nested(inner) => ast::Expr::Nested(self.boxed(inner)?),
            ExprKind::Prefix(operator, operand) => return self.prefix(operator, operand),
            ExprKind::Chain(first, rest) => return self.chain(first, rest),
            ExprKind::Cast(call) => return self.cast(call),
            ExprKind::Collate(inner, collation) => {
                ast::Expr::Collate { expr: self.boxed(inner)?, collation: object_name(collation) }
            }
            ExprKind::AtTimeZone(moment, zone) => return self.at_time_zone(moment, zone.as_deref(), e.span),
            ExprKind::Is(_)
            | ExprKind::In(_)
            | ExprKind::Between(_)
            | ExprKind::Like(_)
            | ExprKind::Quantified(_)
            | ExprKind::Overlaps(..) => return self.test(e),
            ExprKind::Exists(query) => {
                ast::Expr::Exists { subquery: Box::new(self.query(query)?), negated: false }
            }
            ExprKind::Subquery(query) => return self.subquery(query),
            ExprKind::Case(case) => return self.case(case, e.span),
            ExprKind::Call(call) => return self.call_value(call, e.span),
            ExprKind::Special(special) => return self.special(special, e.span),
            ExprKind::Default => ast::Expr::Identifier(super::made(self.text_of(e.span), e.span)),
            ExprKind::ArrayOf(_)
            | ExprKind::List { .. }
            | ExprKind::Comprehension(_)
            | ExprKind::Struct(_)
            | ExprKind::Map(_)
            | ExprKind::Row { .. }
            | ExprKind::Index(..)
            | ExprKind::Slice(_)
            | ExprKind::Field(..)
            | ExprKind::Method(..)
            | ExprKind::Lambda(_) => return self.nested(e),
        })
    }

    /// A query in brackets; further brackets around it are those of an expression.
    pub(super) fn subquery(&self, query: &tree::Query) -> Result<ast::Expr> {
        match bracketed(query) {
            Some(inner) => Ok(ast::Expr::Nested(Box::new(self.subquery(inner)?))),
            None => Ok(ast::Expr::Subquery(Box::new(self.query(query)?))),
        }
    }

    fn column(&self, path: &tree::Path) -> ast::Expr {
        match path.single() {
            // PostgreSQL reserves it; here it is a name wherever it is no value.
            Some(name) if !name.quoted && name.text.eq_ignore_ascii_case("user") => {
                let name = object_name(path);
                ast::Expr::Function(super::call::plain(name, ast::FunctionArguments::None))
            }
            Some(name) => ast::Expr::Identifier(ident(name)),
            None => ast::Expr::CompoundIdentifier(path.names.iter().map(ident).collect()),
        }
    }

    /// `#2`.
    fn position(&self, number: u32, at: Span) -> ast::Expr {
        let digits = Span { start: (at.start + 1).min(at.end), end: at.end };
        ast::Expr::Identifier(ast::Ident {
            value: format!("#{number}"),
            quote_style: Some(crate::made::POSITIONAL),
            span: span(digits),
        })
    }

    fn cast(&self, call: &tree::CastCall) -> Result<ast::Expr> {
        let tree::CastCall { style, expr, to } = call;
        let kind = match style {
            tree::CastStyle::Cast => CastKind::Cast,
            tree::CastStyle::TryCast => CastKind::TryCast,
            tree::CastStyle::Colons => CastKind::DoubleColon,
        };
        Ok(ast::Expr::Cast {
            kind,
            expr: self.boxed(expr)?,
            data_type: self.data_type(to)?,
            array: false,
            format: None,
        })
    }

    fn at_time_zone(&self, moment: &tree::Expr, zone: Option<&tree::Expr>, at: Span) -> Result<ast::Expr> {
        let Some(zone) = zone else { return Err(self.unsupported("AT LOCAL", at)) };
        Ok(ast::Expr::AtTimeZone { timestamp: self.boxed(moment)?, time_zone: self.boxed(zone)? })
    }

    fn case(&self, case: &tree::Case, at: Span) -> Result<ast::Expr> {
        let tree::Case { operand, branches, otherwise } = case;
        let first = Span { start: at.start, end: (at.start + 4).min(at.end) };
        let last = Span { start: at.end.saturating_sub(3).max(at.start), end: at.end };
        let branch = |(condition, result): &(tree::Expr, tree::Expr)| {
            Ok(CaseWhen { condition: self.expr(condition)?, result: self.expr(result)? })
        };
        Ok(ast::Expr::Case {
            case_token: attached("CASE", first),
            end_token: attached("END", last),
            operand: self.boxed_if(operand.as_ref())?,
            conditions: branches.iter().map(branch).collect::<Result<_>>()?,
            else_result: self.boxed_if(otherwise.as_ref())?,
        })
    }

    /// An item of ORDER BY.
    pub(crate) fn order_item(&self, o: &tree::OrderItem) -> Result<ast::OrderByExpr> {
        let tree::OrderItem { key, descending, nulls_first, span } = o;
        let expr = match key {
            tree::OrderKey::Expr(expr) => self.expr(expr)?,
            tree::OrderKey::All => return Err(self.unsupported("ORDER BY ALL of this kind", *span)),
            tree::OrderKey::Using(..) => {
                let error =
                    Error::unsupported("ORDER BY ... USING is not supported").with_hint("write ASC or DESC");
                return Err(self.at(error, *span));
            }
        };
        let options =
            ast::OrderByOptions { asc: descending.map(|descending| !descending), nulls_first: *nulls_first };
        Ok(ast::OrderByExpr { expr, options, with_fill: None })
    }

    /// The items of ORDER BY.
    pub(crate) fn order_items(&self, list: &[tree::OrderItem]) -> Result<Vec<ast::OrderByExpr>> {
        list.iter().map(|item| self.order_item(item)).collect()
    }
}
