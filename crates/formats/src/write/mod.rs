//! Results out: CSV, TSV, JSON, NDJSON, Arrow IPC and Parquet, batch by batch into any writer.
//!
//! `writer` encodes on the calling thread with the format's usual options. COPY TO goes by way of `write_to`, which
//! encodes on several threads (`parallel`), divides rows into partitions (`partitions`), and lets files appear whole
//! or not at all (`target`).

mod columnar;
mod delimited;
mod field_ids;
mod format;
mod json;
mod options;
mod parallel;
mod partitions;
mod target;
mod written;

use std::io::{self, Write};

use types::Schema;
use vector::Batch;

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

pub use field_ids::STEP as FIELD_ID_STEP;
use format::as_io;
pub use format::{BatchWriter, WriteFormat};
pub use json::quoted as json_text;
pub use options::{Compression, Existing, ForceQuote, Returned, WRITER_OPTIONS, WriteOptions};
pub use parallel::{GoOn, NextBatch, write_parallel};
pub use partitions::NULL_PARTITION;
pub use target::write_to;
pub use written::{FileFacts, WrittenFile, facts};
