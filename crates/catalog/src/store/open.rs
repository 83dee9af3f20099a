//! Opening a database, and creating one.
//!
//! A writer takes the lock file first, a reader takes none. Then the identity is read, the state is recovered, and
//! the log is continued behind its last whole record, torn tails cut off and everything that was read made durable.
//! Orphaned files are removed. A database with a damaged table is opened for reading only, so that no log is
//! continued and nothing is removed. The engine calls `Store::open` for its main database and for attached ones.

use std::collections::HashSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use files::{FileLock, FileManager, FileWriter, Owner, read_all, write_whole};
use pool::Pool;
use types::{Error, Result, SqlState};

use super::block_files::BlockFiles;
use super::log::Log;
use super::log_format::{DatabaseId, HEADER_BYTES, header, new_id};
use super::names::{
    IDENTITY, LOCK, Listing, block_file_name, catalog_name, log_name, no_database, read_identity,
    write_identity,
};
use super::recovery::{Recovered, recover};
use super::{State, Store, catalog_file};
use crate::{Catalog, DamagedTable, Snapshot};

/// What a database is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Access {
    /// For this process alone; it is created where there is none.
    #[default]
    Write,
    /// As it is now. Nothing in the directory is changed; others may write meanwhile.
    Read,
}

/// An open database.
#[derive(Debug)]
pub struct Opened {
    /// The recovered state; its commits go to `store`.
    pub catalog: Catalog,
    /// The files, for checkpoints and checks.
    pub store: Arc<Store>,
    /// What opening found and did.
    pub report: OpenReport,
}

/// What was found, and done, on the way.
#[derive(Debug, Default)]
pub struct OpenReport {
    /// There was no database, and an empty one was made.
    pub created: bool,
    /// Commits that were made again from the log.
    pub replayed: u64,
    /// Logs that ended in a record that was not finished: name, where it began, bytes that were cut off.
    pub torn: Vec<(String, u64, u64)>,
    /// Files that belonged to nothing, and were removed.
    pub removed: Vec<String>,
    /// Tables that cannot be read. The database is open for reading only then.
    pub damaged: Vec<DamagedTable>,
    /// Checkpoints that could not be read, and were not needed.
    pub unreadable: Vec<Error>,
}

impl Store {
    /// Opens the database in a directory. 55P03 when another process has it open for writing, 58P01 when it is to be
    /// read and is not there, XX001 when its catalog or log is damaged, 0A000 when a newer version has written it.
    pub fn open(files: Arc<dyn FileManager>, pool: &Pool, access: Access) -> Result<Opened> {
        match access {
            Access::Write => {
                let lock = files.lock(LOCK, &Owner::this_process())?;
                Self::open_locked(files, pool, Some(lock))
            }
            Access::Read => {
                // A checkpoint of the process that writes may take files away between two looks.
                const LOOKS: usize = 5;
                for _ in 1..LOOKS {
                    let opened = Self::open_locked(files.clone(), pool, None);
                    if opened.is_ok() || !Listing::of(&*files)?.identity {
                        return opened;
                    }
                }
                Self::open_locked(files, pool, None)
            }
        }
    }

    fn open_locked(files: Arc<dyn FileManager>, pool: &Pool, lock: Option<FileLock>) -> Result<Opened> {
        let mut report = OpenReport::default();
        let mut listing = Listing::of(&*files)?;
        if !listing.identity {
            if lock.is_none() {
                return Err(no_database(&*files, &format!("it has no file \"{IDENTITY}\"")));
            }
            create(&*files, &listing)?;
            report.created = true;
            listing = Listing::of(&*files)?;
        }
        let (id, format) = read_identity(&*files)?;
        let blocks = BlockFiles::new(files.clone());
        let recovered = recover(&*files, &blocks, pool, &id, &listing)?;
        report.replayed = recovered.replayed;
        report.damaged = recovered.snapshot.damaged.to_vec();
        report.unreadable.clone_from(&recovered.unreadable);
        let torn = recovered.logs.iter().filter(|log| log.torn > 0);
        report.torn = torn.map(|l| (log_name(l.number), l.end.unwrap_or(0) as u64, l.torn as u64)).collect();
        let writable = lock.is_some() && report.damaged.is_empty();
        let refusal = report.damaged.first().map(|damaged| {
            let message = "the database is open for reading only, because a part of it is damaged";
            Error::new(SqlState::ReadOnly, message)
                .with_detail(damaged.error.message().to_owned())
                .with_hint("EXPORT what can be read, and import it into a new database")
        });
        let log = match writable {
            true => Some(continued(&*files, &id, &recovered)?),
            false => None,
        };
        if writable {
            report.removed = remove_orphans(&*files, &listing, &recovered);
        }
        let log_number = recovered.logs.last().map_or(recovered.catalog_number, |log| log.number);
        let next_file = listing.block_files.last().map_or(1, |last| last + 1);
        let latest = Arc::new(recovered.snapshot.clone());
        let state = State {
            latest,
            log_number,
            catalog_number: recovered.catalog_number,
            log_records: recovered.replayed,
            recorded: recovered.recorded,
            pending: None,
            places: recovered.places,
            catalog_files: recovered.catalog_files,
            log_files: recovered.log_files,
            writing: HashSet::new(),
        };
        let store = Arc::new(Store {
            files,
            blocks,
            packing: Mutex::default(),
            direct_reads: Mutex::default(),
            format: format.into(),
            inline_bytes_max: super::INLINE_BYTES_MAX.into(),
            id,
            log,
            refusal,
            state: Mutex::new(state),
            next_block_file: AtomicU64::new(next_file),
            checkpoints: Mutex::new(()),
            _lock: lock,
        });
        store.choose_reads();
        let catalog = Catalog::starting_with(recovered.snapshot, Some(store.clone()));
        Ok(Opened { catalog, store, report })
    }
}

/// Creates a database. Its identity is written last: without it the next open begins again.
fn create(files: &dyn FileManager, listing: &Listing) -> Result<()> {
    if let Some(strange) = listing.strange.first() {
        return Err(no_database(files, &format!("it holds \"{strange}\"")));
    }
    let numbers = listing.catalogs.iter().chain(&listing.logs);
    let mut begun = numbers.into_iter().all(|number| *number == 1) && listing.block_files.is_empty();
    if listing.logs.contains(&1) {
        begun &= files.open(&log_name(1))?.bytes() <= HEADER_BYTES as u64;
    }
    if !begun {
        let message = format!("\"{}\" has lost its file \"{IDENTITY}\"", files.describe());
        return Err(Error::new(SqlState::DataCorrupted, message)
            .with_hint("restore that file, or the database, from a backup"));
    }
    let id = new_id();
    let empty = catalog_file::write(&Snapshot::new(), &id, 1, 0, |_| {
        Err(Error::internal("a new database has no blocks"))
    })?;
    write_whole(files, &catalog_name(1), &empty)?;
    begin_log(files, &id, 1)?;
    write_identity(files, &id)
}

/// A new log, on stable storage with its name; one of that name that was never used is written anew.
pub(super) fn begin_log(
    files: &dyn FileManager,
    id: &DatabaseId,
    number: u64,
) -> Result<Box<dyn FileWriter>> {
    let name = log_name(number);
    let mut writer = match files.create(&name) {
        Err(_) if files.open(&name).is_ok() => files.continue_at(&name, 0)?,
        other => other?,
    };
    writer.write(&header(id, number))?;
    writer.sync()?;
    files.sync_directory("")?;
    Ok(writer)
}

/// The log to be written on, torn tails gone, and all that was read on stable storage: it has been seen. Syncing the files
/// would not do. When the process before met a failing sync, what it wrote may be in the machine's memory alone, and
/// count as written: so it is written anew.
fn continued(files: &dyn FileManager, id: &DatabaseId, recovered: &Recovered) -> Result<Log> {
    let mut last = None;
    for log in &recovered.logs {
        let name = log_name(log.number);
        last = Some(match log.end {
            Some(end) => {
                if !log.is_durable(&recovered.logs) {
                    let bytes = read_all(files, &name)?;
                    write_whole(files, &name, bytes.get(..end).unwrap_or(&bytes))?;
                }
                files.continue_at(&name, end as u64)?
            }
            None => begin_log(files, id, log.number)?,
        });
    }
    // Names that a process wrote before it was killed may not be durable either.
    files.sync_directory("")?;
    let writer = last.ok_or_else(|| Error::internal("a database without a log"))?;
    debug_assert!(writer.position() >= HEADER_BYTES as u64);
    Log::new(writer, recovered.last_record, "database")
}

/// Removes what a crash left; what cannot be removed is left for the next time.
fn remove_orphans(files: &dyn FileManager, listing: &Listing, recovered: &Recovered) -> Vec<String> {
    let mut orphans = listing.unfinished.clone();
    let older = |numbers: &[u64]| numbers.iter().copied().filter(|n| *n < recovered.catalog_number).collect();
    let (catalogs, logs): (Vec<u64>, Vec<u64>) = (older(&listing.catalogs), older(&listing.logs));
    orphans.extend(catalogs.into_iter().map(catalog_name));
    orphans.extend(logs.into_iter().map(log_name));
    let used = |file: &&u64| recovered.catalog_files.contains(*file) || recovered.log_files.contains(*file);
    orphans.extend(listing.block_files.iter().filter(|file| !used(file)).map(|file| block_file_name(*file)));
    orphans.retain(|name| files.remove(name).is_ok());
    orphans
}
