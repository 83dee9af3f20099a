//! Databases on disk that this process has open: a second connection to one gets the same database.
//!
//! The list is of the process, as the lock of a database's directory is. It keeps nothing open: connections do, by
//! their `Ticket`s, of which the last one that is given back waits until the directory is free.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::{Database, Error, Options, Result, SqlState, WeakDatabase};

/// How long a connection waits for the end of a database: statements that still run on other threads are being stopped.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A database on disk that connections hold open.
struct Open {
    database: WeakDatabase,
    options: Options,
    /// The threads of a database are not in a forked child.
    process: u32,
    tickets: std::sync::Weak<WeakDatabase>,
}

/// Open databases by the path of their directory.
static OPEN: Mutex<BTreeMap<PathBuf, Open>> = Mutex::new(BTreeMap::new());

/// What each connection to a database on disk holds.
#[derive(Clone, Default)]
pub struct Ticket(Option<Arc<WeakDatabase>>);

impl Ticket {
    /// Gives it back, after the connection's session has gone: when no other connection is left, returns once the
    /// directory is free for other processes.
    pub fn give_back(self) {
        if let Some(last) = self.0.and_then(Arc::into_inner) {
            wait_until_gone(&last);
        }
    }
}

fn wait_until_gone(database: &WeakDatabase) {
    let begun = Instant::now();
    while !database.is_gone() && begun.elapsed() < PATIENCE {
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Opens what `path` names, or shares it. Without the interpreter's lock.
pub fn open(path: Option<&str>, options: Options) -> Result<(Database, Ticket)> {
    let Some(path) = path.filter(|path| !path.is_empty() && *path != ":memory:" && !path.contains("://"))
    else {
        return Ok((Database::open(path, options)?, Ticket::default()));
    };
    let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    all.retain(|_, open| open.process == process && !open.database.is_gone());
    if let Some(open) = all.get(&resolved(path)) {
        if let Some(database) = open.database.upgrade() {
            agree(path, &open.options, &options)?;
            let ticket = open.tickets.upgrade().unwrap_or_else(|| Arc::new(database.downgrade()));
            let open = Open {
                tickets: Arc::downgrade(&ticket),
                options: open.options.clone(),
                process,
                database: database.downgrade(),
            };
            all.insert(resolved(path), open);
            return Ok((database, Ticket(Some(ticket))));
        }
        // Its last connection has been closed just now.
        wait_until_gone(&open.database);
    }
    let database = Database::open(Some(path), options.clone())?;
    let ticket = Arc::new(database.downgrade());
    let tickets = Arc::downgrade(&ticket);
    all.insert(resolved(path), Open { database: database.downgrade(), options, process, tickets });
    Ok((database, Ticket(Some(ticket))))
}

/// A path by which a directory is known, however it is written.
fn resolved(path: &str) -> PathBuf {
    let path = Path::new(path);
    std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// Whether a connection may share the database: what it asks for is as it is.
fn agree(path: &str, open: &Options, wanted: &Options) -> Result<()> {
    let mut differ = Vec::new();
    if open.read_only != wanted.read_only {
        differ.push(if open.read_only { "read-only" } else { "for writing" }.to_owned());
    }
    let workers = wanted.workers.filter(|_| wanted.workers != open.workers);
    if workers.is_some() {
        differ.push(
            open.workers.map_or("with workers as many as cores".to_owned(), |n| format!("with workers={n}")),
        );
    }
    let memory = wanted.memory_bytes.filter(|_| wanted.memory_bytes != open.memory_bytes);
    if memory.is_some() {
        differ.push(
            open.memory_bytes.map_or("with the default memory".to_owned(), |n| format!("with memory={n}")),
        );
    }
    if differ.is_empty() {
        return Ok(());
    }
    let message = format!(
        "\"{path}\" is open in this process {}, and cannot be opened with other options",
        differ.join(", ")
    );
    Err(Error::new(SqlState::LockNotAvailable, message)
        .with_hint("connect with the same options, or close the other connections first"))
}
