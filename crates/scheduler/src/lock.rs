//! Locks of values that are put in and taken out whole.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What the mutexes here protect is put in and taken out whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
