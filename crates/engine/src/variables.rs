//! The session's variables: what `SET VARIABLE` sets and `getvariable` reads. The statements come as calls of
//! procedures.

use types::{Type, Value};

use crate::Session;
use crate::result::ResultSet;

impl Session {
    /// `set_variable('x', value)`, `reset_variable('x')`, and `pragma('name')` and
    /// `ignored_setting('name', 'SET')`, which do nothing.
    pub(crate) fn call_about_variables(
        &self,
        procedure: &str,
        arguments: &[(Option<String>, Value, Type)],
    ) -> Option<types::Result<ResultSet>> {
        let name = || arguments.first().and_then(|(_, name, _)| name.as_text()).map(str::to_lowercase);
        match (procedure, arguments) {
            ("set_variable", [_, (None, value, ty)]) => {
                let name = name()?;
                self.settings().variables.insert(name, (value.clone(), *ty));
                Some(Ok(ResultSet::done("SET VARIABLE")))
            }
            ("reset_variable", [_]) => {
                let name = name()?;
                self.settings().variables.remove(&name);
                Some(Ok(ResultSet::done("RESET VARIABLE")))
            }
            ("ignored_setting", [_, (None, tag, _)]) => {
                let done = ResultSet::done(if tag.as_text() == Some("RESET") { "RESET" } else { "SET" });
                Some(Ok(done.with_warning("this switch of DuckDB has no effect here")))
            }
            ("pragma", [_]) => {
                Some(Ok(ResultSet::done("PRAGMA").with_warning("this switch of DuckDB has no effect here")))
            }
            _ => None,
        }
    }
}
