//! Expressions, by precedence climbing. The ranks are PostgreSQL's, low to high:
//!
//! ```text
//!  OR | AND | NOT | IS | comparisons | BETWEEN IN LIKE OVERLAPS | other operators | + - | * / // % | ^ ** |
//!  AT TIME ZONE | COLLATE | signs | [] :: .
//! ```

use super::{Parsed, Parser};
use crate::error::SyntaxError;
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    BetweenTest, CastCall, CastStyle, Expr, ExprKind, InSet, InTest, IsKind, IsTest, LikeKind, LikeTest,
    Literal, Operator, OperatorKind, QuantifiedTest, Quantifier, SliceStep,
};

/// How tightly an operator binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u8);

impl Rank {
    pub(crate) const LOWEST: Rank = Rank(0);
    const OR: Rank = Rank(1);
    const AND: Rank = Rank(2);
    const NOT: Rank = Rank(3);
    const IS: Rank = Rank(4);
    const COMPARISON: Rank = Rank(5);
    const RANGE: Rank = Rank(6);
    pub(crate) const OTHER: Rank = Rank(7);
    const SUM: Rank = Rank(8);
    const PRODUCT: Rank = Rank(9);
    const POWER: Rank = Rank(10);
    const ZONE: Rank = Rank(11);
    const COLLATE: Rank = Rank(12);
    const SIGN: Rank = Rank(13);
    const POSTFIX: Rank = Rank(14);

    const fn above(self) -> Rank {
        Rank(self.0 + 1)
    }
}

/// What may follow an operand.
enum Infix {
    Binary(Rank),
    Is,
    In,
    Between,
    Like(LikeKind),
    Overlaps,
    Zone,
    Collate,
    Cast,
    Subscript,
    Field,
}

impl Parser<'_> {
    /// An expression.
    pub(crate) fn expr(&mut self) -> Parsed<Expr> {
        self.expr_above(Rank::LOWEST)
    }

    /// An expression without AND, OR, NOT, IS and comparisons of its own: what stands where those words belong to the
    /// grammar around it.
    pub(crate) fn operand(&mut self) -> Parsed<Expr> {
        self.expr_above(Rank::OTHER)
    }

    /// An expression whose operators bind at least this tightly.
    #[inline]
    pub(crate) fn expr_above(&mut self, least: Rank) -> Parsed<Expr> {
        match self.lone_literal() {
            Some(literal) => Ok(literal),
            None => self.any_expr_above(least),
        }
    }

    /// A number or a text that is all of an expression, as most values of an INSERT are.
    #[inline]
    fn lone_literal(&mut self) -> Option<Expr> {
        let token = self.peek();
        if !matches!(token.kind, Kind::Number | Kind::Text)
            || !matches!(self.peek_at(1).kind, Kind::Comma | Kind::RightParen)
        {
            return None;
        }
        let source = self.source(token);
        let literal = match token.kind {
            Kind::Number => Literal::Number(source.into()),
            _ => {
                let inner = &source[1..source.len() - 1];
                if inner.contains('\'') {
                    return None;
                }
                Literal::Text(inner.into())
            }
        };
        self.advance();
        self.height = self.height.max(1);
        Some(Expr { kind: ExprKind::Literal(literal), span: token.span })
    }

    fn any_expr_above(&mut self, least: Rank) -> Parsed<Expr> {
        self.pace()?;
        self.nested(|p| {
            let first = p.prefixed()?;
            p.continued(first, least)
        })
    }

    /// What begins an expression: a sign or a NOT, or an operand.
    fn prefixed(&mut self) -> Parsed<Expr> {
        let start = self.here();
        let (kind, rank) = match self.peek().kind {
            Kind::Word if self.is(K::NOT) => (OperatorKind::Not, Rank::NOT),
            Kind::Operator => match self.source(self.peek()) {
                "-" => (OperatorKind::Minus, Rank::SIGN),
                "+" => (OperatorKind::Plus, Rank::SIGN),
                "*" => return self.primary(),
                "#" if self.peek_at(1).kind == Kind::Number && self.peek().touches(&self.peek_at(1)) => {
                    return self.primary();
                }
                symbol => (OperatorKind::Symbol(symbol.into()), Rank::OTHER),
            },
            Kind::Word if self.is(K::OPERATOR) && self.peek_at(1).kind == Kind::LeftParen => {
                let kind = self.qualified_operator()?;
                let operator = Operator { kind, span: self.span_from(start) };
                let operand = self.expr_above(Rank::OTHER)?;
                let kind = ExprKind::Prefix(operator, Box::new(operand));
                return Ok(Expr { kind, span: self.span_from(start) });
            }
            _ => return self.primary(),
        };
        let operator = Operator { kind, span: self.advance().span };
        let operand = self.expr_above(rank)?;
        Ok(Expr { kind: ExprKind::Prefix(operator, Box::new(operand)), span: self.span_from(start) })
    }

    /// What follows an operand, as far as it binds at least this tightly.
    pub(crate) fn continued(&mut self, first: Expr, least: Rank) -> Parsed<Expr> {
        let mut left = first;
        while let Some(infix) = self.infix(least) {
            left = match infix {
                Infix::Binary(rank) => self.chain(left, rank)?,
                Infix::Is => self.is_test(left)?,
                Infix::In => self.in_test(left)?,
                Infix::Between => self.between(left)?,
                Infix::Like(kind) => self.like(left, kind)?,
                Infix::Overlaps => {
                    self.advance();
                    let right = self.expr_above(Rank::RANGE.above())?;
                    wrap(left, right.span, |left| ExprKind::Overlaps(left, Box::new(right)))
                }
                Infix::Zone => self.at_time_zone(left)?,
                Infix::Collate => {
                    self.advance();
                    let collation = self.path("a collation")?;
                    let span = collation.span();
                    wrap(left, span, |left| ExprKind::Collate(left, collation))
                }
                Infix::Cast => {
                    self.advance();
                    let to = self.type_name()?;
                    let span = left.span.to(to.span);
                    let call = CastCall { style: CastStyle::Colons, expr: left, to };
                    Expr { kind: ExprKind::Cast(Box::new(call)), span }
                }
                Infix::Subscript => self.subscript(left)?,
                Infix::Field => {
                    self.advance();
                    if self.is_operator("*") {
                        let span = self.advance().span;
                        wrap(left, span, |left| ExprKind::Field(left, None))
                    } else {
                        self.field_or_method(left)?
                    }
                }
            };
            self.wrapped()?;
        }
        Ok(left)
    }

    /// `e.field`, `e.function(...)`.
    fn field_or_method(&mut self, left: Expr) -> Parsed<Expr> {
        let name = self.label("a field's name")?;
        let span = name.span;
        if !self.is_kind(Kind::LeftParen) {
            return Ok(wrap(left, span, |left| ExprKind::Field(left, Some(name))));
        }
        let call = self.call(crate::tree::Path { names: vec![name] }, span)?;
        match call.kind {
            ExprKind::Call(method) => Ok(wrap(left, call.span, |left| ExprKind::Method(left, method))),
            kind => Ok(Expr { kind, span: call.span }),
        }
    }

    /// What follows the operand, if it binds at least this tightly.
    fn infix(&self, least: Rank) -> Option<Infix> {
        let token = self.peek();
        let (rank, infix) = match token.kind {
            Kind::Operator => {
                let rank = binary_rank(self.source(token));
                (rank, Infix::Binary(rank))
            }
            // Behind an operand it is the operator of JSON.
            Kind::Question => (Rank::OTHER, Infix::Binary(Rank::OTHER)),
            Kind::DoubleColon => (Rank::POSTFIX, Infix::Cast),
            Kind::LeftBracket => (Rank::POSTFIX, Infix::Subscript),
            Kind::Dot => (Rank::POSTFIX, Infix::Field),
            Kind::Word => self.word_infix()?,
            _ => return None,
        };
        (rank >= least).then_some(infix)
    }

    fn word_infix(&self) -> Option<(Rank, Infix)> {
        Some(match self.word() {
            K::AND => (Rank::AND, Infix::Binary(Rank::AND)),
            K::OR => (Rank::OR, Infix::Binary(Rank::OR)),
            K::IS | K::ISNULL | K::NOTNULL => (Rank::IS, Infix::Is),
            K::IN => (Rank::RANGE, Infix::In),
            K::BETWEEN => (Rank::RANGE, Infix::Between),
            K::LIKE => (Rank::RANGE, Infix::Like(LikeKind::Like)),
            K::ILIKE => (Rank::RANGE, Infix::Like(LikeKind::ILike)),
            K::GLOB if self.glob_follows(1) => (Rank::RANGE, Infix::Like(LikeKind::Glob)),
            K::RLIKE | K::REGEXP if self.glob_follows(1) => (Rank::RANGE, Infix::Like(LikeKind::RLike)),
            K::SIMILAR if self.word_at(1) == K::TO => (Rank::RANGE, Infix::Like(LikeKind::SimilarTo)),
            K::NOT => match self.word_at(1) {
                K::IN => (Rank::RANGE, Infix::In),
                K::BETWEEN => (Rank::RANGE, Infix::Between),
                K::LIKE => (Rank::RANGE, Infix::Like(LikeKind::Like)),
                K::ILIKE => (Rank::RANGE, Infix::Like(LikeKind::ILike)),
                K::GLOB => (Rank::RANGE, Infix::Like(LikeKind::Glob)),
                K::RLIKE | K::REGEXP => (Rank::RANGE, Infix::Like(LikeKind::RLike)),
                K::SIMILAR => (Rank::RANGE, Infix::Like(LikeKind::SimilarTo)),
                K::NULL => (Rank::IS, Infix::Is),
                _ => return None,
            },
            K::OVERLAPS => (Rank::RANGE, Infix::Overlaps),
            K::AT if matches!(self.word_at(1), K::TIME | K::LOCAL) => (Rank::ZONE, Infix::Zone),
            K::COLLATE => (Rank::COLLATE, Infix::Collate),
            K::OPERATOR if self.peek_at(1).kind == Kind::LeftParen => {
                (Rank::OTHER, Infix::Binary(Rank::OTHER))
            }
            _ => return None,
        })
    }

    /// GLOB, RLIKE and REGEXP are names unless a pattern follows.
    fn glob_follows(&self, ahead: usize) -> bool {
        let next = self.peek_at(ahead);
        super::literal::is_text(next.kind)
            || matches!(next.kind, Kind::LeftParen | Kind::Parameter | Kind::Question)
            || self.word_at(ahead) == K::NULL
            || self.is_name_at(ahead)
    }

    /// Operators of one rank with their operands, from the first of them on.
    fn chain(&mut self, first: Expr, rank: Rank) -> Parsed<Expr> {
        let mut rest: Vec<(Operator, Expr)> = Vec::new();
        let mut first = first;
        loop {
            let operator = self.operator()?;
            let quantifier = match self.word() {
                K::ANY | K::SOME if self.peek_at(1).kind == Kind::LeftParen => Some(Quantifier::Any),
                K::ALL if self.peek_at(1).kind == Kind::LeftParen => Some(Quantifier::All),
                _ => None,
            };
            if let Some(quantifier) = quantifier {
                self.advance();
                let (set, span) = self.quantified_set()?;
                let expr = chained(first, std::mem::take(&mut rest));
                let whole = expr.span.to(span);
                let test = QuantifiedTest { expr, operator, quantifier, set };
                first = Expr { kind: ExprKind::Quantified(Box::new(test)), span: whole };
                self.wrapped()?;
            } else {
                rest.push((operator, self.expr_above(rank.above())?));
            }
            match self.infix(rank) {
                Some(Infix::Binary(next)) if next == rank => {}
                _ => return Ok(chained(first, rest)),
            }
        }
    }

    /// What stands in the parentheses of ANY and ALL, and up to where.
    fn quantified_set(&mut self) -> Parsed<(InSet, crate::Span)> {
        let start = self.here();
        let set = match self.parenthesised()?.kind {
            ExprKind::Subquery(query) => InSet::Query(query),
            ExprKind::Nested(inner) => InSet::Expr(*inner),
            ExprKind::Row { elements, .. } => InSet::List(elements),
            kind => InSet::Expr(Expr { kind, span: self.span_from(start) }),
        };
        Ok((set, self.span_from(start)))
    }

    /// An operator between two operands.
    fn operator(&mut self) -> Parsed<Operator> {
        let token = self.peek();
        let kind = match token.kind {
            Kind::Word => match token.keyword {
                K::AND => OperatorKind::And,
                K::OR => OperatorKind::Or,
                _ => {
                    let kind = self.qualified_operator()?;
                    return Ok(Operator { kind, span: self.span_from(token.span) });
                }
            },
            Kind::Question => OperatorKind::Symbol("?".into()),
            _ => OperatorKind::of_symbol(self.source(token)),
        };
        self.advance();
        Ok(Operator { kind, span: token.span })
    }

    /// `OPERATOR(schema.+)`.
    fn qualified_operator(&mut self) -> Parsed<OperatorKind> {
        self.expect(K::OPERATOR)?;
        self.expect_kind(Kind::LeftParen)?;
        let mut names = Vec::new();
        while self.is_label_at(0) && self.peek_at(1).kind == Kind::Dot {
            names.push(self.label("a schema")?);
            self.advance();
        }
        if !matches!(self.peek().kind, Kind::Operator | Kind::Question) {
            return Err(self.expected("an operator"));
        }
        let token = self.advance();
        let symbol = self.source(token).into();
        self.expect_kind(Kind::RightParen)?;
        Ok(OperatorKind::Qualified(crate::tree::Path { names }, symbol))
    }

    /// `IS [NOT] ...`, `ISNULL`, `NOTNULL`, `NOT NULL`.
    fn is_test(&mut self, expr: Expr) -> Parsed<Expr> {
        let mut negated = false;
        let word = self.advance().keyword;
        let test = match word {
            K::ISNULL => IsKind::Null,
            K::NOTNULL => {
                negated = true;
                IsKind::Null
            }
            K::NOT => {
                self.expect(K::NULL)?;
                negated = true;
                IsKind::Null
            }
            _ => {
                negated = self.eat(K::NOT);
                self.is_kind_of_test()?
            }
        };
        let span = self.span_from(expr.span);
        Ok(Expr { kind: ExprKind::Is(Box::new(IsTest { expr, negated, test })), span })
    }

    fn is_kind_of_test(&mut self) -> Parsed<IsKind> {
        let kind = match self.word() {
            K::NULL => IsKind::Null,
            K::TRUE => IsKind::True,
            K::FALSE => IsKind::False,
            K::UNKNOWN => IsKind::Unknown,
            K::DISTINCT => {
                self.advance();
                self.expect(K::FROM)?;
                return Ok(IsKind::DistinctFrom(self.expr_above(Rank::COMPARISON.above())?));
            }
            K::NORMALIZED => IsKind::Normalized(None),
            K::NFC | K::NFD | K::NFKC | K::NFKD if self.word_at(1) == K::NORMALIZED => {
                let form = self.label("a form")?;
                self.advance();
                return Ok(IsKind::Normalized(Some(form)));
            }
            K::JSON => {
                self.advance();
                let part = match self.word() {
                    K::VALUE | K::SCALAR | K::ARRAY | K::OBJECT => Some(self.label("a kind of JSON")?),
                    _ => None,
                };
                return Ok(IsKind::Json(part));
            }
            _ => return Err(self.expected("NULL, NOT NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")),
        };
        self.advance();
        Ok(kind)
    }

    fn in_test(&mut self, expr: Expr) -> Parsed<Expr> {
        let negated = self.eat(K::NOT);
        self.expect(K::IN)?;
        let set = match self.is_kind(Kind::LeftParen) {
            true => self.in_set()?,
            false => InSet::Expr(self.expr_above(Rank::OTHER)?),
        };
        let span = self.span_from(expr.span);
        Ok(Expr { kind: ExprKind::In(Box::new(InTest { expr, negated, set })), span })
    }

    /// What stands in parentheses behind IN.
    fn in_set(&mut self) -> Parsed<InSet> {
        if self.peek_at(1).kind == Kind::RightParen {
            self.advance();
            self.advance();
            return Ok(InSet::List(vec![]));
        }
        Ok(match self.parenthesised()?.kind {
            ExprKind::Subquery(query) => InSet::Query(query),
            ExprKind::Nested(inner) => InSet::List(vec![*inner]),
            ExprKind::Row { elements, .. } => InSet::List(elements),
            kind => InSet::List(vec![Expr { kind, span: self.here() }]),
        })
    }

    fn between(&mut self, expr: Expr) -> Parsed<Expr> {
        let negated = self.eat(K::NOT);
        self.expect(K::BETWEEN)?;
        let symmetric = self.eat(K::SYMMETRIC);
        if !symmetric {
            self.eat(K::ASYMMETRIC);
        }
        let low = self.expr_above(Rank::RANGE.above())?;
        self.expect(K::AND)?;
        let high = self.expr_above(Rank::RANGE.above())?;
        let span = expr.span.to(high.span);
        let test = BetweenTest { expr, negated, symmetric, low, high };
        Ok(Expr { kind: ExprKind::Between(Box::new(test)), span })
    }

    fn like(&mut self, expr: Expr, kind: LikeKind) -> Parsed<Expr> {
        let negated = self.eat(K::NOT);
        self.advance();
        if kind == LikeKind::SimilarTo {
            self.expect(K::TO)?;
        }
        let quantifier = match self.word() {
            K::ANY | K::SOME if self.peek_at(1).kind == Kind::LeftParen => Some(Quantifier::Any),
            K::ALL if self.peek_at(1).kind == Kind::LeftParen => Some(Quantifier::All),
            _ => None,
        };
        let pattern = match quantifier {
            Some(_) => {
                self.advance();
                self.parenthesised()?
            }
            None => self.expr_above(Rank::RANGE.above())?,
        };
        let escape = match self.eat(K::ESCAPE) {
            true => Some(self.expr_above(Rank::RANGE.above())?),
            false => None,
        };
        let span = self.span_from(expr.span);
        let test = LikeTest { expr, negated, kind, quantifier, pattern, escape };
        Ok(Expr { kind: ExprKind::Like(Box::new(test)), span })
    }

    fn at_time_zone(&mut self, expr: Expr) -> Parsed<Expr> {
        self.advance();
        let zone = match self.eat(K::LOCAL) {
            true => None,
            false => {
                self.expect(K::TIME)?;
                self.expect(K::ZONE)?;
                Some(Box::new(self.expr_above(Rank::ZONE.above())?))
            }
        };
        let span = self.span_from(expr.span);
        Ok(Expr { kind: ExprKind::AtTimeZone(Box::new(expr), zone), span })
    }

    /// `e[i]`, `e[a:b]`, `e[a:b:c]`, `e[:]`.
    fn subscript(&mut self, expr: Expr) -> Parsed<Expr> {
        self.expect_kind(Kind::LeftBracket)?;
        let from = match self.peek().kind {
            Kind::Colon | Kind::DoubleColon => None,
            Kind::RightBracket => return Err(self.expected("an index")),
            _ => Some(self.expr()?),
        };
        let from = match from {
            Some(index) if self.is_kind(Kind::RightBracket) => {
                self.advance();
                let span = self.span_from(expr.span);
                return Ok(Expr { kind: ExprKind::Index(Box::new(expr), Box::new(index)), span });
            }
            bound => bound,
        };
        let bound = |p: &mut Self| {
            Ok(match p.peek().kind {
                Kind::Colon | Kind::RightBracket => None,
                // DuckDB's `[a:-:c]`: no end, but a step.
                Kind::Operator if p.is_operator("-") && p.peek_at(1).kind == Kind::Colon => {
                    p.advance();
                    None
                }
                _ => Some(p.expr()?),
            })
        };
        let mut to = None;
        let mut step = None;
        if self.is_kind(Kind::DoubleColon) {
            self.advance();
            step = bound(self)?;
        } else {
            if !self.eat_kind(Kind::Colon) {
                return Err(self.expected("] or :"));
            }
            to = bound(self)?;
            if self.eat_kind(Kind::Colon) {
                step = bound(self)?;
            }
        }
        self.expect_kind(Kind::RightBracket)?;
        let span = self.span_from(expr.span);
        Ok(Expr { kind: ExprKind::Slice(Box::new(SliceStep { expr, from, to, step })), span })
    }

    /// A condition's or an item's expressions where a comma may follow the last one.
    pub(crate) fn exprs(&mut self) -> Parsed<Vec<Expr>> {
        self.list(Self::expr)
    }

    /// A whole number as a constant or a parameter, where a statement wants one.
    pub(crate) fn signed_number(&mut self) -> Parsed<Expr> {
        let negative = self.is_operator("-") || self.is_operator("+");
        match self.peek_at(usize::from(negative)).kind {
            Kind::Number | Kind::Parameter | Kind::Question => self.expr_above(Rank::SIGN),
            _ => Err(self.expected("a number")),
        }
    }

    pub(crate) fn wrong(&self, message: impl Into<String>, span: crate::Span) -> SyntaxError {
        SyntaxError::new(message, span)
    }
}

fn chained(first: Expr, rest: Vec<(Operator, Expr)>) -> Expr {
    match rest.last() {
        None => first,
        Some((_, last)) => {
            let span = first.span.to(last.span);
            Expr { kind: ExprKind::Chain(Box::new(first), rest), span }
        }
    }
}

fn wrap(left: Expr, end: crate::Span, kind: impl FnOnce(Box<Expr>) -> ExprKind) -> Expr {
    let span = left.span.to(end);
    Expr { kind: kind(Box::new(left)), span }
}

fn binary_rank(symbol: &str) -> Rank {
    match symbol {
        "=" | "==" | "<>" | "!=" | "<" | "<=" | ">" | ">=" => Rank::COMPARISON,
        "+" | "-" => Rank::SUM,
        "*" | "/" | "//" | "%" => Rank::PRODUCT,
        "^" | "**" => Rank::POWER,
        _ => Rank::OTHER,
    }
}
