//! Primary and foreign keys, from `pg_constraint`: a row for each column of a key, in the key's order.
//!
//! The three ways to ask for foreign keys are one query with two conditions. Names are compared whole and never patterns;
//! they are quoted into the text. Called by [`Metadata`](super::Metadata).

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray, UInt8Array};
use arrow_flight::sql::{
    CommandGetCrossReference, CommandGetExportedKeys, CommandGetImportedKeys, CommandGetPrimaryKeys,
};
use arrow_schema::{DataType, SchemaRef};
use engine::{Result, ResultSet, Session};
use types::quote;

use super::parts::{failed, field, schema_of, text};

/// A table whose keys are asked for.
#[derive(Clone, Debug)]
struct Table {
    catalog: Option<String>,
    schema: Option<String>,
    table: String,
}

/// Which foreign keys: those that refer to a table, those that a table has, or both.
#[derive(Clone, Debug)]
pub struct ForeignKeys {
    referred: Option<Table>,
    referring: Option<Table>,
}

impl From<CommandGetExportedKeys> for ForeignKeys {
    fn from(command: CommandGetExportedKeys) -> Self {
        let CommandGetExportedKeys { catalog, db_schema: schema, table } = command;
        ForeignKeys { referred: Some(Table { catalog, schema, table }), referring: None }
    }
}

impl From<CommandGetImportedKeys> for ForeignKeys {
    fn from(command: CommandGetImportedKeys) -> Self {
        let CommandGetImportedKeys { catalog, db_schema: schema, table } = command;
        ForeignKeys { referred: None, referring: Some(Table { catalog, schema, table }) }
    }
}

impl From<CommandGetCrossReference> for ForeignKeys {
    fn from(command: CommandGetCrossReference) -> Self {
        let of = |catalog, schema, table| Some(Table { catalog, schema, table });
        ForeignKeys {
            referred: of(command.pk_catalog, command.pk_db_schema, command.pk_table),
            referring: of(command.fk_catalog, command.fk_db_schema, command.fk_table),
        }
    }
}

impl Table {
    /// The condition that a row's table is this one.
    fn is(&self, namespace: &str, relation: &str) -> String {
        let equal = |what: &str, name: &Option<String>| {
            name.as_ref().map_or_else(String::new, |name| format!(" AND {what} = {}", quote::text(name)))
        };
        let (catalog, schema) = (equal("current_database()", &self.catalog), equal(namespace, &self.schema));
        format!(" AND {relation} = {}{schema}{catalog}", quote::text(&self.table))
    }
}

/// Columns of primary keys.
pub fn primary_schema() -> SchemaRef {
    schema_of(vec![
        field("catalog_name", DataType::Utf8, true),
        field("db_schema_name", DataType::Utf8, true),
        field("table_name", DataType::Utf8, false),
        field("column_name", DataType::Utf8, false),
        field("key_name", DataType::Utf8, true),
        field("key_sequence", DataType::Int32, false),
    ])
}

/// Columns of foreign keys.
pub fn foreign_schema() -> SchemaRef {
    schema_of(vec![
        field("pk_catalog_name", DataType::Utf8, true),
        field("pk_db_schema_name", DataType::Utf8, true),
        field("pk_table_name", DataType::Utf8, false),
        field("pk_column_name", DataType::Utf8, false),
        field("fk_catalog_name", DataType::Utf8, true),
        field("fk_db_schema_name", DataType::Utf8, true),
        field("fk_table_name", DataType::Utf8, false),
        field("fk_column_name", DataType::Utf8, false),
        field("key_sequence", DataType::Int32, false),
        field("fk_key_name", DataType::Utf8, true),
        field("pk_key_name", DataType::Utf8, true),
        field("update_rule", DataType::UInt8, false),
        field("delete_rule", DataType::UInt8, false),
    ])
}

fn texts(rows: &ResultSet, column: usize) -> ArrayRef {
    let values = (0..rows.rows()).map(|row| rows.value(row, column).as_text().map(str::to_owned));
    Arc::new(values.collect::<StringArray>())
}

fn numbers(rows: &ResultSet, column: usize) -> ArrayRef {
    let values = (0..rows.rows()).map(|row| text(rows, row, column).parse::<i32>().unwrap_or_default());
    Arc::new(values.collect::<Int32Array>())
}

/// Flight SQL's numbers of what is done with referring rows.
fn rules(rows: &ResultSet, column: usize) -> ArrayRef {
    let rule = |row| match text(rows, row, column).as_str() {
        "c" => 0,
        "r" => 1,
        "n" => 2,
        "d" => 4,
        _ => 3,
    };
    Arc::new((0..rows.rows()).map(rule).collect::<UInt8Array>())
}

/// A table's primary key.
pub fn primary(session: &Session, command: &CommandGetPrimaryKeys) -> Result<RecordBatch> {
    let CommandGetPrimaryKeys { catalog, db_schema: schema, table } = command.clone();
    let wanted = Table { catalog, schema, table }.is("n.nspname", "t.relname");
    let sql = format!(
        "SELECT current_database(), n.nspname::text, t.relname::text, a.attname::text, c.conname::text, k.n::text
         FROM pg_catalog.pg_constraint c, LATERAL generate_series(1, array_length(c.conkey, 1)) AS k(n),
              pg_catalog.pg_attribute a, pg_catalog.pg_class t, pg_catalog.pg_namespace n
         WHERE c.contype = 'p' AND t.oid = c.conrelid AND n.oid = t.relnamespace
           AND a.attrelid = c.conrelid AND a.attnum = c.conkey[k.n]{wanted}
         ORDER BY 2, 3, 5, k.n"
    );
    let found = session.query(&sql)?;
    let mut columns: Vec<ArrayRef> = (0..5).map(|column| texts(&found, column)).collect();
    columns.push(numbers(&found, 5));
    RecordBatch::try_new(primary_schema(), columns).map_err(failed)
}

/// Foreign keys.
pub fn foreign(session: &Session, wanted: &ForeignKeys) -> Result<RecordBatch> {
    let referred =
        wanted.referred.as_ref().map_or_else(String::new, |table| table.is("pn.nspname", "pt.relname"));
    let referring =
        wanted.referring.as_ref().map_or_else(String::new, |table| table.is("fn.nspname", "ft.relname"));
    let sql = format!(
        "SELECT current_database(), pn.nspname::text, pt.relname::text, pa.attname::text,
                current_database(), fn.nspname::text, ft.relname::text, fa.attname::text,
                k.n::text, c.conname::text, p.conname::text, c.confupdtype::text, c.confdeltype::text
         FROM pg_catalog.pg_constraint c
              LEFT JOIN pg_catalog.pg_constraint p
                ON p.conrelid = c.confrelid AND p.contype IN ('p', 'u') AND p.conkey = c.confkey,
              LATERAL generate_series(1, array_length(c.conkey, 1)) AS k(n),
              pg_catalog.pg_attribute pa, pg_catalog.pg_class pt, pg_catalog.pg_namespace pn,
              pg_catalog.pg_attribute fa, pg_catalog.pg_class ft, pg_catalog.pg_namespace fn
         WHERE c.contype = 'f' AND pt.oid = c.confrelid AND pn.oid = pt.relnamespace
           AND ft.oid = c.conrelid AND fn.oid = ft.relnamespace
           AND pa.attrelid = c.confrelid AND pa.attnum = c.confkey[k.n]
           AND fa.attrelid = c.conrelid AND fa.attnum = c.conkey[k.n]{referred}{referring}
         ORDER BY 2, 3, 6, 7, 10, k.n"
    );
    let found = session.query(&sql)?;
    let mut columns: Vec<ArrayRef> = (0..8).map(|column| texts(&found, column)).collect();
    columns.push(numbers(&found, 8));
    columns.extend([texts(&found, 9), texts(&found, 10), rules(&found, 11), rules(&found, 12)]);
    RecordBatch::try_new(foreign_schema(), columns).map_err(failed)
}
