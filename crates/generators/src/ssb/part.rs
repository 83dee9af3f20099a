//! SSB's part. Manufacturer, category and brand are a hierarchy: the brand is drawn, the others follow.

use super::random::Stream;
use super::words::{BRANDS_PER_CATEGORY, CATEGORIES_PER_MANUFACTURER, DICTIONARIES};
use crate::columns::int32;
use crate::table::Cell;
use arrow_array::ArrayRef;
use arrow_schema::ArrowError;

const BRAND: Stream = Stream::new(301);
const NAME: Stream = Stream::new(302);
const TYPE: Stream = Stream::new(303);
const SIZE: Stream = Stream::new(304);
const CONTAINER: Stream = Stream::new(305);

/// 200,000 times (1 + log2 of the scale), the logarithm rounded down; below scale 1 simply proportional.
pub(super) fn count(scale: f64) -> u64 {
    // The scale is at most 10,000, and only its whole part decides the logarithm's.
    if scale < 1.0 {
        crate::table::scaled(200_000, scale)
    } else {
        200_000 * (1 + u64::from((scale as u64).ilog2()))
    }
}

/// Price of a part in cents, TPC-H's formula (clause 4.2.3): from 900.01 to about 2,099.
pub(super) fn price(key: i32) -> i32 {
    90_000 + key / 10 % 20_001 + key % 1_000 * 100
}

pub(super) fn part(cell: &Cell) -> Result<Vec<ArrayRef>, ArrowError> {
    let words = &*DICTIONARIES;
    let rows: Vec<u64> = cell.units.clone().collect();
    let brands: Vec<usize> = rows.iter().map(|&row| BRAND.index(row, words.brands.len())).collect();
    let names: Vec<usize> = rows.iter().map(|&row| NAME.index(row, words.names.len())).collect();
    let categories = || brands.iter().map(|brand| brand / BRANDS_PER_CATEGORY);
    Ok(vec![
        // At most 2.8e6 rows at the largest scale.
        int32(&rows, |&row| row as i32 + 1),
        words.names.column(names.iter().copied())?,
        words.manufacturers.column(categories().map(|category| category / CATEGORIES_PER_MANUFACTURER))?,
        words.categories.column(categories())?,
        words.brands.column(brands.iter().copied())?,
        // A part's colour is the first word of its name.
        words.colors.column(names.iter().map(|name| name / words.colors.len()))?,
        words.types.column(rows.iter().map(|&row| TYPE.index(row, words.types.len())))?,
        int32(&rows, |&row| SIZE.between(row, 1, 50)),
        words.containers.column(rows.iter().map(|&row| CONTAINER.index(row, words.containers.len())))?,
    ])
}
