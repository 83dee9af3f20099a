//! What is freed stays for a while, and goes when the limit needs it. A program of its own: the figures are the process's.

use std::time::Duration;

use memory::{Budget, CountingAllocator, resident_bytes};

#[global_allocator]
static ALLOCATOR: CountingAllocator<mimalloc::MiMalloc> = CountingAllocator(mimalloc::MiMalloc);

const MEGABYTE: u64 = 1 << 20;

/// Memory that was written to.
fn touched(megabytes: u64) -> Vec<u8> {
    vec![7; (megabytes * MEGABYTE) as usize]
}

#[test]
fn freed_memory_stays_below_the_limit() {
    let budget = Budget::process_wide(1024 * MEGABYTE);
    let resident = || resident_bytes().expect("the system tells");
    let before = resident();
    drop(std::hint::black_box([touched(64), touched(64), touched(64), touched(64)]));
    // Longer than the allocator would wait by itself; it looks at the clock when it is used.
    std::thread::sleep(Duration::from_millis(1500));
    (0..1000).for_each(|_| drop(std::hint::black_box(touched(1))));
    let kept = resident() - before;
    assert!(kept > 200 * MEGABYTE, "{kept} bytes are kept");

    budget.set_limit(200 * MEGABYTE);
    let held = std::hint::black_box(touched(100));
    std::thread::sleep(Duration::from_millis(10));
    let small: Vec<Vec<u8>> = (0..16).map(|_| touched(1)).collect();
    let all = resident() - before;
    assert!(all < 200 * MEGABYTE, "{all} bytes are resident");
    drop((held, small));
}
