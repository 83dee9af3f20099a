//! Who may come in, and as whom.
//!
//! A client proves that it knows a role's password by SCRAM-SHA-256, for which the server keeps a verifier and not the
//! password. On the Unix socket the system says who the other end is: the user that the server runs as needs no
//! password. With `trust`, clients of loopback addresses are believed.

use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::{Database, Error, Result, Session, SqlState};
use pgproto::scram::{self, Verifier};
use types::quote;

/// Letters of a password that is made up: no two of them look alike.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// So many of them: 120 bits.
const PASSWORD_LETTERS: usize = 24;

/// Knows roles and their verifiers.
pub trait Authenticator: Send + Sync {
    /// The role that owns everything.
    fn superuser(&self) -> String;
    /// A role's verifier, as PostgreSQL stores it (`SCRAM-SHA-256$...`); `None` for a role without a password, one whose
    /// password has expired, one that may not log in, and no role at all: clients cannot tell these apart.
    fn verifier(&self, role: &str) -> Option<String>;
    /// Whether a role exists and may log in, for clients that need no password.
    fn may_log_in(&self, role: &str) -> bool;
    /// Whether a role may see what other roles' sessions do.
    fn monitors(&self, role: &str) -> bool;
    /// Whether any role that may log in has a password.
    fn has_passwords(&self) -> bool;
    /// Gives a role a verifier; true where it is kept with the database, false where it ends with the process.
    fn set_verifier(&self, role: &str, verifier: String) -> Result<bool>;
    /// A session of a role that was let in.
    fn session(&self, role: &str) -> Result<Session>;
}

/// The roles of a database: its catalog says who there is, what each is let in by and what its sessions may do.
///
/// A database that is opened for reading takes no password, and a program that serves its own database need not keep one
/// there. Its superuser gets one here, which ends with the process.
pub struct DatabaseRoles {
    database: Database,
    passing: Mutex<Option<String>>,
}

impl DatabaseRoles {
    /// Of this database.
    pub fn new(database: &Database) -> DatabaseRoles {
        DatabaseRoles { database: database.clone(), passing: Mutex::default() }
    }

    /// Gives the superuser a password that ends with this value, and goes before the one that the database has.
    pub fn set_passing(&self, password: &str) -> Result<()> {
        let verifier = Verifier::of_password(password, scram::ITERATIONS)?;
        *self.passing() = Some(verifier.to_string());
        Ok(())
    }

    fn passing(&self) -> MutexGuard<'_, Option<String>> {
        self.passing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Authenticator for DatabaseRoles {
    fn superuser(&self) -> String {
        self.database.superuser()
    }
    fn verifier(&self, role: &str) -> Option<String> {
        let login = self.database.login(role)?;
        if !login.can_login {
            return None;
        }
        let passing = self.passing().clone().filter(|_| role == self.superuser());
        let is_expired = login.is_expired();
        let lasting = || login.verifier.filter(|_| !is_expired).map(|verifier| verifier.to_string());
        passing.or_else(lasting)
    }
    fn may_log_in(&self, role: &str) -> bool {
        self.database.login(role).is_some_and(|login| login.can_login)
    }
    fn monitors(&self, role: &str) -> bool {
        self.database.login(role).is_some_and(|login| login.monitors)
    }
    fn has_passwords(&self) -> bool {
        self.database.has_password() || self.passing().is_some()
    }
    fn set_verifier(&self, role: &str, verifier: String) -> Result<bool> {
        let text = format!("ALTER ROLE {} PASSWORD {}", quote::name(role), quote::text(&verifier));
        match self.database.session().execute(&text) {
            Ok(_) => Ok(true),
            Err(error) if error.state() == SqlState::ReadOnly && role == self.superuser() => {
                *self.passing() = Some(verifier);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
    fn session(&self, role: &str) -> Result<Session> {
        self.database.session_as(role)
    }
}

/// A password that was made up.
pub struct FirstPassword {
    /// The password: this once, as only a verifier is kept.
    pub password: String,
    /// Whether it is the role's after the process has ended, too.
    pub is_kept: bool,
}

/// Gives the superuser a password if no role has one that lets in.
pub fn first_password(roles: &dyn Authenticator) -> Result<Option<FirstPassword>> {
    if roles.has_passwords() {
        return Ok(None);
    }
    let password = random_password()?;
    let verifier = Verifier::of_password(&password, scram::ITERATIONS)?;
    let is_kept = roles.set_verifier(&roles.superuser(), verifier.to_string())?;
    Ok(Some(FirstPassword { password, is_kept }))
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
    fn a_superuser_without_a_password_gets_one_and_keeps_it() {
        let database = Database::in_memory(engine::Options::default()).unwrap();
        let roles = DatabaseRoles::new(&database);
        assert!(roles.may_log_in("quickstep") && !roles.may_log_in("Quickstep") && !roles.has_passwords());
        assert_eq!(roles.verifier("quickstep"), None);
        let first = first_password(&roles).unwrap().unwrap();
        let verifier = Verifier::parse(&roles.verifier("quickstep").unwrap()).unwrap();
        assert!(first.is_kept && verifier.matches(&first.password) && !verifier.matches("guessed"));
        assert!(first_password(&roles).unwrap().is_none(), "there is one");
        assert!(DatabaseRoles::new(&database).has_passwords(), "it is the database's");
    }

    #[test]
    fn who_may_not_log_in_has_no_verifier() {
        let database = Database::in_memory(engine::Options::default()).unwrap();
        let session = database.session();
        session
            .execute(
                "CREATE ROLE ada LOGIN PASSWORD 'one'; CREATE ROLE grace PASSWORD 'two';
                 CREATE ROLE late LOGIN PASSWORD 'three' VALID UNTIL '2001-01-01';
                 CREATE ROLE watcher LOGIN; GRANT pg_monitor TO watcher",
            )
            .unwrap();
        let roles = DatabaseRoles::new(&database);
        let verifiers =
            ["ada", "grace", "late", "watcher", "nobody"].map(|name| roles.verifier(name).is_some());
        assert_eq!(verifiers, [true, false, false, false, false]);
        assert!(roles.monitors("watcher") && roles.monitors("quickstep") && !roles.monitors("ada"));
        session.execute("ALTER ROLE ada NOLOGIN").unwrap();
        assert!(roles.verifier("ada").is_none() && !roles.may_log_in("ada") && roles.session("ada").is_err());
    }
}
