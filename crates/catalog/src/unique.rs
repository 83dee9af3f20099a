//! Finding out that a column is unique although its blocks are not in order: loads by several workers interleave them.
//!
//! Only asked of integer columns whose sketch says that nearly every row is distinct and whose range is not much wider
//! than the row count, so that one bit per possible value answers exactly, in a pass of a few nanoseconds a row.

use vector::Data;

use crate::{StoredBlock, TableData};

/// Bits per row that the test may use. TPC-H's order keys use a quarter of their range; eight leaves room for more.
const BITS_PER_ROW_MAX: u64 = 8;
/// The sketch's standard error is 3 %; three times that and a little.
const DISTINCT_SHARE: f64 = 0.9;

pub(crate) fn is_unique(data: &TableData, column: usize) -> bool {
    let statistics = data.statistics(column);
    let present = data.physical_rows() - statistics.null_count;
    if statistics.unique || present == 0 || (statistics.distinct as f64) < present as f64 * DISTINCT_SHARE {
        return false;
    }
    let (Some(min), Some(max)) = (statistics.min.as_i64(), statistics.max.as_i64()) else { return false };
    let Some(range) = max.checked_sub(min).and_then(|r| u64::try_from(r).ok()) else { return false };
    if range / BITS_PER_ROW_MAX > present || range + 1 < present {
        return false;
    }
    let mut seen = vec![0u64; (range / 64 + 1) as usize];
    data.stored().iter().all(|stored| mark(stored, column, min, &mut seen))
}

/// Marks the values of a block; false when one was marked before, or lies outside the bounds.
fn mark(stored: &StoredBlock, column: usize, min: i64, seen: &mut [u64]) -> bool {
    const ROWS: usize = 4096;
    let (block, deleted) = (&stored.block, &stored.deleted);
    // Nothing is found out of what cannot be read.
    let Ok(block) = block.pin(&[column]) else { return false };
    (0..block.rows()).step_by(ROWS).all(|from| {
        let vector = block.fetch(column, from..(from + ROWS).min(block.rows())).flatten();
        let mut fresh = true;
        let mut visit = |row: usize, value: i64| {
            if vector.is_null(row) || deleted.as_ref().is_some_and(|d| !d.live.get(from + row)) {
                return;
            }
            let offset = value.wrapping_sub(min) as u64;
            match seen.get_mut((offset / 64) as usize) {
                Some(word) => {
                    fresh &= *word >> (offset % 64) & 1 == 0;
                    *word |= 1 << (offset % 64);
                }
                None => fresh = false,
            }
        };
        match vector.data() {
            Data::I16(v) => v.iter().enumerate().for_each(|(row, x)| visit(row, i64::from(*x))),
            Data::I32(v) => v.iter().enumerate().for_each(|(row, x)| visit(row, i64::from(*x))),
            Data::I64(v) => v.iter().enumerate().for_each(|(row, x)| visit(row, *x)),
            _ => return false,
        }
        fresh
    })
}
