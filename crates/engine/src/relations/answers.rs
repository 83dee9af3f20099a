//! What the binder asks of relations: which name means what, columns, macros, files, privileges.
//!
//! Answers are those of the statement's snapshot and settings. One that neither decides (the clock, files, rows of a
//! question) is noted by `of_the_moment`, so that the plan is not kept. Privileges are checked where a name is found.
//! Called by `sql` alone.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use access::{ObjectKey, PolicyCommand, Predefined, Privilege, RoleId};
use plan::{FileSource, TableId};
use types::{Error, Result, Schema, Type, Value};

use super::{QUESTIONS_MAX, SessionRelations};
use crate::access::{objects, policies};
use crate::mounts::draws;
use crate::session::Session;
use crate::system::rejects;
use crate::{pg_catalog, search_path, system};

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
        // PostgreSQL reads a sequence as a relation of one row.
        let view = view.or_else(|| match self.snapshot.relation_key(found.as_deref(), name)? {
            ObjectKey::Sequence(schema, name) => Some(pg_catalog::sequence_view(&schema, &name)),
            _ => None,
        });
        let view = view.map(|view| sql::ViewInfo { schema: found, ..view });
        // Tables of rejects come last: their names are not the user's choice.
        let view = view.or_else(|| if schema.is_none() { rejects::view(self, name) } else { None });
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
                let reads = privilege == Privilege::Select;
                let privilege = if reads && self.to_insert { Privilege::Insert } else { privilege };
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
        if self.settings.client.get("row_security").as_deref() == Some("off") {
            let name = self.table_by_id(table).map(|table| table.name.clone()).unwrap_or_default();
            let message =
                format!("query would be affected by row-level security policy for table \"{name}\"");
            return Err(access::denied(message).with_hint("SET row_security = on lets policies hide rows"));
        }
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
    fn table_parts(&self, table: TableId) -> Result<sql::TableParts> {
        let table = self.table_by_id(table)?;
        Ok(sql::TableParts {
            checks: table.checks.iter().map(|check| (check.name.clone(), check.text.clone())).collect(),
            keys: table.keys.iter().map(|key| crate::export::key_text(&table, key)).collect(),
            index: table.indices.first().map(|index| index.name.clone()),
            comments: table.attributes.iter().map(|attributes| attributes.comment.clone()).collect(),
        })
    }
    fn file(&self, path: &str, options: &[(String, String)]) -> Result<FileSource> {
        if let Some(format) = crate::lake_tables::format_of(&self.environment, path, options) {
            return self.of_the_moment(lakes::describe(&self.environment, format, path, options));
        }
        self.of_the_moment(self.without_pipes(path, options, |path, options| {
            self.with_rejects(options, |options| formats::describe(&self.environment, path, options))
        }))
    }
    fn file_as(&self, path: &str, options: &[(String, String)], table: &Schema) -> Result<FileSource> {
        if let Some((format, options)) = crate::lake_tables::format_to_copy(&self.environment, path, options)
        {
            return self.of_the_moment(lakes::describe(&self.environment, format, path, &options));
        }
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
    fn refuses_several_rows(&self) -> bool {
        self.settings.refuses_several_rows
    }
    fn default_collation(&self) -> types::Collation {
        self.settings.default_collation
    }
    fn null_order(&self) -> sql::NullOrder {
        self.settings.null_order
    }
    fn moment(&self) -> i64 {
        self.of_the_moment(sql::clock())
    }
    fn transaction_moment(&self) -> Option<i64> {
        self.began
    }
    fn object(&self, name: &str) -> Option<FileSource> {
        let object = self.objects.get(&name.to_lowercase())?;
        Some(self.of_the_moment(object.source.clone()))
    }
    fn system(&self, function: &str) -> Result<Option<sql::SystemRows>> {
        if let Some(rows) = pg_catalog::rows(self, function)? {
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

pub(super) fn view_info(view: &catalog::View) -> sql::ViewInfo {
    sql::ViewInfo { columns: view.columns.clone(), text: view.text.clone(), schema: None }
}
