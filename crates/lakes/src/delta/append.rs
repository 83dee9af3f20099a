//! Rows added to a Delta table, or a new table made of them: a Parquet file, and a commit that names it.
//!
//! ```text
//! begin: the latest version is read; what a writer would have to keep that is not known here is refused
//! the rows are written into a file of its own, which belongs to nothing yet
//! commit: the next version's name is linked to the finished text, which fails where another commit has it; then the
//!         number after it is tried, unless the other one has changed columns or protocol
//! ```
//! A file that was written and not committed is removed. Only tables of this machine's folders without partitions.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use formats::Environment;
use formats::lake::Folder;
use serde_json::{Map, Value as Json, json};
use types::{Error, Result, Schema, SqlState, Type, Value};

use super::actions::{Line, Metadata, Protocol};
use super::log::{self, Wanted};
use super::schema::{self, Mapping};
use super::{LOG, protocol, replay};

/// Features of writers that ask nothing of rows that are added, or only what is looked at besides.
const KNOWN: [&str; 14] = [
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "columnMapping",
    "deletionVectors",
    "domainMetadata",
    "generatedColumns",
    "identityColumns",
    "invariants",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
];
/// What a field's metadata begins with where rows have to be as it says.
const DEMANDS: [&str; 3] = ["delta.invariants", "delta.generationExpression", "delta.identity."];
/// Other commits that may come between.
const TRIES_MAX: i64 = 1000;
/// Bytes of a text that is written as a bound, at most.
const BOUND_BYTES_MAX: usize = 64;

/// Rows on their way into a table.
pub struct Append {
    environment: Environment,
    root: PathBuf,
    folder: Folder,
    /// The file's name in the table's folder.
    name: String,
    /// The version that the table has; `None` for a new one.
    version: Option<i64>,
    /// Columns that must not be NULL.
    not_null: Vec<String>,
    schema: Schema,
    committed: bool,
}

impl Append {
    /// Rows of these columns for the table in a folder, which is made if it is not there.
    pub fn begin(environment: &Environment, path: &str, schema: &Schema) -> Result<Append> {
        let folder = Folder::new(path);
        if formats::remote::is_remote(folder.path()) {
            return Err(Error::unsupported("Delta tables in stores are not written")
                .with_hint("COPY ... TO writes Parquet files there"));
        }
        environment.capability().file_to_write(folder.path())?;
        let root = PathBuf::from(folder.path());
        let unique = unique();
        let mut append = Append {
            environment: environment.clone(),
            root,
            folder,
            name: format!("part-00000-{unique}-c000.parquet"),
            version: None,
            not_null: vec![],
            schema: schema.clone(),
            committed: false,
        };
        match log::find(environment, &append.folder, Wanted::Latest) {
            Ok(segment) => append.check_table(&segment)?,
            Err(error) if error.state() == SqlState::UndefinedFile => append.check_new()?,
            Err(error) => return Err(error),
        }
        Ok(append)
    }

    /// Where the rows are to be written, as Parquet.
    pub fn file(&self) -> String {
        self.root.join(&self.name).to_string_lossy().into_owned()
    }

    fn check_new(&self) -> Result<()> {
        schema_text(&self.schema)?;
        let mut names: Vec<String> =
            self.schema.fields().iter().map(|field| field.name.to_lowercase()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let message = format!("a Delta table has no two columns \"{}\"", pair[0]);
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
        let entries = fs::read_dir(&self.root).map(|mut entries| entries.next().is_some());
        if entries.unwrap_or(false) {
            let message = format!("the folder \"{}\" is not empty, and no Delta table", self.folder.path());
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        fs::create_dir_all(&self.root).map_err(|e| {
            Error::new(SqlState::IoError, format!("cannot make the folder \"{}\": {e}", self.folder.path()))
        })
    }

    fn check_table(&mut self, segment: &log::Segment) -> Result<()> {
        let path = self.folder.path();
        let snapshot = replay::replay(&self.environment, &self.folder, segment)?;
        protocol::check(path, &snapshot.protocol)?;
        check_writer(path, &snapshot.protocol, &snapshot.metadata)?;
        let mapping = Mapping::of(path, &snapshot.protocol, &snapshot.metadata)?;
        let table = schema::read(path, &snapshot.metadata, mapping)?;
        if mapping != Mapping::Own || !table.partitions.is_empty() {
            let what = if mapping == Mapping::Own { "partitions" } else { "column mapping" };
            return Err(Error::unsupported(format!(
                "the Delta table \"{path}\" has {what}: it is not written"
            )));
        }
        let own = self.schema.fields();
        for column in &table.columns {
            let found = own.iter().find(|field| field.name == column.name);
            let plain = |ty| if matches!(ty, Type::Varchar(_)) { Type::Text } else { ty };
            let same = found.is_some_and(|field| plain(field.ty) == column.stored.ty);
            if !same {
                let wanted = column.stored.ty.sql_name();
                let has = found.map_or_else(|| "no such column".to_owned(), |f| f.ty.sql_name());
                let message = format!(
                    "column \"{}\" of the Delta table \"{path}\" is {wanted}; the rows have {has}",
                    column.name
                );
                return Err(Error::new(SqlState::DatatypeMismatch, message).with_hint(
                    "COPY (SELECT CAST(a AS type) AS column, ...) TO ... makes columns as the table has them",
                ));
            }
        }
        if let Some(other) = own.iter().find(|field| table.columns.iter().all(|c| c.name != field.name)) {
            let message = format!("the Delta table \"{path}\" has no column \"{}\"", other.name);
            return Err(Error::new(SqlState::UndefinedColumn, message));
        }
        self.not_null = not_null(&snapshot.metadata);
        self.version = Some(segment.version);
        Ok(())
    }

    /// Makes the rows that were written into the file belong to the table.
    pub fn commit(mut self) -> Result<()> {
        let file = self.file();
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let reader = [option(plan::file::READER, "parquet"), option("hive_partitioning", "false")];
        let written = formats::describe(&self.environment, &file, &reader)?;
        let rows = written.rows.unwrap_or(0);
        let failed =
            |e: std::io::Error| Error::new(SqlState::IoError, format!("cannot write \"{file}\": {e}"));
        let nulls = |name: &String| {
            let at = written.schema.position(name)?;
            written.statistics.get(at)?.zone.null_count
        };
        if let Some(name) = self.not_null.iter().find(|name| rows > 0 && nulls(name) != Some(0)) {
            let message =
                format!("column \"{name}\" of the Delta table \"{}\" takes no NULL", self.folder.path());
            return Err(Error::new(SqlState::NotNullViolation, message));
        }
        let now = millis();
        let mut lines = vec![json!({"commitInfo": {
            "timestamp": now,
            "operation": "WRITE",
            "operationParameters": {"mode": if self.version.is_some() { "Append" } else { "ErrorIfExists" }},
            "isBlindAppend": true,
            "engineInfo": concat!("Quickstep/", env!("CARGO_PKG_VERSION")),
        }})];
        if self.version.is_none() {
            lines.extend(new_table(&self.schema, now)?);
        }
        if rows > 0 {
            let size = fs::metadata(&file).map_err(failed)?.len();
            lines.push(json!({"add": {
                "path": self.name,
                "partitionValues": {},
                "size": size,
                "modificationTime": now,
                "dataChange": true,
                "stats": statistics(&written).to_string(),
            }}));
        } else if self.version.is_some() {
            return Ok(());
        }
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        // What a version names is durable before the version is.
        for durable in [Path::new(&file), &self.root].into_iter().chain(self.root.parent()) {
            let path = if durable.as_os_str().is_empty() { Path::new(".") } else { durable };
            fs::File::open(path).and_then(|opened| opened.sync_all()).map_err(failed)?;
        }
        let log = self.publish(&text)?;
        self.committed = rows > 0;
        fs::File::open(&log).and_then(|folder| folder.sync_all()).map_err(|e| {
            Error::new(SqlState::IoError, format!("cannot write \"{}\": {e}", log.display()))
                .with_hint("the rows belong to the table, but may be lost with the machine")
        })
    }

    /// Gives the text the next version's name, which no other commit may have; the log's folder.
    fn publish(&self, text: &str) -> Result<PathBuf> {
        let log = self.root.join(LOG);
        let failed = |e: std::io::Error| {
            Error::new(SqlState::IoError, format!("cannot write \"{}\": {e}", log.display()))
        };
        // The log may be a link that leads elsewhere.
        self.environment.capability().file_to_write(&log)?;
        fs::create_dir_all(&log).map_err(failed)?;
        let temporary = log.join(format!(".{}.tmp", self.name));
        let written = fs::File::create(&temporary).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        let linked = written.map_err(failed).and_then(|()| self.link(&temporary, &log));
        let _ = fs::remove_file(&temporary);
        linked.map(|()| log.clone())
    }

    fn link(&self, temporary: &Path, log: &Path) -> Result<()> {
        let first = self.version.map_or(0, |version| version + 1);
        for next in first..first.saturating_add(TRIES_MAX) {
            let name = format!("{next:020}.json");
            match fs::hard_link(temporary, log.join(&name)) {
                Ok(()) => return Ok(()),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => self.check_other(&name)?,
                Err(e) => {
                    let message = format!("cannot write \"{}\": {e}", log.join(&name).display());
                    return Err(Error::new(SqlState::IoError, message));
                }
            }
        }
        Err(self.conflict("too many commits came between"))
    }

    /// Fails where another commit is one behind which the rows cannot be added.
    fn check_other(&self, name: &str) -> Result<()> {
        let mut changes = self.version.is_none();
        replay::lines(&self.environment, &self.folder, &format!("{LOG}/{name}"), &mut |line: Line| {
            changes |= line.protocol.is_some() || line.meta_data.is_some();
            Ok(())
        })?;
        if changes { Err(self.conflict("its columns were changed meanwhile")) } else { Ok(()) }
    }

    fn conflict(&self, what: &str) -> Error {
        let message = format!("cannot add rows to the Delta table \"{}\": {what}", self.folder.path());
        Error::new(SqlState::SerializationFailure, message).with_hint("try again")
    }
}

impl Drop for Append {
    /// What does not belong to the table goes away.
    fn drop(&mut self) {
        if !self.committed {
            let _ = fs::remove_file(self.file());
            if self.version.is_none() {
                // Only a folder that is empty goes away.
                let _ = fs::remove_dir(&self.root);
            }
        }
    }
}

fn millis() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A name that nothing else has.
fn unique() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let bits = || RandomState::new().build_hasher().finish();
    let (a, b) = (bits(), bits());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xFFFF,
        a & 0xFFF,
        ((b >> 48) & 0x3FFF) | 0x8000,
        b & 0xFFFF_FFFF_FFFF
    )
}

/// Fails where a writer would have to keep something that is not known here.
fn check_writer(path: &str, protocol: &Protocol, metadata: &Metadata) -> Result<()> {
    let refused = |what: &str| {
        Err(Error::unsupported(format!("the Delta table \"{path}\" has {what}: it is not written")))
    };
    let version = protocol.min_writer_version.unwrap_or(2);
    if version > 7 {
        return refused(&format!("a protocol for writers of version {version}"));
    }
    let features = protocol.writer_features.iter().flatten().filter(|_| version == 7);
    let unknown: Vec<&str> = features.map(String::as_str).filter(|name| !KNOWN.contains(name)).collect();
    if !unknown.is_empty() {
        return refused(&unknown.join(", "));
    }
    if metadata.configuration.keys().any(|key| key.starts_with("delta.constraints.")) {
        return refused("constraints");
    }
    let schema: Json = serde_json::from_str(&metadata.schema_string).unwrap_or_default();
    let columns = schema.get("fields").and_then(Json::as_array).into_iter().flatten();
    if columns.filter_map(|column| column.get("type")).any(demands_values) {
        return refused("values inside of columns that take no NULL");
    }
    match DEMANDS.iter().find(|demand| metadata.schema_string.contains(*demand)) {
        Some(demand) => refused(&format!("columns with {demand}")),
        None => Ok(()),
    }
}

/// Whether something inside of a type takes no NULL. Keys of maps never do.
fn demands_values(ty: &Json) -> bool {
    let inside = ["elementType", "keyType", "valueType", "type"];
    let strict = ["containsNull", "valueContainsNull"];
    let is_strict = |of: &Json, name: &str| of.get(name) == Some(&Json::Bool(false));
    strict.iter().any(|name| is_strict(ty, name))
        || inside.iter().filter_map(|name| ty.get(name)).any(demands_values)
        || ty
            .get("fields")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .any(|field| is_strict(field, "nullable") || field.get("type").is_some_and(demands_values))
}

/// The columns that take no NULL; of nested ones, the whole column.
fn not_null(metadata: &Metadata) -> Vec<String> {
    let schema: Json = serde_json::from_str(&metadata.schema_string).unwrap_or_default();
    let fields = schema.get("fields").and_then(Json::as_array).into_iter().flatten();
    let strict = |field: &&Json| field.get("nullable") == Some(&Json::Bool(false));
    let name = |field: &Json| field.get("name")?.as_str().map(str::to_owned);
    fields.filter(strict).filter_map(name).collect()
}

/// Protocol and columns of a new table.
fn new_table(schema: &Schema, now: i64) -> Result<[Json; 2]> {
    let zoneless = schema.fields().iter().any(|field| field.ty.holds(&|ty| ty == Type::Timestamp));
    let protocol = match zoneless {
        true => json!({
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["timestampNtz"],
            "writerFeatures": ["timestampNtz"],
        }),
        false => json!({"minReaderVersion": 1, "minWriterVersion": 2}),
    };
    let metadata = json!({
        "id": unique(),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema_text(schema)?,
        "partitionColumns": [],
        "configuration": {},
        "createdTime": now,
    });
    Ok([json!({"protocol": protocol}), json!({"metaData": metadata})])
}

fn schema_text(schema: &Schema) -> Result<String> {
    let fields =
        schema.fields().iter().map(|field| field_json(&field.name, field.ty)).collect::<Result<Vec<_>>>()?;
    Ok(json!({"type": "struct", "fields": fields}).to_string())
}

fn field_json(name: &str, ty: Type) -> Result<Json> {
    // Names with these are for tables with column mapping.
    if name.is_empty() || name.contains([' ', ',', ';', '{', '}', '(', ')', '\n', '\t', '=']) {
        let message = format!("a Delta table has no column with the name \"{name}\"");
        return Err(
            Error::new(SqlState::InvalidName, message).with_hint("give it a name without blanks and signs")
        );
    }
    Ok(json!({"name": name, "type": type_json(name, ty)?, "nullable": true, "metadata": {}}))
}

fn type_json(column: &str, ty: Type) -> Result<Json> {
    let plain = match ty {
        Type::Text | Type::Varchar(_) => "string".to_owned(),
        Type::BigInt => "long".to_owned(),
        Type::Integer => "integer".to_owned(),
        Type::SmallInt => "short".to_owned(),
        Type::TinyInt => "byte".to_owned(),
        Type::Real => "float".to_owned(),
        Type::Double => "double".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Bytea => "binary".to_owned(),
        Type::Date => "date".to_owned(),
        Type::TimestampTz => "timestamp".to_owned(),
        Type::Timestamp => "timestamp_ntz".to_owned(),
        Type::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        _ => {
            let inner = |ty| type_json(column, ty);
            if let Some(fields) = ty.fields() {
                let fields =
                    fields.iter().map(|(name, ty)| field_json(name, *ty)).collect::<Result<Vec<_>>>()?;
                return Ok(json!({"type": "struct", "fields": fields}));
            }
            if let Some(element) = ty.element().filter(|_| !ty.is_vector()) {
                return Ok(json!({"type": "array", "elementType": inner(element)?, "containsNull": true}));
            }
            if let Some((key, value)) = ty.entry() {
                return Ok(json!({
                    "type": "map", "keyType": inner(key)?, "valueType": inner(value)?, "valueContainsNull": true,
                }));
            }
            let message =
                format!("column \"{column}\" has type {}, which Delta tables do not have", ty.sql_name());
            return Err(Error::unsupported(message).with_hint("cast it, as in CAST(a AS BIGINT)"));
        }
    };
    Ok(Json::String(plain))
}

/// What is told of the file's values.
fn statistics(file: &plan::FileSource) -> Json {
    let (mut min, mut max, mut nulls) = (Map::new(), Map::new(), Map::new());
    for (field, column) in file.schema.fields().iter().zip(&file.statistics) {
        let zone = &column.zone;
        if let Some(count) = zone.null_count {
            nulls.insert(field.name.clone(), count.into());
        }
        let low = zone.min.as_ref().and_then(|value| bound(value, field.ty));
        let high = zone.max.as_ref().and_then(|value| bound(value, field.ty));
        if let (Some(low), Some(high)) = (low, high) {
            min.insert(field.name.clone(), low);
            max.insert(field.name.clone(), high);
        }
    }
    json!({"numRecords": file.rows.unwrap_or(0), "minValues": min, "maxValues": max, "nullCount": nulls})
}

fn bound(value: &Value, ty: Type) -> Option<Json> {
    match ty {
        _ if ty.is_integer() => i64::try_from(value.as_i128()?).ok().map(Json::from),
        Type::Text => value.as_text().filter(|text| text.len() <= BOUND_BYTES_MAX).map(Json::from),
        Type::Date => Some(value.display(ty)).filter(|text| text.len() == 10).map(Json::from),
        _ => None,
    }
}
