//! Files in: Parquet, CSV, tbl and Arrow IPC read in parallel as batches. Results out: `write`.
//!
//! `describe` looks at a file's metadata and says what it is as a relation; `open` makes a `Reader` whose units (row
//! groups, byte ranges, record batches) are read independently by whoever claims them. A file is not trusted: whatever
//! is wrong with it becomes an error that names the file and the place.
#![forbid(unsafe_code)]

mod arrow_ipc;
mod decode;
mod describe;
mod input;
mod parquet;
#[cfg(test)]
mod tests;
mod text;
mod thrift;
pub mod write;

use std::sync::Arc;

use plan::{FileFormat, FileSource};
use types::Result;
use vector::Batch;

pub use describe::{describe, describe_as};

/// Reads the chosen columns of a `FileSource`, unit by unit, from any thread.
pub trait Reader: Send + Sync {
    /// How many units there are; each may be read by another thread.
    fn units(&self) -> Result<u64>;
    /// Hands the unit's rows to `push`, in order, until it returns false.
    fn read(&self, unit: u64, push: &mut dyn FnMut(Batch) -> Result<bool>) -> Result<()>;
}

/// Opens the columns at `columns` (positions in the source's schema), in that order.
pub fn open(file: &FileSource, columns: &[usize], batch_rows: usize) -> Result<Arc<dyn Reader>> {
    match file.format {
        FileFormat::Parquet => Ok(Arc::new(parquet::ParquetFiles::open(file, columns, batch_rows)?)),
        FileFormat::Arrow => Ok(Arc::new(arrow_ipc::ArrowFiles::open(file, columns, batch_rows)?)),
        FileFormat::Csv | FileFormat::Tbl => Ok(Arc::new(text::TextFiles::open(file, columns, batch_rows)?)),
    }
}
