//! The loops of the range tests, which differ between instruction sets only in their features and in what they do with
//! one load: `$bits` gives a bit for each of `$lanes` values.

/// `low <= x <= low + span` over whole words of 64 integers.
macro_rules! integer_range {
    ($features:literal, $name:ident, $ty:ty, $signed:ty, $lanes:expr, $set:ident, $bits:ident) => {
        /// # Safety
        /// `values.len()` is `64 * words.len()`.
        #[target_feature(enable = $features)]
        pub(crate) unsafe fn $name(
            values: &[$ty],
            low: $ty,
            span: $ty,
            flip: u64,
            anew: bool,
            words: &mut [u64],
        ) {
            debug_assert_eq!(values.len(), words.len() * 64);
            let low = $set(low as $signed);
            let span = $set(span as $signed);
            let mut at = values.as_ptr();
            for word in words {
                let mut bits = 0u64;
                for part in 0..64 / $lanes {
                    // SAFETY: 64 values belong to each word; a step of `part` reads `$lanes` of them.
                    let found = unsafe { $bits(at.add(part * $lanes).cast(), low, span) };
                    bits |= u64::from(found) << (part * $lanes);
                }
                *word = if anew { bits ^ flip } else { *word & (bits ^ flip) };
                // SAFETY: at most one past the end.
                at = unsafe { at.add(64) };
            }
        }
    };
}

/// `low <= x <= high` over whole words of 64 floats, or NaN where `nan` says so. `$bits` gives both answers.
macro_rules! float_range {
    ($features:literal, $name:ident, $ty:ty, $lanes:expr, $set:ident, $bits:ident) => {
        /// # Safety
        /// `values.len()` is `64 * words.len()`.
        #[target_feature(enable = $features)]
        pub(crate) unsafe fn $name(
            values: &[$ty],
            low: $ty,
            high: $ty,
            nan: bool,
            flip: u64,
            words: &mut [u64],
        ) {
            debug_assert_eq!(values.len(), words.len() * 64);
            let low = $set(low);
            let high = $set(high);
            let nan = if nan { u64::MAX } else { 0 };
            let mut at = values.as_ptr();
            for word in words {
                let mut bits = 0u64;
                for part in 0..64 / $lanes {
                    // SAFETY: 64 values belong to each word; a step of `part` reads `$lanes` of them.
                    let (inside, unordered) = unsafe { $bits(at.add(part * $lanes), low, high) };
                    bits |= (inside | (unordered & nan)) << (part * $lanes);
                }
                *word &= bits ^ flip;
                // SAFETY: at most one past the end.
                at = unsafe { at.add(64) };
            }
        }
    };
}

pub(crate) use {float_range, integer_range};
