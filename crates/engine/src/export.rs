//! EXPORT DATABASE and IMPORT DATABASE: a folder with the definitions as SQL (`schema.sql`), a file a table, and the
//! statements that load them (`load.sql`). Any version, and with little change any other engine, reads it.
//!
//! The definitions are in an order in which they can be run again: types and schemas first, then tables, views and
//! what refers to tables. COPY FROM DATABASE (`mounts`) uses the same texts.

use std::fmt::Write;
use std::path::Path;

use catalog::{ForeignKey, PartitionScheme, Partitioning, Snapshot, Table, TableId};
use types::quote;
use types::{Error, ReferentialAction, Result, SqlState, Type, Value};

use crate::Session;
use crate::result::ResultSet;
use crate::statement::Within;

const SCHEMA_FILE: &str = "schema.sql";
const LOAD_FILE: &str = "load.sql";

/// A macro or a type.
fn placed(key: &str) -> String {
    match types::names::schema_and_name(key) {
        (Some(schema), name) => quote::qualified(schema, name),
        (None, name) => quote::name(name),
    }
}

/// Names of columns by position.
fn listed(table: &Table, columns: &[usize]) -> String {
    let fields = table.columns.fields();
    columns.iter().map(|c| quote::name(&fields[*c].name)).collect::<Vec<_>>().join(", ")
}

/// A key as CREATE TABLE has it, without its name.
pub(crate) fn key_text(table: &Table, key: &catalog::Key) -> String {
    let kind = match (key.primary, key.nulls_equal) {
        (true, _) => "PRIMARY KEY",
        (false, true) => "UNIQUE NULLS NOT DISTINCT",
        (false, false) => "UNIQUE",
    };
    format!("{kind} ({})", listed(table, &key.columns))
}

/// A table's CREATE TABLE, without foreign keys to other tables: they come when all tables are there.
fn create_table(table: &Table) -> String {
    let mut lines = Vec::new();
    for (field, attributes) in table.columns.fields().iter().zip(&table.attributes) {
        let mut line = format!("{} {}", quote::name(&field.name), field.ty);
        if !field.nullable {
            line.push_str(" NOT NULL");
        }
        if let Some(default) = &attributes.default {
            let _ = write!(line, " DEFAULT {default}");
        }
        if let Some(expression) = &attributes.generated {
            let _ = write!(line, " GENERATED ALWAYS AS ({expression}) STORED");
        }
        lines.push(line);
    }
    for key in &table.keys {
        let name =
            key.name.as_ref().map_or_else(String::new, |name| format!("CONSTRAINT {} ", quote::name(name)));
        lines.push(format!("{name}{}", key_text(table, key)));
    }
    for check in &table.checks {
        lines.push(format!("CONSTRAINT {} CHECK ({})", quote::name(&check.name), check.text));
    }
    let options = &table.options;
    let mut with = format!("layout = '{}', block_size = {}", options.layout.name(), options.block_bytes);
    if let Some(column) = options.sorted_by {
        let _ = write!(with, ", sort = {}", quote::text(&table.columns.fields()[column].name));
    }
    let name = quote::qualified(&table.schema, &table.name);
    let partitions = table.partitioning.as_ref().map_or_else(String::new, |p| partition_by(table, p));
    format!("CREATE TABLE {name} (\n    {}\n){partitions} WITH ({with});\n", lines.join(",\n    "))
}

fn partition_by(table: &Table, partitioning: &Partitioning) -> String {
    let field = &table.columns.fields()[partitioning.column];
    let key = quote::name(&field.name);
    match &partitioning.scheme {
        PartitionScheme::Hash { count } => format!(" PARTITION BY HASH ({key}) PARTITIONS {count}"),
        PartitionScheme::Range { below } => {
            let range = |(name, bound): (&String, &Option<Value>)| {
                let bound = bound_text(bound.as_ref(), field.ty);
                let bound = bound.map_or_else(|| "MAXVALUE".to_owned(), |text| quote::text(&text));
                format!("PARTITION {} VALUES LESS THAN ({bound})", quote::name(name))
            };
            let ranges: Vec<String> = partitioning.names.iter().zip(below).map(range).collect();
            format!(" PARTITION BY RANGE ({key}) ({})", ranges.join(", "))
        }
    }
}

/// The bound of a partition as text of its column's type; `None` is MAXVALUE.
pub(crate) fn bound_text(bound: Option<&Value>, ty: Type) -> Option<String> {
    let text = types::cast::cast_value(bound?, ty, Type::Text).ok()?;
    text.as_text().map(str::to_owned)
}

fn add_foreign_key(table: &Table, key: &ForeignKey, parent: &Table) -> String {
    let action = |event: &str, action: ReferentialAction| match action {
        ReferentialAction::NoAction => String::new(),
        action => format!(" ON {event} {}", action.name()),
    };
    format!(
        "ALTER TABLE {} ADD CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({}){}{}{};\n",
        quote::qualified(&table.schema, &table.name),
        quote::name(&key.constraint_name(&table.name, &table.columns)),
        listed(table, &key.columns),
        quote::qualified(&parent.schema, &parent.name),
        listed(parent, &key.parent_columns),
        if key.full { " MATCH FULL" } else { "" },
        action("DELETE", key.on_delete),
        action("UPDATE", key.on_update)
    )
}

fn comments(table: &Table) -> String {
    let name = quote::qualified(&table.schema, &table.name);
    let mut text = String::new();
    if let Some(comment) = &table.comment {
        let _ = writeln!(text, "COMMENT ON TABLE {name} IS {};", quote::text(comment));
    }
    for (field, attributes) in table.columns.fields().iter().zip(&table.attributes) {
        if let Some(comment) = &attributes.comment {
            let _ = writeln!(
                text,
                "COMMENT ON COLUMN {name}.{} IS {};",
                quote::name(&field.name),
                quote::text(comment)
            );
        }
    }
    text
}

/// Types under their names, those of labels first: others are made of them. A column's type has its name also where
/// another transaction has dropped it meanwhile.
fn named_types(snapshot: &Snapshot) -> Vec<(&str, Type)> {
    let mut named: Vec<(&str, Type)> =
        snapshot.types().iter().map(|(name, ty)| (name.as_str(), **ty)).collect();
    for field in snapshot.tables().flat_map(|table| table.columns.fields()) {
        let within = std::cell::RefCell::new(Vec::new());
        field.ty.holds(&|inner| {
            within.borrow_mut().extend(inner.given_name().map(|name| (name, inner)));
            false
        });
        for (name, ty) in within.into_inner() {
            if named.iter().all(|(known, _)| *known != name) {
                named.push((name, ty));
            }
        }
    }
    named.sort_by_key(|(name, ty)| ty.given_name() != Some(*name));
    named
}

/// All definitions of a database, in an order in which they can be made.
pub(crate) fn definitions(snapshot: &Snapshot) -> Result<String> {
    let mut text = String::new();
    let permanent = |name: &String| name != catalog::TEMPORARY_SCHEMA;
    for schema in snapshot.schemas().keys().filter(|name| permanent(name)) {
        if schema != catalog::DEFAULT_SCHEMA {
            let _ = writeln!(text, "CREATE SCHEMA {};", quote::name(schema));
        }
    }
    let entries = || snapshot.schemas().iter().filter(|(name, _)| permanent(name));
    for (name, ty) in named_types(snapshot) {
        let what = if ty.given_name() == Some(name) { ty.written_labels() } else { ty.sql_name() };
        let _ = writeln!(text, "CREATE TYPE {} AS {what};", placed(name));
    }
    // Defaults name sequences.
    for (schema, entry) in entries() {
        for (name, s) in &entry.sequences {
            let next = s.next.load(std::sync::atomic::Ordering::Relaxed);
            let _ = writeln!(
                text,
                "CREATE SEQUENCE {} INCREMENT BY {} MINVALUE {} MAXVALUE {} START WITH {}{};",
                quote::qualified(schema, name),
                s.increment,
                s.minimum,
                s.maximum,
                next.clamp(s.minimum, s.maximum),
                if s.cycle { " CYCLE" } else { "" }
            );
        }
    }
    let macros = snapshot.macros();
    for (name, called) in macros {
        let table = if called.table { "TABLE " } else { "" };
        let parameters = called.parameters.join(", ");
        let _ = writeln!(text, "CREATE MACRO {}({parameters}) AS {table}{};", placed(name), called.text);
    }
    let mut tables: Vec<&Table> = entries().flat_map(|(_, e)| e.tables.values().map(|t| &**t)).collect();
    tables.sort_by_key(|t| t.id);
    tables.iter().filter(|t| t.wide.is_none()).for_each(|table| text.push_str(&create_table(table)));
    for (schema, entry) in entries() {
        for (name, view) in &entry.views {
            let columns: Vec<String> = view.columns.iter().map(|c| quote::name(c)).collect();
            let columns =
                if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
            let name = quote::qualified(schema, name);
            let _ = writeln!(text, "CREATE VIEW {name}{columns} AS {};", view.text);
            if let Some(comment) = &view.comment {
                let _ = writeln!(text, "COMMENT ON VIEW {name} IS {};", quote::text(comment));
            }
        }
    }
    tables.iter().filter(|t| t.wide.is_none()).for_each(|table| text.push_str(&comments(table)));
    Ok(text)
}

/// What comes when the rows are there: keys to other tables, and indices.
pub(crate) fn afterwards(snapshot: &Snapshot) -> Result<String> {
    let mut text = String::new();
    let mut tables: Vec<&Table> = snapshot.tables().filter(|t| !t.is_temporary()).map(|t| &**t).collect();
    tables.sort_by_key(|t| t.id);
    for (schema, entry) in snapshot.schemas().iter().filter(|(name, _)| *name != catalog::TEMPORARY_SCHEMA) {
        for (name, sequence) in &entry.sequences {
            let Some((owner, column)) = sequence.owner else { continue };
            let Some(table) = snapshot.table_by_id(owner) else { continue };
            let mut owner = quote::qualified(&table.schema, &table.name);
            if let Some(column) = table.columns.fields().get(column) {
                owner = format!("{owner}.{}", quote::name(&column.name));
            }
            let _ = writeln!(text, "ALTER SEQUENCE {} OWNED BY {owner};", quote::qualified(schema, name));
        }
    }
    for table in &tables {
        for key in &table.foreign_keys {
            let find = |id: TableId| snapshot.table_by_id(id);
            let parent =
                find(key.parent).ok_or_else(|| Error::internal("the parent of a foreign key is gone"))?;
            text.push_str(&add_foreign_key(table, key, parent));
        }
    }
    // All rows and foreign keys are there: what is made of them comes now.
    for table in &tables {
        if let Some(wide) = crate::wide::definition(snapshot, table) {
            text.push_str(&wide);
            text.push_str(&comments(table));
        }
        for indices in table.indices.chunk_by(|a, b| a.name == b.name) {
            let Some(index) = indices.first() else { continue };
            let columns: Vec<String> =
                indices.iter().map(|index| quote::name(&table.columns.fields()[index.column].name)).collect();
            let _ = writeln!(
                text,
                "CREATE INDEX {} ON {} USING {} ({});",
                quote::name(&index.name),
                quote::qualified(&table.schema, &table.name),
                index.kind.name(),
                columns.join(", ")
            );
        }
    }
    Ok(text)
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Error {
    let state = match error.kind() {
        std::io::ErrorKind::NotFound => SqlState::UndefinedFile,
        std::io::ErrorKind::StorageFull => SqlState::DiskFull,
        _ => SqlState::IoError,
    };
    Error::new(state, format!("cannot {what} \"{}\": {error}", path.display()))
}

/// What of a table is written: all of it, as texts what the format has not. HUGEINT, where decimals of 38 digits are in
/// its place; intervals in Parquet, which has neither negative ones nor microseconds.
fn exported(table: &Table, name: &str, format: &str) -> String {
    let fields = table.columns.fields();
    let is_wide = |field: &types::Field| {
        field.ty == types::Type::HugeInt || (format == "parquet" && field.ty.holds(&|ty| ty.is_interval()))
    };
    if !matches!(format, "parquet" | "arrow") || !fields.iter().any(is_wide) {
        return name.to_owned();
    }
    let columns = fields.iter().map(|field| {
        let column = quote::name(&field.name);
        if is_wide(field) { format!("CAST({column} AS TEXT) AS {column}") } else { column }
    });
    format!("(SELECT {} FROM {name})", columns.collect::<Vec<_>>().join(", "))
}

/// How a table is loaded whose intervals are texts, which COPY does not assign to them: its columns, and the values.
fn as_intervals(table: &Table, format: &str) -> Option<(String, String)> {
    let is_text = |field: &types::Field| format == "parquet" && field.ty.holds(&|ty| ty.is_interval());
    let fields = table.columns.fields();
    if !fields.iter().any(is_text) {
        return None;
    }
    let filled = fields.iter().zip(&table.attributes).filter(|(_, own)| own.generated.is_none());
    let (columns, values): (Vec<String>, Vec<String>) = filled
        .map(|(field, _)| {
            let column = quote::name(&field.name);
            let value = format!("CAST({column} AS {})", field.ty.sql_name());
            (column.clone(), if is_text(field) { value } else { column })
        })
        .unzip();
    Some((columns.join(", "), values.join(", ")))
}

impl Session {
    /// EXPORT DATABASE into an empty or new directory: a script of the schema, one of the loading, and a file a
    /// table.
    pub(crate) fn export_database(
        &self,
        path: &str,
        format: &str,
        statement: Within<'_>,
    ) -> Result<ResultSet> {
        let format = format.to_lowercase();
        if !["parquet", "csv", "json", "arrow"].contains(&format.as_str()) {
            let message = format!("invalid format \"{format}\" of EXPORT DATABASE");
            return Err(Error::new(SqlState::InvalidParameterValue, message)
                .with_hint("expected parquet, csv, json or arrow"));
        }
        self.environment().capability().file_to_write(path)?;
        let folder = Path::new(path);
        if folder.is_file() || folder.read_dir().is_ok_and(|mut there| there.next().is_some()) {
            let message = format!("\"{path}\" exists and is not empty");
            return Err(Error::new(SqlState::DuplicateObject, message).with_hint("name a new directory"));
        }
        std::fs::create_dir_all(folder).map_err(|e| failed("make the directory", folder, &e))?;
        // The database in use, by its own names.
        let snapshot = self.snapshot_of_home()?;
        let home = self.home();
        let seen = self.snapshot();
        let whole_name = |table: &Table| {
            let schema = home.as_ref().map(|home| format!("{}.{}", home.name, table.schema));
            let schema = crate::mounts::absolute(&seen, schema.as_deref().unwrap_or(&table.schema));
            format!("{schema}.{}", quote::name(&table.name))
        };
        let mut load = String::new();
        let wanted = |t: &&std::sync::Arc<Table>| !t.is_temporary() && t.wide.is_none();
        let mut tables: Vec<_> = snapshot.tables().filter(wanted).cloned().collect();
        tables.sort_by_key(|t| t.id);
        for (number, table) in tables.iter().enumerate() {
            let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
            let file = format!("{number:03}_{}.{format}", table.name.chars().map(plain).collect::<String>());
            let whole = folder.join(&file);
            let name = quote::qualified(&table.schema, &table.name);
            let target = quote::text(&whole.to_string_lossy());
            let rows = exported(table, &whole_name(table), &format);
            self.run_text(&format!("COPY {rows} TO {target} (FORMAT {format})"), statement)?;
            // The folder may be moved: names in it are relative to it.
            let file = quote::text(&file);
            let _ = match as_intervals(table, &format) {
                Some((columns, values)) => {
                    writeln!(load, "INSERT INTO {name} ({columns}) SELECT {values} FROM {file};")
                }
                None => writeln!(load, "COPY {name} FROM {file} (FORMAT {format});"),
            };
        }
        load.push_str(&afterwards(&snapshot)?);
        load.push_str(&crate::comments::statements(&snapshot));
        for (file, text) in [(SCHEMA_FILE, definitions(&snapshot)?), (LOAD_FILE, load)] {
            let whole = folder.join(file);
            std::fs::write(&whole, text).map_err(|e| failed("write", &whole, &e))?;
        }
        Ok(ResultSet::done(format!("EXPORT {}", tables.len())))
    }

    /// Runs what EXPORT DATABASE wrote, as one statement: all of it or nothing.
    pub(crate) fn import_database(&self, path: &str, statement: Within<'_>) -> Result<ResultSet> {
        self.environment().capability().file(path)?;
        let folder = Path::new(path);
        let read = |file: &str| {
            let whole = folder.join(file);
            std::fs::read_to_string(&whole).map_err(|e| {
                failed("read", &whole, &e).with_hint("name a directory that EXPORT DATABASE has made")
            })
        };
        let (schema, load) = (read(SCHEMA_FILE)?, read(LOAD_FILE)?);
        for part in sql::split(&schema)? {
            self.go_on()?;
            self.run_text(part.of(&schema), statement)?;
        }
        for part in sql::split(&load)? {
            self.go_on()?;
            let text = part.of(&load);
            // File names are relative to the folder.
            let text = match text.split_once(" FROM '") {
                Some((copy, file)) if text.starts_with("COPY ") || text.starts_with("INSERT ") => {
                    let (file, rest) = file.split_once('\'').unwrap_or((file, ""));
                    let whole = quote::text(&folder.join(file).to_string_lossy());
                    format!("{copy} FROM {whole}{rest}")
                }
                _ => text.to_owned(),
            };
            self.run_text(&text, statement)?;
        }
        Ok(ResultSet::done("IMPORT"))
    }

    /// Runs one statement as a part of the one that runs.
    pub(crate) fn run_text(&self, text: &str, statement: Within<'_>) -> Result<ResultSet> {
        let relations = self.relations_of(statement.cloned());
        let planned = sql::plan_one(text, &relations)?;
        self.run_statement(planned, &relations)
    }
}
