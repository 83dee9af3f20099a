//! Apache Iceberg: a file of metadata, lists of manifests by snapshot, manifests that name data files.
//!
//! ```text
//! metadata/v3.metadata.json       columns, partitions, snapshots; version-hint.text says 3
//!         /snap-....avro          a snapshot's list of manifests
//!         /....avro               a manifest: data files, or files of deleted rows, with bounds by column
//! data/....parquet
//! ```
//! After the specification's text of 2025 (iceberg.apache.org/spec), versions 1, 2 and what of 3 needs no more:
//! deletion vectors, encryption, VARIANT, GEOMETRY and GEOGRAPHY are refused by name. `metadata` reads the first,
//! `manifest` the others through `avro`, `schema` makes columns, `bounds` zones.

mod avro;
mod bounds;
mod manifest;
mod metadata;
mod schema;

use std::collections::HashMap;

use formats::Environment;
use formats::lake::Folder;
use plan::FileSource;
use plan::lake::{Deletions, StoredColumn};
use types::{Error, Field, Result, Schema, SqlState, Type, Value};

use self::manifest::{Content, Entry};
use self::metadata::{Metadata, Snapshot, Spec};
use self::schema::TableSchema;
use crate::options;
use crate::table::{self, DataFile};

/// The options of `iceberg_scan`, and what each is.
const OPTIONS: [&str; 7] = [
    "snapshot_id",
    "snapshot_from_id",
    "timestamp",
    "snapshot_from_timestamp",
    "metadata",
    "version",
    "allow_moved_paths",
];

/// A table's files, found from where its metadata says it lies, or from where it was moved to.
pub(crate) struct Places {
    folder: Folder,
    /// What paths begin with in the metadata, where the table was moved.
    moved_from: Option<String>,
}

impl Places {
    /// Files are looked for in `folder` where the table was moved there as a whole: where the list of the snapshot's
    /// manifests is there. Its metadata alone may lie elsewhere, too.
    fn find(
        environment: &Environment,
        folder: Folder,
        metadata: &Metadata,
        snapshot: Option<&Snapshot>,
    ) -> Result<Places> {
        let location = metadata.location.trim_end_matches('/');
        if Folder::new(location) == folder {
            return Ok(Places { folder, moved_from: None });
        }
        let places = Places { folder, moved_from: Some(location.to_owned()) };
        let named = snapshot.and_then(|snapshot| {
            snapshot
                .manifest_list
                .as_ref()
                .or_else(|| snapshot.manifests.as_ref().and_then(|all| all.first()))
        });
        match named.map(|named| places.folder.modified(environment, &places.of(named))) {
            Some(Err(error)) if error.state() == SqlState::UndefinedFile => {
                Ok(Places { moved_from: None, ..places })
            }
            Some(Err(error)) => Err(error),
            _ => Ok(places),
        }
    }

    /// Where a file of the metadata is.
    fn of(&self, path: &str) -> String {
        let moved = self.moved_from.as_deref().and_then(|from| path.strip_prefix(from));
        match moved.and_then(|rest| rest.strip_prefix('/')) {
            Some(rest) => self.folder.join(rest),
            None => self.folder.join(path),
        }
    }
}

/// The table in a folder, or of a file of metadata, at the snapshot or the time that the options name.
pub(crate) fn describe(
    environment: &Environment,
    path: &str,
    options: &[(String, String)],
) -> Result<FileSource> {
    let given = options::checked(options, &OPTIONS)?;
    options::one_of(&given, &["snapshot_id", "snapshot_from_id", "timestamp", "snapshot_from_timestamp"])?;
    options::one_of(&given, &["metadata", "version"])?;
    let said = |names: [&str; 2]| given.iter().find(|(name, _)| names.contains(name)).copied();
    let named = said(["metadata", "version"]).map(|(_, value)| value);
    let moved = said(["allow_moved_paths", ""]).map(|(_, value)| value);
    let moved = match moved {
        None => true,
        Some(value) if value.eq_ignore_ascii_case("true") => true,
        Some(value) if value.eq_ignore_ascii_case("false") => false,
        Some(value) => {
            let message = format!("option \"allow_moved_paths\" takes true or false, not \"{value}\"");
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    };
    let (folder, metadata) = metadata::find(environment, path, named)?;
    let snapshot =
        match (said(["snapshot_id", "snapshot_from_id"]), said(["timestamp", "snapshot_from_timestamp"])) {
            (Some((name, value)), _) => Some(metadata.snapshot(options::number(name, value)?, &folder)?),
            (_, Some((name, value))) => Some(metadata.at_time(options::time(name, value)?, &folder)?),
            _ => metadata.current()?,
        };
    // The latest state has the table's columns, an earlier one those it had.
    let states = ["snapshot_id", "snapshot_from_id", "timestamp", "snapshot_from_timestamp"];
    let earlier = given.iter().any(|(name, _)| states.contains(name));
    let schema =
        schema::read(&metadata, snapshot.filter(|_| earlier).and_then(|snapshot| snapshot.schema_id))?;
    let places = match moved {
        true => Places::find(environment, folder, &metadata, snapshot)?,
        false => Places { folder, moved_from: None },
    };
    let files = match snapshot {
        Some(snapshot) => manifest::entries(environment, &places, &metadata, snapshot)?,
        None => vec![],
    };
    table::source(&schema.columns, data_files(&places, &metadata, &schema, &files)?)
}

/// The data files among the entries, with what the others delete of them.
fn data_files(
    places: &Places,
    metadata: &Metadata,
    schema: &TableSchema,
    entries: &[Entry],
) -> Result<Vec<DataFile>> {
    // Files of deleted rows by the partitions they are for; those of values without a partition are for all.
    let mut by_partition: HashMap<(i64, String), Vec<&Entry>> = HashMap::new();
    let mut for_all: Vec<&Entry> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.content != Content::Data) {
        let partitioned = metadata.spec(entry.spec_id).is_some_and(|spec| !spec.fields.is_empty());
        match entry.content {
            Content::Values if !partitioned => for_all.push(entry),
            _ => by_partition.entry((entry.spec_id, entry.partition_key())).or_default().push(entry),
        }
    }
    let mut files = Vec::new();
    for entry in entries.iter().filter(|entry| entry.content == Content::Data) {
        let own = by_partition.get(&(entry.spec_id, entry.partition_key())).into_iter().flatten();
        let mut deletions = Vec::new();
        let mut deleted_rows = 0u64;
        for deleting in own.chain(&for_all) {
            if deleting.deletes_of(entry) {
                deletions.push(deletion(places, schema, entry, deleting)?);
                deleted_rows = deleted_rows.saturating_add(deleting.rows);
            }
        }
        let spec = metadata.spec(entry.spec_id);
        let constants = partition_values(spec, schema, entry);
        files.push(DataFile {
            path: places.of(&entry.path),
            constants,
            zones: bounds::zones(schema, spec, entry),
            rows: Some(entry.rows),
            deleted_rows: deleted_rows.min(entry.rows),
            deletions,
        });
    }
    Ok(files)
}

/// What one file deletes of another.
fn deletion(places: &Places, schema: &TableSchema, data: &Entry, deleting: &Entry) -> Result<Deletions> {
    let path = places.of(&deleting.path);
    if deleting.content == Content::Positions {
        return Ok(Deletions::Positions { path, data_path: data.path.clone() });
    }
    let column = |id: &i64| -> Result<StoredColumn> {
        let stored = schema.by_id.get(id).cloned();
        stored.ok_or_else(|| {
            Error::unsupported(format!(
                "\"{path}\" deletes rows by field {id}, which is no column of the table any more or is a nested one"
            ))
        })
    };
    let columns = deleting.equality_ids.iter().map(column).collect::<Result<Vec<_>>>()?;
    if columns.is_empty() {
        return Err(table::damaged(&path, "it deletes rows by no column"));
    }
    Ok(Deletions::Values { path, columns })
}

/// The values of columns that are partitions as they are: their files may lack them.
fn partition_values(spec: Option<&Spec>, schema: &TableSchema, entry: &Entry) -> Vec<Option<Value>> {
    let mut constants = vec![None; schema.columns.len()];
    for field in spec.into_iter().flat_map(|spec| &spec.fields).filter(|field| field.transform == "identity")
    {
        let at = schema.ids.iter().position(|id| *id == field.source_id);
        let Some(at) = at else { continue };
        let value = entry.partition.iter().find(|(id, _)| *id == field.field_id).map(|(_, value)| value);
        constants[at] = value.and_then(|value| bounds::of_partition(value, schema.columns[at].stored.ty));
    }
    constants
}

/// The rows of `iceberg_snapshots`.
pub(crate) fn snapshots(environment: &Environment, path: &str) -> Result<(Schema, Vec<Vec<Value>>)> {
    let (_, metadata) = metadata::find(environment, path, None)?;
    let columns = [
        ("sequence_number", Type::BigInt),
        ("snapshot_id", Type::BigInt),
        ("timestamp_ms", Type::Timestamp),
        ("manifest_list", Type::Text),
    ];
    let row = |snapshot: &Snapshot| {
        vec![
            Value::I64(snapshot.sequence_number),
            Value::I64(snapshot.id),
            snapshot.timestamp_ms.checked_mul(1000).map_or(Value::Null, Value::I64),
            snapshot.manifest_list.as_deref().map_or(Value::Null, Value::text),
        ]
    };
    Ok((fields(&columns), metadata.snapshots.iter().map(row).collect()))
}

/// The rows of `iceberg_metadata`.
pub(crate) fn files(environment: &Environment, path: &str) -> Result<(Schema, Vec<Vec<Value>>)> {
    let (folder, metadata) = metadata::find(environment, path, None)?;
    let columns = [
        ("manifest_path", Type::Text),
        ("manifest_sequence_number", Type::BigInt),
        ("manifest_content", Type::Text),
        ("status", Type::Text),
        ("content", Type::Text),
        ("file_path", Type::Text),
        ("file_format", Type::Text),
        ("record_count", Type::BigInt),
    ];
    let Some(snapshot) = metadata.current()? else { return Ok((fields(&columns), vec![])) };
    let places = Places::find(environment, folder, &metadata, Some(snapshot))?;
    let row = |entry: &Entry| {
        vec![
            Value::text(&entry.manifest.path),
            Value::I64(entry.manifest.sequence_number),
            Value::text(if entry.manifest.deletes { "DELETE" } else { "DATA" }),
            Value::text(entry.status),
            Value::text(match entry.content {
                Content::Data => "EXISTING",
                Content::Positions => "POSITION_DELETES",
                Content::Values => "EQUALITY_DELETES",
            }),
            Value::text(&entry.path),
            Value::text(&entry.format),
            i64::try_from(entry.rows).map_or(Value::Null, Value::I64),
        ]
    };
    let entries = manifest::entries(environment, &places, &metadata, snapshot)?;
    Ok((fields(&columns), entries.iter().map(row).collect()))
}

fn fields(columns: &[(&str, Type)]) -> Schema {
    Schema::new(columns.iter().map(|(name, ty)| Field::new(*name, *ty, true)).collect())
}
