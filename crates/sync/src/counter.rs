//! Counters that many threads add to.
//!
//! Threads that add to one word pass its cache line around at some 50 ns a time. A striped counter
//! has a line per stripe; a thread sticks to one stripe, and reading sums them. A sum read while
//! others add is some value between before and after, which is what statistics need.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Keeps a value on cache lines of its own: two of them, since the prefetcher fetches pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

impl<T> Deref for CachePadded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A power of two, so that picking one is a mask; 2 KiB a counter.
const STRIPES: usize = 16;

/// A counter of events, bytes or rows.
#[derive(Debug, Default)]
pub struct StripedCounter {
    stripes: [CachePadded<AtomicU64>; STRIPES],
}

impl StripedCounter {
    /// A counter at zero.
    pub fn new() -> Self {
        StripedCounter::default()
    }

    /// Adds to the calling thread's stripe. The sum wraps around at 2^64.
    #[inline]
    pub fn add(&self, amount: u64) {
        self.stripes[stripe()].fetch_add(amount, Ordering::Relaxed);
    }

    /// The sum of all stripes, read one by one.
    pub fn sum(&self) -> u64 {
        self.stripes.iter().fold(0u64, |sum, stripe| sum.wrapping_add(stripe.load(Ordering::Relaxed)))
    }

    /// Back to zero; additions at the same time may stay or go.
    pub fn reset(&self) {
        for stripe in &self.stripes {
            stripe.store(0, Ordering::Relaxed);
        }
    }
}

/// The calling thread's stripe, dealt out in turn.
#[inline]
fn stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static MINE: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    // A thread in its last breath, whose locals are gone, adds to stripe 0.
    MINE.try_with(|mine| *mine).unwrap_or(0) & (STRIPES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost() {
        let counter = StripedCounter::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| counter.add(3)));
            }
        });
        assert_eq!(counter.sum(), 120_000);
        counter.reset();
        assert_eq!(counter.sum(), 0);
        assert!(std::mem::align_of::<StripedCounter>() >= 128);
    }
}
