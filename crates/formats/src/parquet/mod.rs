//! Parquet: a unit is a row group, or a range of rows of a large one.
//!
//! Files with one huge row group are common, so groups are cut at `UNIT_ROWS`; a unit skips the pages before its rows
//! without decompressing them. Flat columns of the usual types and encodings are decoded by `column`, the others by the
//! `parquet` crate, which is asked for decimals of at most 18 digits as 64-bit integers and for strings as views. The
//! crate may panic on damaged files; that is caught and becomes an error.

mod column;
mod levels;
mod runs;
mod values;

use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowSelection, RowSelector,
};
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use plan::FileSource;
use types::{Error, Field, Result, Schema};
use vector::{Batch, arrow};

use self::column::{ColumnChunk, Form};

use crate::input::Input;
use crate::{Reader, decode, thrift};

const FORMAT: &str = "Parquet";
/// Rows decoded at a time, at least: decoding has a cost per call and column.
const DECODED_ROWS_MIN: usize = 16_384;
/// Rows of a unit, at most: some pages of each column, so that the pages read by two units cost little.
const UNIT_ROWS: u64 = 1 << 18;
/// Units of a group, at most, whatever number of rows a damaged file claims.
const GROUP_UNITS_MAX: u64 = 4096;
const TRAILER_BYTES: u64 = 8;

fn damaged(path: &str, what: impl std::fmt::Display) -> Error {
    decode::damaged(path, FORMAT, what)
}

/// Opens a file and reads its footer, which is checked before the decoder trusts it.
fn load(path: &str) -> Result<(Input, ArrowReaderMetadata)> {
    let input = Input::open(path)?;
    let whole = |from, to| input.exact(from, to).map_err(|e| damaged(path, e));
    if input.length < TRAILER_BYTES + 4 {
        return Err(damaged(path, "it is too short"));
    }
    let trailer = whole(input.length - TRAILER_BYTES, input.length)?;
    match &trailer[4..] {
        b"PAR1" => {}
        b"PARE" => {
            return Err(Error::unsupported(format!("\"{path}\" is encrypted, which is not supported")));
        }
        _ => {
            return Err(damaged(path, "it does not end as a Parquet file does")
                .with_hint("the file is cut off, or is of another format: see the FORMAT option"));
        }
    }
    let length = u64::from(u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]));
    let footer_end = input.length - TRAILER_BYTES;
    let footer_begin =
        footer_end.checked_sub(length).ok_or_else(|| damaged(path, "its footer is too long"))?;
    if !thrift::is_whole(&whole(footer_begin, footer_end)?) {
        return Err(damaged(path, "its footer is damaged"));
    }
    let metadata = decode::guarded(path, FORMAT, || {
        ArrowReaderMetadata::load(&input, ArrowReaderOptions::new()).map_err(|e| damaged(path, e))
    })?;
    let groups = metadata.metadata().row_groups();
    if groups.iter().any(|g| g.num_rows() < 0) {
        return Err(damaged(path, "a row group has a negative number of rows"));
    }
    Ok((input, metadata))
}

/// Schema of the files, which must agree, and their rows together.
pub fn describe(paths: &[String]) -> Result<(Schema, u64)> {
    let mut schema: Option<Vec<Field>> = None;
    let mut rows = 0u64;
    for path in paths {
        let (_, metadata) = load(path)?;
        let fields = decode::fields(metadata.schema());
        for group in metadata.metadata().row_groups() {
            rows = rows.saturating_add(group.num_rows() as u64);
        }
        match &mut schema {
            None => schema = Some(fields),
            Some(first) => decode::agree(first, &fields, &paths[0], path)?,
        }
    }
    Ok((Schema::new(schema.unwrap_or_default()), rows))
}

struct OneFile {
    input: Input,
    metadata: ArrowReaderMetadata,
}

/// Rows `skip..skip + take` of a row group.
struct Unit {
    file: usize,
    group: usize,
    skip: usize,
    take: usize,
}

pub struct ParquetFiles {
    files: Vec<OneFile>,
    units: Vec<Unit>,
    /// Columns wanted, as positions in the files.
    columns: Vec<usize>,
    fields: Vec<Field>,
    batch_rows: usize,
    decoder: Decoder,
}

/// Who decodes flat columns of the usual types and encodings. The crate is the twin that tests compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoder {
    Own,
    Crate,
}

/// The Arrow schema to decode into: our widths instead of the file's.
fn wanted(schema: &ArrowSchema) -> ArrowSchema {
    let fields: Vec<ArrowField> = schema
        .fields()
        .iter()
        .map(|f| {
            let ty = match f.data_type() {
                DataType::Decimal128(p, s) if *p <= 18 && *s >= 0 => DataType::Decimal64(*p, *s),
                DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
                DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
                other => other.clone(),
            };
            f.as_ref().clone().with_data_type(ty)
        })
        .collect();
    ArrowSchema::new_with_metadata(fields, schema.metadata().clone())
}

/// Cuts a row group into ranges of about equal length.
fn cut(file: usize, group: usize, rows: u64, unit_rows: u64, units: &mut Vec<Unit>) {
    let count = rows.div_ceil(unit_rows).clamp(1, GROUP_UNITS_MAX);
    let each = rows.div_ceil(count);
    for number in 0..count {
        let skip = (number * each).min(rows);
        let take = (rows - skip).min(each);
        if take > 0 {
            units.push(Unit { file, group, skip: skip as usize, take: take as usize });
        }
    }
}

impl ParquetFiles {
    pub fn open(source: &FileSource, columns: &[usize], batch_rows: usize) -> Result<Self> {
        Self::with_unit_rows(source, columns, batch_rows, UNIT_ROWS)
    }

    /// As `open`, with units of so many rows.
    pub(crate) fn with_unit_rows(
        source: &FileSource,
        columns: &[usize],
        batch_rows: usize,
        unit_rows: u64,
    ) -> Result<Self> {
        let mut files = Vec::new();
        let mut units = Vec::new();
        for path in source.paths.iter() {
            let (input, plain) = load(path)?;
            decode::check_readable(path, plain.schema(), columns)?;
            // A file whose columns cannot be decoded that way is decoded its own way.
            let options = ArrowReaderOptions::new().with_schema(Arc::new(wanted(plain.schema())));
            let metadata = decode::guarded(path, FORMAT, || {
                ArrowReaderMetadata::try_new(plain.metadata().clone(), options).map_err(|e| damaged(path, e))
            })
            .unwrap_or(plain);
            for (group, rows) in metadata.metadata().row_groups().iter().enumerate() {
                cut(files.len(), group, rows.num_rows().max(0) as u64, unit_rows, &mut units);
            }
            files.push(OneFile { input, metadata });
        }
        let fields = columns.iter().map(|c| source.schema.fields()[*c].clone()).collect();
        Ok(ParquetFiles {
            files,
            units,
            columns: columns.to_vec(),
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

    /// The crate's reader of some columns of a unit.
    fn crate_reader(&self, unit: &Unit, columns: &[usize]) -> Result<ParquetRecordBatchReader> {
        let file = &self.files[unit.file];
        let path: &str = &file.input.path;
        let group_rows = file.metadata.metadata().row_group(unit.group).num_rows().max(0) as usize;
        decode::guarded(path, FORMAT, || {
            let mut builder =
                ParquetRecordBatchReaderBuilder::new_with_metadata(file.input.clone(), file.metadata.clone());
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
            if unit.take < group_rows {
                let selectors = vec![RowSelector::skip(unit.skip), RowSelector::select(unit.take)];
                builder = builder.with_row_selection(RowSelection::from(selectors));
            }
            builder
                .with_row_groups(vec![unit.group])
                .with_projection(mask)
                .with_batch_size(self.batch_rows.min(unit.take))
                .build()
                .map_err(|e| damaged(path, e))
        })
    }

    fn read_unit(&self, unit: &Unit, push: &mut dyn FnMut(Batch) -> Result<bool>) -> Result<()> {
        let file = &self.files[unit.file];
        let path: &str = &file.input.path;
        let fail = |e: &dyn std::fmt::Display| damaged(path, e);
        // Each column is decoded once, in file order, which is how the crate delivers them.
        let mut order: Vec<usize> = self.columns.clone();
        order.sort_unstable();
        order.dedup();
        let forms = self.own_forms(file, unit.group, &order);
        let foreign: Vec<usize> =
            order.iter().zip(&forms).filter(|(_, form)| form.is_none()).map(|(column, _)| *column).collect();
        let mut reader = match foreign.is_empty() && !order.is_empty() {
            true => None,
            false => Some(self.crate_reader(unit, &foreign)?),
        };
        let group = file.metadata.metadata().row_group(unit.group);
        let mut chunks: Vec<Option<ColumnChunk>> = decode::guarded(path, FORMAT, || {
            let open = |(column, form): (&usize, &Option<(usize, Form)>)| {
                let Some((leaf, form)) = *form else { return Ok(None) };
                let arrow = file.metadata.schema().field(*column).data_type();
                let ty = arrow::type_from_arrow(arrow).ok_or_else(|| decode::changed(path))?;
                let mut chunk =
                    ColumnChunk::open(&file.input, group, leaf, form, ty).map_err(|e| fail(&e))?;
                chunk.skip(unit.skip).map_err(|e| fail(&e))?;
                Ok(Some(chunk))
            };
            order.iter().zip(&forms).map(open).collect()
        })?;
        let mut rows = 0;
        while rows < unit.take {
            let batch = decode::guarded(path, FORMAT, || {
                let decoded = match &mut reader {
                    Some(reader) => match reader.next().transpose().map_err(|e| fail(&e))? {
                        Some(decoded) => Some(decoded),
                        None => return Ok(None),
                    },
                    None => None,
                };
                let count = decoded.as_ref().map_or(self.batch_rows.min(unit.take - rows), |d| d.num_rows());
                let mut arrays = decoded.iter().flat_map(|d| d.columns());
                let mut vectors = Vec::with_capacity(order.len());
                for (column, chunk) in order.iter().zip(&mut chunks) {
                    let Some(at) = self.columns.iter().position(|c| c == column) else { continue };
                    let field = &self.fields[at];
                    vectors.push(match chunk {
                        Some(chunk) => {
                            let vector = chunk.read(count).map_err(|e| fail(&e))?;
                            if vector.ty() != field.ty {
                                return Err(decode::changed(path));
                            }
                            decode::checked(path, &field.name, vector)?
                        }
                        None => {
                            let array = arrays.next().ok_or_else(|| fail(&"a column is missing"))?;
                            decode::column(path, &field.name, array.as_ref(), field.ty)?
                        }
                    });
                }
                let mut columns = Vec::with_capacity(self.columns.len());
                for column in &self.columns {
                    let at = order.binary_search(column).map_err(|_| fail(&"a column is missing"))?;
                    columns.push(vectors[at].clone());
                }
                Ok(Some(Batch::new(columns, count)))
            })?;
            let Some(batch) = batch.filter(|batch| batch.rows > 0) else { break };
            rows += batch.rows;
            if !push(batch)? {
                return Ok(());
            }
        }
        if rows != unit.take {
            return Err(fail(&format!("a row group has {rows} rows where {} are expected", unit.take)));
        }
        Ok(())
    }
}

impl Reader for ParquetFiles {
    fn units(&self) -> Result<u64> {
        Ok(self.units.len() as u64)
    }
    fn read(&self, unit: u64, push: &mut dyn FnMut(Batch) -> Result<bool>) -> Result<()> {
        match self.units.get(unit as usize) {
            Some(unit) => self.read_unit(unit, push),
            None => Ok(()),
        }
    }
}
