//! Parquet: a unit is a row group.
//!
//! Decimals of at most 18 digits are asked for as 64-bit integers and strings as views, so that nothing is converted
//! twice. The decoder may panic on damaged files; that is caught here and becomes an error.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use plan::FileSource;
use types::{Error, Field, Result, Schema, SqlState, Type};
use vector::{Batch, arrow};

use crate::Reader;

/// Rows decoded at a time, at least: decoding has a cost per call and column.
const DECODED_ROWS_MIN: usize = 16_384;

fn open_file(path: &str) -> Result<File> {
    File::open(path).map_err(|e| {
        let state = if e.kind() == std::io::ErrorKind::NotFound {
            SqlState::UndefinedFile
        } else {
            SqlState::IoError
        };
        Error::new(state, format!("cannot open \"{path}\": {e}"))
    })
}

/// Runs `decode`; a panic in the decoder is the file's fault.
fn guarded<T>(path: &str, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| Err(damaged(path, "the decoder failed")))
}

fn damaged(path: &str, what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::DataCorrupted, format!("cannot read \"{path}\" as Parquet: {what}"))
}

/// Columns we have a type for, with their position in the file.
fn readable(schema: &ArrowSchema) -> Vec<(usize, Field)> {
    schema
        .fields()
        .iter()
        .enumerate()
        .filter_map(|(at, f)| {
            Some((at, Field::new(f.name(), arrow::type_from_arrow(f.data_type())?, f.is_nullable())))
        })
        .collect()
}

fn load(path: &str, options: ArrowReaderOptions) -> Result<(File, ArrowReaderMetadata)> {
    let file = open_file(path)?;
    let metadata = guarded(path, || ArrowReaderMetadata::load(&file, options).map_err(|e| damaged(path, e)))?;
    Ok((file, metadata))
}

/// Schema of the files, which must agree, and their rows together.
pub fn describe(paths: &[String]) -> Result<(Schema, u64)> {
    let mut schema: Option<Vec<Field>> = None;
    let mut rows = 0;
    for path in paths {
        let (_, metadata) = load(path, ArrowReaderOptions::new())?;
        let fields: Vec<Field> = readable(metadata.schema()).into_iter().map(|(_, f)| f).collect();
        rows += metadata.metadata().file_metadata().num_rows().max(0) as u64;
        match &mut schema {
            None => schema = Some(fields),
            Some(first) => agree(first, &fields, &paths[0], path)?,
        }
    }
    Ok((Schema::new(schema.unwrap_or_default()), rows))
}

fn agree(first: &mut [Field], other: &[Field], first_path: &str, path: &str) -> Result<()> {
    let differs =
        first.len() != other.len() || first.iter().zip(other).any(|(a, b)| a.name != b.name || a.ty != b.ty);
    if differs {
        return Err(Error::new(
            SqlState::DatatypeMismatch,
            format!("\"{path}\" does not have the columns of \"{first_path}\""),
        ));
    }
    for (a, b) in first.iter_mut().zip(other) {
        a.nullable |= b.nullable;
    }
    Ok(())
}

struct OneFile {
    path: String,
    file: File,
    metadata: ArrowReaderMetadata,
}

pub struct ParquetFiles {
    files: Vec<OneFile>,
    /// Unit -> file and row group.
    units: Vec<(usize, usize)>,
    /// Columns wanted, as positions in the files.
    columns: Vec<usize>,
    types: Vec<Type>,
    batch_rows: usize,
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

impl ParquetFiles {
    pub fn open(source: &FileSource, columns: &[usize], batch_rows: usize) -> Result<Self> {
        let mut files = Vec::new();
        let mut units = Vec::new();
        let mut positions = Vec::new();
        for path in source.paths.iter() {
            let (file, plain) = load(path, ArrowReaderOptions::new())?;
            let wanted = Arc::new(wanted(plain.schema()));
            // A file whose columns cannot be decoded that way is decoded its own way.
            let metadata = match load(path, ArrowReaderOptions::new().with_schema(wanted)) {
                Ok((_, metadata)) => metadata,
                Err(_) => plain,
            };
            let readable = readable(metadata.schema());
            let mine: Option<Vec<usize>> =
                columns.iter().map(|c| readable.get(*c).map(|(at, _)| *at)).collect();
            positions =
                mine.ok_or_else(|| damaged(path, "its columns have changed since it was described"))?;
            let groups = metadata.metadata().num_row_groups();
            units.extend((0..groups).map(|group| (files.len(), group)));
            files.push(OneFile { path: path.clone(), file, metadata });
        }
        let types = columns.iter().map(|c| source.schema.fields()[*c].ty).collect();
        Ok(ParquetFiles {
            files,
            units,
            columns: positions,
            types,
            batch_rows: batch_rows.max(DECODED_ROWS_MIN),
        })
    }

    fn read_group(
        &self,
        file: &OneFile,
        group: usize,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let fail = |e: &dyn std::fmt::Display| damaged(&file.path, e);
        let handle = file.file.try_clone().map_err(|e| fail(&e))?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(handle, file.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), self.columns.iter().copied());
        let mut reader = guarded(&file.path, || {
            builder
                .with_row_groups(vec![group])
                .with_projection(mask)
                .with_batch_size(self.batch_rows)
                .build()
                .map_err(|e| fail(&e))
        })?;
        // The decoder delivers the chosen columns in file order, each once.
        let mut order: Vec<usize> = self.columns.clone();
        order.sort_unstable();
        order.dedup();
        loop {
            let decoded = guarded(&file.path, || reader.next().transpose().map_err(|e| fail(&e)))?;
            let Some(decoded) = decoded else { return Ok(()) };
            let mut columns = Vec::with_capacity(self.columns.len());
            for (position, ty) in self.columns.iter().zip(&self.types) {
                let at = order.binary_search(position).map_err(|_| fail(&"a column is missing"))?;
                let array = decoded.columns().get(at).ok_or_else(|| fail(&"a column is missing"))?;
                columns.push(arrow::from_array(array.as_ref(), *ty)?);
            }
            if !push(Batch::new(columns, decoded.num_rows()))? {
                return Ok(());
            }
        }
    }
}

impl Reader for ParquetFiles {
    fn units(&self) -> Result<u64> {
        Ok(self.units.len() as u64)
    }
    fn read(&self, unit: u64, push: &mut dyn FnMut(Batch) -> Result<bool>) -> Result<()> {
        let Some((file, group)) = self.units.get(unit as usize) else { return Ok(()) };
        self.read_group(&self.files[*file], *group, push)
    }
}
