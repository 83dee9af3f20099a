//! Roles: names that sessions go by, and what each may do apart from objects.

use serde::{Deserialize, Serialize};

/// A role, as everything else names it: it stays when the role is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RoleId(pub u32);

impl RoleId {
    /// The superuser that every database has: who opens it in process is this role. It owns what was made before
    /// there were roles.
    pub const BOOTSTRAP: RoleId = RoleId(10);
    /// Numbers from here on are given to roles that CREATE ROLE makes; those below are the predefined ones'.
    pub const FIRST: RoleId = RoleId(16_384);
}

/// What a role may use of the machine, at most; `None` sets no limit. Unlike a setting, the role cannot raise it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// CONNECTION LIMIT: sessions that may be open at once.
    pub connections: Option<u32>,
    /// TIME LIMIT: milliseconds of one statement.
    pub statement_ms: Option<u64>,
    /// MEMORY LIMIT: bytes of one statement.
    pub memory_bytes: Option<u64>,
    /// PRIORITY LIMIT: the highest priority that a statement may have.
    pub priority: Option<u64>,
}

/// A role's definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Unique among roles.
    pub name: String,
    /// Passes every check but that of LOGIN.
    #[serde(default)]
    pub superuser: bool,
    /// Has the privileges of the roles that it is a member of without SET ROLE.
    pub inherit: bool,
    /// May make, change and drop roles that are no superusers.
    #[serde(default)]
    pub create_role: bool,
    /// May make databases.
    #[serde(default)]
    pub create_database: bool,
    /// A session may begin as it.
    #[serde(default)]
    pub login: bool,
    /// Row policies do not hold for it.
    #[serde(default)]
    pub bypass_row_security: bool,
    /// What its password is checked against; `None` without a password.
    #[serde(default)]
    pub verifier: Option<String>,
    /// Microseconds since 1970 from which on the password is refused.
    #[serde(default)]
    pub valid_until: Option<i64>,
    /// What it may use.
    #[serde(default)]
    pub limits: Limits,
    /// ALTER ROLE ... SET: what its sessions begin with, by setting.
    #[serde(default)]
    pub settings: std::collections::BTreeMap<String, String>,
}

impl Role {
    /// A role as CREATE ROLE makes it without options.
    pub fn new(name: impl Into<String>) -> Role {
        Role {
            name: name.into(),
            superuser: false,
            inherit: true,
            create_role: false,
            create_database: false,
            login: false,
            bypass_row_security: false,
            verifier: None,
            valid_until: None,
            limits: Limits::default(),
            settings: Default::default(),
        }
    }
}

/// What CREATE ROLE and ALTER ROLE say; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleOptions {
    /// SUPERUSER.
    pub superuser: Option<bool>,
    /// INHERIT.
    pub inherit: Option<bool>,
    /// CREATEROLE.
    pub create_role: Option<bool>,
    /// CREATEDB.
    pub create_database: Option<bool>,
    /// LOGIN.
    pub login: Option<bool>,
    /// BYPASSRLS.
    pub bypass_row_security: Option<bool>,
    /// PASSWORD: a verifier; `Some(None)` takes the password away.
    pub verifier: Option<Option<String>>,
    /// VALID UNTIL, in microseconds since 1970; `Some(None)` for ever.
    pub valid_until: Option<Option<i64>>,
    /// CONNECTION LIMIT; `Some(None)` for -1.
    pub connections: Option<Option<u32>>,
    /// TIME LIMIT; `Some(None)` for -1.
    pub statement_ms: Option<Option<u64>>,
    /// MEMORY LIMIT; `Some(None)` for -1.
    pub memory_bytes: Option<Option<u64>>,
    /// PRIORITY LIMIT; `Some(None)` for -1.
    pub priority: Option<Option<u64>>,
}

impl RoleOptions {
    /// Changes a role by what is said.
    pub fn apply(&self, role: &mut Role) {
        fn put<T: Clone>(to: &mut T, from: &Option<T>) {
            if let Some(from) = from {
                *to = from.clone();
            }
        }
        put(&mut role.superuser, &self.superuser);
        put(&mut role.inherit, &self.inherit);
        put(&mut role.create_role, &self.create_role);
        put(&mut role.create_database, &self.create_database);
        put(&mut role.login, &self.login);
        put(&mut role.bypass_row_security, &self.bypass_row_security);
        put(&mut role.verifier, &self.verifier);
        put(&mut role.valid_until, &self.valid_until);
        put(&mut role.limits.connections, &self.connections);
        put(&mut role.limits.statement_ms, &self.statement_ms);
        put(&mut role.limits.memory_bytes, &self.memory_bytes);
        put(&mut role.limits.priority, &self.priority);
    }

    /// Whether nothing but the password is given, which a role may change of itself.
    pub fn is_password_alone(&self) -> bool {
        self.verifier.is_some() && RoleOptions { verifier: None, ..self.clone() } == RoleOptions::default()
    }
}
