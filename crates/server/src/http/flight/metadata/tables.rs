//! Schemas, tables and views.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_flight::sql::{CommandGetDbSchemas, CommandGetTables};
use arrow_schema::{Field, Schema};
use engine::{Result, Session};
use types::quote;

use super::super::query::sent_columns;
use super::parts::{failed, text};
use crate::server::Shared;

/// Kinds of tables as `information_schema` calls them, and as they are told.
pub const TABLE_TYPES: [(&str, &str); 4] = [
    ("BASE TABLE", "TABLE"),
    ("VIEW", "VIEW"),
    ("LOCAL TEMPORARY", "LOCAL TEMPORARY"),
    ("FOREIGN", "FOREIGN TABLE"),
];

fn like(column: &str, pattern: Option<&str>) -> String {
    pattern.map_or_else(String::new, |pattern| format!(" AND {column} LIKE {}", quote::text(pattern)))
}

/// Whether a catalog that is asked for is this one: an empty name is that of none.
fn is_own(session: &Session, catalog: Option<&str>) -> bool {
    catalog.is_none_or(|catalog| catalog == session.database().name())
}

/// Schemas by a pattern.
pub fn schemas(session: &Session, command: CommandGetDbSchemas) -> Result<RecordBatch> {
    let own = is_own(session, command.catalog.as_deref());
    let filter = like("schema_name", command.db_schema_filter_pattern.as_deref());
    let sql = format!("SELECT schema_name FROM information_schema.schemata WHERE {own}{filter}");
    let found = session.query(&sql)?;
    let mut builder = command.into_builder();
    for row in 0..found.rows() {
        builder.append(session.database().name(), text(&found, row, 0));
    }
    builder.build().map_err(failed)
}

/// Tables and views by patterns.
pub fn tables(server: &Shared, session: &Session, command: CommandGetTables) -> Result<RecordBatch> {
    let own = is_own(session, command.catalog.as_deref());
    let filter = like("table_schema", command.db_schema_filter_pattern.as_deref())
        + &like("table_name", command.table_name_filter_pattern.as_deref());
    let sql = format!(
        "SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE {own}{filter} ORDER BY 1, 2"
    );
    let found = session.query(&sql)?;
    // Whoever sees a table sees its columns, as in pg_attribute; to read them is another privilege.
    let describing = match command.include_schema {
        true => Some(crate::server::session(server, &server.roles.superuser(), &[])?),
        false => None,
    };
    let mut builder = command.into_builder();
    for row in 0..found.rows() {
        let (schema, table, kind) = (text(&found, row, 0), text(&found, row, 1), text(&found, row, 2));
        let kind = TABLE_TYPES.iter().find(|(name, _)| *name == kind).map_or(&*kind, |(_, told)| told);
        let columns = match &describing {
            Some(describing) => columns(describing, session.database().name(), &schema, &table)?,
            None => Schema::empty(),
        };
        builder.append(session.database().name(), &schema, &table, kind, &columns).map_err(failed)?;
    }
    builder.build().map_err(failed)
}

/// A table's columns, each with its type's name. A view whose tables are gone has none.
fn columns(session: &Session, catalog: &str, schema: &str, table: &str) -> Result<Schema> {
    let sql = format!("SELECT * FROM {}.{}", quote::name(schema), quote::name(table));
    let Ok(Some(found)) = session.describe(&sql) else { return Ok(Schema::empty()) };
    let sent = sent_columns(&found, session);
    let told = |(sent, own): (&std::sync::Arc<Field>, &engine::Field)| {
        let pairs = [
            ("ARROW:FLIGHT:SQL:CATALOG_NAME", catalog.to_owned()),
            ("ARROW:FLIGHT:SQL:SCHEMA_NAME", schema.to_owned()),
            ("ARROW:FLIGHT:SQL:TABLE_NAME", table.to_owned()),
            ("ARROW:FLIGHT:SQL:TYPE_NAME", own.ty.to_string()),
        ];
        let metadata: HashMap<String, String> =
            pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        sent.as_ref().clone().with_nullable(own.nullable).with_metadata(metadata)
    };
    let fields: Vec<Field> = sent.fields().iter().zip(found.fields()).map(told).collect();
    Ok(Schema::new(fields))
}
