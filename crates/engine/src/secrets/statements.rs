//! CREATE SECRET and DROP SECRET, as a session runs them.

use types::{Result, Type, Value};

use super::{call, is_about_secrets};
use crate::Session;
use crate::result::ResultSet;

impl Session {
    /// `None`: it is another procedure.
    pub(crate) fn call_about_secrets(
        &self,
        procedure: &str,
        arguments: &[(Option<String>, Value, Type)],
    ) -> Option<Result<ResultSet>> {
        is_about_secrets(procedure).then(|| call(&self.environment(), procedure, arguments))
    }
}
