//! Views and macros: texts by name, beside the catalog's tables.
//!
//! A view shares its schema's names with the tables. Neither holds on to what it uses: a view whose table is gone says
//! so when it is used.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plan::External;
use plan::statement::{IfExists, ObjectName};
use sql::{MacroInfo, ViewInfo};
use types::{Error, Result, SqlState};

use crate::Session;
use crate::result::ResultSet;
use crate::session::shown;
use crate::system::INFORMATION_SCHEMA;

#[derive(Default)]
pub(crate) struct Definitions {
    inner: Mutex<Texts>,
}

#[derive(Default)]
struct Texts {
    /// By schema and name.
    views: BTreeMap<(String, String), ViewInfo>,
    /// Of views.
    comments: BTreeMap<(String, String), String>,
    macros: BTreeMap<String, MacroInfo>,
    /// Functions of the host program.
    externals: BTreeMap<String, External>,
}

impl Definitions {
    fn lock(&self) -> MutexGuard<'_, Texts> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub fn view(&self, schema: Option<&str>, name: &str) -> Option<ViewInfo> {
        self.lock().views.get(&key(schema, name)).cloned()
    }
    pub fn macro_named(&self, name: &str) -> Option<MacroInfo> {
        self.lock().macros.get(name).cloned()
    }
    /// All views: schema, name, definition.
    pub fn views(&self) -> Vec<(String, String, ViewInfo)> {
        let all = self.lock();
        all.views.iter().map(|((schema, name), view)| (schema.clone(), name.clone(), view.clone())).collect()
    }
    /// All macros, and whether they give tables.
    pub fn macros(&self) -> Vec<(String, bool)> {
        self.lock().macros.iter().map(|(name, called)| (name.clone(), called.table)).collect()
    }
    /// A view's comment.
    pub fn comment_of(&self, schema: &str, name: &str) -> Option<String> {
        self.lock().comments.get(&key(Some(schema), name)).cloned()
    }
    /// Gives a view a comment, or takes it; false when there is no such view.
    pub fn comment(&self, name: &ObjectName, text: Option<String>) -> bool {
        let mut texts = self.lock();
        let key = key(name.schema.as_deref(), &name.name);
        if !texts.views.contains_key(&key) {
            return false;
        }
        match text {
            Some(text) => texts.comments.insert(key, text),
            None => texts.comments.remove(&key),
        };
        true
    }
    /// Adds a function of the host program.
    pub fn create_external(&self, name: String, external: External, replace: bool) -> Result<()> {
        let mut texts = self.lock();
        if texts.macros.contains_key(&name) || (!replace && texts.externals.contains_key(&name)) {
            return Err(Error::new(
                SqlState::DuplicateFunction,
                format!("function \"{name}\" already exists"),
            )
            .with_hint("drop it first, or ask for it to be replaced"));
        }
        let before = texts.externals.insert(name, external);
        // What it held is let go without the lock: the host program may have something to do then.
        drop(texts);
        drop(before);
        Ok(())
    }
    pub fn drop_external(&self, name: &str) -> bool {
        let dropped = self.lock().externals.remove(name);
        dropped.is_some()
    }
    pub fn external(&self, name: &str) -> Option<External> {
        self.lock().externals.get(name).cloned()
    }
    /// Functions of the host program by name.
    pub fn externals(&self) -> Vec<(String, External)> {
        self.lock().externals.iter().map(|(name, external)| (name.clone(), external.clone())).collect()
    }
    pub fn view_names(&self) -> Vec<String> {
        self.lock().views.keys().map(|(_, name)| name.clone()).collect()
    }
    /// The error for a table that would have a view's name.
    pub fn refuse_table(&self, schema: Option<&str>, name: &str) -> Result<()> {
        refuse_system(schema)?;
        if self.view(schema, name).is_some() {
            return Err(crate::define::already_exists(name).with_hint("it is a view; DROP VIEW removes it"));
        }
        Ok(())
    }
    /// Views of a schema that is dropped go with it, if they may.
    pub fn drop_schema(&self, schema: &str, cascade: bool) -> Result<()> {
        let mut texts = self.lock();
        if !cascade && texts.views.keys().any(|(s, _)| s == schema) {
            return Err(Error::new(
                SqlState::DependentObjectsStillExist,
                format!("cannot drop schema {schema} because it holds views"),
            )
            .with_hint("use DROP SCHEMA ... CASCADE"));
        }
        texts.views.retain(|(s, _), _| s != schema);
        texts.comments.retain(|(s, _), _| s != schema);
        Ok(())
    }
}

/// The standard's schema holds nothing but its views.
pub(crate) fn refuse_system(schema: Option<&str>) -> Result<()> {
    if schema != Some(INFORMATION_SCHEMA) {
        return Ok(());
    }
    let message = format!("nothing can be made or changed in schema {INFORMATION_SCHEMA}");
    Err(Error::new(SqlState::ReadOnly, message))
}

fn key(schema: Option<&str>, name: &str) -> (String, String) {
    let schema = match schema {
        None | Some("public") => catalog::DEFAULT_SCHEMA,
        Some(schema) => schema,
    };
    (schema.to_owned(), name.to_owned())
}

impl Session {
    pub(crate) fn create_view(
        &self,
        name: &ObjectName,
        columns: Vec<String>,
        text: String,
        if_exists: IfExists,
    ) -> Result<ResultSet> {
        let done = ResultSet::done("CREATE VIEW");
        refuse_system(name.schema.as_deref())?;
        let snapshot = self.snapshot();
        if let Some(schema) = &name.schema {
            snapshot.schema(schema)?;
        }
        if snapshot.find(name.schema.as_deref(), &name.name).is_some() {
            return Err(crate::define::already_exists(&name.name).with_hint("it is a table"));
        }
        let mut texts = self.database.shared.definitions.lock();
        let key = key(name.schema.as_deref(), &name.name);
        match (texts.views.contains_key(&key), if_exists) {
            (true, IfExists::Keep) => return Ok(done),
            (true, IfExists::Error) => {
                return Err(crate::define::already_exists(&name.name).with_hint("use CREATE OR REPLACE VIEW"));
            }
            _ => {}
        }
        texts.views.insert(key, ViewInfo { columns, text });
        Ok(done)
    }

    pub(crate) fn drop_views(&self, names: &[ObjectName], if_exists: bool) -> Result<ResultSet> {
        names.iter().try_for_each(|n| refuse_system(n.schema.as_deref()))?;
        let mut texts = self.database.shared.definitions.lock();
        let keys: Vec<_> = names.iter().map(|n| key(n.schema.as_deref(), &n.name)).collect();
        for (key, name) in keys.iter().zip(names) {
            if !if_exists && !texts.views.contains_key(key) {
                return Err(Error::new(
                    SqlState::UndefinedTable,
                    format!("view \"{}\" does not exist", shown(name)),
                ));
            }
        }
        for key in &keys {
            texts.views.remove(key);
            texts.comments.remove(key);
        }
        Ok(ResultSet::done("DROP VIEW"))
    }

    pub(crate) fn rename_view(&self, name: &ObjectName, to: String) -> Result<ResultSet> {
        refuse_system(name.schema.as_deref())?;
        let snapshot = self.snapshot();
        let mut texts = self.database.shared.definitions.lock();
        let (from, to) = (key(name.schema.as_deref(), &name.name), key(name.schema.as_deref(), &to));
        if texts.views.contains_key(&to) || snapshot.find(Some(&to.0), &to.1).is_some() {
            return Err(crate::define::already_exists(&to.1));
        }
        let Some(view) = texts.views.remove(&from) else {
            let message = format!("view \"{}\" does not exist", shown(name));
            return Err(Error::new(SqlState::UndefinedTable, message));
        };
        if let Some(comment) = texts.comments.remove(&from) {
            texts.comments.insert(to.clone(), comment);
        }
        texts.views.insert(to, view);
        Ok(ResultSet::done("ALTER VIEW"))
    }

    pub(crate) fn create_macro(&self, name: String, called: MacroInfo, replace: bool) -> Result<ResultSet> {
        let mut texts = self.database.shared.definitions.lock();
        if !replace && texts.macros.contains_key(&name) {
            return Err(Error::new(SqlState::DuplicateFunction, format!("macro \"{name}\" already exists"))
                .with_hint("use CREATE OR REPLACE MACRO"));
        }
        texts.macros.insert(name, called);
        Ok(ResultSet::done("CREATE MACRO"))
    }

    /// A function of the host program, or a macro, which is called like one.
    pub(crate) fn drop_function(&self, name: &str, if_exists: bool) -> Result<ResultSet> {
        let definitions = &self.database.shared.definitions;
        let dropped = definitions.drop_external(name) || definitions.lock().macros.remove(name).is_some();
        if !dropped && !if_exists {
            let error = Error::new(SqlState::UndefinedFunction, format!("function {name} does not exist"));
            return Err(match sql::functions().iter().any(|known| known.name == name) {
                true => error.with_hint("the engine's own functions cannot be dropped"),
                false => error,
            });
        }
        Ok(ResultSet::done("DROP FUNCTION"))
    }

    pub(crate) fn drop_macro(&self, name: &str, if_exists: bool) -> Result<ResultSet> {
        let removed = self.database.shared.definitions.lock().macros.remove(name);
        if removed.is_none() && !if_exists {
            return Err(Error::new(SqlState::UndefinedFunction, format!("macro \"{name}\" does not exist")));
        }
        Ok(ResultSet::done("DROP MACRO"))
    }
}
