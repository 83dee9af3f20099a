//! PostgreSQL as clients are told of it.

/// The schema of PostgreSQL's system catalog.
pub const PG_CATALOG: &str = "pg_catalog";
/// The version of PostgreSQL whose behaviour clients may expect.
pub const POSTGRESQL_VERSION: &str = "15.13";

/// Columns of the system catalog that are there by name only.
pub const HIDDEN: [&str; 2] = ["tableoid", "xmin"];
