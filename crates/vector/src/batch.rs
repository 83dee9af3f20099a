//! A set of vectors of one length: what operators hand on.

use std::sync::Arc;

use crate::Vector;

/// Columns of one length, and how many rows they have.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Each has `rows` values.
    pub columns: Vec<Vector>,
    /// How many rows; kept apart from the columns, because a batch may have none (`SELECT count(*)`).
    pub rows: usize,
    /// The rows that count, a bit each, in words whose bits past the last row are 0; all when `None`. Only a consumer
    /// that asked for codes (`Data::Coded`) gets such a batch.
    pub selection: Option<Arc<[u64]>>,
}

impl Batch {
    /// A batch whose rows all count. Every column must have `rows` values, which debug builds check.
    pub fn new(columns: Vec<Vector>, rows: usize) -> Self {
        debug_assert!(columns.iter().all(|c| c.len() == rows));
        Batch { columns, rows, selection: None }
    }
    /// How many rows count: those of the selection, or all.
    pub fn selected_rows(&self) -> usize {
        match &self.selection {
            Some(words) => words.iter().map(|w| w.count_ones() as usize).sum(),
            None => self.rows,
        }
    }
    /// Whether the batch has a selection or coded columns, which only a consumer that asked for codes understands.
    pub fn is_coded(&self) -> bool {
        self.selection.is_some() || self.columns.iter().any(Vector::is_coded)
    }
    /// The batch with nothing but the rows that count, decoded.
    #[must_use]
    pub fn dense(&self) -> Batch {
        let Some(words) = &self.selection else {
            return Batch::new(self.columns.iter().map(Vector::decoded).collect(), self.rows);
        };
        let mut rows = Vec::with_capacity(self.rows);
        simd::append_indices(words, 0, &mut rows);
        self.gather(&rows)
    }
    /// Whether there are no rows; a selection is not looked at.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }
    /// `rows` rows from `offset` on, buffers shared. The batch must have no selection, which is dropped.
    pub fn slice(&self, offset: usize, rows: usize) -> Batch {
        Batch::new(self.columns.iter().map(|c| c.slice(offset, rows)).collect(), rows)
    }
    /// The rows at `indices`, in that order; each must be in range. A selection is not looked at.
    pub fn gather(&self, indices: &[u32]) -> Batch {
        Batch::new(self.columns.iter().map(|c| c.gather(indices)).collect(), indices.len())
    }
    /// The columns at `positions`, in that order, with all rows; a selection is dropped.
    pub fn select(&self, positions: &[usize]) -> Batch {
        Batch::new(positions.iter().map(|p| self.columns[*p].clone()).collect(), self.rows)
    }
    /// The rows of several batches with the same columns, one after the other; columns are joined as in
    /// `Vector::concat`. Without batches the result has neither rows nor columns.
    pub fn concat(batches: &[Batch]) -> Batch {
        let rows = batches.iter().map(|b| b.rows).sum();
        let Some(first) = batches.first() else { return Batch::default() };
        let columns = (0..first.columns.len())
            .map(|c| Vector::concat(&batches.iter().map(|b| &b.columns[c]).collect::<Vec<_>>()))
            .collect();
        Batch::new(columns, rows)
    }
    /// Bytes held, for memory accounting; a shared buffer counts in full each time.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(Vector::bytes).sum()
    }
}
