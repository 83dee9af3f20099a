//! Memory of a query that stands still: what is only read goes to files of its own, and comes back when it goes on.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use memory::{Away, Budget, Bytes};
use vector::Vector;

/// A column of one batch may be somebody else's memory, such as an array of the host's program, who may write it. What is
/// longer than the longest batch was put together by operators.
const FOREIGN_ROWS_MAX: usize = 1 << 16;

/// The memory of a column's numbers, if operators put them together.
pub(crate) fn put_together(column: &Vector) -> Option<&[u8]> {
    column.fixed_bytes().filter(|_| column.len() > FOREIGN_ROWS_MAX)
}

/// What of a query is away.
#[derive(Debug, Default)]
pub struct AwayStates {
    states: Mutex<Vec<Away>>,
    any: AtomicBool,
}

impl AwayStates {
    /// Whether something is away that may come back.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.any.load(Relaxed)
    }

    pub(crate) fn put(&self, bytes: Bytes, pool: &pool::Pool, stop: impl FnMut() -> bool) {
        if bytes.is_empty() {
            return;
        }
        let Some(file) = pool.unnamed_file() else { return };
        let outcome = file.map(|file| Away::put(bytes, file, stop));
        let failed = match outcome {
            Ok((away, outcome)) => {
                if away.bytes() > 0 {
                    self.states.lock().unwrap_or_else(PoisonError::into_inner).push(away);
                    self.any.store(true, Relaxed);
                }
                outcome.err().map(|error| error.to_string())
            }
            Err(error) => Some(error.message().to_owned()),
        };
        if let Some(reason) = failed {
            tracing::warn!(target: "quickstep::memory", reason, "memory of a query that stands still stays in memory");
        }
    }

    /// By whoever comes first; others go on beside.
    #[cold]
    pub(crate) fn bring_back(&self, budget: &Budget) {
        let Ok(mut states) = self.states.try_lock() else { return };
        for away in states.iter_mut() {
            // It is counted where it lies from then on.
            let Ok(_room) = budget.reserve(away.bytes()) else { break };
            if away.bring_back().is_err() {
                break;
            }
        }
        states.retain(|away| away.bytes() > 0);
        // What there is no memory for stays in its file to the end, or until the query stands still once more.
        self.any.store(false, Relaxed);
    }
}

impl Drop for AwayStates {
    fn drop(&mut self) {
        let states = std::mem::take(self.states.get_mut().unwrap_or_else(PoisonError::into_inner));
        if states.is_empty() {
            return;
        }
        // Who cancelled the query does not wait for its memory to be read back, which has to be before it is freed.
        let states = std::sync::Arc::new(Mutex::new(states));
        let theirs = states.clone();
        let freed = move || drop(std::mem::take(&mut *theirs.lock().unwrap_or_else(PoisonError::into_inner)));
        // Where there are no threads, it is done here.
        let _ = std::thread::Builder::new().name("memory".to_owned()).spawn(freed);
    }
}
