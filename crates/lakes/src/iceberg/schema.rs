//! A table's columns: types, and the identifiers by which files have them.
//!
//! Everything has an identifier, at every level; names are for queries alone. Files that were not written by Iceberg have
//! none, and are read by the names that the table's name mapping gives, if it has one. A type that is not known is
//! refused by its name. Called by `describe`.

use std::collections::HashMap;

use plan::lake::StoredColumn;
use serde_json::Value as Json;
use types::{Error, Result, Type, Value};

use super::bounds;
use super::metadata::Metadata;
use crate::table::{self, Column, Nested, TypeReader, Words, damaged};

/// Names inside names of a mapping, at most.
const DEPTH_MAX: usize = 60;

/// A table's columns.
#[derive(Debug)]
pub(crate) struct TableSchema {
    /// The columns.
    pub columns: Vec<Column>,
    /// Their identifiers.
    pub ids: Vec<i64>,
    /// The columns by identifier.
    pub by_id: HashMap<i64, StoredColumn>,
}

/// Reads the columns of a schema; without an identifier, of the table's.
pub(crate) fn read(metadata: &Metadata, id: Option<i64>) -> Result<TableSchema> {
    let path = metadata.path.as_str();
    let mut names = HashMap::new();
    if let Some(mapping) = &metadata.name_mapping {
        let json: Json = serde_json::from_str(mapping)
            .map_err(|e| damaged(path, format!("its name mapping is not readable: {e}")))?;
        map_names(&json, &mut names, 0);
    }
    let reading = Reading { path, names };
    let fields = metadata.schema(id)?.get("fields").and_then(Json::as_array);
    let fields = fields.ok_or_else(|| damaged(path, "its schema has no fields"))?;
    let mut schema = TableSchema { columns: vec![], ids: vec![], by_id: HashMap::new() };
    for field in fields {
        let (name, stored) = reading.field(field, 0)?;
        let id = stored.id.map_or(0, i64::from);
        schema.ids.push(id);
        if !stored.ty.is_nested() {
            schema.by_id.insert(id, stored.clone());
        }
        schema.columns.push(Column { name, stored });
    }
    Ok(schema)
}

/// The names that a mapping gives identifiers.
fn map_names(json: &Json, names: &mut HashMap<i32, Vec<String>>, depth: usize) {
    for entry in json.as_array().into_iter().flatten().filter(|_| depth <= DEPTH_MAX) {
        let id = entry.get("field-id").and_then(Json::as_i64).and_then(|id| i32::try_from(id).ok());
        let given = entry.get("names").and_then(Json::as_array).into_iter().flatten();
        if let Some(id) = id {
            names.insert(id, given.filter_map(|name| name.as_str().map(str::to_owned)).collect());
        }
        if let Some(inner) = entry.get("fields") {
            map_names(inner, names, depth + 1);
        }
    }
}

struct Reading<'a> {
    path: &'a str,
    names: HashMap<i32, Vec<String>>,
}

impl Reading<'_> {
    fn stored(&self, id: &Json, ty: Type, inner: Vec<StoredColumn>) -> Result<StoredColumn> {
        let id = id.as_i64().and_then(|id| i32::try_from(id).ok());
        let id = id.ok_or_else(|| damaged(self.path, "its schema has a field without an identifier"))?;
        let names = self.names.get(&id).cloned().unwrap_or_default();
        Ok(StoredColumn { id: Some(id), names, ty, inner, missing: Value::Null })
    }

    fn field(&self, field: &Json, depth: usize) -> Result<(String, StoredColumn)> {
        let name = field.get("name").and_then(Json::as_str);
        let name = name.ok_or_else(|| damaged(self.path, "its schema has a field without a name"))?;
        let lacks = || damaged(self.path, format!("its column \"{name}\" lacks a type or an identifier"));
        let (ty, inner) = self.ty(name, field.get("type").ok_or_else(lacks)?, depth)?;
        let mut stored = self.stored(field.get("id").ok_or_else(lacks)?, ty, inner)?;
        if let Some(default) = field.get("initial-default").filter(|default| !default.is_null()) {
            stored.missing = bounds::of_json(default, ty).ok_or_else(|| {
                Error::unsupported(format!(
                    "the default {default} of column \"{name}\" of \"{}\" is not supported",
                    self.path
                ))
            })?;
        }
        Ok((name.to_owned(), stored))
    }

    /// A type, and what stands inside.
    fn ty(&self, column: &str, json: &Json, depth: usize) -> Result<Nested> {
        let reader = TypeReader {
            table: self.path,
            column,
            depth,
            words: &WORDS,
            plain,
            inside: &|part, inside| {
                let (ty, inner) = self.ty(column, inside, depth + 1)?;
                self.stored(json.get(format!("{part}-id")).unwrap_or(&Json::Null), ty, inner)
            },
            field: &|field| self.field(field, depth + 1),
        };
        reader.read(json)
    }
}

const WORDS: Words = Words { list: "list", element: "element", key: "key", value: "value" };

/// The type of a name; `None` for one that is not known.
fn plain(name: &str) -> Option<Type> {
    Some(match name {
        "boolean" => Type::Boolean,
        "int" => Type::Integer,
        "long" => Type::BigInt,
        "float" => Type::Real,
        "double" => Type::Double,
        "date" => Type::Date,
        "time" => Type::Time,
        "timestamp" => Type::Timestamp,
        "timestamptz" => Type::TimestampTz,
        "timestamp_ns" => Type::TimestampNs,
        "timestamptz_ns" => Type::TimestampTzNs,
        "string" => Type::Text,
        "uuid" => Type::Uuid,
        "binary" => Type::Bytea,
        _ if name.starts_with("fixed[") => Type::Bytea,
        _ => return table::decimal(name),
    })
}
