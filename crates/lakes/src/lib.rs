//! Tables of Delta Lake and Iceberg as relations of files.
//!
//! A table of these formats is a folder of Parquet files and a history that says which of them, and which of their rows,
//! belong to which state of the table. This crate reads the history: [`describe`] gives a `FileSource` with a part for
//! each data file, whose columns, bounds and deleted rows are as the metadata says; crate `formats` reads it, and opens
//! only files that the bounds leave. [`rows`] lists the history.
//!
//! Metadata is foreign: every length, name and number is checked, and damage is an error that names the file. A table
//! that uses something that is not known here is refused by that thing's name, and never read without it.
#![forbid(unsafe_code)]

mod delta;
mod iceberg;
mod options;
mod table;

pub use delta::Append;
use formats::Environment;
use formats::lake::{Folder, Listed};
use plan::FileSource;
use types::{Error, Result, Schema, SqlState, Value};

/// A table format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Delta Lake.
    Delta,
    /// Apache Iceberg.
    Iceberg,
}

impl Format {
    /// The format of a reader's name, `delta` or `iceberg`; `None` for others.
    pub fn named(name: &str) -> Option<Format> {
        match name.to_ascii_lowercase().as_str() {
            "delta" => Some(Format::Delta),
            "iceberg" => Some(Format::Iceberg),
            _ => None,
        }
    }
}

/// The table functions that list a table's history.
pub const FUNCTIONS: [&str; 3] = ["delta_history", "iceberg_snapshots", "iceberg_metadata"];

/// The state of the table at `path` that the options name, the latest without options.
pub fn describe(
    environment: &Environment,
    format: Format,
    path: &str,
    options: &[(String, String)],
) -> Result<FileSource> {
    match format {
        Format::Delta => delta::describe(environment, path, options),
        Format::Iceberg => iceberg::describe(environment, path, options),
    }
}

/// The rows of one of `FUNCTIONS` for the table at `path`.
pub fn rows(environment: &Environment, function: &str, path: &str) -> Result<(Schema, Vec<Vec<Value>>)> {
    match function {
        "delta_history" => delta::history(environment, path),
        "iceberg_snapshots" => iceberg::snapshots(environment, path),
        "iceberg_metadata" => iceberg::files(environment, path),
        _ => {
            Err(Error::new(SqlState::UndefinedFunction, format!("there is no function {function} of tables")))
        }
    }
}

/// The format of the table that a folder plainly is: it has the folder in which the format keeps its history.
pub fn format_of(environment: &Environment, path: &str) -> Result<Option<Format>> {
    let folder = Folder::new(path);
    let has = |inside: &str, wanted: &dyn Fn(&str) -> bool| {
        Ok::<_, Error>(match folder.list(environment, inside)? {
            Listed::Names(names) => names.iter().any(|name| wanted(name)),
            Listed::Unlisted => false,
        })
    };
    if has("_delta_log", &|name| delta::is_of_log(name))? {
        return Ok(Some(Format::Delta));
    }
    match has("metadata", &|name| name.ends_with(".metadata.json"))? {
        true => Ok(Some(Format::Iceberg)),
        false => Ok(None),
    }
}
