//! What scans of files have rejected, as rows: `quickstep_rejects()`, and a table for each name.
//!
//! `store_rejects => true` notes what cannot be read in the session's table `reject_errors`; `rejects_table =>
//! 'name'` in one of another name. The tables are views over the function; tables and views of the same name come
//! first.

use plan::{FileFormat, FileSource};
use types::quote;
use types::{Error, Field, Result, SqlState, Value};

use super::{count, maybe, nullable, number, text};
use crate::relations::SessionRelations;

const TABLE: &str = "reject_errors";

/// Takes its options out of the list: the name of the table that rejects go into.
pub(crate) fn take_table(options: &mut Vec<(String, String)>) -> Result<Option<String>> {
    let (mut stored, mut table) = (None, None);
    let invalid = |message: String| {
        let error = Error::new(SqlState::InvalidParameterValue, message);
        Err(error.with_hint(
            "store_rejects is true or false; rejects_table names another table than reject_errors",
        ))
    };
    for (name, value) in options.iter() {
        let wrong = || invalid(format!("invalid value for option \"{name}\": \"{value}\""));
        let twice = match name.to_ascii_lowercase().as_str() {
            "store_rejects" => match types::switch::parse(value) {
                None if !value.is_empty() => return wrong(),
                said => stored.replace(said.unwrap_or(true)).is_some(),
            },
            "rejects_table" | "reject_table" => match value.is_empty() || value.contains('\0') {
                true => return wrong(),
                false => table.replace(value.to_lowercase()).is_some(),
            },
            _ => false,
        };
        if twice {
            return invalid(format!("option \"{name}\" is given more than once"));
        }
    }
    if stored == Some(false) && table.is_some() {
        return invalid(
            "rejects_table names where rejects are stored, which store_rejects forbids".to_owned(),
        );
    }
    let named = |name: &str| matches!(name, "store_rejects" | "rejects_table" | "reject_table");
    options.retain(|(name, _)| !named(&name.to_ascii_lowercase()));
    Ok(table.or_else(|| (stored == Some(true)).then(|| TABLE.to_owned())))
}

/// An error for files in which nothing can be rejected: those whose values have types.
pub(crate) fn check_noted(source: &FileSource) -> Result<()> {
    match source.format {
        FileFormat::Csv | FileFormat::Tbl | FileFormat::Json => Ok(()),
        _ => Err(Error::new(
            SqlState::InvalidParameterValue,
            "option \"store_rejects\" is for text files: CSV and JSON",
        )
        .with_hint("leave it out: files of other formats are read as a whole or not at all")),
    }
}

/// The table of a log.
pub(crate) fn view(name: &str) -> sql::ViewInfo {
    let quoted = quote::text(name);
    sql::ViewInfo {
        columns: vec![],
        schema: None,
        text: format!(
            "SELECT scan, file, line, byte, column_name, text, cause FROM quickstep_rejects() WHERE table_name = {quoted}"
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

/// A row for each record that this session's scans have rejected.
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
