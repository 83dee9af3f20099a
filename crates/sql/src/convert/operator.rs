//! Operators and tests.
//!
//! Operators that the binder's tree lacks become calls of the functions that compute them, at the operator's place.
//! LIKE with ANY or ALL, and IN over a list value, become quantified operators and the internal call `IN_LIST`.
//! Called by `convert::expr`; precedence is decided in the grammar.

use sqlparser::ast::{self, Array, BinaryOperator, NormalizationForm, UnaryOperator, Value, ValueWithSpan};
use syntax::Span;
use syntax::tree::{self, ExprKind, OperatorKind};
use types::{Error, Result};

use super::Converter;
use super::call::{listed, plain, unnamed};
use super::expr::bracketed;
use super::query::marker;
use crate::made::IN_LIST;

impl Converter<'_> {
    /// An operator before its operand.
    pub(super) fn prefix(&self, operator: &tree::Operator, operand: &tree::Expr) -> Result<ast::Expr> {
        let op = match &operator.kind {
            OperatorKind::Not => match &operand.kind {
                ExprKind::Exists(query) => {
                    let subquery = Box::new(self.query(query)?);
                    return Ok(ast::Expr::Exists { subquery, negated: true });
                }
                _ => UnaryOperator::Not,
            },
            OperatorKind::Minus => UnaryOperator::Minus,
            OperatorKind::Plus => UnaryOperator::Plus,
            OperatorKind::Symbol(symbol) => match &**symbol {
                "~" => UnaryOperator::BitwiseNot,
                "|/" => UnaryOperator::PGSquareRoot,
                "||/" => UnaryOperator::PGCubeRoot,
                "@" => UnaryOperator::PGAbs,
                "!!" => UnaryOperator::PGPrefixFactorial,
                "#" => UnaryOperator::Hash,
                "@-@" => UnaryOperator::AtDashAt,
                "@@" => UnaryOperator::DoubleAt,
                "?-" => UnaryOperator::QuestionDash,
                "?|" => UnaryOperator::QuestionPipe,
                _ => return Err(self.unexpected(operator.span)),
            },
            _ => return Err(self.unexpected(operator.span)),
        };
        Ok(ast::Expr::UnaryOp { op, expr: self.boxed(operand)? })
    }

    /// Operators of one rank, from left to right.
    pub(super) fn chain(
        &self,
        first: &tree::Expr,
        rest: &[(tree::Operator, tree::Expr)],
    ) -> Result<ast::Expr> {
        let mut left = self.expr(first)?;
        for (operator, right) in rest {
            let op = self.operator(operator)?;
            left = ast::Expr::BinaryOp { left: Box::new(left), op, right: self.boxed(right)? };
        }
        Ok(left)
    }

    fn operator(&self, operator: &tree::Operator) -> Result<BinaryOperator> {
        use BinaryOperator as B;
        let tree::Operator { kind, span } = operator;
        Ok(match kind {
            OperatorKind::Or => B::Or,
            OperatorKind::And => B::And,
            OperatorKind::Equal => B::Eq,
            OperatorKind::NotEqual => B::NotEq,
            OperatorKind::Less => B::Lt,
            OperatorKind::LessEqual => B::LtEq,
            OperatorKind::Greater => B::Gt,
            OperatorKind::GreaterEqual => B::GtEq,
            OperatorKind::Plus => B::Plus,
            OperatorKind::Minus => B::Minus,
            OperatorKind::Times => B::Multiply,
            OperatorKind::Divide => B::Divide,
            OperatorKind::DivideWhole => B::DuckIntegerDivide,
            OperatorKind::Modulo => B::Modulo,
            OperatorKind::Power | OperatorKind::PowerStars => B::PGExp,
            OperatorKind::Symbol(symbol) => symbol_operator(symbol),
            OperatorKind::Qualified(path, symbol) => {
                let names = path.names.iter().map(|name| super::ident(name).to_string());
                B::PGCustomBinaryOperator(names.chain([symbol.to_string()]).collect())
            }
            OperatorKind::Not => return Err(self.unexpected(*span)),
        })
    }

    /// IS, IN, BETWEEN, LIKE, ANY and ALL, OVERLAPS.
    pub(super) fn test(&self, e: &tree::Expr) -> Result<ast::Expr> {
        match &e.kind {
            ExprKind::Is(test) => self.is_test(test, e.span),
            ExprKind::In(test) => self.in_test(test, e.span),
            ExprKind::Between(test) => self.between(test),
            ExprKind::Like(test) => self.like(test, e.span),
            ExprKind::Quantified(test) => self.quantified(test, e.span),
            ExprKind::Overlaps(left, right) => Ok(ast::Expr::BinaryOp {
                left: self.boxed(left)?,
                op: BinaryOperator::Overlaps,
                right: self.boxed(right)?,
            }),
            _ => Err(self.unexpected(e.span)),
        }
    }

    fn is_test(&self, test: &tree::IsTest, at: Span) -> Result<ast::Expr> {
        let tree::IsTest { expr, negated, test } = test;
        let expr = self.boxed(expr)?;
        Ok(match (test, negated) {
            (tree::IsKind::Null, false) => ast::Expr::IsNull(expr),
            (tree::IsKind::Null, true) => ast::Expr::IsNotNull(expr),
            (tree::IsKind::True, false) => ast::Expr::IsTrue(expr),
            (tree::IsKind::True, true) => ast::Expr::IsNotTrue(expr),
            (tree::IsKind::False, false) => ast::Expr::IsFalse(expr),
            (tree::IsKind::False, true) => ast::Expr::IsNotFalse(expr),
            (tree::IsKind::Unknown, false) => ast::Expr::IsUnknown(expr),
            (tree::IsKind::Unknown, true) => ast::Expr::IsNotUnknown(expr),
            (tree::IsKind::DistinctFrom(other), false) => ast::Expr::IsDistinctFrom(expr, self.boxed(other)?),
            (tree::IsKind::DistinctFrom(other), true) => {
                ast::Expr::IsNotDistinctFrom(expr, self.boxed(other)?)
            }
            (tree::IsKind::Normalized(form), negated) => {
                let form = match form.as_ref().map(|name| name.text.to_ascii_uppercase()).as_deref() {
                    None => None,
                    Some("NFC") => Some(NormalizationForm::NFC),
                    Some("NFD") => Some(NormalizationForm::NFD),
                    Some("NFKC") => Some(NormalizationForm::NFKC),
                    Some("NFKD") => Some(NormalizationForm::NFKD),
                    Some(_) => return Err(self.unexpected(at)),
                };
                ast::Expr::IsNormalized { expr, form, negated: *negated }
            }
            (tree::IsKind::Json(_), _) => return Err(self.unsupported("IS JSON", at)),
        })
    }

    fn in_test(&self, test: &tree::InTest, at: Span) -> Result<ast::Expr> {
        let tree::InTest { expr, negated, set } = test;
        let (expr, negated) = (self.boxed(expr)?, *negated);
        Ok(match set {
            tree::InSet::List(list) if list.is_empty() => {
                return Err(self.empty_brackets(at));
            }
            tree::InSet::List(list) => ast::Expr::InList { expr, list: self.exprs(list)?, negated },
            tree::InSet::Query(query) => {
                ast::Expr::InSubquery { expr, subquery: Box::new(self.query(query)?), negated }
            }
            // A list's elements; one that is NULL is no value that could be equal.
            tree::InSet::Expr(list) => {
                let between = Span { start: test.expr.span.end, end: list.span.start };
                negated_if(negated, made_call(IN_LIST, vec![self.expr(list)?, *expr], between))
            }
        })
    }

    /// Brackets with nothing in them, at the one that closes them.
    pub(super) fn empty_brackets(&self, at: Span) -> Error {
        let close = Span { start: at.end.saturating_sub(1).max(at.start), end: at.end };
        self.wrong("syntax error at or near \")\": expected an expression", close)
    }

    fn between(&self, test: &tree::BetweenTest) -> Result<ast::Expr> {
        let tree::BetweenTest { expr, negated, symmetric, low, high } = test;
        let (expr, low, high) = (self.boxed(expr)?, self.boxed(low)?, self.boxed(high)?);
        let negated = *negated;
        if !symmetric {
            return Ok(ast::Expr::Between { expr, negated, low, high });
        }
        // Between them in either order.
        let other = ast::Expr::Between { expr: expr.clone(), negated, low: high.clone(), high: low.clone() };
        let left = Box::new(ast::Expr::Between { expr, negated, low, high });
        let op = if negated { BinaryOperator::And } else { BinaryOperator::Or };
        Ok(ast::Expr::Nested(Box::new(ast::Expr::BinaryOp { left, op, right: Box::new(other) })))
    }

    fn like(&self, test: &tree::LikeTest, at: Span) -> Result<ast::Expr> {
        let tree::LikeTest { expr, negated, kind, quantifier, pattern, escape } = test;
        if let Some(quantifier) = quantifier {
            return self.quantified_pattern(test, *quantifier, at);
        }
        let between = Span { start: expr.span.end, end: pattern.span.start };
        let (expr, negated, pattern) = (self.boxed(expr)?, *negated, self.boxed(pattern)?);
        let escape_char = escape.as_ref().map(|escape| self.constant(escape)).transpose()?;
        Ok(match kind {
            tree::LikeKind::Like => ast::Expr::Like { negated, any: false, expr, pattern, escape_char },
            tree::LikeKind::ILike => ast::Expr::ILike { negated, any: false, expr, pattern, escape_char },
            tree::LikeKind::SimilarTo => ast::Expr::SimilarTo { negated, expr, pattern, escape_char },
            tree::LikeKind::RLike if escape_char.is_none() => {
                let regexp = self.text_of(between).to_ascii_lowercase().contains("regexp");
                ast::Expr::RLike { negated, expr, pattern, regexp }
            }
            tree::LikeKind::RLike => return Err(self.unsupported("ESCAPE of a regular expression", at)),
            tree::LikeKind::Glob if escape_char.is_none() => {
                let call = made_call(plan::functions::GLOB, vec![*expr, *pattern], between);
                negated_if(negated, call)
            }
            tree::LikeKind::Glob => return Err(self.unsupported("ESCAPE behind GLOB", at)),
        })
    }

    /// A constant where the tree has place for nothing else.
    pub(crate) fn constant(&self, e: &tree::Expr) -> Result<ValueWithSpan> {
        match self.expr(e)? {
            ast::Expr::Value(value) => Ok(value),
            _ => Err(self.wrong("syntax error: expected a constant", e.span)),
        }
    }

    /// `[NOT] LIKE ANY (...)`: the operators with ANY and ALL, over a list or a query.
    fn quantified_pattern(
        &self,
        test: &tree::LikeTest,
        quantifier: tree::Quantifier,
        at: Span,
    ) -> Result<ast::Expr> {
        let tree::LikeTest { expr, negated, kind, quantifier: _, pattern, escape } = test;
        let compare_op = match (kind, negated) {
            (tree::LikeKind::Like, false) => BinaryOperator::PGLikeMatch,
            (tree::LikeKind::Like, true) => BinaryOperator::PGNotLikeMatch,
            (tree::LikeKind::ILike, false) => BinaryOperator::PGILikeMatch,
            (tree::LikeKind::ILike, true) => BinaryOperator::PGNotILikeMatch,
            _ => return Err(self.unsupported("ANY and ALL behind patterns of this kind", at)),
        };
        if let Some(escape) = escape {
            return Err(self.unsupported("ESCAPE behind ANY and ALL", escape.span));
        }
        let between = Span { start: expr.span.end, end: pattern.span.start };
        let right = match &pattern.kind {
            ExprKind::Subquery(query) => ast::Expr::Subquery(Box::new(self.query(query)?)),
            ExprKind::Nested(one) => patterns(vec![self.expr(one)?]),
            ExprKind::Row { row: false, elements } => patterns(self.exprs(elements)?),
            _ => patterns(vec![self.expr(pattern)?]),
        };
        Ok(self.with_quantifier(self.boxed(expr)?, compare_op, quantifier, right, between))
    }

    fn quantified(&self, test: &tree::QuantifiedTest, at: Span) -> Result<ast::Expr> {
        let tree::QuantifiedTest { expr, operator, quantifier, set } = test;
        let compare_op = self.operator(operator)?;
        let right = match set {
            tree::InSet::Query(query) => self.subquery(bracketed(query).unwrap_or(query))?,
            tree::InSet::Expr(list) => self.expr(list)?,
            tree::InSet::List(list) => {
                let at = list.get(1).or(list.first()).map_or(at, |e| e.span);
                let error = Error::new(types::SqlState::SyntaxError, "ANY and ALL take a list or a query")
                    .with_hint("write the values as a list: ANY ([a, b])");
                return Err(self.at(error, at));
            }
        };
        let behind = Span { start: operator.span.end, end: at.end };
        Ok(self.with_quantifier(self.boxed(expr)?, compare_op, *quantifier, right, behind))
    }

    /// `words` are those between the operator and the bracket.
    fn with_quantifier(
        &self,
        left: Box<ast::Expr>,
        compare_op: BinaryOperator,
        quantifier: tree::Quantifier,
        right: ast::Expr,
        words: Span,
    ) -> ast::Expr {
        let right = Box::new(right);
        match quantifier {
            tree::Quantifier::All => ast::Expr::AllOp { left, compare_op, right },
            tree::Quantifier::Any => {
                let words = self.text_of(words).split('(').next().unwrap_or_default();
                let last = words.split_ascii_whitespace().last();
                let is_some = last.is_some_and(|word| word.eq_ignore_ascii_case("some"));
                ast::Expr::AnyOp { left, compare_op, right, is_some }
            }
        }
    }
}

/// A call that stands for an operator between two values, whose place it gets.
fn made_call(name: &str, values: Vec<ast::Expr>, at: Span) -> ast::Expr {
    let name = ast::ObjectName(vec![ast::ObjectNamePart::Identifier(marker(name, at))]);
    ast::Expr::Function(plain(name, listed(values.into_iter().map(unnamed).collect())))
}

fn negated_if(negated: bool, test: ast::Expr) -> ast::Expr {
    match negated {
        true => ast::Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(test) },
        false => test,
    }
}

/// Several patterns, or a text that is one: a list. One value: a list already.
fn patterns(mut elem: Vec<ast::Expr>) -> ast::Expr {
    let is_text = |e: &ast::Expr| matches!(e, ast::Expr::Value(v) if matches!(&v.value, Value::SingleQuotedString(t) if !t.starts_with('{')));
    match elem.pop() {
        Some(one) if elem.is_empty() && !is_text(&one) => one,
        last => {
            elem.extend(last);
            ast::Expr::Array(Array { elem, named: true })
        }
    }
}

/// An operator of signs between two operands.
fn symbol_operator(symbol: &str) -> BinaryOperator {
    use BinaryOperator as B;
    match symbol {
        "<=>" => B::Spaceship,
        ":=" => B::Assignment,
        "||" => B::StringConcat,
        "|" => B::BitwiseOr,
        "&" => B::BitwiseAnd,
        "<<" => B::PGBitwiseShiftLeft,
        ">>" => B::PGBitwiseShiftRight,
        "#" => B::PGBitwiseXor,
        "&&" => B::PGOverlap,
        "^@" => B::PGStartsWith,
        "~" => B::PGRegexMatch,
        "~*" => B::PGRegexIMatch,
        "!~" => B::PGRegexNotMatch,
        "!~*" => B::PGRegexNotIMatch,
        "~~" => B::PGLikeMatch,
        "~~*" => B::PGILikeMatch,
        "!~~" => B::PGNotLikeMatch,
        "!~~*" => B::PGNotILikeMatch,
        "->" => B::Arrow,
        "->>" => B::LongArrow,
        "#>" => B::HashArrow,
        "#>>" => B::HashLongArrow,
        "@>" => B::AtArrow,
        "<@" => B::ArrowAt,
        "#-" => B::HashMinus,
        "@?" => B::AtQuestion,
        "@@" => B::AtAt,
        "?" => B::Question,
        "?&" => B::QuestionAnd,
        "?|" => B::QuestionPipe,
        "##" => B::DoubleHash,
        "&<" => B::AndLt,
        "&>" => B::AndGt,
        "?-" => B::QuestionDash,
        "&<|" => B::AndLtPipe,
        "|&>" => B::PipeAndGt,
        "<->" => B::LtDashGt,
        "<^" => B::LtCaret,
        ">^" => B::GtCaret,
        "?#" => B::QuestionHash,
        "?||" => B::QuestionDoublePipe,
        "?-|" => B::QuestionDashPipe,
        "~=" => B::TildeEq,
        "<<|" => B::LtLtPipe,
        "|>>" => B::PipeGtGt,
        "@" => B::At,
        other => B::Custom(other.to_owned()),
    }
}
