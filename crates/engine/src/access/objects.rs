//! What roles may do with objects: the checks that binding asks for, owners, and the questions of `has_*_privilege`.
//!
//! `AccessView` holds one state of roles and grants for a statement and answers from it without a lock. `authorize`,
//! `grants` and the binder's relations ask; a question about an object that is not there is an error before one about
//! privileges.

use access::{Class, ObjectKey, Predefined, Privilege, Privileges, RoleId, State, denied};
use catalog::{Snapshot, TEMPORARY_SCHEMA};
use types::{Error, Result, SqlState};

use super::Identity;
use crate::Session;

/// Whether an object is one of an attached database, where nothing is granted.
pub(crate) fn is_attached(snapshot: &Snapshot, key: &ObjectKey) -> bool {
    match key {
        ObjectKey::Table(id) => {
            let id = catalog::TableId(*id);
            let schema = || snapshot.table_by_id(id).map(|table| table.schema.clone());
            catalog::mount_of(id).is_some()
                || schema().is_some_and(|schema| snapshot.database_of(&schema).0.is_some())
        }
        ObjectKey::Schema(name)
        | ObjectKey::View(name, _)
        | ObjectKey::Sequence(name, _)
        | ObjectKey::Routine(name)
        | ObjectKey::Type(name) => snapshot.database_of(name).0.is_some(),
        ObjectKey::Database => false,
    }
}

/// 42501 unless the current role owns an object; `name` is what messages call it.
pub(super) fn check_owner(state: &State, identity: Identity, key: &ObjectKey, name: &str) -> Result<()> {
    if state.is_owner(identity.current, key) {
        return Ok(());
    }
    let kind = match key {
        ObjectKey::View(..) => "view",
        other => other.class().word(),
    };
    Err(denied(format!("must be owner of {kind} {name}")))
}

/// 42703 unless a relation has a column.
pub(super) fn check_column(snapshot: &Snapshot, key: &ObjectKey, name: &str, column: &str) -> Result<()> {
    let there = match key {
        ObjectKey::Table(id) => {
            let table = snapshot.table_by_id(catalog::TableId(*id));
            table.is_some_and(|table| table.columns.fields().iter().any(|field| field.name == column))
        }
        ObjectKey::View(..) => {
            return Err(Error::unsupported("privileges on columns of views are not supported")
                .with_hint("grant them on the view as a whole, or make a view with fewer columns"));
        }
        _ => false,
    };
    match there {
        true => Ok(()),
        false => {
            let message = format!("column \"{column}\" of relation \"{name}\" does not exist");
            Err(Error::new(SqlState::UndefinedColumn, message))
        }
    }
}

/// 42501 unless a role may use a schema; the temporary one belongs to all.
pub(crate) fn check_schema(
    snapshot: &Snapshot,
    role: RoleId,
    schema: &str,
    privilege: Privilege,
) -> Result<()> {
    let schema = Snapshot::canonical_schema(schema);
    if schema == TEMPORARY_SCHEMA {
        let (key, needed) = match privilege {
            Privilege::Create => (ObjectKey::Database, Privilege::Temporary),
            _ => return Ok(()),
        };
        return match snapshot.access().privileges(role, &key).has(needed) {
            true => Ok(()),
            false => Err(denied("permission denied to create temporary tables in the database")),
        };
    }
    snapshot.access().check(role, &ObjectKey::Schema(schema.to_owned()), privilege, schema)
}

/// 42501 unless a role may do this with columns of a relation, or with the relation where none are named; `schema` is
/// its schema and `name` what messages call it.
pub(crate) fn check_relation(
    snapshot: &Snapshot,
    role: RoleId,
    (key, schema, name): (&ObjectKey, &str, &str),
    privilege: Privilege,
    columns: &[&str],
) -> Result<()> {
    let state = snapshot.access();
    if state.is_superuser(role) {
        return Ok(());
    }
    if Snapshot::canonical_schema(schema) != crate::system::INFORMATION_SCHEMA {
        check_schema(snapshot, role, schema, Privilege::Usage)?;
    }
    let of_columns = matches!(
        privilege,
        Privilege::Select | Privilege::Insert | Privilege::Update | Privilege::References
    );
    // Of what cannot be granted column by column, and of a change of no column, all of the table is asked for.
    let some = of_columns && (!columns.is_empty() || privilege == Privilege::Select);
    let allowed = match some {
        true => state.check_columns(role, key, privilege, columns.iter().copied()),
        false => state.privileges(role, key).has(privilege),
    };
    match allowed {
        true => Ok(()),
        false => {
            let kind = if matches!(key, ObjectKey::View(..)) { "view" } else { key.class().word() };
            Err(denied(format!("permission denied for {kind} {name}")))
        }
    }
}

/// An object that privileges are asked about.
#[derive(Clone, Copy, Debug)]
pub enum Object<'a> {
    /// A table or a view, in a schema.
    Relation(&'a str, &'a str),
    /// A column of a table.
    Column(&'a str, &'a str, &'a str),
    /// A sequence.
    Sequence(&'a str, &'a str),
    /// A schema.
    Schema(&'a str),
    /// The database.
    Database,
    /// A function or macro, by its key in the catalog.
    Routine(&'a str),
}

/// What the catalog's views and functions ask about access: the core of `has_table_privilege` and its kin. All of it
/// is asked of one snapshot.
pub struct AccessView<'a> {
    snapshot: &'a Snapshot,
    identity: Identity,
}

impl<'a> AccessView<'a> {
    /// Of a state of the catalog, for a session.
    pub(crate) fn new(snapshot: &'a Snapshot, identity: Identity) -> Self {
        AccessView { snapshot, identity }
    }

    /// Roles, memberships, owners and lists.
    pub fn state(&self) -> &State {
        self.snapshot.access()
    }

    /// `current_user`.
    pub fn current(&self) -> RoleId {
        self.identity.current
    }

    /// `session_user`.
    pub fn session(&self) -> RoleId {
        self.identity.session
    }

    /// What a role may do with an object, memberships counted. `None` where there is no such object.
    pub fn privileges(&self, role: RoleId, object: Object<'_>) -> Option<Privileges> {
        let state = self.state();
        let key = self.key(object)?;
        let own = state.privileges(role, &key);
        match object {
            Object::Column(_, _, column) => Some(own.with(state.column_privileges(role, &key, column))),
            _ => Some(own),
        }
    }

    /// Whether a role may do one thing with any column of a relation: `has_any_column_privilege`.
    pub fn may_on_some_column(
        &self,
        role: RoleId,
        schema: &str,
        name: &str,
        privilege: Privilege,
    ) -> Option<bool> {
        let key = self.key(Object::Relation(schema, name))?;
        Some(self.state().check_columns(role, &key, privilege, []))
    }

    /// Whether the session may see statistics of a relation's values: with SELECT on all of it and no row policy
    /// between, since these come from all rows.
    pub fn may_see_values(&self, schema: &str, name: &str) -> bool {
        let state = self.state();
        let role = self.identity.current;
        if state.is_superuser(role) {
            return true;
        }
        let Some(key) = self.key(Object::Relation(schema, name)) else { return false };
        let guarded = state.object(&key).is_some_and(|object| object.row_security);
        !guarded && state.privileges(role, &key).has(Privilege::Select)
    }

    /// Whether the session may see that a relation is there in views that show what is accessible: it has some
    /// privilege on it or on a column.
    pub fn may_see(&self, schema: &str, name: &str) -> bool {
        let state = self.state();
        let role = self.identity.current;
        let Some(key) = self.key(Object::Relation(schema, name)) else { return true };
        !state.privileges(role, &key).is_empty()
            || Privileges::all_of(Class::Column).iter().any(|p| state.check_columns(role, &key, p, []))
    }

    /// Whether the session sees what others run.
    pub fn monitors(&self) -> bool {
        self.state().may(self.identity.current, Predefined::Monitor)
    }

    fn key(&self, object: Object<'_>) -> Option<ObjectKey> {
        match object {
            Object::Relation(schema, name)
            | Object::Column(schema, name, _)
            | Object::Sequence(schema, name) => self.snapshot.relation_key(Some(schema), name),
            Object::Schema(name) => {
                let name = Snapshot::canonical_schema(name);
                self.snapshot.schemas().contains_key(name).then(|| ObjectKey::Schema(name.to_owned()))
            }
            Object::Database => Some(ObjectKey::Database),
            Object::Routine(name) => {
                self.snapshot.macros().contains_key(name).then(|| ObjectKey::Routine(name.to_owned()))
            }
        }
    }
}

impl Session {
    /// Asks about access, as the session sees it now.
    pub fn with_access<T>(&self, ask: impl FnOnce(&AccessView<'_>) -> T) -> T {
        let (snapshot, identity) = (self.snapshot(), self.identity());
        ask(&AccessView::new(&snapshot, identity))
    }
}
