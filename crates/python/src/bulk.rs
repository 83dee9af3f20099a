//! Many rows of Python values as columns, for one INSERT.
//!
//! Only values whose SQL type is certain are taken: for others, and for statements of another shape, the answer is
//! `None`, and the package runs the statement once for each row.

use engine::{BulkColumn, BulkInsert, Marked, Session, SqlState, Type, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};
use types::{cast, zone};
use vector::VectorBuilder;

/// What became of the rows.
pub enum Filled {
    /// The insert and its columns.
    Columns(BulkInsert, Vec<VectorBuilder>, usize),
    /// A value does not fit its column.
    Wrong(engine::Error),
    /// Something that only running the statement decides.
    Unknown,
}

/// Fills the columns of an INSERT with the rows' values.
pub fn fill(insert: BulkInsert, session: &Session, rows: &Bound<'_, PyList>, first: u64) -> PyResult<Filled> {
    let zone = session.query("SHOW timezone").ok().and_then(|shown| match shown.rows() {
        1 => shown.value(0, 0).as_text().and_then(types::Zone::parse),
        _ => None,
    });
    let Some(zone) = zone else { return Ok(Filled::Unknown) };
    zone::within(zone, || filled(insert, rows, first))
}

fn filled(insert: BulkInsert, rows: &Bound<'_, PyList>, first: u64) -> PyResult<Filled> {
    let columns = insert.columns();
    let mut builders: Vec<VectorBuilder> =
        columns.iter().map(|column| VectorBuilder::new(column.held, rows.len())).collect();
    for (at, row) in rows.iter().enumerate() {
        let named = row.cast::<PyDict>().ok();
        // Values that no column asks for are a mistake, which running the statement tells.
        if row.len()? != columns.len() {
            return Ok(Filled::Unknown);
        }
        for (column, builder) in columns.iter().zip(&mut builders) {
            let value = match (&column.marked, named) {
                (Marked::Number(number), None) => row.get_item(number - 1).ok(),
                (Marked::Name(name), Some(named)) => named.get_item(name)?,
                _ => None,
            };
            let Some(value) = value else { return Ok(Filled::Unknown) };
            match converted(&value, column)? {
                None => return Ok(Filled::Unknown),
                Some(Ok(value)) => builder.push(&value),
                Some(Err(error)) if error.state() == SqlState::DatatypeMismatch => {
                    return Ok(Filled::Unknown);
                }
                Some(Err(error)) => return Ok(Filled::Wrong(column.at_fault(error, first + at as u64))),
            }
        }
    }
    let count = rows.len();
    Ok(Filled::Columns(insert, builders, count))
}

/// A Python value as the column holds it; `None` where that is not certain.
fn converted(object: &Bound<'_, PyAny>, column: &BulkColumn) -> PyResult<Option<engine::Result<Value>>> {
    let assigned = |value: Value, ty: Type| Ok(Some(column.assigned(&value, ty)));
    let read = |text: String, ty: Type| {
        let value = cast::parse_text(&text, ty);
        Ok(Some(value.and_then(|value| column.assigned(&value, ty))))
    };
    if object.is_none() {
        return Ok(Some(Ok(Value::Null)));
    }
    if object.is_exact_instance_of::<PyString>() {
        let text = object.cast::<PyString>()?.to_cow()?;
        if text.contains('\0') {
            return Ok(None);
        }
        return assigned(Value::text(&text), Type::Text);
    }
    if object.is_exact_instance_of::<PyInt>() {
        let Ok(value) = object.extract::<i64>() else { return Ok(None) };
        return assigned(Value::I64(value), Type::BigInt);
    }
    if object.is_exact_instance_of::<PyFloat>() {
        return assigned(Value::F64(object.extract()?), Type::Double);
    }
    if object.is_exact_instance_of::<PyBool>() {
        return assigned(Value::Bool(object.is_truthy()?), Type::Boolean);
    }
    if object.is_exact_instance_of::<PyBytes>() {
        return match column.held {
            Type::Bytea => Ok(Some(Ok(Value::Bytes(object.cast::<PyBytes>()?.as_bytes().into())))),
            _ => Ok(None),
        };
    }
    let ty = object.get_type();
    let (module, name) = (ty.module()?, ty.name()?);
    match (module.to_str()?, name.to_str()?) {
        ("datetime", "date") => read(object.str()?.to_string(), Type::Date),
        ("datetime", "time") if object.getattr("tzinfo")?.is_none() => {
            read(object.str()?.to_string(), Type::Time)
        }
        ("datetime", "datetime") => match object.getattr("tzinfo")?.is_none() {
            true => read(object.str()?.to_string(), Type::Timestamp),
            false => {
                let utc = object.py().import("datetime")?.getattr("timezone")?.getattr("utc")?;
                read(object.call_method1("astimezone", (utc,))?.str()?.to_string(), Type::TimestampTz)
            }
        },
        ("uuid", "UUID") => read(object.str()?.to_string(), Type::Uuid),
        ("decimal", "Decimal") if matches!(column.held, Type::Decimal { .. }) => {
            match object.call_method0("is_finite")?.is_truthy()? {
                true => read(object.call_method1("__format__", ("f",))?.to_string(), column.held),
                false => Ok(None),
            }
        }
        // A scalar of NumPy's; arrays and instants are not.
        (
            "numpy",
            "bool" | "bool_" | "int8" | "int16" | "int32" | "int64" | "float32" | "float64" | "str_",
        ) => {
            let plain = object.call_method0("item")?;
            match plain.get_type().module()?.to_str()? {
                "builtins" => converted(&plain, column),
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}
