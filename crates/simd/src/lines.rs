//! Products of coded columns, without decoding them first.

use crate::{Code, dispatch};

/// Codes on a line: `value = base + code`, or `base - code` when it falls.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The value of code 0.
    pub base: i64,
    /// Whether values fall as codes rise.
    pub falls: bool,
}

impl Line {
    #[inline(always)]
    pub(crate) fn at(self, code: u64) -> i64 {
        // Negation as (x ^ -1) + 1: two cheap operations instead of a multiplication.
        let sign = -i64::from(self.falls);
        self.base.wrapping_add((code as i64 ^ sign).wrapping_sub(sign))
    }
    /// `at`, modulo 2^32.
    #[inline(always)]
    fn low_at(self, code: u64) -> u32 {
        let sign = (-i64::from(self.falls)) as u32;
        (self.base as u32).wrapping_add((code as u32 ^ sign).wrapping_sub(sign))
    }
}

dispatch! {
    /// Appends the products of two coded columns' values, row by row. Arithmetic wraps: the caller knows the bounds.
    pub fn multiply_lines<A: Code, B: Code>(a: &[A], line_a: Line, b: &[B], line_b: Line, out: &mut Vec<i64>) {
        out.extend(a.iter().zip(b).map(|(a, b)| line_a.at(a.to_u64()).wrapping_mul(line_b.at(b.to_u64()))));
    }
}

dispatch! {
    /// As `multiply_lines`, modulo 2^32: where products are known to fit, half the work and half the bytes.
    pub fn multiply_lines_narrow<A: Code, B: Code>(a: &[A], line_a: Line, b: &[B], line_b: Line, out: &mut Vec<u32>) {
        out.extend(a.iter().zip(b).map(|(a, b)| line_a.low_at(a.to_u64()).wrapping_mul(line_b.low_at(b.to_u64()))));
    }
}

dispatch! {
    /// Appends the products of values and a coded column's, as `multiply_lines`.
    pub fn multiply_by_line<B: Code>(a: &[i64], b: &[B], line: Line, out: &mut Vec<i64>) {
        out.extend(a.iter().zip(b).map(|(a, b)| a.wrapping_mul(line.at(b.to_u64()))));
    }
}

dispatch! {
    /// The OR of all magnitudes (one's complement for negative values): no value's magnitude exceeds it by more than 1.
    pub fn magnitudes(values: &[i64]) -> u64 {
        let mut all = 0u64;
        for value in values {
            all |= (*value ^ (*value >> 63)) as u64;
        }
        all
    }
}
