//! Panics of foreign decoders that are caught where they happen: bytes of strangers are their reason, and they are told
//! as errors. Without this each of them would also be printed to standard error, with which whoever sends such bytes
//! fills a log.
//!
//! The hook that prints panics is the process's. It is wrapped once, the first time that something is caught here; the
//! wrapper says nothing of panics on threads that are inside of [`caught`], and hands on all others.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Calls of `caught` that this thread is inside of.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// As `catch_unwind`, and the panic is not printed.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            INSIDE.set(INSIDE.get() - 1);
        }
    }
    static WRAPPED: Once = Once::new();
    WRAPPED.call_once(|| {
        let prints = take_hook();
        set_hook(Box::new(move |panic| {
            // A thread whose variables are gone is inside of nothing.
            if INSIDE.try_with(Cell::get).unwrap_or(0) == 0 {
                prints(panic);
            }
        }));
    });
    INSIDE.set(INSIDE.get() + 1);
    let _leave = Leave;
    catch_unwind(AssertUnwindSafe(work))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    #[test]
    fn panics_inside_are_caught_and_not_told_and_others_are() {
        let told = Arc::new(AtomicUsize::new(0));
        let counts = told.clone();
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            // Other tests of this process may panic, too.
            if panic.payload().downcast_ref::<&str>().is_some_and(|text| text.starts_with("planted")) {
                counts.fetch_add(1, SeqCst);
            }
        }));
        assert_eq!(caught(|| 7).ok(), Some(7));
        let inner = caught(|| {
            assert!(caught(|| panic!("planted inside")).is_err());
            panic!("planted behind it")
        });
        assert!(inner.is_err_and(|panic: Box<dyn Any + Send>| panic.is::<&str>()));
        assert_eq!(told.load(SeqCst), 0);
        assert!(catch_unwind(|| panic!("planted outside")).is_err());
        assert!(std::thread::spawn(|| panic!("planted elsewhere")).join().is_err());
        assert_eq!(told.load(SeqCst), 2);
        set_hook(before);
    }
}
