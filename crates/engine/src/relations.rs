//! The catalog as the SQL front end sees it.
//!
//! A [`SessionRelations`] is made for each statement, from one snapshot and the session's settings, objects and
//! search path. Names, statistics and execution all use it, so that they agree; it never sees commits that come
//! later. The binder asks it through `sql::Relations`, the plan cache through `lasts`. Queries that planning itself
//! runs (columns of a PIVOT, descriptions of views) use a session of their own over the same snapshot, at most
//! `QUESTIONS_MAX` inside each other. A question whose answer neither the snapshot nor the settings decide sets
//! `passing`, and the plan is not cached.

mod answers;
mod lookup;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use catalog::Snapshot;
use formats::Environment;
use plan::FileSource;

use crate::access::InputFolder;
use crate::copy_streams::StandardStreams;
use crate::cursors::Cursors;
use crate::database::Database;
use crate::pg_catalog::PgCatalog;
use crate::sequences::SequenceValues;
use crate::session::Tick;
use crate::sessions::Presence;
use crate::settings::Settings;
use crate::statement::StatementContext;

/// One statement's view: a snapshot, so that planning, statistics and execution agree.
pub(crate) struct SessionRelations {
    snapshot: Arc<Snapshot>,
    database: Option<Database>,
    environment: Environment,
    /// The statement that asks.
    statement: Option<Arc<StatementContext>>,
    /// What the session has registered, by name.
    objects: HashMap<String, Object>,
    settings: Arc<Settings>,
    /// Called while a question is answered that planning asks.
    tick: Option<Tick>,
    /// How many questions this one is inside of.
    asked: usize,
    /// Views are being described: their columns are not known meanwhile.
    describing: bool,
    /// What the session's scans have rejected, by the name of the table.
    rejects: Arc<Mutex<RejectTables>>,
    cursors: Cursors,
    /// What others see of the session.
    presence: Option<Arc<Presence>>,
    /// What COPY FROM STDIN reads.
    standard: Arc<StandardStreams>,
    /// Where it is put for roles that may open no files.
    input: Option<Arc<InputFolder>>,
    /// What nextval has given the session.
    sequences: SequenceValues,
    /// Schemas in which names without one are looked for before the default one.
    path: Mutex<Vec<String>>,
    /// The session's own macros are found.
    own_names: AtomicBool,
    /// Something was asked that neither the snapshot nor the settings decide.
    passing: AtomicBool,
    /// What tables have is asked for rows that go into them: that takes the privilege to insert, and not to read.
    to_insert: bool,
    /// When the transaction block began that the statement runs in.
    began: Option<i64>,
    /// The system catalog, once it was asked for.
    pg_catalog: PgCatalog,
}

/// Logs of rejects by name.
pub(crate) type RejectTables = formats::RejectLogs;

/// Questions inside each other: each level asks several times, and a view that pivots itself would ask for ever.
const QUESTIONS_MAX: usize = 3;

/// Rows of the host program, kept while statements may read them.
#[derive(Clone)]
pub(crate) struct Object {
    /// The rows as the front end and the plan describe them.
    pub source: FileSource,
    /// Never looked at: it keeps the rows.
    pub _held: Arc<formats::Held>,
}
