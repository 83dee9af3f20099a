//! A file's footer, checked before it is trusted and remembered while the file stays as it is.
//!
//! A statement looks at a footer when it is planned and when it is run, and the next statement often reads the same
//! files. A footer is the same when path, inode, length and time of change are.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use ::parquet::basic::{ConvertedType, LogicalType};
use ::parquet::errors::Result as ParquetResult;
use ::parquet::file::metadata::{FileMetaData, ParquetMetaDataBuilder};
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, Schema};
use types::{Error, Result};

use super::{FORMAT, damaged};
use crate::input::{Input, Stamp};
use crate::{Environment, decode, thrift};

const TRAILER_BYTES: u64 = 8;
/// Footers remembered, the latest ones.
const REMEMBERED: usize = 64;
/// Footers of more row groups and columns than this are not kept.
const CHUNKS_MAX: usize = 1 << 14;

static FOOTERS: Mutex<VecDeque<(Stamp, ArrowReaderMetadata)>> = Mutex::new(VecDeque::new());

/// Opens a file and its footer.
pub fn load(environment: &Environment, path: &str) -> Result<(Input, ArrowReaderMetadata)> {
    let input = Input::open(environment, path)?;
    let stamp = input.stamp();
    if let Some(known) = recall(&stamp) {
        return Ok((input, known));
    }
    input.keep_tail()?;
    let metadata = read(&input)?;
    let groups = metadata.metadata().row_groups();
    if groups.len() * groups.first().map_or(0, |g| g.num_columns()) <= CHUNKS_MAX {
        let mut footers = FOOTERS.lock().unwrap_or_else(PoisonError::into_inner);
        footers.truncate(REMEMBERED - 1);
        footers.push_front((stamp, metadata.clone()));
    }
    Ok((input, metadata))
}

fn recall(stamp: &Stamp) -> Option<ArrowReaderMetadata> {
    let mut footers = FOOTERS.lock().unwrap_or_else(PoisonError::into_inner);
    let at = footers.iter().position(|(known, _)| known == stamp)?;
    let found = footers.remove(at)?;
    let metadata = found.1.clone();
    footers.push_front(found);
    Some(metadata)
}

/// Bytes of a file's footer.
pub fn footer_bytes(input: &Input) -> Result<u64> {
    let begin = input.length.saturating_sub(TRAILER_BYTES);
    let trailer = input.exact(begin, begin + 4).map_err(|e| damaged(&input.path, e))?;
    let length = <[u8; 4]>::try_from(trailer.as_slice()).map_or(0, u32::from_le_bytes);
    Ok(u64::from(length))
}

/// Reads a file's footer, which is checked before the decoder trusts it.
fn read(input: &Input) -> Result<ArrowReaderMetadata> {
    let path: &str = &input.path;
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
    input.keep_ahead(footer_begin..footer_end)?;
    if !thrift::is_whole(&whole(footer_begin, footer_end)?) {
        return Err(damaged(path, "its footer is damaged"));
    }
    let metadata = decode::guarded(path, FORMAT, || {
        ArrowReaderMetadata::load(input, ArrowReaderOptions::new())
            .and_then(with_all_rows)
            .and_then(with_own_leaves)
            .map_err(|e| damaged(path, e))
    })?;
    let groups = metadata.metadata().row_groups();
    if groups.iter().any(|g| g.num_rows() < 0) {
        return Err(damaged(path, "a row group has a negative number of rows"));
    }
    Ok(metadata)
}

/// The metadata with as many rows as the row groups have: old writers left the file's number at zero, and the crate
/// decodes no more at a time than the file has.
fn with_all_rows(metadata: ArrowReaderMetadata) -> ParquetResult<ArrowReaderMetadata> {
    let of_groups = metadata.metadata().row_groups().iter().map(|group| group.num_rows().max(0));
    let rows = of_groups.fold(0, i64::saturating_add);
    let file = metadata.metadata().file_metadata();
    if file.num_rows() >= rows {
        return Ok(metadata);
    }
    let file = FileMetaData::new(
        file.version(),
        rows,
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    let whole = ParquetMetaDataBuilder::new(file)
        .set_row_groups(metadata.metadata().row_groups().to_vec())
        .set_column_index(metadata.metadata().column_index().cloned())
        .set_offset_index(metadata.metadata().offset_index().cloned())
        .build();
    ArrowReaderMetadata::try_new(Arc::new(whole), ArrowReaderOptions::new())
}

/// The metadata with ENUM as texts, which are bytes to the crate, and INTERVAL with its months, which the crate leaves out
/// unless the file's Arrow schema has another kind.
fn with_own_leaves(metadata: ArrowReaderMetadata) -> ParquetResult<ArrowReaderMetadata> {
    let leaves = metadata.parquet_schema();
    let is_enum = |leaf: usize| {
        let column = leaves.column(leaf);
        matches!(column.logical_type_ref(), Some(LogicalType::Enum))
            || column.converted_type() == ConvertedType::ENUM
    };
    let is_interval = |leaf: usize| leaves.column(leaf).converted_type() == ConvertedType::INTERVAL;
    if !(0..leaves.num_columns()).any(|leaf| is_enum(leaf) || is_interval(leaf)) {
        return Ok(metadata);
    }
    let mut next = 0;
    let mut ty = |leaf: usize, ty: &DataType| match ty {
        DataType::Binary if is_enum(leaf) => DataType::Utf8,
        // YEAR TO MONTH stays, where the file's Arrow schema says so.
        DataType::Interval(IntervalUnit::DayTime) if is_interval(leaf) => {
            DataType::Interval(IntervalUnit::MonthDayNano)
        }
        other => other.clone(),
    };
    let fields: Vec<Field> =
        metadata.schema().fields().iter().map(|field| of_leaves(field, &mut next, &mut ty)).collect();
    let schema = Schema::new_with_metadata(fields, metadata.schema().metadata().clone());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(metadata.metadata().clone(), options)
}

/// A field with the types that `ty` gives to its leaves, which are counted by `next`.
pub(super) fn of_leaves(
    field: &Field,
    next: &mut usize,
    ty: &mut dyn FnMut(usize, &DataType) -> DataType,
) -> Field {
    let mut inner = |field: &FieldRef| Arc::new(of_leaves(field, next, ty));
    let changed = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::List(element) => DataType::List(inner(element)),
        DataType::LargeList(element) => DataType::LargeList(inner(element)),
        DataType::ListView(element) => DataType::ListView(inner(element)),
        DataType::LargeListView(element) => DataType::LargeListView(inner(element)),
        DataType::FixedSizeList(element, length) => DataType::FixedSizeList(inner(element), *length),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        leaf => {
            *next += 1;
            ty(*next - 1, leaf)
        }
    };
    field.clone().with_data_type(changed)
}
