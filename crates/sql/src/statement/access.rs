//! CREATE ROLE, GRANT, REVOKE, row policies and their kin: words become privileges and options; names of roles and
//! objects are looked up by the engine.
//!
//! Called by `statement` for each of these. What PostgreSQL has and the engine has not is refused by name; a
//! privilege that an object's kind does not have is SQLSTATE 0LP01.

use access::{Class, PolicyCommand, Privilege, RoleOptions};
use plan::access::{
    AccessStatement, DefinePolicy, DefineRole, Grant, GrantTarget, Owned, Password, RoleName,
};
use plan::statement::Statement;
use syntax::Span;
use syntax::tree::{self, AccessStatement as Tree, Granted, LimitValue, ObjectKind, RoleOption};
use types::cast::cast_value;
use types::{Error, Result, SqlState, Type, Value};

use super::Context;
use crate::bind::folded;
use crate::place;

/// A role as it is written. PUBLIC is every role; CURRENT_USER and its kin are words and no names.
pub(super) fn role(name: &tree::Name) -> RoleName {
    let text = folded(name);
    match text.as_str() {
        "public" => RoleName::Public,
        "current_user" | "current_role" if !name.quoted => RoleName::Current,
        "session_user" if !name.quoted => RoleName::Session,
        _ => RoleName::Named(text),
    }
}

fn roles(names: &[tree::Name]) -> Vec<RoleName> {
    names.iter().map(role).collect()
}

fn is(name: &tree::Name, word: &str) -> bool {
    !name.quoted && name.text.eq_ignore_ascii_case(word)
}

impl Context<'_> {
    /// Any statement about access.
    pub(super) fn access(&self, statement: &tree::AccessStatement) -> Result<Statement> {
        Ok(Statement::Access(Box::new(match statement {
            Tree::Role(role) => AccessStatement::Role(self.define_role(role)?),
            Tree::Grant(grant) => self.granted(grant)?,
            Tree::Defaults(defaults) => self.default_privileges(defaults)?,
            Tree::Policy(policy) => AccessStatement::Policy(self.policy(policy)?),
            Tree::DropOwned { roles: _, cascade: _ } => {
                return Err(Error::unsupported("DROP OWNED is not supported")
                    .with_hint("use REASSIGN OWNED and REVOKE, or drop the objects by name")
                    .at(place::START));
            }
            Tree::ReassignOwned { roles: from, to } => {
                AccessStatement::Reassign { roles: roles(from), to: role(to) }
            }
        })))
    }

    fn define_role(&self, said: &tree::DefineRole) -> Result<DefineRole> {
        // ROLE and GROUP are one; USER is a ROLE with LOGIN.
        let tree::DefineRole { alter, word, name, options } = said;
        let mut made = DefineRole {
            alter: *alter,
            name: role(name),
            options: RoleOptions::default(),
            password: None,
            member_of: vec![],
            members: vec![],
        };
        for option in options {
            self.role_option(option, &mut made, name.span)?;
        }
        if !alter && *word == tree::RoleWord::User && made.options.login.is_none() {
            made.options.login = Some(true);
        }
        Ok(made)
    }

    fn role_option(&self, option: &RoleOption, made: &mut DefineRole, at: Span) -> Result<()> {
        let twice = |there: bool| match there {
            true => Err(self.wrong("conflicting or redundant options", at)),
            false => Ok(()),
        };
        match option {
            RoleOption::Flag(word) => self.role_flag(word, &mut made.options),
            RoleOption::Password(password) => {
                twice(made.password.is_some())?;
                made.password = Some(password.as_ref().map(|text| Password(text.text.to_string())));
                Ok(())
            }
            RoleOption::ValidUntil(time) => {
                twice(made.options.valid_until.is_some())?;
                let until = match time.text.trim().eq_ignore_ascii_case("infinity") {
                    true => None,
                    false => {
                        let moment = cast_value(&Value::text(&time.text), Type::Text, Type::TimestampTz);
                        match moment.map_err(|error| self.at(error, time.span))? {
                            Value::I64(moment) => Some(moment),
                            _ => None,
                        }
                    }
                };
                made.options.valid_until = Some(until);
                Ok(())
            }
            RoleOption::Limit(name, value) => self.role_limit(name, value, &mut made.options),
            RoleOption::In(_) | RoleOption::Members(_) | RoleOption::Admins(_) if made.alter => {
                let error = Error::unsupported("members are not changed by ALTER ROLE");
                Err(self.at(error.with_hint("write GRANT role TO member"), at))
            }
            RoleOption::In(names) => {
                made.member_of.extend(roles(names));
                Ok(())
            }
            RoleOption::Members(names) => {
                made.members.extend(names.iter().map(|name| (role(name), false)));
                Ok(())
            }
            RoleOption::Admins(names) => {
                made.members.extend(names.iter().map(|name| (role(name), true)));
                Ok(())
            }
        }
    }

    fn role_flag(&self, word: &tree::Name, options: &mut RoleOptions) -> Result<()> {
        let text = word.text.to_ascii_lowercase();
        let (on, flag) = match text.strip_prefix("no") {
            Some(flag) => (false, flag),
            None => (true, text.as_str()),
        };
        let option = match flag {
            "superuser" => &mut options.superuser,
            "createdb" => &mut options.create_database,
            "createrole" => &mut options.create_role,
            "inherit" => &mut options.inherit,
            "login" => &mut options.login,
            "bypassrls" => &mut options.bypass_row_security,
            // There is no replication: without it is how every role is.
            "replication" if !on => return Ok(()),
            _ => return Err(self.unsupported(text.to_uppercase(), word.span)),
        };
        match option.replace(on) {
            None => Ok(()),
            Some(_) => Err(self.wrong("conflicting or redundant options", word.span)),
        }
    }

    fn role_limit(&self, name: &tree::Name, value: &LimitValue, options: &mut RoleOptions) -> Result<()> {
        let wrong = |expected: &str| {
            let message = format!("invalid value of {} LIMIT", name.text.to_uppercase());
            let error = Error::new(SqlState::InvalidParameterValue, message);
            self.at(error.with_hint(format!("expected {expected}, or -1 for no limit")), name.span)
        };
        let number = match value {
            LimitValue::Number(expr) => {
                let (value, ty) = self.binder().constant(expr)?;
                match cast_value(&value, ty, Type::BigInt)? {
                    Value::I64(number) => Some(number),
                    _ => return Err(wrong("a number")),
                }
            }
            LimitValue::Text(_) => None,
        };
        let text = match value {
            LimitValue::Text(text) => Some(text.text.as_ref()),
            LimitValue::Number(_) => None,
        };
        // What is written as a number, or has a unit.
        let counted = |unit: &dyn Fn(&str) -> Option<u64>, expected: &str| match (number, text) {
            (Some(-1), _) => Ok(None),
            (Some(number), _) => u64::try_from(number).map(Some).map_err(|_| wrong(expected)),
            (None, Some(text)) => unit(text).map(Some).ok_or_else(|| wrong(expected)),
            (None, None) => Err(wrong(expected)),
        };
        let plain = |_: &str| None;
        let count = |expected: &str| {
            let value = counted(&plain, expected)?;
            value.map(|value| u32::try_from(value).map_err(|_| wrong(expected))).transpose()
        };
        match name.text.to_ascii_lowercase().as_str() {
            "connection" => options.connections = Some(count("a number of sessions")?),
            "time" => {
                options.statement_ms = Some(counted(&types::size::milliseconds, "milliseconds or '5s'")?)
            }
            "memory" => options.memory_bytes = Some(counted(&types::size::bytes, "bytes or '1GB'")?),
            "priority" => options.priority = Some(counted(&plain, "a priority")?),
            other => return Err(self.unsupported(format!("{} LIMIT", other.to_uppercase()), name.span)),
        }
        Ok(())
    }

    fn granted(&self, grant: &tree::Grant) -> Result<AccessStatement> {
        let tree::Grant { revoke, option, what, roles: to, by, cascade } = grant;
        match what {
            Granted::Roles(joined) => {
                // Grants of roles have no chains here, so that nothing depends on one.
                let (revoke, admin) = (*revoke, *option);
                let by = by.as_ref().map(role);
                _ = cascade;
                Ok(AccessStatement::Membership {
                    revoke,
                    admin,
                    roles: roles(joined),
                    members: roles(to),
                    by,
                })
            }
            Granted::Privileges { privileges: _, on } => {
                let on = self.grant_target(on)?;
                let class = match &on {
                    GrantTarget::Tables(_) => Class::Table,
                    GrantTarget::Sequences(_) => Class::Sequence,
                    GrantTarget::Schemas(_) => Class::Schema,
                    GrantTarget::Database(_) => Class::Database,
                    GrantTarget::Routines(_) => Class::Routine,
                    GrantTarget::AllIn(class, _) => *class,
                };
                Ok(AccessStatement::Grant { grant: self.grant(grant, class)?, on })
            }
        }
    }

    fn grant(&self, said: &tree::Grant, class: Class) -> Result<Grant> {
        let tree::Grant { revoke, option, what, roles: to, by, cascade } = said;
        let Granted::Privileges { privileges: items, on: _ } = what else {
            return Err(Error::internal("a grant of roles is no grant of privileges"));
        };
        let mut privileges = Vec::with_capacity(items.len());
        for tree::PrivilegeItem { name, columns } in items {
            let at = name.as_ref().or(columns.first()).map(|name| name.span).unwrap_or_default();
            let privilege = match name {
                None => None,
                Some(name) => Some(Privilege::named(&name.text).ok_or_else(|| {
                    let shown = name.text.to_uppercase();
                    self.wrong(format!("unrecognized privilege type \"{shown}\""), name.span)
                })?),
            };
            let on_columns = !columns.is_empty();
            let known = access::Privileges::all_of(if on_columns { Class::Column } else { class });
            let fits = !on_columns || class == Class::Table;
            // A name that is that of a sequence may stand without the word; the engine knows.
            let sequence = class == Class::Table && !on_columns && privilege == Some(Privilege::Usage);
            if !fits || privilege.is_some_and(|privilege| !known.has(privilege) && !sequence) {
                let (shown, kind) = (privilege.map_or("ALL", Privilege::name), class.word());
                let kind = if on_columns { "column" } else { kind };
                let error = Error::new(
                    SqlState::InvalidGrantOperation,
                    format!("invalid privilege type {shown} for {kind}"),
                );
                return Err(self.at(error, at));
            }
            privileges.push((privilege, columns.iter().map(folded).collect()));
        }
        let by = by.as_ref().map(role);
        // RESTRICT is what holds without a word.
        let (revoke, option, cascade) = (*revoke, *option, *cascade == Some(true));
        Ok(Grant { revoke, option, privileges, roles: roles(to), by, cascade })
    }

    fn grant_target(&self, target: &tree::GrantTarget) -> Result<GrantTarget> {
        let tree::GrantTarget { kind, all_in_schemas, names } = target;
        let kind_text =
            kind.as_ref().map_or_else(|| "table".to_owned(), |kind| kind.text.to_ascii_lowercase());
        let at = kind.as_ref().map(|kind| kind.span).unwrap_or_default();
        if *all_in_schemas {
            let schemas = names.iter().map(|name| self.schema_name(name)).collect::<Result<Vec<_>>>()?;
            return Ok(GrantTarget::AllIn(self.class_of_all(&kind_text, at)?, schemas));
        }
        let objects = || names.iter().map(|name| Ok(self.existing_name(name)?.0)).collect::<Result<Vec<_>>>();
        let routines = || {
            names.iter().map(|name| super::named(self.text, name, self.relations)).collect::<Result<Vec<_>>>()
        };
        Ok(match kind_text.as_str() {
            "table" => GrantTarget::Tables(objects()?),
            "sequence" => GrantTarget::Sequences(objects()?),
            "schema" => GrantTarget::Schemas(
                names.iter().map(|name| self.schema_name(name)).collect::<Result<Vec<_>>>()?,
            ),
            "database" => {
                GrantTarget::Database(names.iter().map(|name| self.simple_name(name)).collect::<Result<_>>()?)
            }
            "function" | "routine" | "procedure" | "macro" => GrantTarget::Routines(routines()?),
            other => return Err(self.unsupported(format!("GRANT on {}", other.to_uppercase()), at)),
        })
    }

    fn class_of_all(&self, kind: &str, at: Span) -> Result<Class> {
        Ok(match kind {
            "tables" => Class::Table,
            "sequences" => Class::Sequence,
            "functions" | "routines" | "procedures" | "macros" => Class::Routine,
            "schemas" => Class::Schema,
            "types" => Class::Type,
            other => return Err(self.unsupported(format!("GRANT on {}", other.to_uppercase()), at)),
        })
    }

    fn default_privileges(&self, said: &tree::DefaultPrivileges) -> Result<AccessStatement> {
        let tree::DefaultPrivileges { roles: of, schemas, grant } = said;
        let kind = match &grant.what {
            Granted::Privileges { on: tree::GrantTarget { kind: Some(kind), .. }, .. } => kind,
            _ => return Err(Error::new(SqlState::SyntaxError, "TABLES, SEQUENCES or FUNCTIONS is expected")),
        };
        let class = self.class_of_all(&kind.text.to_ascii_lowercase(), kind.span)?;
        let grant = self.grant(grant, class)?;
        if grant.privileges.iter().any(|(_, columns)| !columns.is_empty()) {
            let message = "default privileges cannot be set for columns";
            return Err(self.at(Error::new(SqlState::InvalidGrantOperation, message), kind.span));
        }
        if class == Class::Schema && !schemas.is_empty() {
            let message = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
            return Err(self.at(Error::new(SqlState::InvalidGrantOperation, message), kind.span));
        }
        let schemas = schemas.iter().map(|schema| {
            let path = tree::Path { names: vec![schema.clone()] };
            self.schema_name(&path)
        });
        Ok(AccessStatement::Defaults {
            roles: roles(of),
            schemas: schemas.collect::<Result<_>>()?,
            class,
            grant,
        })
    }

    fn policy(&self, said: &tree::DefinePolicy) -> Result<DefinePolicy> {
        let tree::DefinePolicy { alter, name, table, rename, kind, command, roles: to, using, check } = said;
        let permissive = match kind {
            None => true,
            Some(word) if is(word, "permissive") => true,
            Some(word) if is(word, "restrictive") => false,
            Some(word) => {
                return Err(self.wrong("PERMISSIVE or RESTRICTIVE is expected", word.span));
            }
        };
        let command = match command {
            None => PolicyCommand::All,
            Some(word) => match word.text.to_ascii_lowercase().as_str() {
                "all" => PolicyCommand::All,
                "select" => PolicyCommand::Select,
                "insert" => PolicyCommand::Insert,
                "update" => PolicyCommand::Update,
                "delete" => PolicyCommand::Delete,
                _ => return Err(self.wrong("ALL, SELECT, INSERT, UPDATE or DELETE is expected", word.span)),
            },
        };
        match (command, using, check) {
            (PolicyCommand::Insert, Some(using), _) => {
                return Err(self.wrong("only WITH CHECK expression allowed for INSERT", using.span));
            }
            (PolicyCommand::Select | PolicyCommand::Delete, _, Some(check)) => {
                return Err(self.wrong("WITH CHECK cannot be applied to SELECT or DELETE", check.span));
            }
            _ => {}
        }
        let text = |expr: &tree::Expr| expr.to_string();
        Ok(DefinePolicy {
            alter: *alter,
            name: folded(name),
            table: self.table(table)?.0,
            rename: rename.as_ref().map(folded),
            permissive,
            command,
            roles: roles(to),
            using: using.as_ref().map(text),
            check: check.as_ref().map(text),
        })
    }

    /// OWNER TO of anything but tables.
    pub(super) fn owner(&self, kind: ObjectKind, name: &tree::Path, to: &tree::Name) -> Result<Statement> {
        let of = match kind {
            ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence => {
                Owned::Relation(self.existing_name(name)?.0)
            }
            ObjectKind::Schema => Owned::Schema(self.schema_name(name)?),
            ObjectKind::Type => Owned::Type(self.object_name(name)?.0),
            ObjectKind::Database => Owned::Database,
            _ => return Err(Error::unsupported("OWNER TO of this kind is not supported").at(place::START)),
        };
        Ok(Statement::Access(Box::new(AccessStatement::Owner { of, to: role(to) })))
    }

    /// ALTER TABLE ... ROW LEVEL SECURITY, if these words say so.
    pub(super) fn row_security(&self, name: &tree::Path, words: &[tree::Name]) -> Result<Option<Statement>> {
        let words: Vec<String> = words.iter().map(|word| word.text.to_ascii_lowercase()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (enabled, forced) = match words.as_slice() {
            ["enable", "row", "level", "security"] => (Some(true), None),
            ["disable", "row", "level", "security"] => (Some(false), None),
            ["force", "row", "level", "security"] => (None, Some(true)),
            ["no", "force", "row", "level", "security"] => (None, Some(false)),
            _ => return Ok(None),
        };
        let table = self.table(name)?.0;
        Ok(Some(Statement::Access(Box::new(AccessStatement::RowSecurity { table, enabled, forced }))))
    }

    /// DROP ROLE and DROP POLICY.
    pub(super) fn drop_of_access(&self, drop: &tree::Drop) -> Result<Statement> {
        let tree::Drop { kind, if_exists, names, cascade, concurrently: _, persistent: _, on } = drop;
        if let Some((name, _)) = names.iter().find(|(_, types)| types.is_some()) {
            return Err(self.unsupported("a list of types behind this name", name.span()));
        }
        let single = |path: &tree::Path| match path.single() {
            Some(name) => Ok(name.clone()),
            None => Err(self.wrong("a simple name is expected", path.span())),
        };
        let made = match (kind, on, names.as_slice()) {
            (ObjectKind::Policy, Some(table), [(name, _)]) => AccessStatement::DropPolicy {
                name: folded(&single(name)?),
                table: self.existing_name(table)?.0,
                if_exists: *if_exists,
            },
            (ObjectKind::Policy, _, _) => {
                return Err(
                    Error::new(SqlState::SyntaxError, "write DROP POLICY name ON table").at(place::START)
                );
            }
            (_, Some(_), _) => return Err(super::refused("DROP ROLE", "ON table")),
            _ if cascade.is_some() => return Err(super::refused("DROP ROLE", "CASCADE")),
            _ => {
                let names = names.iter().map(|(name, _)| Ok(role(&single(name)?)));
                AccessStatement::DropRoles { names: names.collect::<Result<_>>()?, if_exists: *if_exists }
            }
        };
        Ok(Statement::Access(Box::new(made)))
    }
}
