//! A suite at a scale, and the iterator over the batches of one part of one of its tables.
//!
//! Ownership: a source shares TPC-H's text pool (300 MiB) with its clones and iterators; the pool goes when
//! the last of them goes. Keep one source for a whole load.

use crate::table::{Generate, SCALE_MAX, SCALE_MIN, Table, UnitRows};
use crate::{GeneratorError, Suite, tpcds, tpch};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::ops::{ControlFlow, Range};
use std::time::Duration;

/// Rows that a part should have: enough to make its start-up free, few enough that two workers end together.
const PART_ROWS_GOAL: u64 = 150_000;

/// How often a caller that waits is asked whether it still wants to.
const WAIT_STEP: Duration = Duration::from_millis(2);

/// A suite's data at a scale. Cheap to clone; may be shared between threads.
#[derive(Clone)]
pub struct Source {
    suite: Suite,
    scale: f64,
    text: tpch::SharedText,
}

impl Source {
    /// Generates nothing yet. The scale must lie between [`SCALE_MIN`] and [`SCALE_MAX`].
    pub fn new(suite: Suite, scale: f64) -> Result<Source, GeneratorError> {
        // A NaN is in no range.
        if !(SCALE_MIN..=SCALE_MAX).contains(&scale) {
            return Err(GeneratorError::Scale(scale));
        }
        Ok(Source { suite, scale, text: tpch::SharedText::default() })
    }

    /// The suite whose tables this source makes.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// The scale factor that `new` was given.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Makes what all tables of the suite share (TPC-H's text pool: a second, 300 MiB), on a thread of its own, and
    /// calls `wait` every few milliseconds until it is there. A `Break` ends the waiting; the thread then still
    /// ends its work and drops it.
    pub fn prepare(&self, mut wait: impl FnMut() -> ControlFlow<()>) -> ControlFlow<()> {
        if self.suite != Suite::Tpch {
            return ControlFlow::Continue(());
        }
        let text = self.text.clone();
        let maker = std::thread::spawn(move || {
            text.pool();
        });
        while !maker.is_finished() {
            wait()?;
            std::thread::sleep(WAIT_STEP);
        }
        ControlFlow::Continue(())
    }

    /// Exact number of rows; none for lineitem, lineorder and TPC-DS's sales and returns, where the random
    /// stream decides.
    pub fn rows(&self, table: &str) -> Result<Option<u64>, GeneratorError> {
        let table = self.suite.find(table)?;
        Ok(match table.unit_rows {
            UnitRows::Exactly(rows) => Some((table.units)(self.scale) * rows),
            UnitRows::About(_) => None,
        })
    }

    /// Number of rows, exact or within about a percent: for progress and for sizing.
    pub fn rows_estimated(&self, table: &str) -> Result<u64, GeneratorError> {
        Ok(estimated(self.suite.find(table)?, self.scale))
    }

    /// A good number of parts to cut the table into, at least 1: about 150,000 rows each.
    pub fn parts(&self, table: &str) -> Result<usize, GeneratorError> {
        let table = self.suite.find(table)?;
        let parts = estimated(table, self.scale).div_ceil(PART_ROWS_GOAL);
        // At most 4e5 at the largest scale, so the cast is exact.
        Ok(parts.clamp(1, table.batches(self.scale)) as usize)
    }

    /// The batches of part `part` (from 0) of `parts`, about 8,000 rows each. Parts in order, concatenated,
    /// are the table; with more parts than batches some are empty.
    pub fn batches(&self, table: &str, part: usize, parts: usize) -> Result<Batches, GeneratorError> {
        let table = self.suite.find(table)?;
        if part >= parts {
            return Err(GeneratorError::Part { part, parts });
        }
        // Through 128 bits, as `parts` is the caller's and unbounded.
        let bound =
            |part: usize| (u128::from(table.batches(self.scale)) * part as u128 / parts as u128) as u64;
        Ok(Batches {
            table,
            schema: table.schema(),
            scale: self.scale,
            text: self.text.clone(),
            left: bound(part)..bound(part + 1),
        })
    }

    /// Whether the declared primary key is unique at this scale. Always, except for TPC-H's partsupp at
    /// several scales below 0.03: there the four suppliers of a part, spread by the specification's formula
    /// over fewer than 300, may coincide; and for TPC-DS's sales and returns at scales with fewer items than an
    /// order has lines. The official generators have the same rows.
    pub fn primary_key_holds(&self, table: &str) -> Result<bool, GeneratorError> {
        let table = self.suite.find(table)?;
        Ok(match self.suite {
            Suite::Tpch => table.name != "partsupp" || tpch::partsupp_is_unique(self.scale),
            Suite::Ssb => true,
            Suite::Tpcds => tpcds::key_is_unique(table.name, self.scale),
        })
    }
}

fn estimated(table: &Table, scale: f64) -> u64 {
    let units = (table.units)(scale);
    match table.unit_rows {
        UnitRows::Exactly(rows) => units * rows,
        UnitRows::About(rows) => (units as f64 * rows) as u64,
    }
}

/// Iterator over the batches of a part. Ends after an error.
pub struct Batches {
    table: &'static Table,
    schema: SchemaRef,
    scale: f64,
    text: tpch::SharedText,
    left: Range<u64>,
}

impl Batches {
    /// The columns of every batch; the same for all parts and scales.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, GeneratorError>;

    fn next(&mut self) -> Option<Self::Item> {
        let cell = self.table.cell(self.scale, self.left.next()?);
        let columns = match self.table.generate {
            Generate::Tpch(generate) => generate(&cell, &self.text.pool()),
            Generate::Alone(generate) => generate(&cell),
        };
        let batch = columns.and_then(|columns| RecordBatch::try_new(self.schema.clone(), columns));
        if batch.is_err() {
            self.left = 0..0;
        }
        Some(batch.map_err(GeneratorError::from))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // At most 8e6 batches at the largest scale; after an error fewer may come.
        (0, Some((self.left.end - self.left.start) as usize))
    }
}
