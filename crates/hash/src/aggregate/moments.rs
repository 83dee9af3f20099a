//! Sum and squared distances of numbers: variances and standard deviations.
//!
//! Updated and merged after Youngs and Cramer (1971), as PostgreSQL does: the sum is kept where others keep the mean, so
//! that large whole numbers (near 10^12, say) leave no rounding in small distances. The states of aggregation and the
//! frames of windows use it.

/// Count, sum and squared distances from the mean, of the numbers added so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Moment {
    pub(super) fn parts(&self) -> [f64; 3] {
        [self.count, self.sum, self.squares]
    }
    pub(super) fn from_parts([count, sum, squares]: [f64; 3]) -> Self {
        Moment { count, sum, squares }
    }
    /// Adds a number. An infinity or NaN makes the squared distances NaN.
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        if self.count > 1.0 {
            let distance = value * self.count - self.sum;
            self.squares += distance * distance / (self.count * (self.count - 1.0));
        } else if !value.is_finite() {
            // Nothing is known of distances from an infinity.
            self.squares = f64::NAN;
        }
    }
    /// Takes another's numbers in, as if each had been added here.
    pub fn merge(&mut self, other: &Moment) {
        if other.count == 0.0 {
            return;
        }
        if self.count == 0.0 {
            *self = *other;
            return;
        }
        let count = self.count + other.count;
        let distance = self.sum / self.count - other.sum / other.count;
        self.squares += other.squares + self.count * other.count * distance * distance / count;
        self.sum += other.sum;
        self.count = count;
    }
    /// How many values there were.
    pub fn count(&self) -> f64 {
        self.count
    }
    /// The sum of squared distances from the mean.
    pub fn squares(&self) -> f64 {
        self.squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_keep_small_distances() {
        let of = |values: &[f64]| {
            let mut moment = Moment::default();
            values.iter().for_each(|v| moment.add(*v));
            moment
        };
        let values: Vec<f64> = (0..100).map(|i| 1e12 + f64::from(i)).collect();
        assert_eq!(of(&values).squares(), 83_325.0);
        let mut merged = of(&values[..50]);
        merged.merge(&of(&values[50..]));
        assert!((merged.squares() - 83_325.0).abs() < 0.1);
        assert!(of(&[f64::INFINITY]).squares().is_nan());
    }
}
