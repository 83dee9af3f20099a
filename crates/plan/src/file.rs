//! Files as relations, as inert descriptions; crate `formats` reads them.

use std::sync::Arc;

use types::{Schema, Value};

use crate::Zone;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileFormat {
    Parquet,
    Csv,
    /// dbgen's text: `|` between and after values, no header.
    Tbl,
    /// Arrow IPC, file or stream.
    Arrow,
    /// Rows that the host program holds; the path is their name.
    Memory,
}

/// How text files are read; ignored for the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOptions {
    pub delimiter: u8,
    /// 0: nothing is quoted.
    pub quote: u8,
    /// `None`: found by looking at the first line.
    pub header: Option<bool>,
    /// The text that stands for NULL.
    pub null_text: String,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions { delimiter: b',', quote: b'"', header: None, null_text: String::new() }
    }
}

/// Files of one format and schema, read in order.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSource {
    pub paths: Arc<[String]>,
    pub format: FileFormat,
    /// All columns the files have, in file order.
    pub schema: Schema,
    pub text: TextOptions,
    /// Rows in all files, when their metadata says so.
    pub rows: Option<u64>,
    /// What metadata says of each column, or nothing at all. Good for estimates; nothing is proven by it.
    pub statistics: Vec<FileColumn>,
    /// Files that differ in their columns, or give them values by their place: one for each path. Empty when all files
    /// have just the columns of `schema`.
    pub parts: Arc<[FilePart]>,
}

/// One file of a relation: what it is by itself, and for each of the relation's columns where its values are.
#[derive(Clone, Debug, PartialEq)]
pub struct FilePart {
    pub source: FileSource,
    pub columns: Vec<PartColumn>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartColumn {
    /// The file's column at this position.
    File(usize),
    /// All rows of the file have this value.
    Constant(Value),
}

/// Estimates of a column over all files of a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileColumn {
    pub zone: Zone,
    pub distinct: Option<u64>,
}
