//! Results out: CSV, TSV, JSON, NDJSON, Arrow IPC and Parquet, batch by batch into any writer.
//!
//! `writer` encodes on the calling thread with the format's usual options. COPY TO goes by way of `write_to`, which
//! encodes on several threads (`parallel`), divides rows into partitions (`partitions`), and lets files appear whole
//! or not at all (`target`).

mod columnar;
mod delimited;
mod json;
mod options;
mod parallel;
mod partitions;
mod target;

use std::io::{self, Write};

use types::{Schema, SqlState};
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

/// A writer of `format` into `out`.
pub fn writer<'a>(
    format: WriteFormat,
    schema: &Schema,
    out: impl Write + Send + 'a,
) -> io::Result<Box<dyn BatchWriter + 'a>> {
    Ok(match format {
        WriteFormat::Csv => Box::new(delimited::Delimited::csv(schema, out)?),
        WriteFormat::Tsv => Box::new(delimited::Delimited::tsv(schema, out)?),
        WriteFormat::Json => Box::new(json::Json::array(schema, out)),
        WriteFormat::Ndjson => Box::new(json::Json::lines(schema, out)),
        WriteFormat::Arrow => Box::new(columnar::ArrowStream::new(schema, out)?),
        WriteFormat::Parquet => Box::new(columnar::ParquetFile::new(schema, out)?),
    })
}

/// Writes a whole result into `out`.
pub fn write_all(
    format: WriteFormat,
    schema: &Schema,
    batches: &[Batch],
    out: impl Write + Send,
) -> io::Result<()> {
    let mut writer = writer(format, schema, out)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()
}

pub use json::quoted as json_text;
pub use options::{Compression, Existing, ForceQuote, WRITER_OPTIONS, WriteOptions};
pub use parallel::{GoOn, NextBatch, write_parallel};
pub use partitions::NULL_PARTITION;
pub use target::write_to;

/// An engine error as one of input and output, for interfaces that know only those.
fn as_io(error: &types::Error) -> io::Error {
    let kind = match error.state() {
        SqlState::OutOfMemory => io::ErrorKind::OutOfMemory,
        _ => io::ErrorKind::InvalidData,
    };
    io::Error::new(kind, error.to_string())
}
