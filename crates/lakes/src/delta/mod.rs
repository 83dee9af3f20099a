//! Delta Lake: a log of commits, with checkpoints that stand for all commits before.
//!
//! ```text
//! _delta_log/00000000000000000009.json                       a commit: an action a line
//!           /00000000000000000010.checkpoint.parquet         the same as columns, of versions 0 to 10
//!           /....checkpoint.0000000001.0000000002.parquet    in several parts
//!           /....checkpoint.<uuid>.parquet or .json          naming further files in _sidecars/
//!           /_last_checkpoint                                 where to begin, for those that cannot list
//! ```
//! After the protocol's text of 2025 (delta-io/delta, PROTOCOL.md). `log` chooses what is read, `replay` reads it,
//! `protocol` refuses what is not known, `schema` makes columns, `statistics` bounds, `deletion` deleted rows; `append`
//! adds rows.

mod actions;
mod append;
mod deletion;
mod log;
mod protocol;
mod replay;
mod schema;
mod statistics;

use formats::Environment;
use formats::lake::Folder;
use plan::FileSource;
use types::{Error, Field, Result, Schema, SqlState, Type, Value, Zone, cast, zone};

use self::actions::{Add, Line};
use self::log::Wanted;
use self::replay::Snapshot;
use self::schema::{Mapping, TableSchema};
use crate::options;
use crate::table::{self, DataFile, damaged};

pub use self::append::Append;
pub(crate) use self::log::is_of_log;

/// Where the log is, in the table's folder.
const LOG: &str = "_delta_log";

/// The table in a folder, at the version or the time that the options name.
pub(crate) fn describe(
    environment: &Environment,
    path: &str,
    options: &[(String, String)],
) -> Result<FileSource> {
    let given = options::checked(options, &["version", "timestamp"])?;
    options::one_of(&given, &["version", "timestamp"])?;
    let wanted = match given.first() {
        None => Wanted::Latest,
        Some((name @ "version", value)) => Wanted::Version(options::number(name, value)?),
        Some((name, value)) => Wanted::Time(options::time(name, value)?),
    };
    let folder = Folder::new(path);
    let segment = log::find(environment, &folder, wanted)?;
    let Snapshot { protocol, metadata, files } = replay::replay(environment, &folder, &segment)?;
    protocol::check(folder.path(), &protocol)?;
    let mapping = Mapping::of(folder.path(), &protocol, &metadata)?;
    let schema = schema::read(folder.path(), &metadata, mapping)?;
    // Times without a zone in a log are in UTC.
    zone::within(Zone::Utc, || {
        let files = files.iter().map(|add| data_file(&folder, &schema, add)).collect::<Result<Vec<_>>>()?;
        table::source(&schema.columns, files)
    })
}

fn data_file(folder: &Folder, schema: &TableSchema, add: &Add) -> Result<DataFile> {
    let path = location(folder, &add.path)?;
    let mut constants = vec![None; schema.columns.len()];
    for at in &schema.partitions {
        let column = &schema.columns[*at];
        // Its name in the log is that in files.
        let name = schema.physical_names.get(*at).map_or("", String::as_str);
        let text = add.partition_values.get(name).and_then(Option::as_deref);
        constants[*at] = Some(partition_value(&path, &column.name, text, column.stored.ty)?);
    }
    let (rows, zones) = statistics::read(schema, add);
    let deletion = add.deletion_vector.as_ref();
    let deletions = deletion.map(|vector| deletion::read(folder, &path, vector)).transpose()?;
    Ok(DataFile {
        path,
        constants,
        zones,
        rows,
        deleted_rows: deletion.map_or(0, |vector| vector.cardinality),
        deletions: deletions.into_iter().collect(),
    })
}

/// A partition's value; an empty text is NULL.
fn partition_value(path: &str, column: &str, text: Option<&str>, ty: Type) -> Result<Value> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(Value::Null) };
    if ty == Type::Bytea {
        return Ok(Value::Bytes(text.as_bytes().into()));
    }
    cast::parse_text(text, ty).map_err(|e| {
        let what = format!("the partition value {column} = {text} is no {}: {}", ty.sql_name(), e.message());
        damaged(path, what)
    })
}

/// Where the file of a path in the log is: below the table's folder, or anywhere if it is an address.
fn location(folder: &Folder, path: &str) -> Result<String> {
    if path.contains('\0') || path.is_empty() {
        return Err(damaged(folder.path(), "its log names a file without a path"));
    }
    let remote = formats::remote::is_remote(path);
    if path.contains("://") && !remote && !path.starts_with("file://") {
        return Err(Error::unsupported(format!(
            "the log of \"{}\" names \"{path}\", an address of a kind that is not read",
            folder.path()
        )));
    }
    // Places in web addresses keep their escapes.
    let web = |address: &str| address.starts_with("http://") || address.starts_with("https://");
    let keeps = web(path) || (!remote && web(folder.path()));
    Ok(folder.join(&if keeps { path.to_owned() } else { unescaped(path) }))
}

/// A path of the log without its escapes, such as `%20`.
fn unescaped(path: &str) -> String {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let digits = (*first == b'%').then(|| others.get(..2)).flatten();
        let byte = digits.and_then(|d| u8::from_str_radix(std::str::from_utf8(d).ok()?, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &others[2..] } else { others };
    }
    String::from_utf8(out).unwrap_or_else(|_| path.to_owned())
}

/// The commits that the log still has, the latest first.
pub(crate) fn history(environment: &Environment, path: &str) -> Result<(Schema, Vec<Vec<Value>>)> {
    let folder = Folder::new(path);
    let commits = log::commits(environment, &folder)?;
    let mut rows = Vec::with_capacity(commits.len());
    for (version, name) in commits.iter().rev() {
        let mut info = None;
        replay::lines(environment, &folder, name, &mut |line: Line| {
            info = info.take().or(line.commit_info);
            Ok(())
        })?;
        let info = info.unwrap_or_default();
        let time = match info.time() {
            Some(millis) => millis.checked_mul(1000),
            None => folder.modified(environment, name)?,
        };
        let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::text);
        let json = |json: &Option<serde_json::Value>| {
            json.as_ref().map_or(Value::Null, |json| Value::text(&json.to_string()))
        };
        rows.push(vec![
            Value::I64(*version),
            time.map_or(Value::Null, Value::I64),
            text(&info.operation),
            json(&info.operation_parameters),
            json(&info.operation_metrics),
            text(&info.engine_info),
            text(&info.user_name),
        ]);
    }
    if rows.is_empty() {
        return Err(log::no_table(&folder));
    }
    let columns = [
        ("version", Type::BigInt),
        ("timestamp", Type::TimestampTz),
        ("operation", Type::Text),
        ("operation_parameters", Type::Json),
        ("operation_metrics", Type::Json),
        ("engine_info", Type::Text),
        ("user_name", Type::Text),
    ];
    Ok((Schema::new(columns.iter().map(|(name, ty)| Field::new(*name, *ty, true)).collect()), rows))
}

/// The error for a version that a table does not have.
fn no_version(folder: &Folder, what: &str, hint: String) -> Error {
    let message = format!("the table \"{}\" has no {what}", folder.path());
    Error::new(SqlState::InvalidParameterValue, message).with_hint(hint)
}
