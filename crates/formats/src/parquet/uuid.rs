//! Sixteen bytes that are a UUID, and those that are just bytes.
//!
//! To Arrow, and so to the crate, both are `FixedSizeBinary(16)`; only the file's logical type tells them apart. Ours have
//! it since this is told apart; files that the engine wrote before have none and hold UUIDs wherever they hold sixteen bytes.

use std::sync::Arc;

use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use ::parquet::basic::{LogicalType, Type as Physical};
use ::parquet::errors::Result as ParquetResult;
use ::parquet::file::metadata::FileMetaData;
use ::parquet::schema::types::{SchemaDescriptor, Type as Written};
use arrow_schema::DataType;

use super::footer::of_leaves;

const BYTES: i32 = 16;
const SIXTEEN: DataType = DataType::FixedSizeBinary(BYTES);

/// What the engine writes as the name of a file's writer.
const OURS: &str = "quickstep ";

fn holds_sixteen(ty: &DataType) -> bool {
    let mut found = false;
    let field = arrow_schema::Field::new("", ty.clone(), true);
    of_leaves(&field, &mut 0, &mut |_, leaf| {
        found |= *leaf == SIXTEEN;
        leaf.clone()
    });
    found
}

/// Whether a file's sixteen bytes are UUIDs though it does not say so.
fn is_old(file: &FileMetaData) -> bool {
    let leaves = file.schema_descr();
    let annotated = (0..leaves.num_columns())
        .any(|leaf| matches!(leaves.column(leaf).logical_type_ref(), Some(LogicalType::Uuid)));
    file.created_by().is_some_and(|writer| writer.starts_with(OURS)) && !annotated
}

/// The Arrow type of a column, in which bytes that are no UUIDs are bytes; `None` where that is the file's own.
pub(super) fn seen(metadata: &ArrowReaderMetadata, column: usize) -> Option<DataType> {
    let field = metadata.schema().fields().get(column)?;
    let file = metadata.metadata().file_metadata();
    if !holds_sixteen(field.data_type()) || is_old(file) {
        return None;
    }
    let leaves = metadata.parquet_schema();
    let mut next = (0..leaves.num_columns()).find(|leaf| leaves.get_column_root_idx(*leaf) == column)?;
    let mut ty = |leaf: usize, ty: &DataType| {
        let uuid = leaf < leaves.num_columns()
            && matches!(leaves.column(leaf).logical_type_ref(), Some(LogicalType::Uuid));
        if *ty == SIXTEEN && !uuid { DataType::Binary } else { ty.clone() }
    };
    let seen = of_leaves(field, &mut next, &mut ty).data_type().clone();
    (seen != *field.data_type()).then_some(seen)
}

/// A schema as it is written, whose sixteen bytes are UUIDs: every one that the engine has.
pub(super) fn annotated(schema: &SchemaDescriptor) -> ParquetResult<SchemaDescriptor> {
    Ok(SchemaDescriptor::new(Arc::new(with_uuids(schema.root_schema())?)))
}

fn with_uuids(ty: &Written) -> ParquetResult<Written> {
    let info = ty.get_basic_info();
    let id = info.has_id().then(|| info.id());
    match ty {
        Written::PrimitiveType { physical_type, type_length, .. } => {
            let plain = info.logical_type_ref().is_none();
            if *physical_type != Physical::FIXED_LEN_BYTE_ARRAY || *type_length != BYTES || !plain {
                return Ok(ty.clone());
            }
            Written::primitive_type_builder(info.name(), *physical_type)
                .with_repetition(info.repetition())
                .with_length(BYTES)
                .with_logical_type(Some(LogicalType::Uuid))
                .with_id(id)
                .build()
        }
        Written::GroupType { fields, .. } => {
            let inner = fields.iter().map(|field| with_uuids(field).map(Arc::new));
            let mut group = Written::group_type_builder(info.name())
                .with_fields(inner.collect::<ParquetResult<Vec<_>>>()?)
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_id(id);
            if info.has_repetition() {
                group = group.with_repetition(info.repetition());
            }
            group.build()
        }
    }
}

/// Whether a schema that is written has UUIDs.
pub(super) fn in_schema(schema: &arrow_schema::Schema) -> bool {
    schema.fields().iter().any(|field| holds_sixteen(field.data_type()))
}
