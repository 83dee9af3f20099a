//! What a session keeps: settings, prepared statements and plans, registered objects, cursors and at most one transaction
//! block. Statement families are modules over it, each beside what it keeps here; `session.rs` runs a statement's text
//! and hands each kind of statement to its family.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use files::DirectReads;
use files::packed::Packing;
use sync::CancelToken;
use types::{Error, Field, Schema, SqlState, Type, Value};
use vector::{Batch, Vector};

use crate::calls::Tick;
use crate::copy_streams::StandardStreams;
use crate::cursors::Cursors;
use crate::database::Database;
use crate::open_plans::OpenPlans;
use crate::plan_cache::PlanCache;
use crate::progress::ProgressWatch;
use crate::relations::{Object, RejectTables};
use crate::result::ResultSet;
use crate::roles::RoleView;
use crate::sequences::SequenceValues;
use crate::sessions::Presence;
use crate::sessions::listed::Listed;
use crate::settings::Settings;
use crate::stream::OpenStream;
use crate::transaction::Transactions;

/// Rows that are registered, for [`Session::register_again`].
#[derive(Clone)]
pub struct Registered(pub(super) Object);

/// One client's view of a database. Statements of a session run one at a time; sessions run side by side.
pub struct Session {
    pub(crate) database: Database,
    /// What its statements open files with.
    pub(super) base: formats::Environment,
    /// What COPY FROM STDIN reads lies there, for roles that may open no files.
    pub(super) input: Arc<crate::access::InputFolder>,
    pub(super) settings: Mutex<Arc<Settings>>,
    pub(crate) cancel: CancelToken,
    /// Calls of the host that are under way: more than one where a host's function runs statements inside of one.
    pub(crate) calls: AtomicUsize,
    /// What `set_tick` has set, and how work that is stopped in its midst calls it.
    pub(super) tick: Mutex<Option<(Tick, sync::stop::Poll)>>,
    pub(super) objects: Mutex<HashMap<String, Object>>,
    pub(crate) rejects: Arc<Mutex<RejectTables>>,
    pub(crate) standard: Arc<StandardStreams>,
    /// How many statements' planning this session answers questions of, one inside the other.
    pub(super) asked: usize,
    pub(crate) progress: ProgressWatch,
    /// Streams that may be open.
    pub(crate) streams: Mutex<Vec<OpenStream>>,
    /// What others see of it.
    pub(crate) presence: Arc<Presence>,
    /// Its place among the sessions that are open.
    pub(crate) listed: Option<Listed>,
    pub(crate) plans: PlanCache,
    /// Plans of prepared statements.
    pub(crate) open: OpenPlans,
    pub(crate) transactions: Arc<Transactions>,
    /// Cursors by name.
    pub(crate) cursors: Cursors,
    /// What transactions begin with, if not with the newest.
    pub(crate) pinned: Option<Arc<catalog::Snapshot>>,
    /// Memory is to be given back when the transaction ends.
    pub(crate) reclaims: AtomicBool,
    pub(super) sequences: SequenceValues,
    /// Tables that the running statement scans.
    pub(crate) scanned: Mutex<Vec<catalog::TableId>>,
    /// What of it was recorded last.
    pub(crate) last_shape: crate::workload::LastShape,
    /// Unique in the process; `quickstep_queries` shows it.
    pub(crate) number: u64,
    /// The number of the statement that began last.
    pub(crate) last_query: AtomicU64,
    /// What its statements' time is charged to.
    pub(crate) account: Arc<scheduler::Account>,
    pub(super) role: Mutex<RoleView>,
    /// The place among its role's sessions that it takes.
    pub(crate) seat: Option<crate::access::Seat>,
    /// Names of relations that were registered for one statement.
    pub(super) names: AtomicU64,
}

/// Rows of text under the given headings.
pub(crate) fn text_result(headings: &[&str], rows: &[Vec<String>]) -> ResultSet {
    let fields = headings.iter().map(|h| Field::new(*h, Type::Text, false)).collect();
    let columns = (0..headings.len())
        .map(|c| {
            let values: Vec<Value> = rows.iter().map(|r| Value::text(&r[c])).collect();
            Vector::from_values(Type::Text, &values)
        })
        .collect();
    ResultSet::new(Schema::new(fields), vec![Batch::new(columns, rows.len())])
}

/// The error for several statements where one is expected.
pub(crate) fn more_than_one() -> Error {
    Error::new(SqlState::SyntaxError, "more than one statement")
        .with_hint("run them one at a time, or with execute")
}

/// What a statement asks for and gives, before its parameters have values.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The types of `$1`, `$2` and so on: those that their places ask for, TEXT where none says anything.
    pub parameters: Vec<Type>,
    /// The result's columns; `None` where there are none.
    pub columns: Option<Schema>,
}

/// A setting that all sessions share.
pub(crate) fn database_setting(database: &Database, name: &str) -> Option<String> {
    match name {
        "workers" => Some(database.workers().to_string()),
        "memory_limit" => Some(database.memory_limit().to_string()),
        "temp_directory" => Some(database.temp_directory()),
        "policy" => Some(database.shared.scheduler.policy().to_owned()),
        "worker_affinity" => Some(database.worker_affinity().name().to_owned()),
        "node_scheduling" => Some(database.node_scheduling().name().to_owned()),
        "active_queries" => Some(database.shared.scheduler.active_queries_max().to_string()),
        "replacement" => Some(database.shared.pool.replacement().name()),
        "trace_memory" => Some(database.shared.seen.history.bytes_max().to_string()),
        "file_compression" => {
            let store = database.shared.store.as_ref();
            Some(store.map_or_else(Packing::default, |store| store.packing()).name().to_owned())
        }
        "direct_reads" => {
            let store = database.shared.store.as_ref();
            Some(store.map_or_else(DirectReads::default, |store| store.direct_reads()).name().to_owned())
        }
        "simd" => Some(simd::level().name().to_owned()),
        _ => database.shared.environment.stores().setting(name),
    }
}
