//! Names and paths.

use super::{Parsed, Parser};
use crate::Span;
use crate::error::SyntaxError;
use crate::keyword::Keyword as K;
use crate::token::{Kind, Token};
use crate::tree::{Name, Path, TextLiteral};

/// Parts of one name. No name has more than a database, a schema, a table, a column and some fields.
const PARTS_MAX: usize = 100;

impl Parser<'_> {
    /// Whether a name begins here that is no reserved word.
    pub(crate) fn at_name(&self) -> bool {
        self.is_name_at(0)
    }

    pub(crate) fn is_name_at(&self, ahead: usize) -> bool {
        let token = self.peek_at(ahead);
        match token.kind {
            // A dot makes a schema's name of a word that belongs to joins.
            Kind::Word => {
                // ANY and SOME mean something before a parenthesis alone.
                let quantifier = matches!(token.keyword, K::ANY | K::SOME);
                !token.keyword.is_reserved()
                    || (quantifier && self.peek_at(ahead + 1).kind != Kind::LeftParen)
                    || (token.keyword.names_function() && self.peek_at(ahead + 1).kind == Kind::Dot)
            }
            Kind::QuotedName | Kind::UnicodeName => true,
            _ => false,
        }
    }

    /// Whether any word or quoted name stands here, reserved or not.
    pub(crate) fn is_label_at(&self, ahead: usize) -> bool {
        matches!(self.peek_at(ahead).kind, Kind::Word | Kind::QuotedName | Kind::UnicodeName)
    }

    /// A name that is no reserved word; `what` says of what, for the error.
    pub(crate) fn name(&mut self, what: &str) -> Parsed<Name> {
        match self.at_name() {
            true => self.label(what),
            false => Err(self.expected(what)),
        }
    }

    /// A name where reserved words are let pass, too: behind AS and dots.
    pub(crate) fn label(&mut self, what: &str) -> Parsed<Name> {
        if !self.is_label_at(0) {
            return Err(self.expected(what));
        }
        let token = self.advance();
        self.name_of(token)
    }

    pub(crate) fn name_of(&self, token: Token) -> Parsed<Name> {
        name_of(self.text, token)
    }

    /// `name`, `schema.name` and so on.
    pub(crate) fn path(&mut self, what: &str) -> Parsed<Path> {
        let mut names = vec![self.name(what)?];
        self.further_names(&mut names, what)?;
        Ok(Path { names })
    }

    /// The names behind dots; a star behind a dot is left.
    pub(crate) fn further_names(&mut self, names: &mut Vec<Name>, what: &str) -> Parsed<()> {
        while self.is_kind(Kind::Dot) && self.is_label_at(1) {
            self.advance();
            names.push(self.label(what)?);
            if names.len() > PARTS_MAX {
                return Err(self.too_deep());
            }
        }
        if self.is_kind(Kind::Dot) && !self.is_operator_at(1, "*") {
            self.advance();
            return Err(self.expected(what));
        }
        Ok(())
    }

    /// Names in parentheses.
    pub(crate) fn names_in_parens(&mut self, what: &str) -> Parsed<Vec<Name>> {
        self.in_parens(|p| p.name(what))
    }

    /// Names in parentheses, where they begin here.
    pub(crate) fn names_if_parens(&mut self, what: &str) -> Parsed<Vec<Name>> {
        match self.is_kind(Kind::LeftParen) {
            true => self.names_in_parens(what),
            false => Ok(vec![]),
        }
    }

    /// A text in quotes, where nothing else may stand.
    pub(crate) fn text_literal(&mut self, what: &str) -> Parsed<TextLiteral> {
        if !self.at_text() {
            return Err(self.expected(what));
        }
        let start = self.peek().span;
        let text = self.text_value()?;
        Ok(TextLiteral { text, span: self.span_from(start) })
    }

    /// IF EXISTS.
    pub(crate) fn if_exists(&mut self) -> bool {
        self.eat_all(&[K::IF, K::EXISTS])
    }

    /// IF NOT EXISTS.
    pub(crate) fn if_not_exists(&mut self) -> bool {
        self.eat_all(&[K::IF, K::NOT, K::EXISTS])
    }

    /// CASCADE (true), RESTRICT (false).
    pub(crate) fn cascade(&mut self) -> Option<bool> {
        match () {
            () if self.eat(K::CASCADE) => Some(true),
            () if self.eat(K::RESTRICT) => Some(false),
            () => None,
        }
    }

    pub(crate) fn here(&self) -> Span {
        self.peek().span
    }
}

/// The name that a token is.
pub(crate) fn name_of(text: &str, token: Token) -> Parsed<Name> {
    let source = token.span.of(text);
    let text: Box<str> = match token.kind {
        Kind::QuotedName => {
            let inner = &source[1..source.len() - 1];
            if inner.contains("\"\"") { inner.replace("\"\"", "\"").into() } else { inner.into() }
        }
        Kind::UnicodeName => {
            let inner = source[3..source.len() - 1].replace("\"\"", "\"");
            super::literal::unicode(&inner, '\\').map_err(|m| SyntaxError::new(m, token.span))?.into()
        }
        _ => source.into(),
    };
    Ok(Name { text, quoted: token.kind != Kind::Word, span: token.span })
}
