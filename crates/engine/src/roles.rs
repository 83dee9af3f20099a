//! The settings that sessions begin with: those of their role, of the host and of the client.
//!
//! `ALTER ROLE dashboards SET priority = 500` says what holds for the sessions of that role from their next statement
//! on, those that are open included, but for settings that a session has set itself. The order, the stronger first:
//!
//! ```text
//!  ALTER QUERY -> SET -> what the client named when it connected (`keep_begun`) -> the role's (ALTER ROLE ... SET)
//!              -> what the host has sessions begin with (`set_defaults`) -> the default
//! ```
//! RESET goes one step down. Settings of roles of the catalog are kept there; those of a name that no role has, which
//! only the host's own session may go by, live as long as the process.

mod statements;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use types::{Field, Type, Value};

/// The role of a session that has not set one.
pub(crate) const DEFAULT_ROLE: &str = "quickstep";

/// A role's settings: value by name.
type RoleSettings = BTreeMap<String, String>;

/// The settings of all roles of a database.
#[derive(Default)]
pub(crate) struct Roles {
    settings: RwLock<BTreeMap<String, RoleSettings>>,
    /// Grows with each change.
    version: AtomicU64,
}

impl Roles {
    fn of(&self, role: &str) -> RoleSettings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).get(role).cloned().unwrap_or_default()
    }

    fn change(&self, role: &str, work: impl FnOnce(&mut RoleSettings)) {
        let mut roles = self.settings.write().unwrap_or_else(PoisonError::into_inner);
        work(roles.entry(role.to_owned()).or_default());
        roles.retain(|_, settings| !settings.is_empty());
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Rows of `quickstep_roles`.
    pub fn rows(&self) -> Vec<Vec<Value>> {
        let roles = self.settings.read().unwrap_or_else(PoisonError::into_inner);
        let rows = roles.iter().flat_map(|(role, settings)| {
            settings
                .iter()
                .map(move |(name, value)| [role, name, value].map(|text| Value::text(text)).to_vec())
        });
        rows.collect()
    }
}

pub(crate) fn fields() -> Vec<Field> {
    ["role", "name", "setting"].map(|name| Field::new(name, Type::Text, false)).to_vec()
}

/// What a session has of its role.
#[derive(Default)]
pub(crate) struct RoleView {
    /// Version of the roles' settings that the session follows; `None`: the settings have to be
    /// applied again.
    seen: Option<u64>,
    /// The roles of the catalog that it follows.
    state: Option<Arc<access::State>>,
    /// What the statements of a role may use, and the roles of the catalog that say so.
    pub(crate) limits: Option<(access::RoleId, Arc<access::State>, access::Limits)>,
    /// When `limits` were last looked up: nothing was published since where this is the catalog's count now.
    pub(crate) limits_published: Option<u64>,
    /// Whose roles were all there, likewise.
    pub(crate) present: Option<(crate::access::Identity, u64)>,
    /// When `state` was last compared, likewise.
    followed_published: Option<u64>,
    /// Settings that the session has set itself.
    own: BTreeSet<String>,
    /// Settings that are as the role, the host or the client has them.
    followed: BTreeSet<String>,
    /// What the host has the session begin with.
    defaults: RoleSettings,
    /// What the client named when it connected.
    begun: RoleSettings,
}

/// Whether a procedure is what ALTER ROLE is parsed as; it changes no data.
pub(crate) fn is_role_procedure(procedure: &str) -> bool {
    ["alter_role", "reset_role"].contains(&procedure)
}
