//! Files as relations, as inert descriptions; crate `formats` reads them.

use std::sync::Arc;

use types::Schema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileFormat {
    Parquet,
    Csv,
    /// dbgen's text: `|` between and after values, no header.
    Tbl,
    /// Arrow IPC, file or stream.
    Arrow,
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
}
