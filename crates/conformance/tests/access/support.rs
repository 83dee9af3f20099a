//! A database with a superuser's session, and sessions of other roles.

use engine::{Database, Options, Session, SqlState};

/// A database in memory.
pub fn database() -> Database {
    Database::in_memory(Options { workers: Some(2), ..Options::default() }).expect("a database in memory")
}

/// Runs statements that must succeed.
pub fn run(session: &Session, text: &str) {
    session.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
}

/// The state of the error that a text ends with; `None` where all of it succeeds.
pub fn state(session: &Session, text: &str) -> Option<SqlState> {
    session.execute(text).err().map(|error| error.state())
}

/// Rows as text, values separated by `|`.
pub fn rows(session: &Session, text: &str) -> Vec<String> {
    let result = session.query(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let fields = result.schema().fields().to_vec();
    let row = |row: usize| {
        let values = fields.iter().enumerate().map(|(at, field)| result.value(row, at).display(field.ty));
        values.collect::<Vec<_>>().join("|")
    };
    (0..result.rows()).map(row).collect()
}

/// Checks what a session is told of each statement.
pub fn expect(session: &Session, cases: &[(&str, Option<SqlState>)]) {
    for (text, expected) in cases {
        let found = session.execute(text).err();
        assert_eq!(found.as_ref().map(|error| error.state()), *expected, "{text}: {found:?}");
    }
}
