//! Who may come in, and as whom.
//!
//! A client proves that it knows a role's password by SCRAM-SHA-256, for which the server keeps a verifier and not the
//! password. On the Unix socket the system says who the other end is: the user that the server runs as needs no
//! password. With `trust`, clients of loopback addresses are believed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::{Database, Error, Result, Session};
use pgproto::scram::{self, Verifier};

/// Letters of a password that is made up: no two of them look alike.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// So many of them: 120 bits.
const PASSWORD_LETTERS: usize = 24;

/// Knows roles and their verifiers.
pub trait Authenticator: Send + Sync {
    /// The role that owns everything.
    fn superuser(&self) -> String;
    /// A role's verifier, as PostgreSQL stores it (`SCRAM-SHA-256$...`); `None` for a role without a password, one that
    /// may not log in, and no role at all: clients cannot tell these apart.
    fn verifier(&self, role: &str) -> Option<String>;
    /// Whether a role exists and may log in, for clients that need no password.
    fn may_log_in(&self, role: &str) -> bool;
    /// Whether any role that may log in has a password.
    fn has_passwords(&self) -> bool;
    /// Gives a role a verifier.
    fn set_verifier(&self, role: &str, verifier: String) -> Result<()>;
    /// A session of a role that was let in.
    fn session(&self, database: &Database, role: &str) -> Result<Session>;
}

/// Roles of a database that keeps none: one superuser, whose password ends with the process.
pub struct OneSuperuser {
    name: String,
    verifiers: Mutex<BTreeMap<String, String>>,
}

impl OneSuperuser {
    /// Without a password.
    pub fn new(name: &str) -> OneSuperuser {
        OneSuperuser { name: name.to_owned(), verifiers: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.verifiers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Authenticator for OneSuperuser {
    fn superuser(&self) -> String {
        self.name.clone()
    }
    fn verifier(&self, role: &str) -> Option<String> {
        self.lock().get(role).cloned()
    }
    fn may_log_in(&self, role: &str) -> bool {
        role == self.name
    }
    fn has_passwords(&self) -> bool {
        !self.lock().is_empty()
    }
    fn set_verifier(&self, role: &str, verifier: String) -> Result<()> {
        self.lock().insert(role.to_owned(), verifier);
        Ok(())
    }
    fn session(&self, database: &Database, _role: &str) -> Result<Session> {
        Ok(database.session())
    }
}

/// Gives the superuser a password if nobody has one yet, and tells it: this once, as only a verifier is kept.
pub fn first_password(roles: &dyn Authenticator) -> Result<Option<String>> {
    if roles.has_passwords() {
        return Ok(None);
    }
    let password = random_password()?;
    let verifier = Verifier::of_password(&password, scram::ITERATIONS)?;
    roles.set_verifier(&roles.superuser(), verifier.to_string())?;
    Ok(Some(password))
}

/// A password that nobody guesses.
pub fn random_password() -> Result<String> {
    let mut bytes = [0; PASSWORD_LETTERS];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal(format!("no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_long_and_differ() {
        let (one, other) = (random_password().unwrap(), random_password().unwrap());
        assert!(one.len() == 24 && one != other && one.bytes().all(|byte| LETTERS.contains(&byte)));
    }

    #[test]
    fn a_superuser_without_a_password_has_no_verifier() {
        let roles = OneSuperuser::new("quickstep");
        assert!(roles.may_log_in("quickstep") && !roles.may_log_in("Quickstep") && !roles.has_passwords());
        assert_eq!(roles.verifier("quickstep"), None);
        roles.set_verifier("quickstep", "SCRAM-SHA-256$x".to_owned()).unwrap();
        assert!(roles.has_passwords() && roles.verifier("quickstep").is_some());
    }
}
