//! Parquet: a unit is a row group, or a range of rows of a large one.
//!
//! Files with one huge row group are common, so groups are cut at `UNIT_ROWS`; a unit skips the pages before its rows
//! without decompressing them. Row groups and pages in which no row can pass the scan's filters are no units at all
//! (`prune`), and a unit's columns are decoded as they are asked for (`unit`). Flat columns of the usual types and
//! encodings are decoded by `column`, the others by the `parquet` crate, which is asked for decimals of at most 18
//! digits as 64-bit integers and for strings as views. The crate may panic on damaged files; that is caught and
//! becomes an error.

mod column;
pub(crate) mod describe;
pub(crate) mod footer;
mod found;
pub(crate) mod interval;
mod levels;
pub mod listing;
mod page_index;
mod prune;
mod runs;
mod statistics;
mod unit;
mod uuid;
mod values;
mod variant;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use ::parquet::basic::Type as Written;
use ::parquet::schema::types::SchemaDescriptor;
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema, TimeUnit};
use plan::{FileSource, Pruning};
use types::{Error, Field, Result};

pub use self::describe::describe;
pub(crate) use self::found::found;

use self::column::Form;
use self::footer::load;

use crate::input::Input;
use crate::remote::abreast::each;
use crate::{Environment, Reader, Skipped, Window, decode};

const FORMAT: &str = "Parquet";
/// Rows decoded at a time, at least: decoding has a cost per call and column.
const DECODED_ROWS_MIN: usize = 16_384;
/// Rows of a unit, at most: some pages of each column, so that the pages read by two units cost little.
const UNIT_ROWS: u64 = 1 << 18;
/// Units of a group, at most, whatever number of rows a damaged file claims.
const GROUP_UNITS_MAX: u64 = 4096;

fn damaged(path: &str, what: impl std::fmt::Display) -> Error {
    decode::damaged(path, FORMAT, what)
}

struct OneFile {
    input: Input,
    metadata: ArrowReaderMetadata,
}

/// Rows of a row group: ranges that ascend and do not touch.
struct Unit {
    file: usize,
    group: usize,
    ranges: Vec<Range<usize>>,
}

/// The reader of Parquet files.
pub struct ParquetFiles {
    files: Vec<OneFile>,
    units: Vec<Unit>,
    /// The units that pruning left; not set when the scan has no conditions.
    pruned: OnceLock<Vec<Unit>>,
    unit_rows: u64,
    /// Columns wanted, as positions in the files.
    columns: Vec<usize>,
    /// The columns that the scan's conditions name, as positions in the files.
    asked: OnceLock<Vec<usize>>,
    fields: Vec<Field>,
    batch_rows: usize,
    decoder: Decoder,
}

/// What decodes flat columns of the usual types and encodings: this crate, or the `parquet` crate, with which tests
/// compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoder {
    Own,
    Crate,
}

/// The Arrow schema to decode into: our widths instead of the file's.
fn wanted(schema: &ArrowSchema, leaves: &SchemaDescriptor) -> ArrowSchema {
    // The physical type of each root's first leaf, and its bytes.
    let mut written = vec![None; schema.fields().len()];
    for leaf in 0..leaves.num_columns() {
        if let Some(slot) = written.get_mut(leaves.get_column_root_idx(leaf)) {
            let column = leaves.column(leaf);
            slot.get_or_insert((column.physical_type(), column.type_length()));
        }
    }
    let fields: Vec<ArrowField> = schema
        .fields()
        .iter()
        .zip(written)
        .map(|(f, written)| {
            let ty = match f.data_type() {
                // The crate decodes decimals of any length only as it likes, and longer ones than needed not at all.
                DataType::Decimal128(..)
                    if matches!(
                        written,
                        Some((Written::BYTE_ARRAY, _) | (Written::FIXED_LEN_BYTE_ARRAY, 9..))
                    ) =>
                {
                    f.data_type().clone()
                }
                DataType::Decimal128(p, s) if *p <= 18 && *s >= 0 => DataType::Decimal64(*p, *s),
                // Nanoseconds end in the year 2262.
                DataType::Timestamp(_, zone) if matches!(written, Some((Written::INT96, _))) => {
                    DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
                }
                DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
                DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
                other => other.clone(),
            };
            f.as_ref().clone().with_data_type(ty)
        })
        .collect();
    ArrowSchema::new_with_metadata(fields, schema.metadata().clone())
}

/// Cuts a row group's wanted rows into units that span about equally many rows of the group.
fn cut(file: usize, group: usize, rows: u64, wanted: &[Range<usize>], unit_rows: u64, units: &mut Vec<Unit>) {
    let count = rows.div_ceil(unit_rows).clamp(1, GROUP_UNITS_MAX);
    let each = rows.div_ceil(count);
    for number in 0..count {
        let from = (number * each).min(rows) as usize;
        let to = ((number + 1) * each).min(rows) as usize;
        let ranges: Vec<Range<usize>> = wanted
            .iter()
            .map(|range| range.start.max(from)..range.end.min(to))
            .filter(|range| range.start < range.end)
            .collect();
        if !ranges.is_empty() {
            units.push(Unit { file, group, ranges });
        }
    }
}

/// A row group that lies on another machine is one unit, so that it is fetched once.
fn input_unit_rows(input: &Input, unit_rows: u64) -> u64 {
    if input.is_remote() { u64::MAX } else { unit_rows }
}

impl ParquetFiles {
    /// Opens the files, reads their footers and checks that the columns can be read; `columns` are positions in the
    /// files.
    pub fn open(
        environment: &Environment,
        source: &FileSource,
        columns: &[usize],
        batch_rows: usize,
    ) -> Result<Self> {
        Self::with_unit_rows(environment, source, columns, batch_rows, UNIT_ROWS)
    }

    /// As `open`, with units of so many rows.
    pub(crate) fn with_unit_rows(
        environment: &Environment,
        source: &FileSource,
        columns: &[usize],
        batch_rows: usize,
        unit_rows: u64,
    ) -> Result<Self> {
        let mut files = Vec::new();
        let mut units = Vec::new();
        let loaded = each(&source.paths, |path| path, |path| load(environment, path))?;
        for (path, (input, plain)) in source.paths.iter().zip(loaded) {
            let usual: Vec<usize> =
                columns.iter().copied().filter(|column| !variant::is_variant(&plain, *column)).collect();
            decode::check_readable(path, plain.schema(), &usual)?;
            // A file whose columns cannot be decoded that way is decoded its own way.
            let options = ArrowReaderOptions::new()
                .with_schema(Arc::new(wanted(plain.schema(), plain.parquet_schema())));
            let metadata = decode::guarded(path, FORMAT, || {
                ArrowReaderMetadata::try_new(plain.metadata().clone(), options).map_err(|e| damaged(path, e))
            })
            .unwrap_or(plain);
            for (group, rows) in metadata.metadata().row_groups().iter().enumerate() {
                let rows = rows.num_rows().max(0) as u64;
                let unit_rows = input_unit_rows(&input, unit_rows);
                #[allow(clippy::single_range_in_vec_init, reason = "all rows are one range")]
                cut(files.len(), group, rows, &[0..rows as usize], unit_rows, &mut units);
            }
            files.push(OneFile { input, metadata });
        }
        let fields = columns.iter().map(|c| source.schema.fields()[*c].clone()).collect();
        Ok(ParquetFiles {
            files,
            units,
            pruned: OnceLock::new(),
            unit_rows,
            columns: columns.to_vec(),
            asked: OnceLock::new(),
            fields,
            batch_rows: batch_rows.max(DECODED_ROWS_MIN),
            decoder: Decoder::Own,
        })
    }

    /// The columns, by position in the file, that are decoded here in a row group of the first file.
    #[cfg(test)]
    pub(crate) fn own_columns(&self, group: usize) -> Vec<usize> {
        let forms = self.own_forms(&self.files[0], group, &self.columns);
        self.columns.iter().zip(forms).filter(|(_, form)| form.is_some()).map(|(column, _)| *column).collect()
    }

    /// The same reader with another decoder.
    #[cfg(test)]
    pub(crate) fn with_decoder(mut self, decoder: Decoder) -> Self {
        self.decoder = decoder;
        self
    }

    /// How each of `columns` is decoded in a row group: by us, or (`None`) by the crate.
    fn own_forms(&self, file: &OneFile, group: usize, columns: &[usize]) -> Vec<Option<(usize, Form)>> {
        let leaves = file.metadata.parquet_schema();
        let group = file.metadata.metadata().row_group(group);
        let form = |column: &usize| {
            if self.decoder == Decoder::Crate {
                return None;
            }
            // A flat column is a root that is itself a leaf.
            let leaf = (0..leaves.num_columns()).find(|leaf| leaves.get_column_root_idx(*leaf) == *column)?;
            let arrow = file.metadata.schema().fields().get(*column)?.data_type();
            Some((leaf, column::form_of(group.columns().get(leaf)?, arrow)?))
        };
        columns.iter().map(form).collect()
    }
}

impl Reader for ParquetFiles {
    fn prune(&self, conditions: &[Pruning]) -> Result<Skipped> {
        let mut asked = Vec::new();
        conditions.iter().for_each(|condition| condition.columns(&mut asked));
        let _ = self.asked.set(asked.into_iter().filter_map(|at| self.columns.get(at).copied()).collect());
        let (units, skipped) = self.select(conditions);
        let _ = self.pruned.set(units);
        Ok(skipped)
    }
    fn units(&self) -> Result<u64> {
        Ok(self.pruned.get().unwrap_or(&self.units).len() as u64)
    }
    fn scan(&self, unit: u64, visit: &mut dyn FnMut(&mut dyn Window) -> Result<bool>) -> Result<()> {
        match self.pruned.get().unwrap_or(&self.units).get(unit as usize) {
            Some(unit) => self.scan_unit(unit, visit),
            None => Ok(()),
        }
    }
}
