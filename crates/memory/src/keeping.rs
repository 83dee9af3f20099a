//! Freed memory that the allocator keeps, so that the next query finds it mapped.
//!
//! Left to itself, mimalloc gives pages back to the machine a second after they were freed, in use or not a moment
//! later. A dashboard asks every few seconds: each time its hash tables would be faulted in anew, which at TPC-H's
//! scale factor 1 is up to a fifth of a query. Pages that are kept are charged to nothing in the budget and resident
//! all the same, so what may be kept is bounded:
//!
//! ```text
//!  high    the most live bytes since memory was last given back
//!  kept <= high - live          whatever was freed since may still be there
//!  given back                   when high + arenas > limit
//! ```
//! So the process would stay within the limit, but for what the allocator loses: pages of a size that is not asked
//! for, and huge pages of which a part is used. Where the process is the engine's alone, as the command's is, its
//! resident memory is therefore looked at, too, every so many bytes of growth; when it comes near the limit, what can
//! be given back goes, and what is resident beyond live bytes and arenas all the same is lost, and charged to the
//! budget until the next look.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

/// How long freed pages are kept, in milliseconds.
const KEPT_MILLISECONDS: i64 = 30_000;
/// Less than this is not worth giving back.
const GIVEN_BACK_MIN: u64 = 32 << 20;
/// mimalloc's number of the option `purge_delay`, which its bindings do not name.
const PURGE_DELAY: i32 = 15;

/// The lowest limit of a process-wide budget; `u64::MAX` as long as there is none.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static HIGH: AtomicU64 = AtomicU64::new(0);
/// Resident memory is the engine's.
static WATCHED: AtomicBool = AtomicBool::new(false);
/// Resident bytes that are neither live nor in arenas and that cannot be given back, as of the last look.
static LOST: AtomicU64 = AtomicU64::new(0);
/// Growth until resident memory is looked at.
static UNTIL_LOOK: AtomicI64 = AtomicI64::new(0);

/// Growth between two looks at resident memory, which take some microseconds.
const LOOK_BYTES: i64 = 4 << 20;
/// Growth after memory was given back because of such a look: that takes milliseconds.
const LOOK_BYTES_AFTER: i64 = 32 << 20;

/// Nearer to the limit than this share of it, resident memory counts.
const NEAR_SHARE: u64 = 8;
/// Below this limit no huge pages are used: of those that are made for a few bytes, the rest is lost.
const HUGE_PAGES_LIMIT_MIN: u64 = 2 << 30;

/// Starts to keep resident memory within the limit, as far as giving freed pages back can. For processes without
/// large memory but the engine's: a host's own would have pages given back all the time.
pub fn watch_resident() {
    WATCHED.store(true, Relaxed);
}

/// Keeps freed memory from now on, below a limit in bytes.
pub(crate) fn keep_below(limit: u64) {
    LIMIT.store(limit, Relaxed);
    if WATCHED.load(Relaxed) {
        crate::machine::allow_huge_pages(limit >= HUGE_PAGES_LIMIT_MIN);
    }
    // SAFETY: an option that may be set at any time; where another allocator serves the process, it means nothing.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, KEPT_MILLISECONDS) }
    // The clock that runs already was set by the allocator's own delay, and what is freed now would go with it.
    give_back();
}

/// The process has grown by `bytes` to `live` bytes, not counting the bytes of `arenas`.
#[inline]
pub(crate) fn grown(bytes: u64, live: u64, arenas: u64) {
    let bytes = bytes as i64;
    if WATCHED.load(Relaxed) && UNTIL_LOOK.fetch_sub(bytes, Relaxed) <= bytes {
        look();
    }
    let high = HIGH.fetch_max(live, Relaxed).max(live);
    if high.saturating_add(arenas) > LIMIT.load(Relaxed) && high - live >= GIVEN_BACK_MIN {
        HIGH.store(live, Relaxed);
        give_back();
    }
}

#[cold]
pub(crate) fn look() {
    let limit = LIMIT.load(Relaxed);
    UNTIL_LOOK.store(LOOK_BYTES, Relaxed);
    let resident = || crate::machine::own_resident_bytes().unwrap_or(0);
    if !WATCHED.load(Relaxed) || resident() <= limit - limit / NEAR_SHARE {
        LOST.store(0, Relaxed);
        return;
    }
    UNTIL_LOOK.store(LOOK_BYTES_AFTER.min(limit as i64 / NEAR_SHARE as i64), Relaxed);
    HIGH.store(0, Relaxed);
    give_back();
    let live = crate::counting::allocated_bytes() + crate::counting::arena_bytes();
    LOST.store(resident().saturating_sub(live), Relaxed);
}

/// Resident bytes that are neither live nor in arenas and that cannot be given back.
#[inline]
pub(crate) fn lost() -> u64 {
    LOST.load(Relaxed)
}

#[cold]
fn give_back() {
    // SAFETY: may be called at any time outside the allocator; it frees memory that is not in use.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
