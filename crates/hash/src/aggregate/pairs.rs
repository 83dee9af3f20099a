//! Means, squared distances and their product over pairs of numbers: correlation and regression.
//!
//! Updated and merged after Youngs and Cramer (1971), as PostgreSQL does: sums are kept where others keep means, so that
//! large whole numbers (near 10^12, say) leave no rounding in small distances. A pair is 16 bytes: y, then x
//! (`plan::functions::PAIR`).

/// Which measure of the pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairMeasure {
    /// Pearson's correlation coefficient.
    Corr,
    /// The population's covariance.
    CovarPop,
    /// The sample's covariance.
    CovarSamp,
    /// The slope of the line of least squares.
    Slope,
    /// Where that line crosses x = 0.
    Intercept,
    /// The square of the correlation coefficient.
    R2,
    /// The mean of x.
    AvgX,
    /// The mean of y.
    AvgY,
    /// The sum of squared distances of x from its mean.
    Sxx,
    /// The sum of squared distances of y from its mean.
    Syy,
    /// The sum of products of both distances.
    Sxy,
}

/// Count, sums, squared distances and their product, of the pairs added so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct PairMoments {
    count: f64,
    sum_x: f64,
    sum_y: f64,
    sxx: f64,
    syy: f64,
    sxy: f64,
}

impl PairMoments {
    pub(super) fn parts(&self) -> [f64; 6] {
        [self.count, self.sum_x, self.sum_y, self.sxx, self.syy, self.sxy]
    }
    pub(super) fn from_parts([count, sum_x, sum_y, sxx, syy, sxy]: [f64; 6]) -> Self {
        PairMoments { count, sum_x, sum_y, sxx, syy, sxy }
    }
    /// Adds a pair by its bytes, or another's state by its; other bytes are neither.
    #[inline]
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        if bytes.len() > 16 {
            if let Some(parts) = super::state_bytes::read(bytes) {
                self.merge(&PairMoments::from_parts(parts));
            }
            return;
        }
        let Some((y, rest)) = bytes.split_first_chunk::<8>() else { return };
        let Some((x, _)) = rest.split_first_chunk::<8>() else { return };
        self.add(f64::from_le_bytes(*y), f64::from_le_bytes(*x));
    }
    fn add(&mut self, y: f64, x: f64) {
        self.count += 1.0;
        self.sum_x += x;
        self.sum_y += y;
        if self.count > 1.0 {
            let (dx, dy) = (x * self.count - self.sum_x, y * self.count - self.sum_y);
            let scale = 1.0 / (self.count * (self.count - 1.0));
            self.sxx += dx * dx * scale;
            self.syy += dy * dy * scale;
            self.sxy += dx * dy * scale;
        } else if !(x.is_finite() && y.is_finite()) {
            // Nothing is known of distances from an infinity.
            (self.sxx, self.syy, self.sxy) = (f64::NAN, f64::NAN, f64::NAN);
        }
    }
    /// Takes another's pairs in, as if each had been added here.
    pub fn merge(&mut self, other: &PairMoments) {
        if other.count == 0.0 {
            return;
        }
        if self.count == 0.0 {
            *self = *other;
            return;
        }
        let count = self.count + other.count;
        let dx = self.sum_x / self.count - other.sum_x / other.count;
        let dy = self.sum_y / self.count - other.sum_y / other.count;
        let weight = self.count * other.count;
        self.sxx += other.sxx + weight * dx * dx / count;
        self.syy += other.syy + weight * dy * dy / count;
        self.sxy += other.sxy + weight * dx * dy / count;
        self.sum_x += other.sum_x;
        self.sum_y += other.sum_y;
        self.count = count;
    }
    /// `None` where the measure is not defined.
    pub fn measure(&self, measure: PairMeasure) -> Option<f64> {
        use PairMeasure as M;
        if self.count == 0.0 {
            return None;
        }
        let flat_x = self.sxx == 0.0;
        Some(match measure {
            M::Corr if flat_x || self.syy == 0.0 => return None,
            M::Corr => {
                // One root is exact where the products are; two keep what would overflow or vanish.
                let product = self.sxx * self.syy;
                let apart = !product.is_normal();
                let root = if apart { self.sxx.sqrt() * self.syy.sqrt() } else { product.sqrt() };
                (self.sxy / root).clamp(-1.0, 1.0)
            }
            M::CovarPop => self.sxy / self.count,
            M::CovarSamp if self.count < 2.0 => return None,
            M::CovarSamp => self.sxy / (self.count - 1.0),
            M::Slope | M::Intercept | M::R2 if flat_x => return None,
            M::Slope => self.sxy / self.sxx,
            M::Intercept => (self.sum_y - self.sum_x * self.sxy / self.sxx) / self.count,
            M::R2 if self.syy == 0.0 => 1.0,
            M::R2 => self.sxy * self.sxy / (self.sxx * self.syy),
            M::AvgX => self.sum_x / self.count,
            M::AvgY => self.sum_y / self.count,
            M::Sxx => self.sxx,
            M::Syy => self.syy,
            M::Sxy => self.sxy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_parts_are_the_whole() {
        let pairs: Vec<(f64, f64)> = (0..40).map(|i| (f64::from(i * i % 17) + 1e6, f64::from(i))).collect();
        let of = |part: &[(f64, f64)]| {
            let mut moments = PairMoments::default();
            part.iter().for_each(|(y, x)| moments.add(*y, *x));
            moments
        };
        let whole = of(&pairs);
        let mut merged = of(&pairs[..7]);
        merged.merge(&of(&pairs[7..]));
        for measure in [PairMeasure::Corr, PairMeasure::Slope, PairMeasure::Intercept, PairMeasure::CovarSamp]
        {
            let (a, b) = (whole.measure(measure).unwrap(), merged.measure(measure).unwrap());
            assert!((a - b).abs() < 1e-6, "{measure:?}: {a} and {b}");
        }
    }
}
