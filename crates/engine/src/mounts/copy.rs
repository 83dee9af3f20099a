//! COPY FROM DATABASE: everything of one database into another.

use types::quote;
use types::{Error, Result, SqlState};

use super::Places;
use super::names::unknown_database;
use crate::Session;
use crate::export::{afterwards, definitions};
use crate::result::ResultSet;
use crate::statement::Within;

/// Puts the session's path back.
struct Path<'s>(&'s Session, Vec<String>);

impl Drop for Path<'_> {
    fn drop(&mut self) {
        self.0.settings().search_path = std::mem::take(&mut self.1);
    }
}

impl Session {
    /// COPY FROM DATABASE a TO b: schemas, types, sequences, macros, tables with their rows, views, keys and indices,
    /// all or none. What `b` has already is in the way.
    pub(crate) fn copy_database(
        &self,
        from: &str,
        to: &str,
        schema_only: bool,
        statement: Within<'_>,
    ) -> Result<ResultSet> {
        let shared = &self.database.shared;
        let snapshot = self.snapshot();
        let places = Places { snapshot: &snapshot, path: &[], main: &shared.name };
        let found = |name: &str| {
            let database =
                places.database(name).ok_or_else(|| unknown_database(name, &places.databases()))?;
            Ok::<_, Error>(database.map(|mounted| mounted.name.clone()))
        };
        let (from, to) = (found(from)?, found(to)?);
        if from == to {
            let message = "a database cannot be copied into itself";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        let source = snapshot.of_database(from.as_deref())?;
        let before = self.settings().search_path.clone();
        let _path = Path(self, before);
        self.settings().search_path =
            to.iter().map(|name| format!("{name}.{}", catalog::DEFAULT_SCHEMA)).collect();
        let run = |script: &str| {
            sql::split(script)?.iter().try_for_each(|part| {
                self.go_on()?;
                self.run_text(part.of(script), statement).map(drop)
            })
        };
        run(&definitions(&source)?)?;
        let mut tables: Vec<_> =
            source.tables().filter(|table| !table.is_temporary() && table.wide.is_none()).collect();
        tables.sort_by_key(|table| table.id);
        let name_in = |database: &Option<String>, schema: &str, name: &str| {
            let database = database.as_deref().unwrap_or(super::MAIN);
            format!("{}.{}.{}", quote::name(database), quote::name(schema), quote::name(name))
        };
        for table in tables.iter().filter(|table| !schema_only && table.rows() > 0) {
            let fields = table.columns.fields().iter().zip(&table.attributes);
            let given: Vec<String> = fields
                .filter(|(_, attributes)| attributes.generated.is_none())
                .map(|(field, _)| quote::name(&field.name))
                .collect();
            let given = given.join(", ");
            run(&format!(
                "INSERT INTO {} ({given}) OVERRIDING SYSTEM VALUE SELECT {given} FROM {}",
                name_in(&to, &table.schema, &table.name),
                name_in(&from, &table.schema, &table.name),
            ))?;
        }
        run(&afterwards(&source)?)?;
        Ok(ResultSet::done(format!("COPY {}", tables.len())))
    }
}
