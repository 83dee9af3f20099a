//! Rows of a Parquet file as JSON: a checkpoint holds what a log's lines hold, as columns.

use serde_json::{Map, Number, Value as Json};
use types::nested::encoding::{elements, entries, fields, slot_value};
use types::{Result, Type, Value};

use super::deletions::source;
use crate::{Environment, parquet};

/// Shows each row's values that are not NULL, of those of the wanted columns that the file has.
pub fn records(
    environment: &Environment,
    path: &str,
    wanted: &[&str],
    visit: &mut dyn FnMut(Map<String, Json>) -> Result<()>,
) -> Result<()> {
    let (columns, _) = parquet::found(environment, path)?;
    let file = source(path, columns);
    let all = file.schema.fields();
    let columns: Vec<usize> =
        (0..all.len()).filter(|at| wanted.iter().any(|name| *name == all[*at].name)).collect();
    let reader = crate::open(environment, &file, &columns, 1024)?;
    for unit in 0..reader.units()? {
        reader.read(unit, &mut |batch| {
            types::stop::check(types::stop::Place::Open)?;
            for row in 0..batch.rows {
                let mut record = Map::new();
                for (at, vector) in columns.iter().zip(&batch.columns) {
                    let value = json(&vector.value(row), vector.ty());
                    if !value.is_null() {
                        record.insert(all[*at].name.clone(), value);
                    }
                }
                visit(record)?;
            }
            Ok(true)
        })?;
    }
    Ok(())
}

/// A value as JSON. Values that JSON has no form for are texts, and so are decimals, which keep all digits.
fn json(value: &Value, ty: Type) -> Json {
    let text = || Json::String(value.display(ty));
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Bytes(bytes) if ty.fields().is_some() => {
            let names = ty.fields().unwrap_or_default();
            let all = fields(ty, bytes).into_iter().zip(names);
            let members = all.map(|(slot, (name, ty))| (name.clone(), json(&slot_value(slot, *ty), *ty)));
            Json::Object(members.filter(|(_, value)| !value.is_null()).collect())
        }
        Value::Bytes(bytes) if ty.is_nested() => match (ty.element(), ty.entry()) {
            (Some(element), _) => {
                elements(ty, bytes).map(|slot| json(&slot_value(slot, element), element)).collect()
            }
            (_, Some((key, of))) => {
                let slots: Vec<_> = entries(ty, bytes).collect();
                let pair = |pair: &[Option<&[u8]>]| {
                    (slot_value(pair[0], key).display(key), json(&slot_value(pair[1], of), of))
                };
                Json::Object(slots.chunks_exact(2).map(pair).collect())
            }
            _ => text(),
        },
        _ if ty.is_integer() => value.as_i128().map_or_else(text, |number| match i64::try_from(number) {
            Ok(number) => Json::Number(number.into()),
            Err(_) => text(),
        }),
        Value::F32(number) => Number::from_f64(f64::from(*number)).map_or_else(text, Json::Number),
        Value::F64(number) => Number::from_f64(*number).map_or_else(text, Json::Number),
        _ => text(),
    }
}
