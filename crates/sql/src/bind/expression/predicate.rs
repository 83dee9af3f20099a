//! Predicates: IS NULL and its kin, BETWEEN, IN, comparisons of rows, LIKE; and NOT over them.
//!
//! Rows are compared field by field, and written out as conditions over the fields. An IN list of literals becomes a
//! sorted set, another list a disjunction. `negated` pushes NOT into comparisons that have a negated form, without a
//! change of three-valued logic. Called by `bind::expression`.

use std::sync::Arc;

use plan::{ColumnId, Expr, ExprKind};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::stop::{Pace, Place};
use types::{Comparison, Error, LikePattern, Result, SqlState, Type, Value};

use crate::bind::expression::coerce::{self, Bound, LONG_LIST};
use crate::bind::expression::{ExprBinder, collations, fold, operator, strip};
use crate::bind::function::arguments::is_plain;
use crate::bind::nested::paths::names_of;
use crate::bind::refusal;
use crate::place;

/// What ESCAPE says of a pattern.
#[derive(Clone, Copy)]
pub(crate) enum Escape<'e> {
    /// No clause.
    Unsaid,
    /// A text in quotes.
    Text(&'e str),
    /// Another constant.
    Other,
}

/// The fields of `(a, b)` and of `ROW(a, b)`; `None` of anything else.
pub(crate) fn row_of(ast: &Ast) -> Option<Vec<&Ast>> {
    match &strip(ast).kind {
        // A table's columns among them are known only once they are bound.
        AstKind::Row { elements, .. }
            if elements.iter().any(|e| matches!(&e.kind, AstKind::Star(star) if star.of.is_some())) =>
        {
            None
        }
        AstKind::Row { row, elements } if *row || !elements.is_empty() => {
            Some(elements.iter().filter(|element| !matches!(element.kind, AstKind::Star(_))).collect())
        }
        _ => None,
    }
}

impl<'a> ExprBinder<'_, 'a> {
    /// IS and its kin.
    pub(crate) fn is_test(&mut self, ast: &'a Ast, test: &'a tree::IsTest) -> Result<Bound> {
        let tree::IsTest { expr, negated, test } = test;
        match test {
            tree::IsKind::Null => self.is_null(expr, *negated),
            tree::IsKind::True => self.is_boolean(expr, true, *negated),
            tree::IsKind::False => self.is_boolean(expr, false, *negated),
            tree::IsKind::Unknown => self.is_unknown(expr, *negated),
            tree::IsKind::DistinctFrom(other) => self.distinct_from(expr, other, !negated),
            tree::IsKind::Normalized(form) => {
                let is_form = |name: &tree::Name| {
                    ["NFC", "NFD", "NFKC", "NFKD"].iter().any(|form| name.text.eq_ignore_ascii_case(form))
                };
                match form {
                    Some(form) if !is_form(form) => Err(refusal::unexpected(self.text(), ast.span)),
                    _ => Err(self.unsupported_expression(ast)),
                }
            }
            tree::IsKind::Json(_) => Err(refusal::unsupported("IS JSON", self.text(), ast.span)),
        }
    }

    /// `x [NOT] IN ...`: a list, a query, or a value that is a list.
    pub(crate) fn in_test(&mut self, test: &'a tree::InTest, at: Span) -> Result<Bound> {
        let tree::InTest { expr, negated, set } = test;
        match set {
            tree::InSet::List(list) if list.is_empty() => Err(refusal::empty_brackets(self.text(), at)),
            tree::InSet::List(list) => self.in_list(expr, list, *negated),
            tree::InSet::Query(query) => self.in_subquery(expr, query, *negated),
            // A list's elements; one that is NULL is no value that could be equal.
            tree::InSet::Expr(list) => {
                let between = Span { start: expr.span.end, end: list.span.start };
                self.denied(*negated, |binder| {
                    let arguments = [binder.bind(list)?, binder.bind(expr)?];
                    binder.among_elements(&arguments, between)
                })
            }
        }
    }

    /// A test, or NOT and the test as its operand.
    fn denied(&mut self, negated: bool, test: impl FnOnce(&mut Self) -> Result<Bound>) -> Result<Bound> {
        let outside = self.in_condition;
        self.in_condition |= negated;
        let bound = test(self);
        self.in_condition = outside;
        let bound = bound?;
        if !negated {
            return Ok(bound);
        }
        let span = bound.span;
        let input = operator::condition(bound, "NOT", self.text())?;
        Ok(Bound::typed(self::negated(input), span))
    }

    /// `x [NOT] BETWEEN [SYMMETRIC] low AND high`.
    pub(crate) fn between_test(&mut self, test: &'a tree::BetweenTest) -> Result<Bound> {
        let tree::BetweenTest { expr, negated, symmetric, low, high } = test;
        if !symmetric {
            return self.between(expr, *negated, low, high);
        }
        // Between them in either order.
        let outside = std::mem::replace(&mut self.in_condition, true);
        let both = (self.between(expr, *negated, low, high), self.between(expr, *negated, high, low));
        self.in_condition = outside;
        let (one, other) = (both.0?, both.1?);
        let span = one.span.to(other.span);
        let parts = vec![one.expr, other.expr];
        Ok(Bound::typed(if *negated { fold::and(parts) } else { fold::or(parts) }, span))
    }

    /// `x [NOT] LIKE pattern` and its kin, with ANY and ALL too.
    pub(crate) fn like_test(&mut self, test: &'a tree::LikeTest, at: Span) -> Result<Bound> {
        let tree::LikeTest { expr, negated, kind, quantifier, pattern, escape } = test;
        if let Some(quantifier) = quantifier {
            return self.like_any(test, *quantifier == tree::Quantifier::All, at);
        }
        let escape = self.escape(escape.as_ref())?;
        let said = !matches!(escape, Escape::Unsaid);
        match kind {
            tree::LikeKind::RLike if said => {
                return Err(refusal::unsupported("ESCAPE of a regular expression", self.text(), at));
            }
            tree::LikeKind::Glob if said => {
                return Err(refusal::unsupported("ESCAPE behind GLOB", self.text(), at));
            }
            tree::LikeKind::Glob => {
                let between = Span { start: expr.span.end, end: pattern.span.start };
                return self.denied(*negated, |binder| {
                    let arguments = vec![binder.bind(expr)?, binder.bind(pattern)?];
                    binder.apply(plan::functions::GLOB, arguments, between)
                });
            }
            _ => {}
        }
        let (input, pattern) = (self.bind(expr)?, self.bind(pattern)?);
        let (input, pattern) = collations::folded_pair(input, pattern);
        match kind {
            tree::LikeKind::SimilarTo => self.similar_to(input, pattern, escape, *negated),
            tree::LikeKind::RLike => self.regular_expression(input, pattern, *negated, false),
            kind => self.like(input, pattern, escape, *negated, *kind == tree::LikeKind::ILike),
        }
    }

    /// What ESCAPE says, which is a constant.
    fn escape(&self, escape: Option<&'a Ast>) -> Result<Escape<'a>> {
        use tree::Literal as L;
        let Some(escape) = escape else { return Ok(Escape::Unsaid) };
        match &escape.kind {
            AstKind::Literal(L::Text(text)) => Ok(Escape::Text(text)),
            AstKind::Literal(L::Null | L::Bool(_) | L::Number(_) | L::Bits(_)) | AstKind::Parameter(_) => {
                Ok(Escape::Other)
            }
            _ => Err(refusal::wrong("syntax error: expected a constant", self.text(), escape.span)),
        }
    }

    /// `x IS [NOT] NULL`.
    fn is_null(&mut self, operand: &'a Ast, negated: bool) -> Result<Bound> {
        if let Some(items) = row_of(operand) {
            return self.is_row_null(&items, negated);
        }
        // The row of a table likewise.
        let starred = match &strip(operand).kind {
            AstKind::Star(star) if is_plain(star) => star.of.as_ref().and_then(tree::Path::single),
            _ => None,
        };
        let named = names_of(strip(operand)).and_then(|names| names.first().filter(|_| names.len() == 1));
        if let Some(name) = starred.or(named)
            && (starred.is_some() || self.column(std::slice::from_ref(name))?.is_none())
            && let Some(columns) = self.columns_of_row(name)
        {
            let of = |(_, id): &(String, ColumnId)| {
                let input = Box::new(self.binder.column(*id));
                fold::fold(Expr::new(ExprKind::IsNull { input, negated }, Type::Boolean))
            };
            let parts: Vec<Expr> = columns.iter().map(of).collect();
            return Ok(Bound::typed(fold::and(parts), name.span));
        }
        let bound = self.bind(operand)?;
        let span = bound.span;
        let kind = ExprKind::IsNull { input: Box::new(bound.settled()), negated };
        Ok(Bound::typed(fold::fold(Expr::new(kind, Type::Boolean)), span))
    }

    /// A row that is written out is NULL where every field is, and NOT NULL where none is.
    fn is_row_null(&mut self, items: &[&'a Ast], negated: bool) -> Result<Bound> {
        let mut span = Span::default();
        let mut parts = Vec::with_capacity(items.len());
        for item in items {
            let bound = self.bind(item)?;
            span = span.to(bound.span);
            let kind = ExprKind::IsNull { input: Box::new(bound.settled()), negated };
            parts.push(fold::fold(Expr::new(kind, Type::Boolean)));
        }
        Ok(Bound::typed(fold::and(parts), span))
    }

    /// `x IS [NOT] TRUE` and `IS [NOT] FALSE`.
    fn is_boolean(&mut self, operand: &'a Ast, value: bool, negated: bool) -> Result<Bound> {
        let bound = self.bind_condition(operand)?;
        let span = bound.span;
        let input = Box::new(operator::condition(bound, "IS", self.text())?);
        let kind = ExprKind::IsBoolean { input, value, negated };
        Ok(Bound::typed(fold::fold(Expr::new(kind, Type::Boolean)), span))
    }

    /// `x IS [NOT] UNKNOWN`.
    fn is_unknown(&mut self, operand: &'a Ast, negated: bool) -> Result<Bound> {
        let bound = self.bind(operand)?;
        let span = bound.span;
        let input = Box::new(operator::condition(bound, "IS UNKNOWN", self.text())?);
        let kind = ExprKind::IsNull { input, negated };
        Ok(Bound::typed(fold::fold(Expr::new(kind, Type::Boolean)), span))
    }

    /// `x IS [NOT] DISTINCT FROM y`.
    fn distinct_from(&mut self, left: &'a Ast, right: &'a Ast, negated: bool) -> Result<Bound> {
        let (l, r) = (self.bind(left)?, self.bind(right)?);
        let span = l.span.to(r.span);
        Ok(Bound::typed(operator::not_distinct(l, r, negated, self.text())?, span))
    }

    /// `x [NOT] BETWEEN low AND high`.
    fn between(&mut self, operand: &'a Ast, negated: bool, low: &'a Ast, high: &'a Ast) -> Result<Bound> {
        let bound = self.bind(operand)?;
        let (low, high) = (self.bind(low)?, self.bind(high)?);
        let span = bound.span;
        let above = operator::comparison(Comparison::GreaterOrEqual, bound.clone(), low, self.text())?;
        let below = operator::comparison(Comparison::LessOrEqual, bound, high, self.text())?;
        let within = fold::and(vec![above, below]);
        Ok(Bound::typed(if negated { self::negated(within) } else { within }, span))
    }

    /// `x [NOT] IN (a, b, ...)`.
    fn in_list(&mut self, operand: &'a Ast, list: &'a [Ast], negated: bool) -> Result<Bound> {
        if let Some(left) = row_of(operand) {
            let mut rows = Vec::with_capacity(list.len());
            for item in list {
                let Some(right) = row_of(item) else { return Err(self.unsupported_expression(item)) };
                rows.push(self.row_comparison(Comparison::Equal, &left, &right)?.expr);
            }
            let found = fold::or(rows);
            return Ok(Bound::typed(if negated { self::negated(found) } else { found }, Span::default()));
        }
        let bound = self.bind(operand)?;
        let span = bound.span;
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            items.push(self.bind(item)?);
        }
        Ok(Bound::typed(in_list(bound, items, negated, self.text())?, span))
    }

    /// `(a, b) = (c, d)`.
    pub(crate) fn row_comparison(
        &mut self,
        op: Comparison,
        left: &[&'a Ast],
        right: &[&'a Ast],
    ) -> Result<Bound> {
        if left.len() != right.len() {
            return Err(Error::new(SqlState::SyntaxError, "unequal number of entries in row expressions"));
        }
        let mut span = Span::default();
        let (mut own, mut others) = (Vec::with_capacity(left.len()), Vec::with_capacity(right.len()));
        for (l, r) in left.iter().zip(right) {
            let (l, r) = (self.bind(l)?, self.bind(r)?);
            span = span.to(l.span);
            own.push(l);
            others.push(r);
        }
        Ok(Bound::typed(crate::bind::expression::rows::compared(op, own, others, self.text())?, span))
    }

    /// `x [NOT] LIKE pattern [ESCAPE c]`, and ILIKE.
    pub(crate) fn like(
        &mut self,
        input: Bound,
        pattern: Bound,
        escape: Escape<'_>,
        negated: bool,
        case_insensitive: bool,
    ) -> Result<Bound> {
        let input = coerce::labels_as_text(input);
        let span = input.span;
        for side in [&input, &pattern] {
            if !side.ty().is_text() && !side.is_null() {
                let error = Error::new(
                    SqlState::UndefinedFunction,
                    format!("operator does not exist: {} ~~ {}", input.ty(), pattern.ty()),
                )
                .with_hint("LIKE takes text; an explicit cast may help");
                return Err(place::at(error, self.text(), side.span));
            }
        }
        let escape = match escape {
            Escape::Unsaid => Some('\\'),
            Escape::Text(text) => {
                let mut characters = text.chars();
                match (characters.next(), characters.next()) {
                    (one, None) => one,
                    _ => {
                        let error = Error::new(SqlState::InvalidParameterValue, "invalid escape string")
                            .with_detail("it must be empty or one character");
                        return Err(place::at(error, self.text(), span));
                    }
                }
            }
            Escape::Other => return Err(Error::unsupported("ESCAPE takes a quoted character")),
        };
        if input.is_null() || pattern.is_null() {
            return Ok(Bound::typed(crate::bind::null_of(Type::Boolean), span));
        }
        let constant = pattern.expr.as_literal().and_then(Value::as_text).map(str::to_owned);
        let Some(constant) = constant else {
            if escape != Some('\\') {
                return Err(Error::unsupported(
                    "ESCAPE with a pattern that is not a constant is not supported",
                ));
            }
            let name = if case_insensitive { "ilike" } else { "like" };
            let kind = ExprKind::Library { name: name.into(), arguments: vec![input.expr, pattern.expr] };
            let expr = Expr::new(kind, Type::Boolean);
            return Ok(Bound::typed(if negated { self::negated(expr) } else { expr }, span));
        };
        let wanted = if case_insensitive { constant.to_lowercase() } else { constant };
        let Some(pattern) = LikePattern::new(&wanted, escape) else {
            let error = Error::new(
                SqlState::InvalidParameterValue,
                "LIKE pattern must not end with escape character",
            );
            return Err(place::at(error, self.text(), pattern.span));
        };
        let kind = ExprKind::Like {
            input: Box::new(input.expr),
            pattern: Arc::new(pattern),
            negated,
            case_insensitive,
        };
        Ok(Bound::typed(fold::fold(Expr::new(kind, Type::Boolean)), span))
    }
}

/// NOT, pushed into what has a negated form of its own; three-valued logic is kept.
pub(crate) fn negated(expr: Expr) -> Expr {
    use ExprKind as K;
    let ty = Type::Boolean;
    match expr.kind {
        K::Literal(Value::Bool(b)) => Expr::boolean(!b),
        K::Compare { op, left, right } => Expr::new(K::Compare { op: op.negated(), left, right }, ty),
        K::NotDistinct { left, right, negated } => {
            Expr::new(K::NotDistinct { left, right, negated: !negated }, ty)
        }
        K::IsNull { input, negated } => Expr::new(K::IsNull { input, negated: !negated }, ty),
        K::IsBoolean { input, value, negated } => {
            Expr::new(K::IsBoolean { input, value, negated: !negated }, ty)
        }
        K::Like { input, pattern, negated, case_insensitive } => {
            Expr::new(K::Like { input, pattern, negated: !negated, case_insensitive }, ty)
        }
        K::InList { input, values, has_null, negated } => {
            Expr::new(K::InList { input, values, has_null, negated: !negated }, ty)
        }
        K::Not(inner) => *inner,
        K::And(parts) => fold::or(parts.into_iter().map(negated).collect()),
        K::Or(parts) => fold::and(parts.into_iter().map(negated).collect()),
        kind => fold::fold(Expr::new(K::Not(Box::new(Expr::new(kind, ty))), ty)),
    }
}

/// What an item of an IN list costs, as `Pace` counts.
const SPENT_ON_ITEM: usize = 1024;

/// `x IN (a, b, ...)`: a sorted set of literals, or a disjunction when an item is not a literal.
fn in_list(operand: Bound, items: Vec<Bound>, negated: bool, text: &str) -> Result<Expr> {
    let span = operand.span;
    let (long, mut pace) = (items.len() >= LONG_LIST, Pace::new(Place::Bind));
    if items.iter().any(|i| i.expr.as_literal().is_none()) || operand.expr.as_literal().is_some() {
        let mut parts = Vec::with_capacity(items.len());
        for item in items {
            if long {
                pace.spend(SPENT_ON_ITEM)?;
            }
            parts.push(operator::comparison(Comparison::Equal, operand.clone(), item, text)?);
        }
        let found = fold::or(parts);
        return Ok(if negated { self::negated(found) } else { found });
    }
    let mut values = Vec::with_capacity(items.len());
    let mut has_null = false;
    let mut input: Option<Expr> = None;
    let mut wide: Vec<Expr> = Vec::new();
    for item in items {
        if long {
            pace.spend(SPENT_ON_ITEM)?;
        }
        if item.is_null() {
            has_null = true;
            continue;
        }
        let item_span = item.span;
        let typed_null = item.expr.as_literal().is_some_and(Value::is_null);
        let compared = operator::comparison(Comparison::Equal, operand.clone(), item, text)?;
        if typed_null {
            has_null = true;
            continue;
        }
        match compared.kind {
            ExprKind::Compare { left, right, .. } if left.ty == operand.ty() || left.ty.is_text() => {
                match right.as_literal() {
                    Some(value) => values.push(value.clone()),
                    None => return Err(place::at(Error::internal("IN item is no literal"), text, item_span)),
                }
                input.get_or_insert(*left);
            }
            // The literal has no exact place in the operand's type: the comparison stands for itself.
            _ => wide.push(compared),
        }
    }
    values.sort_unstable();
    values.dedup();
    let input = input.unwrap_or(operand.expr);
    let mut parts = Vec::new();
    match values.len() {
        0 if has_null => parts.push(crate::bind::null_of(Type::Boolean)),
        0 => {}
        1 if !has_null => {
            let literal = Expr::literal(values.remove(0), input.ty);
            parts.push(Expr::compare(Comparison::Equal, input, literal));
        }
        _ => {
            let kind =
                ExprKind::InList { input: Box::new(input), values: values.into(), has_null, negated: false };
            parts.push(Expr::new(kind, Type::Boolean));
        }
    }
    parts.extend(wide);
    let _ = span;
    let found = fold::or(parts);
    Ok(if negated { self::negated(found) } else { found })
}
