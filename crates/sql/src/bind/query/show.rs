//! SHOW: what there is, as queries over the functions that list the catalog.
//!
//! Each SHOW is written out as SQL over `quickstep_tables()` and its kin, and bound like any text of this crate.
//! Without FROM, it lists what names without a schema find. SHOW of a setting returns None: the engine knows its
//! value. Called by `describe::inspect`.

use syntax::Span;
use syntax::tree::{self, Show};
use types::quote;
use types::{Error, Result, SqlState};

use crate::bind::refusal::unsupported;
use crate::bind::scope::nearest;
use crate::bind::{Binder, Relation, folded};

/// Tables and views.
const LISTED: &str = "(SELECT database_name, schema_name, table_name AS name FROM quickstep_tables() UNION ALL \
                      SELECT database_name, schema_name, view_name FROM quickstep_views()) AS listed";

const ALL_TABLES: &str = "SELECT database_name AS database, schema_name AS schema, table_name AS name, \
    '[' || string_agg(column_name, ', ') || ']' AS column_names, \
    '[' || string_agg(data_type, ', ') || ']' AS column_types, schema_name = 'temp' AS temporary \
    FROM (SELECT * FROM quickstep_columns() ORDER BY database_name, schema_name, table_name, column_index) AS ordered \
    GROUP BY database_name, schema_name, table_name ORDER BY 1, 2, 3";

const SETTINGS: &str = "SELECT name, setting, description FROM quickstep_settings()";

impl Binder<'_> {
    /// The rows of SHOW; `None` for a setting, whose value the engine knows, and for `SHOW SELECT ...`, which is DESCRIBE.
    pub(crate) fn show(&mut self, show: &Show, at: Span) -> Result<Option<Relation>> {
        let text = match show {
            Show::Nothing => self.tables(None, None)?,
            Show::Tables { all: true, from: None, like: None } => ALL_TABLES.to_owned(),
            Show::Tables { all: true, .. } => {
                return Err(unsupported("FROM and LIKE of SHOW ALL TABLES", self.text, at));
            }
            Show::Tables { all: false, from, like } => self.tables(from.as_ref(), like.as_ref())?,
            Show::Listed { what, from, like } => match (folded(what).as_str(), from, like) {
                ("views", from, like) => self.views(from.as_ref(), like.as_ref())?,
                ("functions", None, like) => functions(like.as_ref()),
                ("columns", Some(table), None) => return self.describe_table(table).map(Some),
                _ => {
                    let shown = what.span.of(self.text).to_uppercase();
                    return Err(unsupported(format!("FROM or LIKE of SHOW {shown}"), self.text, what.span));
                }
            },
            Show::All => SETTINGS.to_owned(),
            Show::Name(path) => {
                let word = path.single().filter(|name| !name.quoted).map(folded);
                match (word.as_deref(), path.names.as_slice()) {
                    (Some("databases"), _) => {
                        "SELECT database_name FROM quickstep_databases() ORDER BY 1".to_owned()
                    }
                    (Some("schemas"), _) => self.schemas(),
                    (Some("views"), _) => self.views(None, None)?,
                    (Some("functions"), _) => functions(None),
                    (_, [all]) if folded(all) == "all" => SETTINGS.to_owned(),
                    (_, [all, tables]) if folded(all) == "all" && folded(tables) == "tables" => {
                        ALL_TABLES.to_owned()
                    }
                    (_, [name]) => return self.show_relation(path, &folded(name)),
                    _ => return Ok(None),
                }
            }
            Show::Query(_) => return Ok(None),
        };
        self.bind_text("SHOW".into(), text, Span::default()).map(Some)
    }

    /// All tables with their columns, which DESCRIBE alone lists as well.
    pub(crate) fn all_tables(&mut self) -> Result<Relation> {
        self.bind_text("SHOW".into(), ALL_TABLES.to_owned(), Span::default())
    }

    fn tables(&self, from: Option<&tree::Path>, like: Option<&tree::TextLiteral>) -> Result<String> {
        let conditions = self.conditions(from, like, "name")?;
        Ok(format!("SELECT name FROM {LISTED} WHERE {conditions} ORDER BY name"))
    }

    fn views(&self, from: Option<&tree::Path>, like: Option<&tree::TextLiteral>) -> Result<String> {
        let conditions = self.conditions(from, like, "view_name")?;
        Ok(format!("SELECT view_name AS name FROM quickstep_views() WHERE {conditions} ORDER BY name"))
    }

    fn schemas(&self) -> String {
        let key = self.relations.current_schema();
        let (database, schema) = self.relations.database_and_schema(&key);
        let current =
            format!("schema_name = {} AND database_name = {}", quote::text(&schema), quote::text(&database));
        format!(
            "SELECT database_name, schema_name, {current} AS current FROM quickstep_schemas() ORDER BY 1, 2"
        )
    }

    /// `SHOW t` is DESCRIBE, unless a setting has the name.
    fn show_relation(&mut self, path: &tree::Path, name: &str) -> Result<Option<Relation>> {
        let settings = self.relations.system("quickstep_settings")?;
        let is_setting = settings
            .is_some_and(|s| s.rows.iter().any(|row| row.first().is_some_and(|v| v.as_text() == Some(name))));
        let known = || -> Result<bool> {
            Ok(self.relations.view(None, name).is_some() || self.relations.table(None, name)?.is_some())
        };
        if is_setting || !known()? {
            return Ok(None);
        }
        self.describe_table(path).map(Some)
    }

    /// What FROM and LIKE of a SHOW leave; without FROM, what unqualified names find.
    fn conditions(
        &self,
        from: Option<&tree::Path>,
        like: Option<&tree::TextLiteral>,
        name: &str,
    ) -> Result<String> {
        let within = match from {
            None => {
                let (database, schema) = self.relations.database_and_schema(&self.relations.current_schema());
                format!(
                    "(database_name = {} AND schema_name IN ('main', {}) OR schema_name = 'temp')",
                    quote::text(&database),
                    quote::text(&schema)
                )
            }
            Some(path) => {
                let (database, schema) = self.existing_schema(path)?;
                format!(
                    "database_name = {} AND schema_name = {}",
                    quote::text(&database),
                    quote::text(&schema)
                )
            }
        };
        Ok(format!("{within} AND {}", condition(like, name)))
    }

    /// The database and the schema that a name means.
    fn existing_schema(&self, path: &tree::Path) -> Result<(String, String)> {
        let names: Vec<String> = path.names.iter().map(folded).collect();
        let span = path.span();
        let key = match names.as_slice() {
            [schema] => self.relations.schema_key(None, schema),
            [database, schema] => self.relations.schema_key(Some(database), schema),
            _ => Err(Error::new(SqlState::SyntaxError, "a schema has at most a database and a name")),
        };
        let key = key.map_err(|e| self.error_at(e, span))?;
        let (database, name) = self.relations.database_and_schema(&key);
        let name = if name == "public" { "main".to_owned() } else { name };
        let rows = self.relations.system("quickstep_schemas")?.map(|s| s.rows).unwrap_or_default();
        let listed = rows.iter().filter_map(|row| Some((row.first()?.as_text()?, row.get(1)?.as_text()?)));
        let known: Vec<&str> = listed.filter(|(_, of)| *of == database).map(|(schema, _)| schema).collect();
        if known.contains(&name.as_str()) {
            return Ok((database, name));
        }
        let error = Error::new(SqlState::UndefinedSchema, format!("schema \"{name}\" does not exist"));
        let error = match nearest(&name, known) {
            Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
            None => error,
        };
        Err(self.error_at(error, span))
    }
}

fn functions(like: Option<&tree::TextLiteral>) -> String {
    let condition = condition(like, "function_name");
    format!("SELECT function_name, function_type FROM quickstep_functions() WHERE {condition} ORDER BY 1, 2")
}

fn condition(like: Option<&tree::TextLiteral>, name: &str) -> String {
    match like {
        None => "TRUE".to_owned(),
        Some(pattern) => format!("{name} LIKE {}", quote::text(&pattern.text)),
    }
}
