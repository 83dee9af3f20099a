//! Views, macros and host functions as a session defines, drops and finds them.
//!
//! Texts are kept in the catalog by the transaction and bound anew at each use; host functions are the database's and
//! outlast transactions. Called by `Session::run_statement` and by
//! the host's interfaces.

use catalog::{Macro, View};
use plan::statement::{IfExists, MacroForm, ObjectName};
use sql::MacroInfo;
use types::{Error, Result, SqlState};

use super::{forget, is_form_of, refuse_system, unknown_view};
use crate::Session;
use crate::result::ResultSet;
use crate::session::shown;

impl Session {
    /// The error for a table or sequence that would have a view's name.
    pub(crate) fn refuse_name_of_view(&self, schema: Option<&str>, name: &str) -> Result<()> {
        refuse_system(schema)?;
        if self.snapshot().view(schema, name).is_some() {
            return Err(crate::define::already_exists(name).with_hint("it is a view; DROP VIEW removes it"));
        }
        Ok(())
    }

    /// CREATE VIEW: keeps the text; `columns` are names for its columns, none if they keep theirs.
    pub(crate) fn create_view(
        &self,
        name: &ObjectName,
        columns: Vec<String>,
        text: String,
        if_exists: IfExists,
    ) -> Result<ResultSet> {
        let done = ResultSet::done("CREATE VIEW");
        let schema = name.schema.as_deref();
        refuse_system(schema)?;
        let snapshot = self.snapshot();
        if let Some(schema) = schema {
            snapshot.schema(schema)?;
        }
        let schema = schema.or(Some(catalog::DEFAULT_SCHEMA));
        if snapshot.find(schema, &name.name).is_some() {
            return Err(crate::define::already_exists(&name.name).with_hint("it is a table"));
        }
        match (snapshot.view(schema, &name.name).is_some(), if_exists) {
            (true, IfExists::Keep) => return Ok(done),
            (true, IfExists::Error) => {
                return Err(crate::define::already_exists(&name.name).with_hint("use CREATE OR REPLACE VIEW"));
            }
            _ => {}
        }
        self.commit(|draft| {
            draft.forget_view_columns(schema.unwrap_or(catalog::DEFAULT_SCHEMA), &name.name);
            draft.set_view(schema, &name.name, Some(View { columns, text, comment: None }))
        })?;
        Ok(done)
    }

    /// DROP VIEW: all of them or none. A temporary view comes before one of the same name.
    pub(crate) fn drop_views(&self, names: &[ObjectName], if_exists: bool) -> Result<ResultSet> {
        names.iter().try_for_each(|n| refuse_system(n.schema.as_deref()))?;
        self.commit(|draft| {
            for name in names {
                let temporary = draft.snapshot().view(Some(catalog::TEMPORARY_SCHEMA), &name.name).is_some();
                let schema = match name.schema.as_deref() {
                    None if temporary => Some(catalog::TEMPORARY_SCHEMA),
                    schema => schema,
                };
                draft.snapshot().refuse_other_kind(schema, &name.name, "view")?;
                match draft.snapshot().view(schema, &name.name).is_some() {
                    true => draft.set_view(schema, &name.name, None)?,
                    false if if_exists => {}
                    false => return Err(unknown_view(name)),
                }
            }
            Ok(())
        })?;
        Ok(ResultSet::done("DROP VIEW"))
    }

    /// ALTER VIEW ... RENAME TO, within its schema.
    pub(crate) fn rename_view(&self, name: &ObjectName, to: String) -> Result<ResultSet> {
        let schema = name.schema.as_deref();
        refuse_system(schema)?;
        self.commit(|draft| {
            let snapshot = draft.snapshot();
            let within = Some(schema.unwrap_or(catalog::DEFAULT_SCHEMA));
            if snapshot.view(schema, &to).is_some() || snapshot.find(within, &to).is_some() {
                return Err(crate::define::already_exists(&to));
            }
            let view = snapshot.view(schema, &name.name).cloned().ok_or_else(|| unknown_view(name))?;
            draft.set_view(schema, &name.name, None)?;
            draft.set_view(schema, &to, Some((*view).clone()))?;
            crate::comments::rename_view(draft, schema, &name.name, &to);
            Ok(())
        })?;
        Ok(ResultSet::done("ALTER VIEW"))
    }

    /// COMMENT ON VIEW; `None` removes the comment.
    pub(crate) fn comment_on_view(&self, name: &ObjectName, text: Option<String>) -> Result<()> {
        let schema = name.schema.as_deref();
        self.commit(|draft| {
            let view =
                draft.snapshot().view(schema, &name.name).cloned().ok_or_else(|| unknown_view(name))?;
            draft.set_view(schema, &name.name, Some(View { comment: text, ..(*view).clone() }))
        })
    }

    /// CREATE MACRO with one form a number of parameters. `keep`: one that exists stays; `temporary`: it is the
    /// session's.
    pub(crate) fn create_macro(
        &self,
        name: &ObjectName,
        forms: Vec<MacroForm>,
        replace: bool,
        keep: bool,
        temporary: bool,
    ) -> Result<ResultSet> {
        let done = ResultSet::done("CREATE MACRO");
        let name = if temporary { name.name.clone() } else { self.key_to_make(name)? };
        let known = match temporary {
            true => self.settings().macros.contains_key(&name),
            false => self.snapshot().macros().contains_key(&name),
        };
        if known && keep {
            return Ok(done);
        }
        if known && !replace {
            let message = format!("macro \"{}\" already exists", self.snapshot().place_of(&name).1);
            return Err(
                Error::new(SqlState::DuplicateFunction, message).with_hint("use CREATE OR REPLACE MACRO")
            );
        }
        if temporary {
            let mut settings = self.settings();
            settings.macros.retain(|known, _| !is_form_of(known, &name));
            for (at, MacroForm { parameters, text, table }) in forms.into_iter().enumerate() {
                settings.macros.insert(sql::form_name(&name, at + 1), MacroInfo { parameters, text, table });
            }
            return Ok(done);
        }
        self.commit(|draft| {
            forget(draft, &name);
            for (at, MacroForm { parameters, text, table }) in forms.into_iter().enumerate() {
                draft.set_macro(&sql::form_name(&name, at + 1), Some(Macro { parameters, text, table }));
            }
            Ok(())
        })?;
        Ok(done)
    }

    /// Takes a macro away; false when there is none.
    fn remove_macro(&self, name: &ObjectName) -> Result<bool> {
        refuse_system(name.schema.as_deref())?;
        let mut settings = self.settings();
        let temporary = name.schema.as_deref() == Some(catalog::TEMPORARY_SCHEMA);
        if (temporary || name.schema.is_none()) && settings.macros.contains_key(&name.name) {
            settings.macros.retain(|known, _| !is_form_of(known, &name.name));
            return Ok(true);
        }
        drop(settings);
        let snapshot = self.snapshot();
        let Some(name) = self.key_to_drop(&snapshot, name, snapshot.macros()) else { return Ok(false) };
        self.commit(|draft| {
            forget(draft, &name);
            Ok(true)
        })
    }

    /// A function of the host program, or a macro, which is called like one.
    pub(crate) fn drop_function(&self, name: &ObjectName, if_exists: bool) -> Result<ResultSet> {
        let external = name.schema.is_none() && self.database.shared.definitions.drop_external(&name.name);
        let dropped = external || self.remove_macro(name)?;
        if !dropped && !if_exists {
            let message = format!("function {} does not exist", shown(name));
            let error = Error::new(SqlState::UndefinedFunction, message);
            return Err(match sql::functions().iter().any(|known| known.name == name.name) {
                true => error.with_hint("the engine's own functions cannot be dropped"),
                false => error,
            });
        }
        Ok(ResultSet::done("DROP FUNCTION"))
    }

    /// DROP MACRO, with all of its forms.
    pub(crate) fn drop_macro(&self, name: &ObjectName, if_exists: bool) -> Result<ResultSet> {
        if !self.remove_macro(name)? && !if_exists {
            let message = format!("macro \"{}\" does not exist", shown(name));
            return Err(Error::new(SqlState::UndefinedFunction, message));
        }
        Ok(ResultSet::done("DROP MACRO"))
    }
}
