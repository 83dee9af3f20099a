//! Room for what is read as a whole, asked for before it is made: unpacked and decoded texts, files as single values.
//!
//! A reader does not know for which statement it reads. The thread that runs a statement sets an `Ask` for it
//! (`asking`); on a thread without one every request is granted.

use std::cell::RefCell;
use std::sync::Arc;

use types::Result;

/// Says whether there is room for so many bytes.
pub type Ask = Arc<dyn Fn(u64) -> Result<()> + Send + Sync>;

thread_local! {
    static ASK: RefCell<Option<Ask>> = const { RefCell::new(None) };
}

/// Restores the previous `Ask`, also when the work panics.
struct Restore(Option<Ask>);

impl Drop for Restore {
    fn drop(&mut self) {
        ASK.set(self.0.take());
    }
}

/// Does `work`, which asks for memory on this thread.
pub fn asking<T>(ask: Ask, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(ASK.replace(Some(ask)));
    work()
}

/// Asks for so many bytes.
pub(crate) fn ask(bytes: u64) -> Result<()> {
    match ASK.with_borrow(Clone::clone) {
        Some(ask) => ask(bytes),
        None => Ok(()),
    }
}

/// The `Ask` of this thread, for the threads that work for it.
pub(crate) fn asked() -> Option<Ask> {
    ASK.with_borrow(Clone::clone)
}
