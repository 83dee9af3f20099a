//! The rows of a block still in play.

use std::ops::Range;

use block::Rows;
use vector::Vector;

/// Rows of a block: a contiguous range, or row numbers.
pub struct Survivors {
    range: Range<usize>,
    list: Option<Vec<u32>>,
}

impl Survivors {
    /// Consecutive rows of the block.
    pub fn range(range: Range<usize>) -> Self {
        Survivors { range, list: None }
    }
    /// Row numbers, ascending.
    pub fn list(list: Vec<u32>) -> Self {
        Survivors { range: 0..0, list: Some(list) }
    }
    /// The number of rows left.
    pub fn len(&self) -> usize {
        self.list.as_ref().map_or(self.range.len(), Vec::len)
    }
    /// Whether no row is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The rows in the form that a block fetches.
    pub fn rows(&self) -> Rows<'_> {
        match &self.list {
            Some(list) => Rows::List(list),
            None => Rows::Range(self.range.clone()),
        }
    }
    /// Narrows to the rows at `kept` (indices into the present rows), and vectors fetched for them likewise.
    pub fn keep(&mut self, kept: &[u32], fetched: &mut [Option<Vector>]) {
        let narrowed = match &self.list {
            Some(list) => kept.iter().map(|k| list[*k as usize]).collect(),
            None => kept.iter().map(|k| self.range.start as u32 + k).collect(),
        };
        self.list = Some(narrowed);
        for vector in fetched.iter_mut().flatten() {
            *vector = vector.gather(kept);
        }
    }
}
