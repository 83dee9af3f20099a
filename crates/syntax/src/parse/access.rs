//! CREATE ROLE, GRANT, REVOKE, row policies and their kin.
//!
//! Called by `statement` and `alter` at the first word. Names of roles may be words that are functions elsewhere;
//! what a privilege means is for the binder.

use super::{Parsed, Parser};
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    AccessStatement, DefaultPrivileges, DefinePolicy, DefineRole, Grant, GrantTarget, Granted, LimitValue,
    Name, PrivilegeItem, RoleOption, RoleWord, StatementKind,
};

/// Options of a role that are one word.
const FLAGS: [&str; 7] =
    ["superuser", "createdb", "createrole", "inherit", "login", "replication", "bypassrls"];
/// Words before LIMIT.
const LIMITS: [&str; 4] = ["connection", "time", "memory", "priority"];

impl Parser<'_> {
    /// Whether this word stands there, which need not be a known one.
    fn is_text(&self, ahead: usize, word: &str) -> bool {
        let token = self.peek_at(ahead);
        token.kind == Kind::Word && token.span.of(self.text).eq_ignore_ascii_case(word)
    }

    fn eat_text(&mut self, word: &str) -> bool {
        let there = self.is_text(0, word);
        if there {
            self.advance();
        }
        there
    }

    fn role_word(&mut self) -> RoleWord {
        match self.advance().keyword {
            K::USER => RoleWord::User,
            K::GROUP => RoleWord::Group,
            _ => RoleWord::Role,
        }
    }

    fn roles(&mut self) -> Parsed<Vec<Name>> {
        self.list(|p| {
            // GROUP before a name is an old form that says nothing.
            if p.is(K::GROUP) && p.is_label_at(1) {
                p.advance();
            }
            p.label("a role")
        })
    }

    /// CREATE ROLE, USER or GROUP, from that word on.
    pub(crate) fn create_role(&mut self) -> Parsed<StatementKind> {
        let word = self.role_word();
        let name = self.label("a role's name")?;
        self.eat(K::WITH);
        let options = self.role_options()?;
        let role = DefineRole { alter: false, word, name, options };
        Ok(StatementKind::Access(Box::new(AccessStatement::Role(role))))
    }

    /// Whether ALTER ROLE name is followed by options rather than by SET, RESET or RENAME.
    pub(crate) fn alters_role_by_options(&self) -> bool {
        !matches!(self.word_at(2), K::SET | K::RESET | K::RENAME | K::OWNER | K::EXISTS)
            && self.is_label_at(1)
    }

    /// ALTER ROLE with options, from the word ROLE on.
    pub(crate) fn alter_role(&mut self) -> Parsed<StatementKind> {
        let word = self.role_word();
        let name = self.label("a role's name")?;
        self.eat(K::WITH);
        let options = self.role_options()?;
        if options.is_empty() {
            return Err(self.expected("an option of roles, SET, RESET or RENAME TO"));
        }
        let role = DefineRole { alter: true, word, name, options };
        Ok(StatementKind::Access(Box::new(AccessStatement::Role(role))))
    }

    fn role_options(&mut self) -> Parsed<Vec<RoleOption>> {
        let mut options = Vec::new();
        while !matches!(self.peek().kind, Kind::End | Kind::Semicolon) {
            options.push(self.role_option()?);
        }
        Ok(options)
    }

    fn role_option(&mut self) -> Parsed<RoleOption> {
        let flag = FLAGS.iter().any(|flag| self.is_text(0, flag) || (self.is_text(0, &format!("no{flag}"))));
        if flag {
            return Ok(RoleOption::Flag(self.label("an option")?));
        }
        if self.is_text(0, "encrypted") && self.is_text(1, "password") {
            self.advance();
        }
        if self.eat_text("password") {
            return match self.eat(K::NULL) {
                true => Ok(RoleOption::Password(None)),
                false => {
                    Ok(RoleOption::Password(Some(self.text_literal("a password in single quotes or NULL")?)))
                }
            };
        }
        if self.is(K::VALID) && self.is_text(1, "until") {
            self.at += 2;
            return Ok(RoleOption::ValidUntil(self.text_literal("a time in single quotes")?));
        }
        if self.word_at(1) == K::LIMIT && LIMITS.iter().any(|limit| self.is_text(0, limit)) {
            let name = self.label("a limit")?;
            self.advance();
            let value = match self.at_text() {
                true => LimitValue::Text(self.text_literal("a limit")?),
                false => LimitValue::Number(self.signed_number()?),
            };
            return Ok(RoleOption::Limit(name, value));
        }
        match self.word() {
            K::IN if matches!(self.word_at(1), K::ROLE | K::GROUP) => {
                self.at += 2;
                Ok(RoleOption::In(self.roles()?))
            }
            K::ROLE | K::USER => {
                self.advance();
                Ok(RoleOption::Members(self.roles()?))
            }
            _ if self.eat_text("admin") => Ok(RoleOption::Admins(self.roles()?)),
            _ => Err(self.expected("an option of roles")),
        }
    }

    /// GRANT and REVOKE.
    pub(crate) fn grant(&mut self) -> Parsed<StatementKind> {
        let grant = self.grant_of(false)?;
        Ok(StatementKind::Access(Box::new(AccessStatement::Grant(grant))))
    }

    /// `of_defaults`: in ALTER DEFAULT PRIVILEGES, where kinds of objects stand in the place of objects.
    fn grant_of(&mut self, of_defaults: bool) -> Parsed<Grant> {
        let revoke = self.advance().keyword == K::REVOKE;
        let mut option = false;
        if revoke {
            option = self.eat_all(&[K::GRANT, K::OPTION, K::FOR])
                || (self.is_text(0, "admin") && self.word_at(1) == K::OPTION && {
                    self.at += 2;
                    self.expect(K::FOR)?;
                    true
                });
        }
        let items = self.privilege_items()?;
        let what = match self.eat(K::ON) {
            true => Granted::Privileges { privileges: items, on: self.grant_target(of_defaults)? },
            false => Granted::Roles(self.as_roles(items)?),
        };
        self.expect(if revoke { K::FROM } else { K::TO })?;
        let roles = self.roles()?;
        if !revoke && self.is(K::WITH) {
            self.advance();
            if !self.eat(K::GRANT) && !self.eat_text("admin") {
                return Err(self.expected("GRANT OPTION or ADMIN OPTION"));
            }
            self.expect(K::OPTION)?;
            option = true;
        }
        let by = match self.is_text(0, "granted") {
            true => {
                self.advance();
                self.expect(K::BY)?;
                Some(self.label("a role")?)
            }
            false => None,
        };
        let cascade = if revoke { self.cascade() } else { None };
        Ok(Grant { revoke, option, what, roles, by, cascade })
    }

    /// `SELECT, UPDATE (a)`, `ALL PRIVILEGES`, or names of roles, which look alike.
    fn privilege_items(&mut self) -> Parsed<Vec<PrivilegeItem>> {
        if self.is(K::ALL) && self.peek_at(1).kind != Kind::LeftParen {
            self.advance();
            self.eat_text("privileges");
            if self.is_kind(Kind::LeftParen) {
                let columns = self.names_in_parens("a column")?;
                return Ok(vec![PrivilegeItem { name: None, columns }]);
            }
            return Ok(vec![]);
        }
        self.list(|p| {
            let name = match p.eat(K::ALL) {
                true => None,
                false => Some(p.label("a privilege or a role")?),
            };
            Ok(PrivilegeItem { name, columns: p.names_if_parens("a column")? })
        })
    }

    fn as_roles(&mut self, items: Vec<PrivilegeItem>) -> Parsed<Vec<Name>> {
        let roles: Option<Vec<Name>> =
            items.into_iter().map(|item| item.name.filter(|_| item.columns.is_empty())).collect();
        match roles {
            Some(roles) if !roles.is_empty() => Ok(roles),
            _ => Err(self.expected("ON")),
        }
    }

    fn grant_target(&mut self, of_defaults: bool) -> Parsed<GrantTarget> {
        if of_defaults {
            let kind = Some(self.label("TABLES, SEQUENCES, FUNCTIONS, SCHEMAS or TYPES")?);
            return Ok(GrantTarget { kind, all_in_schemas: false, names: vec![] });
        }
        if self.eat(K::ALL) {
            let kind = Some(self.label("TABLES, SEQUENCES or FUNCTIONS")?);
            self.expect(K::IN)?;
            self.expect(K::SCHEMA)?;
            let names = self.list(|p| p.path("a schema"))?;
            return Ok(GrantTarget { kind, all_in_schemas: true, names });
        }
        // A word before a name is a kind.
        let kind = match self.is_label_at(0) && self.is_label_at(1) && !self.is_end_of_target(1) {
            true => Some(self.label("a kind of object")?),
            false => None,
        };
        let names = self.list(|p| {
            let name = p.path("a name")?;
            if p.is_kind(Kind::LeftParen) {
                let hint = "a privilege is on all forms of a function: leave the types of its arguments out";
                return Err(p.expected("a comma, TO or FROM").with_hint(hint));
            }
            Ok(name)
        })?;
        Ok(GrantTarget { kind, all_in_schemas: false, names })
    }

    fn is_end_of_target(&self, ahead: usize) -> bool {
        matches!(self.word_at(ahead), K::TO | K::FROM)
    }

    /// ALTER DEFAULT PRIVILEGES, from DEFAULT on.
    pub(crate) fn default_privileges(&mut self) -> Parsed<StatementKind> {
        self.expect(K::DEFAULT)?;
        if !self.eat_text("privileges") {
            return Err(self.expected("PRIVILEGES"));
        }
        let (mut roles, mut schemas) = (vec![], vec![]);
        loop {
            match self.word() {
                K::FOR if roles.is_empty() => {
                    self.advance();
                    if !self.eat(K::ROLE) && !self.eat(K::USER) {
                        return Err(self.expected("ROLE"));
                    }
                    roles = self.roles()?;
                }
                K::IN if schemas.is_empty() => {
                    self.advance();
                    self.expect(K::SCHEMA)?;
                    schemas = self.list(|p| p.name("a schema"))?;
                }
                K::GRANT | K::REVOKE => break,
                _ => return Err(self.expected("GRANT or REVOKE")),
            }
        }
        let grant = self.grant_of(true)?;
        let made = DefaultPrivileges { roles, schemas, grant };
        Ok(StatementKind::Access(Box::new(AccessStatement::Defaults(made))))
    }

    /// CREATE POLICY and ALTER POLICY, from POLICY on.
    pub(crate) fn policy(&mut self, alter: bool) -> Parsed<StatementKind> {
        self.expect(K::POLICY)?;
        let name = self.name("a policy's name")?;
        self.expect(K::ON)?;
        let table = self.path("a table")?;
        let mut made = DefinePolicy {
            alter,
            name,
            table,
            rename: None,
            kind: None,
            command: None,
            roles: vec![],
            using: None,
            check: None,
        };
        if alter && self.eat(K::RENAME) {
            self.expect(K::TO)?;
            made.rename = Some(self.name("a policy's name")?);
            return Ok(StatementKind::Access(Box::new(AccessStatement::Policy(made))));
        }
        if !alter && self.eat(K::AS) {
            made.kind = Some(self.label("PERMISSIVE or RESTRICTIVE")?);
        }
        if !alter && self.eat(K::FOR) {
            made.command = Some(self.label("ALL, SELECT, INSERT, UPDATE or DELETE")?);
        }
        if self.eat(K::TO) {
            made.roles = self.roles()?;
        }
        if self.eat(K::USING) {
            made.using = Some(self.condition()?);
        }
        if self.are(&[K::WITH, K::CHECK]) {
            self.at += 2;
            made.check = Some(self.condition()?);
        }
        Ok(StatementKind::Access(Box::new(AccessStatement::Policy(made))))
    }

    fn condition(&mut self) -> Parsed<crate::tree::Expr> {
        self.expect_kind(Kind::LeftParen)?;
        let condition = self.expr()?;
        self.expect_kind(Kind::RightParen)?;
        Ok(condition)
    }

    /// DROP OWNED BY, from OWNED on.
    pub(crate) fn drop_owned(&mut self) -> Parsed<StatementKind> {
        self.expect(K::OWNED)?;
        self.expect(K::BY)?;
        let roles = self.roles()?;
        let cascade = self.cascade();
        Ok(StatementKind::Access(Box::new(AccessStatement::DropOwned { roles, cascade })))
    }

    /// REASSIGN OWNED BY ... TO.
    pub(crate) fn reassign_owned(&mut self) -> Parsed<StatementKind> {
        self.expect_all(&[K::REASSIGN, K::OWNED, K::BY])?;
        let roles = self.roles()?;
        self.expect(K::TO)?;
        let to = self.label("a role")?;
        Ok(StatementKind::Access(Box::new(AccessStatement::ReassignOwned { roles, to })))
    }
}
