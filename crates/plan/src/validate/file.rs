//! Files as relations: what a source says of its columns and of the files by themselves.

use types::{Result, Type};

use super::{ensure, value};
use crate::FileSource;
use crate::file::PartColumn;
use crate::lake::{Deletions, LakeFile, StoredColumn};

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
        if let Some(lake) = &part.lake {
            table_file(lake, file)?;
        }
        ensure(part.columns.len() == width, || "a file with other columns than its relation".to_owned())?;
        for (column, field) in part.columns.iter().zip(file.schema.fields()) {
            match column {
                PartColumn::File(at) => ensure(*at < part.source.schema.len(), || {
                    "a column that the file does not have".to_owned()
                })?,
                PartColumn::Constant(constant) => value::fits(constant, field.ty)?,
                PartColumn::Stored(at) => {
                    let stored = part.lake.as_ref().and_then(|lake| lake.stored.get(*at));
                    ensure(stored.is_some_and(|stored| stored.ty == field.ty), || {
                        "a stored column that the table does not have".to_owned()
                    })?;
                }
            }
        }
    }
    Ok(())
}

/// What a table format says of a file.
fn table_file(lake: &LakeFile, file: &FileSource) -> Result<()> {
    for (at, zone) in &lake.zones {
        let field = file.schema.fields().get(*at);
        ensure(field.is_some(), || "bounds of a column that the relation does not have".to_owned())?;
        for (bound, field) in [&zone.min, &zone.max].into_iter().flatten().zip(field.into_iter().cycle()) {
            value::is_held_as(bound, field.ty)?;
        }
    }
    let deletions = lake.deletions.iter().filter_map(|deletions| match deletions {
        Deletions::Values { columns, .. } => Some(columns.as_slice()),
        _ => None,
    });
    for column in deletions.flatten().chain(lake.stored.iter()) {
        stored(column)?;
    }
    Ok(())
}

/// A stored column has what its type has inside.
fn stored(column: &StoredColumn) -> Result<()> {
    value::fits(&column.missing, column.ty)?;
    let types: Vec<Type> = match column.ty {
        ty if ty.fields().is_some() => ty.fields().unwrap_or_default().iter().map(|(_, ty)| *ty).collect(),
        ty => match (ty.element(), ty.entry()) {
            (Some(element), _) => vec![element],
            (_, Some((key, value))) => vec![key, value],
            _ => vec![],
        },
    };
    let same = types.iter().copied().eq(column.inner.iter().map(|inner| inner.ty));
    ensure(same, || "a stored column of another form than its type's".to_owned())?;
    column.inner.iter().try_for_each(stored)
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
