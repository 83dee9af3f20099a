//! Where blocks of a database in memory go when memory is wanted: one file of ranges.
//!
//! The file has no name: it is removed from its folder as soon as it is open, so that nothing stays behind however the
//! process ends. Ranges are given back when their block goes; neighbouring holes become one, and a hole at the end cuts
//! the file.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use types::Result;

use files::{FileReader, failed};

/// A file that can be written anywhere.
pub trait TemporaryFile: FileReader {
    /// Writes all of the bytes from `at` on; the file grows as needed.
    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()>;
    /// Gives everything from `length` on back to the disk, if that is possible.
    fn cut(&self, length: u64);
}

/// A file of this machine without a name, which no other process can open.
#[derive(Debug)]
pub(crate) struct UnnamedFile {
    file: File,
    folder: PathBuf,
}

/// A new file in a folder, whose name is gone.
pub(crate) fn unnamed_file(folder: &Path) -> Result<File> {
    UnnamedFile::create(folder).map(|made| made.file)
}

impl UnnamedFile {
    pub(crate) fn create(folder: &Path) -> Result<UnnamedFile> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let path = folder.join(format!("quickstep-{}-{number}.blocks", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(|e| failed("create", &path, &e))?;
        std::fs::remove_file(&path).map_err(|e| failed("remove", &path, &e))?;
        files::read_as_asked(&file);
        Ok(UnnamedFile { file, folder: folder.to_owned() })
    }
}

impl FileReader for UnnamedFile {
    fn bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |about| about.len())
    }
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(into, at).map_err(|e| failed("read a temporary file in", &self.folder, &e))
    }
    fn describe(&self) -> String {
        format!("a temporary file in \"{}\"", self.folder.display())
    }
}

impl TemporaryFile for UnnamedFile {
    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_all_at(bytes, at).map_err(|e| failed("write a temporary file in", &self.folder, &e))
    }
    fn cut(&self, length: u64) {
        // Where it fails, the file is only longer than it need be.
        let _ = self.file.set_len(length);
    }
}

/// A temporary file and its free ranges.
#[derive(Debug)]
pub(crate) struct Space {
    file: Arc<dyn TemporaryFile>,
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    end: u64,
    /// Position and length; no two touch, and none reaches `end`.
    holes: BTreeMap<u64, u64>,
}

impl Free {
    /// What is said of `holes`.
    fn holds(&self) -> bool {
        let ends = self.holes.iter().map(|(at, length)| at + length);
        let next = self.holes.keys().skip(1).copied().chain([self.end]);
        self.holes.values().all(|length| *length > 0) && ends.zip(next).all(|(end, next)| end < next)
    }

    fn take(&mut self, length: u64) -> u64 {
        debug_assert!(length > 0 && self.holds(), "{length} bytes of {self:?}");
        if let Some((&at, &there)) = self.holes.iter().find(|(_, there)| **there >= length) {
            self.holes.remove(&at);
            if there > length {
                self.holes.insert(at + length, there - length);
            }
            return at;
        }
        let at = self.end;
        self.end += length;
        at
    }

    /// Returns true when the end moved.
    fn give_back(&mut self, mut at: u64, mut length: u64) -> bool {
        debug_assert!(self.is_taken(at, length), "{length} bytes at {at} are free already: {self:?}");
        if let Some((&before, &there)) = self.holes.range(..at).next_back()
            && before + there == at
        {
            self.holes.remove(&before);
            (at, length) = (before, there + length);
        }
        if let Some(behind) = self.holes.remove(&(at + length)) {
            length += behind;
        }
        if at + length == self.end {
            self.end = at;
            return true;
        }
        self.holes.insert(at, length);
        debug_assert!(self.holds(), "{self:?}");
        false
    }

    /// Whether no byte of the range is in a hole or behind the end.
    fn is_taken(&self, at: u64, length: u64) -> bool {
        let before = self.holes.range(..at + length).next_back();
        at + length <= self.end && before.is_none_or(|(hole, there)| hole + there <= at)
    }
}

/// A range of a temporary file, free again when dropped.
#[derive(Debug)]
pub(crate) struct SpaceRange {
    space: Arc<Space>,
    pub(crate) at: u64,
    length: u64,
}

impl Space {
    pub(crate) fn new(file: Arc<dyn TemporaryFile>) -> Arc<Space> {
        Arc::new(Space { file, free: Mutex::default() })
    }
    fn free(&self) -> MutexGuard<'_, Free> {
        // Changed without calls that panic.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(crate) fn reader(&self) -> Arc<dyn FileReader> {
        self.file.clone()
    }
    /// Bytes from the file's beginning to the end of its last range.
    pub(crate) fn bytes(&self) -> u64 {
        self.free().end
    }
    pub(crate) fn write(self: &Arc<Space>, bytes: &[u8]) -> Result<SpaceRange> {
        let length = bytes.len().next_multiple_of(4096) as u64;
        let at = self.free().take(length);
        let range = SpaceRange { space: self.clone(), at, length };
        self.file.write_at(at, bytes)?;
        Ok(range)
    }
}

impl Drop for SpaceRange {
    fn drop(&mut self) {
        let mut free = self.space.free();
        if free.give_back(self.at, self.length) {
            // Under the lock, or a range taken meanwhile could be cut.
            self.space.file.cut(free.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_reused_and_never_overlap() {
        let folder = std::env::temp_dir();
        let space = Space::new(Arc::new(UnnamedFile::create(&folder).unwrap()));
        let mut state = 7u64;
        let mut held: Vec<(SpaceRange, Vec<u8>)> = Vec::new();
        let mut most = 0;
        for round in 0..2_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if held.len() > 20 || (state >> 60 < 7 && !held.is_empty()) {
                let at = (state >> 33) as usize % held.len();
                let (range, bytes) = held.swap_remove(at);
                let mut read = vec![0; bytes.len()];
                space.reader().read_at(range.at, &mut read).unwrap();
                assert_eq!(read, bytes);
            } else {
                let bytes = vec![round as u8; (state >> 40) as usize % 30_000 + 1];
                held.push((space.write(&bytes).unwrap(), bytes));
            }
            most = most.max(space.bytes());
        }
        assert!(most < 2_000_000, "{most}");
        held.clear();
        assert_eq!((space.bytes(), space.reader().bytes()), (0, 0));
    }
}
