//! The page index: bounds and first rows of a column chunk's pages, so that pages are skipped without being read.
//!
//! Two Thrift structures a chunk, read here for just the columns that are asked of and with nothing trusted: whatever
//! is odd about them means that there is no index. A file whose index lies about where rows begin is answered as the
//! index has it, as any reader of it does.

use ::parquet::file::metadata::ColumnChunkMetaData;

use crate::input::Input;
use crate::thrift::{Field, Walk};

/// Indices beyond this are not worth reading.
const INDEX_BYTES_MAX: u64 = 16 << 20;

/// What the index says of one page.
pub struct PageZone {
    /// The page's first row, counted from the beginning of the row group.
    pub first_row: usize,
    /// The page has nothing but NULLs; its bounds mean nothing.
    pub all_null: bool,
    /// As the file has them, plainly encoded and possibly shortened.
    pub min: Vec<u8>,
    /// The upper bound, in the same form.
    pub max: Vec<u8>,
    /// NULLs of the page; `None` when the index does not count them.
    pub null_count: Option<u64>,
}

/// The pages of a chunk in row order; `None` when there is no index, or none that makes sense.
pub fn pages(input: &Input, chunk: &ColumnChunkMetaData, rows: usize) -> Option<Vec<PageZone>> {
    let read = |offset: Option<i64>, length: Option<i32>| {
        let (from, length) = (u64::try_from(offset?).ok()?, u64::try_from(length?).ok()?);
        if length > INDEX_BYTES_MAX {
            return None;
        }
        input.exact(from, from.checked_add(length)?).ok()
    };
    let bounds = read(chunk.column_index_offset(), chunk.column_index_length())?;
    let places = read(chunk.offset_index_offset(), chunk.offset_index_length())?;
    let first_rows = first_rows(&places)?;
    let bounds = Bounds::read(&bounds)?;
    let count = first_rows.len();
    let ascending = first_rows.first() == Some(&0) && first_rows.windows(2).all(|w| w[0] < w[1]);
    let same = [bounds.all_null.len(), bounds.min.len(), bounds.max.len()].iter().all(|n| *n == count);
    let counted = bounds.null_counts.as_ref().is_none_or(|n| n.len() == count);
    if !ascending || !same || !counted || first_rows.last().is_some_and(|last| *last >= rows as i64) {
        return None;
    }
    let mut mins = bounds.min.into_iter();
    let mut maxes = bounds.max.into_iter();
    let zone = |(at, first_row): (usize, &i64)| {
        Some(PageZone {
            first_row: usize::try_from(*first_row).ok()?,
            all_null: bounds.all_null[at],
            min: mins.next()?,
            max: maxes.next()?,
            null_count: bounds.null_counts.as_ref().and_then(|n| u64::try_from(n[at]).ok()),
        })
    };
    first_rows.iter().enumerate().map(zone).collect()
}

/// `OffsetIndex`: field 1 lists the pages' places, whose field 3 is the first row.
fn first_rows(bytes: &[u8]) -> Option<Vec<i64>> {
    let mut walk = Walk::new(bytes);
    let mut rows = Vec::new();
    walk.each_field(0, &mut |walk, field| {
        if field.number != 1 || !field.is_list() {
            return walk.pass(field, 0);
        }
        let (count, kind) = walk.list()?;
        for _ in 0..count {
            if !Field::of_structure(kind) {
                return None;
            }
            let mut first = None;
            walk.each_field(1, &mut |walk, inner| match inner.number {
                3 => {
                    first = Some(walk.integer()?);
                    Some(())
                }
                _ => walk.pass(inner, 1),
            })?;
            rows.push(first?);
        }
        Some(())
    })?;
    Some(rows)
}

#[derive(Default)]
struct Bounds {
    all_null: Vec<bool>,
    min: Vec<Vec<u8>>,
    max: Vec<Vec<u8>>,
    null_counts: Option<Vec<i64>>,
}

impl Bounds {
    /// `ColumnIndex`: 1 null pages, 2 least and 3 greatest values, 5 counts of NULLs.
    fn read(bytes: &[u8]) -> Option<Bounds> {
        let mut walk = Walk::new(bytes);
        let mut bounds = Bounds::default();
        walk.each_field(0, &mut |walk, field| {
            if !field.is_list() || !matches!(field.number, 1 | 2 | 3 | 5) {
                return walk.pass(field, 0);
            }
            let (count, _) = walk.list()?;
            match field.number {
                1 => {
                    for _ in 0..count {
                        bounds.all_null.push(walk.byte()? == 1);
                    }
                }
                5 => {
                    let counts = (0..count).map(|_| walk.integer()).collect::<Option<Vec<i64>>>()?;
                    bounds.null_counts = Some(counts);
                }
                number => {
                    let values = (0..count).map(|_| walk.binary()).collect::<Option<Vec<Vec<u8>>>>()?;
                    *(if number == 2 { &mut bounds.min } else { &mut bounds.max }) = values;
                }
            }
            Some(())
        })?;
        Some(bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_indices_are_no_indices() {
        // Two pages: places (offset 4, size 1, first row 0) and (offset 5, size 1, first row 10).
        let places =
            [0x19, 0x2C, 0x16, 0x08, 0x15, 0x02, 0x16, 0x00, 0x00, 0x16, 0x0A, 0x15, 0x02, 0x16, 0x14, 0, 0];
        assert_eq!(first_rows(&places), Some(vec![0, 10]));
        for cut in 0..places.len() {
            assert_eq!(first_rows(&places[..cut]), None, "{cut}");
        }
        for at in 0..places.len() {
            for byte in 0..=255 {
                let mut damaged = places;
                damaged[at] = byte;
                let _ = first_rows(&damaged);
                let _ = Bounds::read(&damaged);
            }
        }
    }
}
