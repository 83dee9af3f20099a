//! Random numbers for tests, fuzzers, simulated disks and benchmarks: the same seed gives the same numbers on every
//! machine and in every version, so that a failure can be run again by its seed.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014,
//! figure 17). It is not for secrets, and not for `random()` in SQL.
#![forbid(unsafe_code)]

/// A generator; every seed is as good as another.
#[derive(Clone, Debug)]
pub struct Random(u64);

/// Integers that [`Random::below`] draws.
pub trait Whole: Copy {
    /// As many values as there are below it; 0 for what is not positive.
    fn count(self) -> u64;
    /// The value that so many lie below.
    fn nth(n: u64) -> Self;
}

macro_rules! whole {
    ($($ty:ty),*) => {$(
        impl Whole for $ty {
            fn count(self) -> u64 {
                u64::try_from(self).unwrap_or(0)
            }
            fn nth(n: u64) -> Self {
                n as $ty
            }
        }
    )*};
}
whole!(u8, u16, u32, u64, usize, i32, i64);

impl Random {
    /// A generator that starts from the seed.
    pub const fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// 0 to `n` - 1; 0 where `n` is not positive.
    pub fn below<N: Whole>(&mut self, n: N) -> N {
        N::nth(self.bits() % n.count().max(1))
    }

    /// `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let count = high.wrapping_sub(low) as u64;
        let step = if count == u64::MAX { self.bits() } else { self.bits() % (count + 1) };
        low.wrapping_add(step as i64)
    }

    /// True in so many cases of a hundred.
    pub fn chance(&mut self, percent: impl Whole) -> bool {
        self.below(100u64) < percent.count()
    }

    /// One of the values, each with the same probability.
    ///
    /// # Panics
    /// When there are none.
    pub fn pick<'v, T>(&mut self, from: &'v [T]) -> &'v T {
        &from[self.below(from.len())]
    }

    /// An index, each as likely as its weight says; 0 where no weight is positive.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut at = self.below(weights.iter().sum::<usize>());
        for (index, weight) in weights.iter().enumerate() {
            if at < *weight {
                return index;
            }
            at -= weight;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    /// The first numbers that the paper's generator gives for the seed 1234567.
    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn draws_stay_in_their_ranges_and_reach_the_ends() {
        let mut random = Random::new(7);
        let drawn: Vec<i64> = (0..200).map(|_| random.between(-3, 3)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&-3), Some(&3)));
        assert_eq!((random.below(0u64), random.below(-5i32)), (0, 0));
        assert!((0..200).all(|_| random.below(5usize) < 5));
        assert_eq!(random.weighted(&[0, 4, 0]), 1);
        assert_eq!((random.chance(0), random.chance(100)), (false, true));
        let _ = random.between(i64::MIN, i64::MAX);
    }
}
