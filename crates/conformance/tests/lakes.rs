//! Tables of Delta Lake and Iceberg in SQL: their rows, their history, what is passed over, and what is refused.
//!
//! The tables in `lakes/delta` and `lakes/iceberg` were made by the scripts beside them, with the Python packages of
//! these formats, and read by DuckDB's extensions, which stand on the formats' own libraries. What DuckDB reads
//! otherwise is said where it is expected here.

#[path = "lakes/damage.rs"]
mod damage;
#[path = "lakes/delta.rs"]
mod delta;
#[path = "lakes/iceberg.rs"]
mod iceberg;

use engine::{Database, Options, Session};

fn session() -> Session {
    Database::in_memory(Options { workers: Some(2), ..Default::default() }).expect("a database").session()
}

/// The folder of a table.
fn table(name: &str) -> String {
    format!("{}/tests/lakes/{name}", env!("CARGO_MANIFEST_DIR"))
}
