//! Files that appear whole or not at all: written next to their place under another name, then renamed.
//!
//! `write_to` is what COPY TO calls. A local file is written to a hidden name in the same folder, so that the rename
//! is atomic; a folder of partitions likewise, or merged into one that is there (`Merge`). A `Temporary` that is
//! dropped removes what it has written. Devices and pipes take the bytes as they come. Objects in a store appear when
//! their upload is finished, each by itself.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use types::{Error, Result, Schema, SqlState, stop};

use super::options::{Existing, Returned, WriteOptions};
use super::parallel::{GoOn, NextBatch, write_parallel};
use super::partitions::{self, Merge};
use super::written::WrittenFile;
use crate::{Environment, remote};

/// A file or folder that is gone again unless it is put in its place.
pub(super) struct Temporary {
    /// The hidden name in the folder of the place.
    pub path: PathBuf,
    kept: bool,
}

impl Temporary {
    /// A name next to `place` that no other write of any process uses; makes nothing yet.
    pub fn beside(place: &Path) -> Temporary {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = place.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let name = format!(".{name}.{}-{number}.tmp", std::process::id());
        Temporary { path: place.with_file_name(name), kept: false }
    }
    /// It stays where it is.
    pub fn leave(mut self) {
        self.kept = true;
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

/// The error of a failed operation on a path; `verb` completes "cannot ... the path".
pub(super) fn failed(verb: &str, path: &Path, error: &std::io::Error) -> Error {
    let state = match error.kind() {
        std::io::ErrorKind::NotFound => SqlState::UndefinedFile,
        _ => SqlState::IoError,
    };
    Error::new(state, format!("cannot {verb} \"{}\": {error}", path.display()))
}

/// Writes the rows to `path`: one file, or with partitions a folder of folders. Nothing is at `path` before all is
/// written, and what was there stays when something fails. A link is followed, not replaced.
pub fn write_to(
    environment: &Environment,
    path: &str,
    schema: &Schema,
    rows: &mut NextBatch<'_>,
    options: &WriteOptions,
    threads: usize,
    go_on: &GoOn<'_>,
) -> Result<Vec<WrittenFile>> {
    options.forced(schema)?;
    if remote::is_remote(path) {
        return write_remote(environment, path, schema, rows, options, threads, go_on);
    }

    environment.capability().file_to_write(path)?;
    let place = &led_to(Path::new(path));
    if !options.is_folder() {
        if place.is_dir() {
            return Err(Error::new(SqlState::IoError, format!("\"{path}\" is a folder"))
                .with_hint("name a file in it, or give the PARTITION_BY option"));
        }
        if fs::metadata(place).is_ok_and(|m| !m.is_file()) {
            // A device or a pipe takes the bytes as they come.
            let pipe = Pipe::open(place, go_on)?;
            let write =
                |rows: &mut NextBatch<'_>| write_file(pipe, place, schema, rows, options, threads, go_on);
            return Ok(vec![WrittenFile { path: path.into(), rows: counted(rows, write)? }]);
        }
        let temporary = Temporary::beside(place);
        let file = File::create_new(&temporary.path).map_err(|e| failed("write", place, &e))?;
        let write = |rows: &mut NextBatch<'_>| write_file(file, place, schema, rows, options, threads, go_on);
        let rows = counted(rows, write)?;
        temporary.put(place)?;
        return Ok(vec![WrittenFile { path: path.into(), rows }]);
    }
    if fs::symlink_metadata(place).is_ok_and(|m| !m.is_dir()) {
        return Err(Error::new(SqlState::IoError, format!("\"{path}\" is a file"))
            .with_hint("several files are written into a folder: name one, or remove the file"));
    }
    let taken = fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_some());
    if taken && options.existing == Existing::Refuse {
        return Err(Error::new(SqlState::IoError, format!("\"{path}\" is there already")).with_hint(
            "give APPEND to add files, OVERWRITE_OR_IGNORE to replace the partitions that get rows, or OVERWRITE to replace all",
        ));
    }
    let temporary = Temporary::beside(place);
    fs::create_dir_all(&temporary.path).map_err(|e| failed("write", place, &e))?;
    let mut files: Vec<WrittenFile> = Vec::new();
    let mut write = |inner: &str, number: usize, schema: &Schema, next: &mut NextBatch<'_>| {
        let folder = temporary.path.join(inner);
        fs::create_dir_all(&folder).map_err(|e| failed("write", &folder, &e))?;
        let name = partitions::file_name(number, options);
        let path = folder.join(&name);
        let file = File::create_new(&path).map_err(|e| failed("write", &path, &e))?;
        let write = |rows: &mut NextBatch<'_>| write_file(file, &path, schema, rows, options, threads, go_on);
        let rows = counted(next, write)?;
        files.push(WrittenFile { path: Path::new(inner).join(name), rows });
        Ok(())
    };
    match options.partition_by.is_empty() {
        true => partitions::in_files(schema, rows, options, &mut write)?,
        false => partitions::divide(schema, rows, options, go_on, &mut write)?,
    }
    if !place.exists() {
        temporary.put(place)?;
        files.iter_mut().for_each(|file| file.path = Path::new(path).join(&file.path));
        return Ok(files);
    }
    let columns = options.partition_columns(schema)?;
    let columns: Vec<String> = columns.iter().map(|c| schema.fields()[*c].name.clone()).collect();
    let named =
        Merge { place, columns: &columns, existing: options.existing, options }.put(&temporary.path)?;
    let named: HashMap<PathBuf, PathBuf> = named.into_iter().collect();
    for file in &mut files {
        let placed = named.get(&file.path).and_then(|placed| placed.strip_prefix(place).ok());
        file.path = Path::new(path).join(placed.unwrap_or(&file.path));
    }
    Ok(files)
}

/// Has rows written, and counts them.
fn counted(rows: &mut NextBatch<'_>, write: impl FnOnce(&mut NextBatch<'_>) -> Result<()>) -> Result<u64> {
    let mut count = 0;
    write(&mut || {
        let batch = rows()?;
        count += batch.as_ref().map_or(0, |batch| batch.rows as u64);
        Ok(batch)
    })?;
    Ok(count)
}

/// Where a path leads, through links, whether anything is there or not.
fn led_to(path: &Path) -> PathBuf {
    const LINKS_MAX: usize = 32;
    let mut place = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let Ok(next) = fs::read_link(&place) else { break };
        place = place.parent().map_or_else(|| next.clone(), |folder| folder.join(&next));
    }
    place
}

/// A device or a pipe, whose reader may open it late and read slowly.
struct Pipe(File);

impl Pipe {
    /// Between two looks for a reader, or for room.
    const PATIENCE: Duration = Duration::from_millis(5);

    fn open(place: &Path, go_on: &GoOn<'_>) -> Result<Pipe> {
        loop {
            match File::options().write(true).custom_flags(libc::O_NONBLOCK).open(place) {
                Ok(file) => return Ok(Pipe(file)),
                Err(e) if e.raw_os_error() == Some(libc::ENXIO) => {
                    go_on()?;
                    std::thread::sleep(Self::PATIENCE);
                }
                Err(e) => return Err(failed("write", place, &e)),
            }
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    stop::check(stop::Place::Write).map_err(io::Error::other)?;
                    std::thread::sleep(Self::PATIENCE);
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn write_file(
    file: impl Write + Send,
    place: &Path,
    schema: &Schema,
    rows: &mut NextBatch<'_>,
    options: &WriteOptions,
    threads: usize,
    go_on: &GoOn<'_>,
) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    write_parallel(options, schema, rows, &mut out, threads, go_on).map_err(|e| match e.state() {
        SqlState::IoError => {
            Error::new(e.state(), format!("cannot write \"{}\": {}", place.display(), e.message()))
        }
        _ => e,
    })?;
    out.flush().map_err(|e| remote::from_io(&e).unwrap_or_else(|| failed("write", place, &e)))?;
    Ok(())
}

/// As `write_to`, into an object store. An object is there when all of it is; partitions come one by one.
fn write_remote(
    environment: &Environment,
    url: &str,
    schema: &Schema,
    rows: &mut NextBatch<'_>,
    options: &WriteOptions,
    threads: usize,
    go_on: &GoOn<'_>,
) -> Result<Vec<WrittenFile>> {
    if options.returned == Returned::Facts {
        return Err(Error::unsupported("RETURN_STATS is for files of this machine, not for object stores")
            .with_hint("RETURN_FILES names the objects"));
    }
    let put = |url: &str, schema: &Schema, rows: &mut NextBatch<'_>| {
        let mut upload = remote::Upload::begin(environment, url)?;
        let written = write_parallel(options, schema, rows, &mut upload, threads, go_on);
        written.map_err(|e| upload.fault(e))?;
        upload.finish()
    };
    if !options.is_folder() {
        let rows = counted(rows, |rows| put(url, schema, rows))?;
        return Ok(vec![WrittenFile { path: url.into(), rows }]);
    }
    let url = url.trim_end_matches('/');
    if options.existing != Existing::Refuse {
        return Err(Error::unsupported("APPEND and OVERWRITE are for folders, not for object stores"));
    }
    if remote::exists_below(environment, url)? {
        return Err(Error::new(SqlState::IoError, format!("\"{url}\" is there already"))
            .with_hint("remove what is below it, or name another place"));
    }
    let mut files: Vec<WrittenFile> = Vec::new();
    let mut write = |folder: &str, number: usize, schema: &Schema, next: &mut NextBatch<'_>| {
        let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let path = format!("{url}/{folder}{}", partitions::file_name(number, options));
        let rows = counted(next, |rows| put(&path, schema, rows))?;
        files.push(WrittenFile { path: path.into(), rows });
        Ok(())
    };
    match options.partition_by.is_empty() {
        true => partitions::in_files(schema, rows, options, &mut write)?,
        false => partitions::divide(schema, rows, options, go_on, &mut write)?,
    }
    Ok(files)
}
