//! What Parquet files are as one relation: columns, rows, and what their statistics let expect of the values.
//!
//! Only footers are read and, of local files, the heads of dictionary pages; no values are decoded. The files'
//! schemas must agree, or the description is an error. Bounds are united over all row groups and files; a column that
//! has none in some group has none at all. The number of distinct values is an estimate from the first row group's
//! dictionary, never more than the rows or the range of the bounds. Called by `describe`; the result becomes
//! `FileSource::statistics`.

use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use ::parquet::file::metadata::ColumnChunkMetaData;
use plan::Zone;
use plan::file::FileColumn;
use types::{Field, Result, Schema};
use vector::arrow;

use super::footer::load;
use super::statistics::Readable;
use super::variant;
use crate::Environment;
use crate::decode;
use crate::input::Input;
use crate::remote::abreast::each;
use crate::thrift::Walk;

/// Bytes of a page's head, at most: a dictionary's has no statistics.
const HEAD_BYTES: u64 = 128;
/// A dictionary that holds a smaller share of its row group's rows is taken to hold all values there are.
const COMPLETE_SHARE: f64 = 0.1;

/// Parquet files as one relation.
pub struct Described {
    /// Their columns; all files agree in them.
    pub schema: Schema,
    /// Rows of all files, from their footers.
    pub rows: u64,
    /// By column: bounds, NULLs and an estimate of the distinct values, as far as they are known.
    pub statistics: Vec<FileColumn>,
}

/// Schema of the files, which must agree, and their rows together.
pub fn describe(environment: &Environment, paths: &[String]) -> Result<Described> {
    let mut schema: Option<Vec<Field>> = None;
    let mut statistics: Vec<Option<FileColumn>> = Vec::new();
    let mut rows = 0u64;
    let loaded = each(paths, |path| path, |path| load(environment, path))?;
    for (path, (input, metadata)) in paths.iter().zip(loaded) {
        let fields = variant::fields(&metadata);
        for group in metadata.metadata().row_groups() {
            rows = rows.saturating_add(group.num_rows() as u64);
        }
        match &mut schema {
            None => {
                statistics =
                    fields.iter().enumerate().map(|(at, f)| of_column(&input, &metadata, at, f)).collect();
                schema = Some(fields);
            }
            Some(first) => {
                decode::agree(first, &fields, &paths[0], path)?;
                for (at, (known, field)) in statistics.iter_mut().zip(&fields).enumerate() {
                    let Some(column) = known else { continue };
                    match zone(&metadata, at, field) {
                        Some((_, other)) => widen(&mut column.zone, other),
                        None => *known = None,
                    }
                }
            }
        }
    }
    let statistics = statistics
        .into_iter()
        .map(|column| {
            let mut column = column.unwrap_or_default();
            let range = column
                .zone
                .min
                .as_ref()
                .and_then(|v| v.as_i128())
                .zip(column.zone.max.as_ref().and_then(|v| v.as_i128()));
            let range =
                range.map(|(low, high)| u64::try_from((high - low).saturating_add(1)).unwrap_or(u64::MAX));
            column.distinct = match (column.distinct, range) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            }
            .map(|d| d.min(rows));
            column
        })
        .collect();
    Ok(Described { schema: Schema::new(schema.unwrap_or_default()), rows, statistics })
}

fn of_column(input: &Input, metadata: &ArrowReaderMetadata, at: usize, field: &Field) -> Option<FileColumn> {
    let (leaf, zone) = zone(metadata, at, field)?;
    let groups = metadata.metadata().row_groups();
    let first = groups.first()?;
    let words = first.columns().get(leaf).and_then(|chunk| dictionary_values(input, chunk));
    let distinct = words.map(|words| match (words as f64) < first.num_rows() as f64 * COMPLETE_SHARE {
        true => words,
        false => words.saturating_mul(groups.len() as u64),
    });
    Some(FileColumn { zone, distinct })
}

/// Leaf and bounds of a column over all row groups.
fn zone(metadata: &ArrowReaderMetadata, at: usize, field: &Field) -> Option<(usize, Zone)> {
    let leaves = metadata.parquet_schema();
    let leaf = (0..leaves.num_columns()).find(|leaf| leaves.get_column_root_idx(*leaf) == at)?;
    let arrow_type = metadata.schema().fields().get(at)?.data_type();
    let ty = arrow::type_from_arrow(arrow_type).filter(|ty| *ty == field.ty)?;
    let readable = Readable::new(metadata.metadata(), leaf, arrow_type, ty)?;
    let mut all: Option<Zone> = None;
    for group in metadata.metadata().row_groups() {
        let zone = readable.of_chunk(group.columns().get(leaf)?, group.num_rows().max(0) as u64)?;
        match &mut all {
            None => all = Some(zone),
            Some(all) => widen(all, zone),
        }
    }
    Some((leaf, all?))
}

/// Makes a zone hold another's rows too.
fn widen(zone: &mut Zone, other: Zone) {
    let nothing = |zone: &Zone| zone.null_count == Some(zone.rows);
    if !nothing(&other) {
        match nothing(zone) {
            true => (zone.min, zone.max) = (other.min, other.max),
            false => {
                zone.min =
                    zone.min.take().zip(other.min).map(|(a, b)| if b.total_cmp(&a).is_lt() { b } else { a });
                zone.max =
                    zone.max.take().zip(other.max).map(|(a, b)| if b.total_cmp(&a).is_gt() { b } else { a });
            }
        }
    }
    zone.null_count = zone.null_count.zip(other.null_count).map(|(a, b)| a.saturating_add(b));
    zone.rows = zone.rows.saturating_add(other.rows);
}

/// How many values a chunk's dictionary has, as the head of its page says: `PageHeader`, field 7 (the dictionary's
/// head), field 1.
fn dictionary_values(input: &Input, chunk: &ColumnChunkMetaData) -> Option<u64> {
    // An estimate is not worth a request for each column.
    if input.is_remote() {
        return None;
    }
    let from = u64::try_from(chunk.dictionary_page_offset()?).ok()?;
    let mut bytes = Vec::new();
    input.append(from, from.checked_add(HEAD_BYTES)?, &mut bytes).ok()?;
    let mut values = None;
    let mut walk = Walk::new(&bytes);
    walk.each_field(0, &mut |walk, field| {
        if field.number != 7 || !field.is_structure() {
            return walk.pass(field, 0);
        }
        walk.each_field(1, &mut |walk, inner| match inner.number {
            1 => {
                values = u64::try_from(walk.integer()?).ok();
                Some(())
            }
            _ => walk.pass(inner, 1),
        })
    })?;
    values
}
