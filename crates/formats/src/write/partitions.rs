//! COPY with PARTITION_BY: rows divided by the values of columns into `a=1/b=x/data_0.parquet`, Hive's layout.
//!
//! Rows wait in memory until their partition's file is written; when more wait than there is room for, the partition with
//! the most bytes gets a file, so a partition may have several. All are written into a folder of their own first, and put
//! in their place at the end (`Merge`): what was there stays when something fails. What no COPY wrote, and links, are never
//! removed or replaced: a file is taken for COPY's when it is called `data_<number>.<format>` and lies as deep in folders
//! `column=value` as the partitioning says.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use types::{Error, Field, Result, Schema, SqlState, Value};
use vector::Batch;

use super::WriteFormat;
use super::options::{Compression, Existing, FILE_NAMES, WriteOptions};
use super::parallel::{GoOn, NextBatch};
use super::target::{Temporary, failed};
use crate::describe::EXTENSIONS;

/// Folders of one COPY, at most: more are a column that should not be partitioned by.
const PARTITIONS_MAX: usize = 10_000;
/// The folder of rows whose partition column is NULL, by Hive's custom.
pub const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";
/// Bytes of a batch in addition to its columns, about.
const BATCH_BYTES: usize = 512;

/// A partition's values, one by partition column.
type Key = Vec<Value>;

/// Takes the rows of one file: the folder's name, the number of the file in it, and the rows.
pub(super) type WriteFile<'a> = dyn FnMut(&str, usize, &Schema, &mut NextBatch<'_>) -> Result<()> + 'a;

/// How many rows a file of a folder has, at most: `ROW_GROUPS_PER_FILE` and `FILE_SIZE_BYTES`.
struct FileLimits {
    rows_max: usize,
    bytes_max: u64,
}

impl FileLimits {
    fn of(options: &WriteOptions) -> Self {
        FileLimits {
            rows_max: options
                .file_groups
                .map_or(usize::MAX, |groups| groups.saturating_mul(options.group_rows)),
            // A group ends at so many bytes, too.
            bytes_max: options.file_bytes.unwrap_or(u64::MAX).min(
                options
                    .file_groups
                    .map_or(u64::MAX, |groups| (groups as u64).saturating_mul(options.piece_bytes as u64)),
            ),
        }
    }

    /// Divides the rows among files, each of which takes what it is given until there is no more. A file ends with the
    /// row that fills it, or with the batch that makes it too large.
    fn files(
        &self,
        rows: &mut NextBatch<'_>,
        file: &mut dyn FnMut(&mut NextBatch<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut rest: Option<Batch> = None;
        loop {
            while rest.as_ref().is_none_or(|batch| batch.rows == 0) {
                rest = rows()?;
                if rest.is_none() {
                    return Ok(());
                }
            }
            let (mut count, mut bytes) = (0, 0);
            file(&mut || {
                if count >= self.rows_max || bytes >= self.bytes_max {
                    return Ok(None);
                }
                let Some(mut batch) = rest.take().map_or_else(&mut *rows, |batch| Ok(Some(batch)))? else {
                    return Ok(None);
                };
                let room = self.rows_max - count;
                if batch.rows > room {
                    rest = Some(batch.slice(room, batch.rows - room));
                    batch = batch.slice(0, room);
                }
                count += batch.rows;
                bytes += batch.bytes() as u64;
                Ok(Some(batch))
            })?;
        }
    }
}

/// Writes the rows as the files of one folder, as they come; without rows one file, unless the options forbid it.
pub(super) fn in_files(
    schema: &Schema,
    rows: &mut NextBatch<'_>,
    options: &WriteOptions,
    write: &mut WriteFile<'_>,
) -> Result<()> {
    let mut number = 0;
    FileLimits::of(options).files(rows, &mut |next| {
        write("", number, schema, next)?;
        number += 1;
        Ok(())
    })?;
    match number {
        0 => write("", 0, schema, &mut || Ok(None)),
        _ => Ok(()),
    }
}

#[derive(Default)]
struct Partition {
    name: String,
    batches: Vec<Batch>,
    bytes: usize,
    files: usize,
}

/// Divides the rows and has files written of them.
pub(super) fn divide(
    schema: &Schema,
    rows: &mut NextBatch<'_>,
    options: &WriteOptions,
    go_on: &GoOn<'_>,
    write: &mut WriteFile<'_>,
) -> Result<()> {
    let keys = options.partition_columns(schema)?;
    let kept = |column: &usize| options.writes_partition_columns || !keys.contains(column);
    let rest: Vec<usize> = (0..schema.len()).filter(kept).collect();
    let limits = FileLimits::of(options);
    let inner = Schema::new(rest.iter().map(|c| schema.fields()[*c].clone()).collect::<Vec<Field>>());
    // Folders in the order of their first rows, so that the same result makes the same files.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut partitions: Vec<Partition> = Vec::new();
    let mut waiting = 0;
    while let Some(batch) = rows()? {
        go_on()?;
        let mut places: HashMap<usize, Vec<u32>> = HashMap::new();
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
                    partitions.push(Partition { name, ..Partition::default() });
                    partitions.len() - 1
                }
            };
            places.entry(number).or_default().push(row as u32);
        }
        let columns = batch.select(&rest);
        for (number, rows) in places {
            let rows = columns.gather(&rows);
            let bytes = rows.bytes() + BATCH_BYTES;
            partitions[number].bytes += bytes;
            waiting += bytes;
            partitions[number].batches.push(rows);
        }
        while waiting > options.waiting_bytes {
            let Some(largest) = partitions.iter_mut().max_by_key(|p| p.bytes) else { break };
            waiting -= largest.bytes;
            flush(largest, &inner, &limits, write)?;
        }
    }
    for partition in &mut partitions {
        go_on()?;
        if !partition.batches.is_empty() {
            flush(partition, &inner, &limits, write)?;
        }
    }
    Ok(())
}

fn flush(
    partition: &mut Partition,
    schema: &Schema,
    limits: &FileLimits,
    write: &mut WriteFile<'_>,
) -> Result<()> {
    let mut batches = std::mem::take(&mut partition.batches).into_iter();
    partition.bytes = 0;
    limits.files(&mut || Ok(batches.next()), &mut |next| {
        write(&partition.name, partition.files, schema, next)?;
        partition.files += 1;
        Ok(())
    })
}

/// The name of a partition's file; names sort as the files were written, unless the user has a pattern for them.
pub(super) fn file_name(number: usize, options: &WriteOptions) -> String {
    if options.file_names != FILE_NAMES || options.file_extension.is_some() {
        let written = match options.file_names.as_str() {
            FILE_NAMES if number > 0 => format!("data_{number:06}"),
            pattern => pattern.replace("{i}", &number.to_string()).replace("{uuid}", &identifier()),
        };
        return format!("{written}.{}", extension(options));
    }
    match number {
        0 => format!("data_0.{}", extension(options)),
        _ => format!("data_{number:06}.{}", extension(options)),
    }
}

/// What the files' names end in.
fn extension(options: &WriteOptions) -> String {
    if let Some(said) = &options.file_extension {
        return said.clone();
    }
    let name = WriteFormat::NAMES.iter().find(|(_, f)| *f == options.format).map_or("", |(n, _)| n);
    let compression = match (options.format, options.compression) {
        (WriteFormat::Parquet | WriteFormat::Arrow, _) => "",
        (_, Compression::Gzip) => ".gz",
        (_, Compression::Zstd) => ".zst",
        _ => "",
    };
    format!("{name}{compression}")
}

/// An identifier in the form of a UUID that no other file has: from the keys by which this process hashes, which are the
/// system's random bytes, and a count.
fn identifier() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let half = |salt: u64| RandomState::new().hash_one((number, salt, std::process::id()));
    let value =
        (u128::from(half(0)) << 64 | u128::from(half(1))) & !(0xF << 76 | 0x3 << 62) | 4 << 76 | 2 << 62;
    let digits = format!("{value:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// The number in the name of a file that a COPY with these options wrote; `None` for other names.
fn number_of(name: &str, options: &WriteOptions) -> Option<usize> {
    if options.file_names == FILE_NAMES && options.file_extension.is_none() {
        return number_in(name);
    }
    let stem = name.strip_suffix(&extension(options))?.strip_suffix('.')?;
    let (before, after) = match options.file_names.split_once("{uuid}") {
        None => options.file_names.split_once("{i}")?,
        // The number says nothing: an identifier is never used twice.
        Some((before, after)) => {
            let is_identifier =
                |part: &str| part.len() == 36 && part.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
            let plain = |part: &str| !part.contains("{i}");
            if plain(before) && plain(after) {
                let inner = stem.strip_prefix(before)?.strip_suffix(after)?;
                return is_identifier(inner).then_some(0);
            }
            return None;
        }
    };
    let number = stem.strip_prefix(before)?.strip_suffix(after)?;
    number.bytes().all(|b| b.is_ascii_digit()).then(|| number.parse().ok()).flatten()
}

/// The number in the name of a file that COPY wrote; `None` for other names.
fn number_in(name: &str) -> Option<usize> {
    let (number, extension) = name.strip_prefix("data_")?.split_once('.')?;
    let format = extension.trim_end_matches(".gz").trim_end_matches(".zst");
    let known = WriteFormat::NAMES.iter().any(|(name, _)| *name == format);
    (known && number.bytes().all(|b| b.is_ascii_digit())).then(|| number.parse().ok()).flatten()
}

/// Whether a reader of the folder would read a file of that name.
fn is_data(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or_default();
    !name.starts_with(['.', '_']) && EXTENSIONS.contains(&extension)
}

/// New files that take their places in a folder that is there, and old ones that make room.
pub(super) struct Merge<'a> {
    /// The folder that is there.
    pub place: &'a Path,
    /// Folders between the place and a file, one for each partition column.
    pub columns: &'a [String],
    /// Which old files make room.
    pub existing: Existing,
    /// The options of the COPY.
    pub options: &'a WriteOptions,
}

/// What was done so far, to be undone.
#[derive(Default)]
struct Done {
    moved: Vec<(PathBuf, PathBuf)>,
    new: Vec<PathBuf>,
    /// Each new file below the fresh folder, and its place.
    named: Vec<(PathBuf, PathBuf)>,
}

impl Merge<'_> {
    /// Puts the files below `fresh` in their places.
    ///
    /// # Returns
    /// Each file as it is called below `fresh`, and its place.
    pub fn put(&self, fresh: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
        let added = folders_of(fresh, self.columns)?;
        let affected = match self.existing {
            Existing::ReplaceAll => all_folders(self.place)?.union(&added).cloned().collect(),
            _ => added.clone(),
        };
        self.refuse_links(&added)?;
        let mut old: Vec<PathBuf> = Vec::new();
        if self.existing != Existing::Append {
            for folder in &affected {
                old.extend(self.written_in(folder)?);
            }
        }
        let removed = Temporary::beside(self.place);
        let mut done = Done::default();
        let outcome = self.exchange(fresh, &added, &old, &removed.path, &mut done);
        if outcome.is_err() {
            done.new.iter().for_each(|file| drop(fs::remove_file(file)));
            // What cannot go back is still there, under the temporary name.
            let stays = done.moved.iter().rev().any(|(from, to)| fs::rename(to, from).is_err());
            if stays {
                removed.leave();
            }
            outcome?;
        }
        // Folders that lost their last file, inner ones first; those that hold something stay.
        let mut emptied: Vec<&PathBuf> = affected.difference(&added).collect();
        emptied.sort_unstable_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        for folder in emptied {
            let _ = fs::remove_dir(self.place.join(folder));
        }
        Ok(done.named)
    }

    fn exchange(
        &self,
        fresh: &Path,
        added: &HashSet<PathBuf>,
        old: &[PathBuf],
        removed: &Path,
        done: &mut Done,
    ) -> Result<()> {
        for (number, file) in old.iter().enumerate() {
            fs::create_dir_all(removed).map_err(|e| failed("replace", self.place, &e))?;
            let away = removed.join(number.to_string());
            fs::rename(file, &away).map_err(|e| failed("replace", file, &e))?;
            done.moved.push((file.clone(), away));
        }
        for folder in added {
            let target = self.place.join(folder);
            fs::create_dir_all(&target).map_err(|e| failed("write", &target, &e))?;
            let mut files: Vec<PathBuf> = entries(&fresh.join(folder))?;
            files.sort();
            let mut number = entries(&target)?
                .iter()
                .filter_map(|f| number_of(name_of(f), self.options))
                .max()
                .map_or(0, |n| n + 1);
            for file in files {
                let placed = loop {
                    let placed = target.join(file_name(number, self.options));
                    number += 1;
                    match place_new(&file, &placed) {
                        Ok(()) => break placed,
                        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                        Err(e) => return Err(failed("write", &placed, &e)),
                    }
                };
                done.named.push((folder.join(name_of(&file)), placed.clone()));
                done.new.push(placed);
            }
        }
        Ok(())
    }

    /// Folders that are links lead somewhere that the statement does not name.
    fn refuse_links(&self, added: &HashSet<PathBuf>) -> Result<()> {
        for folder in added {
            let mut path = self.place.to_path_buf();
            for part in folder {
                path.push(part);
                if fs::symlink_metadata(&path).is_ok_and(|m| !m.is_dir()) {
                    return Err(in_the_way(&path, "is not a folder of its own"));
                }
            }
        }
        Ok(())
    }

    /// The files in a partition's folder that COPY wrote; other data in it would be read with what is written now.
    fn written_in(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let folder = self.place.join(folder);
        if !folder.is_dir() {
            return Ok(vec![]);
        }
        let mut written = Vec::new();
        for path in entries(&folder)? {
            let name = name_of(&path);
            let is_file = fs::symlink_metadata(&path).is_ok_and(|m| m.is_file());
            if is_file && (number_in(name).is_some() || number_of(name, self.options).is_some()) {
                written.push(path);
            } else if is_data(name) {
                return Err(in_the_way(&path, "is none of the files that COPY wrote"));
            }
        }
        Ok(written)
    }
}

fn in_the_way(path: &Path, what: &str) -> Error {
    Error::new(SqlState::IoError, format!("\"{}\" {what}, so it is not replaced", path.display()))
        .with_hint("remove it, or write to another folder; APPEND adds to what is there")
}

/// Moves a file to a name that nothing has yet.
fn place_new(file: &Path, placed: &Path) -> std::io::Result<()> {
    match fs::hard_link(file, placed) {
        Ok(()) => {
            let _ = fs::remove_file(file);
            Ok(())
        }
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Err(e),
        // Not every file system has links.
        Err(_) if fs::symlink_metadata(placed).is_ok() => {
            Err(std::io::Error::from(std::io::ErrorKind::AlreadyExists))
        }
        Err(_) => fs::rename(file, placed),
    }
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|n| n.to_str()).unwrap_or_default()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    read().map_err(|e| failed("read", folder, &e))
}

/// Folders `column=value` below a place, as deep as there are columns, relative to it. Links are not followed.
fn folders_of(place: &Path, columns: &[String]) -> Result<HashSet<PathBuf>> {
    let mut level = vec![PathBuf::new()];
    for column in columns {
        let begins = format!("{}=", escaped(column));
        let mut next = Vec::new();
        for folder in level {
            for path in entries(&place.join(&folder))? {
                let is_folder = fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir());
                if is_folder && name_of(&path).starts_with(&begins) {
                    next.push(folder.join(name_of(&path)));
                }
            }
        }
        level = next;
    }
    Ok(level.into_iter().collect())
}

/// Every folder `name=value` below a place, under such folders only, relative to it. Links are not followed.
fn all_folders(place: &Path) -> Result<HashSet<PathBuf>> {
    let mut open = vec![PathBuf::new()];
    let mut found = HashSet::new();
    while let Some(folder) = open.pop() {
        for path in entries(&place.join(&folder))? {
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir());
            if is_folder && name_of(&path).contains('=') {
                let inner = folder.join(name_of(&path));
                open.push(inner.clone());
                found.insert(inner);
            }
        }
    }
    Ok(found)
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
