//! A database: its tables, its memory and its workers, shared by all sessions.
//!
//! A [`Database`] is a handle on `Shared`, which owns the catalog, the block pool, the memory budget, the scheduler
//! and, on disk, the store. Sessions hold a handle each; attached databases are mounts inside of `Shared`. With the
//! last handle the background jobs end, the log is checkpointed, and then the directory's lock is released: `alive`
//! is the last field, so that its end means that all of this has happened.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use catalog::{Access, Catalog, OpenReport, Store};
use files::{Capability, FileManager, LocalFiles};
use formats::Environment;
use formats::remote::{RemoteFiles, Stores, is_remote};
use memory::{Budget, Topology};
use pool::Pool;
use scheduler::Scheduler;
use types::{Error, Result, SqlState};

use crate::Session;
use crate::background::Background;
use crate::placement::WorkerAffinity;

/// What a database is opened with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads that execute work orders; all cores when not given.
    pub workers: Option<usize>,
    /// Bytes that tables, hash tables, sorts and results may use together; 80 % of the machine's when not given.
    pub memory_bytes: Option<u64>,
    /// A database on disk is opened as it is now, and not changed; others may write to it meanwhile.
    pub read_only: bool,
    /// Memory nodes as if the machine had so many, all equally far from each other: what that decides can be tried on
    /// any machine. Its own when not given.
    pub memory_nodes: Option<usize>,
    /// What the database and its sessions may open, and how object stores are reached; everything, with stores of its
    /// own, when not given. That of another database shares its stores, with their settings and secrets.
    pub environment: Option<Environment>,
}

impl Options {
    fn access(&self) -> Access {
        if self.read_only { Access::Read } else { Access::Write }
    }

    fn environment(&self) -> Environment {
        let embedded = || Environment::new(Capability::everything(), Stores::new());
        self.environment.clone().unwrap_or_else(embedded)
    }
}

/// A database, in memory or in a directory. Clones are handles to the same one; it ends with the last handle.
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

/// What all handles of a database share; it ends with the last of them.
pub(crate) struct Shared {
    /// What the main database is called.
    pub name: String,
    /// Databases that were attached to it.
    pub mounts: crate::mounts::Mounts,
    /// Functions that the host program has registered.
    pub definitions: crate::definitions::Definitions,
    /// Statements recorded for CALL advise.
    pub workload: crate::workload::Workload,
    /// Settings given to roles by ALTER ROLE.
    pub roles: crate::roles::Roles,
    /// Sessions that are open, by role.
    pub seats: crate::access::Seats,
    /// Traces and counts of statements that have ended.
    pub seen: Arc<crate::traces::Seen>,
    /// The main database's tables, views and other objects.
    pub catalog: Catalog,
    /// What its files are opened with, unless a session is given less. Texts are held as a whole as far as the budget has room.
    pub environment: Environment,
    /// Memory of blocks, with what is written to files when it does not fit.
    pub pool: Pool,
    /// The memory limit, and what is charged against it.
    pub budget: Budget,
    /// The workers, and the queries that they serve.
    pub scheduler: Scheduler,
    /// Jobs that run without a statement waiting for them.
    pub background: Background,
    /// Rolls back transactions that have been idle for too long.
    pub idle: crate::idle::IdleWatch,
    /// The files of a database on disk.
    pub store: Option<Arc<Store>>,
    /// Where statements put what does not fit memory.
    temporary: RwLock<Arc<dyn FileManager>>,
    /// The default folder for that and for evicted blocks: the database's own, or the machine's.
    own_temporary: PathBuf,
    /// Where worker threads run, as `SET worker_affinity` asks.
    pub affinity: Mutex<WorkerAffinity>,
    /// Plans run as they come out of their encoding; for tests.
    pub encoded_plans: std::sync::atomic::AtomicBool,
    /// The last field: it goes when everything else has gone, the directory's lock too.
    alive: Arc<()>,
}

/// A database that others keep open. See [`Database::downgrade`].
#[derive(Clone)]
pub struct WeakDatabase {
    shared: Weak<Shared>,
    alive: Weak<()>,
}

impl WeakDatabase {
    /// The database, if it is still open.
    pub fn upgrade(&self) -> Option<Database> {
        self.shared.upgrade().map(|shared| Database { shared })
    }

    /// Whether it has ended, and its directory is free: that is a moment after the last handle is dropped.
    pub fn is_gone(&self) -> bool {
        self.alive.strong_count() == 0
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.background.end();
        // What this does not write is in the log.
        if let Some(store) = self.store.as_ref().filter(|store| !store.is_read_only()) {
            let _ = crate::upkeep::checkpoint(store);
        }
    }
}

impl Database {
    /// A new, empty database in memory; its contents end with the last handle. Fails when `options.workers` is not
    /// between 1 and 1024.
    pub fn in_memory(options: Options) -> Result<Database> {
        let pool = Self::pool(&options);
        Self::with(options, pool, Catalog::new(), None, std::env::temp_dir())
    }

    fn pool(options: &Options) -> Pool {
        let limit = options.memory_bytes.unwrap_or_else(memory::default_limit_bytes);
        let budget = Budget::process_wide(limit);
        match options.memory_nodes {
            None => Pool::evicting(budget),
            Some(nodes) => {
                let processors = memory::allowed_processors().last().map_or(1, |last| last + 1);
                Pool::evicting_on(budget, Topology::emulated(nodes, processors.div_ceil(nodes.max(1))))
            }
        }
    }

    fn with(
        options: Options,
        pool: Pool,
        catalog: Catalog,
        store: Option<Arc<Store>>,
        temporary: PathBuf,
    ) -> Result<Database> {
        let workers = match options.workers {
            Some(workers) => checked_workers(workers)?,
            None => std::thread::available_parallelism().map_or(1, usize::from),
        };
        let budget = pool.budget().clone();
        let asked = budget.clone();
        let ask = move |bytes| asked.reserve(bytes).map(drop).map_err(operators::context::out_of_memory);
        let environment = options.environment().asking(Arc::new(ask));
        // No statement names the engine's own folder.
        let own_files = LocalFiles::new(&Capability::everything(), &temporary)?;
        let name = store.as_ref().and_then(|store| crate::mounts::name_of_main(&store.describe()));
        pool.set_temporary_folder(Some(&temporary));
        let shared = Shared {
            name: name.unwrap_or_else(|| crate::mounts::MAIN.to_owned()),
            mounts: Default::default(),
            definitions: Default::default(),
            workload: Default::default(),
            roles: Default::default(),
            seats: Default::default(),
            seen: Default::default(),
            catalog,
            environment,
            pool,
            budget,
            scheduler: Scheduler::with_thread_bytes(workers, memory::thread_bytes),
            background: Background::default(),
            idle: Default::default(),
            store,
            temporary: RwLock::new(Arc::new(own_files)),
            own_temporary: temporary,
            affinity: Default::default(),
            encoded_plans: Default::default(),
            alive: Arc::default(),
        };
        shared.scheduler.set_memory(shared.budget.limit());
        let database = Database { shared: Arc::new(shared) };
        database.tell_nodes();
        Ok(database)
    }

    /// Opens what `path` names: nothing or `:memory:` is a new database in memory, anything else a directory with a
    /// database, which is made where there is none.
    pub fn open(path: Option<&str>, options: Options) -> Result<Database> {
        match path {
            None | Some("" | ":memory:") => Self::in_memory(options),
            Some(path) => Self::on_disk(path, options).map(|(database, _)| database),
        }
    }

    /// Opens a database on disk, and tells what was found on the way. An address of an object store, such as
    /// `s3://bucket/directory`, is opened for reading.
    pub fn on_disk(path: &str, options: Options) -> Result<(Database, OpenReport)> {
        // The database goes on with the stores that it is opened through.
        let environment = options.environment();
        let options = Options { environment: Some(environment.clone()), ..options };
        if is_remote(path) {
            // Stores have neither locks nor renames, so a database there is read as it is.
            let options = Options { read_only: true, ..options };
            return Self::over(Arc::new(RemoteFiles::new(&environment, path)?), options);
        }
        let files = crate::upkeep::directory(environment.capability(), path, options.access())?;
        // A read-only database writes nothing into its directory.
        Self::of_files(files, options, |writes| match writes {
            true => crate::upkeep::temporary_folder(path),
            false => Ok(std::env::temp_dir()),
        })
    }

    /// As `on_disk`, whatever kind of files they are.
    pub fn over(files: Arc<dyn FileManager>, options: Options) -> Result<(Database, OpenReport)> {
        Self::of_files(files, options, |_| Ok(std::env::temp_dir()))
    }

    /// `temporary` says where its temporary files go, by whether it can be written.
    fn of_files(
        files: Arc<dyn FileManager>,
        options: Options,
        temporary: impl FnOnce(bool) -> Result<PathBuf>,
    ) -> Result<(Database, OpenReport)> {
        let pool = Self::pool(&options);
        let opened = Store::open(files, &pool, options.access())?;
        crate::traces::log_opened(&opened.store.describe(), &opened.report);
        let temporary = temporary(!opened.store.is_read_only())?;
        let database = Self::with(options, pool, opened.catalog, Some(opened.store), temporary)?;
        database.keep_up()?;
        Ok((database, opened.report))
    }

    /// A new session with default settings; any number may be open and work at the same time.
    pub fn session(&self) -> Session {
        Session::new(self.clone(), self.shared.environment.clone())
    }

    /// As `session`, whose statements may open only what the capability says.
    pub fn session_under(&self, capability: Capability) -> Session {
        Session::new(self.clone(), self.shared.environment.under(capability))
    }

    /// What the database may open, and how it reaches object stores: for the options of another one.
    pub fn environment(&self) -> Environment {
        self.shared.environment.clone()
    }

    /// What the main database is called.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// A handle that does not keep the database open.
    pub fn downgrade(&self) -> WeakDatabase {
        WeakDatabase { shared: Arc::downgrade(&self.shared), alive: Arc::downgrade(&self.shared.alive) }
    }

    /// Threads that execute work orders.
    pub fn workers(&self) -> usize {
        self.shared.scheduler.workers()
    }

    /// Takes hold at once, also for queries that are running.
    pub fn set_workers(&self, workers: usize) -> Result<()> {
        self.shared.scheduler.set_workers(checked_workers(workers)?);
        Ok(())
    }

    /// Bytes that tables, hash tables, sorts and results may use together.
    pub fn memory_limit(&self) -> u64 {
        self.shared.budget.limit()
    }

    /// Sets the limit in bytes for all sessions. Memory beyond it stays in use until the next reservation, which sees
    /// the new limit.
    pub fn set_memory_limit(&self, bytes: u64) {
        self.shared.budget.set_limit(bytes);
        self.shared.scheduler.set_memory(bytes);
    }

    /// The folder for what does not fit memory: blocks of tables, and what statements hold while they run.
    pub fn temp_directory(&self) -> String {
        let folder = self.shared.pool.temporary_folder();
        folder.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Sets it, for blocks evicted and statements begun from now on: without a value to the database's own, or in
    /// memory to the machine's. The folder must be there: a misspelt name is told now, and not by a statement that
    /// needs it. `''` is for tables: their blocks stay in memory then.
    pub fn set_temp_directory(&self, folder: Option<&str>) -> Result<()> {
        let capability = match folder {
            Some(_) => self.shared.environment.capability().clone(),
            None => Capability::everything(),
        };
        let folder = folder.map_or_else(|| self.shared.own_temporary.clone(), PathBuf::from);
        if folder.as_os_str().is_empty() {
            self.shared.pool.set_temporary_folder(None);
            return Ok(());
        }
        if !folder.is_dir() {
            let message = format!(
                "invalid value for setting \"temp_directory\": there is no folder \"{}\"",
                folder.display()
            );
            return Err(Error::new(SqlState::InvalidParameterValue, message)
                .with_hint("create the folder first, or name another one"));
        }
        let files = LocalFiles::new(&capability, &folder)?;
        self.shared.pool.set_temporary_folder(Some(&folder));
        self.set_temporary_files(Arc::new(files));
        Ok(())
    }

    /// What the pool of blocks has done so far.
    pub fn pool_statistics(&self) -> pool::PoolStatistics {
        self.shared.pool.statistics()
    }

    /// Where statements put what does not fit memory.
    pub fn temporary_files(&self) -> Arc<dyn FileManager> {
        self.shared.temporary.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// As `set_temp_directory`, for statements alone, and files of any kind.
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

    /// Whether blocks are being made anew, as ALTER TABLE ... SET asked for.
    pub fn is_reorganizing(&self) -> bool {
        self.shared.background.is_busy("reorganize")
    }

    /// Where names are looked up and tables live, those of attached databases aside.
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
