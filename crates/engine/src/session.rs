//! A session: settings, and the execution of statements one after the other.
//!
//! A session owns settings, prepared statements, registered objects, cached plans and at most one transaction block.
//! `execute`, `query` and `stream` split a text into statements and run each as a transaction, or in the open block
//! (`transaction`), under the session's cancel token and tick (`calls`). `run_statement` hands each kind of statement
//! to the file that implements it. All state is behind locks, so that threads may share a session; statements of an
//! open block take turns.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use files::DirectReads;
use files::packed::Packing;
use plan::Statement;
use plan::statement::ObjectName;
use sync::CancelToken;
use types::{Error, Field, Result, Schema, SqlState, Type, Value, zone};
use vector::{Batch, Vector};

use crate::calls::caught;
use crate::client_settings;
use crate::copy_streams::StandardStreams;
use crate::cursors::Cursors;
use crate::database::Database;
use crate::indices::NewIndex;
use crate::open_plans::OpenPlans;
use crate::placement::WorkerAffinity;
use crate::plan_cache::{Given, PlanCache, Planned};
use crate::prepared::Prepared;
use crate::progress::ProgressWatch;
use crate::query_control;
use crate::relations::{Object, RejectTables, SessionRelations};
use crate::result::ResultSet;
use crate::roles::{self, RoleView};
use crate::run::Form;
use crate::secrets;
use crate::sequences::SequenceValues;
use crate::settings::{self, Settings};
use crate::statement::{self, StatementContext};
use crate::stream::OpenStream;
use crate::traces;
use crate::transaction::Transactions;

/// The share of the memory limit up to which rows of a registered reader are kept in memory.
const LIVE_SHARE: u64 = 8;

/// Rows that are registered, for [`Session::register_again`].
#[derive(Clone)]
pub struct Registered(Object);

/// A hook that runs while a statement does; `Break` cancels the statement.
pub(crate) type Tick = Arc<dyn Fn() -> ControlFlow<()> + Send + Sync>;

/// What a statement asks for and gives, before its parameters have values.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The types of `$1`, `$2` and so on: those that their places ask for, TEXT where none says anything.
    pub parameters: Vec<Type>,
    /// The result's columns; `None` where there are none.
    pub columns: Option<Schema>,
}

/// The columns of a bound statement's result.
pub(crate) fn columns_of(statement: &Statement) -> Option<Schema> {
    match statement {
        Statement::Query(query) => Some(crate::run::result_schema(query)),
        Statement::ChangingQuery(query) => Some(crate::run::result_schema(query)),
        Statement::Modify(modification) => modification.change.returning.map(|columns| {
            let schema = crate::run::result_schema(&modification.query);
            Schema::new(schema.fields()[schema.len() - columns..].to_vec())
        }),
        _ => None,
    }
}

/// One client's view of a database. Statements of a session run one at a time; sessions run side by side.
pub struct Session {
    pub(crate) database: Database,
    /// What its statements open files with.
    base: formats::Environment,
    /// What COPY FROM STDIN reads lies there, for roles that may open no files.
    input: Arc<crate::access::InputFolder>,
    settings: Mutex<Settings>,
    pub(crate) cancel: CancelToken,
    /// Calls of the host that are under way: more than one where a host's function runs statements inside of one.
    pub(crate) calls: AtomicUsize,
    tick: Mutex<Option<Tick>>,
    objects: Mutex<HashMap<String, Object>>,
    rejects: Arc<Mutex<RejectTables>>,
    pub(crate) standard: Arc<StandardStreams>,
    /// How many statements' planning this session answers questions of, one inside the other.
    asked: usize,
    pub(crate) progress: ProgressWatch,
    /// Streams that may be open.
    pub(crate) streams: Mutex<Vec<OpenStream>>,
    /// Prepared statements by name.
    pub(crate) prepared: Mutex<BTreeMap<String, Prepared>>,
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
    sequences: SequenceValues,
    /// Tables that the running statement scans.
    pub(crate) scanned: Mutex<Vec<catalog::TableId>>,
    /// Unique in the process; `quickstep_queries` shows it.
    pub(crate) number: u64,
    /// The number of the statement that began last.
    pub(crate) last_query: AtomicU64,
    /// What its statements' time is charged to.
    pub(crate) account: Arc<scheduler::Account>,
    role: Mutex<RoleView>,
    /// The place among its role's sessions that it takes.
    pub(crate) seat: Option<crate::access::Seat>,
    /// Names of relations that were registered for one statement.
    names: AtomicU64,
}

impl Session {
    /// A session with default settings and a number of its own.
    pub(crate) fn new(database: Database, environment: formats::Environment) -> Self {
        static NEXT_SESSION: AtomicU64 = AtomicU64::new(1);
        let cancel = CancelToken::new();
        Session {
            database,
            base: environment,
            input: Arc::default(),
            settings: Mutex::new(Settings::default()),
            standard: Arc::new(StandardStreams::new(cancel.clone())),
            cancel,
            calls: AtomicUsize::new(0),
            tick: Mutex::new(None),
            objects: Mutex::default(),
            rejects: Arc::default(),
            asked: 0,
            progress: ProgressWatch::default(),
            streams: Mutex::default(),
            prepared: Mutex::default(),
            plans: PlanCache::default(),
            open: OpenPlans::default(),
            transactions: Arc::default(),
            cursors: Cursors::default(),
            pinned: None,
            reclaims: AtomicBool::new(false),
            sequences: SequenceValues::default(),
            scanned: Mutex::default(),
            number: NEXT_SESSION.fetch_add(1, Ordering::Relaxed),
            last_query: AtomicU64::new(0),
            account: scheduler::Account::new(),
            role: Mutex::default(),
            seat: None,
            names: AtomicU64::new(0),
        }
    }

    /// What its statements open files with: what the session was given, and of that what its current role may.
    pub(crate) fn environment(&self) -> formats::Environment {
        let identity = self.identity();
        if identity == crate::access::Identity::default() {
            return self.base.clone();
        }
        crate::access::environment_of(&self.base, self.snapshot().access(), identity, &self.input)
    }

    /// A session of its own that sees what another one does.
    pub(crate) fn asked(
        database: &Database,
        environment: &formats::Environment,
        settings: &Settings,
        objects: &HashMap<String, Object>,
        rejects: &Arc<Mutex<RejectTables>>,
        tick: Option<Tick>,
        asked: usize,
    ) -> Self {
        Session {
            asked,
            settings: Mutex::new(settings.clone()),
            objects: Mutex::new(objects.clone()),
            rejects: rejects.clone(),
            tick: Mutex::new(tick),
            ..Session::new(database.clone(), environment.clone())
        }
    }

    /// CPU time that its statements were charged so far: planning and work orders. Fairness is between sessions, by
    /// this.
    pub fn charged_time(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.account.charged())
    }

    /// The database that the session is a view of.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Makes Arrow data a relation of this session, under a name in lower case; a table of that name goes first. The
    /// rows are read where they lie, and kept until the name is given to others or taken away, and while a statement
    /// reads them.
    pub fn register(
        &self,
        name: &str,
        schema: arrow_schema::SchemaRef,
        batches: Vec<arrow_array::RecordBatch>,
    ) {
        let (source, held) = formats::hold(name, schema, batches);
        self.put_object(name, Object { source, _held: held });
    }

    /// As `register`, for rows that come while statements read them, and once: what a running query gives, or a program
    /// that computes them. What was read is kept for later readers, and beyond a share of the memory limit in the
    /// temporary directory.
    pub fn register_reader(&self, name: &str, reader: Box<dyn arrow_array::RecordBatchReader + Send>) {
        let pool = self.database.shared.pool.clone();
        let overflow = Box::new(move || pool.unnamed_file());
        let bytes_max = self.database.memory_limit() / LIVE_SHARE;
        let (source, held) = formats::hold_live(name, reader, bytes_max, overflow);
        self.put_object(name, Object { source, _held: held });
    }

    /// What is registered under a name, to be registered again in this database's sessions: its rows are the same, and
    /// those of a reader are read once for all.
    pub fn registered(&self, name: &str) -> Option<Registered> {
        self.objects().get(&name.to_lowercase()).cloned().map(Registered)
    }

    /// Registers rows that were registered before.
    pub fn register_again(&self, name: &str, rows: &Registered) {
        self.put_object(name, rows.0.clone());
    }

    fn put_object(&self, name: &str, object: Object) {
        // Rows are let go after the lock: the host program may do anything then.
        let before = self.objects().insert(name.to_lowercase(), object);
        drop(before);
    }

    /// A number for the name of what is registered for one statement.
    pub(crate) fn next_name(&self) -> u64 {
        self.names.fetch_add(1, Ordering::Relaxed)
    }

    /// Forgets a name; false when there was none.
    pub fn unregister(&self, name: &str) -> bool {
        let before = self.objects().remove(&name.to_lowercase());
        before.is_some()
    }

    fn objects(&self) -> MutexGuard<'_, HashMap<String, Object>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raising it ends the running statement within 100 ms; it is reset when the next one begins. One atomic store,
    /// so a signal handler may do it.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// A hook called on the calling thread at least every 20 ms while a statement runs; `Break` cancels it.
    pub fn set_tick(&self, tick: impl Fn() -> ControlFlow<()> + Send + Sync + 'static) {
        *self.tick.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(tick));
    }

    /// Looks at the running statement from outside: from the tick, or from another thread.
    pub fn progress_watch(&self) -> ProgressWatch {
        self.progress.clone()
    }

    /// The hook of `set_tick`, if one is set.
    pub(crate) fn tick(&self) -> Option<Tick> {
        self.tick.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The settings, locked: hold them for moments only.
    pub(crate) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the session follows of its role, locked.
    pub(crate) fn role_view(&self) -> MutexGuard<'_, RoleView> {
        self.role.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs every statement of `text`, up to the first error. Results come in order, one a statement. Several statements
    /// are one transaction unless they say otherwise (`script`): after an error none has taken effect.
    pub fn execute(&self, text: &str) -> Result<Vec<ResultSet>> {
        let mut results = Vec::new();
        self.execute_each(text, |result| {
            results.push(result);
            Ok(())
        })?;
        Ok(results)
    }

    /// As `execute`, handing each result on as soon as it is there; the last one when all is committed. An error of
    /// `deliver` is one of the text.
    pub fn execute_each(&self, text: &str, mut deliver: impl FnMut(ResultSet) -> Result<()>) -> Result<()> {
        self.called(|| {
            let statements = self.statements_of_script(text)?;
            let script = self.begin_script(statements.len())?;
            for (at, statement) in statements.iter().enumerate() {
                script.before_statement();
                let result = self.execute_one(text, statement, statements.len() == 1, Given::default())?;
                if at + 1 == statements.len() {
                    script.commit()?;
                }
                deliver(result)?;
            }
            Ok(())
        })
    }

    /// The statements of a text.
    pub(crate) fn statements(&self, text: &str) -> Result<Vec<sql::StatementText>> {
        let split = || self.called(|| sql::split(text));
        self.plans.statement(text).map_or_else(split, |statement| Ok(vec![statement]))
    }

    /// Runs `text`, which must hold one statement, and returns its result.
    pub fn query(&self, text: &str) -> Result<ResultSet> {
        self.query_with(text, &[])
    }

    /// As `query`, with values for the parameters `$1`, `$2` and so on, or for as many `?`. Text takes the type that
    /// its place asks for, as a quoted literal does.
    pub fn query_with(&self, text: &str, parameters: &[(Value, Type)]) -> Result<ResultSet> {
        self.query_given(text, Given::values(parameters))
    }

    /// As `query_with`, for a text that comes again with other values: it is bound once, and a plan may serve all of
    /// them.
    pub fn query_prepared(&self, text: &str, parameters: &[(Value, Type)]) -> Result<ResultSet> {
        self.query_given(text, Given::prepared(parameters, &[]))
    }

    fn query_given(&self, text: &str, given: Given<'_>) -> Result<ResultSet> {
        self.called(|| match self.statements(text)?.as_slice() {
            [] => Err(Error::new(SqlState::SyntaxError, "the statement is empty")),
            [statement] => self.execute_one(text, statement, true, given),
            _ => Err(more_than_one()),
        })
    }

    /// The columns that a text's only statement would return if it ran; `None` when it is no query, or not the only
    /// statement. Faults that binding finds are found.
    pub fn describe(&self, text: &str) -> Result<Option<Schema>> {
        self.called(|| self.described(text))
    }

    /// What a text's only statement asks for and gives, before its parameters have values: their types, by number, and
    /// the columns of its result. Faults that binding finds are found; a statement that is planned by a value, as one that
    /// reads a file whose path is a parameter, is an error (0A000).
    pub fn describe_statement(&self, text: &str) -> Result<Description> {
        self.called(|| {
            let statements = self.statements(text)?;
            let [statement] = statements.as_slice() else { return Err(more_than_one()) };
            let zone = self.settings().time_zone;
            caught(text, || {
                zone::within(zone, || {
                    let _reading = self.standard.begin_description();
                    let open = sql::plan_open(text, statement, &self.relations(), &[])?;
                    Ok(Description { parameters: open.types, columns: columns_of(&open.statement) })
                })
            })
        })
    }

    fn described(&self, text: &str) -> Result<Option<Schema>> {
        let statements = self.statements(text)?;
        let [statement] = statements.as_slice() else { return Ok(None) };
        let zone = self.settings().time_zone;
        caught(text, || {
            zone::within(zone, || {
                let _reading = self.standard.begin_description();
                let relations = self.relations_of(None);
                if let Some(schema) = self.plans.schema(text, &relations) {
                    return Ok(Some(schema));
                }
                Ok(match sql::plan(text, statement, &relations)? {
                    Statement::Query(query) => {
                        let schema = crate::run::result_schema(&query);
                        self.plans.keep_bound(text, statement, &schema, Some(query), &relations);
                        Some(schema)
                    }
                    other => columns_of(&other),
                })
            })
        })
    }

    /// Plans and runs one statement of `text` as a transaction or in the open block. `alone`: it is the text's only
    /// one, so that its plan may be cached.
    pub(crate) fn execute_one(
        &self,
        text: &str,
        statement: &sql::StatementText,
        alone: bool,
        given: Given<'_>,
    ) -> Result<ResultSet> {
        // The thread that runs a long statement is another one.
        let of_script = self.is_of_script();
        // Its own text, not the script's: that is looked at as a whole for each statement.
        self.guarded(statement.of(text), |running| {
            let reading = self.standard.begin();
            let outcome = self.as_transaction(statement.ends_transaction(text), of_script, || {
                let started = Instant::now();
                running.trace().set_text(statement.of(text));
                let relations = self.relations_of(Some(running.clone()));
                let (planned, recorded) = self.plan_statement(text, statement, alone, &relations, given)?;
                let bound = started.elapsed();
                let mut result = match planned {
                    Planned::Query(query) => self.run_planned(query, &relations, Form::Values)?,
                    Planned::Statement(Statement::Query(query)) => {
                        let query = self.plan_query(query, alone.then_some(text), &relations)?;
                        let mut result = self.run_planned(query, &relations, Form::Values)?;
                        result.planning += bound;
                        result
                    }
                    Planned::Statement(other) => self.run_statement(other, &relations)?,
                };
                if let Some(recorded) = self.scanned_by(recorded) {
                    self.database.shared.workload.note(recorded);
                }
                running.trace().note_tag(result.tag());
                result.zone = zone::current();
                Ok(result)
            });
            reading.ended(outcome)
        })
    }

    /// Runs a bound statement of any kind.
    pub(crate) fn run_statement(
        &self,
        statement: Statement,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        if let Some(verb) = changing(&statement) {
            self.refuse_read_only(verb)?;
        }
        if !matches!(statement, Statement::Transaction(_)) {
            self.use_block();
        }
        let statement = self.with_schemas(statement)?;
        self.authorize(&statement)?;
        match statement {
            Statement::Access(statement) => self.access_statement(&statement),
            Statement::Query(query) => self.run_query(query, relations),
            Statement::ChangingQuery(query) => self.run_query(*query, relations),
            Statement::CreateTable { name, columns, options } => self.create_table(&name, columns, &options),
            Statement::CreateTableAs { name, query, options } => {
                self.create_table_as(&name, query, &options, relations)
            }
            Statement::AlterTable { name, table, actions } => {
                self.alter_table(&name, table, &actions, relations)
            }
            Statement::AlterTypes { name, table, columns, query } => {
                self.alter_types(&name, table, columns, query, relations)
            }
            Statement::RenameView { name, to } => self.rename_view(&name, to),
            Statement::Comment { on, text } => self.comment_on(&on, text),
            Statement::CreateIndex { name, table, table_id, method, columns, unique, if_not_exists } => {
                self.create_index(NewIndex { name, table, table_id, method, columns, unique, if_not_exists })
            }
            Statement::Reorganize { name, table, options, rows } => {
                self.reorganize(&name, table, &options, rows.map(|rows| *rows), relations)
            }
            Statement::DropIndex { names, if_exists } => self.drop_indices(&names, if_exists),
            Statement::Attach(attach) => self.attach(attach),
            Statement::Detach { name, if_exists } => self.detach(&name, if_exists),
            Statement::CopyDatabase { from, to, schema_only } => self.copy_database(&from, &to, schema_only),
            Statement::CreateSchema { name, if_not_exists } => self.create_schema(&name, if_not_exists),
            Statement::DropTable { names, if_exists, cascade } => {
                self.drop_tables(&names, if_exists, cascade)
            }
            Statement::DropSchema { name, if_exists, cascade } => self.drop_schema(&name, if_exists, cascade),
            Statement::Insert { table, name, query } => {
                let rows = self.insert_query(table, &name, query, relations)?;
                Ok(ResultSet::done(format!("INSERT 0 {rows}")))
            }
            Statement::Modify(modification) => self.modify(*modification, relations),
            Statement::Truncate { tables, cascade, restart_identity } => {
                self.truncate(&tables, cascade, restart_identity)
            }
            Statement::CreateSequence(create) => self.create_sequence(&create),
            Statement::AlterSequence(alter) => self.alter_sequence(&alter),
            Statement::DropSequence { names, if_exists, cascade } => {
                self.drop_sequences(&names, if_exists, cascade)
            }
            Statement::CopyFrom { table, name, query, .. } => {
                let rows = self.insert_query(table, &name, query, relations)?;
                Ok(ResultSet::done(format!("COPY {rows}")))
            }
            Statement::CopyTo { query, path: Some(path), options } => {
                self.copy_to(query, &path, &options, relations)
            }
            Statement::CopyTo { query, path: None, options } => {
                self.copy_to_output(query, &options, relations)
            }
            Statement::Explain { analyze, format, statement } => {
                self.explain(analyze, format, *statement, relations)
            }
            Statement::Set { name, value } => self.set(&name, value.as_deref()),
            Statement::Show { name } => self.show(&name),
            Statement::Call { procedure, arguments } => self.call(&procedure, &arguments, relations),
            Statement::CreateView { name, columns, text, if_exists } => {
                self.create_view(&name, columns, text, if_exists)
            }
            Statement::DropView { names, if_exists } => self.drop_views(&names, if_exists),
            Statement::CreateType { name, ty, if_exists } => self.create_type(&name, ty, if_exists),
            Statement::DropType { names, if_exists } => self.drop_types(&names, if_exists),
            Statement::CreateMacro { name, forms, replace, keep, temporary } => {
                self.create_macro(&name, forms, replace, keep, temporary)
            }
            Statement::DropFunction { name, if_exists } => self.drop_function(&name, if_exists),
            Statement::DropMacro { name, if_exists } => self.drop_macro(&name, if_exists),
            Statement::Prepare { name, text, types } => {
                self.prepare_statement(name, Prepared { text, types })
            }
            Statement::Execute { name, arguments } => {
                match self.planned_prepared(&name, &arguments, relations)? {
                    Planned::Query(query) => self.run_planned(query, relations, Form::Values),
                    Planned::Statement(planned) => self.run_statement(planned, relations),
                }
            }
            Statement::Deallocate { name } => self.deallocate(name.as_deref()),
            Statement::Cursor(command) => self.cursor_command(command, relations),
            Statement::Discard(what) => self.discard(what),
            Statement::SetLocal { name, value } => self.set_local(&name, value.as_deref()),
            Statement::Transaction(command) => self.transaction_command(command),
        }
    }

    pub(crate) fn set(&self, name: &str, value: Option<&str>) -> Result<ResultSet> {
        let name = settings::own_name(name);
        if let Some(refused) = client_settings::refuse_fact(name) {
            return Err(refused);
        }
        match name {
            "workers" => {
                let workers = match value {
                    Some(text) => text.trim().parse().map_err(|_| {
                        Error::new(
                            SqlState::InvalidParameterValue,
                            format!("invalid value for setting \"workers\": \"{text}\""),
                        )
                        .with_hint("expected a number from 1 to 1024")
                    })?,
                    None => std::thread::available_parallelism().map_or(1, usize::from),
                };
                self.database.set_workers(workers)?;
            }
            "worker_affinity" => {
                let name = value.unwrap_or("none").trim().to_ascii_lowercase();
                let affinity = WorkerAffinity::from_name(&name).ok_or_else(|| {
                    Error::new(
                        SqlState::InvalidParameterValue,
                        format!("invalid value for setting \"worker_affinity\": \"{name}\""),
                    )
                    .with_hint("expected none, cores or nodes")
                })?;
                self.database.set_worker_affinity(affinity);
            }
            "node_scheduling" => {
                let name = value.unwrap_or("stealing").trim().to_ascii_lowercase();
                let mode = scheduler::NodeScheduling::from_name(&name).ok_or_else(|| {
                    Error::new(
                        SqlState::InvalidParameterValue,
                        format!("invalid value for setting \"node_scheduling\": \"{name}\""),
                    )
                    .with_hint("expected stealing, strict or off")
                })?;
                self.database.set_node_scheduling(mode);
            }
            "memory_limit" => {
                let bytes = match value {
                    Some(text) => settings::parse_bytes(text).filter(|b| *b >= 1 << 20).ok_or_else(|| {
                        Error::new(
                            SqlState::InvalidParameterValue,
                            format!("invalid value for setting \"memory_limit\": \"{text}\""),
                        )
                        .with_hint("expected a size of at least 1MB, such as '8GB'")
                    })?,
                    None => memory::default_limit_bytes(),
                };
                self.database.set_memory_limit(bytes);
            }
            "temp_directory" => {
                let environment = self.environment();
                value.map_or(Ok(()), |folder| environment.capability().file_to_write(folder))?;
                self.database.set_temp_directory(value)?;
            }
            "policy" => {
                let name = value.unwrap_or("priority").trim().to_ascii_lowercase();
                let policy = scheduler::policy(&name).ok_or_else(|| {
                    Error::new(
                        SqlState::InvalidParameterValue,
                        format!("invalid value for setting \"policy\": \"{name}\""),
                    )
                    .with_hint("expected priority, fair or proportional")
                })?;
                self.database.shared.scheduler.set_policy(policy);
            }
            "active_queries" => {
                let queries = match value.map(str::trim) {
                    None | Some("auto") => None,
                    Some(text) => Some(text.parse().ok().filter(|n| *n >= 1).ok_or_else(|| {
                        Error::new(
                            SqlState::InvalidParameterValue,
                            format!("invalid value for setting \"active_queries\": \"{text}\""),
                        )
                        .with_hint("expected a number of queries from 1, or auto")
                    })?),
                };
                self.database.shared.scheduler.set_active_queries_max(queries);
            }
            "trace_memory" => {
                let bytes = match value {
                    None => traces::HISTORY_BYTES,
                    Some(text) => settings::parse_bytes(text).ok_or_else(|| {
                        Error::new(
                            SqlState::InvalidParameterValue,
                            format!("invalid value for setting \"trace_memory\": \"{text}\""),
                        )
                        .with_hint("expected a size such as '32MB'; 0 keeps no traces")
                    })?,
                };
                self.database.shared.seen.history.set_bytes_max(bytes);
            }
            "replacement" => {
                let name = value.unwrap_or("lru");
                let policy = pool::replacement(name).ok_or_else(|| {
                    Error::new(
                        SqlState::InvalidParameterValue,
                        format!("invalid value for setting \"replacement\": \"{name}\""),
                    )
                    .with_hint("expected lru-1, lru-2, lru-3, lru-4 or random")
                })?;
                self.database.shared.pool.set_replacement(policy);
            }
            "file_compression" => {
                let name = value.map_or("fast", str::trim);
                let packing = Packing::from_name(name).ok_or_else(|| {
                    Error::new(
                        SqlState::InvalidParameterValue,
                        format!("invalid value for setting \"file_compression\": \"{name}\""),
                    )
                    .with_hint("expected none, fast or small")
                })?;
                self.database.shared.stores().iter().for_each(|store| store.set_packing(packing));
            }
            "direct_reads" => {
                let name = value.map_or("auto", str::trim);
                let reads = DirectReads::from_name(name).ok_or_else(|| {
                    Error::new(
                        SqlState::InvalidParameterValue,
                        format!("invalid value for setting \"direct_reads\": \"{name}\""),
                    )
                    .with_hint("expected auto, on or off")
                })?;
                self.database.shared.stores().iter().for_each(|store| store.set_direct_reads(reads));
            }
            "simd" => {
                let level = match value.map(str::trim) {
                    None | Some("auto") => None,
                    Some(text) => Some(simd::Level::from_name(text).ok_or_else(|| {
                        Error::new(
                            SqlState::InvalidParameterValue,
                            format!("invalid value for setting \"simd\": \"{text}\""),
                        )
                        .with_hint("expected auto, avx512, avx2 or scalar")
                    })?),
                };
                simd::set_level(level);
            }
            "search_path" => {
                self.set_search_path(value)?;
                self.set_kept("search_path", value);
            }
            _ if self.environment().stores().setting(name).is_some() => {
                let environment = self.environment();
                environment.stores().set(environment.capability(), name, value.unwrap_or(""))?;
            }
            "role" => {
                let role = value.map(|name| plan::access::RoleName::Named(name.to_owned()));
                self.set_role_to(role.as_ref())?;
            }
            "all" if value.is_none() => self.reset_all()?,
            _ => {
                self.set_own(name, value)?;
                self.set_kept(name, value);
            }
        }
        Ok(ResultSet::done("SET"))
    }

    /// Forgets what currval and lastval say.
    pub(crate) fn forget_sequence_values(&self) {
        self.sequences.clear();
    }

    /// SET LOCAL: the setting holds until the transaction ends, and is then what the session has.
    fn set_local(&self, name: &str, value: Option<&str>) -> Result<ResultSet> {
        let name = settings::own_name(name);
        let shared = settings::shared().any(|(shared, _)| shared == name)
            || self.environment().stores().setting(name).is_some();
        if shared || name == "role" {
            let message = format!("SET LOCAL {name} is not supported: it is no setting of the session alone");
            return Err(Error::unsupported(message).with_hint(format!("SET {name}, and set it back")));
        }
        let done = ResultSet::done("SET");
        if !self.keep_settings() {
            return Ok(done.with_warning("SET LOCAL can only be used in transaction blocks"));
        }
        match name {
            "search_path" => self.set_search_path(value)?,
            _ => self.settings().set(name, value)?,
        }
        Ok(done)
    }

    /// RESET ALL: the session's settings go back to their defaults, or its role's. Settings of the database stay, as
    /// other sessions live by them, and so does the role, as in PostgreSQL.
    fn reset_all(&self) -> Result<()> {
        let names = Settings::default().all().into_iter().map(|(name, _, _)| name);
        for name in names.filter(|name| name != "role") {
            self.set(&name, None)?;
        }
        Ok(())
    }

    fn show(&self, name: &str) -> Result<ResultSet> {
        let name = settings::own_name(name);
        if name == "transaction_isolation" || name == "transaction_isolation_level" {
            return Ok(text_result(&["transaction_isolation"], &[vec![self.isolation_name().to_owned()]]));
        }
        let value = self.setting(name).ok_or_else(|| settings::unknown(name))?;
        Ok(text_result(&[name], &[vec![value]]))
    }

    /// A setting's value, as SHOW tells it; `None` when there is none of that name.
    pub fn setting(&self, name: &str) -> Option<String> {
        let name = settings::own_name(name);
        database_setting(&self.database, name)
            .or_else(|| self.settings().get(name))
            .or_else(|| client_settings::fact(name).map(str::to_owned))
    }

    /// Whether the session's client is to be sent warnings, and notices (`client_min_messages`).
    pub fn sends_notices(&self) -> (bool, bool) {
        self.settings().client.sends()
    }

    /// The catalog as the running statement sees it, as part of which something is done that its text does not say.
    pub(crate) fn relations(&self) -> SessionRelations {
        self.relations_of(statement::enclosing())
    }

    /// The catalog as a statement sees it that begins.
    pub(crate) fn relations_of(&self, statement: Option<Arc<StatementContext>>) -> SessionRelations {
        self.relations_at(self.snapshot(), statement)
    }

    /// As `relations_of`, in another state of the catalog.
    pub(crate) fn relations_at(
        &self,
        snapshot: Arc<catalog::Snapshot>,
        statement: Option<Arc<StatementContext>>,
    ) -> SessionRelations {
        let settings = self.settings().clone();
        SessionRelations::new(&self.database, self.environment(), snapshot, settings)
            .with_statement(statement)
            .with_sequences(self.sequences.clone())
            .with_objects(self.objects().clone())
            .with_reject_tables(self.rejects.clone())
            .with_standard_streams(self.standard.clone())
            .with_input_folder(self.input.clone())
            .with_questions(self.tick_or_cancel(), self.asked)
            .with_cursors(self.cursors.clone())
    }
}

/// What a statement that changes the database is called where it may not; `None` for others.
fn changing(statement: &Statement) -> Option<&'static str> {
    use plan::ModificationKind as K;
    Some(match statement {
        Statement::Insert { .. } => "INSERT",
        // As PostgreSQL calls it.
        Statement::ChangingQuery(_) => "SELECT",
        Statement::CopyTo { query, .. } if query.common.iter().any(|query| query.change.is_some()) => "COPY",
        Statement::Modify(modification) => match modification.change.kind {
            K::Insert => "INSERT",
            K::Update => "UPDATE",
            K::Delete => "DELETE",
            K::Merge => "MERGE",
        },
        Statement::Truncate { .. } => "TRUNCATE TABLE",
        Statement::CopyFrom { .. } => "COPY FROM",
        Statement::CopyDatabase { .. } => "COPY FROM DATABASE",
        Statement::CreateTable { .. } => "CREATE TABLE",
        Statement::CreateTableAs { .. } => "CREATE TABLE AS",
        Statement::AlterTable { .. } | Statement::AlterTypes { .. } => "ALTER TABLE",
        Statement::CreateSchema { .. } => "CREATE SCHEMA",
        Statement::DropTable { .. } => "DROP TABLE",
        Statement::DropSchema { .. } => "DROP SCHEMA",
        Statement::CreateView { .. } => "CREATE VIEW",
        Statement::RenameView { .. } => "ALTER VIEW",
        Statement::DropView { .. } => "DROP VIEW",
        Statement::Comment { .. } => "COMMENT",
        Statement::CreateType { .. } => "CREATE TYPE",
        Statement::DropType { .. } => "DROP TYPE",
        Statement::CreateMacro { .. } => "CREATE MACRO",
        Statement::DropMacro { .. } => "DROP MACRO",
        Statement::CreateSequence(_) => "CREATE SEQUENCE",
        Statement::AlterSequence(_) => "ALTER SEQUENCE",
        Statement::DropSequence { .. } => "DROP SEQUENCE",
        // It only looks.
        Statement::Call { procedure, .. } if procedure == "advise" || traces::is_look(procedure) => {
            return None;
        }
        Statement::Call { procedure, .. }
            if !query_control::is_control(procedure)
                && !roles::is_role_procedure(procedure)
                && !secrets::is_about_secrets(procedure) =>
        {
            "CALL"
        }
        _ => return None,
    })
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

/// How a name is shown in messages.
pub(crate) fn shown(name: &ObjectName) -> String {
    match &name.schema {
        Some(schema) => format!("{schema}.{}", name.name),
        None => name.name.clone(),
    }
}

/// Whether `text` ends with a complete statement: its last semicolon is outside quotes and comments, and nothing but
/// blanks and comments follows it.
pub fn is_complete(text: &str) -> bool {
    let statements = |text: &str| sql::split(text).map(|s| s.len());
    match (statements(text), statements(&format!("{text}\nx"))) {
        // Another word begins a statement of its own rather than going on with the last one.
        (Ok(before), Ok(after)) => after > before,
        // An unterminated string or comment: more is to come. Any other error is reported by running it.
        (Err(error), _) => text.trim_end().ends_with(';') && !error.message().contains("nterminated"),
        (Ok(_), Err(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn a_statement_is_complete_with_its_semicolon() {
        for text in [
            "SELECT 1;",
            "SELECT ';';\n",
            "SELECT 1; -- that was it",
            "SELECT 1; /* ; */",
            ";",
            "",
            "-- nothing",
        ] {
            assert!(is_complete(text), "{text}");
        }
        for text in
            ["SELECT 1", "SELECT ';", "SELECT 1 -- ;", "SELECT 1; SELECT 2", "SELECT /* ;", "SELECT $$ ;"]
        {
            assert!(!is_complete(text), "{text}");
        }
    }
}
