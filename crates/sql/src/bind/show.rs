//! SHOW: what there is, as queries over the functions that list the catalog.
//!
//! Each SHOW is written out as SQL over `quickstep_tables()` and its kin, and bound like any text of this crate.
//! Without FROM, it lists what names without a schema find. SHOW of a setting returns None: the engine knows its
//! value. Called by `describe::inspect`.

use sqlparser::ast::{
    Ident, ObjectName, ShowStatementFilter as Filter, ShowStatementFilterPosition as FilterPosition,
    ShowStatementOptions, Statement,
};
use sqlparser::tokenizer::Span;
use types::{Error, Result, SqlState};

use super::describe::quoted;
use super::scope::nearest;
use super::{Binder, Relation, folded};

/// Tables and views.
const LISTED: &str = "(SELECT database_name, schema_name, table_name AS name FROM quickstep_tables() UNION ALL \
                      SELECT database_name, schema_name, view_name FROM quickstep_views()) AS listed";

const ALL_TABLES: &str = "SELECT database_name AS database, schema_name AS schema, table_name AS name, \
    '[' || string_agg(column_name, ', ') || ']' AS column_names, \
    '[' || string_agg(data_type, ', ') || ']' AS column_types, schema_name = 'temp' AS temporary \
    FROM (SELECT * FROM quickstep_columns() ORDER BY database_name, schema_name, table_name, column_index) AS ordered \
    GROUP BY database_name, schema_name, table_name ORDER BY 1, 2, 3";

impl Binder<'_> {
    /// The rows of SHOW; `None` for other statements, and for a setting, whose value the engine knows.
    pub(super) fn show(&mut self, statement: &Statement) -> Result<Option<Relation>> {
        let text = match statement {
            Statement::ShowTables { show_options, .. } => {
                let conditions = self.conditions(show_options, "name")?;
                format!("SELECT name FROM {LISTED} WHERE {conditions} ORDER BY name")
            }
            Statement::ShowViews { show_options, .. } => {
                let conditions = self.conditions(show_options, "view_name")?;
                format!("SELECT view_name AS name FROM quickstep_views() WHERE {conditions} ORDER BY name")
            }
            Statement::ShowSchemas { .. } => {
                let key = self.relations.current_schema();
                let (database, schema) = self.relations.database_and_schema(&key);
                let current =
                    format!("schema_name = {} AND database_name = {}", quoted(&schema), quoted(&database));
                format!(
                    "SELECT database_name, schema_name, {current} AS current FROM quickstep_schemas() ORDER BY 1, 2"
                )
            }
            Statement::ShowDatabases { .. } => {
                "SELECT database_name FROM quickstep_databases() ORDER BY 1".to_owned()
            }
            Statement::ShowFunctions { filter } => {
                let condition = condition(filter.as_ref(), "function_name")?;
                format!(
                    "SELECT function_name, function_type FROM quickstep_functions() WHERE {condition} ORDER BY 1, 2"
                )
            }
            Statement::ShowColumns { show_options, .. } => {
                let name = show_options.show_in.as_ref().and_then(|of| of.parent_name.as_ref());
                let Some(name) = name else {
                    return Err(Error::new(SqlState::SyntaxError, "write SHOW COLUMNS FROM table"));
                };
                return self.describe_table(name).map(Some);
            }
            Statement::ShowVariable { variable } => match variable.as_slice() {
                [all] if folded(all) == "all" => {
                    "SELECT name, setting, description FROM quickstep_settings()".to_owned()
                }
                [all, tables] if folded(all) == "all" && folded(tables) == "tables" => ALL_TABLES.to_owned(),
                [name] => return self.show_relation(name),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.bind_text("SHOW".into(), text, Span::empty()).map(Some)
    }

    /// `SHOW t` is DESCRIBE, unless a setting has the name.
    fn show_relation(&mut self, ident: &Ident) -> Result<Option<Relation>> {
        let name = folded(ident);
        let settings = self.relations.system("quickstep_settings")?;
        let is_setting = settings.is_some_and(|s| {
            s.rows.iter().any(|row| row.first().is_some_and(|v| v.as_text() == Some(&name)))
        });
        let known = || -> Result<bool> {
            Ok(self.relations.view(None, &name).is_some() || self.relations.table(None, &name)?.is_some())
        };
        if is_setting || !known()? {
            return Ok(None);
        }
        self.describe_table(&ObjectName::from(vec![ident.clone()])).map(Some)
    }

    /// What FROM, LIKE and WHERE of a SHOW leave; without FROM, what unqualified names find.
    fn conditions(&self, options: &ShowStatementOptions, name: &str) -> Result<String> {
        if options.starts_with.is_some() || options.limit.is_some() || options.limit_from.is_some() {
            return Err(Error::unsupported("STARTS WITH and LIMIT of SHOW are not supported")
                .with_hint("use LIKE, or query quickstep_tables()"));
        }
        let filter = match &options.filter_position {
            None => None,
            Some(FilterPosition::Infix(filter) | FilterPosition::Suffix(filter)) => Some(filter),
        };
        let parent = options.show_in.as_ref().and_then(|of| of.parent_name.as_ref());
        let idents: Vec<&Ident> = parent.iter().flat_map(|of| &of.0).filter_map(|p| p.as_ident()).collect();
        let within = match idents.as_slice() {
            [] => {
                let (database, schema) = self.relations.database_and_schema(&self.relations.current_schema());
                format!(
                    "(database_name = {} AND schema_name IN ('main', {}) OR schema_name = 'temp')",
                    quoted(&database),
                    quoted(&schema)
                )
            }
            idents => {
                let (database, schema) = self.existing_schema(idents)?;
                format!("database_name = {} AND schema_name = {}", quoted(&database), quoted(&schema))
            }
        };
        Ok(format!("{within} AND {}", condition(filter, name)?))
    }

    /// The database and the schema that a name means.
    fn existing_schema(&self, idents: &[&Ident]) -> Result<(String, String)> {
        let names: Vec<String> = idents.iter().map(|ident| folded(ident)).collect();
        let span = Span::union_iter(idents.iter().map(|ident| ident.span));
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
        let error = match nearest(&name, known.into_iter()) {
            Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
            None => error,
        };
        Err(self.error_at(error, span))
    }
}

fn condition(filter: Option<&Filter>, name: &str) -> Result<String> {
    Ok(match filter {
        None => "TRUE".to_owned(),
        Some(Filter::Like(pattern) | Filter::NoKeyword(pattern)) => {
            format!("{name} LIKE {}", quoted(pattern))
        }
        Some(Filter::ILike(pattern)) => format!("{name} ILIKE {}", quoted(pattern)),
        Some(Filter::Where(_)) => {
            return Err(Error::unsupported("WHERE of SHOW is not supported")
                .with_hint("use LIKE, or query quickstep_tables()"));
        }
    })
}
