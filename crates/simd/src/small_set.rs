//! Sets of at most some thousand bits, looked up in registers: a dimension's keys are often so few.
//!
//! Two registers hold 128 bytes of the set, and one permutation takes 64 rows' bytes out of them:
//!
//! ```text
//!  code   ppppp bbbbbbb iii   a 16-bit distance from the set's first bit
//!  byte = table[p][b]         a permutation for each pair p of registers, masked to the rows that lie in it
//!  row passes if byte & 1 << i
//! ```
//! On Zen 4, 64 rows take 10 ns with a set of 2,000 bits, 18 ns with 10,000 and 35 ns with 28,000, where gathering
//! takes 36 to 41.

#![cfg(target_arch = "x86_64")]

use std::arch::x86_64::*;

use crate::Key;

/// Words that a pair of registers holds.
const PAIR: usize = 16;
/// Pairs up to which looking into each costs less than gathering; their codes fit 16 bits.
const PAIRS_MAX: usize = 28;
/// Pairs up to which that costs less than a window of near values (`members.rs`).
const PAIRS_TINY: usize = 6;

/// A set whose codes are 16-bit distances, and the range of values that have one.
pub(crate) struct SmallSet<'bits> {
    pairs: &'bits [[u64; PAIR]],
    /// What the words past the last whole pair are, with zeros behind them.
    rest: [u64; PAIR],
    has_rest: bool,
    low: i32,
    span: u32,
    first: u32,
}

impl<'bits> SmallSet<'bits> {
    /// `None` where the set is too large, has no values of the type, or values are too wide. Bit `offset + value` is the
    /// value's.
    pub(crate) fn new<T: Key>(bits: &'bits [u64], offset: i64) -> Option<SmallSet<'bits>> {
        let (lowest, highest) = T::NARROW?;
        if bits.len() > PAIR * PAIRS_MAX {
            return None;
        }
        let low = offset.checked_neg()?.max(lowest);
        let high = (bits.len() as i64 * 64 - 1).checked_sub(offset)?.min(highest);
        if low > high {
            return None;
        }
        let (pairs, tail) = bits.as_chunks::<PAIR>();
        let mut rest = [0; PAIR];
        rest[..tail.len()].copy_from_slice(tail);
        Some(SmallSet {
            pairs,
            rest,
            has_rest: !tail.is_empty(),
            low: low as i32,
            span: (high - low) as u32,
            first: (low + offset) as u32,
        })
    }

    /// Whether looking into every pair takes less than finding out that the values are near one another.
    pub(crate) fn is_tiny(&self) -> bool {
        self.pairs.len() <= PAIRS_TINY
    }

    /// Which of 64 values are in the set.
    #[inline]
    #[target_feature(
        enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq"
    )]
    pub(crate) fn contained<T: Key>(&self, values: &[T; 64]) -> u64 {
        // SAFETY: 64 values can be read, and the features are this function's.
        let (codes, inside) = unsafe { T::distances64(values.as_ptr(), self.low, self.span, self.first) };
        // The low bytes of both registers' 16-bit lanes.
        let low_bytes = |[first, second]: [__m512i; 2]| {
            // SAFETY: as the load's below.
            let even = unsafe { _mm512_loadu_si512(EVEN_BYTES.as_ptr().cast()) };
            _mm512_permutex2var_epi8(first, even, second)
        };
        let at = low_bytes(codes.map(|lanes| _mm512_srli_epi16::<3>(lanes)));
        let pair_of = low_bytes(codes.map(|lanes| _mm512_srli_epi16::<10>(lanes)));
        let position = _mm512_and_si512(low_bytes(codes), _mm512_set1_epi8(7));
        let bit = _mm512_shuffle_epi8(
            _mm512_set1_epi64(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128])),
            position,
        );
        let mut bytes = _mm512_setzero_si512();
        let mut number = _mm512_setzero_si512();
        for pair in self.pairs.iter().chain(self.has_rest.then_some(&self.rest)) {
            // SAFETY: a pair has two registers' words.
            let (one, other) = unsafe {
                (_mm512_loadu_si512(pair.as_ptr().cast()), _mm512_loadu_si512(pair.as_ptr().add(8).cast()))
            };
            let own = _mm512_cmpeq_epi8_mask(pair_of, number);
            bytes = _mm512_or_si512(bytes, _mm512_maskz_permutex2var_epi8(own, one, at, other));
            number = _mm512_add_epi8(number, _mm512_set1_epi8(1));
        }
        _mm512_test_epi8_mask(bytes, bit) & inside
    }
}

/// The numbers of the low bytes of 64 lanes of 16 bits in two registers.
static EVEN_BYTES: [u8; 64] = {
    let mut numbers = [0; 64];
    let mut at = 0;
    while at < 64 {
        numbers[at] = at as u8 * 2;
        at += 1;
    }
    numbers
};

/// 64 lanes of 8 bits: their distances from `low`, plus `first`, as 16-bit lanes, and which of them are at most `span`.
///
/// # Safety
/// The processor has AVX-512, and 64 lanes can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn distances_of_bytes(
    from: *const u8,
    low: i32,
    span: u32,
    first: u32,
) -> ([__m512i; 2], u64) {
    // SAFETY: the caller's promise.
    let halves = unsafe { [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(32).cast())] };
    distances(halves.map(|lanes| _mm512_cvtepu8_epi16(lanes)), low, span, first)
}

/// As `distances_of_bytes`, of lanes of 16 bits, signed or not.
///
/// # Safety
/// The processor has AVX-512, and 64 lanes can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn distances_of_halves(
    from: *const u16,
    low: i32,
    span: u32,
    first: u32,
) -> ([__m512i; 2], u64) {
    // SAFETY: the caller's promise.
    let lanes = unsafe { [_mm512_loadu_si512(from.cast()), _mm512_loadu_si512(from.add(32).cast())] };
    distances(lanes, low, span, first)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn distances(lanes: [__m512i; 2], low: i32, span: u32, first: u32) -> ([__m512i; 2], u64) {
    // Values of 16 bits wrap round alike whether they are signed or not.
    let (low, span) = (_mm512_set1_epi16(low as i16), _mm512_set1_epi16(span.min(0xffff) as i16));
    let from_low = lanes.map(|lanes| _mm512_sub_epi16(lanes, low));
    let inside = from_low.map(|lanes| _mm512_cmple_epu16_mask(lanes, span));
    let first = _mm512_set1_epi16(first as i16);
    (from_low.map(|lanes| _mm512_add_epi16(lanes, first)), u64::from(inside[0]) | u64::from(inside[1]) << 32)
}

/// As `distances_of_bytes`, of lanes of 32 bits, signed or not.
///
/// # Safety
/// The processor has AVX-512, and 64 lanes can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn distances_of_words(
    from: *const u32,
    low: i32,
    span: u32,
    first: u32,
) -> ([__m512i; 2], u64) {
    let (low, span) = (_mm512_set1_epi32(low), _mm512_set1_epi32(span as i32));
    let first = _mm512_set1_epi32(first as i32);
    let mut inside = 0;
    let mut codes = [_mm512_setzero_si512(); 4];
    for (part, codes) in codes.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        let from_low = _mm512_sub_epi32(unsafe { _mm512_loadu_si512(from.add(part * 16).cast()) }, low);
        inside |= u64::from(_mm512_cmple_epu32_mask(from_low, span)) << (part * 16);
        *codes = _mm512_add_epi32(from_low, first);
    }
    // The low halves of both registers' lanes.
    let mut numbers = [0u16; 32];
    for (at, number) in numbers.iter_mut().enumerate() {
        *number = at as u16 * 2;
    }
    // SAFETY: the array has a register's bytes.
    let even = unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) };
    (
        [
            _mm512_permutex2var_epi16(codes[0], even, codes[1]),
            _mm512_permutex2var_epi16(codes[2], even, codes[3]),
        ],
        inside,
    )
}
