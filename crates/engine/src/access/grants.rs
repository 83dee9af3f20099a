//! GRANT, REVOKE, ALTER DEFAULT PRIVILEGES and OWNER TO; carries out statements about access.
//!
//! Called by the session for each such statement. What is to change is looked up and checked in the transaction's
//! snapshot; changes are entries of the catalog's draft, so that they are undone with it.

use access::{
    AclItem, Class, Entry, Grantee, Key, ObjectAccess, ObjectKey, Privilege, Privileges, Revoked, RoleId,
    State, denied,
};
use catalog::{Draft, Snapshot};
use plan::access::{AccessStatement, Grant, GrantTarget, Owned, RoleName};
use plan::statement::ObjectName;
use types::{Error, Result, SqlState};

use super::roles::resolved;
use super::{Identity, Seats, objects, policies, roles};
use crate::Session;
use crate::result::ResultSet;
use crate::statement::Within;

impl Session {
    /// Carries out a statement about access.
    pub(crate) fn access_statement(
        &self,
        statement: &AccessStatement,
        within: Within<'_>,
    ) -> Result<ResultSet> {
        let tag = statement.tag();
        match statement {
            AccessStatement::SetRole(role) => self.set_role_to(role.as_ref())?,
            AccessStatement::SetSession(role) => self.set_session_role(role.as_ref())?,
            other => {
                self.refuse_read_only(tag)?;
                let identity = self.identity();
                let verifier = match other {
                    AccessStatement::Role(said) => roles::verifier_of(said)?,
                    _ => None,
                };
                if let AccessStatement::Policy(said) = other {
                    self.check_policy_text(said, within)?;
                }
                let seats = &self.database.shared.seats;
                self.commit(|draft| carry_out(draft, (identity, seats), other, verifier.clone()))?;
            }
        }
        Ok(ResultSet::done(tag))
    }
}

fn carry_out(
    draft: &mut Draft,
    (identity, seats): (Identity, &Seats),
    statement: &AccessStatement,
    verifier: Option<Option<String>>,
) -> Result<()> {
    match statement {
        AccessStatement::Role(said) if said.alter => roles::alter(draft, identity, said, verifier),
        AccessStatement::Role(said) => roles::create(draft, (identity, seats), said, verifier),
        AccessStatement::RenameRole { from, to } => roles::rename(draft, identity, from, to),
        AccessStatement::DropRoles { names, if_exists } => {
            names.iter().try_for_each(|name| roles::drop_role(draft, (identity, seats), name, *if_exists))
        }
        AccessStatement::Membership { revoke, admin, roles: joined, members, by } => {
            refuse_other_grantor(draft.snapshot().access(), identity, by.as_ref())?;
            for role in joined {
                for member in members {
                    let state = draft.snapshot().access();
                    let (role, member) =
                        (resolved(state, identity, role)?, resolved(state, identity, member)?);
                    match revoke {
                        true => roles::leave(draft, identity, role, member, *admin)?,
                        false => roles::join(draft, identity, role, member, *admin)?,
                    }
                }
            }
            Ok(())
        }
        AccessStatement::Grant { grant, on } => {
            refuse_other_grantor(draft.snapshot().access(), identity, grant.by.as_ref())?;
            let keys = targets(draft.snapshot(), on)?;
            keys.into_iter().try_for_each(|(key, name)| grant_on(draft, identity, grant, &key, &name))
        }
        AccessStatement::Defaults { roles, schemas, class, grant } => {
            default_privileges(draft, identity, (roles, schemas, *class), grant)
        }
        AccessStatement::Policy(said) => policies::define(draft, identity, said),
        AccessStatement::DropPolicy { name, table, if_exists } => {
            policies::drop_policy(draft, identity, table, name, *if_exists)
        }
        AccessStatement::RowSecurity { table, enabled, forced } => {
            let key = owned_table(draft.snapshot(), identity, table)?;
            draft.change_access(&key, |object| {
                object.row_security = enabled.unwrap_or(object.row_security);
                object.force_row_security = forced.unwrap_or(object.force_row_security);
                Ok(())
            })
        }
        AccessStatement::Owner { of, to } => change_owner(draft, identity, of, to),
        AccessStatement::Reassign { roles, to } => reassign(draft, identity, roles, to),
        AccessStatement::SetRole(_) | AccessStatement::SetSession(_) => Ok(()),
    }
}

/// GRANTED BY names who grants; it can be nobody else.
fn refuse_other_grantor(state: &State, identity: Identity, by: Option<&RoleName>) -> Result<()> {
    match by.map(|by| resolved(state, identity, by)).transpose()? {
        Some(by) if by != identity.current => Err(Error::unsupported("grantor must be current user")),
        _ => Ok(()),
    }
}

/// The key of a table, of which the current role is an owner.
pub(super) fn owned_table(snapshot: &Snapshot, identity: Identity, name: &ObjectName) -> Result<ObjectKey> {
    let table = snapshot.table(name.schema.as_deref(), &name.name)?;
    let key = ObjectKey::Table(table.id.0);
    objects::check_owner(snapshot.access(), identity, &key, &name.name)?;
    Ok(key)
}

fn relation(snapshot: &Snapshot, name: &ObjectName) -> Result<(ObjectKey, String)> {
    match snapshot.relation_key(name.schema.as_deref(), &name.name) {
        Some(key) => Ok((key, name.name.clone())),
        None => snapshot
            .table(name.schema.as_deref(), &name.name)
            .map(|table| (ObjectKey::Table(table.id.0), name.name.clone())),
    }
}

/// The objects that a GRANT is about, with what messages call them.
fn targets(snapshot: &Snapshot, on: &GrantTarget) -> Result<Vec<(ObjectKey, String)>> {
    match on {
        GrantTarget::Tables(names) => names.iter().map(|name| relation(snapshot, name)).collect(),
        GrantTarget::Sequences(names) => names
            .iter()
            .map(|name| match relation(snapshot, name)? {
                (key @ ObjectKey::Sequence(..), name) => Ok((key, name)),
                (_, name) => {
                    Err(Error::new(SqlState::WrongObjectType, format!("\"{name}\" is not a sequence")))
                }
            })
            .collect(),
        GrantTarget::Schemas(names) => names
            .iter()
            .map(|name| {
                snapshot.schema(name)?;
                let name = Snapshot::canonical_schema(name).to_owned();
                Ok((ObjectKey::Schema(name.clone()), name))
            })
            .collect(),
        // One database has privileges: the one that the session is of.
        GrantTarget::Database(names) => {
            Ok(names.iter().map(|name| (ObjectKey::Database, name.clone())).take(1).collect())
        }
        GrantTarget::Routines(names) => names
            .iter()
            .map(|name| {
                let schema = name.schema.as_deref().unwrap_or(catalog::DEFAULT_SCHEMA);
                let key = snapshot.object_key(schema, &name.name);
                match snapshot.macros().contains_key(&key) {
                    true => Ok((ObjectKey::Routine(key), name.name.clone())),
                    false => Err(Error::new(
                        SqlState::UndefinedFunction,
                        format!("function {} does not exist", name.name),
                    )),
                }
            })
            .collect(),
        GrantTarget::AllIn(class, schemas) => {
            let mut found = Vec::new();
            for schema in schemas {
                let held = snapshot.schema(schema)?;
                let schema = Snapshot::canonical_schema(schema);
                match class {
                    Class::Table => {
                        let tables = held.tables.values();
                        found.extend(tables.map(|table| (ObjectKey::Table(table.id.0), table.name.clone())));
                        let views = held.views.keys();
                        found
                            .extend(views.map(|name| {
                                (ObjectKey::View(schema.to_owned(), name.clone()), name.clone())
                            }));
                    }
                    Class::Sequence => found.extend(
                        held.sequences
                            .keys()
                            .map(|name| (ObjectKey::Sequence(schema.to_owned(), name.clone()), name.clone())),
                    ),
                    Class::Routine => {
                        let within =
                            snapshot.macros().keys().filter(|key| snapshot.place_of(key).0 == schema);
                        found.extend(within.map(|key| (ObjectKey::Routine(key.clone()), key.clone())));
                    }
                    other => {
                        let message = format!("GRANT ON ALL of kind {} is not supported", other.word());
                        return Err(Error::unsupported(message));
                    }
                }
            }
            Ok(found)
        }
    }
}

/// Whom a GRANT is about.
fn grantees(state: &State, identity: Identity, names: &[RoleName]) -> Result<Vec<Grantee>> {
    let one = |name: &RoleName| match name {
        RoleName::Public => Ok(Grantee::Public),
        other => resolved(state, identity, other).map(Grantee::Role),
    };
    names.iter().map(one).collect()
}

/// Changes one list.
fn change_list(
    list: &mut Vec<AclItem>,
    grant: &Grant,
    (owner, grantor): (RoleId, RoleId),
    to: &[Grantee],
    privileges: Privileges,
) -> Result<()> {
    for grantee in to {
        match grant.revoke {
            false => access::grant(list, grantor, *grantee, privileges, grant.option)?,
            true => {
                let (option_only, cascade) = (grant.option, grant.cascade);
                let revoked = Revoked { grantor, grantee: *grantee, privileges, option_only, cascade };
                access::revoke(list, owner, revoked)?;
            }
        }
    }
    Ok(())
}

fn grant_on(draft: &mut Draft, identity: Identity, grant: &Grant, key: &ObjectKey, name: &str) -> Result<()> {
    let snapshot = draft.snapshot();
    if let ObjectKey::Table(id) = key
        && catalog::mount_of(catalog::TableId(*id)).is_some()
    {
        return Err(Error::unsupported("privileges on objects of attached databases are not supported")
            .with_hint("they are a superuser's, and of members of pg_read_all_data and pg_write_all_data"));
    }
    let state = snapshot.access().clone();
    let to = grantees(&state, identity, &grant.roles)?;
    let class = key.class();
    let mut whole = Privileges::NONE;
    let mut on_columns: Vec<(String, Privileges)> = Vec::new();
    if grant.privileges.is_empty() {
        whole = Privileges::all_of(class);
    }
    for (privilege, columns) in &grant.privileges {
        let class = if columns.is_empty() { class } else { Class::Column };
        let all = Privileges::all_of(class);
        let wanted = privilege.map_or(all, Privileges::from);
        if !all.holds(wanted) {
            let shown = privilege.map_or("ALL", Privilege::name);
            let message = format!("invalid privilege type {shown} for {}", class.word());
            return Err(Error::new(SqlState::InvalidGrantOperation, message));
        }
        if columns.is_empty() {
            whole = whole.with(wanted);
        }
        for column in columns {
            objects::check_column(snapshot, key, name, column)?;
            on_columns.push((column.clone(), wanted));
        }
    }
    let object = state.object_or_default(key);
    let list = object.list(key);
    let wanted = on_columns.iter().fold(whole, |all, (_, some)| all.with(*some));
    let (grantor, mut may) = state.grantor(identity.current, key, &list, wanted);
    for (column, _) in &on_columns {
        let own = object.columns.get(column).into_iter().flatten();
        let own = own.filter(|item| item.grantee == Grantee::Role(grantor));
        may = own.fold(may, |may, item| may.with(item.grantable.and(wanted)));
    }
    if may.is_empty() {
        return Err(denied(format!("permission denied for {} {name}", class.word())));
    }
    let owner = object.owner;
    draft.change_access(key, |object| {
        if !whole.is_empty() {
            let mut list = object.list(key);
            change_list(&mut list, grant, (owner, grantor), &to, whole.and(may))?;
            object.acl = Some(list);
            // Taking a privilege on the whole away takes it on single columns away, too.
            if grant.revoke {
                for list in object.columns.values_mut() {
                    change_list(list, grant, (owner, grantor), &to, whole.and(may))?;
                }
            }
        }
        for (column, privileges) in &on_columns {
            let list = object.columns.entry(column.clone()).or_default();
            change_list(list, grant, (owner, grantor), &to, privileges.and(may))?;
        }
        object.columns.retain(|_, list| !list.is_empty());
        Ok(())
    })
}

fn default_privileges(
    draft: &mut Draft,
    identity: Identity,
    (of, schemas, class): (&[RoleName], &[String], Class),
    grant: &Grant,
) -> Result<()> {
    let state = draft.snapshot().access().clone();
    let of = match of {
        [] => vec![identity.current],
        some => some.iter().map(|name| resolved(&state, identity, name)).collect::<Result<Vec<_>>>()?,
    };
    let to = grantees(&state, identity, &grant.roles)?;
    let all = Privileges::all_of(class);
    let mut wanted = if grant.privileges.is_empty() { all } else { Privileges::NONE };
    for (privilege, _) in &grant.privileges {
        wanted = wanted.with(privilege.map_or(all, Privileges::from));
    }
    let schemas: Vec<Option<String>> = match schemas {
        [] => vec![None],
        some => {
            some.iter().try_for_each(|schema| draft.snapshot().schema(schema).map(drop))?;
            some.iter().map(|schema| Some(Snapshot::canonical_schema(schema).to_owned())).collect()
        }
    };
    for role in of {
        if !state.has_privileges_of(identity.current, role) {
            return Err(denied("permission denied to change default privileges"));
        }
        for schema in &schemas {
            let key = Key::Default { role, schema: schema.clone(), class };
            let mut list = match state.entries().get(&key).map(|entry| &**entry) {
                Some(Entry::Default(list)) => list.clone(),
                _ => vec![],
            };
            let public = Privileges::of_public(class).and(wanted);
            let of_owner = to.contains(&Grantee::Role(role));
            if grant.revoke && (of_owner || (to.contains(&Grantee::Public) && !public.is_empty())) {
                let message =
                    "default privileges that hold for every new object cannot be revoked in advance";
                return Err(Error::unsupported(message).with_hint("REVOKE them from each new object"));
            }
            change_list(&mut list, grant, (role, role), &to, wanted)?;
            let entry = (!list.is_empty()).then_some(Entry::Default(list));
            draft.set_access(key, entry);
        }
    }
    Ok(())
}

/// Gives an object to another role.
fn give(object: &mut ObjectAccess, to: RoleId) {
    let from = std::mem::replace(&mut object.owner, to);
    let lists = object.acl.iter_mut().chain(object.columns.values_mut());
    for item in lists.flatten() {
        if item.grantor == from {
            item.grantor = to;
        }
        if item.grantee == Grantee::Role(from) {
            item.grantee = Grantee::Role(to);
        }
    }
}

fn change_owner(draft: &mut Draft, identity: Identity, of: &Owned, to: &RoleName) -> Result<()> {
    let snapshot = draft.snapshot();
    let state = snapshot.access();
    let to = resolved(state, identity, to)?;
    let (key, name) = match of {
        Owned::Relation(name) => relation(snapshot, name)?,
        Owned::Schema(name) => {
            snapshot.schema(name)?;
            let name = Snapshot::canonical_schema(name).to_owned();
            (ObjectKey::Schema(name.clone()), name)
        }
        Owned::Type(name) => {
            let schema = name.schema.as_deref().unwrap_or(catalog::DEFAULT_SCHEMA);
            let key = snapshot.object_key(schema, &name.name);
            if !snapshot.types().contains_key(&key) {
                let message = format!("type \"{}\" does not exist", name.name);
                return Err(Error::new(SqlState::UndefinedObject, message));
            }
            (ObjectKey::Type(key), name.name.clone())
        }
        Owned::Database => (ObjectKey::Database, "the database".to_owned()),
    };
    if let ObjectKey::Table(id) = &key
        && catalog::mount_of(catalog::TableId(*id)).is_some()
    {
        return Err(Error::unsupported("objects of attached databases have no owners here"));
    }
    objects::check_owner(state, identity, &key, &name)?;
    if !state.is_member_of(identity.current, to) {
        return Err(denied(format!("must be member of role \"{}\"", state.name(to))));
    }
    if !state.is_superuser(identity.current) {
        let schema = match &key {
            ObjectKey::Table(id) => snapshot.table_by_id(catalog::TableId(*id)).map(|t| t.schema.clone()),
            ObjectKey::View(schema, _) | ObjectKey::Sequence(schema, _) => Some(schema.clone()),
            _ => None,
        };
        if let Some(schema) = schema {
            state.check(to, &ObjectKey::Schema(schema.clone()), Privilege::Create, &schema)?;
        }
    }
    draft.change_access(&key, |object| {
        give(object, to);
        Ok(())
    })
}

fn reassign(draft: &mut Draft, identity: Identity, from: &[RoleName], to: &RoleName) -> Result<()> {
    let state = draft.snapshot().access().clone();
    let to = resolved(&state, identity, to)?;
    let from = from.iter().map(|name| resolved(&state, identity, name)).collect::<Result<Vec<_>>>()?;
    for role in from.iter().chain([&to]) {
        if !state.has_privileges_of(identity.current, *role) {
            return Err(denied("permission denied to reassign objects"));
        }
    }
    if from.contains(&RoleId::BOOTSTRAP) {
        let message = "cannot reassign ownership of objects owned by the role that every database has";
        return Err(Error::new(SqlState::DependentObjectsStillExist, message));
    }
    for (key, object) in state.objects() {
        if from.contains(&object.owner) {
            let mut object = object.clone();
            give(&mut object, to);
            draft.set_access(Key::Object(key.clone()), Some(Entry::Object(object)));
        }
    }
    Ok(())
}
