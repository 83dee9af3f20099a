//! Statements about the session and the database as a whole: SET, PRAGMA, ATTACH, BACKUP, VACUUM.
//!
//! Called by `statement` at the first word. A setting's value may be a word, a text, a number or a list; what it
//! means is for the engine. Options in brackets are names with values, in any order.

use super::{Parsed, Parser};
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{IfThere, Name, OptionValue, Path, Scope, Set, SetOption, StatementKind};

impl Parser<'_> {
    fn scope(&mut self) -> Option<Scope> {
        // A setting's own name may be one of the words.
        let sets = matches!(self.word_at(1), K::TO)
            || self.is_operator_at(1, "=")
            || self.peek_at(1).kind == Kind::End;
        let scope = match self.word() {
            K::SESSION => Scope::Session,
            K::LOCAL => Scope::Local,
            K::GLOBAL => Scope::Global,
            _ => return None,
        };
        if sets {
            return None;
        }
        self.advance();
        Some(scope)
    }

    pub(crate) fn set(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.is(K::TRANSACTION) && self.word_at(1) != K::TO && !self.is_operator_at(1, "=") {
            self.advance();
            return Ok(StatementKind::SetTransaction(false, self.transaction_modes(true)?));
        }
        if self.eat_all(&[K::SESSION, K::CHARACTERISTICS]) {
            self.expect(K::AS)?;
            self.expect(K::TRANSACTION)?;
            return Ok(StatementKind::SetTransaction(true, self.transaction_modes(true)?));
        }
        let scope = self.scope();
        if self.is(K::VARIABLE) && self.is_label_at(1) {
            self.advance();
            let name = self.label("a variable's name")?;
            if !self.eat_operator("=") && !self.eat(K::TO) {
                return Err(self.expected("= or TO"));
            }
            return Ok(StatementKind::Set(Set::Variable(name, self.expr()?)));
        }
        if self.are(&[K::TIME, K::ZONE]) {
            self.expect_all(&[K::TIME, K::ZONE])?;
            let zone = match self.word() {
                K::DEFAULT | K::LOCAL => {
                    self.advance();
                    None
                }
                _ => Some(self.expr()?),
            };
            return Ok(StatementKind::Set(Set::TimeZone(scope, zone)));
        }
        let sets = self.is_operator_at(1, "=") || self.word_at(1) == K::TO;
        if !sets && (self.is(K::ROLE) || (self.is(K::AUTHORIZATION) && scope.is_some())) {
            let authorization = self.advance().keyword == K::AUTHORIZATION;
            return Ok(StatementKind::Set(Set::Role { scope, authorization, name: self.role()? }));
        }
        if self.is(K::SCHEMA) && !sets {
            self.advance();
            return Ok(StatementKind::Set(Set::Schema(self.expr()?)));
        }
        let mut names = vec![self.label("a setting")?];
        self.further_names(&mut names, "a setting")?;
        if !self.eat_operator("=") && !self.eat(K::TO) {
            return Err(self.expected("= or TO"));
        }
        let values = match self.is(K::DEFAULT) && matches!(self.peek_at(1).kind, Kind::End | Kind::Semicolon)
        {
            true => {
                self.advance();
                vec![]
            }
            false => self.list(Self::option_value)?,
        };
        Ok(StatementKind::Set(Set::Setting { scope, name: Path { names }, values }))
    }

    /// A role, also as a text; NONE and DEFAULT are the one that the session began with.
    fn role(&mut self) -> Parsed<Option<Name>> {
        if self.at_text() {
            let text = self.text_literal("a role")?;
            return Ok(Some(Name { text: text.text, quoted: true, span: text.span }));
        }
        if self.eat(K::NONE) || self.eat(K::DEFAULT) {
            return Ok(None);
        }
        self.label("a role").map(Some)
    }

    pub(crate) fn reset(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.eat(K::ALL) {
            return Ok(StatementKind::Reset { scope: None, name: None });
        }
        if self.is(K::VARIABLE) && self.is_label_at(1) {
            self.advance();
            return Ok(StatementKind::ResetVariable(self.label("a variable's name")?));
        }
        if self.are(&[K::TIME, K::ZONE]) {
            let name = self.label("a setting")?;
            self.advance();
            let name = Name { text: "timezone".into(), ..name };
            return Ok(StatementKind::Reset { scope: None, name: Some(Path { names: vec![name] }) });
        }
        let scope = self.scope();
        let mut names = vec![self.label("a setting or ALL")?];
        self.further_names(&mut names, "a setting")?;
        Ok(StatementKind::Reset { scope, name: Some(Path { names }) })
    }

    pub(crate) fn pragma(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.label("a pragma")?;
        if self.eat_operator("=") {
            let value = Some(self.option_value()?);
            return Ok(StatementKind::Pragma { name, value, arguments: None });
        }
        let arguments = match self.is_kind(Kind::LeftParen) {
            true => Some(self.table_arguments()?),
            false => None,
        };
        Ok(StatementKind::Pragma { name, value: None, arguments })
    }

    /// A value of an option or a setting: a bare word, an expression, a list in parentheses, a star.
    pub(crate) fn option_value(&mut self) -> Parsed<OptionValue> {
        let ends = |kind: Kind| {
            matches!(kind, Kind::Comma | Kind::RightParen | Kind::End | Kind::Semicolon) || kind == Kind::Word
        };
        let next = self.peek_at(1);
        match self.peek().kind {
            Kind::Word | Kind::QuotedName
                if ends(next.kind)
                    && !matches!(self.word(), K::CASE | K::NOT | K::NULL | K::TRUE | K::FALSE) =>
            {
                Ok(OptionValue::Word(self.label("a value")?))
            }
            Kind::Operator if self.is_operator("*") => Ok(OptionValue::Star(self.advance().span)),
            Kind::LeftParen if !self.query_follows(0) => {
                self.advance();
                Ok(OptionValue::List(self.until(Kind::RightParen, Self::list_entry)?))
            }
            _ => Ok(OptionValue::Expr(self.expr()?)),
        }
    }

    /// An element of an option's list, with its name where it has one; alone, it is the value of no name.
    fn list_entry(&mut self) -> Parsed<SetOption> {
        let named = self.is_label_at(0)
            && (self.is_operator_at(1, "=") || matches!(self.peek_at(1).kind, Kind::Arrow | Kind::Colon));
        if named {
            let name = self.label("a name")?;
            self.advance();
            return Ok(SetOption { name, value: Some(self.option_value()?) });
        }
        let span = self.here();
        let name = Name { text: "".into(), quoted: false, span };
        Ok(SetOption { name, value: Some(self.option_value()?) })
    }

    /// `(name value, name = value, name => value, name (list), name)`.
    pub(crate) fn options_in_parens(&mut self) -> Parsed<Vec<SetOption>> {
        self.expect_kind(Kind::LeftParen)?;
        self.until(Kind::RightParen, |p| {
            let mut names = vec![p.option_name()?];
            p.further_names(&mut names, "an option")?;
            let span = names.first().map(|n| n.span).unwrap_or_default();
            let text = names.iter().map(|n| &*n.text).collect::<Vec<_>>().join(".");
            let quoted = names.iter().all(|n| n.quoted);
            let name = Name { text: text.into(), quoted, span: p.span_from(span) };
            let is_assigned = p.eat_operator("=") || p.eat_kind(Kind::Arrow) || p.eat_kind(Kind::ColonEquals);
            if name.text.eq_ignore_ascii_case("order_by") && p.eat_kind(Kind::LeftParen) {
                let items = p.until(Kind::RightParen, Self::order_item)?;
                return Ok(SetOption { name, value: Some(OptionValue::Order(items)) });
            }
            if is_assigned {
                return Ok(SetOption { name, value: Some(p.option_value()?) });
            }
            let value = match p.peek().kind {
                Kind::Comma | Kind::RightParen => None,
                _ => Some(p.option_value()?),
            };
            if p.is_kind(Kind::Word) {
                let hint = "a comma is missing between two options, or brackets around a list of values";
                return Err(p.expected(", or )").with_hint(hint));
            }
            Ok(SetOption { name, value })
        })
    }

    /// An option's name may be a text, as in other systems.
    fn option_name(&mut self) -> Parsed<Name> {
        match self.at_text() {
            true => {
                let text = self.text_literal("an option")?;
                Ok(Name { text: text.text, quoted: true, span: text.span })
            }
            false => self.label("an option"),
        }
    }

    pub(crate) fn attach(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let mut if_there = match self.eat_all(&[K::OR, K::REPLACE]) {
            true => IfThere::Replace,
            false => IfThere::Error,
        };
        self.eat(K::DATABASE);
        if self.if_not_exists() {
            if if_there == IfThere::Replace {
                return Err(self.wrong("OR REPLACE and IF NOT EXISTS exclude each other", self.here()));
            }
            if_there = IfThere::Keep;
        }
        let path = match self.at_name() && self.peek_at(1).kind != Kind::LeftParen {
            true => return Err(self.expected("a path in single quotes")),
            false => self.expr()?,
        };
        let name = match self.eat(K::AS) {
            true => Some(self.name("a name for the database")?),
            false => None,
        };
        let options = match self.is_kind(Kind::LeftParen) {
            true => self.options_in_parens()?,
            false => vec![],
        };
        Ok(StatementKind::Attach { if_there, path, name, options })
    }

    /// BACKUP, EXPORT and IMPORT DATABASE.
    pub(crate) fn whole_database(&mut self) -> Parsed<StatementKind> {
        let verb = self.advance().keyword;
        self.expect(K::DATABASE)?;
        match verb {
            K::BACKUP => {
                self.expect(K::TO)?;
                Ok(StatementKind::BackupDatabase(self.text_literal("a folder in single quotes")?))
            }
            K::IMPORT => Ok(StatementKind::ImportDatabase(self.text_literal("a folder in single quotes")?)),
            _ => {
                if self.at_name() && self.word_at(1) == K::TO {
                    self.advance();
                    self.advance();
                }
                let folder = self.text_literal("a folder in single quotes")?;
                let options = match self.is_kind(Kind::LeftParen) {
                    true => self.options_in_parens()?,
                    false => vec![],
                };
                Ok(StatementKind::ExportDatabase(folder, options))
            }
        }
    }

    /// LOCK TABLE; the mode's words are looked at when it is planned.
    pub(crate) fn lock_table(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.eat(K::TABLE);
        let tables = self.list(|p| {
            let only = p.only();
            let table = p.path("a table")?;
            p.eat_operator("*");
            Ok((only, table))
        })?;
        let mut mode = vec![];
        if self.eat(K::IN) {
            loop {
                let word = self.label("a lock's mode")?;
                if !mode.is_empty() && word.text.eq_ignore_ascii_case("mode") {
                    break;
                }
                mode.push(word);
            }
        }
        Ok(StatementKind::Lock { tables, mode, nowait: self.eat(K::NOWAIT) })
    }

    pub(crate) fn vacuum(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let mut options = match self.is_kind(Kind::LeftParen) {
            true => self.options_in_parens()?,
            false => vec![],
        };
        while matches!(self.word(), K::FULL | K::FREEZE | K::VERBOSE | K::ANALYZE | K::ANALYSE) {
            options.push(SetOption { name: self.label("an option")?, value: None });
        }
        let table = match self.at_name() {
            true => Some(self.path("a table")?),
            false => None,
        };
        // Brackets without a table are options.
        let columns = match table {
            Some(_) => self.names_if_parens("a column")?,
            None => vec![],
        };
        Ok(StatementKind::Vacuum { options, table, columns })
    }
}
