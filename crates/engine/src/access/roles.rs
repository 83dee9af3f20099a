//! CREATE, ALTER and DROP ROLE; being a member of a role; SET ROLE and SET SESSION AUTHORIZATION.
//!
//! Who has CREATEROLE makes roles, and changes those that it may make others members of, which those that it made are.
//! It makes no superuser and changes none.

use access::{Entry, Key, Membership, Predefined, Role, RoleId, State, denied};
use catalog::Draft;
use pgproto::scram::{ITERATIONS, Verifier};
use plan::access::{DefineRole, RoleName};
use types::{Error, Result, SqlState};

use super::{Identity, Seats};
use crate::Session;

/// The role that a name means; PUBLIC is none.
pub(super) fn resolved(state: &State, identity: Identity, name: &RoleName) -> Result<RoleId> {
    match name {
        RoleName::Named(name) => state.named(name),
        RoleName::Current => Ok(identity.current),
        RoleName::Session => Ok(identity.session),
        RoleName::Public => Err(Error::new(SqlState::UndefinedObject, "role \"public\" does not exist")),
    }
}

fn reserved(name: &str) -> Error {
    Error::new(SqlState::ReservedName, format!("role name \"{name}\" is reserved"))
        .with_detail("names that begin with pg_ and quickstep_ are those of predefined roles")
}

fn check_new_name(state: &State, name: &str) -> Result<()> {
    if ["public", "none"].contains(&name) || name.starts_with("pg_") || name.starts_with("quickstep_") {
        return Err(reserved(name));
    }
    match state.find(name) {
        None => Ok(()),
        Some(_) => Err(Error::new(SqlState::DuplicateObject, format!("role \"{name}\" already exists"))),
    }
}

/// A role that statements may change; predefined ones never change.
fn changeable(state: &State, id: RoleId) -> Result<Role> {
    let role = state.role(id).ok_or_else(|| Error::internal("a role without a definition"))?;
    match Predefined::of(id) {
        Some(_) => Err(reserved(&role.name)),
        None => Ok(role),
    }
}

/// Whether a role may change another one's definition.
fn may_change(state: &State, own: RoleId, other: RoleId, definition: &Role) -> bool {
    let creates = state.role(own).is_some_and(|role| role.create_role);
    state.is_superuser(own) || (creates && !definition.superuser && state.is_admin_of(own, other))
}

/// What the password becomes that is kept.
pub(super) fn verifier_of(said: &DefineRole) -> Result<Option<Option<String>>> {
    let Some(password) = &said.password else { return Ok(None) };
    let Some(password) = password else { return Ok(Some(None)) };
    let text = password.0.as_str();
    let md5 = text.strip_prefix("md5").is_some_and(|rest| {
        rest.len() == 32 && rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    });
    if md5 {
        return Err(
            Error::unsupported("MD5 passwords are not supported").with_hint("give the password itself")
        );
    }
    Ok(Some(match text {
        // An empty password is none, as in PostgreSQL.
        "" => None,
        _ if text.starts_with("SCRAM-SHA-256$") => Some(Verifier::parse(text)?.to_string()),
        _ => Some(Verifier::of_password(text, ITERATIONS)?.to_string()),
    }))
}

/// CREATE ROLE; `verifier` is what is kept of the password.
pub(super) fn create(
    draft: &mut Draft,
    (identity, seats): (Identity, &Seats),
    said: &DefineRole,
    verifier: Option<Option<String>>,
) -> Result<()> {
    let state = draft.snapshot().access().clone();
    let own = identity.current;
    let is_superuser = state.is_superuser(own);
    if !is_superuser && !state.role(own).is_some_and(|role| role.create_role) {
        return Err(denied("permission denied to create role"));
    }
    let RoleName::Named(name) = &said.name else { return Err(reserved("public")) };
    check_new_name(&state, name)?;
    let mut role = Role::new(name.clone());
    said.options.apply(&mut role);
    role.verifier = verifier.flatten();
    refuse_higher(&state, own, &role, None)?;
    let id = seats.next_role(state.next_role());
    draft.set_access(Key::Role(id), Some(Entry::Role(role)));
    if !is_superuser {
        let how = Membership { grantor: RoleId::BOOTSTRAP, admin: true };
        draft.set_access(Key::Member { role: id, member: own }, Some(Entry::Member(how)));
    }
    for joined in &said.member_of {
        let joined = resolved(&state, identity, joined)?;
        join(draft, identity, joined, id, false)?;
    }
    for (member, admin) in &said.members {
        let member = resolved(draft.snapshot().access(), identity, member)?;
        join(draft, identity, id, member, *admin)?;
    }
    Ok(())
}

/// Attributes that only who has them may give.
fn refuse_higher(state: &State, own: RoleId, role: &Role, before: Option<&Role>) -> Result<()> {
    if state.is_superuser(own) {
        return Ok(());
    }
    let mine = state.role(own);
    let has = |what: fn(&Role) -> bool| mine.as_ref().is_some_and(what);
    let before = |what: fn(&Role) -> bool| before.is_some_and(what);
    let higher: [(&str, fn(&Role) -> bool); 3] = [
        ("SUPERUSER", |role| role.superuser),
        ("BYPASSRLS", |role| role.bypass_row_security),
        ("CREATEDB", |role| role.create_database),
    ];
    for (name, what) in higher {
        let may = name != "SUPERUSER" && has(what);
        if what(role) != before(what) && !may {
            let message = format!("permission denied: only roles with {name} may give or take it");
            return Err(denied(message));
        }
    }
    Ok(())
}

/// ALTER ROLE with options.
pub(super) fn alter(
    draft: &mut Draft,
    identity: Identity,
    said: &DefineRole,
    verifier: Option<Option<String>>,
) -> Result<()> {
    let state = draft.snapshot().access().clone();
    let id = resolved(&state, identity, &said.name)?;
    let before = changeable(&state, id)?;
    let own_password =
        id == identity.current && said.password.is_some() && said.options == access::RoleOptions::default();
    if !own_password && !may_change(&state, identity.current, id, &before) {
        return Err(denied("permission denied to alter role"));
    }
    let mut role = before.clone();
    said.options.apply(&mut role);
    if let Some(verifier) = verifier {
        role.verifier = verifier;
    }
    if id == RoleId::BOOTSTRAP && !role.superuser {
        return Err(Error::unsupported("the role that every database has stays a superuser"));
    }
    refuse_higher(&state, identity.current, &role, Some(&before))?;
    draft.set_access(Key::Role(id), Some(Entry::Role(role)));
    Ok(())
}

/// ALTER ROLE ... RENAME TO.
pub(super) fn rename(draft: &mut Draft, identity: Identity, from: &RoleName, to: &str) -> Result<()> {
    let state = draft.snapshot().access().clone();
    let id = resolved(&state, identity, from)?;
    let mut role = changeable(&state, id)?;
    if id == identity.session {
        return Err(Error::unsupported("session user cannot be renamed"));
    }
    check_new_name(&state, to)?;
    if !may_change(&state, identity.current, id, &role) {
        return Err(denied("permission denied to rename role"));
    }
    to.clone_into(&mut role.name);
    draft.set_access(Key::Role(id), Some(Entry::Role(role)));
    Ok(())
}

/// A role's own settings, by `change`.
pub(super) fn set(
    draft: &mut Draft,
    identity: Identity,
    id: RoleId,
    change: impl FnOnce(&mut std::collections::BTreeMap<String, String>),
) -> Result<()> {
    let state = draft.snapshot().access().clone();
    let mut role = changeable(&state, id)?;
    if id != identity.current && !may_change(&state, identity.current, id, &role) {
        return Err(denied("permission denied to alter role"));
    }
    change(&mut role.settings);
    draft.set_access(Key::Role(id), Some(Entry::Role(role)));
    Ok(())
}

/// DROP ROLE.
pub(super) fn drop_role(
    draft: &mut Draft,
    (identity, seats): (Identity, &Seats),
    name: &RoleName,
    if_exists: bool,
) -> Result<()> {
    let state = draft.snapshot().access().clone();
    let id = match resolved(&state, identity, name) {
        Ok(id) => id,
        Err(error) if if_exists && error.state() == SqlState::UndefinedObject => return Ok(()),
        Err(error) => return Err(error),
    };
    let role = changeable(&state, id)?;
    if !may_change(&state, identity.current, id, &role) {
        return Err(denied("permission denied to drop role"));
    }
    let in_use = if id == identity.current {
        Some("current user cannot be dropped")
    } else {
        (id == identity.session || id == identity.authenticated).then_some("session user cannot be dropped")
    };
    if let Some(message) = in_use {
        return Err(Error::new(SqlState::ObjectInUse, message));
    }
    let depends = |detail: String| {
        let message = format!("role \"{}\" cannot be dropped because some objects depend on it", role.name);
        Error::new(SqlState::DependentObjectsStillExist, message).with_detail(detail)
    };
    if id == RoleId::BOOTSTRAP {
        return Err(depends("every database has this role".to_owned()));
    }
    let dependents = state.dependents(id);
    if !dependents.is_empty() {
        let hint = "use REASSIGN OWNED, and REVOKE what it was granted";
        return Err(depends(dependents.join("\n")).with_hint(hint));
    }
    seats.note_dropped(id);
    draft.set_access(Key::Role(id), None);
    for (joined, member, how) in state.memberships() {
        let key = Key::Member { role: joined, member };
        if joined == id || member == id {
            draft.set_access(key, None);
        } else if how.grantor == id {
            let how = Membership { grantor: RoleId::BOOTSTRAP, ..how };
            draft.set_access(key, Some(Entry::Member(how)));
        }
    }
    Ok(())
}

/// GRANT role TO member.
pub(super) fn join(
    draft: &mut Draft,
    identity: Identity,
    role: RoleId,
    member: RoleId,
    admin: bool,
) -> Result<()> {
    let state = draft.snapshot().access().clone();
    refuse_without_admin(&state, identity, role)?;
    if state.roles_of(role).contains(&member) {
        let (role, member) = (state.name(role), state.name(member));
        let message = format!("role \"{role}\" is a member of role \"{member}\"");
        return Err(Error::new(SqlState::InvalidGrantOperation, message));
    }
    let key = Key::Member { role, member };
    let before = state.memberships().find(|(r, m, _)| (*r, *m) == (role, member));
    let admin = admin || before.is_some_and(|(_, _, how)| how.admin);
    let how = Membership { grantor: identity.current, admin };
    draft.set_access(key, Some(Entry::Member(how)));
    Ok(())
}

/// REVOKE role FROM member; with `admin_only` it stays a member.
pub(super) fn leave(
    draft: &mut Draft,
    identity: Identity,
    role: RoleId,
    member: RoleId,
    admin_only: bool,
) -> Result<()> {
    let state = draft.snapshot().access().clone();
    refuse_without_admin(&state, identity, role)?;
    let there = state.memberships().find(|(r, m, _)| (*r, *m) == (role, member));
    if let Some((_, _, how)) = there {
        let kept = admin_only.then_some(Entry::Member(Membership { admin: false, ..how }));
        draft.set_access(Key::Member { role, member }, kept);
    }
    Ok(())
}

fn refuse_without_admin(state: &State, identity: Identity, role: RoleId) -> Result<()> {
    if state.is_superuser(role) && !state.is_superuser(identity.current) {
        return Err(denied("must be superuser to grant or revoke membership of a superuser"));
    }
    match state.is_admin_of(identity.current, role) {
        true => Ok(()),
        false => Err(denied(format!("must have admin option on role \"{}\"", state.name(role)))),
    }
}

impl Session {
    /// Begins as a role.
    pub(super) fn begin_as(&mut self, identity: Identity, seat: super::Seat) {
        self.seat = Some(seat);
        self.become_role(identity, None);
        self.settle_presence();
    }

    fn become_role(&self, identity: Identity, label: Option<&str>) {
        let name = (identity.current != access::RoleId::BOOTSTRAP || !identity.embedded)
            .then(|| self.snapshot().access().name(identity.current));
        let mut settings = self.settings();
        settings.identity = identity;
        settings.role = label.map(str::to_owned).or(name).map(|name| name.into());
        drop(settings);
        self.forget_role_settings();
        self.follow_role();
    }

    /// SET ROLE. A name that no role has is, for the host's own session, a label that only settings go by.
    pub(crate) fn set_role_to(&self, role: Option<&RoleName>) -> Result<()> {
        let identity = self.identity();
        let snapshot = self.snapshot();
        let state = snapshot.access();
        let Some(role) = role else {
            self.become_role(Identity { current: identity.session, ..identity }, None);
            return Ok(());
        };
        let id = match (resolved(state, identity, role), role) {
            (Ok(id), _) => id,
            (Err(_), RoleName::Named(label)) if identity.embedded => {
                self.become_role(Identity { current: identity.session, ..identity }, Some(label));
                return Ok(());
            }
            (Err(error), _) => {
                let message = error.message().to_owned();
                return Err(Error::new(SqlState::InvalidParameterValue, message));
            }
        };
        if !state.is_member_of(identity.session, id) {
            return Err(denied(format!("permission denied to set role \"{}\"", state.name(id))));
        }
        self.become_role(Identity { current: id, ..identity }, None);
        Ok(())
    }

    /// SET SESSION AUTHORIZATION.
    pub(crate) fn set_session_role(&self, role: Option<&RoleName>) -> Result<()> {
        let identity = self.identity();
        let snapshot = self.snapshot();
        let state = snapshot.access();
        if let Some(RoleName::Named(label)) = role
            && identity.embedded
            && state.find(label).is_none()
        {
            return self.set_role_to(role.filter(|_| !label.is_empty()));
        }
        let id = match role {
            None => identity.authenticated,
            Some(role) => resolved(state, identity, role)
                .map_err(|error| Error::new(SqlState::InvalidParameterValue, error.message().to_owned()))?,
        };
        if id != identity.authenticated && !state.is_superuser(identity.authenticated) {
            return Err(denied("permission denied to set session authorization"));
        }
        self.become_role(Identity { session: id, current: id, ..identity }, None);
        Ok(())
    }
}
