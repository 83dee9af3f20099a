//! The API that Rust programs know from other databases, over [`Session`](crate::Session): connections, statements with
//! parameters, rows with values by index or name, transactions that roll back when they are dropped, appenders.
//!
//! ```text
//!  Params, ToSql --> values with SQL types --> Session::query_with --> Rows, Row --FromSql--> Rust's values
//!  Appender, Statement::execute_many --> columns (bulk) --> one INSERT ... SELECT
//! ```
//! Nothing here knows more of the engine than a session gives; the Python package inserts many rows by `bulk`, too.

mod appender;
mod bulk;
mod connection;
mod from_sql;
mod outcome;
mod params;
mod row;
mod statement;
mod to_sql;
mod transaction;
mod values;

pub use appender::Appender;
pub use bulk::{BulkColumn, BulkInsert};
pub use connection::{Connection, OptionalRow};
pub use from_sql::{FromSql, Mismatch};
pub use params::Params;
pub use row::{ColumnIndex, FromRow, Row, Rows};
pub use sql::markers::Marked;
pub use statement::Statement;
pub use to_sql::ToSql;
pub use transaction::{Savepoint, Transaction};
pub use types::interval::Interval;
pub use values::{Date, Decimal, Time, Timestamp, TimestampTz, Uuid};
