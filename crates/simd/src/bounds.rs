//! Least and greatest value of a slice.

use crate::{Float, dispatch};

/// What `bounds` needs of an integer.
pub trait Ordered: Copy + Ord {}
impl<T: Copy + Ord> Ordered for T {}

dispatch! {
    /// Least and greatest value; `None` of an empty slice.
    pub fn bounds<T: Ordered>(values: &[T]) -> Option<(T, T)> {
        let first = *values.first()?;
        let (mut low, mut high) = (first, first);
        for value in values {
            low = if *value < low { *value } else { low };
            high = if *value > high { *value } else { high };
        }
        Some((low, high))
    }
}

/// Bounds of floats: least and greatest that are not NaN (`None` when there is none), and whether there is a NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatBounds<T> {
    /// Least and greatest value, NaN left out.
    pub range: Option<(T, T)>,
    /// Whether some value is NaN.
    pub nan: bool,
}

dispatch! {
    /// The bounds of a slice.
    pub fn float_bounds<T: Float>(values: &[T]) -> FloatBounds<T> {
        let (mut low, mut high, mut nan) = (T::INFINITY, T::NEGATIVE_INFINITY, false);
        for value in values {
            low = if *value < low { *value } else { low };
            high = if *value > high { *value } else { high };
            nan |= value.is_nan();
        }
        let only_nan = low > high;
        FloatBounds { range: (!only_nan).then_some((low, high)), nan }
    }
}
