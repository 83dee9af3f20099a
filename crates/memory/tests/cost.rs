//! What counting and slots cost. Run: `cargo test --release -p memory --test cost -- --ignored --nocapture`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::time::Instant;

use memory::{Arena, Budget, CountingAllocator, SLOT_BYTES};

/// Nanoseconds per pair of allocation and free of 64 bytes.
fn pair(allocator: &impl GlobalAlloc) -> f64 {
    const PAIRS: u32 = 5_000_000;
    let layout = Layout::from_size_align(64, 8).unwrap();
    let begun = Instant::now();
    for _ in 0..PAIRS {
        // SAFETY: the layout has a size, and what was allocated is freed once with that layout.
        unsafe {
            let pointer = black_box(allocator.alloc(layout));
            allocator.dealloc(pointer, layout);
        }
    }
    begun.elapsed().as_nanos() as f64 / f64::from(PAIRS)
}

#[test]
#[ignore = "a measurement"]
fn cost() {
    let (plain, counted) = (pair(&System), pair(&CountingAllocator(System)));
    println!("64 bytes: {plain:.1} ns plain, {counted:.1} ns counted");

    let budget = Budget::process_wide(u64::MAX);
    let begun = Instant::now();
    for _ in 0..10_000_000 {
        black_box(&budget).check().unwrap();
    }
    println!("check: {:.2} ns", begun.elapsed().as_nanos() as f64 / 1e7);

    let arena = Arena::new(Budget::unlimited());
    let fill = || {
        let begun = Instant::now();
        let mut ranges: Vec<_> = (0..64).map(|_| arena.allocate_slots(2).unwrap()).collect();
        ranges.iter_mut().for_each(|range| range.fill(1));
        (begun.elapsed().as_secs_f64(), (64 * 2 * SLOT_BYTES) as f64 / 1e9)
    };
    let (first, gigabytes) = fill();
    let (again, _) = fill();
    println!("first touch {:.2} GB/s, recycled {:.2} GB/s", gigabytes / first, gigabytes / again);
    let begun = Instant::now();
    for _ in 0..100_000 {
        black_box(arena.allocate_slots(2).unwrap());
    }
    println!("allocate and free 4 MiB: {:.0} ns", begun.elapsed().as_nanos() as f64 / 1e5);
}
