//! A set of vectors of one length: what operators hand on.

use crate::Vector;

#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub columns: Vec<Vector>,
    /// Kept beside the columns, because a batch may have none (`SELECT count(*)`).
    pub rows: usize,
}

impl Batch {
    pub fn new(columns: Vec<Vector>, rows: usize) -> Self {
        debug_assert!(columns.iter().all(|c| c.len() == rows));
        Batch { columns, rows }
    }
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }
    pub fn slice(&self, offset: usize, rows: usize) -> Batch {
        Batch { columns: self.columns.iter().map(|c| c.slice(offset, rows)).collect(), rows }
    }
    /// The rows at `indices`, in that order.
    pub fn gather(&self, indices: &[u32]) -> Batch {
        Batch { columns: self.columns.iter().map(|c| c.gather(indices)).collect(), rows: indices.len() }
    }
    /// The columns at `positions`, in that order.
    pub fn select(&self, positions: &[usize]) -> Batch {
        Batch { columns: positions.iter().map(|p| self.columns[*p].clone()).collect(), rows: self.rows }
    }
    /// Rows of several batches as one, columns flat.
    pub fn concat(batches: &[Batch]) -> Batch {
        let rows = batches.iter().map(|b| b.rows).sum();
        let Some(first) = batches.first() else { return Batch::default() };
        let columns = (0..first.columns.len())
            .map(|c| Vector::concat(&batches.iter().map(|b| &b.columns[c]).collect::<Vec<_>>()))
            .collect();
        Batch { columns, rows }
    }
    /// Bytes held, for accounting; shared buffers count in full.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(Vector::bytes).sum()
    }
}
