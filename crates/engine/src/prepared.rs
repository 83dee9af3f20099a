//! Prepared statements of a session: PREPARE, EXECUTE, DEALLOCATE.
//!
//! A prepared statement is kept as text; `open_plans` binds it once, and plans it for the values of its parameters or for
//! all. Types that PREPARE declares are those of the values.

mod statements;

use types::Type;

/// A statement's text, and the types of its parameters as far as they were declared.
#[derive(Clone)]
pub(crate) struct Prepared {
    /// The statement's text, with `$1` and so on for its parameters.
    pub text: String,
    /// Types that PREPARE declares, by parameter; may be shorter than the list of parameters.
    pub types: Vec<Type>,
    /// Microseconds since 1970.
    pub made: i64,
    /// By PREPARE, not by a message.
    pub from_sql: bool,
}

impl Prepared {
    /// One that is made now.
    pub fn new(text: String, types: Vec<Type>, from_sql: bool) -> Prepared {
        Prepared { text, types, made: crate::sessions::now(), from_sql }
    }
}
