//! A set of vectors of one length: what operators hand on.

use std::sync::Arc;

use crate::Vector;

#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub columns: Vec<Vector>,
    /// Kept beside the columns, because a batch may have none (`SELECT count(*)`).
    pub rows: usize,
    /// The rows that count, a bit each, in words whose bits past the last row are 0; all when `None`. Only a consumer
    /// that asked for codes (`Data::Coded`) gets such a batch.
    pub selection: Option<Arc<[u64]>>,
}

impl Batch {
    pub fn new(columns: Vec<Vector>, rows: usize) -> Self {
        debug_assert!(columns.iter().all(|c| c.len() == rows));
        Batch { columns, rows, selection: None }
    }
    /// Rows that count.
    pub fn selected_rows(&self) -> usize {
        match &self.selection {
            Some(words) => words.iter().map(|w| w.count_ones() as usize).sum(),
            None => self.rows,
        }
    }
    /// Whether it is of the kind that only a consumer of codes understands.
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
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }
    pub fn slice(&self, offset: usize, rows: usize) -> Batch {
        Batch::new(self.columns.iter().map(|c| c.slice(offset, rows)).collect(), rows)
    }
    /// The rows at `indices`, in that order.
    pub fn gather(&self, indices: &[u32]) -> Batch {
        Batch::new(self.columns.iter().map(|c| c.gather(indices)).collect(), indices.len())
    }
    /// The columns at `positions`, in that order.
    pub fn select(&self, positions: &[usize]) -> Batch {
        Batch::new(positions.iter().map(|p| self.columns[*p].clone()).collect(), self.rows)
    }
    /// Rows of several batches as one, columns flat.
    pub fn concat(batches: &[Batch]) -> Batch {
        let rows = batches.iter().map(|b| b.rows).sum();
        let Some(first) = batches.first() else { return Batch::default() };
        let columns = (0..first.columns.len())
            .map(|c| Vector::concat(&batches.iter().map(|b| &b.columns[c]).collect::<Vec<_>>()))
            .collect();
        Batch::new(columns, rows)
    }
    /// Bytes held, for accounting; shared buffers count in full.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(Vector::bytes).sum()
    }
}
