//! Files in: Parquet, CSV, tbl, JSON and Arrow IPC read in parallel as batches. Results out: `write`.
//!
//! `describe` looks at a file's metadata and says what it is as a relation; `open` makes a `Reader` whose units (row
//! groups, byte ranges, record batches) are read independently, each by the worker that claims it. A file is not
//! trusted: whatever is wrong with it becomes an error that names the file and the place.
#![forbid(unsafe_code)]

mod arrow_ipc;
mod contents;
mod decode;
mod describe;
mod encoding;
mod environment;
mod held;
mod input;
mod json;
pub mod lake;
mod layout;
mod live;
mod options;
mod parquet;
mod parts;
pub mod quiet;
mod reader;
mod rejects;
pub mod remote;
#[cfg(test)]
mod tests;
mod text;
mod thrift;
pub mod write;

use std::sync::Arc;

use plan::{FileFormat, FileSource};
use types::Result;

pub use self::parquet::listing;
pub use describe::{at_home, describe, describe_as, files_of, glob, report};
pub use environment::{Ask, Environment};
pub use held::{Held, hold, hold_live};
pub use live::Overflow;
pub use options::{READER_OPTIONS, ReaderOption};
use reader::Decoded;
pub use reader::{Reader, Skipped, Window};
pub use rejects::{Reject, RejectKind, RejectLog, RejectLogs, RejectScan};

/// Opens the columns at `columns` (positions in the source's schema), in that order. Records that cannot be read are
/// noted nowhere.
pub fn open(
    environment: &Environment,
    file: &FileSource,
    columns: &[usize],
    batch_rows: usize,
) -> Result<Arc<dyn Reader>> {
    open_noting(environment, file, columns, batch_rows, &RejectLogs::new())
}

/// As `open`; records that are left out are noted in the log that the source names, if it is among `logs`.
pub fn open_noting(
    environment: &Environment,
    file: &FileSource,
    columns: &[usize],
    batch_rows: usize,
    logs: &RejectLogs,
) -> Result<Arc<dyn Reader>> {
    if !file.parts.is_empty() {
        return Ok(Arc::new(parts::Parts::new(environment, file, columns, batch_rows, logs)));
    }
    match file.format {
        FileFormat::Parquet => {
            Ok(Arc::new(parquet::ParquetFiles::open(environment, file, columns, batch_rows)?))
        }
        FileFormat::Memory => Ok(Arc::new(held::HeldRows::open(file, columns, batch_rows)?)),
        FileFormat::Arrow => {
            Ok(Arc::new(arrow_ipc::ArrowFiles::open(environment, file, columns, batch_rows)?))
        }
        FileFormat::Whole => Ok(Arc::new(contents::Contents::open(environment, file, columns))),
        FileFormat::Json => {
            Ok(Arc::new(json::JsonFiles::open(environment, file, columns, batch_rows, logs)?))
        }
        FileFormat::Csv | FileFormat::Tbl => {
            Ok(Arc::new(text::TextFiles::open(environment, file, columns, batch_rows, logs)?))
        }
    }
}
