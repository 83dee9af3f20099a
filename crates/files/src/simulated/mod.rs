//! A disk in memory that fails on purpose: full, faulty, slow, or without power, all of it decided by a seed.
//!
//! Tests of durability run on it: the same seed and the same calls fail in the same way. What a loss of power leaves
//! is drawn in `disk.rs`.
//!
//! [`SimulatedFiles`] is a [`FileManager`] whose clones, readers and writers share one disk behind a mutex. Each call
//! first asks whether it meets a fault ([`SimulatedFiles::inject`]); a test then calls [`SimulatedFiles::restart`],
//! which ends the old disk for good and gives a new one with what survived.

mod disk;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use types::{Error, Result, SqlState};

use self::disk::{Change, Disk, NameChange, folder_of};
use super::lock::held_by;
use super::{FileEntry, FileLock, FileManager, FileReader, FileSync, FileWriter, Owner};

/// What can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Making a file.
    Create,
    /// Writing at a file's end.
    Write,
    /// Cutting a file.
    Cut,
    /// Syncing a file.
    Sync,
    /// Renaming a file.
    Rename,
    /// Removing a file.
    Remove,
    /// Syncing the names of a folder.
    SyncDirectory,
    /// Opening, listing and reading, which do not change the disk.
    Read,
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// No space is left; a write leaves a part.
    DiskFull,
    /// The device fails; a write leaves a part, a sync any of what it should have saved.
    Device,
    /// Nothing works any more, until `restart`.
    PowerLoss,
}

/// A failure to come.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// `None` is whatever changes the disk.
    pub operation: Option<Operation>,
    /// So many of them still succeed.
    pub after: u64,
    /// How it fails then.
    pub kind: FaultKind,
    /// All that follow fail too.
    pub lasting: bool,
}

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It was killed: what it wrote is there.
    Process,
    /// The machine lost power: what was not synced may be there, in part, or not.
    Power,
}

/// The disk; clones are the same one.
#[derive(Clone, Debug)]
pub struct SimulatedFiles {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    disk: Mutex<Disk>,
    sync_delay_us: AtomicU64,
    syncs: AtomicU64,
}

impl SimulatedFiles {
    /// An empty disk; `seed` decides what torn writes and losses of power leave.
    pub fn new(seed: u64) -> Self {
        Self::with_disk(Disk::new(seed))
    }

    fn with_disk(disk: Disk) -> Self {
        let shared = Shared { disk: Mutex::new(disk), sync_delay_us: 0.into(), syncs: 0.into() };
        SimulatedFiles { shared: Arc::new(shared) }
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.shared.disk()
    }

    /// Adds a fault to come; several may wait at a time.
    pub fn inject(&self, fault: Fault) {
        self.disk().faults.push(fault);
    }

    /// Takes back all faults that are still to come.
    pub fn mend(&self) {
        self.disk().faults.clear();
    }

    /// Every sync takes at least so long.
    pub fn set_sync_delay(&self, delay: Duration) {
        self.shared.sync_delay_us.store(delay.as_micros() as u64, Relaxed);
    }

    /// Changes of the disk that were tried.
    pub fn operations(&self) -> u64 {
        self.disk().operations
    }

    /// Syncs of files that were tried.
    pub fn syncs(&self) -> u64 {
        self.shared.syncs.load(Relaxed)
    }

    /// True after a loss of power was met.
    pub fn is_lost(&self) -> bool {
        self.disk().lost
    }

    /// Ends the process that uses this disk, whose calls fail from then on, and gives what the next one finds.
    pub fn restart(&self, loss: Loss) -> SimulatedFiles {
        let mut disk = self.disk();
        Self::with_disk(match loss {
            Loss::Process => disk.after_process_end(),
            Loss::Power => disk.after_power_loss(),
        })
    }

    /// The bytes of a file, as processes see them.
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let disk = self.disk();
        disk.live.files.get(name).map(|file| disk.files[*file].live.clone())
    }

    /// Puts other bytes in a file's place, on stable storage.
    pub fn set_contents(&self, name: &str, bytes: Vec<u8>) {
        let mut disk = self.disk();
        let disk = &mut *disk;
        let file = disk.live.files.get(name).copied().unwrap_or_else(|| {
            let file = disk.files.len();
            disk.files.push(disk::Contents::default());
            disk.add(name, file);
            disk.sync_folder(folder_of(name));
            disk.sync_folder("");
            file
        });
        disk.files[file] = disk::Contents { live: bytes.clone(), stable: bytes, unsynced: Vec::new() };
    }
}

impl Shared {
    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sync(&self, file: usize, name: &str) -> Result<()> {
        self.syncs.fetch_add(1, Relaxed);
        let delay = self.sync_delay_us.load(Relaxed);
        // What is written while the device is at work is not part of it.
        let before = self.disk().files[file].unsynced.len();
        if delay > 0 {
            std::thread::sleep(Duration::from_micros(delay));
        }
        let mut disk = self.disk();
        let disk = &mut *disk;
        let met = disk.meet(Operation::Sync);
        let contents = &mut disk.files[file];
        let later = contents.unsynced.split_off(before.min(contents.unsynced.len()));
        match met {
            None => contents.sync(),
            // With the power gone, it is the restart that decides.
            Some(FaultKind::PowerLoss) => {}
            Some(_) => contents.decide(&mut disk.random),
        }
        contents.unsynced.extend(later);
        met.map_or(Ok(()), |kind| Err(failed(kind, "sync", name)))
    }
}

impl Disk {
    fn add(&mut self, name: &str, file: usize) {
        let folder = folder_of(name).to_owned();
        if !folder.is_empty() && !self.live.folders.contains(&folder) {
            self.change_name(NameChange::Folder { name: folder });
        }
        self.change_name(NameChange::Link { name: name.to_owned(), file });
    }

    fn find(&self, name: &str) -> Result<usize> {
        self.live.files.get(name).copied().ok_or_else(|| {
            Error::new(SqlState::UndefinedFile, format!("cannot open \"{name}\": no such file"))
        })
    }

    fn try_to(&mut self, operation: Operation, what: &str, name: &str) -> Result<()> {
        self.meet(operation).map_or(Ok(()), |kind| Err(failed(kind, what, name)))
    }
}

fn failed(kind: FaultKind, what: &str, name: &str) -> Error {
    let (state, why) = match kind {
        FaultKind::DiskFull => (SqlState::DiskFull, "no space left on device"),
        FaultKind::Device => (SqlState::IoError, "input/output error"),
        FaultKind::PowerLoss => (SqlState::IoError, "the power is gone"),
    };
    Error::new(state, format!("cannot {what} \"{name}\": {why}"))
}

impl FileManager for SimulatedFiles {
    fn create(&self, name: &str) -> Result<Box<dyn FileWriter>> {
        let mut disk = self.disk();
        disk.try_to(Operation::Create, "create", name)?;
        if disk.live.files.contains_key(name) {
            return Err(Error::new(SqlState::IoError, format!("cannot create \"{name}\": it exists")));
        }
        let file = disk.files.len();
        disk.files.push(disk::Contents::default());
        disk.add(name, file);
        Ok(Box::new(Writer { shared: self.shared.clone(), file, name: name.into(), position: 0 }))
    }

    fn continue_at(&self, name: &str, length: u64) -> Result<Box<dyn FileWriter>> {
        let file = self.disk().find(name)?;
        let mut writer = Writer { shared: self.shared.clone(), file, name: name.into(), position: 0 };
        writer.cut(length)?;
        Ok(Box::new(writer))
    }

    fn open(&self, name: &str) -> Result<Arc<dyn FileReader>> {
        let mut disk = self.disk();
        let file = disk.find(name)?;
        disk.try_to(Operation::Read, "open", name)?;
        let bytes = disk.files[file].live.len() as u64;
        Ok(Arc::new(Reader { shared: self.shared.clone(), file, name: name.into(), bytes }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut disk = self.disk();
        disk.try_to(Operation::Rename, "rename", from)?;
        let file = disk.find(from)?;
        disk.change_name(NameChange::Rename { from: from.into(), to: to.into(), file });
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let mut disk = self.disk();
        disk.try_to(Operation::Remove, "remove", name)?;
        disk.find(name)?;
        disk.change_name(NameChange::Unlink { name: name.into() });
        Ok(())
    }

    fn list(&self, folder: &str) -> Result<Vec<FileEntry>> {
        let mut disk = self.disk();
        disk.try_to(Operation::Read, "list", folder)?;
        let below =
            |name: &str| folder.is_empty() || name.strip_prefix(folder).is_some_and(|r| r.starts_with('/'));
        let files = disk.live.files.iter().filter(|(name, _)| below(name));
        Ok(files
            .map(|(name, file)| FileEntry { name: name.clone(), bytes: disk.files[*file].live.len() as u64 })
            .collect())
    }

    fn sync_directory(&self, folder: &str) -> Result<()> {
        let mut disk = self.disk();
        disk.try_to(Operation::SyncDirectory, "sync", folder)?;
        disk.sync_folder(folder);
        Ok(())
    }

    fn lock(&self, _name: &str, owner: &Owner) -> Result<FileLock> {
        let mut disk = self.disk();
        if disk.owner.is_some() {
            return Err(held_by("the simulated disk", disk.owner.as_ref()));
        }
        disk.owner = Some(owner.clone());
        Ok(FileLock::new(Held(self.shared.clone())))
    }

    fn describe(&self) -> String {
        "the simulated disk".into()
    }
}

struct Held(Arc<Shared>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.disk().owner = None;
    }
}

#[derive(Debug)]
struct Reader {
    shared: Arc<Shared>,
    file: usize,
    name: String,
    bytes: u64,
}

impl FileReader for Reader {
    fn bytes(&self) -> u64 {
        self.bytes
    }
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let mut disk = self.shared.disk();
        disk.try_to(Operation::Read, "read", &self.name)?;
        let live = &disk.files[self.file].live;
        let from = usize::try_from(at).ok();
        let bytes = from.and_then(|from| live.get(from..from.checked_add(into.len())?));
        let bytes = bytes.ok_or_else(|| {
            Error::new(SqlState::IoError, format!("cannot read \"{}\": it ends before", self.name))
        })?;
        into.copy_from_slice(bytes);
        Ok(())
    }
    fn describe(&self) -> String {
        format!("\"{}\"", self.name)
    }
}

#[derive(Debug)]
struct Writer {
    shared: Arc<Shared>,
    file: usize,
    name: String,
    position: u64,
}

impl FileWriter for Writer {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let mut disk = self.shared.disk();
        let met = disk.meet(Operation::Write);
        let done = if met.is_some() { disk.random.below(bytes.len() + 1) } else { bytes.len() };
        let at = self.position as usize;
        disk.files[self.file].change(Change::Write { at, bytes: bytes[..done].to_vec() });
        if let Some(kind) = met {
            return Err(failed(kind, "write", &self.name));
        }
        self.position += bytes.len() as u64;
        Ok(())
    }
    fn position(&self) -> u64 {
        self.position
    }
    fn cut(&mut self, length: u64) -> Result<()> {
        let mut disk = self.shared.disk();
        disk.try_to(Operation::Cut, "cut", &self.name)?;
        let there = disk.files[self.file].live.len() as u64;
        if length > there {
            let message = format!("\"{}\" has {there} bytes, and {length} were expected", self.name);
            return Err(Error::new(SqlState::DataCorrupted, message));
        }
        disk.files[self.file].change(Change::Cut(length as usize));
        self.position = length;
        Ok(())
    }
    fn sync(&mut self) -> Result<()> {
        self.shared.sync(self.file, &self.name)
    }
    fn syncer(&self) -> Result<Arc<dyn FileSync>> {
        Ok(Arc::new(Syncer { shared: self.shared.clone(), file: self.file, name: self.name.clone() }))
    }
}

#[derive(Debug)]
struct Syncer {
    shared: Arc<Shared>,
    file: usize,
    name: String,
}

impl FileSync for Syncer {
    fn sync(&self) -> Result<()> {
        self.shared.sync(self.file, &self.name)
    }
}
