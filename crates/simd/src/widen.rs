//! From codes to values (`base + code * step`) and back.

use crate::cast::Plain;
use crate::prefetch::{AHEAD, prefetch_l2};
use crate::{Code, dispatch};

/// An integer that codes are taken from and widened to; arithmetic wraps, because the codec has proved the range.
pub trait Wide: Plain {
    /// The code's low bits as a value.
    fn from_code(code: u64) -> Self;
    /// The sum, wrapping.
    fn add(self, other: Self) -> Self;
    /// The difference, wrapping.
    fn subtract(self, other: Self) -> Self;
    /// The product, wrapping.
    fn multiply(self, other: Self) -> Self;
    /// Quotient of the values read as unsigned; the divisor is not zero.
    fn divide_unsigned(self, divisor: Self) -> Self;
    /// The low 64 bits.
    fn low_bits(self) -> u64;
    /// Whether it is 1, for which a multiplication can be left out.
    fn is_one(self) -> bool;
}

macro_rules! wide {
    ($($ty:ty, $unsigned:ty);*) => {
        $(impl Wide for $ty {
            #[inline(always)]
            fn from_code(code: u64) -> Self {
                code as $ty
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn divide_unsigned(self, divisor: Self) -> Self {
                (self as $unsigned).checked_div(divisor as $unsigned).unwrap_or(0) as $ty
            }
            #[inline(always)]
            fn low_bits(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn is_one(self) -> bool {
                self == 1
            }
        })*
    };
}
wide!(i16, u16; i32, u32; i64, u64; i128, u128);

dispatch! {
    /// Appends `base + code * step` for every code.
    pub fn widen<C: Code, W: Wide>(codes: &[C], base: W, step: W, out: &mut Vec<W>) {
        if step.is_one() {
            out.extend(codes.iter().map(|c| base.add(W::from_code(c.to_u64()))));
        } else {
            out.extend(codes.iter().map(|c| base.add(W::from_code(c.to_u64()).multiply(step))));
        }
    }
}

dispatch! {
    /// Appends `base + code * step` for the codes at `rows`.
    pub fn widen_rows<C: Code, W: Wide>(codes: &[C], rows: &[u32], base: W, step: W, out: &mut Vec<W>) {
        rows.iter().take(AHEAD).for_each(|row| prefetch_l2(codes, *row as usize));
        let asked = rows.iter().enumerate().map(|(at, row)| {
            prefetch_l2(codes, rows[(at + AHEAD).min(rows.len() - 1)] as usize);
            codes[*row as usize].to_u64()
        });
        if step.is_one() {
            out.extend(asked.map(|code| base.add(W::from_code(code))));
        } else {
            out.extend(asked.map(|code| base.add(W::from_code(code).multiply(step))));
        }
    }
}

dispatch! {
    /// Writes `(value - base) / step` as codes. What does not fit is cut: the caller has the bounds. Slices are of one
    /// length.
    pub fn narrow<W: Wide, C: Code>(values: &[W], base: W, step: W, out: &mut [C]) {
        if step.is_one() {
            for (code, value) in out.iter_mut().zip(values) {
                *code = C::truncate(value.subtract(base).low_bits());
            }
        } else {
            for (code, value) in out.iter_mut().zip(values) {
                *code = C::truncate(value.subtract(base).divide_unsigned(step).low_bits());
            }
        }
    }
}
