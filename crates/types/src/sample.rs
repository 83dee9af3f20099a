//! Random samples of rows or blocks that are the same for every caller: a hash of number and seed decides.
//!
//! Every number has a place on a line of 2^64, and a sample is all that lie before a point. So a sample of 10 % is
//! part of the one of 20 % with the same seed, and no order of evaluation changes it.

use serde::{Deserialize, Serialize};

/// The place of a number on the line of 2^64, by the finalizer of SplitMix64 (Steele, Lea, Flood, "Fast Splittable
/// Pseudorandom Number Generators", 2014) over number and seed.
pub fn place(number: u64, seed: u64) -> u64 {
    let mut h = number.wrapping_add(mix(seed)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    h = mix(h);
    mix(h ^ seed)
}

fn mix(mut h: u64) -> u64 {
    h = (h ^ (h >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    h ^ (h >> 31)
}

/// What a sample chooses: single rows (BERNOULLI), or whole blocks (SYSTEM).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SampleOf {
    /// BERNOULLI and RESERVOIR: row by row.
    Rows,
    /// SYSTEM: block by block.
    Blocks,
}

/// A share of a table's rows or blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What is chosen.
    pub of: SampleOf,
    /// The expected share that is taken, 0 to 1.
    pub share: f64,
    /// Equal seeds choose equal rows or blocks.
    pub seed: u64,
}

impl Sample {
    /// Whether a row or a block, by number from the table's first, is taken.
    pub fn takes(&self, number: u64) -> bool {
        self.share >= 1.0 || (place(number, self.seed) as f64) < self.share * 2f64.powi(64)
    }
}

/// `place` halved, as a BIGINT that is not negative, for expressions.
pub fn signed_place(number: i64, seed: i64) -> i64 {
    (place(number as u64, seed as u64) >> 1) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_kept_and_nested() {
        for seed in [0, 1, 42, u64::MAX] {
            let sample = |share| Sample { of: SampleOf::Rows, share, seed };
            let taken = |share: f64| (0..100_000).filter(|n| sample(share).takes(*n)).count();
            assert_eq!((taken(0.0), taken(1.0)), (0, 100_000));
            let tenth = taken(0.1);
            assert!((9_500..10_500).contains(&tenth), "{tenth}");
            assert!((0..1000).all(|n| !sample(0.1).takes(n) || sample(0.2).takes(n)));
        }
        let both = (0..100_000).filter(|n| place(*n, 1) >> 63 == place(*n, 2) >> 63).count();
        assert!((49_000..51_000).contains(&both), "seeds are independent: {both}");
    }
}
