//! Aggregates of numbers that add up row by row: bits, products, and the higher moments.

/// How integers' bits are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOperation {
    /// Bits that all values have.
    And,
    /// Bits that some value has.
    Or,
    /// Bits that an odd number of values has.
    Xor,
}

impl BitOperation {
    /// The value that changes no other: all ones for AND, 0 otherwise.
    pub fn neutral(self) -> i64 {
        if self == BitOperation::And { -1 } else { 0 }
    }
    /// Puts two values together.
    #[inline]
    pub fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            BitOperation::And => a & b,
            BitOperation::Or => a | b,
            BitOperation::Xor => a ^ b,
        }
    }
}

/// Count, mean and the sums of the second to fourth powers of the distances from it; merged after Pébay (2008), whose
/// formulas extend those of Chan, Golub and LeVeque.
#[derive(Clone, Copy, Debug, Default)]
pub struct HigherMoments {
    count: f64,
    mean: f64,
    second: f64,
    third: f64,
    fourth: f64,
}

/// Which measure of shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The sample's skewness.
    Skewness,
    /// The sample's excess kurtosis.
    Kurtosis,
    /// The population's excess kurtosis.
    KurtosisPop,
}

impl HigherMoments {
    pub(super) fn parts(&self) -> [f64; 5] {
        [self.count, self.mean, self.second, self.third, self.fourth]
    }
    pub(super) fn from_parts([count, mean, second, third, fourth]: [f64; 5]) -> Self {
        HigherMoments { count, mean, second, third, fourth }
    }
    /// Adds a number.
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.merge(&HigherMoments { count: 1.0, mean: value, ..HigherMoments::default() });
    }
    /// Takes another's numbers in, as if each had been added here.
    pub fn merge(&mut self, other: &HigherMoments) {
        if other.count == 0.0 {
            return;
        }
        if self.count == 0.0 {
            *self = *other;
            return;
        }
        let (a, b) = (self.count, other.count);
        let count = a + b;
        let distance = other.mean - self.mean;
        let step = distance / count;
        let spread = distance * step * a * b;
        self.fourth += other.fourth
            + spread * step * step * (a * a - a * b + b * b)
            + 6.0 * step * step * (a * a * other.second + b * b * self.second)
            + 4.0 * step * (a * other.third - b * self.third);
        self.third +=
            other.third + spread * step * (a - b) + 3.0 * step * (a * other.second - b * self.second);
        self.second += other.second + spread;
        self.mean += step * b;
        self.count = count;
    }
    /// `None` where there are too few values or all are the same.
    pub fn shape(&self, shape: Shape) -> Option<f64> {
        let n = self.count;
        let least = match shape {
            Shape::KurtosisPop => 2.0,
            Shape::Skewness => 3.0,
            Shape::Kurtosis => 4.0,
        };
        if n < least || self.second == 0.0 {
            return None;
        }
        let variance = self.second / n;
        Some(match shape {
            Shape::Skewness => {
                (n * (n - 1.0)).sqrt() / (n - 2.0) * (self.third / n) / (variance * variance.sqrt())
            }
            Shape::KurtosisPop => self.fourth / n / (variance * variance) - 3.0,
            Shape::Kurtosis => {
                let ratio = self.fourth / n / (variance * variance);
                (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * ratio - 3.0 * (n - 1.0))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_in_one_go_and_in_parts() {
        let values = [1.0, 2.0, 2.0, 7.0];
        let of = |values: &[f64]| {
            let mut moments = HigherMoments::default();
            values.iter().for_each(|v| moments.add(*v));
            moments
        };
        let mut parts = of(&values[..1]);
        parts.merge(&of(&values[1..]));
        for moments in [of(&values), parts] {
            let near = |shape, expected: f64| {
                assert!((moments.shape(shape).unwrap() - expected).abs() < 1e-12, "{shape:?}");
            };
            near(Shape::Skewness, 1.812_801_958_059_263_6);
            near(Shape::Kurtosis, 3.483_471_074_380_162_2);
            near(Shape::KurtosisPop, -0.735_537_190_082_645_1);
        }
        assert_eq!(of(&[2.0; 5]).shape(Shape::Skewness), None);
        assert_eq!(of(&[1.0, 2.0]).shape(Shape::KurtosisPop), Some(-2.0));
    }
}
