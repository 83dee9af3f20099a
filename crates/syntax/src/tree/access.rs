//! Statements about roles, privileges and row policies.
//!
//! Made by `parse::access`, resolved by `sql::statement::access`. Privileges stay words, with the columns that they
//! were said of: which there are for an object is for the binder.

use super::{Expr, Name, Path, TextLiteral};

/// How a statement calls roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum RoleWord {
    Role,
    User,
    Group,
}

/// An option of CREATE ROLE and ALTER ROLE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RoleOption {
    /// A word that stands alone, such as `SUPERUSER` and `NOLOGIN`.
    Flag(Name),
    /// `PASSWORD 'text'`; absent for NULL.
    Password(Option<TextLiteral>),
    /// `VALID UNTIL 'time'`.
    ValidUntil(TextLiteral),
    /// `CONNECTION LIMIT 5`: the word before LIMIT, and the value.
    Limit(Name, LimitValue),
    /// `IN ROLE a, b`.
    In(Vec<Name>),
    /// `ROLE a, b`.
    Members(Vec<Name>),
    /// `ADMIN a, b`.
    Admins(Vec<Name>),
}

/// The value of a limit.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LimitValue {
    /// A number; -1 for no limit.
    Number(Expr),
    /// A size or a time in single quotes.
    Text(TextLiteral),
}

/// CREATE ROLE, and ALTER ROLE with options.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DefineRole {
    /// ALTER.
    pub alter: bool,
    /// Written as ROLE, USER or GROUP.
    pub word: RoleWord,
    /// Its name.
    pub name: Name,
    /// What it may.
    pub options: Vec<RoleOption>,
}

/// GRANT and REVOKE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Grant {
    /// REVOKE.
    pub revoke: bool,
    /// WITH GRANT OPTION and WITH ADMIN OPTION; GRANT OPTION FOR and ADMIN OPTION FOR.
    pub option: bool,
    /// What is granted.
    pub what: Granted,
    /// Whom it is granted to, or taken from.
    pub roles: Vec<Name>,
    /// GRANTED BY.
    pub by: Option<Name>,
    /// CASCADE (true), RESTRICT (false).
    pub cascade: Option<bool>,
}

/// What is granted.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Granted {
    /// Being a member of these roles.
    Roles(Vec<Name>),
    /// Privileges on objects.
    Privileges {
        /// Which; empty for ALL.
        privileges: Vec<PrivilegeItem>,
        /// On which objects.
        on: GrantTarget,
    },
}

/// `SELECT`, `UPDATE (a, b)`, `ALL (a)`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PrivilegeItem {
    /// Its name; absent for ALL.
    pub name: Option<Name>,
    /// Columns in brackets.
    pub columns: Vec<Name>,
}

/// The objects that something is granted on.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GrantTarget {
    /// `TABLE`, `SEQUENCE`, `TABLES`; absent for tables without the word.
    pub kind: Option<Name>,
    /// ALL ... IN SCHEMA: the names are those of schemas.
    pub all_in_schemas: bool,
    /// The objects; empty in ALTER DEFAULT PRIVILEGES.
    pub names: Vec<Path>,
}

/// ALTER DEFAULT PRIVILEGES.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DefaultPrivileges {
    /// FOR ROLE.
    pub roles: Vec<Name>,
    /// IN SCHEMA.
    pub schemas: Vec<Name>,
    /// What is granted or revoked.
    pub grant: Grant,
}

/// CREATE POLICY, and ALTER POLICY with clauses.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DefinePolicy {
    /// ALTER.
    pub alter: bool,
    /// Its name.
    pub name: Name,
    /// Its table.
    pub table: Path,
    /// RENAME TO.
    pub rename: Option<Name>,
    /// AS RESTRICTIVE or AS PERMISSIVE.
    pub kind: Option<Name>,
    /// FOR.
    pub command: Option<Name>,
    /// TO.
    pub roles: Vec<Name>,
    /// USING.
    pub using: Option<Expr>,
    /// WITH CHECK.
    pub check: Option<Expr>,
}

/// Statements about roles, privileges and row policies.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AccessStatement {
    /// CREATE ROLE, ALTER ROLE.
    Role(DefineRole),
    /// GRANT, REVOKE.
    Grant(Grant),
    /// ALTER DEFAULT PRIVILEGES.
    Defaults(DefaultPrivileges),
    /// CREATE POLICY, ALTER POLICY.
    Policy(DefinePolicy),
    /// DROP OWNED BY.
    DropOwned {
        /// Whose.
        roles: Vec<Name>,
        /// CASCADE (true), RESTRICT (false).
        cascade: Option<bool>,
    },
    /// REASSIGN OWNED BY ... TO.
    ReassignOwned {
        /// Whose.
        roles: Vec<Name>,
        /// Who gets it.
        to: Name,
    },
}
