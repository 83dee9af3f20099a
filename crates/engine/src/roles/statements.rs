//! Procedures of roles and of their settings, as a session runs them.
//!
//! Each checks what the session's current role may do before it changes the catalog; a change is part of the session's
//! transaction. Called for the procedures behind ALTER ROLE ... SET and its kin, and before each statement, which
//! follows what was changed of its role's settings meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use types::{Error, Result, SqlState, Type, Value};

use super::{DEFAULT_ROLE, RoleSettings, is_role_procedure};
use crate::access::guard::{self, Decision};
use crate::result::ResultSet;
use crate::settings::Settings;
use crate::{Session, settings};

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

impl Session {
    /// Takes over what the session's role says since the last statement.
    pub(crate) fn follow_role(&self) {
        let version = self.database.shared.roles.version.load(Ordering::Acquire);
        let published = self.database.shared.catalog.published();
        let mut view = self.role_view();
        if view.seen == Some(version) && view.followed_published == Some(published) {
            return;
        }
        let state = self.database.shared.catalog.snapshot().access().clone();
        view.followed_published = Some(published);
        if view.seen == Some(version) && view.state.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &state)) {
            return;
        }
        let mut settings = self.settings();
        let mut wanted = view.defaults.clone();
        wanted.extend(self.database.shared.roles.of(settings.role.as_deref().unwrap_or(DEFAULT_ROLE)));
        if let Some(role) = state.role(settings.identity.current) {
            wanted.extend(role.settings);
        }
        wanted.extend(view.begun.clone());
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

    /// Settings that hold where neither the role nor the session says otherwise; RESET goes back to them. They are the
    /// host's, so that they are not asked whether the role may change them. Settings of the whole database have no place
    /// here.
    pub fn set_defaults(&self, settings: impl IntoIterator<Item = (String, String)>) -> Result<()> {
        let own = |(name, value): (String, String)| (settings::own_name(&name).to_owned(), value);
        let settings: RoleSettings = settings.into_iter().map(own).collect();
        for (name, value) in &settings {
            Settings::default().set(name, Some(value))?;
        }
        self.role_view().defaults.extend(settings);
        self.forget_role_settings();
        self.follow_role();
        Ok(())
    }

    /// What has been SET so far is what a client named when it connected: RESET goes back to it.
    pub fn keep_begun(&self) {
        let mut view = self.role_view();
        let settings = self.settings();
        for name in std::mem::take(&mut view.own) {
            if let Some(value) = settings.get(&name) {
                view.begun.insert(name, value);
            }
        }
        view.seen = None;
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
                if !self.is_superuser() && guard::setting(&name) != Decision::Everyone {
                    return Err(access::denied(format!("permission denied to set parameter \"{name}\"")));
                }
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
