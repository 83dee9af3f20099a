//! The lock of a database: one process at a time writes it.

use std::any::Any;
use std::fmt;

use types::{Error, SqlState};

/// The process that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The system's number of the process.
    pub process: u32,
    /// The name of its machine.
    pub host: String,
}

impl Owner {
    /// The calling process; the host is "this machine" where its name cannot be found.
    pub fn this_process() -> Owner {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let host = host.map(|h| h.trim().to_owned()).filter(|h| !h.is_empty());
        let host = host.or_else(|| std::env::var("HOSTNAME").ok());
        Owner { process: std::process::id(), host: host.unwrap_or_else(|| "this machine".into()) }
    }

    /// As a lock file holds it.
    pub(super) fn to_text(&self) -> String {
        format!("{} {}\n", self.process, self.host)
    }

    pub(super) fn from_text(text: &str) -> Option<Owner> {
        let (process, host) = text.lines().next()?.split_once(' ')?;
        Some(Owner { process: process.parse().ok()?, host: host.to_owned() })
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.process, self.host)
    }
}

/// A lock, held until it is dropped.
pub struct FileLock(#[allow(dead_code, reason = "held, not read")] Box<dyn Any + Send + Sync>);

impl FileLock {
    /// A lock that lasts as long as `held`, which it drops at its end.
    pub fn new(held: impl Any + Send + Sync) -> Self {
        FileLock(Box::new(held))
    }
}

impl fmt::Debug for FileLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileLock")
    }
}

/// The error for a lock that another process holds; `None` when its owner cannot be read.
pub(super) fn held_by(directory: &str, owner: Option<&Owner>) -> Error {
    let who = owner.map_or_else(|| "another process".to_owned(), Owner::to_string);
    Error::new(SqlState::LockNotAvailable, format!("\"{directory}\" is open for writing in {who}"))
        .with_hint("close it there, or open it read-only here")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_comes_back_from_its_text() {
        let owner = Owner { process: 71, host: "a host".into() };
        assert_eq!(Owner::from_text(&owner.to_text()), Some(owner));
        assert_eq!(Owner::from_text(""), None);
        assert_eq!(Owner::from_text("x y"), None);
        assert!(Owner::this_process().process > 0);
    }
}
