//! A checkout stack for per-worker state.
//!
//! Work orders of one segment share no state while they run: each checks a `T` out (a hash table,
//! a sort buffer, a scratch batch), works on it alone and gives it back. There are never more `T`s
//! than orders that ran at the same time, and the last one given back is taken first, since it is
//! the one in the cache. Nothing depends on how many workers there are, which may change.
//!
//! Invariant: a `T` is either in the stack or in exactly one [`Checkout`]. One that was checked out
//! while its thread panicked is dropped, because it may be half changed.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// States that are not checked out; the one given back last is on top.
#[derive(Debug)]
pub struct Pool<T> {
    idle: Mutex<Vec<T>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool::new()
    }
}

impl<T> Pool<T> {
    /// An empty stack.
    pub const fn new() -> Self {
        Pool { idle: Mutex::new(Vec::new()) }
    }

    /// Takes the state given back last, or makes a new one. It returns to the stack when the
    /// guard is dropped. `make` runs without a lock.
    pub fn checkout(&self, make: impl FnOnce() -> T) -> Checkout<'_, T> {
        let found = self.lock().pop();
        Checkout { pool: self, value: Some(found.unwrap_or_else(make)) }
    }

    /// As [`Pool::checkout`] for a state whose making can fail.
    pub fn try_checkout<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<Checkout<'_, T>, E> {
        let found = self.lock().pop();
        let value = match found {
            Some(value) => value,
            None => make()?,
        };
        Ok(Checkout { pool: self, value: Some(value) })
    }

    /// Takes the state given back last by value; `None` when all are checked out.
    pub fn take(&self) -> Option<T> {
        self.lock().pop()
    }

    /// Puts a state in.
    pub fn give(&self, value: T) {
        self.lock().push(value);
    }

    /// Takes all states, for the merge after the last order.
    pub fn drain(&self) -> Vec<T> {
        std::mem::take(&mut *self.lock())
    }

    /// How many states are idle now.
    pub fn idle(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        // A push or pop that panicked (out of memory) leaves the vector whole.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A state checked out; dereferences to it.
#[derive(Debug)]
pub struct Checkout<'a, T> {
    pool: &'a Pool<T>,
    /// `None` only inside `drop` and `keep`.
    value: Option<T>,
}

impl<T> Checkout<'_, T> {
    /// Takes the state out of the pool for good.
    pub fn keep(mut self) -> Option<T> {
        self.value.take()
    }
}

impl<T> Deref for Checkout<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.value {
            Some(value) => value,
            // `keep` consumes the guard, so it cannot be used afterwards.
            None => unreachable!("the value leaves the guard only when the guard ends"),
        }
    }
}

impl<T> DerefMut for Checkout<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.value {
            Some(value) => value,
            None => unreachable!("the value leaves the guard only when the guard ends"),
        }
    }
}

impl<T> Drop for Checkout<'_, T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take()
            && !std::thread::panicking()
        {
            self.pool.give(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_reused_and_drained() {
        let pool = Pool::new();
        {
            let mut first = pool.checkout(|| vec![1]);
            let second = pool.checkout(|| vec![10]);
            first.push(2);
            assert_eq!(second.len(), 1);
        }
        assert_eq!(pool.idle(), 2);
        assert_eq!(*pool.checkout(Vec::new), vec![1, 2]);
        let mut all = pool.drain();
        all.sort();
        assert_eq!(all, vec![vec![1, 2], vec![10]]);
        assert!(pool.try_checkout(|| Err::<Vec<i32>, _>("no")).is_err());
        assert_eq!(pool.checkout(|| vec![7]).keep(), Some(vec![7]));
        assert_eq!(pool.idle(), 0);
    }

    #[test]
    fn a_state_in_a_panic_is_dropped() {
        let pool = Pool::new();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _state = pool.checkout(|| 1);
            panic!("half done");
        }));
        assert!(result.is_err());
        assert_eq!(pool.idle(), 0);
    }
}
