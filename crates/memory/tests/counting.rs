//! The counting allocator as a binary installs it: one process, one test, since the counts are
//! the process's.

use std::alloc::System;
use std::hint::black_box;

use memory::{Arena, Budget, CountingAllocator, allocated_bytes, arena_bytes, peak_bytes, reset_peaks};

#[global_allocator]
static ALLOCATOR: CountingAllocator<System> = CountingAllocator(System);

const MEGABYTE: u64 = 1 << 20;

/// What the test harness and the present thread may hold uncounted or allocate meanwhile.
const SLACK: u64 = 700_000;

#[track_caller]
fn close(found: u64, expected: u64) {
    assert!(found.abs_diff(expected) <= SLACK, "{found} is not near {expected}");
}

#[test]
fn what_is_allocated_is_charged_once() {
    let budget = Budget::process_wide(u64::MAX);
    let before = allocated_bytes();

    // A large allocation is seen at once, and its reservation adds nothing to it.
    let held = budget.reserve(64 * MEGABYTE).unwrap();
    let large = black_box(vec![1u8; 64 * MEGABYTE as usize]);
    close(allocated_bytes(), before + 64 * MEGABYTE);
    close(budget.used(), before + 64 * MEGABYTE);
    drop(held);
    close(budget.used(), before + 64 * MEGABYTE);

    // The arena is charged beside it.
    let arena = Arena::new(budget.clone());
    let slots = arena.allocate_slots(4).unwrap();
    assert_eq!(arena_bytes(), 8 * MEGABYTE);
    close(budget.used(), before + 72 * MEGABYTE);
    assert!(peak_bytes() >= before + 72 * MEGABYTE - SLACK);

    // A forecast that does not fit is refused, and the check sees what was allocated without a reservation.
    budget.set_limit(before + 100 * MEGABYTE);
    assert!(budget.reserve(40 * MEGABYTE).is_err());
    assert!(budget.reserve(20 * MEGABYTE).is_ok());
    let unasked = black_box(vec![1u8; 40 * MEGABYTE as usize]);
    assert!(budget.check().is_err());
    drop(unasked);
    assert!(budget.check().is_ok());
    drop((large, slots));
    arena.trim();
    close(budget.used(), before);

    // Threads that end leave their counts behind, and frees on another thread are subtracted.
    let boxes: Vec<Vec<Box<[u8; 1000]>>> = (0..8)
        .map(|_| {
            std::thread::spawn(|| (0..100).map(|_| black_box(Box::new([7u8; 1000]))).collect())
                .join()
                .unwrap()
        })
        .collect();
    close(allocated_bytes(), before + 800_000);
    let mut grown: Vec<u64> = Vec::new();
    for value in 0..1_000_000 {
        grown.push(black_box(value));
    }
    close(allocated_bytes(), before + 800_000 + 8 * MEGABYTE);
    drop((boxes, grown));
    for _ in 0..200 {
        std::thread::spawn(|| drop(black_box(Box::new([0u8; 100])))).join().unwrap();
    }
    close(allocated_bytes(), before);
    reset_peaks();
    close(peak_bytes(), before);
}
