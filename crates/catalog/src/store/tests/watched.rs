//! Files with a watcher that is called before every change of them, and that may leave a sync of the log out, or end
//! the process.

use std::fmt;
use std::sync::Arc;

use files::{FileEntry, FileLock, FileManager, FileReader, FileSync, FileWriter, Operation, Owner};
use types::Result;

type Watcher = Arc<dyn Fn(Operation) -> bool + Send + Sync>;

#[derive(Clone)]
pub(super) struct Watched<T: ?Sized> {
    watcher: Watcher,
    inner: Arc<T>,
}

impl<T: ?Sized> fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

impl Watched<dyn FileManager> {
    /// `watcher` answers whether the operation is done; of others than syncs by `FileSync` the answer does not count.
    pub(super) fn new(
        inner: Arc<dyn FileManager>,
        watcher: impl Fn(Operation) -> bool + Send + Sync + 'static,
    ) -> Self {
        Watched { watcher: Arc::new(watcher), inner }
    }

    fn writer(&self, inner: Box<dyn FileWriter>) -> Box<dyn FileWriter> {
        Box::new(WatchedWriter { watcher: self.watcher.clone(), inner })
    }
}

impl FileManager for Watched<dyn FileManager> {
    fn create(&self, name: &str) -> Result<Box<dyn FileWriter>> {
        (self.watcher)(Operation::Create);
        Ok(self.writer(self.inner.create(name)?))
    }
    fn continue_at(&self, name: &str, length: u64) -> Result<Box<dyn FileWriter>> {
        (self.watcher)(Operation::Cut);
        Ok(self.writer(self.inner.continue_at(name, length)?))
    }
    fn open(&self, name: &str) -> Result<Arc<dyn FileReader>> {
        self.inner.open(name)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        (self.watcher)(Operation::Rename);
        self.inner.rename(from, to)
    }
    fn remove(&self, name: &str) -> Result<()> {
        (self.watcher)(Operation::Remove);
        self.inner.remove(name)
    }
    fn list(&self, folder: &str) -> Result<Vec<FileEntry>> {
        self.inner.list(folder)
    }
    fn sync_directory(&self, folder: &str) -> Result<()> {
        (self.watcher)(Operation::SyncDirectory);
        self.inner.sync_directory(folder)
    }
    fn lock(&self, name: &str, owner: &Owner) -> Result<FileLock> {
        self.inner.lock(name, owner)
    }
    fn describe(&self) -> String {
        self.inner.describe()
    }
}

struct WatchedWriter {
    watcher: Watcher,
    inner: Box<dyn FileWriter>,
}

impl fmt::Debug for WatchedWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchedWriter")
    }
}

impl FileWriter for WatchedWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        (self.watcher)(Operation::Write);
        // In two halves, so that the watcher can end the process between them.
        let (first, second) = bytes.split_at(bytes.len() / 2);
        self.inner.write(first)?;
        (self.watcher)(Operation::Write);
        self.inner.write(second)
    }
    fn position(&self) -> u64 {
        self.inner.position()
    }
    fn cut(&mut self, length: u64) -> Result<()> {
        (self.watcher)(Operation::Cut);
        self.inner.cut(length)
    }
    fn sync(&mut self) -> Result<()> {
        (self.watcher)(Operation::Sync);
        self.inner.sync()
    }
    fn syncer(&self) -> Result<Arc<dyn FileSync>> {
        Ok(Arc::new(Watched { watcher: self.watcher.clone(), inner: self.inner.syncer()? }))
    }
}

impl FileSync for Watched<dyn FileSync> {
    fn sync(&self) -> Result<()> {
        match (self.watcher)(Operation::Sync) {
            true => self.inner.sync(),
            false => Ok(()),
        }
    }
}
