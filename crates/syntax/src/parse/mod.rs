//! The parser: recursive descent, precedence climbing for expressions, one token of lookahead nearly everywhere.
//!
//! It never goes back: where a bracket may hold a query or an expression, a table or a join, what it holds is read once and
//! then said to be what it turned out to be. So its time is linear in the text. Its stack is bounded by `DEPTH_MAX` levels
//! of brackets, and the height of what it returns by `HEIGHT_MAX`, so that trees can be walked and dropped by recursion.

mod access;
mod alter;
mod copy;
mod create;
mod cursor;
mod expr;
mod from;
mod function;
mod literal;
mod modify;
pub(crate) mod name;
mod pivot;
mod primary;
mod query;
mod select;
mod session;
mod statement;
mod table_def;
mod types;

use crate::Span;
use crate::error::{Fault, SyntaxError};
use crate::keyword::Keyword;
use crate::token::{Kind, Token};

pub(crate) type Parsed<T> = Result<T, SyntaxError>;

/// Brackets, subqueries and signs before an operand that may be inside of each other.
pub(crate) const DEPTH_MAX: u32 = 400;
/// Levels of a tree: those of brackets, and of what wraps an operand, such as casts and subscripts.
pub(crate) const HEIGHT_MAX: u32 = 4 * DEPTH_MAX;

/// Reads one text.
pub(crate) struct Parser<'t> {
    pub(crate) text: &'t str,
    tokens: &'t [Token],
    /// The next token; the last one is the end, which is never passed.
    at: usize,
    depth: u32,
    /// The height of the highest tree that was read inside of the node that is being read.
    height: u32,
    /// Question marks of the statement so far.
    questions: u32,
    /// Values of the last row of VALUES: the next one is likely to have as many.
    row_length: usize,
    /// Asked at every expression that is more than a constant, and at every row.
    goes_on: &'t dyn Fn() -> bool,
}

impl<'t> Parser<'t> {
    /// `tokens` ends with `Kind::End`.
    pub(crate) fn new(text: &'t str, tokens: &'t [Token]) -> Self {
        Self::new_while(text, tokens, &|| true)
    }

    /// As `new`; reading ends with an error when `goes_on` says no.
    pub(crate) fn new_while(text: &'t str, tokens: &'t [Token], goes_on: &'t dyn Fn() -> bool) -> Self {
        debug_assert!(tokens.last().is_some_and(|t| t.kind == Kind::End), "the end is a token");
        Self { text, tokens, at: 0, depth: 0, height: 0, questions: 0, row_length: 0, goes_on }
    }

    /// Fails when the caller wants reading to stop.
    #[inline]
    pub(crate) fn pace(&self) -> Parsed<()> {
        if (self.goes_on)() { Ok(()) } else { Err(SyntaxError::stopped(self.peek().span)) }
    }

    // The cursor.

    #[inline]
    pub(crate) fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    #[inline]
    pub(crate) fn peek_at(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    #[inline]
    pub(crate) fn advance(&mut self) -> Token {
        let token = self.tokens[self.at];
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    /// What the next word is.
    #[inline]
    pub(crate) fn word(&self) -> Keyword {
        self.peek().keyword
    }

    #[inline]
    pub(crate) fn word_at(&self, ahead: usize) -> Keyword {
        self.peek_at(ahead).keyword
    }

    #[inline]
    pub(crate) fn is(&self, keyword: Keyword) -> bool {
        self.peek().keyword == keyword
    }

    /// Whether these words are next.
    pub(crate) fn are(&self, keywords: &[Keyword]) -> bool {
        keywords.iter().enumerate().all(|(ahead, keyword)| self.word_at(ahead) == *keyword)
    }

    #[inline]
    pub(crate) fn is_kind(&self, kind: Kind) -> bool {
        self.peek().kind == kind
    }

    /// Passes the word if it is next.
    #[inline]
    pub(crate) fn eat(&mut self, keyword: Keyword) -> bool {
        let there = self.is(keyword);
        if there {
            self.advance();
        }
        there
    }

    /// Passes the words if they are all next.
    pub(crate) fn eat_all(&mut self, keywords: &[Keyword]) -> bool {
        let there = self.are(keywords);
        if there {
            self.at += keywords.len();
        }
        there
    }

    #[inline]
    pub(crate) fn eat_kind(&mut self, kind: Kind) -> bool {
        let there = self.is_kind(kind);
        if there {
            self.advance();
        }
        there
    }

    pub(crate) fn expect(&mut self, keyword: Keyword) -> Parsed<Span> {
        match self.is(keyword) {
            true => Ok(self.advance().span),
            false => Err(self.expected(&keyword.text().to_ascii_uppercase())),
        }
    }

    pub(crate) fn expect_all(&mut self, keywords: &[Keyword]) -> Parsed<()> {
        keywords.iter().try_for_each(|keyword| self.expect(*keyword).map(|_| ()))
    }

    pub(crate) fn expect_kind(&mut self, kind: Kind) -> Parsed<Span> {
        if self.is_kind(kind) {
            return Ok(self.advance().span);
        }
        Err(self.expected(match kind {
            Kind::LeftParen => "(",
            Kind::RightParen => ")",
            Kind::LeftBracket => "[",
            Kind::RightBracket => "]",
            Kind::LeftBrace => "{",
            Kind::RightBrace => "}",
            Kind::Comma => ",",
            Kind::Colon => ":",
            Kind::Arrow => "=>",
            Kind::Dot => ".",
            _ => "something else",
        }))
    }

    /// Whether the next token is this operator.
    #[inline]
    pub(crate) fn is_operator(&self, operator: &str) -> bool {
        self.is_operator_at(0, operator)
    }

    #[inline]
    pub(crate) fn is_operator_at(&self, ahead: usize, operator: &str) -> bool {
        let token = self.peek_at(ahead);
        token.kind == Kind::Operator && token.span.of(self.text) == operator
    }

    pub(crate) fn eat_operator(&mut self, operator: &str) -> bool {
        let there = self.is_operator(operator);
        if there {
            self.advance();
        }
        there
    }

    pub(crate) fn expect_operator(&mut self, operator: &str) -> Parsed<()> {
        match self.eat_operator(operator) {
            true => Ok(()),
            false => Err(self.expected(operator)),
        }
    }

    pub(crate) fn source(&self, token: Token) -> &'t str {
        token.span.of(self.text)
    }

    /// From a place to behind the last token that was passed.
    pub(crate) fn span_from(&self, start: Span) -> Span {
        let end = self.at.checked_sub(1).map_or(start.end, |last| self.tokens[last].span.end);
        Span::new(start.start, end.max(start.end))
    }

    // Errors.

    /// What stands here is not what may stand here.
    #[cold]
    pub(crate) fn expected(&self, what: &str) -> SyntaxError {
        let token = self.peek();
        let message = match token.kind {
            Kind::End => format!("syntax error at end of input: expected {what}"),
            _ => format!("syntax error at or near \"{}\": expected {what}", shown(self.source(token))),
        };
        crate::hint::with_hint(self.text, self.tokens, self.at, SyntaxError::new(message, token.span))
    }

    /// What stands here may not stand here.
    #[cold]
    pub(crate) fn unexpected(&self) -> SyntaxError {
        let token = self.peek();
        let message = match token.kind {
            Kind::End => "syntax error at end of input".to_owned(),
            _ => format!("syntax error at or near \"{}\"", shown(self.source(token))),
        };
        crate::hint::with_hint(self.text, self.tokens, self.at, SyntaxError::new(message, token.span))
    }

    #[cold]
    fn too_deep(&self) -> SyntaxError {
        let mut error = SyntaxError::new("the statement is nested too deeply", self.peek().span);
        error.fault = Fault::TooDeep;
        error
    }

    // Depth.

    /// Reads a node that may hold others of its kind, one level deeper.
    pub(crate) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let beside = std::mem::take(&mut self.height);
        let result = read(self);
        self.depth -= 1;
        self.height += 1;
        if self.height > HEIGHT_MAX {
            return Err(self.too_deep());
        }
        self.height = self.height.max(beside);
        result
    }

    /// The node being read is one level higher than what it was made of so far.
    pub(crate) fn wrapped(&mut self) -> Parsed<()> {
        self.height += 1;
        if self.height > HEIGHT_MAX { Err(self.too_deep()) } else { Ok(()) }
    }

    // Lists.

    /// One or more, commas between them.
    pub(crate) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat_kind(Kind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// One or more in parentheses; a comma behind the last one is let pass.
    pub(crate) fn in_parens<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect_kind(Kind::LeftParen)?;
        let mut items = vec![item(self)?];
        while self.eat_kind(Kind::Comma) && !self.is_kind(Kind::RightParen) {
            items.push(item(self)?);
        }
        if !self.is_kind(Kind::RightParen) {
            return Err(self.expected(", or )"));
        }
        self.advance();
        Ok(items)
    }

    /// None or more up to a closing bracket, which is passed; a comma behind the last one is let pass.
    pub(crate) fn until<T>(
        &mut self,
        close: Kind,
        item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        self.until_into(close, &mut items, item)?;
        Ok(items)
    }

    /// As `until`, into a list that was made before.
    pub(crate) fn until_into<T>(
        &mut self,
        close: Kind,
        items: &mut Vec<T>,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<()> {
        while !self.is_kind(close) {
            items.push(item(self)?);
            if !self.eat_kind(Kind::Comma) {
                break;
            }
        }
        if !self.is_kind(close) {
            return Err(self.expected(match close {
                Kind::RightBracket => ", or ]",
                Kind::RightBrace => ", or }",
                _ => ", or )",
            }));
        }
        self.advance();
        Ok(())
    }
}

/// A token as messages show it.
fn shown(token: &str) -> String {
    let mut letters = token.chars();
    let mut out: String = letters.by_ref().take(40).collect();
    if letters.next().is_some() {
        out.push_str("...");
    }
    out
}
