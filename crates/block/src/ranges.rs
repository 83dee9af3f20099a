//! Range tests on the codes or integers of a stripe.

use std::ops::Range;

use simd::{Bitmap, Lane, and_range, and_where, range_anew};

use crate::stripe::{Stripe, Values};

/// Keeps codes from the first to the second end, or with `anew` writes which they are.
pub(crate) fn code_range_into(
    stripe: &Stripe,
    rows: Range<usize>,
    ends: [u32; 2],
    negate: bool,
    anew: bool,
    words: &mut [u64],
) {
    match &stripe.values {
        Values::Codes8(c) => clamped_into(&c[rows], ends, u32::from(u8::MAX), negate, anew, words),
        Values::Codes16(c) => clamped_into(&c[rows], ends, u32::from(u16::MAX), negate, anew, words),
        Values::Codes32(c) => clamped_into(&c[rows], ends, u32::MAX, negate, anew, words),
        _ => unreachable!("code ranges are made for coded columns only"),
    }
}

fn clamped_into<T: Lane + TryFrom<u32>>(
    codes: &[T],
    [low, high]: [u32; 2],
    last: u32,
    negate: bool,
    anew: bool,
    words: &mut [u64],
) {
    match (T::try_from(low), T::try_from(high.min(last))) {
        (Ok(low), Ok(high)) if anew => range_anew(codes, low, high, negate, words),
        (Ok(low), Ok(high)) => and_range(codes, low, high, negate, words),
        // No code of this width is as large as `low`.
        _ if negate && anew => words.copy_from_slice(Bitmap::full(codes.len()).words()),
        _ if negate => {}
        _ => words.fill(0),
    }
}

pub(crate) fn and_integer_range(
    stripe: &Stripe,
    rows: Range<usize>,
    low: i128,
    high: i128,
    negate: bool,
    words: &mut [u64],
) {
    macro_rules! clamped {
        ($values:expr, $ty:ty) => {{
            let (least, greatest) = (i128::from(<$ty>::MIN), i128::from(<$ty>::MAX));
            if low > greatest || high < least {
                if !negate {
                    words.fill(0);
                }
            } else {
                let (low, high) = (low.max(least) as $ty, high.min(greatest) as $ty);
                and_range(&$values[rows], low, high, negate, words);
            }
        }};
    }
    match &stripe.values {
        Values::I16(v) => clamped!(v, i16),
        Values::I32(v) => clamped!(v, i32),
        Values::I64(v) => clamped!(v, i64),
        Values::I128(v) => and_where(&v[rows], |x| (low <= x && x <= high) != negate, words),
        _ => unreachable!("integer ranges are made for plain integers only"),
    }
}
