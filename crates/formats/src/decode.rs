//! What the formats that arrive as Arrow arrays have in common: guarding the foreign decoder and checking its values.
//!
//! The readers of Arrow IPC, of Parquet and of held rows call this module. `guarded` turns a panic of the decoder
//! into an error that names the file; `fields` and `check_readable` say which columns have a type; `agree` holds the
//! schemas of several files against each other. `column` and `checked` accept a decoded array only if its values keep
//! the promises of the type (the digits of decimals, for one), since the operators rely on them.

use std::panic::resume_unwind;

use arrow_array::Array;
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use types::stop::Unwound;
use types::{Error, Field, Result, SqlState, Type, decimal};
use vector::{Data, Vector, arrow};

/// Runs `decode`; a panic in a foreign decoder is the file's fault, not the process's end.
pub fn guarded<T>(path: &str, format: &str, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    crate::quiet::caught(decode).unwrap_or_else(|panic| match panic.is::<Unwound>() {
        true => resume_unwind(panic),
        false => Err(damaged(path, format, "the decoder failed")),
    })
}

/// The error for a file that cannot be read as `format`; `what` is the cause.
pub fn damaged(path: &str, format: &str, what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::DataCorrupted, format!("cannot read \"{path}\" as {format}: {what}"))
}

/// A field's metadata under this key says why its values cannot be had; the host program sets it.
pub const REFUSED: &str = "quickstep:refused";

/// All columns of a file. One that we have no type for is described as BYTEA and is an error when it is read.
pub fn fields(schema: &ArrowSchema) -> Vec<Field> {
    let ty = |ty| arrow::type_from_arrow(ty).unwrap_or(Type::Bytea);
    let nullable = |f: &ArrowField| f.is_nullable() || hides_nulls(f.data_type());
    schema.fields().iter().map(|f| Field::new(f.name(), ty(f.data_type()), nullable(f))).collect()
}

/// Whether a column of the type may have NULLs though its field says that it has none: those of the children, of the
/// dictionary's values, of the runs.
fn hides_nulls(ty: &DataType) -> bool {
    matches!(ty, DataType::Union(..) | DataType::Dictionary(..) | DataType::RunEndEncoded(..))
}

/// An error when some column of `columns` has no counterpart.
pub fn check_readable(path: &str, schema: &ArrowSchema, columns: &[usize]) -> Result<()> {
    for column in columns {
        let Some(field) = schema.fields().get(*column) else {
            return Err(changed(path));
        };
        if let Some(reason) = field.metadata().get(REFUSED) {
            let message = format!("column \"{}\" of \"{path}\" cannot be read: {reason}", field.name());
            return Err(Error::unsupported(message)
                .with_hint("convert it, or select the columns you need and leave this one out"));
        }
        if arrow::type_from_arrow(field.data_type()).is_none() {
            return Err(Error::unsupported(format!(
                "column \"{}\" of \"{path}\" has type {}, which is not supported",
                field.name(),
                named(field.data_type())
            ))
            .with_hint("select the columns you need and leave this one out"));
        }
    }
    Ok(())
}

/// The type as a person would say it; nested ones without their insides.
fn named(ty: &DataType) -> String {
    match ty {
        DataType::Struct(_) => "STRUCT".into(),
        DataType::List(_) | DataType::LargeList(_) | DataType::ListView(_) | DataType::LargeListView(_) => {
            "LIST".into()
        }
        DataType::FixedSizeList(_, length) => format!("LIST of {length}"),
        DataType::Map(..) => "MAP".into(),
        DataType::Union(..) => "UNION".into(),
        other => other.to_string(),
    }
}

/// The error for a file whose columns differ from those that `describe` found.
pub fn changed(path: &str) -> Error {
    Error::new(
        SqlState::DatatypeMismatch,
        format!("the columns of \"{path}\" have changed since it was described"),
    )
}

/// Files read as one relation have the same columns.
pub fn agree(first: &mut [Field], other: &[Field], first_path: &str, path: &str) -> Result<()> {
    if first.len() != other.len() {
        return Err(Error::new(
            SqlState::DatatypeMismatch,
            format!("\"{path}\" has {} columns, \"{first_path}\" has {}", other.len(), first.len()),
        )
        .with_hint(BY_NAME));
    }
    for (a, b) in first.iter_mut().zip(other) {
        if a.name != b.name || a.ty != b.ty {
            return Err(Error::new(
                SqlState::DatatypeMismatch,
                format!(
                    "column \"{}\" of \"{path}\" is {}, where \"{first_path}\" has \"{}\" of type {}",
                    b.name,
                    b.ty.sql_name(),
                    a.name,
                    a.ty.sql_name()
                ),
            )
            .with_hint(BY_NAME));
        }
        a.nullable |= b.nullable;
    }
    Ok(())
}

const BY_NAME: &str = "files that differ are read by their columns' names: union_by_name => true";

/// A decoded column as a vector of `ty`; values that break the promises of the type are errors.
pub fn column(path: &str, name: &str, array: &dyn Array, ty: Type) -> Result<Vector> {
    if arrow::type_from_arrow(array.data_type()) != Some(ty) {
        return Err(changed(path));
    }
    checked(path, name, arrow::from_array(array, ty)?)
}

/// The vector, if its values keep the promises of its type.
pub fn checked(path: &str, name: &str, vector: Vector) -> Result<Vector> {
    let ty = vector.ty();
    if let Type::Decimal { precision, .. } = ty {
        let limit = decimal::power_of_ten(precision);
        let beyond = match vector.data() {
            Data::I64(values) => i64::try_from(limit).is_ok_and(|limit| {
                // No early end, so that the loop is vectorised.
                values.iter().fold(false, |bad, v| bad | (*v >= limit) | (*v <= -limit))
            }),
            Data::I128(values) => values.iter().fold(false, |bad, v| bad | (*v >= limit) | (*v <= -limit)),
            _ => false,
        };
        // What stands in NULL rows is of no account.
        let fits = |row: usize| vector.value(row).as_i128().is_none_or(|v| decimal::fits(v, precision));
        if beyond && !(0..vector.len()).all(fits) {
            return Err(Error::new(
                SqlState::NumericValueOutOfRange,
                format!("column \"{name}\" of \"{path}\" has a value beyond {}", ty.sql_name()),
            ));
        }
    }
    if let (Some((low, high)), true) = (ty.integer_range(), ty.is_ranged_integer()) {
        let fits = |row: usize| vector.value(row).as_i128().is_none_or(|v| (low..=high).contains(&v));
        if let Some(row) = (0..vector.len()).find(|row| !fits(*row)) {
            let value = vector.value(row).display(ty);
            return Err(Error::new(
                SqlState::NumericValueOutOfRange,
                format!("column \"{name}\" of \"{path}\" has the value {value}, which {ty} does not hold"),
            ));
        }
    }
    Ok(vector)
}
