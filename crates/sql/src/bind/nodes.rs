//! Questions to nodes of the syntax tree, nothing bound: what stands in brackets, and where an error points.

use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, Literal, OperatorKind, StatementKind};
use types::{Error, Result};

use crate::place;

/// The expression without brackets around it.
pub(crate) fn strip(mut ast: &Ast) -> &Ast {
    while let AstKind::Nested(inner) = &ast.kind {
        ast = inner;
    }
    ast
}

/// The query inside of brackets that are a query's own.
pub(crate) fn unbracketed(mut query: &tree::Query) -> &tree::Query {
    while let Some(inner) = bracketed(query) {
        query = inner;
    }
    query
}

/// What a text in quotes says.
pub(crate) fn is_text_literal(ast: &Ast) -> Option<&str> {
    match &ast.kind {
        AstKind::Literal(tree::Literal::Text(text)) => Some(text),
        _ => None,
    }
}

/// The subquery that an expression is, behind all brackets.
pub(crate) fn subquery_of(ast: &Ast) -> Option<&tree::Query> {
    match &strip(ast).kind {
        AstKind::Subquery(query) => Some(unbracketed(query)),
        _ => None,
    }
}

/// The query behind ANY or ALL, where it is one.
pub(crate) fn set_query(set: &tree::InSet) -> Option<&tree::Query> {
    match set {
        tree::InSet::Query(query) => Some(unbracketed(query)),
        tree::InSet::Expr(list) => subquery_of(list),
        tree::InSet::List(_) => None,
    }
}

/// Whether a chain's operators are AND or OR.
pub(crate) fn is_connective(rest: &[(tree::Operator, Ast)]) -> bool {
    matches!(rest.first(), Some((operator, _)) if matches!(operator.kind, OperatorKind::And | OperatorKind::Or))
}

/// What stands in the brackets, if a query is nothing but brackets around another.
pub(crate) fn bracketed(query: &tree::Query) -> Option<&tree::Query> {
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

/// Where an error about an expression points: at its first value, behind brackets, signs and words like CAST.
pub(crate) fn place_of(ast: &Ast) -> Span {
    use tree::SpecialCall as C;
    let mut ast = ast;
    loop {
        ast = match &ast.kind {
            AstKind::Nested(inner)
            | AstKind::Prefix(_, inner)
            | AstKind::Chain(inner, _)
            | AstKind::Collate(inner, _)
            | AstKind::AtTimeZone(inner, _)
            | AstKind::Overlaps(inner, _)
            | AstKind::Index(inner, _)
            | AstKind::Field(inner, _) => inner,
            AstKind::Is(test) => &test.expr,
            AstKind::In(test) => &test.expr,
            AstKind::Between(test) => &test.expr,
            AstKind::Like(test) => &test.expr,
            AstKind::Quantified(test) => &test.expr,
            AstKind::Cast(cast) => &cast.expr,
            AstKind::Slice(slice) => &slice.expr,
            AstKind::Special(call) => match call.as_ref() {
                C::Extract(_, first)
                | C::Position(first, _)
                | C::Substring { text: first, .. }
                | C::SubstringSimilar(first, ..)
                | C::Overlay(first, ..)
                | C::RoundTo { expr: first, .. } => first,
                C::Trim { characters, texts, .. } => match characters.as_ref().or(texts.first()) {
                    Some(first) => first,
                    None => return ast.span,
                },
                C::Normalize(..) | C::Try(_) => return ast.span,
            },
            AstKind::List { elements, .. } | AstKind::Row { row: false, elements } => {
                match elements.first() {
                    Some(first) => first,
                    None => return ast.span,
                }
            }
            AstKind::Literal(Literal::Interval(interval)) => &interval.value,
            AstKind::Literal(Literal::Typed(_, text)) => return text.span,
            AstKind::Exists(query) | AstKind::Subquery(query) => return query.span,
            _ => return ast.span,
        };
    }
}

/// Whether what a common table expression is made of changes rows.
pub(crate) fn changes_rows(statement: &tree::Statement) -> bool {
    use StatementKind as K;
    matches!(statement.kind, K::Insert(_) | K::Update(_) | K::Delete(_) | K::Merge(_))
}

/// The query that a statement is, where a query may stand.
pub(crate) fn row_query<'t>(text: &str, statement: &'t tree::Statement) -> Result<&'t tree::Query> {
    match &statement.kind {
        StatementKind::Query(query) => Ok(query),
        _ if changes_rows(statement) => {
            Err(Error::unsupported("statements that change rows stand in the WITH of a statement, or alone"))
        }
        _ => {
            let error = Error::unsupported("this statement in the place of a query is not supported");
            Err(place::at(error, text, statement.span))
        }
    }
}
