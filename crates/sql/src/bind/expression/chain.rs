//! Operators: those between operands, one rank at a time, and those before one.
//!
//! A chain of operators is bound in a loop, from left to right, so that its length costs no stack. Each operator but the
//! first has what stands to its left bound already; only the first one sees its left side as it is written, which
//! counts for rows, TRUE and FALSE, and numbers. AND and OR are opened into the list of their operands. Called by
//! `bind::expression`.

use plan::{Arithmetic, Expr};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind, OperatorKind};
use types::stop::{self, Place};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use crate::bind::expression::coerce::{self, Bound};
use crate::bind::expression::predicate::{Escape, negated, row_of};
use crate::bind::expression::{ExprBinder, fold, literal, literal_span, operator, strip, wide};
use crate::bind::function::own;
pub(crate) use crate::bind::nodes::is_connective;
use crate::bind::refusal;
use crate::{place, stack};

/// The operators of signs between two operands, without comparisons and arithmetic.
const SYMBOLS: [&str; 28] = [
    "||", "|", "&", "<<", ">>", "#", "&&", "^@", "~", "~*", "!~", "!~*", "~~", "~~*", "!~~", "!~~*", "->",
    "->>", "#>", "#>>", "@>", "<@", "#-", "?", "?&", "?|", "@?", "@@",
];

/// The operators of signs before an operand.
const PREFIXES: [&str; 10] = ["~", "|/", "||/", "@", "!!", "#", "@-@", "@@", "?-", "?|"];

/// What stands to the left of an operator.
enum Left<'a> {
    /// The first operand of a chain.
    Written(&'a Ast),
    /// What the operators before make of theirs.
    Bound(Bound),
}

/// The operator that `OPERATOR(pg_catalog.+)` means, where that is how it is written.
fn catalogs(operator: &tree::Operator) -> Option<OperatorKind> {
    let OperatorKind::Qualified(path, symbol) = &operator.kind else { return None };
    let in_catalog = path.single().is_some_and(|schema| crate::bind::folded(schema) == crate::PG_CATALOG);
    in_catalog.then(|| OperatorKind::of_symbol(symbol))
}

impl<'a> ExprBinder<'_, 'a> {
    /// Operators of one rank, applied from left to right.
    pub(crate) fn chain(
        &mut self,
        ast: &'a Ast,
        first: &'a Ast,
        rest: &'a [(tree::Operator, Ast)],
    ) -> Result<Bound> {
        match rest.first().map(|(operator, _)| &operator.kind) {
            Some(OperatorKind::And) => return self.connective(ast, true),
            Some(OperatorKind::Or) => return self.connective(ast, false),
            _ => {}
        }
        if self.depth + rest.len() > stack::DEPTH_MAX {
            return Err(stack::too_deep());
        }
        if rest.iter().any(|(operator, _)| catalogs(operator).is_some()) {
            let plain = rest.iter().map(|(operator, right)| {
                let kind = catalogs(operator).unwrap_or_else(|| operator.kind.clone());
                (tree::Operator { kind, span: operator.span }, right.clone())
            });
            let kind = AstKind::Chain(Box::new(first.clone()), plain.collect());
            return self.bind(self.binder.texts.keep_expr(Ast { kind, span: ast.span }));
        }
        for (at, (operator, _)) in rest.iter().enumerate().rev() {
            let span = if at == 0 { literal_span(first) } else { Span::default() };
            self.is_known(operator, span)?;
        }
        // Beside TRUE or FALSE stands a condition, with all that is in it.
        let compared = |(operator, right): &(tree::Operator, Ast)| {
            comparison_of(&operator.kind).is_some() && is_truth(right)
        };
        let conditions = rest.iter().rposition(compared).unwrap_or(0);
        let (mut left, grouped) = match self.grouped_prefix(first, rest) {
            Some((bound, count)) => (Left::Bound(bound), count),
            None => (Left::Written(first), 0),
        };
        for (at, (operator, right)) in rest.iter().enumerate().skip(grouped) {
            stop::check(Place::Bind)?;
            let outside = self.in_condition;
            self.in_condition |= at < conditions;
            let bound = self.binary(left, operator, right);
            self.in_condition = outside;
            left = Left::Bound(bound?);
        }
        match left {
            Left::Bound(bound) => Ok(bound),
            Left::Written(only) => self.bind(only),
        }
    }

    /// What GROUP BY knows of a chain's longest beginning, and how many operators that has.
    fn grouped_prefix(&self, first: &Ast, rest: &[(tree::Operator, Ast)]) -> Option<(Bound, usize)> {
        let known = self.aggregates.as_ref()?.grouped.iter().filter_map(|(group, expr)| match &group.kind {
            AstKind::Chain(start, more)
                if more.len() < rest.len() && **start == *first && rest.starts_with(more) =>
            {
                Some((expr, more.len()))
            }
            _ => None,
        });
        let (expr, count) = known.max_by_key(|(_, count)| *count)?;
        Some((Bound::typed(expr.clone(), Span::default()), count))
    }

    /// An error for an operator that there is not; `left` is the place of its left side.
    fn is_known(&self, operator: &tree::Operator, left: Span) -> Result<()> {
        let shown = match &operator.kind {
            OperatorKind::Not => return Err(refusal::unexpected(self.text(), operator.span)),
            OperatorKind::Symbol(symbol) if !SYMBOLS.contains(&&**symbol) => symbol.to_string(),
            OperatorKind::Qualified(path, symbol) => format!("OPERATOR({path}.{symbol})"),
            _ => return Ok(()),
        };
        Err(refusal::unsupported(format!("operator {shown}"), self.text(), left))
    }

    fn left(&mut self, left: Left<'a>) -> Result<Bound> {
        match left {
            Left::Written(ast) => self.bind(ast),
            Left::Bound(bound) => Ok(bound),
        }
    }

    fn binary(&mut self, left: Left<'a>, operator: &'a tree::Operator, right: &'a Ast) -> Result<Bound> {
        if let Some(comparison) = comparison_of(&operator.kind) {
            return self.comparison(left, comparison, right);
        }
        let arithmetic = match &operator.kind {
            OperatorKind::Plus => Arithmetic::Add,
            OperatorKind::Minus => Arithmetic::Subtract,
            OperatorKind::Times => Arithmetic::Multiply,
            OperatorKind::Divide => Arithmetic::Divide,
            OperatorKind::Modulo => Arithmetic::Modulo,
            OperatorKind::DivideWhole => {
                let (l, r) = self.numbers(left, right)?;
                let span = l.span.to(r.span);
                return Ok(Bound::typed(self.whole_quotient(l, r, span)?, span));
            }
            OperatorKind::Power | OperatorKind::PowerStars => {
                let (l, r) = (self.left(left)?, self.bind(right)?);
                let span = l.span;
                return self.apply("power", vec![l, r], span);
            }
            OperatorKind::Symbol(symbol) => return self.symbol(left, symbol, right),
            _ => return Err(refusal::unexpected(self.text(), operator.span)),
        };
        let (l, r) = self.numbers(left, right)?;
        let span = l.span.to(r.span);
        if arithmetic == Arithmetic::Subtract && l.ty() == Type::Jsonb {
            return self.jsonb_operator("jsonb_minus", l, r);
        }
        Ok(Bound::typed(operator::arithmetic(arithmetic, l, r, self.text())?, span))
    }

    fn comparison(&mut self, left: Left<'a>, op: Comparison, right: &'a Ast) -> Result<Bound> {
        let mut conditions = is_truth(right);
        if let Left::Written(written) = left {
            if let (Some(l), Some(r)) = (row_of(written), row_of(right)) {
                return self.row_comparison(op, &l, &r);
            }
            if let Some(bound) = self.row_with_subquery(op, written, right)? {
                return Ok(bound);
            }
            conditions |= is_truth(written);
        }
        // Beside TRUE or FALSE stands a condition.
        let outside = self.in_condition;
        self.in_condition |= conditions;
        let operands = (self.left(left), self.bind(right));
        self.in_condition = outside;
        let (l, r) = (operands.0?, operands.1?);
        let span = l.span.to(r.span);
        let compared = operator::comparison(op, l, r, self.text())?;
        Ok(Bound::typed(operator::literal_right(compared), span))
    }

    fn symbol(&mut self, left: Left<'a>, symbol: &str, right: &'a Ast) -> Result<Bound> {
        let (l, r) = (self.left(left)?, self.bind(right)?);
        let span = l.span.to(r.span);
        match symbol {
            "||" => {
                let of_json = |b: &Bound| b.ty().is_json() || b.untyped || b.is_null();
                if (l.ty() == Type::Jsonb || r.ty() == Type::Jsonb) && of_json(&l) && of_json(&r) {
                    return self.jsonb_operator("jsonb_concat", l, r);
                }
                Ok(Bound::typed(operator::concatenate(l, r, self.text())?, span))
            }
            "~~" => self.like(l, r, Escape::Unsaid, false, false),
            "!~~" => self.like(l, r, Escape::Unsaid, true, false),
            "~~*" => self.like(l, r, Escape::Unsaid, false, true),
            "!~~*" => self.like(l, r, Escape::Unsaid, true, true),
            "~" => self.regular_expression(l, r, false, false),
            "!~" => self.regular_expression(l, r, true, false),
            "~*" => self.regular_expression(l, r, false, true),
            "!~*" => self.regular_expression(l, r, true, true),
            "^@" => {
                let span = l.span;
                self.apply("starts_with", vec![l, r], span)
            }
            "#-" => self.jsonb_operator("jsonb_delete_path", l, r),
            "&" => own::bits("&", l, r, self.text()),
            "|" => own::bits("|", l, r, self.text()),
            "#" => own::bits("#", l, r, self.text()),
            "<<" => own::bits("<<", l, r, self.text()),
            ">>" => own::bits(">>", l, r, self.text()),
            _ => self.nested_operator(symbol, l, r),
        }
    }

    /// The operands of arithmetic. A number that is written next to a TINYINT, an unsigned integer or a HUGEINT is of
    /// that type where it fits, as in DuckDB.
    fn numbers(&mut self, left: Left<'a>, right: &'a Ast) -> Result<(Bound, Bound)> {
        let number_left = matches!(left, Left::Written(written) if is_number(written));
        let (mut l, mut r) = (self.left(left)?, self.bind(right)?);
        let (lt, rt) = (l.ty(), r.ty());
        if lt.is_ranged_integer() && is_number(right) && coerce::holds_literal(lt, &r.expr) {
            r.expr = coerce::cast(r.expr, lt);
        } else if rt.is_ranged_integer() && number_left && coerce::holds_literal(rt, &l.expr) {
            l.expr = coerce::cast(l.expr, rt);
        }
        Ok((l, r))
    }

    /// An operator of JSONB, under the name of a call.
    fn jsonb_operator(&mut self, name: &str, left: Bound, right: Bound) -> Result<Bound> {
        let span = left.span.to(right.span);
        match self.nested_call(name, &[left, right], span)? {
            Some(expr) => Ok(Bound::typed(fold::fold(expr), span)),
            None => Err(Error::internal("an operator of JSONB")),
        }
    }

    /// A chain of ANDs or ORs, without recursion along the chain.
    fn connective(&mut self, ast: &'a Ast, and: bool) -> Result<Bound> {
        let mut parts = Vec::new();
        operands(ast, and, &mut parts);
        let mut bound = Vec::with_capacity(parts.len());
        let mut span = Span::default();
        for part in parts {
            let operand = self.bind_condition(part)?;
            span = span.to(operand.span);
            bound.push(operator::condition(operand, if and { "AND" } else { "OR" }, self.text())?);
        }
        let expr = if and { fold::and(bound) } else { fold::or(bound) };
        Ok(Bound::typed(expr, span))
    }

    /// An operator before its operand.
    pub(crate) fn prefix(&mut self, operator: &'a tree::Operator, operand: &'a Ast) -> Result<Bound> {
        let symbol: &str = match &operator.kind {
            OperatorKind::Not => {
                if let AstKind::Exists(query) = &operand.kind {
                    return self.exists(query, true);
                }
                let bound = self.bind_condition(operand)?;
                let span = bound.span;
                let input = operator::condition(bound, "NOT", self.text())?;
                return Ok(Bound::typed(negated(input), span));
            }
            OperatorKind::Minus => "-",
            OperatorKind::Plus => "+",
            OperatorKind::Symbol(symbol) if PREFIXES.contains(&&**symbol) => symbol,
            _ => return Err(refusal::unexpected(self.text(), operator.span)),
        };
        if let (AstKind::Literal(tree::Literal::Number(digits)), "-") = (&operand.kind, symbol)
            && **digits == *literal::LEAST_HUGEINT
        {
            return Ok(Bound::typed(Expr::literal(Value::I128(i128::MIN), Type::HugeInt), operand.span));
        }
        let bound = self.bind(operand)?;
        let span = bound.span;
        match symbol {
            "-" => Ok(Bound::typed(operator::negate(bound, self.text())?, span)),
            "+" if bound.ty().is_numeric() || bound.ty().is_interval() => Ok(bound),
            "@" => self.apply("abs", vec![bound], span),
            "|/" => self.apply("sqrt", vec![bound], span),
            "||/" => self.apply("cbrt", vec![bound], span),
            "~" | "+" if bound.ty().is_wide_integer() => {
                match wide::function(symbol, std::slice::from_ref(&bound)) {
                    Some(expr) => Ok(Bound::typed(expr, span)),
                    None => Ok(bound),
                }
            }
            "~" if bound.ty().is_bits() => Ok(crate::bind::function::bits::inverted(bound)),
            "~" if bound.ty().is_integer() => {
                match own::call(plan::functions::BITWISE_NOT, std::slice::from_ref(&bound), self.text())? {
                    Some(expr) => Ok(Bound::typed(expr, span)),
                    None => Err(Error::internal("an operator on bits")),
                }
            }
            other => {
                let error = Error::new(
                    SqlState::UndefinedFunction,
                    format!("operator does not exist: {other} {}", bound.ty()),
                );
                Err(place::at(error, self.text(), span))
            }
        }
    }
}

/// The comparison that an operator is.
pub(crate) fn comparison_of(operator: &OperatorKind) -> Option<Comparison> {
    Some(match operator {
        OperatorKind::Equal => Comparison::Equal,
        OperatorKind::NotEqual => Comparison::NotEqual,
        OperatorKind::Less => Comparison::Less,
        OperatorKind::LessEqual => Comparison::LessOrEqual,
        OperatorKind::Greater => Comparison::Greater,
        OperatorKind::GreaterEqual => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

/// The operands of a chain of ANDs (or ORs), left to right, brackets of the same kind opened.
pub(crate) fn operands<'a>(ast: &'a Ast, and: bool, out: &mut Vec<&'a Ast>) {
    let wanted = if and { OperatorKind::And } else { OperatorKind::Or };
    let is_wanted =
        |rest: &[(tree::Operator, Ast)]| rest.first().is_some_and(|(operator, _)| operator.kind == wanted);
    let mut open = vec![ast];
    while let Some(next) = open.pop() {
        match &next.kind {
            AstKind::Chain(first, rest) if is_wanted(rest) => {
                open.extend(rest.iter().rev().map(|(_, operand)| operand));
                open.push(first);
            }
            AstKind::Nested(_) if matches!(&strip(next).kind, AstKind::Chain(_, rest) if is_wanted(rest)) => {
                open.push(strip(next));
            }
            _ => out.push(next),
        }
    }
}

/// A number as it is written, with or without a sign.
fn is_number(ast: &Ast) -> bool {
    match &ast.kind {
        AstKind::Literal(tree::Literal::Number(_)) => true,
        AstKind::Prefix(operator, operand) => {
            matches!(operator.kind, OperatorKind::Minus | OperatorKind::Plus) && is_number(operand)
        }
        AstKind::Nested(inner) => is_number(inner),
        _ => false,
    }
}

/// TRUE or FALSE, as it is written.
fn is_truth(ast: &Ast) -> bool {
    matches!(ast.kind, AstKind::Literal(tree::Literal::Bool(_)))
}
