//! Who may do what: roles and their memberships, privileges on objects, row policies.
//!
//! A [`State`] is all of it at one moment, as a map of entries by key. It is a value: the catalog keeps it in its
//! snapshots, makes its changes part of transactions and writes it to the log; `sql` reads statements about it; the
//! engine asks it before it does anything. Nothing here does I/O, knows a table or evaluates an expression.
//!
//! * `role`: a role and what it may do apart from objects; `predefined`: the roles that every database has
//! * `privilege`: sets of privileges, lists of who was granted them by whom, GRANT and REVOKE on such a list
//! * `object`: what is kept of an object: its owner, its lists, its row policies
//! * `state`: the whole, and the questions that are asked of it
#![forbid(unsafe_code)]

mod object;
mod predefined;
mod privilege;
mod role;
mod state;

pub use object::{Class, ObjectAccess, ObjectKey, Policy, PolicyCommand};
pub use predefined::Predefined;
pub use privilege::{AclItem, Grantee, Privilege, Privileges, Revoked, effective, grant, revoke};
pub use role::{Limits, Role, RoleId, RoleOptions};
pub use state::{Entry, Key, Membership, State};

use types::{Error, SqlState};

/// The error of something that a role may not do: SQLSTATE 42501.
pub fn denied(message: impl Into<String>) -> Error {
    Error::new(SqlState::InsufficientPrivilege, message)
}
