//! Means and variances of expressions: how a sum over a group compares with a constant, or a column with an average.
//!
//! A column of which only the bounds are known is taken to be spread evenly between them, operands to be independent,
//! and group sizes to be Poisson-distributed; what is compared is then taken to be normal. That is crude, but HAVING
//! sum(x) > c is otherwise a blind guess, and its selectivity spans many orders of magnitude.

use plan::{AggregateCall, AggregateFunction, Arithmetic, Expr, ExprKind};

use super::{Facts, natural};
use crate::estimate::selectivity::source;
use crate::planner::Planner;

/// Mean and variance of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moments {
    /// In units of the type.
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

impl Moments {
    fn constant(value: f64) -> Moments {
        Moments { mean: value, variance: 0.0 }
    }
    /// Moments of values spread evenly over an interval.
    fn even(low: f64, high: f64) -> Moments {
        Moments { mean: (low + high) / 2.0, variance: (high - low).powi(2) / 12.0 }
    }
    fn second(self) -> f64 {
        self.variance + self.mean * self.mean
    }
    /// The probability that a value lies below one of `other`'s.
    pub(crate) fn below(self, other: Moments) -> f64 {
        let (gap, variance) = (other.mean - self.mean, self.variance + other.variance);
        if variance <= 0.0 {
            return if gap > 0.0 { 1.0 } else { 0.0 };
        }
        normal(gap / variance.sqrt())
    }
}

/// The standard normal distribution function, to seven digits relative in the tails that matter here (Abramowitz and
/// Stegun, 26.2.17, and the leading terms of the asymptotic series beyond four deviations).
pub(crate) fn normal(x: f64) -> f64 {
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let tail = |x: f64| {
        if x > 4.0 {
            return density(x) / x * (1.0 - 1.0 / (x * x) + 3.0 / (x * x * x * x));
        }
        let t = 1.0 / (1.0 + 0.231_641_9 * x);
        let series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
        density(x) * t * series.iter().rev().fold(0.0, |sum, c| sum * t + c)
    };
    if x < 0.0 { tail(-x) } else { 1.0 - tail(x) }
}

impl Planner<'_> {
    /// Mean and variance of an expression's values, if something is known of all its columns.
    pub(crate) fn moments(&self, expr: &Expr) -> Option<Moments> {
        match &expr.kind {
            ExprKind::Literal(value) => Some(Moments::constant(natural(value, expr.ty)?)),
            ExprKind::Column(id) => {
                let facts = self.facts(*id);
                facts.moments.or_else(|| Some(Moments::even(facts.low?, facts.high?)))
            }
            ExprKind::Cast { input, .. } if input.ty.is_numeric() && expr.ty.is_numeric() => {
                self.moments(input)
            }
            ExprKind::Arithmetic { op, left, right, .. } => {
                if !(left.ty.is_numeric() && right.ty.is_numeric()) {
                    return None;
                }
                let (l, r) = (self.moments(left)?, self.moments(right)?);
                match op {
                    Arithmetic::Add => {
                        Some(Moments { mean: l.mean + r.mean, variance: l.variance + r.variance })
                    }
                    Arithmetic::Subtract => {
                        Some(Moments { mean: l.mean - r.mean, variance: l.variance + r.variance })
                    }
                    Arithmetic::Multiply => {
                        let mean = l.mean * r.mean;
                        Some(Moments { mean, variance: (l.second() * r.second() - mean * mean).max(0.0) })
                    }
                    Arithmetic::Divide if r.variance == 0.0 && r.mean != 0.0 => {
                        Some(Moments { mean: l.mean / r.mean, variance: l.variance / (r.mean * r.mean) })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// What to expect of an aggregate over `rows` input rows that make `groups` groups.
    pub(crate) fn aggregate_facts(&self, call: &AggregateCall, rows: f64, groups: f64) -> Option<Facts> {
        use AggregateFunction as F;
        let size = (rows / groups.max(1.0)).max(1.0);
        let argument = || self.moments(call.argument.as_ref()?);
        let (moments, distinct) = match call.function {
            F::Count | F::CountStar => {
                // The sizes of many groups spread over a few deviations either way.
                let spread = 2.0 * (2.0 * size * groups.max(2.0).ln()).sqrt();
                (Some(Moments { mean: size, variance: size }), (spread + 1.0).min(groups))
            }
            F::Sum => {
                let sum = argument().map(|m| Moments { mean: size * m.mean, variance: size * m.second() });
                (sum, groups)
            }
            F::Avg => (argument().map(|m| Moments { mean: m.mean, variance: m.variance / size }), groups),
            _ => return None,
        };
        Some(Facts { distinct: Some(distinct.max(1.0)), moments, ..Facts::UNKNOWN })
    }

    /// The probability that `left` is below `right`, where either is an aggregate's value or computed from one, or
    /// where neither is a constant.
    pub(crate) fn below(&self, left: &Expr, right: &Expr) -> Option<f64> {
        if !(left.ty.is_numeric() && right.ty.is_numeric()) {
            return None;
        }
        let bounded = |e: &Expr| source(e).is_some_and(|id| self.facts(id).moments.is_none());
        let constant = |e: &Expr| e.as_literal().is_some();
        // A column's own bounds tell more of its comparison with a constant.
        if (bounded(left) && constant(right)) || (constant(left) && bounded(right)) {
            return None;
        }
        Some(self.moments(left)?.below(self.moments(right)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_is_close() {
        for (x, expected) in [(0.0, 0.5), (1.0, 0.841_344_746), (-2.0, 0.022_750_132), (-5.0, 2.866_5e-7)] {
            let error = (normal(x) / expected - 1.0_f64).abs();
            assert!(error < 1e-3, "{x}: {}", normal(x));
        }
        assert!((normal(3.0) + normal(-3.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn comparisons_of_spread_values() {
        let quantity = Moments::even(1.0, 50.0);
        assert!((quantity.below(quantity) - 0.5).abs() < 1e-6);
        assert_eq!(Moments::constant(1.0).below(Moments::constant(2.0)), 1.0);
        // A fifth of the mean: a twelfth of the values lies below if they are spread evenly.
        let fifth = Moments { mean: 5.1, variance: 0.3 };
        assert!((0.04..0.12).contains(&quantity.below(fifth)), "{}", quantity.below(fifth));
    }
}
