//! Operands: constants, names, brackets of all kinds, CASE and casts.
//!
//! Called by `expr` where an operand has to stand. A bracket is an expression, a row, a lambda's parameters or a
//! query: what it holds is read once, and what follows says what it was.

use super::{Parsed, Parser};
use crate::Span;
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    Case, CastCall, CastStyle, ColumnsCall, Comprehension, Expr, ExprKind, Lambda, LikeKind, Literal, Name,
    Parameter, Path, Query, SetExpr, Star, StarPattern,
};

/// Tokens behind the parenthesis of a type's numbers, as in `DECIMAL(10, 2) '1.5'`, up to the one that closes it.
const MODIFIER_TOKENS_MAX: usize = 4;

impl Parser<'_> {
    fn made(&self, start: Span, kind: ExprKind) -> Expr {
        Expr { kind, span: self.span_from(start) }
    }

    /// An operand without signs before it and operators behind it.
    pub(crate) fn primary(&mut self) -> Parsed<Expr> {
        let token = self.peek();
        let start = token.span;
        let kind = match token.kind {
            Kind::Number => ExprKind::Literal(Literal::Number(self.number_text("a number")?)),
            Kind::Text | Kind::EscapeText | Kind::UnicodeText | Kind::DollarText | Kind::NationalText => {
                ExprKind::Literal(Literal::Text(self.text_value()?))
            }
            Kind::BitText => ExprKind::Literal(Literal::Bits(self.digits_of_text()?)),
            Kind::HexText => ExprKind::Literal(Literal::Bytes(self.digits_of_text()?)),
            Kind::Parameter => {
                let digits = token.span.of(self.text);
                self.advance();
                let number =
                    digits[1..].parse().map_err(|_| self.wrong("there is no such parameter", start))?;
                ExprKind::Parameter(Parameter::Number(number))
            }
            Kind::NamedParameter => {
                let name = token.span.of(self.text);
                self.advance();
                ExprKind::Parameter(Parameter::Dollar(name[1..].into()))
            }
            Kind::Question => {
                self.advance();
                self.questions += 1;
                ExprKind::Parameter(Parameter::Question(self.questions))
            }
            Kind::Colon if self.is_label_at(1) && token.touches(&self.peek_at(1)) => {
                self.advance();
                let name = self.label("a parameter's name")?;
                ExprKind::Parameter(Parameter::Colon(name.text))
            }
            Kind::LeftParen => return self.parenthesised(),
            Kind::LeftBracket => return self.list_or_comprehension(false),
            Kind::LeftBrace => return self.struct_literal(),
            Kind::Operator => match self.source(token) {
                "*" => return self.star_or_columns(),
                "#" if self.peek_at(1).kind == Kind::Number => {
                    self.advance();
                    ExprKind::Position(self.small_number("a column's position")?)
                }
                _ => return Err(self.expected("an expression")),
            },
            Kind::Word | Kind::QuotedName | Kind::UnicodeName => return self.worded(),
            _ => return Err(self.expected("an expression")),
        };
        Ok(self.made(start, kind))
    }

    /// The digits of `B'...'` and `X'...'`.
    fn digits_of_text(&mut self) -> Parsed<Box<str>> {
        let token = self.advance();
        let source = self.source(token);
        Ok(source[2..source.len() - 1].into())
    }

    /// What begins with a word or a quoted name.
    fn worded(&mut self) -> Parsed<Expr> {
        let start = self.here();
        let called = self.peek_at(1).kind == Kind::LeftParen;
        let kind = match self.word() {
            K::NULL => self.word_literal(Literal::Null),
            K::TRUE => self.word_literal(Literal::Bool(true)),
            K::FALSE => self.word_literal(Literal::Bool(false)),
            K::DEFAULT => {
                self.advance();
                ExprKind::Default
            }
            K::CASE => return self.case(),
            K::CAST | K::TRY_CAST if called => return self.cast(),
            K::EXISTS if called => {
                self.advance();
                let query = self.query_in_parens()?;
                ExprKind::Exists(Box::new(query))
            }
            K::ARRAY if self.peek_at(1).kind == Kind::LeftBracket => {
                self.advance();
                return self
                    .list_or_comprehension(true)
                    .map(|list| Expr { span: self.span_from(start), ..list });
            }
            K::ARRAY if called && self.query_follows(2) => {
                self.advance();
                let query = self.query_in_parens()?;
                ExprKind::ArrayOf(Box::new(query))
            }
            K::ROW if called => {
                self.advance();
                self.advance();
                let elements = self.until(Kind::RightParen, Self::expr)?;
                ExprKind::Row { row: true, elements }
            }
            K::MAP if self.peek_at(1).kind == Kind::LeftBrace => {
                self.advance();
                self.advance();
                ExprKind::Map(self.until(Kind::RightBrace, |p| {
                    let key = p.expr()?;
                    p.expect_kind(Kind::Colon)?;
                    Ok((key, p.expr()?))
                })?)
            }
            K::INTERVAL if self.at_interval() => return self.interval(),
            K::LAMBDA if self.lambda_follows() => return self.worded_lambda(),
            K::COLUMNS if called => return self.star_or_columns(),
            K::POSITION
            | K::SUBSTRING
            | K::TRIM
            | K::OVERLAY
            | K::EXTRACT
            | K::CEIL
            | K::CEILING
            | K::FLOOR
            | K::NORMALIZE
            | K::TRY
                if called =>
            {
                return self.special_call();
            }
            word if word.is_bare_function() && !called => return self.bare_call(),
            _ => return self.name_or_call(),
        };
        Ok(self.made(start, kind))
    }

    fn word_literal(&mut self, literal: Literal) -> ExprKind {
        self.advance();
        ExprKind::Literal(literal)
    }

    /// A column's path, a call, a typed constant, or a star of a table.
    fn name_or_call(&mut self) -> Parsed<Expr> {
        let start = self.here();
        if let Some(typed) = self.typed_literal()? {
            return Ok(typed);
        }
        // LEFT, RIGHT and others are reserved, but name functions.
        let called = self.peek_at(1).kind == Kind::LeftParen;
        let function = self.word().names_function() || self.word().is_bare_function();
        if !self.at_name() && !(called && function) {
            return Err(self.expected("an expression"));
        }
        let mut names = vec![self.label("an expression")?];
        self.further_names(&mut names, "a name or *")?;
        let path = Path { names };
        if self.is_kind(Kind::LeftParen) {
            if path.last().is_some_and(|name| !name.quoted && name.text.eq_ignore_ascii_case("columns")) {
                return self.columns_of(path, start);
            }
            return self.call(path, start);
        }
        if self.is_kind(Kind::Dot) {
            // Only a star is left behind a dot.
            self.advance();
            self.advance();
            return self.star(Some(path), start);
        }
        Ok(self.made(start, ExprKind::Column(path)))
    }

    /// `DATE '2024-01-01'`, `DECIMAL(4, 2) '1.5'`: a type and a text.
    fn typed_literal(&mut self) -> Parsed<Option<Expr>> {
        let start = self.here();
        if self.peek().kind != Kind::Word {
            return Ok(None);
        }
        let text_at = |ahead: usize| super::literal::is_text(self.peek_at(ahead).kind);
        let moment = matches!(self.word(), K::TIME | K::TIMESTAMP);
        let with = matches!(self.word_at(1), K::WITH | K::WITHOUT) && self.word_at(2) == K::TIME;
        let literal = match () {
            () if self.word() == K::ESCAPE || self.word() == K::INTERVAL => false,
            () if text_at(1) => true,
            () if moment && with => true,
            () if self.are(&[K::DOUBLE, K::PRECISION]) => text_at(2),
            () if self.is(K::CHARACTER) && self.word_at(1) == K::VARYING => true,
            () if self.peek_at(1).kind == Kind::LeftParen && self.peek_at(2).kind == Kind::Number => {
                match self.closing_within(1, MODIFIER_TOKENS_MAX) {
                    Some(close) => text_at(close + 1) || (moment && self.word_at(close + 2) == K::TIME),
                    None => false,
                }
            }
            () => false,
        };
        if !literal || self.word().is_reserved() {
            return Ok(None);
        }
        let to = self.type_name()?;
        if !self.at_text() {
            return Err(self.expected("a text in single quotes"));
        }
        let text = self.text_literal("a text in single quotes")?;
        Ok(Some(self.made(start, ExprKind::Literal(Literal::Typed(Box::new(to), text)))))
    }

    /// Whether a query begins so far ahead, inside any number of parentheses.
    pub(crate) fn query_follows(&self, ahead: usize) -> bool {
        let mut at = ahead;
        while self.peek_at(at).kind == Kind::LeftParen {
            at += 1;
        }
        self.begins_query_at(at)
    }

    /// `(e)`, `(a, b)`, `()`, `(query)`, `((query) UNION query)`.
    pub(crate) fn parenthesised(&mut self) -> Parsed<Expr> {
        self.nested(|p| {
            let start = p.expect_kind(Kind::LeftParen)?;
            if p.begins_query_at(0) {
                let query = p.query()?;
                p.expect_kind(Kind::RightParen)?;
                return Ok(p.made(start, ExprKind::Subquery(Box::new(query))));
            }
            if p.eat_kind(Kind::RightParen) {
                return Ok(p.made(start, ExprKind::Row { row: false, elements: vec![] }));
            }
            let first = match p.is_kind(Kind::LeftParen) {
                true => {
                    let inner = p.parenthesised()?;
                    match inner.kind {
                        // `((query))`, `((query) UNION ...)`, `((query) ORDER BY ...)`: still a query.
                        ExprKind::Subquery(query) if p.query_goes_on() => {
                            let query = p.query_from(SetExpr::Query(query), inner.span)?;
                            p.expect_kind(Kind::RightParen)?;
                            return Ok(p.made(start, ExprKind::Subquery(Box::new(query))));
                        }
                        kind => {
                            let inner = Expr { kind, span: inner.span };
                            p.continued(inner, super::expr::Rank::LOWEST)?
                        }
                    }
                }
                false => p.expr()?,
            };
            if p.eat_kind(Kind::RightParen) {
                return Ok(p.made(start, ExprKind::Nested(Box::new(first))));
            }
            if !p.eat_kind(Kind::Comma) {
                return Err(p.expected(", or )"));
            }
            let mut elements = vec![first];
            elements.append(&mut p.until(Kind::RightParen, Self::expr)?);
            Ok(p.made(start, ExprKind::Row { row: false, elements }))
        })
    }

    /// A query in parentheses.
    pub(crate) fn query_in_parens(&mut self) -> Parsed<Query> {
        let start = self.here();
        match self.parenthesised()?.kind {
            ExprKind::Subquery(query) => Ok(*query),
            _ => Err(self.wrong("syntax error: a query in parentheses is expected", self.span_from(start))),
        }
    }

    /// `[a, b]`, `[e FOR x IN list]`.
    fn list_or_comprehension(&mut self, array: bool) -> Parsed<Expr> {
        self.nested(|p| {
            let start = p.expect_kind(Kind::LeftBracket)?;
            if p.eat_kind(Kind::RightBracket) {
                return Ok(p.made(start, ExprKind::List { array, elements: vec![] }));
            }
            // Elements of ARRAY[[1], [2]] are arrays without the word.
            let first = p.expr()?;
            if !array && p.is(K::FOR) {
                return p.comprehension(first, start);
            }
            let mut elements = vec![first];
            match p.eat_kind(Kind::Comma) {
                true => elements.append(&mut p.until(Kind::RightBracket, Self::expr)?),
                false if p.is_kind(Kind::RightBracket) => {
                    p.advance();
                }
                false => return Err(p.expected(", or ]")),
            }
            Ok(p.made(start, ExprKind::List { array, elements }))
        })
    }

    fn comprehension(&mut self, element: Expr, start: Span) -> Parsed<Expr> {
        self.expect(K::FOR)?;
        let name = self.name("a name for the element")?;
        let position = match self.eat_kind(Kind::Comma) {
            true => Some(self.name("a name for its position")?),
            false => None,
        };
        self.expect(K::IN)?;
        let list = self.expr()?;
        let condition = match self.eat(K::IF) {
            true => Some(self.expr()?),
            false => None,
        };
        self.expect_kind(Kind::RightBracket)?;
        let made = Comprehension { element, name, position, list, condition };
        Ok(self.made(start, ExprKind::Comprehension(Box::new(made))))
    }

    /// `{'a': 1, b: 2}`.
    fn struct_literal(&mut self) -> Parsed<Expr> {
        self.nested(|p| {
            let start = p.expect_kind(Kind::LeftBrace)?;
            let fields = p.until(Kind::RightBrace, |p| {
                let name = match p.at_text() {
                    true => {
                        let text = p.text_literal("a field's name")?;
                        Name { text: text.text, quoted: true, span: text.span }
                    }
                    false => p.label("a field's name")?,
                };
                p.expect_kind(Kind::Colon)?;
                Ok((name, p.expr()?))
            })?;
            Ok(p.made(start, ExprKind::Struct(fields)))
        })
    }

    fn case(&mut self) -> Parsed<Expr> {
        let start = self.expect(K::CASE)?;
        let operand = match self.is(K::WHEN) {
            true => None,
            false => Some(self.expr()?),
        };
        let mut branches = Vec::new();
        while self.eat(K::WHEN) {
            let condition = self.expr()?;
            self.expect(K::THEN)?;
            branches.push((condition, self.expr()?));
        }
        if branches.is_empty() {
            return Err(self.expected("WHEN"));
        }
        let otherwise = match self.eat(K::ELSE) {
            true => Some(self.expr()?),
            false => None,
        };
        if !self.eat(K::END) {
            return Err(self.expected(if otherwise.is_some() { "END" } else { "WHEN, ELSE or END" }));
        }
        Ok(self.made(start, ExprKind::Case(Box::new(Case { operand, branches, otherwise }))))
    }

    fn cast(&mut self) -> Parsed<Expr> {
        let word = self.advance();
        let style = if word.keyword == K::TRY_CAST { CastStyle::TryCast } else { CastStyle::Cast };
        self.expect_kind(Kind::LeftParen)?;
        let expr = self.expr()?;
        self.expect(K::AS)?;
        let to = self.type_name()?;
        self.expect_kind(Kind::RightParen)?;
        Ok(self.made(word.span, ExprKind::Cast(Box::new(CastCall { style, expr, to }))))
    }

    /// `*`, `*COLUMNS(...)`, `COLUMNS(...)`.
    fn star_or_columns(&mut self) -> Parsed<Expr> {
        let start = self.here();
        let starred = self.eat_operator("*");
        if !self.is(K::COLUMNS) || self.peek_at(1).kind != Kind::LeftParen {
            return self.star(None, start);
        }
        self.advance();
        let which = self.columns_argument()?;
        let call = ColumnsCall { of: None, unpacked: starred, which };
        Ok(self.made(start, ExprKind::Columns(Box::new(call))))
    }

    fn columns_of(&mut self, mut path: Path, start: Span) -> Parsed<Expr> {
        path.names.pop();
        let which = self.columns_argument()?;
        let of = (!path.names.is_empty()).then_some(path);
        Ok(self.made(start, ExprKind::Columns(Box::new(ColumnsCall { of, unpacked: false, which }))))
    }

    fn columns_argument(&mut self) -> Parsed<Expr> {
        self.expect_kind(Kind::LeftParen)?;
        let which = self.lambda_or_expr(true)?;
        self.expect_kind(Kind::RightParen)?;
        Ok(which)
    }

    /// What follows a star: what is taken from it and put in.
    fn star(&mut self, of: Option<Path>, start: Span) -> Parsed<Expr> {
        let mut star =
            Star { of, exclude: vec![], except: false, replace: vec![], rename: vec![], names: None };
        star.names = self.star_pattern()?;
        loop {
            match self.word() {
                K::EXCLUDE | K::EXCEPT
                    if star.exclude.is_empty() && (self.is(K::EXCLUDE) || self.except_takes_columns()) =>
                {
                    star.except = self.advance().keyword == K::EXCEPT;
                    star.exclude = match self.is_kind(Kind::LeftParen) {
                        true => self.in_parens(|p| p.path("a column"))?,
                        false => vec![self.path("a column")?],
                    };
                }
                K::REPLACE if star.replace.is_empty() => {
                    self.advance();
                    let item = |p: &mut Self| {
                        let value = p.expr()?;
                        p.expect(K::AS)?;
                        Ok((value, p.label("a column")?))
                    };
                    star.replace = match self.is_kind(Kind::LeftParen) {
                        true => self.in_parens(item)?,
                        false => vec![item(self)?],
                    };
                }
                K::RENAME if star.rename.is_empty() => {
                    self.advance();
                    let item = |p: &mut Self| {
                        let from = p.path("a column")?;
                        p.expect(K::AS)?;
                        Ok((from, p.label("a name")?))
                    };
                    star.rename = match self.is_kind(Kind::LeftParen) {
                        true => self.in_parens(item)?,
                        false => vec![item(self)?],
                    };
                }
                _ => break,
            }
        }
        Ok(self.made(start, ExprKind::Star(Box::new(star))))
    }

    /// EXCEPT behind a star takes columns away, unless a query follows, which is a set operation's.
    fn except_takes_columns(&self) -> bool {
        match self.peek_at(1).kind {
            Kind::LeftParen => !self.query_follows(1),
            _ => self.is_name_at(1) && !self.begins_query_at(1),
        }
    }

    /// `* LIKE 'a%'`: only a constant text makes it one.
    fn star_pattern(&mut self) -> Parsed<Option<StarPattern>> {
        let negated = self.is(K::NOT);
        let at = usize::from(negated);
        let (kind, words) = match self.word_at(at) {
            K::LIKE => (LikeKind::Like, 1),
            K::ILIKE => (LikeKind::ILike, 1),
            K::GLOB => (LikeKind::Glob, 1),
            K::SIMILAR if self.word_at(at + 1) == K::TO => (LikeKind::SimilarTo, 2),
            _ => return Ok(None),
        };
        for _ in 0..at + words {
            self.advance();
        }
        let pattern = self.constant_text()?;
        let escape = match matches!(kind, LikeKind::Like | LikeKind::ILike) && self.eat(K::ESCAPE) {
            true => Some(self.constant_text()?),
            false => None,
        };
        Ok(Some(StarPattern { kind, negated, pattern, escape }))
    }

    fn constant_text(&mut self) -> Parsed<Expr> {
        if !self.at_text() {
            return Err(self.expected("a text in single quotes"));
        }
        let start = self.here();
        let text = self.text_value()?;
        Ok(self.made(start, ExprKind::Literal(Literal::Text(text))))
    }

    // Lambdas.

    /// LAMBDA before parameters and a colon.
    fn lambda_follows(&self) -> bool {
        let mut at = 1;
        while self.is_label_at(at) && self.peek_at(at + 1).kind == Kind::Comma {
            at += 2;
        }
        self.is_label_at(at) && self.peek_at(at + 1).kind == Kind::Colon
    }

    fn worded_lambda(&mut self) -> Parsed<Expr> {
        let start = self.expect(K::LAMBDA)?;
        let parameters = self.list(|p| p.label("a parameter's name"))?;
        self.expect_kind(Kind::Colon)?;
        let body = self.expr()?;
        Ok(self.made(start, ExprKind::Lambda(Box::new(Lambda { worded: true, parameters, body }))))
    }

    /// An argument that may be `x -> e` or `(x, y) -> e`.
    pub(crate) fn lambda_or_expr(&mut self, lambdas: bool) -> Parsed<Expr> {
        let start = self.here();
        if !lambdas {
            return self.expr();
        }
        let parameters = if self.is_label_at(0) && self.is_operator_at(1, "->") {
            vec![self.label("a parameter's name")?]
        } else if self.is_kind(Kind::LeftParen) && self.parameters_follow() {
            self.in_parens(|p| p.label("a parameter's name"))?
        } else {
            return self.expr();
        };
        self.expect_operator("->")?;
        let body = self.expr()?;
        Ok(self.made(start, ExprKind::Lambda(Box::new(Lambda { worded: false, parameters, body }))))
    }

    /// `(x, y) ->`.
    fn parameters_follow(&self) -> bool {
        let mut at = 1;
        while self.is_label_at(at) && self.peek_at(at + 1).kind == Kind::Comma {
            at += 2;
        }
        self.is_label_at(at)
            && self.peek_at(at + 1).kind == Kind::RightParen
            && self.is_operator_at(at + 2, "->")
    }
}
