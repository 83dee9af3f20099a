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
mod seats;
mod sessions;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::time::{SystemTime, UNIX_EPOCH};

use access::{Limits, Predefined, RoleId, State};
use files::Granted;
use formats::Environment;
use pgproto::scram::Verifier;
pub(crate) use seats::Seat;
pub(crate) use sessions::set_role_settings;
use types::Result;

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
    /// Whether it may see what other roles' sessions do: it is a superuser, or a member of pg_monitor.
    pub monitors: bool,
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
pub(crate) struct Seats {
    open: Mutex<BTreeMap<RoleId, u32>>,
    /// The highest number that a role was given since the database was opened. A role that is dropped leaves its number
    /// to nobody as long as sessions may still go by it.
    last_role: AtomicU32,
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
