//! Statements about roles, privileges and row policies, their words resolved; names of roles and objects are looked up
//! by the engine, under the commit that changes what is kept of them.
//!
//! Made by `sql`, carried out by `engine::access`. Nothing here says whether it is allowed.

use std::fmt;

use access::{Class, PolicyCommand, Privilege, RoleOptions};

use crate::object_name::ObjectName;

/// How a statement names a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleName {
    /// By its name.
    Named(String),
    /// CURRENT_USER, CURRENT_ROLE.
    Current,
    /// SESSION_USER.
    Session,
    /// PUBLIC: every role.
    Public,
}

/// A password as it was given; no message and no plan shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// CREATE ROLE, and ALTER ROLE with options.
#[derive(Clone, Debug, PartialEq)]
pub struct DefineRole {
    /// ALTER.
    pub alter: bool,
    /// The role.
    pub name: RoleName,
    /// What is said but for the password.
    pub options: RoleOptions,
    /// PASSWORD; `Some(None)` for NULL.
    pub password: Option<Option<Password>>,
    /// IN ROLE: the roles that it becomes a member of.
    pub member_of: Vec<RoleName>,
    /// ROLE and ADMIN: its members, and whether they may make others members.
    pub members: Vec<(RoleName, bool)>,
}

/// The objects that a GRANT is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantTarget {
    /// Tables, views, and sequences where the word is left out.
    Tables(Vec<ObjectName>),
    /// Sequences.
    Sequences(Vec<ObjectName>),
    /// Schemas, by their keys.
    Schemas(Vec<String>),
    /// The database; its names as they were given.
    Database(Vec<String>),
    /// Functions and macros.
    Routines(Vec<ObjectName>),
    /// ALL TABLES IN SCHEMA and its kin.
    AllIn(Class, Vec<String>),
}

/// GRANT and REVOKE of privileges.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// REVOKE.
    pub revoke: bool,
    /// WITH GRANT OPTION, GRANT OPTION FOR.
    pub option: bool,
    /// Privileges and, where they are of columns only, these; `None` for ALL. Empty for ALL of whole objects.
    pub privileges: Vec<(Option<Privilege>, Vec<String>)>,
    /// Whom.
    pub roles: Vec<RoleName>,
    /// GRANTED BY.
    pub by: Option<RoleName>,
    /// CASCADE.
    pub cascade: bool,
}

/// CREATE POLICY and ALTER POLICY.
#[derive(Clone, Debug, PartialEq)]
pub struct DefinePolicy {
    /// ALTER.
    pub alter: bool,
    /// Its name.
    pub name: String,
    /// Its table.
    pub table: ObjectName,
    /// RENAME TO.
    pub rename: Option<String>,
    /// AS PERMISSIVE.
    pub permissive: bool,
    /// FOR.
    pub command: PolicyCommand,
    /// TO; empty where it is left out.
    pub roles: Vec<RoleName>,
    /// USING, as text.
    pub using: Option<String>,
    /// WITH CHECK, as text.
    pub check: Option<String>,
}

/// An object whose owner changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owned {
    /// A table, a view or a sequence.
    Relation(ObjectName),
    /// A schema, by its key.
    Schema(String),
    /// A type.
    Type(ObjectName),
    /// The database.
    Database,
}

/// Statements about roles, privileges and row policies.
#[derive(Clone, Debug, PartialEq)]
pub enum AccessStatement {
    /// CREATE ROLE, ALTER ROLE.
    Role(DefineRole),
    /// ALTER ROLE ... RENAME TO.
    RenameRole {
        /// The role.
        from: RoleName,
        /// Its new name.
        to: String,
    },
    /// DROP ROLE.
    DropRoles {
        /// Which.
        names: Vec<RoleName>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// GRANT and REVOKE of being a member.
    Membership {
        /// REVOKE.
        revoke: bool,
        /// WITH ADMIN OPTION, ADMIN OPTION FOR.
        admin: bool,
        /// The roles that are joined or left.
        roles: Vec<RoleName>,
        /// Who joins or leaves.
        members: Vec<RoleName>,
        /// GRANTED BY.
        by: Option<RoleName>,
    },
    /// GRANT and REVOKE of privileges.
    Grant {
        /// What and whom.
        grant: Grant,
        /// On what.
        on: GrantTarget,
    },
    /// ALTER DEFAULT PRIVILEGES.
    Defaults {
        /// FOR ROLE; the current one where it is left out.
        roles: Vec<RoleName>,
        /// IN SCHEMA.
        schemas: Vec<String>,
        /// Of which class.
        class: Class,
        /// What and whom.
        grant: Grant,
    },
    /// CREATE POLICY, ALTER POLICY.
    Policy(DefinePolicy),
    /// DROP POLICY.
    DropPolicy {
        /// Its name.
        name: String,
        /// Its table.
        table: ObjectName,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// ALTER TABLE ... ROW LEVEL SECURITY.
    RowSecurity {
        /// The table.
        table: ObjectName,
        /// ENABLE, DISABLE.
        enabled: Option<bool>,
        /// FORCE, NO FORCE.
        forced: Option<bool>,
    },
    /// OWNER TO.
    Owner {
        /// What.
        of: Owned,
        /// The new owner.
        to: RoleName,
    },
    /// REASSIGN OWNED.
    Reassign {
        /// Whose.
        roles: Vec<RoleName>,
        /// Who gets it.
        to: RoleName,
    },
    /// SET ROLE; `None` for NONE.
    SetRole(Option<RoleName>),
    /// SET SESSION AUTHORIZATION; `None` for DEFAULT.
    SetSession(Option<RoleName>),
}

impl AccessStatement {
    /// As PostgreSQL calls it in the tag of its result.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Role(DefineRole { alter: false, .. }) => "CREATE ROLE",
            Self::Role(_) | Self::RenameRole { .. } => "ALTER ROLE",
            Self::DropRoles { .. } => "DROP ROLE",
            Self::Membership { revoke: false, .. } => "GRANT ROLE",
            Self::Membership { .. } => "REVOKE ROLE",
            Self::Grant { grant, .. } if grant.revoke => "REVOKE",
            Self::Grant { .. } => "GRANT",
            Self::Defaults { .. } => "ALTER DEFAULT PRIVILEGES",
            Self::Policy(DefinePolicy { alter: false, .. }) => "CREATE POLICY",
            Self::Policy(_) => "ALTER POLICY",
            Self::DropPolicy { .. } => "DROP POLICY",
            Self::RowSecurity { .. } => "ALTER TABLE",
            Self::Owner { of, .. } => match of {
                Owned::Relation(_) => "ALTER TABLE",
                Owned::Schema(_) => "ALTER SCHEMA",
                Owned::Type(_) => "ALTER TYPE",
                Owned::Database => "ALTER DATABASE",
            },
            Self::Reassign { .. } => "REASSIGN OWNED",
            Self::SetRole(_) | Self::SetSession(_) => "SET",
        }
    }
}
