//! What statements that define or change objects have in common: which schemas, tables and names they refuse, and how an
//! object is shown in their errors.

use std::sync::Arc;

use catalog::{Existing, Snapshot, Table, TableId};
use plan::statement::{IfExists, ObjectName};
use types::{Error, Field, Result, SqlState};

/// The schema of the standard's views; nothing else can be in it.
pub(crate) const INFORMATION_SCHEMA: &str = "information_schema";

/// How a name is shown in messages.
pub(crate) fn shown(name: &ObjectName) -> String {
    match &name.schema {
        Some(schema) => format!("{schema}.{}", name.name),
        None => name.name.clone(),
    }
}

/// The error (42P07) for a name that a table, view or sequence has.
pub(crate) fn already_exists(table: &str) -> Error {
    Error::new(SqlState::DuplicateTable, format!("relation \"{table}\" already exists"))
}

/// Places of named columns; an unknown or repeated one is the user's mistake.
pub(crate) fn positions(table: &str, columns: &[Field], names: &[String]) -> Result<Vec<usize>> {
    let mut places = Vec::with_capacity(names.len());
    for name in names {
        let place = columns.iter().position(|f| f.name == *name).ok_or_else(|| {
            let error = Error::new(
                SqlState::UndefinedColumn,
                format!(
                    "column \"{name}\" named in key does not exist in table \"{}\"",
                    shown(&ObjectName { schema: None, name: table.to_owned() })
                ),
            );
            match catalog::nearest(name, columns.iter().map(|f| f.name.as_str())) {
                Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                None => error,
            }
        })?;
        if places.contains(&place) {
            return Err(Error::new(
                SqlState::DuplicateColumn,
                format!("column \"{name}\" appears twice in a key"),
            ));
        }
        places.push(place);
    }
    Ok(places)
}

/// The standard's schema holds nothing but its views.
pub(crate) fn refuse_system(schema: Option<&str>) -> Result<()> {
    if schema != Some(INFORMATION_SCHEMA) {
        return Ok(());
    }
    let message = format!("nothing can be made or changed in schema {INFORMATION_SCHEMA}");
    Err(Error::new(SqlState::ReadOnly, message))
}

/// The catalog's form of IF NOT EXISTS and OR REPLACE.
pub(crate) fn existing(if_exists: IfExists) -> Existing {
    match if_exists {
        IfExists::Error => Existing::Refuse,
        IfExists::Keep => Existing::Keep,
        IfExists::Replace => Existing::Replace,
    }
}

/// Fails for a wide table, which statements cannot change directly. `verb` names what was tried, as in "alter".
pub(crate) fn refuse_wide(table: &Table, verb: &str) -> Result<()> {
    if table.wide.is_none() {
        return Ok(());
    }
    let message = format!("cannot {verb} wide table \"{}\"", table.name);
    Err(Error::new(SqlState::WrongObjectType, message)
        .with_hint("change the tables that it is made of; REFRESH WIDE TABLE builds it anew"))
}

/// The error (40001) when a concurrent statement changed the table first.
pub(crate) fn changed_meanwhile(table: &str) -> Error {
    let message = format!("table {table} was changed by another statement meanwhile");
    Error::new(SqlState::SerializationFailure, message).with_hint("run the statement again")
}

/// The table in this snapshot; an error (42P01) when it was dropped.
pub(crate) fn table(snapshot: &Snapshot, id: TableId) -> Result<Arc<Table>> {
    snapshot
        .table_by_id(id)
        .cloned()
        .ok_or_else(|| Error::new(SqlState::UndefinedTable, "the table was dropped while the statement ran"))
}
