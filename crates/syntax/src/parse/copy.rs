//! COPY.

use super::{Parsed, Parser};
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    Copy, CopySource, CopyTarget, Expr, ExprKind, Literal, OptionValue, SetOption, StatementKind,
};

impl Parser<'_> {
    pub(crate) fn copy(&mut self) -> Parsed<StatementKind> {
        let start = self.expect(K::COPY)?;
        self.eat(K::BINARY);
        if self.are(&[K::FROM, K::DATABASE]) {
            self.expect_all(&[K::FROM, K::DATABASE])?;
            let from = self.name("a database")?;
            self.expect(K::TO)?;
            let to = self.name("a database")?;
            let part = match self.eat_kind(Kind::LeftParen) {
                true => {
                    let part = self.label("SCHEMA or DATA")?;
                    self.expect_kind(Kind::RightParen)?;
                    Some(part)
                }
                false => None,
            };
            return Ok(StatementKind::CopyDatabase { from, to, part });
        }
        let source = match self.is_kind(Kind::LeftParen) {
            true => {
                self.advance();
                let statement = self.nested(Self::row_statement)?;
                self.expect_kind(Kind::RightParen)?;
                CopySource::Statement(Box::new(statement))
            }
            false => {
                let table = self.path("a table or a query in parentheses")?;
                CopySource::Table(table, self.names_if_parens("a column")?)
            }
        };
        let to = match () {
            () if self.eat(K::TO) => true,
            () if self.eat(K::FROM) => false,
            () => return Err(self.expected("TO or FROM")),
        };
        let target = match self.word() {
            K::STDIN | K::STDOUT => CopyTarget::Standard(self.advance().span),
            K::PROGRAM if self.peek_at(1).kind == Kind::Text => {
                self.advance();
                CopyTarget::Program(self.text_literal("a command")?)
            }
            _ if self.at_name() => {
                let name = self.name("a file in single quotes")?;
                let kind = ExprKind::Literal(Literal::Text(name.text));
                CopyTarget::File(Expr { kind, span: name.span })
            }
            _ => CopyTarget::File(self.operand()?),
        };
        self.eat(K::WITH);
        let options = match self.is_kind(Kind::LeftParen) {
            true => self.options_in_parens()?,
            false => self.old_options()?,
        };
        let condition = match self.eat(K::WHERE) {
            true => Some(self.expr()?),
            false => None,
        };
        let copy = Copy { source, to, target, options, condition, span: self.span_from(start) };
        Ok(StatementKind::Copy(Box::new(copy)))
    }

    /// Options without parentheses, as PostgreSQL had them before 9.0: `CSV HEADER DELIMITER ','`.
    fn old_options(&mut self) -> Parsed<Vec<SetOption>> {
        let mut options = Vec::new();
        while self.is_kind(Kind::Word) && !self.is(K::WHERE) {
            let valued = matches!(self.word(), K::DELIMITER | K::NULL | K::QUOTE | K::ESCAPE | K::ENCODING);
            let force = self.is(K::FORCE);
            let mut name = self.label("an option")?;
            if force {
                let second = self.label("QUOTE, NOT NULL or NULL")?;
                let mut text = format!("force_{}", second.text);
                if second.text.eq_ignore_ascii_case("not") {
                    let third = self.label("NULL")?;
                    text = format!("force_not_{}", third.text);
                }
                name.text = text.into();
                let value = match self.is_operator("*") {
                    true => OptionValue::Star(self.advance().span),
                    false => {
                        let names = self.list(|p| p.name("a column"))?;
                        let entries = names.into_iter().map(|column| SetOption {
                            name: crate::tree::Name { text: "".into(), quoted: false, span: column.span },
                            value: Some(OptionValue::Word(column)),
                        });
                        OptionValue::List(entries.collect())
                    }
                };
                options.push(SetOption { name, value: Some(value) });
                continue;
            }
            let value = match valued {
                true => {
                    self.eat(K::AS);
                    let span = self.here();
                    let text = self.text_literal("a text in single quotes")?;
                    let kind = ExprKind::Literal(Literal::Text(text.text));
                    Some(OptionValue::Expr(Expr { kind, span }))
                }
                false => None,
            };
            options.push(SetOption { name, value });
        }
        Ok(options)
    }
}
