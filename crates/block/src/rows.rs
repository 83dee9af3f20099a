//! Which rows of a block are read.

use std::ops::Range;

/// Which rows of a block, by number from its first.
#[derive(Clone, Debug)]
pub enum Rows<'a> {
    /// Rows that follow each other.
    Range(Range<usize>),
    /// Any order, repetitions allowed.
    List(&'a [u32]),
}

impl Rows<'_> {
    /// How many rows, repetitions counted.
    pub fn len(&self) -> usize {
        match self {
            Rows::Range(range) => range.len(),
            Rows::List(list) => list.len(),
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<Range<usize>> for Rows<'_> {
    fn from(range: Range<usize>) -> Self {
        Rows::Range(range)
    }
}
impl<'a> From<&'a [u32]> for Rows<'a> {
    fn from(list: &'a [u32]) -> Self {
        Rows::List(list)
    }
}
impl<'a> From<&'a Vec<u32>> for Rows<'a> {
    fn from(list: &'a Vec<u32>) -> Self {
        Rows::List(list)
    }
}
