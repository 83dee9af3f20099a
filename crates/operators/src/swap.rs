//! Memory of a query that stands still: what is only read goes to files of its own, and comes back when it goes on.
//!
//! `QueryContext::put_away` is called for a paused or suspended query with the memory that its operators name. The
//! memory stays at its address and can be read at any time, from its file if need be, so operators need not know.
//! Before each work order the query tries to bring it back, as far as the budget has room, and waits a while after a
//! refusal. A query that ends brings its memory back on a thread of its own, since it has to be in place before it is
//! freed.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use memory::{Budget, Bytes, Swapped};
use vector::Vector;

/// A column of one batch may be foreign memory, such as an array of the host program, which may write to it. A column
/// longer than the longest batch was put together by operators.
const FOREIGN_ROWS_MAX: usize = 1 << 16;

/// Until it is tried again to bring back what there was no memory for.
const PATIENCE: Duration = Duration::from_millis(100);

/// The memory of a column's numbers, if operators put them together.
pub(crate) fn put_together(column: &Vector) -> Option<&[u8]> {
    column.fixed_bytes().filter(|_| column.len() > FOREIGN_ROWS_MAX)
}

/// What of a query is away.
#[derive(Debug, Default)]
pub struct SwappedStates {
    states: Mutex<States>,
    any: AtomicBool,
}

#[derive(Debug, Default)]
struct States {
    away: Vec<Swapped>,
    /// Where their memory is counted when it comes back.
    budget: Option<Budget>,
    /// The time before which memory is not brought back again, after there was none to bring it back into.
    not_before: Option<Instant>,
}

/// What came of bringing everything back.
enum Return {
    Complete,
    /// There is no memory for the rest.
    NoRoom,
    /// The file cannot be read.
    Failed,
}

impl States {
    /// Brings back what there is room for, owner by owner.
    fn bring_back(&mut self) -> Return {
        while let Some(away) = self.away.last_mut() {
            while away.bytes() > 0 {
                // It is counted where it lies from then on.
                let room = self.budget.as_ref().map(|budget| budget.reserve(away.next_bytes()));
                if matches!(room, Some(Err(_))) {
                    return Return::NoRoom;
                }
                if away.bring_back_some().is_err() {
                    return Return::Failed;
                }
            }
            self.away.pop();
        }
        Return::Complete
    }
}

impl SwappedStates {
    /// Whether something is away that may come back.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.any.load(Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the memory to a file of the pool's; keeps what cannot be written in memory, and logs why.
    pub(crate) fn put(&self, bytes: Bytes, pool: &pool::Pool, stop: impl FnMut() -> bool) {
        if bytes.is_empty() {
            return;
        }
        let Some(file) = pool.unnamed_file() else { return };
        let outcome = file.map(|file| Swapped::put(bytes, file, stop));
        let failed = match outcome {
            Ok((away, outcome)) => {
                if away.bytes() > 0 {
                    let mut states = self.lock();
                    states.away.push(away);
                    states.budget = Some(pool.budget().clone());
                    states.not_before = None;
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

    /// Run by the first caller; others continue meanwhile. Memory that does not fit can be read in its file until
    /// there is room.
    #[cold]
    pub(crate) fn bring_back(&self) {
        let mut states = match self.states.try_lock() {
            Ok(states) => states,
            Err(TryLockError::Poisoned(states)) => states.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if states.not_before.is_some_and(|not_before| Instant::now() < not_before) {
            return;
        }
        match states.bring_back() {
            Return::Complete => self.any.store(false, Relaxed),
            Return::NoRoom | Return::Failed => states.not_before = Some(Instant::now() + PATIENCE),
        }
    }
}

impl Drop for SwappedStates {
    fn drop(&mut self) {
        let states = std::mem::take(self.states.get_mut().unwrap_or_else(PoisonError::into_inner));
        if states.away.is_empty() {
            return;
        }
        // A cancelled query does not wait for its memory to be read back, which has to happen before it is freed. The
        // memory is not needed, so it comes when there is room, one owner after the other.
        let states = Arc::new(Mutex::new(states));
        let theirs = states.clone();
        let freed = move || {
            let mut states = theirs.lock().unwrap_or_else(PoisonError::into_inner);
            while matches!(states.bring_back(), Return::NoRoom) {
                std::thread::sleep(PATIENCE);
            }
        };
        // Where there are no threads, it is done here.
        let _ = std::thread::Builder::new().name("memory".to_owned()).spawn(freed);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn listed(owner: &Arc<Vec<u8>>) -> Bytes {
        let mut bytes = Bytes::default();
        bytes.add(owner, |bytes, name| name(bytes));
        bytes
    }

    #[test]
    fn what_finds_no_room_comes_back_when_there_is() {
        let budget = Budget::new(64 << 20);
        let pool = pool::Pool::evicting(budget.clone());
        pool.set_temporary_folder(Some(&std::env::temp_dir()));
        let owner = Arc::new(vec![7u8; 8 << 20]);
        let states = SwappedStates::default();
        states.put(listed(&owner), &pool, || false);
        assert!(states.any());
        let full = budget.reserve(60 << 20).unwrap();
        states.bring_back();
        assert!(states.any() && owner.iter().all(|byte| *byte == 7));
        drop(full);
        let begun = Instant::now();
        while states.any() {
            states.bring_back();
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
        assert!(owner.iter().all(|byte| *byte == 7));
    }

    #[test]
    fn what_nobody_needs_waits_for_room_to_be_freed() {
        let budget = Budget::new(64 << 20);
        let pool = pool::Pool::evicting(budget.clone());
        pool.set_temporary_folder(Some(&std::env::temp_dir()));
        let owner = Arc::new(vec![9u8; 8 << 20]);
        let watched = Arc::downgrade(&owner);
        let states = SwappedStates::default();
        states.put(listed(&owner), &pool, || false);
        drop(owner);
        let full = budget.reserve(60 << 20).unwrap();
        drop(states);
        std::thread::sleep(2 * PATIENCE);
        assert!(watched.strong_count() > 0, "it would take memory that others have");
        drop(full);
        let begun = Instant::now();
        while watched.strong_count() > 0 {
            assert!(begun.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
