//! Files as relations: what a source says of its columns and of the files by themselves.

use types::Result;

use super::{ensure, value};
use crate::FileSource;
use crate::file::PartColumn;

/// Whether the source is one that a reader can be opened for.
pub(super) fn source(file: &FileSource) -> Result<()> {
    alone(file)?;
    let width = file.schema.len();
    ensure(file.parts.is_empty() || file.parts.len() == file.paths.len(), || {
        "other files than parts of a relation".to_owned()
    })?;
    for part in file.parts.iter() {
        alone(&part.source)?;
        ensure(part.source.parts.is_empty(), || "parts of a part of a relation".to_owned())?;
        ensure(part.columns.len() == width, || "a file with other columns than its relation".to_owned())?;
        for (column, field) in part.columns.iter().zip(file.schema.fields()) {
            match column {
                PartColumn::File(at) => ensure(*at < part.source.schema.len(), || {
                    "a column that the file does not have".to_owned()
                })?,
                PartColumn::Constant(constant) => value::fits(constant, field.ty)?,
            }
        }
    }
    Ok(())
}

/// A source without its parts.
fn alone(file: &FileSource) -> Result<()> {
    let width = file.schema.len();
    ensure(file.statistics.len() <= width, || "statistics of more columns than the file has".to_owned())?;
    for (column, field) in file.statistics.iter().zip(file.schema.fields()) {
        for bound in [&column.zone.min, &column.zone.max].into_iter().flatten() {
            value::is_held_as(bound, field.ty)?;
        }
    }
    ensure(file.text.record_bytes_max > 0, || "records of no bytes".to_owned())
}
