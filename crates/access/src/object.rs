//! What is kept of an object: who owns it, who may do what with it, and which of its rows are whose.
//!
//! An object's entry is immutable: a statement makes a new one, and the catalog commits it with everything else.
//! `state` asks it for privileges, by role and by what a role inherits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AclItem, Grantee, Privileges, RoleId, effective};

/// A class of objects, which decides what can be granted on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Class {
    /// Tables and views.
    Table,
    /// Columns of them.
    Column,
    /// Sequences.
    Sequence,
    /// Schemas.
    Schema,
    /// The database.
    Database,
    /// Functions and macros.
    Routine,
    /// Types of the user.
    Type,
}

impl Class {
    /// As messages call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Column => "column",
            Self::Sequence => "sequence",
            Self::Schema => "schema",
            Self::Database => "database",
            Self::Routine => "function",
            Self::Type => "type",
        }
    }
}

/// An object of the catalog. Tables go by their number, so that they keep what is kept of them when they are renamed;
/// other objects by their name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ObjectKey {
    /// The database itself.
    Database,
    /// A schema.
    Schema(String),
    /// A table, by its number in the catalog.
    Table(u64),
    /// A view, by schema and name.
    View(String, String),
    /// A sequence, by schema and name.
    Sequence(String, String),
    /// A macro or a function of the host.
    Routine(String),
    /// A type made by CREATE TYPE.
    Type(String),
}

impl ObjectKey {
    /// What can be granted on it.
    pub fn class(&self) -> Class {
        match self {
            Self::Database => Class::Database,
            Self::Schema(_) => Class::Schema,
            Self::Table(_) | Self::View(..) => Class::Table,
            Self::Sequence(..) => Class::Sequence,
            Self::Routine(_) => Class::Routine,
            Self::Type(_) => Class::Type,
        }
    }

    /// The schema that its name begins with, if that is part of the key.
    pub fn schema(&self) -> Option<&str> {
        match self {
            Self::Schema(schema) | Self::View(schema, _) | Self::Sequence(schema, _) => Some(schema),
            Self::Database | Self::Table(_) | Self::Routine(_) | Self::Type(_) => None,
        }
    }
}

/// The commands that a row policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PolicyCommand {
    /// All of them.
    All,
    /// Rows that are read.
    Select,
    /// Rows that are added.
    Insert,
    /// Rows that are changed.
    Update,
    /// Rows that are deleted.
    Delete,
}

/// CREATE POLICY.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Permissive ones are joined by OR, restrictive ones by AND.
    pub permissive: bool,
    /// What it is for.
    pub command: PolicyCommand,
    /// Whom it holds for.
    pub roles: Vec<Grantee>,
    /// The text of the condition on rows that are there.
    pub using: Option<String>,
    /// The text of the condition on rows that are written.
    pub check: Option<String>,
}

/// What is kept of an object. An object without it belongs to the bootstrap role, and nothing was granted on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectAccess {
    /// May do everything with it, and grant it.
    pub owner: RoleId,
    /// `None`: what the owner and PUBLIC have by default.
    #[serde(default)]
    pub acl: Option<Vec<AclItem>>,
    /// Further privileges on single columns.
    #[serde(default)]
    pub columns: BTreeMap<String, Vec<AclItem>>,
    /// ENABLE ROW LEVEL SECURITY.
    #[serde(default)]
    pub row_security: bool,
    /// FORCE ROW LEVEL SECURITY: policies hold for the owner, too.
    #[serde(default)]
    pub force_row_security: bool,
    /// Row policies by name.
    #[serde(default)]
    pub policies: BTreeMap<String, Policy>,
}

impl ObjectAccess {
    /// Of a new object.
    pub fn new(owner: RoleId) -> ObjectAccess {
        ObjectAccess {
            owner,
            acl: None,
            columns: BTreeMap::new(),
            row_security: false,
            force_row_security: false,
            policies: BTreeMap::new(),
        }
    }

    /// The list, with what holds by default where nothing was granted or revoked yet.
    pub fn list(&self, key: &ObjectKey) -> Vec<AclItem> {
        match &self.acl {
            Some(list) => list.clone(),
            None => default_list(self.owner, key),
        }
    }

    /// What the roles that `is` says yes to may do with the object as a whole.
    pub fn effective(&self, key: &ObjectKey, is: impl Fn(RoleId) -> bool) -> Privileges {
        match &self.acl {
            Some(list) => effective(list, is),
            None => effective(&default_list(self.owner, key), is),
        }
    }

    /// The same of one column, in addition to what they may do with the whole.
    pub fn effective_on(&self, column: &str, is: impl Fn(RoleId) -> bool) -> Privileges {
        self.columns.get(column).map_or(Privileges::NONE, |list| effective(list, is))
    }

    /// Every list that it has.
    pub fn lists(&self) -> impl Iterator<Item = &AclItem> {
        self.acl.iter().flatten().chain(self.columns.values().flatten())
    }

    /// A column has another name.
    pub fn rename_column(&mut self, from: &str, to: &str) {
        if let Some(list) = self.columns.remove(from) {
            self.columns.insert(to.to_owned(), list);
        }
    }
}

/// What holds for an object on which nothing was granted: its owner may do all, PUBLIC what its class has for PUBLIC.
/// The default schema can be used by everybody.
fn default_list(owner: RoleId, key: &ObjectKey) -> Vec<AclItem> {
    let class = key.class();
    let public = match key {
        ObjectKey::Schema(name) if name == "main" || name == "temp" => crate::Privilege::Usage.into(),
        _ => Privileges::of_public(class),
    };
    let item =
        |grantee, privileges| AclItem { grantee, grantor: owner, privileges, grantable: Privileges::NONE };
    let own = item(Grantee::Role(owner), Privileges::all_of(class));
    match public.is_empty() {
        true => vec![own],
        false => vec![item(Grantee::Public, public), own],
    }
}
