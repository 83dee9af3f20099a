//! Sessions of roles: who may begin one, as whom its statements run, and a role's own settings.
//!
//! Holds nothing of its own: roles are read from the catalog's snapshot at each question, so that a change of a role is
//! seen by sessions that are open; what a session may use follows the role that it began as, whatever SET ROLE says.
//! Called by the server at a login, and by `calls` before each statement.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use access::{Limits, ObjectKey, Predefined, Privilege, RoleId};
use pgproto::scram::Verifier;
use types::{Error, Result, SqlState};

use super::{Identity, Login, Seats, roles};
use crate::{Database, Session};

impl Session {
    /// Who it is.
    pub(crate) fn identity(&self) -> Identity {
        self.settings().identity
    }

    /// 28000 when one of the roles that the session goes by was dropped meanwhile: what it may do is unknown then. The
    /// numbers of dropped roles are not given again while the process lives, so that it is nobody else's session either.
    pub(crate) fn refuse_dropped_role(&self) -> Result<()> {
        let identity = self.identity();
        if identity == Identity::default() {
            return Ok(());
        }
        let published = self.database.shared.catalog.published();
        if self.role_view().present == Some((identity, published)) {
            return Ok(());
        }
        let snapshot = self.database.shared.catalog.snapshot();
        let state = snapshot.access();
        let all = [identity.authenticated, identity.session, identity.current];
        if all.into_iter().all(|id| state.has_role(id)) {
            self.role_view().present = Some((identity, published));
            return Ok(());
        }
        // A role that the open transaction has made is in its own snapshot alone.
        let is_there = |id| state.has_role(id) || self.snapshot().access().has_role(id);
        match all.into_iter().all(is_there) {
            true => Ok(()),
            false => {
                let error = Error::new(SqlState::InvalidAuthorization, "the session's role has been dropped");
                Err(error.with_hint("connect as another role"))
            }
        }
    }

    /// What its statements may use: the limits of the role that it began as, which SET ROLE does not lift.
    pub(crate) fn limits(&self) -> Limits {
        self.limits_of(self.identity())
    }

    fn limits_of(&self, identity: Identity) -> Limits {
        if identity.embedded {
            return Limits::default();
        }
        // An open block may have changed roles for itself.
        let shared = &self.database.shared;
        let published = (!self.is_in_block() && shared.mounts.is_empty()).then(|| shared.catalog.published());
        if published.is_some() {
            let view = self.role_view();
            if let Some((of, _, limits)) = &view.limits
                && *of == identity.authenticated
                && view.limits_published == published
            {
                return limits.clone();
            }
        }
        let snapshot = self.snapshot();
        let state = snapshot.access();
        let mut view = self.role_view();
        view.limits_published = published;
        if let Some((of, under, limits)) = &view.limits
            && *of == identity.authenticated
            && Arc::ptr_eq(under, state)
        {
            return limits.clone();
        }
        let limits = match state.role(identity.authenticated) {
            Some(role) if !role.superuser => role.limits,
            _ => Limits::default(),
        };
        view.limits = Some((identity.authenticated, Arc::clone(state), limits.clone()));
        limits
    }

    /// How long a statement may take, by the setting and the role's limit.
    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        let (identity, own) = {
            let settings = self.settings();
            (settings.identity, settings.statement_timeout)
        };
        let limit = self.limits_of(identity).statement_ms.map(Duration::from_millis);
        match (own, limit) {
            (Some(own), Some(limit)) => Some(own.min(limit)),
            (own, limit) => own.or(limit),
        }
    }

    /// 42501 where ALTER QUERY gives a statement more than the role's limits let it have.
    pub(crate) fn refuse_above_limits(&self, name: &str, text: &str) -> Result<()> {
        let limits = self.limits();
        let above = match name.to_ascii_lowercase().as_str() {
            "priority" => limits.priority.is_some_and(|max| {
                crate::settings::parse_priority(text).is_ok_and(|priority| u64::from(priority) > max)
            }),
            "memory" | "query_memory" => limits.memory_bytes.is_some_and(|max| {
                crate::settings::parse_query_bytes(text)
                    .is_ok_and(|bytes| bytes.is_none_or(|bytes| bytes > max))
            }),
            // A new deadline counts from now, so that none may be given where there is a limit.
            "statement_timeout" => limits.statement_ms.is_some(),
            _ => false,
        };
        match above {
            true => {
                Err(access::denied(format!("permission denied to set \"{name}\" above the role's limit")))
            }
            false => Ok(()),
        }
    }

    /// The name of `current_user`.
    pub fn role_name(&self) -> String {
        let identity = self.identity();
        self.snapshot().access().name(identity.current)
    }

    /// The name of `session_user`.
    pub fn session_role_name(&self) -> String {
        let identity = self.identity();
        self.snapshot().access().name(identity.session)
    }

    /// Whether its current role passes every check.
    pub fn is_superuser(&self) -> bool {
        let identity = self.identity();
        self.snapshot().access().is_superuser(identity.current)
    }
}

/// Changes a role's own settings.
pub(crate) fn set_role_settings(
    draft: &mut catalog::Draft,
    identity: Identity,
    id: RoleId,
    change: &dyn Fn(&mut BTreeMap<String, String>),
) -> Result<()> {
    roles::set(draft, identity, id, change)
}

impl Database {
    /// What lets somebody in as a role; `None` where there is no such role. A server that is told of no role goes on
    /// as with one whose password is wrong, so that names cannot be probed.
    pub fn login(&self, role: &str) -> Option<Login> {
        let snapshot = self.shared.catalog.snapshot();
        let state = snapshot.access();
        let id = state.find(role)?;
        let role = state.role(id)?;
        Some(Login {
            name: role.name,
            verifier: role.verifier.as_deref().and_then(|text| Verifier::parse(text).ok()),
            valid_until: role.valid_until,
            can_login: role.login,
            is_superuser: role.superuser,
            monitors: role.superuser || state.may(id, Predefined::Monitor),
            limits: role.limits,
        })
    }

    /// The name of the superuser that every database has.
    pub fn superuser(&self) -> String {
        self.shared.catalog.snapshot().access().name(RoleId::BOOTSTRAP)
    }

    /// A session of a role, for one who has proved to be it. It may do what the role may: nothing outside of the
    /// database unless predefined roles allow it. SQLSTATE 28000 where there is no such role or it may not log in, 42501
    /// without CONNECT on the database, 53300 where it has as many sessions as it may.
    pub fn session_as(&self, role: &str) -> Result<Session> {
        let snapshot = self.shared.catalog.snapshot();
        let state = snapshot.access();
        let unknown =
            || Error::new(SqlState::InvalidAuthorization, format!("role \"{role}\" does not exist"));
        let id = state.find(role).ok_or_else(unknown)?;
        let known = state.role(id).ok_or_else(unknown)?;
        if !known.login {
            let message = format!("role \"{role}\" is not permitted to log in");
            return Err(Error::new(SqlState::InvalidAuthorization, message)
                .with_hint(format!("ALTER ROLE {role} LOGIN permits it")));
        }
        if !state.privileges(id, &ObjectKey::Database).has(Privilege::Connect) {
            let message = format!("permission denied for database \"{}\"", self.shared.name);
            return Err(access::denied(message).with_detail("the role does not have the CONNECT privilege"));
        }
        let limit = if known.superuser { None } else { known.limits.connections };
        let seat = Seats::take(self, id, role, limit)?;
        let mut session = self.session();
        session.begin_as(Identity::of(id), seat);
        Ok(session)
    }

    /// Whether some role has a password with which it may log in.
    pub fn has_password(&self) -> bool {
        let snapshot = self.shared.catalog.snapshot();
        snapshot.access().roles().values().any(|role| role.login && role.verifier.is_some())
    }
}
