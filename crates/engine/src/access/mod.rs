//! Who a session is, and what that allows: sessions of roles, statements about roles and privileges, and the checks.
//!
//! ```text
//!  host        Database::session()          the bootstrap superuser: the embedded engine, all allowed
//!  server      Database::login(name)        what a password is checked against, before there is a session
//!              Database::session_as(name)   a session of that role; its environment follows from what the role may
//!  statement   `identity` in the settings   copied to all that plans it, and to questions that planning asks
//!              authorize                    what statements need, apart from the columns that queries read
//!              sql::Relations::check        the columns that queries read and write, from the binder
//! ```
//! A session has three roles: the one that it began as, the one that SET SESSION AUTHORIZATION made of it (only a
//! superuser can), and the current one, which SET ROLE chooses among those that the session's role is a member of.
//! Checks ask for the current one. Roles are read from the snapshot that a statement sees.

pub(crate) mod authorize;
mod grants;
pub(crate) mod guard;
pub(crate) mod objects;
pub(crate) mod policies;
mod roles;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use access::{Limits, ObjectKey, Predefined, Privilege, RoleId, State};
use files::Granted;
use formats::Environment;
use pgproto::scram::Verifier;
use types::{Error, Result, SqlState};

use crate::{Database, Session};

/// Who a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The role that the session began as.
    pub authenticated: RoleId,
    /// `session_user`.
    pub session: RoleId,
    /// `current_user`: what checks ask for.
    pub current: RoleId,
    /// The host's own session, for which names of roles need no declaration.
    pub embedded: bool,
}

impl Identity {
    /// A role's session.
    fn of(role: RoleId) -> Identity {
        Identity { authenticated: role, session: role, current: role, embedded: false }
    }
}

impl Default for Identity {
    fn default() -> Self {
        Identity { embedded: true, ..Identity::of(RoleId::BOOTSTRAP) }
    }
}

/// What a server must know of a role to let somebody in.
#[derive(Clone, Debug)]
pub struct Login {
    /// The role's name.
    pub name: String,
    /// What the password is checked against; `None` where no password lets anybody in.
    pub verifier: Option<Verifier>,
    /// Microseconds since 1970 from which on the password is refused.
    pub valid_until: Option<i64>,
    /// Whether a session may begin as it.
    pub can_login: bool,
    /// Whether it passes every check.
    pub is_superuser: bool,
    /// What its sessions may use.
    pub limits: Limits,
}

impl Login {
    /// Whether the password has expired: it is refused then, however it is proved. Peer credentials are no password.
    pub fn is_expired(&self) -> bool {
        self.valid_until.is_some_and(|until| until <= now())
    }
}

/// Microseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Sessions that are open, by role.
#[derive(Default)]
pub(crate) struct Seats(Mutex<BTreeMap<RoleId, u32>>);

/// A place among a role's sessions; free again when it is dropped.
pub(crate) struct Seat {
    database: Arc<crate::database::Shared>,
    role: RoleId,
}

impl Seats {
    /// Takes a place for one more session of a role.
    fn take(database: &Database, role: RoleId, name: &str, limit: Option<u32>) -> Result<Seat> {
        let seats = &database.shared.seats;
        let mut open = seats.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(role).or_default();
        if limit.is_some_and(|limit| *count >= limit) {
            let message = format!("too many connections for role \"{name}\"");
            return Err(Error::new(SqlState::TooManyConnections, message)
                .with_hint("ALTER ROLE ... CONNECTION LIMIT changes how many there may be"));
        }
        *count += 1;
        Ok(Seat { database: database.shared.clone(), role })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.database.seats.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.role) {
            *count = count.saturating_sub(1);
        }
    }
}

impl Database {
    /// What lets somebody in as a role; `None` where there is no such role. A server that is told of no role goes on
    /// as with one whose password is wrong, so that names cannot be probed.
    pub fn login(&self, role: &str) -> Option<Login> {
        let snapshot = self.shared.catalog.snapshot();
        let state = snapshot.access();
        let role = state.role(state.find(role)?)?;
        Some(Login {
            name: role.name,
            verifier: role.verifier.as_deref().and_then(|text| Verifier::parse(text).ok()),
            valid_until: role.valid_until,
            can_login: role.login,
            is_superuser: role.superuser,
            limits: role.limits,
        })
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

impl Session {
    /// Who it is.
    pub(crate) fn identity(&self) -> Identity {
        self.settings().identity
    }

    /// What its statements may use: the limits of the role that it began as, which SET ROLE does not lift.
    pub(crate) fn limits(&self) -> Limits {
        let identity = self.identity();
        if identity.embedded {
            return Limits::default();
        }
        match self.snapshot().access().role(identity.authenticated) {
            Some(role) if !role.superuser => role.limits,
            _ => Limits::default(),
        }
    }

    /// How long a statement may take, by the setting and the role's limit.
    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        let limit = self.limits().statement_ms.map(Duration::from_millis);
        let own = self.settings().statement_timeout;
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

/// What a role's statements open files with.
pub(crate) fn environment_of(
    base: &Environment,
    state: &State,
    identity: Identity,
    input: &InputFolder,
) -> Environment {
    if state.is_superuser(identity.current) {
        return base.clone();
    }
    let may = |predefined| state.may(identity.current, predefined);
    let granted = Granted {
        reads: may(Predefined::ReadServerFiles),
        writes: may(Predefined::WriteServerFiles),
        network: may(Predefined::Network),
        secrets: may(Predefined::Secrets),
    };
    base.under(base.capability().granted(granted, Some(&input.0)))
}

/// A folder of one session that holds what COPY FROM STDIN has read, for a role that may open no other file. It is made
/// when it is needed, and goes with the session.
pub(crate) struct InputFolder(PathBuf);

impl Default for InputFolder {
    fn default() -> Self {
        // No name that others could guess and put there first.
        let name =
            format!("quickstep-input-{}-{:016x}{:016x}", std::process::id(), sql::chance(), sql::chance());
        InputFolder(std::env::temp_dir().join(name))
    }
}

impl InputFolder {
    /// The folder, which only this process's user may look into.
    pub fn made(&self) -> PathBuf {
        use std::os::unix::fs::DirBuilderExt;
        // Where it cannot be made, the file that is to be in it cannot either, and that is told.
        _ = std::fs::DirBuilder::new().mode(0o700).create(&self.0);
        self.0.clone()
    }
}

impl Drop for InputFolder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// 42501 unless the current role has what a predefined role gives.
pub(crate) fn needs(state: &State, identity: Identity, predefined: Predefined, what: &str) -> Result<()> {
    match state.may(identity.current, predefined) {
        true => Ok(()),
        false => {
            let name = predefined.name();
            let error = access::denied(format!("permission denied to {what}"));
            Err(error
                .with_detail(format!("only superusers and roles with privileges of \"{name}\" may"))
                .with_hint(format!("a superuser may GRANT {name} TO the role")))
        }
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
