//! A directory of this machine, through the system's files.
//!
//! [`LocalFiles`] keeps the path and one switch, whether long reads bypass the system's cache; clones and open
//! readers share the switch. Readers read at a place and have no position, so many threads may use one; a writer
//! alone writes its file, at its end. Names become permanent only with `sync_directory`, contents with `sync` (the
//! file's data and length). The lock is the system's advisory one, which ends with the process; the file's text names
//! its owner for messages. Errors come from [`failed`], which chooses the SQLSTATE.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use types::{Error, Result, SqlState};

use super::direct;
use super::lock::held_by;
use super::{Capability, FileEntry, FileLock, FileManager, FileReader, FileSync, FileWriter, Owner};

/// Files below one directory of the local file system.
#[derive(Clone, Debug)]
pub struct LocalFiles {
    root: PathBuf,
    /// Whether long reads go past the system's cache; its readers look at it with each.
    directly: Arc<AtomicBool>,
}

impl LocalFiles {
    /// Files of a directory that must be there; it is not looked at before the first call. 42501 where the capability
    /// does not reach it.
    pub fn new(capability: &Capability, root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        capability.file(&root)?;
        capability.file_to_write(&root)?;
        Ok(LocalFiles { root, directly: Arc::default() })
    }
    /// The directory is made when it is not there, with its name on stable storage; its parent must be there.
    pub fn create(capability: &Capability, root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        capability.file_to_write(&root)?;
        match fs::create_dir(&root) {
            Ok(()) => {
                let parent = root.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let synced = File::open(parent).and_then(|folder| folder.sync_all());
                synced.map_err(|e| failed("sync", parent, &e))?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && root.is_dir() => {}
            Err(error) => return Err(failed("create", &root, &error)),
        }
        LocalFiles::new(capability, root)
    }
    /// The directory, as it was given.
    pub fn root(&self) -> &Path {
        &self.root
    }
    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.root.clone() } else { self.root.join(name) }
    }
}

/// The error for a file operation that failed, `what` being a verb such as "open": 53100 when the disk or a quota is
/// full, 58P01 when there is no such file, else 58030.
pub fn failed(what: &str, path: &Path, error: &io::Error) -> Error {
    let state = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => SqlState::DiskFull,
        io::ErrorKind::NotFound => SqlState::UndefinedFile,
        _ => SqlState::IoError,
    };
    let failure = Error::new(state, format!("cannot {what} \"{}\": {error}", path.display()));
    match state {
        SqlState::DiskFull => failure.with_hint("free some space on the disk, and try again"),
        _ => failure,
    }
}

impl FileManager for LocalFiles {
    fn create(&self, name: &str) -> Result<Box<dyn FileWriter>> {
        let path = self.path(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| failed("create", folder, &e))?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|e| failed("create", &path, &e))?;
        Ok(Box::new(LocalWriter { file, path, position: 0 }))
    }

    fn continue_at(&self, name: &str, length: u64) -> Result<Box<dyn FileWriter>> {
        let path = self.path(name);
        let file = OpenOptions::new().write(true).open(&path).map_err(|e| failed("open", &path, &e))?;
        let mut writer = LocalWriter { file, path, position: 0 };
        writer.cut(length)?;
        Ok(Box::new(writer))
    }

    fn open(&self, name: &str) -> Result<Arc<dyn FileReader>> {
        let path = self.path(name);
        let file = File::open(&path).map_err(|e| failed("open", &path, &e))?;
        let bytes = file.metadata().map_err(|e| failed("open", &path, &e))?.len();
        read_as_asked(&file);
        let directly = self.directly.clone();
        Ok(Arc::new(LocalReader { file, path, bytes, directly, past_cache: OnceLock::new() }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let path = self.path(from);
        fs::rename(&path, self.path(to)).map_err(|e| failed("rename", &path, &e))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        fs::remove_file(&path).map_err(|e| failed("remove", &path, &e))
    }

    fn list(&self, folder: &str) -> Result<Vec<FileEntry>> {
        let path = self.path(folder);
        let mut found = Vec::new();
        let entries = match fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            entries => entries.map_err(|e| failed("list", &path, &e))?,
        };
        for entry in entries {
            let entry = entry.map_err(|e| failed("list", &path, &e))?;
            let about = entry.metadata().map_err(|e| failed("list", &entry.path(), &e))?;
            let own = entry.file_name().to_string_lossy().into_owned();
            let name = if folder.is_empty() { own } else { format!("{folder}/{own}") };
            if about.is_dir() {
                found.extend(self.list(&name)?);
            } else {
                found.push(FileEntry { name, bytes: about.len() });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn sync_directory(&self, folder: &str) -> Result<()> {
        let path = self.path(folder);
        File::open(&path).and_then(|f| f.sync_all()).map_err(|e| failed("sync", &path, &e))
    }

    fn lock(&self, name: &str, owner: &Owner) -> Result<FileLock> {
        let path = self.path(name);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(|e| failed("open", &path, &e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let owner = fs::read_to_string(&path).ok().and_then(|text| Owner::from_text(&text));
                return Err(held_by(&self.describe(), owner.as_ref()));
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path, &error)),
        }
        // The owner's name is for messages only: it need not be on stable storage.
        file.set_len(0)
            .and_then(|()| file.write_all(owner.to_text().as_bytes()))
            .map_err(|e| failed("write", &path, &e))?;
        Ok(FileLock::new(file))
    }

    fn read_directly(&self, directly: bool) {
        self.directly.store(directly, Relaxed);
    }

    fn describe(&self) -> String {
        self.root.display().to_string()
    }
}

/// Has the system read what is asked for and no more: what comes next, the pool knows better, and columns of a block
/// that no query wants lie between those it does. Without this a piece of a few kilobytes may bring megabytes along.
pub fn read_as_asked(file: &File) {
    // Advice: where it is not taken, reading is as it was.
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Random);
}

#[derive(Debug)]
struct LocalReader {
    file: File,
    path: PathBuf,
    bytes: u64,
    directly: Arc<AtomicBool>,
    /// Opened with the first direct read; `None` where the file system has no such reads.
    past_cache: OnceLock<Option<File>>,
}

impl LocalReader {
    /// The file to read so many bytes past the cache from.
    fn direct(&self, bytes: usize) -> Option<&File> {
        let wanted = bytes >= direct::BYTES_MIN && self.directly.load(Relaxed);
        wanted.then(|| self.past_cache.get_or_init(|| direct::reopen(&self.file)).as_ref()).flatten()
    }
}

impl FileReader for LocalReader {
    fn bytes(&self) -> u64 {
        self.bytes
    }
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        if let Some(file) = self.direct(into.len())
            && direct::read(file, at, into).is_ok()
        {
            return Ok(());
        }
        // Sectors of another size, or an error that the common way tells.
        self.file.read_exact_at(into, at).map_err(|e| failed("read", &self.path, &e))
    }
    fn describe(&self) -> String {
        format!("\"{}\"", self.path.display())
    }
}

#[derive(Debug)]
struct LocalWriter {
    file: File,
    path: PathBuf,
    position: u64,
}

impl FileWriter for LocalWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| failed("write", &self.path, &e))?;
        self.position += bytes.len() as u64;
        Ok(())
    }
    fn position(&self) -> u64 {
        self.position
    }
    fn cut(&mut self, length: u64) -> Result<()> {
        use std::io::Seek;
        let there = self.file.metadata().map_err(|e| failed("read", &self.path, &e))?.len();
        if length > there {
            let message =
                format!("\"{}\" has {there} bytes, and {length} were expected", self.path.display());
            return Err(Error::new(SqlState::DataCorrupted, message));
        }
        self.file.set_len(length).map_err(|e| failed("cut", &self.path, &e))?;
        self.file.seek(io::SeekFrom::Start(length)).map_err(|e| failed("cut", &self.path, &e))?;
        self.position = length;
        Ok(())
    }
    fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(|e| failed("sync", &self.path, &e))
    }
    fn syncer(&self) -> Result<Arc<dyn FileSync>> {
        let file = self.file.try_clone().map_err(|e| failed("open", &self.path, &e))?;
        Ok(Arc::new(LocalSync { file, path: self.path.clone() }))
    }
}

#[derive(Debug)]
struct LocalSync {
    file: File,
    path: PathBuf,
}

impl FileSync for LocalSync {
    fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|e| failed("sync", &self.path, &e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_cut_renamed_and_listed() {
        let folder = std::env::temp_dir().join(format!("quickstep-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let files = LocalFiles::new(&Capability::everything(), &folder).unwrap();
        let mut writer = files.create("blocks/one").unwrap();
        writer.write(b"hello, world").unwrap();
        writer.cut(5).unwrap();
        writer.write(b"!").unwrap();
        assert_eq!(writer.position(), 6);
        writer.sync().unwrap();
        assert!(files.create("blocks/one").is_err(), "a file that exists is not overwritten");
        let reader = files.open("blocks/one").unwrap();
        let mut bytes = [0; 3];
        reader.read_at(3, &mut bytes).unwrap();
        assert_eq!((&bytes, reader.bytes()), (b"lo!", 6));
        assert!(reader.read_at(4, &mut bytes).is_err());
        assert!(files.continue_at("blocks/one", 7).is_err());
        assert_eq!(files.continue_at("blocks/one", 2).unwrap().position(), 2);
        files.rename("blocks/one", "two").unwrap();
        files.sync_directory("").unwrap();
        assert_eq!(files.list("").unwrap(), [FileEntry { name: "two".into(), bytes: 2 }]);
        files.remove("two").unwrap();
        assert_eq!(files.open("two").unwrap_err().state(), SqlState::UndefinedFile);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn reads_past_the_cache_give_the_same_bytes() {
        let folder = std::env::temp_dir().join(format!("quickstep-direct-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let files = LocalFiles::new(&Capability::everything(), &folder).unwrap();
        // Longer than two chunks, and no whole number of sectors.
        let bytes: Vec<u8> =
            (0..(2 << 20) + 70_001u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        fs::write(folder.join("one"), &bytes).unwrap();
        let reader = files.open("one").unwrap();
        fs::remove_file(folder.join("one")).unwrap();
        for directly in [true, false, true] {
            files.read_directly(directly);
            let end = bytes.len();
            for (at, length) in [
                (0, end),
                (0, 4096),
                (4096, 65_536),
                (1, 1 << 20),
                (5000, (1 << 20) + 9),
                (end - 50_000, 50_000),
            ] {
                let mut found = vec![0; length];
                reader.read_at(at as u64, &mut found).unwrap();
                assert!(found == bytes[at..at + length], "{directly} {at} {length}");
            }
            assert!(reader.read_at(end as u64 - 40_000, &mut vec![0; 40_001]).is_err());
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_lock_names_its_owner_and_goes_with_it() {
        let folder = std::env::temp_dir().join(format!("quickstep-lock-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let files = LocalFiles::new(&Capability::everything(), &folder).unwrap();
        let owner = Owner { process: 4711, host: "machine".into() };
        let held = files.lock("lock", &owner).unwrap();
        let refused = files.lock("lock", &owner).unwrap_err();
        assert_eq!(refused.state(), SqlState::LockNotAvailable);
        assert!(refused.message().contains("process 4711 on machine"), "{refused}");
        drop(held);
        files.lock("lock", &owner).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
