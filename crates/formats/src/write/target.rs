//! Files that appear whole or not at all: written beside their place under another name, then renamed.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use types::{Error, Field, Result, Schema, SqlState, Value};
use vector::Batch;

use super::WriteFormat;
use super::options::{Compression, WriteOptions};
use super::parallel::{GoOn, write_parallel};
use crate::remote;

/// Folders of one COPY, at most: more are a column that should not be partitioned by.
const PARTITIONS_MAX: usize = 10_000;
/// The folder of rows whose partition column is NULL, by Hive's custom.
pub const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// A file or folder that is gone again unless it is put in its place.
struct Temporary {
    path: PathBuf,
    kept: bool,
}

impl Temporary {
    fn beside(place: &Path) -> Temporary {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = place.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let name = format!(".{name}.{}-{number}.tmp", std::process::id());
        Temporary { path: place.with_file_name(name), kept: false }
    }
    fn put(mut self, place: &Path) -> Result<()> {
        fs::rename(&self.path, place).map_err(|e| failed("write", place, &e))?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn failed(verb: &str, path: &Path, error: &std::io::Error) -> Error {
    let state = match error.kind() {
        std::io::ErrorKind::NotFound => SqlState::UndefinedFile,
        _ => SqlState::IoError,
    };
    Error::new(state, format!("cannot {verb} \"{}\": {error}", path.display()))
}

/// Writes the rows to `path`: one file, or with partitions a folder of folders. Nothing is at `path` before all is
/// written, and what was there stays when something fails.
pub fn write_to(
    path: &str,
    schema: &Schema,
    batches: &[Batch],
    options: &WriteOptions,
    threads: usize,
    go_on: &GoOn<'_>,
) -> Result<()> {
    if remote::is_remote(path) {
        return write_remote(path, schema, batches, options, threads, go_on);
    }
    let place = Path::new(path);
    if options.partition_by.is_empty() {
        if place.is_dir() {
            return Err(Error::new(SqlState::IoError, format!("\"{path}\" is a folder"))
                .with_hint("name a file in it, or give the PARTITION_BY option"));
        }
        let temporary = Temporary::beside(place);
        write_file(&temporary.path, place, schema, batches, options, threads, go_on)?;
        return temporary.put(place);
    }
    let taken = place.is_file() || fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_some());
    if taken && !options.overwrite {
        return Err(Error::new(SqlState::IoError, format!("\"{path}\" is there already"))
            .with_hint("remove it, or give the OVERWRITE option"));
    }
    let temporary = Temporary::beside(place);
    fs::create_dir_all(&temporary.path).map_err(|e| failed("write", place, &e))?;
    partitioned(&temporary.path, schema, batches, options, threads, go_on)?;
    if !place.exists() {
        return temporary.put(place);
    }
    let old = Temporary::beside(place);
    fs::rename(place, &old.path).map_err(|e| failed("replace", place, &e))?;
    temporary.put(place).inspect_err(|_| {
        // The old folder goes back; if that fails too, it is still there under its temporary name.
        let _ = fs::rename(&old.path, place);
    })
}

fn write_file(
    file: &Path,
    place: &Path,
    schema: &Schema,
    batches: &[Batch],
    options: &WriteOptions,
    threads: usize,
    go_on: &GoOn<'_>,
) -> Result<()> {
    let file = File::create_new(file).map_err(|e| failed("write", place, &e))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    write_parallel(options, schema, batches, &mut out, threads, go_on).map_err(|e| match e.state() {
        SqlState::IoError => {
            Error::new(e.state(), format!("cannot write \"{}\": {}", place.display(), e.message()))
        }
        _ => e,
    })?;
    out.into_inner().map_err(|e| failed("write", place, e.error()))?;
    Ok(())
}

/// As `write_to`, into an object store. An object is there when all of it is; partitions come one by one.
fn write_remote(
    url: &str,
    schema: &Schema,
    batches: &[Batch],
    options: &WriteOptions,
    threads: usize,
    go_on: &GoOn<'_>,
) -> Result<()> {
    let put = |url: &str, schema: &Schema, batches: &[Batch]| {
        let mut upload = remote::Upload::begin(url)?;
        let written = write_parallel(options, schema, batches, &mut upload, threads, go_on);
        written.map_err(|e| upload.fault(e))?;
        upload.finish()
    };
    if options.partition_by.is_empty() {
        return put(url, schema, batches);
    }
    let url = url.trim_end_matches('/');
    if options.overwrite {
        return Err(Error::unsupported("OVERWRITE is for folders, not for object stores"));
    }
    if remote::exists_below(url)? {
        return Err(Error::new(SqlState::IoError, format!("\"{url}\" is there already"))
            .with_hint("remove what is below it, or name another place"));
    }
    let (inner, partitions) = divided(schema, batches, options, go_on)?;
    for (name, rows) in partitions {
        put(&format!("{url}/{name}/data_0.{}", extension(options)), &inner, &rows)?;
    }
    Ok(())
}

/// A partition's values, one by partition column.
type Key = Vec<Value>;

fn partitioned(
    folder: &Path,
    schema: &Schema,
    batches: &[Batch],
    options: &WriteOptions,
    threads: usize,
    go_on: &GoOn<'_>,
) -> Result<()> {
    let (inner, partitions) = divided(schema, batches, options, go_on)?;
    for (name, rows) in partitions {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).map_err(|e| failed("write", &folder, &e))?;
        let file = folder.join(format!("data_0.{}", extension(options)));
        write_file(&file, &file, &inner, &rows, options, threads, go_on)?;
    }
    Ok(())
}

/// Partitions by the names of their folders, and their columns.
type Divided = (Schema, Vec<(String, Vec<Batch>)>);

fn divided(schema: &Schema, batches: &[Batch], options: &WriteOptions, go_on: &GoOn<'_>) -> Result<Divided> {
    let keys = options.partition_columns(schema)?;
    let rest: Vec<usize> = (0..schema.len()).filter(|c| !keys.contains(c)).collect();
    let fields: Vec<Field> = rest.iter().map(|c| schema.fields()[*c].clone()).collect();
    let inner = Schema::new(fields);
    // Folders in the order of their first rows, so that the same result makes the same files.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut partitions: Vec<(String, Vec<Batch>)> = Vec::new();
    for batch in batches {
        go_on()?;
        let mut rows: HashMap<usize, Vec<u32>> = HashMap::new();
        for row in 0..batch.rows {
            let key: Key = keys.iter().map(|c| batch.columns[*c].value(row)).collect();
            let name = folder_name(&key, &keys, schema);
            let number = match numbers.get(&name) {
                Some(number) => *number,
                None => {
                    if partitions.len() == PARTITIONS_MAX {
                        return Err(Error::new(
                            SqlState::InvalidParameterValue,
                            format!("PARTITION_BY makes more than {PARTITIONS_MAX} folders"),
                        ));
                    }
                    numbers.insert(name.clone(), partitions.len());
                    partitions.push((name, vec![]));
                    partitions.len() - 1
                }
            };
            rows.entry(number).or_default().push(row as u32);
        }
        for (number, rows) in rows {
            partitions[number].1.push(batch.select(&rest).gather(&rows));
        }
    }
    Ok((inner, partitions))
}

fn extension(options: &WriteOptions) -> String {
    let name = WriteFormat::NAMES.iter().find(|(_, f)| *f == options.format).map_or("", |(n, _)| n);
    match (options.format, options.compression) {
        (WriteFormat::Parquet | WriteFormat::Arrow, _) => name.to_owned(),
        (_, Compression::Gzip) => format!("{name}.gz"),
        (_, Compression::Zstd) => format!("{name}.zst"),
        _ => name.to_owned(),
    }
}

/// `a=1/b=x%2Fy`.
fn folder_name(key: &Key, columns: &[usize], schema: &Schema) -> String {
    let part = |(value, column): (&Value, &usize)| {
        let field = &schema.fields()[*column];
        let text = match value.is_null() {
            true => NULL_PARTITION.to_owned(),
            false => escaped(&value.display(field.ty)),
        };
        format!("{}={text}", escaped(&field.name))
    };
    key.iter().zip(columns).map(part).collect::<Vec<_>>().join("/")
}

/// Bytes that a folder's name may not have, or that stand for something else in it, as `%` and two digits.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'/'
            | b'\\'
            | b'='
            | b'%'
            | b'"'
            | b'\''
            | b':'
            | b'*'
            | b'?'
            | b'<'
            | b'>'
            | b'|'
            | b'#'
            | b'{'
            | b'}'
            | b'['
            | b']'
            | b'^'
            | 0..=31
            | 127 => out.push_str(&format!("%{byte:02X}")),
            _ if byte.is_ascii() => out.push(byte as char),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    if out.is_empty() { "%".to_owned() } else { out }
}
