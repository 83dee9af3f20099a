//! A database: its tables, its memory and its workers, shared by all sessions.

use std::sync::{Arc, PoisonError, RwLock};

use catalog::Catalog;
use memory::Budget;
use pool::Pool;
use pool::files::{FileManager, LocalFiles};
use scheduler::Scheduler;
use types::{Error, Result, SqlState};

use crate::Session;

/// What a database is opened with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads that execute work orders; all cores when not given.
    pub workers: Option<usize>,
    /// Bytes that tables, hash tables, sorts and results may use together; 80 % of the machine's when not given.
    pub memory_bytes: Option<u64>,
}

/// A database in memory. Clones are handles to the same one; it ends with the last handle.
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub definitions: crate::definitions::Definitions,
    pub catalog: Catalog,
    pub pool: Pool,
    pub budget: Budget,
    pub scheduler: Scheduler,
    /// Where statements put what does not fit memory.
    temporary: RwLock<Arc<dyn FileManager>>,
}

/// The folder for temporary files where nobody named one.
fn default_temporary() -> Arc<dyn FileManager> {
    Arc::new(LocalFiles::new(std::env::temp_dir()))
}

impl Database {
    pub fn in_memory(options: Options) -> Result<Database> {
        let workers = match options.workers {
            Some(workers) => checked_workers(workers)?,
            None => std::thread::available_parallelism().map_or(1, usize::from),
        };
        let budget = Budget::process_wide(options.memory_bytes.unwrap_or_else(memory::default_limit_bytes));
        Ok(Database {
            shared: Arc::new(Shared {
                definitions: Default::default(),
                catalog: Catalog::new(),
                pool: Pool::new(budget.clone()),
                budget,
                scheduler: Scheduler::new(workers),
                temporary: RwLock::new(default_temporary()),
            }),
        })
    }

    /// Opens what `path` names: nothing or `:memory:` is a new database in memory. A database on disk is refused:
    /// pretending to keep data would lose it.
    pub fn open(path: Option<&str>, options: Options) -> Result<Database> {
        match path {
            None | Some("" | ":memory:") => Self::in_memory(options),
            Some(path) => Err(Error::unsupported(format!("cannot open \"{path}\": databases on disk are not supported yet"))
                .with_hint(
                    "leave the path out to work in memory; load files with CREATE TABLE t AS SELECT * FROM 'file.parquet'",
                )),
        }
    }

    pub fn session(&self) -> Session {
        Session::new(self.clone())
    }

    pub fn workers(&self) -> usize {
        self.shared.scheduler.workers()
    }

    /// Takes hold at once, also for queries that are running.
    pub fn set_workers(&self, workers: usize) -> Result<()> {
        self.shared.scheduler.set_workers(checked_workers(workers)?);
        Ok(())
    }

    pub fn memory_limit(&self) -> u64 {
        self.shared.budget.limit()
    }

    pub fn set_memory_limit(&self, bytes: u64) {
        self.shared.budget.set_limit(bytes);
    }

    /// Where statements put what does not fit memory.
    pub fn temporary_files(&self) -> Arc<dyn FileManager> {
        self.shared.temporary.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the folder for temporary files, for statements that begin from now on; `None` restores the default. The
    /// folder must be there: a misspelt name is told now, and not by a statement that needs it.
    pub fn set_temporary_directory(&self, folder: Option<&str>) -> Result<()> {
        let files: Arc<dyn FileManager> = match folder {
            None => default_temporary(),
            Some(folder) if std::path::Path::new(folder).is_dir() => Arc::new(LocalFiles::new(folder)),
            Some(folder) => {
                let message =
                    format!("invalid value for setting \"temp_directory\": there is no folder \"{folder}\"");
                return Err(Error::new(SqlState::InvalidParameterValue, message)
                    .with_hint("create the folder first, or name another one"));
            }
        };
        self.set_temporary_files(files);
        Ok(())
    }

    /// As `set_temporary_directory`, for files of any kind.
    pub fn set_temporary_files(&self, files: Arc<dyn FileManager>) {
        *self.shared.temporary.write().unwrap_or_else(PoisonError::into_inner) = files;
    }

    /// Bytes in use now, and the most that were. Memory kept for the next statements counts as used: see
    /// [`Database::release_idle_memory`].
    pub fn memory_used(&self) -> (u64, u64) {
        (self.shared.budget.used(), self.shared.budget.peak())
    }

    /// Gives memory that no statement uses, and that is kept for the next ones, back to the machine; returns how
    /// many bytes. Happens by itself where the limit would be exceeded.
    pub fn release_idle_memory(&self) -> u64 {
        self.shared.budget.reclaim()
    }

    /// Where names are looked up and tables live.
    pub fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }
}

fn checked_workers(workers: usize) -> Result<usize> {
    if (1..=1024).contains(&workers) {
        Ok(workers)
    } else {
        Err(Error::new(SqlState::InvalidParameterValue, format!("invalid number of workers: {workers}"))
            .with_hint("expected a number from 1 to 1024"))
    }
}
