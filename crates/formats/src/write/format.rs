//! What every format's writer is: the formats by name, and the trait that each of them has.

use std::io;

use types::SqlState;
use vector::Batch;

/// What a file of results looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFormat {
    /// Comma-separated with a heading, quoted where needed; NULL is nothing at all, the empty string is `""`.
    Csv,
    /// Tab-separated with a heading; NULL is `\N`, and backslash, tab and line ends are escaped by a backslash.
    Tsv,
    /// One array of objects.
    Json,
    /// One object a line.
    Ndjson,
    /// Arrow IPC stream.
    Arrow,
    /// A Parquet file.
    Parquet,
}

impl WriteFormat {
    /// The names that COPY's FORMAT takes.
    pub const NAMES: [(&'static str, WriteFormat); 6] = [
        ("csv", WriteFormat::Csv),
        ("tsv", WriteFormat::Tsv),
        ("json", WriteFormat::Json),
        ("ndjson", WriteFormat::Ndjson),
        ("arrow", WriteFormat::Arrow),
        ("parquet", WriteFormat::Parquet),
    ];

    /// The format that a file name's extension stands for.
    pub fn of_path(path: &str) -> Option<Self> {
        let extension = path.rsplit_once('.')?.1.to_ascii_lowercase();
        let name = match extension.as_str() {
            "jsonl" => "ndjson",
            "ipc" | "arrows" | "feather" => "arrow",
            "txt" | "tab" => "tsv",
            "pq" => "parquet",
            other => other,
        };
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, format)| *format)
    }
}

/// Takes batches of one schema. What was written is complete only after `finish`.
pub trait BatchWriter {
    /// Appends the batch's rows; its columns are those of the schema that the writer was made with.
    fn write(&mut self, batch: &Batch) -> io::Result<()>;
    /// Writes what ends the file, and flushes.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// An engine error as one of input and output, for interfaces that know only those.
pub(super) fn as_io(error: &types::Error) -> io::Error {
    let kind = match error.state() {
        SqlState::OutOfMemory => io::ErrorKind::OutOfMemory,
        _ => io::ErrorKind::InvalidData,
    };
    io::Error::new(kind, error.to_string())
}
