//! Files of a database's directory, behind one trait: the local disk, other machines, and a disk that fails on purpose.
//!
//! Names are relative to the directory, with `/` between folder and file. What was written is on stable storage after
//! `FileWriter::sync`, and the name of a file that was created, renamed or removed after `sync_directory`; before that,
//! a loss of power may leave any part of it. `log` appends checksummed records and makes many durable with one sync;
//! `bytes` writes and reads what stands in them; `packed` are bytes that a file holds tighter than
//! memory does. A `Capability` says what may be opened at all. Whatever goes wrong is an `Error` with the file's name in it: SQLSTATE
//! 53100 when the disk is full, 58030 otherwise, 58P01 when there is no such file.

#![forbid(unsafe_code)]

pub mod bytes;
mod capability;
mod direct;
mod local;
mod lock;
pub mod log;
pub mod log_format;
pub mod packed;
mod simulated;

pub use capability::{Capability, Granted};
pub use direct::DirectReads;
pub use local::{LocalFiles, failed, read_as_asked};
pub use lock::{FileLock, Owner};
pub use simulated::{Fault, FaultKind, Loss, Operation, SimulatedFiles};

use std::fmt::Debug;
use std::sync::Arc;

use types::Result;

/// A file as `FileManager::list` finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Relative to the directory, with its folder.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// The files of one directory.
pub trait FileManager: Debug + Send + Sync {
    /// A new file to write; one that exists already is an error. The folder is made where it is missing; its name is
    /// permanent when its parent was synced.
    fn create(&self, name: &str) -> Result<Box<dyn FileWriter>>;
    /// An existing file, cut to `length` bytes (it has at least as many), to write on from there.
    fn continue_at(&self, name: &str, length: u64) -> Result<Box<dyn FileWriter>>;
    /// Opens an existing file to read; 58P01 when there is none.
    fn open(&self, name: &str) -> Result<Arc<dyn FileReader>>;
    /// Replaces a file of the new name, in one step.
    fn rename(&self, from: &str, to: &str) -> Result<()>;
    /// Removes a file's name. Readers that have the file open can go on reading.
    fn remove(&self, name: &str) -> Result<()>;
    /// All files below `folder` (`""` is the directory itself), by name.
    fn list(&self, folder: &str) -> Result<Vec<FileEntry>>;
    /// Makes names permanent: those created, renamed and removed in `folder`.
    fn sync_directory(&self, folder: &str) -> Result<()>;
    /// Locks a name until the lock is dropped or the process ends. While another process holds it, the error is 55P03
    /// and names that owner. The file stays; only its lock counts.
    fn lock(&self, name: &str, owner: &Owner) -> Result<FileLock>;
    /// Whether long reads of files go past the system's cache from now on, of those that are open already, too. Where the
    /// system cannot, nothing changes.
    fn read_directly(&self, _directly: bool) {}
    /// Where the files are, for messages.
    fn describe(&self) -> String;
}

/// A file being read; many threads may read at once.
pub trait FileReader: Debug + Send + Sync {
    /// The file's length when it was opened.
    fn bytes(&self) -> u64;
    /// Fills `into` with the bytes from `at` on; a file that ends before is an error.
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()>;
    /// The file, for messages.
    fn describe(&self) -> String;
}

/// A file being written at its end.
pub trait FileWriter: Debug + Send {
    /// Writes all of `bytes`. After an error the file's length is unknown: `cut` mends it.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;
    /// Bytes written, those there before included.
    fn position(&self) -> u64;
    /// Takes back everything from `length` on.
    fn cut(&mut self, length: u64) -> Result<()>;
    /// Returns when everything written is on stable storage.
    fn sync(&mut self) -> Result<()>;
    /// Syncs the same file from another thread while this one writes on.
    fn syncer(&self) -> Result<Arc<dyn FileSync>>;
}

/// The other end of a file being written.
pub trait FileSync: Debug + Send + Sync {
    /// Returns when everything that was written before the call is on stable storage.
    fn sync(&self) -> Result<()>;
}

/// Reads a whole file; of a long one several pieces at once, which disks and stores give at two to three times the rate.
pub fn read_all(files: &dyn FileManager, name: &str) -> Result<Vec<u8>> {
    let reader = files.open(name)?;
    read_first(&*reader, reader.bytes() as usize)
}

/// Reads the first `length` bytes of a file, as `read_all` does; a file that ends before is an error.
pub fn read_first(reader: &dyn FileReader, length: usize) -> Result<Vec<u8>> {
    const PIECES: usize = 8;
    const PIECE_BYTES_MIN: usize = 512 << 10;
    let mut bytes = vec![0; length];
    let piece = bytes.len().div_ceil(PIECES).max(PIECE_BYTES_MIN);
    if bytes.len() <= piece {
        reader.read_at(0, &mut bytes)?;
        return Ok(bytes);
    }
    std::thread::scope(|scope| {
        let pieces = bytes.chunks_mut(piece).enumerate();
        let running: Vec<_> =
            pieces.map(|(at, into)| scope.spawn(move || reader.read_at((at * piece) as u64, into))).collect();
        let lost = || types::Error::internal("reading a file ended early");
        running.into_iter().try_for_each(|thread| thread.join().map_err(|_| lost())?)
    })?;
    Ok(bytes)
}

/// Writes a file whole: under another name first, synced, then renamed, so that no reader ever finds a part of it. A
/// file that could not be finished is removed again as far as possible.
pub fn write_whole(files: &dyn FileManager, name: &str, bytes: &[u8]) -> Result<()> {
    let unfinished = format!("{name}{UNFINISHED}");
    let written = write_and_rename(files, &unfinished, name, bytes);
    if written.is_err() {
        // What is left is removed when the directory is opened next.
        let _ = files.remove(&unfinished);
    }
    written
}

/// The end of the names of files that are not finished.
pub const UNFINISHED: &str = ".new";

fn write_and_rename(files: &dyn FileManager, unfinished: &str, name: &str, bytes: &[u8]) -> Result<()> {
    let mut writer = match files.create(unfinished) {
        // Left by a crash.
        Err(_) if files.open(unfinished).is_ok() => files.continue_at(unfinished, 0)?,
        other => other?,
    };
    writer.write(bytes)?;
    writer.sync()?;
    drop(writer);
    files.rename(unfinished, name)?;
    files.sync_directory(name.rsplit_once('/').map_or("", |(folder, _)| folder))
}
