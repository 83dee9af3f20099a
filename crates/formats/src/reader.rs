//! What every format's reader offers: units of a file that any thread reads, as windows whose columns are decoded when
//! they are fetched.

use std::ops::Range;

use plan::Pruning;
use types::Result;
use vector::{Batch, Vector};

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
    /// The number of the first row in its file, counted from 0; `None` where that is not known. Rows follow each other.
    fn first_row(&self) -> Option<u64> {
        None
    }
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
pub(crate) struct Decoded(pub Batch);

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
