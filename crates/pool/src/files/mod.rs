//! Files of a database's directory, behind one trait: the local disk, other machines, and a disk that fails on purpose.
//!
//! Names are relative to the directory, with `/` between folder and file. What was written is on stable storage after
//! `FileWriter::sync`, and the name of a file that was created, renamed or removed after `sync_directory`; before that,
//! a loss of power may leave any part of it. Whatever goes wrong is an `Error` with the file's name in it: SQLSTATE
//! 53100 when the disk is full, 58030 otherwise, 58P01 when there is no such file.

mod local;

pub use local::LocalFiles;
pub(crate) use local::failed;

use std::fmt::Debug;
use std::sync::Arc;

use types::Result;

/// A file as `FileManager::list` finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    pub name: String,
    pub bytes: u64,
}

/// The files of one directory.
pub trait FileManager: Debug + Send + Sync {
    /// A new file to write; one that exists already is an error.
    fn create(&self, name: &str) -> Result<Box<dyn FileWriter>>;
    /// An existing file, cut to `length` bytes (it has at least as many), to write on from there.
    fn continue_at(&self, name: &str, length: u64) -> Result<Box<dyn FileWriter>>;
    fn open(&self, name: &str) -> Result<Arc<dyn FileReader>>;
    /// Replaces a file of the new name, in one step.
    fn rename(&self, from: &str, to: &str) -> Result<()>;
    fn remove(&self, name: &str) -> Result<()>;
    /// All files below `folder` (`""` is the directory itself), by name.
    fn list(&self, folder: &str) -> Result<Vec<FileEntry>>;
    /// Makes names permanent: those created, renamed and removed in `folder`.
    fn sync_directory(&self, folder: &str) -> Result<()>;
    /// Where the files are, for messages.
    fn describe(&self) -> String;
}

/// A file being read; many threads may read at once.
pub trait FileReader: Debug + Send + Sync {
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
}
