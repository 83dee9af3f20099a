//! Where the bus is kept: what every storage does, and the thread that syncs in asynchronous mode.

mod log;
mod recovery;
#[cfg(feature = "redb")]
mod store;

pub(crate) use log::{LogJournal, LogOptions};
#[cfg(feature = "redb")]
pub(crate) use store::StoreJournal;

use std::fmt::Debug;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use types::Result;

use crate::state::Change;

/// Keeps the changes of a bus, in the order of the calls of `record`.
pub(crate) trait Journal: Debug + Send + Sync {
    /// Takes a change, and gives a ticket to wait for it. After an error it is as if nothing had been asked.
    fn record(&self, change: Change) -> Result<u64>;
    /// In synchronous mode, returns when the change is durable; in asynchronous mode, at once.
    fn wait(&self, ticket: u64) -> Result<()>;
    /// Returns when everything recorded before is durable.
    fn flush(&self) -> Result<()>;
}

/// A thread that does something again and again until it is dropped.
#[derive(Debug)]
pub(crate) struct Background {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// `act` runs after each `interval`, and a last time at the end.
    pub(crate) fn start(interval: Duration, act: impl Fn() + Send + 'static) -> Result<Background> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = stop.clone();
        let run = move || {
            let (stopped, signal) = &*theirs;
            loop {
                let guard = stopped.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = signal.wait_timeout_while(guard, interval, |stopped| !*stopped);
                let last = *waited.unwrap_or_else(PoisonError::into_inner).0;
                act();
                if last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("bus-sync".into()).spawn(run).map_err(|error| {
            types::Error::new(types::SqlState::OutOfMemory, format!("the bus cannot start a thread: {error}"))
        })?;
        Ok(Background { stop, thread: Some(thread) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // An error that it met is kept in the log, or the store, for the next call.
            let _ = thread.join();
        }
    }
}
