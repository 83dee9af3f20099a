//! Views and macros: texts by name, kept in the catalog with the tables; and the host program's functions.
//!
//! A view shares its schema's names with the tables. Neither holds on to what it uses: a view whose table is gone says
//! so when it is used.

mod statements;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plan::External;
use plan::statement::ObjectName;
use types::{Error, Result, SqlState};

pub(crate) use crate::definable::refuse_system;
use crate::session::shown;

/// Functions of the host program: they are no part of the catalog, and last as long as the process.
#[derive(Default)]
pub(crate) struct Definitions {
    externals: Mutex<BTreeMap<String, External>>,
}

impl Definitions {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, External>> {
        self.externals.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Adds a function of the host program; `taken`: a macro has its name.
    pub fn create_external(
        &self,
        name: String,
        external: External,
        replace: bool,
        taken: bool,
    ) -> Result<()> {
        let mut externals = self.lock();
        if taken || (!replace && externals.contains_key(&name)) {
            return Err(Error::new(
                SqlState::DuplicateFunction,
                format!("function \"{name}\" already exists"),
            )
            .with_hint("drop it first, or ask for it to be replaced"));
        }
        let before = externals.insert(name, external);
        // What it held is let go without the lock: the host program may have something to do then.
        drop(externals);
        drop(before);
        Ok(())
    }
    /// Removes a function of the host program, by its name in lower case; false when there is none.
    pub fn drop_external(&self, name: &str) -> bool {
        let dropped = self.lock().remove(name);
        dropped.is_some()
    }
    /// The function of the host program that has this name, in lower case.
    pub fn external(&self, name: &str) -> Option<External> {
        self.lock().get(name).cloned()
    }
    /// Functions of the host program by name.
    pub fn externals(&self) -> Vec<(String, External)> {
        self.lock().iter().map(|(name, external)| (name.clone(), external.clone())).collect()
    }
}

fn unknown_view(name: &ObjectName) -> Error {
    Error::new(SqlState::UndefinedTable, format!("view \"{}\" does not exist", shown(name)))
}

/// Whether a macro is kept under this name.
fn is_form_of(known: &str, name: &str) -> bool {
    known.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Takes all forms of a macro away.
fn forget(draft: &mut catalog::Draft, name: &str) {
    let known: Vec<String> =
        draft.snapshot().macros().keys().filter(|known| is_form_of(known, name)).cloned().collect();
    known.iter().for_each(|known| draft.set_macro(known, None));
}
