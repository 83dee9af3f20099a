//! Opening a database, beginning sessions, and what its owner asks of it.
//!
//! In memory a database has no store; on disk its directory is locked, recovered and watched by checkpoints. What all of
//! its handles share is made here once (`Shared`), in the order in which its parts need each other: budget, pool, catalog,
//! scheduler. Called by the command, the server, the interfaces of Rust and Python, and by ATTACH.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use catalog::{Catalog, OpenReport, Store};
use files::{Capability, FileManager, LocalFiles};
use formats::Environment;
use formats::remote::{RemoteFiles, is_remote};
use memory::{Budget, Topology};
use pool::Pool;
use scheduler::Scheduler;
use types::{Error, Result, SqlState};

use super::{Database, Options, Shared, WeakDatabase};
use crate::Session;
use crate::background::Background;

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
        let budget_opened = budget.limit();
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
            sessions: Default::default(),
            audit: Default::default(),
            seen: Default::default(),
            catalog,
            environment,
            pool,
            code: codegen::Cache::new(budget.clone()),
            budget,
            scheduler: Scheduler::with_thread_bytes(workers, memory::thread_bytes),
            clusters: Default::default(),
            background: Background::default(),
            idle: Default::default(),
            store,
            temporary: RwLock::new(Arc::new(own_files)),
            own_temporary: temporary,
            opened_with: (budget_opened, workers),
            affinity: Default::default(),
            encoded_plans: Default::default(),
            alive: Arc::default(),
        };
        shared.scheduler.set_memory(shared.budget.limit());
        let database = Database { shared: Arc::new(shared) };
        database.tell_nodes();
        Ok(database)
    }

    /// Whether its contents end with the last handle.
    pub fn is_in_memory(&self) -> bool {
        self.shared.store.is_none()
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
        Session::new(self.clone(), self.shared.environment.clone()).listed()
    }

    /// As `session`, whose statements may open only what the capability says.
    pub fn session_under(&self, capability: Capability) -> Session {
        Session::new(self.clone(), self.shared.environment.under(capability)).listed()
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
