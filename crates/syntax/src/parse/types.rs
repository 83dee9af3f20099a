//! Types.
//!
//! Called where a type has to stand: casts, columns, parameters. Words that belong together (DOUBLE PRECISION,
//! TIMESTAMP WITH TIME ZONE) are one name; brackets behind a type make lists. Whether there is such a type is for the
//! binder.

use super::{Parsed, Parser};
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{Name, Path, TypeKind, TypeName};

impl Parser<'_> {
    /// A type with what belongs to it.
    pub(crate) fn type_name(&mut self) -> Parsed<TypeName> {
        self.nested(|p| {
            let start = p.here();
            let kind = p.type_kind()?;
            let lists = p.type_lists()?;
            Ok(TypeName { kind, lists, span: p.span_from(start) })
        })
    }

    /// `[]`, `[3]`, ARRAY, ARRAY[3].
    fn type_lists(&mut self) -> Parsed<Vec<Option<u64>>> {
        let mut lists = Vec::new();
        if self.eat(K::ARRAY) && !self.is_kind(Kind::LeftBracket) {
            lists.push(None);
        }
        while self.is_kind(Kind::LeftBracket) {
            let length = match (self.peek_at(1).kind, self.peek_at(2).kind) {
                (Kind::RightBracket, _) => None,
                (Kind::Number, Kind::RightBracket) => {
                    let digits = self.source(self.peek_at(1));
                    let length = digits.parse::<u64>();
                    Some(length.map_err(|_| self.wrong("a length is a whole number", self.peek_at(1).span))?)
                }
                _ => break,
            };
            self.expect_kind(Kind::LeftBracket)?;
            if length.is_some() {
                self.advance();
            }
            self.expect_kind(Kind::RightBracket)?;
            lists.push(length);
            self.wrapped()?;
        }
        Ok(lists)
    }

    fn type_kind(&mut self) -> Parsed<TypeKind> {
        let bracket = self.peek_at(1).kind == Kind::LeftParen;
        match self.word() {
            K::STRUCT | K::ROW if bracket => {
                let row = self.advance().keyword == K::ROW;
                Ok(TypeKind::Struct { row, fields: self.in_parens(Self::type_field)? })
            }
            K::UNION if bracket => {
                self.advance();
                let members = self.in_parens(|p| Ok((p.label("a member's name")?, p.type_name()?)))?;
                Ok(TypeKind::Union(members))
            }
            K::MAP if bracket => {
                self.advance();
                self.expect_kind(Kind::LeftParen)?;
                let key = self.type_name()?;
                self.expect_kind(Kind::Comma)?;
                let value = self.type_name()?;
                self.expect_kind(Kind::RightParen)?;
                Ok(TypeKind::Map(Box::new(key), Box::new(value)))
            }
            K::LIST if bracket => {
                self.advance();
                self.expect_kind(Kind::LeftParen)?;
                let element = self.type_name()?;
                self.expect_kind(Kind::RightParen)?;
                Ok(TypeKind::List(Box::new(element)))
            }
            K::ENUM if bracket => {
                self.advance();
                Ok(TypeKind::Enum(self.in_parens(|p| p.text_literal("a text in single quotes"))?))
            }
            K::TIME | K::TIMESTAMP => self.moment(),
            K::INTERVAL => {
                self.advance();
                let precision = self.precision_if_parens()?;
                let fields = self.interval_fields()?;
                Ok(TypeKind::Interval { fields, precision })
            }
            _ => self.named_type(),
        }
    }

    /// A field of a struct with its name, or of a row without.
    pub(crate) fn type_field(&mut self) -> Parsed<(Option<Name>, TypeName)> {
        let ends = matches!(
            self.peek_at(1).kind,
            Kind::Comma | Kind::RightParen | Kind::LeftParen | Kind::LeftBracket | Kind::Dot
        );
        let double = self.are(&[K::DOUBLE, K::PRECISION])
            && matches!(self.peek_at(2).kind, Kind::Comma | Kind::RightParen | Kind::LeftBracket);
        let worded =
            matches!(self.word(), K::TIME | K::TIMESTAMP) && matches!(self.word_at(1), K::WITH | K::WITHOUT);
        let varying = matches!(self.word(), K::CHARACTER | K::BIT) && self.word_at(1) == K::VARYING;
        if ends || double || worded || varying {
            return Ok((None, self.type_name()?));
        }
        if self.at_text() {
            let text = self.text_literal("a field's name")?;
            let name = Name { text: text.text, quoted: true, span: text.span };
            return Ok((Some(name), self.type_name()?));
        }
        Ok((Some(self.label("a field's name")?), self.type_name()?))
    }

    /// TIME and TIMESTAMP.
    fn moment(&mut self) -> Parsed<TypeKind> {
        let name = self.label("a type")?;
        let precision = self.precision_if_parens()?;
        let zone = match self.word() {
            K::WITH if self.word_at(1) == K::TIME => Some(true),
            K::WITHOUT if self.word_at(1) == K::TIME => Some(false),
            _ => None,
        };
        if zone.is_some() {
            self.advance();
            self.expect(K::TIME)?;
            self.expect(K::ZONE)?;
        }
        Ok(TypeKind::Moment { name, precision, zone })
    }

    /// A type by its name, which may be several words.
    fn named_type(&mut self) -> Parsed<TypeKind> {
        let start = self.here();
        let mut words = 1;
        match (self.word(), self.word_at(1)) {
            (K::DOUBLE, K::PRECISION) | (K::CHARACTER | K::BIT, K::VARYING) => words = 2,
            (K::NATIONAL, K::CHARACTER) => words = if self.word_at(2) == K::VARYING { 3 } else { 2 },
            _ => {}
        }
        let path = if words > 1 {
            let mut text = String::new();
            for _ in 0..words {
                let token = self.advance();
                text.push_str(if text.is_empty() { "" } else { " " });
                text.push_str(self.source(token));
            }
            Path { names: vec![Name { text: text.into(), quoted: false, span: self.span_from(start) }] }
        } else {
            if !self.at_name() && !self.word().names_function() {
                return Err(self.expected("a type"));
            }
            let mut names = vec![self.label("a type")?];
            self.further_names(&mut names, "a type")?;
            Path { names }
        };
        let modifiers = match self.is_kind(Kind::LeftParen) {
            true => {
                self.advance();
                self.until(Kind::RightParen, Self::expr)?
            }
            false => vec![],
        };
        Ok(TypeKind::Named { name: path, modifiers })
    }

    /// From here to the end a type, and nothing else.
    pub(crate) fn whole_type(&mut self) -> Parsed<TypeName> {
        let ty = self.type_name()?;
        match self.is_kind(Kind::End) {
            true => Ok(ty),
            false => Err(self.expected("the end of the type")),
        }
    }
}
