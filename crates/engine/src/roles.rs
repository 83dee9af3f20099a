//! Roles: names that sessions go by, and the settings that each of them begins with.
//!
//! A role is a name and nothing else: it needs no declaration, owns nothing and forbids nothing, since any process that
//! opens the database can read all of it. `ALTER ROLE dashboards SET priority = 500` says what holds for the
//! sessions of that role from their next statement on, those that are open included, but for settings that a session
//! has set itself: a query's own (ALTER QUERY) comes before the session's, the session's before the role's, the
//! role's before the default. Roles live as long as the process, as all settings do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use types::{Error, Field, Result, SqlState, Type, Value};

use crate::Session;
use crate::result::ResultSet;
use crate::settings::{self, Settings};

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
    /// Settings that the session has set itself.
    own: BTreeSet<String>,
    /// Settings that are as the role has them.
    followed: BTreeSet<String>,
}

impl Session {
    /// Takes over what the session's role says since the last statement.
    pub(crate) fn follow_role(&self) {
        let version = self.database.shared.roles.version.load(Ordering::Acquire);
        let state = self.database.shared.catalog.snapshot().access().clone();
        let mut view = self.role_view();
        if view.seen == Some(version) && view.state.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &state)) {
            return;
        }
        let mut settings = self.settings();
        let mut wanted = self.database.shared.roles.of(settings.role.as_deref().unwrap_or(DEFAULT_ROLE));
        if let Some(role) = state.role(settings.identity.current) {
            wanted.extend(role.settings);
        }
        view.state = Some(state);
        let view = &mut *view;
        for name in std::mem::take(&mut view.followed) {
            if !view.own.contains(&name) && !wanted.contains_key(&name) {
                // A default is a value that its setting takes.
                _ = settings.set(&name, None);
            }
        }
        for (name, value) in wanted {
            // Checked when the role was given it.
            if !view.own.contains(&name) && settings.set(&name, Some(&value)).is_ok() {
                view.followed.insert(name);
            }
        }
        view.seen = Some(version);
    }

    /// A setting of the session's own, or, without a value, what its role or the default has.
    pub(crate) fn set_own(&self, name: &str, value: Option<&str>) -> Result<()> {
        self.settings().set(name, value)?;
        let mut view = self.role_view();
        match value {
            Some(_) => _ = view.own.insert(name.to_owned()),
            None => {
                view.own.remove(name);
                view.seen = None;
            }
        }
        drop(view);
        self.follow_role();
        Ok(())
    }

    /// What the role says has to be applied again.
    pub(crate) fn forget_role_settings(&self) {
        self.role_view().seen = None;
    }

    /// ALTER ROLE; `None`: it is another procedure.
    pub(crate) fn call_alter_role(
        &self,
        procedure: &str,
        arguments: &[(Option<String>, Value, Type)],
    ) -> Option<Result<ResultSet>> {
        if !is_role_procedure(procedure) {
            return None;
        }
        let texts: Option<Vec<&str>> = arguments.iter().map(|(_, value, _)| value.as_text()).collect();
        Some(self.alter_role(procedure, &texts.unwrap_or_default()))
    }

    fn alter_role(&self, procedure: &str, arguments: &[&str]) -> Result<ResultSet> {
        match (procedure, arguments) {
            ("alter_role", [role, name, value]) => {
                let name = name.to_ascii_lowercase();
                checked(&name, value)?;
                self.change_role_settings(role, |settings| {
                    settings.insert(name.clone(), (*value).to_owned());
                })?;
            }
            ("reset_role", [role]) => self.change_role_settings(role, RoleSettings::clear)?,
            ("reset_role", [role, name]) => {
                let name = name.to_ascii_lowercase();
                settable(&name)?;
                self.change_role_settings(role, |settings| _ = settings.remove(&name))?;
            }
            _ => {
                return Err(Error::new(
                    SqlState::InvalidParameterValue,
                    "a role and its setting are expected",
                )
                .with_hint("write ALTER ROLE name SET setting = value, or ALTER ROLE name RESET setting"));
            }
        }
        self.follow_role();
        Ok(ResultSet::done("ALTER ROLE"))
    }
}

impl Session {
    /// Changes the settings of a role: of one of the catalog there, of another name in memory, where only the host's own
    /// session knows one.
    fn change_role_settings(&self, role: &str, change: impl Fn(&mut RoleSettings)) -> Result<()> {
        let identity = self.identity();
        let known = self.snapshot().access().find(role);
        match known {
            Some(id) if id != access::RoleId::BOOTSTRAP => {
                self.commit(|draft| crate::access::set_role_settings(draft, identity, id, &change))
            }
            None if !identity.embedded => self.snapshot().access().named(role).map(drop),
            _ if !self.is_superuser() => Err(access::denied("permission denied to alter role")),
            _ => {
                self.database.shared.roles.change(role, change);
                Ok(())
            }
        }
    }
}

/// Whether a procedure is what ALTER ROLE is parsed as; it changes no data.
pub(crate) fn is_role_procedure(procedure: &str) -> bool {
    ["alter_role", "reset_role"].contains(&procedure)
}

/// Whether roles have a setting of this name: all but those of the database and where names are looked for.
fn settable(name: &str) -> Result<()> {
    if settings::shared().any(|(shared, _)| shared == name) {
        return Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("\"{name}\" is a setting of the whole database, which a role cannot have"),
        )
        .with_hint(format!("write SET {name} = ...")));
    }
    if name == "search_path" || name == "role" {
        return Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("a role cannot have the setting \"{name}\""),
        )
        .with_hint("it is a session's own"));
    }
    Settings::default().get(name).map(drop).ok_or_else(|| settings::unknown(name))
}

fn checked(name: &str, value: &str) -> Result<()> {
    settable(name)?;
    Settings::default().set(name, Some(value))
}
