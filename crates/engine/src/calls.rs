//! Calls of the host: what every statement runs under, whatever calls it and however it ends.
//!
//! ```text
//!  called     the session's signal and tick, from the first look at the text (`sync::stop`)
//!   guarded   one statement: its deadline, its query, its trace
//!    caught   a stack that is deep enough; panics, and stopped work that unwinds, end here
//! ```

mod session;

use std::ops::ControlFlow;
use std::sync::Arc;

use sync::stop;
use types::{Error, Result, SqlState};

/// Texts beyond this may nest deeply enough to need a stack of their own.
pub(crate) const LONG_TEXT_BYTES: usize = 8 << 10;
/// Plans of deep expressions are walked by recursion. Pages of the stack that are not touched cost nothing.
const LARGE_STACK_BYTES: usize = 1 << 30;

/// Runs `work` with a stack that is large enough for the text's depth. A broken invariant ends the statement, not the
/// process.
pub(crate) fn caught<T: Send>(text: &str, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let run = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    let outcome = if text.len() > LONG_TEXT_BYTES { with_large_stack(run)? } else { run() };
    outcome.unwrap_or_else(|panic| Err(unwound(&*panic)))
}

/// What a statement says that unwound: it was stopped, or met a broken invariant.
pub(crate) fn unwound(panic: &(dyn std::any::Any + Send)) -> Error {
    if panic.is::<stop::Unwound>() {
        return types::stop::stopped();
    }
    Error::internal(format!("internal error: {}", panic_message(panic)))
        .with_hint("this is a bug; please report it with the statement")
}

/// Runs `work` on a thread with a large stack, and waits for it.
fn with_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    stop::on_stack("statement", LARGE_STACK_BYTES, work)
        .map_err(|e| Error::new(SqlState::OutOfMemory, format!("no stack for a long statement: {e}")))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// A hook that runs while a statement does; `Break` cancels the statement.
pub(crate) type Tick = Arc<dyn Fn() -> ControlFlow<()> + Send + Sync>;
