//! Manifests: the files of a snapshot.
//!
//! A snapshot has a list of manifests, a manifest entries for data files or for files of deleted rows. An entry without a
//! sequence number has its manifest's; these numbers say what is deleted of what: places in files that are no newer,
//! values in files that are older. What is encrypted, or deleted in a way that is not known, is refused here, whichever
//! columns are wanted.

use std::rc::Rc;

use formats::Environment;
use types::{Error, Result};

use super::Places;
use super::avro::{self, Value};
use super::metadata::{Metadata, Snapshot};
use crate::table::damaged;

/// The identifier of a file of positions' column with the files that it names.
const FILE_PATH: i64 = 2_147_483_546;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Rows of the table.
    Data,
    /// Places of rows that are deleted.
    Positions,
    /// Values of rows that are deleted.
    Values,
}

/// A manifest, as the list of a snapshot has it.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub path: String,
    pub sequence_number: i64,
    pub deletes: bool,
    spec_id: i64,
}

/// A file that a manifest names.
#[derive(Debug)]
pub(crate) struct Entry {
    pub manifest: Rc<Manifest>,
    /// `ADDED` or `EXISTING`.
    pub status: &'static str,
    pub content: Content,
    pub path: String,
    pub format: String,
    pub rows: u64,
    sequence_number: i64,
    pub spec_id: i64,
    /// Partition values by identifier of the field.
    pub partition: Vec<(i64, Value)>,
    pub lower: Vec<(i64, Vec<u8>)>,
    pub upper: Vec<(i64, Vec<u8>)>,
    pub null_counts: Vec<(i64, i64)>,
    pub nan_counts: Vec<(i64, i64)>,
    /// The columns by which values are compared.
    pub equality_ids: Vec<i64>,
    /// The only file whose rows are deleted, where it is said.
    referenced: Option<String>,
}

impl Entry {
    /// What tells partitions apart.
    pub(crate) fn partition_key(&self) -> String {
        format!("{:?}", self.partition.iter().map(|(id, value)| (id, value)).collect::<Vec<_>>())
    }

    /// Whether this file may delete rows of a data file of its partition.
    pub(crate) fn deletes_of(&self, data: &Entry) -> bool {
        if self.content == Content::Values {
            return data.sequence_number < self.sequence_number;
        }
        let bound = |bounds: &[(i64, Vec<u8>)]| {
            bounds.iter().find(|(id, _)| *id == FILE_PATH).map(|(_, bytes)| bytes.clone())
        };
        let path = data.path.as_bytes();
        data.sequence_number <= self.sequence_number
            && self.referenced.as_ref().is_none_or(|referenced| *referenced == data.path)
            && bound(&self.lower).is_none_or(|lower| lower.as_slice() <= path)
            && bound(&self.upper).is_none_or(|upper| path <= upper.as_slice() || path.starts_with(&upper))
    }
}

/// The files of a snapshot.
pub(crate) fn entries(
    environment: &Environment,
    places: &Places,
    metadata: &Metadata,
    snapshot: &Snapshot,
) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for manifest in manifests(environment, places, metadata, snapshot)? {
        let (path, file) = read(environment, places, &manifest.path)?;
        // Without a list, the manifest itself says how it is laid out.
        let said = file.metadata.iter().find(|(name, _)| name == "partition-spec-id");
        let manifest = Rc::new(match (manifest.spec_id, said.and_then(|(_, id)| id.parse().ok())) {
            (-1, said) => Manifest { spec_id: said.unwrap_or(0), ..manifest },
            _ => manifest,
        });
        for record in &file.records {
            entries.extend(entry(&path, &manifest, record)?);
        }
    }
    Ok(entries)
}

fn read(environment: &Environment, places: &Places, path: &str) -> Result<(String, avro::File)> {
    let place = places.of(path);
    let bytes = places.folder.read(environment, &place)?.ok_or_else(|| {
        Error::new(types::SqlState::UndefinedFile, format!("the table's file \"{place}\" is missing"))
            .with_hint(
                "a table's files are looked for in its folder and where its metadata says that it lies",
            )
    })?;
    let file = avro::read(environment, &place, &bytes)?;
    Ok((place, file))
}

fn manifests(
    environment: &Environment,
    places: &Places,
    metadata: &Metadata,
    snapshot: &Snapshot,
) -> Result<Vec<Manifest>> {
    let Some(list) = &snapshot.manifest_list else {
        let named = snapshot.manifests.as_ref();
        let named = named.ok_or_else(|| damaged(&metadata.path, "a snapshot has no list of manifests"))?;
        let alone =
            |path: &String| Manifest { path: path.clone(), sequence_number: 0, deletes: false, spec_id: -1 };
        return Ok(named.iter().map(alone).collect());
    };
    let (path, file) = read(environment, places, list)?;
    let manifest = |record: &Value| {
        let lacks = |what: &str| damaged(&path, format!("an entry lacks {what}"));
        let long = |name: &str| record.field(name).and_then(Value::long);
        if record.field("key_metadata").is_some_and(|key| *key != Value::Null) {
            return Err(encrypted(&path));
        }
        Ok(Manifest {
            path: record
                .field("manifest_path")
                .and_then(Value::text)
                .ok_or_else(|| lacks("a path"))?
                .to_owned(),
            sequence_number: long("sequence_number").unwrap_or(0),
            deletes: match long("content").unwrap_or(0) {
                0 => false,
                1 => true,
                other => {
                    return Err(Error::unsupported(format!("\"{path}\" has manifests of content {other}")));
                }
            },
            spec_id: long("partition_spec_id").ok_or_else(|| lacks("a partition spec"))?,
        })
    };
    file.records.iter().map(manifest).collect()
}

fn encrypted(path: &str) -> Error {
    Error::unsupported(format!("\"{path}\" names encrypted files, which are not supported"))
}

/// The entry of a record; `None` for a file that was removed.
fn entry(path: &str, manifest: &Rc<Manifest>, record: &Value) -> Result<Option<Entry>> {
    let lacks = |what: &str| damaged(path, format!("an entry lacks {what}"));
    let status = match record.field("status").and_then(Value::long) {
        Some(0) => "EXISTING",
        Some(1) => "ADDED",
        Some(2) => return Ok(None),
        _ => return Err(lacks("a status")),
    };
    let file = record.field("data_file").ok_or_else(|| lacks("a file"))?;
    let long = |name: &str| file.field(name).and_then(Value::long);
    let text = |name: &str| file.field(name).and_then(Value::text).map(str::to_owned);
    let file_path = text("file_path").ok_or_else(|| lacks("a path"))?;
    let format = text("file_format").unwrap_or_default();
    let content = match long("content").unwrap_or(0) {
        0 => Content::Data,
        1 => Content::Positions,
        2 => Content::Values,
        other => return Err(Error::unsupported(format!("\"{path}\" has files of content {other}"))),
    };
    if format.eq_ignore_ascii_case("puffin") || long("content_offset").is_some() {
        return Err(Error::unsupported(format!(
            "the Iceberg table has deletion vectors (\"{file_path}\"), which are not supported"
        ))
        .with_hint("a compaction of the table writes files without deleted rows"));
    }
    if !format.eq_ignore_ascii_case("parquet") {
        return Err(Error::unsupported(format!(
            "\"{file_path}\" is of format {format}; Parquet files are read"
        )));
    }
    if file.field("key_metadata").is_some_and(|key| *key != Value::Null) {
        return Err(encrypted(path));
    }
    if (content == Content::Data) == manifest.deletes {
        return Err(damaged(path, "it mixes data and deleted rows"));
    }
    // What a manifest adds has its number.
    let own_number = record.field("sequence_number").and_then(Value::long);
    let sequence_number = match (own_number, status) {
        (Some(number), _) => number,
        (None, "ADDED") => manifest.sequence_number,
        (None, _) if manifest.sequence_number == 0 => 0,
        (None, _) => return Err(lacks("a sequence number")),
    };
    let rows = long("record_count").and_then(|rows| u64::try_from(rows).ok());
    let bytes = |name: &str| {
        let pairs = file.field(name).into_iter().flat_map(Value::by_number);
        let bytes = pairs.filter_map(|(id, value)| match value {
            Value::Bytes(bytes) => Some((id, bytes.clone())),
            _ => None,
        });
        bytes.collect::<Vec<_>>()
    };
    let counts = |name: &str| {
        let pairs = file.field(name).into_iter().flat_map(Value::by_number);
        pairs.filter_map(|(id, value)| Some((id, value.long()?))).collect::<Vec<_>>()
    };
    let partition = match file.field("partition") {
        Some(Value::Record(fields, values)) => {
            let pairs = fields.iter().zip(values);
            pairs.filter_map(|(field, value)| Some((field.id?, value.clone()))).collect()
        }
        _ => vec![],
    };
    let equality_ids = match file.field("equality_ids") {
        Some(Value::List(ids)) => ids.iter().filter_map(Value::long).collect(),
        _ => vec![],
    };
    Ok(Some(Entry {
        manifest: manifest.clone(),
        status,
        content,
        format,
        rows: rows.ok_or_else(|| lacks("a number of rows"))?,
        sequence_number,
        spec_id: manifest.spec_id,
        partition,
        lower: bytes("lower_bounds"),
        upper: bytes("upper_bounds"),
        null_counts: counts("null_value_counts"),
        nan_counts: counts("nan_value_counts"),
        equality_ids,
        referenced: text("referenced_data_file"),
        path: file_path,
    }))
}
