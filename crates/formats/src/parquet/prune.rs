//! Which row groups, and which rows of them, can hold a row that passes the scan's filters.
//!
//! A row group is asked by its statistics, then by Bloom filters for equalities; of those that are left the page index
//! says which rows to read. Each column has its pages at rows of its own, so conditions are turned into sets of rows,
//! which are intersected and united as the conditions are.

use std::collections::HashMap;
use std::ops::Range;

use plan::{Pruning, Zone, Zones};
use types::Value;
use vector::arrow;

use super::page_index::{self, PageZone};
use super::statistics::Readable;
use super::{OneFile, ParquetFiles, Unit, cut, input_unit_rows};
use crate::Skipped;

/// A row group as conditions are held against it.
struct Group<'a> {
    file: &'a OneFile,
    number: usize,
    rows: u64,
    /// By fetched column.
    readable: &'a [Option<Readable>],
}

impl Zones for Group<'_> {
    fn zone(&self, column: usize) -> Option<Zone> {
        let readable = (*self.readable.get(column)?)?;
        let chunk = self.file.metadata.metadata().row_group(self.number).columns().get(readable.leaf)?;
        readable.of_chunk(chunk, self.rows)
    }
    fn may_contain(&self, column: usize, value: &Value) -> bool {
        let Some(Some(readable)) = self.readable.get(column) else { return true };
        let group = self.file.metadata.metadata().row_group(self.number);
        let Some(chunk) = group.columns().get(readable.leaf) else { return true };
        readable.may_contain(&self.file.input, chunk, value)
    }
}

/// The pages of a row group's columns, read when a condition asks of them.
struct Pages<'a> {
    group: &'a Group<'a>,
    of_column: HashMap<usize, Option<Vec<PageZone>>>,
    seen: u64,
    skipped: u64,
}

impl Pages<'_> {
    /// The rows for which the condition may hold.
    fn rows(&mut self, condition: &Pruning) -> Vec<Range<usize>> {
        match condition {
            Pruning::All(parts) => {
                let mut rows = self.all();
                for part in parts {
                    rows = intersection(&rows, &self.rows(part));
                }
                rows
            }
            Pruning::Any(parts) => {
                let mut rows: Vec<Range<usize>> = parts.iter().flat_map(|part| self.rows(part)).collect();
                rows.sort_by_key(|range| range.start);
                union(rows)
            }
            Pruning::Column(column, predicate) => {
                let total = self.group.rows as usize;
                let Some(Some(readable)) = self.group.readable.get(*column) else { return self.all() };
                let group = self.group;
                // A request for an index costs more than decoding the pages it would save.
                if group.file.input.is_remote() {
                    return self.all();
                }
                let pages = self.of_column.entry(*column).or_insert_with(|| {
                    let chunk = group.file.metadata.metadata().row_group(group.number).columns();
                    page_index::pages(&group.file.input, chunk.get(readable.leaf)?, total)
                });
                let Some(pages) = pages else { return self.all() };
                let mut rows = Vec::new();
                for (at, page) in pages.iter().enumerate() {
                    let end = pages.get(at + 1).map_or(total, |next| next.first_row);
                    self.seen += 1;
                    if readable.of_page(page, (end - page.first_row) as u64).may_match(predicate) {
                        rows.push(page.first_row..end);
                    } else {
                        self.skipped += 1;
                    }
                }
                union(rows)
            }
        }
    }
    #[allow(clippy::single_range_in_vec_init, reason = "all rows are one range")]
    fn all(&self) -> Vec<Range<usize>> {
        vec![0..self.group.rows as usize]
    }
}

fn intersection(a: &[Range<usize>], b: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::new();
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let common = x.start.max(y.start)..x.end.min(y.end);
        if common.start < common.end {
            out.push(common);
        }
        if x.end < y.end { i += 1 } else { j += 1 }
    }
    out
}

/// The union of ranges that come in the order of their starts.
fn union(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

impl ParquetFiles {
    /// The units left by the conditions, all of which have to hold.
    pub(super) fn select(&self, conditions: &[Pruning]) -> (Vec<Unit>, Skipped) {
        let mut asked = Vec::new();
        conditions.iter().for_each(|c| c.columns(&mut asked));
        let (mut units, mut skipped) = (Vec::new(), Skipped::default());
        for (file_number, file) in self.files.iter().enumerate() {
            let readable: Vec<Option<Readable>> = (0..self.columns.len())
                .map(|at| asked.contains(&at).then(|| self.readable(file, at)).flatten())
                .collect();
            for (number, metadata) in file.metadata.metadata().row_groups().iter().enumerate() {
                let rows = metadata.num_rows().max(0) as u64;
                let group = Group { file, number, rows, readable: &readable };
                skipped.groups += 1;
                if !conditions.iter().all(|c| c.may_match(&group)) {
                    skipped.groups_skipped += 1;
                    continue;
                }
                let mut pages = Pages { group: &group, of_column: HashMap::new(), seen: 0, skipped: 0 };
                let mut wanted = pages.all();
                for condition in conditions {
                    wanted = intersection(&wanted, &pages.rows(condition));
                }
                skipped.pages += pages.seen;
                skipped.pages_skipped += pages.skipped;
                let unit_rows = input_unit_rows(&file.input, self.unit_rows);
                cut(file_number, number, rows, &wanted, unit_rows, &mut units);
            }
        }
        (units, skipped)
    }

    fn readable(&self, file: &OneFile, at: usize) -> Option<Readable> {
        let column = self.columns[at];
        let leaves = file.metadata.parquet_schema();
        let leaf = (0..leaves.num_columns()).find(|leaf| leaves.get_column_root_idx(*leaf) == column)?;
        let arrow = file.metadata.schema().fields().get(column)?.data_type();
        let ty = arrow::type_from_arrow(arrow).filter(|ty| *ty == self.fields[at].ty)?;
        Readable::new(file.metadata.metadata(), leaf, arrow, ty)
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_rows() {
        assert_eq!(intersection(&[0..10, 20..30], &[5..25]), [5..10, 20..25]);
        assert!(intersection(&[0..10], &[10..20]).is_empty());
        assert_eq!(union(vec![0..5, 5..8, 7..9, 12..13]), [0..9, 12..13]);
    }
}
