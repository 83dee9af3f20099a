//! From a path or a glob to a `FileSource`: format by extension or option, schema from the files.

use std::path::Path;

use plan::file::TextOptions;
use plan::{FileFormat, FileSource};
use types::{Error, Result, Schema, SqlState};

use crate::text::Given;
use crate::{arrow_ipc, parquet, text};

/// Describes the files that `pattern` (a path, or a glob) names.
pub fn describe(pattern: &str, options: &[(String, String)]) -> Result<FileSource> {
    describe_for(pattern, options, None)
}

/// As `describe`, for rows that go into a table: text is read with the types of `schema`, the table's columns in the
/// order in which the file has them. Formats that carry types keep their own.
pub fn describe_as(pattern: &str, options: &[(String, String)], schema: &Schema) -> Result<FileSource> {
    describe_for(pattern, options, Some(schema))
}

fn describe_for(pattern: &str, options: &[(String, String)], table: Option<&Schema>) -> Result<FileSource> {
    let paths = expand(pattern)?;
    let named = options.iter().find(|(name, _)| name.eq_ignore_ascii_case("format")).map(|(_, v)| v.as_str());
    let format = match named {
        Some(name) => by_name(name).ok_or_else(|| {
            Error::new(SqlState::InvalidParameterValue, format!("format \"{name}\" is not known"))
                .with_hint("the formats are parquet, csv, tbl and arrow")
        })?,
        None => paths
            .first()
            .and_then(|p| Path::new(p).extension())
            .and_then(|e| e.to_str())
            .and_then(by_name)
            .ok_or_else(|| {
                Error::new(SqlState::FeatureNotSupported, format!("cannot tell the format of \"{pattern}\""))
                    .with_hint(
                        "name the file .parquet, .csv, .tsv, .tbl or .arrow, or give the FORMAT option",
                    )
            })?,
    };
    let given = Given::parse(options, format)?;
    let (schema, text, rows) = match format {
        FileFormat::Parquet => {
            let (schema, rows) = parquet::describe(&paths)?;
            (schema, TextOptions::default(), Some(rows))
        }
        FileFormat::Arrow => {
            let (schema, rows) = arrow_ipc::describe(&paths)?;
            (schema, TextOptions::default(), rows)
        }
        FileFormat::Csv | FileFormat::Tbl => {
            let (schema, text) = text::describe(&paths, format, &given, table)?;
            (schema, text, None)
        }
    };
    Ok(FileSource { paths: paths.into(), format, schema, text, rows })
}

fn by_name(name: &str) -> Option<FileFormat> {
    Some(match name.to_ascii_lowercase().as_str() {
        "parquet" | "pq" => FileFormat::Parquet,
        "csv" | "tsv" | "txt" => FileFormat::Csv,
        "tbl" => FileFormat::Tbl,
        "arrow" | "ipc" | "feather" | "arrows" => FileFormat::Arrow,
        _ => return None,
    })
}

/// The files a pattern names, sorted; a plain path names itself.
fn expand(pattern: &str) -> Result<Vec<String>> {
    let missing = || {
        Error::new(SqlState::UndefinedFile, format!("no file matches \"{pattern}\""))
            .with_hint("paths are relative to the folder the process runs in")
    };
    if Path::new(pattern).is_file() {
        return Ok(vec![pattern.to_owned()]);
    }
    if !pattern.contains(['*', '?', '[']) {
        return Err(missing());
    }
    let matches = glob::glob(pattern).map_err(|e| {
        Error::new(SqlState::InvalidParameterValue, format!("invalid file pattern \"{pattern}\": {e}"))
    })?;
    let mut paths: Vec<String> =
        matches.flatten().filter(|p| p.is_file()).map(|p| p.to_string_lossy().into_owned()).collect();
    if paths.is_empty() {
        return Err(missing());
    }
    paths.sort();
    Ok(paths)
}
