//! A window without the rows that a table has deleted.

use std::ops::Range;

use types::Result;
use vector::Vector;

use super::deletions::Deleted;
use crate::Window;

/// The rows of a window that are left.
pub(crate) struct KeptRows<'a> {
    inner: &'a mut dyn Window,
    /// Rows of the window, ascending.
    rows: Vec<u32>,
    /// What was fetched of each column, and the first of its rows: rows far from each other are fetched once only.
    fetched: Vec<Option<(usize, Vector)>>,
}

/// Which rows of a window are kept; `None` where all are. `fetch` gives the columns that deletions by values compare.
pub(crate) fn kept_rows(
    deleted: &Deleted,
    first_row: u64,
    rows: usize,
    fetch: &mut dyn FnMut(usize) -> Result<Vec<Vector>>,
) -> Result<Option<Vec<u32>>> {
    let mut kept = vec![true; rows];
    deleted.rows.iter().for_each(|set| set.drop_from(&mut kept, first_row));
    for (at, values) in deleted.values.iter().enumerate() {
        if kept.contains(&true) {
            values.drop_from(&mut kept, &fetch(at)?);
        }
    }
    let all = !kept.contains(&false);
    Ok((!all).then(|| (0u32..).zip(&kept).filter(|(_, kept)| **kept).map(|(row, _)| row).collect()))
}

impl<'a> KeptRows<'a> {
    /// These rows of a window.
    pub(crate) fn new(inner: &'a mut dyn Window, rows: Vec<u32>) -> Self {
        let fetched = vec![None; inner.columns()];
        KeptRows { inner, rows, fetched }
    }
}

impl Window for KeptRows<'_> {
    fn rows(&self) -> usize {
        self.rows.len()
    }
    fn columns(&self) -> usize {
        self.inner.columns()
    }
    fn fetch(&mut self, column: usize, rows: Range<usize>) -> Result<Vector> {
        if let Some((from, vector)) = self.fetched.get(column).and_then(Option::as_ref)
            && rows.start >= *from
            && rows.end <= from + vector.len()
        {
            return Ok(vector.slice(rows.start - from, rows.len()));
        }
        let vector = self.inner.fetch_rows(column, self.rows.get(rows.clone()).unwrap_or_default())?;
        if let Some(slot) = self.fetched.get_mut(column) {
            *slot = Some((rows.start, vector.clone()));
        }
        Ok(vector)
    }
    fn fetch_rows(&mut self, column: usize, rows: &[u32]) -> Result<Vector> {
        if let Some((from, vector)) = self.fetched.get(column).and_then(Option::as_ref) {
            let places: Option<Vec<u32>> = rows.iter().map(|row| row.checked_sub(*from as u32)).collect();
            if let Some(places) =
                places.filter(|p| p.last().is_none_or(|last| (*last as usize) < vector.len()))
            {
                return Ok(vector.gather(&places));
            }
        }
        let rows: Vec<u32> = rows.iter().filter_map(|row| self.rows.get(*row as usize).copied()).collect();
        self.inner.fetch_rows(column, &rows)
    }
}
