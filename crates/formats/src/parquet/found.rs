//! The columns of a Parquet file with the identifiers that table formats give them.

use ::parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use arrow_schema::{DataType, Field as ArrowField};
use types::{Field, Result, Type};

use super::footer::load;
use super::variant;
use crate::Environment;
use crate::lake::stored::Found;

/// The columns of a file as they are read, and as a table finds them.
pub(crate) fn found(environment: &Environment, path: &str) -> Result<(Vec<Field>, Vec<Found>)> {
    let (_, metadata) = load(environment, path)?;
    let fields = variant::fields(&metadata);
    let columns = metadata.schema().fields().iter().zip(&fields);
    let found = columns.map(|(arrow, field)| of_field(arrow, field.ty)).collect();
    Ok((fields, found))
}

fn of_field(arrow: &ArrowField, ty: Type) -> Found {
    let inner: Vec<Found> = match arrow.data_type() {
        DataType::Struct(fields) => {
            let types = ty.fields().unwrap_or_default();
            fields.iter().zip(types).map(|(field, (_, ty))| of_field(field, *ty)).collect()
        }
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::ListView(element)
        | DataType::LargeListView(element)
        | DataType::FixedSizeList(element, _) => {
            ty.element().map(|ty| of_field(element, ty)).into_iter().collect()
        }
        DataType::Map(entries, _) => match (entries.data_type(), ty.entry()) {
            (DataType::Struct(fields), Some((key, value))) => {
                fields.iter().zip([key, value]).map(|(field, ty)| of_field(field, ty)).collect()
            }
            _ => vec![],
        },
        _ => vec![],
    };
    let id = arrow.metadata().get(PARQUET_FIELD_ID_META_KEY).and_then(|id| id.parse().ok());
    Found { name: arrow.name().clone(), id, ty, inner }
}
