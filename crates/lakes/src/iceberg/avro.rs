//! Reading Avro files: manifests and lists of them.
//!
//! ```text
//! "Obj" 1 | metadata: schema, codec, ... | mark, 16 bytes | block: records, bytes, packed records, mark | ...
//! ```
//! Only what such files hold is read: records of the writer's schema, in order. Values are handed out by name and, since
//! names of partitions' fields are free, by the identifier that Iceberg gives each field. Lengths and counts are held
//! against the bytes that are there, nesting is bounded. After the specification of Avro 1.12.

use std::rc::Rc;

use formats::Environment;
use formats::lake::uncompressed;
use serde_json::Value as Json;
use types::stop::{self, Place};
use types::{Error, Result};

use crate::table::damaged;

/// Types inside types, at most.
const DEPTH_MAX: usize = 40;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Long(i64),
    Float(f32),
    Double(f64),
    Bytes(Vec<u8>),
    Text(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
    Record(Rc<[Field]>, Vec<Value>),
}

/// A record's field.
#[derive(Debug, PartialEq)]
pub(crate) struct Field {
    pub name: String,
    /// Iceberg's identifier of it.
    pub id: Option<i64>,
    schema: Schema,
}

#[derive(Debug, PartialEq)]
enum Schema {
    Null,
    Bool,
    Long,
    Float,
    Double,
    Bytes,
    Text,
    Fixed(usize),
    Labels(usize),
    List(Box<Schema>),
    Map(Box<Schema>),
    Either(Vec<Schema>),
    Record(Rc<[Field]>),
}

impl Value {
    /// A record's field of that name.
    pub(crate) fn field(&self, name: &str) -> Option<&Value> {
        let Value::Record(fields, values) = self else { return None };
        values.get(fields.iter().position(|field| field.name == name)?)
    }
    /// A whole number.
    pub(crate) fn long(&self) -> Option<i64> {
        if let Value::Long(value) = self { Some(*value) } else { None }
    }
    /// A text.
    pub(crate) fn text(&self) -> Option<&str> {
        if let Value::Text(value) = self { Some(value) } else { None }
    }
    /// Pairs of a number and a value: a map with numbers as keys is a list of records.
    pub(crate) fn by_number(&self) -> impl Iterator<Item = (i64, &Value)> {
        let list = if let Value::List(values) = self { values.as_slice() } else { &[] };
        list.iter().filter_map(|pair| Some((pair.field("key")?.long()?, pair.field("value")?)))
    }
}

/// A file's records and metadata.
pub(crate) struct File {
    /// Texts by name.
    pub metadata: Vec<(String, String)>,
    /// The records.
    pub records: Vec<Value>,
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn long(&mut self) -> Option<i64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            value |= u64::from(byte & 0x7F).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        None
    }

    fn counted(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.long()?).ok()?;
        self.take(count)
    }

    fn text(&mut self) -> Option<String> {
        std::str::from_utf8(self.counted()?).ok().map(str::to_owned)
    }

    /// Calls `item` for the items of a list or a map, block by block.
    fn items(&mut self, item: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<()> {
        loop {
            let count = self.long()?;
            if count == 0 {
                return Some(());
            }
            if count < 0 {
                self.long()?;
            }
            // An item has a byte at least; nothing that manifests hold has none.
            if count.unsigned_abs() > self.0.len() as u64 {
                return None;
            }
            for _ in 0..count.unsigned_abs() {
                let before = self.0.len();
                item(self)?;
                if self.0.len() == before {
                    return None;
                }
            }
        }
    }

    fn value(&mut self, schema: &Schema) -> Option<Value> {
        Some(match schema {
            Schema::Null => Value::Null,
            Schema::Bool => Value::Bool(*self.take(1)?.first()? != 0),
            Schema::Long => Value::Long(self.long()?),
            Schema::Float => Value::Float(f32::from_le_bytes(self.take(4)?.try_into().ok()?)),
            Schema::Double => Value::Double(f64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            Schema::Bytes => Value::Bytes(self.counted()?.to_vec()),
            Schema::Text => Value::Text(self.text()?),
            Schema::Fixed(bytes) => Value::Bytes(self.take(*bytes)?.to_vec()),
            Schema::Labels(count) => {
                let label = self.long()?;
                usize::try_from(label).ok().filter(|label| label < count)?;
                Value::Long(label)
            }
            Schema::List(element) => {
                let mut values = Vec::new();
                self.items(&mut |bytes| {
                    values.push(bytes.value(element)?);
                    Some(())
                })?;
                Value::List(values)
            }
            Schema::Map(of) => {
                let mut values = Vec::new();
                self.items(&mut |bytes| {
                    values.push((bytes.text()?, bytes.value(of)?));
                    Some(())
                })?;
                Value::Map(values)
            }
            Schema::Either(branches) => {
                let branch = usize::try_from(self.long()?).ok()?;
                self.value(branches.get(branch)?)?
            }
            Schema::Record(fields) => {
                let values = fields.iter().map(|field| self.value(&field.schema)).collect::<Option<_>>()?;
                Value::Record(fields.clone(), values)
            }
        })
    }
}

/// The schema that JSON describes; `None` for one that is none, or names a type that stands elsewhere.
fn schema(json: &Json, depth: usize) -> Option<Schema> {
    if depth > DEPTH_MAX {
        return None;
    }
    if let Json::Array(branches) = json {
        return branches
            .iter()
            .map(|json| schema(json, depth + 1))
            .collect::<Option<_>>()
            .map(Schema::Either);
    }
    let name = json.as_str().or_else(|| json.get("type")?.as_str());
    let Some(name) = name else { return schema(json.get("type")?, depth + 1) };
    Some(match name {
        "null" => Schema::Null,
        "boolean" => Schema::Bool,
        "int" | "long" => Schema::Long,
        "float" => Schema::Float,
        "double" => Schema::Double,
        "bytes" => Schema::Bytes,
        "string" => Schema::Text,
        "fixed" => Schema::Fixed(usize::try_from(json.get("size")?.as_u64()?).ok()?),
        "enum" => Schema::Labels(json.get("symbols")?.as_array()?.len()),
        "array" => Schema::List(Box::new(schema(json.get("items")?, depth + 1)?)),
        "map" => Schema::Map(Box::new(schema(json.get("values")?, depth + 1)?)),
        "record" => {
            let field = |json: &Json| {
                Some(Field {
                    name: json.get("name")?.as_str()?.to_owned(),
                    id: json.get("field-id").and_then(Json::as_i64),
                    schema: schema(json.get("type")?, depth + 1)?,
                })
            };
            let fields: Option<Vec<Field>> = json.get("fields")?.as_array()?.iter().map(field).collect();
            Schema::Record(fields?.into())
        }
        _ => return None,
    })
}

fn unpacked(environment: &Environment, path: &str, codec: &str, packed: &[u8]) -> Result<Vec<u8>> {
    let failed = |e: &dyn std::fmt::Display| damaged(path, format!("a block cannot be unpacked: {e}"));
    match codec {
        "null" => Ok(packed.to_vec()),
        "deflate" => uncompressed(environment, path, flate2::read::DeflateDecoder::new(packed)),
        "zstandard" => {
            let stream = zstd::stream::read::Decoder::new(packed).map_err(|e| failed(&e))?;
            uncompressed(environment, path, stream)
        }
        "snappy" => {
            let body = packed.len().checked_sub(4).and_then(|end| packed.get(..end));
            let body = body.ok_or_else(|| failed(&"it is too short"))?;
            let length = snap::raw::decompress_len(body).map_err(|e| failed(&e))?;
            environment.ask(length as u64)?;
            // A byte stands for 64 at most.
            if length / 64 > body.len() {
                return Err(failed(&"it is too short"));
            }
            snap::raw::Decoder::new().decompress_vec(body).map_err(|e| failed(&e))
        }
        other => {
            Err(Error::unsupported(format!("\"{path}\" is compressed by {other}, which is not supported")))
        }
    }
}

/// Reads a file of records.
pub(crate) fn read(environment: &Environment, path: &str, bytes: &[u8]) -> Result<File> {
    let cut = || damaged(path, "it is no Avro file, or is cut off");
    let mut rest = Bytes(bytes);
    if rest.take(4) != Some(b"Obj\x01") {
        return Err(cut());
    }
    let mut metadata: Vec<(String, String)> = Vec::new();
    rest.items(&mut |bytes| {
        let name = bytes.text()?;
        metadata.push((name, String::from_utf8_lossy(bytes.counted()?).into_owned()));
        Some(())
    })
    .ok_or_else(cut)?;
    let said = |name: &str| metadata.iter().find(|(n, _)| n == name).map(|(_, text)| text.as_str());
    let json: Json = serde_json::from_str(said("avro.schema").unwrap_or_default())
        .map_err(|e| damaged(path, format!("its schema is not readable: {e}")))?;
    let schema = schema(&json, 0).ok_or_else(|| damaged(path, "its schema is none that manifests have"))?;
    let codec = said("avro.codec").unwrap_or("null");
    let mark = rest.take(16).ok_or_else(cut)?;
    let mut records = Vec::new();
    while !rest.0.is_empty() {
        stop::check(Place::Open)?;
        let count = rest.long().and_then(|count| usize::try_from(count).ok()).ok_or_else(cut)?;
        let packed = rest.counted().ok_or_else(cut)?;
        if rest.take(16) != Some(mark) {
            return Err(cut());
        }
        let block = unpacked(environment, path, codec, packed)?;
        // Decoded, a record is some ten times as long.
        environment.ask(block.len() as u64 * 10)?;
        let mut block = Bytes(&block);
        let wrong = || damaged(path, "a block is not as its schema says");
        if count > block.0.len() {
            return Err(wrong());
        }
        for _ in 0..count {
            records.push(block.value(&schema).ok_or_else(wrong)?);
        }
        if !block.0.is_empty() {
            return Err(wrong());
        }
    }
    Ok(File { metadata, records })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length() {
        let long = |bytes: &[u8]| Bytes(bytes).long();
        assert_eq!(
            (long(&[0]), long(&[1]), long(&[2]), long(&[0x80, 1])),
            (Some(0), Some(-1), Some(1), Some(64))
        );
        assert_eq!(long(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]), Some(i64::MIN));
        assert_eq!((long(&[]), long(&[0x80]), long(&[0xFF; 11])), (None, None, None));
    }

    #[test]
    fn a_list_is_no_longer_than_its_bytes() {
        let list = Schema::List(Box::new(Schema::Long));
        assert_eq!(
            Bytes(&[4, 2, 4, 0]).value(&list),
            Some(Value::List(vec![Value::Long(1), Value::Long(2)]))
        );
        assert_eq!(Bytes(&[0xFE, 0xFF, 0xFF, 0xFF, 0x0F, 2]).value(&list), None);
    }
}
