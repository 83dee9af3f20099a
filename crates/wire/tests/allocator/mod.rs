//! An allocator that counts what each thread asks for.
#![allow(dead_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts calls, and live and greatest bytes, of the thread that asks.
pub struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn grown(bytes: i64) {
    // A thread that ends has no counts any more.
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call is passed on to the system's allocator as it came; counting touches no memory of the caller's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        grown(layout.size() as i64);
        // SAFETY: the caller's promise is the one asked for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        grown(-(layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Allocations of this thread so far.
pub fn calls() -> u64 {
    CALLS.with(Cell::get)
}

/// What `work` gives, and the bytes that this thread held in it at most, beyond what it held before.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, i64) {
    let before = LIVE.with(Cell::get);
    PEAK.with(|peak| peak.set(before));
    let result = work();
    (result, PEAK.with(Cell::get) - before)
}
