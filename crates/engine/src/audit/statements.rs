//! What sessions tell to the audit log of their database.

use std::sync::{Arc, PoisonError};

use types::{Error, SqlState};

use super::{AuditEvent, AuditHook};
use crate::{Database, Session};

impl Database {
    /// Has events of all sessions told to a function from now on, or to none. It is called on the threads of statements,
    /// which wait for it.
    pub fn set_audit(&self, hook: Option<Arc<AuditHook>>) {
        *self.shared.audit.0.write().unwrap_or_else(PoisonError::into_inner) = hook;
    }
}

impl Session {
    fn tell(&self, kind: &'static str, tag: Option<&str>, statement: Option<String>, error: Option<&Error>) {
        let Some(hook) = self.database.shared.audit.hook() else { return };
        hook(&AuditEvent {
            kind,
            session_role: self.session_role_name(),
            role: self.role_name(),
            process: self.process(),
            client: self.presence.client(),
            tag: tag.map(str::to_owned),
            statement,
            error: error.cloned(),
        });
    }

    /// The session's client has come in.
    pub fn tell_login(&self) {
        self.tell("login", None, None, None);
    }

    /// A statement that changes definitions or privileges has ended.
    pub(crate) fn tell_statement(&self, tag: &str, text: &str, error: Option<&Error>) {
        self.tell("statement", Some(tag), Some(text.to_owned()), error);
    }

    /// A statement was refused, if that is what its error says.
    pub(crate) fn tell_refusal(&self, text: &str, error: &Error) {
        if error.state() == SqlState::InsufficientPrivilege {
            self.tell("denied", None, Some(text.to_owned()), Some(error));
        }
    }
}
