//! What a session answers, as text that a test can write down.

use engine::{Session, Value};
use types::Error;

/// A query's rows, the values of each separated by `|`.
///
/// # Panics
/// When the query fails.
pub fn rows(session: &Session, sql: &str) -> Vec<String> {
    let result = session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e} {:?}", e.hint()));
    let fields = result.schema().fields().to_vec();
    let shown = |row: usize| {
        let value = |column: usize| match result.value(row, column) {
            Value::Null => "NULL".to_owned(),
            value => value.display(fields[column].ty),
        };
        (0..fields.len()).map(value).collect::<Vec<_>>().join("|")
    };
    (0..result.rows()).map(shown).collect()
}

/// The names and types of a query's columns.
///
/// # Panics
/// When the query fails.
pub fn columns(session: &Session, sql: &str) -> String {
    let result = session.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let fields = result.schema().fields();
    fields.iter().map(|f| format!("{} {}", f.name, f.ty.sql_name())).collect::<Vec<_>>().join(", ")
}

/// A statement's error.
///
/// # Panics
/// When the statement succeeds.
pub fn error(session: &Session, sql: &str) -> Error {
    session.query(sql).map(|_| ()).expect_err(sql)
}
