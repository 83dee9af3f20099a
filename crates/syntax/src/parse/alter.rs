//! ALTER.
//!
//! Called by `statement` at the word ALTER. Actions of ALTER TABLE are a list, in the order of the text; which of
//! them go together is for the binder.

use super::{Parsed, Parser};
use crate::Span;
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    AlterObject, AlterTable, ColumnChange, Name, ObjectChange, ObjectKind, StatementKind, TableChange,
};

impl Parser<'_> {
    pub(crate) fn alter(&mut self) -> Parsed<StatementKind> {
        let start = self.expect(K::ALTER)?;
        let kind = match self.word() {
            K::TABLE => return self.alter_table(false, start),
            K::VIEW => return self.alter_table(true, start),
            K::QUERY => return self.alter_query(),
            K::ROLE | K::USER | K::GROUP if self.alters_role_by_options() => return self.alter_role(),
            K::POLICY => return self.policy(true),
            K::DEFAULT => return self.default_privileges(),
            K::SEQUENCE => ObjectKind::Sequence,
            K::SCHEMA => ObjectKind::Schema,
            K::TYPE => ObjectKind::Type,
            K::INDEX => ObjectKind::Index,
            K::ROLE | K::USER => ObjectKind::Role,
            K::DATABASE => ObjectKind::Database,
            _ if self.word().is_foreign_object() => return self.foreign(start),
            _ => return Err(self.expected("TABLE, VIEW, SEQUENCE, SCHEMA, TYPE or INDEX")),
        };
        self.advance();
        let if_exists = self.if_exists();
        let name = self.path("a name")?;
        let change = match self.word() {
            K::RENAME if self.word_at(1) == K::TO => {
                self.at += 2;
                ObjectChange::Rename(self.name("a name")?)
            }
            K::RENAME if self.word_at(1) == K::VALUE => {
                self.at += 2;
                let from = self.text_literal("a text in single quotes")?;
                self.expect(K::TO)?;
                ObjectChange::RenameValue(from, self.text_literal("a text in single quotes")?)
            }
            K::SET if self.word_at(1) == K::SCHEMA => {
                self.at += 2;
                ObjectChange::SetSchema(self.name("a schema")?)
            }
            K::OWNER => {
                self.advance();
                self.expect(K::TO)?;
                ObjectChange::OwnerTo(self.label("a role")?)
            }
            K::ADD if self.word_at(1) == K::VALUE => {
                self.at += 2;
                let if_not_exists = self.if_not_exists();
                let value = self.text_literal("a text in single quotes")?;
                let place = match self.word() {
                    K::BEFORE | K::AFTER => {
                        let before = self.advance().keyword == K::BEFORE;
                        Some((before, self.text_literal("a text in single quotes")?))
                    }
                    _ => None,
                };
                ObjectChange::AddValue { if_not_exists, value, place }
            }
            K::SET if matches!(kind, ObjectKind::Role | ObjectKind::Database) => {
                self.advance();
                let (setting, value) = self.setting()?;
                ObjectChange::Set(setting, value)
            }
            K::RESET if matches!(kind, ObjectKind::Role | ObjectKind::Database) => {
                self.advance();
                let all = self.eat(K::ALL);
                ObjectChange::Reset(if all { None } else { Some(self.label("a setting or ALL")?) })
            }
            _ if kind == ObjectKind::Sequence => {
                let options = self.sequence_options()?;
                if options.is_empty() {
                    return Err(self.expected("RENAME TO, OWNED BY, RESTART or another option of sequences"));
                }
                ObjectChange::Sequence(options)
            }
            _ => return Err(self.expected("RENAME TO or SET")),
        };
        Ok(StatementKind::AlterObject(Box::new(AlterObject { kind, if_exists, name, change })))
    }

    /// `name = value`, `name TO value`.
    fn setting(&mut self) -> Parsed<(Name, crate::tree::OptionValue)> {
        let name = self.label("a setting")?;
        if !self.eat_operator("=") && !self.eat(K::TO) {
            return Err(self.expected("= or TO"));
        }
        Ok((name, self.option_value()?))
    }

    fn alter_query(&mut self) -> Parsed<StatementKind> {
        self.expect(K::QUERY)?;
        let query = self.signed_number()?;
        self.expect(K::SET)?;
        let (name, value) = self.setting()?;
        Ok(StatementKind::AlterQuery(query, name, value))
    }

    fn alter_table(&mut self, view: bool, start: Span) -> Parsed<StatementKind> {
        self.advance();
        let if_exists = self.if_exists();
        let only = self.is(K::ONLY) && self.is_name_at(1) && self.eat(K::ONLY);
        let name = self.path("a table")?;
        let changes = self.list(Self::table_change)?;
        let made = AlterTable { view, if_exists, only, name, changes, span: self.span_from(start) };
        Ok(StatementKind::AlterTable(Box::new(made)))
    }

    fn table_change(&mut self) -> Parsed<TableChange> {
        match self.word() {
            K::ADD => {
                self.advance();
                self.table_addition()
            }
            K::DROP => {
                self.advance();
                self.table_removal()
            }
            K::RENAME => {
                self.advance();
                self.table_renaming()
            }
            K::ALTER => {
                self.advance();
                self.eat(K::COLUMN);
                let column = self.name("a column")?;
                Ok(TableChange::AlterColumn(column, self.column_change()?))
            }
            K::SET if self.word_at(1) == K::SCHEMA => {
                self.at += 2;
                Ok(TableChange::SetSchema(self.name("a schema")?))
            }
            K::SET if self.peek_at(1).kind == Kind::LeftParen => {
                self.advance();
                let options = self.options_in_parens()?;
                let condition = match self.eat(K::WHERE) {
                    true => Some(self.expr()?),
                    false => None,
                };
                Ok(TableChange::SetOptions(options, condition))
            }
            K::SET if matches!(self.word_at(1), K::PARTITIONED | K::SORTED) => {
                self.at += 2;
                self.expect(K::BY)?;
                Ok(TableChange::SetSorted(self.in_parens(Self::order_item)?))
            }
            K::RESET if self.peek_at(1).kind == Kind::LeftParen => {
                self.advance();
                Ok(TableChange::ResetOptions(self.in_parens(|p| p.label("an option"))?))
            }
            K::VALIDATE => {
                self.advance();
                self.expect(K::CONSTRAINT)?;
                Ok(TableChange::ValidateConstraint(self.name("a constraint's name")?))
            }
            K::OWNER => {
                self.advance();
                self.expect(K::TO)?;
                Ok(TableChange::OwnerTo(self.label("a role")?))
            }
            _ if self.is_kind(Kind::Word) && !self.word().is_reserved() => {
                let mut words = Vec::new();
                while self.is_label_at(0) {
                    words.push(self.label("a word")?);
                }
                Ok(TableChange::Other(words))
            }
            _ => Err(self.expected("ADD, DROP, ALTER, RENAME or SET")),
        }
    }

    fn table_addition(&mut self) -> Parsed<TableChange> {
        let constraint = match self.word() {
            K::CONSTRAINT | K::FOREIGN => true,
            K::PRIMARY => self.word_at(1) == K::KEY,
            K::UNIQUE | K::CHECK => self.peek_at(1).kind == Kind::LeftParen || self.word_at(1) == K::NULLS,
            _ => false,
        };
        if constraint {
            return Ok(TableChange::AddConstraint(self.constraint()?));
        }
        self.eat(K::COLUMN);
        let if_not_exists = self.if_not_exists();
        let mut within = self.path("a column's name")?.names;
        let Some(name) = within.pop() else { return Err(self.expected("a column's name")) };
        let column = self.column_def_of(name)?;
        Ok(TableChange::AddColumn { if_not_exists, within, column })
    }

    fn table_removal(&mut self) -> Parsed<TableChange> {
        if self.is(K::CONSTRAINT) {
            self.advance();
            let if_exists = self.if_exists();
            let name = self.name("a constraint's name")?;
            return Ok(TableChange::DropConstraint { if_exists, name, cascade: self.cascade() });
        }
        self.eat(K::COLUMN);
        let if_exists = self.if_exists();
        let name = self.path("a column")?;
        Ok(TableChange::DropColumn { if_exists, name, cascade: self.cascade() })
    }

    fn table_renaming(&mut self) -> Parsed<TableChange> {
        if self.eat(K::TO) {
            return Ok(TableChange::Rename(self.path("a name")?));
        }
        if self.is(K::CONSTRAINT) {
            self.advance();
            let from = self.name("a constraint's name")?;
            self.expect(K::TO)?;
            return Ok(TableChange::RenameConstraint(from, self.name("a name")?));
        }
        self.eat(K::COLUMN);
        let from = self.path("a column or TO")?;
        self.expect(K::TO)?;
        Ok(TableChange::RenameColumn(from, self.name("a name")?))
    }

    fn column_change(&mut self) -> Parsed<ColumnChange> {
        match self.word() {
            K::TYPE => self.column_type(false),
            K::SET => {
                self.advance();
                match self.word() {
                    K::DATA => {
                        self.advance();
                        self.column_type(true)
                    }
                    K::DEFAULT => {
                        self.advance();
                        Ok(ColumnChange::SetDefault(self.expr()?))
                    }
                    K::NOT => {
                        self.advance();
                        self.expect(K::NULL)?;
                        Ok(ColumnChange::SetNotNull)
                    }
                    K::STATISTICS => {
                        self.advance();
                        Ok(ColumnChange::Statistics(self.signed_number()?))
                    }
                    // DuckDB's SET TYPE.
                    K::TYPE => self.column_type(true),
                    _ => Err(self.expected("DATA TYPE, DEFAULT or NOT NULL")),
                }
            }
            K::DROP => {
                self.advance();
                match self.word() {
                    K::DEFAULT => {
                        self.advance();
                        Ok(ColumnChange::DropDefault)
                    }
                    K::NOT => {
                        self.advance();
                        self.expect(K::NULL)?;
                        Ok(ColumnChange::DropNotNull)
                    }
                    K::IDENTITY => {
                        self.advance();
                        Ok(ColumnChange::DropIdentity { if_exists: self.if_exists() })
                    }
                    K::EXPRESSION => {
                        self.advance();
                        Ok(ColumnChange::DropExpression { if_exists: self.if_exists() })
                    }
                    _ => Err(self.expected("DEFAULT, NOT NULL, IDENTITY or EXPRESSION")),
                }
            }
            K::ADD => {
                self.advance();
                self.expect(K::GENERATED)?;
                let always = self.eat(K::ALWAYS);
                if !always {
                    self.expect(K::BY)?;
                    self.expect(K::DEFAULT)?;
                }
                self.expect(K::AS)?;
                self.expect(K::IDENTITY)?;
                Ok(ColumnChange::AddIdentity { always, options: self.identity_options()? })
            }
            _ => Err(self.expected("TYPE, SET, DROP or ADD GENERATED")),
        }
    }

    fn column_type(&mut self, set_data: bool) -> Parsed<ColumnChange> {
        self.expect(K::TYPE)?;
        let ty = match self.is(K::USING) {
            true => None,
            false => Some(self.type_name()?),
        };
        let collate = match self.eat(K::COLLATE) {
            true => Some(self.path("a collation")?),
            false => None,
        };
        let using = match self.eat(K::USING) {
            true => Some(self.expr()?),
            false => None,
        };
        Ok(ColumnChange::Type { set_data, ty, collate, using })
    }
}
