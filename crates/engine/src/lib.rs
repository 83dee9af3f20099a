//! The composition root and the public Rust API.
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow_array::{Int64Array, RecordBatch, StringArray};
//! use arrow_schema::{DataType, Field, Schema};
//! use engine::{Database, Options, SqlState, Type, Value};
//!
//! let options = Options { workers: Some(2), memory_bytes: Some(1 << 30), ..Options::default() };
//! let database = Database::in_memory(options)?;
//! let session = database.session();
//!
//! // Arrow in: the rows are read where they lie.
//! let fields = vec![Field::new("id", DataType::Int64, false), Field::new("name", DataType::Utf8, true)];
//! let schema = Arc::new(Schema::new(fields));
//! let ids = Arc::new(Int64Array::from(vec![1, 2, 3]));
//! let names = Arc::new(StringArray::from(vec![Some("Ada"), None, Some("Cy")]));
//! let people = RecordBatch::try_new(schema.clone(), vec![ids, names])?;
//! session.register("people", schema, vec![people]);
//!
//! // Statements, one result each; a query with parameters.
//! session.execute("CREATE TABLE kept AS SELECT * FROM people; INSERT INTO kept VALUES (4, 'Di')")?;
//! let found = session.query_with("SELECT name FROM kept WHERE id = ?", &[(Value::I64(3), Type::BigInt)])?;
//! assert_eq!(found.value(0, 0), Value::text("Cy"));
//!
//! // Arrow out: of a whole result, or as a stream while the query runs.
//! let whole = session.query("SELECT * FROM kept")?.record_batches()?;
//! let streamed: Result<Vec<RecordBatch>, _> = session.stream_arrow("SELECT * FROM kept")?.collect();
//! let rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
//! assert_eq!((rows(&whole), rows(&streamed?)), (4, 4));
//!
//! // Errors have an SQLSTATE, a place and perhaps a hint.
//! let error = session.query("SELECT nam FROM kept").unwrap_err();
//! assert_eq!((error.state(), error.hint()), (SqlState::UndefinedColumn, Some("did you mean \"name\"?")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Database::create_function`] makes Rust functions over Arrow arrays callable from SQL; [`Session::interrupt`],
//! [`Session::set_tick`] and [`Session::progress_watch`] are for hosts that stop and watch statements.
//!
//! The life of a statement: `sql` plans it over the catalog's snapshot (`relations`), the engine runs its scalar
//! subqueries, `optimizer` makes a physical plan with the snapshot's statistics (`statistics`), `operators` cuts it
//! into segments, `scheduler` runs them (`run`). Statements that change the catalog are in `define`,
//! `alter`, `insert` and `modify`, in transactions (`transaction`) whose keys are proved (`verify`); `system` lists it.
#![forbid(unsafe_code)]

mod access;
mod advise;
mod alter;
mod api;
mod audit;
mod background;
mod benchmark_data;
mod by_message;
mod calls;
mod checks;
mod client_settings;
mod cluster;
mod comments;
mod constraints;
mod copy_streams;
mod copy_to;
mod cursors;
mod database;
mod definable;
mod define;
mod definitions;
mod discard;
mod encoded;
mod execution;
mod explain;
mod export;
mod functions;
mod idle;
mod indices;
mod insert;
mod lake_tables;
mod modify;
mod mounts;
mod open_plans;
mod pg_catalog;
mod placement;
mod plan_cache;
mod portal;
mod prepared;
mod progress;
mod query_control;
mod referential;
#[cfg(test)]
mod refused;
mod relations;
mod reorganize;
mod result;
mod roles;
mod run;
mod script;
mod search_path;
mod secrets;
mod sequences;
mod session;
mod session_functions;
mod sessions;
pub mod settings;
mod shared_settings;
mod statement;
mod statistics;
mod storage_options;
mod stream;
mod system;
mod traces;
mod transaction;
mod upkeep;
mod user_types;
mod variables;
mod verify;
mod watched;
mod wide;
mod workload;

pub use access::Login;
pub use access::objects::{AccessView, Object};
pub use api::{
    Appender, BulkColumn, BulkInsert, ColumnIndex, Connection, Date, Decimal, FromRow, FromSql, Interval,
    Marked, Mismatch, OptionalRow, Params, Row, Rows, Savepoint, Statement, Time, Timestamp, TimestampTz,
    ToSql, Transaction, Uuid,
};
pub use audit::{AuditEvent, AuditHook};
pub use by_message::ScriptStatement;
pub use catalog::{DEFAULT_SCHEMA, OpenReport, nearest};
pub use client_settings::SERVER_VERSION;
pub use copy_streams::CopyStreams;
pub use database::{Database, Options, WeakDatabase};
pub use files::Capability;
pub use formats::Environment;
pub use functions::{AggregateFunction, IntoFunction, ScalarFunction};
pub use placement::WorkerAffinity;
pub use pool::PoolStatistics;
pub use portal::{Fetched, Portal, PreparedStatement};
pub use progress::{OperatorProgress, ProgressWatch};
pub use result::ResultSet;
pub use scheduler::{OperatorStatus, Progress, QueryStatus};
pub use session::{Description, Registered, Session, SettingsSeen, is_complete};
pub use sessions::{ClientAddress, SessionSignal, TransactionStatus};
pub use sql::secrets::masked;
pub use stream::{ArrowStream, ResultStream};
pub use sync::CancelToken;
pub use trace::QueryTrace;
pub use types::{Error, Field, Position, Result, Schema, SqlState, Type, Value};
pub use vector::Batch;
pub use vector::arrow::{arrow_schema, arrow_type};
