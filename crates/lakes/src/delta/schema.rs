//! A table's columns: types, and where files have them.
//!
//! The schema is JSON in the log's metadata. With column mapping, a field's metadata has the name or the identifier by
//! which files have it; elements, keys and values of lists and maps are found by their place. A type that is not known
//! is refused by its name. Called by `describe` and `append`.

use plan::lake::StoredColumn;
use serde_json::Value as Json;
use types::{Error, Result, Type, Value};

use super::actions::{Metadata, Protocol};
use super::protocol;
use crate::table::{self, Column, Nested, TypeReader, Words, damaged};

/// How a column is found in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapping {
    /// By its name.
    Own,
    /// By another name.
    Name,
    /// By an identifier.
    Id,
}

impl Mapping {
    /// What the table's settings say, where its protocol has it.
    pub(crate) fn of(path: &str, protocol: &Protocol, metadata: &Metadata) -> Result<Mapping> {
        let said = metadata.configuration.get("delta.columnMapping.mode").and_then(Option::as_deref);
        match said.filter(|_| protocol::has(protocol, "columnMapping", 2)).unwrap_or("none") {
            "none" => Ok(Mapping::Own),
            "name" => Ok(Mapping::Name),
            "id" => Ok(Mapping::Id),
            other => Err(Error::unsupported(format!(
                "the Delta table \"{path}\" finds its columns by \"{other}\", which is not supported"
            ))),
        }
    }
}

/// A table's columns.
#[derive(Debug)]
pub(crate) struct TableSchema {
    /// The columns.
    pub columns: Vec<Column>,
    /// Their names in files and in the log.
    pub physical_names: Vec<String>,
    /// The places of those whose values the log has.
    pub partitions: Vec<usize>,
}

/// Reads the columns from a table's metadata.
pub(crate) fn read(path: &str, metadata: &Metadata, mapping: Mapping) -> Result<TableSchema> {
    let provider = metadata.format.as_ref().and_then(|format| format.provider.as_deref());
    if let Some(other) = provider.filter(|provider| !provider.eq_ignore_ascii_case("parquet")) {
        return Err(Error::unsupported(format!("the Delta table \"{path}\" has files of format {other}")));
    }
    let json: Json = serde_json::from_str(&metadata.schema_string)
        .map_err(|e| damaged(path, format!("its columns are not readable: {e}")))?;
    let reading = Reading { path, mapping };
    let fields = json.get("fields").and_then(Json::as_array);
    let fields = fields.ok_or_else(|| damaged(path, "its schema has no fields"))?;
    let mut schema = TableSchema { columns: vec![], physical_names: vec![], partitions: vec![] };
    for field in fields {
        let (name, stored) = reading.field(field, 0)?;
        schema.physical_names.push(stored.names.first().cloned().unwrap_or_default());
        schema.columns.push(Column { name, stored });
    }
    for name in &metadata.partition_columns {
        let at = schema.columns.iter().position(|column| column.name == *name);
        let at = at.ok_or_else(|| damaged(path, format!("its partition column \"{name}\" is no column")))?;
        if schema.columns[at].stored.ty.is_nested() {
            return Err(damaged(path, format!("its partition column \"{name}\" has a nested type")));
        }
        schema.partitions.push(at);
    }
    Ok(schema)
}

struct Reading<'a> {
    path: &'a str,
    mapping: Mapping,
}

impl Reading<'_> {
    /// The name of a field, and how files have it.
    fn field(&self, field: &Json, depth: usize) -> Result<(String, StoredColumn)> {
        let name = field.get("name").and_then(Json::as_str);
        let name = name.ok_or_else(|| damaged(self.path, "its schema has a field without a name"))?;
        let said = |key: &str| field.get("metadata").and_then(|metadata| metadata.get(key));
        let lacks = |key: &str| damaged(self.path, format!("its column \"{name}\" lacks {key}"));
        let physical = || {
            let key = "delta.columnMapping.physicalName";
            said(key).and_then(Json::as_str).ok_or_else(|| lacks(key))
        };
        let (id, file_name) = match self.mapping {
            Mapping::Own => (None, name),
            Mapping::Name => (None, physical()?),
            Mapping::Id => {
                let key = "delta.columnMapping.id";
                let id = said(key).and_then(Json::as_i64).and_then(|id| i32::try_from(id).ok());
                (Some(id.ok_or_else(|| lacks(key))?), physical()?)
            }
        };
        let ty = field.get("type").ok_or_else(|| lacks("a type"))?;
        let (ty, inner) = self.ty(name, ty, depth)?;
        let names = vec![file_name.to_owned()];
        Ok((name.to_owned(), StoredColumn { id, names, ty, inner, missing: Value::Null }))
    }

    /// A type, and what stands inside.
    fn ty(&self, column: &str, json: &Json, depth: usize) -> Result<Nested> {
        let reader = TypeReader {
            table: self.path,
            column,
            depth,
            words: &WORDS,
            plain,
            // Elements, keys and values are found by their place.
            inside: &|part, json| {
                let (ty, inner) = self.ty(column, json, depth + 1)?;
                Ok(StoredColumn { id: None, names: vec![part.to_owned()], ty, inner, missing: Value::Null })
            },
            field: &|field| self.field(field, depth + 1),
        };
        reader.read(json)
    }
}

const WORDS: Words = Words { list: "array", element: "elementType", key: "keyType", value: "valueType" };

/// The type of a name; `None` for one that is not known.
fn plain(name: &str) -> Option<Type> {
    Some(match name {
        "string" => Type::Text,
        "long" => Type::BigInt,
        "integer" => Type::Integer,
        "short" => Type::SmallInt,
        "byte" => Type::TinyInt,
        "float" => Type::Real,
        "double" => Type::Double,
        "boolean" => Type::Boolean,
        "binary" => Type::Bytea,
        "date" => Type::Date,
        "timestamp" => Type::TimestampTz,
        "timestamp_ntz" => Type::Timestamp,
        "void" => Type::Null,
        _ => return table::decimal(name),
    })
}
