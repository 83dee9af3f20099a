//! Lambdas: functions of lists that take one, and list comprehensions.
//!
//! A lambda's body is bound in a scope of its parameters; columns that it uses from outside are captured as further
//! arguments. `[e FOR x IN list IF c]` is `list_transform(list_filter(list, x -> c), x -> e)`. Called by
//! `nested::special_call` and `bind::expression`.

use std::rc::Rc;
use std::sync::Arc;

use plan::{ColumnId, Expr, ExprKind};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::expression::{ExprBinder, operator};
use crate::bind::folded;
pub(crate) use crate::bind::function::named::takes_lambda;
use crate::bind::nested::call;
use crate::bind::scope::{Entry, Scope};

/// What is computed of a lambda's parameters.
#[derive(Clone, Copy)]
enum Body<'a> {
    /// An expression.
    Of(&'a Ast),
    /// A struct of a condition and a value, both over the same parameters.
    Pair(&'a Ast, &'a Ast),
    /// A field of such a struct, which is the first parameter.
    Field(&'static str),
}

/// The fields of `Body::Pair`.
const KEPT: &str = "kept";
const VALUE: &str = "value";

impl<'a> ExprBinder<'_, 'a> {
    /// `[e FOR x, i IN list IF c]`.
    pub(crate) fn comprehension(&mut self, written: &'a tree::Comprehension, at: Span) -> Result<Bound> {
        let tree::Comprehension { element, name, position, list, condition } = written;
        let open = Span::new(at.start, (at.start + 1).min(at.end));
        let list = self.bind(list)?;
        let names: Vec<&'a tree::Name> = std::iter::once(name).chain(position).collect();
        let (kept, value) = match condition {
            None => (list, Body::Of(element)),
            Some(condition) if position.is_none() => (
                self.over_elements("list_filter", list, &names, Body::Of(condition), open)?,
                Body::Of(element),
            ),
            // The number is that of the element in the whole list.
            Some(condition) => {
                let pairs = Body::Pair(condition, element);
                let pairs = self.over_elements("list_transform", list, &names, pairs, open)?;
                let kept = self.over_elements("list_filter", pairs, &[], Body::Field(KEPT), open)?;
                return self.over_elements("list_transform", kept, &[], Body::Field(VALUE), open);
            }
        };
        self.over_elements("list_transform", kept, &names, value, open)
    }

    /// A call of one of the functions that take a lambda.
    pub(crate) fn lambda_call(
        &mut self,
        function: &str,
        arguments: &'a [tree::Argument],
        span: Span,
    ) -> Result<Bound> {
        let mut lambda: Option<&'a tree::Lambda> = None;
        let mut values = Vec::new();
        for argument in arguments {
            let Some(value) = self.binder.argument_value(argument) else {
                return Err(self.at(usage(function), span));
            };
            match &value.kind {
                AstKind::Lambda(given) if values.len() == 1 => lambda = Some(given),
                _ => values.push(self.bind(value)?),
            }
        }
        let reduce = function == "list_reduce";
        let Some(lambda) = lambda.filter(|_| values.len() == 1 || (reduce && values.len() == 2)) else {
            return Err(self.at(usage(function), span));
        };
        let tree::Lambda { worded: _, parameters, body } = lambda;
        let parameters: Vec<&'a tree::Name> = parameters.iter().collect();
        let first = if values.len() == 2 { values.pop() } else { None };
        let list = values.remove(0);
        match reduce {
            true => self.reduced(list, first, &parameters, body, span),
            false => self.over_elements(function, list, &parameters, Body::Of(body), span),
        }
    }

    /// `list_transform` and `list_filter`.
    fn over_elements(
        &mut self,
        function: &str,
        list: Bound,
        parameters: &[&'a tree::Name],
        body: Body<'a>,
        span: Span,
    ) -> Result<Bound> {
        let ty = list.ty();
        let Some(element) = ty.element() else {
            return if ty == Type::Null { Ok(list) } else { Err(self.at(usage(function), list.span)) };
        };
        let (body, captured) = self.lambda(parameters, &[element, Type::BigInt], body, span)?;
        let (body, ty) = match function {
            "list_filter" => (operator::condition(Bound::typed(body, span), function, self.binder.text)?, ty),
            _ => {
                let ty = Type::list(body.ty).map_err(|e| self.at(e, span))?;
                (body, ty)
            }
        };
        let mut all = vec![list.expr];
        all.extend(captured);
        all.push(lambda_of(body));
        Ok(Bound::typed(call(function, all, ty), span))
    }

    /// `list_reduce`.
    fn reduced(
        &mut self,
        list: Bound,
        first: Option<Bound>,
        parameters: &[&'a tree::Name],
        body: &'a Ast,
        span: Span,
    ) -> Result<Bound> {
        let ty = list.ty();
        let Some(element) = ty.element() else {
            return if ty == Type::Null { Ok(list) } else { Err(self.at(usage("list_reduce"), list.span)) };
        };
        // The state's type is what the body makes of it: tried with the element's and then with the result's.
        let mut state = match &first {
            Some(first) => coerce::common_type(first.ty(), element).unwrap_or(first.ty()),
            None => element,
        };
        for round in 0..5 {
            if let Type::Decimal { precision, .. } = &mut state {
                *precision = types::logical::DECIMAL_PRECISION_MAX;
            }
            // Without a first value, elements are cast to what the state is.
            let seen = if first.is_some() { element } else { state };
            let types = [state, seen, Type::BigInt];
            let (body, captured) = self.lambda(parameters, &types, Body::Of(body), span)?;
            let common = coerce::common_type(state, body.ty).ok_or_else(|| {
                let error = format!("the lambda makes {} of a {state}", body.ty);
                self.at(Error::new(SqlState::DatatypeMismatch, error), span)
            })?;
            // Digits behind the point that become more each time, as in a product, end as DOUBLE PRECISION.
            let grows = common.is_decimal() && common.scale() > state.scale();
            if common != state && (grows || common.physical() != state.physical()) {
                state = if grows && round > 1 { Type::Double } else { common };
                continue;
            }
            let (list, first) = match first {
                Some(first) => (list.expr, cast(first.settled(), state)),
                None => {
                    let ty = Type::list(state).map_err(|e| self.at(e, span))?;
                    (cast(list.expr, ty), Expr::literal(Value::Null, Type::Null))
                }
            };
            let body = if body.ty == state { body } else { body.cast(state) };
            let mut all = vec![list, first];
            all.extend(captured);
            all.push(lambda_of(body));
            return Ok(Bound::typed(call("list_reduce", all, state), span));
        }
        Err(self.at(
            Error::new(SqlState::DatatypeMismatch, "the lambda's result does not settle on a type")
                .with_hint("cast the result, for instance (a + b)::BIGINT"),
            span,
        ))
    }

    /// The body of a lambda over its own inputs, and what it captures.
    fn lambda(
        &mut self,
        parameters: &[&'a tree::Name],
        types: &[Type],
        body: Body<'a>,
        span: Span,
    ) -> Result<(Expr, Vec<Expr>)> {
        if parameters.len() > types.len() {
            let error = format!(
                "the lambda takes {} parameters, at most {} are given",
                parameters.len(),
                types.len()
            );
            let span = parameters[types.len()].span;
            return Err(self.at(Error::new(SqlState::UndefinedFunction, error), span));
        }
        let ids: Vec<ColumnId> = types
            .iter()
            .enumerate()
            .map(|(at, ty)| {
                let name = parameters.get(at).map_or_else(String::new, |p| folded(p));
                self.binder.columns.add(name, *ty, true)
            })
            .collect();
        let mut scope = Scope::new(Some(self.scope.clone()));
        for (name, id) in parameters.iter().zip(&ids) {
            let name = folded(name);
            scope.entries.push(Entry {
                table: None,
                schema: None,
                name: name.as_str().into(),
                id: *id,
                plain: true,
                hidden: false,
            });
        }
        let around = std::mem::replace(&mut self.scope, Rc::new(scope));
        let aggregates = self.aggregates.take();
        let windows = self.windows.take();
        let pending = self.pending.len();
        let bound = self.body(body, ids.first(), span);
        self.scope = around;
        self.aggregates = aggregates;
        self.windows = windows;
        let bound = bound?;
        if self.pending.len() > pending {
            let error = Error::unsupported("a subquery in a lambda is not supported");
            return Err(self.at(error, bound.span));
        }
        let mut captured: Vec<Expr> = Vec::new();
        let body = bound.settled().transform(&mut |e| match e.kind {
            ExprKind::Column(id) => {
                if let Some(at) = ids.iter().position(|own| *own == id) {
                    return Expr::input(at, e.ty);
                }
                let at = captured.iter().position(|c| *c == e).unwrap_or_else(|| {
                    captured.push(e.clone());
                    captured.len() - 1
                });
                Expr::input(ids.len() + at, e.ty)
            }
            _ => e,
        });
        Ok((body, captured))
    }

    fn body(&mut self, body: Body<'a>, first: Option<&ColumnId>, span: Span) -> Result<Bound> {
        match body {
            Body::Of(value) => self.bind_condition(value),
            Body::Pair(kept, value) => {
                let values = vec![self.bind_condition(kept)?, self.bind_condition(value)?];
                self.structure(vec![KEPT.to_owned(), VALUE.to_owned()], values, span)
            }
            Body::Field(name) => match first {
                Some(id) => self.field(Bound::typed(self.binder.column(*id), span), name, span),
                None => Err(Error::internal("a lambda without parameters")),
            },
        }
    }
}

fn usage(function: &str) -> Error {
    Error::new(SqlState::UndefinedFunction, format!("{function} takes a list and a lambda"))
        .with_hint(format!("write {function}(list, x -> x + 1) or {function}(list, lambda x : x + 1)"))
}

/// The lambda's body as an argument.
fn lambda_of(body: Expr) -> Expr {
    let ty = body.ty;
    Expr::new(ExprKind::Lambda(Arc::new(body)), ty)
}
