//! CREATE, ALTER and DROP POLICY, and which conditions hold for whom.
//!
//! Conditions are kept as text and bound anew by every statement, in the table's columns alone. Permissive ones that are
//! for the command and the role are joined by OR, restrictive ones by AND to that; with row security on and no permissive
//! one, no row passes.

use access::{Entry, Grantee, Key, ObjectAccess, ObjectKey, Policy, PolicyCommand, RoleId, State};
use catalog::Draft;
use plan::access::{DefinePolicy, RoleName};
use plan::statement::ObjectName;
use types::{Error, Result, SqlState};

use super::Identity;
use super::grants::owned_table;
use super::roles::resolved;
use crate::Session;
use crate::statement::Within;

fn roles_of(state: &State, identity: Identity, names: &[RoleName]) -> Result<Vec<Grantee>> {
    if names.is_empty() || names.contains(&RoleName::Public) {
        return Ok(vec![Grantee::Public]);
    }
    names.iter().map(|name| resolved(state, identity, name).map(Grantee::Role)).collect()
}

/// CREATE POLICY and ALTER POLICY.
pub(super) fn define(draft: &mut Draft, identity: Identity, said: &DefinePolicy) -> Result<()> {
    let key = owned_table(draft.snapshot(), identity, &said.table)?;
    let state = draft.snapshot().access().clone();
    let table = &said.table.name;
    let exists = |name: &str| {
        let message = format!("policy \"{name}\" for table \"{table}\" already exists");
        Error::new(SqlState::DuplicateObject, message)
    };
    let roles = roles_of(&state, identity, &said.roles)?;
    draft.change_access(&key, |object| {
        if !said.alter {
            if object.policies.contains_key(&said.name) {
                return Err(exists(&said.name));
            }
            let (permissive, command) = (said.permissive, said.command);
            let (using, check) = (said.using.clone(), said.check.clone());
            object.policies.insert(said.name.clone(), Policy { permissive, command, roles, using, check });
            return Ok(());
        }
        let Some(mut policy) = object.policies.remove(&said.name) else {
            return Err(unknown(&said.name, table));
        };
        let mut name = said.name.clone();
        if let Some(to) = &said.rename {
            if object.policies.contains_key(to) {
                return Err(exists(to));
            }
            name.clone_from(to);
        }
        if !said.roles.is_empty() {
            policy.roles = roles;
        }
        let wrong = |message: &str| Err(Error::new(SqlState::SyntaxError, message));
        if said.using.is_some() {
            if policy.command == PolicyCommand::Insert {
                return wrong("only WITH CHECK expression allowed for INSERT");
            }
            policy.using.clone_from(&said.using);
        }
        if said.check.is_some() {
            if matches!(policy.command, PolicyCommand::Select | PolicyCommand::Delete) {
                return wrong("WITH CHECK cannot be applied to SELECT or DELETE");
            }
            policy.check.clone_from(&said.check);
        }
        object.policies.insert(name, policy);
        Ok(())
    })
}

fn unknown(name: &str, table: &str) -> Error {
    let message = format!("policy \"{name}\" for table \"{table}\" does not exist");
    Error::new(SqlState::UndefinedObject, message)
}

/// DROP POLICY.
pub(super) fn drop_policy(
    draft: &mut Draft,
    identity: Identity,
    table: &ObjectName,
    name: &str,
    if_exists: bool,
) -> Result<()> {
    let key = owned_table(draft.snapshot(), identity, table)?;
    let mut object = draft.snapshot().access().object_or_default(&key);
    match object.policies.remove(name) {
        Some(_) => {
            draft.set_access(Key::Object(key), Some(Entry::Object(object)));
            Ok(())
        }
        None if if_exists => Ok(()),
        None => Err(unknown(name, &table.name)),
    }
}

/// Whether policies of an object hold for a role.
pub(crate) fn holds_for(state: &State, key: &ObjectKey, role: RoleId) -> Option<ObjectAccess> {
    let object = state.object(key).filter(|object| object.row_security)?;
    let definition = state.role(role)?;
    let exempt = definition.superuser
        || definition.bypass_row_security
        || (state.has_privileges_of(role, object.owner) && !object.force_row_security);
    (!exempt).then(|| object.clone())
}

/// The condition on rows for a command, of the policies that hold for a role: on those that are there, or with
/// `written` on those that are written. `false` where no policy lets any pass.
pub(crate) fn condition(
    state: &State,
    object: &ObjectAccess,
    role: RoleId,
    command: PolicyCommand,
    written: bool,
) -> String {
    let is = state.privileges_of(role);
    let counts = |policy: &&Policy| {
        (policy.command == PolicyCommand::All || policy.command == command)
            && policy.roles.iter().any(|to| match to {
                Grantee::Public => true,
                Grantee::Role(role) => is.contains(role),
            })
    };
    // What is written must satisfy USING where there is no WITH CHECK.
    let text = |policy: &Policy| {
        let chosen =
            if written { policy.check.as_ref().or(policy.using.as_ref()) } else { policy.using.as_ref() };
        chosen.map_or_else(|| "true".to_owned(), |text| format!("({text})"))
    };
    let of = |permissive: bool| -> Vec<String> {
        object.policies.values().filter(counts).filter(|p| p.permissive == permissive).map(text).collect()
    };
    let permissive = of(true);
    if permissive.is_empty() {
        return "false".to_owned();
    }
    let mut whole = format!("({})", permissive.join(" OR "));
    for restrictive in of(false) {
        whole.push_str(" AND ");
        whole.push_str(&restrictive);
    }
    whole
}

impl Session {
    /// Fails where a policy's condition cannot be bound, or is no condition over the table's row.
    pub(super) fn check_policy_text(&self, said: &DefinePolicy, statement: Within<'_>) -> Result<()> {
        let snapshot = self.snapshot();
        let table = snapshot.table(said.table.schema.as_deref(), &said.table.name)?;
        let relations = self.relations_of(statement.cloned());
        for text in said.using.iter().chain(&said.check) {
            sql::check_condition(&table.name, table.columns.fields(), text, &relations)?;
        }
        Ok(())
    }
}
