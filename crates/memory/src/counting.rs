//! A global allocator that knows how many bytes are live.
//!
//! Wrapped around the real allocator by the binaries:
//!
//! ```ignore
//! #[global_allocator]
//! static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
//!     memory::CountingAllocator(mimalloc::MiMalloc);
//! ```
//!
//! Each thread sums its allocations and frees in a word of its own and adds the sum to the
//! process's count when it reaches [`BATCH_BYTES`] in either direction, so an ordinary allocation
//! pays an addition and no atomic step, while a large one is seen at once. The process's count is
//! therefore exact up to `BATCH_BYTES` per living thread. A thread that ends adds its rest. Memory
//! freed by another thread than the one that took it is subtracted there: single words may be
//! negative, the sum is right.
//!
//! What is counted is what was asked for. What the wrapped allocator keeps for later or loses to
//! its size classes is not, and shows in [`crate::resident_bytes`] only.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

use crate::keeping;

/// 256 KiB: an error of 16 MiB with 64 threads, and one atomic step per 4,000 small allocations.
const BATCH_BYTES: u64 = 256 << 10;

/// Live bytes of the global allocator. Signed, since batches of different threads arrive in any
/// order.
static ALLOCATED: AtomicI64 = AtomicI64::new(0);
static ALLOCATED_PEAK: AtomicU64 = AtomicU64::new(0);
/// Bytes that arenas hold, in all arenas of the process.
static ARENA: AtomicU64 = AtomicU64::new(0);
/// Highest sum of the two.
static TOTAL_PEAK: AtomicU64 = AtomicU64::new(0);
/// Set by the first batch: the counting allocator is the process's global allocator.
static SEEN: AtomicBool = AtomicBool::new(false);

/// An allocator that passes everything on to `A` and counts the bytes; install it with `#[global_allocator]`.
#[derive(Debug, Default)]
pub struct CountingAllocator<A>(pub A);

struct Pending {
    /// Not yet in the process's count.
    pending: Cell<i64>,
    /// What this thread has added to the process's count, ever.
    flushed: Cell<i64>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        flush(self.pending.replace(0));
    }
}

thread_local! {
    static PENDING: Pending = const { Pending { pending: Cell::new(0), flushed: Cell::new(0) } };
}

#[inline]
fn count(bytes: i64) {
    let counted = PENDING.try_with(|thread| {
        let sum = thread.pending.get() + bytes;
        if sum.unsigned_abs() < BATCH_BYTES {
            thread.pending.set(sum);
        } else {
            thread.pending.set(0);
            thread.flushed.set(thread.flushed.get() + sum);
            flush(sum);
        }
    });
    if counted.is_err() {
        // The thread is ending and its word is gone.
        flush(bytes);
    }
}

/// Bytes that the calling thread has allocated, less those that it has freed, since it began; 0 where the counting
/// allocator is not installed. Differences tell what a piece of work on one thread made the process grow by.
pub fn thread_bytes() -> i64 {
    PENDING.try_with(|thread| thread.pending.get() + thread.flushed.get()).unwrap_or(0)
}

#[cold]
fn flush(bytes: i64) {
    SEEN.store(true, Relaxed);
    let now = ALLOCATED.fetch_add(bytes, Relaxed) + bytes;
    if bytes > 0 {
        let now = now.max(0) as u64;
        let arenas = ARENA.load(Relaxed);
        ALLOCATED_PEAK.fetch_max(now, Relaxed);
        TOTAL_PEAK.fetch_max(now + arenas, Relaxed);
        keeping::grown(bytes as u64, now, arenas);
    }
}

// SAFETY: every call is passed on unchanged to `A`, which upholds the contract; counting allocates
// nothing (the thread's word is a constant-initialised cell) and does not unwind (it neither
// panics nor calls foreign code).
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    // SAFETY: the caller keeps the contract of `GlobalAlloc`.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps `GlobalAlloc::alloc`'s contract, which is `A`'s.
        let pointer = unsafe { self.0.alloc(layout) };
        if !pointer.is_null() {
            count(layout.size() as i64);
        }
        pointer
    }

    // SAFETY: the caller keeps the contract of `GlobalAlloc`.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `A` with this layout, as the caller promises of us.
        unsafe { self.0.dealloc(pointer, layout) };
        count(-(layout.size() as i64));
    }

    // SAFETY: the caller keeps the contract of `GlobalAlloc`.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let pointer = unsafe { self.0.alloc_zeroed(layout) };
        if !pointer.is_null() {
            count(layout.size() as i64);
        }
        pointer
    }

    // SAFETY: the caller keeps the contract of `GlobalAlloc`.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as in `dealloc`, and `new_size` is what the caller promises to be valid.
        let moved = unsafe { self.0.realloc(pointer, layout, new_size) };
        if !moved.is_null() {
            count(new_size as i64 - layout.size() as i64);
        }
        moved
    }
}

/// Live bytes that were put into a file where they lie: they take no memory.
pub(crate) fn taken_away(bytes: usize) {
    if SEEN.load(Relaxed) {
        count(-(bytes as i64));
    }
}

/// They take memory again.
pub(crate) fn brought_back(bytes: usize) {
    if SEEN.load(Relaxed) {
        count(bytes as i64);
    }
}

/// Bytes that are live in the global allocator; 0 when it does not count.
#[inline]
pub fn allocated_bytes() -> u64 {
    ALLOCATED.load(Relaxed).max(0) as u64
}

/// The highest [`allocated_bytes`] so far.
pub fn peak_allocated_bytes() -> u64 {
    ALLOCATED_PEAK.load(Relaxed).max(allocated_bytes())
}

/// Bytes that the arenas of the process hold resident: slots in use, and idle ones not trimmed.
#[inline]
pub fn arena_bytes() -> u64 {
    ARENA.load(Relaxed)
}

/// The highest sum of [`allocated_bytes`] and [`arena_bytes`] so far.
pub fn peak_bytes() -> u64 {
    TOTAL_PEAK.load(Relaxed).max(allocated_bytes() + arena_bytes())
}

/// Starts the peaks again from the present figures, for a measurement.
pub fn reset_peaks() {
    ALLOCATED_PEAK.store(allocated_bytes(), Relaxed);
    TOTAL_PEAK.store(allocated_bytes() + arena_bytes(), Relaxed);
}

/// Adds to what arenas hold.
pub(crate) fn arena_grown(bytes: u64) {
    let now = ARENA.fetch_add(bytes, Relaxed) + bytes;
    let live = allocated_bytes();
    TOTAL_PEAK.fetch_max(now + live, Relaxed);
    keeping::grown(bytes, live, now);
}

/// Takes from what arenas hold.
pub(crate) fn arena_shrunk(bytes: u64) {
    ARENA.fetch_sub(bytes, Relaxed);
}

/// Whether the counting allocator is installed. Found out once, by an allocation large enough to
/// be counted at once, whatever the thread's word holds; it is never touched, so it costs no memory.
pub(crate) fn is_installed() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        let probe = Vec::<u8>::with_capacity(4 * BATCH_BYTES as usize);
        std::hint::black_box(&probe);
        drop(probe);
        SEEN.load(Relaxed)
    })
}
