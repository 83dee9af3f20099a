//! The catalog as the SQL front end sees it.
//!
//! A [`SessionRelations`] is made for each statement, from one snapshot and the session's settings, objects and
//! search path. Names, statistics and execution all use it, so that they agree; it never sees commits that come
//! later. The binder asks it through `sql::Relations`, the plan cache through `lasts`. Queries that planning itself
//! runs (columns of a PIVOT, descriptions of views) use a session of their own over the same snapshot, at most
//! `QUESTIONS_MAX` inside each other. A question whose answer neither the snapshot nor the settings decide sets
//! `passing`, and the plan is not cached.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use access::{ObjectKey, PolicyCommand, Predefined, Privilege, RoleId};
use catalog::{Snapshot, Table};
use files::Capability;
use formats::Environment;
use formats::remote::Stores;
use plan::file::{MORE_FILES, PartColumn};
use plan::{FileSource, Rejects, TableId};
use types::quote;
use types::{Error, Result, Schema, Type, Value};

use crate::access::guard::{self, Decision};
use crate::access::objects::{self, AccessView};
use crate::access::{InputFolder, policies};
use crate::copy_streams::{StandardStreams, is_pipe};
use crate::cursors::Cursors;
use crate::database::Database;
use crate::mounts::{MAIN, Places, draws};
use crate::pg_catalog::{self, PgCatalog};
use crate::run::result_schema;
use crate::search_path;
use crate::sequences::SequenceValues;
use crate::session::{Session, Tick};
use crate::settings::Settings;
use crate::statement::StatementContext;
use crate::system::{self, rejects};

/// One statement's view: a snapshot, so that planning, statistics and execution agree.
pub(crate) struct SessionRelations {
    snapshot: Arc<Snapshot>,
    database: Option<Database>,
    environment: Environment,
    /// The statement that asks.
    statement: Option<Arc<StatementContext>>,
    /// What the session has registered, by name.
    objects: HashMap<String, Object>,
    settings: Settings,
    /// Called while a question is answered that planning asks.
    tick: Option<Tick>,
    /// How many questions this one is inside of.
    asked: usize,
    /// Views are being described: their columns are not known meanwhile.
    describing: bool,
    /// What the session's scans have rejected, by the name of the table.
    rejects: Arc<Mutex<RejectTables>>,
    cursors: Cursors,
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

impl SessionRelations {
    /// The view of a snapshot under a session's settings; the `with_` methods add what else the session has.
    pub fn new(
        database: &Database,
        environment: Environment,
        snapshot: Arc<Snapshot>,
        settings: Settings,
    ) -> Self {
        SessionRelations {
            snapshot,
            database: Some(database.clone()),
            environment,
            statement: None,
            objects: HashMap::new(),
            path: Mutex::new(settings.search_path.clone()),
            settings,
            tick: None,
            asked: 0,
            describing: false,
            rejects: Arc::default(),
            cursors: Cursors::default(),
            standard: Arc::new(StandardStreams::new(sync::CancelToken::new())),
            sequences: SequenceValues::default(),
            input: None,
            own_names: AtomicBool::new(true),
            passing: AtomicBool::new(false),
            pg_catalog: PgCatalog::default(),
        }
    }
    /// With a tick to call while planning runs queries of its own, and the depth of such queries.
    pub fn with_questions(mut self, tick: Tick, asked: usize) -> Self {
        (self.tick, self.asked) = (Some(tick), asked);
        self
    }
    /// With the relations that the session has registered, by name in lower case.
    pub fn with_objects(mut self, objects: HashMap<String, Object>) -> Self {
        self.objects = objects;
        self
    }
    /// With the session's last values of sequences, for `currval` and `lastval`.
    pub fn with_sequences(mut self, sequences: SequenceValues) -> Self {
        self.sequences = sequences;
        self
    }
    /// With the streams that COPY FROM STDIN and pipes are read through.
    pub fn with_standard_streams(mut self, standard: Arc<StandardStreams>) -> Self {
        self.standard = standard;
        self
    }
    /// With the session's cursors.
    pub fn with_cursors(mut self, cursors: Cursors) -> Self {
        self.cursors = cursors;
        self
    }
    /// The session's cursors.
    pub fn cursors(&self) -> &Cursors {
        &self.cursors
    }
    /// With the session's logs of rejected rows, which scans of this statement add to.
    pub fn with_reject_tables(mut self, rejects: Arc<Mutex<RejectTables>>) -> Self {
        self.rejects = rejects;
        self
    }
    /// The logs of rejected rows, locked.
    pub fn rejects(&self) -> MutexGuard<'_, RejectTables> {
        self.rejects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// With the folder for what is read of streams where the role may open no files.
    pub fn with_input_folder(mut self, folder: Arc<InputFolder>) -> Self {
        self.input = Some(folder);
        self
    }

    fn temporary_folder(&self) -> std::path::PathBuf {
        let plain = !self.snapshot.access().is_superuser(self.settings.identity.current);
        if let Some(folder) = self.input.as_ref().filter(|_| plain) {
            return folder.made();
        }
        let folder = self.database.as_ref().map(Database::temp_directory).filter(|folder| !folder.is_empty());
        folder.map_or_else(std::env::temp_dir, std::path::PathBuf::from)
    }

    /// As part of a statement, to which its plans and their time belong.
    pub fn with_statement(mut self, statement: Option<Arc<StatementContext>>) -> Self {
        self.statement = statement;
        self
    }
    /// The statement that asks; `None` while one is only described.
    pub fn statement(&self) -> Option<&Arc<StatementContext>> {
        self.statement.as_ref()
    }
    /// What files are opened with.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The file that holds what comes out of a pipe; `None` for what is no pipe.
    fn held_pipe(&self, path: &str) -> Result<Option<String>> {
        match is_pipe(path) {
            true => self
                .standard
                .held_pipe(self.environment.capability(), path, &self.temporary_folder())
                .map(Some),
            false => Ok(None),
        }
    }

    /// Describes files, with what comes out of pipes as files.
    fn without_pipes(
        &self,
        path: &str,
        options: &[(String, String)],
        describe: impl FnOnce(&str, &[(String, String)]) -> Result<FileSource>,
    ) -> Result<FileSource> {
        let mut held: Vec<(String, String)> = Vec::new();
        let mut read = |path: &str| {
            Ok::<_, Error>(match self.held_pipe(path)? {
                Some(file) => {
                    held.push((file.clone(), path.to_owned()));
                    file
                }
                None => path.to_owned(),
            })
        };
        let first = read(path)?;
        let mut options = options.to_vec();
        for (_, more) in options.iter_mut().filter(|(name, _)| name == MORE_FILES) {
            *more = read(more)?;
        }
        let mut source = describe(&first, &options)?;
        if !held.is_empty() {
            // What the column filename says is what the user has said.
            let mut parts = source.parts.to_vec();
            for column in parts.iter_mut().flat_map(|part| &mut part.columns) {
                if let PartColumn::Constant(value) = column
                    && let Some((_, pipe)) = held.iter().find(|(file, _)| value.as_text() == Some(file))
                {
                    *value = Value::text(pipe);
                }
            }
            source.parts = parts.into();
        }
        Ok(source)
    }

    /// Describes a file whose rejects go into a table, if the options say so.
    fn with_rejects(
        &self,
        options: &[(String, String)],
        describe: impl FnOnce(&[(String, String)]) -> Result<FileSource>,
    ) -> Result<FileSource> {
        let mut options = options.to_vec();
        let Some(table) = rejects::take_table(&mut options)? else { return describe(&options) };
        let mut source = describe(&options)?;
        rejects::check_noted(&source)?;
        if self.asked > 0 {
            // The statement that asks reads the file too, and notes what it rejects.
            source.set_rejects(&Rejects::ignored());
            return Ok(source);
        }
        let scan = self.rejects().entry(table.clone()).or_default().new_scan();
        source.set_rejects(&Rejects::noted(&table, scan));
        Ok(source)
    }

    /// A view of the snapshot alone, without a database, session objects or settings: for plans that name tables
    /// directly.
    pub fn with_snapshot(snapshot: Arc<Snapshot>) -> Self {
        SessionRelations {
            snapshot,
            database: None,
            environment: Environment::new(Capability::nothing(), Stores::new()),
            statement: None,
            objects: HashMap::new(),
            path: Mutex::default(),
            settings: Settings::default(),
            tick: None,
            asked: 0,
            describing: false,
            rejects: Arc::default(),
            cursors: Cursors::default(),
            standard: Arc::new(StandardStreams::new(sync::CancelToken::new())),
            sequences: SequenceValues::default(),
            input: None,
            own_names: AtomicBool::new(true),
            passing: AtomicBool::new(false),
            pg_catalog: PgCatalog::default(),
        }
    }
    /// The database; `None` for a view of a snapshot alone.
    pub fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }
    /// All views: schema, name, definition.
    pub fn views(&self) -> Vec<(String, String, sql::ViewInfo)> {
        let schemas = self.snapshot.schemas().iter();
        let views =
            schemas.flat_map(|(schema, held)| held.views.iter().map(move |(name, v)| (schema, name, v)));
        views.map(|(schema, name, v)| (schema.clone(), name.clone(), view_info(v))).collect()
    }
    /// What COMMENT ON VIEW has set; `None` without a comment or without such a view.
    pub fn view_comment(&self, schema: &str, name: &str) -> Option<String> {
        self.snapshot.view(Some(schema), name)?.comment.clone()
    }
    /// All macros, and whether they give tables.
    pub fn macros(&self) -> Vec<(String, bool)> {
        let own = self.settings.macros.iter().map(|(name, called)| (name, called.table));
        let all = own.chain(self.snapshot.macros().iter().map(|(name, called)| (name, called.table)));
        // Its further forms go by the first one's name.
        all.filter(|(name, _)| !name.contains('/'))
            .map(|(name, table)| (self.snapshot.shown(name), table))
            .collect()
    }
    /// Functions of the host program by name.
    pub fn externals(&self) -> Vec<(String, plan::External)> {
        self.database.as_ref().map(|d| d.shared.definitions.externals()).unwrap_or_default()
    }
    /// What the pool of blocks has done.
    pub fn pool_statistics(&self) -> pool::PoolStatistics {
        self.database.as_ref().map(Database::pool_statistics).unwrap_or_default()
    }
    /// What the database's sessions have run.
    pub fn workload(&self) -> Vec<crate::workload::Recorded> {
        self.database.as_ref().map(|d| d.shared.workload.all().0).unwrap_or_default()
    }
    /// Every setting: name, value, meaning.
    pub fn settings(&self) -> Vec<Vec<Value>> {
        self.database.as_ref().map(|d| system::settings(d, &self.settings)).unwrap_or_default()
    }
    /// What a view's query gives; `None` when it cannot be bound, or while another view's is.
    pub fn view_columns(&self, schema: &str, name: &str) -> Option<Schema> {
        if self.describing {
            return None;
        }
        let inner = SessionRelations {
            snapshot: self.snapshot.clone(),
            database: self.database.clone(),
            environment: self.environment.clone(),
            statement: self.statement.clone(),
            objects: self.objects.clone(),
            settings: self.settings.clone(),
            tick: None,
            asked: 0,
            describing: true,
            standard: self.standard.clone(),
            rejects: self.rejects.clone(),
            cursors: self.cursors.clone(),
            sequences: self.sequences.clone(),
            path: Mutex::default(),
            input: None,
            own_names: AtomicBool::new(true),
            passing: AtomicBool::new(false),
            pg_catalog: PgCatalog::default(),
        };
        let text = format!("SELECT * FROM {}", quote::qualified(schema, name));
        match sql::plan_one(&text, &inner) {
            Ok(plan::Statement::Query(query)) => Some(result_schema(&query)),
            _ => None,
        }
    }
    /// What the session may see of objects and of what others do.
    pub fn access(&self) -> AccessView<'_> {
        AccessView::new(&self.snapshot, self.settings.identity)
    }
    fn check_system_function(&self, function: &str) -> Result<()> {
        let (state, identity) = (self.snapshot.access(), self.settings.identity);
        match guard::system_function(function) {
            Decision::Everyone | Decision::OwnRows | Decision::OwnQuery | Decision::WhereOpened => Ok(()),
            Decision::Needs(role) => crate::access::needs(state, identity, role, &format!("read {function}")),
            Decision::Superuser if state.is_superuser(identity.current) => Ok(()),
            Decision::Superuser => Err(access::denied(format!("permission denied to read {function}"))),
        }
    }
    /// The number of the session that asks.
    pub fn session_number(&self) -> Option<u64> {
        self.statement.as_ref().map(|statement| statement.query().session())
    }
    /// Whether what was bound so far would be bound alike again, as long as the snapshot and the settings stay:
    /// nothing was asked of files, of the host program, of the system's state or of the clock.
    pub fn lasts(&self) -> bool {
        !self.passing.load(Relaxed)
    }
    /// What is told is of the moment.
    fn of_the_moment<T>(&self, told: T) -> T {
        self.passing.store(true, Relaxed);
        told
    }
    /// The system catalog of the statement's snapshot.
    pub fn pg_catalog(&self) -> Arc<pgcatalog::Catalog> {
        self.pg_catalog.of(self)
    }
    /// The session's settings.
    pub fn session_settings(&self) -> &Settings {
        &self.settings
    }
    /// Schemas in which names without one are looked for before the default one.
    pub fn path(&self) -> Vec<String> {
        self.path.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// The schema in which a name is found that has none of its own, where the path says so.
    fn schema_of(&self, schema: Option<&str>, name: &str) -> Option<String> {
        match schema {
            Some(schema) => Some(schema.to_owned()),
            None => search_path::find(&self.places(&self.path()), name),
        }
    }
    /// Where names are looked for.
    pub fn places<'a>(&'a self, path: &'a [String]) -> Places<'a> {
        let main = self.database.as_ref().map_or(MAIN, |database| database.shared.name.as_str());
        Places { snapshot: &self.snapshot, path, main }
    }
    /// What a name of a macro or a type means.
    fn named<'s, T>(
        &'s self,
        schema: Option<&str>,
        name: &str,
        held: &'s BTreeMap<String, Arc<T>>,
    ) -> Option<(String, &'s Arc<T>)> {
        let path = self.path();
        let mut keys = search_path::keys_of(&self.places(&path), schema, name).into_iter();
        keys.find_map(|key| held.get(&key).map(|found| (key, found)))
    }
    /// The state that names are resolved in.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }
    /// The table in this snapshot; an internal error when the snapshot does not have it.
    pub fn table_by_id(&self, id: TableId) -> Result<Arc<Table>> {
        self.snapshot
            .table_by_id(catalog::TableId(id.0))
            .cloned()
            .ok_or_else(|| Error::internal(format!("table {} is not in the snapshot", id.0)))
    }
}

impl sql::Relations for SessionRelations {
    fn table(&self, schema: Option<&str>, name: &str) -> Result<Option<sql::RelationInfo>> {
        if schema == Some(system::INFORMATION_SCHEMA) {
            return Err(system::unknown_view(name));
        }
        let found = self.schema_of(schema, name);
        let Some(table) = self.snapshot.find(found.as_deref(), name) else { return Ok(None) };
        let default = |attributes: &catalog::ColumnAttributes| {
            attributes.default.as_ref().map(|text| draws::read(text, &table.schema, &self.snapshot))
        };
        Ok(Some(sql::RelationInfo {
            id: TableId(table.id.0),
            name: table.name.clone(),
            columns: table.columns.clone(),
            primary_key: table.keys.iter().find(|k| k.primary).map(|k| k.columns.clone()),
            has_nulls: table.data.all_statistics().iter().map(|s| s.null_count > 0).collect(),
            defaults: table.attributes.iter().map(default).collect(),
            generated: table.attributes.iter().map(|a| a.generated.clone()).collect(),
            unique: table.keys.iter().filter(|k| !k.primary).map(|k| k.columns.clone()).collect(),
        }))
    }
    fn rows(&self, table: TableId) -> Option<u64> {
        self.table_by_id(table).ok().map(|t| t.rows())
    }
    fn view(&self, schema: Option<&str>, name: &str) -> Option<sql::ViewInfo> {
        if schema == Some(system::INFORMATION_SCHEMA) {
            return system::information_schema_view(name);
        }
        let found = self.schema_of(schema, name);
        // A temporary table hides a view of its name.
        if self.snapshot.find(found.as_deref(), name).is_some() {
            return None;
        }
        let view = self.snapshot.view(found.as_deref(), name).map(|view| view_info(view));
        let view = view.map(|view| sql::ViewInfo { schema: found, ..view });
        // Tables of rejects come last: their names are not the user's choice.
        let view = view.or_else(|| {
            let known = schema.is_none() && self.rejects().contains_key(name);
            known.then(|| rejects::view(name))
        });
        // And the database's own after these.
        view.or_else(|| if schema.is_none() { system::view(name) } else { None })
    }
    fn view_owner(&self, schema: Option<&str>, name: &str) -> Option<(RoleId, (String, String))> {
        let found = self.schema_of(schema, name);
        if self.snapshot.find(found.as_deref(), name).is_some() {
            return None;
        }
        self.snapshot.view(found.as_deref(), name)?;
        match self.snapshot.relation_key(found.as_deref(), name)? {
            // A view of an attached database has no owner here: whoever reads it needs what it reads.
            key if objects::is_attached(&self.snapshot, &key) => None,
            ObjectKey::View(schema, name) => {
                let key = ObjectKey::View(schema.clone(), name.clone());
                Some((self.snapshot.access().owner(&key), (schema, name)))
            }
            _ => None,
        }
    }
    fn check_use(
        &self,
        used: &sql::Used,
        privilege: Privilege,
        columns: &[&str],
        role: Option<RoleId>,
    ) -> Result<()> {
        let role = role.unwrap_or(self.settings.identity.current);
        let state = self.snapshot.access();
        if state.is_superuser(role) {
            return Ok(());
        }
        match used {
            sql::Used::Table(id) => {
                let table = self.table_by_id(*id)?;
                let place = (&ObjectKey::Table(id.0), table.schema.as_str(), table.name.as_str());
                objects::check_relation(&self.snapshot, role, place, privilege, columns)
            }
            sql::Used::View(schema, name) => {
                let key = ObjectKey::View(schema.clone(), name.clone());
                objects::check_relation(&self.snapshot, role, (&key, schema, name), privilege, columns)
            }
        }
    }
    fn row_policy(
        &self,
        table: TableId,
        command: PolicyCommand,
        role: Option<RoleId>,
    ) -> Result<Option<sql::RowPolicy>> {
        let role = role.unwrap_or(self.settings.identity.current);
        let (state, key) = (self.snapshot.access(), ObjectKey::Table(table.0));
        let Some(object) = policies::holds_for(state, &key, role) else { return Ok(None) };
        let mut condition = policies::condition(state, &object, role, command, false);
        if matches!(command, PolicyCommand::Update | PolicyCommand::Delete) {
            // What may not be seen cannot be changed either.
            let seen = policies::condition(state, &object, role, PolicyCommand::Select, false);
            condition = format!("({condition}) AND ({seen})");
        }
        Ok(Some(sql::RowPolicy { condition, owner: object.owner }))
    }
    fn hide_own_names(&self, owner: RoleId) -> bool {
        let current = self.settings.identity.current;
        let same = owner == current || self.snapshot.access().is_superuser(current);
        let before = self.own_names.load(Relaxed);
        self.own_names.store(before && same, Relaxed);
        before
    }
    fn own_names(&self) -> bool {
        self.own_names.load(Relaxed)
    }
    fn show_own_names(&self, shown: bool) {
        self.own_names.store(shown, Relaxed);
    }
    fn check_macro(&self, schema: Option<&str>, name: &str) -> Result<()> {
        let own = &self.settings.macros;
        if self.own_names.load(Relaxed)
            && schema.is_none_or(|schema| schema == catalog::TEMPORARY_SCHEMA)
            && own.contains_key(name)
        {
            return Ok(());
        }
        match self.named(schema, name, self.snapshot.macros()) {
            Some((key, _)) => {
                let role = self.settings.identity.current;
                let (home, shown) = self.snapshot.place_of(&key);
                objects::check_schema(&self.snapshot, role, &home, Privilege::Usage)?;
                self.snapshot.access().check(
                    role,
                    &ObjectKey::Routine(key.clone()),
                    Privilege::Execute,
                    shown,
                )
            }
            None => Ok(()),
        }
    }
    fn check_host_function(&self, name: &str) -> Result<()> {
        match self.sequences.function(name, self) {
            // It asks about the sequence that it is given.
            Some(_) => Ok(()),
            None => {
                let what = format!("call function {name} of the host program");
                let identity = self.settings.identity;
                crate::access::needs(self.snapshot.access(), identity, Predefined::HostFunctions, &what)
            }
        }
    }
    fn macro_named(&self, schema: Option<&str>, name: &str) -> Vec<sql::MacroInfo> {
        let own = &self.settings.macros;
        if self.own_names.load(Relaxed)
            && schema.is_none_or(|schema| schema == catalog::TEMPORARY_SCHEMA)
            && own.contains_key(name)
        {
            return (1..).map_while(|number| own.get(&sql::form_name(name, number)).cloned()).collect();
        }
        let macros = self.snapshot.macros();
        let Some((key, _)) = self.named(schema, name, macros) else { return vec![] };
        let info = |called: &Arc<catalog::Macro>| {
            let catalog::Macro { parameters, text, table } = (**called).clone();
            sql::MacroInfo { parameters, text, table }
        };
        (1..).map_while(|number| macros.get(&sql::form_name(&key, number)).map(info)).collect()
    }
    fn type_named(&self, schema: Option<&str>, name: &str) -> Option<Type> {
        self.named(schema, name, self.snapshot.types()).map(|(_, ty)| **ty)
    }
    fn type_names(&self, schema: Option<&str>) -> Vec<String> {
        let mut names: Vec<String> =
            self.snapshot.types().keys().map(|key| self.snapshot.place_of(key).1.to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| self.named(schema, name, self.snapshot.types()).is_some());
        names
    }
    fn variable(&self, name: &str) -> Option<(Value, Type)> {
        self.of_the_moment(self.settings.variables.get(name).cloned())
    }
    fn external(&self, name: &str) -> Option<plan::External> {
        let found = match self.sequences.function(name, self) {
            Some(function) => Some(function),
            None => self.database.as_ref()?.shared.definitions.external(name),
        };
        found.map(|function| self.of_the_moment(function))
    }
    fn catalog_functions(&self, name: &str) -> Vec<Arc<plan::ExternalFunction>> {
        let found = pg_catalog::functions(self, name);
        if found.is_empty() { found } else { self.of_the_moment(found) }
    }
    fn unique_constraint(&self, table: TableId, name: &str) -> Option<Vec<usize>> {
        let table = self.table_by_id(table).ok()?;
        let key = table.keys.iter().find(|k| k.constraint_name(&table.name, &table.columns) == name)?;
        Some(key.columns.clone())
    }
    fn file(&self, path: &str, options: &[(String, String)]) -> Result<FileSource> {
        self.of_the_moment(self.without_pipes(path, options, |path, options| {
            self.with_rejects(options, |options| formats::describe(&self.environment, path, options))
        }))
    }
    fn file_as(&self, path: &str, options: &[(String, String)], table: &Schema) -> Result<FileSource> {
        self.of_the_moment(self.without_pipes(path, options, |path, options| {
            self.with_rejects(options, |options| {
                formats::describe_as(&self.environment, path, options, table)
            })
        }))
    }
    fn standard_input(&self, format: &str) -> Result<String> {
        self.of_the_moment(self.standard.held(
            self.environment.capability(),
            format,
            &self.temporary_folder(),
        ))
    }
    fn sniffed(&self, path: &str, options: &[(String, String)]) -> Result<sql::SystemRows> {
        let pipe = self.held_pipe(path)?;
        let path = pipe.as_deref().unwrap_or(path);
        let (columns, rows) = formats::report(&self.environment, path, options)?;
        self.of_the_moment(Ok(sql::SystemRows { columns, rows }))
    }
    fn seed(&self) -> u64 {
        self.of_the_moment(sql::chance())
    }
    fn null_order(&self) -> sql::NullOrder {
        self.settings.null_order
    }
    fn moment(&self) -> i64 {
        self.of_the_moment(sql::clock())
    }
    fn object(&self, name: &str) -> Option<FileSource> {
        let object = self.objects.get(&name.to_lowercase())?;
        Some(self.of_the_moment(object.source.clone()))
    }
    fn system(&self, function: &str) -> Result<Option<sql::SystemRows>> {
        if let Some(rows) = pg_catalog::rows(self, function) {
            return self.of_the_moment(Ok(Some(rows)));
        }
        if system::FUNCTIONS.contains(&function) {
            self.check_system_function(function)?;
        }
        self.of_the_moment(system::rows(self, function))
    }
    fn system_of(&self, function: &str, arguments: &[Value]) -> Result<Option<sql::SystemRows>> {
        self.of_the_moment(system::rows_of(self, function, arguments))
    }
    fn current_schema(&self) -> String {
        search_path::current(&self.path()).to_owned()
    }
    fn schema_key(&self, database: Option<&str>, schema: &str) -> Result<String> {
        self.places(&self.path()).key(database, schema)
    }
    fn schema_to_change(&self, database: Option<&str>, schema: &str) -> Result<String> {
        self.places(&self.path()).schema_to_change(database, schema)
    }
    fn database_and_schema(&self, key: &str) -> (String, String) {
        let path = self.path();
        let places = self.places(&path);
        let (database, schema) = places.shown(key);
        let schema = if schema == catalog::DEFAULT_SCHEMA { self.settings.default_schema() } else { schema };
        (database.to_owned(), schema.to_owned())
    }
    fn database_named(&self, name: &str) -> Option<String> {
        let path = self.path();
        let places = self.places(&path);
        Some(places.database(name)?.map_or_else(|| places.main.to_owned(), |mounted| mounted.name.clone()))
    }
    fn current_user(&self) -> String {
        match &self.settings.role {
            Some(name) => name.to_string(),
            None => self.snapshot.access().name(self.settings.identity.current),
        }
    }
    fn session_user(&self) -> String {
        match self.settings.identity {
            identity if identity.session != identity.current => self.snapshot.access().name(identity.session),
            _ => self.current_user(),
        }
    }
    fn search_in(&self, schemas: Vec<String>) -> Vec<String> {
        std::mem::replace(&mut *self.path.lock().unwrap_or_else(PoisonError::into_inner), schemas)
    }
    fn answer(&self, query: &str) -> Result<sql::SystemRows> {
        self.of_the_moment(());
        let answers = !self.describing && self.asked < QUESTIONS_MAX;
        let Some(database) = self.database.as_ref().filter(|_| answers) else {
            return Err(Error::unsupported("PIVOT must be given its values here")
                .with_hint("write ON k IN ('a', 'b')"));
        };
        let (tick, asked) = (self.tick.clone(), self.asked + 1);
        let (environment, rejects) = (&self.environment, &self.rejects);
        let mut session =
            Session::asked(database, environment, &self.settings, &self.objects, rejects, tick, asked);
        session.pinned = Some(self.snapshot.clone());
        // What this statement has read of a pipe is there for the question.
        session.standard = self.standard.clone();
        let result = session.query(query)?;
        let mut rows = Vec::with_capacity(result.rows());
        for batch in result.batches() {
            rows.extend((0..batch.rows).map(|row| batch.columns.iter().map(|c| c.value(row)).collect()));
        }
        Ok(sql::SystemRows { columns: result.schema().clone(), rows })
    }
    fn system_functions(&self) -> &'static [&'static str] {
        &system::FUNCTIONS
    }
    fn names_in(&self, schema: Option<&str>) -> Vec<String> {
        let path = self.path();
        let default = self.places(&path).default_schema();
        let searched = |name: &str| match schema {
            Some(schema) => name == schema,
            None => path.iter().any(|s| s == name) || name == default || name == catalog::TEMPORARY_SCHEMA,
        };
        let schemas = self.snapshot.schemas().iter().filter(|(name, _)| searched(name));
        let mut names: Vec<String> = schemas
            .flat_map(|(_, held)| held.tables.keys().chain(held.views.keys()).chain(held.sequences.keys()))
            .cloned()
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
    fn schema_names(&self) -> Vec<String> {
        self.snapshot.schemas().keys().cloned().collect()
    }
    fn table_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.snapshot.tables().map(|t| t.name.clone()).collect();
        names.extend(self.snapshot.schemas().values().flat_map(|s| s.views.keys().cloned()));
        names
    }
}

fn view_info(view: &catalog::View) -> sql::ViewInfo {
    sql::ViewInfo { columns: view.columns.clone(), text: view.text.clone(), schema: None }
}
