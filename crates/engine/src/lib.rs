//! The composition root and the public Rust API.
//!
//! ```no_run
//! let database = engine::Database::in_memory(engine::Options::default())?;
//! let session = database.session();
//! session.execute("CREATE TABLE t AS SELECT * FROM 'data/orders.parquet'")?;
//! let result = session.query("SELECT count(*) FROM t")?;
//! println!("{}", result.value(0, 0).display(result.schema().fields()[0].ty));
//! # Ok::<(), types::Error>(())
//! ```
//!
//! The life of a statement: `sql` plans it over the catalog's snapshot (`relations`), the engine runs its scalar
//! subqueries, `optimizer` makes a physical plan with the snapshot's statistics (`statistics`), `operators` cuts it
//! into segments, `scheduler` runs them (`run`). Statements that change the catalog are in `define`,
//! `alter` and `insert`; `system` lists it.
#![forbid(unsafe_code)]

mod alter;
mod benchmark_data;
mod constraints;
mod copy_to;
mod database;
mod define;
mod definitions;
mod explain;
mod insert;
mod progress;
mod recursion;
mod relations;
mod result;
mod run;
mod session;
pub mod settings;
mod statistics;
mod stream;
mod system;

pub use catalog::{DEFAULT_SCHEMA, nearest};
pub use database::{Database, Options};
pub use progress::ProgressWatch;
pub use result::ResultSet;
pub use scheduler::Progress;
pub use session::{Session, is_complete};
pub use stream::{ArrowStream, ResultStream};
pub use sync::CancelToken;
pub use types::{Error, Field, Position, Result, Schema, SqlState, Type, Value};
pub use vector::Batch;
