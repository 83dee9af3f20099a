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
mod layout;
mod live;
mod options;
mod parquet;
mod parts;
mod rejects;
pub mod remote;
#[cfg(test)]
mod tests;
mod text;
mod thrift;
pub mod write;

use std::ops::Range;
use std::sync::Arc;

use plan::{FileFormat, FileSource, Pruning};
use types::Result;
use vector::{Batch, Vector};

pub use self::parquet::listing;
pub use describe::{at_home, describe, describe_as, files_of, glob, report};
pub use environment::{Ask, Environment};
pub use held::{Held, hold, hold_live};
pub use live::Overflow;
pub use options::{READER_OPTIONS, ReaderOption};
pub use rejects::{Reject, RejectLog, RejectLogs};

/// Reads the chosen columns of a `FileSource`, unit by unit, from any thread.
pub trait Reader: Send + Sync {
    /// Leaves out units in which some of the conditions (over the chosen columns) cannot hold. Called at most once,
    /// before `units` is.
    fn prune(&self, _conditions: &[Pruning]) -> Result<Skipped> {
        Ok(Skipped::default())
    }
    /// How many units there are; each may be read by another thread.
    fn units(&self) -> Result<u64>;
    /// Whether the rows come from the host program while they are read. `advance` then waits for the next ones, which
    /// `scan` shows.
    fn is_live(&self) -> bool {
        false
    }
    /// Waits for the next rows of a live reader; false after the last ones.
    fn advance(&self) -> Result<bool> {
        Ok(false)
    }
    /// Shows the unit's rows to `visit`, window by window and in order, until it returns false.
    fn scan(&self, unit: u64, visit: &mut dyn FnMut(&mut dyn Window) -> Result<bool>) -> Result<()>;
    /// Hands the unit's rows to `push`, in order, until it returns false.
    fn read(&self, unit: u64, push: &mut dyn FnMut(Batch) -> Result<bool>) -> Result<()> {
        self.scan(unit, &mut |window| push(window.batch()?))
    }
}

/// What pruning left out, of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Files of a relation of differing files; 0 where all files are alike.
    pub files: u64,
    /// Files that are not opened, since their constants (folder values, names) refute the conditions.
    pub files_skipped: u64,
    /// Parquet row groups of the files that are left.
    pub groups: u64,
    /// Row groups without a row that can pass.
    pub groups_skipped: u64,
    /// Pages of the columns that the conditions name.
    pub pages: u64,
    /// Pages without a row that can pass.
    pub pages_skipped: u64,
}

/// Rows of a unit that are looked at together. A column is decoded when it is fetched, and passed over if it is not.
pub trait Window {
    /// How many rows the window has.
    fn rows(&self) -> usize;
    /// How many columns there are, those of `open`.
    fn columns(&self) -> usize;
    /// Rows of a column. A column that was fetched before has only the rows that were fetched then.
    fn fetch(&mut self, column: usize, rows: Range<usize>) -> Result<Vector>;
    /// The rows with these numbers, which ascend.
    fn fetch_rows(&mut self, column: usize, rows: &[u32]) -> Result<Vector> {
        Ok(self.fetch(column, 0..self.rows())?.gather(rows))
    }
    /// All columns of all rows.
    fn batch(&mut self) -> Result<Batch> {
        let rows = self.rows();
        let columns = (0..self.columns()).map(|c| self.fetch(c, 0..rows)).collect::<Result<_>>()?;
        Ok(Batch::new(columns, rows))
    }
}

/// A window of rows that are decoded already.
struct Decoded(Batch);

impl Window for Decoded {
    fn rows(&self) -> usize {
        self.0.rows
    }
    fn columns(&self) -> usize {
        self.0.columns.len()
    }
    fn fetch(&mut self, column: usize, rows: Range<usize>) -> Result<Vector> {
        let vector = &self.0.columns[column];
        Ok(if rows.len() == vector.len() { vector.clone() } else { vector.slice(rows.start, rows.len()) })
    }
    fn batch(&mut self) -> Result<Batch> {
        Ok(self.0.clone())
    }
}

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
