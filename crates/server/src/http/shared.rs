//! What the handlers of HTTP share.

use std::sync::Arc;

use super::logins::Logins;
use super::store::Statements;
use crate::server::Shared;

/// What handlers share.
pub(crate) struct Http {
    pub(super) server: Arc<Shared>,
    pub(super) logins: Logins,
    pub(super) statements: Statements,
    /// Its addresses' port: requests that name another are for somebody else.
    pub(super) port: u16,
}
