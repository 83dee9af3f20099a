//! What scans of files have rejected, as rows: `quickstep_rejects()`, and a table for each name.
//!
//! `store_rejects => true` notes what cannot be read in the session's table `reject_errors`, and what was read, and how, in
//! `reject_scans`; `rejects_table => 'name'` and `rejects_scan => 'name'` in ones of other names. The tables have DuckDB's
//! columns, and are views over the functions; tables and views of the same name come first.

use plan::{FileFormat, FileSource};
use types::quote;
use types::{Error, Field, Result, SqlState, Value};

use super::{count, maybe, nullable, number, text, truth};
use crate::relations::SessionRelations;

const TABLE: &str = "reject_errors";
const SCANS: &str = "reject_scans";
/// Begins the names of logs whose table was dropped.
const DROPPED: char = '\0';

/// Where rejects of a scan go.
pub(crate) struct Wanted {
    /// The table of rejects.
    pub table: String,
    /// The table of scans.
    pub scans: String,
    /// How many are kept; 0 for all.
    pub limit: u64,
}

/// What a statement says of rejects.
#[derive(Default)]
struct Said {
    stored: Option<bool>,
    table: Option<String>,
    scans: Option<String>,
    limit: Option<u64>,
}

/// The options of rejects.
const OPTIONS: [&str; 5] =
    ["store_rejects", "rejects_table", "reject_table", "rejects_scan", "rejects_limit"];

/// Takes its options out of the list: where rejects go.
pub(crate) fn take_wanted(options: &mut Vec<(String, String)>) -> Result<Option<Wanted>> {
    let invalid = |message: String| {
        let error = Error::new(SqlState::InvalidParameterValue, message);
        Err(error.with_hint(
            "store_rejects is true or false; rejects_table and rejects_scan name other tables than reject_errors and \
             reject_scans; rejects_limit is how many are kept, 0 for all",
        ))
    };
    let mut said = Said::default();
    let mut ignores = None;
    for (name, value) in options.iter() {
        let wrong = || invalid(format!("invalid value for option \"{name}\": \"{value}\""));
        let named = || (!value.is_empty() && !value.contains('\0')).then(|| value.to_lowercase());
        let twice = match name.to_ascii_lowercase().as_str() {
            "store_rejects" => match types::switch::parse(value) {
                None if !value.is_empty() => return wrong(),
                stored => said.stored.replace(stored.unwrap_or(true)).is_some(),
            },
            "rejects_table" | "reject_table" => match named() {
                None => return wrong(),
                Some(table) => said.table.replace(table).is_some(),
            },
            "rejects_scan" => match named() {
                None => return wrong(),
                Some(table) => said.scans.replace(table).is_some(),
            },
            "rejects_limit" => match value.parse() {
                Err(_) => return wrong(),
                Ok(limit) => said.limit.replace(limit).is_some(),
            },
            "ignore_errors" => {
                ignores = types::switch::parse(value);
                false
            }
            _ => false,
        };
        if twice {
            return invalid(format!("option \"{name}\" is given more than once"));
        }
    }
    options.retain(|(name, _)| !OPTIONS.contains(&name.to_ascii_lowercase().as_str()));
    said.settle(ignores).or_else(invalid)
}

impl Said {
    /// What is wanted, if anything is; the message of what does not go together.
    fn settle(self, ignores: Option<bool>) -> std::result::Result<Option<Wanted>, String> {
        let Said { stored, table, scans, limit } = self;
        let named = table.is_some() || scans.is_some();
        if stored == Some(false) && named {
            return Err(
                "rejects_table names where rejects are stored, which store_rejects forbids".to_owned()
            );
        }
        if stored != Some(true) && !named {
            return match limit {
                Some(_) => {
                    Err("rejects_limit is for rejects that are stored: give store_rejects too".to_owned())
                }
                None => Ok(None),
            };
        }
        if ignores == Some(false) {
            return Err("store_rejects leaves records out that cannot be read, which ignore_errors forbids"
                .to_owned());
        }
        let table = table.unwrap_or_else(|| TABLE.to_owned());
        let scans = scans.unwrap_or_else(|| SCANS.to_owned());
        if table == scans {
            return Err("rejects_table and rejects_scan are two tables".to_owned());
        }
        Ok(Some(Wanted { table, scans, limit: limit.unwrap_or(0) }))
    }
}

/// The options as the table of scans shows them, in order.
pub(crate) fn said(options: &[(String, String)]) -> String {
    let shown = |value: &str| match value {
        _ if value.parse::<f64>().is_ok() || types::switch::parse(value).is_some() => value.to_owned(),
        _ => quote::text(value),
    };
    let mut said: Vec<String> = options
        .iter()
        .filter(|(name, value)| !name.starts_with('\0') && !value.contains('\0'))
        .map(|(name, value)| format!("{}={}", name.to_lowercase(), shown(value)))
        .collect();
    said.sort();
    said.join(", ")
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

/// The table of a log, or of scans; `None` where nothing has that name.
pub(crate) fn view(relations: &SessionRelations, name: &str) -> Option<sql::ViewInfo> {
    let quoted = quote::text(name);
    let rejects = relations.rejects();
    let text = if rejects.contains_key(name) {
        format!(
            "SELECT scan AS scan_id, file_number AS file_id, line, line_byte + 1 AS line_byte_position, \
             byte + 1 AS byte_position, column_number AS column_idx, column_name, kind AS error_type, \
             text AS csv_line, cause AS error_message FROM quickstep_rejects() WHERE table_name = {quoted}"
        )
    } else if rejects.values().any(|log| log.scans().iter().any(|scan| scan.table == name)) {
        format!(
            "SELECT scan AS scan_id, file_number AS file_id, file AS file_path, delimiter, quote, escape, \
             newline_delimiter, skip_rows, has_header, columns, date_format, timestamp_format, user_arguments \
             FROM quickstep_reject_scans() WHERE table_name = {quoted}"
        )
    } else {
        return None;
    };
    Some(sql::ViewInfo { columns: vec![], schema: None, text })
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
        nullable(number("file_number")),
        number("line_byte"),
        nullable(number("column_number")),
        nullable(text("kind")),
    ]
}

/// A row for each record that this session's scans have rejected.
pub(super) fn rows(relations: &SessionRelations) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (name, log) in relations.rejects().iter().filter(|(name, _)| !name.starts_with(DROPPED)) {
        let (found, beyond) = log.rows();
        let scans = log.scans();
        let number = |scan: u64, file: &str| {
            let scan = scans.iter().find(|known| known.scan == scan)?;
            scan.source.paths.iter().position(|path| path == file)
        };
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
                number(scan, &reject.file).map_or(Value::Null, |at| count(at as u64)),
                count(reject.line_byte),
                reject.column_number.map_or(Value::Null, count),
                Value::text(reject.kind.name()),
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
                Value::Null,
                count(0),
                Value::Null,
                Value::Null,
            ]);
        }
    }
    debug_assert!(rows.iter().all(|row| row.len() == fields().len()));
    rows
}

pub(super) fn scan_fields() -> Vec<Field> {
    vec![
        text("table_name"),
        number("scan"),
        number("file_number"),
        text("file"),
        text("delimiter"),
        text("quote"),
        text("escape"),
        text("newline_delimiter"),
        number("skip_rows"),
        nullable(truth("has_header")),
        text("columns"),
        nullable(text("date_format")),
        nullable(text("timestamp_format")),
        text("user_arguments"),
    ]
}

/// A row for each file of the scans whose rejects are noted.
pub(super) fn scan_rows(relations: &SessionRelations) -> Vec<Vec<Value>> {
    let sign = |byte: u8| if byte == 0 { String::new() } else { char::from(byte).to_string() };
    let mut rows = Vec::new();
    for log in relations.rejects().values() {
        for scan in log.scans() {
            for (number, path) in scan.source.paths.iter().enumerate() {
                let source = scan.source.parts.get(number).map_or(&scan.source, |part| &part.source);
                let options = &source.text;
                let columns: Vec<String> = source
                    .schema
                    .fields()
                    .iter()
                    .map(|field| {
                        format!("{}: {}", quote::text(&field.name), quote::text(&field.ty.sql_name()))
                    })
                    .collect();
                let form = |wanted: fn(types::Type) -> bool| {
                    let at = source.schema.fields().iter().position(|field| wanted(field.ty))?;
                    options.formats.get(at)?.as_deref()
                };
                let is_moment = |ty| matches!(ty, types::Type::Timestamp | types::Type::TimestampTz);
                rows.push(vec![
                    Value::text(&scan.table),
                    count(scan.scan),
                    count(number as u64),
                    Value::text(path),
                    Value::text(&options.delimiter_text()),
                    Value::text(&sign(options.quote)),
                    Value::text(&sign(options.escape)),
                    Value::text(if options.newline == b'\r' { "\\r" } else { "\\n" }),
                    count(options.skip),
                    options.header.map_or(Value::Null, Value::Bool),
                    Value::text(&format!("{{{}}}", columns.join(","))),
                    maybe(form(|ty| ty == types::Type::Date)),
                    maybe(form(is_moment)),
                    Value::text(&scan.said),
                ]);
            }
        }
    }
    debug_assert!(rows.iter().all(|row| row.len() == scan_fields().len()));
    rows
}

impl crate::Session {
    /// Whether the session has rejects, or scans of files, under that name.
    pub(crate) fn has_reject_table(&self, name: &str) -> bool {
        let rejects = self.rejects.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        rejects.contains_key(name)
            || rejects.values().any(|log| log.scans().iter().any(|scan| scan.table == name))
    }

    /// DROP TABLE of rejects, or of the scans that they come from.
    pub(crate) fn drop_reject_table(&self, name: &str) {
        let mut rejects = self.rejects.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match rejects.remove(name) {
            // Its scans are in their table still: the log has a name that no table can have.
            Some(log) => drop(rejects.insert(format!("{DROPPED}{}", log.last_scan()), log)),
            None => rejects.values().for_each(|log| log.leave_table(name)),
        }
        rejects.retain(|name, log| {
            !name.starts_with(DROPPED) || log.scans().iter().any(|scan| !scan.table.is_empty())
        });
    }
}
