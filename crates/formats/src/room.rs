//! Room for what is read as a whole, asked for before it is made: unpacked and decoded texts, files as single values.
//!
//! A reader does not know for whom it reads. Whoever runs a statement says on its thread whom to ask; where nobody has,
//! nobody is asked.

use std::cell::RefCell;
use std::sync::Arc;

use types::Result;

/// Says whether there is room for so many bytes.
pub type Ask = Arc<dyn Fn(u64) -> Result<()> + Send + Sync>;

thread_local! {
    static ASK: RefCell<Option<Ask>> = const { RefCell::new(None) };
}

/// Puts back who was asked before, also when the work panics.
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

/// Whom this thread asks, for threads that work for it.
pub(crate) fn asked() -> Option<Ask> {
    ASK.with_borrow(Clone::clone)
}
