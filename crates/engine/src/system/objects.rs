//! The rows of `quickstep_indexes()`, `quickstep_sequences()`, `quickstep_types()` and `quickstep_variables()`.

use std::sync::atomic::Ordering;

use catalog::{CommentEntry, Commented, Snapshot, TableIndex};
use types::nested::encoding;
use types::{Field, Result, Type, Value};

use super::{nullable, number, text, truth};
use crate::settings::Settings;

pub(super) fn index_fields() -> Vec<Field> {
    vec![
        text("schema_name"),
        text("table_name"),
        text("index_name"),
        truth("is_unique"),
        truth("is_primary"),
        text("expressions"),
    ]
}

/// A row an index that CREATE INDEX made.
pub(super) fn indices(snapshot: &Snapshot) -> Vec<Vec<Value>> {
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for table in snapshot.tables() {
        for indices in table.indices.chunk_by(|a, b| a.name == b.name) {
            let Some(index) = indices.first() else { continue };
            let name = |index: &TableIndex| table.columns.fields().get(index.column).map(|f| f.name.as_str());
            let columns: Vec<&str> = indices.iter().filter_map(name).collect();
            rows.push(vec![
                Value::text(&table.schema),
                Value::text(&table.name),
                Value::text(&index.name),
                Value::Bool(false),
                Value::Bool(false),
                Value::text(&columns.join(", ")),
            ]);
        }
    }
    rows
}

pub(super) fn sequence_fields() -> Vec<Field> {
    vec![
        text("schema_name"),
        text("sequence_name"),
        number("start_value"),
        number("min_value"),
        number("max_value"),
        number("increment_by"),
        truth("cycle"),
        nullable(number("last_value")),
    ]
}

/// A row for each sequence; its last value is NULL before the first nextval.
pub(super) fn sequences(snapshot: &Snapshot) -> Vec<Vec<Value>> {
    let schemas = snapshot.schemas().iter();
    let all =
        schemas.flat_map(|(schema, entry)| entry.sequences.iter().map(move |(name, s)| (schema, name, s)));
    let row = |(schema, name, s): (&String, &String, &std::sync::Arc<catalog::Sequence>)| {
        let next = s.next.load(Ordering::Relaxed);
        let last = if next == s.start { Value::Null } else { Value::I64(next.wrapping_sub(s.increment)) };
        vec![
            Value::text(schema),
            Value::text(name),
            Value::I64(s.start),
            Value::I64(s.minimum),
            Value::I64(s.maximum),
            Value::I64(s.increment),
            Value::Bool(s.cycle),
            last,
        ]
    };
    all.map(row).collect()
}

pub(super) fn type_fields() -> Result<Vec<Field>> {
    let labels = Field::new("labels", Type::list(Type::Text)?, true);
    Ok(vec![text("type_name"), text("definition"), labels])
}

/// A row a type that CREATE TYPE made.
pub(super) fn types(snapshot: &Snapshot) -> Vec<Vec<Value>> {
    let row = |(name, ty): (&String, &std::sync::Arc<Type>)| {
        let labels = ty.labels().map(|labels| {
            let labels: Vec<Value> = labels.iter().map(|label| Value::text(label)).collect();
            encoding::list_of(&labels, Type::Text)
        });
        let definition = if labels.is_some() { ty.written_labels() } else { ty.sql_name() };
        vec![Value::text(&snapshot.shown(name)), Value::text(&definition), labels.unwrap_or(Value::Null)]
    };
    snapshot.types().iter().map(row).collect()
}

pub(super) fn comment_fields() -> Vec<Field> {
    vec![
        text("schema_name"),
        text("object_type"),
        text("object_name"),
        nullable(text("column_name")),
        text("comment"),
    ]
}

/// A row a comment on what is neither a table, a view nor a table's column.
pub(super) fn comments(snapshot: &Snapshot) -> Vec<Vec<Value>> {
    let row = |comment: CommentEntry<'_>| {
        let (name, column) = match comment.of {
            Commented::ViewColumn => {
                let (view, column) = Commented::view_and_column(comment.name);
                (view, Value::text(column))
            }
            _ => (comment.name, Value::Null),
        };
        vec![
            Value::text(&comment.schema),
            Value::text(comment.of.name()),
            Value::text(name),
            column,
            Value::text(comment.text),
        ]
    };
    crate::comments::known(snapshot).map(row).collect()
}

/// What the session's SET VARIABLE has set.
pub(super) fn variables(settings: &Settings) -> Vec<Vec<Value>> {
    let row = |(name, (value, ty)): (&String, &(Value, types::Type))| {
        let shown = if value.is_null() { Value::Null } else { Value::text(&value.display(*ty).to_string()) };
        vec![Value::text(name), shown, Value::text(&ty.sql_name())]
    };
    settings.variables.iter().map(row).collect()
}
