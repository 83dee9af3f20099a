//! Lists, structs, maps, rows, what is taken out of them, and lambdas.
//!
//! A chain such as `e[i].field.method(x)` becomes one node with a list of steps; the first names of a path may be a
//! table or a column, which the binder decides. List comprehensions are written out with `list_transform` and
//! `list_filter`. Called by `convert::expr`.

use sqlparser::ast::{
    self, AccessExpr, Array, DictionaryField, FunctionArg, FunctionArgExpr, FunctionArgOperator,
    FunctionArguments, LambdaFunction, LambdaFunctionParameter, LambdaSyntax, Map, MapEntry, ObjectName,
    ObjectNamePart, OneOrManyWithParens, Subscript,
};
use syntax::Span;
use syntax::tree::{self, ExprKind};
use types::Result;

use super::call::{listed, plain, unnamed};
use super::{Converter, ident, made};

/// The path from a value into it, innermost first.
enum Step<'e> {
    Index(&'e tree::Expr),
    Slice(&'e tree::SliceStep),
    Field(&'e tree::Name),
    Method(&'e tree::Call),
}

impl Converter<'_> {
    /// Any expression of this file's kinds.
    pub(super) fn nested(&self, e: &tree::Expr) -> Result<ast::Expr> {
        match &e.kind {
            ExprKind::ArrayOf(query) => {
                let word = Span { start: e.span.start, end: (e.span.start + 5).min(e.span.end) };
                let name = function_name(made(self.text_of(word), word));
                let args = FunctionArguments::Subquery(Box::new(self.query(query)?));
                Ok(ast::Expr::Function(plain(name, args)))
            }
            ExprKind::List { array, elements } => {
                Ok(ast::Expr::Array(Array { elem: self.exprs(elements)?, named: *array }))
            }
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension, e.span),
            ExprKind::Struct(fields) => self.structure(fields),
            ExprKind::Map(entries) => {
                let entry = |(key, value): &(tree::Expr, tree::Expr)| {
                    Ok(MapEntry { key: self.boxed(key)?, value: self.boxed(value)? })
                };
                Ok(ast::Expr::Map(Map { entries: entries.iter().map(entry).collect::<Result<_>>()? }))
            }
            ExprKind::Row { row, elements } => self.row(*row, elements, e.span),
            ExprKind::Lambda(lambda) => {
                let tree::Lambda { worded: _, parameters, body } = &**lambda;
                let parameters = parameters.iter().map(ident).collect();
                Ok(lambda_of(parameters, self.expr(body)?))
            }
            _ => self.access(e),
        }
    }

    fn structure(&self, fields: &[(tree::Name, tree::Expr)]) -> Result<ast::Expr> {
        let field = |(name, value): &(tree::Name, tree::Expr)| {
            Ok(DictionaryField { key: self.label(name), value: self.boxed(value)? })
        };
        Ok(ast::Expr::Dictionary(fields.iter().map(field).collect::<Result<_>>()?))
    }

    fn row(&self, row: bool, elements: &[tree::Expr], at: Span) -> Result<ast::Expr> {
        if !row {
            if elements.is_empty() {
                return Err(self.empty_brackets(at));
            }
            return Ok(ast::Expr::Tuple(self.exprs(elements)?));
        }
        let word = Span { start: at.start, end: (at.start + 3).min(at.end) };
        let argument = |e| Ok(FunctionArg::Unnamed(self.argument_value(e)?));
        let args = listed(elements.iter().map(argument).collect::<Result<_>>()?);
        Ok(ast::Expr::Function(plain(function_name(made(self.text_of(word), word)), args)))
    }

    /// `[e FOR x, i IN list IF c]` as `list_transform(list_filter(list, x -> (c)), x -> (e))`.
    fn comprehension(&self, comprehension: &tree::Comprehension, at: Span) -> Result<ast::Expr> {
        let tree::Comprehension { element, name, position, list, condition } = comprehension;
        let open = Span { start: at.start, end: (at.start + 1).min(at.end) };
        let own = |word: &str| made(word, open);
        let call = |function: &str, list: ast::Expr, lambda: ast::Expr| {
            let args = listed(vec![unnamed(list), unnamed(lambda)]);
            ast::Expr::Function(plain(function_name(own(function)), args))
        };
        let bracketed = |e: &tree::Expr| Ok::<_, types::Error>(ast::Expr::Nested(self.boxed(e)?));
        let parameters = || std::iter::once(name).chain(position).map(ident).collect::<Vec<_>>();
        let (value, elements) = (bracketed(element)?, bracketed(list)?);
        let Some(condition) = condition else {
            return Ok(call("list_transform", elements, lambda_of(parameters(), value)));
        };
        let condition = bracketed(condition)?;
        if position.is_none() {
            let kept = call("list_filter", elements, lambda_of(parameters(), condition));
            return Ok(call("list_transform", kept, lambda_of(parameters(), value)));
        }
        // The number is that of the element in the whole list.
        let named = |name: &str, value: ast::Expr| FunctionArg::Named {
            name: own(name),
            arg: FunctionArgExpr::Expr(value),
            operator: FunctionArgOperator::Assignment,
        };
        let pair = listed(vec![named("kept", condition), named("value", value)]);
        let pair = ast::Expr::Function(plain(function_name(own("struct_pack")), pair));
        let pairs = call("list_transform", elements, lambda_of(parameters(), pair));
        let field = |name: &str| {
            let field = ast::Expr::CompoundIdentifier(vec![own("element"), own(name)]);
            lambda_of(vec![own("element")], field)
        };
        let kept = call("list_filter", pairs, field("kept"));
        Ok(call("list_transform", kept, field("value")))
    }

    /// `e[i].field.method(x)`: the value, and the way into it.
    fn access(&self, e: &tree::Expr) -> Result<ast::Expr> {
        let (mut steps, mut from) = (Vec::new(), e);
        loop {
            let (inner, step) = match &from.kind {
                ExprKind::Index(inner, index) => (&**inner, Step::Index(index)),
                ExprKind::Slice(slice) => (&slice.expr, Step::Slice(slice)),
                ExprKind::Field(inner, Some(name)) => (&**inner, Step::Field(name)),
                ExprKind::Field(_, None) => {
                    return Err(self.unsupported("all fields of a value as columns", from.span));
                }
                ExprKind::Method(inner, call) => (&**inner, Step::Method(call)),
                _ => break,
            };
            steps.push(step);
            from = inner;
        }
        let (root, mut access_chain) = self.root(from)?;
        for step in steps.into_iter().rev() {
            access_chain.push(self.step(step)?);
        }
        Ok(ast::Expr::CompoundFieldAccess { root: Box::new(root), access_chain })
    }

    /// The first name of a path, and the rest as fields; any other value by itself.
    fn root(&self, e: &tree::Expr) -> Result<(ast::Expr, Vec<AccessExpr>)> {
        let dot = |ident| AccessExpr::Dot(ast::Expr::Identifier(ident));
        match self.expr(e)? {
            ast::Expr::CompoundIdentifier(idents) => {
                let mut idents = idents.into_iter();
                match idents.next() {
                    Some(first) => Ok((ast::Expr::Identifier(first), idents.map(dot).collect())),
                    None => Err(self.unexpected(e.span)),
                }
            }
            ast::Expr::Function(mut function) if function.name.0.len() > 1 => {
                let last = function.name.0.pop();
                let before = std::mem::take(&mut function.name.0);
                function.name.0.extend(last);
                let mut before = before.into_iter().filter_map(|part| part.as_ident().cloned());
                let Some(first) = before.next() else { return Err(self.unexpected(e.span)) };
                let mut chain: Vec<AccessExpr> = before.map(dot).collect();
                chain.push(AccessExpr::Dot(ast::Expr::Function(function)));
                Ok((ast::Expr::Identifier(first), chain))
            }
            root => Ok((root, vec![])),
        }
    }

    fn step(&self, step: Step<'_>) -> Result<AccessExpr> {
        Ok(match step {
            Step::Index(index) => AccessExpr::Subscript(Subscript::Index { index: self.expr(index)? }),
            Step::Slice(slice) => {
                let tree::SliceStep { expr: _, from, to, step } = slice;
                let bound = |e: &Option<tree::Expr>| e.as_ref().map(|e| self.expr(e)).transpose();
                AccessExpr::Subscript(Subscript::Slice {
                    lower_bound: bound(from)?,
                    upper_bound: bound(to)?,
                    stride: bound(step)?,
                })
            }
            Step::Field(name) => AccessExpr::Dot(ast::Expr::Identifier(ident(name))),
            Step::Method(call) => AccessExpr::Dot(ast::Expr::Function(self.call(call)?)),
        })
    }
}

/// A function's name of one part.
pub(super) fn function_name(ident: ast::Ident) -> ObjectName {
    ObjectName(vec![ObjectNamePart::Identifier(ident)])
}

/// A lambda as the binder has it, whichever way it is written.
pub(super) fn lambda_of(parameters: Vec<ast::Ident>, body: ast::Expr) -> ast::Expr {
    let parameter = |name| LambdaFunctionParameter { name, data_type: None };
    ast::Expr::Lambda(LambdaFunction {
        params: OneOrManyWithParens::Many(parameters.into_iter().map(parameter).collect()),
        body: Box::new(body),
        syntax: LambdaSyntax::Arrow,
    })
}
