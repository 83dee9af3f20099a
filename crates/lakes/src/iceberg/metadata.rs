//! The file of metadata: which it is, and what it says.
//!
//! Without a catalog, the latest one is that which `version-hint.text` names, else the one with the greatest number in
//! its name; two with the same number are an error, since writers without a catalog may both have been first. Called by
//! the functions of `iceberg`.

use std::collections::HashMap;

use formats::Environment;
use formats::lake::{Folder, Listed, uncompressed};
use serde::Deserialize;
use serde_json::Value as Json;
use types::{Error, Result, SqlState};

use crate::table::damaged;

/// Where the files of metadata are, in the table's folder.
const FOLDER: &str = "metadata";
const ENDING: &str = ".metadata.json";

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Written {
    format_version: i64,
    location: String,
    #[serde(default)]
    current_snapshot_id: Option<i64>,
    #[serde(default)]
    snapshots: Option<Vec<Snapshot>>,
    #[serde(default)]
    snapshot_log: Option<Vec<Logged>>,
    /// Version 1 may have one only.
    schema: Option<Json>,
    #[serde(default)]
    schemas: Option<Vec<Json>>,
    current_schema_id: Option<i64>,
    partition_spec: Option<Vec<PartitionField>>,
    #[serde(default)]
    partition_specs: Option<Vec<Spec>>,
    #[serde(default)]
    properties: Option<HashMap<String, String>>,
    #[serde(default)]
    encryption_keys: Option<Json>,
}

/// A state of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Snapshot {
    #[serde(rename = "snapshot-id")]
    pub id: i64,
    #[serde(default)]
    pub sequence_number: i64,
    pub timestamp_ms: i64,
    /// The file that lists its manifests.
    pub manifest_list: Option<String>,
    /// Version 1 may name them here.
    pub manifests: Option<Vec<String>>,
    pub schema_id: Option<i64>,
}

/// When a snapshot became the table's state.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Logged {
    timestamp_ms: i64,
    snapshot_id: i64,
}

/// How rows are laid out in partitions.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Spec {
    #[serde(rename = "spec-id")]
    pub id: i64,
    pub fields: Vec<PartitionField>,
}

/// A value by which rows are laid out.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct PartitionField {
    /// The column that it is made of.
    #[serde(default)]
    pub source_id: i64,
    /// Its own identifier, in manifests.
    #[serde(default)]
    pub field_id: i64,
    /// How it is made.
    pub transform: String,
}

/// What a file of metadata says.
#[derive(Debug)]
pub(crate) struct Metadata {
    /// Its path, for errors.
    pub path: String,
    pub location: String,
    pub snapshots: Vec<Snapshot>,
    current: Option<i64>,
    log: Vec<Logged>,
    /// The columns, by identifier of the schema.
    schemas: Vec<(Option<i64>, Json)>,
    current_schema: Option<i64>,
    specs: Vec<Spec>,
    /// Names of columns in files without identifiers, as JSON.
    pub name_mapping: Option<String>,
}

impl Metadata {
    fn of(path: &str, bytes: &[u8]) -> Result<Metadata> {
        let written: Written = serde_json::from_slice(bytes).map_err(|e| damaged(path, e))?;
        if !(1..=3).contains(&written.format_version) {
            return Err(Error::unsupported(format!(
                "the Iceberg table of \"{path}\" has version {}; versions 1 to 3 are read",
                written.format_version
            )));
        }
        if written.encryption_keys.as_ref().and_then(Json::as_array).is_some_and(|keys| !keys.is_empty()) {
            return Err(Error::unsupported(format!("the Iceberg table of \"{path}\" is encrypted")));
        }
        let mut schemas: Vec<(Option<i64>, Json)> = Vec::new();
        for schema in written.schemas.into_iter().flatten().chain(written.schema) {
            schemas.push((schema.get("schema-id").and_then(Json::as_i64), schema));
        }
        let specs = match written.partition_specs {
            Some(specs) if !specs.is_empty() => specs,
            _ => written.partition_spec.map(|fields| Spec { id: 0, fields }).into_iter().collect(),
        };
        let mut properties = written.properties.unwrap_or_default();
        Ok(Metadata {
            path: path.to_owned(),
            location: written.location,
            snapshots: written.snapshots.unwrap_or_default(),
            current: written.current_snapshot_id.filter(|id| *id != -1),
            log: written.snapshot_log.unwrap_or_default(),
            schemas,
            current_schema: written.current_schema_id,
            specs,
            name_mapping: properties.remove("schema.name-mapping.default"),
        })
    }

    /// The columns of a schema; without an identifier, the table's.
    pub(crate) fn schema(&self, id: Option<i64>) -> Result<&Json> {
        let found = match id.or(self.current_schema) {
            Some(id) => self.schemas.iter().find(|(known, _)| *known == Some(id)),
            None => self.schemas.first(),
        };
        found.map(|(_, schema)| schema).ok_or_else(|| damaged(&self.path, "its schema is missing"))
    }

    /// How rows are laid out under that identifier.
    pub(crate) fn spec(&self, id: i64) -> Option<&Spec> {
        self.specs.iter().find(|spec| spec.id == id)
    }

    /// The table's state; `None` for a table to which nothing was written.
    pub(crate) fn current(&self) -> Result<Option<&Snapshot>> {
        let Some(id) = self.current else { return Ok(None) };
        let found = self.snapshots.iter().find(|snapshot| snapshot.id == id);
        found.map(Some).ok_or_else(|| damaged(&self.path, format!("its current snapshot {id} is missing")))
    }

    /// The snapshot of that identifier.
    pub(crate) fn snapshot(&self, id: i64, folder: &Folder) -> Result<&Snapshot> {
        self.snapshots.iter().find(|snapshot| snapshot.id == id).ok_or_else(|| {
            Error::new(
                SqlState::InvalidParameterValue,
                format!("the table \"{}\" has no snapshot {id}", folder.path()),
            )
            .with_hint("iceberg_snapshots('path') lists them")
        })
    }

    /// The table's state at a time, in microseconds since 1970.
    pub(crate) fn at_time(&self, micros: i64, folder: &Folder) -> Result<&Snapshot> {
        let millis = micros.div_euclid(1000);
        let logged = self.log.iter().filter(|logged| logged.timestamp_ms <= millis);
        let logged = logged.max_by_key(|logged| logged.timestamp_ms).map(|logged| logged.snapshot_id);
        let by_itself = || {
            let old = self.snapshots.iter().filter(|snapshot| snapshot.timestamp_ms <= millis);
            old.max_by_key(|snapshot| snapshot.timestamp_ms).map(|snapshot| snapshot.id)
        };
        match if self.log.is_empty() { by_itself() } else { logged } {
            Some(id) => self.snapshot(id, folder),
            None => Err(Error::new(
                SqlState::InvalidParameterValue,
                format!("the table \"{}\" has no snapshot as old as that", folder.path()),
            )
            .with_hint("iceberg_snapshots('path') lists them")),
        }
    }
}

/// The number in the name of a file of metadata: `v3.metadata.json`, `00003-....metadata.json`.
fn number(name: &str) -> Option<u64> {
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    let stem = plain.strip_suffix(ENDING)?;
    let stem = stem.strip_suffix(".gz").unwrap_or(stem);
    let digits = stem.strip_prefix('v').unwrap_or(stem);
    digits.split(['-', '.']).next().and_then(|digits| digits.parse().ok())
}

/// The table's folder and metadata: of a folder, or of a file of metadata that is named itself.
pub(crate) fn find(environment: &Environment, path: &str, named: Option<&str>) -> Result<(Folder, Metadata)> {
    let folder = Folder::new(path);
    if named.is_none()
        && number(formats::remote::name_of(folder.path()).rsplit('/').next().unwrap_or("")).is_some()
    {
        let bytes = read(environment, &folder, folder.path())?;
        let bytes = bytes.ok_or_else(|| missing(folder.path()))?;
        let above = formats::remote::name_of(folder.path()).rsplitn(3, '/').nth(2).unwrap_or(".");
        return Ok((Folder::new(above), Metadata::of(folder.path(), &bytes)?));
    }
    let name = match named {
        Some(named) => named_file(environment, &folder, named)?,
        None => latest(environment, &folder)?,
    };
    let bytes = read(environment, &folder, &name)?.ok_or_else(|| missing(&folder.join(&name)))?;
    let metadata = Metadata::of(&folder.join(&name), &bytes)?;
    Ok((folder, metadata))
}

fn missing(path: &str) -> Error {
    Error::new(SqlState::UndefinedFile, format!("there is no file of metadata \"{path}\""))
}

/// A file's bytes, unpacked.
fn read(environment: &Environment, folder: &Folder, name: &str) -> Result<Option<Vec<u8>>> {
    let Some(bytes) = folder.read(environment, name)? else { return Ok(None) };
    match bytes.starts_with(&[0x1F, 0x8B]) {
        true => {
            let stream = flate2::read::MultiGzDecoder::new(bytes.as_slice());
            uncompressed(environment, &folder.join(name), stream).map(Some)
        }
        false => Ok(Some(bytes)),
    }
}

/// The file that a name or a version means.
fn named_file(environment: &Environment, folder: &Folder, named: &str) -> Result<String> {
    if named.contains(ENDING) || named.contains(".json") {
        let alone = !named.contains('/');
        return Ok(if alone { format!("{FOLDER}/{named}") } else { named.to_owned() });
    }
    let text = named.trim().trim_start_matches('v');
    match folder.list(environment, FOLDER)? {
        Listed::Unlisted => Ok(format!("{FOLDER}/v{text}{ENDING}")),
        Listed::Names(names) => {
            let wanted = text.split('-').next().and_then(|digits| digits.parse::<u64>().ok());
            let same = |name: &&String| number(name).is_some() && number(name) == wanted;
            let mut found: Vec<&String> = names.iter().filter(same).collect();
            found.retain(|name| text.bytes().all(|b| b.is_ascii_digit()) || name.contains(text));
            match found.as_slice() {
                [only] => Ok(format!("{FOLDER}/{only}")),
                [] => Err(Error::new(
                    SqlState::UndefinedFile,
                    format!("the table \"{}\" has no metadata of version {named}", folder.path()),
                )),
                _ => Err(several(folder, &found)),
            }
        }
    }
}

fn several(folder: &Folder, found: &[&String]) -> Error {
    let names: Vec<&str> = found.iter().map(|name| name.as_str()).collect();
    let message = format!("the table \"{}\" has several files of metadata of one version", folder.path());
    Error::new(SqlState::AmbiguousAlias, message)
        .with_detail(names.join(", "))
        .with_hint("say which: iceberg_scan('path', metadata => 'file')")
}

/// The latest file of metadata: the one that the hint names, else the one with the greatest number.
fn latest(environment: &Environment, folder: &Folder) -> Result<String> {
    let hint = folder.read(environment, &format!("{FOLDER}/version-hint.text"))?;
    let hint = hint.and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(hint) = hint.as_deref().map(str::trim).filter(|hint| !hint.is_empty() && !hint.contains('/'))
    {
        return named_file(environment, folder, hint);
    }
    let names = match folder.list(environment, FOLDER)? {
        Listed::Names(names) => names,
        Listed::Unlisted => {
            return Err(Error::unsupported(format!(
                "\"{}\" has no {FOLDER}/version-hint.text, and web servers do not list their files",
                folder.path()
            ))
            .with_hint("name the file: iceberg_scan('https://.../metadata/v3.metadata.json')"));
        }
    };
    let greatest = names.iter().filter_map(|name| number(name)).max();
    let found: Vec<&String> =
        names.iter().filter(|name| number(name).is_some_and(|n| Some(n) == greatest)).collect();
    match found.as_slice() {
        [only] => Ok(format!("{FOLDER}/{only}")),
        [] => {
            let message = format!("there is no Iceberg table at \"{}\"", folder.path());
            Err(Error::new(SqlState::UndefinedFile, message)
                .with_hint(format!("a table's folder has a folder {FOLDER} with files *{ENDING}")))
        }
        _ => Err(several(folder, &found)),
    }
}
