//! From a path or a glob to a `FileSource`: format by extension, schema from the first file.

use std::path::Path;

use plan::file::TextOptions;
use plan::{FileFormat, FileSource};
use types::{Error, Result, SqlState};

use crate::parquet;

/// Describes the files that `pattern` (a path, or a glob) names.
pub fn describe(pattern: &str, options: &[(String, String)]) -> Result<FileSource> {
    let paths = expand(pattern)?;
    let named = options.iter().find(|(name, _)| name.eq_ignore_ascii_case("format")).map(|(_, v)| v.as_str());
    let format = match named {
        Some(name) => by_name(name),
        None => {
            paths.first().and_then(|p| Path::new(p).extension()).and_then(|e| e.to_str()).and_then(by_name)
        }
    };
    let format = format.ok_or_else(|| {
        Error::new(SqlState::FeatureNotSupported, format!("cannot tell the format of \"{pattern}\""))
            .with_hint("name the file .parquet, .csv, .tsv, .tbl or .arrow, or give the FORMAT option")
    })?;
    match format {
        FileFormat::Parquet => {
            let (schema, rows) = parquet::describe(&paths)?;
            let text = TextOptions::default();
            Ok(FileSource { paths: paths.into(), format, schema, text, rows: Some(rows) })
        }
        other => Err(Error::unsupported(format!("reading {other:?} files is not supported"))),
    }
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
