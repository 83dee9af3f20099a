//! The lanes the kernels work on.
//!
//! A range test on integers, signed or not, is one subtraction and one unsigned comparison (`x - low <= high - low`,
//! wrapping), so only the four unsigned widths need kernels; signed slices are read as unsigned ones.

use crate::cast::Plain;

/// An unsigned code of 1, 2, 4 or 8 bytes.
pub trait Code: Plain + Ord + std::fmt::Debug + Send + Sync {
    /// The greatest code: all ones.
    const MAX: Self;
    /// `self - other`, modulo the width.
    fn wrapping_sub(self, other: Self) -> Self;
    /// The code, widened.
    fn to_u64(self) -> u64;
    /// The low bits of `value`.
    fn truncate(value: u64) -> Self;

    /// One bit per value of `low <= value <= low + span` (wrapping), and-ed into `words`, or with `anew` written, for whole
    /// words.
    ///
    /// # Safety
    /// The processor has the level; `values.len()` is `64 * words.len()`.
    #[cfg(target_arch = "x86_64")]
    unsafe fn and_range_avx512(
        values: &[Self],
        low: Self,
        span: Self,
        flip: u64,
        anew: bool,
        words: &mut [u64],
    );
    /// # Safety
    /// As `and_range_avx512`.
    #[cfg(target_arch = "x86_64")]
    unsafe fn and_range_avx2(
        values: &[Self],
        low: Self,
        span: Self,
        flip: u64,
        anew: bool,
        words: &mut [u64],
    );
    /// One bit per code of `table[code] != 0`, and-ed into `words`. Codes past `last` read entry `last`.
    ///
    /// # Safety
    /// The processor has AVX-512; `codes.len()` is `64 * words.len()`; `table` has at least `last + 4` bytes and at
    /// least 256.
    #[cfg(target_arch = "x86_64")]
    unsafe fn and_lookup_avx512(codes: &[Self], table: &[u8], last: u32, flip: u64, words: &mut [u64]);
}

macro_rules! code {
    ($ty:ty, $range512:ident, $range2:ident, $lookup:ident) => {
        impl Code for $ty {
            const MAX: Self = <$ty>::MAX;
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn truncate(value: u64) -> Self {
                value as $ty
            }
            #[cfg(target_arch = "x86_64")]
            #[inline]
            // SAFETY: the caller keeps what the trait asks for.
            unsafe fn and_range_avx512(
                values: &[Self],
                low: Self,
                span: Self,
                flip: u64,
                anew: bool,
                words: &mut [u64],
            ) {
                // SAFETY: the caller's promises are passed on.
                unsafe { crate::avx512::$range512(values, low, span, flip, anew, words) }
            }
            #[cfg(target_arch = "x86_64")]
            #[inline]
            // SAFETY: the caller keeps what the trait asks for.
            unsafe fn and_range_avx2(
                values: &[Self],
                low: Self,
                span: Self,
                flip: u64,
                anew: bool,
                words: &mut [u64],
            ) {
                // SAFETY: the caller's promises are passed on.
                unsafe { crate::avx2::$range2(values, low, span, flip, anew, words) }
            }
            #[cfg(target_arch = "x86_64")]
            #[inline]
            // SAFETY: the caller keeps what the trait asks for.
            unsafe fn and_lookup_avx512(
                codes: &[Self],
                table: &[u8],
                last: u32,
                flip: u64,
                words: &mut [u64],
            ) {
                // SAFETY: the caller's promises are passed on.
                unsafe { crate::avx512::$lookup(codes, table, last, flip, words) }
            }
        }
    };
}
code!(u8, and_range_u8, and_range_u8, and_lookup_u8);
code!(u16, and_range_u16, and_range_u16, and_lookup_u16);
code!(u32, and_range_u32, and_range_u32, and_lookup_u32);
code!(u64, and_range_u64, and_range_u64, and_lookup_u64);

/// An integer whose slices can be read as unsigned codes of the same width.
pub trait Lane: Plain + Ord + Send + Sync {
    /// The code type of the same width.
    type Unsigned: Code;
    /// The same bits as a code.
    fn unsigned(self) -> Self::Unsigned;
    /// The slice seen as codes, not copied.
    fn unsigned_slice(values: &[Self]) -> &[Self::Unsigned];
}

macro_rules! lane {
    ($ty:ty, $unsigned:ty) => {
        impl Lane for $ty {
            type Unsigned = $unsigned;
            #[inline(always)]
            fn unsigned(self) -> $unsigned {
                self as $unsigned
            }
            #[inline(always)]
            fn unsigned_slice(values: &[Self]) -> &[$unsigned] {
                // SAFETY: both are plain integers of one size and alignment, and every bit pattern is valid.
                unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
            }
        }
    };
}
lane!(u8, u8);
lane!(u16, u16);
lane!(u32, u32);
lane!(u64, u64);
lane!(i8, u8);
lane!(i16, u16);
lane!(i32, u32);
lane!(i64, u64);

/// A binary float.
pub trait Float: Plain + PartialOrd + Send + Sync {
    /// Below every number.
    const NEGATIVE_INFINITY: Self;
    /// Above every number; NaN is not compared with it.
    const INFINITY: Self;
    /// A quiet NaN.
    const NAN: Self;
    /// Whether it is a NaN of any bits.
    fn is_nan(self) -> bool;
    /// # Safety
    /// As `Code::and_range_avx512`.
    #[cfg(target_arch = "x86_64")]
    unsafe fn and_range_avx512(
        values: &[Self],
        low: Self,
        high: Self,
        nan: bool,
        flip: u64,
        words: &mut [u64],
    );
    /// # Safety
    /// As `Code::and_range_avx512`.
    #[cfg(target_arch = "x86_64")]
    unsafe fn and_range_avx2(values: &[Self], low: Self, high: Self, nan: bool, flip: u64, words: &mut [u64]);
}

macro_rules! float {
    ($ty:ty, $range:ident) => {
        impl Float for $ty {
            const NEGATIVE_INFINITY: Self = <$ty>::NEG_INFINITY;
            const INFINITY: Self = <$ty>::INFINITY;
            const NAN: Self = <$ty>::NAN;
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[cfg(target_arch = "x86_64")]
            #[inline]
            // SAFETY: the caller keeps what the trait asks for.
            unsafe fn and_range_avx512(
                values: &[Self],
                low: Self,
                high: Self,
                nan: bool,
                flip: u64,
                words: &mut [u64],
            ) {
                // SAFETY: the caller's promises are passed on.
                unsafe { crate::avx512::$range(values, low, high, nan, flip, words) }
            }
            #[cfg(target_arch = "x86_64")]
            #[inline]
            // SAFETY: the caller keeps what the trait asks for.
            unsafe fn and_range_avx2(
                values: &[Self],
                low: Self,
                high: Self,
                nan: bool,
                flip: u64,
                words: &mut [u64],
            ) {
                // SAFETY: the caller's promises are passed on.
                unsafe { crate::avx2::$range(values, low, high, nan, flip, words) }
            }
        }
    };
}
float!(f32, and_range_f32);
float!(f64, and_range_f64);
