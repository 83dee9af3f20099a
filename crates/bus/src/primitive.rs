//! The synchronisation primitives of the crate: the standard library's, or loom's under its model checker.

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard,
    atomic::{AtomicU64, Ordering},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard,
    atomic::{AtomicU64, Ordering},
};

use std::sync::PoisonError;

/// Locks. A panic under a lock of this crate is a broken invariant that has been reported where it happened; what the
/// lock guards is whole at every point where user code could panic, since none runs under it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn with_write<T, R>(lock: &RwLock<T>, change: impl FnOnce(&mut T) -> R) -> R {
    change(&mut lock.write().unwrap_or_else(PoisonError::into_inner))
}
