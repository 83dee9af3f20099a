//! What a statement has done, as calls of the interface answer it.

use types::Error;

use crate::result::ResultSet;

/// The number in PostgreSQL's command tag; of a query, its rows.
pub(crate) fn affected(result: &ResultSet) -> u64 {
    match result.tag().rsplit(' ').next().and_then(|last| last.parse().ok()) {
        Some(rows) => rows,
        None if result.has_rows() => result.rows() as u64,
        None => 0,
    }
}

/// The error with the number of the row that it is about.
pub(crate) fn in_row(error: Error, row: u64) -> Error {
    let message = format!("row {row}: {}", error.message());
    error.with_message(message)
}
