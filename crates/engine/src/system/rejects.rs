//! What scans of files have rejected, as rows: `quickstep_rejects()`, and a table for each name.
//!
//! `store_rejects => true` notes what cannot be read in the session's table `reject_errors`; `rejects_table => 'name'` in
//! one of another name. The tables are views over the function; tables and views of the same name come first.

use types::{Error, Field, Result, SqlState, Value};

use super::{count, maybe, nullable, number, text};
use crate::relations::SessionRelations;

const TABLE: &str = "reject_errors";

/// Takes its options out of the list: the name of the table that rejects go into.
pub(crate) fn take_table(options: &mut Vec<(String, String)>) -> Result<Option<String>> {
    let mut table = None;
    let mut wrong = None;
    options.retain(|(name, value)| {
        match name.to_ascii_lowercase().as_str() {
            "store_rejects" => match crate::settings::parse_switch(value) {
                Some(true) => _ = table.get_or_insert_with(|| TABLE.to_owned()),
                Some(false) => {}
                None if value.is_empty() => _ = table.get_or_insert_with(|| TABLE.to_owned()),
                None => wrong = Some((name.clone(), value.clone())),
            },
            "rejects_table" | "reject_table" if !value.is_empty() => table = Some(value.to_lowercase()),
            _ => return true,
        }
        false
    });
    match wrong {
        None => Ok(table),
        Some((name, value)) => Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("invalid value for option \"{name}\": \"{value}\""),
        )
        .with_hint("store_rejects is true or false; rejects_table names another table than reject_errors")),
    }
}

/// The table of a log.
pub(crate) fn view(name: &str) -> sql::ViewInfo {
    let quoted = name.replace('\'', "''");
    sql::ViewInfo {
        columns: vec![],
        schema: None,
        text: format!(
            "SELECT scan, file, line, byte, column_name, text, cause FROM quickstep_rejects() WHERE table_name = '{quoted}'"
        ),
    }
}

pub(super) fn fields() -> Vec<Field> {
    vec![
        text("table_name"),
        number("scan"),
        text("file"),
        number("line"),
        number("byte"),
        nullable(text("column_name")),
        text("text"),
        text("cause"),
    ]
}

pub(super) fn rows(relations: &SessionRelations) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (name, log) in relations.rejects().iter() {
        let (found, beyond) = log.rows();
        for (scan, reject) in found {
            rows.push(vec![
                Value::text(name),
                count(scan),
                Value::text(&reject.file),
                count(reject.line),
                count(reject.byte),
                maybe(reject.column.as_deref()),
                Value::text(&reject.text),
                Value::text(&reject.cause),
            ]);
        }
        if beyond > 0 {
            let cause = format!("{beyond} more rejects were not kept");
            let none = || Value::text("");
            rows.push(vec![
                Value::text(name),
                count(0),
                none(),
                count(0),
                count(0),
                Value::Null,
                none(),
                Value::text(&cause),
            ]);
        }
    }
    debug_assert!(rows.iter().all(|row| row.len() == fields().len()));
    rows
}
