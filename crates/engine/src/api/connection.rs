//! Connections: a session with the calls that Rust programs know from other databases.
//!
//! A [`Connection`] owns a session and dereferences to it. It adds parameters as Rust values, rows that are read as
//! Rust values, and transactions that roll back when they are dropped. It has no state of its own: settings and
//! transactions are the session's.

use std::ops::Deref;

use types::{Error, Result, Schema, SqlState};

use super::appender::Appender;
use super::outcome::affected;
use super::params::{Params, bound};
use super::row::{FromRow, Row, Rows};
use super::statement::Statement;
use super::transaction::Transaction;
use crate::result::ResultSet;
use crate::stream::ResultStream;
use crate::{Database, Options, Session};

/// A connection to a database: a [`Session`], whose methods it has, with statements that take [`Params`] and give rows.
///
/// ```
/// use engine::{Connection, params};
///
/// let mut connection = Connection::open_in_memory()?;
/// connection.execute_batch("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, born DATE)")?;
/// let insert = "INSERT INTO people VALUES (?, ?, ?)";
/// assert_eq!(connection.execute(insert, params![1, "Ada", engine::Date::new(1815, 12, 10)])?, 1);
/// connection.execute(insert, (2, "Cy", None::<engine::Date>))?;
///
/// let name = connection.query_row("SELECT name FROM people WHERE id = $1", [1], |row| row.get::<String>(0))?;
/// assert_eq!(name, "Ada");
/// for row in connection.query("SELECT id, born FROM people ORDER BY id", ())? {
///     let (id, born): (i32, Option<engine::Date>) = row?.read()?;
///     assert_eq!(id == 1, born.is_some());
/// }
///
/// let transaction = connection.transaction()?;
/// transaction.execute("DELETE FROM people", ())?;
/// drop(transaction); // Rolls back; commit() would have kept it.
/// assert_eq!(connection.query_one("SELECT count(*) FROM people", ())?.get::<i64>(0)?, 2);
/// # Ok::<(), engine::Error>(())
/// ```
pub struct Connection {
    session: Session,
}

impl Deref for Connection {
    type Target = Session;
    fn deref(&self) -> &Session {
        &self.session
    }
}

impl From<Session> for Connection {
    fn from(session: Session) -> Connection {
        Connection { session }
    }
}

impl Database {
    /// A connection to it; as [`Database::session`], with parameters and rows as Rust's values.
    pub fn connect(&self) -> Connection {
        self.session().into()
    }
}

impl Connection {
    /// A new database in memory, which ends with its last connection.
    pub fn open_in_memory() -> Result<Connection> {
        Self::open_with(None, Options::default())
    }

    /// A database in a directory, which is made where there is none.
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Connection> {
        let path = path.as_ref().to_str().ok_or_else(|| {
            Error::new(SqlState::UndefinedFile, format!("{} is no text", path.as_ref().display()))
        })?;
        Self::open_with(Some(path), Options::default())
    }

    /// As `open` or, without a path, `open_in_memory`, with options.
    pub fn open_with(path: Option<&str>, options: Options) -> Result<Connection> {
        Database::open(path, options).map(|database| database.connect())
    }

    /// Another connection to the same database, with settings and transactions of its own.
    pub fn try_clone(&self) -> Result<Connection> {
        Ok(self.session.database().connect())
    }

    /// The session, for what takes one.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Runs one statement; returns how many rows it has inserted, updated or deleted, or a query's rows.
    pub fn execute(&self, text: &str, parameters: impl Params) -> Result<u64> {
        self.result(text, parameters).map(|result| affected(&result))
    }

    /// Runs all statements of a text, up to the first error.
    pub fn execute_batch(&self, text: &str) -> Result<()> {
        self.session.execute_each(text, |_| Ok(()))
    }

    /// Runs a statement; when this returns, all of its rows have been computed.
    pub fn query(&self, text: &str, parameters: impl Params) -> Result<Rows> {
        self.result(text, parameters).map(|result| Rows::new(ResultStream::ready(result)))
    }

    /// As `query`, with rows that are computed while they are read, in bounded memory.
    pub fn query_stream(&self, text: &str, parameters: impl Params) -> Result<Rows> {
        let (numbered, values) = bound(text, &sql::markers::markers(text), parameters.into_parameters()?)?;
        self.session.stream_with(numbered.as_deref().unwrap_or(text), &values).map(Rows::new)
    }

    /// What `read` makes of a query's first row; an error with SQLSTATE 02000 when it has none. See [`OptionalRow`].
    pub fn query_row<T>(
        &self,
        text: &str,
        parameters: impl Params,
        read: impl FnOnce(&Row) -> Result<T>,
    ) -> Result<T> {
        first(self.query(text, parameters)?, read)
    }

    /// A query's only row; an error when it has none, or several.
    pub fn query_one(&self, text: &str, parameters: impl Params) -> Result<Row> {
        self.query_opt(text, parameters)?.ok_or_else(no_rows)
    }

    /// A query's only row, or `None` when it has none; an error when it has several.
    pub fn query_opt(&self, text: &str, parameters: impl Params) -> Result<Option<Row>> {
        let mut rows = self.query(text, parameters)?;
        let first = rows.next_row()?;
        match rows.next_row()? {
            None => Ok(first),
            Some(_) => {
                Err(Error::new(SqlState::CardinalityViolation, "the query returned more than one row")
                    .with_hint("add LIMIT 1, or read all of them with query()"))
            }
        }
    }

    /// All rows as tuples: `query_as::<(i64, String)>(text, ())?`.
    pub fn query_as<T: FromRow>(&self, text: &str, parameters: impl Params) -> Result<Vec<T>> {
        self.query(text, parameters)?.of().collect()
    }

    /// What `read` makes of each row.
    pub fn query_map<T>(
        &self,
        text: &str,
        parameters: impl Params,
        read: impl FnMut(&Row) -> Result<T>,
    ) -> Result<impl Iterator<Item = Result<T>>> {
        Ok(self.query(text, parameters)?.mapped(read))
    }

    /// A statement that is run many times. Mistakes that need no values to be seen are seen now.
    pub fn prepare(&self, text: &str) -> Result<Statement<'_>> {
        Statement::new(self, text)
    }

    /// Begins a transaction, which is rolled back when the guard is dropped without [`Transaction::commit`].
    pub fn transaction(&mut self) -> Result<Transaction<'_>> {
        Transaction::begin(self)
    }

    /// As `transaction`, where the connection is shared; there is an error if one is open already.
    pub fn unchecked_transaction(&self) -> Result<Transaction<'_>> {
        Transaction::begin(self)
    }

    /// Adds many rows to a table. Its name is written as in SQL: `t`, `depot.t`, `"My table"`.
    pub fn appender(&self, table: &str) -> Result<Appender<'_>> {
        Appender::new(&self.session, table, &[])
    }

    /// As `appender`, for some of the columns, in that order; the others get their defaults.
    pub fn appender_with_columns(&self, table: &str, columns: &[&str]) -> Result<Appender<'_>> {
        Appender::new(&self.session, table, columns)
    }

    fn result(&self, text: &str, parameters: impl Params) -> Result<ResultSet> {
        let (numbered, values) = bound(text, &sql::markers::markers(text), parameters.into_parameters()?)?;
        self.session.query_with(numbered.as_deref().unwrap_or(text), &values)
    }
}

/// What `read` makes of the first row; `no_rows` when there is none.
pub(crate) fn first<T>(mut rows: Rows, read: impl FnOnce(&Row) -> Result<T>) -> Result<T> {
    read(&rows.next_row()?.ok_or_else(no_rows)?)
}

/// The error (02000) for a query that had to return a row.
pub(crate) fn no_rows() -> Error {
    Error::new(SqlState::NoData, "the query returned no rows")
}

/// `None` for a row that is not there.
///
/// ```
/// use engine::{Connection, OptionalRow};
///
/// let connection = Connection::open_in_memory()?;
/// let nothing = connection.query_row("SELECT 1 WHERE false", (), |row| row.get::<i32>(0)).optional()?;
/// assert_eq!(nothing, None);
/// # Ok::<(), engine::Error>(())
/// ```
pub trait OptionalRow<T> {
    /// `None` for the error that there is no row (02000); other errors stay.
    fn optional(self) -> Result<Option<T>>;
}

impl<T> OptionalRow<T> for Result<T> {
    fn optional(self) -> Result<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.state() == SqlState::NoData => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The columns that a text's only statement would give, where that can be told without values for its parameters.
pub(crate) fn described(session: &Session, text: &str) -> Result<Option<Schema>> {
    match session.describe(text) {
        Err(error) if error.state() == SqlState::UndefinedParameter => Ok(None),
        outcome => outcome,
    }
}
