//! Random numbers by position: a value is a hash of (column, row), so any row can be made on its own.
//!
//! The hash is splitmix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014): the
//! golden-ratio sequence, started at a place of the column's own, through the usual finalizer. A row takes
//! one step of its column's sequence; the starts are 64-bit hashes, so two columns of 2^37 rows share a
//! stretch with a probability of about 2^-26.

/// Distance between neighbouring states: 2^64 over the golden ratio, made odd.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Fixed for ever: another seed would be another data set.
const SEED: u64 = 0x5353_4220_7265_7633;

const fn mixed(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// The random numbers of one column.
#[derive(Clone, Copy)]
pub(super) struct Stream {
    start: u64,
}

impl Stream {
    /// `column` numbers the columns of all tables; see the constants where the columns are made.
    pub(super) const fn new(column: u64) -> Stream {
        Stream { start: mixed(mixed(SEED) ^ column.wrapping_mul(STEP)) }
    }

    pub(super) const fn bits(self, row: u64) -> u64 {
        mixed(self.start.wrapping_add(row.wrapping_mul(STEP)))
    }

    /// Uniform in `0..bound`, by the high half of a 128-bit product: the bias is at most `bound` in 2^64.
    pub(super) const fn below(self, row: u64, bound: u64) -> u64 {
        ((self.bits(row) as u128 * bound as u128) >> 64) as u64
    }

    /// Uniform in `low..=high`.
    pub(super) const fn between(self, row: u64, low: i32, high: i32) -> i32 {
        low + self.below(row, (high - low) as u64 + 1) as i32
    }

    /// Uniform index below `length`.
    pub(super) const fn index(self, row: u64, length: usize) -> usize {
        self.below(row, length as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-squared of 1,000 bins: mean 999, standard deviation 44.7. Within 5 of those, in either direction.
    fn check_uniform(draw: impl Fn(u64) -> u64) {
        let (rows, bins) = (1_000_000, 1_000);
        let mut counts = vec![0f64; bins];
        for row in 0..rows {
            counts[draw(row) as usize] += 1.0;
        }
        let expected = rows as f64 / bins as f64;
        let chi: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
        assert!((775.0..1223.0).contains(&chi), "chi squared {chi}");
    }

    #[test]
    fn numbers_are_uniform_within_a_column() {
        for column in 0..40 {
            check_uniform(|row| Stream::new(column).below(row, 1_000));
        }
    }

    #[test]
    fn neighbouring_rows_and_columns_are_independent() {
        let (one, other) = (Stream::new(1), Stream::new(2));
        check_uniform(|row| one.below(row, 25) * 40 + one.below(row + 1, 40));
        check_uniform(|row| one.below(row, 25) * 40 + other.below(row, 40));
        // Lines are numbered 8 an order.
        check_uniform(|row| one.below(row * 8, 25) * 40 + one.below(row * 8 + 8, 40));
    }

    #[test]
    fn bounds_are_reached_and_kept() {
        let drawn: Vec<i32> = (0..10_000).map(|row| Stream::new(3).between(row, -2, 7)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&-2), Some(&7)));
    }
}
