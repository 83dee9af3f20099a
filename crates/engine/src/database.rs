//! A database: its tables, its memory and its workers, shared by all sessions.
//!
//! A [`Database`] is a handle on `Shared`, which owns the catalog, the block pool, the memory budget, the scheduler
//! and, on disk, the store. Sessions hold a handle each; attached databases are mounts inside of `Shared`. With the
//! last handle the background jobs end, the log is checkpointed, and then the directory's lock is released: `alive`
//! is the last field, so that its end means that all of this has happened.

mod opening;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock, Weak};

use catalog::{Access, Catalog, Store};
use files::{Capability, FileManager};
use formats::Environment;
use formats::remote::Stores;
use memory::Budget;
use pool::Pool;
use scheduler::Scheduler;

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
    /// Sessions that are open, with what others see of them.
    pub sessions: crate::sessions::Sessions,
    /// What is told to an audit log.
    pub audit: crate::audit::Audit,
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
    /// Expressions that were compiled.
    pub code: Arc<codegen::Cache>,
    /// The workers, and the queries that they serve.
    pub scheduler: Scheduler,
    /// Further engines of this process, where a session has its queries run on several.
    pub clusters: crate::cluster::Clusters,
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
    /// The limit of memory and the number of workers that it was opened with, which RESET goes back to.
    pub opened_with: (u64, usize),
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
