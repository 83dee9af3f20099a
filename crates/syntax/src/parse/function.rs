//! Calls: arguments, what follows the bracket, and calls with words in their brackets.
//!
//! Called by `primary` behind a name that an open bracket follows. Clauses behind the bracket (FILTER, OVER, WITHIN
//! GROUP) are read for every function; whether it may have them is for the binder.

use super::{Parsed, Parser};
use crate::Span;
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    Argument, ArgumentSign, Arguments, Call, Expr, ExprKind, Name, NullTreatment, Over, Path, SpecialCall,
    TrimSide,
};

/// Functions whose arguments may be lambdas written with an arrow, which is JSON's operator everywhere else.
const TAKING_LAMBDAS: [&str; 11] = [
    "list_transform",
    "array_transform",
    "list_apply",
    "array_apply",
    "apply",
    "list_filter",
    "array_filter",
    "filter",
    "list_reduce",
    "array_reduce",
    "reduce",
];

fn takes_lambdas(name: &Name) -> bool {
    TAKING_LAMBDAS.iter().any(|known| name.text.eq_ignore_ascii_case(known))
}

impl Parser<'_> {
    /// A function's brackets and what follows them.
    pub(crate) fn call(&mut self, name: Path, start: Span) -> Parsed<Expr> {
        let lambdas = name.last().is_some_and(takes_lambdas);
        self.expect_kind(Kind::LeftParen)?;
        let mut arguments = Arguments::default();
        let mut nulls = None;
        match self.word() {
            K::DISTINCT => {
                self.advance();
                arguments.distinct = Some(true);
            }
            K::ALL if !matches!(self.peek_at(1).kind, Kind::LeftParen) => {
                self.advance();
                arguments.distinct = Some(false);
            }
            _ => {}
        }
        while !matches!(self.peek().kind, Kind::RightParen) && !self.are(&[K::ORDER, K::BY]) {
            arguments.list.push(self.argument(lambdas)?);
            if !self.eat_kind(Kind::Comma) {
                break;
            }
        }
        nulls = self.null_treatment().or(nulls);
        if self.eat_all(&[K::ORDER, K::BY]) {
            arguments.order_by = self.order_items()?;
        }
        if self.is(K::LIMIT) {
            self.advance();
            arguments.limit = Some(self.expr()?);
        }
        nulls = self.null_treatment().or(nulls);
        if !self.eat_kind(Kind::RightParen) {
            return Err(self.expected(", or )"));
        }
        self.behind_call(name, Some(arguments), nulls, start)
    }

    /// A function that is called without brackets: CURRENT_DATE and its kin.
    pub(crate) fn bare_call(&mut self) -> Parsed<Expr> {
        let token = self.advance();
        let name = Path { names: vec![self.name_of(token)?] };
        self.behind_call(name, None, None, token.span)
    }

    fn null_treatment(&mut self) -> Option<NullTreatment> {
        match () {
            () if self.eat_all(&[K::IGNORE, K::NULLS]) => Some(NullTreatment::Ignore),
            () if self.eat_all(&[K::RESPECT, K::NULLS]) => Some(NullTreatment::Respect),
            () => None,
        }
    }

    /// WITHIN GROUP, FILTER, IGNORE NULLS and OVER.
    fn behind_call(
        &mut self,
        name: Path,
        arguments: Option<Arguments>,
        nulls: Option<NullTreatment>,
        start: Span,
    ) -> Parsed<Expr> {
        let mut call = Call { name, arguments, within_group: vec![], filter: None, nulls, over: None };
        if self.are(&[K::WITHIN, K::GROUP]) {
            self.expect_all(&[K::WITHIN, K::GROUP])?;
            self.expect_kind(Kind::LeftParen)?;
            self.expect_all(&[K::ORDER, K::BY])?;
            call.within_group = self.order_items()?;
            self.expect_kind(Kind::RightParen)?;
        }
        if self.is(K::FILTER) && self.peek_at(1).kind == Kind::LeftParen {
            self.advance();
            self.advance();
            // DuckDB lets WHERE be left out.
            self.eat(K::WHERE);
            call.filter = Some(self.expr()?);
            self.expect_kind(Kind::RightParen)?;
        }
        call.nulls = self.null_treatment().or(call.nulls);
        if self.is(K::OVER) && (self.peek_at(1).kind == Kind::LeftParen || self.is_label_at(1)) {
            self.advance();
            call.over = Some(match self.is_kind(Kind::LeftParen) {
                true => Over::Spec(Box::new(self.window_spec()?)),
                false => Over::Name(self.name("a window's name")?),
            });
        }
        Ok(Expr { kind: ExprKind::Call(Box::new(call)), span: self.span_from(start) })
    }

    /// One argument: `e`, `name => e`, `name := e`, `VARIADIC e`, a lambda, or a query without brackets of its own.
    pub(crate) fn argument(&mut self, lambdas: bool) -> Parsed<Argument> {
        let variadic =
            self.is(K::VARIADIC) && self.peek_at(1).kind != Kind::RightParen && self.eat(K::VARIADIC);
        let sign = match self.peek_at(1).kind {
            Kind::Arrow => Some(ArgumentSign::Arrow),
            Kind::ColonEquals => Some(ArgumentSign::ColonEquals),
            _ => None,
        };
        let name = match sign {
            Some(sign) if self.is_label_at(0) => {
                let name = self.label("an argument's name")?;
                self.advance();
                Some((name, sign))
            }
            _ => None,
        };
        if self.begins_query_at(0) {
            // `ARRAY(SELECT ...)` and functions over a query's rows.
            let start = self.here();
            let query = self.query()?;
            let kind = ExprKind::Subquery(Box::new(query));
            return Ok(Argument { variadic, name, value: Expr { kind, span: self.span_from(start) } });
        }
        Ok(Argument { variadic, name, value: self.lambda_or_expr(lambdas)? })
    }

    /// Arguments of a table function or a procedure, in parentheses: `name = e` names them, too.
    pub(crate) fn table_arguments(&mut self) -> Parsed<Vec<Argument>> {
        self.expect_kind(Kind::LeftParen)?;
        self.until(Kind::RightParen, |p| {
            if p.is_label_at(0) && p.is_operator_at(1, "=") {
                let name = p.label("an argument's name")?;
                p.advance();
                return Ok(Argument {
                    variadic: false,
                    name: Some((name, ArgumentSign::Equals)),
                    value: p.expr()?,
                });
            }
            p.argument(false)
        })
    }

    /// EXTRACT, POSITION, SUBSTRING, TRIM, OVERLAY, CEIL, FLOOR, NORMALIZE and TRY, which may be plain calls, too.
    pub(crate) fn special_call(&mut self) -> Parsed<Expr> {
        let word = self.advance();
        let start = word.span;
        let special = match word.keyword {
            K::EXTRACT => {
                self.expect_kind(Kind::LeftParen)?;
                let field = self.field_name()?;
                self.expect(K::FROM)?;
                SpecialCall::Extract(field, self.expr()?)
            }
            K::TRIM => {
                self.expect_kind(Kind::LeftParen)?;
                match self.trim()? {
                    Ok(special) => special,
                    Err(arguments) => {
                        let list = arguments.into_iter().map(|value| Argument {
                            variadic: false,
                            name: None,
                            value,
                        });
                        let arguments = Arguments { list: list.collect(), ..Arguments::default() };
                        self.expect_kind(Kind::RightParen)?;
                        let name = Path { names: vec![self.name_of(word)?] };
                        return self.behind_call(name, Some(arguments), None, start);
                    }
                }
            }
            K::TRY => {
                self.expect_kind(Kind::LeftParen)?;
                SpecialCall::Try(self.expr()?)
            }
            _ => {
                self.expect_kind(Kind::LeftParen)?;
                if self.is_kind(Kind::RightParen)
                    || self.peek_at(1).kind == Kind::Arrow
                    || self.begins_query_at(0)
                {
                    return self.plain_call(word, None, start);
                }
                // IN belongs to POSITION, FROM and FOR to SUBSTRING.
                let least = match word.keyword {
                    K::POSITION => super::expr::Rank::OTHER,
                    _ => super::expr::Rank::LOWEST,
                };
                let first = self.expr_above(least)?;
                match self.worded_arguments(word.keyword, first)? {
                    Ok(special) => special,
                    Err(first) => return self.plain_call(word, Some(first), start),
                }
            }
        };
        if !self.eat_kind(Kind::RightParen) {
            return Err(self.expected(")"));
        }
        let kind = ExprKind::Special(Box::new(special));
        let made = Expr { kind, span: self.span_from(start) };
        Ok(made)
    }

    /// What follows the first argument of a call with words; the argument itself where the call is a plain one.
    fn worded_arguments(&mut self, function: K, first: Expr) -> Parsed<Result<SpecialCall, Expr>> {
        Ok(match (function, self.word()) {
            (K::POSITION, K::IN) => {
                self.advance();
                Ok(SpecialCall::Position(first, self.expr()?))
            }
            (K::SUBSTRING, K::FROM) => {
                self.advance();
                let from = Some(self.expr()?);
                let length = match self.eat(K::FOR) {
                    true => Some(self.expr()?),
                    false => None,
                };
                Ok(SpecialCall::Substring { text: first, from, length })
            }
            (K::SUBSTRING, K::FOR) => {
                self.advance();
                let length = Some(self.expr()?);
                let from = match self.eat(K::FROM) {
                    true => Some(self.expr()?),
                    false => None,
                };
                Ok(SpecialCall::Substring { text: first, from, length })
            }
            (K::SUBSTRING, K::SIMILAR) => {
                self.advance();
                let pattern = self.expr()?;
                self.expect(K::ESCAPE)?;
                Ok(SpecialCall::SubstringSimilar(first, pattern, self.expr()?))
            }
            (K::OVERLAY, K::PLACING) => {
                self.advance();
                let with = self.expr()?;
                self.expect(K::FROM)?;
                let from = self.expr()?;
                let length = match self.eat(K::FOR) {
                    true => Some(self.expr()?),
                    false => None,
                };
                Ok(SpecialCall::Overlay(first, with, from, length))
            }
            (K::CEIL | K::CEILING | K::FLOOR, K::TO) => {
                self.advance();
                let field = self.field_name()?;
                Ok(SpecialCall::RoundTo { up: function != K::FLOOR, expr: first, field })
            }
            (K::NORMALIZE, _)
                if self.is_kind(Kind::Comma)
                    && matches!(self.word_at(1), K::NFC | K::NFD | K::NFKC | K::NFKD) =>
            {
                self.advance();
                Ok(SpecialCall::Normalize(first, self.label("a form")?))
            }
            _ => Err(first),
        })
    }

    /// A plain call whose bracket and first argument were read already.
    fn plain_call(&mut self, word: crate::token::Token, first: Option<Expr>, start: Span) -> Parsed<Expr> {
        let name = Path { names: vec![self.name_of(word)?] };
        let mut list = Vec::new();
        if let Some(value) = first {
            let value = self.continued(value, super::expr::Rank::LOWEST)?;
            list.push(Argument { variadic: false, name: None, value });
        }
        let more = list.is_empty() || self.eat_kind(Kind::Comma);
        while more && !self.is_kind(Kind::RightParen) {
            list.push(self.argument(false)?);
            if !self.eat_kind(Kind::Comma) {
                break;
            }
        }
        if !self.eat_kind(Kind::RightParen) {
            return Err(self.expected(", or )"));
        }
        let arguments = Arguments { list, ..Arguments::default() };
        self.behind_call(name, Some(arguments), None, start)
    }

    /// A field of a moment: a word or a text.
    fn field_name(&mut self) -> Parsed<Name> {
        match self.at_text() {
            true => {
                let text = self.text_literal("a field")?;
                Ok(Name { text: text.text, quoted: true, span: text.span })
            }
            false => self.label("a field, as YEAR or HOUR"),
        }
    }

    /// What stands in TRIM's brackets; the arguments alone where it is a plain call.
    fn trim(&mut self) -> Parsed<Result<SpecialCall, Vec<Expr>>> {
        let side = match self.word() {
            K::BOTH => Some(TrimSide::Both),
            K::LEADING => Some(TrimSide::Leading),
            K::TRAILING => Some(TrimSide::Trailing),
            _ => None,
        };
        if side.is_some() {
            self.advance();
        }
        if self.eat(K::FROM) {
            return Ok(Ok(SpecialCall::Trim { side, characters: None, texts: self.exprs()? }));
        }
        if self.is_kind(Kind::RightParen) {
            return Ok(Err(vec![]));
        }
        let mut texts = self.exprs()?;
        if self.is(K::FROM) && texts.len() == 1 {
            self.advance();
            let characters = texts.pop();
            return Ok(Ok(SpecialCall::Trim { side, characters, texts: self.exprs()? }));
        }
        if side.is_none() {
            return Ok(Err(texts));
        }
        Ok(Ok(SpecialCall::Trim { side, characters: None, texts }))
    }
}
