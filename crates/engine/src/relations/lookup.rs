//! Relations of a statement as the engine uses them: how they are made, names by search path, what may be opened, and
//! what was found out while binding.
//!
//! They hold one snapshot for the whole statement; the context, the tick and the depth of questions are handed on from
//! the statement that asked. Called by planning, running and system views.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use catalog::{Snapshot, Table};
use files::Capability;
use formats::remote::Stores;
use formats::{Environment, RejectScan};
use plan::file::{MORE_FILES, PartColumn};
use plan::{FileSource, Rejects, TableId};
use types::{Error, Result, Schema, Value, quote};

use super::{Object, RejectTables, SessionRelations};
use crate::access::guard::Decision;
use crate::access::objects::AccessView;
use crate::access::{InputFolder, guard};
use crate::copy_streams::{StandardStreams, is_pipe};
use crate::cursors::Cursors;
use crate::database::Database;
use crate::mounts::{MAIN, Places};
use crate::pg_catalog::PgCatalog;
use crate::run::result_schema;
use crate::sequences::SequenceValues;
use crate::session::Tick;
use crate::sessions::Presence;
use crate::settings::Settings;
use crate::statement::StatementContext;
use crate::system::rejects;
use crate::{search_path, system};

impl SessionRelations {
    /// The view of a snapshot under a session's settings; the `with_` methods add what else the session has.
    pub fn new(
        database: &Database,
        environment: Environment,
        snapshot: Arc<Snapshot>,
        settings: Arc<Settings>,
        standard: Arc<StandardStreams>,
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
            presence: None,
            standard,
            sequences: SequenceValues::default(),
            input: None,
            own_names: AtomicBool::new(true),
            passing: AtomicBool::new(false),
            to_insert: false,
            began: None,
            pg_catalog: PgCatalog::default(),
        }
    }
    /// In a transaction block that began then.
    pub fn with_block(mut self, began: Option<i64>) -> Self {
        self.began = began;
        self
    }
    /// For rows that go into the tables that the text names.
    pub fn to_insert(mut self) -> Self {
        self.to_insert = true;
        self
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
    /// With the session's cursors.
    pub fn with_cursors(mut self, cursors: Cursors) -> Self {
        self.cursors = cursors;
        self
    }
    /// With what others see of the session.
    pub fn with_presence(mut self, presence: Arc<Presence>) -> Self {
        self.presence = Some(presence);
        self
    }
    /// What others see of the session.
    pub fn presence(&self) -> Option<&Arc<Presence>> {
        self.presence.as_ref()
    }
    /// Every setting and fact that SHOW tells, by name.
    pub fn settings_shown(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_text().unwrap_or_default().to_owned();
        let rows = self.settings().into_iter();
        rows.filter_map(|row| Some((text(row.first()?), text(row.get(1)?)))).collect()
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

    pub(super) fn temporary_folder(&self) -> std::path::PathBuf {
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
    pub(super) fn held_pipe(&self, path: &str) -> Result<Option<String>> {
        match is_pipe(path) {
            true => self
                .standard
                .held_pipe(self.environment.capability(), path, &self.temporary_folder())
                .map(Some),
            false => Ok(None),
        }
    }

    /// Describes files, with what comes out of pipes as files.
    pub(super) fn without_pipes(
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
    pub(super) fn with_rejects(
        &self,
        options: &[(String, String)],
        describe: impl FnOnce(&[(String, String)]) -> Result<FileSource>,
    ) -> Result<FileSource> {
        let said = rejects::said(options);
        let mut options = options.to_vec();
        let Some(wanted) = rejects::take_wanted(&mut options)? else { return describe(&options) };
        let mut source = describe(&options)?;
        rejects::check_noted(&source)?;
        if self.asked > 0 {
            // The statement that asks reads the file too, and notes what it rejects.
            source.set_rejects(&Rejects::ignored());
            return Ok(source);
        }
        let mut rejects = self.rejects();
        // A number says which scan, whatever the tables are called.
        let scan = 1 + rejects.values().map(|log| log.last_scan()).max().unwrap_or(0);
        let log = rejects.entry(wanted.table.clone()).or_default();
        log.limit(wanted.limit);
        log.note_scan(RejectScan { table: wanted.scans, scan, source: source.clone(), said });
        source.set_rejects(&Rejects::noted(&wanted.table, scan));
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
            settings: Arc::default(),
            tick: None,
            asked: 0,
            describing: false,
            rejects: Arc::default(),
            cursors: Cursors::default(),
            presence: None,
            standard: Arc::new(StandardStreams::new(sync::CancelToken::new())),
            sequences: SequenceValues::default(),
            input: None,
            own_names: AtomicBool::new(true),
            passing: AtomicBool::new(false),
            to_insert: false,
            began: None,
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
        views.map(|(schema, name, v)| (schema.clone(), name.clone(), super::answers::view_info(v))).collect()
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
        let Some(database) = &self.database else { return vec![] };
        let mut rows = system::settings(database, &self.settings);
        let known: Vec<Value> = rows.iter().filter_map(|row| row.first().cloned()).collect();
        let superuser = self.snapshot.access().is_superuser(self.settings.identity.current);
        for (name, value) in crate::client_settings::facts() {
            let value = if name == "is_superuser" && !superuser { "off" } else { value };
            let row = [name, value, "a fact of the server, which cannot be set"].map(Value::text);
            if !known.contains(&row[0]) {
                rows.push(row.to_vec());
            }
        }
        let session = self.snapshot.access().name(self.settings.identity.session);
        rows.push(
            ["session_authorization", &session, "whom the session began as; SET SESSION AUTHORIZATION"]
                .map(Value::text)
                .to_vec(),
        );
        rows
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
            presence: self.presence.clone(),
            sequences: self.sequences.clone(),
            path: Mutex::default(),
            input: None,
            own_names: AtomicBool::new(true),
            passing: AtomicBool::new(false),
            to_insert: false,
            began: self.began,
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
    pub(super) fn check_system_function(&self, function: &str) -> Result<()> {
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
    pub(super) fn of_the_moment<T>(&self, told: T) -> T {
        self.passing.store(true, Relaxed);
        told
    }
    /// The system catalog of the statement's snapshot.
    pub fn pg_catalog(&self) -> Arc<pgcatalog::Catalog> {
        self.pg_catalog.of(self)
    }
    /// The session's settings.
    pub fn session_settings(&self) -> &Arc<Settings> {
        &self.settings
    }
    /// Schemas in which names without one are looked for before the default one.
    pub fn path(&self) -> Vec<String> {
        self.path.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// The schema in which a name is found that has none of its own, where the path says so.
    pub(super) fn schema_of(&self, schema: Option<&str>, name: &str) -> Option<String> {
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
    pub(super) fn named<'s, T>(
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
