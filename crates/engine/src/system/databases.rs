//! The databases that there are, and of which of them the things are that other listings tell of.

use types::{Field, Value};

use super::{maybe, nullable, text, truth};
use crate::relations::SessionRelations;

pub(super) fn fields() -> Vec<Field> {
    vec![
        text("database_name"),
        nullable(text("path")),
        truth("is_main"),
        truth("read_only"),
        truth("is_current"),
    ]
}

/// A row a database: the main one first, then those attached, in the order of attaching.
pub(super) fn rows(relations: &SessionRelations) -> Vec<Vec<Value>> {
    let Some(database) = relations.database() else { return vec![] };
    let shared = &database.shared;
    let path = relations.path();
    let places = relations.places(&path);
    let home = places.home().map(|mounted| mounted.number);
    let row = |name: &str, path: Option<&str>, is_main, read_only, is_current| {
        let truths = [is_main, read_only, is_current].map(Value::Bool);
        [Value::text(name), maybe(path)].into_iter().chain(truths).collect::<Vec<Value>>()
    };
    let store = shared.store.as_ref();
    let path = store.map(|store| store.describe());
    let read_only = store.is_some_and(|store| store.is_read_only());
    let mut rows = vec![row(&shared.name, path.as_deref(), true, read_only, home.is_none())];
    for mounted in relations.snapshot().mounts() {
        // One that was detached since this snapshot was taken is still seen.
        let mount = shared.mounts.named(&mounted.name).filter(|mount| mount.number == mounted.number);
        let path = mount.as_ref().and_then(|mount| mount.store.as_ref()).map(|store| store.describe());
        let read_only = mount.is_some_and(|mount| mount.read_only);
        rows.push(row(&mounted.name, path.as_deref(), false, read_only, home == Some(mounted.number)));
    }
    rows
}

/// Puts the plain names of schemas in the place of their keys, and that of the database behind the other columns, in
/// listings that begin with a schema, a macro or a type.
pub(super) fn name(relations: &SessionRelations, fields: &mut Vec<Field>, rows: &mut [Vec<Value>]) {
    let first = fields.first().map(|field| field.name.clone());
    if !matches!(first.as_deref(), Some("schema_name" | "type_name")) {
        return;
    }
    let keys: Vec<usize> = fields
        .iter()
        .enumerate()
        .filter(|(at, field)| *at == 0 || ["fact_schema", "referenced_schema"].contains(&field.name.as_str()))
        .map(|(at, _)| at)
        .collect();
    let path = relations.path();
    let places = relations.places(&path);
    fields.push(text("database_name"));
    for row in rows {
        let mut database = None;
        for at in &keys {
            let Some(key) = row[*at].as_text().map(str::to_owned) else { continue };
            let (of, own) = places.shown(&key);
            database.get_or_insert_with(|| of.to_owned());
            let default = relations.session_settings().default_schema();
            row[*at] = Value::text(if own == catalog::DEFAULT_SCHEMA { default } else { own });
        }
        row.push(Value::text(database.as_deref().unwrap_or(places.main)));
    }
}
