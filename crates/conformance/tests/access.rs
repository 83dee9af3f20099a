//! Roles and what they may do: statements of superusers and plain roles, over one database.

#[path = "access/support.rs"]
mod support;

#[path = "access/grants.rs"]
mod grants;
#[path = "access/guard.rs"]
mod guard;
#[path = "access/lasting.rs"]
mod lasting;
#[path = "access/matrix.rs"]
mod matrix;
#[path = "access/policies.rs"]
mod policies;
#[path = "access/roles.rs"]
mod roles;
