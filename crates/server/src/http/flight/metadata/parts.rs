//! What answers about metadata are built of.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use engine::{Error, ResultSet};

/// The error of a library's builder.
pub(super) fn failed(error: impl std::fmt::Display) -> Error {
    Error::internal(format!("metadata cannot be built: {error}"))
}

/// A column of an answer.
pub(super) fn field(name: &str, ty: DataType, nullable: bool) -> Field {
    Field::new(name, ty, nullable)
}

/// A text of a result.
pub(super) fn text(rows: &ResultSet, row: usize, column: usize) -> String {
    rows.value(row, column).as_text().unwrap_or_default().to_owned()
}

/// A schema of these columns.
pub(super) fn schema_of(fields: Vec<Field>) -> SchemaRef {
    Arc::new(Schema::new(fields))
}
