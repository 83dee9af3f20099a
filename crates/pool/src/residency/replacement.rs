//! Which portions leave memory first.
//!
//! Every portion remembers when it was last used, `HISTORY` times back. A policy makes a rank of that; the portions of the
//! lowest rank go. LRU-K is that of O'Neil, O'Neil and Weikum (SIGMOD 1993): what counts is the K-th last use, so that a
//! scan that touches everything once does not drive out what is used again and again. Uses in quick succession are one
//! (their "correlated reference period"): a scan, the late fetch behind it and the read-ahead before it belong together.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Uses remembered: K is at most this.
pub const HISTORY: usize = 4;
/// Uses closer together than this count as one. About the length of a statement that fits memory.
pub(crate) const CORRELATED_MS: u64 = 500;

/// When a portion was used, in milliseconds of the pool's clock, latest first; 0 for never.
#[derive(Debug, Default)]
pub(crate) struct Uses([AtomicU64; HISTORY]);

impl Uses {
    /// Races between threads lose a use at worst.
    pub(crate) fn touch(&self, now: u64) {
        let last = self.0[0].load(Relaxed);
        if last == 0 || now.saturating_sub(last) >= CORRELATED_MS {
            for at in (1..HISTORY).rev() {
                self.0[at].store(self.0[at - 1].load(Relaxed), Relaxed);
            }
        }
        if last != now {
            self.0[0].store(now, Relaxed);
        }
    }
    pub(crate) fn get(&self) -> [u64; HISTORY] {
        std::array::from_fn(|at| self.0[at].load(Relaxed))
    }
}

/// Order in which portions leave; lower goes first.
pub type Rank = (u64, u64);

/// A replacement policy.
pub trait Replacement: Debug + Send + Sync {
    /// The name that `SET` takes.
    fn name(&self) -> String;
    /// The rank of a portion that was used at `uses` (latest first, 0 for never), asked when memory is wanted. `number`
    /// differs from portion to portion and from time to time.
    fn rank(&self, uses: &[u64; HISTORY], number: u64) -> Rank;
}

/// The portion whose K-th last use is longest ago.
#[derive(Clone, Copy, Debug)]
pub struct LeastRecentlyUsed {
    /// K, from 1 to `HISTORY`.
    pub uses: usize,
}

impl Default for LeastRecentlyUsed {
    fn default() -> Self {
        LeastRecentlyUsed { uses: 2 }
    }
}

impl Replacement for LeastRecentlyUsed {
    fn name(&self) -> String {
        format!("lru-{}", self.uses)
    }
    fn rank(&self, uses: &[u64; HISTORY], _number: u64) -> Rank {
        // Units with fewer uses have none that long ago: they go first, by their last use.
        (uses[self.uses.clamp(1, HISTORY) - 1], uses[0])
    }
}

/// Any portion: what the others are measured against.
#[derive(Clone, Copy, Debug, Default)]
pub struct Random;

impl Replacement for Random {
    fn name(&self) -> String {
        "random".into()
    }
    fn rank(&self, _uses: &[u64; HISTORY], number: u64) -> Rank {
        // The finaliser of MurmurHash3: every bit of the number changes about half of the rank's.
        let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^= mixed >> 33;
        mixed = mixed.wrapping_mul(0xff51_afd7_ed55_8ccd);
        (mixed ^ mixed >> 33, 0)
    }
}

/// The policy of that name: `lru` (which is `lru-2`), `lru-1` to `lru-4`, `random`.
pub fn replacement(name: &str) -> Option<std::sync::Arc<dyn Replacement>> {
    match name.trim().to_ascii_lowercase().as_str() {
        "random" => Some(std::sync::Arc::new(Random)),
        "lru" => Some(std::sync::Arc::new(LeastRecentlyUsed::default())),
        other => {
            let uses = other.strip_prefix("lru-")?.parse().ok().filter(|k| (1..=HISTORY).contains(k))?;
            Some(std::sync::Arc::new(LeastRecentlyUsed { uses }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lru_2_keeps_what_is_used_again_from_a_scan() {
        let hot = Uses::default();
        let scanned = Uses::default();
        hot.touch(1_000);
        hot.touch(2_000);
        scanned.touch(3_000);
        // Uses in quick succession are one.
        scanned.touch(3_000 + CORRELATED_MS - 1);
        let ranks = |policy: &dyn Replacement| (policy.rank(&hot.get(), 1), policy.rank(&scanned.get(), 2));
        let (of_hot, of_scanned) = ranks(&LeastRecentlyUsed::default());
        assert!(of_scanned < of_hot);
        let (of_hot, of_scanned) = ranks(&LeastRecentlyUsed { uses: 1 });
        assert!(of_hot < of_scanned);
        assert_eq!(scanned.get()[1], 0);
    }

    #[test]
    fn policies_are_found_by_name_and_random_is_spread() {
        for name in ["lru-1", "lru-2", "lru-4", "random"] {
            assert_eq!(replacement(name).unwrap().name(), name);
        }
        assert_eq!(replacement("LRU").unwrap().name(), "lru-2");
        assert!(replacement("lru-5").is_none() && replacement("clock").is_none());
        let mut order: Vec<u64> = (0..100).collect();
        order.sort_by_key(|number| Random.rank(&[0; HISTORY], *number));
        assert!(!order.is_sorted());
        let low = order[..50].iter().filter(|n| **n < 50).count();
        assert!((15..35).contains(&low), "{low}");
    }
}
