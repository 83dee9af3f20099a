//! `auto`: which way a computation's batches go, from what both ways took.
//!
//! ```text
//!  Measuring --enough batches--> Compiling --code is there--> Trying --enough batches--> Code | Vectors
//!                                    \--failed--> Vectors          Code --too often refused--> Vectors
//! ```
//! Any worker may move the state on; batches in flight finish the way they began. Of each way the fastest batch counts,
//! since a moment's stall of the machine only ever adds.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Batches that are measured of each way.
const TRIALS: u32 = 4;
/// Smaller batches say little about a way's speed.
const ROWS_MIN: usize = 256;
/// Code that refuses one batch in so many, after some, is left.
const REFUSED_SHARE: u32 = 8;

const MEASURING: u8 = 0;
const COMPILING: u8 = 1;
const TRYING: u8 = 2;
const CODE: u8 = 3;
const VECTORS: u8 = 4;

/// What to do with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Vectors,
    Code,
}

/// The fastest of the measured batches, and how many there were.
#[derive(Debug)]
struct Measured {
    /// Nanoseconds for 1024 rows.
    best: AtomicU64,
    count: AtomicU32,
}

impl Default for Measured {
    fn default() -> Self {
        Measured { best: AtomicU64::new(u64::MAX), count: AtomicU32::new(0) }
    }
}

impl Measured {
    /// Adds a batch; whether there are enough.
    fn add(&self, rows: usize, nanoseconds: u64) -> bool {
        if rows < ROWS_MIN {
            return false;
        }
        self.best.fetch_min(nanoseconds.saturating_mul(1024) / rows as u64, Relaxed);
        self.count.fetch_add(1, Relaxed) + 1 >= TRIALS
    }
}

/// The state of one computation.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    state: AtomicU8,
    vectors: Measured,
    code: Measured,
    ran: AtomicU32,
    refused: AtomicU32,
}

impl Choice {
    /// Which way the next batch goes.
    pub(crate) fn way(&self) -> Way {
        match self.state.load(Relaxed) {
            TRYING | CODE => Way::Code,
            _ => Way::Vectors,
        }
    }

    /// A batch went by vectors. Whether it is time to compile, which one caller is told.
    pub(crate) fn went_by_vectors(&self, rows: usize, nanoseconds: u64) -> bool {
        self.state.load(Relaxed) == MEASURING
            && self.vectors.add(rows, nanoseconds)
            && self.moved(MEASURING, COMPILING)
    }

    /// The compiler is done.
    pub(crate) fn compiled(&self, successful: bool) {
        self.moved(COMPILING, if successful { TRYING } else { VECTORS });
    }

    /// A batch went by code, or was refused by it.
    pub(crate) fn went_by_code(&self, rows: usize, nanoseconds: u64, vouched: bool) {
        let ran = self.ran.fetch_add(1, Relaxed) + 1;
        if !vouched {
            let refused = self.refused.fetch_add(1, Relaxed) + 1;
            if refused > TRIALS && refused > ran / REFUSED_SHARE {
                self.state.store(VECTORS, Relaxed);
            }
            return;
        }
        if self.state.load(Relaxed) == TRYING && self.code.add(rows, nanoseconds) {
            let faster = self.code.best.load(Relaxed) < self.vectors.best.load(Relaxed);
            self.moved(TRYING, if faster { CODE } else { VECTORS });
        }
    }

    fn moved(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Relaxed, Relaxed).is_ok()
    }

    /// The state in words, and what both ways took for a row in nanoseconds where that was measured.
    pub(crate) fn told(&self) -> String {
        let per_row = |measured: &Measured| match measured.best.load(Relaxed) {
            u64::MAX => "?".to_owned(),
            best => format!("{:.2}", best as f64 / 1024.0),
        };
        let state = match self.state.load(Relaxed) {
            MEASURING => "measuring vectorized",
            COMPILING => "compiling",
            TRYING => "trying compiled",
            CODE => "kept compiled",
            _ => "kept vectorized",
        };
        format!("{state} ({} against {} ns a row)", per_row(&self.code), per_row(&self.vectors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A choice that has code to try, after vectors took 1000 ns for 1024 rows.
    fn trying() -> Choice {
        let choice = Choice::default();
        for at in 1..=TRIALS {
            assert_eq!(choice.way(), Way::Vectors);
            assert_eq!(choice.went_by_vectors(1024, 1000), at == TRIALS, "one caller compiles");
        }
        assert!(!choice.went_by_vectors(1024, 1000), "it is being compiled");
        choice.compiled(true);
        assert_eq!(choice.way(), Way::Code);
        choice
    }

    #[test]
    fn the_faster_way_is_kept() {
        for (nanoseconds, kept) in [(900, Way::Code), (1100, Way::Vectors)] {
            let choice = trying();
            for _ in 0..TRIALS {
                choice.went_by_code(1024, nanoseconds, true);
            }
            assert_eq!(choice.way(), kept, "{}", choice.told());
        }
    }

    #[test]
    fn small_batches_decide_nothing() {
        let choice = Choice::default();
        assert!((0..100).all(|_| !choice.went_by_vectors(ROWS_MIN - 1, 1)));
    }

    #[test]
    fn code_that_refuses_is_left() {
        let choice = trying();
        (0..=TRIALS).for_each(|_| choice.went_by_code(1024, 1, false));
        assert_eq!(choice.way(), Way::Vectors);
        let failed = Choice::default();
        (0..TRIALS).for_each(|_| _ = failed.went_by_vectors(1024, 1));
        failed.compiled(false);
        assert_eq!(failed.way(), Way::Vectors);
    }
}
