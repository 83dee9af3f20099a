//! Freed memory that the allocator keeps, so that the next query finds it mapped.
//!
//! Left to itself, mimalloc gives pages back to the machine a second after they were freed, in use or not a moment
//! later. A dashboard asks every few seconds: each time its hash tables would be faulted in anew, which at TPC-H's
//! scale factor 1 is up to a fifth of a query. Pages that are kept are nobody's in the budget and resident all the
//! same, so what may be kept is bounded:
//!
//! ```text
//!  high    the most live bytes since memory was last given back
//!  kept <= high - live          whatever was freed since may still be there
//!  given back                   when high + arenas > limit
//! ```
//! So the process stays within the limit, but for what the allocator loses to its size classes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How long freed pages are kept, in milliseconds.
const KEPT_MILLISECONDS: i64 = 30_000;
/// Less than this is not worth giving back.
const GIVEN_BACK_MIN: u64 = 32 << 20;
/// mimalloc's number of the option `purge_delay`, which its bindings do not name.
const PURGE_DELAY: i32 = 15;

/// The lowest limit of a process-wide budget; `u64::MAX` as long as there is none.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static HIGH: AtomicU64 = AtomicU64::new(0);

/// Keeps freed memory from now on, below a limit in bytes.
pub(crate) fn keep_below(limit: u64) {
    LIMIT.store(limit, Relaxed);
    // SAFETY: an option that may be set at any time; where another allocator serves the process, it means nothing.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, KEPT_MILLISECONDS) }
    // The clock that runs already was set by the allocator's own delay, and what is freed now would go with it.
    give_back();
}

/// The process has grown to `live` bytes beside `arenas`.
#[inline]
pub(crate) fn grown(live: u64, arenas: u64) {
    let high = HIGH.fetch_max(live, Relaxed).max(live);
    if high.saturating_add(arenas) > LIMIT.load(Relaxed) && high - live >= GIVEN_BACK_MIN {
        HIGH.store(live, Relaxed);
        give_back();
    }
}

#[cold]
fn give_back() {
    // SAFETY: may be called at any time outside the allocator; it frees what nobody has.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
