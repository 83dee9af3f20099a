//! What a tuple store answers. A block has one for each run of bytes it is made of; every layout passes the same
//! conformance suite (`tests`).

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::NullBuffer;
use simd::Bitmap;
use types::{ColumnPredicate, ColumnStatistics, Type};
use vector::Vector;

use crate::costs::ScanCost;
pub use crate::rows::Rows;
use crate::stripe::Stripe;
use crate::{AccessCounters, CodeSlice, Coding, PlainSlice, PreparedPredicate};

/// The rows of a block under some layout. A column number or row out of range is a broken invariant and panics.
pub(crate) trait TupleStore: Send + Sync + std::fmt::Debug {
    fn rows(&self) -> usize;
    fn columns(&self) -> usize;
    /// Everything of the column but perhaps its values.
    fn bare(&self, column: usize) -> &Stripe;
    fn ty(&self, column: usize) -> Type {
        self.bare(column).ty
    }
    fn coding(&self, column: usize) -> Coding {
        self.bare(column).coding
    }
    fn statistics(&self, column: usize) -> &ColumnStatistics {
        &self.bare(column).statistics
    }
    /// Present when the column holds a NULL.
    fn validity(&self, column: usize) -> Option<&NullBuffer> {
        self.bare(column).nulls.as_ref()
    }
    /// Translates a predicate into the column's codes, once per block.
    fn prepare(
        &self,
        column: usize,
        predicate: &ColumnPredicate,
        counters: &AccessCounters,
    ) -> PreparedPredicate {
        crate::predicate::prepare(self.bare(column), column, self.rows(), predicate, counters)
    }
    /// Drops from `selection`, whose bit 0 is row `rows.start`, the rows that do not pass.
    fn select(
        &self,
        column: usize,
        predicate: &PreparedPredicate,
        rows: Range<usize>,
        selection: &mut Bitmap,
        counters: &AccessCounters,
    );
    /// As `select` of all of `rows`, whatever the selection holds: what need not be read of it is only written.
    fn select_anew(
        &self,
        column: usize,
        predicate: &PreparedPredicate,
        rows: Range<usize>,
        selection: &mut Bitmap,
        counters: &AccessCounters,
    ) {
        selection.reset_full(rows.len());
        self.select(column, predicate, rows, selection, counters);
    }
    /// As `select`, looking only at rows that are selected where the test allows that.
    fn probe(
        &self,
        column: usize,
        predicate: &PreparedPredicate,
        rows: Range<usize>,
        selection: &mut Bitmap,
        counters: &AccessCounters,
    ) {
        self.select(column, predicate, rows, selection, counters);
    }
    /// The rows that pass, as ascending runs, when the column's order tells.
    fn search(&self, _column: usize, _predicate: &PreparedPredicate) -> Option<Vec<Range<u32>>> {
        None
    }
    /// What `select` and `probe` cost on a column whose values have to be looked at.
    fn scan_cost(&self, column: usize) -> ScanCost;
    /// Bytes of the column's values that lie among those of others.
    fn field_bytes(&self, _column: usize) -> usize {
        0
    }
    /// The column with all its values side by side; a copy where they do not lie so.
    fn whole(&self, column: usize) -> Stripe {
        self.bare(column).clone()
    }
    fn fetch(&self, column: usize, rows: Rows<'_>, counters: &AccessCounters) -> Vector;
    /// As `fetch`, but coded columns come as their codes (`Data::Coded`).
    fn fetch_codes(&self, column: usize, rows: Range<usize>, counters: &AccessCounters) -> Vector;
    /// The codes of a dictionary-coded or truncated column.
    fn codes(&self, column: usize) -> Option<CodeSlice<'_>>;
    /// The values of an uncoded numeric column.
    fn plain(&self, column: usize) -> Option<PlainSlice<'_>>;
    /// The sorted distinct values of a dictionary-coded column; the same allocation on every call.
    fn dictionary(&self, column: usize) -> Option<Arc<Vector>> {
        self.bare(column).dictionary.as_ref().map(|d| d.vector().clone())
    }
}
