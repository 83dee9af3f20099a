//! A session takes a place among its role's sessions.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use access::RoleId;
use types::{Error, Result, SqlState};

use super::Seats;
use crate::Database;

/// A place among a role's sessions; free again when it is dropped.
pub(crate) struct Seat {
    database: Arc<crate::database::Shared>,
    role: RoleId,
}

impl Seats {
    /// A number for a new role, when the catalog's next one is this.
    pub(crate) fn next_role(&self, next: RoleId) -> RoleId {
        let last = self.last_role.fetch_max(next.0, Ordering::AcqRel);
        match last < next.0 {
            true => next,
            false => RoleId(self.last_role.fetch_add(1, Ordering::AcqRel) + 1),
        }
    }

    /// A role that is being dropped: sessions may still go by its number.
    pub(crate) fn note_dropped(&self, role: RoleId) {
        self.last_role.fetch_max(role.0, Ordering::AcqRel);
    }

    /// Takes a place for one more session of a role.
    pub(super) fn take(database: &Database, role: RoleId, name: &str, limit: Option<u32>) -> Result<Seat> {
        let seats = &database.shared.seats;
        let mut open = seats.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(role).or_default();
        if limit.is_some_and(|limit| *count >= limit) {
            let message = format!("too many connections for role \"{name}\"");
            return Err(Error::new(SqlState::TooManyConnections, message)
                .with_hint("ALTER ROLE ... CONNECTION LIMIT changes how many there may be"));
        }
        *count += 1;
        Ok(Seat { database: database.shared.clone(), role })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.database.seats.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.role) {
            *count = count.saturating_sub(1);
        }
    }
}
