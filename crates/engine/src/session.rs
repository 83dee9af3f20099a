//! A session: settings, and the execution of statements one after the other.
//!
//! A session owns settings, prepared statements, registered objects, cached plans and at most one transaction block.
//! `execute`, `query` and `stream` split a text into statements and run each as a transaction, or in the open block
//! (`transaction`), under the session's cancel token and tick (`calls`). `run_statement` hands each kind of statement
//! to the file that implements it. All state is behind locks, so that threads may share a session; statements of an
//! open block take turns.

mod state;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use plan::{LogicalPlan, ScanSource, Statement};
use sync::CancelToken;
use types::{Error, Result, Schema, SqlState, Type, Value, zone};

use crate::calls::caught;
use crate::client_settings;
use crate::copy_streams::StandardStreams;
use crate::cursors::Cursors;
use crate::database::Database;
use crate::indices::NewIndex;
use crate::open_plans::OpenPlans;
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
use crate::sessions::Presence;
use crate::settings::{self, Settings, SettingsGuard};
use crate::statement::StatementContext;
use crate::traces;

pub(crate) use crate::calls::Tick;
pub(crate) use crate::definable::shown;
pub use state::{Description, Registered, Session};
pub(crate) use state::{database_setting, more_than_one, text_result};

/// The share of the memory limit up to which rows of a registered reader are kept in memory.
const LIVE_SHARE: u64 = 8;

/// The settings and roles that a client was told of; see [`Session::has_new_settings`].
#[derive(Default)]
pub struct SettingsSeen {
    of: Option<(Arc<Settings>, Arc<access::State>)>,
    /// When the roles were looked up, where no block was open: nothing was published since if it is the catalog's count.
    published: Option<u64>,
}

/// A tick, and the poll that calls it and raises the signal when it says so. Made once: every call of the host uses it.
fn with_poll(tick: Tick, cancel: &CancelToken) -> (Tick, sync::stop::Poll) {
    let (asked, cancel) = (tick.clone(), cancel.clone());
    let poll = move || {
        if asked().is_break() {
            cancel.cancel();
        }
    };
    (tick, Arc::new(poll))
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
        Statement::CopyTo { path, options, .. } => crate::copy_to::returned_columns(path.as_deref(), options),
        _ => None,
    }
}

impl Session {
    /// A session with default settings and a number of its own.
    pub(crate) fn new(database: Database, environment: formats::Environment) -> Self {
        static NEXT_SESSION: AtomicU64 = AtomicU64::new(1);
        let cancel = CancelToken::new();
        let number = NEXT_SESSION.fetch_add(1, Ordering::Relaxed);
        let presence = Presence::new(number, cancel.clone());
        Session {
            database,
            base: environment,
            input: Arc::default(),
            settings: Mutex::default(),
            standard: Arc::new(StandardStreams::new(cancel.clone())),
            cancel,
            calls: AtomicUsize::new(0),
            tick: Mutex::new(None),
            objects: Mutex::default(),
            rejects: Arc::default(),
            asked: 0,
            progress: ProgressWatch::default(),
            streams: Mutex::default(),
            presence,
            listed: None,
            plans: PlanCache::default(),
            open: OpenPlans::default(),
            transactions: Arc::default(),
            cursors: Cursors::default(),
            pinned: None,
            reclaims: AtomicBool::new(false),
            sequences: SequenceValues::default(),
            scanned: Mutex::default(),
            last_shape: crate::workload::LastShape::default(),
            number,
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
        settings: &Arc<Settings>,
        objects: &HashMap<String, Object>,
        rejects: &Arc<Mutex<RejectTables>>,
        tick: Option<Tick>,
        asked: usize,
    ) -> Self {
        let session = Session::new(database.clone(), environment.clone());
        Session {
            asked,
            settings: Mutex::new(settings.clone()),
            objects: Mutex::new(objects.clone()),
            rejects: rejects.clone(),
            tick: Mutex::new(tick.map(|tick| with_poll(tick, &session.cancel))),
            ..session
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
        *self.tick.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(with_poll(Arc::new(tick), &self.cancel));
    }

    /// Looks at the running statement from outside: from the tick, or from another thread.
    pub fn progress_watch(&self) -> ProgressWatch {
        self.progress.clone()
    }

    /// The hook of `set_tick`, if one is set.
    pub(crate) fn tick(&self) -> Option<Tick> {
        let tick = self.tick.lock().unwrap_or_else(PoisonError::into_inner);
        tick.as_ref().map(|(tick, _)| tick.clone())
    }

    /// The hook of `set_tick` for work that asks whether to stop: it raises the session's signal.
    pub(crate) fn poll(&self) -> Option<sync::stop::Poll> {
        let tick = self.tick.lock().unwrap_or_else(PoisonError::into_inner);
        tick.as_ref().map(|(_, poll)| poll.clone())
    }

    /// The settings, locked: hold them for moments only.
    pub(crate) fn settings(&self) -> SettingsGuard<'_> {
        SettingsGuard::new(self.settings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The settings as they are now, for what is to keep them: statements share them until one is set.
    pub(crate) fn settings_now(&self) -> Arc<Settings> {
        self.settings().shared()
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
                    let open = sql::plan_open(text, statement, &self.relations_of(None), &[])?;
                    Ok(Description { parameters: open.types, columns: columns_of(&open.statement) })
                })
            })
        })
    }

    /// Names and types of the columns that rows of an INSERT fill: those that are named, or all but generated ones. Names
    /// are written as in SQL. It takes the privilege to insert, and not the one to read.
    pub fn columns_to_insert(&self, table: &str, columns: &[&str]) -> Result<Schema> {
        let listed = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
        let text = format!("SELECT {listed} FROM {table}");
        self.called(|| {
            let statements = self.statements(&text)?;
            let [statement] = statements.as_slice() else { return Err(more_than_one()) };
            let relations = self.relations_of(None).to_insert();
            let planned = caught(&text, || sql::plan(&text, statement, &relations))?;
            let Statement::Query(query) = planned else { return Err(Error::internal("SELECT is no query")) };
            let schema = crate::run::result_schema(&query);
            let Some(table) = table_of(&query.plan).filter(|_| columns.is_empty()) else { return Ok(schema) };
            let table = relations.table_by_id(table)?;
            let filled = |field: &&types::Field| {
                let at = table.columns.fields().iter().position(|own| own.name == field.name);
                at.is_none_or(|at| table.attributes[at].generated.is_none())
            };
            Ok(Schema::new(schema.fields().iter().filter(filled).cloned().collect()))
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
                    Planned::Statement(statement) => match *statement {
                        Statement::Query(query) => {
                            let query = self.plan_query(query, alone.then_some(text), &relations)?;
                            let mut result = self.run_planned(query, &relations, Form::Values)?;
                            result.planning += bound;
                            result
                        }
                        other => self.run_statement(other, &relations)?,
                    },
                };
                if let Some(recorded) = self.scanned_by(recorded) {
                    self.database.shared.workload.note(recorded, &self.last_shape);
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
        let tag = crate::audit::tag_of(&statement);
        let outcome = self.run_untold(statement, relations);
        if let (Some(tag), Some(own)) = (tag, relations.statement()) {
            self.tell_statement(tag, own.query().text(), outcome.as_ref().err());
        }
        outcome
    }

    fn run_untold(&self, statement: Statement, relations: &SessionRelations) -> Result<ResultSet> {
        if let Some(verb) = changing(&statement) {
            self.refuse_read_only(verb)?;
        }
        if !matches!(statement, Statement::Transaction(_)) {
            self.use_block();
        }
        let statement = self.with_schemas(statement)?;
        self.authorize(&statement)?;
        match statement {
            Statement::Access(statement) => self.access_statement(&statement, relations.statement()),
            Statement::Query(query) => self.run_query(query, relations),
            Statement::ChangingQuery(query) => self.run_query(*query, relations),
            Statement::CreateTable { name, columns, options } => self.create_table(&name, columns, &options),
            Statement::CreateTableAs { name, query, options } => {
                self.create_table_as(&name, query, &options, relations)
            }
            Statement::AlterTable { name, table, actions } => {
                self.alter_table(&name, table, &actions, relations)
            }
            Statement::AlterTypes { name, table, columns, query, defaults } => {
                self.alter_types(&name, table, (columns, defaults), query, relations)
            }
            Statement::RenameView { name, to } => self.rename_view(&name, to),
            Statement::Comment { on, text } => self.comment_on(&on, text, relations),
            Statement::CreateIndex { name, table, table_id, method, columns, unique, if_not_exists } => self
                .create_index(
                    NewIndex { name, table, table_id, method, columns, unique, if_not_exists },
                    relations.statement(),
                ),
            Statement::Reorganize { name, table, options, rows } => {
                self.reorganize(&name, table, &options, rows.map(|rows| *rows), relations)
            }
            Statement::DropIndex { names, if_exists } => self.drop_indices(&names, if_exists),
            Statement::Attach(attach) => self.attach(attach),
            Statement::Detach { name, if_exists } => self.detach(&name, if_exists),
            Statement::CopyDatabase { from, to, schema_only } => {
                self.copy_database(&from, &to, schema_only, relations.statement())
            }
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
                self.prepare_statement(name, Prepared::new(text, types, true))
            }
            Statement::Execute { name, arguments } => self.run_prepared(&name, &arguments, relations),
            Statement::Deallocate { name } => self.deallocate(name.as_deref()),
            Statement::Cursor(command) => self.cursor_command(command, relations),
            Statement::Discard(what) => self.discard(what),
            Statement::SetLocal { name, value } => self.set_local(&name, value.as_deref()),
            Statement::Transaction(command) => self.transaction_command(command),
        }
    }

    /// EXECUTE.
    fn run_prepared(
        &self,
        name: &str,
        arguments: &[(Value, Type)],
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        match self.planned_prepared(name, arguments, relations)? {
            Planned::Query(query) => self.run_planned(query, relations, Form::Values),
            Planned::Statement(planned) => self.run_statement(*planned, relations),
        }
    }

    pub(crate) fn set(&self, name: &str, value: Option<&str>) -> Result<ResultSet> {
        let name = settings::own_name(name);
        if let Some(refused) = client_settings::refuse_fact(name) {
            return Err(refused);
        }
        if self.set_of_work(name, value)? || self.set_of_storage(name, value)? {
            return Ok(ResultSet::done("SET"));
        }
        match name {
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
    pub(crate) fn set_local(&self, name: &str, value: Option<&str>) -> Result<ResultSet> {
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
        if self.calls.load(Ordering::Acquire) == 0 {
            // The statement that called set_config has ended.
            self.apply_configured();
        }
        match name {
            "is_superuser" => return Some(if self.is_superuser() { "on" } else { "off" }.to_owned()),
            "session_authorization" => return Some(self.session_role_name()),
            _ => {}
        }
        database_setting(&self.database, name)
            .or_else(|| self.settings().get(name))
            .or_else(|| client_settings::fact(name).map(str::to_owned))
    }

    /// Whether settings or roles may be others than when this was last asked with the same `seen`: then what SHOW says of
    /// one may be another thing.
    pub fn has_new_settings(&self, seen: &mut SettingsSeen) -> bool {
        if self.calls.load(Ordering::Acquire) == 0 {
            self.apply_configured();
        }
        let published = (!self.is_in_block()).then(|| self.database.shared.catalog.published());
        let settings = self.settings_now();
        if published.is_some()
            && seen.published == published
            && seen.of.as_ref().is_some_and(|(under, _)| Arc::ptr_eq(under, &settings))
        {
            return false;
        }
        let snapshot = self.snapshot();
        let roles = snapshot.access();
        seen.published = published;
        // What is kept here is never changed in place, so that an address stands for what lies there.
        let same = |seen: &(Arc<Settings>, Arc<access::State>)| {
            Arc::ptr_eq(&seen.0, &settings) && Arc::ptr_eq(&seen.1, roles)
        };
        let is_new = !seen.of.as_ref().is_some_and(same);
        if is_new {
            seen.of = Some((settings, Arc::clone(roles)));
        }
        is_new
    }

    /// Whether the session's client is to be sent warnings, and notices (`client_min_messages`).
    pub fn sends_notices(&self) -> (bool, bool) {
        self.settings().client.sends()
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
        let settings = self.settings_now();
        let standard = self.standard.clone();
        SessionRelations::new(&self.database, self.environment(), snapshot, settings, standard)
            .with_statement(statement)
            .with_sequences(self.sequences.clone())
            .with_objects(self.objects().clone())
            .with_reject_tables(self.rejects.clone())
            .with_input_folder(self.input.clone())
            .with_questions(self.tick_or_cancel(), self.asked)
            .with_cursors(self.cursors.clone())
            .with_presence(self.presence.clone())
            .with_block(self.transaction_moment())
    }
}

/// The table that a plan reads first.
fn table_of(plan: &LogicalPlan) -> Option<plan::TableId> {
    match plan {
        LogicalPlan::Scan { source: ScanSource::Table { table, .. }, .. } => Some(*table),
        other => other.children().into_iter().find_map(table_of),
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
