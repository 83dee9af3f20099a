//! Statements that are run many times.
//!
//! A [`Statement`] borrows its connection and keeps the text, with its parameters found once. Each run binds values
//! by place or by name; the session keeps what binding and planning have found (`plan_cache`, `open_plans`). `execute_many` turns an
//! INSERT of parameters into a bulk insert and runs any other statement once a set, all in one transaction.

use std::cell::OnceCell;

use sql::markers::Marker;
use types::{Error, Result, Schema, SqlState, Type, Value};

use super::appender::Appender;
use super::bulk::BulkInsert;
use super::connection::{Connection, described, first};
use super::outcome::{affected, in_row};
use super::params::{Parameters, Params, bound};
use super::row::{Row, Rows};
use crate::result::ResultSet;
use crate::session::Description;
use crate::stream::ResultStream;

/// A statement of a connection, with parameters that each run gives anew.
///
/// A statement is planned once, and again when tables or settings have changed. One with parameters is bound once, and
/// planned for the values of each run or once for all, as takes less time; [`Statement::parameter_types`] and
/// [`Statement::columns`] describe it before there are values. [`Statement::execute_many`] runs an INSERT of many rows as
/// one.
///
/// ```
/// use engine::Connection;
///
/// let connection = Connection::open_in_memory()?;
/// connection.execute_batch("CREATE TABLE squares (n INTEGER, square BIGINT)")?;
/// let insert = connection.prepare("INSERT INTO squares VALUES (?, ?)")?;
/// assert_eq!(insert.execute_many((1..=1000i64).map(|n| (n, n * n)))?, 1000);
/// let find = connection.prepare("SELECT square FROM squares WHERE n = $n")?;
/// for n in [3, 5] {
///     let square: i64 = find.query_row(&[("n", n)], |row| row.get("square"))?;
///     assert_eq!(square, n * n);
/// }
/// # Ok::<(), engine::Error>(())
/// ```
pub struct Statement<'c> {
    connection: &'c Connection,
    text: String,
    markers: Vec<Marker>,
    open: Option<Description>,
    bulk: OnceCell<Option<BulkInsert>>,
}

impl<'c> Statement<'c> {
    /// Checks that the text is one statement, finds its parameters and, if it can be told, its columns.
    pub(crate) fn new(connection: &'c Connection, text: &str) -> Result<Statement<'c>> {
        match connection.session().statements(text)?.len() {
            1 => {}
            0 => return Err(Error::new(SqlState::SyntaxError, "the statement is empty")),
            _ => return Err(crate::session::more_than_one()),
        }
        let markers = sql::markers::markers(text);
        let schema = described(connection.session(), text)?;
        let open = match markers.is_empty() {
            true => Some(Description { parameters: vec![], columns: schema }),
            false => of_parameters(connection, text, &markers),
        };
        Ok(Statement { connection, text: text.to_owned(), markers, open, bulk: OnceCell::new() })
    }

    /// Runs it; returns how many rows it has inserted, updated or deleted, or a query's rows.
    pub fn execute(&self, parameters: impl Params) -> Result<u64> {
        self.result(parameters).map(|result| affected(&result))
    }

    /// Runs it for each of many sets of parameters: all of them, or after an error none, which names the set by its
    /// number, counted from 1. An INSERT of a row of parameters becomes one INSERT of all rows. Returns the rows of
    /// all runs.
    pub fn execute_many<P: Params>(&self, many: impl IntoIterator<Item = P>) -> Result<u64> {
        let session = self.connection.session();
        let bulk = match self.bulk.get() {
            Some(bulk) => bulk,
            None => {
                let found = BulkInsert::of_statement(session, &self.text)?;
                self.bulk.get_or_init(|| found)
            }
        };
        let single = !self.connection.in_transaction();
        if single {
            self.connection.execute_batch("BEGIN")?;
        }
        let outcome = match bulk {
            Some(bulk) => bulk.clone().insert_each(session, many.into_iter().map(P::into_parameters)),
            None => self.execute_each(many),
        };
        match outcome {
            Ok(rows) if single => self.connection.execute_batch("COMMIT").map(|()| rows),
            Ok(rows) => Ok(rows),
            Err(error) => {
                match single {
                    // What failed first is what is told.
                    true => _ = self.connection.execute_batch("ROLLBACK"),
                    false => session.fail_transaction(),
                }
                Err(error)
            }
        }
    }

    fn execute_each<P: Params>(&self, many: impl IntoIterator<Item = P>) -> Result<u64> {
        let mut rows = 0;
        for (at, parameters) in many.into_iter().enumerate() {
            rows += self.execute(parameters).map_err(|error| in_row(error, at as u64 + 1))?;
        }
        Ok(rows)
    }

    /// Runs it; when this returns, all of its rows have been computed.
    pub fn query(&self, parameters: impl Params) -> Result<Rows> {
        self.result(parameters).map(|result| Rows::new(ResultStream::ready(result)))
    }

    /// As `query`, with rows that are computed while they are read, in bounded memory.
    pub fn query_stream(&self, parameters: impl Params) -> Result<Rows> {
        let (text, values) = self.bound(parameters)?;
        self.connection
            .session()
            .stream_prepared(text.as_deref().unwrap_or(&self.text), &values)
            .map(Rows::new)
    }

    /// What `read` makes of the first row; an error with SQLSTATE 02000 when there is none.
    pub fn query_row<T>(&self, parameters: impl Params, read: impl FnOnce(&Row) -> Result<T>) -> Result<T> {
        first(self.query(parameters)?, read)
    }

    /// What `read` makes of each row.
    pub fn query_map<T>(
        &self,
        parameters: impl Params,
        read: impl FnMut(&Row) -> Result<T>,
    ) -> Result<impl Iterator<Item = Result<T>>> {
        Ok(self.query(parameters)?.mapped(read))
    }

    /// Whether it gives a row.
    pub fn exists(&self, parameters: impl Params) -> Result<bool> {
        self.query(parameters)?.next_row().map(|row| row.is_some())
    }

    /// How many values it takes by place.
    pub fn parameter_count(&self) -> usize {
        sql::markers::parameters_wanted(&self.markers)
    }

    /// The types of its parameters, in the order of [`Statement::parameter_names`] where they have names: what their
    /// places ask for, TEXT where none says anything. `None` where that cannot be told without values.
    pub fn parameter_types(&self) -> Option<&[Type]> {
        self.open.as_ref().map(|open| open.parameters.as_slice())
    }

    /// The names of its parameters, each once; none where they go by place.
    pub fn parameter_names(&self) -> Vec<&str> {
        sql::markers::names(&self.markers)
    }

    /// Its columns, where they can be told without values for its parameters.
    pub fn columns(&self) -> Option<&Schema> {
        self.open.as_ref()?.columns.as_ref()
    }

    fn bound(&self, parameters: impl Params) -> Result<(Option<String>, Vec<(Value, Type)>)> {
        bound(&self.text, &self.markers, parameters.into_parameters()?)
    }

    fn result(&self, parameters: impl Params) -> Result<ResultSet> {
        let (text, values) = self.bound(parameters)?;
        self.connection.session().query_prepared(text.as_deref().unwrap_or(&self.text), &values)
    }
}

/// What can be told of a text with markers without values. A `:` before a word may be no marker, and values may have
/// types that make sense of what says nothing of its own, so that faults are found when it runs.
fn of_parameters(connection: &Connection, text: &str, markers: &[Marker]) -> Option<Description> {
    let names = sql::markers::names(markers);
    match names.is_empty() {
        true => connection.session().describe_statement(text).ok(),
        false => connection.session().describe_statement(&sql::markers::numbered(text, &names).ok()?).ok(),
    }
}

impl BulkInsert {
    /// Inserts many rows of parameters, in as many statements as memory asks for.
    fn insert_each(
        self,
        session: &crate::Session,
        rows: impl Iterator<Item = Result<Parameters>>,
    ) -> Result<u64> {
        let mut appender = Appender::of(session, self);
        for row in rows {
            appender.append_parameters(row?)?;
        }
        appender.finish()
    }
}
