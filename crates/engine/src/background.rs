//! Background jobs: work that goes on after the statement that began it has returned, and periodic upkeep such as
//! checkpoints. Jobs end with the database.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use types::{Error, Result, SqlState};

/// When a step is to be followed by the next one.
pub(crate) enum Next {
    /// At once.
    Now,
    /// After this pause.
    After(Duration),
    /// Not at all: the job is done.
    Never,
}

/// The threads of a database's jobs, and the signal that ends them.
#[derive(Default)]
pub(crate) struct Background {
    stop: Arc<(Mutex<bool>, Condvar)>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Background {
    /// Runs `step` again and again on a thread of its own, until it says that nothing is left or the database ends. The
    /// database is held only while a step runs.
    pub fn spawn<T: Send + Sync + 'static>(
        &self,
        database: &Arc<T>,
        name: &str,
        mut step: impl FnMut(&Arc<T>) -> Next + Send + 'static,
    ) -> Result<()> {
        let (stop, database): (_, Weak<T>) = (self.stop.clone(), Arc::downgrade(database));
        let work = move || {
            while !*locked(&stop.0) {
                let Some(database) = database.upgrade() else { return };
                let next = step(&database);
                drop(database);
                match next {
                    Next::Now => {}
                    Next::Never => return,
                    Next::After(pause) => {
                        let waited = stop.1.wait_timeout_while(locked(&stop.0), pause, |stop| !*stop);
                        drop(waited);
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        let thread =
            thread.map_err(|e| Error::new(SqlState::OutOfMemory, format!("no thread to work in: {e}")))?;
        let mut threads = locked(&self.threads);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(())
    }

    /// Whether work of that name is going on.
    pub fn is_busy(&self, name: &str) -> bool {
        locked(&self.threads).iter().any(|t| t.thread().name() == Some(name) && !t.is_finished())
    }

    /// Returns when nothing is going on any more; the step that runs is carried out.
    pub fn end(&self) {
        *locked(&self.stop.0) = true;
        self.stop.1.notify_all();
        let threads = std::mem::take(&mut *locked(&self.threads));
        let own = std::thread::current().id();
        // The last handle to the database may be the one that a step held.
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != own) {
            // A step that panicked has ended that work, and nothing else.
            let _ = thread.join();
        }
    }
}
